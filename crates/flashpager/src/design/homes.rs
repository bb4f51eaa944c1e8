//! Homes: the store in which every cache page has its own flash page, filled and evaluated.

use std::sync::Arc;

use flashpager_base::{Error, Result};
use flashpager_layout::homes::{FilledHomes, TrainingMisses, fill_homes};
use flashpager_media::part::Part;
use flashpager_replay::pager::{ReuseClasses, VictimSearch};
use flashpager_replay::register::{Access, RegisterDesign};
use flashpager_replay::{
    CacheDesign, Counts, FaultClass, Homes, HomesRegisterDesign, HomesShape, Miss, Store, replay,
    replay_misses,
};
use flashpager_trace::{FirstRuns, Trace};
use serde::Serialize;

use super::{Design, Evaluation};
use crate::cost::{Prices, Time, fault_latencies};
use crate::spec::DesignSpec;

/// The homes of an evaluation, and the training that filled them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HomesSummary {
    /// Flash pages of the store: one for each cache page of the image, or those of the image if the
    /// plain store is kept.
    pub flash_pages: u64,
    /// Slots of a home.
    pub slots: u32,
    /// Bytes of RAM for the header of the home in the register; 0 if the plain store is kept.
    pub header_bytes: u32,
    /// The most slots that start-column skips, because a load is faster than more of them.
    pub most_skipped: u32,
    /// The kept contents: `plain`, `neighbours`, or `round N`.
    pub kept: String,
    /// Bytes fetched by the runs that trained the homes.
    pub trained_bytes: u64,
    /// True if no run that trained the homes is counted.
    pub is_held_out: bool,
    /// The time of the runs that trained the homes.
    pub trained_ns: f64,
    /// Their time with the plain store.
    pub trained_plain_ns: f64,
    /// The time of the counted runs with the plain store.
    pub plain_ns: f64,
}

/// Checks that homes are defined for a design, and returns the rule of its register; `None` for the
/// plain store.
pub(super) fn homes_register(
    part: &Part,
    spec: &DesignSpec,
    register: RegisterDesign,
    prices: &Prices,
) -> Result<Option<HomesRegisterDesign>> {
    if spec.store.parse::<Store>()? == Store::Plain {
        if spec.classes.is_some() {
            return Err(Error::design(
                "reuse classes in the plain store: they stand beside the pages in their homes; take \
                 --store homes, or leave out --classes",
            ));
        }
        return Ok(None);
    }
    if spec.classes.is_some() && spec.ways.is_some() {
        return Err(Error::design(
            "reuse classes with ways: a cache in hardware has none; leave out --classes or --ways",
        ));
    }
    if part.kind.is_read_in_place() {
        return Err(Error::design(format!(
            "homes in {}, which is read in place: it loads no flash pages; take a NAND part, or \
             --store plain",
            part.name
        )));
    }
    if spec.tag_bytes.is_some() {
        return Err(Error::design(
            "homes with tags: their place in a home is not defined; leave out --tag, or take \
             --store plain",
        ));
    }
    // The smallest image has the most slots.
    let shape = HomesShape {
        cache_page_bytes: spec.cache_page_bytes,
        flash_page_bytes: register.flash_page_bytes,
        pages: 1,
        has_classes: spec.classes.is_some(),
    };
    let rule = HomesRegisterDesign::new(register, most_skipped(shape, prices))?;
    shape.check()?;
    Ok(Some(rule))
}

/// Slots that the bus transfers within t_R.
fn most_skipped(shape: HomesShape, prices: &Prices) -> u32 {
    // Rounding must not exclude a slot that just fits.
    (prices.t_r_ns / (f64::from(shape.slot_bytes()) * prices.t_byte_ns) + 1e-9).floor() as u32
}

/// The misses of a trace through a cache, and the part of them that trains.
pub(crate) struct StoreTrace {
    misses: Vec<Miss>,
    counts: PlainStoreCounts,
    /// Number of misses in the first runs, and their counts; `None` if all train.
    first: Option<(usize, PlainStoreCounts)>,
}

/// The counts of the same runs with the plain store: of the design, and of what is kept if homes do
/// not pay, the design without trained reuse classes.
struct PlainStoreCounts {
    counts: Counts,
    plain: Counts,
}

