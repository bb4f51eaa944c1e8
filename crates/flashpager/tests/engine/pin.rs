//! Pinning: the result of a choice is that of a plain cache for the program without the pinned units,
//! and no choice is worse than an obvious one.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use flashpager::cost::Ram;
use flashpager::design::Design;
use flashpager::layout::SearchLimit;
use flashpager::layout::pin::{PinRequest, Pinning, pin};
use flashpager::spec::DesignSpec;
use flashpager::trace::{Image, Run, Symbol, TraceInfo, TraceWriter};
use proptest::prelude::*;
use tempfile::TempDir;

/// Bytes of a cache page, which is a flash page: so each miss costs the same.
const PAGE: u32 = 32;
const FRAMES: u32 = 3;

fn name(function: usize) -> String {
    format!("f{function}")
}

/// A trace of the functions f0, f1, …, one behind another; `pages` are their lengths in pages.
fn written(folder: &TempDir, pages: &[u32], runs: &[Run]) -> PathBuf {
    let bytes: Vec<u32> = pages.iter().map(|pages| pages * PAGE).collect();
    written_bytes(folder, &bytes, runs)
}

/// A trace of functions with lengths in bytes.
fn written_bytes(folder: &TempDir, bytes: &[u32], runs: &[Run]) -> PathBuf {
    let mut offset = 0;
    let symbols = bytes.iter().enumerate().map(|(function, bytes)| {
        let symbol = Symbol { name: name(function), offset, bytes: *bytes };
        offset += bytes;
        symbol
    });
    let symbols: Vec<Symbol> = symbols.collect();
    let path = folder.path().join("made.trace");
    let mut writer = TraceWriter::create(&path, false).unwrap();
    writer.add_symbols(&symbols);
    for run in runs {
        writer.push(*run).unwrap();
    }
    let image = Image {
        path: "made".into(),
        build_id: String::new(),
        offset: 0,
        bytes: offset,
        sections: Vec::new(),
        symbols,
    };
    let info = TraceInfo {
        program: "made".into(),
        architecture: "arm".into(),
        images: vec![image],
        image_bytes: offset.into(),
        ..TraceInfo::default()
    };
    writer.close(info).unwrap().publish().unwrap();
    path
}

fn design(policy: &str) -> Design {
    let spec = DesignSpec {
        cache_bytes: (FRAMES * PAGE).into(),
        cache_page_bytes: PAGE,
        flash_page_bytes: Some(PAGE),
        policy: policy.into(),
        ram: Some(Ram { t_read_ns: 3.0, t_write_ns: 1.0 }),
        nor: Some("none".into()),
        ..DesignSpec::default()
    };
    Design::new(spec).unwrap()
}

fn request(path: PathBuf, ram_pages: u32) -> PinRequest {
    PinRequest {
        traces: vec![(path, 1.0)],
        map: None,
        design: design("lru"),
        ram_bytes: (ram_pages * PAGE).into(),
        always: Vec::new(),
        never: Vec::new(),
        copied_before: None,
        calls: Vec::new(),
        order: false,
        holes: false,
    }
}

const ORDERS: SearchLimit<'static> = SearchLimit::Evaluations { all: 600, stopped: &|| false };

fn pinned(request: &PinRequest) -> Pinning {
    pin(request, &ORDERS, &|| true, &|_| ()).unwrap()
}

/// Misses of a cache that is a list, for the program without the functions of `set`: the others move
/// up.
fn misses(pages: &[u32], runs: &[Run], set: u32) -> u64 {
    let mut moved = Vec::new();
    let mut free = 0;
    for (function, count) in pages.iter().enumerate() {
        let is_pinned = set >> function & 1 == 1;
        moved.extend((0..*count).map(|page| (!is_pinned).then_some(free + page)));
        free += if is_pinned { 0 } else { *count };
    }
    let mut cached: Vec<u32> = Vec::new();
    let mut misses = 0;
    for run in runs {
        for page in run.offset / PAGE..=(run.offset + run.length - 1) / PAGE {
            let Some(page) = moved[page as usize] else { continue };
            match cached.iter().position(|other| *other == page) {
                Some(place) => drop(cached.remove(place)),
                None => {
                    misses += 1;
                    cached.truncate(FRAMES as usize - 1);
                }
            }
            cached.insert(0, page);
        }
    }
    misses
}

