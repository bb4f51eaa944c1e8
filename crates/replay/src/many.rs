//! Many passes over a trace, in parallel.

use std::collections::BTreeMap;

use flashpager_base::Result;
use flashpager_trace::Trace;
use rayon::prelude::*;

use super::sweep::{self, sweep_all};
use super::{Cell, Counts};

/// Groups `cells` into passes over the trace, as indices into `cells`. The cells of one cache page
/// share a pass, but form smaller groups if some of the `threads` cores would be idle otherwise.
pub fn passes(cells: &[Cell], threads: usize) -> Vec<Vec<usize>> {
    let mut of_page: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (place, cell) in cells.iter().enumerate() {
        of_page.entry(cell.cache_page_bytes).or_default().push(place);
    }
    // Two passes for each core, because passes differ in time.
    let pieces = (2 * threads.max(1)).div_ceil(of_page.len().max(1));
    // The longest pass comes first: small pages have the most references.
    let pass = |places: Vec<usize>| {
        let most = places.len().div_ceil(pieces);
        places.chunks(most.max(1)).map(<[usize]>::to_vec).collect::<Vec<_>>()
    };
    of_page.into_values().flat_map(pass).collect()
}

/// The number of times that [`replay_cells`] reads the trace on `threads` cores.
pub fn trace_reads(cells: &[Cell], threads: usize) -> usize {
    let of_pass = |places: Vec<usize>| {
        sweep::trace_reads(&places.into_iter().map(|place| &cells[place]).collect::<Vec<_>>())
    };
    passes(cells, threads).into_iter().map(of_pass).sum()
}

/// Replays every cell on all cores.
///
/// Calls `cell_done` with the index and the counts of each cell when its pass has ended, from any
/// thread. Stops if `go_on`, which is called every few runs, returns false.
///
/// # Errors
/// The error of the first pass that fails, upon which the other passes end early; or that of
/// `cell_done`.
pub fn replay_cells(
    trace: &dyn Trace,
    cells: &[Cell],
    go_on: &(dyn Fn() -> bool + Sync),
    cell_done: &(dyn Fn(usize, Vec<Vec<Counts>>) -> Result<()> + Sync),
) -> Result<()> {
    let passes = passes(cells, rayon::current_num_threads());
    passes.into_iter().par_bridge().try_for_each(|places| {
        let of_pass: Vec<&Cell> = places.iter().map(|place| &cells[*place]).collect();
        let counts = sweep_all(trace, &of_pass, &go_on)?;
        places.into_iter().zip(counts).try_for_each(|(place, counts)| cell_done(place, counts))
    })
}
