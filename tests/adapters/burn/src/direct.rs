//! Parameters reached as fields, with their adapters: visitors and mappers see them without.

use crate::adapters::{Rows, ScaleIt, Shift};
use crate::data;
use crate::devices;
use crate::node::Node;
use crate::params::AnyParam;
use crate::tensors::Kind;
use crate::zoo::{Floats, Linear, Mlp, Net, Shapes};
use burn::module::*;
use burn::tensor::{Bool, BoolStore, DType, Float, Int, Tensor};

pub trait Slots {
    fn slot(&self, path: &[&str]) -> Option<&dyn AnyParam>;
    /// The parameter at a path that leads into no adapter.
    fn slot_mut(&mut self, path: &[&str]) -> Option<&mut dyn Slot>;
}
/// A place that holds a parameter.
pub trait Slot {
    fn change(&mut self, change: &mut dyn FnMut(Box<dyn AnyParam>) -> Box<dyn AnyParam>);
}

fn adapter<'a, T: Parameter>(param: &'a Param<T>, path: &[&str]) -> Option<&'a dyn AnyParam> {
    match path {
        ["lora", "a", rest @ ..] => param.adapter()?.a.slot(rest),
        ["lora", "b", rest @ ..] => param.adapter()?.b.slot(rest),
        ["rows", "w", rest @ ..] => param.reparameterization::<Rows>()?.w.slot(rest),
        ["shift", "by", rest @ ..] => param.reparameterization::<Shift>()?.by.slot(rest),
        ["scale", "it", "s", rest @ ..] => param.reparameterization::<ScaleIt>()?.s.slot(rest),
        ["scale", "it", "sub", "0", rest @ ..] => param.reparameterization::<ScaleIt>()?.sub[0].slot(rest),
        _ => None,
    }
}

macro_rules! tensor_slot {
    ($($kind:ty, $dtype:expr);* $(;)?) => {
        $(impl<const D: usize> Slots for Param<Tensor<D, $kind>> {
            fn slot(&self, path: &[&str]) -> Option<&dyn AnyParam> {
                if path.is_empty() { Some(self) } else { adapter(self, path) }
            }
            fn slot_mut(&mut self, path: &[&str]) -> Option<&mut dyn Slot> {
                if path.is_empty() { Some(self) } else { None }
            }
        }
        impl<const D: usize> Slot for Param<Tensor<D, $kind>> {
            fn change(&mut self, change: &mut dyn FnMut(Box<dyn AnyParam>) -> Box<dyn AnyParam>) {
                let empty = Tensor::from_tensor_data(data::seeded(0, &[1; D], $dtype), &devices::first());
                let held = std::mem::replace(self, Param::initialized(ParamId::from(0), empty));
                let made = change(Box::new(held)).into_any().downcast();
                *self = *made.unwrap_or_else(|_| panic!("protocol: a parameter keeps its kind and rank"));
            }
        })*
    };
}
tensor_slot!(Float, DType::F32; Int, DType::I64; Bool, DType::Bool(BoolStore::Native));

impl<T: Slots> Slots for Option<T> {
    fn slot(&self, path: &[&str]) -> Option<&dyn AnyParam> {
        self.as_ref()?.slot(path)
    }
    fn slot_mut(&mut self, path: &[&str]) -> Option<&mut dyn Slot> {
        self.as_mut()?.slot_mut(path)
    }
}
impl<T: Slots> Slots for Vec<T> {
    fn slot(&self, path: &[&str]) -> Option<&dyn AnyParam> {
        self.get(path.first()?.parse::<usize>().ok()?)?.slot(&path[1..])
    }
    fn slot_mut(&mut self, path: &[&str]) -> Option<&mut dyn Slot> {
        self.get_mut(path.first()?.parse::<usize>().ok()?)?.slot_mut(&path[1..])
    }
}

macro_rules! struct_slots {
    ($($ty:ty { $($field:ident),* })*) => {
        $(impl Slots for $ty {
            fn slot(&self, path: &[&str]) -> Option<&dyn AnyParam> {
                match *path.first()? {
                    $(stringify!($field) => self.$field.slot(&path[1..]),)*
                    _ => None,
                }
            }
            fn slot_mut(&mut self, path: &[&str]) -> Option<&mut dyn Slot> {
                match *path.first()? {
                    $(stringify!($field) => self.$field.slot_mut(&path[1..]),)*
                    _ => None,
                }
            }
        })*
    };
}
struct_slots! {
    Linear { weight, bias }
    Mlp { input, hidden, output }
    Net { lin, scale, count, mask }
    Floats { f64, f32, f16, bf16 }
    Shapes { zero, zero_int, one, r3, r4 }
}

macro_rules! node_slots {
    ($($name:ident),*) => {
        impl Slots for Node {
            fn slot(&self, path: &[&str]) -> Option<&dyn AnyParam> {
                match self {
                    $(Node::$name(param) => param.slot(path),)*
                    Node::Struct(made) => {
                        let (_, field) = made.fields.iter().find(|(name, _)| Some(&name.as_str()) == path.first())?;
                        field.module()?.slot(&path[1..])
                    }
                    _ => None,
                }
            }
            fn slot_mut(&mut self, path: &[&str]) -> Option<&mut dyn Slot> {
                match self {
                    $(Node::$name(param) => param.slot_mut(path),)*
                    Node::Struct(made) => {
                        let (_, field) = made.fields.iter_mut().find(|(name, _)| Some(&name.as_str()) == path.first())?;
                        field.module_mut()?.slot_mut(&path[1..])
                    }
                    _ => None,
                }
            }
        }
    };
}
node_slots!(Float1, Float2, Float3, Float4);

/// A fixture whose parameters can be reached as fields.
#[macro_export]
macro_rules! slotted {
    () => {
        fn slot(&self, path: &[&str]) -> Option<&dyn $crate::params::AnyParam> {
            $crate::direct::Slots::slot(self, path)
        }
        fn slot_mut(&mut self, path: &[&str]) -> Option<&mut dyn $crate::direct::Slot> {
            $crate::direct::Slots::slot_mut(self, path)
        }
    };
}
