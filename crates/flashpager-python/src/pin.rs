//! The choice of code to pin in RAM.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use flashpager::layout::SearchLimit;
use flashpager::layout::pin::{self, PinProgress, PinRequest};
use pyo3::prelude::*;

use crate::design::Design;
use crate::layout::{CommitTimes, LayoutCoverage};
use crate::replay::Row;
use crate::seam::{run, view, views_by_name};

view! {
    /// A pinned unit, and the result with all units up to it.
    PinStep = pin::PinStep {
        /// The unit's name.
        name: String,
        /// The unit's length.
        bytes: u32,
        /// Bytes of RAM that all units up to this one take.
        ram_bytes: u64,
        /// Time of the flash to copy all units up to this one to RAM, once. No other time contains
        /// it.
        copy_ns: f64,
        /// Time over that with nothing pinned.
        time_ratio: f64,
        /// Misses, summed over all traces.
        misses: u64,
    }
}

view! {
    /// Times of a limited function's calls, from an empty cache.
    ColdCall = pin::ColdCall {
        /// The function, as the caller named it.
        function: String,
        /// The longest call that is allowed.
        limit_ns: f64,
        /// The longest call with nothing pinned.
        before_ns: f64,
        /// The longest call with the pinned units.
        after_ns: f64,
        /// Number of calls recorded.
        calls: u64,
    }
}

view! {
    /// An order of the units that stay, and its result beside the pinned ones.
    JointLayout = pin::JointLayout {
        /// Names of movable units that are not pinned, in their new order in flash.
        order: Vec<String>,
        /// Bytes between units in this order.
        gap_bytes: u32,
        /// Time with units pinned and all others in the recorded order, over that with nothing
        /// pinned.
        pinning_alone_ratio: f64,
        /// Time with a new order and only the required units pinned, over that with nothing pinned.
        order_alone_ratio: f64,
        /// Number of orders tried.
        orders: u64,
    }
}

views_by_name!(pin::HoldReason);

view! {
    /// A unit that has to stay in flash, although pinning it might save time.
    HeldUnit = pin::HeldUnit {
        /// The unit's name.
        name: String,
        /// ``entry``, ``reset-handler``, ``vector-table``, ``first``, ``before-copy`` or ``asked``.
        reason: &'static str,
    }
}

view! {
    /// The choice of code to pin in RAM.
    Pinning = pin::Pinning {
        /// Names of the units to pin, in the order of the image.
        pinned: Vec<String>,
        /// Bytes of RAM that the pinned units take.
        ram_bytes: u64,
        /// Time of the flash to copy them to RAM, once. No other time contains it.
        copy_ns: f64,
        /// Results by trace, with nothing pinned.
        before: Vec<Row>,
        /// Results by trace, with all these units pinned.
        after: Vec<Row>,
        /// Time over that with nothing pinned.
        time_ratio: f64,
        /// The program a commit later with nothing pinned; times over the time before.
        untouched: CommitTimes,
        /// The program a commit later with the pinned units in RAM; times over the time before.
        edited: CommitTimes,
        /// True if the places of pinned units stay empty in flash.
        has_holes: bool,
        /// The order of the other units; None if none was requested.
        together: Option<JointLayout>,
        /// The pinned units, one more in each step. The last step has the result of `after`.
        curve: Vec<PinStep>,
        /// The step of the curve after which further RAM saves less. None if no step saves time, if
        /// a step costs time, or if the search was ended early.
        knee: Option<usize>,
        /// Units that were not allowed to be pinned, the most executed one first.
        held: Vec<HeldUnit>,
        /// The function at whose first byte pinned code is in RAM; empty if none is known.
        copied_before: String,
        /// True if exchanging units improved on the greedy choice in the recorded order.
        is_exchanged: bool,
        /// True if the search was complete. If it was ended early, there may be a better choice.
        is_finished: bool,
        /// Times of the calls of limited functions.
        calls: Vec<ColdCall>,
        /// The units found in the program.
        coverage: LayoutCoverage,
        /// Bytes of the image that stays in flash.
        image_bytes: u64,
        /// Number of choices replayed.
        evaluations: u64,
        /// The share of the executed pieces that the search replayed.
        sampled_share: f64,
    }
}

/// Choose the units to pin in RAM, and with ``order`` an order of the others. Each of ``traces`` has a
/// weight. Units that run before ``copied_before`` are not pinned. By default this is a function that
/// is known to run after start-up code has copied to RAM, such as ``main``. With ``entry`` every unit
/// of the program may be pinned. With ``holes`` the place of a pinned unit stays empty in flash, and
/// choices are scored by the mean over twelve links that are a commit later.
///
/// ``progress(time_ratio, ram_bytes)`` is called ten times a second, with (1, 0) before the first
/// choice, and returns the share of the time that is used up. At 1 the search ends, and the best
/// choice so far is kept. With ``evaluations`` about so many orders are tried, and pinning is searched
/// to its end. The result is then the same each time, unless ``progress`` returns 1 before.
#[pyfunction]
#[pyo3(signature = (
    traces, design, ram_bytes, progress: "Callable[[float, int], float]", *, map=None, always=vec![], never=vec![],
    copied_before=None, calls=vec![], order=false, holes=false, evaluations=None
))]
#[expect(clippy::too_many_arguments, reason = "the arguments of a Python function, by keyword")]
pub fn pin_in_ram(
    py: Python<'_>,
    traces: Vec<(PathBuf, f64)>,
    design: Py<Design>,
    ram_bytes: u64,
    progress: Py<PyAny>,
    map: Option<PathBuf>,
    always: Vec<String>,
    never: Vec<String>,
    copied_before: Option<String>,
    calls: Vec<(String, f64)>,
    order: bool,
    holes: bool,
    evaluations: Option<u64>,
) -> PyResult<Pinning> {
    let used = AtomicU64::new(0f64.to_bits());
    let pinning = run(
        py,
        |py, now: PinProgress| {
            let share = progress.call1(py, (now.time_ratio, now.ram_bytes))?;
            used.store(share.extract::<f64>(py)?.to_bits(), Ordering::Relaxed);
            Ok(())
        },
        |should_continue, progress| {
            let design = design.get().checked()?.as_ref().clone();
            let request = PinRequest {
                traces,
                map,
                design,
                ram_bytes,
                always,
                never,
                copied_before,
                calls,
                order,
                holes,
            };
            progress(PinProgress { time_ratio: 1.0, ram_bytes: 0 });
            let share = || {
                if should_continue() { f64::from_bits(used.load(Ordering::Relaxed)) } else { 1.0 }
            };
            let stopped = || share() >= 1.0;
            let limit = match evaluations {
                Some(all) => SearchLimit::Evaluations { all, stopped: &stopped },
                None => SearchLimit::Share(&share),
            };
            pin::pin(&request, &limit, should_continue, progress)
        },
    )?;
    Ok(Pinning(pinning))
}
