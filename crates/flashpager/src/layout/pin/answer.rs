//! The answer to a request for what to pin.

use serde::Serialize;

use super::super::answer::CommitTimes;
use super::super::units::Coverage;
use super::startup::HeldUnit;
use crate::result::ResultRow;

/// Progress of a search for what to pin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PinProgress {
    /// Time over the time before, on the pieces that the search replays.
    pub time_ratio: f64,
    /// Bytes of RAM of the units chosen so far.
    pub ram_bytes: u64,
}

/// A pinned unit, with the result of all units up to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PinStep {
    /// Name of the unit.
    pub name: String,
    /// Its length.
    pub bytes: u32,
    /// Bytes of RAM of all units up to this one, with the gaps for their alignment.
    pub ram_bytes: u64,
    /// Time of the flash for copying these units to RAM, once, in nanoseconds. It is in no other
    /// time.
    pub copy_ns: f64,
    /// Time over the time before.
    pub time_ratio: f64,
    /// Misses of all traces.
    pub misses: u64,
}

/// Times of the recorded calls of a limited function, each from an empty cache.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColdCall {
    /// The function, as in the request.
    pub function: String,
    /// The longest time that is allowed.
    pub limit_ns: f64,
    /// The longest call with nothing pinned.
    pub before_ns: f64,
    /// The longest call with the pinned units in RAM.
    pub after_ns: f64,
    /// Number of recorded calls.
    pub calls: u64,
}

/// The order of the units that stay in flash beside the pinned ones, and what each part of the
/// search gave.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JointLayout {
    /// Names of the movable units that are not pinned, in their order in flash.
    pub order: Vec<String>,
    /// Bytes between units in this order.
    pub gap_bytes: u32,
    /// Time over the time before with units pinned and all others in the recorded order.
    pub pinning_alone_ratio: f64,
    /// Time over the time before in a searched order, with only those units pinned that have to be.
    pub order_alone_ratio: f64,
    /// Orders evaluated.
    pub orders: u64,
}

/// The units to pin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pinning {
    /// Names of the units to pin, in the order of the image.
    pub pinned: Vec<String>,
    /// Bytes of RAM that they take.
    pub ram_bytes: u64,
    /// Time of the flash for copying them to RAM, once, in nanoseconds. It is in no other time.
    pub copy_ns: f64,
    /// Results by trace, with nothing pinned.
    pub before: Vec<ResultRow>,
    /// Results by trace, with all of these units pinned.
    pub after: Vec<ResultRow>,
    /// Time over the time before.
    pub time_ratio: f64,
    /// Times of the program a commit later with nothing pinned, over the time before.
    pub untouched: CommitTimes,
    /// The same with the pinned units in RAM.
    pub edited: CommitTimes,
    /// True if the places of pinned units stay empty in flash.
    pub has_holes: bool,
    /// The order of the other units; `None` if it was not asked for.
    pub together: Option<JointLayout>,
    /// The pinned units, one more in each step, each step replayed on whole traces with all other
    /// units in the order found, or else the recorded one. The last step has the result of the
    /// answer.
    pub curve: Vec<PinStep>,
    /// Index of the step after which RAM saves less; `None` if no step saves time, if a step costs
    /// time, or if the search was ended.
    pub knee: Option<usize>,
    /// Movable units that were not to be pinned, those that execute most first.
    pub held: Vec<HeldUnit>,
    /// The function at whose first byte pinned code is in RAM; empty if none is known.
    pub copied_before: String,
    /// True if exchanges improved the greedy choice, in the recorded order.
    pub is_exchanged: bool,
    /// True if the search came to its end. A search that was ended may have missed a better choice.
    pub is_finished: bool,
    /// The limited functions.
    pub calls: Vec<ColdCall>,
    /// The units, and assumptions on them.
    pub coverage: Coverage,
    /// Bytes of the image that stays in flash.
    pub image_bytes: u64,
    /// Choices replayed.
    pub evaluations: u64,
    /// Share of the executed pieces that the search replays.
    pub sampled_share: f64,
}

/// Index of the step that lies farthest above the straight line from no RAM to all of it: up to
/// this step RAM saves more than on average, after it less (Satopää et al., "Finding a Kneedle in a
/// Haystack", 2011). A curve on which a step costs time has none.
pub(super) fn knee(curve: &[PinStep]) -> Option<usize> {
    let last = curve.last()?;
    let all = 1.0 - last.time_ratio;
    let ratios = || [1.0].into_iter().chain(curve.iter().map(|step| step.time_ratio));
    let falls = ratios().zip(ratios().skip(1)).all(|(before, after)| after <= before);
    if all <= 0.0 || !falls {
        return None;
    }
    let above = |step: &PinStep| {
        (1.0 - step.time_ratio) / all - step.ram_bytes as f64 / last.ram_bytes as f64
    };
    (0..curve.len()).max_by(|a, b| above(&curve[*a]).total_cmp(&above(&curve[*b])))
}
