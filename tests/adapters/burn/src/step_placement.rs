//! `placement.*` and `distributed.*`.

use crate::args::{self, Args};
use crate::case::{Case, Handle};
use crate::caught::{Outcome, protocol};
use crate::shared::device_name;
use crate::step_module::names;
use crate::tensors::AnyTensor;
use burn::module::parallel::*;
use burn::tensor::Tensor;
use serde_json::{Value, json};

pub fn placement_json(p: &LayerPlacement) -> Value {
    let stages: Vec<Value> = p.stages().iter().map(|s| json!([device_name(&s.device), s.num_hidden_layers])).collect();
    json!({"input": device_name(&p.input), "hidden": names(&p.hidden), "output": device_name(&p.output),
        "devices": names(&p.devices()), "stages": stages})
}

fn stored(case: &mut Case, args: Args, made: LayerPlacement) -> Outcome {
    let result = placement_json(&made);
    case.store_if_named(args, Handle::Placement(made));
    Ok(result)
}

pub fn run(case: &mut Case, op: &str, args: Args) -> Outcome {
    match op {
        "placement.new" => {
            let mut stages = vec![];
            for stage in args::list(args, "stages")? {
                stages.push(LayerStage { device: args::named_device(&stage[0])?, num_hidden_layers: args::whole(&stage[1])? as usize });
            }
            stored(case, args, LayerPlacement::new(&stages))
        }
        "placement.even" => {
            let hidden = args::whole(&args["hidden"])? as usize;
            stored(case, args, LayerPlacement::even(&args::devices(args, "devices")?, hidden))
        }
        "placement.by_memory" => by_memory(case, args),
        "placement.make" => {
            let (input, output) = (args::device(args, "input")?, args::device(args, "output")?);
            stored(case, args, LayerPlacement { input, hidden: args::devices(args, "hidden")?, output })
        }
        "placement.equal" => Ok(json!(case.placement(args::text(args, "a")?)? == case.placement(args::text(args, "b")?)?)),
        "distributed.new" => {
            let placement = case.placement(args::text(args, "placement")?)?.clone();
            args::text(args, "as")?;
            let made = case.take_module(args::text(args, "model")?)?.distribute(&placement)?;
            case.store(args, Handle::Module(made))?;
            Ok(json!({}))
        }
        "distributed.forward" => {
            let input = case.tensor(args::text(args, "input")?)?.as_any().downcast_ref::<Tensor<2>>().cloned();
            let Some(input) = input else { return protocol("a layered model takes a float tensor of rank 2") };
            let made = case.module(args::text(args, "on")?)?.forward(input)?;
            let result = made.json();
            case.store_if_named(args, Handle::Tensor(Box::new(made)));
            Ok(result)
        }
        "distributed.placement" => {
            let made = case.module(args::text(args, "on")?)?.placement()?;
            stored(case, args, made)
        }
        "distributed.into_inner" => {
            let made = case.take_module(args::text(args, "on")?)?.into_inner()?;
            case.store(args, Handle::Module(made))?;
            Ok(json!({}))
        }
        "distributed.into_stages" => {
            let text = args::flag_or(args, "text", false)?;
            let mut result = case.take_module(args::text(args, "on")?)?.into_stages(text)?;
            if let Some(debug) = result["debug"].as_str() {
                result["debug"] = case.mask(debug);
            }
            Ok(result)
        }
        _ => protocol(format!("`{op}` is no step")),
    }
}

fn by_memory(case: &mut Case, args: Args) -> Outcome {
    let (devices, capacities) = (args::devices(args, "devices")?, args::wholes(args, "capacities")?);
    if devices.len() != capacities.len() {
        return protocol("`devices` and `capacities` differ in length");
    }
    let output = match args["output"].as_object().and_then(|m| m.iter().next()).map(|(k, v)| (k.as_str(), v)) {
        Some(("AfterHidden", n)) => OutputMemory::AfterHidden(args::whole(n)?),
        Some(("WithInput", n)) => OutputMemory::WithInput(args::whole(n)?),
        _ => return protocol("`output` is {\"AfterHidden\": n} or {\"WithInput\": n}"),
    };
    let memory = LayerMemory { input: args::whole(&args["input"])?, hidden: args::wholes(args, "hidden")?, output };
    let devices: Vec<DeviceMemory> = devices.into_iter().zip(capacities).map(|(device, capacity)| DeviceMemory { device, capacity }).collect();
    match LayerPlacement::by_memory(&devices, &memory) {
        Some(made) => stored(case, args, made),
        None => Ok(Value::Null),
    }
}
