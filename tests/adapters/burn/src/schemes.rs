//! SCHEME, and what is told of schemes, value kinds, blocks and scale dtypes.

use crate::args::{self, Args};
use crate::caught::{Fault, protocol};
use crate::data::hex;
use crate::devices;
use burn::tensor::quantization::*;
use burn::tensor::{DType, Shape};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub fn read<T: DeserializeOwned>(value: &Value) -> Result<T, Fault> {
    serde_json::from_value(value.clone()).or_else(|e| protocol(format!("{value}: {e}")))
}
pub fn extents(dims: &Value) -> Result<Vec<u8>, Fault> {
    read(dims)
}

/// SCHEME: the default one or a preset, then each part that is named.
pub fn scheme(spec: &Value) -> Result<QuantScheme, Fault> {
    if !spec["serde"].is_null() {
        let text = spec["serde"].as_str().map_or_else(|| spec["serde"].to_string(), str::to_string);
        return serde_json::from_str(&text).map_err(|e| Fault::Error("Serde", e.to_string()));
    }
    let mut made = match spec["preset"].as_str() {
        None => QuantScheme::default(),
        Some("nvfp4") => QuantScheme::nvfp4(),
        Some(name) => return protocol(format!("`{name}` is no preset")),
    };
    if !spec["value"].is_null() {
        made = made.with_value(read(&spec["value"])?);
    }
    if !spec["store"].is_null() {
        made = made.with_store(read(&spec["store"])?);
    }
    if !spec["mode"].is_null() {
        made = made.with_mode(read(&spec["mode"])?);
    }
    if !spec["block"].is_null() {
        made = made.per_block(extents(&spec["block"]["size"])?, read(&spec["block"]["dtype"])?);
    }
    if !spec["tensor"].is_null() {
        made = made.per_tensor(read(&spec["tensor"])?);
    }
    Ok(made)
}

pub fn scheme_json(made: &QuantScheme) -> Value {
    json!({
        "debug": format!("{made:?}"),
        "serde": serde_json::to_value(made).unwrap_or(Value::Null),
        "scale_dtype": format!("{:?}", made.scale_dtype()),
        "tensor_scale": made.tensor_scale().map(|d| format!("{d:?}")),
        "global_scale_dtype": global_scale_dtype(made).map(|d| format!("{d:?}")),
        "num_levels": made.num_levels(),
        "num_quants": made.num_quants(),
        "quantizable": quantizable(made),
        "supported": devices::first().supports_dtype(DType::QFloat(*made)),
    })
}

pub fn value_json(value: QuantValue) -> Value {
    let (low, high) = value.range();
    json!({"bits": value.size_bits(), "range": [low, high], "is_symmetric": value.is_symmetric(), "is_float": value.is_float(),
        "native_packing": value.native_packing()})
}

pub fn bits(values: &[f32]) -> Vec<String> {
    values.iter().map(|v| hex(&v.to_le_bytes())).collect()
}
/// Numbers, or eight hex digits of the little-endian bytes of an f32.
pub fn singles(args: Args, key: &str) -> Result<Vec<f32>, Fault> {
    args::list(args, key)?.iter().map(single).collect()
}
fn single(value: &Value) -> Result<f32, Fault> {
    if let Some(text) = value.as_str().filter(|t| t.len() == 8) {
        let raw = crate::data::unhex(text)?;
        return Ok(f32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]));
    }
    Ok(args::float(value)? as f32)
}

pub fn scale_json(args: Args) -> Result<Value, Fault> {
    let dtype: ScaleDtype = read(&args["dtype"])?;
    let rounded: Vec<f32> = singles(args, "scales")?.into_iter().map(|s| scale_to_dtype(s, dtype)).collect();
    Ok(json!({"bytes": scale_size(dtype), "max": bits(&[dtype.max_representable()])[0], "round_up": bits(&rounded)}))
}

pub fn block_json(args: Args) -> Result<Value, Fault> {
    let size = BlockSize::new(extents(&args["dims"])?);
    let shape = args::sizes(args, "shape")?;
    let equal = if args["equals"].is_null() { Value::Null } else { json!(size == BlockSize::new(extents(&args["equals"])?)) };
    Ok(json!({"debug": format!("{size:?}"), "aligned": size.to_dim_vec(shape.len()), "grid": size.num_blocks(&shape), "equal": equal}))
}

/// The length of serialised data, and the shape of the scales.
pub fn layout_json(args: Args) -> Result<Value, Fault> {
    let scheme = scheme(&args["scheme"])?;
    let shape = Shape::from(args::sizes(args, "shape")?);
    Ok(json!({"len": quantized_data_len(&scheme, &shape), "scales": params_shape(&shape, &scheme).to_vec()}))
}
