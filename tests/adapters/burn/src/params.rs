//! Parameters of any kind and rank behind one face: what is asked of them, what is done to them.

use crate::adapters::adapter_json;
use crate::args::{self, Args};
use crate::caught::{Fault, catch, panic_kind, protocol};
use crate::data;
use crate::shared::{count_inits, device_name, executes, id_label, known_id};
use crate::tensors::{AnyTensor, Kind, express};
use burn::module::*;
use burn::tensor::{Bool, Float, Int, Tensor};
use serde_json::{Value, json};
use std::any::Any;

type Looked = Result<(Value, Option<Box<dyn AnyTensor>>), Fault>;

pub trait AnyParam: Any + Send {
    fn param_id(&self) -> ParamId;
    fn kind(&self) -> &'static str;
    fn event(&self, path: &str) -> Value;
    fn state(&self, path: &str) -> Value;
    /// A question that borrows.
    fn look(&self, op: &str, args: Args) -> Looked;
    /// A step that takes the parameter.
    fn change(self: Box<Self>, op: &str, args: Args, with: Option<&dyn AnyTensor>) -> Result<Box<dyn AnyParam>, Fault>;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

fn bad(op: &str, kind: &str) -> Fault {
    Fault::Error("Protocol", format!("`{op}` is no step of a {kind} parameter"))
}

/// What only float parameters have.
trait Replace: Sized {
    fn from_plain(self, _how: &str, _args: Args) -> Result<Param<Self>, Fault>
    where
        Self: ParameterValue,
    {
        protocol("only float parameters have that constructor")
    }
}
impl<const D: usize> Replace for Tensor<D> {
    fn from_plain(self, how: &str, args: Args) -> Result<Param<Self>, Fault> {
        match how {
            "from_tensor" => Ok(Param::from_tensor(self)),
            "from_data" => Ok(Param::from_data(self.to_data(), &args::device(args, "device")?)),
            _ => protocol(format!("`{how}` is no constructor of a parameter")),
        }
    }
}
impl<const D: usize> Replace for Tensor<D, Int> {}
impl<const D: usize> Replace for Tensor<D, Bool> {}

macro_rules! any_param {
    ($kind:ty) => {
        impl<const D: usize> AnyParam for Param<Tensor<D, $kind>> {
            fn param_id(&self) -> ParamId {
                self.id
            }
            fn kind(&self) -> &'static str {
                <Tensor<D, $kind> as Kind>::KIND
            }
            fn into_any(self: Box<Self>) -> Box<dyn Any> {
                self
            }
            fn event(&self, path: &str) -> Value {
                json!([self.kind(), path, id_label(self.id), D, self.lazy_shape().to_vec(), self.is_initialized()])
            }
            fn state(&self, path: &str) -> Value {
                let initialized = self.is_initialized();
                let device = self.lazy_device();
                let (mut grad, mut active, mut value) = (Value::Null, Value::Null, Value::Null);
                if initialized {
                    let tensor = self.val();
                    grad = json!(tensor.gradient());
                    if executes(&device) {
                        value = data::data_json(&tensor.to_data());
                    }
                    if self.kind() == "float" {
                        active = match catch(|| self.clone().train().val().requires_grad()) {
                            Ok(after) => json!(after),
                            Err(text) => json!({"panic": panic_kind(&text)}),
                        };
                    }
                }
                json!({"path": path, "kind": self.kind(), "id": id_label(self.id), "rank": D, "shape": self.lazy_shape().to_vec(),
                    "initialized": initialized, "device": device_name(&device), "grad": grad, "active": active, "value": value})
            }
            fn look(&self, op: &str, args: Args) -> Looked {
                let tensor = |t: Tensor<D, $kind>| Ok((t.json(), Some(Box::new(t) as Box<dyn AnyTensor>)));
                match op {
                    "param.info" => Ok((json!({"id": id_label(self.id), "kind": self.kind(), "rank": D, "initialized": self.is_initialized(),
                        "shape": self.lazy_shape().to_vec(), "device": device_name(&self.lazy_device()),
                        "display": self.to_string(), "debug": format!("{self:?}")}), None)),
                    "param.val" => tensor(self.val()),
                    "param.base" => tensor(self.base()),
                    "param.into_value" => tensor(self.clone().into_value()),
                    "param.adapter" => Ok((adapter_json(self), None)),
                    "param.is_require_grad" => Ok((json!(self.base().requires_grad()), None)),
                    "param.threads" => {
                        let before = count_inits();
                        let handles: Vec<_> = (0..args::whole(&args["count"])?)
                            .map(|_| self.clone())
                            .map(|p| std::thread::spawn(move || p.val().to_data()))
                            .collect();
                        let read: Vec<_> = handles.into_iter().map(|h| h.join().map_err(|_| ())).collect();
                        let equal = read.iter().all(|r| r.is_ok() && *r == read[0]);
                        Ok((json!({"equal": equal, "inits": count_inits() - before}), None))
                    }
                    _ => Err(bad(op, self.kind())),
                }
            }
            fn change(self: Box<Self>, op: &str, args: Args, with: Option<&dyn AnyTensor>) -> Result<Box<dyn AnyParam>, Fault> {
                let mut this = *self;
                let expr = args["expr"].clone();
                let given = || match with.and_then(|w| w.as_any().downcast_ref::<Tensor<D, $kind>>()) {
                    Some(tensor) => Ok(tensor.clone()),
                    None => protocol(format!("`{op}` needs `tensor`: one of the parameter's kind and rank")),
                };
                Ok(Box::new(match op {
                    "param.map" => this.map(|t| express(t, &expr)),
                    "param.set_require_grad" => this.set_require_grad(args::flag(args, "value")?),
                    "param.init_mapper" => this.init_mapper(move |t| express(t, &expr)),
                    "param.load_mapper" => this.load_mapper(move |t| express(t, &expr)),
                    "param.save_mapper" => this.save_mapper(move |t| express(t, &expr)),
                    "param.rebuild" => {
                        let (id, value, mapper) = this.consume();
                        let value = if expr.is_null() { value } else { express(value, &expr) };
                        match args::text(args, "mapper")? {
                            "own" => Param::from_mapped_value(id, value, mapper),
                            _ => Param::from_mapped_value(id, value, ParamMapper::default()),
                        }
                    }
                    "param.replace" => {
                        let value = match with {
                            Some(_) => given()?,
                            None => Tensor::<D, $kind>::from_tensor_data(data::read(args, this.kind(), 0)?, &args::device(args, "device")?),
                        };
                        let mut made = match args::text(args, "how")? {
                            "initialized" => Param::initialized(this.id, value),
                            how => value.from_plain(how, args)?,
                        };
                        if !args["id"].is_null() {
                            made.id = known_id(args::whole(&args["id"])?);
                        }
                        made
                    }
                    "param.set_id" => {
                        this.id = known_id(args::whole(&args["id"])?);
                        this
                    }
                    "param.to_device" => this.to_device(&args::device(args, "device")?),
                    "param.fork" => this.fork(&args::device(args, "device")?),
                    "param.train" => this.train(),
                    "param.valid" => this.valid(),
                    "param.materialize" => this.materialize(),
                    "param.clone" => this.clone(),
                    "param.transform_for_load" => {
                        let id = known_id(args::whole(&args["id"])?);
                        this.transform_for_load(given()?, id)
                    }
                    "param.transform_for_save" => this.transform_for_save(),
                    _ => return Err(bad(op, this.kind())),
                }))
            }
        }
    };
}
any_param!(Float);
any_param!(Int);
any_param!(Bool);

