//! Executed basic blocks: what the CARDIS paper (section 6.2) sets against the
//! best cache page size.
//!
//! The executed bytes are cut wherever a run begins or ends, that is at every
//! jump that was ever taken and at every target that was ever jumped to. A
//! branch that was never taken, and never jumped behind, cuts nothing: it is
//! no border for this execution.

use flashpager_base::Result;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::{Run, Trace, for_runs};
use crate::image::Symbol;

/// Page sizes for which it is told how much of a used page is used.
const PAGE_BYTES: [u32; 11] = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

/// Calls remembered that have not returned; of deeper ones the oldest are forgotten.
const MAX_DEPTH: usize = 1 << 16;

/// Calls that may be left at once without returning, as by an exception.
const MAX_UNWOUND: usize = 64;

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
    /// The mean used block aligned up to a power of two: by the paper the best cache page.
    pub predicted_page_bytes: u32,
    /// Jumps to the first byte of a symbol; `None` where less than half of the code has one.
    pub seen_calls: Option<u64>,
    /// Jumps to where a call had left off.
    pub seen_returns: Option<u64>,
    /// How much of a used page is used, by the size of a page.
    pub pages: Vec<PageUse>,
}

/// Use of the pages of one size in which something was executed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PageUse {
    /// Size of a page.
    pub page_bytes: u32,
    /// Pages with at least one executed byte.
    pub pages: u64,
    /// Share of their bytes that was executed.
    pub used_share: f64,
}

struct Seen {
    executions: u64,
    /// Whether a symbol begins where the run begins.
    enters: bool,
}

/// Calls and returns, as far as runs show them.
#[derive(Default)]
struct Calls {
    /// Where open calls go on.
    open: Vec<u32>,
    calls: u64,
    returns: u64,
}

impl Calls {
    /// Execution jumped from before `from` to `to`.
    fn jump(&mut self, from: u32, to: u32, enters: bool) {
        let nearest = self.open.iter().rev().take(MAX_UNWOUND).position(|back| *back == to);
        if let Some(depth) = nearest {
            self.returns += 1;
            self.open.truncate(self.open.len() - 1 - depth);
        } else if enters {
            self.calls += 1;
            if self.open.len() == MAX_DEPTH {
                self.open.drain(..MAX_DEPTH / 2);
            }
            self.open.push(from);
        }
    }
}

