//! Operations of a medium, composed step by step.
//!
//! A [`Medium`] is the interface of a part: raw NAND latch cycles, SPI clocks, an address bus.
//! It composes each operation, such as a read or a program, from steps. A step has a kind, a time
//! and the formula of that time in the datasheet's names, so every time can be traced to its
//! numbers. Sums over the steps give the time of the operation, the share of the bus, and the
//! energy.
//!
//! The trait has one method that composes and a few that answer what a design needs without
//! composing a whole operation (time per byte, time of a column change). It returns owned steps
//! rather than a time, because the same operation is shown to people, scaled by an estimate (a
//! faster array, a slower bus), and summed by kind.
//!
//! To add a medium: a table of data in `datasheet/`, an implementation of this trait in `medium/`,
//! and its row in `Part::tables` in `medium/mod.rs`.

use flashpager_base::{Error, Result, did_you_mean, named};
use serde::{Deserialize, Serialize};

use crate::bus::Bus;
use crate::datasheet::{MemoryKind, Part, Sourced};

/// The kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationKind {
    /// Bring bytes from the array to the host.
    Read,
    /// Bring bytes into the array.
    Program,
    /// Erase a block.
    Erase,
    /// Read one page of a long sequential read, while the next page is loaded.
    CacheRead,
    /// Read bytes at another column of the page in the register.
    ChangeColumn,
    /// Load a page of each plane together, and read them.
    MultiPlaneRead,
    /// Program a page of each plane together.
    MultiPlaneProgram,
}

impl OperationKind {
    /// Returns whether bytes go from the host to the medium.
    pub fn writes(self) -> bool {
        matches!(self, Self::Program | Self::MultiPlaneProgram)
    }
}

named! {
    OperationKind: "unknown operation",
    "read" => Read,
    "program" => Program,
    "erase" => Erase,
    "cache-read" => CacheRead,
    "change-column" => ChangeColumn,
    "multi-plane-read" => MultiPlaneRead,
    "multi-plane-program" => MultiPlaneProgram,
}

/// The parameters of an operation to compose.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationRequest<'a> {
    /// The kind of operation.
    pub kind: OperationKind,
    /// Bytes over the bus. If absent the usual number of the medium: a page with its spare, a cache
    /// line, a block.
    pub bytes: Option<u64>,
    /// The read mode, such as `1-4-4` or `burst`. If absent the fastest that the bus has lines for.
    pub mode: Option<&'a str>,
    /// The host's bus. If absent one as fast and wide as the part's.
    pub bus: Option<Bus>,
    /// True if the waits t_WB and t_ADL count, which the flash-media article leaves out.
    pub waits: bool,
}

impl OperationRequest<'_> {
    /// A read of `bytes` over `bus`.
    pub fn read(bytes: Option<u64>, bus: Bus) -> Self {
        Self { kind: OperationKind::Read, bytes, mode: None, bus: Some(bus), waits: false }
    }
}

/// The kinds of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StepKind {
    /// Command, address or status cycles on the bus.
    Command,
    /// A wait in which bus and array are idle.
    Wait,
    /// The array works and the bus is idle.
    Busy,
    /// Data moves on the bus.
    Transfer,
    /// The array works during the transfers. Only the time by which it outlasts them counts.
    Hidden,
}

named! {
    StepKind: "unknown kind of step",
    "command" => Command,
    "wait" => Wait,
    "busy" => Busy,
    "transfer" => Transfer,
    "hidden" => Hidden,
}

/// A step of an operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperationStep {
    /// The name, such as `command 30h`.
    pub name: String,
    /// The formula of its time, in the datasheet's names.
    pub formula: String,
    /// The kind of step.
    pub kind: StepKind,
    /// The time.
    pub ns: f64,
    /// Bytes moved.
    pub bytes: u64,
    /// The longest time measured, if the time was measured and varies.
    pub longest_ns: Option<f64>,
}