fn bytes(pages: &[u32], set: u32) -> u32 {
    let in_set = |(function, pages): (usize, &u32)| (set >> function & 1) * pages * PAGE;
    pages.iter().enumerate().map(in_set).sum()
}

fn set_of(pinning: &Pinning) -> u32 {
    pinning.pinned.iter().map(|name| 1 << name[1..].parse::<u32>().unwrap()).sum()
}

proptest! {
    #[test]
    fn choices_obey_their_request(
        pages in prop::collection::vec(1u32..4, 2..7),
        jumps in prop::collection::vec((0u32..64, 1u32..80), 20..150),
        ram_pages in 1u32..8,
    ) {
        let all: u32 = pages.iter().sum::<u32>() * PAGE;
        let run = |(at, length): &(u32, u32)| {
            let offset = at * 16 % all;
            Run { offset, length: (*length).min(all - offset) }
        };
        let runs: Vec<Run> = jumps.iter().map(run).collect();
        let folder = tempfile::tempdir().unwrap();
        let request = request(written(&folder, &pages, &runs), ram_pages);
        let pinning = pinned(&request);
        let set = set_of(&pinning);
        let misses_of = |rows: &[flashpager::simulation::ResultRow]| rows[0].evaluation.counts.misses;
        prop_assert_eq!(misses_of(&pinning.before), misses(&pages, &runs, 0));
        prop_assert_eq!(misses_of(&pinning.after), misses(&pages, &runs, set));
        prop_assert_eq!(pinning.ram_bytes, u64::from(bytes(&pages, set)));
        prop_assert!(pinning.ram_bytes <= request.ram_bytes);
        let mut so_far = 0;
        for step in &pinning.curve {
            so_far |= 1 << step.name[1..].parse::<u32>().unwrap();
            prop_assert_eq!(step.misses, misses(&pages, &runs, so_far));
            prop_assert_eq!(step.ram_bytes, u64::from(bytes(&pages, so_far)));
        }
        // The steps are those to the answer, and no other; a curve with a knee never rises.
        prop_assert_eq!(so_far, set);
        let last = pinning.curve.last().map_or(1.0, |step| step.time_ratio);
        prop_assert!((last - pinning.time_ratio).abs() < 1e-12);
        let ratios: Vec<f64> =
            [1.0].into_iter().chain(pinning.curve.iter().map(|step| step.time_ratio)).collect();
        let falls = ratios.is_sorted_by(|before, after| after <= before);
        prop_assert_eq!(pinning.knee.is_some(), falls && last < 1.0);
        // Pinning nothing is not better, and no single function is that may lie in RAM.
        let held = |function: &usize| pinning.held.iter().any(|unit| unit.name == name(*function));
        let free = (0..pages.len()).filter(|function| !held(function));
        let singles = free.map(|function| 1 << function).chain([0]);
        for other in singles {
            if u64::from(bytes(&pages, other)) <= request.ram_bytes {
                prop_assert!(misses(&pages, &runs, set) <= misses(&pages, &runs, other));
            }
        }
        let reads = |rows: &[flashpager::simulation::ResultRow]| rows[0].evaluation.counts.bytes_read;
        prop_assert_eq!(reads(&pinning.before), reads(&pinning.after));
    }
}

