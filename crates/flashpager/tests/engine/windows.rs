//! Traces with gaps: their windows in files, and bounds against the truth.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use flashpager::Result;
use flashpager::design::Design;
use flashpager::replay::{Events, Fault, FaultClass, replay};
use flashpager::spec::DesignSpec;
use flashpager::trace::export::{ExportFormat, export};
use flashpager::trace::{
    Ending, Gap, GapReason, Mark, MemoryTrace, Run, Trace, TraceFile, TraceInfo, TraceWriter, check,
};
use flashpager::windows::{self, CountBounds, WindowedResult};
use proptest::prelude::*;
use tempfile::TempDir;

/// Writes `runs` with a gap before each run of `gaps`, ascending.
fn write(path: &Path, runs: &[Run], gaps: &[u64]) -> TraceInfo {
    let mut writer = TraceWriter::create(path, false).unwrap();
    for (number, run) in runs.iter().enumerate() {
        if gaps.contains(&(number as u64)) {
            writer.add_gap(GapReason::BufferFull, None).unwrap();
        }
        writer.push(*run).unwrap();
    }
    writer.finish(TraceInfo::default()).unwrap()
}

fn bounds(path: &Path, design: &Design) -> Result<WindowedResult> {
    windows::simulate(path, design, &|| true, &|_| ())
}

/// The pages of a run, with the first left out if it is `last`.
fn references(run: Run, page_bytes: u32, last: &mut Option<u32>) -> Vec<u32> {
    let pages = run.offset / page_bytes..=run.last() / page_bytes;
    let collapsed = pages.filter(|page| last.replace(*page) != Some(*page));
    collapsed.collect()
}

/// Misses of each run in a cache with `lru` that begins empty.
fn misses_of_runs(runs: &[Run], page_bytes: u32, sets: u32, ways: usize) -> Vec<u64> {
    let mut cache: Vec<Vec<u32>> = vec![Vec::new(); sets as usize];
    let mut last = None;
    let of_run = |run: &Run| {
        let mut misses = 0;
        for page in references(*run, page_bytes, &mut last) {
            let set = &mut cache[(page % sets) as usize];
            match set.iter().position(|held| *held == page) {
                Some(at) => drop(set.remove(at)),
                None => misses += 1,
            }
            set.insert(0, page);
            set.truncate(ways);
        }
        misses
    };
    runs.iter().map(of_run).collect()
}

/// Bounds of the misses of a window by their definition in docs/model.md.
fn slow_bounds(runs: &[Run], page_bytes: u32, sets: u32, ways: usize) -> CountBounds {
    let mut found = CountBounds::default();
    let mut last = None;
    let mut referenced: Vec<u32> = Vec::new();
    for run in runs {
        for page in references(*run, page_bytes, &mut last) {
            let of_set = |from: usize| {
                let mut pages: Vec<u32> = referenced[from..].to_vec();
                pages.retain(|other| other % sets == page % sets);
                pages.sort_unstable();
                pages.dedup();
                pages.len()
            };
            match referenced.iter().rposition(|other| *other == page) {
                Some(at) if of_set(at + 1) < ways => {}
                None if of_set(0) < ways => found.high += 1,
                _ => {
                    found.low += 1;
                    found.high += 1;
                }
            }
            referenced.push(page);
        }
    }
    found
}

/// The price of the faults of some runs of a whole trace, and their loads.
fn priced(design: &Design, runs: &[Run], is_kept: &[bool]) -> (f64, u64) {
    let trace = MemoryTrace::new(runs.to_vec());
    let next = Cell::new(0);
    let (mut faults_ns, mut loads) = (0.0, 0);
    let block = design.cache().cache_page_bytes;
    let mut begun = |_: Run, _: &_| next.set(next.get() + 1);
    let sink = &mut |_: usize, fault: &Fault| {
        if is_kept[next.get() - 1] {
            let class = FaultClass::of(&fault.access, fault.search);
            faults_ns += design.prices().fault_ns(&class, u64::from(block));
            loads += u64::from(fault.access.load);
        }
    };
    let events = Events { critical_block_bytes: None, sink, begun: Some(&mut begun), words: None };
    replay(&trace, design.cache(), &[design.register()], &|| true, Some(events)).unwrap();
    (faults_ns, loads)
}

