//! The `module.*` steps that quantise weights and attach adapters.

use crate::adapters::{Draws, Offer, lora};
use crate::args::{self, Args};
use crate::case::{Case, Handle};
use crate::caught::{Fault, Outcome, protocol};
use crate::devices;
use crate::groups::group;
use crate::modules::Adapt;
use crate::step_quant::quantizer;
use burn::module::{ParamGroup, QLora};
use serde_json::{Value, json};

pub const STEPS: &[&str] = &["quantize_weights", "apply_lora", "apply_qlora", "apply_reparameterization", "lora_draws"];

fn chosen(case: &Case, spec: &Value) -> Result<Option<ParamGroup>, Fault> {
    if spec.is_null() { Ok(None) } else { Ok(Some(group(case, spec)?)) }
}

pub fn run(case: &mut Case, op: &str, args: Args) -> Outcome {
    let on = args::text(args, "on")?.to_string();
    let selected = chosen(case, &args["group"])?;
    let how = match op {
        "quantize_weights" => return quantize(case, args, &on, selected),
        "lora_draws" => return draws(case, args, &on, selected),
        "apply_lora" => Adapt::Lora(lora(args, selected)?),
        "apply_qlora" => {
            let (first, second) = (chosen(case, &args["lora"]["group"])?, chosen(case, &args["quantizer"]["group"])?);
            Adapt::QLora(QLora::new(lora(&args["lora"], first)?, quantizer(&args["quantizer"], second)?))
        }
        _ => match args::text(args, "kind")? {
            "scale.it" => Adapt::ScaleIt(Offer::read(args, selected)?),
            "rows" => Adapt::Rows(Offer::read(args, selected)?),
            "shift" => Adapt::Shift(Offer::read(args, selected)?),
            other => return protocol(format!("`{other}` is no reparameterization")),
        },
    };
    let made = case.take_module(&on)?.adapt(how);
    case.store(args, Handle::Module(made))?;
    Ok(json!({}))
}

fn quantize(case: &mut Case, args: Args, on: &str, selected: Option<ParamGroup>) -> Outcome {
    let name = args["quantizer"].as_str();
    let mut with = match name {
        Some(name) => case.take_quantizer(name)?,
        None => quantizer(args, None)?,
    };
    let made = case.take_module(on)?.quantize(&mut with, selected);
    if let Some(name) = name {
        case.put(name, Handle::Quantizer(with));
    }
    case.store(args, Handle::Module(made))?;
    Ok(json!({}))
}

fn draws(case: &mut Case, args: Args, on: &str, selected: Option<ParamGroup>) -> Outcome {
    let (device, seed) = (devices::first(), args::whole(&args["seed"])?);
    let lora = lora(args, selected)?;
    let std = lora.init_std.unwrap_or(1.0 / lora.rank as f64);
    let mut draws = Draws { std, device: &device, path: vec![], held: vec![] };
    device.seed(seed);
    case.module(on)?.copy().adapt(Adapt::Lora(lora)).draws(&mut draws);
    Ok(draws.compare(seed))
}
