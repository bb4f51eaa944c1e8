//! Attribution against a slow and obvious one: byte by byte, fault by fault.

use std::path::{Path, PathBuf};

use flashpager::attribution::{Attribution, GroupBy, attribute};
use flashpager::cost::{Handler, Ram};
use flashpager::design::Design;
use flashpager::replay::register::RegisterCase;
use flashpager::replay::{Counts, Events, Fault, FaultClass, replay};
use flashpager::spec::DesignSpec;
use flashpager::trace::{Image, Section, Symbol};
use flashpager::trace::{MemoryTrace, Run, Trace, TraceFile, TraceInfo, TraceWriter};
use flashpager::{Error, Result};
use proptest::prelude::*;
use tempfile::TempDir;

fn run(offset: u32, length: u32) -> Run {
    Run { offset, length }
}

fn symbol(name: &str, offset: u32, bytes: u32) -> Symbol {
    Symbol { name: name.into(), offset, bytes }
}

fn section(name: &str, address: u64, offset: u32, bytes: u32) -> Section {
    Section { name: name.into(), address, offset, bytes }
}

fn design(register: &str, policy: &str) -> Design {
    let (part, bus) = match register.starts_with("double-buffer") {
        true => ("KFG1G16Q2M", "66MHz-x16"),
        false => ("MT29F2G08AAC", "33MHz-x8"),
    };
    Design::new(DesignSpec {
        ways: None,
        prefetch_lines: None,
        line_fetch: "whole".into(),
        store: "plain".into(),
        classes: None,
        read_mode: None,
        port: None,
        architecture: None,
        count_commands: false,
        part: Some(part.into()),
        bus: Some(bus.into()),
        clip_bus: true,
        cache_bytes: 256,
        cache_page_bytes: 64,
        flash_page_bytes: Some(1024),
        register: Some(register.into()),
        codeword_bytes: None,
        tag_bytes: None,
        policy: policy.into(),
        ram: Some(Ram { t_read_ns: 30.0, t_write_ns: 30.0 }),
        handler: Some(Handler {
            lookup_ns: 10.0,
            pre_process_ns: 700.0,
            walk_step_ns: 20.0,
            ..Handler::default()
        }),
        nor: None,
        processor: None,
        schedule: "sequential".into(),
        reference_bit: "hardware".into(),
        critical_block_bytes: None,
        icache: None,
        tlb: None,
    })
    .unwrap()
}

/// Two files with symbols that nest, overlap, leave gaps, or have no length.
fn info() -> TraceInfo {
    let images = vec![
        Image {
            path: "/bin/program".into(),
            build_id: String::new(),
            offset: 0,
            bytes: 900,
            sections: vec![section(".init", 0x100, 0, 100), section(".text", 0x1000, 128, 772)],
            symbols: vec![
                symbol("_init", 10, 40),
                symbol("main", 128, 300),
                symbol("inner", 200, 50),
                symbol("late", 400, 100),
                symbol("unknown_length", 600, 0),
                symbol("last", 700, 0),
            ],
        },
        Image {
            path: "lib/libx.so.1".into(),
            build_id: String::new(),
            offset: 1024,
            bytes: 1000,
            sections: vec![section(".text", 0x40, 1024, 1000)],
            symbols: vec![symbol("_ZN1a1bEv", 1030, 500), symbol("main", 1700, 200)],
        },
    ];
    TraceInfo { images, ..TraceInfo::default() }
}

/// Name and image of the owner of one byte, searched in the description.
fn slow_owner(info: &TraceInfo, byte: u32) -> (String, String) {
    let within = |start: u32, bytes: u32| (start..start + bytes).contains(&byte);
    let Some(image) = info.images.iter().find(|image| within(image.offset, image.bytes)) else {
        return ("(no symbol)".into(), String::new());
    };
    let file = Path::new(&image.path).file_name().unwrap().to_string_lossy().into_owned();
    let section = image.sections.iter().find(|s| within(s.offset, s.bytes));
    let owner = image.symbols.iter().enumerate().rfind(|(index, symbol)| {
        let next = image.symbols.get(index + 1).map_or(u32::MAX, |next| next.offset);
        let end = section.map_or(u32::MAX, |section| section.offset + section.bytes);
        let reach = next.min(end).saturating_sub(symbol.offset);
        within(symbol.offset, if symbol.bytes > 0 { symbol.bytes } else { reach })
    });
    let name = match (owner, section) {
        (Some((_, symbol)), _) if symbol.name == "_ZN1a1bEv" => "a::b()".into(),
        (Some((_, symbol)), _) => symbol.name.clone(),
        (None, Some(section)) => format!("{} of {file}", section.name),
        (None, None) => format!("(no section) of {file}"),
    };
    (name, image.path.clone())
}

