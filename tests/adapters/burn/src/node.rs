//! The recursive node type behind `dynamic/1`: Burn's own containers and parameters, chosen at run time.

use crate::modules::Fixture;
use burn::module::*;
use burn::tensor::{Bool, Device, Int, Tensor};
use std::fmt;

/// A value that is no parameter: a constant field, or a module by itself inside a container.
#[derive(Clone)]
pub enum Const {
    Float(f64),
    Int(i64),
    Bool(bool),
    Str(String),
    Floats(Vec<f64>),
    Ints(Vec<i64>),
    MaybeInt(Option<i64>),
}
macro_rules! in_const {
    ($node:expr, $x:ident => $e:expr) => {
        match $node {
            Const::Float($x) => $e,
            Const::Int($x) => $e,
            Const::Bool($x) => $e,
            Const::Str($x) => $e,
            Const::Floats($x) => $e,
            Const::Ints($x) => $e,
            Const::MaybeInt($x) => $e,
        }
    };
}
impl fmt::Debug for Const {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        in_const!(self, x => fmt::Debug::fmt(x, f))
    }
}
impl ModuleDisplayDefault for Const {
    fn content(&self, content: Content) -> Option<Content> {
        in_const!(self, x => ModuleDisplayDefault::content(x, content))
    }
}
impl ModuleDisplay for Const {
    fn format(&self, settings: DisplaySettings) -> String {
        in_const!(self, x => ModuleDisplay::format(x, settings))
    }
}
impl Module for Const {
    fn visit<V: ModuleVisitor>(&self, visitor: &mut V) {
        in_const!(self, x => Module::visit(x, visitor))
    }
    fn map<M: ModuleMapper>(self, mapper: &mut M) -> Self {
        match self {
            Const::Floats(x) => Const::Floats(Module::map(x, mapper)),
            Const::Ints(x) => Const::Ints(Module::map(x, mapper)),
            other => other,
        }
    }
    fn to_device(self, _: &Device) -> Self {
        self
    }
    fn fork(self, _: &Device) -> Self {
        self
    }
    fn collect_devices(&self, devices: Devices) -> Devices {
        devices
    }
    fn materialize(self) -> Self {
        self
    }
    fn valid(&self) -> Self {
        self.clone()
    }
    fn train(self) -> Self {
        self
    }
}

/// A field of a struct, or the payload of a variant.
#[derive(Clone)]
pub enum Field {
    Module(Node),
    Const(Const),
    Skip(Node),
}
impl fmt::Debug for Field {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Field::Const(c) => fmt::Debug::fmt(c, f),
            Field::Module(n) | Field::Skip(n) => fmt::Debug::fmt(n, f),
        }
    }
}
impl Field {
    pub fn module(&self) -> Option<&Node> {
        if let Field::Module(node) = self { Some(node) } else { None }
    }
    pub fn module_mut(&mut self) -> Option<&mut Node> {
        if let Field::Module(node) = self { Some(node) } else { None }
    }
    fn remake(self, f: impl FnOnce(Node) -> Node) -> Field {
        match self {
            Field::Module(node) => Field::Module(f(node)),
            other => other,
        }
    }
    fn show(&self, name: &str, content: Content) -> Content {
        match self {
            Field::Module(node) => content.add(name, node),
            other => content.add_debug_attribute(name, other),
        }
    }
}

#[derive(Clone)]
pub struct Struct {
    pub name: String,
    pub fields: Vec<(String, Field)>,
}
impl Struct {
    fn modules(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.fields.iter().filter_map(|(name, field)| match field {
            Field::Module(node) => Some((name.as_str(), node)),
            _ => None,
        })
    }
    fn remake(mut self, mut f: impl FnMut(&str, Node) -> Node) -> Self {
        self.fields = self.fields.into_iter().map(|(name, field)| { let made = field.remake(|n| f(&name, n)); (name, made) }).collect();
        self
    }
}
impl fmt::Debug for Struct {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut made = f.debug_struct(&self.name);
        for (name, field) in &self.fields {
            made.field(name, field);
        }
        made.finish()
    }
}
impl ModuleDisplayDefault for Struct {
    fn content(&self, content: Content) -> Option<Content> {
        let start = content.set_top_level_type(&self.name);
        self.fields.iter().fold(start, |content, (name, field)| field.show(name, content)).optional()
    }
    fn num_params(&self) -> usize {
        Module::num_params(self)
    }
}
impl ModuleDisplay for Struct {}
impl Module for Struct {
    fn visit<V: ModuleVisitor>(&self, visitor: &mut V) {
        let container = format!("Struct:{}", self.name);
        for (name, node) in self.modules() {
            visitor.enter_module(name, &container);
            node.visit(visitor);
            visitor.exit_module(name, &container);
        }
    }
    fn map<M: ModuleMapper>(self, mapper: &mut M) -> Self {
        let container = format!("Struct:{}", self.name);
        self.remake(|name, node| {
            mapper.enter_module(name, &container);
            let node = node.map(mapper);
            mapper.exit_module(name, &container);
            node
        })
    }
    fn num_params(&self) -> usize {
        self.modules().map(|(_, node)| Module::num_params(node)).sum()
    }
    fn to_device(self, device: &Device) -> Self {
        self.remake(|_, node| node.to_device(device))
    }
    fn fork(self, device: &Device) -> Self {
        self.remake(|_, node| node.fork(device))
    }
    fn collect_devices(&self, devices: Devices) -> Devices {
        self.modules().fold(devices, |devices, (_, node)| node.collect_devices(devices))
    }
    fn materialize(self) -> Self {
        self.remake(|_, node| node.materialize())
    }
    fn valid(&self) -> Self {
        let fields = self.fields.iter().map(|(name, field)| {
            let made = match field {
                Field::Module(node) => Field::Module(node.valid()),
                other => other.clone(),
            };
            (name.clone(), made)
        });
        Struct { name: self.name.clone(), fields: fields.collect() }
    }
    fn train(self) -> Self {
        self.remake(|_, node| node.train())
    }
}

