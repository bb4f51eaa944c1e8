//! The request for what to pin.

use std::path::PathBuf;

use flashpager_base::{Error, Result};
use flashpager_trace::TraceInfo;

use super::super::request::{check_is_sum, check_weights};
use super::super::traces::check_reads_pass;
use crate::design::Design;

/// A program, the design that runs it, and the RAM for its pinned units.
#[derive(Clone, Debug)]
pub struct PinRequest {
    /// Recorded executions of one image, each with its weight.
    pub traces: Vec<(PathBuf, f64)>,
    /// The linker map of the recorded program, whose input sections are the units. If absent, the
    /// units are functions.
    pub map: Option<PathBuf>,
    /// The design that runs the program.
    pub design: Design,
    /// Bytes of RAM for pinned units.
    pub ram_bytes: u64,
    /// Names of units that are pinned whether or not they save time.
    pub always: Vec<String>,
    /// Names of units that are not pinned.
    pub never: Vec<String>,
    /// The function at whose first byte pinned code is in RAM, or [`super::LOADED`] if a loader puts
    /// it there; `None` for a function that is known to run after the copy, such as `main`.
    pub copied_before: Option<String>,
    /// Names of functions, each with the longest time in nanoseconds that a recorded call of it
    /// may take from an empty cache.
    pub calls: Vec<(String, f64)>,
    /// True if the order of the other units is searched, too.
    pub order: bool,
    /// True if the place of a pinned unit stays empty in flash, so that no other unit moves. Choices
    /// are then scored by the mean over links that are a commit later.
    pub holes: bool,
}

impl PinRequest {
    /// Checks what can be checked before a trace is read.
    pub(super) fn check(&self) -> Result<()> {
        if self.traces.is_empty() {
            return Err(Error::design("pinning needs a trace"));
        }
        if self.order && self.holes {
            return Err(Error::design(
                "holes keep the recorded order, and a search for an order moves all units: ask for one \
                 of them",
            ));
        }
        check_weights(self.traces.iter().map(|(_, weight)| weight))?;
        check_is_sum(&self.design, "pin")
    }

    /// Checks that the request can be answered with a trace that holds data reads, since its runs
    /// are replayed without marking which of them are reads.
    pub(super) fn check_reads(&self, info: &TraceInfo) -> Result<()> {
        check_reads_pass(&self.design)?;
        if self.calls.is_empty() {
            return Ok(());
        }
        info.refuse_reads(&info.program, "a limit on calls")
    }
}

/// Refuses a program of a processor that executes nothing from RAM.
///
/// # Errors
/// If the program is for such a processor.
pub(super) fn check_executes_from_ram(info: &TraceInfo) -> Result<()> {
    if info.executes_from_ram() {
        return Ok(());
    }
    let message = "is for an AVR, which executes its own flash alone, without a cache: nothing can \
                run from RAM, and no time is lost to flash";
    Err(Error::data(info.program.clone(), message))
}
