//! Whole functions of the card firmware: golden counts, the prices of counts, and refusals.
//!
//! `FLASHPAGER_UPDATE_GOLDEN=1 cargo test -p flashpager --test engine functions` writes the golden
//! counts anew.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use flashpager::Result;
use flashpager::design::Design;
use flashpager::functions::{EngineInstructions, FunctionDesign, FunctionRow, simulate};
use flashpager::replay::units::ALLOCATORS;
use flashpager::spec::DesignSpec;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/traces/{name}.trace"))
}

/// A design with a sequential register and a processor.
fn design(policy: &str, ram_bytes: u64, resident: &[&str]) -> FunctionDesign {
    let spec = DesignSpec {
        part: Some("K9F1208Q0B".into()),
        register: Some("sequential".into()),
        processor: Some("cortex-m3@64MHz".into()),
        ..DesignSpec::default()
    };
    FunctionDesign {
        design: Design::new(spec).unwrap(),
        allocator: policy.parse().unwrap(),
        ram_bytes,
        table_bytes: 0,
        resident: resident.iter().map(ToString::to_string).collect(),
        pin_bytes: 0,
        engine: EngineInstructions::default(),
    }
}

fn row(design: &FunctionDesign) -> Result<FunctionRow> {
    simulate(&example("card-firmware"), design, &|| true)
}

fn refusal(design: &FunctionDesign) -> String {
    row(design).unwrap_err().to_string()
}

