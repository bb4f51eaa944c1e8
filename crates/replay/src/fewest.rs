//! The fewest units of code that any cache has to fetch: MIN over pieces of code of any sizes.
//!
//! A piece is referenced as a whole. MIN keeps the units whose next reference is nearest, so pieces
//! are kept in part, and only the last of them is divided. With pieces of one unit this is the
//! policy MIN. With a byte as the unit it is MIN over bytes, without looking at each byte: all bytes
//! of a piece are referenced together.

use std::collections::BinaryHeap;

use flashpager_base::{Error, Result};
use flashpager_trace::{Run, Trace, for_runs};

use super::image_pages;
use super::references::Collapser;
use crate::pager::{Moment, NEVER};

/// The counted references of a trace to pieces of its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PieceReferences {
    /// The pieces in the order of their references.
    pieces: Vec<u32>,
    /// Units of each piece.
    sizes: Vec<u64>,
    /// Units of a referenced piece that stay in the cache at least: 1 if the cache cannot be
    /// bypassed, else 0.
    kept_units: u64,
}

impl PieceReferences {
    /// The references of the counted runs of `trace` to cache pages of `cache_page_bytes`,
    /// collapsed. A page is a piece of one unit, and each referenced page is cached.
    ///
    /// # Errors
    /// A trace that cannot be read or has too many references, and [`Error::Interrupted`].
    pub fn of_pages(
        trace: &dyn Trace,
        cache_page_bytes: u32,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Self> {
        let pages = image_pages(trace.image_bytes(), cache_page_bytes)?;
        let mut collapser = Collapser::new(cache_page_bytes.trailing_zeros());
        let mut pieces = Vec::new();
        for_counted_runs(trace, should_continue, |run| {
            collapser.references(run, |page| pieces.push(page));
            check_length(pieces.len())
        })?;
        Ok(Self { pieces, sizes: vec![1; pages as usize], kept_units: 1 })
    }

    /// The references of the counted runs of `trace` to the bytes of its code. The code is divided
    /// wherever one of them begins or ends. A byte need not be cached.
    ///
    /// # Errors
    /// A trace that cannot be read or has too many references, and [`Error::Interrupted`].
    pub fn of_bytes(trace: &dyn Trace, should_continue: &dyn Fn() -> bool) -> Result<Self> {
        let bytes = image_pages(trace.image_bytes(), 1)?;
        let mut bounds = vec![false; bytes as usize + 1];
        for_counted_runs(trace, should_continue, |run| {
            for bound in [run.offset as usize, run.last() as usize + 1] {
                if let Some(bound) = bounds.get_mut(bound) {
                    *bound = true;
                }
            }
            Ok(())
        })?;
        let starts: Vec<u32> = (0..=bytes).filter(|at| bounds[*at as usize]).collect();
        drop(bounds);
        let sizes = starts.windows(2).map(|pair| u64::from(pair[1] - pair[0])).collect();
        let mut pieces = Vec::new();
        for_counted_runs(trace, should_continue, |run| {
            let first = starts.partition_point(|start| *start < run.offset) as u32;
            let end = starts.partition_point(|start| *start <= run.last()) as u32;
            pieces.extend(first..end);
            check_length(pieces.len())
        })?;
        Ok(Self { pieces, sizes, kept_units: 0 })
    }

    /// Units of all references: references to pages, or executed bytes.
    pub fn referenced_units(&self) -> u64 {
        self.pieces.iter().map(|piece| self.sizes[*piece as usize]).sum()
    }

    /// Units of all referenced pieces, each counted once.
    pub fn used_units(&self) -> u64 {
        let mut is_used = vec![false; self.sizes.len()];
        self.pieces.iter().for_each(|piece| is_used[*piece as usize] = true);
        let used = self.sizes.iter().zip(is_used).filter(|(_, is_used)| *is_used);
        used.map(|(size, _)| size).sum()
    }

    /// The fewest units that a cache of `capacity` units fetches, empty at the start.
    pub fn fewest_fetched(&self, capacity: u64) -> u64 {
        let next_uses = self.next_uses();
        let mut cache = PieceCache::new(self.sizes.len(), capacity);
        let mut fetched = 0;
        for (piece, next_use) in self.pieces.iter().zip(next_uses) {
            let size = self.sizes[*piece as usize];
            fetched += size - cache.reference(*piece, size, next_use);
            cache.shrink(*piece, self.kept_units);
        }
        fetched
    }

    /// The fewest units that a cache of `capacity` units fetches, whatever it holds at the start: a
    /// cache that is empty at the start could fetch that first.
    pub fn fewest_fetched_warm(&self, capacity: u64) -> u64 {
        self.fewest_fetched(capacity).saturating_sub(capacity.min(self.used_units()))
    }

    /// For each reference the index of the next one to the same piece; [`NEVER`] without one.
    fn next_uses(&self) -> Vec<Moment> {
        let mut next_use_of = vec![NEVER; self.sizes.len()];
        let mut next_uses = self.pieces.clone();
        for (moment, entry) in next_uses.iter_mut().enumerate().rev() {
            *entry = std::mem::replace(&mut next_use_of[*entry as usize], moment as Moment);
        }
        next_uses
    }
}

/// Checks that so many references can be distinguished.
fn check_length(references: usize) -> Result<()> {
    if references < NEVER as usize {
        return Ok(());
    }
    Err(Error::design(format!(
        "a ceiling of {references} references and more, of which {NEVER} can be distinguished: take \
         a shorter trace"
    )))
}

/// Passes each run of `trace` behind its warm-up to `take`.
fn for_counted_runs(
    trace: &dyn Trace,
    should_continue: &dyn Fn() -> bool,
    mut take: impl FnMut(Run) -> Result<()>,
) -> Result<()> {
    let mut warming = trace.warm_up().runs;
    for_runs(trace, should_continue, |runs| {
        let skipped = warming.min(runs.len() as u64);
        warming -= skipped;
        runs[skipped as usize..].iter().try_for_each(|run| take(*run))
    })
}

/// A cache of units that evicts those whose next reference is farthest.
struct PieceCache {
    capacity: u64,
    /// Units that are cached.
    cached: u64,
    /// Cached units of each piece.
    units: Vec<u64>,
    /// The next reference of each piece that is cached or was.
    next_uses: Vec<Moment>,
    /// Cached pieces by their next reference. Entries of earlier references are out of date.
    farthest: BinaryHeap<(Moment, u32)>,
    /// The most entries before those that are out of date are dropped.
    most_entries: usize,
}

impl PieceCache {
    /// An empty cache.
    fn new(pieces: usize, capacity: u64) -> Self {
        Self {
            capacity,
            cached: 0,
            units: vec![0; pieces],
            next_uses: vec![NEVER; pieces],
            farthest: BinaryHeap::new(),
            most_entries: 4 * pieces + 1024,
        }
    }

