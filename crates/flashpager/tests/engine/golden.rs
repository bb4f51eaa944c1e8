//! Golden counts of the shipped traces, and the engine against the reference implementation on the
//! start of each trace.
//!
//! `FLASHPAGER_UPDATE_GOLDEN=1 cargo test -p flashpager --test engine golden` writes the golden files
//! anew.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use flashpager::pager::POLICIES;
use flashpager::replay::register::{RegisterDesign, RegisterModel};
use flashpager::replay::{
    CacheDesign, Cell, HierarchyDesign, ICacheShape, TlbShape, replay, sweep,
};
use flashpager::trace::{MemoryTrace, Run, Trace, TraceFile};

use crate::reference::{self, Setup};

/// Runs for the reference implementation, which searches the whole history at every reference.
const REFERENCE_RUNS: usize = 20_000;

/// Runs for single replays: enough to reach all parts of a program. With an instruction cache in front,
/// every run takes longer.
const SWEPT_RUNS: usize = 200_000;
const SWEPT_RUNS_IN_FRONT: usize = 30_000;

/// (cache bytes, cache page bytes).
const CACHES: [(u64, u32); 2] = [(2048, 64), (8192, 512)];

fn shipped_traces() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/traces");
    let mut traces: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "trace"))
        .collect();
    traces.sort();
    assert!(traces.len() >= 3, "the shipped traces are missing");
    traces
}

fn registers() -> Vec<RegisterDesign> {
    let design = |model, flash_page_bytes, codeword_bytes| RegisterDesign {
        model,
        flash_page_bytes,
        codeword_bytes,
        prefetch_lines: 0,
    };
    vec![
        design(RegisterModel::Sequential, 512, None),
        design(RegisterModel::Sequential, 2048, None),
        design(RegisterModel::StartColumn, 2048, Some(512)),
        design(RegisterModel::RandomColumn, 2048, None),
    ]
}

/// Every policy once, with parameters of 1, unless 1 would make it FIFO.
fn policies() -> impl Iterator<Item = String> {
    POLICIES.iter().map(|(name, parameters)| match *name {
        "pa-clock" => "pa-clock(4)".into(),
        "fifo-sc" | "pa-fifo-sc" => format!("{name}(50%)"),
        _ if *parameters == 0 => name.to_string(),
        _ => format!("{name}({})", vec!["1"; *parameters].join(",")),
    })
}

/// The instruction caches and TLBs in front of the caches.
fn hierarchy() -> HierarchyDesign {
    HierarchyDesign {
        icache: ICacheShape { cache_bytes: 1024, line_bytes: 32, ways: 4 },
        tlb: Some(TlbShape { sets: 2, ways: 2 }),
    }
}

fn caches() -> Vec<CacheDesign> {
    policies()
        .flat_map(|policy| {
            CACHES.map(|(cache_bytes, cache_page_bytes)| CacheDesign {
                cache_bytes,
                cache_page_bytes,
                policy: policy.parse().unwrap(),
                ways: None,
                hierarchy: None,
            })
        })
        .collect()
}

fn golden_text(trace: &Path) -> String {
    let trace = TraceFile::open(trace).unwrap();
    let registers = registers();
    let mut text = String::new();
    for cache in caches() {
        let CacheDesign { cache_bytes, cache_page_bytes, policy, .. } = &cache;
        let (replayed, _) = replay(&trace, &cache, &registers, &|| true, None).unwrap();
        for (register, counts) in registers.iter().zip(replayed) {
            let RegisterDesign { model, flash_page_bytes, codeword_bytes, .. } = register;
            writeln!(
                text,
                "{policy} {cache_bytes}/{cache_page_bytes} {} {flash_page_bytes}/{} {}",
                model.name(),
                codeword_bytes.unwrap_or(0),
                serde_json::to_string(&counts).unwrap(),
            )
            .unwrap();
        }
    }
    text
}