impl OperationStep {
    /// Cycles on the bus that move no data.
    pub fn command(name: impl Into<String>, formula: impl Into<String>, ns: f64) -> Self {
        let (name, formula) = (name.into(), formula.into());
        Self { name, formula, kind: StepKind::Command, ns, bytes: 0, longest_ns: None }
    }

    /// A wait in which bus and array are idle.
    pub fn wait(name: impl Into<String>, formula: impl Into<String>, ns: f64) -> Self {
        Self { kind: StepKind::Wait, ..Self::command(name, formula, ns) }
    }

    /// Work of the array while the bus is idle.
    pub fn busy(name: impl Into<String>, formula: impl Into<String>, ns: f64) -> Self {
        Self { kind: StepKind::Busy, ..Self::command(name, formula, ns) }
    }

    /// Data on the bus.
    pub fn transfer(
        name: impl Into<String>,
        formula: impl Into<String>,
        ns: f64,
        bytes: u64,
    ) -> Self {
        Self { kind: StepKind::Transfer, bytes, ..Self::command(name, formula, ns) }
    }

    /// Work of the array while data of the page before moves on the bus.
    pub fn hidden(name: impl Into<String>, formula: impl Into<String>, ns: f64) -> Self {
        Self { kind: StepKind::Hidden, ..Self::command(name, formula, ns) }
    }
}

/// A composed operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Operation {
    /// The kind of operation.
    #[serde(rename = "what")]
    pub kind: OperationKind,
    /// The read mode, for media that have several.
    pub mode: Option<String>,
    /// The steps, in order.
    pub steps: Vec<OperationStep>,
    /// Bytes of user data among the bytes moved: those without a page's spare.
    pub data_bytes: u64,
    /// Waits that were not counted; see [`OperationRequest::waits`].
    pub left_out: Vec<OperationStep>,
}

impl Operation {
    /// Bytes over the bus.
    pub fn bytes(&self) -> u64 {
        self.steps.iter().map(|step| step.bytes).sum()
    }

    /// Time of all steps.
    pub fn ns(&self) -> f64 {
        self.ns_with(0.0)
    }

    /// Time of all steps of one kind.
    pub fn time_of(&self, kind: StepKind) -> f64 {
        self.steps.iter().filter(|step| step.kind == kind).fold(0.0, |ns, step| ns + step.ns)
    }

    /// Time of all steps if the host adds `per_byte_ns` to each byte moved.
    pub fn ns_with(&self, per_byte_ns: f64) -> f64 {
        let step_ns = |kind| self.time_of(kind);
        let transfer = step_ns(StepKind::Transfer) + self.bytes() as f64 * per_byte_ns;
        step_ns(StepKind::Command)
            + step_ns(StepKind::Wait)
            + step_ns(StepKind::Busy)
            + transfer.max(step_ns(StepKind::Hidden))
    }

    /// Time of all steps if each that varies takes its longest measured time; `None` if no time
    /// varies.
    pub fn longest_ns(&self) -> Option<f64> {
        let more = self.steps.iter().filter_map(|step| step.longest_ns.map(|ns| ns - step.ns));
        let more: Vec<f64> = more.collect();
        (!more.is_empty()).then(|| self.ns() + more.iter().sum::<f64>())
    }

    /// Time in which the bus is in use.
    pub fn bus_ns(&self) -> f64 {
        let uses_bus =
            |step: &&OperationStep| matches!(step.kind, StepKind::Command | StepKind::Transfer);
        self.steps.iter().filter(uses_bus).fold(0.0, |ns, step| ns + step.ns)
    }

    /// Time in which the array works, hidden or not.
    pub fn busy_ns(&self) -> f64 {
        let is_busy =
            |step: &&OperationStep| matches!(step.kind, StepKind::Busy | StepKind::Hidden);
        self.steps.iter().filter(is_busy).fold(0.0, |ns, step| ns + step.ns)
    }

    /// The operation with all steps of `kinds` at `share` of their time.
    pub fn scaled(mut self, kinds: &[StepKind], share: f64) -> Self {
        for step in self.steps.iter_mut().filter(|step| kinds.contains(&step.kind)) {
            step.ns *= share;
        }
        self
    }
}

