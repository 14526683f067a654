//! `bytes.*`, `pack.*`, `file.*`.

use crate::args::{self, Args};
use crate::case::{Case, Handle, PackSource};
use crate::caught::{Fault, Outcome, protocol};
use crate::data::{self, bytes_json, hex, sha256, unhex};
use crate::saving;
use crate::shared::{Seen, known_id, log};
use crate::step_record::pack_entry;
use burn::tensor::Bytes;
use burn_pack::{Error, Reader, ReaderLimits, Scalar, Tensor, Writer};
use serde_json::{Map, Value, json};

pub fn pack_error(e: Error) -> Fault {
    let kind = match e {
        Error::InvalidHeader => "InvalidHeader",
        Error::InvalidMagicNumber => "InvalidMagicNumber",
        Error::InvalidVersion => "InvalidVersion",
        Error::MetadataSerializationError(_) => "MetadataSerializationError",
        Error::MetadataDeserializationError(_) => "MetadataDeserializationError",
        Error::IoError(_) => "IoError",
        Error::TensorNotFound(_) => "TensorNotFound",
        Error::TensorBytesSizeMismatch(_) => "TensorBytesSizeMismatch",
        Error::ValidationError(_) => "ValidationError",
        Error::AlreadyExists(_) => "AlreadyExists",
    };
    Fault::Error(kind, e.to_string())
}
fn io(e: std::io::Error) -> Fault {
    Fault::Error("Io", e.to_string())
}

pub fn run(case: &mut Case, op: &str, args: Args) -> Outcome {
    match op {
        "bytes.make" => {
            let made = match args["base64"].as_str() {
                Some(text) => data_encoding::BASE64.decode(text.as_bytes()).or_else(|e| protocol(e.to_string()))?,
                None => unhex(args::text(args, "hex")?)?,
            };
            stored(case, args, made)
        }
        "bytes.edit" => {
            let mut made = case.bytes(args::text(args, "on")?)?.clone();
            for edit in args::list(args, "edits")? {
                apply_edit(&mut made, edit)?;
            }
            stored(case, args, made)
        }
        "pack.write" => {
            let made = writer(args)?.into_bytes().map_err(pack_error)?.to_vec();
            args::text(args, "as")?;
            stored(case, args, made)
        }
        "pack.write_file" => {
            let file = case.file(args, "file")?;
            let mut writer = writer(args)?;
            if !args["overwrite"].is_null() {
                writer = writer.overwrite(args::flag(args, "overwrite")?);
            }
            if !args["auto_extension"].is_null() {
                writer = writer.auto_extension(args::flag(args, "auto_extension")?);
            }
            let in_place = args::flag_or(args, "in_place", false)?;
            let done = if in_place { writer.write_to_file_in_place(&file) } else { writer.write_to_file(&file) };
            done.map_err(pack_error)?;
            Ok(json!({}))
        }
        "pack.write_into" => {
            let mut buffer = vec![0u8; args::whole(&args["size"])? as usize];
            writer(args)?.write_into(&mut buffer).map_err(pack_error)?;
            Ok(json!({"sha256": sha256(&buffer)}))
        }
        "pack.size" => Ok(json!(writer(args)?.size().map_err(pack_error)?)),
        "pack.open" => open(case, args),
        "pack.entries" => entries(case, args),
        "pack.entry" => {
            let (source, limits) = case.pack(args::text(args, "on")?)?;
            let data = saving::bytes_of(source, limits, args::text(args, "name")?)?;
            Ok(json!({"hex": hex(&data)}))
        }
        "pack.limits" => {
            let name = args::text(args, "on")?;
            let (source, limits) = case.pack(name)?;
            let (source, mut limits) = (source.clone(), limits.clone());
            if !args["max_tensor_size"].is_null() {
                limits = limits.with_max_tensor_size(args::whole(&args["max_tensor_size"])? as usize);
            }
            if !args["max_file_size"].is_null() {
                limits = limits.with_max_file_size(args::whole(&args["max_file_size"])?);
            }
            case.put(name, Handle::Pack(source, limits));
            Ok(json!({}))
        }
        "pack.scalar" => scalar(case, args),
        _ => file(case, op, args),
    }
}

fn stored(case: &mut Case, args: Args, made: Vec<u8>) -> Outcome {
    let result = bytes_json(&made);
    case.store(args, Handle::Bytes(made))?;
    Ok(result)
}

