//! The fields of a board file.

use flashpager_base::{Error, Result, did_you_mean};

use super::catalog::kind_of;
use crate::spec::AXES;

/// Fields that describe the host; a design's prices do not depend on them.
pub const HOST_FIELDS: &[&str] =
    &["peripheral", "memory", "processor", "driver", "dma", "layers", "array_share", "measured"];

/// Fields that describe neither a design nor a host.
pub(super) const OTHER_FIELDS: [&str; 7] =
    ["description", "firmware", "kind", "needs", "policies", "ram_bytes", "unknown"];

/// The fields that describe a design.
pub fn design_fields() -> impl Iterator<Item = &'static str> {
    let others = ["nor", "ram", "handler", "count_commands", "clip_bus", "icache", "tlb"];
    AXES.iter().map(|axis| axis.name).chain(others)
}

/// Refuses fields of a board file that no command reads, and unknown kinds of boards. Errors name the
/// file `place`.
///
/// # Errors
/// If a field or the kind is unknown. The error names the first such field.
pub(super) fn refuse_unknown(table: &toml::Table, place: &str) -> Result<()> {
    let mut known: Vec<&str> =
        design_fields().chain(HOST_FIELDS.iter().copied()).chain(OTHER_FIELDS).collect();
    known.sort_unstable();
    kind_of(table, place)?;
    match table.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let suggestion = did_you_mean(name, known.iter().copied());
            let known = known.join(", ");
            Err(Error::data(place, format!("unknown field '{name}'{suggestion} (known: {known})")))
        }
    }
}
