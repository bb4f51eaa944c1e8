//! What a medium does for one operation, step by step.

use flashpager_base::{Error, Result, did_you_mean, named};
use serde::{Deserialize, Serialize};

use super::bus::Bus;
use super::part::{MemoryKind, Part, Sourced};

/// What can be asked of a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationKind {
    /// Bring bytes from the array to the host.
    Read,
    /// Bring bytes into the array.
    Program,
    /// Erase a block.
    Erase,
    /// A page of a long sequential read, the next page being loaded meanwhile.
    CacheRead,
    /// Bytes at another column of the page that the register holds.
    ChangeColumn,
    /// A page of each plane, loaded together.
    MultiPlaneRead,
    /// A page of each plane, programmed together.
    MultiPlaneProgram,
}

impl OperationKind {
    /// Whether bytes go from the host to the medium.
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

/// An operation as asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationRequest<'a> {
    /// Which.
    pub kind: OperationKind,
    /// Bytes over the bus; what is usual for the medium if absent: a page with its
    /// spare, a cache line, a block.
    pub bytes: Option<u64>,
    /// How data comes over a bus that knows several ways, as `1-4-4` or `burst`; the
    /// fastest that the bus has lines for if absent.
    pub mode: Option<&'a str>,
    /// The host's bus; one as fast and wide as the part's if absent.
    pub bus: Option<Bus>,
    /// Count the waits that the flash-media article leaves out.
    pub waits: bool,
}

impl OperationRequest<'_> {
    /// A read of `bytes` over `bus`.
    pub fn read(bytes: Option<u64>, bus: Bus) -> Self {
        Self { kind: OperationKind::Read, bytes, mode: None, bus: Some(bus), waits: false }
    }
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StepKind {
    /// Command, address or status cycles on the bus.
    Command,
    /// Neither bus nor array does anything.
    Wait,
    /// The array works and the bus is idle.
    Busy,
    /// Data on the bus.
    Transfer,
    /// The array works behind the transfers; only what is longer than these is waited for.
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
    /// What happens, as `command 30h`.
    pub name: String,
    /// How its time is composed, in the datasheet's names.
    pub formula: String,
    /// What it does.
    pub kind: StepKind,
    /// Its time.
    pub ns: f64,
    /// Bytes that it moves.
    pub bytes: u64,
    /// The longest that it was seen to take, where it was measured and varies.
    pub longest_ns: Option<f64>,
}

impl OperationStep {
    /// Cycles on the bus that move no data.
    pub fn command(name: impl Into<String>, formula: impl Into<String>, ns: f64) -> Self {
        let (name, formula) = (name.into(), formula.into());
        Self { name, formula, kind: StepKind::Command, ns, bytes: 0, longest_ns: None }
    }

    /// Nothing happens for a while.
    pub fn wait(name: impl Into<String>, formula: impl Into<String>, ns: f64) -> Self {
        Self { kind: StepKind::Wait, ..Self::command(name, formula, ns) }
    }

    /// The array at work.
    pub fn busy(name: impl Into<String>, formula: impl Into<String>, ns: f64) -> Self {
        Self { kind: StepKind::Busy, ..Self::command(name, formula, ns) }
    }

    /// Data over the bus.
    pub fn transfer(
        name: impl Into<String>,
        formula: impl Into<String>,
        ns: f64,
        bytes: u64,
    ) -> Self {
        Self { kind: StepKind::Transfer, bytes, ..Self::command(name, formula, ns) }
    }

    /// The array at work while data of the page before goes over the bus.
    pub fn hidden(name: impl Into<String>, formula: impl Into<String>, ns: f64) -> Self {
        Self { kind: StepKind::Hidden, ..Self::command(name, formula, ns) }
    }
}

/// An operation, composed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Operation {
    /// Which.
    #[serde(rename = "what")]
    pub kind: OperationKind,
    /// In which way data came over the bus, where there are several.
    pub mode: Option<String>,
    /// The steps, in order.
    pub steps: Vec<OperationStep>,
    /// Bytes of user data among those moved: without a page's spare.
    pub data_bytes: u64,
    /// Waits that the flash-media article does not count; see [`OperationRequest::waits`].
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

    /// Time of all steps when the host adds `per_byte_ns` to each byte moved.
    pub fn ns_with(&self, per_byte_ns: f64) -> f64 {
        let of = |kind| self.time_of(kind);
        let transfer = of(StepKind::Transfer) + self.bytes() as f64 * per_byte_ns;
        of(StepKind::Command)
            + of(StepKind::Wait)
            + of(StepKind::Busy)
            + transfer.max(of(StepKind::Hidden))
    }

    /// Time of all steps when each that varies takes the longest that was seen; `None` if
    /// none varies.
    pub fn longest_ns(&self) -> Option<f64> {
        let more = self.steps.iter().filter_map(|step| step.longest_ns.map(|ns| ns - step.ns));
        let more: Vec<f64> = more.collect();
        (!more.is_empty()).then(|| self.ns() + more.iter().sum::<f64>())
    }

    /// Time in which the bus is in use.
    pub fn bus_ns(&self) -> f64 {
        let busy =
            |step: &&OperationStep| matches!(step.kind, StepKind::Command | StepKind::Transfer);
        self.steps.iter().filter(busy).fold(0.0, |ns, step| ns + step.ns)
    }

    /// Time in which the array works, hidden or not.
    pub fn busy_ns(&self) -> f64 {
        let busy = |step: &&OperationStep| matches!(step.kind, StepKind::Busy | StepKind::Hidden);
        self.steps.iter().filter(busy).fold(0.0, |ns, step| ns + step.ns)
    }

    /// The same if all steps of these kinds took `share` of their time.
    pub fn scaled(mut self, kinds: &[StepKind], share: f64) -> Self {
        for step in self.steps.iter_mut().filter(|step| kinds.contains(&step.kind)) {
            step.ns *= share;
        }
        self
    }
}

