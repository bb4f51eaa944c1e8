//! The processor of a board.

use flashpager_base::{Error, Result};
use flashpager_media::cores::ClockedCore;

use super::toml_file::number;
use crate::spec::NONE;

/// The processor of a board as its file has it.
pub(super) enum BoardProcessor {
    /// No core is named: the table describes the instructions of a driver only.
    Unnamed,
    /// The prices are those of the memories alone.
    Absent,
    /// A core and its clock.
    Core(Box<ClockedCore>),
}

impl BoardProcessor {
    /// The value of a design's field; `None` leaves it open.
    pub(super) fn of_design(&self) -> Option<String> {
        match self {
            Self::Unnamed => None,
            Self::Absent => Some(NONE.to_owned()),
            Self::Core(core) => Some(core.to_string()),
        }
    }
}

/// The processor from the table `[processor]` or from a text such as `cortex-m3@64MHz`. The core may
/// be [`NONE`].
///
/// # Errors
/// If the core has no clock, a field is unknown, or a number is impossible.
pub(super) fn processor(given: &toml::Value, place: &str) -> Result<BoardProcessor> {
    let wrong = |message: String| Error::data(place, format!("[processor]: {message}"));
    if let Some(text) = given.as_str() {
        if text == NONE {
            return Ok(BoardProcessor::Absent);
        }
        let parsed = text.parse().map(Box::new).map(BoardProcessor::Core);
        return parsed.map_err(|error: Error| wrong(error.to_string()));
    }
    let Some(core) = given.get("core") else { return Ok(BoardProcessor::Unnamed) };
    let core = core.as_str().ok_or_else(|| wrong(format!("core = {core} is no name of a core")))?;
    let fields = ["core", "clock_mhz", "cycles_per_instruction"];
    let mut keys = given.as_table().into_iter().flat_map(toml::Table::keys);
    if let Some(key) = keys.find(|key| !fields.contains(&key.as_str())) {
        return Err(wrong(format!("unknown field '{key}' (known: {})", fields.join(", "))));
    }
    if core == NONE {
        return Ok(BoardProcessor::Absent);
    }
    let read = |name: &str| {
        let refused = |value| wrong(format!("{name} = {value} is no number"));
        given.get(name).map(|value| number(value).ok_or_else(|| refused(value))).transpose()
    };
    let clock_mhz = read("clock_mhz")?.ok_or_else(|| wrong("lacks clock_mhz".into()))?;
    let processor = ClockedCore::new(core, clock_mhz, read("cycles_per_instruction")?);
    processor.map(Box::new).map(BoardProcessor::Core).map_err(|error| wrong(error.to_string()))
}
