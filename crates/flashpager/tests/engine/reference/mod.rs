//! The model of docs/model.md and docs/model-policies.md, slow and obvious: bytes and words are executed one by
//! one, caches are searched from end to end, and what is no longer valid is thrown out
//! at once.
//!
//! To add a policy: one function in a file beside this one, its `use` and its row in [`POLICIES`].

mod clocks;
mod ghosts;
mod hierarchy;
mod history;
mod others;
mod recency;
mod replay;
mod second_chance;
mod sets;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use flashpager::pager::{Page, VictimSearch};
use flashpager::replay::register::{Access, RegisterCase, RegisterDesign, RegisterModel};
use flashpager::replay::{
    Counts, Executed, Fault, FaultClass, HierarchyDesign, ICacheShape, TlbShape,
};
use flashpager::trace::Run;

use clocks::{clock, pa_clock, sieve};
use ghosts::{arc, s3_fifo, two_q};
use history::{lirs, lru_2};
use others::{cflru, generator, random};
use recency::{fifo, lru, min};
use second_chance::{fifo_sc, pa_fifo_sc};
use sets::{in_sets, plru};

pub use others::CleanFirst;
pub use replay::{Replayed, Setup, replay, with_sums};

/// What became of one reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelOutcome {
    /// The page was there.
    Hit,
    /// The page was there, and its bit is set again.
    BitSet,
    /// The page was there but marked invalid.
    FalseFault { downgrades: u32 },
    /// The page was not there.
    Miss { walk: u32, downgrades: u32 },
}

const MISS: ModelOutcome = ModelOutcome::Miss { walk: 0, downgrades: 0 };

/// One reference taken.
pub struct ModelStep {
    /// What became of it.
    pub outcome: ModelOutcome,
    /// All pages in frames now.
    pub cached: Vec<Page>,
    /// Those that a reference would hit now, and set no bit.
    pub usable: Vec<Page>,
    /// What is kept now, in the columns of the examples of docs/model-policies.md; empty where
    /// there is none.
    pub kept: Vec<String>,
}

impl ModelStep {
    /// Where every page in a frame may be hit.
    fn all_usable(outcome: ModelOutcome, cached: Vec<Page>) -> Self {
        Self { outcome, usable: cached.clone(), cached, kept: Vec::new() }
    }

    fn keeping<const N: usize>(self, kept: [String; N]) -> Self {
        Self { kept: kept.to_vec(), ..self }
    }
}

/// A list as the examples write it.
fn written<T: std::fmt::Display>(list: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = list.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { "–".into() } else { items.join(" ") }
}

/// A cache at work. It is told the page, and all that are needed after it.
pub type Cache = Box<dyn FnMut(Page, &[Page]) -> ModelStep>;

/// Frames and parameters to an empty cache.
pub type Policy = fn(usize, &[u64]) -> Cache;

/// The parameter lists worth testing with that many frames; none where the
/// policy cannot have so many.
pub type Samples = fn(usize) -> Vec<Vec<u64>>;

/// The policies by name.
pub const POLICIES: &[(&str, Policy, Samples)] = &[
    ("lru", lru, no_parameters),
    ("fifo", fifo, no_parameters),
    ("min", min, no_parameters),
    ("clock", clock, no_parameters),
    ("pa-clock", pa_clock, budgets),
    ("fifo-sc", fifo_sc, valid_pages),
    ("pa-fifo-sc", pa_fifo_sc, valid_pages),
    ("sieve", sieve, no_parameters),
    ("s3-fifo", s3_fifo, no_parameters),
    ("arc", arc, no_parameters),
    ("2q", two_q, no_parameters),
    ("lirs", lirs, no_parameters),
    ("lru-2", lru_2, no_parameters),
    ("cflru", cflru, windows),
    ("random", random, seeds),
    ("plru", plru, trees),
];

fn no_parameters(_frames: usize) -> Vec<Vec<u64>> {
    vec![vec![]]
}

/// A tree stands over a power of two.
fn trees(frames: usize) -> Vec<Vec<u64>> {
    if frames.is_power_of_two() { vec![vec![]] } else { vec![] }
}

fn seeds(frames: usize) -> Vec<Vec<u64>> {
    vec![vec![0], vec![u64::from(u32::MAX) - frames as u64]]
}

/// The first frame, whatever it is; nearly all frames; all of them once.
fn budgets(frames: usize) -> Vec<Vec<u64>> {
    different(&[1, frames / 2 + 1, frames])
}

/// Where nothing is written, one window is as another.
fn windows(frames: usize) -> Vec<Vec<u64>> {
    vec![vec![frames as u64 / 2 + 1]]
}

/// At least one page is valid, and at least one invalid.
fn valid_pages(frames: usize) -> Vec<Vec<u64>> {
    if frames < 2 { vec![] } else { different(&[1, frames / 2, frames - 1]) }
}

fn different(numbers: &[usize]) -> Vec<Vec<u64>> {
    let mut lists: Vec<Vec<u64>> = numbers.iter().map(|number| vec![*number as u64]).collect();
    lists.dedup();
    lists
}

/// Every policy worth testing with that many frames, as the engine spells it.
pub fn policies(frames: usize) -> Vec<String> {
    let mut all = Vec::new();
    for (name, _, samples) in POLICIES {
        for parameters in samples(frames) {
            let numbers: Vec<String> = parameters.iter().map(u64::to_string).collect();
            all.push(match parameters.len() {
                0 => name.to_string(),
                _ => format!("{name}({})", numbers.join(",")),
            });
        }
    }
    all
}

/// The cache of a policy given by name, as in `pa-clock(13)` or `fifo-sc(50%)`.
pub fn cache_of(policy: &str, frames: usize) -> Cache {
    let (name, written) = policy.trim_end_matches(')').split_once('(').unwrap_or((policy, ""));
    let number = |written: &str| match written.trim().strip_suffix('%') {
        None => written.trim().parse().unwrap(),
        Some(percent) => std::cmp::max(1, frames as u64 * percent.parse::<u64>().unwrap() / 100),
    };
    let parameters: Vec<u64> =
        written.split(',').filter(|written| !written.is_empty()).map(number).collect();
    let (_, new, _) = POLICIES.iter().find(|(known, _, _)| *known == name).unwrap();
    new(frames, &parameters)
}
