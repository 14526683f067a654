//! What saves and loads: the crate burn-store, in the place of burn-core's own records.

use crate::case::PackSource;
use crate::caught::Fault;
use crate::step_pack::pack_error;
use burn::module::{Module, ParamGroup};
use burn::tensor::Bytes;
use burn_pack::{Error, ReaderLimits, Tensor};
use burn_store::burn_pack::Writer;
use burn_store::{BurnpackStore, ModuleSnapshot, ModuleStore, SafetensorsStore, SafetensorsStoreError, StoreTensor};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::rc::Rc;

pub use burn::store::DTypePolicy;

pub const NAME: &str = "burn-store";
pub const CAPABILITIES: &[&str] = &["autodiff", "records", "burnpack", "files", "safetensors"];

/// The capability that a step asks for in vain: what is no business of a store, or what this one has not.
pub fn lacking(step: &Value) -> Option<&'static str> {
    let at = |key: &str| step[key].as_str().unwrap_or("");
    match at("observe") {
        "display" => return Some("display"),
        "debug" => return Some("debug"),
        _ => {}
    }
    if !["", "burnpack", "safetensors"].contains(&at("format")) {
        return Some("format");
    }
    match at("do") {
        // A record of burn-store casts nothing, and passes over what the module has no place for.
        "record.options" if at("dtype_policy") == "CastToModule" => Some("dtype_policy"),
        "record.options" if step["allow_unused"] == false => Some("allow_unused"),
        // Its filters know paths, and no ids.
        "module.record" if !step["group"].is_null() => Some("group"),
        "pack.limits" => Some("limits"),
        "module.quantize_weights" => Some("quant"),
        "module.apply_lora" | "module.apply_qlora" | "module.lora_draws" => Some("lora"),
        "module.apply_reparameterization" | "param.adapter" => Some("reparam"),
        "module.settings" => Some("display"),
        "param.threads" => Some("threads"),
        name if name.starts_with("quant.") => Some("quant"),
        name if name.starts_with("placement.") || name.starts_with("distributed.") => Some("parallel"),
        _ => None,
    }
}

/// A container that has been opened, and how it is to be loaded: burn-store has no such value of its own.
#[derive(Clone)]
pub struct ModuleRecord {
    /// Opened once; taken out while it is told its options.
    store: Rc<RefCell<Option<BurnpackStore>>>,
    /// The container itself where a module was collected into it: what is read again is in the order of the names.
    collected: Option<Bytes>,
    len: usize,
    policy: DTypePolicy,
    allow_partial: bool,
    allow_unused: bool,
    validate: bool,
}

pub enum RecordError {
    Io(String),
    Validation(String),
}
impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            RecordError::Io(text) | RecordError::Validation(text) => f.write_str(text),
        }
    }
}
fn unread(error: Error) -> RecordError {
    RecordError::Io(error.to_string())
}

impl fmt::Debug for ModuleRecord {
    /// Burn's text, which the results of `record.options` hold: it says which options this adapter was told.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("ModuleRecord")
            .field("num_tensors", &self.len)
            .field("dtype_policy", &self.policy)
            .field("allow_partial", &self.allow_partial)
            .field("allow_unused", &self.allow_unused)
            .field("validate", &self.validate)
            .finish()
    }
}

impl ModuleRecord {
    fn opened(mut store: BurnpackStore) -> Result<Self, RecordError> {
        let len = store.keys().map_err(unread)?.len();
        let (policy, store) = (DTypePolicy::FromRecord, Rc::new(RefCell::new(Some(store))));
        Ok(ModuleRecord { store, collected: None, len, policy, allow_partial: false, allow_unused: false, validate: true })
    }
    fn with_store<T>(&self, work: impl FnOnce(&mut BurnpackStore) -> Result<T, Error>) -> Result<T, Error> {
        let taken = self.store.borrow_mut().take();
        let Some(store) = taken else { return Err(Error::IoError("the store is in use".to_string())) };
        let mut store = store.allow_partial(self.allow_partial).validate(self.validate);
        let done = work(&mut store);
        *self.store.borrow_mut() = Some(store);
        done
    }
    pub fn with_dtype_policy(mut self, policy: DTypePolicy) -> Self {
        self.policy = policy;
        self
    }
    pub fn allow_partial(mut self, allow: bool) -> Self {
        self.allow_partial = allow;
        self
    }
    pub fn allow_unused(mut self, allow: bool) -> Self {
        self.allow_unused = allow;
        self
    }
    pub fn validate(mut self, validate: bool) -> Self {
        self.validate = validate;
        self
    }
    pub fn len(&self) -> usize {
        self.len
    }
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    fn writer(&self) -> Result<Writer, RecordError> {
        let tensors = self.with_store(|store| Ok(packed(store.get_all_tensors()?)));
        Ok(Writer::new(tensors.map_err(unread)?))
    }
    pub fn into_bytes(self) -> Result<Bytes, RecordError> {
        match self.collected {
            Some(bytes) => Ok(bytes),
            None => self.writer()?.into_bytes().map_err(unread),
        }
    }
    pub fn from_bytes(bytes: Bytes) -> Result<Self, RecordError> {
        Self::opened(BurnpackStore::from_bytes(Some(bytes)))
    }
    pub fn save<P: AsRef<Path>>(self, path: P) -> Result<(), RecordError> {
        self.writer()?.overwrite(true).write_to_file(path).map_err(unread)
    }
    pub fn load<P: AsRef<Path>>(path: P) -> Result<Self, RecordError> {
        Self::opened(BurnpackStore::from_file(path))
    }
}
fn packed(tensors: &BTreeMap<String, StoreTensor>) -> Vec<Tensor> {
    tensors.values().map(|tensor| tensor.clone().into_pack()).collect()
}

