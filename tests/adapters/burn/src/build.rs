//! `dynamic/1`: a tree described in JSON becomes a `Node`; and the makers of parameters that `zoo/1` uses too.

use crate::args::{self, Args};
use crate::caught::{Fault, protocol};
use crate::data;
use crate::node::{Const, Field, Node, Struct, Variant};
use crate::shared::{Seen, known_id, log};
use crate::tensors::{Kind, express};
use burn::module::*;
use burn::tensor::{Bool, DType, Device, Int, Tensor, TensorData};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Where a fixture is built, and what is added to its ids.
pub struct Site {
    pub device: Device,
    pub base: u64,
}
impl Site {
    pub fn id(&self, id: u64) -> ParamId {
        known_id(self.base + id)
    }
    pub fn float<const D: usize>(&self, id: u64, shape: [usize; D], dtype: DType) -> Param<Tensor<D>> {
        let data = data::seeded(self.base + id, &shape, dtype);
        self.float_of(id, data)
    }
    pub fn float_of<const D: usize>(&self, id: u64, data: TensorData) -> Param<Tensor<D>> {
        let mut made = Param::from_tensor(Tensor::<D>::from_tensor_data(data, &self.device));
        made.id = self.id(id);
        made
    }
    pub fn f32<const D: usize>(&self, id: u64, shape: [usize; D]) -> Param<Tensor<D>> {
        self.float(id, shape, DType::F32)
    }
    pub fn value<T: Kind>(&self, seed: u64, shape: &[usize], dtype: DType) -> T {
        T::from_tensor_data(data::seeded(seed, shape, dtype), &self.device)
    }
    pub fn other<T: Kind + ParameterValue>(&self, id: u64, shape: &[usize], dtype: DType) -> Param<T> {
        Param::initialized(self.id(id), self.value(self.base + id, shape, dtype))
    }
    pub fn flag(&self, id: u64, value: bool) -> Param<Flag> {
        let mut made = Param::<Flag>::from_bool(value);
        made.id = self.id(id);
        made
    }
}

/// What a lazy parameter's initialiser does besides making its tensor.
#[derive(Clone, Default)]
pub struct Habits {
    pub panics: Option<String>,
    pub ignore_require_grad: bool,
}
/// A lazy float parameter whose initialiser writes to the log.
pub fn lazy_float<const D: usize>(
    id: ParamId,
    data: TensorData,
    shape: [usize; D],
    device: &Device,
    require_grad: bool,
    habits: Habits,
) -> Param<Tensor<D>> {
    let init = move |device: &Device, require_grad: bool| {
        log(Seen::Init { id: id.val(), device: device.clone(), require_grad });
        if let Some(text) = &habits.panics {
            panic!("case: {text}");
        }
        let tensor = Tensor::<D>::from_tensor_data(data.clone(), device);
        if habits.ignore_require_grad { tensor } else { tensor.set_require_grad(require_grad) }
    };
    Param::uninitialized(id, init, device.clone(), require_grad, shape.into())
}
/// A lazy int or bool parameter whose initialiser writes to the log.
pub fn lazy_other<T: Kind + Parameter>(
    id: ParamId,
    data: TensorData,
    shape: &[usize],
    device: &Device,
    require_grad: bool,
    habits: Habits,
) -> Param<T> {
    let init = move |device: &Device, require_grad: bool| {
        log(Seen::Init { id: id.val(), device: device.clone(), require_grad });
        if let Some(text) = &habits.panics {
            panic!("case: {text}");
        }
        T::from_tensor_data(data.clone(), device)
    };
    Param::uninitialized(id, init, device.clone(), require_grad, shape.to_vec().into())
}

pub struct Builder {
    site: Site,
    labels: HashMap<String, Node>,
}

pub fn dynamic(args: Args, device: Device, base: u64) -> Result<Node, Fault> {
    Builder { site: Site { device, base }, labels: HashMap::new() }.node(&args["tree"])
}

impl Builder {
    fn node(&mut self, spec: &Value) -> Result<Node, Fault> {
        let Some(map) = spec.as_object() else { return protocol(format!("{spec} is no node")) };
        if let Some(name) = spec["struct"].as_str() {
            return self.structure(name, spec);
        }
        if let Some(name) = spec["enum"].as_str() {
            let payload = Box::new(self.field(&spec["payload"])?);
            return Ok(Node::Variant(Variant { name: name.into(), variant: args::text(spec, "variant")?.into(), payload }));
        }
        match map.iter().next() {
            Some((key, inner)) if map.len() == 1 => self.simple(key, inner),
            _ => protocol(format!("{spec} is no node")),
        }
    }

