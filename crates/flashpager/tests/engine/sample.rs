//! Samples of long traces against the whole traces, and their basis: windows, and blocks that are
//! counted while a trace is written.

use std::path::{Path, PathBuf};

use flashpager::Result;
use flashpager::attribution::{GroupBy, attribute};
use flashpager::cost::Ram;
use flashpager::design::Design;
use flashpager::sample::{self, SamplePlan};
use flashpager::simulation::{self, ResultRow};
use flashpager::spec::DesignSpec;
use flashpager::trace::{
    BlockCounts, Image, MemoryTrace, Run, Symbol, Trace, TraceFile, TraceInfo, TraceWindows,
    TraceWriter, WarmUp, check,
};
use proptest::prelude::*;
use tempfile::TempDir;

fn write(path: &Path, runs: &[Run], info: TraceInfo) -> TraceInfo {
    let mut writer = TraceWriter::create(path, false).unwrap();
    writer.add_symbols(info.symbols());
    runs.iter().try_for_each(|run| writer.push(*run)).unwrap();
    writer.finish(info).unwrap()
}

fn with_symbols(symbols: Vec<Symbol>) -> TraceInfo {
    let image = Image {
        path: "a.elf".into(),
        build_id: String::new(),
        offset: 0,
        bytes: 4096,
        sections: Vec::new(),
        symbols,
    };
    TraceInfo { images: vec![image], ..TraceInfo::default() }
}

prop_compose! {
    fn a_symbol()(offset in (0u32..64).prop_map(|at| at * 64), bytes in 1u32..128) -> Symbol {
        Symbol { name: format!("f{offset}"), offset, bytes }
    }
}

prop_compose! {
    fn a_run()(offset in (0u32..128).prop_map(|at| at * 32), length in 1u32..96) -> Run {
        Run { offset, length }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Blocks counted while writing are those that a reader counts, and the check agrees.
    #[test]
    fn blocks_are_counted_while_writing(
        runs in prop::collection::vec(a_run(), 0..400),
        symbols in prop::collection::vec(a_symbol(), 0..20),
    ) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a.trace");
        let written = write(&path, &runs, with_symbols(symbols));
        let file = TraceFile::open(&path).unwrap();
        let read = BlockCounts::of(&file, file.info().symbols(), &|| true).unwrap();
        prop_assert_eq!(Some(&read), written.blocks.as_ref());
        prop_assert_eq!(Some(&read), file.info().blocks.as_ref());
        prop_assert_eq!(check::check(&file, None, &|| true, &|_| ()).unwrap(), written);
    }
}

/// A recorder may name symbols after they were executed: then calls would be counted wrong, and the
/// description has no blocks.
#[test]
fn symbols_that_come_too_late_leave_the_blocks_uncounted() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.trace");
    let info = with_symbols(vec![Symbol { name: "f".into(), offset: 64, bytes: 4096 }]);
    let mut writer = TraceWriter::create(&path, false).unwrap();
    // The trace is longer than a row group.
    for _ in 0..600_000 {
        writer.push(Run { offset: 0, length: 4 }).unwrap();
        writer.push(Run { offset: 64, length: 4 }).unwrap();
    }
    assert_eq!(writer.finish(info).unwrap().blocks, None);
    let file = TraceFile::open(&path).unwrap();
    assert!(file.blocks().is_none());
    // The trace written anew has blocks.
    let anew = folder.path().join("b.trace");
    let written = check::check(&file, Some(&anew), &|| true, &|_| ()).unwrap();
    let counted = BlockCounts::of(&file, file.info().symbols(), &|| true).unwrap();
    assert_eq!(counted.seen_calls, Some(600_000));
    assert_eq!(written.blocks, Some(counted));
    let (old, new) = (MemoryTrace::load(&file).unwrap(), TraceFile::open(&anew).unwrap());
    assert_eq!(old.in_memory(), MemoryTrace::load(&new).unwrap().in_memory());
}

/// Copies the trace `from` with blocks that `change` has changed.
fn forge(from: &Path, to: &Path, change: impl Fn(&mut BlockCounts)) {
    let data = std::fs::read(from).unwrap();
    let file = TraceFile::open(from).unwrap();
    let mut info = file.info().clone();
    let old = serde_json::to_string(&info).unwrap();
    change(info.blocks.as_mut().unwrap());
    let new = serde_json::to_string(&info).unwrap();
    assert_eq!(old.len(), new.len(), "the length of numbers must stay");
    let (crc_old, crc_new) = (crc(&old), crc(&new));
    let replaced = replace(&replace(&data, old.as_bytes(), new.as_bytes()), &crc_old, &crc_new);
    std::fs::write(to, replaced).unwrap();
}

fn crc(json: &str) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(json.as_bytes());
    format!("{:08x} ", crc.sum()).into_bytes()
}

fn replace(data: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let at = data.windows(old.len()).position(|bytes| bytes == old).expect("it is in there");
    [&data[..at], new, &data[at + old.len()..]].concat()
}