impl StoreTrace {
    /// The misses that train, with their counts.
    pub(crate) fn training(&self) -> TrainingMisses<'_> {
        let (misses, PlainStoreCounts { counts, plain }) = match &self.first {
            None => (self.misses.as_slice(), &self.counts),
            Some((count, counts)) => (&self.misses[..*count], counts),
        };
        TrainingMisses { misses, counts, plain, weight: 1 }
    }

    /// The counts of the runs that train: with the plain store, and with `homes` if there are any.
    pub(crate) fn training_counts(
        &self,
        homes: Option<&Homes>,
        register: HomesRegisterDesign,
    ) -> [Counts; 2] {
        let TrainingMisses { misses, counts, plain, .. } = self.training();
        [plain.clone(), served(homes, register, misses, counts, plain)]
    }

    /// The counts of the runs behind those that train, or of all if none are behind: with the plain
    /// store, and with `homes` if there are any.
    pub(crate) fn counts(
        &self,
        homes: Option<&Homes>,
        register: HomesRegisterDesign,
    ) -> [Counts; 2] {
        let PlainStoreCounts { counts, plain } = &self.counts;
        let all = [plain.clone(), served(homes, register, &self.misses, counts, plain)];
        if self.first.is_none() {
            return all;
        }
        let before = self.training_counts(homes, register);
        std::array::from_fn(|store| all[store].minus(&before[store]))
    }
}

/// The accesses of all misses of a trace to its homes.
pub(crate) struct HomesAccesses {
    /// The access of each miss.
    pub(crate) accesses: Vec<Access>,
    /// The counts of the runs that are counted.
    pub(crate) counts: Counts,
    /// The runs on which the homes were trained, in words.
    pub(crate) note: &'static str,
}

/// The counts of `misses`, which are `counts` with the plain store, with `homes`; those of `plain`
/// without homes.
fn served(
    homes: Option<&Homes>,
    register: HomesRegisterDesign,
    misses: &[Miss],
    counts: &Counts,
    plain: &Counts,
) -> Counts {
    homes.map_or_else(
        || plain.clone(),
        |homes| homes.serve(register, misses, |_, _| ()).instead_of(counts),
    )
}

impl Design {
    /// Returns true if the store has homes.
    pub fn has_homes(&self) -> bool {
        self.homes.is_some()
    }

    /// Refuses a store of homes for an answer that knows the plain store alone; `verb` says what
    /// the answer is for.
    ///
    /// # Errors
    /// A design with homes.
    pub(crate) fn check_plain_store(&self, verb: &str) -> Result<()> {
        if self.has_homes() {
            return Err(Error::design(format!(
                "homes are replayed by simulate, explore, attribute and homes alone; {verb} for \
                 the design with store = \"plain\""
            )));
        }
        Ok(())
    }

    /// The rule of the register that reads homes.
    ///
    /// # Errors
    /// A design with the plain store.
    pub(crate) fn homes_register(&self) -> Result<HomesRegisterDesign> {
        self.homes.ok_or_else(|| Error::design("a design without homes: take --store homes"))
    }

    /// The sizes of the store of homes for an image of `image_bytes`.
    ///
    /// # Errors
    /// An image with too many pages, or flash pages that are too small.
    pub(crate) fn homes_shape(&self, image_bytes: u64) -> Result<HomesShape> {
        HomesShape::new(
            image_bytes,
            self.cache.cache_page_bytes,
            self.register.flash_page_bytes,
            self.cache.policy.classes().is_some(),
        )
    }

    /// The design with `classes` instead of its own.
    ///
    /// # Errors
    /// A policy without classes, and a design without homes.
    pub(crate) fn with_classes(&self, classes: Arc<ReuseClasses>) -> Result<Self> {
        let mut design = self.clone();
        design.cache.policy = design.cache.policy.with_classes(classes)?;
        let register = HomesRegisterDesign::new(self.register, {
            let shape = HomesShape {
                cache_page_bytes: self.cache.cache_page_bytes,
                flash_page_bytes: self.register.flash_page_bytes,
                pages: 1,
                has_classes: true,
            };
            most_skipped(shape, &self.prices)
        })?;
        design.homes = Some(register);
        Ok(design)
    }

    /// The cache without trained classes.
    ///
    /// # Errors
    /// A policy that is unknown.
    fn cache_without_classes(&self) -> Result<CacheDesign> {
        let policy = self.cache.policy.to_string().parse()?;
        Ok(CacheDesign { policy, ..self.cache.clone() })
    }

    /// The time of a fault with `access`, as a part of the time of a replay.
    pub(crate) fn fault_time(&self, access: &Access, search: VictimSearch) -> f64 {
        let written = u64::from(self.cache.cache_page_bytes);
        let mut counts = Counts {
            misses: 1,
            bytes_written: written,
            walk: search.walk.into(),
            max_walk: search.walk,
            downgrades: search.downgrades.into(),
            fault_classes: vec![(FaultClass::of(access, search), 1)],
            ..Counts::default()
        };
        counts.add_access(access);
        self.time_of(&counts).time_ns - self.time_of(&Counts::default()).time_ns
    }