    fn structure(&mut self, name: &str, spec: &Value) -> Result<Node, Fault> {
        let mut fields = vec![];
        for field in args::list(spec, "fields")? {
            let Some(field_name) = field[0].as_str() else { return protocol("a field is [name, node]") };
            fields.push((field_name.to_string(), self.field(&field[1])?));
        }
        Ok(Node::Struct(Box::new(Struct { name: name.into(), fields })))
    }

    fn field(&mut self, spec: &Value) -> Result<Field, Fault> {
        if !spec["const"].is_null() {
            return Ok(Field::Const(constant(&spec["const"])?));
        }
        if !spec["skip"].is_null() {
            return Ok(Field::Skip(self.node(&spec["skip"])?));
        }
        Ok(Field::Module(self.node(spec)?))
    }

    fn nodes(&mut self, specs: &Value) -> Result<Vec<Node>, Fault> {
        let Some(specs) = specs.as_array() else { return protocol("a container is a list of nodes") };
        specs.iter().map(|spec| self.node(spec)).collect()
    }

    fn simple(&mut self, key: &str, inner: &Value) -> Result<Node, Fault> {
        match key {
            "vec" => Ok(Node::List(self.nodes(inner)?)),
            "array" => array(self.nodes(inner)?),
            "tuple" => tuple(self.nodes(inner)?),
            "some" => Ok(Node::Maybe(Box::new(Some(self.node(inner)?)))),
            "none" => Ok(Node::Maybe(Box::new(None))),
            "const" => Ok(Node::Const(constant(inner)?)),
            "flag" => {
                let mut made = Param::<Flag>::from_bool(args::flag(inner, "value")?);
                if !inner["id"].is_null() {
                    made.id = self.site.id(args::whole(&inner["id"])?);
                }
                Ok(Node::Flag(made))
            }
            "running" => {
                let (id, seed) = self.id(inner)?;
                let device = args::device_or(inner, "device", &self.site.device)?;
                let value = Tensor::<1>::from_tensor_data(data::read(inner, "float", seed)?, &device);
                Ok(Node::Running(id.map_or_else(|| RunningState::new(value.clone()), |id| RunningState::with_id(id, value.clone()))))
            }
            "tensor" => self.tensor(inner),
            "same" => match self.labels.get(inner.as_str().unwrap_or("")) {
                Some(node) => Ok(node.clone()),
                None => protocol(format!("no parameter before has the label {inner}")),
            },
            "float" | "int" | "bool" => {
                let made = self.parameter(key, inner)?;
                if let Some(label) = inner["label"].as_str() {
                    self.labels.insert(label.into(), made.clone());
                }
                Ok(made)
            }
            _ => protocol(format!("`{key}` is no node")),
        }
    }

    fn id(&self, spec: &Value) -> Result<(Option<ParamId>, u64), Fault> {
        if spec["id"].is_null() {
            return Ok((None, 0));
        }
        let id = self.site.id(args::whole(&spec["id"])?);
        Ok((Some(id), id.val()))
    }

    fn tensor(&mut self, spec: &Value) -> Result<Node, Fault> {
        let kind = args::text(spec, "kind")?;
        let data = data::read(spec, kind, 0)?;
        let device = args::device_or(spec, "device", &self.site.device)?;
        let rg = args::flag_or(spec, "require_grad", false)?;
        fn float<const D: usize>(data: TensorData, device: &Device, rg: bool) -> Tensor<D> {
            let made = Tensor::<D>::from_tensor_data(data, device);
            if rg { made.require_grad() } else { made }
        }
        Ok(match (kind, data.shape().as_slice().len()) {
            ("float", 1) => Node::Plain1(float(data, &device, rg)),
            ("float", 2) => Node::Plain2(float(data, &device, rg)),
            ("float", 3) => Node::Plain3(float(data, &device, rg)),
            ("float", 4) => Node::Plain4(float(data, &device, rg)),
            ("int", 1) => Node::PlainInt1(Kind::from_tensor_data(data, &device)),
            ("int", 2) => Node::PlainInt2(Kind::from_tensor_data(data, &device)),
            ("int", 3) => Node::PlainInt3(Kind::from_tensor_data(data, &device)),
            ("int", 4) => Node::PlainInt4(Kind::from_tensor_data(data, &device)),
            ("bool", 1) => Node::PlainBool1(Kind::from_tensor_data(data, &device)),
            ("bool", 2) => Node::PlainBool2(Kind::from_tensor_data(data, &device)),
            ("bool", 3) => Node::PlainBool3(Kind::from_tensor_data(data, &device)),
            ("bool", 4) => Node::PlainBool4(Kind::from_tensor_data(data, &device)),
            (_, rank) => return protocol(format!("there is no {kind} tensor of rank {rank} here")),
        })
    }

