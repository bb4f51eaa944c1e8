//! Warm-ups: results after the first runs of a trace, against a cache that is a list, and requests that
//! are refused.

use flashpager::attribution::{GroupBy, attribute};
use flashpager::calls::call_times;
use flashpager::design::Design;
use flashpager::simulation::{self, ResultRow};
use flashpager::spec::DesignSpec;
use flashpager::trace::{Image, Run, Symbol, Trace, TraceFile, TraceInfo, TraceWriter, WarmUp};
use flashpager::warm_up;
use proptest::prelude::*;
use tempfile::NamedTempFile;

const PAGE: u32 = 64;
const IMAGE: u32 = 4096;

/// A trace file of `runs` in the functions `near` and `far`, with an instruction for each two bytes.
fn written(runs: &[Run]) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    let mut writer = TraceWriter::create(file.path(), false).unwrap();
    runs.iter().try_for_each(|run| writer.push(*run)).unwrap();
    let symbol = |name: &str, offset: u32| Symbol { name: name.into(), offset, bytes: IMAGE / 2 };
    let image = Image {
        path: "made".into(),
        build_id: String::new(),
        offset: 0,
        bytes: IMAGE,
        sections: Vec::new(),
        symbols: vec![symbol("near", 0), symbol("far", IMAGE / 2)],
    };
    let info = TraceInfo {
        program: "made".into(),
        images: vec![image],
        image_bytes: IMAGE.into(),
        instructions: Some(bytes(runs) / 2),
        outside_instructions: Some(100),
        ..TraceInfo::default()
    };
    writer.finish(info).unwrap();
    file
}

fn bytes(runs: &[Run]) -> u64 {
    runs.iter().map(|run| u64::from(run.length)).sum()
}

fn design(policy: &str, frames: u32) -> DesignSpec {
    DesignSpec {
        cache_bytes: (frames * PAGE).into(),
        cache_page_bytes: PAGE,
        policy: policy.into(),
        processor: Some("cortex-m3@64MHz".into()),
        ..DesignSpec::default()
    }
}

fn rows(file: &NamedTempFile, warm_up: WarmUp, specs: &[DesignSpec]) -> Vec<ResultRow> {
    let designs: Vec<Design> =
        specs.iter().map(|spec| Design::new(spec.clone()).unwrap()).collect();
    simulation::simulate(file.path(), warm_up, &designs, &|| true, &|_| ()).unwrap()
}

fn first(runs: &[Run], count: usize) -> WarmUp {
    WarmUp { runs: count as u64, bytes: bytes(&runs[..count]) }
}

/// References and misses of LRU after the first `first` runs, with a cache that is a list.
fn slow(runs: &[Run], first: usize, frames: usize) -> (u64, u64) {
    let (mut cached, mut last) = (Vec::new(), None);
    let (mut references, mut misses) = (0, 0);
    for (number, run) in runs.iter().enumerate() {
        for page in run.offset / PAGE..=run.last() / PAGE {
            if last.replace(page) == Some(page) {
                continue;
            }
            let place = cached.iter().position(|cached| *cached == page);
            if number >= first {
                references += 1;
                misses += u64::from(place.is_none());
            }
            match place {
                Some(place) => drop(cached.remove(place)),
                None if cached.len() == frames => drop(cached.remove(0)),
                None => {}
            }
            cached.push(page);
        }
    }
    (references, misses)
}

