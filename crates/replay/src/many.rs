//! Many passes in parallel.

use flashpager_base::Result;
use flashpager_trace::Trace;
use rayon::prelude::*;

use super::{Cell, Counts, sweep};

/// Replay every cell on all cores. `done` is told each cell's index and counts as
/// it is finished, from any thread; `go_on` is asked every few runs.
///
/// # Errors
/// Of the first cell that fails; cells under way end as soon as they can.
pub fn replay_cells(
    trace: &dyn Trace,
    cells: &[Cell],
    go_on: &(dyn Fn() -> bool + Sync),
    done: &(dyn Fn(usize, Vec<Vec<Counts>>) -> Result<()> + Sync),
) -> Result<()> {
    // The longest first: small pages have the most references.
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by_key(|cell| cells[*cell].cache_page_bytes);
    order
        .into_par_iter()
        .with_max_len(1)
        .try_for_each(|index| done(index, sweep(trace, &cells[index], &go_on)?))
}
