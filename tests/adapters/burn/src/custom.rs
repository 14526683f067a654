//! `zoo/custom`: a module with its own display, whose content and settings the case chooses.

use crate::args::{self, Args};
use crate::caught::Fault;
use crate::fixture;
use crate::modules::AnyModule;
use crate::zoo::Linear;
use burn::module::*;
use serde_json::Value;

/// What the case asked for; `Debug` shows nothing of it, so that the module's own Debug stays the derived one.
#[derive(Clone)]
pub struct Wishes {
    content: Value,
    settings: Value,
}
impl std::fmt::Debug for Wishes {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("Wishes")
    }
}

#[derive(Module)]
#[module(custom_display)]
pub struct Custom {
    pub lin: Linear,
    pub x: f64,
    #[module(skip)]
    wishes: Wishes,
}
impl std::fmt::Debug for Custom {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Custom").field("lin", &self.lin).field("x", &self.x).finish()
    }
}
impl Custom {
    fn call(&self, content: Content, call: &Value) -> Content {
        let word = |i: usize| call[i].as_str().unwrap_or("");
        match word(0) {
            "type" => content.set_top_level_type(word(1)),
            "debug" => content.add_debug_attribute(word(1), &word(2)),
            "formatted" => content.add_formatted(&word(1)),
            "add" => match &call[2] {
                Value::String(s) if s == "lin" => content.add(word(1), &self.lin),
                Value::String(s) => content.add(word(1), s.as_str()),
                Value::Number(n) => content.add(word(1), &n.as_i64().unwrap_or_default()),
                float => content.add(word(1), &float["float"].as_f64().unwrap_or_default()),
            },
            "single" => match &call[1] {
                Value::String(s) if s == "lin" => content.add_single(&self.lin),
                Value::String(s) => content.add_single(s.as_str()),
                Value::Number(n) => content.add_single(&n.as_i64().unwrap_or_default()),
                float => content.add_single(&float["float"].as_f64().unwrap_or_default()),
            },
            other => panic!("protocol: `{other}` is no call on a display content"),
        }
    }
}
impl ModuleDisplay for Custom {
    fn custom_settings(&self) -> Option<DisplaySettings> {
        (!self.wishes.settings.is_null()).then(|| settings(&self.wishes.settings))
    }
    fn custom_content(&self, content: Content) -> Option<Content> {
        let calls = self.wishes.content.as_array()?;
        calls.iter().fold(content, |content, call| self.call(content, call)).optional()
    }
}

#[derive(Module, Debug)]
pub struct Wrapper {
    pub inner: Custom,
}
fixture!(Custom, Wrapper);

/// Display settings from JSON; what is absent or null stays unset.
pub fn settings(wanted: &Value) -> DisplaySettings {
    let mut made = DisplaySettings::new();
    if let Some(b) = wanted["show_param_id"].as_bool() {
        made = made.with_show_param_id(b);
    }
    if let Some(b) = wanted["show_all_attributes"].as_bool() {
        made = made.with_show_all_attributes(b);
    }
    if let Some(b) = wanted["show_num_parameters"].as_bool() {
        made = made.with_show_num_parameters(b);
    }
    if let Some(b) = wanted["new_line_after_attribute"].as_bool() {
        made = made.with_new_line_after_attribute(b);
    }
    if let Some(n) = wanted["indentation_size"].as_u64() {
        made = made.with_indentation_size(n as usize);
    }
    made
}

pub fn custom(args: Args, lin: Linear) -> Result<Box<dyn AnyModule>, Fault> {
    let wishes = Wishes { content: args["content"].clone(), settings: args["settings"].clone() };
    let made = Custom { lin, x: 1.0, wishes };
    Ok(if args::flag_or(args, "wrap", false)? { Box::new(Wrapper { inner: made }) } else { Box::new(made) })
}