    /// Takes the whole `piece` of `size` units into the cache; returns the units that were in it.
    fn reference(&mut self, piece: u32, size: u64, next_use: Moment) -> u64 {
        let index = piece as usize;
        let found = std::mem::replace(&mut self.units[index], size);
        self.cached += size - found;
        self.next_uses[index] = next_use;
        if self.farthest.len() >= self.most_entries {
            let (units, next_uses) = (&self.units, &self.next_uses);
            self.farthest.retain(|(next, piece)| {
                units[*piece as usize] > 0 && next_uses[*piece as usize] == *next
            });
        }
        self.farthest.push((next_use, piece));
        found
    }

    /// Evicts what exceeds the capacity, but `kept` units of `referenced`.
    fn shrink(&mut self, referenced: u32, kept: u64) {
        let mut own_entry = None;
        while self.cached > self.capacity {
            let Some(entry) = self.farthest.pop() else { break };
            let (next_use, piece) = entry;
            let index = piece as usize;
            if self.next_uses[index] != next_use {
                continue;
            }
            let kept = if piece == referenced { kept } else { 0 };
            let evicted = (self.cached - self.capacity).min(self.units[index].saturating_sub(kept));
            self.units[index] -= evicted;
            self.cached -= evicted;
            if piece == referenced && self.cached > self.capacity {
                own_entry = Some(entry);
            } else if self.units[index] > 0 {
                self.farthest.push(entry);
            }
        }
        self.farthest.extend(own_entry);
    }
}

#[cfg(test)]
mod tests {
    use flashpager_trace::MemoryTrace;

    use super::*;
    use crate::register::{RegisterDesign, RegisterModel};
    use crate::{CacheDesign, replay};

    /// Random numbers of an xorshift.
    struct Random(u64);

