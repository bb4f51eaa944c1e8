//! Boards: TOML files that say what lies around a flash part.

mod catalog;
mod host;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::de::DeserializeOwned;
use toml::Value as Toml;

use crate::spec::{AXES, AxisKind, DesignSpec, NONE, Value, axis};

use flashpager_base::sizes::{below_4_gib, parse_size};
use flashpager_base::{Error, Result, did_you_mean};
use flashpager_replay::pager::PolicySpec;

pub use catalog::{ShippedBoard, shipped, text};
pub use host::*;

/// A board takes 2 KB; whatever lies beyond this is none.
const MAX_FILE_BYTES: u64 = 1 << 20;

const RAM: &[&str] = &["t_read_ns", "t_write_ns"];
const HANDLER: &[&str] = &[
    "lookup_ns",
    "pre_process_ns",
    "get_freeframe_ns",
    "walk_step_ns",
    "downgrade_ns",
    "load_command_ns",
    "column_command_ns",
    "tag_check_ns",
    "mac_block_ns",
    "update_mmu_ns",
    "post_process_ns",
    "false_fault_ns",
    "load_stopover_ns",
];
const ICACHE: &[&str] = &["size_bytes", "line_bytes", "ways", "fetch_ns", "refill_ns"];
const TLB: &[&str] = &["sets", "ways", "lookup_ns", "page_walk_ns"];

/// A board file, read and each value looked at by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Board {
    /// What it says of a design; the rest is not said.
    pub design: DesignSpec,
    /// RAM of its microcontroller, all of it.
    pub ram_bytes: Option<u64>,
    /// What a design on it must do, as it is written: `ram`, `min_bandwidth`, `max_fault`,
    /// `checked_ecc`.
    pub needs: toml::Table,
    /// What nobody published of it, in words: what its numbers leave open.
    pub unknown: Vec<String>,
    /// Of a cache whose maker does not say who is evicted: the policies that it may have.
    pub policies: Vec<PolicySpec>,
}

impl Board {
    /// Read a board: a shipped one by its name, any other from its file.
    ///
    /// # Errors
    /// A file that cannot be read, and unknown fields or values, with file and field.
    pub fn read(board: &Path) -> Result<Self> {
        let (table, path) = catalog::read(board)?;
        let place = path.display().to_string();
        refuse_unknown(&table, &place)?;
        let needs = match table.get("needs") {
            None => toml::Table::new(),
            Some(Toml::Table(needs)) => needs.clone(),
            Some(_) => return Err(Error::data(place, "[needs] must be a table")),
        };
        let policy = |name: String| {
            let policy = name.parse::<PolicySpec>();
            policy.map_err(|error| Error::data(&place, format!("policies: {error}")))
        };
        let policies = texts(&table, "policies", &place)?.into_iter().map(policy);
        let policies: Vec<PolicySpec> = policies.collect::<Result<_>>()?;
        let mut design = design_of(&table, &place)?;
        if let Some(first) = policies.first().filter(|_| !table.contains_key("policy")) {
            design.policy = first.to_string();
        }
        let ram_bytes = table.get("ram_bytes").map(|given| size(&place, "ram_bytes", given));
        let unknown = texts(&table, "unknown", &place)?;
        Ok(Self { design, ram_bytes: ram_bytes.transpose()?, needs, unknown, policies })
    }
}

/// A list of texts; an empty one where there is none.
fn texts(table: &toml::Table, name: &str, place: &str) -> Result<Vec<String>> {
    let wrong = || Error::data(place, format!("{name}: must be a list of texts"));
    let text = |one: &Toml| one.as_str().map(str::to_owned).ok_or_else(wrong);
    match table.get(name) {
        None => Ok(Vec::new()),
        Some(Toml::Array(list)) => list.iter().map(text).collect(),
        Some(_) => Err(wrong()),
    }
}

/// Fields that tell nothing of prices or hosts.
const BESIDES: [&str; 5] = ["description", "needs", "policies", "ram_bytes", "unknown"];

/// The fields of a design.
pub fn design_fields() -> impl Iterator<Item = &'static str> {
    let others = ["nor", "ram", "handler", "count_commands", "clip_bus", "icache", "tlb"];
    AXES.iter().map(|axis| axis.name).chain(others)
}

/// Refuse what no command reads in a board.
fn refuse_unknown(table: &toml::Table, place: &str) -> Result<()> {
    let mut known: Vec<&str> =
        design_fields().chain(HOST_FIELDS.iter().copied()).chain(BESIDES).collect();
    known.sort_unstable();
    match table.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let near = did_you_mean(name, known.iter().copied());
            let known = known.join(", ");
            Err(Error::data(place, format!("unknown field '{name}'{near} (known: {known})")))
        }
    }
}

