//! Homes of a program: a store for its flash, trained on recorded executions.

use std::path::{Path, PathBuf};

use flashpager_base::{Error, Result};
use flashpager_layout::homes::TrainingMisses;
use flashpager_replay::Homes;
use flashpager_trace::{TraceFile, WarmUp};
use serde::Serialize;

use crate::design::{Design, HomesSummary};
use crate::layout::check_same_image;
use crate::{simulation, warm_up};

pub use crate::result::ResultRow;

/// A part of a trace with both stores.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoredPart {
    /// The index of its trace.
    pub trace: usize,
    /// True if the part did not train the homes.
    pub is_held_out: bool,
    /// The part with the plain store.
    pub plain: ResultRow,
    /// The part with the trained homes; the same as `plain` if the plain store is kept.
    pub homes: ResultRow,
}

/// Homes that were trained on one trace or more.
#[derive(Clone, Debug)]
pub struct TrainedHomes {
    /// The homes and their training.
    pub summary: HomesSummary,
    /// By trace, the part that trained, and the part behind it if one is held out.
    pub parts: Vec<StoredPart>,
    /// The homes; `None` if the plain store is kept.
    pub homes: Option<Homes>,
    image_bytes: u64,
}

impl TrainedHomes {
    /// The flash image of the store, made of the bytes of the program's image. If the plain store
    /// is kept, these are the bytes as they are.
    ///
    /// # Errors
    /// An image of another length.
    pub fn flash_image(&self, image: &[u8]) -> Result<Vec<u8>> {
        if image.len() as u64 != self.image_bytes {
            return Err(Error::design(format!(
                "an image of {} bytes, but the traces have one of {}",
                image.len(),
                self.image_bytes
            )));
        }
        Ok(self.homes.as_ref().map_or_else(|| image.to_vec(), |homes| homes.flash_image(image)))
    }
}

/// Trains homes for `design` on `traces` of one program, each with its weight. `train` describes
/// the first runs of each trace that train, as a warm-up is written ([`warm_up::find`]); the rest is
/// held out. `None` trains on all.
///
/// # Errors
/// Traces that cannot be read or that have different images, a design without homes, and a part to
/// train on that is empty or leaves nothing to hold out.
pub fn train(
    traces: &[(PathBuf, u32)],
    design: &Design,
    train: Option<&str>,
    should_continue: &(dyn Fn() -> bool + Sync),
) -> Result<TrainedHomes> {
    if traces.iter().any(|(_, weight)| *weight == 0) {
        return Err(Error::design("a weight is a whole number above 0"));
    }
    let register = design.homes_register()?;
    let open = |(path, _): &(PathBuf, u32)| opened(path, train);
    let files = traces.iter().map(open).collect::<Result<Vec<TraceFile>>>()?;
    let Some(first) = files.first() else {
        return Err(Error::design("no trace to train homes on"));
    };
    for (file, (path, _)) in files.iter().zip(traces) {
        check_same_image(first.info(), file.info(), path)?;
    }
    let image_bytes = first.info().image_bytes;
    let shape = design.homes_shape(image_bytes)?;
    let stored = files
        .iter()
        .map(|file| design.store_trace(file, &should_continue))
        .collect::<Result<Vec<_>>>()?;
    let training: Vec<TrainingMisses<'_>> = stored
        .iter()
        .zip(traces)
        .map(|(one, (_, weight))| TrainingMisses { weight: *weight, ..one.training() })
        .collect();
    let executing = design.executing(first.info())?;
    let filled = executing.filled_homes(shape, &training, should_continue)?;
    let mut parts = Vec::new();
    for (trace, (file, one)) in files.iter().zip(&stored).enumerate() {
        let design = &*design.executing(file.info())?;
        let part = |is_held_out: bool, [plain, homes]: [_; 2]| {
            let row = |counts| ResultRow::new(design, design.evaluate(&counts));
            StoredPart { trace, is_held_out, plain: row(plain), homes: row(homes) }
        };
        let homes = filled.homes.as_ref();
        parts.push(part(false, one.training_counts(homes, register)));
        if train.is_some() {
            parts.push(part(true, one.counts(homes, register)));
        }
    }
    let trained_bytes = training.iter().map(|one| one.plain.bytes_read).sum();
    let summary = HomesSummary {
        trained_bytes,
        is_held_out: train.is_some(),
        ..executing.homes_summary(shape, &filled)
    };
    Ok(TrainedHomes { summary, parts, homes: filled.homes, image_bytes })
}

/// Opens a trace whose warm-up are the runs that train.
fn opened(path: &Path, train: Option<&str>) -> Result<TraceFile> {
    let file = simulation::open(path, WarmUp::default())?;
    let Some(text) = train else { return Ok(file) };
    let first = warm_up::find(&file, text)?;
    if first.is_none() {
        return Err(Error::design(format!(
            "a training part of {text} is empty: take a larger one, as 70%"
        )));
    }
    file.with_warm_up(first)
}