proptest! {
    /// The copy of pinned code takes the flash for each of its flash pages once, whatever the cache
    /// page, and is in no other time.
    #[test]
    fn the_copy_loads_each_flash_page_once(
        bytes in prop::collection::vec(1u32..300, 1..6),
        turns in 5u32..20,
        cache_page in 0u32..4,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut runs = Vec::new();
        for _ in 0..turns {
            let mut offset = 0;
            for length in &bytes {
                runs.push(Run { offset, length: *length });
                offset += length;
            }
        }
        let cache_page_bytes = PAGE >> cache_page;
        let spec = DesignSpec { cache_page_bytes, ..design("lru").spec() };
        let design = Design::new(spec).unwrap();
        let request = PinRequest {
            design: design.clone(),
            ram_bytes: 700,
            ..request(written_bytes(&folder, &bytes, &runs), 1)
        };
        let pinning = pinned(&request);
        let prices = design.prices();
        let copy_ns = |bytes: u64| {
            let fetched = bytes.next_multiple_of(cache_page_bytes.into());
            let loads = bytes.div_ceil(PAGE.into());
            loads as f64 * prices.t_load_ns + fetched as f64 * prices.t_byte_ns
        };
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.max(1.0);
        prop_assert!(near(pinning.copy_ns, copy_ns(pinning.ram_bytes)));
        for step in &pinning.curve {
            prop_assert!(near(step.copy_ns, copy_ns(step.ram_bytes)));
        }
        let last = pinning.curve.last().map_or(0.0, |step| step.copy_ns);
        prop_assert_eq!(last, pinning.copy_ns);
        prop_assert_eq!(pinning.copy_ns > 0.0, !pinning.pinned.is_empty());
    }
}

fn page(number: u32) -> Run {
    Run { offset: number * PAGE, length: PAGE }
}

/// A program without a `main` begins in f1, which stays; with one in f2, all before it stays.
#[test]
fn start_up_code_stays_in_flash() {
    let folder = tempfile::tempdir().unwrap();
    let start = [page(1), page(3), page(1), page(2)];
    let turns = (0..50).flat_map(|_| [page(0), page(1), page(2), page(3), page(4)]);
    let runs: Vec<Run> = start.into_iter().chain(turns).collect();
    let path = written(&folder, &[1, 1, 1, 1, 1], &runs);
    let held = |pinning: &Pinning| {
        let mut held: Vec<(String, &str)> =
            pinning.held.iter().map(|unit| (unit.name.clone(), unit.reason.name())).collect();
        held.sort();
        held
    };
    let pinning = pinned(&request(path.clone(), 5));
    assert_eq!(held(&pinning), [("f1".to_owned(), "first")]);
    assert!(!pinning.pinned.contains(&"f1".to_owned()));
    let named = |copied_before: &str, always: &[&str], never: &[&str]| PinRequest {
        copied_before: Some(copied_before.into()),
        always: always.iter().map(|name| (*name).to_owned()).collect(),
        never: never.iter().map(|name| (*name).to_owned()).collect(),
        ..request(path.clone(), 5)
    };
    let pinning = pinned(&named("f2", &[], &[]));
    let before = ("f3".to_owned(), "before-copy");
    assert_eq!(held(&pinning), [("f1".to_owned(), "first"), before.clone()]);
    assert_eq!(pinning.copied_before, "f2");
    assert!(pinning.pinned.iter().all(|name| ["f0", "f2", "f4"].contains(&name.as_str())));
    let pinning = pinned(&named("f2", &["f1"], &["f0"]));
    assert_eq!(held(&pinning), [("f0".to_owned(), "asked"), before]);
    assert!(
        pinning.pinned.contains(&"f1".to_owned()) && !pinning.pinned.contains(&"f0".to_owned())
    );
    let pinning = pinned(&named("entry", &[], &[]));
    assert!(pinning.held.is_empty());
    let error = pin(&named("f2", &["f0"], &["f0"]), &ORDERS, &|| true, &|_| ()).unwrap_err();
    assert!(error.to_string().contains("always and never"), "{error}");
}

