//! Panics caught and named, and what else a step can come to.

use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How a step ends when it does not end well.
#[derive(Debug)]
pub enum Fault {
    Error(&'static str, String),
    Panic(String),
}
pub type Outcome = Result<Value, Fault>;

/// A fault of the case or of this adapter, never of the crate.
pub fn protocol<T>(text: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Error("Protocol", text.into()))
}

/// The kind of a panic, from the crate's own text; the first line that fits.
const KINDS: &[(&str, &[&str])] = &[
    ("User", &["case: "]),
    ("Load", &["Failed to load"]),
    ("Placement", &["a placement needs", "the placement must give", "must be built on", "holds a layer off"]),
    ("Capture", &["capture device", "capture tensor", "capture session", "capture_scope"]),
    ("CapacityOverflow", &["attempt to add with overflow", "attempt to multiply with overflow"]),
    ("Gradient", &["non leaf tensor", "requires autodiff; call Tensor", "Gradient checkpointing strategy mismatch"]),
    ("Device", &["Gradient checkpointing requires autodiff", "BURN_DEVICE", "device index must be", "No execution backend"]),
    ("LazyInit", &["Should exist when not initialized"]),
    ("Display", &["when single item is set", "when attributes are set", "Default content should be"]),
    ("ParamId", &["out of range for slice of length 8"]),
    ("DType", &["Expected float dtype", "Expected int dtype", "Expected bool dtype", "Expected float data type", "Expected int data type"]),
    ("Cast", &["cannot be represented", "InvalidBitPattern"]),
    ("Layout", &["is invalid for input of size", "Quantized layout for shape", "quantized tensor layout is invalid"]),
    ("DType", &["Unsupported data conversion"]),
    // The one axis of a tensor, counted back past 0: `transpose` has no second one.
    ("Tensor", &["the len is 1 but the index is 18446744073709551615"]),
    ("Quantized", &[
        "entered unreachable code", "got quantized", "AbsMean calibration", "reach f32's range", "per-tensor scale", "scale factor", "evenly divisible by block",
        "whole number of BlockSize", "a store packed along dim", "Quantized tensors are not supported", "Should be Float primitive kind",
        "cannot reduce an empty tensor", "index out of bounds: the len", "never negative",
    ]),
    ("Rank", &["LoRA rank must be"]),
    ("DeviceMismatch", &["same device", "mismatched devices"]),
    ("Tensor", &["Shape", "shape", "Tensor Operation Error", "dtype mismatch", "Step cannot be zero", "Broadcast arguments", "dimension", "Dimension"]),
];
pub fn panic_kind(text: &str) -> &'static str {
    KINDS.iter().find(|(_, parts)| parts.iter().any(|p| text.contains(p))).map_or("Other", |(kind, _)| kind)
}

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static FIRST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keep the text of each caught panic, and say on standard error where it came from.
pub fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let text = payload
            .downcast_ref::<&str>()
            .map(|s| s.to_string())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| info.to_string());
        if DEPTH.with(Cell::get) == 0 {
            eprintln!("uncaught: {text} at {:?}", info.location());
        }
        FIRST.with(|first| {
            if let Ok(mut first) = first.try_borrow_mut() {
                first.get_or_insert(text);
            }
        });
    }));
}

/// Run `f`; its first panic's text is the error.
pub fn catch<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    FIRST.with(|first| *first.borrow_mut() = None);
    DEPTH.with(|d| d.set(d.get() + 1));
    let result = catch_unwind(AssertUnwindSafe(f));
    DEPTH.with(|d| d.set(d.get() - 1));
    result.map_err(|_| FIRST.with(|first| first.borrow_mut().take()).unwrap_or_default())
}

/// The outcome object of one step, with `mask` put over every text.
pub fn outcome(result: Result<Outcome, String>, mask: impl Fn(&str) -> String) -> Value {
    let panicked = |text: &str| {
        let text = mask(text);
        json!({"panic": {"kind": panic_kind(&text), "text": text}})
    };
    match result {
        Ok(Ok(value)) => json!({"ok": value}),
        Ok(Err(Fault::Error(kind, text))) => json!({"error": {"kind": kind, "text": mask(&text)}}),
        Ok(Err(Fault::Panic(text))) => panicked(&text),
        Err(text) => panicked(&text),
    }
}
