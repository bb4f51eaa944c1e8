//! Executed basic blocks, whose size the CARDIS paper (section 6.2) compares with the best size of
//! a cache page.
//!
//! The executed bytes are cut wherever a run begins or ends: at every jump that was taken and at
//! every target of a jump. A branch that was never taken cuts nothing.

use std::sync::{Arc, PoisonError, RwLock};

use flashpager_base::Result;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::calls::OpenCalls;
use crate::group::RunGroup;
use crate::image::Symbol;
use crate::run::{ExecutedRunMerger, Mark, Run};
use crate::source::{Trace, for_marked_runs};

/// Version of the rules by which [`BlockCounts`] are counted. Counts by other rules are not used;
/// the trace is counted again.
pub const RULES: u32 = 1;

/// Largest number of distinct runs that a writer counts, of 24 bytes each. No program has so many.
pub(crate) const MAX_WRITTEN_RUNS: usize = 1 << 22;

/// Page sizes for which the use of pages is counted, in bytes.
pub(crate) const PAGE_BYTES: [u32; 11] = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

/// Largest size of [`HottestCode`], in bytes. Loops that wait are shorter.
const HOTTEST_BYTES: u32 = 128;
/// A run that executes less than this part of all bytes is not in [`HottestCode`].
const SMALL_PART: u64 = 1000;
/// No more runs are added to [`HottestCode`] once all but this part of the bytes is executed in it:
/// code beside the loop in which a program waits is not the loop's.
const REST: u64 = 100;
/// Number of distinct runs, those with most executed bytes, from which [`HottestCode`] is made.
const HOTTEST_RUNS: usize = 64;

/// The few bytes of code in which a trace executes most. A program that hangs or waits executes
/// hardly anything else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HottestCode {
    /// Its pieces by offset, which do not touch.
    pub pieces: Vec<CodePiece>,
    /// Bytes executed by runs that lie in one of the pieces, each time counted.
    pub executed_bytes: u64,
}

/// A piece of code in the flash image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CodePiece {
    /// Offset of its first byte.
    pub offset: u32,
    /// Its length.
    pub bytes: u32,
}

impl CodePiece {
    fn end(self) -> u64 {
        u64::from(self.offset) + u64::from(self.bytes)
    }

    fn has(self, run: Run) -> bool {
        self.offset <= run.offset && run.end() <= self.end()
    }
}

impl HottestCode {
    fn of(tallies: &FxHashMap<Run, RunTally>) -> Self {
        let executed = |run: &Run, tally: &RunTally| tally.executions * u64::from(run.length);
        let mut hottest: Vec<(u64, Run)> =
            tallies.iter().map(|(run, tally)| (executed(run, tally), *run)).collect();
        let order = |one: &(u64, Run)| (std::cmp::Reverse(one.0), one.1);
        if hottest.len() > HOTTEST_RUNS {
            hottest.select_nth_unstable_by_key(HOTTEST_RUNS, order);
            hottest.truncate(HOTTEST_RUNS);
        }
        hottest.sort_unstable_by_key(order);
        let all: u64 = tallies.iter().map(|(run, tally)| executed(run, tally)).sum();
        let mut pieces: Vec<CodePiece> = Vec::new();
        let mut taken = 0;
        for (bytes, run) in hottest {
            if bytes < all / SMALL_PART || all - taken < all / REST {
                break;
            }
            taken += bytes;
            let with = joined(&pieces, run);
            if with.iter().map(|piece| piece.bytes).sum::<u32>() > HOTTEST_BYTES {
                break;
            }
            pieces = with;
        }
        let inside = |run: &Run| pieces.iter().any(|piece| piece.has(*run));
        let executed_bytes = tallies
            .iter()
            .filter(|(run, _)| inside(run))
            .map(|(run, tally)| executed(run, tally))
            .sum();
        Self { pieces, executed_bytes }
    }

