//! A board file: the design that it describes, and what a design on it must do.

use std::path::Path;

use flashpager_base::sizes::below_4_gib;
use flashpager_base::{Error, Result};
use flashpager_replay::pager::PolicySpec;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::Value as Toml;

use super::catalog;
use super::fields::{HOST_FIELDS, OTHER_FIELDS, refuse_unknown};
use super::processor::processor;
use super::toml_file::{size, texts};
use crate::spec::{AxisKind, DesignSpec, NONE, Value, axis};

/// Fields of `[ram]`.
const RAM: &[&str] = &["t_read_ns", "t_write_ns"];
/// Fields of `[handler]`.
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
/// Fields of `[icache]`.
const ICACHE: &[&str] = &["size_bytes", "line_bytes", "ways", "fetch_ns", "refill_ns"];
/// Fields of `[tlb]`.
const TLB: &[&str] = &["sets", "ways", "lookup_ns", "page_walk_ns"];

/// The firmware that runs on a board, by what an ELF file states of itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoardFirmware {
    /// The instruction set, by its name in a trace, such as `arm`.
    pub architecture: String,
    /// The versions of the instruction set that the processor executes, such as `ARMv6-M`, the
    /// newest first; empty for all versions.
    #[serde(default)]
    pub instruction_sets: Vec<String>,
    /// The address of the flash's first byte, and the address behind its last one. `None` if code is
    /// linked for any address, as demand paging copies it.
    pub flash: Option<(u64, u64)>,
}

/// A board file. Each value is checked by itself, their combination is not.
#[derive(Clone, Debug, PartialEq)]
pub struct Board {
    /// The design, with the parameters that the board gives.
    pub design: DesignSpec,
    /// Bytes of all RAM of the microcontroller; `None` if the board does not give it.
    pub ram_bytes: Option<u64>,
    /// Requirements for a design on the board, as they are written: `ram`, `min_bandwidth`,
    /// `max_fault`, `checked_ecc`.
    pub needs: toml::Table,
    /// The firmware that runs on the board; `None` if the board does not state it.
    pub firmware: Option<BoardFirmware>,
    /// Properties of the board that are not published, in words.
    pub unknown: Vec<String>,
    /// Policies that the board's cache may have, if the maker does not publish its policy. Empty if
    /// the policy is known.
    pub policies: Vec<PolicySpec>,
}

impl Board {
    /// Reads a board: a shipped one by its name, any other from its file.
    ///
    /// # Errors
    /// If the file cannot be read, or a field or value is unknown, with the file and the field.
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
        let wrong =
            |error: toml::de::Error| Error::data(&place, format!("[firmware] {}", error.message()));
        let firmware = table.get("firmware").map(|given| given.clone().try_into().map_err(wrong));
        let firmware: Option<BoardFirmware> = firmware.transpose()?;
        if let Some((begin, end)) = firmware.as_ref().and_then(|firmware| firmware.flash)
            && begin >= end
        {
            let message = format!("[firmware] flash = [{begin:#x}, {end:#x}] has no byte");
            return Err(Error::data(place, message));
        }
        let unknown = texts(&table, "unknown", &place)?;
        Ok(Self { design, ram_bytes: ram_bytes.transpose()?, needs, firmware, unknown, policies })
    }
}

/// The design that a board's table describes.
fn design_of(table: &toml::Table, place: &str) -> Result<DesignSpec> {
    let mut design = DesignSpec::default();
    for (name, given) in table {
        match name.as_str() {
            other if OTHER_FIELDS.contains(&other) => {}
            "ram" => design.ram = Some(times(place, name, given, RAM, RAM)?),
            "handler" => design.handler = Some(times(place, name, given, HANDLER, &[])?),
            "icache" => design.icache = Some(times(place, name, given, ICACHE, ICACHE)?),
            "tlb" => design.tlb = Some(times(place, name, given, TLB, TLB)?),
            "processor" => {
                design.processor = processor(given, place)?.of_design();
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

/// The value of a design's field that is no table.
fn value_of(place: &str, name: &str, given: &Toml) -> Result<Value> {
    let wrong = |message: &str| Error::data(place, format!("{name} = {given} {message}"));
    let kind = match name {
        "nor" => AxisKind::Name,
        "count_commands" | "clip_bus" => {
            return given
                .as_bool()
                .map(Value::Flag)
                .ok_or_else(|| wrong("is neither true nor false"));
        }
        _ => axis(name)?.kind,
    };
    match (kind, given) {
        (kind, Toml::String(text)) if text == NONE && (name == "nor" || kind.may_be_none()) => {
            Ok(Value::Nothing)
        }
        (AxisKind::Name | AxisKind::NameOrNone, Toml::String(text)) => {
            Ok(Value::Text(text.clone()))
        }
        (AxisKind::Name | AxisKind::NameOrNone, _) => Err(wrong("is not text")),
        (_, Toml::String(_) | Toml::Integer(_)) => size(place, name, given).map(Value::Size),
        _ => Err(wrong("is not a size")),
    }
}

/// A table of times in nanoseconds, sizes and numbers, with the keys `known`, and at least those
/// `required`.
fn times<T: DeserializeOwned>(
    place: &str,
    name: &str,
    given: &Toml,
    known: &[&str],
    required: &[&str],
) -> Result<T> {
    let known_keys = known.join(", ");
    let wrong = |message: String| Error::data(place, format!("[{name}] {message}"));
    let Toml::Table(given) = given else {
        return Err(wrong(format!("must be a table with {known_keys}")));
    };
    let mut table = toml::Table::new();
    for (key, value) in given {
        if !known.contains(&key.as_str()) {
            return Err(wrong(format!("{key}: known are {known_keys}")));
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
        return Err(wrong(format!("lacks {missing} (it takes {known_keys})")));
    }
    table.try_into().map_err(|error: toml::de::Error| wrong(error.message().to_owned()))
}
