//! `record.*`.

use crate::args::{self, Args};
use crate::case::{Case, Handle};
use crate::caught::{Fault, Outcome, protocol};
use crate::data::{bytes_json, dtype_name, hex, raw_json};
use crate::saving::{DTypePolicy, ModuleRecord, RecordError};
use crate::shared::id_label;
use crate::step_pack::pack_error;
use burn::module::ParamId;
use burn::tensor::Bytes;
use burn_pack::Reader;
use serde_json::{Value, json};

pub fn record_error(e: RecordError) -> Fault {
    match &e {
        RecordError::Io(_) => Fault::Error("RecordIo", e.to_string()),
        RecordError::Validation(_) => Fault::Error("RecordValidation", e.to_string()),
    }
}

/// Where each tensor's data starts, as the metadata of a pack says.
fn starts(bytes: &[u8]) -> Option<Vec<(String, u64)>> {
    let size = u32::from_le_bytes(bytes.get(6..10)?.try_into().ok()?) as usize;
    // Only what this writer makes is read here: definite lengths, known keys, in known order.
    let mut at = Cbor { bytes: bytes.get(10..10 + size)?, at: 0 };
    at.map()?;
    at.text()?;
    let count = at.map()?;
    let mut out = vec![];
    for _ in 0..count {
        let name = at.text()?;
        let mut start = 0;
        for _ in 0..at.map()? {
            if at.text()? == "data_offsets" {
                at.skip_head()?;
                start = at.uint()?;
                at.uint()?;
            } else {
                at.skip()?;
            }
        }
        out.push((name, start));
    }
    Some(out)
}
struct Cbor<'a> {
    bytes: &'a [u8],
    at: usize,
}
impl Cbor<'_> {
    fn head(&mut self) -> Option<(u8, u64)> {
        let first = *self.bytes.get(self.at)?;
        self.at += 1;
        let extra = match first & 31 {
            n @ 0..=23 => return Some((first >> 5, n as u64)),
            n @ 24..=27 => 1usize << (n - 24),
            _ => return None,
        };
        let mut value = 0u64;
        for byte in self.bytes.get(self.at..self.at + extra)? {
            value = value << 8 | *byte as u64;
        }
        self.at += extra;
        Some((first >> 5, value))
    }
    fn skip_head(&mut self) -> Option<()> {
        self.head().map(|_| ())
    }
    fn uint(&mut self) -> Option<u64> {
        self.head().map(|(_, n)| n)
    }
    fn map(&mut self) -> Option<u64> {
        self.head().filter(|(major, _)| *major == 5).map(|(_, n)| n)
    }
    fn text(&mut self) -> Option<String> {
        let (_, n) = self.head().filter(|(major, _)| *major == 3)?;
        let found = self.bytes.get(self.at..self.at + n as usize)?;
        self.at += n as usize;
        String::from_utf8(found.to_vec()).ok()
    }
    fn skip(&mut self) -> Option<()> {
        let (major, n) = self.head()?;
        match major {
            2 | 3 => self.at += n as usize,
            4 => (0..n).try_for_each(|_| self.skip())?,
            5 => (0..2 * n).try_for_each(|_| self.skip())?,
            _ => {}
        }
        Some(())
    }
}

/// The entries of a record in the order of their data.
pub fn entries(record: &ModuleRecord) -> Result<Vec<(String, Value)>, Fault> {
    let bytes = record.clone().into_bytes().map_err(record_error)?;
    let Some(starts) = starts(&bytes) else { return protocol("the record's own metadata cannot be read") };
    let mut found = vec![];
    for tensor in Reader::from_bytes(bytes).and_then(Reader::into_tensors).map_err(pack_error)? {
        let (name, dtype, shape, id, data) = tensor.into_parts().map_err(pack_error)?;
        let start = starts.iter().find(|(n, _)| *n == name).map_or(0, |(_, s)| *s);
        found.push(((start, data.len(), name), dtype, shape, id, data));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let entry = |(_, _, name): (u64, usize, String), dtype, shape: &[usize], id: Option<u64>, data: &[u8]| {
        let label = id.map(|id| id_label(ParamId::from(id)));
        let value = json!({"path": name, "id": label, "dtype": dtype_name(dtype), "shape": shape, "hex": hex(data)});
        (name, value)
    };
    Ok(found.into_iter().map(|(key, dtype, shape, id, data)| entry(key, dtype, shape.as_slice(), id, &data)).collect())
}

pub fn run(case: &mut Case, op: &str, args: Args) -> Outcome {
    match op {
        "options" => {
            let mut record = case.record(args::text(args, "on")?)?.clone();
            record = match args["dtype_policy"].as_str() {
                None => record,
                Some("FromRecord") => record.with_dtype_policy(DTypePolicy::FromRecord),
                Some("CastToModule") => record.with_dtype_policy(DTypePolicy::CastToModule),
                Some(policy) => return protocol(format!("`{policy}` is no dtype policy")),
            };
            if !args["allow_partial"].is_null() {
                record = record.allow_partial(args::flag(args, "allow_partial")?);
            }
            if !args["allow_unused"].is_null() {
                record = record.allow_unused(args::flag(args, "allow_unused")?);
            }
            if !args["validate"].is_null() {
                record = record.validate(args::flag(args, "validate")?);
            }
            let debug = format!("{record:?}");
            case.store(args, Handle::Record(record))?;
            Ok(json!({"debug": debug}))
        }
        "len" => {
            let record = case.record(args::text(args, "on")?)?;
            Ok(json!({"len": record.len(), "is_empty": record.is_empty()}))
        }
        "into_bytes" => {
            let bytes = case.record(args::text(args, "on")?)?.clone().into_bytes().map_err(record_error)?.to_vec();
            let result = bytes_json(&bytes);
            args::text(args, "as")?;
            case.store(args, Handle::Bytes(bytes))?;
            Ok(result)
        }
        "from_bytes" => {
            let bytes = case.bytes(args::text(args, "bytes")?)?.clone();
            let record = ModuleRecord::from_bytes(Bytes::from_bytes_vec(bytes)).map_err(record_error)?;
            let result = json!({"len": record.len()});
            case.store(args, Handle::Record(record))?;
            Ok(result)
        }
        "save" => {
            let file = case.file(args, "file")?;
            case.record(args::text(args, "on")?)?.clone().save(&file).map_err(record_error)?;
            Ok(json!({}))
        }
        "load" => {
            let record = ModuleRecord::load(case.file(args, "file")?).map_err(record_error)?;
            let result = json!({"len": record.len()});
            case.store(args, Handle::Record(record))?;
            Ok(result)
        }
        "read" => {
            let path = args::text(args, "path")?;
            let found = entries(case.record(args::text(args, "on")?)?)?.into_iter().find(|(name, _)| name == path);
            match found {
                Some((_, v)) => Ok(json!({"dtype": v["dtype"], "shape": v["shape"], "hex": v["hex"]})),
                None => protocol(format!("the record has no entry `{path}`")),
            }
        }
        _ => protocol(format!("`record.{op}` is no step")),
    }
}

/// One entry of a pack as `pack.entries` writes it.
pub fn pack_entry(tensor: burn_pack::Tensor) -> Result<Value, Fault> {
    let (name, dtype, shape, id, data) = tensor.into_parts().map_err(pack_error)?;
    let mut value = raw_json(dtype, shape.as_slice(), &data);
    value["name"] = json!(name);
    value["id"] = json!(id.map(|id| id_label(ParamId::from(id))));
    Ok(value)
}
