//! `param.*` and `running.*`: one parameter, or one running state, of a module.

use crate::args::{self, Args};
use crate::case::{Case, Handle};
use crate::caught::{Fault, Outcome, protocol};
use crate::data;
use crate::devices;
use crate::modules::{Look, Touch};
use crate::params::AnyParam;
use crate::shared::id_label;
use crate::tensors::{AnyTensor, Kind};
use burn::module::*;
use burn::tensor::Tensor;
use serde_json::{Value, json};

const LOOKS: &[&str] = &["param.info", "param.val", "param.base", "param.into_value", "param.is_require_grad", "param.threads", "param.adapter"];

struct LookAt<'a> {
    path: &'a str,
    op: &'a str,
    args: Args<'a>,
    found: Option<Result<(Value, Option<Box<dyn AnyTensor>>), Fault>>,
}
impl Look for LookAt<'_> {
    fn param(&mut self, path: &str, param: &dyn AnyParam) {
        if path == self.path && self.found.is_none() {
            self.found = Some(param.look(self.op, self.args));
        }
    }
}
struct TouchAt<'a> {
    path: &'a str,
    op: &'a str,
    args: Args<'a>,
    with: Option<&'a dyn AnyTensor>,
    found: bool,
}
impl Touch for TouchAt<'_> {
    fn param(&mut self, path: &str, param: Box<dyn AnyParam>) -> Box<dyn AnyParam> {
        if path != self.path || self.found {
            return param;
        }
        self.found = true;
        match param.change(self.op, self.args, self.with) {
            Ok(param) => param,
            Err(Fault::Error(_, text)) => panic!("protocol: {text}"),
            Err(fault) => panic!("protocol: {fault:?}"),
        }
    }
}

pub fn run(case: &mut Case, op: &str, args: Args) -> Outcome {
    let (on, path) = (args::text(args, "on")?.to_string(), args::text(args, "path")?);
    if op.starts_with("running.") {
        return running(case, op, args, &on, path);
    }
    let names: Vec<&str> = path.split('.').filter(|name| !name.is_empty()).collect();
    let direct = op == "param.adapter" || args::flag_or(args, "direct", false)?;
    if LOOKS.contains(&op) {
        let mut look = LookAt { path, op, args, found: None };
        let module = case.module(&on)?;
        if direct {
            look.found = module.slot(&names).map(|param| param.look(op, args));
        } else {
            module.look(&mut look);
        }
        let (mut result, tensor) = look.found.unwrap_or_else(|| protocol(format!("`{on}` has no parameter at `{path}`")))?;
        for key in ["display", "debug"] {
            if let Some(text) = result[key].as_str() {
                result[key] = case.mask(text);
            }
        }
        if let Some(tensor) = tensor {
            case.store_if_named(args, Handle::Tensor(tensor));
        }
        return Ok(result);
    }
    let with = match args["tensor"].as_str() {
        Some(name) => Some(case.tensor(name)?.copy()),
        None => None,
    };
    let mut touch = TouchAt { path, op, args, with: with.as_deref(), found: false };
    let mut made = case.take_module(&on)?;
    if direct {
        if let Some(slot) = made.slot_mut(&names) {
            slot.change(&mut |param| touch.param(path, param));
        }
    } else {
        made = made.touch(&mut touch);
    }
    let found = touch.found;
    case.put(&on, Handle::Module(made));
    if found { Ok(json!({})) } else { protocol(format!("`{on}` has no parameter at `{path}`")) }
}

fn running(case: &mut Case, op: &str, args: Args, on: &str, path: &str) -> Outcome {
    let Some(state) = case.module(on)?.running(path) else {
        return protocol(format!("`{on}` has no running state at `{path}`"));
    };
    let thread = args["thread"].as_str().unwrap_or("main");
    let value = match op {
        "running.update" => {
            let value = match args["tensor"].as_str() {
                Some(name) => case.tensor(name)?.as_any().downcast_ref::<Tensor<1>>().cloned(),
                None => {
                    let device = args::device_or(args, "device", &devices::first())?;
                    Some(Tensor::<1>::from_tensor_data(data::read(args, "float", 0)?, &device))
                }
            };
            let Some(value) = value else { return protocol("a running state takes float tensors of rank 1") };
            case.threads.run(thread, move || state.update(value))?;
            return Ok(json!({}));
        }
        "running.value" => case.threads.run(thread, move || state.value())?,
        "running.value_sync" => case.threads.run(thread, move || state.value_sync())?,
        "running.text" => {
            struct First(Option<ParamId>);
            impl ModuleVisitor for First {
                fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
                    self.0 = Some(param.id);
                }
            }
            let mut first = First(None);
            state.visit(&mut first);
            let id = first.0.map(id_label);
            return Ok(json!({"display": case.mask(&state.to_string()), "debug_id": id}));
        }
        _ => return protocol(format!("`{op}` is no step")),
    };
    let result = value.json();
    case.store_if_named(args, Handle::Tensor(Box::new(value)));
    Ok(result)
}
