//! Reading a step's arguments.

use crate::caught::{Fault, protocol};
use crate::shared;
use burn::tensor::Device;
use serde_json::Value;

pub type Args<'a> = &'a Value;

pub fn text<'a>(args: Args<'a>, key: &str) -> Result<&'a str, Fault> {
    args[key].as_str().map_or_else(|| protocol(format!("`{key}` must be a string")), Ok)
}
pub fn list<'a>(args: Args<'a>, key: &str) -> Result<&'a Vec<Value>, Fault> {
    args[key].as_array().map_or_else(|| protocol(format!("`{key}` must be a list")), Ok)
}
pub fn flag(args: Args, key: &str) -> Result<bool, Fault> {
    args[key].as_bool().map_or_else(|| protocol(format!("`{key}` must be true or false")), Ok)
}
pub fn flag_or(args: Args, key: &str, default: bool) -> Result<bool, Fault> {
    if args[key].is_null() { Ok(default) } else { flag(args, key) }
}
/// An unsigned integer, as a number or as decimal text.
pub fn whole(value: &Value) -> Result<u64, Fault> {
    let read = value.as_u64().or_else(|| value.as_str()?.parse().ok());
    read.map_or_else(|| protocol(format!("{value} must be an unsigned integer")), Ok)
}
pub fn signed(value: &Value) -> Result<i64, Fault> {
    let read = value.as_i64().or_else(|| value.as_str()?.parse().ok());
    read.map_or_else(|| protocol(format!("{value} must be an integer")), Ok)
}
pub fn wholes(args: Args, key: &str) -> Result<Vec<u64>, Fault> {
    list(args, key)?.iter().map(whole).collect()
}
pub fn sizes(args: Args, key: &str) -> Result<Vec<usize>, Fault> {
    Ok(wholes(args, key)?.into_iter().map(|n| n as usize).collect())
}
/// A float, as a number or as one of the strings for what JSON cannot write.
pub fn float(value: &Value) -> Result<f64, Fault> {
    let read = value.as_f64().or_else(|| match value.as_str()? {
        "nan" => Some(f64::NAN),
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        "-0.0" => Some(-0.0),
        other => other.parse().ok(),
    });
    let read = read.or_else(|| value.as_bool().map(|b| b as u8 as f64));
    read.map_or_else(|| protocol(format!("{value} must be a number")), Ok)
}
pub fn texts(args: Args, key: &str) -> Result<Vec<String>, Fault> {
    let word = |v: &Value| v.as_str().map(str::to_string).map_or_else(|| protocol("a list of strings is asked"), Ok);
    list(args, key)?.iter().map(word).collect()
}
pub fn named_device(name: &Value) -> Result<Device, Fault> {
    let found = name.as_str().and_then(shared::device);
    found.map_or_else(|| protocol(format!("{name} names no device")), Ok)
}
pub fn device(args: Args, key: &str) -> Result<Device, Fault> {
    named_device(&args[key])
}
pub fn device_or(args: Args, key: &str, default: &Device) -> Result<Device, Fault> {
    if args[key].is_null() { Ok(default.clone()) } else { device(args, key) }
}
pub fn devices(args: Args, key: &str) -> Result<Vec<Device>, Fault> {
    list(args, key)?.iter().map(named_device).collect()
}
