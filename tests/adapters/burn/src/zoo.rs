//! `zoo/1`, through `#[derive(Module)]`: the types, field for field as `spec/fixtures.md` has them.

use crate::fixture;
use crate::modules::Fixture;
use burn::module::*;
use burn::tensor::{Bool, Device, Int, Tensor};

#[derive(Module, Debug)]
pub struct Linear {
    pub weight: Param<Tensor<2>>,
    pub bias: Option<Param<Tensor<1>>>,
}
#[derive(Module, Debug)]
pub struct Mlp {
    pub input: Linear,
    pub hidden: Vec<Linear>,
    pub output: Linear,
    pub rate: f64,
}
#[derive(Module, Debug)]
pub struct Kinds {
    pub b: Param<Tensor<1, Bool>>,
    pub z_first: Param<Tensor<3>>,
    pub i: Param<Tensor<1, Int>>,
    pub on: Param<Flag>,
    pub a_last: Param<Tensor<1>>,
}
#[derive(Module, Debug)]
pub struct Containers {
    pub vec: Vec<Linear>,
    pub arr: [Linear; 2],
    pub tup: (Linear, Param<Tensor<1>>, Vec<Param<Tensor<1>>>),
    pub some: Option<Linear>,
    pub none: Option<Linear>,
    pub nested: Vec<Vec<Option<Param<Tensor<1>>>>>,
    pub empty_vec: Vec<Linear>,
    pub opt_vec: Option<Vec<Linear>>,
    pub vec_opt: Vec<Option<Linear>>,
}
#[derive(Module, Debug)]
pub struct Nested {
    pub inner: Linear,
}
#[derive(Module, Debug)]
pub enum Pick {
    One(Linear),
    Two(Nested),
    Plain(f64),
    Skipped(#[module(skip)] Linear),
    List(Vec<Linear>),
}
#[derive(Module, Debug)]
pub struct Deep {
    pub a: Nested,
    pub pick: Pick,
    pub picks: Vec<Pick>,
}
#[derive(Module, Debug)]
pub struct Gen<M> {
    pub module: M,
    pub own: Param<Tensor<1>>,
}
#[derive(Module, Debug)]
pub struct Consts {
    pub p: f64,
    pub name: String,
    pub n: usize,
    pub flag: bool,
    pub opt: Option<f64>,
    pub vecs: Vec<usize>,
    pub pair: (usize, f64),
    pub weight: Param<Tensor<1>>,
}
#[derive(Module, Debug)]
pub struct Skips {
    pub weight: Param<Tensor<1>>,
    #[module(skip)]
    pub tensor: Tensor<1>,
    #[module(skip)]
    pub names: Vec<String>,
    #[module(skip)]
    pub module: Option<Linear>,
    #[module(skip)]
    pub level: usize,
}
#[derive(Module, Debug)]
pub struct Flagged {
    pub weight: Param<Tensor<2>>,
    pub on: Param<Flag>,
}
#[derive(Module, Debug)]
pub struct Flags {
    pub first: Param<Flag>,
    pub inner: Flagged,
    pub second: Param<Flag>,
}
#[derive(Module, Debug)]
pub struct Shared {
    pub a: Param<Tensor<1>>,
    pub b: Param<Tensor<1>>,
}
#[derive(Module, Debug)]
pub struct Running {
    pub mean: RunningState<Tensor<1>>,
    pub w: Param<Tensor<1>>,
}
#[derive(Module, Debug)]
pub struct Tensors {
    pub t: Tensor<2>,
    pub i: Tensor<1, Int>,
    pub b: Tensor<1, Bool>,
    pub weight: Param<Tensor<1>>,
}
#[derive(Module, Debug)]
pub struct Floats {
    pub f64: Param<Tensor<2>>,
    pub f32: Param<Tensor<2>>,
    pub f16: Param<Tensor<2>>,
    pub bf16: Param<Tensor<2>>,
}
#[derive(Module, Debug)]
pub struct Ints {
    pub i64: Param<Tensor<1, Int>>,
    pub i32: Param<Tensor<1, Int>>,
    pub i16: Param<Tensor<1, Int>>,
    pub i8: Param<Tensor<1, Int>>,
    pub u64: Param<Tensor<1, Int>>,
    pub u32: Param<Tensor<1, Int>>,
    pub u16: Param<Tensor<1, Int>>,
    pub u8: Param<Tensor<1, Int>>,
}
#[derive(Module, Debug)]
pub struct Bools {
    pub native: Param<Tensor<1, Bool>>,
    pub u8: Param<Tensor<2, Bool>>,
}
#[derive(Module, Debug)]
pub struct Shapes {
    pub zero: Param<Tensor<2>>,
    pub zero_int: Param<Tensor<1, Int>>,
    pub one: Param<Tensor<1>>,
    pub r3: Param<Tensor<3>>,
    pub r4: Param<Tensor<4>>,
}
#[derive(Module, Debug)]
pub struct Net {
    pub lin: Linear,
    pub scale: Param<Tensor<1>>,
    pub count: Param<Tensor<1, Int>>,
    pub mask: Param<Tensor<1, Bool>>,
    pub training: Param<Flag>,
    pub rate: f64,
}
#[derive(Module, Debug)]
pub struct Chain {
    pub weight: Param<Tensor<1>>,
    pub next: Option<Box<Chain>>,
}
#[derive(Module, Debug)]
pub struct Tree {
    pub layer: Linear,
    pub children: Vec<Tree>,
    pub next: Option<Box<Chain>>,
}
#[derive(Module, Debug)]
pub struct Tup(pub Linear, pub f64, #[module(skip)] pub usize);
#[derive(Module, Debug)]
pub struct Unit {}
type P1 = Param<Tensor<1>>;
#[derive(Module, Debug)]
pub struct Ten {
    pub t: (P1, P1, P1, P1, P1, P1, P1, P1, P1, P1),
}

/// A module that says 42 for its own count.
#[derive(Debug, Clone)]
pub struct Counted {
    pub weight: Param<Tensor<1>>,
}
impl Module for Counted {
    fn visit<V: ModuleVisitor>(&self, visitor: &mut V) {
        visitor.enter_module("weight", "Struct:Counted");
        self.weight.visit(visitor);
        visitor.exit_module("weight", "Struct:Counted");
    }
    fn map<M: ModuleMapper>(self, mapper: &mut M) -> Self {
        mapper.enter_module("weight", "Struct:Counted");
        let weight = Module::map(self.weight, mapper);
        mapper.exit_module("weight", "Struct:Counted");
        Counted { weight }
    }
    fn num_params(&self) -> usize {
        42
    }
    fn to_device(self, device: &Device) -> Self {
        Counted { weight: self.weight.to_device(device) }
    }
    fn fork(self, device: &Device) -> Self {
        Counted { weight: self.weight.fork(device) }
    }
    fn collect_devices(&self, devices: Devices) -> Devices {
        self.weight.collect_devices(devices)
    }
    fn materialize(self) -> Self {
        Counted { weight: self.weight.materialize() }
    }
    fn valid(&self) -> Self {
        Counted { weight: self.weight.valid() }
    }
    fn train(self) -> Self {
        Counted { weight: self.weight.train() }
    }
}
impl ModuleDisplayDefault for Counted {
    fn content(&self, content: Content) -> Option<Content> {
        content.set_top_level_type("Counted").add("weight", &self.weight).optional()
    }
    fn num_params(&self) -> usize {
        Module::num_params(self)
    }
}
impl ModuleDisplay for Counted {}
#[derive(Module, Debug)]
pub struct Holder {
    pub list: Vec<Counted>,
    pub pair: (Counted, Counted),
    pub some: Option<Counted>,
    pub own: Counted,
}

fixture!(
    Kinds, Containers, Pick, Deep, Consts, Skips, Flags, Shared, Tensors, Ints, Bools, Tree, Tup,
    Unit, Ten, Holder,
);
macro_rules! with_slots {
    ($($name:ty),*) => {
        $(impl Fixture for $name {
            fn text(&self, settings: DisplaySettings) -> Option<String> {
                Some(ModuleDisplay::format(self, settings))
            }
            slotted!();
        })*
    };
}
with_slots!(Linear, Mlp, Floats, Shapes, Net);
impl Fixture for Running {
    fn text(&self, settings: DisplaySettings) -> Option<String> {
        Some(ModuleDisplay::format(self, settings))
    }
    fn running(&self, path: &str) -> Option<RunningState<Tensor<1>>> {
        (path == "mean").then(|| self.mean.clone())
    }
}
impl<M: Module + ModuleDisplay + 'static> Fixture for Gen<M> {
    fn text(&self, settings: DisplaySettings) -> Option<String> {
        Some(ModuleDisplay::format(self, settings))
    }
}
