//! Modules of any type behind one face, with rank-free visitors and mappers.

use crate::adapters::{Draws, Offer, Rows, ScaleIt, Shift};
use crate::args::{self, Args};
use crate::caught::{Fault, protocol};
use crate::direct::Slot;
use crate::params::AnyParam;
use crate::saving::{self, ModuleRecord, RecordError};
use crate::tensors::AnyTensor;
use burn::module::parallel::LayerPlacement;
use burn::module::*;
use burn::tensor::{Bool, Device, Int, Tensor};
use serde_json::Value;

/// A visitor that does not see ranks.
pub trait Look {
    fn enter(&mut self, _name: &str, _container: &str) {}
    fn exit(&mut self, _name: &str, _container: &str) {}
    fn param(&mut self, path: &str, param: &dyn AnyParam);
}
/// A mapper that does not see ranks.
pub trait Touch {
    fn enter(&mut self, _name: &str, _container: &str) {}
    fn exit(&mut self, _name: &str, _container: &str) {}
    fn param(&mut self, path: &str, param: Box<dyn AnyParam>) -> Box<dyn AnyParam>;
}

struct Looker<'a> {
    path: Vec<String>,
    look: &'a mut dyn Look,
}
impl ModuleVisitor for Looker<'_> {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.push(name.into());
        self.look.enter(name, container);
    }
    fn exit_module(&mut self, name: &str, container: &str) {
        self.path.pop();
        self.look.exit(name, container);
    }
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.look.param(&self.path.join("."), param);
    }
    fn visit_int<const D: usize>(&mut self, param: &Param<Tensor<D, Int>>) {
        self.look.param(&self.path.join("."), param);
    }
    fn visit_bool<const D: usize>(&mut self, param: &Param<Tensor<D, Bool>>) {
        self.look.param(&self.path.join("."), param);
    }
    fn visit_flag(&mut self, flag: &Param<Flag>) {
        self.look.param(&self.path.join("."), flag);
    }
}

struct Toucher<'a> {
    path: Vec<String>,
    touch: &'a mut dyn Touch,
}
impl Toucher<'_> {
    fn pass<P: AnyParam>(&mut self, param: P) -> P {
        let mapped = self.touch.param(&self.path.join("."), Box::new(param));
        *mapped.into_any().downcast().unwrap_or_else(|_| panic!("protocol: a parameter keeps its kind and rank"))
    }
}
impl ModuleMapper for Toucher<'_> {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.push(name.into());
        self.touch.enter(name, container);
    }
    fn exit_module(&mut self, name: &str, container: &str) {
        self.path.pop();
        self.touch.exit(name, container);
    }
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        self.pass(param)
    }
    fn map_int<const D: usize>(&mut self, param: Param<Tensor<D, Int>>) -> Param<Tensor<D, Int>> {
        self.pass(param)
    }
    fn map_bool<const D: usize>(&mut self, param: Param<Tensor<D, Bool>>) -> Param<Tensor<D, Bool>> {
        self.pass(param)
    }
    fn map_flag(&mut self, flag: Param<Flag>) -> Param<Flag> {
        self.pass(flag)
    }
}

/// What a fixture adds to its Module.
pub trait Fixture: Module + 'static {
    fn text(&self, _settings: DisplaySettings) -> Option<String> {
        None
    }
    /// The running state at a path (its clones share the cell).
    fn running(&self, _path: &str) -> Option<RunningState<Tensor<1>>> {
        None
    }
    /// The parameter at a path, with its adapter.
    fn slot(&self, _path: &[&str]) -> Option<&dyn AnyParam> {
        None
    }
    fn slot_mut(&mut self, _path: &[&str]) -> Option<&mut dyn Slot> {
        None
    }
    /// The tensor that the module is.
    fn bare(&self) -> Option<Box<dyn AnyTensor>> {
        None
    }
    fn distribute(self, _placement: &LayerPlacement) -> Result<Box<dyn AnyModule>, Fault> {
        protocol("the module is no layered model")
    }
    fn forward(&self, _input: Tensor<2>) -> Result<Tensor<2>, Fault> {
        protocol("the module is no distributed model")
    }
    fn placement(&self) -> Result<LayerPlacement, Fault> {
        protocol("the module is no distributed model")
    }
    fn into_inner_model(self) -> Result<Box<dyn AnyModule>, Fault> {
        protocol("the module is no distributed model")
    }
    fn into_held_stages(self, _text: bool) -> Result<Value, Fault> {
        protocol("the module is no distributed model")
    }
}

