//! Rates of decoding, of single replays, of page caches behind an instruction cache and a TLB, and of
//! folded traces, in instructions per second on one core.
//!
//! ```text
//! cargo bench --bench replay
//! ```
//!
//! The trace is examples/traces/bzip2.trace; `FLASHPAGER_BENCH_TRACE` names another. Instruction caches
//! are measured on examples/traces/swl/, too.

use std::collections::HashMap;
use std::hint::black_box;
use std::path::PathBuf;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use flashpager::replay::register::{RegisterDesign, RegisterModel};
use flashpager::replay::{
    CacheDesign, Cell, FoldedSequence, HierarchyDesign, ICacheShape, RunTable, TlbShape, replay,
    replay_folded, sweep,
};
use flashpager::trace::BlockCounts;
use flashpager::trace::{MemoryTrace, Trace, TraceFile};

fn trace_path() -> PathBuf {
    std::env::var_os("FLASHPAGER_BENCH_TRACE").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/traces/bzip2.trace")),
        PathBuf::from,
    )
}

fn decode(path: &std::path::Path) -> u64 {
    let trace = TraceFile::open(path).expect("the trace opens");
    let mut source = trace.runs().expect("the trace reads");
    let (mut chunk, mut bytes) = (Vec::new(), 0);
    loop {
        source.read(&mut chunk).expect("the trace reads");
        if chunk.is_empty() {
            return bytes;
        }
        bytes += chunk.iter().map(|run| u64::from(run.length)).sum::<u64>();
    }
}

fn rates(criterion: &mut Criterion) {
    let path = trace_path();
    let trace = TraceFile::open(&path).expect("the trace opens");
    let instructions = trace.info().instructions.expect("the trace counts instructions");

    let mut group = criterion.benchmark_group("instructions");
    group.throughput(Throughput::Elements(instructions)).sample_size(10);
    group.bench_function("open and decode", |b| b.iter(|| black_box(decode(&path))));
    group.bench_function("basic blocks", |b| b.iter(|| BlockCounts::of(&trace, [], &|| true)));
    let register = RegisterDesign {
        model: RegisterModel::Sequential,
        flash_page_bytes: 512,
        codeword_bytes: None,
        prefetch_lines: 0,
    };
    for (cache_bytes, cache_page_bytes) in [(2048, 64), (65536, 64)] {
        for policy in ["lru", "fifo", "clock", "min"] {
            let cache = CacheDesign {
                cache_bytes,
                cache_page_bytes,
                policy: policy.parse().expect("a known policy"),
                ways: None,
                hierarchy: None,
            };
            group.bench_function(format!("replay {policy}, {cache_bytes} B cache"), |b| {
                b.iter(|| replay(&trace, &cache, &[register], &|| true, None).expect("replays"));
            });
        }
    }
    group.finish();
}

/// Measures the SWL paper's instruction cache, TLB and page caches, including decoding.
fn hierarchy(criterion: &mut Criterion) {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/traces/swl"));
    let hierarchy = HierarchyDesign {
        icache: ICacheShape { cache_bytes: 8192, line_bytes: 32, ways: 4 },
        tlb: Some(TlbShape { sets: 16, ways: 2 }),
    };
    let register = RegisterDesign {
        model: RegisterModel::DoubleBuffer,
        flash_page_bytes: 2048,
        codeword_bytes: None,
        prefetch_lines: 0,
    };
    let paths = ["chess", "raytracer", "bzip2"].map(|name| folder.join(format!("{name}.trace")));
    for path in paths.into_iter().chain([trace_path()]) {
        let trace = TraceFile::open(&path).expect("the trace opens");
        let instructions = trace.info().instructions.expect("the trace counts instructions");
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut group = criterion.benchmark_group(format!("hierarchy, {name}"));
        group.throughput(Throughput::Elements(instructions)).sample_size(10);
        for policy in ["clock", "pa-clock(13)", "pa-fifo-sc(50%)"] {
            for kib in [vec![128], vec![64, 128, 256, 512]] {
                let cell = Cell {
                    cache_page_bytes: 1024,
                    policy: policy.parse().expect("a known policy"),
                    ways: None,
                    hierarchy: Some(hierarchy),
                    cache_bytes: kib.iter().map(|kib| kib << 10).collect(),
                    registers: vec![register],
                };
                group.bench_function(format!("{policy}, {} sizes", kib.len()), |b| {
                    b.iter(|| sweep(&trace, &cell, &|| true).expect("replays"));
                });
            }
        }
        group.finish();
    }
}

/// Serial NOR, read in place in lines of 8 bytes.
const NOR: RegisterDesign = RegisterDesign {
    model: RegisterModel::StartColumn,
    flash_page_bytes: 8,
    codeword_bytes: None,
    prefetch_lines: 0,
};

/// Measures a cache in hardware before serial NOR, as in the RP2040, and eight sizes of it together,
/// including decoding.
fn in_sets(criterion: &mut Criterion) {
    let trace = TraceFile::open(&trace_path()).expect("the trace opens");
    let instructions = trace.info().instructions.expect("the trace counts instructions");
    let mut group = criterion.benchmark_group("in sets of two");
    group.throughput(Throughput::Elements(instructions)).sample_size(10);
    for policy in ["lru", "fifo", "plru", "random(1)"] {
        for kib in [vec![16], vec![1, 2, 4, 8, 16, 32, 64, 128]] {
            let cell = Cell {
                cache_page_bytes: 8,
                policy: policy.parse().expect("a known policy"),
                ways: Some(2),
                hierarchy: None,
                cache_bytes: kib.iter().map(|kib| kib << 10).collect(),
                registers: vec![NOR],
            };
            group.bench_function(format!("{policy}, {} sizes", kib.len()), |b| {
                b.iter(|| sweep(&trace, &cell, &|| true).expect("replays"));
            });
        }
    }
    group.finish();
}

/// Measures the replay of one more placement of a trace in memory whose loops are folded, as `luck`
/// and `pin` make thousands of, beside the replay of the unfolded runs.
fn placements(criterion: &mut Criterion) {
    let trace = TraceFile::open(&trace_path()).expect("the trace opens");
    let instructions = trace.info().instructions.expect("the trace counts instructions");
    let trace = MemoryTrace::load(&trace).expect("the trace reads");
    let (mut numbers, mut table, mut executed) = (HashMap::new(), RunTable::default(), Vec::new());
    for run in trace.in_memory().expect("the runs are in memory") {
        let next = numbers.len() as u32;
        let number = *numbers.entry(*run).or_insert_with_key(|run| {
            table.push([*run]);
            next
        });
        executed.push(number);
    }
    let folded = FoldedSequence::new(&executed, numbers.len() as u32);
    let cache = CacheDesign {
        cache_bytes: 2048,
        cache_page_bytes: 8,
        policy: "lru".parse().expect("a known policy"),
        ways: Some(2),
        hierarchy: None,
    };
    let mut group = criterion.benchmark_group("a placement, 2 KB in sets of two");
    group.throughput(Throughput::Elements(instructions)).sample_size(10);
    group.bench_function("unfolded", |b| {
        b.iter(|| replay(&trace, &cache, &[NOR], &|| true, None).expect("replays"));
    });
    let placed = (&table, trace.image_bytes());
    group.bench_function("folded", |b| {
        b.iter(|| replay_folded(&folded, placed, &cache, &[NOR], &|| true).expect("replays"));
    });
    group.finish();
}

criterion_group!(benches, rates, hierarchy, in_sets, placements);
criterion_main!(benches);