/// An enum with its active variant.
#[derive(Clone)]
pub struct Variant {
    pub name: String,
    pub variant: String,
    pub payload: Box<Field>,
}
impl Variant {
    fn module(&self) -> Option<&Node> {
        match &*self.payload {
            Field::Module(node) => Some(node),
            _ => None,
        }
    }
    fn remake(self, f: impl FnOnce(Node) -> Node) -> Self {
        Variant { payload: Box::new((*self.payload).remake(f)), ..self }
    }
}
impl fmt::Debug for Variant {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple(&self.variant).field(&self.payload).finish()
    }
}
impl ModuleDisplayDefault for Variant {
    fn content(&self, content: Content) -> Option<Content> {
        self.payload.show("_0", content.set_top_level_type(&self.variant)).optional()
    }
    fn num_params(&self) -> usize {
        Module::num_params(self)
    }
}
impl ModuleDisplay for Variant {}
impl Module for Variant {
    fn visit<V: ModuleVisitor>(&self, visitor: &mut V) {
        let container = format!("Enum:{}", self.name);
        if let Some(node) = self.module() {
            visitor.enter_module(&self.variant, &container);
            node.visit(visitor);
            visitor.exit_module(&self.variant, &container);
        }
    }
    fn map<M: ModuleMapper>(self, mapper: &mut M) -> Self {
        let (container, variant) = (format!("Enum:{}", self.name), self.variant.clone());
        self.remake(|node| {
            mapper.enter_module(&variant, &container);
            let node = node.map(mapper);
            mapper.exit_module(&variant, &container);
            node
        })
    }
    fn num_params(&self) -> usize {
        self.module().map_or(0, Module::num_params)
    }
    fn to_device(self, device: &Device) -> Self {
        self.remake(|node| node.to_device(device))
    }
    fn fork(self, device: &Device) -> Self {
        self.remake(|node| node.fork(device))
    }
    fn collect_devices(&self, devices: Devices) -> Devices {
        match self.module() {
            Some(node) => node.collect_devices(devices),
            None => devices,
        }
    }
    fn materialize(self) -> Self {
        self.remake(|node| node.materialize())
    }
    fn valid(&self) -> Self {
        let mut made = self.clone();
        if let Some(node) = self.module() {
            made.payload = Box::new(Field::Module(node.valid()));
        }
        made
    }
    fn train(self) -> Self {
        self.remake(|node| node.train())
    }
}

