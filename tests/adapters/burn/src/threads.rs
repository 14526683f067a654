//! Named threads that live as long as the case: a `RunningState` tells its callers apart by thread.

use crate::caught::{Fault, catch};
use std::collections::HashMap;
use std::sync::mpsc::{Sender, channel};

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
pub struct Threads(HashMap<String, Sender<Job>>);

impl Threads {
    /// Run `f` on the thread of that name (`main`: this one) and wait for it.
    pub fn run<T: Send + 'static>(&mut self, name: &str, f: impl FnOnce() -> T + Send + 'static) -> Result<T, Fault> {
        if name == "main" {
            return Ok(f());
        }
        let thread = self.0.entry(name.to_string()).or_insert_with(|| {
            let (sender, jobs) = channel::<Job>();
            std::thread::spawn(move || jobs.into_iter().for_each(|job| job()));
            sender
        });
        let (answer, result) = channel();
        let job = move || {
            let _ = answer.send(catch(f));
        };
        let gone = || Fault::Error("Protocol", format!("the thread `{name}` is gone"));
        thread.send(Box::new(job)).map_err(|_| gone())?;
        result.recv().map_err(|_| gone())?.map_err(Fault::Panic)
    }
}