    /// Returns true if an image of `image_bytes`, of which `executed_bytes` were executed, can have
    /// it.
    pub(crate) fn fits(&self, image_bytes: u64, executed_bytes: u64) -> bool {
        let apart = |two: &[CodePiece]| two[0].end() < u64::from(two[1].offset);
        let bytes: u64 = self.pieces.iter().map(|piece| u64::from(piece.bytes)).sum();
        let last = self.pieces.last();
        self.pieces.windows(2).all(apart)
            && self.pieces.iter().all(|piece| piece.bytes > 0)
            && bytes <= HOTTEST_BYTES.into()
            && last.is_none_or(|last| last.end() <= image_bytes)
            && self.executed_bytes <= executed_bytes
            && (self.executed_bytes > 0) == (bytes > 0)
    }
}

/// Returns `pieces` with `run`, which is joined to those that it overlaps or touches.
fn joined(pieces: &[CodePiece], run: Run) -> Vec<CodePiece> {
    let (mut begin, mut end) = (run.offset, run.end());
    let mut others = Vec::with_capacity(pieces.len() + 1);
    for piece in pieces {
        if u64::from(piece.offset) <= run.end() && u64::from(run.offset) <= piece.end() {
            begin = begin.min(piece.offset);
            end = end.max(piece.end());
        } else {
            others.push(*piece);
        }
    }
    others.push(CodePiece { offset: begin, bytes: (end - u64::from(begin)) as u32 });
    others.sort_unstable_by_key(|piece| piece.offset);
    others
}

/// Executed basic blocks of a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BlockStatistics {
    /// Distinct blocks executed.
    pub used_blocks: u64,
    /// Bytes of code executed at least once.
    pub used_bytes: u64,
    /// Mean size of the distinct blocks, in bytes.
    pub mean_used_block_bytes: f64,
    /// Mean size weighted by how often each block was executed, in bytes.
    pub mean_executed_block_bytes: f64,
    /// Mean length of a run, in bytes: code between two taken jumps.
    pub mean_run_bytes: f64,
    /// The mean used block rounded up to a power of two: the best cache page by the paper.
    pub predicted_page_bytes: u32,
    /// Jumps to the first byte of a symbol; `None` if less than half of the code has symbols.
    pub seen_calls: Option<u64>,
    /// Jumps back behind such a call.
    pub seen_returns: Option<u64>,
    /// Use of pages, by page size.
    pub pages: Vec<PageUse>,
    /// The code in which most is executed; `None` in traces of older recorders.
    pub hottest: Option<HottestCode>,
}

/// Use of the pages of one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PageUse {
    /// Size of a page in bytes.
    pub page_bytes: u32,
    /// Pages with at least one executed byte.
    pub pages: u64,
    /// Share of the bytes of these pages that was executed.
    pub used_share: f64,
}

/// Counts of a trace's blocks, as its file holds them. [`BlockStatistics`] are made of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockCounts {
    /// Version of the rules of counting, [`RULES`].
    pub rules: u32,
    /// Distinct blocks executed.
    pub used_blocks: u64,
    /// Bytes of code executed at least once.
    pub used_bytes: u64,
    /// Blocks executed, each counted every time.
    pub executed_blocks: u64,
    /// Pages in which something was executed, for pages of 4, 8, 16 … 4096 bytes.
    pub used_pages: Vec<u64>,
    /// Jumps to the first byte of a symbol; `None` if less than half of the code has symbols.
    pub seen_calls: Option<u64>,
    /// Jumps back behind such a call.
    pub seen_returns: Option<u64>,
    /// The code in which most is executed; `None` in traces of older recorders.
    pub hottest: Option<HottestCode>,
}

impl BlockCounts {
    /// Returns the number of pages of `page_bytes` in which something was executed; `None` for sizes
    /// that are not counted.
    pub fn pages_of(&self, page_bytes: u32) -> Option<u64> {
        let place = PAGE_BYTES.iter().position(|page| *page == page_bytes)?;
        self.used_pages.get(place).copied()
    }
}

/// Counts of a distinct run.
struct RunTally {
    executions: u64,
    /// A symbol begins where the run begins.
    enters: bool,
}

