//! The time of a whole design space in one call, beside that of the same designs one by one.
//!
//! ```text
//! cargo bench --bench explore
//! ```
//!
//! 8 cache pages × 16 cache sizes × 4 policies × 2 flash pages × 3 registers =
//! 3072 designs of examples/traces/bzip2.trace (43 million instructions);
//! `FLASHPAGER_BENCH_TRACE` names another. One in `FLASHPAGER_BENCH_SAMPLE` (64) single replays is run,
//! on all cores, and its counts are compared. At the end each policy is replayed at the sixteen sizes
//! of 64-byte pages with all registers, on one core.

use std::path::PathBuf;
use std::time::Instant;

use flashpager::replay::register::{RegisterDesign, RegisterModel};
use flashpager::replay::{CacheDesign, Cell, Counts, replay, replay_cells, sweep};
use flashpager::trace::{MemoryTrace, TraceFile, TraceInfo};
use rayon::prelude::*;

const MIB: f64 = 1_048_576.0;

/// Peak memory of this process; NaN if the system is not Linux.
fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}

/// The design space: cells of designs that share a replay, and the registers of each cell.
fn space() -> (Vec<Cell>, Vec<RegisterDesign>) {
    let mut registers = Vec::new();
    for model in
        [RegisterModel::Sequential, RegisterModel::StartColumn, RegisterModel::RandomColumn]
    {
        for flash_page_bytes in [2048, 4096] {
            registers.push(RegisterDesign {
                model,
                flash_page_bytes,
                codeword_bytes: None,
                prefetch_lines: 0,
            });
        }
    }
    let cache_bytes: Vec<u64> =
        (0..16).map(|size| 2048u64 << (size / 2) | (size % 2) << (10 + size / 2)).collect();
    let mut cells = Vec::new();
    for policy in ["lru", "min", "fifo", "clock"] {
        for shift in 4..12 {
            cells.push(Cell {
                cache_page_bytes: 1 << shift,
                policy: policy.parse().expect("a known policy"),
                ways: None,
                hierarchy: None,
                cache_bytes: cache_bytes.clone(),
                registers: registers.clone(),
            });
        }
    }
    (cells, registers)
}

/// Upper bound for the memory of the whole space, in bytes.
fn memory_bound(cells: &[Cell], info: &TraceInfo) -> u64 {
    let mut bounds: Vec<u64> = cells
        .iter()
        .map(|cell| cell.memory_bytes(info.image_bytes, info.runs, info.bytes))
        .collect();
    bounds.sort_unstable_by(|a, b| b.cmp(a));
    16 * info.runs + bounds.iter().take(rayon::current_num_threads()).sum::<u64>()
}

/// Counts by cell, size and register.
type SpaceCounts = Vec<Vec<Vec<Counts>>>;

/// Replays every `sample`-th design by itself and compares its counts with those of the space.
/// Returns the number of replays and their time in seconds.
fn replay_singles(
    file: &TraceFile,
    cells: &[Cell],
    registers: &[RegisterDesign],
    space_counts: &SpaceCounts,
    sample: usize,
) -> (usize, f64) {
    let sizes = cells[0].cache_bytes.len();
    let designs = cells.len() * sizes * registers.len();
    let indices =
        |n: usize| (n / registers.len() / sizes, n / registers.len() % sizes, n % registers.len());
    let singles: Vec<(usize, usize, usize)> = (0..designs).map(indices).step_by(sample).collect();
    let start = Instant::now();
    singles.par_iter().with_max_len(1).for_each(|&(cell, size, register)| {
        let cache = CacheDesign {
            cache_bytes: cells[cell].cache_bytes[size],
            cache_page_bytes: cells[cell].cache_page_bytes,
            policy: cells[cell].policy.clone(),
            ways: None,
            hierarchy: None,
        };
        let (counts, _): (Vec<Counts>, _) =
            replay(file, &cache, &[registers[register]], &|| true, None).expect("replays");
        assert!(counts[0] == space_counts[cell][size][register], "{cache:?} differs");
    });
    (singles.len(), start.elapsed().as_secs_f64())
}

fn main() {
    let path = std::env::var_os("FLASHPAGER_BENCH_TRACE").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/traces/bzip2.trace")),
        PathBuf::from,
    );
    let sample: usize = std::env::var("FLASHPAGER_BENCH_SAMPLE")
        .map_or(64, |sample| sample.parse().expect("FLASHPAGER_BENCH_SAMPLE is a number"));
    let (cells, registers) = space();
    let designs = cells.len() * cells[0].cache_bytes.len() * registers.len();

    let start = Instant::now();
    let file = TraceFile::open(&path).expect("the trace opens");
    let trace = MemoryTrace::load(&file).expect("the trace reads");
    let counts_by_cell = std::sync::Mutex::new(vec![Vec::new(); cells.len()]);
    replay_cells(&trace, &cells, &|| true, None, &|index, counts| {
        counts_by_cell.lock().expect("no thread panics")[index] = counts;
        Ok(())
    })
    .expect("the space replays");
    let whole_s = start.elapsed().as_secs_f64();
    let peak = peak_mib();
    let bound = memory_bound(&cells, file.info());
    let counts_by_cell = counts_by_cell.into_inner().expect("no thread panics");
    let (singles, alone_s) = replay_singles(&file, &cells, &registers, &counts_by_cell, sample);
    let all_alone_s = alone_s * designs as f64 / singles as f64;

    let instructions = file.info().instructions.unwrap_or_default() as f64 / 1e6;
    println!("trace: {instructions:.1} M instructions, {} runs", file.info().runs);
    println!("explore: {designs} designs in {whole_s:.2} s");
    println!("memory: {peak:.0} MiB, bound {:.0} MiB", bound as f64 / MIB);
    println!(
        "single replays: {singles} of them, counts equal, in {alone_s:.2} s; all would take \
         {all_alone_s:.0} s"
    );
    println!("ratio: {:.0}", all_alone_s / whole_s);
    for cell in cells.iter().filter(|cell| cell.cache_page_bytes == 64) {
        let once = || {
            let start = Instant::now();
            let counts = sweep(&trace, cell, &|| true).expect("the cell replays");
            start.elapsed().as_secs_f64() * 1e9 / counts[0][0].references as f64
        };
        let best = (0..5).map(|_| once()).fold(f64::INFINITY, f64::min);
        println!("{} alone, pages of 64 bytes: {best:.1} ns a reference", cell.policy);
    }
}
