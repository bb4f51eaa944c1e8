//! The time of an operation, split by its causes.

use flashpager_base::named;
use serde::Serialize;

use crate::operation::{Operation, StepKind};

/// A part of the time of an operation, by its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CostSource {
    /// The array, or a card's controller.
    Array,
    /// Command, address and status cycles, and waits.
    Commands,
    /// Data at the part's own pace.
    Transfer,
    /// A bus that is slower than the part.
    Bus,
    /// A controller that adds to each transfer on the bus.
    Controller,
    /// RAM.
    Memory,
    /// The driver.
    Software,
}

named! {
    CostSource: "unknown cost source",
    "array" => Array,
    "commands" => Commands,
    "transfer" => Transfer,
    "bus" => Bus,
    "controller" => Controller,
    "memory" => Memory,
    "software" => Software,
}

/// Splits the time of an operation by its causes. `alone` is the operation at the part's own speed;
/// `cumulative` are the further causes, in order, each with the time up to and including it.
pub(super) fn shares(
    alone: &Operation,
    cumulative: impl IntoIterator<Item = (CostSource, f64)>,
) -> Vec<(CostSource, f64)> {
    let step_ns = |kind| alone.time_of(kind);
    let (transfer, hidden) = (step_ns(StepKind::Transfer), step_ns(StepKind::Hidden));
    // Of array work and transfer at the same time, the longer one counts.
    let hides = transfer >= hidden;
    let array = step_ns(StepKind::Busy) + if hides { 0.0 } else { hidden };
    let mut shares = vec![
        (CostSource::Array, array),
        (CostSource::Commands, step_ns(StepKind::Command) + step_ns(StepKind::Wait)),
        (CostSource::Transfer, if hides { transfer } else { 0.0 }),
    ];
    let mut below = alone.ns();
    for (source, ns) in cumulative {
        shares.push((source, ns - below));
        below = ns;
    }
    shares
}
