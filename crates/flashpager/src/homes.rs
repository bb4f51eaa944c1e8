//! Homes of a program: a store for its flash, trained on recorded executions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashpager_base::{Error, ProgressFn, Result};
use flashpager_layout::classes::{
    ClassesDesign, TrainedClasses, TrainingReferences, train_classes,
};
use flashpager_layout::homes::{FilledHomes, TrainingMisses};
use flashpager_replay::pager::{Page, PageClasses, PolicySpec, ReuseClasses};
use flashpager_replay::register::Access;
use flashpager_replay::{Homes, HomesShape, page_references};
use flashpager_trace::{FirstRuns, Trace, TraceFile, WarmUp};
use serde::Serialize;

use crate::classes::ClassesFile;
use crate::design::{Design, HomesSummary, StoreTrace};
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
    /// The part with the trained homes, and classes if any were kept; the same as `plain` if the
    /// plain store is kept.
    pub homes: ResultRow,
    /// The part with homes that were trained without classes; `None` unless classes were trained.
    pub without_classes: Option<ResultRow>,
}

/// Reuse classes that were trained with their homes.
#[derive(Clone, Debug)]
struct ClassesTraining {
    classes: Arc<ReuseClasses>,
    filled: FilledHomes,
    /// The passes over all pages, of all descents.
    passes: u32,
}

/// The most times that classes are trained for homes, and homes filled anew for classes.
const MAX_TURNS: u32 = 4;

/// Progress of a training of classes: the passes over all pages that are done, then the pages of
/// this pass that are done, and the pages of a pass.
pub type ClassesProgress = (u32, usize, usize);

/// Homes that were trained on one trace or more.
#[derive(Clone, Debug)]
pub struct TrainedHomes {
    /// The homes and their training.
    pub summary: HomesSummary,
    /// By trace, the part that trained, and the part behind it if one is held out.
    pub parts: Vec<StoredPart>,
    /// The homes; `None` if the plain store is kept.
    pub homes: Option<Homes>,
    /// The reuse classes of the homes; `None` if homes without trained ones are faster.
    pub classes: Option<Arc<ReuseClasses>>,
    /// The passes over all pages in which classes were trained; 0 if none were.
    pub passes: u32,
    image_bytes: u64,
    policy: String,
    cache_page_bytes: u32,
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
        let classes = self.classes.as_deref();
        let of_homes = |homes: &Homes| homes.flash_image(image, classes);
        Ok(self.homes.as_ref().map_or_else(|| image.to_vec(), of_homes))
    }

    /// The text of a file with the reuse classes. Without trained ones all pages have those of the
    /// policy.
    ///
    /// # Errors
    /// A policy without classes.
    pub fn classes_file(&self) -> Result<String> {
        let Self { policy, cache_page_bytes, .. } = self;
        let spec: PolicySpec = policy.parse()?;
        let classes = match (&self.classes, spec.default_class()) {
            (Some(classes), _) => classes.clone(),
            (None, class) => {
                let pages = self.image_bytes.div_ceil(u64::from(*cache_page_bytes)) as usize;
                let class = PageClasses::both(class.unwrap_or(0));
                Arc::new(ReuseClasses::new(vec![class; pages])?)
            }
        };
        let policy = policy.clone();
        ClassesFile { policy, cache_page_bytes: *cache_page_bytes, classes }.text()
    }
}

/// A request to train homes.
#[derive(Clone, Copy, Debug)]
pub struct HomesRequest<'a> {
    /// The traces of one program, each with its weight.
    pub traces: &'a [(PathBuf, u32)],
    /// The first runs of each trace, which train, as a warm-up is written ([`warm_up::find`]); the
    /// rest is held out. `None` trains on all.
    pub train: Option<&'a str>,
    /// True if reuse classes are trained, too.
    pub trains_classes: bool,
}

