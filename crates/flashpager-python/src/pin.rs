//! The choice of code to pin in RAM.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use flashpager::layout::SearchLimit;
use flashpager::layout::pin::{self, PinProgress, PinRequest};
use pyo3::prelude::*;

use crate::design::Design;
use crate::layout::LayoutCoverage;
use crate::replay::Row;
use crate::seam::{run, view, views_by_name};

view! {
    /// A pinned unit, and the result with all units up to it.
    PinStep = pin::PinStep {
        /// The unit.
        name: String,
        /// Its length.
        bytes: u32,
        /// Bytes of RAM of all up to it.
        ram_bytes: u64,
        /// Time of the flash for copying all up to it to RAM, once; it is in no other time.
        copy_ns: f64,
        /// Time over that before.
        time_ratio: f64,
        /// Misses of all traces.
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
        /// The longest call before.
        before_ns: f64,
        /// The longest call with the pinned units.
        after_ns: f64,
        /// Calls recorded.
        calls: u64,
    }
}

view! {
    /// An order of the units that stay, and its result beside the pinned ones.
    JointLayout = pin::JointLayout {
        /// Names of movable units that are not pinned, in their new order in flash.
        order: Vec<String>,
        /// Bytes between units, laid out so.
        gap_bytes: u32,
        /// Time over that before with units pinned and all others in the recorded order.
        pinning_alone_ratio: f64,
        /// The same with an order, and only those units pinned that have to be.
        order_alone_ratio: f64,
        /// Orders tried.
        orders: u64,
    }
}

views_by_name!(pin::HoldReason);

view! {
    /// A unit that stays in flash, whatever pinning it would save.
    HeldUnit = pin::HeldUnit {
        /// The unit.
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
        /// Bytes of RAM that it takes.
        ram_bytes: u64,
        /// Time of the flash for copying it to RAM, once; it is in no other time.
        copy_ns: f64,
        /// Results by trace, nothing pinned.
        before: Vec<Row>,
        /// Results by trace, all of it pinned.
        after: Vec<Row>,
        /// Time over that before.
        time_ratio: f64,
        /// The order of the other units; None if none was requested.
        together: Option<JointLayout>,
        /// The pinned units, one more in each step; the last has the result of the answer.
        curve: Vec<PinStep>,
        /// The step of the curve after which RAM saves less; None where none saves, where one costs
        /// time, or where the search was ended.
        knee: Option<usize>,
        /// Units that were not to be pinned, those that execute most first.
        held: Vec<HeldUnit>,
        /// The function at whose first byte pinned code is in RAM; empty if none is known.
        copied_before: String,
        /// Whether an exchange found better than the greedy choice, in the recorded order.
        is_exchanged: bool,
        /// Whether the search came to its end; one that was ended may have left better ones.
        is_finished: bool,
        /// Calls of limited functions.
        calls: Vec<ColdCall>,
        /// The units found in the program.
        coverage: LayoutCoverage,
        /// Bytes of the image that stays in flash.
        image_bytes: u64,
        /// Choices replayed.
        evaluations: u64,
        /// The share of the executed pieces that the search looked at.
        sampled_share: f64,
    }
}

/// Choose what to pin, and an order of the rest with ``order``. ``traces`` come with how much each
/// counts. Units that run before ``copied_before`` are not pinned; by default this is a function that
/// is known to run after start-up code has copied to RAM, such as ``main``, and with ``entry`` it is
/// all of the program.
///
/// ``progress(time_ratio, ram_bytes)`` is called ten times a second, with (1, 0) before the first
/// choice, and gives the share of the time that is used up. With 1 the search ends, and what was
/// found is kept. With ``evaluations`` about so many orders are tried, pinning is searched to its
/// end, and what is found is the same each time, unless ``progress`` gives 1 before.
#[pyfunction]
#[pyo3(signature = (
    traces, design, ram_bytes, progress: "Callable[[float, int], float]", *, map=None, always=vec![], never=vec![],
    copied_before=None, calls=vec![], order=false, evaluations=None
))]
#[expect(clippy::too_many_arguments, reason = "as Python names them")]
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
    evaluations: Option<u64>,
) -> PyResult<Pinning> {
    let used = AtomicU64::new(0f64.to_bits());
    let found = run(
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
    Ok(Pinning(found))
}
