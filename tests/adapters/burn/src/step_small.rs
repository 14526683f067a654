//! `tensor.*`, `device.*`, `param_id.*`, `group.*`, `flag.*`.

use crate::args::{self, Args};
use crate::case::{Case, Handle};
use crate::caught::{Fault, Outcome, protocol};
use crate::data;
use crate::groups::group;
use crate::shared::{device_name, known_id};
use crate::tensors::make;
use burn::module::{Flag, ParamId};
use burn::tensor::Device;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::hash::BuildHasher;
use std::str::FromStr;

pub fn run(case: &mut Case, op: &str, args: Args) -> Outcome {
    match op {
        "tensor.create" => {
            let kind = args::text(args, "kind")?;
            let made = make(kind, data::read(args, kind, 0)?, &args::device(args, "device")?)?;
            let result = made.json();
            case.store(args, Handle::Tensor(made))?;
            Ok(result)
        }
        "tensor.op" => {
            let with = match args["with"].as_str() {
                Some(name) => Some(case.tensor(name)?.copy()),
                None => None,
            };
            let made = case.tensor(args::text(args, "on")?)?.op(args::text(args, "op")?, args, with.as_deref())?;
            let result = made.json();
            case.store_if_named(args, Handle::Tensor(made));
            Ok(result)
        }
        "tensor.module" => {
            let made = case.tensor(args::text(args, "on")?)?.copy().into_module();
            args::text(args, "as")?;
            case.store(args, Handle::Module(made))?;
            Ok(json!({}))
        }
        "device.ops" => device_ops(case, args),
        "device.equal" => {
            let (a, b) = (args::device(args, "a")?, args::device(args, "b")?);
            Ok(json!(a == b))
        }
        "device.find" => {
            let wanted = args::device(args, "device")?;
            Ok(json!(args::devices(args, "devices")?.iter().position(|d| *d == wanted)))
        }
        "device.default" => Ok(json!({"is_autodiff": Device::default().is_autodiff()})),
        "param_id.format" => {
            let id = known_id(args::whole(&args["id"])?);
            let serde = serde_json::to_string(&id).map_err(|e| Fault::Error("Serde", e.to_string()))?;
            Ok(json!({"display": id.to_string(), "debug": format!("{id:?}"), "serde": serde}))
        }
        "param_id.parse" => match ParamId::from_str(args::text(args, "text")?) {
            Ok(id) => Ok(json!(id.val().to_string())),
            Err(text) => Err(Fault::Error("InvalidParamId", text.to_string())),
        },
        "param_id.serde" => match serde_json::from_str::<ParamId>(args::text(args, "json")?) {
            Ok(id) => Ok(json!(id.val().to_string())),
            Err(e) => Err(Fault::Error("Serde", e.to_string())),
        },
        "param_id.new" => {
            let made: Vec<ParamId> = (0..args::whole(&args["count"])?).map(|_| ParamId::new()).collect();
            let distinct: HashSet<u64> = made.iter().map(|id| id.val()).collect();
            let roundtrip = made.iter().all(|id| ParamId::from_str(&id.to_string()) == Ok(*id));
            let mut lengths: Vec<usize> = made.iter().map(|id| id.to_string().len()).collect();
            lengths.sort();
            lengths.dedup();
            Ok(json!({"distinct": distinct.len() == made.len(), "roundtrip": roundtrip, "lengths": lengths}))
        }
        "param_id.compare" => {
            let (a, b) = (ParamId::from(args::whole(&args["a"])?), ParamId::from(args::whole(&args["b"])?));
            let hash = std::hash::RandomState::new();
            Ok(json!({"equal": a == b, "less": a < b, "same_hash": hash.hash_one(a) == hash.hash_one(b)}))
        }
        "group.make" => {
            let made = group(case, &args["group"])?;
            let serde = serde_json::to_value(&made).map_err(|e| Fault::Error("Serde", e.to_string()))?;
            Ok(json!({"debug": format!("{made:?}"), "serde": serde}))
        }
        "group.matches" => {
            let made = group(case, &args["group"])?;
            let probe = |p: &Value| Ok(json!(made.matches(&known_id(args::whole(&p[0])?), p[1].as_str())));
            args::list(args, "probes")?.iter().map(probe).collect::<Result<Vec<Value>, Fault>>().map(Value::from)
        }
        "flag.make" => {
            let mut flag = Flag::new(args::flag(args, "value")?);
            if !args["with"].is_null() {
                flag = flag.with(args::flag(args, "with")?);
            }
            Ok(json!({"enabled": flag.is_enabled(), "display": flag.to_string(), "debug": format!("{flag:?}")}))
        }
        _ => protocol(format!("`{op}` is no step")),
    }
}

fn device_ops(case: &Case, args: Args) -> Outcome {
    let mut device = args::device(args, "on")?;
    for op in args::list(args, "ops")? {
        device = match op.as_str().or_else(|| op[0].as_str()).unwrap_or("") {
            "autodiff" => device.autodiff(),
            "without_autodiff" => device.without_autodiff(),
            "inner" => device.inner(),
            "gradient_checkpointing" => device.gradient_checkpointing(),
            "with_autodiff_context_from" => device.with_autodiff_context_from(&args::named_device(&op[1])?),
            _ => return protocol(format!("{op} is nothing that a device does")),
        };
    }
    let strategy = device.gradient_checkpointing_strategy().map(|s| format!("{s:?}"));
    Ok(json!({"device": device_name(&device), "is_autodiff": device.is_autodiff(), "strategy": strategy, "debug": case.mask(&format!("{device:?}"))}))
}