/// A change of the blocks of a description.
type Change = fn(&mut BlockCounts);

#[test]
fn blocks_that_cannot_be_are_refused_and_wrong_ones_are_found() {
    let folder = TempDir::new().unwrap();
    let (path, forged) = (folder.path().join("a.trace"), folder.path().join("b.trace"));
    let runs: Vec<Run> = (0..50).map(|at| Run { offset: at * 40, length: 20 }).collect();
    write(&path, &runs, TraceInfo::default());
    let impossible: [Change; 4] = [
        |blocks| blocks.used_bytes = 9999,
        |blocks| blocks.used_pages[0] = 999,
        |blocks| blocks.executed_blocks = 49,
        |blocks| blocks.used_pages[10] = 0,
    ];
    for change in impossible {
        forge(&path, &forged, change);
        let error = TraceFile::open(&forged).err().expect("refused").to_string();
        assert!(error.contains("b.trace: its description does not fit"), "{error}");
    }
    // One block more or less: only counting again shows that.
    forge(&path, &forged, |blocks| blocks.used_blocks = 51);
    let file = TraceFile::open(&forged).unwrap();
    let error = check::check(&file, None, &|| true, &|_| ()).unwrap_err().to_string();
    assert!(error.contains("b.trace: its description does not say what its runs are"), "{error}");
    // Blocks counted by other rules are not used.
    forge(&path, &forged, |blocks| blocks.rules = 2);
    assert!(TraceFile::open(&forged).unwrap().blocks().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// A window holds the runs at its place, across row groups and in plain pages, too.
    #[test]
    fn windows_are_what_stands_there(
        starts in prop::collection::vec(0u64..110_000, 1..6),
        length in 1usize..50_000,
        distinct in prop::sample::select(vec![50u32, 60_000]),
    ) {
        let folder = TempDir::new().unwrap();
        let run = |at: u32| Run {
            offset: at.wrapping_mul(2_654_435_761) % distinct * 16,
            length: 1 + at % 13,
        };
        let runs: Vec<Run> = (0..110_000).map(run).collect();
        let first = TraceWriter::create(&folder.path().join("a.trace"), false).unwrap();
        // The trace of a thread has small row groups.
        let path = folder.path().join("b.trace");
        let mut writer = first.create_beside(&path).unwrap();
        runs.iter().try_for_each(|run| writer.push(*run)).unwrap();
        writer.finish(TraceInfo::default()).unwrap();
        let file = TraceFile::open(&path).unwrap();
        let joined = TraceWindows::of(&file).unwrap().join(starts.clone(), length).unwrap();
        let expected: Vec<Run> = starts
            .iter()
            .flat_map(|start| runs[*start as usize..].iter().take(length))
            .copied()
            .collect();
        prop_assert_eq!(joined, expected);
    }
}

#[test]
fn a_damaged_window_is_an_error() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.trace");
    let run = |at: u32| Run { offset: at.wrapping_mul(2_654_435_761) >> 12, length: 1 + at % 13 };
    write(&path, &(0..100_000).map(run).collect::<Vec<_>>(), TraceInfo::default());
    let mut data = std::fs::read(&path).unwrap();
    // Runs in every page.
    let pages = 1000..data.len() / 4 * 3;
    data[pages].iter_mut().step_by(512).for_each(|byte| *byte ^= 0x55);
    std::fs::write(&path, data).unwrap();
    let file = TraceFile::open(&path).unwrap();
    let error = TraceWindows::of(&file).unwrap().join([50_000], 1000).expect_err("damaged");
    assert!(error.to_string().contains("a.trace: is damaged (in row group 1)"), "{error}");
}

/// A random program of `functions` small functions. In each phase it calls some of them in a loop, so
/// that the phase has its own working set; phases come again.
fn phases(seed: u64, runs: usize) -> Vec<Run> {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 16) % bound
    };
    let mut recorded = Vec::new();
    while recorded.len() < runs {
        let (first, functions) = (below(300), 2 + below(60));
        for _ in 0..500 + below(3000) {
            let function = if below(50) == 0 { below(400) } else { first + below(functions) };
            let (offset, length) = (function * 96 + below(3) * 24, 8 + below(40));
            recorded.push(Run { offset: offset as u32, length: length as u32 });
        }
    }
    recorded.truncate(runs);
    recorded
}

fn designs() -> Vec<Design> {
    let caches = [1024, 2048, 4096, 16384, 65536, 262_144];
    let policies = ["lru", "fifo-sc(50%)", "min"];
    let design = |(cache_bytes, policy): (u64, &str)| {
        Design::new(DesignSpec {
            cache_bytes,
            policy: policy.into(),
            processor: Some("none".into()),
            ram: Some(Ram { t_read_ns: 40.0, t_write_ns: 40.0 }),
            ..DesignSpec::default()
        })
    };
    caches
        .into_iter()
        .flat_map(|cache| policies.map(|policy| (cache, policy)))
        .map(|design_of| design(design_of).unwrap())
        .collect()
}

