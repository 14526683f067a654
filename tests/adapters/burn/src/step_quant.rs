//! `quant.*`: schemes, calibration, quantised tensors and what they are made of.

use crate::args::{self, Args};
use crate::case::{Case, Handle};
use crate::caught::{Fault, Outcome, protocol};
use crate::data::{self, data_json, hex};
use crate::devices;
use crate::quant_ops;
use crate::schemes::{self, bits, read, scheme};
use crate::tensors::{AnyTensor, Kind, make};
use crate::with_rank;
use burn::module::{ParamGroup, Quantizer};
use burn::tensor::quantization::*;
use burn::tensor::{DType, Tensor, TensorData};
use serde_json::{Value, json};

pub fn calibration(args: Args) -> Result<Calibration, Fault> {
    match args["calibration"].as_str().unwrap_or("MinMax") {
        "MinMax" => Ok(Calibration::MinMax),
        "AbsMean" => Ok(Calibration::AbsMean),
        other => protocol(format!("`{other}` is no calibration")),
    }
}
pub fn quantizer(args: Args, group: Option<ParamGroup>) -> Result<Quantizer, Fault> {
    let scheme = scheme(&args["scheme"])?;
    devices::held(DType::QFloat(scheme), &devices::first());
    let mut made = Quantizer::new(calibration(args)?, scheme);
    if let Some(group) = group {
        made.set_param_group(group);
    }
    Ok(made)
}

fn rank(case: &Case, name: &str) -> Result<usize, Fault> {
    Ok(case.tensor(name)?.rank())
}
fn float<const D: usize>(case: &Case, name: &str) -> Result<Tensor<D>, Fault> {
    let found = case.tensor(name)?.as_any().downcast_ref::<Tensor<D>>().cloned();
    found.map_or_else(|| protocol(format!("`{name}` is no float tensor")), Ok)
}
fn given(case: &Case, args: Args, key: &str) -> Result<Option<Tensor<1>>, Fault> {
    match &args[key] {
        Value::Null => Ok(None),
        Value::String(name) => Ok(Some(float::<1>(case, name)?)),
        spec => Ok(Some(Kind::from_tensor_data(data::read(spec, "float", 0)?, &devices::first()))),
    }
}

fn finish(case: &mut Case, args: Args, made: Box<dyn AnyTensor>) -> Outcome {
    let result = made.json();
    case.store_if_named(args, Handle::Tensor(made));
    Ok(result)
}

fn range<const D: usize>(case: &Case, args: Args) -> Result<CalibrationRange, Fault> {
    let tensor = float::<D>(case, args::text(args, "on")?)?;
    Ok(compute_range(&scheme(&args["scheme"])?, &tensor, &calibration(args)?))
}
fn params_json(params: &QuantizationParameters) -> Value {
    json!({"scales": data_json(&params.scales.to_data()), "global": params.global.as_ref().map(|g| data_json(&g.to_data()))})
}
/// Scales as the step gives them, or computed from the tensor.
fn params<const D: usize>(case: &Case, args: Args) -> Result<QuantizationParameters, Fault> {
    if let Some(scales) = given(case, args, "scales")? {
        return Ok(QuantizationParameters { scales, global: given(case, args, "global")? });
    }
    if let (Some(min), Some(max)) = (given(case, args, "min")?, given(case, args, "max")?) {
        return Ok(compute_q_params(&scheme(&args["scheme"])?, CalibrationRange { min, max }));
    }
    Ok(compute_q_params(&scheme(&args["scheme"])?, range::<D>(case, args)?))
}
fn quantize<const D: usize>(case: &Case, args: Args) -> Result<Tensor<D>, Fault> {
    let tensor = float::<D>(case, args::text(args, "on")?)?;
    let scheme = scheme(&args["scheme"])?;
    devices::held(DType::QFloat(scheme), &tensor.device());
    Ok(tensor.quantize(&scheme, params::<D>(case, args)?))
}

/// Codes and scales in the bytes of a quantised tensor, as the crate itself reads them.
fn parts(data: TensorData) -> Outcome {
    let DType::QFloat(scheme) = data.dtype() else { return protocol("the tensor is not quantised") };
    let shape = data.shape().clone();
    let held = QuantizedBytes { bytes: burn::tensor::Bytes::from_bytes_vec(data.as_bytes().to_vec()), scheme, shape: shape.clone() };
    let (codes, scales) = held.into_vec_i8();
    let codes: Vec<u8> = codes.into_iter().map(|c| c as u8).collect();
    Ok(json!({"codes": hex(&codes), "grid": params_shape(&shape, &scheme).to_vec(), "scales": bits(&scales.block),
        "global": scales.global.map(|g| bits(&[g])[0].clone())}))
}

pub fn run(case: &mut Case, op: &str, args: Args) -> Outcome {
    let on = args["on"].as_str().unwrap_or("");
    match op {
        "value" => Ok(schemes::value_json(read(&args["value"])?)),
        "scale" => schemes::scale_json(args),
        "block" => schemes::block_json(args),
        "layout" => schemes::layout_json(args),
        "scheme" => {
            let made = scheme(&args["scheme"])?;
            let mut result = schemes::scheme_json(&made);
            result["equal"] = if args["equals"].is_null() { Value::Null } else { json!(made == scheme(&args["equals"])?) };
            Ok(result)
        }
        "range" => {
            let found = with_rank!(rank(case, on)?, D => range::<D>(case, args)?);
            Ok(json!({"min": data_json(&found.min.to_data()), "max": data_json(&found.max.to_data())}))
        }
        "params" if on.is_empty() => Ok(params_json(&params::<1>(case, args)?)),
        "params" => Ok(params_json(&with_rank!(rank(case, on)?, D => params::<D>(case, args)?))),
        "quantize" => {
            let made: Box<dyn AnyTensor> = with_rank!(rank(case, on)?, D => Box::new(quantize::<D>(case, args)?));
            finish(case, args, made)
        }
        "dynamic" => {
            let scheme = scheme(&args["scheme"])?;
            devices::held(DType::QFloat(scheme), &devices::first());
            let made: Box<dyn AnyTensor> = with_rank!(rank(case, on)?, D => Box::new(float::<D>(case, on)?.quantize_dynamic(&scheme)));
            finish(case, args, made)
        }
        "dequantize" => {
            let made: Box<dyn AnyTensor> = with_rank!(rank(case, on)?, D => Box::new(float::<D>(case, on)?.dequantize()));
            finish(case, args, made)
        }
        "parts" => parts(with_rank!(rank(case, on)?, D => float::<D>(case, on)?.to_data())),
        "from_bytes" => {
            let shape = args::sizes(args, "shape")?;
            let dtype = DType::QFloat(scheme(&args["scheme"])?);
            let bytes = data::unhex(args::text(args, "hex")?)?;
            let device = args::device_or(args, "device", &devices::first())?;
            let made = make("float", TensorData::from_bytes_vec(bytes, shape, dtype), &device)?;
            finish(case, args, made)
        }
        "op" => {
            let made: Box<dyn AnyTensor> = with_rank!(rank(case, on)?, D => quant_ops::op::<D>(case, args, float::<D>(case, on)?)?);
            finish(case, args, made)
        }
        "quantizer" => {
            let group = if args["group"].is_null() { None } else { Some(crate::groups::group(case, &args["group"])?) };
            let made = quantizer(args, group)?;
            case.store(args, Handle::Quantizer(made))?;
            Ok(json!({}))
        }
        _ => protocol(format!("`quant.{op}` is no step")),
    }
}
