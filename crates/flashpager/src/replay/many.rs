//! Many replays in parallel.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::{CacheDesign, Counts, replay};
use crate::error::Result;
use crate::media::register::RegisterDesign;
use crate::trace::Trace;

/// One replay of a space: a cache, and the registers behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The cache.
    pub cache: CacheDesign,
    /// The registers, none twice.
    pub registers: Vec<RegisterDesign>,
}

/// Replay every cell on all cores. `done` is told how many are finished after
/// each one, from any thread; `go_on` is asked once a chunk.
///
/// Gives the counts of each cell's registers, in the order of `cells`.
pub fn replay_cells(
    trace: &dyn Trace,
    cells: &[Cell],
    go_on: &(dyn Fn() -> bool + Sync),
    done: &(dyn Fn(usize) + Sync),
) -> Result<Vec<Vec<Counts>>> {
    let finished = AtomicUsize::new(0);
    cells
        .par_iter()
        .map(|cell| {
            let counts = replay(trace, &cell.cache, &cell.registers, &go_on, None)?;
            done(finished.fetch_add(1, Ordering::Relaxed) + 1);
            Ok(counts)
        })
        .collect()
}
