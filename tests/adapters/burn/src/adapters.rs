//! Reparameterizations: the fixtures of `spec/fixtures.md`, and what is told of an attached one.

use crate::args::{self, Args};
use crate::build::Site;
use crate::caught::{Fault, catch, panic_kind, protocol};
use crate::data::{self, dtype_name};
use crate::shared::{Seen, device_name, id_label, log};
use crate::tensors::{Kind, express};
use crate::zoo::Linear;
use burn::module::*;
use burn::tensor::{Bool, BoolStore, DType, Device, FloatDType, Int, Shape, Tensor};
use serde_json::{Value, json};

/// `scale.it`: one field of every kind; the effective value is the base times `s`.
#[derive(Module, Debug)]
pub struct ScaleIt {
    pub s: Param<Tensor<1>>,
    pub on: Param<Flag>,
    pub i: Param<Tensor<1, Int>>,
    pub m: Param<Tensor<1, Bool>>,
    pub k: f64,
    pub sub: Vec<Linear>,
}
impl Reparameterization for ScaleIt {
    const NAME: &'static str = "scale.it";
    fn apply<const D: usize>(&self, base: Tensor<D>) -> Tensor<D> {
        base * self.s.val().reshape(Shape::from(vec![1; D]))
    }
}
/// `rows`: the sum over the first axis, so another shape.
#[derive(Module, Debug)]
pub struct Rows {
    pub w: Param<Tensor<1>>,
}
impl Reparameterization for Rows {
    const NAME: &'static str = "rows";
    fn apply<const D: usize>(&self, base: Tensor<D>) -> Tensor<D> {
        base.sum_dim(0) * self.w.val().reshape(Shape::from(vec![1; D]))
    }
}
/// `shift`: the base plus `by`.
#[derive(Module, Debug)]
pub struct Shift {
    pub by: Param<Tensor<1>>,
}
impl Reparameterization for Shift {
    const NAME: &'static str = "shift";
    fn apply<const D: usize>(&self, base: Tensor<D>) -> Tensor<D> {
        base + self.by.val().reshape(Shape::from(vec![1; D]))
    }
}

pub trait Made: Reparameterization {
    fn made(site: &Site, value: f64) -> Self;
}
fn one(site: &Site, id: u64, value: f64) -> Param<Tensor<1>> {
    site.float_of(id, burn::tensor::TensorData::new(vec![value as f32], [1]))
}
impl Made for ScaleIt {
    fn made(site: &Site, value: f64) -> Self {
        ScaleIt {
            s: one(site, 1, value),
            on: site.flag(2, true),
            i: site.other(3, &[2], DType::I64),
            m: site.other(4, &[2], DType::Bool(BoolStore::Native)),
            k: 0.5,
            sub: vec![Linear { weight: site.f32(5, [2, 3]), bias: Some(site.f32(6, [3])) }],
        }
    }
}
impl Made for Rows {
    fn made(site: &Site, value: f64) -> Self {
        Rows { w: one(site, 1, value) }
    }
}
impl Made for Shift {
    fn made(site: &Site, value: f64) -> Self {
        Shift { by: one(site, 1, value) }
    }
}

/// Offers a fixture to each parameter that a group selects, and may change the base first.
pub struct Offer<R> {
    pub group: ParamGroup,
    change: Value,
    freeze: bool,
    attach: bool,
    value: f64,
    next: u64,
    device: Option<Device>,
    made: std::marker::PhantomData<R>,
}
impl<R> Offer<R> {
    pub fn read(args: Args, group: Option<ParamGroup>) -> Result<Self, Fault> {
        Ok(Offer {
            group: group.unwrap_or_else(ParamGroup::all),
            change: args["change"].clone(),
            freeze: args::flag_or(args, "freeze", false)?,
            attach: args::flag_or(args, "attach", true)?,
            value: if args["value"].is_null() { 2.0 } else { args::float(&args["value"])? },
            next: if args["base"].is_null() { 900 } else { args::whole(&args["base"])? },
            device: if args["device"].is_null() { None } else { Some(args::device(args, "device")?) },
            made: std::marker::PhantomData,
        })
    }
}
impl<R: Made> Reparameterizer for Offer<R> {
    type Reparam = R;
    fn reparameterize<const D: usize>(&mut self, path: &str, mut param: Param<Tensor<D>>) -> (Param<Tensor<D>>, Option<R>) {
        log(Seen::Offered { path: path.to_string(), id: param.id.val() });
        if !self.group.matches(&param.id, Some(path)) {
            return (param, None);
        }
        if !self.change.is_null() {
            param = param.map(|tensor| express(tensor, &self.change));
        }
        if self.freeze {
            param = param.set_require_grad(false);
        }
        if !self.attach {
            return (param, None);
        }
        let device = self.device.clone().unwrap_or_else(|| param.lazy_device());
        let site = Site { device, base: self.next };
        self.next += 10;
        (param, Some(R::made(&site, self.value)))
    }
}

