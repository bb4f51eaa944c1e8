//! Many passes over a trace, in parallel.

use std::collections::BTreeMap;

use flashpager_base::Result;
use flashpager_trace::{ProgressTrace, Trace, WeightedWork};
use rayon::prelude::*;

use super::sweep::{self, sweep_all};
use super::{Cell, Counts};

/// The most cells of a pass. Passes end one after another, so that an interruption loses little of
/// what was done; more cells would save a tenth of the time at most.
const MOST_CELLS: usize = 4;

/// Groups `cells` into passes over the trace, as indices into `cells`. The cells of one cache page
/// share a pass, but form smaller groups if some of the `threads` cores would be idle otherwise, and
/// of [`MOST_CELLS`] at most.
pub fn passes(cells: &[Cell], threads: usize) -> Vec<Vec<usize>> {
    let mut of_page: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, cell) in cells.iter().enumerate() {
        of_page.entry(cell.cache_page_bytes).or_default().push(index);
    }
    // Two passes for each core, because passes differ in time.
    let pieces = (2 * threads.max(1)).div_ceil(of_page.len().max(1));
    // The longest pass comes first: small pages have the most references.
    let pass = |places: Vec<usize>| {
        let most = places.len().div_ceil(pieces).min(MOST_CELLS);
        places.chunks(most.max(1)).map(<[usize]>::to_vec).collect::<Vec<_>>()
    };
    of_page.into_values().flat_map(pass).collect()
}

/// The work of replaying a trace of `runs` runs and `bytes` bytes through `cells` in one pass: about
/// the nanoseconds that it took on one machine. Only the ratio of two passes counts.
pub fn pass_weight(cells: &[&Cell], runs: u64, bytes: u64) -> f64 {
    let page = cells.first().map_or(1, |cell| cell.cache_page_bytes.max(1));
    let references = runs as f64 + bytes as f64 / f64::from(page);
    // Large pages miss less, and a hit takes less time.
    let missing = (16.0 / f64::from(page)).powf(0.25).clamp(0.3, 1.0);
    let of_cell = |cell: &&Cell| {
        let sizes = cell.cache_bytes.len() as f64;
        let look_ahead = if cell.policy.needs_next_use() { 6.0 } else { 0.0 };
        let ways = if cell.ways.is_some() { 2.0 } else { 0.0 };
        missing * (4.0 + (2.0 + ways) * sizes) + look_ahead
    };
    references * (8.0 + cells.iter().map(of_cell).sum::<f64>())
}

/// The progress of passes over a trace of `runs` runs and `bytes` bytes.
pub struct PassWork<'a> {
    /// The work of which the passes are parts.
    pub work: &'a WeightedWork<'a>,
    /// Runs of the trace.
    pub runs: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The weight of all passes of [`replay_cells`] on `threads` cores.
pub fn passes_weight(cells: &[Cell], threads: usize, runs: u64, bytes: u64) -> f64 {
    let of_pass = |places: Vec<usize>| {
        let pass: Vec<&Cell> = places.into_iter().map(|place| &cells[place]).collect();
        pass_weight(&pass, runs, bytes)
    };
    passes(cells, threads).into_iter().map(of_pass).sum()
}

/// Replays every cell on all cores. Its passes are parts of `work`.
///
/// Calls `cell_done` with the index and the counts of each cell when its pass has ended, from any
/// thread. Stops if `should_continue`, which is called every few runs, returns false.
///
/// # Errors
/// The error of the first pass that fails, upon which the other passes end early; or that of
/// `cell_done`.
pub fn replay_cells(
    trace: &dyn Trace,
    cells: &[Cell],
    should_continue: &(dyn Fn() -> bool + Sync),
    work: Option<&PassWork<'_>>,
    cell_done: &(dyn Fn(usize, Vec<Vec<Counts>>) -> Result<()> + Sync),
) -> Result<()> {
    let passes = passes(cells, rayon::current_num_threads());
    passes.into_iter().par_bridge().try_for_each(|places| {
        let of_pass: Vec<&Cell> = places.iter().map(|place| &cells[*place]).collect();
        let counts = match work {
            None => sweep_all(trace, &of_pass, &should_continue)?,
            Some(PassWork { work, runs, bytes }) => {
                let reads = sweep::trace_reads(&of_pass) as u64;
                let part = work.part(pass_weight(&of_pass, *runs, *bytes), runs * reads);
                let read = |read| part.read(read);
                let counts =
                    sweep_all(&ProgressTrace::new(trace, &read), &of_pass, &should_continue)?;
                part.finish();
                counts
            }
        };
        places.into_iter().zip(counts).try_for_each(|(place, counts)| cell_done(place, counts))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_hold_each_cell_once_and_few_of_them() {
        let cell = |cache_page_bytes| Cell {
            cache_page_bytes,
            policy: "lru".parse().expect("a policy"),
            ways: None,
            hierarchy: None,
            cache_bytes: vec![4096],
            registers: Vec::new(),
        };
        let cells: Vec<Cell> = [64; 18].into_iter().chain([128; 3]).map(cell).collect();
        for threads in [1, 2, 64] {
            let passes = passes(&cells, threads);
            assert!(passes.iter().all(|pass| (1..=MOST_CELLS).contains(&pass.len())));
            let mut held: Vec<usize> = passes.into_iter().flatten().collect();
            held.sort_unstable();
            assert_eq!(held, (0..cells.len()).collect::<Vec<_>>());
        }
    }
}
