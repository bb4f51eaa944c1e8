//! Times of calls: programs written by hand, and random programs with known calls, priced run by run
//! with a cache that is a list.

use std::sync::Mutex;

use flashpager::calls::{CallTimes, call_times};
use flashpager::cost::{Handler, Ram};
use flashpager::design::Design;
use flashpager::spec::DesignSpec;
use flashpager::trace::{Image, MemoryTrace, Run, RunSource, Symbol, Trace, TraceInfo};
use proptest::prelude::*;

/// Bytes from one function to the next.
const FUNCTION: u32 = 256;
/// Bytes between two calls in a function.
const SLOT: u32 = 16;
/// Number of functions.
const FUNCTIONS: u32 = 5;

/// Offset of code behind the functions that no symbol names.
const CALLER: u32 = FUNCTIONS * FUNCTION;

/// Bytes of a cache page and of a flash page, which are equal so that each fault loads its page.
const PAGE: u32 = 32;

fn name(function: u32) -> String {
    format!("f{function}")
}

/// A trace of functions f0, f1, ... with `runs`.
fn info(runs: &[Run]) -> TraceInfo {
    let symbols = (0..FUNCTIONS).map(|function| Symbol {
        name: name(function),
        offset: function * FUNCTION,
        bytes: FUNCTION,
    });
    let bytes = CALLER + 16;
    let image = Image {
        path: "made".into(),
        build_id: String::new(),
        offset: 0,
        bytes,
        sections: Vec::new(),
        symbols: symbols.collect(),
    };
    TraceInfo {
        program: "made".into(),
        images: vec![image],
        image_bytes: bytes.into(),
        runs: runs.len() as u64,
        bytes: runs.iter().map(|run| u64::from(run.length)).sum(),
        ..TraceInfo::default()
    }
}

fn design(policy: &str, frames: u32) -> Design {
    let spec = DesignSpec {
        cache_bytes: (frames * PAGE).into(),
        cache_page_bytes: PAGE,
        flash_page_bytes: Some(PAGE),
        policy: policy.into(),
        ram: Some(Ram { t_read_ns: 3.0, t_write_ns: 1.0 }),
        handler: Some(Handler { lookup_ns: 5.0, pre_process_ns: 100.0, ..Handler::default() }),
        nor: Some("none".into()),
        ..DesignSpec::default()
    };
    Design::new(spec).unwrap()
}

fn timed(runs: &[Run], design: &Design, functions: &[u32]) -> Vec<CallTimes> {
    let trace = MemoryTrace::with_image(runs.to_vec(), (CALLER + 16).into());
    let names: Vec<String> = functions.iter().map(|function| name(*function)).collect();
    call_times(&trace, &info(runs), design, &names, &[], &|| true, &|_| ()).unwrap()
}

fn run(offset: u32, end: u32) -> Run {
    Run { offset, length: end - offset }
}

/// (time, time lost, faults) of each run, with a cache that is a list.
fn priced(runs: &[Run], design: &Design, frames: usize) -> Vec<(f64, f64, u64)> {
    let prices = design.prices();
    let fault_ns = prices.t_load_ns
        + f64::from(PAGE) * (prices.t_byte_ns + prices.ram.t_write_ns)
        + prices.handler.pre_process_ns;
    let (mut cached, mut last) = (Vec::new(), None);
    let of_run = |run: &Run| {
        let (mut lost, mut faults) = (0.0, 0);
        for page in run.offset / PAGE..=run.last() / PAGE {
            if last.replace(page) == Some(page) {
                continue;
            }
            lost += prices.handler.lookup_ns;
            match cached.iter().position(|cached| *cached == page) {
                Some(place) => drop(cached.remove(place)),
                None => {
                    faults += 1;
                    lost += fault_ns;
                    if cached.len() == frames {
                        cached.remove(0);
                    }
                }
            }
            cached.push(page);
        }
        (f64::from(run.length) * prices.ram.t_read_ns + lost, lost, faults)
    };
    runs.iter().map(of_run).collect()
}