/// LORA: what `Lora::new` and its builders are given.
pub fn lora(args: Args, group: Option<ParamGroup>) -> Result<Lora, Fault> {
    let mut made = Lora::new(args::whole(&args["rank"])? as usize, args::float(&args["alpha"])?);
    if !args["init_std"].is_null() {
        made.init_std = Some(args::float(&args["init_std"])?);
    }
    if !args["dtype"].is_null() {
        made = made.set_dtype(float_dtype(&args["dtype"])?);
    }
    if let Some(group) = group {
        made = made.set_param_group(group);
    }
    if !args["rank_then"].is_null() {
        made.rank = args::whole(&args["rank_then"])? as usize;
    }
    Ok(made)
}
fn float_dtype(value: &Value) -> Result<FloatDType, Fault> {
    Ok(match data::dtype(value)? {
        DType::F64 => FloatDType::F64,
        DType::F32 => FloatDType::F32,
        DType::Flex32 => FloatDType::Flex32,
        DType::F16 => FloatDType::F16,
        DType::BF16 => FloatDType::BF16,
        _ => return protocol(format!("{value} is no float dtype")),
    })
}

fn factor<const D: usize>(param: &Param<Tensor<D>>) -> Value {
    let value = param.val();
    let active = match catch(|| param.clone().train().val().is_require_grad()) {
        Ok(after) => json!(after),
        Err(text) => json!({"panic": panic_kind(&text)}),
    };
    json!({"id": id_label(param.id), "shape": value.shape().to_vec(), "dtype": dtype_name(value.dtype()), "device": device_name(&value.device()),
        "grad": value.gradient(), "active": active})
}
/// What is attached to a parameter; null where nothing is.
pub fn adapter_json<T: Parameter>(param: &Param<T>) -> Value {
    if let Some(found) = param.adapter() {
        return json!({"kind": "lora", "scale": found.scale, "a": factor(&found.a), "b": factor(&found.b)});
    }
    if let Some(found) = param.reparameterization::<ScaleIt>() {
        return json!({"kind": "scale.it", "k": found.k, "on": found.on.is_enabled(), "s": factor(&found.s)});
    }
    if let Some(found) = param.reparameterization::<Rows>() {
        return json!({"kind": "rows", "w": factor(&found.w)});
    }
    match param.reparameterization::<Shift>() {
        Some(found) => json!({"kind": "shift", "by": factor(&found.by)}),
        None => Value::Null,
    }
}

/// Whether each factor `a`, in traversal order, is the next draw of its own size and of nothing else.
pub struct Draws<'a> {
    pub std: f64,
    pub device: &'a Device,
    pub path: Vec<String>,
    pub held: Vec<(String, Vec<usize>, Vec<u8>)>,
}
impl ModuleVisitor for Draws<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.into());
    }
    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if self.path.ends_with(&["lora".into(), "a".into()]) {
            let data = param.val().to_data();
            self.held.push((self.path.join("."), data.shape().to_vec(), data.as_bytes().to_vec()));
        }
    }
}
impl Draws<'_> {
    pub fn compare(&self, seed: u64) -> Value {
        self.device.seed(seed);
        let mut told = vec![];
        for (path, shape, bytes) in &self.held {
            let drawn = Tensor::<2>::random(shape.clone(), burn::tensor::Distribution::Normal(0.0, self.std), self.device);
            told.push(json!([path, drawn.to_data().as_bytes() == bytes.as_slice()]));
        }
        json!(told)
    }
}
