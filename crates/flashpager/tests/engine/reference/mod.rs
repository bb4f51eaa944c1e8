//! The model of docs/model.md and docs/model-policies.md, slow and obvious: bytes and words are
//! executed one by one, caches are searched from end to end, and entries that are no longer valid
//! are removed immediately.
//!
//! To add a policy: one function in a file beside this one, and its row in [`POLICIES`].

mod classes;
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

use others::generator;
use sets::in_sets;

pub use classes::{gclock_with, lru_array_with};
pub use others::CleanFirst;
pub use replay::{Replayed, Setup, replay, with_sums};

/// The outcome of one reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelOutcome {
    /// The page was cached.
    Hit,
    /// The page was cached, and its bit is set again.
    BitSet,
    /// The page was cached but marked invalid.
    FalseFault { downgrades: u32 },
    /// The page was not cached.
    Miss { walk: u32, downgrades: u32 },
}

const MISS: ModelOutcome = ModelOutcome::Miss { walk: 0, downgrades: 0 };

/// The result of one reference.
pub struct ModelStep {
    /// The outcome.
    pub outcome: ModelOutcome,
    /// All pages in frames afterwards.
    pub cached: Vec<Page>,
    /// The pages that a reference would hit afterwards without setting a bit.
    pub usable: Vec<Page>,
    /// The state afterwards, in the columns of `policy_examples.md`; empty for
    /// policies without an example.
    pub kept: Vec<String>,
}

impl ModelStep {
    /// A result in which every cached page may be hit.
    fn all_usable(outcome: ModelOutcome, cached: Vec<Page>) -> Self {
        Self { outcome, usable: cached.clone(), cached, kept: Vec::new() }
    }

    fn keeping<const N: usize>(self, kept: [String; N]) -> Self {
        Self { kept: kept.to_vec(), ..self }
    }
}

/// A list of pages as the examples write it.
fn written<T: std::fmt::Display>(list: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = list.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { "–".into() } else { items.join(" ") }
}

/// A cache: a function of the referenced page and of all later references.
pub type Cache = Box<dyn FnMut(Page, &[Page]) -> ModelStep>;

/// The constructor of an empty cache, from its frames and parameters.
pub type Policy = fn(usize, &[u64]) -> Cache;

/// The parameter lists worth testing with a number of frames; none if the policy cannot have that
/// number.
pub type Samples = fn(usize) -> Vec<Vec<u64>>;

/// The policies by name.
pub const POLICIES: &[(&str, Policy, Samples)] = &[
    ("lru", recency::lru, no_parameters),
    ("fifo", recency::fifo, no_parameters),
    ("min", recency::min, no_parameters),
    ("clock", clocks::clock, no_parameters),
    ("pa-clock", clocks::pa_clock, budgets),
    ("fifo-sc", second_chance::fifo_sc, valid_pages),
    ("pa-fifo-sc", second_chance::pa_fifo_sc, valid_pages),
    ("sieve", clocks::sieve, no_parameters),
    ("s3-fifo", ghosts::s3_fifo, no_parameters),
    ("arc", ghosts::arc, no_parameters),
    ("2q", ghosts::two_q, no_parameters),
    ("lirs", history::lirs, no_parameters),
    ("lru-2", history::lru_2, no_parameters),
    ("cflru", others::cflru, windows),
    ("random", others::random, seeds),
    ("plru", sets::plru, trees),
    ("lru-array", classes::lru_array, bytes),
    ("gclock", classes::gclock, no_parameters),
];

fn no_parameters(_frames: usize) -> Vec<Vec<u64>> {
    vec![vec![]]
}

/// The parameters of an array of bytes, which number at most 255 frames.
fn bytes(frames: usize) -> Vec<Vec<u64>> {
    if frames <= 255 { vec![vec![]] } else { vec![] }
}

/// The parameters of a tree, which needs a power of two of frames.
fn trees(frames: usize) -> Vec<Vec<u64>> {
    if frames.is_power_of_two() { vec![vec![]] } else { vec![] }
}

fn seeds(frames: usize) -> Vec<Vec<u64>> {
    vec![vec![0], vec![u64::from(u32::MAX) - frames as u64]]
}

/// Budgets: the first frame, about half of the frames, and all of them.
fn budgets(frames: usize) -> Vec<Vec<u64>> {
    different(&[1, frames / 2 + 1, frames])
}

/// A single window, because without writes all windows behave alike.
fn windows(frames: usize) -> Vec<Vec<u64>> {
    vec![vec![frames as u64 / 2 + 1]]
}

/// Lengths of the valid list that leave at least one page valid and one invalid.
fn valid_pages(frames: usize) -> Vec<Vec<u64>> {
    if frames < 2 { vec![] } else { different(&[1, frames / 2, frames - 1]) }
}

fn different(numbers: &[usize]) -> Vec<Vec<u64>> {
    let mut lists: Vec<Vec<u64>> = numbers.iter().map(|number| vec![*number as u64]).collect();
    lists.dedup();
    lists
}

/// All policies worth testing with a number of frames, as the engine spells them.
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

/// The cache of a policy by name, such as `pa-clock(13)` or `fifo-sc(50%)`.
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
