//! Rates of decoding and of single replays, in instructions per second.
//!
//! ```text
//! cargo bench -p flashpager --bench replay
//! ```
//!
//! The trace is examples/traces/bzip2.trace; `FLASHPAGER_BENCH_TRACE` names another.

use std::hint::black_box;
use std::path::PathBuf;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use flashpager::media::register::{RegisterDesign, RegisterModel};
use flashpager::replay::{CacheDesign, replay};
use flashpager::trace::blocks::BlockStatistics;
use flashpager::trace::{Trace, TraceFile};

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
    group.bench_function("basic blocks", |b| b.iter(|| BlockStatistics::of(&trace, &|| true)));
    let register = RegisterDesign {
        model: RegisterModel::Sequential,
        flash_page_bytes: 512,
        codeword_bytes: None,
    };
    for (cache_bytes, cache_page_bytes) in [(2048, 64), (65536, 64)] {
        for policy in ["lru", "fifo", "clock", "min"] {
            let cache = CacheDesign {
                cache_bytes,
                cache_page_bytes,
                policy: policy.parse().expect("a known policy"),
                hierarchy: None,
            };
            group.bench_function(format!("replay {policy}, {cache_bytes} B cache"), |b| {
                b.iter(|| replay(&trace, &cache, &[register], &|| true, None).expect("replays"));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, rates);
criterion_main!(benches);