fn apply_edit(bytes: &mut Vec<u8>, edit: &Value) -> Result<(), Fault> {
    let number = |i: usize| args::whole(&edit[i]).map(|n| n as usize);
    let fits = |end: usize| if end <= bytes.len() { Ok(()) } else { protocol(format!("{edit} is past the end")) };
    match edit[0].as_str().unwrap_or("") {
        "put" => {
            let (at, new) = (number(1)?, unhex(edit[2].as_str().unwrap_or(""))?);
            fits(at + new.len())?;
            bytes[at..at + new.len()].copy_from_slice(&new);
        }
        "truncate" => bytes.truncate(number(1)?),
        "append" => bytes.extend(unhex(edit[1].as_str().unwrap_or(""))?),
        "xor" => {
            let (at, with) = (number(1)?, number(2)?);
            fits(at + 1)?;
            bytes[at] ^= with as u8;
        }
        "zero" => {
            let (at, count) = (number(1)?, number(2)?);
            fits(at + count)?;
            bytes[at..at + count].fill(0);
        }
        "repeat" => {
            let (at, count, times) = (number(1)?, number(2)?, number(3)?);
            let digits = if edit[4].is_null() { 0 } else { number(4)? };
            fits(at + count)?;
            let piece = bytes[at..at + count].to_vec();
            let copies = (0..times).flat_map(|n| {
                let numbered = format!("{n:0digits$}").into_bytes().into_iter().take(digits);
                numbered.chain(piece.iter().skip(digits).copied())
            });
            let made: Vec<u8> = copies.collect();
            bytes.splice(at..at + count, made);
        }
        other => return protocol(format!("`{other}` is no edit")),
    }
    Ok(())
}

fn writer(args: Args) -> Result<Writer, Fault> {
    let mut tensors = vec![];
    for entry in args::list(args, "entries")? {
        let name = args::text(entry, "name")?.to_string();
        let id = if entry["id"].is_null() { None } else { Some(known_id(args::whole(&entry["id"])?).val()) };
        let kind = if entry["dtype"].as_str().is_some_and(|d| d.starts_with("bool")) { "bool" } else { "float" };
        let (dtype, shape) = data::declared(entry, kind)?;
        let bytes = match entry["hex"].as_str() {
            Some(text) => unhex(text)?,
            None => data::read(entry, kind, id.unwrap_or(0))?.as_bytes().to_vec(),
        };
        tensors.push(if args::flag_or(entry, "deferred", false)? {
            let claimed = if entry["claims"].is_null() { bytes.len() } else { args::whole(&entry["claims"])? as usize };
            let fails = entry["fails"].as_str().map(str::to_string);
            Tensor::deferred(name.clone(), dtype, shape, id, claimed, move || {
                log(Seen::Read { name: name.clone() });
                match &fails {
                    Some(text) => Err(Error::IoError(text.clone())),
                    None => Ok(Bytes::from_bytes_vec(bytes.clone())),
                }
            })
        } else {
            Tensor::new(name, dtype, shape, id, Bytes::from_bytes_vec(bytes))
        });
    }
    let mut made = Writer::new(tensors);
    for (key, value) in args["metadata"].as_object().into_iter().flatten() {
        made = made.with_metadata(key, value.as_str().unwrap_or(""));
    }
    for (key, value) in args["scalars"].as_object().into_iter().flatten() {
        made = made.with_scalar(key, read_scalar(value)?);
    }
    Ok(made)
}
fn read_scalar(value: &Value) -> Result<Scalar, Fault> {
    match value.as_object().and_then(|m| m.iter().next()).map(|(k, v)| (k.as_str(), v)) {
        Some(("Int", n)) => Ok(Scalar::Int(args::signed(n)?)),
        Some(("UInt", n)) => Ok(Scalar::UInt(args::whole(n)?)),
        Some(("Float", x)) => Ok(Scalar::Float(args::float(x)?)),
        Some(("Bool", b)) => Ok(Scalar::Bool(b.as_bool().unwrap_or_default())),
        _ => protocol(format!("{value} is no scalar")),
    }
}
fn scalar_json(scalar: &Scalar) -> Value {
    match scalar {
        Scalar::Int(n) => json!({"Int": n.to_string()}),
        Scalar::UInt(n) => json!({"UInt": n.to_string()}),
        Scalar::Float(x) => json!({"Float": format!("{:016x}", x.to_bits())}),
        Scalar::Bool(b) => json!({"Bool": b}),
    }
}