    fn parameter(&mut self, kind: &str, spec: &Value) -> Result<Node, Fault> {
        let (_, shape) = data::declared(spec, kind)?;
        Ok(match (kind, shape.len()) {
            ("float", 1) => Node::Float1(self.float(spec, shape)?),
            ("float", 2) => Node::Float2(self.float(spec, shape)?),
            ("float", 3) => Node::Float3(self.float(spec, shape)?),
            ("float", 4) => Node::Float4(self.float(spec, shape)?),
            ("int", 1) => Node::Int1(self.other::<Tensor<1, Int>>(kind, spec, &shape)?),
            ("int", 2) => Node::Int2(self.other::<Tensor<2, Int>>(kind, spec, &shape)?),
            ("int", 3) => Node::Int3(self.other::<Tensor<3, Int>>(kind, spec, &shape)?),
            ("int", 4) => Node::Int4(self.other::<Tensor<4, Int>>(kind, spec, &shape)?),
            ("bool", 1) => Node::Bool1(self.other::<Tensor<1, Bool>>(kind, spec, &shape)?),
            ("bool", 2) => Node::Bool2(self.other::<Tensor<2, Bool>>(kind, spec, &shape)?),
            ("bool", 3) => Node::Bool3(self.other::<Tensor<3, Bool>>(kind, spec, &shape)?),
            ("bool", 4) => Node::Bool4(self.other::<Tensor<4, Bool>>(kind, spec, &shape)?),
            (_, rank) => return protocol(format!("there is no {kind} parameter of rank {rank} here")),
        })
    }

    fn float<const D: usize>(&mut self, spec: &Value, shape: Vec<usize>) -> Result<Param<Tensor<D>>, Fault> {
        let (id, seed) = self.id(spec)?;
        let device = args::device_or(spec, "device", &self.site.device)?;
        let tensor = || Ok(Tensor::<D>::from_tensor_data(data::read(spec, "float", seed)?, &device));
        let mut made = match spec["how"].as_str().unwrap_or("from_tensor") {
            "from_tensor" => Param::from_tensor(tensor()?),
            "from_data" => Param::from_data(data::read(spec, "float", seed)?, &device),
            "initialized" => {
                let value = tensor()?;
                let value = if args::flag_or(spec, "require_grad", false)? { value.require_grad() } else { value };
                Param::initialized(ParamId::new(), value)
            }
            "lazy" => {
                let id = id.unwrap_or_default();
                let declared: [usize; D] = shape.try_into().expect("the rank was read from this shape");
                lazy_float(id, lazy_data(spec, "float", seed)?, declared, &device, args::flag_or(spec, "require_grad", true)?, habits(spec)?)
            }
            how => return protocol(format!("`{how}` is no way to make a float parameter")),
        };
        made.id = id.unwrap_or(made.id);
        Ok(with_mappers(made, spec))
    }

    fn other<T: Kind + Parameter>(&mut self, kind: &str, spec: &Value, shape: &[usize]) -> Result<Param<T>, Fault> {
        let (id, seed) = self.id(spec)?;
        let id = id.unwrap_or_default();
        let device = args::device_or(spec, "device", &self.site.device)?;
        let made = match spec["how"].as_str().unwrap_or("initialized") {
            "initialized" => Param::initialized(id, T::from_tensor_data(data::read(spec, kind, seed)?, &device)),
            "lazy" => lazy_other(id, lazy_data(spec, kind, seed)?, shape, &device, args::flag_or(spec, "require_grad", true)?, habits(spec)?),
            how => return protocol(format!("`{how}` is no way to make an {kind} parameter")),
        };
        Ok(with_mappers(made, spec))
    }
}

