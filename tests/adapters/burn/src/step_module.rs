//! `module.*`.

use crate::args::{self, Args};
use crate::case::{Case, Handle};
use crate::caught::{Fault, Outcome, protocol};
use crate::custom::settings;
use crate::groups::group;
use crate::modules::Touch;
use crate::params::AnyParam;
use crate::shared::{device_name, id_label};
use crate::step_record::record_error;
use crate::zoo_build::build;
use burn::module::{DisplaySettings, ParamGroup};
use burn::tensor::Device;
use serde_json::{Value, json};

/// Maps each parameter of the chosen kinds, where the group matches, with the direct form of a step.
struct MapAll<'a> {
    args: Args<'a>,
    kinds: Vec<String>,
    group: Option<ParamGroup>,
}
impl Touch for MapAll<'_> {
    fn param(&mut self, path: &str, param: Box<dyn AnyParam>) -> Box<dyn AnyParam> {
        let matched = self.group.as_ref().is_none_or(|g| g.matches(&param.param_id(), Some(path)));
        if !matched || !self.kinds.iter().any(|k| k == param.kind()) {
            return param;
        }
        match param.change("param.map", self.args, None) {
            Ok(param) => param,
            Err(fault) => panic!("protocol: {fault:?}"),
        }
    }
}

/// `settings`, went up `level_up` levels, as they are or under `outer` ones.
fn display_settings(args: Args) -> Value {
    let deep = |made: DisplaySettings, times: &Value| (0..times.as_u64().unwrap_or(0)).fold(made, |made, _| made.level_up());
    let mut made = deep(settings(&args["settings"]), &args["level_up"]);
    if !args["outer"].is_null() {
        made = made.inherit(deep(settings(&args["outer"]), &args["outer_level_up"]));
    }
    json!({"debug": format!("{made:?}"), "show_param_id": made.show_param_id(), "show_all_attributes": made.show_all_attributes(),
        "show_num_parameters": made.show_num_parameters(), "new_line_after_attribute": made.new_line_after_attribute(),
        "indentation_size": made.indentation_size()})
}

pub fn names(devices: &[Device]) -> Value {
    devices.iter().map(device_name).collect()
}

pub fn run(case: &mut Case, op: &str, args: Args) -> Outcome {
    let on = args["on"].as_str().unwrap_or("").to_string();
    let format = args["format"].as_str().unwrap_or("burnpack");
    let group = match &args["group"] {
        Value::Null => None,
        spec => Some(group(case, spec)?),
    };
    match op {
        "build" => {
            let placement = match args["args"]["placement"].as_str() {
                Some(name) => Some(case.placement(name)?.clone()),
                None => None,
            };
            let made = build(args::text(args, "fixture")?, &args["args"], placement.as_ref())?;
            case.store(args, Handle::Module(made))?;
        }
        "clone" => {
            let made = case.module(&on)?.copy();
            case.store(args, Handle::Module(made))?;
        }
        "valid" => {
            let made = case.module(&on)?.valid();
            case.store(args, Handle::Module(made))?;
        }
        "drop" => case.drop_handle(&on)?,
        "map" => {
            let kinds = if args["kinds"].is_null() { vec!["float".into()] } else { args::texts(args, "kinds")? };
            let made = case.take_module(&on)?.touch(&mut MapAll { args, kinds, group });
            case.store(args, Handle::Module(made))?;
        }
        "map_identity" => {
            let made = case.take_module(&on)?.identity();
            case.store(args, Handle::Module(made))?;
        }
        "settings" => return Ok(display_settings(args)),
        "tensor" => {
            let Some(tensor) = case.module(&on)?.bare() else { return protocol(format!("`{on}` is no bare tensor")) };
            let result = tensor.json();
            case.store_if_named(args, Handle::Tensor(tensor));
            return Ok(result);
        }
        "devices" => return Ok(names(&case.module(&on)?.collect(vec![]))),
        "collect_devices" => return Ok(names(&case.module(&on)?.collect(args::devices(args, "devices")?))),
        "num_params" => return Ok(json!(case.module(&on)?.count())),
        "param_ids" => return Ok(case.module(&on)?.ids().into_iter().map(id_label).collect()),
        "record" => {
            args::text(args, "as")?;
            let made = case.take_module(&on)?.record(group);
            case.store(args, Handle::Record(made))?;
        }
        "load_record" | "try_load_record" => {
            let record = case.record(args::text(args, "record")?)?.clone();
            let module = case.take_module(&on)?;
            let made = if op == "load_record" { module.load(record) } else { module.try_load(record).map_err(record_error)? };
            case.store(args, Handle::Module(made))?;
        }
        "save_file" => {
            let file = case.file(args, "file")?;
            case.take_module(&on)?.save_file(&file, format).map_err(record_error)?;
        }
        "load_file" | "try_load_file" => {
            let file = case.file(args, "file")?;
            let module = case.take_module(&on)?;
            let made = if op == "load_file" { module.load_file(&file, format) } else { module.try_load_file(&file, format).map_err(record_error)? };
            case.store(args, Handle::Module(made))?;
        }
        "" => return protocol("`module` is no step"),
        _ => {
            let made = case.take_module(&on)?.apply(op, args, group)?;
            case.store(args, Handle::Module(made))?;
        }
    }
    Ok::<Value, Fault>(json!({}))
}
