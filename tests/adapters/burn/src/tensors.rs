//! Tensors of any kind and rank behind one face.

use crate::args::{self, Args};
use crate::caught::{Fault, catch, protocol};
use crate::data::{self, data_json};
use crate::devices;
use crate::modules::AnyModule;
use crate::shared::{device_name, executes};
use burn::module::Module;
use burn::tensor::{Bool, DType, Device, Float, FloatDType, Int, IntDType, Tensor, TensorData};
use serde_json::{Value, json};
use std::any::Any;

/// What every kind of tensor does here.
pub trait AnyTensor: Any + Send {
    fn json(&self) -> Value;
    fn rank(&self) -> usize;
    fn copy(&self) -> Box<dyn AnyTensor>;
    fn op(&self, op: &str, args: Args, with: Option<&dyn AnyTensor>) -> Result<Box<dyn AnyTensor>, Fault>;
    fn as_any(&self) -> &dyn Any;
    fn into_module(self: Box<Self>) -> Box<dyn AnyModule>;
}

/// What differs between the kinds.
pub trait Kind: Sized + Clone + Send + Sync + Module + 'static {
    const KIND: &'static str;
    fn from_tensor_data(data: TensorData, device: &Device) -> Self;
    /// One step of an expression; a bad one panics with `protocol: `.
    fn step(self, name: &str, step: &Value) -> Self;
    /// `cast` to a dtype that need not be of this kind.
    fn converted(self, dtype: DType) -> Result<Box<dyn AnyTensor>, Fault>;
    fn gradient(&self) -> &'static str;
    fn requires_grad(&self) -> bool;
    fn times(self, with: &Self) -> Result<Box<dyn AnyTensor>, Fault>;
    fn plus(self, with: &Self) -> Result<Box<dyn AnyTensor>, Fault>;
    fn minus(self, with: &Self) -> Result<Box<dyn AnyTensor>, Fault>;
    fn matrix(self, with: &Self) -> Result<Box<dyn AnyTensor>, Fault>;
    fn total(self) -> Result<Box<dyn AnyTensor>, Fault>;
}

/// What an operand of an int tensor is in Rust.
enum Operand {
    Signed(i64),
    Unsigned(u64),
    Real(f64),
}
fn operand(step: &Value) -> Operand {
    match (args::signed(&step[1]), args::whole(&step[1])) {
        (Ok(number), _) => Operand::Signed(number),
        (_, Ok(number)) => Operand::Unsigned(number),
        _ => Operand::Real(number(step)),
    }
}

/// EXPR applied in order; what cannot be read panics with `protocol: `.
pub fn express<T: Kind>(mut tensor: T, expr: &Value) -> T {
    for step in expr.as_array().unwrap_or_else(|| panic!("protocol: an expression is a list")) {
        let name = step[0].as_str().unwrap_or("");
        if name == "panic" {
            panic!("case: {}", step[1].as_str().unwrap_or(""));
        }
        tensor = tensor.step(name, step);
    }
    tensor
}
fn number(step: &Value) -> f64 {
    args::float(&step[1]).unwrap_or_else(|_| panic!("protocol: {step} asks a number"))
}
fn shape<const D: usize>(step: &Value) -> [i64; D] {
    let sizes: Option<Vec<i64>> = step[1].as_array().map(|a| a.iter().filter_map(|n| n.as_i64()).collect());
    sizes.and_then(|s| s.try_into().ok()).unwrap_or_else(|| panic!("protocol: {step} asks a shape of rank {D}"))
}
fn step_dtype(step: &Value) -> DType {
    data::dtype(&step[1]).unwrap_or_else(|_| panic!("protocol: {step} names no dtype"))
}