/// A distinct run of a row group.
struct DistinctRun {
    offset: u32,
    /// A symbol begins where the run begins.
    enters: bool,
    end: u64,
}

/// Counts calls and returns.
#[derive(Default)]
struct CallCounter {
    open: OpenCalls<()>,
    calls: u64,
    returns: u64,
}

impl CallCounter {
    /// Takes a jump to `to` by the code that ends at `from`. `enters` states whether a symbol begins
    /// at `to`.
    #[inline]
    fn jump(&mut self, from: u64, to: u32, enters: bool) {
        if self.open.take_returned(to, |_, ()| {}) {
            self.returns += 1;
        } else if enters {
            self.calls += 1;
            self.open.push(from, ());
        }
    }
}

/// First bytes of symbols, shared by all counters of one recording.
#[derive(Clone, Default)]
pub(crate) struct SymbolStarts(Arc<RwLock<FxHashSet<u32>>>);

impl SymbolStarts {
    /// Adds the first bytes of `symbols`.
    pub(crate) fn add<'a>(&self, symbols: impl IntoIterator<Item = &'a Symbol>) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.extend(symbols.into_iter().map(|symbol| symbol.offset));
    }

    fn has(&self, offset: u32) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(&offset)
    }
}

/// Counts blocks of a stream of runs. Its memory grows with the number of distinct runs.
#[derive(Default)]
pub(crate) struct BlockCounter {
    symbol_starts: SymbolStarts,
    tallies: FxHashMap<Run, RunTally>,
    calls: CallCounter,
    before: Option<u64>,
    merger: ExecutedRunMerger,
}

impl BlockCounter {
    pub(crate) fn new(symbol_starts: SymbolStarts) -> Self {
        Self { symbol_starts, ..Self::default() }
    }

    /// Number of distinct runs so far.
    pub(crate) fn distinct_runs(&self) -> usize {
        self.tallies.len()
    }

    #[inline]
    pub(crate) fn add(&mut self, run: Run) {
        let Self { symbol_starts, tallies, calls, before, .. } = self;
        let tally = tallies
            .entry(run)
            .or_insert_with(|| RunTally { executions: 0, enters: symbol_starts.has(run.offset) });
        tally.executions += 1;
        if let Some(from) = before.replace(run.end()) {
            calls.jump(from, run.offset, tally.enters);
        }
    }

    /// Counts the runs of a row group.
    pub(crate) fn add_group(&mut self, group: &RunGroup) {
        let (distinct, numbers) = (group.distinct(), group.numbers());
        let Some((last, others)) = numbers.split_last() else { return };
        // The run behind the last one may continue it.
        let (last, mark) = distinct[*last as usize].decoded();
        if distinct.iter().any(|run| run.decoded().1 != Mark::Executed) {
            for number in others {
                let (run, mark) = distinct[*number as usize].decoded();
                self.add_marked(run, mark);
            }
            return self.add_marked(last, mark);
        }
        if let Some(before) = self.merger.finish() {
            self.add(before);
        }
        let Self { symbol_starts, tallies, calls, before, .. } = self;
        let mut facts: Vec<DistinctRun> = Vec::with_capacity(distinct.len());
        for run in distinct {
            let offset = run.offset;
            let known = tallies.get(&run.decoded().0).map(|tally| tally.enters);
            let enters = known.unwrap_or_else(|| symbol_starts.has(offset));
            facts.push(DistinctRun { offset, enters, end: run.decoded().0.end() });
        }
        for number in others {
            let DistinctRun { offset, enters, end } = facts[*number as usize];
            if let Some(from) = before.replace(end) {
                calls.jump(from, offset, enters);
            }
        }
        for (run, DistinctRun { enters, .. }) in distinct.iter().zip(&facts) {
            let (run, count) = (run.decoded().0, u64::from(run.count));
            let executions = count - u64::from(run == last);
            if executions > 0 {
                tallies
                    .entry(run)
                    .or_insert(RunTally { executions: 0, enters: *enters })
                    .executions += executions;
            }
        }
        self.add_marked(last, mark);
    }