/// Trains homes for `design`, and reuse classes if the request asks for them.
///
/// # Errors
/// Traces that cannot be read or that have different images, a design without homes, a part to
/// train on that is empty or leaves nothing to hold out, and classes for a policy without them.
pub fn train(
    request: HomesRequest<'_>,
    design: &Design,
    should_continue: &(dyn Fn() -> bool + Sync),
    progress: ProgressFn<'_, ClassesProgress>,
) -> Result<TrainedHomes> {
    let HomesRequest { traces, train, trains_classes } = request;
    if traces.iter().any(|(_, weight)| *weight == 0) {
        return Err(Error::design("a weight is a whole number above 0"));
    }
    if trains_classes {
        check_trainable(design)?;
    }
    let open = |(path, _): &(PathBuf, u32)| opened(path, train);
    let files = traces.iter().map(open).collect::<Result<Vec<TraceFile>>>()?;
    let Some(first) = files.first() else {
        return Err(Error::design("no trace to train homes on"));
    };
    for (file, (path, _)) in files.iter().zip(traces) {
        check_same_image(first.info(), file.info(), path)?;
    }
    let image_bytes = first.info().image_bytes;
    let executing = design.executing(first.info())?;
    let weights: Vec<u32> = traces.iter().map(|(_, weight)| *weight).collect();
    let training = Training { files: &files, weights: &weights, should_continue };
    let (shape, stored, filled) = training.filled(&executing)?;
    let trained = match (&filled.homes, trains_classes) {
        (Some(homes), true) => training.classes(&executing, homes, filled.time, progress)?,
        _ => None,
    };
    let parts = match &trained {
        None => training.parts(design, &stored, filled.homes.as_ref(), train.is_some())?,
        Some(trained) => {
            let with_classes = executing.with_classes(trained.classes.clone())?;
            let homes = trained.filled.homes.as_ref();
            let (_, of_classes) = training.stored(&with_classes)?;
            let mut parts = training.parts(&with_classes, &of_classes, homes, train.is_some())?;
            let before = training.parts(design, &stored, filled.homes.as_ref(), train.is_some())?;
            for (part, before) in parts.iter_mut().zip(before) {
                part.plain = before.plain;
                part.without_classes = Some(before.homes);
            }
            parts
        }
    };
    let trained_bytes = stored.iter().map(|one| one.training().plain.bytes_read).sum();
    let passes = trained.as_ref().map_or(0, |trained| trained.passes);
    let classes = trained.as_ref().map(|trained| trained.classes.clone());
    let (shape, kept) = match trained {
        Some(trained) => (HomesShape { has_classes: true, ..shape }, trained.filled),
        None => (shape, filled),
    };
    let summary = HomesSummary {
        trained_bytes,
        is_held_out: train.is_some(),
        ..executing.homes_summary(shape, &kept)
    };
    let policy = design.cache().policy.to_string();
    let classes = classes.or_else(|| design.cache().policy.classes().cloned().map(Arc::new));
    let classes = classes.filter(|_| kept.homes.is_some());
    let cache_page_bytes = design.cache().cache_page_bytes;
    let homes = kept.homes;
    Ok(TrainedHomes {
        summary,
        parts,
        homes,
        classes,
        passes,
        image_bytes,
        policy,
        cache_page_bytes,
    })
}

/// Checks that reuse classes can be trained for a design.
fn check_trainable(design: &Design) -> Result<()> {
    let cache = design.cache();
    if cache.policy.default_class().is_none() {
        return Err(Error::design(format!(
            "reuse classes with {}: take --policy lru-array or gclock, which have them",
            cache.policy
        )));
    }
    if cache.policy.classes().is_some() {
        return Err(Error::design(
            "reuse classes are trained or given, not both: leave out --classes",
        ));
    }
    if cache.hierarchy.is_some() || cache.ways.is_some() {
        return Err(Error::design(
            "reuse classes are trained for a page cache alone, without ways, instruction cache and \
             TLB: take a board without them",
        ));
    }
    Ok(())
}

/// Homes that are filled for reuse classes.
struct FilledForClasses {
    classes: Arc<ReuseClasses>,
    /// The design with the classes.
    design: Design,
    stored: Vec<StoreTrace>,
    filled: FilledHomes,
}

/// The traces that train, opened.
struct Training<'a> {
    files: &'a [TraceFile],
    weights: &'a [u32],
    should_continue: &'a (dyn Fn() -> bool + Sync),
}