fn attributed(trace: &dyn Trace, info: &TraceInfo, design: &Design, by: GroupBy) -> Attribution {
    attribute(trace, info, design, by, &[], &|| true).unwrap()
}

/// The counts of all owners add up exactly to those of the whole.
fn assert_complete(attribution: &Attribution, counts: &Counts) {
    let sum =
        |of: fn(&flashpager::attribution::Owner) -> u64| attribution.owners.iter().map(of).sum();
    let parts: [u64; 10] = [
        sum(|o| o.misses),
        sum(|o| o.loads),
        sum(|o| o.other_page),
        sum(|o| o.other_buffer),
        sum(|o| o.forward),
        sum(|o| o.backward),
        sum(|o| o.column_changes),
        sum(|o| o.bytes_fetched),
        sum(|o| o.bytes_skipped),
        sum(|o| o.bytes_executed),
    ];
    let whole = [
        counts.misses,
        counts.loads,
        counts.other_page,
        counts.other_buffer,
        counts.forward,
        counts.backward,
        counts.column_changes,
        counts.bytes_fetched,
        counts.bytes_skipped,
        counts.bytes_read,
    ];
    assert_eq!(parts, whole);
    assert_eq!(attribution.evaluation.counts, counts.summary());
    let time = attribution.evaluation.time;
    let lookups = counts.references as f64 * 10.0;
    let faults = time.time_ns - time.read_ns - lookups;
    assert!(
        (attribution.fault_ns - faults).abs() <= 1e-9 * time.time_ns,
        "{} {faults}",
        attribution.fault_ns
    );
    let owners: f64 = attribution.owners.iter().map(|owner| owner.fault_ns).sum();
    assert!((owners - faults).abs() <= 1e-9 * time.time_ns);
}

fn check(runs: Vec<Run>, register: &str, policy: &str) {
    let (info, design) = (info(), design(register, policy));
    let trace = MemoryTrace::new(runs.clone());
    let attribution = attributed(&trace, &info, &design, GroupBy::Symbol);

    let mut faults: Vec<Fault> = Vec::new();
    let mut sink = |_: usize, fault: &Fault| faults.push(*fault);
    let events = Events { critical_block_bytes: None, sink: &mut sink, begun: None, words: None };
    let registers = [design.register()];
    let (counts, _) = replay(&trace, design.cache(), &registers, &|| true, Some(events)).unwrap();
    let counts = &counts[0];
    assert_complete(&attribution, counts);
    for owner in &attribution.owners {
        let is_its = |byte: u32| {
            slow_owner(&info, byte) == (owner.info.name.clone(), owner.info.image.clone())
        };
        let count_of = |test: fn(&Fault) -> bool| {
            faults.iter().filter(|f| is_its(f.offset) && test(f)).count() as u64
        };
        assert_eq!(owner.misses, count_of(|_| true), "{}", owner.info.name);
        assert_eq!(owner.loads, count_of(|f| f.access.load), "{}", owner.info.name);
        assert_eq!(owner.backward, count_of(|f| f.access.case == RegisterCase::Backward));
        let executed = runs.iter().flat_map(|run| run.offset..=run.last()).filter(|b| is_its(*b));
        assert_eq!(owner.bytes_executed, executed.count() as u64, "{}", owner.info.name);
        let code = (0..trace.image_bytes() as u32).filter(|byte| is_its(*byte));
        assert_eq!(owner.info.code_bytes, code.count() as u64, "{}", owner.info.name);
        let price = |fault: &Fault| {
            design.prices().fault_ns(&FaultClass::of(&fault.access, fault.search), 64)
        };
        let ns: f64 = faults.iter().filter(|f| is_its(f.offset)).map(price).sum();
        assert!((owner.fault_ns - ns).abs() <= 1e-9 * ns, "{}", owner.info.name);
    }
    for by in [GroupBy::Image, GroupBy::Symbol] {
        assert_complete(&attributed(&trace, &info, &design, by), counts);
    }
}