    /// Counts a run with its kind. Data reads are skipped.
    #[inline]
    pub(crate) fn add_marked(&mut self, run: Run, mark: Mark) {
        if let Some(whole) = self.merger.push(run, mark) {
            self.add(whole);
        }
    }

    /// Returns the counts for an image of `image_bytes` with `symbols`. `None` if some of the symbols
    /// were added after their code had been executed.
    pub(crate) fn finish<'a>(
        mut self,
        image_bytes: u64,
        symbols: impl IntoIterator<Item = &'a Symbol>,
    ) -> Option<BlockCounts> {
        if let Some(last) = self.merger.finish() {
            self.add(last);
        }
        let (mut symbol_starts, mut named) = (FxHashSet::default(), 0u64);
        for symbol in symbols {
            symbol_starts.insert(symbol.offset);
            named += u64::from(symbol.bytes);
        }
        let in_time =
            |(run, tally): (&Run, &RunTally)| symbol_starts.contains(&run.offset) == tally.enters;
        if !self.tallies.iter().all(in_time) {
            return None;
        }
        let mut counts = count(&self.tallies);
        // In a stripped program few functions have symbols.
        if named * 2 >= image_bytes && named > 0 {
            counts.seen_calls = Some(self.calls.calls);
            counts.seen_returns = Some(self.calls.returns);
        }
        Some(counts)
    }
}

impl BlockCounts {
    /// The counts without calls and returns: behind a gap nobody knows what jumped there.
    #[must_use]
    pub fn without_calls(mut self) -> Self {
        (self.seen_calls, self.seen_returns) = (None, None);
        self
    }
}

fn count(tallies: &FxHashMap<Run, RunTally>) -> BlockCounts {
    let mut borders: Vec<u64> =
        tallies.keys().flat_map(|run| [u64::from(run.offset), run.end()]).collect();
    borders.sort_unstable();
    borders.dedup();
    // A run is cut at the borders behind its first byte and before its end.
    let rank = |offset: u64| borders.partition_point(|border| *border < offset) as u64;
    // Difference between the numbers of runs that cover the piece behind a border and the one before.
    let mut covering = vec![0i64; borders.len()];
    let mut executed_blocks = 0;
    for (run, RunTally { executions, .. }) in tallies {
        let (first, last) = (rank(run.offset.into()), rank(run.end()));
        covering[first as usize] += 1;
        covering[last as usize] -= 1;
        executed_blocks += executions * (last - first);
    }
    let mut cover = 0;
    let blocks: Vec<Run> = borders
        .windows(2)
        .zip(&covering)
        .filter(|(_, change)| {
            cover += **change;
            cover > 0
        })
        .map(|(pair, _)| Run { offset: pair[0] as u32, length: (pair[1] - pair[0]) as u32 })
        .collect();
    BlockCounts {
        rules: RULES,
        used_blocks: blocks.len() as u64,
        used_bytes: blocks.iter().map(|block| u64::from(block.length)).sum(),
        executed_blocks,
        used_pages: PAGE_BYTES.map(|page| used_pages(&blocks, page)).to_vec(),
        seen_calls: None,
        seen_returns: None,
        hottest: Some(HottestCode::of(tallies)),
    }
}

/// Counts the pages of `page_bytes` that hold bytes of `blocks`. Blocks are sorted and do not
/// overlap.
fn used_pages(blocks: &[Run], page_bytes: u32) -> u64 {
    let (mut pages, mut free) = (0, 0);
    for block in blocks {
        let first = (block.offset / page_bytes).max(free);
        let behind = block.last() / page_bytes + 1;
        pages += u64::from(behind.saturating_sub(first));
        free = free.max(behind);
    }
    pages
}