macro_rules! nodes {
    ($($name:ident($ty:ty)),* $(,)?) => {
        #[derive(Clone)]
        pub enum Node { $($name($ty)),* }
        impl fmt::Debug for Node {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                match self { $(Node::$name(x) => fmt::Debug::fmt(x, f)),* }
            }
        }
        impl ModuleDisplayDefault for Node {
            fn content(&self, content: Content) -> Option<Content> {
                match self { $(Node::$name(x) => ModuleDisplayDefault::content(x, content)),* }
            }
            fn num_params(&self) -> usize {
                match self { $(Node::$name(x) => ModuleDisplayDefault::num_params(x)),* }
            }
        }
        impl ModuleDisplay for Node {
            fn format(&self, settings: DisplaySettings) -> String {
                match self { $(Node::$name(x) => ModuleDisplay::format(x, settings)),* }
            }
        }
        impl Module for Node {
            fn visit<V: ModuleVisitor>(&self, visitor: &mut V) {
                match self { $(Node::$name(x) => Module::visit(x, visitor)),* }
            }
            fn map<M: ModuleMapper>(self, mapper: &mut M) -> Self {
                match self { $(Node::$name(x) => Node::$name(Module::map(x, mapper))),* }
            }
            fn num_params(&self) -> usize {
                match self { $(Node::$name(x) => Module::num_params(x)),* }
            }
            fn to_device(self, device: &Device) -> Self {
                match self { $(Node::$name(x) => Node::$name(Module::to_device(x, device))),* }
            }
            fn fork(self, device: &Device) -> Self {
                match self { $(Node::$name(x) => Node::$name(Module::fork(x, device))),* }
            }
            fn collect_devices(&self, devices: Devices) -> Devices {
                match self { $(Node::$name(x) => Module::collect_devices(x, devices)),* }
            }
            fn materialize(self) -> Self {
                match self { $(Node::$name(x) => Node::$name(Module::materialize(x))),* }
            }
            fn valid(&self) -> Self {
                match self { $(Node::$name(x) => Node::$name(Module::valid(x))),* }
            }
            fn train(self) -> Self {
                match self { $(Node::$name(x) => Node::$name(Module::train(x))),* }
            }
        }
    };
}
type N = Node;
nodes! {
    Struct(Box<Struct>),
    Variant(Variant),
    List(Vec<N>),
    Array0(Box<[N; 0]>), Array1(Box<[N; 1]>), Array2(Box<[N; 2]>), Array3(Box<[N; 3]>), Array4(Box<[N; 4]>),
    Tuple2(Box<(N, N)>), Tuple3(Box<(N, N, N)>), Tuple4(Box<(N, N, N, N)>), Tuple5(Box<(N, N, N, N, N)>),
    Tuple6(Box<(N, N, N, N, N, N)>), Tuple7(Box<(N, N, N, N, N, N, N)>), Tuple8(Box<(N, N, N, N, N, N, N, N)>),
    Tuple9(Box<(N, N, N, N, N, N, N, N, N)>), Tuple10(Box<(N, N, N, N, N, N, N, N, N, N)>),
    Maybe(Box<Option<N>>),
    Float1(Param<Tensor<1>>), Float2(Param<Tensor<2>>), Float3(Param<Tensor<3>>), Float4(Param<Tensor<4>>),
    Int1(Param<Tensor<1, Int>>), Int2(Param<Tensor<2, Int>>), Int3(Param<Tensor<3, Int>>), Int4(Param<Tensor<4, Int>>),
    Bool1(Param<Tensor<1, Bool>>), Bool2(Param<Tensor<2, Bool>>), Bool3(Param<Tensor<3, Bool>>), Bool4(Param<Tensor<4, Bool>>),
    Flag(Param<Flag>),
    Running(RunningState<Tensor<1>>),
    Plain1(Tensor<1>), Plain2(Tensor<2>), Plain3(Tensor<3>), Plain4(Tensor<4>),
    PlainInt1(Tensor<1, Int>), PlainInt2(Tensor<2, Int>), PlainInt3(Tensor<3, Int>), PlainInt4(Tensor<4, Int>),
    PlainBool1(Tensor<1, Bool>), PlainBool2(Tensor<2, Bool>), PlainBool3(Tensor<3, Bool>), PlainBool4(Tensor<4, Bool>),
    Const(Const),
}

impl Node {
    /// The child that the traversal enters by this name; what has no name of its own is looked through.
    fn child(&self, name: &str) -> Option<&Node> {
        let at = || name.parse::<usize>().ok();
        match self {
            Node::Struct(s) => s.modules().find(|(n, _)| *n == name).map(|(_, node)| node),
            Node::Variant(v) => v.module().filter(|_| v.variant == name),
            Node::List(v) => v.get(at()?),
            Node::Array1(a) => a.get(at()?),
            Node::Array2(a) => a.get(at()?),
            Node::Array3(a) => a.get(at()?),
            Node::Array4(a) => a.get(at()?),
            Node::Tuple2(t) => [&t.0, &t.1].get(at()?).copied(),
            Node::Tuple3(t) => [&t.0, &t.1, &t.2].get(at()?).copied(),
            Node::Tuple4(t) => [&t.0, &t.1, &t.2, &t.3].get(at()?).copied(),
            Node::Tuple5(t) => [&t.0, &t.1, &t.2, &t.3, &t.4].get(at()?).copied(),
            Node::Tuple6(t) => [&t.0, &t.1, &t.2, &t.3, &t.4, &t.5].get(at()?).copied(),
            Node::Tuple7(t) => [&t.0, &t.1, &t.2, &t.3, &t.4, &t.5, &t.6].get(at()?).copied(),
            Node::Tuple8(t) => [&t.0, &t.1, &t.2, &t.3, &t.4, &t.5, &t.6, &t.7].get(at()?).copied(),
            Node::Tuple9(t) => [&t.0, &t.1, &t.2, &t.3, &t.4, &t.5, &t.6, &t.7, &t.8].get(at()?).copied(),
            Node::Tuple10(t) => [&t.0, &t.1, &t.2, &t.3, &t.4, &t.5, &t.6, &t.7, &t.8, &t.9].get(at()?).copied(),
            Node::Maybe(m) => m.as_ref().as_ref()?.child(name),
            _ => None,
        }
    }
}
impl Fixture for Node {
    slotted!();
    fn text(&self, settings: DisplaySettings) -> Option<String> {
        Some(ModuleDisplay::format(self, settings))
    }
    fn running(&self, path: &str) -> Option<RunningState<Tensor<1>>> {
        let mut found = path.split('.').filter(|p| !p.is_empty()).try_fold(self, |node, name| node.child(name))?;
        while let Node::Maybe(inner) = found {
            found = inner.as_ref().as_ref()?;
        }
        match found {
            Node::Running(r) => Some(r.clone()),
            _ => None,
        }
    }
}
