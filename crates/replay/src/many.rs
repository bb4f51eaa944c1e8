//! Many passes in parallel.

use std::collections::BTreeMap;

use flashpager_base::Result;
use flashpager_trace::Trace;
use rayon::prelude::*;

use super::sweep::{self, sweep_all};
use super::{Cell, Counts};

/// Which of `cells` share a pass over the trace on `threads` cores, as places in `cells`: those
/// of one cache page, but in smaller groups where cores would go without work.
pub fn passes(cells: &[Cell], threads: usize) -> Vec<Vec<usize>> {
    let mut of_page: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (place, cell) in cells.iter().enumerate() {
        of_page.entry(cell.cache_page_bytes).or_default().push(place);
    }
    // Two for each core, as they do not take equally long.
    let pieces = (2 * threads.max(1)).div_ceil(of_page.len().max(1));
    // The longest first: small pages have the most references.
    let pass = |places: Vec<usize>| {
        let most = places.len().div_ceil(pieces);
        places.chunks(most.max(1)).map(<[usize]>::to_vec).collect::<Vec<_>>()
    };
    of_page.into_values().flat_map(pass).collect()
}

/// How often [`replay_cells`] reads the trace on `threads` cores.
pub fn trace_reads(cells: &[Cell], threads: usize) -> usize {
    let of_pass = |places: Vec<usize>| {
        sweep::trace_reads(&places.into_iter().map(|place| &cells[place]).collect::<Vec<_>>())
    };
    passes(cells, threads).into_iter().map(of_pass).sum()
}

/// Replay every cell on all cores. `done` is told each cell's index and counts as
/// its pass is finished, from any thread; `go_on` is asked every few runs.
///
/// # Errors
/// Of the first pass that fails; others under way end as soon as they can.
pub fn replay_cells(
    trace: &dyn Trace,
    cells: &[Cell],
    go_on: &(dyn Fn() -> bool + Sync),
    done: &(dyn Fn(usize, Vec<Vec<Counts>>) -> Result<()> + Sync),
) -> Result<()> {
    let passes = passes(cells, rayon::current_num_threads());
    passes.into_iter().par_bridge().try_for_each(|places| {
        let of_pass: Vec<&Cell> = places.iter().map(|place| &cells[*place]).collect();
        let counts = sweep_all(trace, &of_pass, &go_on)?;
        places.into_iter().zip(counts).try_for_each(|(place, counts)| done(place, counts))
    })
}