impl BlockCounts {
    /// Reads `trace` once and counts its blocks. Its functions are `symbols`. The memory grows with
    /// the number of distinct runs. `should_continue` is that of [`for_runs`](crate::for_runs).
    ///
    /// # Errors
    /// If reading fails. [`Error::Interrupted`](flashpager_base::Error::Interrupted) if the
    /// callback ends the work.
    pub fn of<'a>(
        trace: &dyn Trace,
        symbols: impl IntoIterator<Item = &'a Symbol> + Clone,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Self> {
        let symbol_starts = SymbolStarts::default();
        symbol_starts.add(symbols.clone());
        let mut counter = BlockCounter::new(symbol_starts);
        for_marked_runs(trace, should_continue, |run, mark| {
            counter.add_marked(run, mark);
            Ok(())
        })?;
        // All symbols were known before the first run.
        Ok(counter.finish(trace.image_bytes(), symbols).unwrap_or_default())
    }
}

impl BlockStatistics {
    /// Makes the statistics of a trace with `runs` executed runs of together `bytes` bytes.
    pub fn new(counts: &BlockCounts, runs: u64, bytes: u64) -> Self {
        let mean = |sum: u64, count: u64| if count == 0 { 0.0 } else { sum as f64 / count as f64 };
        let BlockCounts { used_blocks, used_bytes, .. } = *counts;
        let mean_used = mean(used_bytes, used_blocks);
        let page = |(page_bytes, pages): (u32, &u64)| PageUse {
            page_bytes,
            pages: *pages,
            used_share: mean(used_bytes, pages * u64::from(page_bytes)),
        };
        Self {
            used_blocks,
            used_bytes,
            mean_used_block_bytes: mean_used,
            mean_executed_block_bytes: mean(bytes, counts.executed_blocks),
            mean_run_bytes: mean(bytes, runs),
            predicted_page_bytes: (mean_used.ceil() as u32).next_power_of_two(),
            seen_calls: counts.seen_calls,
            seen_returns: counts.seen_returns,
            pages: PAGE_BYTES.into_iter().zip(&counts.used_pages).map(page).collect(),
            hottest: counts.hottest.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryTrace, TraceInfo};

    fn statistics(trace: &MemoryTrace, symbols: &[Symbol]) -> BlockStatistics {
        let runs = trace.in_memory().unwrap();
        let bytes = runs.iter().map(|run| u64::from(run.length)).sum();
        let counts = BlockCounts::of(trace, symbols, &|| true).unwrap();
        let image_bytes = trace.image_bytes();
        let info =
            TraceInfo { runs: runs.len() as u64, bytes, image_bytes, ..TraceInfo::default() };
        assert!(info.can_have(&counts), "{counts:?}");
        BlockStatistics::new(&counts, info.runs, bytes)
    }

    #[test]
    fn a_jump_into_the_middle_splits_a_block() {
        // 0..16 falls through, later entered at 8: blocks 0..8 and 8..16.
        let trace = MemoryTrace::new(vec![
            Run { offset: 0, length: 16 },
            Run { offset: 8, length: 8 },
            Run { offset: 8, length: 8 },
        ]);
        let measured = statistics(&trace, &[]);
        assert_eq!(measured.used_blocks, 2);
        assert_eq!(measured.used_bytes, 16);
        assert_eq!(measured.mean_used_block_bytes, 8.0);
        assert_eq!(measured.mean_executed_block_bytes, 32.0 / 4.0);
        assert_eq!(measured.mean_run_bytes, 32.0 / 3.0);
    }

    #[test]
    fn the_hottest_code_is_the_loop_that_a_program_hangs_in() {
        let run = |offset, length| Run { offset, length };
        // Start-up code, then a loop that polls a function, then an interrupt now and then.
        let mut runs = vec![run(0, 400), run(600, 200)];
        for turn in 0..1000 {
            runs.extend([run(1000, 10), run(2000, 6)]);
            if turn % 100 == 0 {
                runs.push(run(3000, 120));
            }
        }
        let hottest = statistics(&MemoryTrace::new(runs), &[]).hottest.unwrap();
        let piece = |offset, bytes| CodePiece { offset, bytes };
        assert_eq!(hottest.pieces, [piece(1000, 10), piece(2000, 6)]);
        assert_eq!(hottest.executed_bytes, 16_000);
        // A function that the program spent little time in before it waited is not in the loop.
        let mut runs = vec![run(4000, 20); 4];
        runs.extend(vec![run(1000, 10); 1000]);
        let hottest = statistics(&MemoryTrace::new(runs), &[]).hottest.unwrap();
        assert_eq!((hottest.pieces, hottest.executed_bytes), (vec![piece(1000, 10)], 10_000));
        // Runs that touch are one piece, and a run in it counts.
        let runs = vec![run(8, 8), run(16, 8), run(10, 4), run(500, 200)];
        let hottest = statistics(&MemoryTrace::new(runs), &[]).hottest.unwrap();
        assert!(hottest.pieces.is_empty(), "the hottest run is longer than a loop that waits");
        let runs = vec![run(8, 8), run(16, 8), run(10, 4)];
        let hottest = statistics(&MemoryTrace::new(runs), &[]).hottest.unwrap();
        assert_eq!((hottest.pieces, hottest.executed_bytes), (vec![piece(8, 16)], 20));
    }

    #[test]
    fn calls_returns_and_the_use_of_pages_are_seen() {
        let symbol = |offset, bytes| Symbol { name: String::new(), offset, bytes };
        let run = |offset, length| Run { offset, length };
        // Main calls a function twice in a loop, then one that calls it and leaves by a throw.
        let trace = MemoryTrace::new(vec![
            run(0, 8),
            run(100, 4),
            run(8, 4),
            run(4, 4),
            run(100, 4),
            run(8, 8),
            run(200, 4),
            run(100, 4),
            run(16, 4),
        ]);
        let symbols = [symbol(0, 100), symbol(100, 8), symbol(200, 16)];
        let measured = statistics(&trace, &symbols);
        assert_eq!((measured.seen_calls, measured.seen_returns), (Some(4), Some(3)));
        assert_eq!(measured.used_bytes, 20 + 4 + 4);
        let pages: Vec<_> =
            measured.pages.iter().map(|used| (used.page_bytes, used.pages)).collect();
        assert_eq!(pages[..5], [(4, 7), (8, 5), (16, 4), (32, 3), (64, 3)]);
        assert_eq!(measured.pages[4].used_share, 28.0 / (3.0 * 64.0));
        assert_eq!(measured.predicted_page_bytes, 4);
    }

    #[test]
    fn a_row_group_counts_as_its_runs_do_one_by_one() {
        let symbols: Vec<Symbol> =
            (0..8).map(|i| Symbol { name: format!("f{i}"), offset: 32 * i, bytes: 32 }).collect();
        let starts = SymbolStarts::default();
        starts.add(&symbols);
        let mut state = 1u32;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        for part_marked in [0, 1] {
            let mut one_by_one = BlockCounter::new(starts.clone());
            let mut in_groups = BlockCounter::new(starts.clone());
            let mut group = RunGroup::default();
            let mut end = 0;
            for _ in 0..20_000 {
                let length = 4 + 4 * random(4);
                let (offset, mark) = match random(10) {
                    0 if part_marked == 1 => (end, Mark::Continued),
                    1 if part_marked == 1 => (random(60) * 4, Mark::Read),
                    2..6 => (32 * random(7), Mark::Executed),
                    _ => (random(60) * 4, Mark::Executed),
                };
                let run = Run { offset: offset.min(256 - length), length };
                if mark != Mark::Read {
                    end = run.end() as u32;
                }
                one_by_one.add_marked(run, mark);
                group.push(run, mark);
                if random(100) == 0 {
                    in_groups.add_group(&group);
                    group.clear();
                }
            }
            in_groups.add_group(&group);
            let expected = one_by_one.finish(256, &symbols).unwrap();
            assert!(expected.seen_returns > Some(100), "{expected:?}");
            assert_eq!(in_groups.finish(256, &symbols), Some(expected));
        }
    }
}