/// The design that a board's table describes.
fn design_of(table: &toml::Table, place: &str) -> Result<DesignSpec> {
    let mut design = DesignSpec::default();
    for (name, given) in table {
        match name.as_str() {
            besides if BESIDES.contains(&besides) => {}
            "ram" => design.ram = Some(times(place, name, given, RAM, RAM)?),
            "handler" => design.handler = Some(times(place, name, given, HANDLER, &[])?),
            "icache" => design.icache = Some(times(place, name, given, ICACHE, ICACHE)?),
            "tlb" => design.tlb = Some(times(place, name, given, TLB, TLB)?),
            "processor" => {
                design.processor = processor(given, place)?.map(|processor| processor.to_string());
            }
            "peripheral" => {
                let wrong = |error: toml::de::Error| {
                    Error::data(place, format!("[peripheral] {}", error.message()))
                };
                design.port = Some(given.clone().try_into().map_err(wrong)?);
            }
            host if HOST_FIELDS.contains(&host) => {}
            _ => {
                let value = value_of(place, name, given)?;
                let set = design.set(name, value);
                set.map_err(|error| Error::data(place, error.to_string()))?;
            }
        }
    }
    Ok(design)
}

/// The value of a field that is no table.
fn value_of(place: &str, name: &str, given: &Toml) -> Result<Value> {
    let wrong = |what: &str| Error::data(place, format!("{name} = {given} {what}"));
    let kind = match name {
        "nor" => AxisKind::Text,
        "count_commands" | "clip_bus" => {
            return given
                .as_bool()
                .map(Value::Flag)
                .ok_or_else(|| wrong("is neither true nor false"));
        }
        _ => axis(name)?.kind,
    };
    match (kind, given) {
        (AxisKind::Text | AxisKind::TextOrNone, Toml::String(text))
            if text == NONE && (name == "nor" || kind == AxisKind::TextOrNone) =>
        {
            Ok(Value::Nothing)
        }
        (AxisKind::Text | AxisKind::TextOrNone, Toml::String(text)) => {
            Ok(Value::Text(text.clone()))
        }
        (AxisKind::Text | AxisKind::TextOrNone, _) => Err(wrong("is not text")),
        (AxisKind::SizeOrNone, Toml::String(text)) if text == NONE => Ok(Value::Nothing),
        (_, Toml::String(_) | Toml::Integer(_)) => size(place, name, given).map(Value::Size),
        _ => Err(wrong("is not a size")),
    }
}

/// A size, as a number or text.
fn size(place: &str, name: &str, given: &Toml) -> Result<u64> {
    let text = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
    parse_size(&text).map_err(|error| Error::data(place, format!("{name}: {error}")))
}

/// A table of times in ns, sizes and numbers, with all of the `required` keys.
fn times<T: DeserializeOwned>(
    place: &str,
    name: &str,
    given: &Toml,
    known: &[&str],
    required: &[&str],
) -> Result<T> {
    let takes = known.join(", ");
    let wrong = |what: String| Error::data(place, format!("[{name}] {what}"));
    let Toml::Table(given) = given else {
        return Err(wrong(format!("must be a table with {takes}")));
    };
    let mut table = toml::Table::new();
    for (key, value) in given {
        if !known.contains(&key.as_str()) {
            return Err(wrong(format!("{key}: known are {takes}")));
        }
        let kind = if key.ends_with("_ns") {
            "a time in ns"
        } else if key.ends_with("_bytes") {
            "a size"
        } else {
            "a number"
        };
        let refused = || wrong(format!("{key} = {value} is not {kind}"));
        let read = match (kind, value) {
            ("a time in ns", Toml::Integer(ns)) => Toml::Float(*ns as f64),
            ("a time in ns", Toml::Float(_)) => value.clone(),
            ("a size", Toml::Integer(_) | Toml::String(_)) => {
                let bytes = size(place, &format!("[{name}] {key}"), value)?;
                let bytes = below_4_gib(key, bytes).map_err(|error| wrong(error.to_string()))?;
                Toml::Integer(bytes.into())
            }
            ("a number", Toml::Integer(number)) if u32::try_from(*number).is_ok() => value.clone(),
            _ => return Err(refused()),
        };
        table.insert(key.clone(), read);
    }
    if let Some(missing) = required.iter().find(|key| !table.contains_key(**key)) {
        return Err(wrong(format!("lacks {missing} (it takes {takes})")));
    }
    table.try_into().map_err(|error: toml::de::Error| wrong(error.message().to_owned()))
}

/// Read a TOML file.
///
/// # Errors
/// A file that cannot be read, that is too large, or that is no TOML.
pub fn read_table(path: &Path) -> Result<toml::Table> {
    let wrong = |what: String| Error::data(path.display().to_string(), what);
    if path.exists() && !path.is_file() {
        return Err(wrong("no file".into()));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| Error::file(path, error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(wrong(format!("over {} MiB is no board and no space", MAX_FILE_BYTES >> 20)));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| wrong("no valid TOML: it is not UTF-8 text".into()))?;
    parse_table(&text, path)
}

/// The table of a TOML text; `place` names it in errors.
fn parse_table(text: &str, place: &Path) -> Result<toml::Table> {
    text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
        let at = line.map_or(String::new(), |line| format!(" in line {line}"));
        let deep = error.message().contains("recurse");
        let what = if deep { "nested too deeply" } else { error.message() };
        Error::data(place.display().to_string(), format!("no valid TOML{at}: {what}"))
    })
}