    impl Random {
        fn below(&mut self, end: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % end
        }
    }

    fn runs(random: &mut Random, image: u64) -> Vec<Run> {
        let run = |random: &mut Random| {
            let offset = random.below(image);
            let length = 1 + random.below((image - offset).min(1 + image / 3));
            Run { offset: offset as u32, length: length as u32 }
        };
        (0..1 + random.below(60)).map(|_| run(random)).collect()
    }

    /// MIN over single bytes, one after another. A byte is cached if its next reference comes before
    /// that of another cached one.
    fn fewest_bytes(runs: &[Run], capacity: usize) -> u64 {
        let bytes: Vec<u32> = runs.iter().flat_map(|run| run.offset..=run.last()).collect();
        let next = |from: usize, byte: u32| {
            bytes[from..].iter().position(|other| *other == byte).map_or(usize::MAX, |at| from + at)
        };
        let (mut cached, mut missed) = (Vec::new(), 0);
        for (now, byte) in bytes.iter().enumerate() {
            if cached.contains(byte) {
                continue;
            }
            missed += 1;
            cached.push(*byte);
            if cached.len() > capacity {
                let far = (0..cached.len()).max_by_key(|at| next(now + 1, cached[*at]));
                cached.swap_remove(far.expect("a byte"));
            }
        }
        missed
    }

    #[test]
    fn bytes_in_pieces_miss_as_single_bytes_do() {
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        let mut divided = 0;
        for _ in 0..300 {
            let image = 4 + random.below(60);
            let runs = runs(&mut random, image);
            let trace = MemoryTrace::new(runs.clone());
            let references = PieceReferences::of_bytes(&trace, &|| true).expect("references");
            for capacity in [0, 1, 2, 3, 7, image / 3, image / 2, image - 1, image] {
                let fewest = references.fewest_fetched(capacity);
                assert_eq!(fewest, fewest_bytes(&runs, capacity as usize), "{runs:?} {capacity}");
                divided += u32::from(fewest > references.used_units());
            }
        }
        assert!(divided > 300, "{divided}");
    }

    #[test]
    fn pages_miss_as_with_the_policy_min() {
        let mut random = Random(0xD1B5_4A32_D192_ED03);
        for _ in 0..300 {
            let image = 64 + random.below(400);
            let trace = MemoryTrace::new(runs(&mut random, image));
            let frames = 1 + random.below(12);
            let cache = CacheDesign {
                cache_bytes: 16 * frames,
                cache_page_bytes: 16,
                policy: "min".parse().expect("a policy"),
                ways: None,
                hierarchy: None,
            };
            let register = RegisterDesign {
                model: RegisterModel::StartColumn,
                flash_page_bytes: 64,
                codeword_bytes: None,
                prefetch_lines: 0,
            };
            let counts = replay(&trace, &cache, &[register], &|| true, None).expect("a replay").0;
            let references = PieceReferences::of_pages(&trace, 16, &|| true).expect("references");
            assert_eq!(references.fewest_fetched(frames), counts[0].misses);
            assert_eq!(references.pieces.len() as u64, counts[0].references);
        }
    }

    #[test]
    fn out_of_date_entries_are_dropped() {
        let runs: Vec<Run> =
            (0..20_000).map(|at| Run { offset: at * 7 % 64, length: 1 + at % 3 }).collect();
        let trace = MemoryTrace::new(runs);
        let references = PieceReferences::of_bytes(&trace, &|| true).expect("references");
        let mut cache = PieceCache::new(references.sizes.len(), 80);
        for (piece, next) in references.pieces.iter().zip(references.next_uses()) {
            cache.reference(*piece, references.sizes[*piece as usize], next);
            cache.shrink(*piece, 0);
            assert!(cache.farthest.len() <= cache.most_entries);
        }
        assert_eq!(references.fewest_fetched(80), references.used_units());
    }

    #[test]
    fn a_warm_cache_may_hold_what_is_needed() {
        let runs = vec![Run { offset: 0, length: 8 }, Run { offset: 8, length: 8 }];
        let trace = MemoryTrace::new(runs);
        let references = PieceReferences::of_bytes(&trace, &|| true).expect("references");
        assert_eq!(
            [0, 5, 16, 99].map(|bytes| references.fewest_fetched_warm(bytes)),
            [16, 11, 0, 0]
        );
    }
}