/// The first runs of a trace.
fn beginning(path: &Path, count: usize) -> Vec<Run> {
    let trace = TraceFile::open(path).unwrap();
    let mut runs: Vec<Run> = Vec::new();
    let mut chunk = Vec::new();
    let mut source = trace.runs().unwrap();
    while runs.len() < count {
        source.read(&mut chunk).unwrap();
        if chunk.is_empty() {
            break;
        }
        runs.extend_from_slice(&chunk);
    }
    runs.truncate(count);
    runs
}

/// One pass over all sizes has exactly the counts of single replays.
#[test]
fn sweeps_of_real_traces_equal_single_replays() {
    for path in shipped_traces() {
        let runs = beginning(&path, SWEPT_RUNS);
        let few = &runs[..runs.len().min(SWEPT_RUNS_IN_FRONT)];
        let in_front = MemoryTrace::new(few.to_vec());
        let alone = MemoryTrace::new(runs.clone());
        for policy in policies() {
            for (cache_page_bytes, hierarchy) in [(16, None), (256, None), (256, Some(hierarchy()))]
            {
                let trace = if hierarchy.is_some() { &in_front } else { &alone };
                let mut cell = Cell {
                    cache_page_bytes,
                    policy: policy.parse().unwrap(),
                    ways: None,
                    hierarchy,
                    cache_bytes: vec![100_000, 512, 2048, 2500, 16384, 1 << 30],
                    registers: registers(),
                };
                // A tree needs a power of two of frames.
                let policy = &cell.policy;
                let frames = |bytes: &u64| (bytes / u64::from(cache_page_bytes)) as u32;
                cell.cache_bytes.retain(|bytes| policy.check(frames(bytes)).is_ok());
                let swept = sweep(trace, &cell, &|| true).unwrap();
                for (cache_bytes, swept) in cell.cache_bytes.iter().zip(swept) {
                    let cache = CacheDesign {
                        cache_bytes: *cache_bytes,
                        cache_page_bytes,
                        policy: cell.policy.clone(),
                        ways: None,
                        hierarchy,
                    };
                    let (single, _) =
                        replay(trace, &cache, &cell.registers, &|| true, None).unwrap();
                    assert!(swept == single, "{path:?} {cache:?}");
                }
            }
        }
    }
}

#[test]
fn shipped_traces_give_their_golden_counts() {
    for trace in shipped_traces() {
        let name = trace.file_stem().unwrap().to_str().unwrap();
        let golden =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/engine/golden/{name}.txt"));
        let text = golden_text(&trace);
        if std::env::var_os("FLASHPAGER_UPDATE_GOLDEN").is_some() {
            std::fs::write(&golden, &text).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        for (found, expected) in text.lines().zip(expected.lines()) {
            assert_eq!(found, expected, "{name}");
        }
        assert_eq!(text.lines().count(), expected.lines().count(), "{name}");
    }
}

#[test]
fn the_reference_agrees_on_real_traces() {
    for path in shipped_traces() {
        let runs = beginning(&path, REFERENCE_RUNS);
        let memory = MemoryTrace::new(runs.clone());
        let registers = registers();
        let behind = |cache: CacheDesign| CacheDesign { hierarchy: Some(hierarchy()), ..cache };
        for cache in caches().into_iter().chain(caches().into_iter().map(behind)) {
            let (counts, _) = replay(&memory, &cache, &registers, &|| true, None).unwrap();
            let expected = reference::replay(&Setup {
                ways: None,
                runs: &runs,
                cache_page: cache.cache_page_bytes,
                frames: cache.frames() as usize,
                policy: &cache.policy.to_string(),
                hierarchy: cache.hierarchy,
                critical: None,
                registers: &registers,
            });
            for ((counts, expected), register) in counts.iter().zip(expected).zip(&registers) {
                assert_eq!(*counts, expected.counts, "{path:?} {cache:?} {register:?}");
            }
        }
    }
}