/// A function inside of another, such as another entry of it, means the one that holds it.
#[test]
fn names_inside_of_a_unit_mean_the_unit() {
    let folder = tempfile::tempdir().unwrap();
    let runs: Vec<Run> = (0..20).flat_map(|_| [page(0), page(1), page(2), page(3)]).collect();
    let path = folder.path().join("made.trace");
    let symbol = |name: &str, offset, bytes| Symbol { name: name.into(), offset, bytes };
    let symbols = vec![
        symbol("sub", 0, 2 * PAGE),
        symbol("plus", PAGE, PAGE),
        symbol("far", 2 * PAGE, PAGE),
        symbol("plus", 3 * PAGE, PAGE),
        symbol("minus", 3 * PAGE + 8, 8),
    ];
    let mut writer = TraceWriter::create(&path, false).unwrap();
    runs.iter().for_each(|run| writer.push(*run).unwrap());
    let image = Image {
        path: "made".into(),
        build_id: String::new(),
        offset: 0,
        bytes: 4 * PAGE,
        sections: Vec::new(),
        symbols,
    };
    let info = TraceInfo {
        program: "made".into(),
        architecture: "arm".into(),
        image_bytes: image.bytes.into(),
        images: vec![image],
        ..TraceInfo::default()
    };
    writer.close(info).unwrap().publish().unwrap();
    let always_named =
        |name: &str| PinRequest { always: vec![name.into()], ..request(path.clone(), 4) };
    let pinning = pinned(&always_named("minus"));
    assert!(pinning.pinned.contains(&"plus".to_owned()), "{:?}", pinning.pinned);
    let noted =
        |pinning: &Pinning, text: &str| pinning.coverage.notes.iter().any(|note| note == text);
    assert!(noted(&pinning, "minus lies in plus, which is meant"));
    // The first function of that name lies in sub, the second one is a unit of that name.
    assert!(pinned(&always_named("plus")).pinned.contains(&"plus".to_owned()));
    let message = pin(&always_named("pluss"), &ORDERS, &|| true, &|_| ()).unwrap_err().to_string();
    assert!(message.contains("did you mean plus"), "{message}");
}

/// f0 to f3 take turns, so that LRU with three frames always misses; without any one of them all
/// references hit.
#[test]
fn one_function_less_ends_a_fight() {
    let folder = tempfile::tempdir().unwrap();
    let runs: Vec<Run> = (0..100).flat_map(|_| [page(0), page(1), page(2), page(3)]).collect();
    let path = written(&folder, &[1, 1, 1, 1], &runs);
    let pinning = pinned(&request(path, 1));
    assert_eq!(pinning.pinned.len(), 1);
    assert_eq!(pinning.before[0].evaluation.counts.misses, 400);
    assert_eq!(pinning.after[0].evaluation.counts.misses, 3);
    assert_eq!((pinning.curve.len(), pinning.knee), (1, Some(0)));
}

/// A handler of one page runs seldom, so that pinning it would save nothing; but its calls are limited.
#[test]
fn limited_calls_are_pinned_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut runs = Vec::new();
    for turn in 0..60 {
        runs.extend([page(0), page(1), page(2)]);
        if turn % 20 == 10 {
            // The handler f4, called in the middle of f2, with what it calls, f3.
            let (ahead, behind) = (page(2).offset + 16, PAGE - 16);
            runs.pop();
            runs.push(Run { offset: page(2).offset, length: 16 });
            runs.push(Run { offset: page(4).offset, length: 16 });
            runs.push(page(3));
            runs.push(Run { offset: page(4).offset + 16, length: 16 });
            runs.push(Run { offset: ahead, length: behind });
        }
    }
    let path = written(&folder, &[1, 1, 1, 1, 1], &runs);
    let limited = |limit_ns: f64| PinRequest {
        calls: vec![("f4".into(), limit_ns)],
        ..request(path.clone(), 2)
    };
    let cold = pinned(&limited(1e9));
    let call = &cold.calls[0];
    assert_eq!((call.calls, call.before_ns), (3, call.before_ns));
    // A call has two misses of one page each.
    let one = {
        let prices = design("lru").prices();
        prices.t_load_ns + f64::from(PAGE) * (prices.t_byte_ns + 1.0)
    };
    let read = 3.0 * f64::from(2 * PAGE);
    assert!((call.before_ns - (2.0 * one + read)).abs() < 1e-6, "{} {one}", call.before_ns);
    let short = pinned(&limited(one + read + 1.0));
    assert!(short.pinned.iter().any(|name| name == "f3" || name == "f4"), "{:?}", short.pinned);
    assert!(short.calls[0].after_ns <= one + read + 1.0);
    let shortest = pinned(&limited(read + 1.0));
    assert_eq!(shortest.pinned, ["f3", "f4"]);
    let refused = pin(&limited(read - 1.0), &ORDERS, &|| true, &|_| ()).unwrap_err().to_string();
    assert!(refused.contains("do not make every call of f4 as short"), "{refused}");
}