impl Training<'_> {
    /// Replays all traces for a store of `design`.
    fn stored(&self, design: &Design) -> Result<(HomesShape, Vec<StoreTrace>)> {
        let image_bytes = self.files.first().map_or(0, |file| file.info().image_bytes);
        let shape = design.homes_shape(image_bytes)?;
        let replay = |file: &TraceFile| design.store_trace(file, &self.should_continue);
        Ok((shape, self.files.iter().map(replay).collect::<Result<_>>()?))
    }

    /// Fills homes for `design` from the misses of all traces.
    fn filled(&self, design: &Design) -> Result<(HomesShape, Vec<StoreTrace>, FilledHomes)> {
        let (shape, stored) = self.stored(design)?;
        let pairs = stored.iter().zip(self.weights);
        let training: Vec<TrainingMisses<'_>> = pairs
            .map(|(one, weight)| TrainingMisses { weight: *weight, ..one.training() })
            .collect();
        let filled = design.filled_homes(shape, &training, self.should_continue)?;
        Ok((shape, stored, filled))
    }

    /// Fills homes for `design` with `classes`.
    fn filled_for(&self, design: &Design, classes: &[PageClasses]) -> Result<FilledForClasses> {
        let classes = Arc::new(ReuseClasses::new(classes.to_vec())?);
        let design = design.with_classes(classes.clone())?;
        let (_, stored, filled) = self.filled(&design)?;
        Ok(FilledForClasses { classes, design, stored, filled })
    }

    /// Trains classes for homes, and fills homes for classes, in turns, as long as the time falls.
    /// Returns the classes with the homes filled for them, if they take less than `time`.
    fn classes(
        &self,
        design: &Design,
        homes: &Homes,
        time: f64,
        progress: ProgressFn<'_, ClassesProgress>,
    ) -> Result<Option<ClassesTraining>> {
        let class = design.cache().policy.default_class().unwrap_or(0);
        let start = vec![PageClasses::both(class); homes.shape().pages as usize];
        let references = self.files.iter().map(|file| self.references(design, file));
        let references = references.collect::<Result<Vec<_>>>()?;
        let (mut best, mut best_time, mut passes) = (None, time, 0);
        let mut now = self.filled_for(design, &start)?;
        for _ in 0..MAX_TURNS {
            let Some(homes) = &now.filled.homes else { break };
            let report = |(pass, done, all)| progress((passes + pass, done, all));
            let trained = self.descent(&now, homes, &references, &report)?;
            passes += trained.passes;
            if trained.classes == now.classes.by_page() {
                break;
            }
            now = self.filled_for(design, &trained.classes)?;
            if now.filled.homes.is_none() || now.filled.time >= best_time {
                break;
            }
            best_time = now.filled.time;
            best = Some((now.classes.clone(), now.filled.clone()));
        }
        Ok(best.map(|(classes, filled)| ClassesTraining { classes, filled, passes }))
    }

    /// Trains classes for `homes`, from those of `now` on.
    fn descent(
        &self,
        now: &FilledForClasses,
        homes: &Homes,
        references: &[Vec<Page>],
        progress: ProgressFn<'_, ClassesProgress>,
    ) -> Result<TrainedClasses> {
        let FilledForClasses { classes, design, stored, .. } = now;
        let register = design.homes_register()?;
        let fault_time = |access: &Access, search| design.fault_time(access, search);
        let hits_time = |one: &StoreTrace| {
            let [_, counts] = one.training_counts(Some(homes), register);
            let misses = one.training().misses;
            let mut faults = 0.0;
            homes.serve(register, misses, |index, access| {
                faults += fault_time(access, misses[index].search);
            });
            design.time_of(&counts).time_ns - faults
        };
        let traces: Vec<TrainingReferences<'_>> = references
            .iter()
            .zip(stored)
            .zip(self.weights)
            .map(|((references, one), weight)| TrainingReferences {
                references,
                weight: *weight,
                hits_time: hits_time(one),
            })
            .collect();
        let descent = ClassesDesign {
            policy: &design.cache().policy,
            frames: u32::try_from(design.frames()).unwrap_or(u32::MAX),
            homes,
            register,
            fault_time: &fault_time,
        };
        let start = classes.by_page().to_vec();
        train_classes(&descent, &traces, start, self.should_continue, progress)
    }

    /// The collapsed references of the runs of a trace that train.
    fn references(&self, design: &Design, file: &TraceFile) -> Result<Vec<Page>> {
        let page = design.cache().cache_page_bytes;
        match file.warm_up().runs {
            0 => page_references(file, page, &self.should_continue),
            runs => page_references(&FirstRuns::of(file, runs), page, &self.should_continue),
        }
    }

    /// By trace, the part that trained, and the part behind it if one is held out.
    fn parts(
        &self,
        design: &Design,
        stored: &[StoreTrace],
        homes: Option<&Homes>,
        is_held_out: bool,
    ) -> Result<Vec<StoredPart>> {
        let register = design.homes_register()?;
        let mut parts = Vec::new();
        for (trace, (file, one)) in self.files.iter().zip(stored).enumerate() {
            let design = &*design.executing(file.info())?;
            let part = |is_held_out: bool, [plain, homes]: [_; 2]| {
                let row = |counts| ResultRow::new(design, design.evaluate(&counts));
                let (plain, homes) = (row(plain), row(homes));
                StoredPart { trace, is_held_out, plain, homes, without_classes: None }
            };
            parts.push(part(false, one.training_counts(homes, register)));
            if is_held_out {
                parts.push(part(true, one.counts(homes, register)));
            }
        }
        Ok(parts)
    }
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
