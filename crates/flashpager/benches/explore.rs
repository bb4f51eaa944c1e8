//! A whole design space in one call, beside the same designs one by one.
//!
//! ```text
//! cargo bench -p flashpager --bench explore
//! ```
//!
//! 8 cache pages × 16 cache sizes × 4 policies × 2 flash pages × 3 registers =
//! 3072 designs of examples/traces/bzip2.trace (43 million instructions);
//! `FLASHPAGER_BENCH_TRACE` names another. Of the single replays one in
//! `FLASHPAGER_BENCH_SAMPLE` (64) is run, on all cores, and its counts compared. At the end each
//! policy is replayed at the sixteen sizes of 64-byte pages with all registers, on one core.

use std::path::PathBuf;
use std::time::Instant;

use flashpager::replay::register::{RegisterDesign, RegisterModel};
use flashpager::replay::{CacheDesign, Cell, Counts, replay, replay_cells, sweep};
use flashpager::trace::{MemoryTrace, TraceFile};
use rayon::prelude::*;

const MIB: f64 = 1_048_576.0;

/// The most memory this process ever held, where Linux tells.
fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}

fn main() {
    let path = std::env::var_os("FLASHPAGER_BENCH_TRACE").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/traces/bzip2.trace")),
        PathBuf::from,
    );
    let sample: usize = std::env::var("FLASHPAGER_BENCH_SAMPLE")
        .map_or(64, |sample| sample.parse().expect("FLASHPAGER_BENCH_SAMPLE is a number"));

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
    let designs = cells.len() * cache_bytes.len() * registers.len();

    let start = Instant::now();
    let file = TraceFile::open(&path).expect("the trace opens");
    let trace = MemoryTrace::load(&file).expect("the trace reads");
    let found = std::sync::Mutex::new(vec![Vec::new(); cells.len()]);
    replay_cells(&trace, &cells, &|| true, &|index, counts| {
        found.lock().expect("no thread panics")[index] = counts;
        Ok(())
    })
    .expect("the space replays");
    let whole = start.elapsed();
    let peak = peak_mib();
    let info = file.info();
    let mut bounds: Vec<u64> = cells
        .iter()
        .map(|cell| cell.memory_bytes(info.image_bytes, info.runs, info.bytes))
        .collect();
    bounds.sort_unstable_by(|a, b| b.cmp(a));
    let bound = 16 * info.runs + bounds.iter().take(rayon::current_num_threads()).sum::<u64>();
    let found = found.into_inner().expect("no thread panics");

    let singles: Vec<(usize, usize, usize)> =
        (0..designs).map(|n| (n / 6 / 16, n / 6 % 16, n % 6)).step_by(sample).collect();
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
            replay(&file, &cache, &[registers[register]], &|| true, None).expect("replays");
        assert!(counts[0] == found[cell][size][register], "{cache:?} differs");
    });
    let alone = start.elapsed();
    let all_alone = alone.as_secs_f64() * designs as f64 / singles.len() as f64;

    let instructions = file.info().instructions.unwrap_or_default() as f64 / 1e6;
    println!("trace: {instructions:.1} M instructions, {} runs", file.info().runs);
    println!("explore: {designs} designs in {:.2} s", whole.as_secs_f64());
    println!("memory: {peak:.0} MiB, bound {:.0} MiB", bound as f64 / MIB);
    println!(
        "single replays: {} of them, counts equal, in {:.2} s; all would take {all_alone:.0} s",
        singles.len(),
        alone.as_secs_f64()
    );
    println!("ratio: {:.0}", all_alone / whole.as_secs_f64());
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
