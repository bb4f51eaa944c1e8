//! The numbers of a part as a list, each with its path and its source.

use flashpager_base::{Error, Result};
use serde::Serialize;

use super::Part;
use super::number::is_unverified;

/// A number of a part: its path in the file, its value and its source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    /// The path, such as `sdr.t_wc_ns`.
    pub field: String,
    /// The value as written: a number, or a table of numbers.
    pub value: serde_json::Value,
    /// The place it was read.
    pub source: String,
    /// True if the source marks it as unchecked.
    pub unverified: bool,
}

impl Part {
    /// All numbers of the part, in the order of the file's fields.
    pub fn facts(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        if let Ok(value) = serde_json::to_value(self) {
            collect_facts(String::new(), &value, &mut facts);
        }
        facts
    }

    /// The number at the path `field`, such as `sdr.t_wc_ns`.
    ///
    /// # Errors
    /// If the part has no such field, or it is no number.
    pub fn number(&self, field: &str) -> Result<f64> {
        let fact = self.facts().into_iter().find(|fact| fact.field == field);
        fact.and_then(|fact| fact.value.as_f64())
            .ok_or_else(|| Error::design(format!("{} has no number {field}", self.name)))
    }

    /// The truth values of the part, by path: `spi.continuous_read` and the like.
    pub fn abilities(&self) -> Vec<(String, bool)> {
        let mut abilities = Vec::new();
        if let Ok(value) = serde_json::to_value(self) {
            collect_abilities("", &value, &mut abilities);
        }
        // The values of a table come before those of its inner tables.
        abilities.sort_by_key(|(path, _)| path.matches('.').count());
        abilities
    }

    /// Fields whose source marks them as unchecked.
    pub fn unverified(&self) -> Vec<String> {
        let facts = self.facts().into_iter().filter(|fact| fact.unverified);
        facts.map(|fact| fact.field).collect()
    }

    /// Unchecked fields on which `answer` depends: the answer changes if the number becomes 1 %
    /// larger or smaller.
    pub fn unverified_in<T: PartialEq>(&self, answer: impl Fn(&Self) -> T) -> Vec<String> {
        let Ok(value) = serde_json::to_value(self) else { return self.unverified() };
        let own = answer(self);
        let matters = |field: &String| {
            [1.0 + NUDGE, 1.0 - NUDGE].into_iter().any(|factor| {
                let mut value = value.clone();
                nudge("", &mut value, field, factor);
                serde_json::from_value(value).is_ok_and(|nudged: Self| answer(&nudged) != own)
            })
        };
        self.unverified().into_iter().filter(matters).collect()
    }
}

/// The relative change by which a number is varied.
const NUDGE: f64 = 0.01;

/// Multiplies the number at `field` by `factor`; a whole number goes up or down by one.
fn nudge(path: &str, value: &mut serde_json::Value, field: &str, factor: f64) {
    use serde_json::Value;
    if path == field {
        if let Some(number) = value.get_mut("value") {
            let nudged = match (number.as_u64(), number.as_f64()) {
                (Some(whole), _) if factor > 1.0 => Some(Value::from(whole + 1)),
                (Some(whole), _) => Some(Value::from(whole.saturating_sub(1))),
                (None, Some(number)) => Some(Value::from(number * factor)),
                (None, None) => None,
            };
            *number = nudged.unwrap_or(Value::Null);
        }
        return;
    }
    let names: Vec<String> = below(path, value).into_iter().map(|(path, _)| path).collect();
    let items: Vec<&mut Value> = match value {
        Value::Object(fields) => fields.values_mut().collect(),
        Value::Array(items) => items.iter_mut().collect(),
        _ => Vec::new(),
    };
    for (path, item) in names.iter().zip(items) {
        nudge(path, item, field, factor);
    }
}

/// The direct children of `value`, by path. Items of a list are named, or numbered from 0.
fn below<'a>(path: &str, value: &'a serde_json::Value) -> Vec<(String, &'a serde_json::Value)> {
    use serde_json::Value;
    let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (join(key), value)).collect(),
        Value::Array(items) => {
            let named = |(index, item): (usize, &'a Value)| {
                let name = item.get("name").and_then(Value::as_str);
                (join(&name.map_or_else(|| index.to_string(), str::to_owned)), item)
            };
            items.iter().enumerate().map(named).collect()
        }
        _ => Vec::new(),
    }
}

/// Collects all truth values below `value`.
fn collect_abilities(path: &str, value: &serde_json::Value, abilities: &mut Vec<(String, bool)>) {
    for (path, value) in below(path, value) {
        match value.as_bool() {
            Some(can) => abilities.push((path, can)),
            None => collect_abilities(&path, value, abilities),
        }
    }
}

/// Collects all tables with a `source` below `value`.
fn collect_facts(path: String, value: &serde_json::Value, facts: &mut Vec<Fact>) {
    use serde_json::Value;
    if let Value::Object(fields) = value
        && let Some(Value::String(source)) = fields.get("source")
    {
        let value = match fields.get("value") {
            Some(value) => value.clone(),
            None => {
                let mut rest = fields.clone();
                rest.retain(|key, value| key != "source" && !value.is_null());
                Value::Object(rest)
            }
        };
        let unverified = is_unverified(source);
        facts.push(Fact { field: path, value, source: source.clone(), unverified });
        return;
    }
    for (path, value) in below(&path, value) {
        collect_facts(path, value, facts);
    }
}
