//! Group expressions.

use crate::args;
use crate::case::Case;
use crate::caught::{Fault, protocol};
use crate::shared::known_id;
use burn::module::{ParamGroup, ParamGroupError};
use serde_json::Value;

fn pattern(result: Result<ParamGroup, ParamGroupError>) -> Result<ParamGroup, Fault> {
    result.map_err(|e| match e {
        ParamGroupError::InvalidPatternError(text) => Fault::Error("InvalidPattern", text),
    })
}

/// GROUP as a ParamGroup.
pub fn group(case: &Case, spec: &Value) -> Result<ParamGroup, Fault> {
    if spec == "all" {
        return Ok(ParamGroup::all());
    }
    let Some((key, inner)) = spec.as_object().and_then(|m| m.iter().next()) else {
        return protocol(format!("{spec} is no group"));
    };
    let word = || args::text(spec, key).map(str::to_string);
    let words = || args::texts(spec, key);
    Ok(match key.as_str() {
        "ids" => ParamGroup::from_ids(args::wholes(spec, key)?.into_iter().map(known_id).collect()),
        "path" => ParamGroup::from_path(word()?),
        "paths" => ParamGroup::from_paths(words()?),
        "predicate" => ParamGroup::from_predicate(word()?),
        "predicates" => ParamGroup::from_predicates(words()?),
        "any_predicates" => ParamGroup::from_any_predicates(words()?),
        "regex" => pattern(ParamGroup::from_regex(word()?))?,
        "regexes" => pattern(ParamGroup::from_regexes(words()?))?,
        "any_regexes" => pattern(ParamGroup::from_any_regexes(words()?))?,
        "ids_from_module" => case.module(&word()?)?.group_of_ids(),
        "fuse" => group(case, &inner[0])?.fuse(&group(case, &inner[1])?),
        "exclude" => group(case, &inner[0])?.exclude(group(case, &inner[1])?),
        "serde" => {
            let text = inner.as_str().map_or_else(|| inner.to_string(), str::to_string);
            serde_json::from_str(&text).map_err(|e| Fault::Error("Serde", e.to_string()))?
        }
        _ => return protocol(format!("`{key}` is no group")),
    })
}