    /// Replays `trace` for a store. The runs of its warm-up train, or all if it has none.
    pub(crate) fn store_trace(
        &self,
        trace: &dyn Trace,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<StoreTrace> {
        let Self { cache, register, .. } = self;
        let (counts, misses) = replay_misses(trace, cache, *register, should_continue)?;
        let with_plain = |trace: &dyn Trace, counts: Counts| {
            let plain = if cache.policy.classes().is_some() {
                let cache = self.cache_without_classes()?;
                replay(trace, &cache, &[*register], should_continue, None)?.0.swap_remove(0)
            } else {
                counts.clone()
            };
            Ok::<_, Error>(PlainStoreCounts { counts, plain })
        };
        let counts = with_plain(trace, counts)?;
        let runs = trace.warm_up().runs;
        if runs == 0 {
            return Ok(StoreTrace { misses, counts, first: None });
        }
        let first = FirstRuns::of(trace, runs);
        let (mut before, _) = replay(&first, cache, &[*register], should_continue, None)?;
        let before = before.swap_remove(0);
        let count = before.misses as usize;
        Ok(StoreTrace { misses, counts, first: Some((count, with_plain(&first, before)?)) })
    }

    /// Fills homes of `shape` from `traces`; the contents of least time are kept.
    pub(crate) fn filled_homes(
        &self,
        shape: HomesShape,
        traces: &[TrainingMisses<'_>],
        should_continue: &(dyn Fn() -> bool + Sync),
    ) -> Result<FilledHomes> {
        let time = |counts: &Counts| self.time_of(counts).time_ns;
        fill_homes(shape, self.homes_register()?, traces, &time, should_continue)
    }

    /// The accesses of the misses of `trace` to homes that are filled from it, or from its warm-up if
    /// it has one; `None` without homes, or if the plain store is kept.
    pub(crate) fn accesses_of_homes(
        &self,
        trace: &dyn Trace,
        should_continue: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<HomesAccesses>> {
        if !self.has_homes() {
            return Ok(None);
        }
        let register = self.homes_register()?;
        let shape = self.homes_shape(trace.image_bytes())?;
        let stored = self.store_trace(trace, &should_continue)?;
        let filled = self.filled_homes(shape, &[stored.training()], should_continue)?;
        let Some(homes) = filled.homes else { return Ok(None) };
        let mut accesses = Vec::with_capacity(stored.misses.len());
        homes.serve(register, &stored.misses, |_, access| accesses.push(*access));
        let [_, counts] = stored.counts(Some(&homes), register);
        let note = match stored.first {
            Some(_) => "the homes are trained on the warm-up alone",
            None => "the homes are trained on the counted runs themselves; --warm-up 70% holds out",
        };
        Ok(Some(HomesAccesses { accesses, counts, note }))
    }

    /// Replays `trace` with homes that are filled from it, or from its warm-up if it has one.
    pub(super) fn evaluate_homes(
        &self,
        trace: &dyn Trace,
        should_continue: &(dyn Fn() -> bool + Sync),
    ) -> Result<Evaluation> {
        let register = self.homes_register()?;
        let shape = self.homes_shape(trace.image_bytes())?;
        let stored = self.store_trace(trace, &should_continue)?;
        let training = stored.training();
        let filled = self.filled_homes(shape, &[training], should_continue)?;
        let [plain, counts] = stored.counts(filled.homes.as_ref(), register);
        let counts = self.device_counts(&counts);
        let time = Time::of(&counts, &self.prices);
        let latencies = fault_latencies(&counts, &self.prices);
        let summary = HomesSummary {
            trained_bytes: training.plain.bytes_read,
            is_held_out: stored.first.is_some(),
            plain_ns: self.time_of(&plain).time_ns,
            ..self.homes_summary(shape, &filled)
        };
        let mut evaluation = self.evaluation(&counts, time, latencies, &[]);
        evaluation.homes = Some(summary);
        Ok(evaluation)
    }

    /// The summary of a training, without the runs that are counted.
    pub(crate) fn homes_summary(&self, shape: HomesShape, filled: &FilledHomes) -> HomesSummary {
        let image_bytes = u64::from(shape.pages) * u64::from(shape.cache_page_bytes);
        let of_image = image_bytes.div_ceil(u64::from(shape.flash_page_bytes));
        let is_plain = filled.homes.is_none();
        HomesSummary {
            flash_pages: if is_plain { of_image } else { shape.pages.into() },
            slots: shape.slots(),
            header_bytes: if is_plain { 0 } else { shape.header_bytes() },
            most_skipped: most_skipped(shape, &self.prices),
            kept: filled.kept.to_string(),
            trained_bytes: 0,
            is_held_out: false,
            trained_ns: filled.time,
            trained_plain_ns: filled.plain_time,
            plain_ns: 0.0,
        }
    }
}