impl AnyParam for Param<Flag> {
    fn param_id(&self) -> ParamId {
        self.id
    }
    fn kind(&self) -> &'static str {
        "flag"
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
    fn event(&self, path: &str) -> Value {
        json!(["flag", path, id_label(self.id), self.is_enabled()])
    }
    fn state(&self, path: &str) -> Value {
        json!({"path": path, "kind": "flag", "id": id_label(self.id), "enabled": self.is_enabled(), "active": self.clone().train().is_enabled()})
    }
    fn look(&self, op: &str, _: Args) -> Looked {
        match op {
            "param.info" => Ok((json!({"id": id_label(self.id), "kind": "flag", "initialized": self.is_initialized(), "enabled": self.is_enabled(),
                "display": self.to_string(), "debug": format!("{self:?}")}), None)),
            _ => Err(bad(op, "flag")),
        }
    }
    fn change(self: Box<Self>, op: &str, args: Args, _: Option<&dyn AnyTensor>) -> Result<Box<dyn AnyParam>, Fault> {
        let mut this = *self;
        let expr = args["expr"].clone();
        let apply = |mut flag: Flag| {
            for step in expr.as_array().into_iter().flatten() {
                flag = flag.with(step[1].as_bool().unwrap_or_default());
            }
            flag
        };
        Ok(Box::new(match op {
            "param.map" => this.map(apply),
            "param.with_value" => this.with_value(args::flag(args, "value")?),
            "param.rebuild" => {
                let (id, value, mapper) = this.consume();
                match args::text(args, "mapper")? {
                    "own" => Param::from_mapped_value(id, apply(value), mapper),
                    _ => Param::from_mapped_value(id, apply(value), ParamMapper::default()),
                }
            }
            "param.replace" => {
                let mut made = Param::<Flag>::from_bool(args::flag(args, "value")?);
                if !args["id"].is_null() {
                    made.id = known_id(args::whole(&args["id"])?);
                }
                made
            }
            "param.set_id" => {
                this.id = known_id(args::whole(&args["id"])?);
                this
            }
            "param.to_device" => this.to_device(&args::device(args, "device")?),
            "param.fork" => this.fork(&args::device(args, "device")?),
            "param.train" => this.train(),
            "param.valid" => this.valid(),
            "param.materialize" => this.materialize(),
            "param.clone" => this.clone(),
            _ => return Err(bad(op, "flag")),
        }))
    }
}