impl BlockStatistics {
    /// Read `trace` once, whose functions are `symbols`. Memory grows with the number of
    /// distinct runs. `go_on` is asked once a chunk; when it says false, this ends with
    /// [`Error::Interrupted`](crate::Error::Interrupted).
    pub fn of<'a>(
        trace: &dyn Trace,
        symbols: impl IntoIterator<Item = &'a Symbol>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Self> {
        let (mut entries, mut named) = (FxHashSet::default(), 0u64);
        for symbol in symbols {
            entries.insert(symbol.offset);
            named += u64::from(symbol.bytes);
        }
        let mut runs_seen: FxHashMap<Run, Seen> = FxHashMap::default();
        let mut calls = Calls::default();
        let mut before = None;
        for_runs(trace, go_on, |runs| {
            for &run in runs {
                let seen = runs_seen.entry(run).or_insert_with(|| Seen {
                    executions: 0,
                    enters: entries.contains(&run.offset),
                });
                seen.executions += 1;
                if let Some(from) = before.replace(run.end()) {
                    calls.jump(from, run.offset, seen.enters);
                }
            }
            Ok(())
        })?;
        let mut found = Self::from_runs(&runs_seen);
        // Of a stripped program few functions have names left.
        if named * 2 >= u64::from(trace.image_bytes()) && named > 0 {
            found.seen_calls = Some(calls.calls);
            found.seen_returns = Some(calls.returns);
        }
        Ok(found)
    }

    fn from_runs(seen: &FxHashMap<Run, Seen>) -> Self {
        let mut borders: Vec<u32> = seen.keys().flat_map(|run| [run.offset, run.end()]).collect();
        borders.sort_unstable();
        borders.dedup();
        // Borders inside a run cut it: those behind its first byte, before its end.
        let rank = |offset: u32| borders.partition_point(|border| *border < offset) as u64;
        // How many more runs cover the piece behind a border than the one before it.
        let mut covering = vec![0i64; borders.len()];
        let (mut runs, mut bytes, mut executed) = (0u64, 0u64, 0u64);
        for (run, Seen { executions, .. }) in seen {
            let (first, last) = (rank(run.offset), rank(run.end()));
            covering[first as usize] += 1;
            covering[last as usize] -= 1;
            runs += executions;
            bytes += executions * u64::from(run.length);
            executed += executions * (last - first);
        }
        let mut cover = 0;
        let blocks: Vec<Run> = borders
            .windows(2)
            .zip(&covering)
            .filter(|(_, change)| {
                cover += **change;
                cover > 0
            })
            .map(|(pair, _)| Run { offset: pair[0], length: pair[1] - pair[0] })
            .collect();
        let used_bytes: u64 = blocks.iter().map(|block| u64::from(block.length)).sum();
        let mean = |sum: u64, count: u64| if count == 0 { 0.0 } else { sum as f64 / count as f64 };
        let mean_used = mean(used_bytes, blocks.len() as u64);
        Self {
            used_blocks: blocks.len() as u64,
            used_bytes,
            mean_used_block_bytes: mean_used,
            mean_executed_block_bytes: mean(bytes, executed),
            mean_run_bytes: mean(bytes, runs),
            predicted_page_bytes: (mean_used.ceil() as u32).next_power_of_two(),
            seen_calls: None,
            seen_returns: None,
            pages: PAGE_BYTES.map(|page| PageUse::of(&blocks, used_bytes, page)).to_vec(),
        }
    }
}

impl PageUse {
    /// Of `blocks` by offset, none over another, of `used_bytes` together.
    fn of(blocks: &[Run], used_bytes: u64, page_bytes: u32) -> Self {
        let (mut pages, mut free) = (0, 0);
        for block in blocks {
            let first = (block.offset / page_bytes).max(free);
            let behind = (block.end() - 1) / page_bytes + 1;
            pages += u64::from(behind.saturating_sub(first));
            free = free.max(behind);
        }
        let held = pages * u64::from(page_bytes);
        let used_share = if held == 0 { 0.0 } else { used_bytes as f64 / held as f64 };
        Self { page_bytes, pages, used_share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryTrace;

    #[test]
    fn a_jump_into_the_middle_splits_a_block() {
        // 0..16 falls through, later entered at 8: blocks 0..8 and 8..16.
        let trace = MemoryTrace::new(vec![
            Run { offset: 0, length: 16 },
            Run { offset: 8, length: 8 },
            Run { offset: 8, length: 8 },
        ]);
        let found = BlockStatistics::of(&trace, [], &|| true).unwrap();
        assert_eq!(found.used_blocks, 2);
        assert_eq!(found.used_bytes, 16);
        assert_eq!(found.mean_used_block_bytes, 8.0);
        assert_eq!(found.mean_executed_block_bytes, 32.0 / 4.0);
        assert_eq!(found.mean_run_bytes, 32.0 / 3.0);
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
        let found = BlockStatistics::of(&trace, &symbols, &|| true).unwrap();
        assert_eq!((found.seen_calls, found.seen_returns), (Some(4), Some(3)));
        assert_eq!(found.used_bytes, 20 + 4 + 4);
        let pages: Vec<_> = found.pages.iter().map(|used| (used.page_bytes, used.pages)).collect();
        assert_eq!(pages[..5], [(4, 7), (8, 5), (16, 4), (32, 3), (64, 3)]);
        assert_eq!(found.pages[4].used_share, 28.0 / (3.0 * 64.0));
        assert_eq!(found.predicted_page_bytes, 4);
    }
}
