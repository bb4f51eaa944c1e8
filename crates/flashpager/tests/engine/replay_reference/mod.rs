//! The engine's replay compared with the slow one in `reference`, and with properties of any
//! replay.

mod large;
mod lines;
mod policies;
mod properties;
mod registers;

use std::cell::{Cell as Counter, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use flashpager::Error;
use flashpager::pager::{POLICIES, PolicySpec};
use flashpager::replay::register::{RegisterDesign, RegisterModel};
use flashpager::replay::{
    CacheDesign, Cell, Counts, Events, Executed, Fault, FaultClass, HierarchyDesign, ICacheShape,
    TlbShape, replay, sweep,
};
use flashpager::trace::{CHUNK_RUNS, MAX_RUN_BYTES, MemoryTrace, Run, Trace};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::reference::{self, Replayed, Setup, policies};

/// All register models, so that a new one is compared from its first day.
fn models() -> impl Iterator<Item = RegisterModel> + Clone {
    RegisterModel::ALL.into_iter().map(|(_, model)| model)
}

/// The models with one register.
const ONE_REGISTER: [RegisterModel; 3] =
    [RegisterModel::Sequential, RegisterModel::StartColumn, RegisterModel::RandomColumn];

/// The policies that ignore hits, except the first hit after a bit was cleared.
const BLIND_TO_HITS: [&str; 6] = ["fifo", "clock", "pa-clock", "fifo-sc", "pa-fifo-sc", "random"];

/// A trace and the cache it runs through.
#[derive(Clone, Debug)]
struct Case {
    runs: Vec<Run>,
    cache_page: u32,
    frames: usize,
    /// Bytes of RAM beyond the last frame, too few for another.
    spare_bytes: u32,
    /// Frames of a set.
    ways: Option<u32>,
    /// The hierarchy in front of the cache.
    hierarchy: Option<HierarchyDesign>,
    /// Bytes of the critical block.
    critical: Option<u32>,
}

fn run(offset: u32, length: u32) -> Run {
    Run { offset, length }
}

fn design(
    model: RegisterModel,
    flash_page_bytes: u32,
    codeword_bytes: Option<u32>,
) -> RegisterDesign {
    RegisterDesign { model, flash_page_bytes, codeword_bytes, prefetch_lines: 0 }
}

/// Every register model with small and large flash pages and codewords.
fn registers(cache_page: u32) -> Vec<RegisterDesign> {
    let mut all = BTreeSet::new();
    for flash_page in [cache_page, 2 * cache_page, 512, 1024, 4096] {
        if flash_page < cache_page {
            continue;
        }
        for codeword in [0, 1, cache_page / 2, 4 * cache_page, 512, flash_page] {
            if codeword > flash_page {
                continue;
            }
            for model in models() {
                if model == RegisterModel::RandomColumn && flash_page <= 512 {
                    continue;
                }
                all.insert(design(model, flash_page, Some(codeword).filter(|bytes| *bytes > 0)));
            }
        }
    }
    all.into_iter().collect()
}

fn cache(cache_page: u32, frames: usize, spare_bytes: u32, policy: &str) -> CacheDesign {
    CacheDesign {
        cache_bytes: u64::from(cache_page) * frames as u64 + u64::from(spare_bytes),
        cache_page_bytes: cache_page,
        policy: policy.parse().unwrap(),
        ways: None,
        hierarchy: None,
    }
}

impl Case {
    fn cache(&self, policy: &str) -> CacheDesign {
        let Self { ways, hierarchy, .. } = *self;
        CacheDesign {
            ways,
            hierarchy,
            ..cache(self.cache_page, self.frames, self.spare_bytes, policy)
        }
    }

    /// All policies worth testing with the case, as the engine spells them.
    fn policies(&self) -> Vec<String> {
        policies(self.ways.map_or(self.frames, |ways| ways as usize))
    }

    fn trace(&self) -> MemoryTrace {
        MemoryTrace::new(self.runs.clone())
    }
}

/// The engine's counts and events for a case.
fn engine(case: &Case, policy: &str, registers: &[RegisterDesign]) -> Vec<Replayed> {
    let mut faults: Vec<Vec<Fault>> = vec![Vec::new(); registers.len()];
    let sink = &mut |register: usize, fault: &Fault| faults[register].push(*fault);
    let events = Events { critical_block_bytes: case.critical, sink, begun: None, words: None };
    let replayed = replay(&case.trace(), &case.cache(policy), registers, &|| true, Some(events));
    let (counts, rest) = replayed.unwrap();
    let both = counts.into_iter().zip(faults);
    both.map(|(counts, faults)| Replayed { counts, faults, rest }).collect()
}

/// The engine's counts alone.
fn counts_of(case: &Case, policy: &str, registers: &[RegisterDesign]) -> Vec<Counts> {
    replay(&case.trace(), &case.cache(policy), registers, &|| true, None).unwrap().0
}

/// The engine's counts alone, for a single register.
fn counts(case: &Case, policy: &str) -> Counts {
    let register = design(RegisterModel::Sequential, case.cache_page.max(512), None);
    counts_of(case, policy, &[register]).remove(0)
}

/// Checks that engine and reference agree on everything. Returns the common result.
fn agreed(case: &Case, policy: &str, registers: &[RegisterDesign]) -> Vec<Replayed> {
    let Case { cache_page, frames, ways, hierarchy, critical, .. } = *case;
    let engine = engine(case, policy, registers);
    // A replay that only counts takes another path.
    let counted = counts_of(case, policy, registers);
    assert!(counted.iter().eq(engine.iter().map(|one| &one.counts)), "{policy}: {counted:?}");
    // With the default parameters.
    let policy = &policy.parse::<PolicySpec>().unwrap().to_string();
    let runs = &case.runs;
    let setup = Setup { runs, cache_page, frames, policy, ways, hierarchy, critical, registers };
    let reference = reference::replay(&setup);
    assert_eq!(engine.len(), reference.len());
    for ((ours, obvious), register) in engine.iter().zip(&reference).zip(registers) {
        assert_eq!(ours.counts, obvious.counts, "{policy}, {register:?}");
        if ours.faults != obvious.faults {
            let mut both = ours.faults.iter().zip(&obvious.faults);
            let (number, (ours, obvious)) =
                both.by_ref().enumerate().find(|(_, (a, b))| a != b).unwrap();
            panic!("{policy}, {register:?}, event {number}: {ours:?}, expected {obvious:?}");
        }
        assert_eq!(ours.rest, obvious.rest, "{policy}, {register:?}");
    }
    engine
}

fn all_agree(case: &Case, registers: &[RegisterDesign]) {
    for policy in case.policies() {
        agreed(case, &policy, registers);
    }
}

#[test]
fn every_policy_of_the_engine_has_a_reference() {
    let engine: BTreeSet<&str> = POLICIES.iter().map(|(name, _)| *name).collect();
    let reference: BTreeSet<&str> = reference::POLICIES.iter().map(|(name, ..)| *name).collect();
    assert_eq!(engine, reference);
}

/// A byte of each page.
fn pages(pages: &[u32], cache_page: u32, frames: usize) -> Case {
    let runs = pages.iter().map(|page| run(page * cache_page, 1)).collect();
    Case { runs, cache_page, frames, spare_bytes: 0, ways: None, hierarchy: None, critical: None }
}