#[test]
fn an_impossible_pin_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(&folder, &[1, 1], &[page(0), page(1)]);
    let refused =
        |request: &PinRequest| pin(request, &ORDERS, &|| true, &|_| ()).unwrap_err().to_string();
    let message = refused(&PinRequest { always: vec!["f7".into()], ..request(path.clone(), 1) });
    assert!(message.contains("'f7' is no unit of the image"), "{message}");
    let always = vec!["f0".into()];
    let message = refused(&PinRequest { always, ram_bytes: 8, ..request(path.clone(), 1) });
    assert!(message.contains("takes 32 bytes of RAM, and there are 8"), "{message}");
    let calls = vec![("f9".into(), 1.0)];
    let message = refused(&PinRequest { calls, ..request(path, 1) });
    assert!(message.contains("the trace has no function f9"), "{message}");
}

/// Two handlers interrupt f0 in its middle, where it goes on at other times. f2 is distinguished from f3,
/// which follows it at once, and calls of f3 count from where it follows.
#[test]
fn adjacent_handlers_are_distinguished() {
    let folder = tempfile::tempdir().unwrap();
    let half = PAGE / 2;
    let first_half = |function: u32| Run { offset: function * PAGE, length: half };
    let rest = Run { offset: half, length: half };
    let mut runs = vec![page(1), page(0), page(1)];
    // Each handler comes by itself, after two instructions, and then both.
    let (begun, left) = (Run { offset: 0, length: 8 }, Run { offset: 8, length: PAGE - 8 });
    runs.extend([
        first_half(0),
        first_half(2),
        rest,
        page(1),
        first_half(0),
        first_half(3),
        rest,
        page(1),
    ]);
    runs.extend([begun, first_half(2), left, page(1), begun, first_half(3), left, page(1)]);
    runs.extend([first_half(0), first_half(2), first_half(3), rest, page(1)]);
    // A handler comes before the target of a jump of f0, which is not where the jump stands.
    let jump = Run { offset: half, length: 8 };
    runs.extend([
        first_half(0),
        jump,
        first_half(2),
        first_half(3),
        rest,
        page(1),
        page(0),
        page(1),
    ]);
    let path = written(&folder, &[1, 1, 1, 1], &runs);
    let calls = |function: &str| {
        let calls = vec![(function.to_owned(), 1e9)];
        let pinning = pinned(&PinRequest { calls, ..request(path.clone(), 1) });
        let notes = pinning.coverage.notes.into_iter().filter(|note| note.contains(" calls of "));
        (pinning.calls[0].clone(), notes.collect::<Vec<_>>())
    };
    let (f2, notes) = calls("f2");
    let (f3, _) = calls("f3");
    assert_eq!((f2.calls, f3.calls, notes.len()), (4, 4, 1), "{notes:?}");
    let note = "2 of 4 recorded calls of f2 are counted up to where f3 follows";
    assert!(notes[0].starts_with(note), "{notes:?}");
    assert!((f2.before_ns - f3.before_ns).abs() < 1e-6, "{f2:?} {f3:?}");
}

/// Runs of f0, which calls f2 and f3 on conditions, then f2 always.
fn conditional_calls(runs: &mut Vec<Run>) {
    let half = PAGE / 2;
    let first_half = |function: u32| Run { offset: function * PAGE, length: half };
    for turn in 0..8 {
        let mut from = 0;
        if turn % 2 == 0 {
            runs.extend([Run { offset: from, length: 8 - from }, first_half(2), first_half(3)]);
            from = 8;
        }
        if turn % 3 == 0 {
            runs.extend([Run { offset: from, length: half - from }, first_half(3)]);
            from = half;
        }
        runs.extend([Run { offset: from, length: 24 - from }, first_half(2), first_half(3)]);
        runs.push(Run { offset: 24, length: 8 });
    }
}

/// Runs of f0, which calls f1 and f2. Both jump at their ends on conditions: f1 to f2, f2 to f3.
fn conditional_jumps(runs: &mut Vec<Run>) {
    let half = PAGE / 2;
    let first_half = |function: u32| Run { offset: function * PAGE, length: half };
    for turn in 0..8 {
        runs.push(Run { offset: 0, length: 8 });
        runs.extend(if turn % 2 == 0 { vec![first_half(1), first_half(2)] } else { vec![page(1)] });
        runs.push(Run { offset: 8, length: 8 });
        runs.extend(if turn % 3 == 0 { vec![page(2)] } else { vec![first_half(2), first_half(3)] });
        runs.push(Run { offset: half, length: half });
    }
}