/// The interface of a part: one table of the part's file, and one implementation.
pub trait Medium {
    /// The kinds of memory that have this interface.
    fn kinds(&self) -> &'static [MemoryKind];

    /// The operations of the part; the first is the default.
    fn operations(&self, part: &Part) -> Vec<OperationKind>;

    /// The read modes; empty if there is only one way to read.
    fn modes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The read modes that need no other read before them.
    fn starting_modes(&self) -> Vec<String> {
        self.modes()
    }

    /// Composes an operation.
    ///
    /// # Errors
    /// If the medium does not have the operation or the mode, or if the part lacks a number.
    fn operation(&self, part: &Part, request: &OperationRequest<'_>) -> Result<Operation>;

    /// The fastest access that the part allows, in ns on the host's bus; 0 if the part makes a host
    /// of any speed wait.
    ///
    /// # Errors
    /// If the part lacks a number.
    fn shortest_access_ns(&self, part: &Part, request: &OperationRequest<'_>) -> Result<f64>;

    /// Time of one byte of many over `bus`.
    ///
    /// # Errors
    /// If the part lacks a number.
    fn byte_ns(&self, part: &Part, bus: Bus) -> Result<f64>;

    /// Time from a change of the column to its first byte; `None` if the part has no column change.
    fn column_change_ns(&self, _part: &Part, _bus: Bus) -> Option<f64> {
        None
    }

    /// Time of the command, address and status cycles of a load, without t_R.
    fn load_commands_ns(&self, _part: &Part, _bus: Bus) -> Option<f64> {
        None
    }

    /// The name of the bus, `SPI` or `SD`; empty for a parallel bus.
    fn bus_name(&self) -> &'static str {
        ""
    }

    /// The fields of the table that set the pace of words: a cycle, a clock, a timing mode.
    fn pace(&self) -> Vec<(&'static str, f64)>;

    /// Checks the numbers of the table. Returns a field of the table and a message for each fault.
    fn check(&self, part: &Part) -> Vec<(String, String)>;
}

/// The error for a mode that a part does not have.
pub(crate) fn unknown_mode(mode: &str, modes: &[String]) -> Error {
    let near = did_you_mean(mode, modes.iter().map(String::as_str));
    Error::design(format!("unknown mode '{mode}'{near} (known: {})", modes.join(", ")))
}

/// Formats a number with at most four decimals.
pub(crate) fn four_decimals(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Bytes of a cache line, the default read of memory in place.
pub(crate) const LINE_BYTES: u64 = 32;

/// Returns the value of a number without which an operation cannot be priced.
///
/// # Errors
/// If the part does not state it.
pub(crate) fn required<T: Copy>(
    number: Option<&Sourced<T>>,
    field: &str,
    part: &Part,
    kind: OperationKind,
) -> Result<T> {
    number.map(|number| number.value).ok_or_else(|| {
        Error::design(format!(
            "{} has no {field}: the operation {} cannot be priced without it; add it to the part's file",
            part.name,
            kind.name()
        ))
    })
}

/// The error for an operation that `part` does not have. `can` lists the operations that it has.
pub(crate) fn unsupported(part: &Part, kind: OperationKind, can: &[OperationKind]) -> Error {
    let can: Vec<&str> = can.iter().map(|kind| kind.name()).collect();
    Error::design(format!("{} cannot {} (it can: {})", part.name, kind.name(), can.join(", ")))
}

/// Returns a complaint about a time outside of `plausible` (least and most, in ns).
pub(crate) fn implausible(ns: f64, plausible: (f64, f64)) -> Option<String> {
    let (least, most) = plausible;
    if ns >= least && ns <= most {
        return None;
    }
    let hint = match ns {
        ns if (least..=most).contains(&(ns * 1e9)) => "; is it in seconds?",
        ns if (least..=most).contains(&(ns * 1e6)) => "; is it in milliseconds?",
        ns if (least..=most).contains(&(ns * 1e3)) => "; is it in microseconds?",
        _ => "",
    };
    Some(format!("is no plausible time in nanoseconds ({least} to {most}){hint}"))
}
