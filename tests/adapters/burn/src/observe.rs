//! Observations: nothing changes but what the observed call itself changes.

use crate::args::{self, Args};
use crate::case::{Case, Handle};
use crate::caught::{Outcome, protocol};
use crate::custom::settings;
use crate::data::bytes_json;
use crate::modules::{Look, Touch};
use crate::params::AnyParam;
use crate::shared::{id_label, take_log};
use crate::step_module::names;
use crate::step_placement::placement_json;
use crate::step_record::entries;
use serde_json::{Value, json};

#[derive(Default)]
struct Events(Vec<Value>);
impl Look for Events {
    fn enter(&mut self, name: &str, container: &str) {
        self.0.push(json!(["enter", name, container]));
    }
    fn exit(&mut self, name: &str, container: &str) {
        self.0.push(json!(["exit", name, container]));
    }
    fn param(&mut self, path: &str, param: &dyn AnyParam) {
        self.0.push(param.event(path));
    }
}
impl Touch for Events {
    fn enter(&mut self, name: &str, container: &str) {
        self.0.push(json!(["enter", name, container]));
    }
    fn exit(&mut self, name: &str, container: &str) {
        self.0.push(json!(["exit", name, container]));
    }
    fn param(&mut self, path: &str, param: Box<dyn AnyParam>) -> Box<dyn AnyParam> {
        self.0.push(param.event(path));
        param
    }
}

#[derive(Default)]
struct State(Vec<Value>);
impl Look for State {
    fn param(&mut self, path: &str, param: &dyn AnyParam) {
        self.0.push(param.state(path));
    }
}

pub fn observe(case: &mut Case, args: Args) -> Outcome {
    let what = args::text(args, "observe")?;
    if what == "log" {
        return Ok(take_log());
    }
    let on = args::text(args, "on")?.to_string();
    match what {
        "events" => {
            let mut events = Events::default();
            case.module(&on)?.look(&mut events);
            Ok(Value::Array(events.0))
        }
        "map_events" => {
            let mut events = Events::default();
            let made = case.take_module(&on)?.touch(&mut events);
            case.put(&on, Handle::Module(made));
            Ok(Value::Array(events.0))
        }
        "state" => {
            let mut state = State::default();
            case.module(&on)?.look(&mut state);
            if !args::flag_or(args, "values", true)? {
                state.0.iter_mut().for_each(hide_value);
            }
            Ok(Value::Array(state.0))
        }
        "devices" => Ok(names(&case.module(&on)?.collect(vec![]))),
        "num_params" => Ok(json!(case.module(&on)?.count())),
        "param_ids" => Ok(case.module(&on)?.ids().into_iter().map(id_label).collect()),
        "record" => Ok(entries(case.record(&on)?)?.into_iter().map(|(_, entry)| entry).collect()),
        "bytes" => Ok(bytes_json(case.bytes(&on)?)),
        "tensor" => Ok(case.tensor(&on)?.json()),
        "placement" => Ok(placement_json(case.placement(&on)?)),
        "display" => {
            let module = case.module(&on)?;
            meet_ids(module.as_ref());
            match module.display(settings(&args["settings"])) {
                Some(text) => Ok(case.mask(&text)),
                None => protocol("the module has no display"),
            }
        }
        "debug" => {
            let text = match case.handle(&on)? {
                Handle::Module(module) => {
                    meet_ids(module.as_ref());
                    module.debug()
                }
                Handle::Record(record) => format!("{record:?}"),
                Handle::Placement(placement) => format!("{placement:?}"),
                _ => return protocol(format!("`{on}` has no debug text here")),
            };
            Ok(case.mask(&text))
        }
        _ => protocol(format!("`{what}` is no observation")),
    }
}

/// Leave dtype and shape of a value that depends on random numbers.
fn hide_value(state: &mut Value) {
    if let Some(value) = state.get_mut("value").and_then(Value::as_object_mut) {
        value.remove("hex");
    }
}

/// Random ids get their numbers in visit order before a text shows them.
fn meet_ids(module: &dyn crate::modules::AnyModule) {
    struct Meet;
    impl Look for Meet {
        fn param(&mut self, _: &str, param: &dyn AnyParam) {
            id_label(param.param_id());
        }
    }
    module.look(&mut Meet);
}