pub fn open_source(source: &PackSource, limits: &ReaderLimits) -> Result<Reader, Fault> {
    let reader = match source {
        PackSource::Bytes(bytes) => Reader::from_bytes(Bytes::from_bytes_vec(bytes.clone())),
        PackSource::File(path) => Reader::from_file(path),
        PackSource::Exact(path) => Reader::from_file_exact(path),
    };
    Ok(reader.map_err(pack_error)?.with_limits(limits.clone()))
}
fn reader(case: &Case, args: Args) -> Result<Reader, Fault> {
    let (source, limits) = case.pack(args::text(args, "on")?)?;
    open_source(source, limits)
}
fn open(case: &mut Case, args: Args) -> Outcome {
    let source = match args["bytes"].as_str() {
        Some(name) => PackSource::Bytes(case.bytes(name)?.clone()),
        None if args::flag_or(args, "exact", false)? => PackSource::Exact(case.file(args, "file")?.into()),
        None => PackSource::File(case.file(args, "file")?.into()),
    };
    let limits = ReaderLimits::default();
    let result = json!({"names": saving::names(&source, &limits)?});
    args::text(args, "as")?;
    case.store(args, Handle::Pack(source, limits))?;
    Ok(result)
}
fn entries(case: &Case, args: Args) -> Outcome {
    let reader = reader(case, args)?;
    let metadata = json!(reader.metadata());
    let scalars: Map<String, Value> = reader.scalars().iter().map(|(k, v)| (k.clone(), scalar_json(v))).collect();
    let (source, limits) = case.pack(args::text(args, "on")?)?;
    let tensors = saving::tensors(source, limits)?;
    let entries = tensors.into_iter().map(pack_entry).collect::<Result<Vec<Value>, Fault>>()?;
    Ok(json!({"entries": entries, "metadata": metadata, "scalars": scalars}))
}
fn scalar(case: &Case, args: Args) -> Outcome {
    let reader = reader(case, args)?;
    let name = args::text(args, "name")?;
    let Some(scalar) = reader.scalars().get(name).copied() else { return protocol(format!("the pack has no scalar `{name}`")) };
    macro_rules! as_text {
        ($ty:ty) => {
            <$ty>::try_from(scalar).map(|v| json!(v.to_string()))
        };
    }
    let read = match args::text(args, "type")? {
        "i64" => as_text!(i64),
        "u64" => as_text!(u64),
        "i32" => as_text!(i32),
        "u8" => as_text!(u8),
        "f64" => f64::try_from(scalar).map(|v| json!(format!("{:016x}", v.to_bits()))),
        "f32" => f32::try_from(scalar).map(|v| json!(format!("{:08x}", v.to_bits()))),
        "bool" => bool::try_from(scalar).map(|v| json!(v)),
        ty => return protocol(format!("`{ty}` is no type of a scalar")),
    };
    read.map_err(|e| Fault::Error("Scalar", e.to_string()))
}

fn file(case: &mut Case, op: &str, args: Args) -> Outcome {
    if op == "file.list" {
        let mut names = vec![];
        for entry in std::fs::read_dir(case.folder()?).map_err(io)? {
            let entry = entry.map_err(io)?;
            let kind = entry.file_type().map_err(io)?;
            let mark = if kind.is_symlink() { "@" } else if kind.is_dir() { "/" } else { "" };
            names.push(format!("{}{mark}", entry.file_name().to_string_lossy()));
        }
        names.sort();
        return Ok(json!(names));
    }
    let path = case.file(args, "file")?;
    match op {
        "file.write" => std::fs::write(&path, case.bytes(args::text(args, "bytes")?)?).map_err(io)?,
        "file.read" => {
            let made = std::fs::read(&path).map_err(io)?;
            args::text(args, "as")?;
            return stored(case, args, made);
        }
        "file.remove" if std::path::Path::new(&path).is_dir() => std::fs::remove_dir_all(&path).map_err(io)?,
        "file.remove" => std::fs::remove_file(&path).map_err(io)?,
        "file.mkdir" => std::fs::create_dir_all(&path).map_err(io)?,
        #[cfg(unix)]
        "file.symlink" => std::os::unix::fs::symlink(args::text(args, "target")?, &path).map_err(io)?,
        _ => return protocol(format!("`{op}` is no step")),
    }
    Ok(json!({}))
}
