//! The luck of a link: times of other links of the same program.

use std::path::PathBuf;

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
///     progress: a function that is called with the number of links replayed.
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
    traces, designs, progress: "Callable[[int], object]", *, kind, draws, map=None,
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
    let luck = run(
        py,
        |py, replayed: u32| progress.call1(py, (replayed,)).map(|_| ()),
        |should_continue, progress| {
            let designs = designs
                .iter()
                .map(|design| Ok(design.get().checked()?.as_ref().clone()))
                .collect::<flashpager::Result<Vec<_>>>()?;
            let request = LuckRequest { traces, map, designs, kind, draws, seed };
            luck::luck(&request, should_continue, progress)
        },
    )?;
    Ok(Luck(luck))
}

/// Return the names of the kinds of draw.
#[pyfunction]
pub fn draw_kinds() -> Vec<&'static str> {
    DrawKind::ALL.iter().map(|(name, _)| *name).collect()
}