fn paged(register: &str, policy: &str) -> DesignSpec {
    DesignSpec {
        part: Some("W25N01GV".into()),
        cache_bytes: 256,
        cache_page_bytes: 32,
        policy: policy.into(),
        register: Some(register.into()),
        processor: Some("none".into()),
        ..DesignSpec::default()
    }
}

fn in_place(cache_bytes: u64, ways: u32, policy: &str) -> DesignSpec {
    DesignSpec {
        part: Some("W25Q128JV".into()),
        cache_bytes,
        cache_page_bytes: 32,
        policy: policy.into(),
        ways: Some(ways),
        processor: Some("none".into()),
        ..DesignSpec::default()
    }
}

/// Designs that are answered, each with the sets and ways of its cache.
fn answered() -> Vec<(DesignSpec, u32, usize)> {
    let codewords = DesignSpec { codeword_bytes: Some(512), ..paged("sequential", "lru") };
    vec![
        (paged("random-column", "lru"), 1, 8),
        (paged("start-column", "lru"), 1, 8),
        (paged("sequential", "lru"), 1, 8),
        (codewords, 1, 8),
        (in_place(256, 2, "lru"), 4, 2),
        (in_place(256, 2, "plru"), 4, 2),
        (in_place(256, 4, "lru"), 2, 4),
        (in_place(128, 1, "fifo"), 4, 1),
        (in_place(128, 1, "random(7)"), 4, 1),
        (in_place(128, 1, "plru"), 4, 1),
    ]
}

