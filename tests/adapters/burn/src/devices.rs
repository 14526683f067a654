//! Where the cases run: Burn's Flex backend. `../../burn-wgpu` puts another file in the place of this one.

use burn::tensor::{DType, Device};

pub const BACKEND: &str = "flex";
/// The names of the devices that execute.
pub const EXECUTING: &[&str] = &["d0"];
pub const DTYPES: &[&str] = &["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "bool", "bool_u8"];

/// The device of the name `d{index}`: each that does not execute is a capture device of its own.
pub fn make(index: usize) -> Device {
    if index == 0 { first() } else { Device::capture() }
}
/// `d0`, the only one whose values are shown.
pub fn first() -> Device {
    Device::flex()
}
/// Before the first case: nothing has to be started.
pub fn start() {}

/// The dtype in which the device holds what was asked for.
pub fn held(dtype: DType, _device: &Device) -> DType {
    dtype
}
