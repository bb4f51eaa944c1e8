//! Homes of a program: a store for its flash, trained on recorded executions.

use std::borrow::Cow;
use std::path::PathBuf;

use flashpager::homes;
use pyo3::prelude::*;

use crate::design::Design;
use crate::replay::{HomesSummary, Row};
use crate::seam::{ToPyView, raise, run, view};

view! {
    /// A part of a trace with both stores.
    StoredPart = homes::StoredPart {
        /// The index of its trace.
        trace: usize,
        /// True if the part did not train the homes.
        is_held_out: bool,
        /// The part with the plain store.
        plain: Row,
        /// The part with the trained homes; the same as `plain` if the plain store is kept.
        homes: Row,
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
/// on all.
#[pyfunction]
#[pyo3(signature = (traces, design, train=None))]
pub fn train_homes(
    py: Python<'_>,
    traces: Vec<(PathBuf, u32)>,
    design: Py<Design>,
    train: Option<String>,
) -> PyResult<TrainedHomes> {
    run(
        py,
        |_, ()| Ok(()),
        |should_continue, _| {
            let design = design.get().checked()?;
            homes::train(&traces, &design, train.as_deref(), should_continue)
        },
    )
    .map(TrainedHomes)
}
