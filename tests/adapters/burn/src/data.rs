//! Tensor data: dtype names, the formula, JSON both ways.

use crate::args::{self, Args};
use crate::caught::{Fault, protocol};
use burn::tensor::{BoolStore, DType, TensorData};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const NAMES: &[(&str, DType)] = &[
    ("f64", DType::F64),
    ("f32", DType::F32),
    ("flex32", DType::Flex32),
    ("f16", DType::F16),
    ("bf16", DType::BF16),
    ("i64", DType::I64),
    ("i32", DType::I32),
    ("i16", DType::I16),
    ("i8", DType::I8),
    ("u64", DType::U64),
    ("u32", DType::U32),
    ("u16", DType::U16),
    ("u8", DType::U8),
    ("bool", DType::Bool(BoolStore::Native)),
    ("bool_u8", DType::Bool(BoolStore::U8)),
    ("bool_u32", DType::Bool(BoolStore::U32)),
];

pub fn dtype_name(dtype: DType) -> String {
    let found = NAMES.iter().find(|(_, d)| *d == dtype);
    found.map_or_else(|| format!("{dtype:?}"), |(name, _)| name.to_string())
}
pub fn dtype(value: &Value) -> Result<DType, Fault> {
    if value.is_object() {
        return serde_json::from_value(value.clone()).or_else(|e| protocol(e.to_string()));
    }
    let found = value.as_str().and_then(|name| NAMES.iter().find(|(n, _)| *n == name));
    found.map_or_else(|| protocol(format!("{value} names no dtype")), |(_, d)| Ok(*d))
}

pub fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}
pub fn unhex(text: &str) -> Result<Vec<u8>, Fault> {
    data_encoding::HEXLOWER_PERMISSIVE.decode(text.as_bytes()).or_else(|e| protocol(e.to_string()))
}
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
pub fn data_json(data: &TensorData) -> Value {
    raw_json(data.dtype(), data.shape().as_slice(), data.as_bytes())
}
pub fn raw_json(dtype: DType, shape: &[usize], bytes: &[u8]) -> Value {
    let dtype = dtype_name(dtype);
    match bytes.len() {
        0..=65536 => json!({"dtype": dtype, "shape": shape, "hex": hex(bytes)}),
        n => json!({"dtype": dtype, "shape": shape, "nbytes": n, "sha256": sha256(bytes)}),
    }
}
pub fn bytes_json(bytes: &[u8]) -> Value {
    match bytes.len() {
        0..=4096 => json!({"len": bytes.len(), "sha256": sha256(bytes), "hex": hex(bytes)}),
        n => json!({"len": n, "sha256": sha256(bytes)}),
    }
}

/// Element `i` of seed `s`, before it takes its dtype.
fn formula(seed: u64, i: u64, dtype: DType) -> f64 {
    let u = ((seed as u128 * 7 + i as u128 * 3) % 17) as f64;
    match dtype {
        DType::Bool(_) => u % 2.0,
        DType::U64 | DType::U32 | DType::U16 | DType::U8 => u,
        DType::I64 | DType::I32 | DType::I16 | DType::I8 => u - 8.0,
        _ => (u - 8.0) / 4.0,
    }
}
pub fn seeded(seed: u64, shape: &[usize], dtype: DType) -> TensorData {
    let count: usize = shape.iter().product();
    let values: Vec<f64> = (0..count as u64).map(|i| formula(seed, i, dtype)).collect();
    TensorData::new(values, shape.to_vec()).convert_dtype(dtype)
}

/// The shape and dtype that DATA declares, as they stand.
pub fn declared(args: Args, kind: &str) -> Result<(DType, Vec<usize>), Fault> {
    let default = match kind {
        "int" => DType::I64,
        "bool" => DType::Bool(BoolStore::Native),
        _ => DType::F32,
    };
    let dtype = if args["dtype"].is_null() { default } else { dtype(&args["dtype"])? };
    let shape = match (&args["shape"], &args["values"]) {
        (Value::Null, Value::Array(values)) => vec![values.len()],
        (Value::Null, _) => vec![2],
        _ => args::sizes(args, "shape")?,
    };
    Ok((dtype, shape))
}
/// DATA as tensor data; `seed` is that of a tensor which names neither values nor a seed.
pub fn read(args: Args, kind: &str, seed: u64) -> Result<TensorData, Fault> {
    let (dtype, shape) = declared(args, kind)?;
    if let Some(text) = args["hex"].as_str() {
        return Ok(TensorData::from_bytes_vec(unhex(text)?, shape, dtype));
    }
    if let Some(values) = args["values"].as_array() {
        if values.len() != shape.iter().product::<usize>() {
            return protocol(format!("{} values do not fill the shape {shape:?}", values.len()));
        }
        return Ok(match dtype {
            DType::U64 => TensorData::new(values.iter().map(args::whole).collect::<Result<Vec<_>, _>>()?, shape),
            DType::I64 => TensorData::new(values.iter().map(args::signed).collect::<Result<Vec<_>, _>>()?, shape),
            _ => {
                let floats = values.iter().map(args::float).collect::<Result<Vec<_>, _>>()?;
                TensorData::new(floats, shape).convert_dtype(dtype)
            }
        });
    }
    let seed = if args["seed"].is_null() { seed } else { args::whole(&args["seed"])? };
    Ok(seeded(seed, &shape, dtype))
}
