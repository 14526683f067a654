//! The state of one case, and which file answers which step.

use crate::args::{self, Args};
use crate::caught::{self, Fault, Outcome, protocol};
use crate::modules::AnyModule;
use crate::saving::{self, ModuleRecord};
use crate::tensors::AnyTensor;
use crate::threads::Threads;
use crate::{observe, shared, step_adapt, step_module, step_pack, step_param, step_placement, step_quant, step_record, step_small};
use burn::module::Quantizer;
use burn::module::parallel::LayerPlacement;
use burn_pack::ReaderLimits;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;

/// Where a pack is read from: a reader is opened for each question.
#[derive(Clone)]
pub enum PackSource {
    Bytes(Vec<u8>),
    File(PathBuf),
    Exact(PathBuf),
}
pub enum Handle {
    Module(Box<dyn AnyModule>),
    Tensor(Box<dyn AnyTensor>),
    Record(ModuleRecord),
    Bytes(Vec<u8>),
    Pack(PackSource, ReaderLimits),
    Placement(LayerPlacement),
    Quantizer(Quantizer),
}

pub struct Case {
    handles: HashMap<String, Handle>,
    pub threads: Threads,
    folder: PathBuf,
    /// What the backend was found to lack: the panic that told it may have left cells that never answer (PAR-26).
    lacked: Option<String>,
}

macro_rules! borrow {
    ($name:ident, $variant:ident, $ty:ty, $what:literal) => {
        pub fn $name(&self, name: &str) -> Result<&$ty, Fault> {
            match self.handles.get(name) {
                Some(Handle::$variant(found)) => Ok(found),
                _ => protocol(format!(concat!("no ", $what, " is called `{}`"), name)),
            }
        }
    };
}

impl Case {
    pub fn new(scratch: &str, number: usize) -> Self {
        shared::reset();
        let folder = PathBuf::from(scratch).join(format!("case-{}-{number}", std::process::id()));
        Case { handles: HashMap::new(), threads: Threads::default(), folder, lacked: None }
    }

    borrow!(module, Module, Box<dyn AnyModule>, "module");
    borrow!(tensor, Tensor, Box<dyn AnyTensor>, "tensor");
    borrow!(record, Record, ModuleRecord, "record");
    borrow!(bytes, Bytes, Vec<u8>, "bytes");
    borrow!(placement, Placement, LayerPlacement, "placement");
    pub fn pack(&self, name: &str) -> Result<(&PackSource, &ReaderLimits), Fault> {
        match self.handles.get(name) {
            Some(Handle::Pack(source, limits)) => Ok((source, limits)),
            _ => protocol(format!("no pack is called `{name}`")),
        }
    }
    pub fn handle(&self, name: &str) -> Result<&Handle, Fault> {
        self.handles.get(name).map_or_else(|| protocol(format!("nothing is called `{name}`")), Ok)
    }
    /// The module of `on`, out of the case: a step that fails leaves nothing there.
    pub fn take_module(&mut self, name: &str) -> Result<Box<dyn AnyModule>, Fault> {
        self.module(name)?;
        match self.handles.remove(name) {
            Some(Handle::Module(found)) => Ok(found),
            _ => protocol(format!("no module is called `{name}`")),
        }
    }
    /// The quantizer of that name, out of the case.
    pub fn take_quantizer(&mut self, name: &str) -> Result<Quantizer, Fault> {
        match self.handles.remove(name) {
            Some(Handle::Quantizer(found)) => Ok(found),
            _ => protocol(format!("no quantizer is called `{name}`")),
        }
    }
    pub fn drop_handle(&mut self, name: &str) -> Result<(), Fault> {
        self.handles.remove(name).map_or_else(|| protocol(format!("nothing is called `{name}`")), |_| Ok(()))
    }
    pub fn put(&mut self, name: &str, handle: Handle) {
        self.handles.insert(name.to_string(), handle);
    }
    /// Store under `as`, by default under `on`.
    pub fn store(&mut self, args: Args, handle: Handle) -> Result<(), Fault> {
        let name = args["as"].as_str().or_else(|| args["on"].as_str());
        let name = name.map_or_else(|| protocol("the step needs `as`"), |n| Ok(n.to_string()))?;
        self.put(&name, handle);
        Ok(())
    }
    pub fn store_if_named(&mut self, args: Args, handle: Handle) {
        if let Some(name) = args["as"].as_str() {
            self.put(name, handle);
        }
    }

    /// The path of a file of the case, whose folder is made when first asked for.
    pub fn file(&self, args: Args, key: &str) -> Result<String, Fault> {
        let name = args::text(args, key)?;
        self.folder()?;
        Ok(format!("{}/{name}", self.folder.display()))
    }
    pub fn folder(&self) -> Result<&PathBuf, Fault> {
        std::fs::create_dir_all(&self.folder).map_err(|e| Fault::Error("Protocol", e.to_string()))?;
        Ok(&self.folder)
    }
    pub fn close(self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }

    fn answer(&mut self, step: &Value) -> Outcome {
        if step["observe"].is_string() {
            return observe::observe(self, step);
        }
        let name = args::text(step, "do")?;
        let (family, op) = name.split_once('.').unwrap_or((name, ""));
        match family {
            "quant" => step_quant::run(self, op, step),
            "module" if step_adapt::STEPS.contains(&op) => step_adapt::run(self, op, step),
            "module" => step_module::run(self, op, step),
            "param" | "running" => step_param::run(self, name, step),
            "tensor" | "device" | "param_id" | "group" | "flag" => step_small::run(self, name, step),
            "record" => step_record::run(self, op, step),
            "bytes" | "pack" | "file" => step_pack::run(self, name, step),
            "placement" | "distributed" => step_placement::run(self, name, step),
            _ => protocol(format!("`{name}` is no step")),
        }
    }
    /// One step, with its outcome as the protocol writes it.
    pub fn step(&mut self, step: &Value) -> Value {
        if let Some(word) = saving::lacking(step) {
            return json!({"unsupported": {"capability": word, "text": "not here"}});
        }
        if let Some(word) = &self.lacked {
            return json!({"unsupported": {"capability": word, "text": "an earlier step failed for it"}});
        }
        let scratch = self.folder.display().to_string();
        let result = caught::catch(|| self.answer(step));
        let result = match result {
            Err(text) if text.starts_with("protocol: ") => Ok(Err(Fault::Error("Protocol", text))),
            Err(text) if text.starts_with("lacks: ") => {
                let word = text.trim_start_matches("lacks: ");
                self.lacked = Some(word.into());
                return json!({"unsupported": {"capability": word, "text": "not on this backend"}});
            }
            other => other,
        };
        caught::outcome(result, |text| shared::mask(text, &scratch))
    }
    pub fn mask(&self, text: &str) -> Value {
        json!(shared::mask(text, &self.folder.display().to_string()))
    }
}