fn habits(spec: &Value) -> Result<Habits, Fault> {
    let panics = spec["panics"].as_str().map(str::to_string);
    Ok(Habits { panics, ignore_require_grad: args::flag_or(spec, "ignore_require_grad", false)? })
}
/// What the initialiser makes: the declared data, or the formula in another shape.
fn lazy_data(spec: &Value, kind: &str, seed: u64) -> Result<TensorData, Fault> {
    if spec["init_shape"].is_null() {
        return data::read(spec, kind, seed);
    }
    let mut other = Map::new();
    for key in ["dtype", "seed"] {
        other.insert(key.into(), spec[key].clone());
    }
    other.insert("shape".into(), spec["init_shape"].clone());
    data::read(&Value::Object(other), kind, seed)
}
fn with_mappers<T: Kind + Parameter>(mut made: Param<T>, spec: &Value) -> Param<T> {
    let expr = |key: &str| spec.get(key).filter(|e| !e.is_null()).cloned();
    if let Some(e) = expr("init") {
        made = made.init_mapper(move |t| express(t, &e));
    }
    if let Some(e) = expr("load") {
        made = made.load_mapper(move |t| express(t, &e));
    }
    if let Some(e) = expr("save") {
        made = made.save_mapper(move |t| express(t, &e));
    }
    made
}

fn constant(spec: &Value) -> Result<Const, Fault> {
    let Some((key, inner)) = spec.as_object().and_then(|m| m.iter().next()) else {
        return protocol(format!("{spec} is no constant"));
    };
    Ok(match key.as_str() {
        "float" => Const::Float(args::float(inner)?),
        "int" => Const::Int(args::signed(inner)?),
        "bool" => Const::Bool(args::flag(spec, key)?),
        "str" => Const::Str(args::text(spec, key)?.into()),
        "floats" => Const::Floats(args::list(spec, key)?.iter().map(args::float).collect::<Result<_, _>>()?),
        "ints" => Const::Ints(args::list(spec, key)?.iter().map(args::signed).collect::<Result<_, _>>()?),
        "some_int" => Const::MaybeInt(Some(args::signed(inner)?)),
        "none_int" => Const::MaybeInt(None),
        _ => return protocol(format!("`{key}` is no constant")),
    })
}

fn array(nodes: Vec<Node>) -> Result<Node, Fault> {
    fn fixed<const N: usize>(nodes: Vec<Node>) -> Box<[Node; N]> {
        Box::new(nodes.try_into().expect("the length was looked at"))
    }
    Ok(match nodes.len() {
        0 => Node::Array0(fixed(nodes)),
        1 => Node::Array1(fixed(nodes)),
        2 => Node::Array2(fixed(nodes)),
        3 => Node::Array3(fixed(nodes)),
        4 => Node::Array4(fixed(nodes)),
        n => return protocol(format!("an array here holds at most 4 nodes, not {n}")),
    })
}
fn tuple(nodes: Vec<Node>) -> Result<Node, Fault> {
    let count = nodes.len();
    let mut it = nodes.into_iter();
    let mut n = || it.next().expect("the length was looked at");
    Ok(match count {
        2 => Node::Tuple2(Box::new((n(), n()))),
        3 => Node::Tuple3(Box::new((n(), n(), n()))),
        4 => Node::Tuple4(Box::new((n(), n(), n(), n()))),
        5 => Node::Tuple5(Box::new((n(), n(), n(), n(), n()))),
        6 => Node::Tuple6(Box::new((n(), n(), n(), n(), n(), n()))),
        7 => Node::Tuple7(Box::new((n(), n(), n(), n(), n(), n(), n()))),
        8 => Node::Tuple8(Box::new((n(), n(), n(), n(), n(), n(), n(), n()))),
        9 => Node::Tuple9(Box::new((n(), n(), n(), n(), n(), n(), n(), n(), n()))),
        10 => Node::Tuple10(Box::new((n(), n(), n(), n(), n(), n(), n(), n(), n(), n()))),
        n => return protocol(format!("a tuple holds 2 to 10 nodes, not {n}")),
    })
}