impl<const D: usize> Kind for Tensor<D> {
    const KIND: &'static str = "float";
    fn from_tensor_data(data: TensorData, device: &Device) -> Self {
        let dtype = devices::held(data.dtype(), device);
        Tensor::from_data(data, (device, dtype))
    }
    fn step(self, name: &str, step: &Value) -> Self {
        match name {
            "add" => self + number(step),
            "mul" => self * number(step),
            "transpose" => self.transpose(),
            "reshape" => self.reshape(shape::<D>(step)),
            "zeros_like" => self.zeros_like(),
            "ones_like" => self.ones_like(),
            "detach" => self.detach(),
            "set_require_grad" => self.set_require_grad(step[1].as_bool().unwrap_or_default()),
            "cast" => {
                let dtype = devices::held(step_dtype(step), &self.device());
                self.cast(dtype)
            }
            _ => panic!("protocol: {step} is no expression of a float tensor"),
        }
    }
    fn converted(self, dtype: DType) -> Result<Box<dyn AnyTensor>, Fault> {
        let dtype = devices::held(dtype, &self.device());
        Ok(if dtype.is_int() || dtype.is_uint() { Box::new(self.cast(IntDType::from(dtype))) } else { Box::new(self.cast(dtype)) })
    }
    fn gradient(&self) -> &'static str {
        if !self.is_autodiff() {
            return "plain";
        }
        if self.is_require_grad() {
            return "leaf";
        }
        let copy = self.clone();
        if catch(|| copy.set_require_grad(true)).is_ok() { "untracked" } else { "non_leaf" }
    }
    fn requires_grad(&self) -> bool {
        self.is_require_grad()
    }
    fn times(self, with: &Self) -> Result<Box<dyn AnyTensor>, Fault> {
        Ok(Box::new(self * with.clone()))
    }
    fn plus(self, with: &Self) -> Result<Box<dyn AnyTensor>, Fault> {
        Ok(Box::new(self + with.clone()))
    }
    fn minus(self, with: &Self) -> Result<Box<dyn AnyTensor>, Fault> {
        Ok(Box::new(self - with.clone()))
    }
    fn matrix(self, with: &Self) -> Result<Box<dyn AnyTensor>, Fault> {
        Ok(Box::new(self.matmul(with.clone())))
    }
    fn total(self) -> Result<Box<dyn AnyTensor>, Fault> {
        Ok(Box::new(self.sum()))
    }
}
impl<const D: usize> Kind for Tensor<D, Int> {
    const KIND: &'static str = "int";
    fn from_tensor_data(data: TensorData, device: &Device) -> Self {
        let dtype = devices::held(data.dtype(), device);
        Tensor::from_data(data, (device, dtype))
    }
    fn step(self, name: &str, step: &Value) -> Self {
        match name {
            "add" => match operand(step) {
                Operand::Signed(number) => self + number,
                Operand::Unsigned(number) => self + number,
                Operand::Real(number) => self + number,
            },
            "mul" => match operand(step) {
                Operand::Signed(number) => self * number,
                Operand::Unsigned(number) => self * number,
                Operand::Real(number) => self * number,
            },
            "transpose" => self.transpose(),
            "reshape" => self.reshape(shape::<D>(step)),
            "zeros_like" => self.zeros_like(),
            "ones_like" => self.ones_like(),
            "detach" | "set_require_grad" => self,
            "cast" => {
                let dtype = devices::held(step_dtype(step), &self.device());
                self.cast(dtype)
            }
            _ => panic!("protocol: {step} is no expression of an int tensor"),
        }
    }
    fn converted(self, dtype: DType) -> Result<Box<dyn AnyTensor>, Fault> {
        let dtype = devices::held(dtype, &self.device());
        Ok(if dtype.is_float() { Box::new(self.cast(FloatDType::from(dtype))) } else { Box::new(self.cast(dtype)) })
    }
    fn gradient(&self) -> &'static str {
        if self.is_autodiff() { "untracked" } else { "plain" }
    }
    fn requires_grad(&self) -> bool {
        false
    }
    fn times(self, with: &Self) -> Result<Box<dyn AnyTensor>, Fault> {
        Ok(Box::new(self * with.clone()))
    }
    fn plus(self, with: &Self) -> Result<Box<dyn AnyTensor>, Fault> {
        Ok(Box::new(self + with.clone()))
    }
    fn minus(self, with: &Self) -> Result<Box<dyn AnyTensor>, Fault> {
        Ok(Box::new(self - with.clone()))
    }
    fn matrix(self, with: &Self) -> Result<Box<dyn AnyTensor>, Fault> {
        Ok(Box::new(self.matmul(with.clone())))
    }
    fn total(self) -> Result<Box<dyn AnyTensor>, Fault> {
        Ok(Box::new(self.sum()))
    }
}
impl<const D: usize> Kind for Tensor<D, Bool> {
    const KIND: &'static str = "bool";
    fn from_tensor_data(data: TensorData, device: &Device) -> Self {
        let dtype = devices::held(data.dtype(), device);
        Tensor::from_data(data, (device, dtype))
    }
    fn step(self, name: &str, step: &Value) -> Self {
        match name {
            "transpose" => self.transpose(),
            "reshape" => self.reshape(shape::<D>(step)),
            "detach" | "set_require_grad" => self,
            _ => panic!("protocol: {step} is no expression of a bool tensor"),
        }
    }
    fn converted(self, _: DType) -> Result<Box<dyn AnyTensor>, Fault> {
        protocol("bool tensors are not cast")
    }
    fn gradient(&self) -> &'static str {
        if self.is_autodiff() { "untracked" } else { "plain" }
    }
    fn requires_grad(&self) -> bool {
        false
    }
    fn times(self, _: &Self) -> Result<Box<dyn AnyTensor>, Fault> {
        protocol("bool tensors have no arithmetic")
    }
    fn plus(self, _: &Self) -> Result<Box<dyn AnyTensor>, Fault> {
        protocol("bool tensors have no arithmetic")
    }
    fn minus(self, _: &Self) -> Result<Box<dyn AnyTensor>, Fault> {
        protocol("bool tensors have no arithmetic")
    }
    fn matrix(self, _: &Self) -> Result<Box<dyn AnyTensor>, Fault> {
        protocol("bool tensors have no arithmetic")
    }
    fn total(self) -> Result<Box<dyn AnyTensor>, Fault> {
        protocol("bool tensors have no arithmetic")
    }
}

