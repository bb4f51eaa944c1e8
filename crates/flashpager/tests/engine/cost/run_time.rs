//! Run times on processors: sums by hand, and properties of all of them.

use flashpager::cost::{RunTime, Work};
use flashpager::media::cores;
use flashpager::simulation;
use flashpager::trace::{TraceWriter, WarmUp};

use super::*;

/// A trace file of `runs` with a number of instructions.
fn written(runs: &[Run], instructions: Option<u64>, outside: u64) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut writer = TraceWriter::create(file.path(), false).unwrap();
    for run in runs {
        writer.push(*run).unwrap();
    }
    let info = TraceInfo {
        program: "made".into(),
        image_bytes: 1 << 14,
        instructions,
        outside_instructions: Some(outside),
        ..TraceInfo::default()
    };
    writer.finish(info).unwrap();
    file
}

fn on(processor: &str) -> DesignSpec {
    DesignSpec { processor: Some(processor.into()), ..DesignSpec::default() }
}

fn row(spec: DesignSpec, runs: &[Run], instructions: u64, outside: u64) -> simulation::ResultRow {
    let file = written(runs, Some(instructions), outside);
    let designs = [Design::new(spec).unwrap()];
    simulation::simulate(file.path(), WarmUp::default(), &designs, &|| true, &|_| ())
        .unwrap()
        .remove(0)
}

#[test]
fn a_program_of_three_runs_takes_what_was_reckoned_by_hand() {
    // 64-byte pages of an AVR at 10 MHz, 100 ns a cycle: 1.5 cycles an instruction, 8 to copy a
    // byte, 339 for a fault, 90 for a lookup. Three lookups, two faults of one flash page.
    let runs = [
        Run { offset: 0, length: 40 },
        Run { offset: 64, length: 20 },
        Run { offset: 0, length: 20 },
    ];
    let spec = DesignSpec {
        register: Some("sequential".into()),
        nor: Some("none".into()),
        ..on("atmega128@10MHz")
    };
    let priced = row(spec, &runs, 30, 10);
    assert_eq!(priced.evaluation.counts.references, 3);
    assert_eq!(priced.evaluation.counts.misses, 2);
    let (time, run) = (priced.evaluation.time, priced.evaluation.run.unwrap());
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} is not {b}");
    close(time.read_ns, 30.0 * 150.0);
    close(time.write_ns, 128.0 * 800.0);
    close(time.lookups_ns, 3.0 * 9_000.0);
    close(time.handler_ns, 2.0 * 33_900.0);
    close(run.alone_ns, 40.0 * 150.0);
    close(run.lost_ns, time.load_ns + time.fetch_ns + 128.0 * 800.0 + 27_000.0 + 67_800.0);
    close(run.paged_ns, run.alone_ns + run.lost_ns);
    close(run.slowdown, run.paged_ns / 6_000.0);
    assert_eq!(
        run.work,
        Work { instructions: 30, outside_instructions: 10, instruction_ns: 150.0 }
    );
}

#[test]
fn software_prices_of_a_board_come_first() {
    let zero = DesignSpec { handler: Some(Handler::default()), ..on("cortex-m3@64MHz") };
    let evaluated = |spec: DesignSpec| Design::new(spec).unwrap().prices();
    assert_eq!(evaluated(zero).handler, Handler::default());
    let m3 = evaluated(on("cortex-m3@64MHz"));
    let cycle_ns = 1e3 / 64.0;
    assert!((m3.handler.lookup_ns - 19.0 * 1.4 * cycle_ns).abs() < 1e-9);
    let ram = Ram { t_read_ns: 1.0, t_write_ns: 2.0 };
    assert_eq!(evaluated(DesignSpec { ram: Some(ram), ..on("cortex-m3@64MHz") }).ram, ram);
    // Without a processor the flash alone is priced.
    let bare = evaluated(DesignSpec::default());
    assert_eq!((bare.handler, bare.ram), (Handler::default(), Ram::default()));
}

#[test]
fn missing_prices_of_a_board_are_0_and_reported() {
    let assumed = |spec: DesignSpec| -> Vec<(&'static str, String)> {
        let design = Design::new(DesignSpec { nor: Some("none".into()), ..spec }).unwrap();
        let ours = design.assumed().iter().filter(|one| matches!(one.field, "handler" | "ram"));
        ours.map(|one| (one.field, one.value.clone())).collect()
    };
    let m3 = || on("cortex-m3@64MHz");
    let whole = assumed(m3());
    assert_eq!(whole.iter().map(|one| one.0).collect::<Vec<_>>(), ["handler", "ram"]);
    let ram = Some(Ram { t_read_ns: 10.0, t_write_ns: 0.0 });
    let handler = Some(Handler { lookup_ns: 100.0, ..Handler::default() });
    let assumptions = assumed(DesignSpec { handler, ram, ..m3() });
    assert_eq!(assumptions, [("handler", "pre_process_ns 0".into())]);
    // A board that gives 0 for every price, or gives every price, leaves none open.
    let free = DesignSpec { handler: Some(Handler::default()), ..m3() };
    assert_eq!(assumed(free), whole[1..]);
    let design = Design::new(m3()).unwrap();
    assert_eq!(assumed(design.spec()), []);
}

