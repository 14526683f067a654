//! What saves and loads: the crate burn-core. `../../burn-store` puts another file in the place of this one.

use crate::caught::Fault;
use crate::step_pack::{open_source, pack_error};
use crate::case::PackSource;
use burn::module::{Module, ParamGroup};
use burn_pack::{ReaderLimits, Tensor};
use serde_json::Value;

pub use burn::store::{DTypePolicy, ModuleRecord, RecordError};

pub const NAME: &str = "burn";
pub const CAPABILITIES: &[&str] = &["autodiff", "records", "burnpack", "parallel", "files", "threads", "display", "debug", "tuple_struct",
    "quant", "lora", "reparam"];

/// The capability that a step asks for in vain: burn-core writes and reads one format.
pub fn lacking(step: &Value) -> Option<&'static str> {
    match step["format"].as_str() {
        None | Some("burnpack") => None,
        Some("safetensors") => Some("safetensors"),
        Some(_) => Some("format"),
    }
}

pub fn record<M: Module>(module: M, group: Option<ParamGroup>) -> ModuleRecord {
    match group {
        Some(group) => module.into_record_group(group),
        None => module.into_record(),
    }
}
pub fn try_load<M: Module>(module: M, record: ModuleRecord) -> Result<M, RecordError> {
    module.try_load_record(record)
}
pub fn load<M: Module>(module: M, record: ModuleRecord) -> M {
    module.load_record(record)
}
pub fn save_file<M: Module>(module: M, path: &str, _format: &str) -> Result<(), RecordError> {
    module.save_file(path)
}
pub fn try_load_file<M: Module>(module: M, path: &str, _format: &str) -> Result<M, RecordError> {
    module.try_load_file(path)
}
pub fn load_file<M: Module>(module: M, path: &str, _format: &str) -> M {
    module.load_file(path)
}

pub fn names(source: &PackSource, limits: &ReaderLimits) -> Result<Vec<String>, Fault> {
    Ok(open_source(source, limits)?.tensor_names().into_iter().map(str::to_string).collect())
}
pub fn tensors(source: &PackSource, limits: &ReaderLimits) -> Result<Vec<Tensor>, Fault> {
    open_source(source, limits)?.into_tensors().map_err(pack_error)
}
pub fn bytes_of(source: &PackSource, limits: &ReaderLimits, name: &str) -> Result<Vec<u8>, Fault> {
    Ok(open_source(source, limits)?.tensor_data(name).map_err(pack_error)?.to_vec())
}