/// Runs of f0, which calls f2. That loops to its first byte, and jumps to f3, which loops, too.
fn loops_to_the_start(runs: &mut Vec<Run>) {
    let half = PAGE / 2;
    let first_half = |function: u32| Run { offset: function * PAGE, length: half };
    for _ in 0..8 {
        runs.push(Run { offset: 0, length: 8 });
        runs.extend([
            first_half(2),
            page(2),
            first_half(2),
            first_half(2),
            page(2),
            first_half(3),
            page(3),
            first_half(3),
            page(3),
        ]);
        runs.push(Run { offset: 8, length: PAGE - 8 });
    }
}

/// Conditional jumps come after an instruction that goes on at other times, as interrupts do. A call
/// with one of them at its end counts up to that end.
#[test]
fn code_with_a_conditional_jump_is_no_handler() {
    for made in [conditional_calls, conditional_jumps, loops_to_the_start] {
        let folder = tempfile::tempdir().unwrap();
        let mut runs = Vec::new();
        made(&mut runs);
        let path = written(&folder, &[1, 1, 1, 1], &runs);
        let calls = vec![("f2".to_owned(), 1e9)];
        let pinning = pinned(&PinRequest { calls, ..request(path, 1) });
        let notes = pinning.coverage.notes.join("\n");
        assert!(notes.contains("recorded calls of f2 end in f3"), "{notes}");
        assert!(!notes.contains("are counted up to"), "{notes}");
    }
}

/// A search that counts evaluations keeps its best choice if it is stopped.
#[test]
fn evaluations_can_be_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let runs: Vec<Run> = (0..100).flat_map(|_| [page(0), page(1), page(2), page(3)]).collect();
    let path = written(&folder, &[1, 1, 1, 1], &runs);
    let request = PinRequest { order: true, ..request(path, 1) };
    for patience in [0, 10, 1000] {
        let calls = AtomicU64::new(0);
        let stopped = || calls.fetch_add(1, Ordering::Relaxed) >= patience;
        let limit = SearchLimit::Evaluations { all: u64::MAX, stopped: &stopped };
        let pinning = pin(&request, &limit, &|| true, &|_| ()).unwrap();
        assert!(!pinning.is_finished);
        assert!(pinning.time_ratio <= 1.0);
    }
    assert!(pinned(&request).is_finished);
}

/// A function that follows another may have been jumped to at its end: a note says so.
#[test]
fn a_possible_jump_counts_and_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let half = PAGE / 2;
    let first_half = |function: u32| Run { offset: function * PAGE, length: half };
    let rest = Run { offset: half, length: half };
    let runs = [
        first_half(0),
        first_half(2),
        first_half(3),
        rest,
        page(1),
        first_half(0),
        first_half(2),
        rest,
        page(1),
    ];
    let path = written(&folder, &[1, 1, 1, 1], &runs);
    let calls = vec![("f2".to_owned(), 1e9)];
    let pinning = pinned(&PinRequest { calls, ..request(path, 1) });
    assert_eq!(pinning.calls[0].calls, 2);
    let expected = "1 of 2 recorded calls of f2 end in f3: a jump at its end";
    let notes = &pinning.coverage.notes;
    assert!(notes.iter().any(|note| note.starts_with(expected)), "{notes:?}");
}