#[test]
fn a_call_takes_what_runs_between_its_first_byte_and_its_return() {
    // f0 calls f1 twice; f1 calls f2 the second time.
    let runs = [
        run(0, 16),
        run(256, 272),
        run(16, 32),
        run(256, 264),
        run(512, 528),
        run(264, 272),
        run(32, 48),
    ];
    let design = design("lru", 8);
    let prices = design.prices();
    let fault = prices.t_load_ns + 32.0 * (prices.t_byte_ns + 1.0) + 100.0;
    let times = timed(&runs, &design, &[1, 2, 0, 3]);
    let (f1, f2, f0, f3) = (&times[0], &times[1], &times[2], &times[3]);
    assert_eq!((f1.calls, f1.recursive, f1.unreturned), (2, 0, 0));
    // The first call takes a lookup, a fault and 16 bytes; the second three lookups and a fault of f2's
    // page.
    let first = 16.0 * 3.0 + 5.0 + fault;
    let second = 32.0 * 3.0 + 3.0 * 5.0 + fault;
    assert!((f1.time.mean_ns - (first + second) / 2.0).abs() < 0.01, "{f1:?}");
    assert!((f1.time.worst_ns - second).abs() < 0.01, "{f1:?}");
    assert!((f1.lost.worst_ns - (3.0 * 5.0 + fault)).abs() < 0.01, "{f1:?}");
    assert_eq!((f1.mean_faults, f1.most_faults), (1.0, 1));
    assert_eq!((f2.calls, f2.most_faults), (1, 1));
    assert!((f2.time.mean_ns - (16.0 * 3.0 + 5.0 + fault)).abs() < 0.01);
    // The first function does not return: it takes the whole time.
    assert_eq!((f0.calls, f0.unreturned), (1, 1));
    let whole = (16.0 + 16.0 + 16.0 + 8.0 + 16.0 + 8.0 + 16.0) * 3.0 + 7.0 * 5.0 + 4.0 * fault;
    assert!((f0.all_ns - whole).abs() < 0.01, "{f0:?} {whole}");
    assert_eq!((f3.calls, f3.all_ns), (0, 0.0));
}

#[test]
fn recursion_nests_and_a_loop_to_the_first_byte_is_no_call() {
    // f1 loops to its first byte, then calls itself, and both return.
    let runs =
        [run(0, 16), run(256, 268), run(256, 272), run(256, 280), run(272, 280), run(16, 32)];
    let f1 = &timed(&runs, &design("lru", 8), &[1])[0];
    assert_eq!((f1.calls, f1.recursive, f1.unreturned), (2, 1, 0));
    assert_eq!(f1.all_ns, f1.time.worst_ns);
}

#[test]
fn a_function_entered_by_a_jump_returns_with_its_caller() {
    // f1 jumps to f2 instead of calling it; f2 returns behind f0's call.
    let runs = [run(0, 16), run(256, 264), run(512, 528), run(16, 32), run(0, 16), run(512, 528)];
    let times = timed(&runs, &design("lru", 8), &[1, 2]);
    assert_eq!((times[0].calls, times[0].unreturned), (1, 0));
    // The second call of f2 would also return behind f0's call, but no run begins there any more.
    assert_eq!((times[1].calls, times[1].unreturned), (2, 1));
}

#[test]
fn a_long_chain_of_jumps_returns_whole() {
    // f0 calls f1, which jumps to f2, that to f1, and so on; the last returns behind f0's call.
    for jumps in [62, 63, 64, 65, 200] {
        let mut runs = vec![run(0, 16)];
        runs.extend((0..=jumps).map(|jump| run(256 + jump % 2 * 256, 264 + jump % 2 * 256)));
        runs.extend([run(16, 32), run(0, 16), run(256, 272), run(16, 32)]);
        let times = timed(&runs, &design("lru", 8), &[1, 2]);
        assert_eq!(times[0].calls + times[1].calls, u64::from(jumps) + 2, "{jumps}");
        assert_eq!((times[0].unreturned, times[1].unreturned), (0, 0), "{jumps}");
        // All jumps end with the first call: none stays open.
        let prices = design("lru", 8).prices();
        let last = 16.0 * prices.ram.t_read_ns + prices.handler.lookup_ns;
        let chain = times[0].all_ns - last;
        assert!((times[0].time.worst_ns - chain).abs() < 0.01, "{jumps}: {:?}", times[0]);
    }
}