/// How a part is spoken to: one file and one table of the part's TOML a medium.
pub trait Medium {
    /// What kinds of memory are spoken to so.
    fn kinds(&self) -> &'static [MemoryKind];

    /// What it can do; the first is what is asked for if nothing is.
    fn operations(&self, part: &Part) -> Vec<OperationKind>;

    /// In which ways data can come over the bus; empty if there is one alone.
    fn modes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Of the modes those that need no other read before them.
    fn starting_modes(&self) -> Vec<String> {
        self.modes()
    }

    /// Compose an operation.
    ///
    /// # Errors
    /// What the medium cannot do, and numbers that the part does not give.
    fn operation(&self, part: &Part, request: &OperationRequest<'_>) -> Result<Operation>;

    /// The fastest access that the part allows, in ns, as the host's bus sees it.
    ///
    /// # Errors
    /// Numbers that the part does not give.
    fn shortest_access_ns(&self, part: &Part, request: &OperationRequest<'_>) -> Result<f64>;

    /// Time to bring one byte of many over `bus`.
    ///
    /// # Errors
    /// Numbers that the part does not give.
    fn byte_ns(&self, part: &Part, bus: Bus) -> Result<f64>;

    /// Time from a change of the column to its first byte; `None` if the part cannot.
    fn column_change_ns(&self, _part: &Part, _bus: Bus) -> Option<f64> {
        None
    }

    /// Command, address and status cycles that a load takes beside t_R.
    fn load_commands_ns(&self, _part: &Part, _bus: Bus) -> Option<f64> {
        None
    }

    /// What its bus is called where lines alone do not tell: `SPI`, `SD`.
    fn bus_name(&self) -> &'static str {
        ""
    }

    /// How fast words come, as the table's fields tell it: a cycle, a clock, a timing mode.
    fn pace(&self) -> Vec<(&'static str, f64)>;

    /// What is wrong with its numbers: field within its table, and complaint.
    fn check(&self, part: &Part) -> Vec<(String, String)>;
}

/// Words of `width_bits` that bytes take; as many as can be counted where there are more.
pub(super) fn words(bytes: u64, width_bits: u32) -> u64 {
    let bits = u128::from(bytes) * 8;
    u64::try_from(bits.div_ceil(u128::from(width_bits.max(1)))).unwrap_or(u64::MAX)
}

/// That a mode is not among those of a part.
pub(crate) fn unknown_mode(mode: &str, modes: &[String]) -> Error {
    let near = did_you_mean(mode, modes.iter().map(String::as_str));
    Error::design(format!("unknown mode '{mode}'{near} (known: {})", modes.join(", ")))
}

/// A number with four digits behind the point at most.
pub(crate) fn four_decimals(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A cache line, which memory in place is read by where nothing else is asked for.
pub(super) const LINE_BYTES: u64 = 32;

/// Those of `fields` that a part gives.
pub(super) fn stated(fields: &[(&'static str, Option<&Sourced<f64>>)]) -> Vec<(&'static str, f64)> {
    let value = |(name, number): &(&'static str, Option<&Sourced<f64>>)| {
        number.map(|number| (*name, number.value))
    };
    fields.iter().filter_map(value).collect()
}

/// The value of a number that an operation cannot do without.
pub(super) fn required<T: Copy>(
    number: Option<&Sourced<T>>,
    field: &str,
    part: &Part,
    what: OperationKind,
) -> Result<T> {
    number.map(|number| number.value).ok_or_else(|| {
        Error::design(format!(
            "{} has no {field}: the operation {} cannot be priced without it; add it to the part's file",
            part.name,
            what.name()
        ))
    })
}

/// That `part` cannot do `what`, and what it can.
pub(super) fn unsupported(part: &Part, what: OperationKind, can: &[OperationKind]) -> Error {
    let can: Vec<&str> = can.iter().map(|what| what.name()).collect();
    Error::design(format!("{} cannot {} (it can: {})", part.name, what.name(), can.join(", ")))
}

/// Complain about a time outside of `plausible` (ns, both ends included).
pub(super) fn implausible(ns: f64, plausible: (f64, f64)) -> Option<String> {
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
