//! Where the cases run: two runtimes of Burn's wgpu backend and Flex, in the place of Flex alone.

use crate::caught::catch;
use burn::tensor::wgpu::WgpuBackend;
use burn::tensor::{BoolStore, DType, Device, DeviceKind, Tensor};
use std::sync::LazyLock;

pub const BACKEND: &str = "wgpu";
/// The names of the devices that execute: `d0` and `d1` on wgpu, `d2` on Flex, so that tensors cross from runtime to
/// runtime and from backend to backend.
pub const EXECUTING: &[&str] = &["d0", "d1", "d2"];
/// What `d0` computes with.
pub const DTYPES: &[&str] = &["f32", "i32", "u32", "bool_u32"];

/// The same adapter asked for in two ways is two devices (DEV-12), each with a runtime of its own.
static OPENED: LazyLock<[Device; 2]> = LazyLock::new(|| [DeviceKind::Cpu, DeviceKind::DefaultDevice].map(open));

/// OpenGL, not Vulkan: Mesa 22.3's Vulkan driver crashes while it compiles the first matrix product.
fn open(kind: DeviceKind) -> Device {
    let options = Device::wgpu_options().device_kind(kind).graphics_api(WgpuBackend::Gl);
    options.init().expect("there is no OpenGL device: install libegl1 and libgl1-mesa-dri")
}

/// The device of the name `d{index}`: each that does not execute is a capture device of its own.
pub fn make(index: usize) -> Device {
    match index {
        0 | 1 => OPENED[index].clone(),
        2 => Device::flex(),
        _ => Device::capture(),
    }
}
/// `d0`, the only one whose values are shown.
pub fn first() -> Device {
    make(0)
}
/// Before the first case, whose deadline is shorter: open the devices.
pub fn start() {
    for index in 0..EXECUTING.len() {
        let _ = Tensor::<1>::from_data([1.0f32], &make(index)).to_data();
    }
}

/// The dtype in which the device holds what was asked for: a native bool in what the backend has for one.
///
/// Panics where it has nothing; the step is then answered with `unsupported`.
pub fn held(dtype: DType, device: &Device) -> DType {
    let plain = device.clone().inner();
    // The question itself panics for some schemes.
    if !OPENED.contains(&plain) || catch(|| plain.supports_dtype(dtype)) == Ok(true) {
        return dtype;
    }
    match dtype {
        DType::Bool(BoolStore::Native) => plain.settings().bool_dtype.into(),
        DType::QFloat(_) => panic!("lacks: scheme"),
        other => panic!("lacks: {}", crate::data::dtype_name(other)),
    }
}