#[test]
fn bytecodes_are_no_instructions_of_a_core() {
    let evaluated = |processor: &str, architecture: &str| {
        let info = TraceInfo {
            program: "made".into(),
            architecture: architecture.into(),
            instructions: Some(10),
            bytes: 40,
            ..TraceInfo::default()
        };
        let design = Design::new(on(processor)).unwrap();
        let executing = design.executing(&info).map(std::borrow::Cow::into_owned);
        executing.map(|design| design.evaluate(&Counts::default()).warnings)
    };
    let error = evaluated("atmega128@8MHz", "jvm").unwrap_err().to_string();
    assert!(error.contains("made: the trace counts bytecodes"), "{error}");
    assert!(error.contains("atmega128(120)@8MHz"), "{error}");
    let usual = evaluated("atmega128@8MHz", "avr").unwrap();
    assert_eq!(evaluated("atmega128(120)@8MHz", "jvm").unwrap(), usual);
    assert_eq!(evaluated("atmega128@8MHz", "").unwrap(), usual);
    // Instructions of another machine are counted as they are, and a warning says so.
    let other = evaluated("atmega128@8MHz", "x86_64").unwrap();
    assert_eq!(other.len(), usual.len() + 1);
    assert!(other.iter().any(|warning| warning.contains("x86_64")), "{other:?}");
}

#[test]
fn the_arm_of_the_swl_paper_has_the_papers_handler() {
    let handler = Design::new(on("arm926ej-s@192MHz")).unwrap().prices().handler;
    for (found, papers) in [
        (handler.pre_process_ns, 3500.0),
        (handler.get_freeframe_ns, 7925.0),
        (handler.update_mmu_ns, 2600.0),
        (handler.post_process_ns, 2700.0),
        (handler.false_fault_ns, 11200.0),
        (handler.downgrade_ns, 3100.0),
    ] {
        assert!((found - papers).abs() < 0.5, "{found} is not {papers}");
    }
    assert!((handler.walk_step_ns - 878.8).abs() < 0.2);
}

#[test]
fn a_trace_without_instructions_has_no_run_time() {
    let file = written(&[Run { offset: 0, length: 40 }], None, 0);
    let evaluated = |spec: DesignSpec| {
        let designs = [Design::new(spec).unwrap()];
        simulation::simulate(file.path(), WarmUp::default(), &designs, &|| true, &|_| ())
    };
    let error = evaluated(on("cortex-m3@64MHz")).unwrap_err().to_string();
    assert!(error.contains("does not say how many instructions"), "{error}");
    assert!(evaluated(DesignSpec::default()).unwrap()[0].evaluation.run.is_none());
}

proptest! {
    #[test]
    fn paged_is_never_faster_and_the_parts_are_the_whole(
        runs in prop::collection::vec((0u32..8000, 1u32..200), 1..200),
        instructions in 1u64..100_000,
        outside in 0u64..100_000,
        core in 0..cores::catalog().unwrap().len(),
        clock in 1u32..1000,
        policy in prop::sample::select(vec!["lru", "clock", "fifo-sc(2)"]),
        schedule in prop::sample::select(vec!["sequential", "parallel"]),
        frames in 4u64..32,
    ) {
        let runs: Vec<Run> =
            runs.into_iter().map(|(offset, length)| Run { offset, length }).collect();
        let name = &cores::catalog().unwrap()[core].name;
        let spec = DesignSpec {
            cache_bytes: frames * 64,
            policy: policy.into(),
            schedule: schedule.into(),
            ..on(&format!("{name}@{clock}MHz"))
        };
        let priced = row(spec, &runs, instructions, outside);
        let (time, run) = (priced.evaluation.time, priced.evaluation.run.unwrap());
        let about = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
        let lost = time.load_ns + time.fetch_ns + time.write_ns + time.column_change_ns
            + time.lookups_ns + time.handler_ns + time.false_faults_ns - time.hidden_ns;
        prop_assert!(about(run.lost_ns, lost), "{:?}", run);
        prop_assert!(about(run.paged_ns, run.alone_ns + run.lost_ns), "{:?}", run);
        prop_assert!(about(run.slowdown * run.alone_ns, run.paged_ns), "{:?}", run);
        prop_assert!(run.slowdown >= 1.0, "{:?}", run);
        let alone = (instructions + outside) as f64 * run.work.instruction_ns;
        prop_assert!(about(run.alone_ns, alone), "{:?} {}", run, alone);
        prop_assert!(run == RunTime::of(run.work, &time));
    }
}