pub trait AnyModule: Send {
    fn copy(&self) -> Box<dyn AnyModule>;
    fn look(&self, look: &mut dyn Look);
    fn touch(self: Box<Self>, touch: &mut dyn Touch) -> Box<dyn AnyModule>;
    fn apply(self: Box<Self>, op: &str, args: Args, group: Option<ParamGroup>) -> Result<Box<dyn AnyModule>, Fault>;
    fn valid(&self) -> Box<dyn AnyModule>;
    fn identity(self: Box<Self>) -> Box<dyn AnyModule>;
    fn collect(&self, devices: Vec<Device>) -> Vec<Device>;
    fn count(&self) -> usize;
    fn ids(&self) -> Vec<ParamId>;
    fn group_of_ids(&self) -> ParamGroup;
    fn record(self: Box<Self>, group: Option<ParamGroup>) -> ModuleRecord;
    fn try_load(self: Box<Self>, record: ModuleRecord) -> Result<Box<dyn AnyModule>, RecordError>;
    fn load(self: Box<Self>, record: ModuleRecord) -> Box<dyn AnyModule>;
    fn save_file(self: Box<Self>, path: &str, format: &str) -> Result<(), RecordError>;
    fn try_load_file(self: Box<Self>, path: &str, format: &str) -> Result<Box<dyn AnyModule>, RecordError>;
    fn load_file(self: Box<Self>, path: &str, format: &str) -> Box<dyn AnyModule>;
    fn quantize(self: Box<Self>, quantizer: &mut Quantizer, group: Option<ParamGroup>) -> Box<dyn AnyModule>;
    fn adapt(self: Box<Self>, how: Adapt) -> Box<dyn AnyModule>;
    fn draws(&self, draws: &mut Draws);
    fn display(&self, settings: DisplaySettings) -> Option<String>;
    fn debug(&self) -> String;
    fn running(&self, path: &str) -> Option<RunningState<Tensor<1>>>;
    fn slot(&self, path: &[&str]) -> Option<&dyn AnyParam>;
    fn slot_mut(&mut self, path: &[&str]) -> Option<&mut dyn Slot>;
    fn bare(&self) -> Option<Box<dyn AnyTensor>>;
    fn distribute(self: Box<Self>, placement: &LayerPlacement) -> Result<Box<dyn AnyModule>, Fault>;
    fn forward(&self, input: Tensor<2>) -> Result<Tensor<2>, Fault>;
    fn placement(&self) -> Result<LayerPlacement, Fault>;
    fn into_inner(self: Box<Self>) -> Result<Box<dyn AnyModule>, Fault>;
    fn into_stages(self: Box<Self>, text: bool) -> Result<Value, Fault>;
}

/// What attaches adapters to a module.
pub enum Adapt {
    Lora(Lora),
    QLora(QLora),
    ScaleIt(Offer<ScaleIt>),
    Rows(Offer<Rows>),
    Shift(Offer<Shift>),
}

struct Identity;
impl ModuleMapper for Identity {}