/// Without the three lines of metadata that burn-store adds by itself, so that bytes can be equal.
pub fn record<M: Module>(module: M, _group: Option<ParamGroup>) -> ModuleRecord {
    let mut store = BurnpackStore::from_bytes(None).clear_metadata();
    let written = module.save_into(&mut store).and_then(|()| store.get_bytes()).map_err(unread);
    let opened = written.and_then(|bytes| Ok(ModuleRecord { collected: Some(bytes.clone()), ..ModuleRecord::from_bytes(bytes)? }));
    opened.unwrap_or_else(|error| panic!("{error}"))
}
pub fn try_load<M: Module>(mut module: M, record: ModuleRecord) -> Result<M, RecordError> {
    match record.with_store(|store| module.load_from(store)) {
        Ok(_) => Ok(module),
        Err(error) => Err(RecordError::Validation(error.to_string())),
    }
}
pub fn load<M: Module>(module: M, record: ModuleRecord) -> M {
    try_load(module, record).unwrap_or_else(|error| panic!("Failed to load record: {error}"))
}

fn refused(error: SafetensorsStoreError) -> RecordError {
    let text = error.to_string();
    match error {
        SafetensorsStoreError::Io(_) | SafetensorsStoreError::Safetensors(_) => RecordError::Io(text),
        _ => RecordError::Validation(text),
    }
}
pub fn save_file<M: Module>(module: M, path: &str, format: &str) -> Result<(), RecordError> {
    if format == "safetensors" {
        return module.save_into(&mut SafetensorsStore::from_file(path).overwrite(true)).map_err(refused);
    }
    module.save_into(&mut BurnpackStore::from_file(path).clear_metadata().overwrite(true)).map_err(unread)
}
pub fn try_load_file<M: Module>(mut module: M, path: &str, format: &str) -> Result<M, RecordError> {
    if format == "safetensors" {
        module.load_from(&mut SafetensorsStore::from_file(path)).map_err(refused)?;
        return Ok(module);
    }
    try_load(module, ModuleRecord::load(path)?)
}
pub fn load_file<M: Module>(module: M, path: &str, format: &str) -> M {
    try_load_file(module, path, format).unwrap_or_else(|error| panic!("Failed to load module from file: {error}"))
}

fn opened(source: &PackSource) -> BurnpackStore {
    match source {
        PackSource::Bytes(bytes) => BurnpackStore::from_bytes(Some(Bytes::from_bytes_vec(bytes.clone()))),
        PackSource::File(path) => BurnpackStore::from_file(path),
        PackSource::Exact(path) => BurnpackStore::from_file(path).auto_extension(false),
    }
}
pub fn names(source: &PackSource, _limits: &ReaderLimits) -> Result<Vec<String>, Fault> {
    opened(source).keys().map_err(pack_error)
}
pub fn tensors(source: &PackSource, _limits: &ReaderLimits) -> Result<Vec<Tensor>, Fault> {
    opened(source).get_all_tensors().map(packed).map_err(pack_error)
}
pub fn bytes_of(source: &PackSource, _limits: &ReaderLimits, name: &str) -> Result<Vec<u8>, Fault> {
    let mut store = opened(source);
    match store.get_tensor(name).map_err(pack_error)? {
        Some(tensor) => Ok(tensor.clone().into_pack().into_bytes().map_err(pack_error)?.to_vec()),
        None => Err(pack_error(Error::TensorNotFound(name.to_string()))),
    }
}