/// Figures of a row by name, with their errors if these are known.
fn figures(row: &ResultRow) -> [(&'static str, f64, Option<f64>); 5] {
    let (counts, errors) = (&row.evaluation.counts, row.errors.unwrap_or_default());
    [
        ("time", row.evaluation.time.time_ns, errors.time),
        ("misses", counts.misses as f64, errors.misses),
        ("loads", counts.loads as f64, errors.loads),
        ("bytes fetched", counts.bytes_fetched as f64, errors.bytes_fetched),
        ("mean fault", row.evaluation.latency.mean_fault_ns, errors.mean_fault),
    ]
}

/// For each figure, the stated interval contains the value of the whole trace in nine of ten cases with
/// an interval, and the intervals are narrow enough to be of use. If the cache holds the whole
/// program, which the description shows, misses are exact.
#[test]
fn the_exact_value_lies_within_the_stated_error() -> Result<()> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.trace");
    let plan = SamplePlan { windows: 8, window_runs: 4096 };
    let designs = designs();
    let (mut cases, mut held, mut widths) = ([0; 5], [0; 5], Vec::new());
    for seed in 1..=8 {
        write(&path, &phases(seed, 1_500_000), TraceInfo::default());
        let exact = simulation::simulate(&path, WarmUp::default(), &designs, &|| true, &|_| ())?;
        let sampled = sample::simulate(&path, &designs, plan, &|| true, &|_| ())?;
        for (one, whole) in sampled.iter().zip(&exact) {
            assert_eq!(one.evaluation.counts.bytes_read, whole.evaluation.counts.bytes_read);
            let pairs = figures(one).into_iter().zip(figures(whole)).enumerate();
            for (place, ((_, found, error), (_, truth, _))) in pairs {
                let Some(error) = error else { continue };
                cases[place] += 1;
                held[place] += i32::from((found - truth).abs() <= error * found);
            }
            let errors = one.errors.expect("a sample");
            if one.design.cache_bytes >= 65536 {
                assert_eq!(one.evaluation.counts.misses, whole.evaluation.counts.misses);
                assert_eq!(errors.misses, Some(0.0));
            }
            widths.extend(errors.time);
        }
    }
    for (name, (held, cases)) in
        figures(&sample::simulate(&path, &designs, plan, &|| true, &|_| ())?[0])
            .into_iter()
            .zip(held.into_iter().zip(cases))
            .map(|((name, ..), counted)| (name, counted))
    {
        println!("{name}: {held} of {cases} hold");
        assert!(cases > 0 && held * 100 >= cases * 90, "{name}: {held} of {cases} hold");
    }
    widths.sort_by(f64::total_cmp);
    println!("± {} in the middle", widths[widths.len() / 2]);
    assert!(widths[widths.len() / 2] < 0.15, "± {} in the middle", widths[widths.len() / 2]);
    Ok(())
}

/// A sample of nearly the whole trace has nearly the same results, by function, too.
#[test]
fn a_large_sample_is_nearly_the_whole() -> Result<()> {
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/traces/troff.trace");
    let path = PathBuf::from(trace);
    let file = TraceFile::open(&path)?;
    let plan = SamplePlan { windows: 2, window_runs: file.info().runs / 32 };
    let designs = designs();
    let exact = simulation::simulate(&path, WarmUp::default(), &designs, &|| true, &|_| ())?;
    let sampled = sample::simulate(&path, &designs, plan, &|| true, &|_| ())?;
    let (mut held, mut cases) = (0, 0);
    for (one, whole) in sampled.iter().zip(&exact) {
        for ((name, sampled_owner, error), (_, truth, _)) in
            figures(one).into_iter().zip(figures(whole))
        {
            let off = (sampled_owner - truth).abs();
            // 95 % of samples keep their errors, which may be nearly 0.
            cases += 1;
            held += i32::from(error.is_none_or(|error| off <= error * sampled_owner));
            assert!(name != "time" || off < 0.05 * truth, "{name}: {sampled_owner}, {truth}");
        }
    }
    assert!(held * 100 >= cases * 90, "{held} of {cases} hold");
    let whole = attribute(&file, file.info(), &designs[0], GroupBy::Symbol, &[], &|| true)?;
    let sampled = sample::attribute(&path, &designs[0], GroupBy::Symbol, &[], plan, &|| true)?;
    for owner in whole.owners.iter().take(5) {
        let sampled_owner =
            sampled.owners.iter().find(|sampled_owner| sampled_owner.info.name == owner.info.name);
        let ratio =
            sampled_owner.map_or(0.0, |sampled_owner| sampled_owner.fault_ns / owner.fault_ns);
        assert!((ratio - 1.0).abs() < 0.05, "{}: {ratio}", owner.info.name);
    }
    Ok(())
}