impl<M: Fixture> AnyModule for M {
    fn copy(&self) -> Box<dyn AnyModule> {
        Box::new(self.clone())
    }
    fn look(&self, look: &mut dyn Look) {
        self.visit(&mut Looker { path: vec![], look });
    }
    fn touch(self: Box<Self>, touch: &mut dyn Touch) -> Box<dyn AnyModule> {
        Box::new((*self).map(&mut Toucher { path: vec![], touch }))
    }
    fn apply(self: Box<Self>, op: &str, args: Args, group: Option<ParamGroup>) -> Result<Box<dyn AnyModule>, Fault> {
        let this = *self;
        let group = || group.map_or_else(|| protocol(format!("`{op}` needs `group`")), Ok);
        Ok(Box::new(match op {
            "to_device" => Module::to_device(this, &args::device(args, "device")?),
            "fork" => Module::fork(this, &args::device(args, "device")?),
            "train" => Module::train(this),
            "materialize" => this.materialize(),
            "freeze" => this.freeze(),
            "unfreeze" => this.unfreeze(),
            "no_grad" => Module::no_grad(this),
            "set_require_grad" => Module::set_require_grad(this, args::flag(args, "value")?),
            "freeze_group" => this.freeze_group(group()?),
            "unfreeze_group" => this.unfreeze_group(group()?),
            "set_require_grad_group" => this.set_require_grad_group(group()?, args::flag(args, "value")?),
            _ => return protocol(format!("`module.{op}` is no step")),
        }))
    }
    fn valid(&self) -> Box<dyn AnyModule> {
        Box::new(Module::valid(self))
    }
    fn identity(self: Box<Self>) -> Box<dyn AnyModule> {
        Box::new((*self).map(&mut Identity))
    }
    fn collect(&self, devices: Vec<Device>) -> Vec<Device> {
        self.collect_devices(devices)
    }
    fn count(&self) -> usize {
        Module::num_params(self)
    }
    fn ids(&self) -> Vec<ParamId> {
        list_param_ids(self)
    }
    fn group_of_ids(&self) -> ParamGroup {
        ParamGroup::ids_from_module(self.clone())
    }
    fn record(self: Box<Self>, group: Option<ParamGroup>) -> ModuleRecord {
        saving::record(*self, group)
    }
    fn try_load(self: Box<Self>, record: ModuleRecord) -> Result<Box<dyn AnyModule>, RecordError> {
        Ok(Box::new(saving::try_load(*self, record)?))
    }
    fn load(self: Box<Self>, record: ModuleRecord) -> Box<dyn AnyModule> {
        Box::new(saving::load(*self, record))
    }
    fn save_file(self: Box<Self>, path: &str, format: &str) -> Result<(), RecordError> {
        saving::save_file(*self, path, format)
    }
    fn try_load_file(self: Box<Self>, path: &str, format: &str) -> Result<Box<dyn AnyModule>, RecordError> {
        Ok(Box::new(saving::try_load_file(*self, path, format)?))
    }
    fn load_file(self: Box<Self>, path: &str, format: &str) -> Box<dyn AnyModule> {
        Box::new(saving::load_file(*self, path, format))
    }
    fn quantize(self: Box<Self>, quantizer: &mut Quantizer, group: Option<ParamGroup>) -> Box<dyn AnyModule> {
        Box::new(match group {
            Some(group) => (*self).quantize_weights_group(quantizer, group),
            None => (*self).quantize_weights(quantizer),
        })
    }
    fn adapt(self: Box<Self>, how: Adapt) -> Box<dyn AnyModule> {
        let this = *self;
        Box::new(match how {
            Adapt::Lora(lora) => this.apply_lora(lora),
            Adapt::QLora(qlora) => this.apply_qlora(qlora),
            Adapt::ScaleIt(offer) => this.apply_reparameterization(offer),
            Adapt::Rows(offer) => this.apply_reparameterization(offer),
            Adapt::Shift(offer) => this.apply_reparameterization(offer),
        })
    }
    fn draws(&self, draws: &mut Draws) {
        self.visit(draws);
    }
    fn display(&self, settings: DisplaySettings) -> Option<String> {
        Fixture::text(self, settings)
    }
    fn debug(&self) -> String {
        format!("{self:?}")
    }
    fn running(&self, path: &str) -> Option<RunningState<Tensor<1>>> {
        Fixture::running(self, path)
    }
    fn slot(&self, path: &[&str]) -> Option<&dyn AnyParam> {
        Fixture::slot(self, path)
    }
    fn slot_mut(&mut self, path: &[&str]) -> Option<&mut dyn Slot> {
        Fixture::slot_mut(self, path)
    }
    fn bare(&self) -> Option<Box<dyn AnyTensor>> {
        Fixture::bare(self)
    }
    fn distribute(self: Box<Self>, placement: &LayerPlacement) -> Result<Box<dyn AnyModule>, Fault> {
        Fixture::distribute(*self, placement)
    }
    fn forward(&self, input: Tensor<2>) -> Result<Tensor<2>, Fault> {
        Fixture::forward(self, input)
    }
    fn placement(&self) -> Result<LayerPlacement, Fault> {
        Fixture::placement(self)
    }
    fn into_inner(self: Box<Self>) -> Result<Box<dyn AnyModule>, Fault> {
        Fixture::into_inner_model(*self)
    }
    fn into_stages(self: Box<Self>, text: bool) -> Result<Value, Fault> {
        Fixture::into_held_stages(*self, text)
    }
}

/// A fixture whose Display is the derived one.
#[macro_export]
macro_rules! fixture {
    ($($name:ty),* $(,)?) => {
        $(impl $crate::modules::Fixture for $name {
            fn text(&self, settings: burn::module::DisplaySettings) -> Option<String> {
                Some(burn::module::ModuleDisplay::format(self, settings))
            }
        })*
    };
}

macro_rules! tensor_fixture {
    ($($kind:ty),*) => {
        $(impl<const D: usize> Fixture for Tensor<D, $kind> {
            fn bare(&self) -> Option<Box<dyn AnyTensor>> {
                Some(AnyTensor::copy(self))
            }
            fn text(&self, settings: DisplaySettings) -> Option<String> {
                Some(ModuleDisplay::format(self, settings))
            }
        })*
    };
}
tensor_fixture!(burn::tensor::Float, Int, Bool);