prop_compose! {
    fn a_run()(offset in 0..IMAGE - 200, length in 1u32..200) -> Run {
        Run { offset, length }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn runs_after_a_warm_up_are_counted_and_priced_alone(
        runs in prop::collection::vec(a_run(), 2..200),
        share in 0.0..1.0,
        frames in 1u32..24,
    ) {
        let count = (share * (runs.len() - 1) as f64) as usize;
        let warm_up = first(&runs, count);
        let file = written(&runs);
        let alone = rows(&file, warm_up, &[design("lru", frames)]).remove(0);
        let (references, misses) = slow(&runs, count, frames as usize);
        let counts = &alone.evaluation.counts;
        prop_assert_eq!((counts.references, counts.misses), (references, misses));
        prop_assert_eq!(counts.bytes_read, bytes(&runs[count..]));
        let faults: u64 = alone.evaluation.fault_latencies.iter().map(|(_, count)| count).sum();
        prop_assert_eq!(faults, misses);

        // Results from the file, and from memory, where several designs share the trace.
        let several = rows(&file, warm_up, &[design("clock", 3), design("lru", frames)]);
        prop_assert_eq!(&several[1], &alone);

        // The share of the instructions is that of the bytes.
        let run = alone.evaluation.run.unwrap();
        let counted = counts.bytes_read as f64 / bytes(&runs) as f64;
        let instructions = (bytes(&runs) / 2) as f64 * counted;
        prop_assert!((run.work.instructions as f64 - instructions).abs() <= 0.5);
        prop_assert!((run.work.outside_instructions as f64 - 100.0 * counted).abs() <= 0.5);
        prop_assert!(run.slowdown >= 1.0);

        // The owners' counts add up to those of the whole.
        let trace = TraceFile::open(file.path()).unwrap().with_warm_up(warm_up).unwrap();
        let design = Design::new(design("lru", frames)).unwrap();
        let owned =
            attribute(&trace, trace.info(), &design, GroupBy::Symbol, &[], &|| true).unwrap();
        prop_assert_eq!(&owned.evaluation, &alone.evaluation);
        prop_assert_eq!(owned.owners.iter().map(|owner| owner.misses).sum::<u64>(), misses);
        let executed = owned.owners.iter().map(|owner| owner.bytes_executed).sum::<u64>();
        prop_assert_eq!(executed, counts.bytes_read);
    }

    #[test]
    fn no_warm_up_changes_nothing(
        runs in prop::collection::vec(a_run(), 1..100),
        frames in 2u32..24,
    ) {
        let file = written(&runs);
        let specs = ["lru", "min", "fifo-sc"].map(|policy| design(policy, frames));
        let designs = specs.clone().map(|spec| Design::new(spec).unwrap());
        let whole =
            simulation::simulate(file.path(), WarmUp::default(), &designs, &|| true, &|_| ()).unwrap();
        prop_assert_eq!(whole, rows(&file, WarmUp::default(), &specs));
    }

    #[test]
    fn the_fewest_runs_with_so_many_bytes_are_found(
        runs in prop::collection::vec(a_run(), 2..100),
        wanted in 1u64..20_000,
    ) {
        let file = written(&runs);
        let trace = TraceFile::open(file.path()).unwrap();
        let ends = (1..runs.len()).find(|count| bytes(&runs[..*count]) >= wanted);
        let warmed = warm_up::find(&trace, &wanted.to_string());
        match ends {
            Some(count) => prop_assert_eq!(warmed.unwrap(), first(&runs, count)),
            None => {
                let error = warmed.unwrap_err().to_string();
                prop_assert!(error.contains("leaves nothing to count"), "{}", error);
            }
        }
    }
}

#[test]
fn a_warm_up_is_bytes_or_a_share_or_none() {
    let runs = vec![Run { offset: 0, length: 100 }; 50];
    let file = written(&runs);
    let trace = TraceFile::open(file.path()).unwrap();
    for (text, count) in
        [("none", 0), ("0%", 0), ("10%", 5), ("10.1 %", 6), ("1K", 11), ("98%", 49)]
    {
        assert_eq!(warm_up::find(&trace, text).unwrap(), first(&runs, count), "{text}");
    }
    for (text, wrong) in [
        ("100%", "leaves nothing to count"),
        ("99%", "leaves nothing to count"),
        ("1G", "leaves nothing to count"),
        ("101%", "give bytes of the trace"),
        ("-1%", "give bytes of the trace"),
        ("nan%", "give bytes of the trace"),
        ("%", "give bytes of the trace"),
        ("10X", "give bytes of the trace"),
        ("ten", "names no function 'ten'"),
        ("nera", "did you mean near"),
        ("far", "far is never executed"),
    ] {
        let error = warm_up::find(&trace, text).unwrap_err().to_string();
        assert!(error.contains(wrong), "{text}: {error}");
    }
    let all = TraceFile::open(file.path()).unwrap().with_warm_up(first(&runs, 50));
    assert!(all.err().unwrap().to_string().contains("nothing is left to count"));
}

#[test]
fn a_warm_up_ends_where_a_function_is_first_executed() {
    let at = |offset: u32| Run { offset, length: 100 };
    let far = IMAGE / 2;
    for (runs, before) in [
        (vec![at(5), at(10), at(far), at(5), at(far)], 2),
        // Execution that goes on inside of it, or returns into it, does not enter it.
        (vec![at(far + 4), at(5), at(far - 50), at(5)], 2),
        (vec![at(far), at(5)], 0),
    ] {
        let file = written(&runs);
        let trace = TraceFile::open(file.path()).unwrap();
        assert_eq!(warm_up::find(&trace, "far").unwrap(), first(&runs, before));
    }
}

#[test]
fn lookahead_and_execution_have_no_warm_up() {
    let runs = [Run { offset: 0, length: 100 }, Run { offset: 2000, length: 100 }];
    let file = written(&runs);
    let ahead = DesignSpec {
        part: Some("KFG1G16Q2M".into()),
        register: Some("double-buffer-prefetch".into()),
        nor: Some("none".into()),
        ..design("lru", 4)
    };
    for (spec, what) in [(design("min", 4), "min looks ahead"), (ahead, "a load ahead")] {
        let design = Design::new(spec).unwrap();
        let warm_up = first(&runs, 1);
        let counts_of = |warm_up: WarmUp| {
            let designs = [design.clone()];
            simulation::simulate(file.path(), warm_up, &designs, &|| true, &|_| ())
        };
        let error = counts_of(warm_up).unwrap_err().to_string();
        assert!(error.contains(what) && error.contains("no warm-up"), "{error}");
        assert!(counts_of(WarmUp::default()).is_ok());
    }
}

#[test]
fn calls_are_counted_that_begin_behind_the_warm_up() {
    // main, at offset 1000 in near, calls far three times.
    let call = [
        Run { offset: 1000, length: 20 },
        Run { offset: IMAGE / 2, length: 40 },
        Run { offset: 1020, length: 30 },
    ];
    let runs = [call, call, call].concat();
    let file = written(&runs);
    let design = Design::new(design("lru", 8)).unwrap();
    let timed_after = |count: usize| {
        let trace =
            TraceFile::open(file.path()).unwrap().with_warm_up(first(&runs, count)).unwrap();
        assert_eq!(trace.warm_up().runs, count as u64);
        let names = ["far".to_owned()];
        let timed = call_times(&trace, trace.info(), &design, &names, &[], &|| true, &|_| ());
        timed.unwrap().remove(0)
    };
    let (all, later) = (timed_after(0), timed_after(3));
    assert_eq!((all.calls, all.most_faults), (3, 1));
    assert_eq!((later.calls, later.most_faults, later.recursive), (2, 0, 0));
    // If the second run is warm-up, too, the call has begun in it.
    assert_eq!(timed_after(1).calls, 3);
    assert_eq!(timed_after(2).calls, 2);
}
