//! Every number of a part, with its source.

use serde::Serialize;

use super::Part;

/// What a source says that is nobody's: the number is from memory, or a guess.
const UNVERIFIED: &str = "unverified";

/// A number of a part: where it stands in the file, its value and its source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    /// Its path, as `sdr.t_wc_ns`.
    pub field: String,
    /// As written.
    pub value: serde_json::Value,
    /// Where it was read.
    pub source: String,
    /// Whether the source says that nobody checked it.
    pub unverified: bool,
}

impl Part {
    /// Every number of the part, in the order of the file's fields.
    pub fn facts(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        if let Ok(value) = serde_json::to_value(self) {
            collect_facts(String::new(), &value, &mut facts);
        }
        facts
    }

    /// Fields whose source says that nobody checked them.
    pub fn unverified(&self) -> Vec<String> {
        let facts = self.facts().into_iter().filter(|fact| fact.unverified);
        facts.map(|fact| fact.field).collect()
    }
}

/// Find every table with a `source` below `value`.
fn collect_facts(path: String, value: &serde_json::Value, facts: &mut Vec<Fact>) {
    use serde_json::Value;
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(source)) = fields.get("source") {
                let value = match fields.get("value") {
                    Some(value) => value.clone(),
                    None => {
                        let mut rest = fields.clone();
                        rest.retain(|key, value| key != "source" && !value.is_null());
                        Value::Object(rest)
                    }
                };
                let unverified = source.contains(UNVERIFIED);
                facts.push(Fact { field: path, value, source: source.clone(), unverified });
                return;
            }
            for (key, value) in fields {
                collect_facts(below(key), value, facts);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let name = item.get("name").and_then(Value::as_str);
                let name = name.map_or_else(|| index.to_string(), str::to_owned);
                collect_facts(below(&name), item, facts);
            }
        }
        _ => {}
    }
}