prop_compose! {
    /// A program that loops over code and jumps elsewhere now and then.
    fn a_program()(
        loops in prop::collection::vec((0u32..60, 1u32..12, 1usize..6), 1..30),
        lengths in prop::collection::vec(1u32..80, 1..7),
    ) -> Vec<Run> {
        let mut runs = Vec::new();
        for (start, steps, turns) in loops {
            for _ in 0..turns {
                for step in 0..steps {
                    let length = lengths[(start + step) as usize % lengths.len()];
                    runs.push(Run { offset: (start + 3 * step) * 32 + (step % 2) * 16, length });
                }
            }
        }
        runs
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Parts of an execution are captured: bounds are those of the definition, and what really
    /// happened in these parts lies within them.
    #[test]
    fn bounds_contain_the_truth(
        runs in a_program(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 1..12),
        which in 0..10usize,
    ) {
        let mut cuts: Vec<(usize, bool)> =
            cuts.iter().map(|(at, kept)| (at.index(runs.len()), *kept)).collect();
        cuts.sort_unstable();
        let is_kept = |number: usize| {
            cuts.iter().rev().find(|(at, _)| *at <= number).is_none_or(|(_, kept)| *kept)
        };
        let kept: Vec<bool> = (0..runs.len()).map(is_kept).collect();
        prop_assume!(kept.contains(&true));
        let (mut captured, mut gaps) = (Vec::new(), Vec::new());
        for (number, run) in runs.iter().enumerate().filter(|(number, _)| kept[*number]) {
            // A window also ends at a cut behind which nothing is missing.
            if cuts.iter().any(|(at, _)| *at == number) || (number > 0 && !kept[number - 1]) {
                gaps.push(captured.len() as u64);
            }
            captured.push(*run);
        }
        prop_assume!(!gaps.is_empty());
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a.trace");
        let info = write(&path, &captured, &gaps);
        let (spec, sets, ways) = answered().swap_remove(which);
        let page_bytes = spec.cache_page_bytes;
        let design = Design::new(spec).unwrap();
        let found = bounds(&path, &design).unwrap();
        let misses = found.misses.unwrap();
        let mut expected = CountBounds::default();
        for range in info.windows() {
            let window = &captured[range.start as usize..range.end as usize];
            let of_window = slow_bounds(window, page_bytes, sets, ways);
            expected.low += of_window.low;
            expected.high += of_window.high;
        }
        prop_assert_eq!(misses, expected);
        let of_runs = misses_of_runs(&runs, page_bytes, sets, ways);
        let truth: u64 = of_runs.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(n, _)| n).sum();
        prop_assert!(misses.low <= truth && truth <= misses.high, "{misses:?}, truth {truth}");
        let (faults_ns, loads) = priced(&design, &runs, &kept);
        let bounds_of_loads = found.loads.unwrap();
        prop_assert!(bounds_of_loads.low <= loads && loads <= bounds_of_loads.high);
        let (time, rounding) = (found.time_ns.unwrap(), 1.0 + 1e-9);
        let prices = design.prices();
        let others_ns = found.bytes_read as f64 * prices.ram.t_read_ns;
        let lookups = |count: u64| count as f64 * prices.handler.lookup_ns;
        prop_assert!(time.low <= (others_ns + lookups(found.references.high) + faults_ns) * rounding);
        prop_assert!(time.high * rounding >= others_ns + lookups(found.references.low) + faults_ns);
        let hits = found.hits.unwrap();
        prop_assert_eq!(hits.low + misses.high, found.references.high);
        prop_assert_eq!(hits.high + misses.low, found.references.high);
    }

    /// For one set, both bounds happen for some content of the cache at the start.
    #[test]
    fn both_bounds_happen(runs in a_program(), ways in 1usize..5) {
        let bounds = slow_bounds(&runs, 32, 1, ways);
        let (mut first, mut last) = (Vec::new(), None);
        for page in runs.iter().flat_map(|run| references(*run, 32, &mut last)) {
            if !first.contains(&page) && first.len() < ways {
                first.push(page);
            }
        }
        // The set holds the first pages of the window, the first of them as the one used last.
        let before: Vec<Run> =
            first.iter().rev().map(|page| Run { offset: page * 32, length: 1 }).collect();
        let all = [&before[..], &runs].concat();
        let misses = misses_of_runs(&all, 32, 1, ways);
        prop_assert_eq!(misses[before.len()..].iter().sum::<u64>(), bounds.low);
        prop_assert_eq!(misses_of_runs(&runs, 32, 1, ways).iter().sum::<u64>(), bounds.high);
    }

    /// Gaps survive the file, its check, a copy, and CSV.
    #[test]
    fn gaps_are_kept(runs in a_program(), at in any::<prop::sample::Index>()) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a.trace");
        let gap = at.index(runs.len()) as u64;
        let info = write(&path, &runs, &[gap]);
        let expected = vec![Gap { run: gap, reason: GapReason::BufferFull, instructions: None }];
        prop_assert_eq!(&info.gaps, &expected);
        prop_assert_eq!((info.schema_version, &info.ending), (3, &Ending::AsCaptured));
        let file = TraceFile::open_captured(&path).unwrap();
        prop_assert_eq!(&check::check(&file, None, &|| true, &|_| ()).unwrap(), &info);
        let copy = folder.path().join("b.trace");
        prop_assert_eq!(&check::check(&file, Some(&copy), &|| true, &|_| ()).unwrap(), &info);
        let mut csv = Vec::new();
        export(&file, ExportFormat::Csv, &mut csv, "csv", &|| true).unwrap();
        let lines: Vec<&str> = std::str::from_utf8(&csv).unwrap().lines().collect();
        prop_assert_eq!(lines[0], "offset,length,kind,gap");
        for (number, line) in lines[1..].iter().enumerate() {
            prop_assert_eq!(line.ends_with(",buffer-full"), number as u64 == gap);
        }
    }
}

/// Every reader but those of windows refuses a trace with gaps in one line.
#[test]
fn a_trace_with_gaps_is_refused_by_default() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.trace");
    write(&path, &[Run { offset: 0, length: 4 }; 3], &[1, 2]);
    let error = TraceFile::open(&path).err().unwrap().to_string();
    assert!(error.contains("a.trace: is as captured, with 2 gaps"), "{error}");
    assert!(!error.contains('\n'));
    let file = TraceFile::open_captured(&path).unwrap();
    for format in
        [ExportFormat::Din { instruction_bytes: 4 }, ExportFormat::OracleGeneral { page_bytes: 64 }]
    {
        let error = export(&file, format, &mut Vec::new(), "out", &|| true).unwrap_err();
        assert!(error.to_string().contains("2 gaps"), "{error}");
    }
}

/// A gap behind the last run parts nothing, but something is missing.
#[test]
fn a_gap_at_the_end_is_a_note() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.trace");
    let mut writer = TraceWriter::create(&path, false).unwrap();
    writer.push_marked(Run { offset: 0, length: 4 }, Mark::Executed).unwrap();
    writer.add_gap(GapReason::LostPackets, Some(7)).unwrap();
    let info = writer.finish(TraceInfo::default()).unwrap();
    assert_eq!((info.schema_version, info.ending), (1, Ending::AsCaptured));
    assert_eq!(info.left_out, ["what followed the last run (lost-packets)"]);
    assert!(TraceFile::open(&path).is_ok());
}