#[test]
fn every_owner_of_a_hand_made_image() {
    let runs = vec![run(0, 128), run(128, 772), run(890, 300), run(1100, 800), run(1900, 200)];
    let trace = MemoryTrace::new(runs.clone());
    let attribution = attributed(&trace, &info(), &design("sequential", "lru"), GroupBy::Symbol);
    let mut names: Vec<(&str, u64)> =
        attribution.owners.iter().map(|o| (o.info.name.as_str(), o.info.code_bytes)).collect();
    names.sort_unstable();
    // `late` takes the last 28 bytes of `main`, `inner` 50 of its middle.
    let expected = [
        ("(no section) of program", 28),
        ("(no symbol)", 124 + 76),
        (".init of program", 60),
        (".text of libx.so.1", 6 + 170 + 124),
        (".text of program", 100),
        ("_init", 40),
        ("a::b()", 500),
        ("inner", 50),
        ("last", 200),
        ("late", 100),
        ("main", 200),
        ("main", 300 - 50 - 28),
        ("unknown_length", 100),
    ];
    assert_eq!(names, expected);
    check(runs, "sequential", "lru");
}

#[test]
fn a_byte_that_faults_names_its_owner() {
    // Two functions in different flash pages, in a cache of one page.
    let mut spec = design("sequential", "lru").spec();
    spec.cache_bytes = 64;
    let design = Design::new(spec).unwrap();
    let runs: Vec<Run> = (0..10).flat_map(|_| [run(220, 8), run(1704, 8)]).collect();
    let attribution = attributed(&MemoryTrace::new(runs), &info(), &design, GroupBy::Symbol);
    let rows: Vec<(&str, &str, u64, u64, u64)> = attribution
        .owners
        .iter()
        .map(|o| (o.info.name.as_str(), o.info.image.as_str(), o.misses, o.loads, o.bytes_fetched))
        .collect();
    // Columns 192 and 640: what lies before them is fetched, too.
    let expected = [
        ("main", "lib/libx.so.1", 10, 10, 10 * (640 + 64)),
        ("inner", "/bin/program", 10, 10, 10 * (192 + 64)),
    ];
    assert_eq!(rows, expected);
    assert!(attribution.notes.is_empty());
}

#[test]
fn traces_that_name_nothing() {
    let trace = MemoryTrace::new(vec![run(0, 100), run(500, 20)]);
    let design = design("sequential", "lru");
    let attribution = attributed(&trace, &TraceInfo::default(), &design, GroupBy::Symbol);
    assert_eq!(attribution.owners.len(), 1);
    assert_eq!(attribution.owners[0].info.name, "(no symbol)");
    assert_eq!(attribution.notes.len(), 1);
    let none = attribute(&trace, &TraceInfo::default(), &design, GroupBy::Line, &[], &|| true);
    assert!(none.unwrap_err().to_string().contains("names no program"));

    let mut stripped = info();
    stripped.images.iter_mut().for_each(|image| image.symbols.clear());
    let attribution = attributed(&trace, &stripped, &design, GroupBy::Symbol);
    assert!(
        attribution.notes[0].contains("of program that no symbol names"),
        "{:?}",
        attribution.notes
    );
}

#[test]
fn faults_that_go_on_at_once_belong_to_no_owner() {
    let trace = MemoryTrace::new(vec![run(0, 100)]);
    let ahead = design("double-buffer-prefetch", "lru");
    let none = attribute(&trace, &info(), &ahead, GroupBy::Symbol, &[], &|| true);
    assert!(none.unwrap_err().to_string().contains("load ahead"));
}

#[test]
fn a_stopped_attribution_returns_an_error() {
    let trace = MemoryTrace::new(vec![run(0, 100)]);
    let stopped =
        attribute(&trace, &info(), &design("sequential", "lru"), GroupBy::Symbol, &[], &|| false);
    assert!(matches!(stopped, Err(Error::Interrupted)));
}

#[test]
fn descriptions_from_strangers_do_no_harm() {
    let mut info = info();
    info.images[0].offset = u32::MAX - 5;
    info.images[0].sections.push(section("\u{1b}[2J", u64::MAX - 3, u32::MAX - 1, u32::MAX));
    info.images[1].symbols.push(symbol("", u32::MAX, u32::MAX));
    info.images[1].symbols.push(symbol(&"x".repeat(1 << 20), 0, 0));
    info.images[1].path = String::new();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.trace");
    let mut writer = TraceWriter::create(&path, false).unwrap();
    for at in [0, 800, 1500, 1999] {
        writer.push(run(at, 40)).unwrap();
    }
    writer.finish(info).unwrap();
    let trace = TraceFile::open(&path).unwrap();
    for by in [GroupBy::Symbol, GroupBy::Image] {
        let attribution = attributed(&trace, trace.info(), &design("sequential", "lru"), by);
        assert_eq!(attribution.owners.iter().map(|o| o.bytes_executed).sum::<u64>(), 160);
        assert!(attribution.owners.iter().all(|o| o.info.name.len() < 5000));
    }
    let lines =
        attribute(&trace, trace.info(), &design("sequential", "lru"), GroupBy::Line, &[], &|| true);
    assert!(!lines.unwrap_err().to_string().contains(char::is_control));
}