/// Misses of a cache with ways, for functions of any length: those of `order` lie one behind another,
/// the others in RAM.
fn ordered_misses(bytes: &[u32], runs: &[Run], order: &[usize], ways: usize) -> u64 {
    let lines = FRAMES as usize + 1;
    let mut moved = Vec::new();
    for (function, length) in bytes.iter().enumerate() {
        let place = order.iter().position(|other| *other == function);
        let start = place.map(|at| order[..at].iter().map(|one| bytes[*one]).sum::<u32>());
        moved.extend((0..*length).map(|at| start.map(|start| start + at)));
    }
    let sets = lines / ways;
    let mut cached: Vec<Vec<u32>> = vec![Vec::new(); sets];
    let mut misses = 0;
    for at in runs.iter().flat_map(|run| run.offset..=run.last()) {
        let Some(to) = moved[at as usize] else { continue };
        let page = to / PAGE;
        let set = &mut cached[page as usize % sets];
        match set.iter().position(|other| *other == page) {
            Some(place) => drop(set.remove(place)),
            None => {
                misses += 1;
                set.truncate(ways - 1);
            }
        }
        set.insert(0, page);
    }
    misses
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Pinning and ordering together are never worse than either alone. Each function is either pinned
    /// or ordered, and counts are those of a plain cache.
    #[test]
    fn an_order_and_what_is_pinned_are_no_worse_than_either(
        sizes in prop::collection::vec(1u32..12, 3..8),
        jumps in prop::collection::vec((0u32..96, 1u32..60), 30..200),
        ram_bytes in 8u32..120,
        ways in prop::sample::select(vec![1usize, 2, 4]),
    ) {
        // Multiples of the largest alignment that is inferred: no order has gaps.
        let bytes: Vec<u32> = sizes.iter().map(|size| size * 16).collect();
        let all: u32 = bytes.iter().sum();
        let run = |(at, length): &(u32, u32)| {
            let offset = at * 8 % all;
            Run { offset, length: (*length).min(all - offset) }
        };
        let runs: Vec<Run> = jumps.iter().map(run).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = written_bytes(&folder, &bytes, &runs);
        let spec = DesignSpec {
            cache_bytes: ((FRAMES + 1) * PAGE).into(),
            ways: (ways < 4).then_some(ways as u32),
            ..design("lru").written().clone()
        };
        let alone = PinRequest {
            design: Design::new(spec).unwrap(),
            ram_bytes: ram_bytes.into(),
            ..request(path, 1)
        };
        let pinning = pinned(&PinRequest { order: true, ..alone.clone() });
        let together = pinning.together.clone().unwrap();
        prop_assert!(pinning.time_ratio <= together.pinning_alone_ratio);
        prop_assert!(pinning.time_ratio <= together.order_alone_ratio);
        prop_assert!(together.order_alone_ratio <= 1.0);
        prop_assert_eq!(together.pinning_alone_ratio, pinned(&alone).time_ratio);
        let number = |name: &String| name[1..].parse::<usize>().unwrap();
        let order: Vec<usize> = together.order.iter().map(number).collect();
        let mut both: Vec<usize> = pinning.pinned.iter().map(number).chain(order.clone()).collect();
        both.sort_unstable();
        prop_assert_eq!(both, (0..bytes.len()).collect::<Vec<_>>());
        let misses_of = |rows: &[flashpager::simulation::ResultRow]| rows[0].evaluation.counts.misses;
        prop_assert_eq!(misses_of(&pinning.after), ordered_misses(&bytes, &runs, &order, ways));
        let recorded: Vec<usize> = (0..bytes.len()).collect();
        prop_assert_eq!(misses_of(&pinning.before), ordered_misses(&bytes, &runs, &recorded, ways));
        prop_assert!(pinning.ram_bytes <= u64::from(ram_bytes));
    }
}

/// Five functions of one line each take turns in one of four sets of one way. They conflict no more if
/// one is pinned and each of the others lies in a set of its own; pinning or ordering alone does not
/// achieve that.
#[test]
fn an_order_ends_the_fights_that_pinning_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let runs: Vec<Run> =
        (0..200).flat_map(|_| [page(0), page(4), page(8), page(12), page(16)]).collect();
    let path = written(&folder, &[1; 17], &runs);
    let spec = DesignSpec {
        cache_bytes: (4 * PAGE).into(),
        ways: Some(1),
        ..design("lru").written().clone()
    };
    let request =
        PinRequest { design: Design::new(spec).unwrap(), order: true, ..request(path, 1) };
    let pinning = pinned(&request);
    let together = pinning.together.unwrap();
    assert_eq!(pinning.pinned.len(), 1);
    assert_eq!(pinning.after[0].evaluation.counts.misses, 4);
    assert!(pinning.time_ratio < 0.5 * together.pinning_alone_ratio);
    assert!(pinning.time_ratio < 0.5 * together.order_alone_ratio);
}
