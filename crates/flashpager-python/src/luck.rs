//! The luck of a link: times of other links of the same program, and of two builds in the same ones.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use flashpager::layout::builds::{self, BuildsRequest, RecordedBuild};
use flashpager::layout::luck::{self, DrawKind, LuckRequest};
use pyo3::prelude::*;

use crate::design::Design;
use crate::layout::LayoutCoverage;
use crate::replay::Row;
use crate::seam::{raise, run, view};

view! {
    /// A quantile of drawn times.
    Quantile = luck::Quantile {
        /// The time in ns.
        time_ns: f64,
        /// Its standard error in ns.
        error_ns: f64,
    }
}

view! {
    /// The times of drawn links with a design.
    DesignLuck = luck::DesignLuck {
        /// Results of the recorded link, by trace.
        rows: Vec<Row>,
        /// Time of the recorded link in ns, the sum over traces by their weights.
        time_ns: f64,
        /// Times of the drawn links in ns.
        drawn_ns: Vec<f64>,
        /// Share of the drawn links that are slower than the recorded one; equal ones count half.
        better_than: f64,
        /// The shortest drawn time in ns.
        best_ns: f64,
        /// The time below which 5 % of the drawn ones lie.
        p5: Quantile,
        /// The median.
        p50: Quantile,
        /// The time below which 95 % lie.
        p95: Quantile,
        /// The longest drawn time in ns.
        worst_ns: f64,
    }
}

view! {
    /// The times of a recorded link among those of drawn links.
    Luck = luck::Luck {
        /// Results by design.
        designs: Vec<DesignLuck>,
        /// The units found in the program.
        coverage: LayoutCoverage,
    }
}

/// Draw links of a recorded program that execute the same code, and replay each.
///
/// Args:
///     traces: recorded executions of one image, each with its weight.
///     designs: the designs that run it.
///     progress: a function that is called with the number of links replayed. It returns False to
///         end with the links so far.
///     kind: ``edits``, ``orders`` or ``shifts``.
///     draws: the number of links.
///     map: the map of the link of the recorded program; without one the units are functions.
///     seed: the seed of the random numbers.
///
/// Raises:
///     FlashpagerError: if a trace or the map cannot be read, nothing can move, or a design cannot
///         execute the program.
#[pyfunction]
#[pyo3(signature = (
    traces, designs, progress: "Callable[[int], bool]", *, kind, draws, map=None,
    seed=1
))]
#[expect(clippy::too_many_arguments, reason = "the arguments of a Python function, by keyword")]
pub fn link_luck(
    py: Python<'_>,
    traces: Vec<(PathBuf, f64)>,
    designs: Vec<Py<Design>>,
    progress: Py<PyAny>,
    kind: &str,
    draws: u32,
    map: Option<PathBuf>,
    seed: u64,
) -> PyResult<Luck> {
    let kind: DrawKind = kind.parse().map_err(raise)?;
    let stopped = AtomicBool::new(false);
    let luck = run(
        py,
        |py, replayed: u32| {
            let goes_on = progress.call1(py, (replayed,))?.is_truthy(py)?;
            stopped.store(!goes_on, Ordering::Relaxed);
            Ok(())
        },
        |should_continue, progress| {
            let should_continue = || should_continue() && !stopped.load(Ordering::Relaxed);
            let designs = designs
                .iter()
                .map(|design| Ok(design.get().checked()?.as_ref().clone()))
                .collect::<flashpager::Result<Vec<_>>>()?;
            let request = LuckRequest { traces, map, designs, kind, draws, seed };
            luck::luck(&request, &should_continue, progress)
        },
    )?;
    Ok(Luck(luck))
}

/// Return the names of the kinds of draw.
#[pyfunction]
pub fn draw_kinds() -> Vec<&'static str> {
    DrawKind::ALL.iter().map(|(name, _)| *name).collect()
}

view! {
    /// A ratio of times, B's to A's, with its interval.
    RatioInterval = builds::RatioInterval {
        /// The geometric mean.
        ratio: f64,
        /// The lower end of its 95 % interval.
        low: f64,
        /// The upper end.
        high: f64,
    }
}

view! {
    /// A function of two builds.
    FunctionChange = builds::FunctionChange {
        /// Its name in B, or in A if B does not have it.
        name: String,
        /// Its length in A in bytes; None if A does not have it.
        bytes_a: Option<u32>,
        /// Its length in B in bytes; None if B does not have it.
        bytes_b: Option<u32>,
        /// Bytes that A executes of it, once for each time.
        executed_a: u64,
        /// Bytes that B executes of it, once for each time.
        executed_b: u64,
        /// Its misses in A, the mean of all draws.
        misses_a: f64,
        /// Its misses in B, the mean of all draws.
        misses_b: f64,
        /// The change of its time, as a share of A's time.
        share: f64,
    }
}

view! {
    /// The comparison of two builds.
    BuildComparison = builds::BuildComparison {
        /// Time of A as it was linked in ns.
        time_a_ns: f64,
        /// Time of B as it was linked in ns.
        time_b_ns: f64,
        /// Ratio of the times of the two links: code and luck.
        link_ratio: f64,
        /// Ratio of the times at the same places.
        code: RatioInterval,
        /// Ratio that the links add to that of the code.
        luck_ratio: f64,
        /// Times of A and B in ns in each drawn link.
        drawn_ns: Vec<(f64, f64)>,
        /// Functions that differ in length, executed bytes or misses, the largest share first.
        functions: Vec<FunctionChange>,
        /// Number of units that both builds have.
        matched: usize,
        /// Number of units of A alone.
        only_a: usize,
        /// Number of units of B alone.
        only_b: usize,
        /// Share of the bytes that A and B execute in units that both have.
        matched_shares: (f64, f64),
        /// Assumptions on the units.
        notes: Vec<String>,
    }
}

/// Compare two builds of a program at the same places in drawn links.
///
/// Args:
///     traces: the traces of A and B.
///     design: the design that runs them.
///     progress: a function that is called with the number of links replayed. It returns False to
///         end with the links so far.
///     draws: the number of links.
///     maps: the maps of the links of A and B; without them the units are functions.
///     seed: the seed of the random numbers.
///
/// Raises:
///     FlashpagerError: if a trace or map cannot be read, the builds share no function, or the design
///         cannot execute them.
#[pyfunction]
#[pyo3(signature = (
    traces, design, progress: "Callable[[int], bool]", *, draws, maps=(None, None), seed=1
))]
pub fn compare_builds(
    py: Python<'_>,
    traces: (PathBuf, PathBuf),
    design: Py<Design>,
    progress: Py<PyAny>,
    draws: u32,
    maps: (Option<PathBuf>, Option<PathBuf>),
    seed: u64,
) -> PyResult<BuildComparison> {
    let stopped = AtomicBool::new(false);
    let compared = run(
        py,
        |py, replayed: u32| {
            let goes_on = progress.call1(py, (replayed,))?.is_truthy(py)?;
            stopped.store(!goes_on, Ordering::Relaxed);
            Ok(())
        },
        |should_continue, progress| {
            let should_continue = || should_continue() && !stopped.load(Ordering::Relaxed);
            let request = BuildsRequest {
                builds: [
                    RecordedBuild { trace: traces.0, map: maps.0 },
                    RecordedBuild { trace: traces.1, map: maps.1 },
                ],
                design: design.get().checked()?.as_ref().clone(),
                draws,
                seed,
            };
            builds::compare_builds(&request, &should_continue, progress)
        },
    )?;
    Ok(BuildComparison(compared))
}