#[test]
fn a_function_may_be_requested_by_two_names() {
    // f1 is f0's second name, and f0 is requested twice.
    let runs = [run(CALLER, CALLER + 2), run(0, 16), run(CALLER + 2, CALLER + 4)];
    let mut info = info(&runs);
    info.images[0].symbols[1].offset = 0;
    let trace = MemoryTrace::with_image(runs.to_vec(), (CALLER + 16).into());
    let names = [name(0), name(1), name(0)];
    let times =
        call_times(&trace, &info, &design("lru", 8), &names, &[], &|| true, &|_| ()).unwrap();
    for each in &times {
        assert_eq!((each.calls, each.recursive, each.unreturned), (1, 0, 0), "{each:?}");
        assert_eq!(each.time, times[0].time);
    }
}

#[test]
fn both_passes_report_progress() {
    /// A trace in memory whose runs are read as if they came from a file.
    struct Streamed(MemoryTrace);

    impl Trace for Streamed {
        fn image_bytes(&self) -> u64 {
            self.0.image_bytes()
        }

        fn runs(&self) -> flashpager::Result<Box<dyn RunSource + '_>> {
            self.0.runs()
        }
    }

    let runs = [run(0, 16), run(256, 272), run(16, 32)].repeat(100_000);
    let trace = Streamed(MemoryTrace::with_image(runs.clone(), (CALLER + 16).into()));
    let reported = Mutex::new(Vec::new());
    let progress = |now| reported.lock().unwrap().push(now);
    let design = design("lru", 8);
    call_times(&trace, &info(&runs), &design, &[name(1)], &[], &|| true, &progress).unwrap();
    let reported = reported.into_inner().unwrap();
    assert!(reported.is_sorted() && reported.len() > 4, "{reported:?}");
    assert!(reported[0].0 < 0.5);
    assert_eq!(reported[reported.len() - 1], (2.0, 2));
}

#[test]
fn a_call_left_together_with_its_caller_has_not_returned() {
    // The first call of f1 returns by itself. In the second, f2 jumps out of f1 and f2 back to f0.
    let runs = [
        run(0, 16),
        run(256, 264),
        run(512, 520),
        run(264, 272),
        run(16, 32),
        run(0, 16),
        run(256, 264),
        run(512, 516),
        run(16, 32),
    ];
    let times = timed(&runs, &design("lru", 8), &[1, 2]);
    assert_eq!((times[0].calls, times[0].unreturned), (2, 0));
    assert_eq!((times[1].calls, times[1].unreturned), (2, 1));
}

#[test]
fn an_unknown_function_is_refused_in_one_line() {
    let runs = [run(0, 16)];
    let trace = MemoryTrace::with_image(runs.to_vec(), 1280);
    let refusal_of = |info: &TraceInfo, name: &str| {
        let names = [name.to_owned()];
        call_times(&trace, info, &design("lru", 8), &names, &[], &|| true, &|_| ())
            .unwrap_err()
            .to_string()
    };
    let error = refusal_of(&info(&runs), "f9");
    assert!(error.starts_with("made: names no function 'f9'"), "{error}");
    let mut stripped = info(&runs);
    stripped.images[0].symbols.clear();
    assert!(refusal_of(&stripped, "f1").contains("names no functions"));
}

/// A random program: its runs, and (function, first run, run after the last) of each call.
#[derive(Default)]
struct Program {
    runs: Vec<Run>,
    calls: Vec<(u32, usize, usize)>,
}

