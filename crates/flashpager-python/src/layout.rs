//! Orders of a program's units, and the search for a good one.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use flashpager::layout::{self, LayoutProgress, LayoutRequest, SearchLimit};
use pyo3::prelude::*;

use crate::design::Design;
use crate::replay::Row;
use crate::seam::{run, view};

view! {
    /// An order of units, and the results of the designs with it.
    LayoutOutcome = layout::LayoutOutcome {
        /// Name of the order: ``before``, a published algorithm, or ``found``.
        what: String,
        /// The cache page of the first design.
        cache_page_bytes: u32,
        /// Time over that of the recorded order with the design's own page; the mean over all
        /// designs.
        time_ratio: f64,
        /// The time ratio of held-out traces; None if there are none.
        held_out_ratio: Option<f64>,
        /// Results, by design, then by trace.
        rows: Vec<Row>,
        /// Results of held-out traces.
        held_out: Vec<Row>,
    }
}

view! {
    /// A unit of a program, with its offsets before and after.
    PlacedUnit = layout::PlacedUnit {
        /// The unit's name.
        name: String,
        /// The unit's length.
        bytes: u32,
        /// The unit's offset in the recorded image.
        before: u32,
        /// The unit's offset in the image that is laid out anew.
        after: u32,
        /// True if it stays where it is.
        fixed: bool,
        /// Bytes executed, counted at each execution.
        executed_bytes: f64,
    }
}

view! {
    /// A page of an image from which code is executed.
    PageHeat = layout::PageHeat {
        /// The page's number: its offset divided by the size of a page.
        page: u32,
        /// Bytes executed, counted at each execution.
        executed_bytes: f64,
        /// The numbers of the units whose code in this page is executed.
        units: Vec<u32>,
    }
}

view! {
    /// The layouts found for a cache page.
    PageLayout = layout::PageLayout {
        /// The cache page of the first design.
        cache_page_bytes: u32,
        /// The recorded order, with the same units in RAM.
        before: LayoutOutcome,
        /// The recorded order with no units in RAM; None if the request names none for RAM.
        before_resident: Option<LayoutOutcome>,
        /// The best of the published orders, the recorded one among them.
        baseline: LayoutOutcome,
        /// The best of all.
        found: LayoutOutcome,
        /// Orders that the search tried with this page; 0 if the search ended before it.
        evaluations: u64,
        /// The names of the movable units in their new order.
        order: Vec<String>,
        /// Bytes of the image in the new order.
        image_bytes: u64,
        /// Bytes between units.
        gap_bytes: u32,
        /// All units.
        units: Vec<PlacedUnit>,
        /// The published orders, each with its time over that before.
        portfolio: Vec<(&'static str, f64)>,
        /// The pages of the recorded image from which code in flash is executed.
        heat_before: Vec<PageHeat>,
        /// The same pages of the image laid out anew.
        heat_after: Vec<PageHeat>,
    }
}

view! {
    /// The units found in the program.
    LayoutCoverage = layout::Coverage {
        /// Units that can move.
        movable: usize,
        /// Bytes fetched from movable units, as a share of all bytes fetched.
        executed_share: f64,
        /// Notes on assumptions, and on code that remained unknown.
        notes: Vec<String>,
    }
}

view! {
    /// Times of links after commits, each over the time before.
    CommitTimes = layout::CommitTimes {
        /// Number of commits.
        commits: u32,
        /// Number of links drawn.
        draws: usize,
        /// The time below which a tenth of them lies.
        p10: f64,
        /// The median.
        p50: f64,
        /// The time below which nine of ten lie.
        p90: f64,
        /// The longest.
        worst: f64,
    }
}

view! {
    /// An order in slots, and what commits make of it.
    SlotLayout = layout::SlotLayout {
        /// Free bytes behind each unit in a slot.
        slack_bytes: u32,
        /// The units in slots, in their order.
        names: Vec<String>,
        /// Free bytes before the data behind the code.
        reserve_bytes: u32,
        /// The recorded program after one commit, in the order of its link.
        recorded: CommitTimes,
        /// The program in slots after one commit and more.
        after: Vec<CommitTimes>,
    }
}

view! {
    /// A program laid out.
    Layout = layout::Layout {
        /// The layouts, one for each cache page of the request.
        pages: Vec<PageLayout>,
        /// The units found in the program.
        coverage: LayoutCoverage,
        /// Bytes of the units that lie in RAM, beside the cache.
        resident_bytes: u64,
        /// Number of orders evaluated.
        evaluations: u64,
        /// Pieces of code that the search replays to evaluate an order; one number for each cache
        /// page.
        replayed_pieces: Vec<u64>,
        /// Pieces of code that the traces execute.
        executed_pieces: u64,
        /// The best order after commits; None without slots.
        slots: Option<SlotLayout>,
    }
    methods {
        /// The layout of the best cache page.
        #[getter]
        fn best(&self) -> PageLayout {
            PageLayout(self.0.pages[self.0.best].clone())
        }
    }
}

/// Lay a program out. Each of ``traces`` and ``designs`` has a weight.
///
/// ``progress(cache_page_bytes, time_ratio, evaluated_share)`` is called ten times a second and
/// returns the share of the search that is used up. The evaluated share is 0 without
/// ``evaluations``. At 1 the search ends, and the best order so far is kept. With
/// ``evaluations`` it also ends after about so many orders, and the result is the same each time.
#[pyfunction]
#[pyo3(signature = (
    traces, designs, progress: "Callable[[int, float, float], float]", *, map=None, held_out=vec![], held_out_share=0.0, pages=vec![],
    resident=vec![], slots_bytes=0, seed=1,
    evaluations=None
))]
#[expect(clippy::too_many_arguments, reason = "the arguments of a Python function, by keyword")]
pub fn lay_out(
    py: Python<'_>,
    traces: Vec<(PathBuf, f64)>,
    designs: Vec<(Py<Design>, f64)>,
    progress: Py<PyAny>,
    map: Option<PathBuf>,
    held_out: Vec<PathBuf>,
    held_out_share: f64,
    pages: Vec<u32>,
    resident: Vec<String>,
    slots_bytes: u32,
    seed: u64,
    evaluations: Option<u64>,
) -> PyResult<Layout> {
    let used = AtomicU64::new(0f64.to_bits());
    let layout = run(
        py,
        |py, now: LayoutProgress| {
            let given = (now.cache_page_bytes, now.time_ratio, now.evaluated_share);
            let share = progress.call1(py, given)?;
            used.store(share.extract::<f64>(py)?.to_bits(), Ordering::Relaxed);
            Ok(())
        },
        |should_continue, progress| {
            let designs = designs
                .iter()
                .map(|(design, weight)| Ok((design.get().checked()?.as_ref().clone(), *weight)))
                .collect::<flashpager::Result<Vec<_>>>()?;
            let request = LayoutRequest {
                traces,
                map,
                held_out,
                held_out_share,
                designs,
                pages,
                resident,
                slots_bytes,
                seed,
            };
            let share = || {
                if should_continue() { f64::from_bits(used.load(Ordering::Relaxed)) } else { 1.0 }
            };
            let stopped = || share() >= 1.0;
            let limit = match evaluations {
                Some(all) => SearchLimit::Evaluations { all, stopped: &stopped },
                None => SearchLimit::Share(&share),
            };
            layout::layout(&request, &limit, should_continue, progress)
        },
    )?;
    Ok(Layout(layout))
}
