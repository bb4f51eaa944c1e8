//! Homes of a program: a store for its flash, trained on recorded executions.

use std::borrow::Cow;
use std::path::PathBuf;

use flashpager::homes;
use pyo3::prelude::*;

use crate::design::Design;
use crate::replay::{HomesSummary, Row};
use crate::seam::{ToPyView, call_progress, raise, run, view};

view! {
    /// A part of a trace with both stores.
    StoredPart = homes::StoredPart {
        /// The index of its trace.
        trace: usize,
        /// True if the part did not train the homes.
        is_held_out: bool,
        /// The part with the plain store.
        plain: Row,
        /// The part with the trained homes, and classes if any were kept; the same as `plain` if
        /// the plain store is kept.
        homes: Row,
        /// The part with homes that were trained without classes; None unless classes were trained.
        without_classes: Option<Row>,
    }
}

/// Homes that were trained on one trace or more.
#[pyclass(frozen, skip_from_py_object, module = "flashpager._engine")]
pub struct TrainedHomes(homes::TrainedHomes);

#[pymethods]
impl TrainedHomes {
    /// The homes and their training.
    #[getter]
    fn summary(&self) -> HomesSummary {
        HomesSummary::view_of(&self.0.summary)
    }

    /// By trace, the part that trained, and the part behind it if one is held out.
    #[getter]
    fn parts(&self) -> Vec<StoredPart> {
        self.0.parts.iter().map(StoredPart::view_of).collect()
    }

    /// The pages in the slots of each home; empty if the plain store is kept.
    #[getter]
    fn slots(&self) -> Vec<Vec<u32>> {
        let homes = self.0.homes.iter();
        homes
            .flat_map(|homes| (0..homes.shape().pages).map(|page| homes.slots(page).to_vec()))
            .collect()
    }

    /// The reuse classes of each page, of a fill and of a use; None if there are none.
    #[getter]
    fn classes(&self) -> Option<Vec<(u8, u8)>> {
        let classes = self.0.classes.as_ref()?;
        Some(classes.by_page().iter().map(|page| (page.fill, page.used)).collect())
    }

    /// The passes over all pages in which classes were trained; 0 if none were.
    #[getter]
    fn passes(&self) -> u32 {
        self.0.passes
    }

    /// The text of a file with the reuse classes, which a design takes as ``classes``.
    ///
    /// Raises:
    ///     FlashpagerError: for a policy without classes.
    fn classes_file(&self) -> PyResult<String> {
        self.0.classes_file().map_err(raise)
    }

    /// The flash image of the store, made of the bytes of the program's image.
    ///
    /// Raises:
    ///     FlashpagerError: for an image of another length.
    fn flash_image(&self, image: &[u8]) -> PyResult<Cow<'static, [u8]>> {
        self.0.flash_image(image).map(Cow::Owned).map_err(raise)
    }

    fn __repr__(&self) -> String {
        let homes::TrainedHomes { summary, .. } = &self.0;
        format!("TrainedHomes({} flash pages, {})", summary.flash_pages, summary.kept)
    }
}

/// Train homes for a design on traces of one program, each with its weight. ``train`` describes the
/// first runs of each trace that train, as a warm-up is written; the rest is held out. None trains
/// on all. With ``trains_classes`` reuse classes are trained, too; ``progress`` then receives the
/// passes over all pages that are done, and the pages of this pass, done and in all.
#[pyfunction]
#[pyo3(signature = (
    traces, design, train=None, *, trains_classes=false,
    progress: "Callable[[int, int, int], object] | None" = None,
))]
pub fn train_homes(
    py: Python<'_>,
    traces: Vec<(PathBuf, u32)>,
    design: Py<Design>,
    train: Option<String>,
    trains_classes: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<TrainedHomes> {
    let train = train.as_deref();
    let request = homes::HomesRequest { traces: &traces, train, trains_classes };
    run(py, call_progress(&progress), |should_continue, progress| {
        let design = design.get().checked()?;
        homes::train(request, &design, should_continue, progress)
    })
    .map(TrainedHomes)
}
