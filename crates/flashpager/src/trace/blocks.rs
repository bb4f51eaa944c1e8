//! Executed basic blocks: what the CARDIS paper (section 6.2) sets against the
//! best cache page size.
//!
//! The executed bytes are cut wherever a run begins or ends, that is at every
//! jump that was ever taken and at every target that was ever jumped to. A
//! branch that was never taken, and never jumped behind, cuts nothing: it is
//! no border for this execution.

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::{Run, Trace, for_runs};
use crate::error::Result;

/// Executed basic blocks of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
}

impl BlockStatistics {
    /// Read `trace` once. Memory grows with the number of distinct runs. `go_on` is
    /// asked once a chunk; when it says false, this ends with [`Error::Interrupted`].
    pub fn of(trace: &dyn Trace, go_on: &dyn Fn() -> bool) -> Result<Self> {
        let mut executions: FxHashMap<Run, u64> = FxHashMap::default();
        for_runs(trace, go_on, |runs| {
            for &run in runs {
                *executions.entry(run).or_default() += 1;
            }
            Ok(())
        })?;
        Ok(Self::from_executions(&executions))
    }

    fn from_executions(executions: &FxHashMap<Run, u64>) -> Self {
        let mut borders: Vec<u32> =
            executions.keys().flat_map(|run| [run.offset, run.end()]).collect();
        borders.sort_unstable();
        borders.dedup();
        // Borders inside a run cut it: those behind its first byte, before its end.
        let rank = |offset: u32| borders.partition_point(|border| *border < offset) as u64;
        // How many more runs cover the piece behind a border than the one before it.
        let mut covering = vec![0i64; borders.len()];
        let (mut runs, mut bytes, mut executed) = (0u64, 0u64, 0u64);
        for (run, count) in executions {
            let (first, last) = (rank(run.offset), rank(run.end()));
            covering[first as usize] += 1;
            covering[last as usize] -= 1;
            runs += count;
            bytes += count * u64::from(run.length);
            executed += count * (last - first);
        }
        let mut cover = 0;
        let sizes: Vec<u64> = borders
            .windows(2)
            .zip(&covering)
            .filter(|(_, change)| {
                cover += **change;
                cover > 0
            })
            .map(|(pair, _)| u64::from(pair[1] - pair[0]))
            .collect();
        let used_bytes: u64 = sizes.iter().sum();
        let mean = |sum: u64, count: u64| if count == 0 { 0.0 } else { sum as f64 / count as f64 };
        Self {
            used_blocks: sizes.len() as u64,
            used_bytes,
            mean_used_block_bytes: mean(used_bytes, sizes.len() as u64),
            mean_executed_block_bytes: mean(bytes, executed),
            mean_run_bytes: mean(bytes, runs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::MemoryTrace;

    #[test]
    fn a_jump_into_the_middle_splits_a_block() {
        // 0..16 falls through, later entered at 8: blocks 0..8 and 8..16.
        let trace = MemoryTrace::new(vec![
            Run { offset: 0, length: 16 },
            Run { offset: 8, length: 8 },
            Run { offset: 8, length: 8 },
        ]);
        let found = BlockStatistics::of(&trace, &|| true).unwrap();
        assert_eq!(found.used_blocks, 2);
        assert_eq!(found.used_bytes, 16);
        assert_eq!(found.mean_used_block_bytes, 8.0);
        assert_eq!(found.mean_executed_block_bytes, 32.0 / 4.0);
        assert_eq!(found.mean_run_bytes, 32.0 / 3.0);
    }
}
