//! What closures running on any thread share with the case: devices, ids, the log.

use crate::devices;
use burn::module::ParamId;
use burn::tensor::Device;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::{LazyLock, Mutex, MutexGuard};

pub enum Seen {
    Init { id: u64, device: Device, require_grad: bool },
    Forward { id: u64, device: Device },
    Read { name: String },
    Offered { path: String, id: u64 },
}

#[derive(Default)]
pub struct Shared {
    /// By index, kept for the life of the process.
    devices: Vec<Device>,
    known: HashSet<u64>,
    fresh: HashMap<u64, usize>,
    log: Vec<Seen>,
}

static SHARED: LazyLock<Mutex<Shared>> = LazyLock::new(Default::default);
fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Forget everything but the devices, of which `d0` has its name from the start.
pub fn reset() {
    device("d0");
    let mut s = shared();
    s.known.clear();
    s.fresh.clear();
    s.log.clear();
}

/// The device of a name, or None when it names none.
pub fn device(name: &str) -> Option<Device> {
    let (plain, tag) = name.split_once('+').map_or((name, None), |(p, t)| (p, Some(t)));
    let index: usize = plain.strip_prefix('d')?.parse().ok().filter(|i| *i < 256)?;
    let mut s = shared();
    while s.devices.len() <= index {
        let next = devices::make(s.devices.len());
        s.devices.push(next);
    }
    let found = s.devices[index].clone();
    match tag {
        None => Some(found),
        Some("autodiff") => Some(found.autodiff()),
        Some("autodiff(balanced)") => Some(found.autodiff().gradient_checkpointing()),
        Some(_) => None,
    }
}

/// Tag and strategy as the protocol writes them.
fn suffix(device: &Device) -> &'static str {
    match device.gradient_checkpointing_strategy().map(|s| format!("{s:?}")).as_deref() {
        None => "",
        Some("Balanced") => "+autodiff(balanced)",
        Some(_) => "+autodiff",
    }
}
pub fn device_name(device: &Device) -> String {
    let at = shared().devices.iter().position(|d| d == device);
    at.map_or_else(|| format!("{device:?}"), |i| format!("d{i}{}", suffix(device)))
}
/// Whether results show the values of tensors there.
pub fn executes(device: &Device) -> bool {
    *device == devices::first()
}

/// An id that the case wrote itself prints as its number.
pub fn known_id(id: u64) -> ParamId {
    shared().known.insert(id);
    ParamId::from(id)
}
pub fn id_label(id: ParamId) -> String {
    let value = id.val();
    let mut s = shared();
    if value < 1 << 32 || s.known.contains(&value) {
        return value.to_string();
    }
    let next = s.fresh.len();
    format!("new#{}", s.fresh.entry(value).or_insert(next))
}

pub fn log(seen: Seen) {
    shared().log.push(seen);
}
pub fn count_inits() -> usize {
    shared().log.iter().filter(|seen| matches!(seen, Seen::Init { .. })).count()
}
pub fn take_log() -> Value {
    let seen = std::mem::take(&mut shared().log);
    let text = |seen: &Seen| match seen {
        Seen::Init { id, device, require_grad } => {
            json!({"init": id_label(ParamId::from(*id)), "device": device_name(device), "require_grad": require_grad})
        }
        Seen::Forward { id, device } => json!({"forward": id_label(ParamId::from(*id)), "device": device_name(device)}),
        Seen::Read { name } => json!({"read": name}),
        Seen::Offered { path, id } => json!({"offered": path, "id": id_label(ParamId::from(*id))}),
    };
    seen.iter().map(text).collect()
}

/// The text with devices, met random ids, the case's folder and scratch names replaced.
pub fn mask(text: &str, scratch: &str) -> String {
    let s = shared();
    let mut out = text.replace(scratch, "<scratch>");
    for (i, plain) in s.devices.iter().enumerate() {
        let forms = [plain.clone().autodiff().gradient_checkpointing(), plain.clone().autodiff(), plain.clone()];
        for d in forms {
            let long = format!("{d:?}");
            let name = format!("<d{i}{}>", suffix(&d));
            out = out.replace(&long, &name);
            let short = long.strip_prefix("Device<").and_then(|t| t.strip_suffix('>')).unwrap_or(&long);
            out = out.replace(short, &name);
        }
    }
    for (value, k) in &s.fresh {
        out = out.replace(&ParamId::from(*value).to_string(), &format!("<new#{k}>"));
    }
    drop(s);
    out.replace(&format!(".{}-", std::process::id()), ".<n>-").split(".<n>-").enumerate().fold(
        String::new(),
        |made, (i, part)| match i {
            0 => part.to_string(),
            _ => format!("{made}.<n>{}", part.trim_start_matches(|c: char| c.is_ascii_digit())),
        },
    )
}
