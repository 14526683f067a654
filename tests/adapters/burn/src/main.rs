//! Answers protocol 1 (`spec/protocol.md`) with the published crate burn-core 0.23.0-pre.1.

mod adapters;
mod args;
mod build;
mod case;
mod caught;
mod custom;
mod data;
#[cfg_attr(feature = "wgpu", path = "../../burn-wgpu/src/devices.rs")]
mod devices;
#[macro_use]
mod direct;
mod groups;
mod layered;
mod modules;
mod node;
mod observe;
mod params;
mod quant_ops;
#[cfg_attr(feature = "store", path = "../../burn-store/src/saving.rs")]
mod saving;
mod schemes;
mod shared;
mod step_adapt;
mod step_module;
mod step_pack;
mod step_param;
mod step_placement;
mod step_quant;
mod step_record;
mod step_small;
mod tensors;
mod threads;
mod zoo;
mod zoo_build;

use case::Case;
use serde_json::{Value, json};
use std::io::{BufRead, Write};

struct Server {
    scratch: String,
    cases: usize,
}

impl Server {
    /// The answer to one request, and whether it was the last.
    fn answer(&mut self, request: &Value) -> (Value, bool) {
        let id = &request["id"];
        let done = match request["op"].as_str().unwrap_or("") {
            "hello" => {
                if let Some(folder) = request["scratch"].as_str() {
                    self.scratch = folder.to_string();
                }
                devices::start();
                json!({"protocol": 1,
                    "impl": {"name": saving::NAME, "version": "0.23.0-pre.1", "language": "rust", "backend": devices::BACKEND},
                    "caps": {"fixtures": ["zoo/1", "dynamic/1"], "devices": {"executing": devices::EXECUTING, "count": 256},
                        "dtypes": devices::DTYPES, "capabilities": saving::CAPABILITIES},
                    "limits": {"max_frame": 1 << 26, "in_flight": 64}})
            }
            "case" => match request["steps"].as_array() {
                Some(steps) => self.case(steps),
                None => return (fault(id, "`steps` must be a list"), false),
            },
            "reset" => {
                shared::reset();
                json!({})
            }
            "ping" => json!({}),
            "bye" => return (json!({"id": id, "ok": {}}), true),
            op => return (fault(id, &format!("`{op}` is no request")), false),
        };
        (json!({"id": id, "ok": done}), false)
    }

    fn case(&mut self, steps: &[Value]) -> Value {
        self.cases += 1;
        let mut case = Case::new(&self.scratch, self.cases);
        let outcomes: Vec<Value> = steps.iter().map(|step| case.step(step)).collect();
        case.close();
        json!({"steps": outcomes})
    }
}

fn fault(id: &Value, text: &str) -> Value {
    json!({"id": id, "error": {"kind": "Protocol", "text": text}})
}

fn main() -> std::io::Result<()> {
    caught::install_hook();
    let mut server = Server { scratch: std::env::temp_dir().display().to_string(), cases: 0 };
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let (answer, last) = match serde_json::from_str(&line) {
            Ok(request) => server.answer(&request),
            Err(e) => (fault(&Value::Null, &e.to_string()), false),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
        if last {
            break;
        }
    }
    Ok(())
}