macro_rules! any_tensor {
    ($kind:ty) => {
        impl<const D: usize> AnyTensor for Tensor<D, $kind> {
            fn json(&self) -> Value {
                let device = self.device();
                let value = if executes(&device) { data_json(&self.to_data()) } else { Value::Null };
                json!({"kind": Self::KIND, "rank": D, "device": device_name(&device), "grad": self.gradient(), "value": value})
            }
            fn rank(&self) -> usize {
                D
            }
            fn copy(&self) -> Box<dyn AnyTensor> {
                Box::new(self.clone())
            }
            fn as_any(&self) -> &dyn Any {
                self
            }
            fn into_module(self: Box<Self>) -> Box<dyn AnyModule> {
                self
            }
            fn op(&self, op: &str, args: Args, with: Option<&dyn AnyTensor>) -> Result<Box<dyn AnyTensor>, Fault> {
                let this = self.clone();
                let other = || match with.and_then(|w| w.as_any().downcast_ref::<Self>()) {
                    Some(other) => Ok(other),
                    None => protocol(format!("`{op}` needs `with`: a tensor of the same kind and rank")),
                };
                Ok(match op {
                    "clone" => Box::new(this),
                    "to_device" => Box::new(this.to_device(&args::device(args, "device")?)),
                    "autodiff" => Box::new(this.autodiff()),
                    "without_autodiff" => Box::new(this.without_autodiff()),
                    "inner" => Box::new(this.inner()),
                    "from_inner" => Box::new(Self::from_inner(this)),
                    "require_grad" => Box::new(this.step("set_require_grad", &json!(["set_require_grad", true]))),
                    "set_require_grad" => Box::new(this.step(op, &json!([op, args::flag(args, "value")?]))),
                    "cast" => this.converted(data::dtype(&args["dtype"])?)?,
                    "reshape" => Box::new(this.step(op, &json!([op, args["shape"]]))),
                    "add_scalar" => Box::new(this.step("add", &json!(["add", args["value"]]))),
                    "mul_scalar" => Box::new(this.step("mul", &json!(["mul", args["value"]]))),
                    "detach" | "transpose" | "zeros_like" | "ones_like" => Box::new(this.step(op, &json!([op]))),
                    "add" => this.plus(other()?)?,
                    "sub" => this.minus(other()?)?,
                    "mul" => this.times(other()?)?,
                    "matmul" => this.matrix(other()?)?,
                    "sum" => this.total()?,
                    _ => return protocol(format!("`{op}` is no tensor operation")),
                })
            }
        }
    };
}
any_tensor!(Float);
any_tensor!(Int);
any_tensor!(Bool);

/// Run `$body` with the constant `$D` being the rank.
#[macro_export]
macro_rules! with_rank {
    ($rank:expr, $D:ident => $body:expr) => {
        match $rank {
            0 => { const $D: usize = 0; $body }
            1 => { const $D: usize = 1; $body }
            2 => { const $D: usize = 2; $body }
            3 => { const $D: usize = 3; $body }
            4 => { const $D: usize = 4; $body }
            other => return $crate::caught::protocol(format!("rank {other} is not one of 0 to 4")),
        }
    };
}

/// A tensor of `kind` from data, at the data's own dtype.
pub fn make(kind: &str, data: TensorData, device: &Device) -> Result<Box<dyn AnyTensor>, Fault> {
    with_rank!(data.shape().as_slice().len(), D => Ok(match kind {
        "float" => Box::new(Tensor::<D>::from_tensor_data(data, device)),
        "int" => Box::new(Tensor::<D, Int>::from_tensor_data(data, device)),
        "bool" => Box::new(Tensor::<D, Bool>::from_tensor_data(data, device)),
        _ => return protocol(format!("`{kind}` is no kind of tensor")),
    }))
}