/// A program with lines, one function of which is inlined in another.
const PROGRAM: &str = "
static inline int squared(int number) {
    return number * number;
}

int sum_of_squares(const int *numbers, int count) {
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += squared(numbers[i]);
    return sum;
}

int main(int argc, char **argv) {
    const int numbers[] = {3, 4, argc};
    return sum_of_squares(numbers, 3) == 25;
}
";

/// Compiles [`PROGRAM`] with the compiler that links the tests, and describes it.
fn program_with_lines(folder: &Path, dwarf: &str) -> (Vec<u8>, TraceInfo) {
    let (source, path) = (folder.join("squares.c"), folder.join("squares"));
    std::fs::write(&source, PROGRAM).unwrap();
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-O1", dwarf, "-o"]).args([&path, &source]);
    assert!(compiler.status().unwrap().success());
    let elf = flashpager::binary::elf::ElfFile::read(&path).unwrap();
    let image = elf.place(&path, &[".text".into()], 0).unwrap();
    (std::fs::read(&path).unwrap(), TraceInfo { images: vec![image], ..TraceInfo::default() })
}

fn by_line(path: PathBuf, info: &TraceInfo) -> Result<Attribution> {
    let start = info.images[0].symbols.iter().find(|s| s.name == "sum_of_squares").unwrap();
    let trace = MemoryTrace::new(vec![run(start.offset, start.bytes.max(64))]);
    attribute(&trace, info, &design("sequential", "lru"), GroupBy::Line, &[path], &|| true)
}

#[test]
fn damaged_programs_give_an_error_or_lines() {
    for dwarf in ["-gdwarf-4", "-gdwarf-5"] {
        damaged_program_gives_an_error_or_lines(dwarf);
    }
}

fn damaged_program_gives_an_error_or_lines(dwarf: &str) {
    let folder = TempDir::new().unwrap();
    let (bytes, info) = program_with_lines(folder.path(), dwarf);
    let attribution = by_line(info.images[0].path.clone().into(), &info).unwrap();
    let own = attribution
        .owners
        .iter()
        .find(|o| o.info.file.as_deref().is_some_and(|f| f.ends_with("squares.c")));
    assert!(own.is_some_and(|o| o.info.function.as_deref() == Some("sum_of_squares")));

    // Only sections of debug information, so that the damage hits them.
    let whole = folder.path().join("debug");
    let copied = std::process::Command::new("objcopy")
        .args(["--only-keep-debug"])
        .args([Path::new(&info.images[0].path), &whole])
        .status();
    let bytes = if copied.is_ok_and(|status| status.success()) {
        assert!(!by_line(whole.clone(), &info).unwrap().owners.is_empty());
        std::fs::read(&whole).unwrap()
    } else {
        bytes
    };
    let damaged = folder.path().join("damaged");
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for turn in 0..12 {
        let mut bad = bytes.clone();
        if turn % 3 == 0 {
            bad.truncate(random(bytes.len()));
        } else {
            for _ in 0..1 << (4 + turn) {
                let at = 64 + random(bad.len() - 64);
                bad[at] ^= 1 << random(8);
            }
        }
        std::fs::write(&damaged, &bad).unwrap();
        if let Err(error) = by_line(damaged.clone(), &info) {
            let text = error.to_string();
            assert!(!text.contains(char::is_control) && text.len() < 1000, "{text}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn as_the_slow_one_says(
        runs in prop::collection::vec((0_u32..2200, 1_u32..300), 1..60),
        register in prop::sample::select(vec![
            "sequential",
            "start-column",
            "random-column",
            "double-buffer",
        ]),
        policy in prop::sample::select(vec![
            "lru",
            "min",
            "clock",
            "fifo",
            "pa-clock(2)",
            "fifo-sc(2)",
            "pa-fifo-sc(2)",
        ]),
    ) {
        check(runs.into_iter().map(|(offset, length)| run(offset, length)).collect(), register, policy);
    }
}
