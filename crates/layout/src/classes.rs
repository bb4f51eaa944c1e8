//! Reuse classes of pages, trained by coordinate descent on the replay.
//!
//! The pages come by falling misses, the smaller number first among equals. Each tries all 16 pairs
//! of classes in ascending order, and takes a pair if the time of the whole replay falls by more than
//! a share of 10⁻⁵. This repeats until no page has changed.

use std::sync::Arc;

use flashpager_base::{Error, ProgressFn, Result};
use flashpager_replay::pager::{Page, PageClasses, PolicySpec, ReuseClasses, VictimSearch};
use flashpager_replay::register::Access;
use flashpager_replay::{FaultClass, Homes, HomesRegisterDesign, serve_references};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// The share of the time by which it must fall for a pair to be taken.
const LEAST_FALL: f64 = 1e-5;
/// The number of misses after which a candidate that is already too slow is given up.
const CHECK_MISSES: u64 = 128;

/// The references of one trace, on which classes are trained.
#[derive(Clone, Copy, Debug)]
pub struct TrainingReferences<'a> {
    /// The collapsed references of the runs that train.
    pub references: &'a [Page],
    /// The weight of the time beside other traces.
    pub weight: u32,
    /// The time of the runs that is not spent in faults.
    pub hits_time: f64,
}

/// The cache and the store whose classes are trained.
#[derive(Clone, Copy)]
pub struct ClassesDesign<'a> {
    /// The policy, which has classes.
    pub policy: &'a PolicySpec,
    /// The number of frames.
    pub frames: u32,
    /// The homes that serve the misses.
    pub homes: &'a Homes,
    /// The rule of the register.
    pub register: HomesRegisterDesign,
    /// The time of a fault.
    pub fault_time: &'a (dyn Fn(&Access, VictimSearch) -> f64 + Sync),
}

/// The result of a training.
#[derive(Clone, Debug)]
pub struct TrainedClasses {
    /// The classes of all pages.
    pub classes: Vec<PageClasses>,
    /// The time of the training runs with them.
    pub time: f64,
    /// The number of passes over the pages that were begun.
    pub passes: u32,
}

/// Trains classes by coordinate descent, from `start` on. `progress` receives the passes done, the
/// pages of this pass done, and the pages of a pass.
///
/// # Errors
/// A policy without classes, and [`Error::Interrupted`] once `should_continue` returns false.
pub fn train_classes(
    design: &ClassesDesign<'_>,
    traces: &[TrainingReferences<'_>],
    start: Vec<PageClasses>,
    should_continue: &(dyn Fn() -> bool + Sync),
    progress: ProgressFn<'_, (u32, usize, usize)>,
) -> Result<TrainedClasses> {
    let mut prices = FaultPrices { fault_time: design.fault_time, known: FxHashMap::default() };
    let mut classes = start;
    let mut misses = vec![0_u64; classes.len()];
    let mut time = design.time(traces, &classes, &mut prices, f64::INFINITY, Some(&mut misses))?;
    let mut pages: Vec<Page> = (0..classes.len() as Page).collect();
    pages.retain(|page| misses[*page as usize] > 0);
    pages.sort_by_key(|page| (std::cmp::Reverse(misses[*page as usize]), *page));
    let pairs: Vec<PageClasses> = PageClasses::all().collect();
    let (mut passes, mut unchanged) = (0, 0);
    // A page that was tried since the last change would be tried in vain.
    while unchanged < pages.len() {
        passes += 1;
        for (done, page) in pages.iter().enumerate() {
            if !should_continue() {
                return Err(Error::Interrupted);
            }
            if unchanged == pages.len() {
                break;
            }
            progress((passes - 1, done, pages.len()));
            let limit = time * (1.0 - LEAST_FALL);
            let candidate = |pair: PageClasses| {
                if pair == classes[*page as usize] {
                    return Ok(f64::INFINITY);
                }
                let mut tried = classes.clone();
                tried[*page as usize] = pair;
                design.time(traces, &tried, &mut prices.clone(), limit, None)
            };
            let times =
                pairs.par_iter().map(|pair| candidate(*pair)).collect::<Result<Vec<_>>>()?;
            unchanged += 1;
            for (pair, tried) in pairs.iter().zip(times) {
                if tried < time * (1.0 - LEAST_FALL) {
                    (time, unchanged) = (tried, 0);
                    classes[*page as usize] = *pair;
                }
            }
        }
    }
    Ok(TrainedClasses { classes, time, passes })
}

/// The times of faults, each looked up once.
#[derive(Clone)]
struct FaultPrices<'a> {
    fault_time: &'a (dyn Fn(&Access, VictimSearch) -> f64 + Sync),
    known: FxHashMap<FaultClass, f64>,
}

impl FaultPrices<'_> {
    fn of(&mut self, access: &Access, search: VictimSearch) -> f64 {
        let time = || (self.fault_time)(access, search);
        *self.known.entry(FaultClass::of(access, search)).or_insert_with(time)
    }
}

impl ClassesDesign<'_> {
    /// The weighted time of all traces with `classes`; infinity if it is above `limit`, once that is
    /// certain. `misses` receives the weighted misses of each page.
    fn time(
        &self,
        traces: &[TrainingReferences<'_>],
        classes: &[PageClasses],
        prices: &mut FaultPrices<'_>,
        limit: f64,
        mut misses: Option<&mut Vec<u64>>,
    ) -> Result<f64> {
        let classes = Arc::new(ReuseClasses::new(classes.to_vec())?);
        let policy = self.policy.clone().with_classes(classes)?;
        let weighted_hits = |one: &TrainingReferences<'_>| f64::from(one.weight) * one.hits_time;
        let mut sum: f64 = traces.iter().map(weighted_hits).sum();
        for trace in traces {
            let weight = f64::from(trace.weight);
            let (mut faults, mut count) = (0.0, 0_u64);
            let served = &mut |miss: &flashpager_replay::Miss, access: &Access| {
                if let Some(misses) = &mut misses {
                    misses[miss.page as usize] += u64::from(trace.weight);
                }
                faults += prices.of(access, miss.search);
                count += 1;
                count % CHECK_MISSES != 0 || sum + weight * faults <= limit
            };
            let Self { frames, homes, register, .. } = *self;
            serve_references(trace.references, &policy, frames, homes, register, served)?;
            sum += weight * faults;
            if sum > limit {
                return Ok(f64::INFINITY);
            }
        }
        Ok(sum)
    }
}
