//! Orders of a program's units, and the search for a good one.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use flashpager::layout::{self, LayoutProgress, LayoutRequest, SearchLimit};
use pyo3::prelude::*;

use crate::design::Design;
use crate::replay::Row;
use crate::seam::{run, view};

view! {
    /// An order, and the results of designs with it.
    LayoutOutcome = layout::LayoutOutcome {
        /// Name of the order: ``before``, a published algorithm, or ``found``.
        what: String,
        /// The cache page, of the first design.
        cache_page_bytes: u32,
        /// Time over that before with the design's own page, the mean of all designs.
        time_ratio: f64,
        /// The same ratio for held-out traces; None if there are none.
        held_out_ratio: Option<f64>,
        /// Results, by design, then by trace.
        rows: Vec<Row>,
        /// Results of held-out traces.
        held_out: Vec<Row>,
    }
}

view! {
    /// A unit of a program, and its places.
    PlacedUnit = layout::PlacedUnit {
        /// Its name.
        name: String,
        /// Its length.
        bytes: u32,
        /// Its offset in the recorded image.
        before: u32,
        /// Its offset laid out anew.
        after: u32,
        /// Whether it stays where it is.
        fixed: bool,
        /// Bytes executed of it, once for each time.
        executed_bytes: f64,
    }
}

view! {
    /// A page of an image, of which something is executed.
    PageHeat = layout::PageHeat {
        /// Its number: its offset over the size of a page.
        page: u32,
        /// Bytes executed of it, once for each time.
        executed_bytes: f64,
        /// The numbers of the units of which something in it is executed.
        units: Vec<u32>,
    }
}

view! {
    /// The layouts found for a cache page.
    PageLayout = layout::PageLayout {
        /// The cache page, of the first design.
        cache_page_bytes: u32,
        /// The recorded order, with the same units in RAM.
        before: LayoutOutcome,
        /// The recorded order with nothing in RAM, where units are.
        before_resident: Option<LayoutOutcome>,
        /// The best of the published orders, the recorded one among them.
        baseline: LayoutOutcome,
        /// The best of all.
        found: LayoutOutcome,
        /// Orders that the search tried with this page; 0 where it ended before.
        evaluations: u64,
        /// The names of movable units, as they are laid out.
        order: Vec<String>,
        /// Bytes of the image laid out so.
        image_bytes: u64,
        /// Bytes between units.
        gap_bytes: u32,
        /// All units.
        units: Vec<PlacedUnit>,
        /// The published orders, each with its time over that before.
        portfolio: Vec<(&'static str, f64)>,
        /// The pages of the recorded image of which something in flash is executed.
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
        /// Bytes fetched out of them, as a share of all.
        executed_share: f64,
        /// Assumptions, and what remained unknown.
        notes: Vec<String>,
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
        /// Candidates evaluated.
        evaluations: u64,
        /// Pieces of code that the search replays for a look at all, for each cache page.
        replayed_pieces: Vec<u64>,
        /// Pieces of code executed.
        executed_pieces: u64,
    }
    methods {
        /// The layout of the best cache page.
        #[getter]
        fn best(&self) -> PageLayout {
            PageLayout(self.0.pages[self.0.best].clone())
        }
    }
}

/// Lay a program out. ``traces`` and ``designs`` come with how much each counts.
///
/// ``progress(cache_page_bytes, time_ratio)`` is called ten times a second and gives the share of
/// the search that is used up: with 1 it ends, and what was found is kept. With ``evaluations`` it
/// ends after about so many orders, too, and what is found is the same each time.
#[pyfunction]
#[pyo3(signature = (
    traces, designs, progress: "Callable[[int, float], float]", *, map=None, held_out=vec![], held_out_share=0.0, pages=vec![],
    resident=vec![], seed=1,
    evaluations=None
))]
#[expect(clippy::too_many_arguments, reason = "as Python names them")]
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
    seed: u64,
    evaluations: Option<u64>,
) -> PyResult<Layout> {
    let used = AtomicU64::new(0f64.to_bits());
    let found = run(
        py,
        |py, now: LayoutProgress| {
            let share = progress.call1(py, (now.cache_page_bytes, now.time_ratio))?;
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
    Ok(Layout(found))
}