#[test]
fn card_firmware_gives_its_golden_counts() {
    let mut text = String::new();
    for (policy, _) in ALLOCATORS {
        for (ram, resident) in [(2048, &[][..]), (4096, &[]), (2048, &["get32", "memcpy"])] {
            let row = row(&design(policy, ram, resident)).unwrap();
            let counts = serde_json::to_string(&row.counts).unwrap();
            writeln!(text, "{policy} {ram} {} {counts}", resident.join(",")).unwrap();
        }
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine/golden/functions.txt");
    if std::env::var_os("FLASHPAGER_UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    for (found, expected) in text.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(text.lines().count(), expected.lines().count());
}

/// The ranking that a prototype had on another build of this firmware.
#[test]
fn policies_rank_as_on_another_build() {
    for ram in [2048, 4096] {
        let loads = |policy: &&str| row(&design(policy, ram, &[])).unwrap().counts.misses;
        let order = ["farthest", "lru-run", "lru-compact", "second-chance", "fifo-ring", "buddy"];
        let loads: Vec<u64> = order.iter().map(loads).collect();
        assert!(loads.is_sorted(), "{ram}: {loads:?}");
    }
}

#[test]
fn time_is_the_sum_of_the_model() {
    let mut priced = design("lru-compact", 2048, &["get32"]);
    priced.engine = EngineInstructions { call: 10, return_: 7, load: 100 };
    let row = row(&priced).unwrap();
    let (counts, evaluation) = (&row.counts, &row.evaluation);
    let (time, prices) = (&evaluation.time, priced.design.prices());
    let instruction_ns = 1.4 / 0.064;
    let engine =
        10 * counts.calls + 7 * (counts.returns + counts.resident_returns) + 100 * counts.misses;
    let expected = counts.loads as f64 * prices.t_load_ns
        + counts.bytes_fetched as f64 * prices.t_byte_ns
        + (counts.bytes_written + counts.bytes_moved) as f64 * prices.ram.t_write_ns
        + (8_791_637 + engine) as f64 * instruction_ns;
    assert!((time.time_ns / expected - 1.0).abs() < 1e-9, "{} {expected}", time.time_ns);
    let added = evaluation.added_instructions.unwrap();
    assert!((added - engine as f64 / 8_791_637.0).abs() < 1e-12);
    let latency = &evaluation.latency;
    let loads = time.load_ns + time.fetch_ns + time.write_ns + time.handler_ns;
    assert!((latency.mean_fault_ns * counts.misses as f64 / loads - 1.0).abs() < 1e-9);
    assert!(latency.worst_fault_ns >= latency.p99_fault_ns && latency.p99_fault_ns > 0.0);
    assert_eq!(counts.resident_returns, 0, "get32 calls nothing");
    assert!(counts.bytes_moved > 0);
}

#[test]
fn ram_is_divided() {
    let mut divided = design("lru-run", 4096, &["main", "get32"]);
    divided.table_bytes = 9;
    let row = row(&divided).unwrap();
    assert_eq!((row.paged, row.resident.len()), (100, 2));
    assert_eq!((row.ram.resident_bytes, row.ram.table_bytes), (648, 900));
    assert_eq!(row.ram.heap_bytes, 4096 - 648 - 900);
    assert!(row.functions.iter().all(|one| one.name != "main"));
}

/// The answer is the replay with its functions resident. No other function by itself saves time, and
/// no function that was chosen costs any.
#[test]
fn functions_are_pinned_that_save_time() {
    let mut searched = design("lru-run", 2048, &["get32"]);
    searched.pin_bytes = 400;
    let found = row(&searched).unwrap();
    let bytes = found.ram.resident_bytes - 8;
    assert!(!found.pinned.is_empty() && bytes <= 400, "{bytes}");
    assert!(!found.pinned.contains(&"get32".to_owned()));
    let time_ns = |resident: &[&str]| {
        row(&design("lru-run", 2048, resident)).unwrap().evaluation.time.time_ns
    };
    let names: Vec<&str> = found.resident.iter().map(String::as_str).collect();
    assert_eq!(time_ns(&names), found.evaluation.time.time_ns);
    for pinned in &found.pinned {
        let without: Vec<&str> = names.iter().copied().filter(|name| name != pinned).collect();
        assert!(time_ns(&without) > found.evaluation.time.time_ns, "{pinned}");
    }
    for other in &found.functions {
        let name = other.name.as_str();
        if bytes + other.bytes <= 400 {
            let with = [names.clone(), vec![name]].concat();
            assert!(time_ns(&with) >= found.evaluation.time.time_ns, "{name}");
        }
    }
}

#[test]
fn pinning_does_not_replace_ram() {
    let mut small = design("lru-run", 400, &[]);
    small.pin_bytes = 4096;
    let refused = refusal(&small);
    assert!(refused.contains("into the 400 bytes that lru-run has"), "{refused}");
    assert!(refused.contains(", nor do 2 others: take more RAM, as pinning"), "{refused}");
}

/// Faults of a search that no other choice would mend are passed on.
#[test]
fn a_heap_that_is_too_large_is_refused_with_pinning_too() {
    let mut searched = design("lru-run", 1 << 40, &[]);
    let refused = refusal(&searched);
    searched.pin_bytes = 400;
    assert_eq!(refusal(&searched), refused);
    let mut interrupted = design("lru-run", 2048, &[]);
    interrupted.pin_bytes = 400;
    let stopped = simulate(&example("card-firmware"), &interrupted, &|| false);
    assert!(matches!(stopped, Err(flashpager::Error::Interrupted)), "{stopped:?}");
}

/// Functions of a codeword or more are no whole codewords, as they lie at any offset.
#[test]
fn codewords_are_checked_only_whole() {
    let all = row(&design("lru-run", 1 << 16, &[])).unwrap();
    let names = |is_small: bool| -> Vec<&str> {
        let some = all.functions.iter().filter(|one| is_small == (one.bytes < 512));
        some.map(|one| one.name.as_str()).collect()
    };
    let unchecked = |row: &FunctionRow| {
        let words = "less than its codeword of 512";
        let warns = row.evaluation.warnings.iter().any(|warning| warning.contains(words));
        assert_eq!(row.evaluation.ecc_unchecked, warns);
        warns
    };
    let large = row(&design("lru-run", 1 << 16, &names(true))).unwrap();
    assert!(large.functions.iter().all(|one| one.bytes >= 512) && large.counts.misses > 0);
    assert!(unchecked(&large) && unchecked(&all));
    let everything = [names(true), names(false)].concat();
    let resident = row(&design("lru-run", 1 << 16, &everything)).unwrap();
    assert_eq!(resident.counts.misses, 0);
    assert!(!unchecked(&resident));
    let mut whole = design("lru-run", 1 << 16, &[]);
    whole.design =
        Design::new(DesignSpec { codeword_bytes: Some(512), ..whole.design.spec().clone() })
            .unwrap();
    assert!(!unchecked(&row(&whole).unwrap()));
}

/// The comparison without software leaves out calls, returns and the software of loads, but not the
/// commands of loads.
#[test]
fn the_ratio_without_software_is_finite() {
    let priced = row(&design("lru-run", 2048, &[])).unwrap();
    let evaluation = &priced.evaluation;
    let software_ns =
        evaluation.time.lookups_ns + priced.counts.misses as f64 * evaluation.prices.load_ns;
    let expected =
        evaluation.nor.as_ref().unwrap().nor_time_ns / (evaluation.time.time_ns - software_ns);
    assert!((evaluation.nor_ratio_free_software.unwrap() / expected - 1.0).abs() < 1e-12);
    let names: Vec<&str> = priced.functions.iter().map(|one| one.name.as_str()).collect();
    let mut free = design("lru-run", 1 << 16, &names);
    free.design =
        Design::new(DesignSpec { processor: None, ..free.design.spec().clone() }).unwrap();
    let free = row(&free).unwrap().evaluation;
    assert!(free.nor_ratio_free_software.unwrap().is_finite(), "{}", free.time.time_ns);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let small = refusal(&design("lru-run", 600, &[]));
    assert!(small.starts_with("main of 640 bytes does not fit into the 600 bytes"), "{small}");
    assert!(small.contains("--resident main"), "{small}");
    let buddy = refusal(&design("buddy", 1000, &[]));
    assert!(buddy.contains("into the 512 bytes that buddy has for a function"), "{buddy}");
    let taken = refusal(&design("lru-run", 600, &["main"]));
    assert!(taken.contains("resident functions take 640"), "{taken}");
    let unknown = refusal(&design("lru-run", 2048, &["memcpyy"]));
    assert!(unknown.contains("did you mean memcpy"), "{unknown}");
    let nameless = simulate(&example("phalanx"), &design("lru-run", 2048, &[]), &|| true);
    let nameless = nameless.unwrap_err().to_string();
    assert!(nameless.contains("names no functions"), "{nameless}");
    let bytecode = simulate(&example("java/sensors"), &design("lru-run", 2048, &[]), &|| true);
    let bytecode = bytecode.unwrap_err().to_string();
    assert!(bytecode.contains("is bytecode"), "{bytecode}");
}

#[test]
fn designs_of_pages_are_refused() {
    let with = |change: &dyn Fn(&mut DesignSpec), words: &str| {
        let mut spec = DesignSpec { part: Some("W25N01GV".into()), ..DesignSpec::default() };
        change(&mut spec);
        let design =
            FunctionDesign { design: Design::new(spec).unwrap(), ..design("lru-run", 4096, &[]) };
        let refused = refusal(&design);
        assert!(refused.contains(words) && refused.contains("--unit page"), "{refused}");
    };
    with(&|spec| spec.part = Some("W25Q128JV".into()), "read in place");
    with(&|spec| spec.store = "homes".into(), "homes");
    with(&|spec| (spec.tag_bytes, spec.codeword_bytes) = (Some(8), Some(512)), "tags");
    with(&|spec| spec.schedule = "parallel".into(), "the schedule parallel");
    with(
        &|spec| {
            (spec.policy, spec.reference_bit) = ("clock".into(), "emulated".into());
        },
        "an emulated reference bit",
    );
}