#[test]
fn what_cannot_be_bounded_is_unknown() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.trace");
    let runs: Vec<Run> = (0..99).map(|at| Run { offset: at % 40 * 32, length: 40 }).collect();
    write(&path, &runs, &[50]);
    let of = |spec: DesignSpec| bounds(&path, &Design::new(spec).unwrap()).unwrap();
    for policy in ["fifo", "clock", "min", "random(1)", "arc"] {
        let found = of(paged("random-column", policy));
        assert_eq!((found.misses, found.time_ns), (None, None), "{policy}");
        assert!(found.unknown.contains(policy), "{}", found.unknown);
    }
    // Misses do not depend on the buffers, but times do.
    let two = DesignSpec { part: Some("KFG1G16Q2M".into()), ..paged("double-buffer", "lru") };
    let found = of(two);
    assert!(found.misses.is_some() && found.time_ns.is_none() && found.loads.is_none());
    let ahead = DesignSpec { prefetch_lines: Some(2), ..in_place(256, 2, "lru") };
    let found = of(ahead);
    assert_eq!(found.misses, of(in_place(256, 2, "lru")).misses);
    assert!(found.time_ns.is_none() && !found.unknown.is_empty());
}

/// With `fifo` an empty cache is no upper bound.
#[test]
fn fifo_misses_less_from_an_empty_cache() {
    let misses = |pages: &[u32]| {
        let runs = pages.iter().map(|page| Run { offset: page * 32, length: 4 }).collect();
        let spec = DesignSpec { cache_bytes: 64, ..paged("random-column", "fifo") };
        let trace = MemoryTrace::with_image(runs, 1024);
        let design = Design::new(spec).unwrap();
        replay(&trace, design.cache(), &[design.register()], &|| true, None).unwrap().0[0].misses
    };
    assert_eq!(misses(&[0, 1, 0, 2, 1]), 3);
    assert_eq!(misses(&[0, 9, 0, 1, 0, 2, 1]) - misses(&[0, 9]), 4);
}

/// The example of docs/model.md.
#[test]
fn the_example_of_the_model() {
    let runs = [0u32, 1, 0, 2, 2, 0, 3].map(|page| Run { offset: page * 32, length: 4 });
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.trace");
    write(&path, &runs, &[4]);
    let spec = DesignSpec { cache_bytes: 64, ..paged("random-column", "lru") };
    let found = bounds(&path, &Design::new(spec).unwrap()).unwrap();
    assert_eq!(found.misses, Some(CountBounds { low: 2, high: 6 }));
    assert_eq!(found.references, CountBounds { low: 5, high: 7 });
}

/// The shipped traces, cut into windows as short as those of small trace buffers.
#[test]
fn bounds_hold_for_shipped_traces_in_windows() {
    let traces = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/traces");
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.trace");
    for name in ["card-firmware.trace", "troff.trace"] {
        let whole = TraceFile::open(&traces.join(name)).unwrap();
        let memory = MemoryTrace::load(&whole).unwrap();
        let runs = &memory.in_memory().unwrap()[..600_000];
        for length in [511, 4_109, 16_384] {
            let mut writer = TraceWriter::create(&path, false).unwrap();
            for (number, run) in runs.iter().enumerate() {
                if number > 0 && number % length == 0 {
                    writer.add_gap(GapReason::BufferFull, None).unwrap();
                }
                writer.push(*run).unwrap();
            }
            writer.finish(TraceInfo::default()).unwrap();
            let spec = DesignSpec { cache_page_bytes: 16, ..in_place(4096, 2, "lru") };
            let found = bounds(&path, &Design::new(spec).unwrap()).unwrap();
            let misses = found.misses.unwrap();
            let truth: u64 = misses_of_runs(runs, 16, 128, 2).iter().sum();
            assert!(misses.low <= truth && truth <= misses.high, "{name} {length}: {misses:?}");
            assert_eq!(found.windows, (runs.len() as u64).div_ceil(length as u64));
        }
    }
}