impl Program {
    /// Executes a function by `draws`; functions that jumped to it end with it.
    fn execute(&mut self, function: u32, draws: &mut impl Iterator<Item = u8>, depth: u32) {
        let base = function * FUNCTION;
        let call = self.calls.len();
        self.calls.push((function, self.runs.len(), usize::MAX));
        let mut at = base;
        for slot in 0..12 {
            let end = base + SLOT * (slot + 1);
            let Some(draw) = draws.next() else { break };
            let other = u32::from(draw >> 3) % FUNCTIONS;
            match draw % 8 {
                // A call of another function, or of itself.
                0..=2 if depth < 8 => {
                    self.runs.push(run(at, end));
                    self.execute(other, draws, depth + 1);
                    at = end;
                }
                // A jump back in itself, to a place where nothing returns.
                3 if slot > 2 => {
                    self.runs.push(run(at, end - 2));
                    at = base + SLOT * (slot - 2) + 4;
                }
                // A jump back to its first byte.
                4 => {
                    self.runs.push(run(at, end - 4));
                    at = base;
                }
                // A jump to another function, which returns to the caller.
                5 if other != function && depth < 8 => {
                    self.runs.push(run(at, end - 6));
                    self.execute(other, draws, depth + 1);
                    self.calls[call].2 = self.runs.len();
                    return;
                }
                6 => {
                    self.runs.push(run(at, end - 8));
                    self.calls[call].2 = self.runs.len();
                    return;
                }
                // A jump to another function, which jumps to the next, and so on; the last returns.
                7 if other != function && draw > 200 => {
                    self.runs.push(run(at, end - 10));
                    let first = self.calls.len();
                    for jump in 0..u32::from(draw) - 150 {
                        let base = (other + jump) % FUNCTIONS * FUNCTION;
                        self.calls.push((base / FUNCTION, self.runs.len(), usize::MAX));
                        self.runs.push(run(base, base + 12));
                    }
                    let behind = self.runs.len();
                    self.calls[call].2 = behind;
                    self.calls[first..].iter_mut().for_each(|call| call.2 = behind);
                    return;
                }
                _ => {}
            }
        }
        self.runs.push(run(at, base + FUNCTION - 8));
        self.calls[call].2 = self.runs.len();
    }
}

proptest! {
    #[test]
    fn calls_take_what_their_runs_take(
        draws in prop::collection::vec(any::<u8>(), 1..300),
        frames in 1u32..12,
    ) {
        let mut program = Program::default();
        let mut draws = draws.into_iter();
        // The main program calls functions one after another.
        for round in 0..6 {
            program.runs.push(run(CALLER + 2 * round, CALLER + 2 * round + 2));
            program.execute(u32::from(draws.next().unwrap_or(0)) % (FUNCTIONS - 1), &mut draws, 0);
        }
        program.runs.push(run(CALLER + 12, CALLER + 14));
        let Program { runs, calls } = program;
        let design = design("lru", frames);
        let by_run = priced(&runs, &design, frames as usize);
        let watched: Vec<u32> = (0..FUNCTIONS).collect();
        for times in timed(&runs, &design, &watched) {
            let mut expected: Vec<(f64, f64, u64)> = Vec::new();
            for (_, first, behind) in calls.iter().filter(|call| name(call.0) == times.function) {
                let runs = &by_run[*first..*behind];
                expected.push(runs.iter().fold((0.0, 0.0, 0), |sum, run| {
                    (sum.0 + run.0, sum.1 + run.1, sum.2 + run.2)
                }));
            }
            prop_assert_eq!(times.calls, expected.len() as u64, "{:?}", times);
            prop_assert_eq!(times.unreturned, 0, "{:?}", times);
            if expected.is_empty() {
                continue;
            }
            let close = |a: f64, b: f64| (a - b).abs() <= 0.01 + 1e-9 * b.abs();
            let count = expected.len() as f64;
            let mean = expected.iter().map(|call| call.0).sum::<f64>() / count;
            let lost = expected.iter().map(|call| call.1).sum::<f64>() / count;
            let faults = expected.iter().map(|call| call.2).sum::<u64>();
            expected.sort_by(|a, b| a.0.total_cmp(&b.0));
            let p99 = expected[(expected.len() * 99).div_ceil(100) - 1].0;
            prop_assert!(close(times.time.mean_ns, mean), "{:?} {}", times, mean);
            prop_assert!(close(times.time.p99_ns, p99), "{:?} {}", times, p99);
            prop_assert!(close(times.time.worst_ns, expected[expected.len() - 1].0), "{:?}", times);
            prop_assert!(close(times.lost.mean_ns, lost), "{:?} {}", times, lost);
            prop_assert!(close(times.mean_faults * count, faults as f64), "{:?}", times);
        }
    }
}
