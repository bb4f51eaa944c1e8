//! The catalog of parts: every file is in order and every operation has a price, the chip of the
//! flash-media article is exact to the nanosecond, and some rules hold for any part on any bus.

use flashpager::media::bus::{Bus, WIDTHS};
use flashpager::media::operation::{Operation, OperationKind, OperationRequest, StepKind};
use flashpager::media::part::{self, Complaint, MemoryKind, Part};
use proptest::prelude::*;

fn part_named(name: &str) -> Part {
    part::find(name).unwrap()
}

fn bus(text: &str) -> Bus {
    text.parse().unwrap()
}

fn request(kind: OperationKind) -> OperationRequest<'static> {
    OperationRequest { kind, bytes: None, mode: None, bus: None, waits: false }
}

fn operation(part: &Part, request: &OperationRequest<'_>) -> flashpager::Result<Operation> {
    part.medium()?.operation(part, request)
}

/// The parts whose time per byte is known only on the paper's two buses.
const WITHOUT_MEDIUM: [&str; 1] = ["NOR-CARDIS"];

#[test]
fn every_part_has_the_table_of_one_interface() {
    let parts = part::catalog().unwrap();
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../parts")).unwrap();
    let is_part = |path: &std::path::Path| path.extension().is_some_and(|suffix| suffix == "toml");
    let files = files.filter(|file| is_part(&file.as_ref().unwrap().path()));
    assert_eq!(parts.len(), files.count());
    for part in parts {
        let tables = [
            part.sdr.is_some(),
            part.onenand.is_some(),
            part.spi.is_some(),
            part.parallel.is_some(),
            part.sd.is_some(),
        ];
        let count = tables.iter().filter(|given| **given).count();
        assert_eq!(count, usize::from(!WITHOUT_MEDIUM.contains(&part.name.as_str())));
        if let Ok(medium) = part.medium() {
            assert!(medium.kinds().contains(&part.kind), "{}", part.name);
        }
        if part.kind == MemoryKind::Nand {
            assert!(part.spare_bytes.is_some() && part.t_r_ns.is_some(), "{}", part.name);
        }
    }
}

#[test]
fn every_number_has_a_source() {
    for part in part::catalog().unwrap() {
        for fact in part.facts() {
            let source = fact.source.trim();
            assert!(source.len() >= 10, "{}: {} = {}", part.name, fact.field, fact.value);
            assert_eq!(fact.unverified, source.contains("unverified"));
        }
    }
}

#[test]
fn every_operation_is_priced_or_names_what_is_not_known() {
    let mut unknown = Vec::new();
    for part in part::catalog().unwrap() {
        let Ok(medium) = part.medium() else { continue };
        let modes = medium.modes();
        for kind in medium.operations(part) {
            for mode in std::iter::once(None).chain(modes.iter().map(|mode| Some(mode.as_str()))) {
                match operation(part, &OperationRequest { mode, ..request(kind) }) {
                    Ok(operation) => {
                        let place = format!("{} {} {mode:?}", part.name, kind.name());
                        assert!(operation.ns().is_finite() && operation.ns() > 0.0, "{place}");
                        assert_eq!(operation.bytes() == 0, kind == OperationKind::Erase, "{place}");
                        assert!(operation.data_bytes <= operation.bytes(), "{place}");
                    }
                    Err(error) => {
                        let field = error.to_string();
                        let field = field
                            .split_once(&format!("{} has no ", part.name))
                            .and_then(|(_, rest)| rest.split_once(':'))
                            .map_or_else(|| panic!("{error}"), |(field, _)| field.to_owned());
                        unknown.push(format!("{} {}", part.name, field));
                    }
                }
            }
        }
    }
    unknown.dedup();
    // Only a cache read needs t_RCBSY, and only the article states it.
    unknown.retain(|entry| !entry.ends_with("sdr.t_rcbsy_ns"));
    let honest = [
        "NP5Q128A t_bers_ns",
        "NP8P128A t_bers_ns",
        "STM32F4-FLASH t_prog_ns",
        "STM32F4-FLASH t_bers_ns",
        "STM32F7-FLASH t_prog_ns",
        "STM32F7-FLASH t_bers_ns",
        "STM32H7-FLASH t_prog_ns",
        "STM32H7-FLASH t_bers_ns",
        "W35N01JW t_prog_ns",
        "W35N01JW t_bers_ns",
    ];
    assert_eq!(unknown, honest);
}

fn steps(operation: &Operation) -> Vec<f64> {
    operation.steps.iter().map(|step| step.ns).collect()
}

/// The sums of Hu (2010), section 1.1.
#[test]
fn the_articles_chip_to_the_nanosecond() {
    let chip = part_named("MT29F8G08");
    assert_eq!(chip.whole_page_bytes(), 2112);
    let read = operation(&chip, &request(OperationKind::Read)).unwrap();
    assert_eq!(steps(&read), [17.0, 128.0, 17.0, 25_000.0, 52_820.0]);
    assert_eq!(read.ns(), 77_982.0);
    assert_eq!((read.bytes(), read.data_bytes), (2112, 2048));
    let program = operation(&chip, &request(OperationKind::Program)).unwrap();
    assert_eq!(steps(&program), [17.0, 128.0, 52_805.0, 17.0, 220_000.0, 17.0, 142.0]);
    assert_eq!(program.ns(), 273_126.0);
    // 60h, three cycles of the row, D0h, t_BERS, and the status.
    let erase = operation(&chip, &request(OperationKind::Erase)).unwrap();
    assert_eq!(steps(&erase), [17.0, 78.0, 17.0, 500_000.0, 17.0, 142.0]);
    // The waits that the article leaves out: t_WB, and t_ADL before data.
    let waiting =
        |kind| operation(&chip, &OperationRequest { waits: true, ..request(kind) }).unwrap().ns();
    assert_eq!(waiting(OperationKind::Read), 78_082.0);
    assert_eq!(waiting(OperationKind::Program), 273_296.0);
    // The AT91SAM9263: 8 cycles of 120 MHz.
    let slow = OperationRequest { bus: Some(bus("120MHz/8-x8")), ..request(OperationKind::Read) };
    let out = operation(&chip, &slow).unwrap().steps.pop().unwrap();
    assert!((out.ns - (2112.0 * 8e3 / 120.0 + 20.0)).abs() < 1e-6);
}

/// The time of a skip by Linux's `nand_timings.c`: 05h, four cycles, E0h, t_CCS.
#[test]
fn a_column_change_by_timing_mode() {
    let text = include_str!("../../../../parts/TC58NVG0S3H.toml");
    for (mode, ns) in [(0, 1100.0), (5, 680.0)] {
        let text = text
            .replace("timing_mode = { value = 4", &format!("timing_mode = {{ value = {mode}"))
            .lines()
            .filter(|line| !line.starts_with("t_rc_ns"))
            .collect::<Vec<_>>()
            .join("\n");
        let part = Part::parse(&text, "mine.toml").unwrap();
        assert_eq!(part.column_change_ns(bus("1000MHz-x8")), Some(ns));
    }
    assert_eq!(part_named("K9F1208Q0B").column_change_ns(bus("33MHz-x8")), None);
}

/// The time in the datasheet of KFG1G16Q2M: 2 KB in 18.96 µs.
#[test]
fn a_burst_of_onenand() {
    let chip = part_named("KFG1G16Q2M");
    let kind = OperationKind::ChangeColumn;
    let burst = OperationRequest { bytes: Some(2048), mode: Some("burst"), ..request(kind) };
    assert_eq!(format!("{:.2}", operation(&chip, &burst).unwrap().ns() / 1e3), "18.96");
    let slow = OperationRequest { mode: Some("async"), ..burst };
    assert_eq!(operation(&chip, &slow).unwrap().ns(), 1024.0 * 76.0);
}

/// W25Q128JV as the Pico SDK reads it: a continuous read has 12 clocks before its data, and no read
/// can begin with it.
#[test]
fn a_continuous_read_of_serial_nor() {
    let chip = part_named("W25Q128JV");
    let clock_ns = 1e3 / 133.0;
    let read = |mode| {
        operation(&chip, &OperationRequest { mode, ..request(OperationKind::Read) }).unwrap()
    };
    let continuous = read(Some("0-4-4"));
    assert!((continuous.steps[0].ns - 12.0 * clock_ns).abs() < 1e-9);
    assert!((continuous.steps[1].ns - 64.0 * clock_ns).abs() < 1e-9);
    assert_eq!(read(None).mode.as_deref(), Some("1-4-4"));
}

/// A page of SPI NAND by hand: 13h and its row, t_R, status, then 0Bh or EBh.
#[test]
fn a_page_of_spi_nand() {
    let chip = part_named("W25N01GV");
    let clocks = |mode, lead: f64, data: f64| {
        let read = operation(
            &chip,
            &OperationRequest { mode: Some(mode), ..request(OperationKind::Read) },
        )
        .unwrap();
        let wanted = (32.0 + 24.0 + lead + data) * 1e3 / 104.0 + 60_000.0;
        assert!((read.ns() - wanted).abs() < 1e-6, "{mode}: {} is not {wanted}", read.ns());
    };
    clocks("1-1-1", 32.0, 8.0 * 2112.0);
    clocks("1-1-4", 32.0, 2.0 * 2112.0);
    clocks("1-4-4", 16.0, 2.0 * 2112.0);
    clocks("1-2-2", 20.0, 4.0 * 2112.0);
}

/// Two planes by hand: twice the time of one page, but with one t_R or t_PROG.
#[test]
fn two_planes_share_the_array() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../parts/MT29F8G08.toml"));
    let planes = "[sdr]\nplanes = { value = 2, source = \"x\" }\nt_dbsy_ns = { value = 500, source = \"x\" }";
    let chip = Part::parse(&text.unwrap().replace("[sdr]", planes), "mine.toml").unwrap();
    let read = operation(&chip, &request(OperationKind::MultiPlaneRead)).unwrap();
    let load = 2.0 * (17.0 + 128.0 + 17.0) + 500.0 + 25_000.0;
    assert_eq!(read.ns(), load + 2.0 * (17.0 + 128.0 + 17.0 + 500.0 + 52_820.0));
    assert_eq!((read.bytes(), read.data_bytes), (4224, 4096));
    let program = OperationRequest { waits: true, ..request(OperationKind::MultiPlaneProgram) };
    let program = operation(&chip, &program).unwrap();
    let plane = 17.0 + 128.0 + 70.0 + 52_805.0 + 17.0 + 100.0;
    assert_eq!(program.ns(), 2.0 * plane + 500.0 + 220_000.0 + 17.0 + 142.0);
    let names: Vec<&str> = program.steps.iter().map(|step| step.formula.as_str()).collect();
    assert_eq!(names[2], "t_ADL");
}

/// Busy times derived from measured rates give these rates back.
#[test]
fn cards_are_as_fast_as_measured() {
    for (name, kind, kb_s) in [
        ("SanDisk-Ultra-II-512MB", OperationKind::Read, 6554.0),
        ("SanDisk-Ultra-II-512MB", OperationKind::Program, 5650.0),
        ("SanDisk-2GB", OperationKind::Program, 3724.0),
    ] {
        let blocks =
            OperationRequest { bytes: Some(1 << 20), bus: Some(bus("20MHz-x4")), ..request(kind) };
        let rate = f64::from(1 << 20) * 1e6 / operation(&part_named(name), &blocks).unwrap().ns();
        assert!((rate / kb_s - 1.0).abs() < 1e-3, "{name}: {rate}");
    }
    let card = part_named("SD-8GB-2012");
    for (kind, measured) in [(OperationKind::Read, 107_000.0), (OperationKind::Program, 138_000.0)]
    {
        let block = operation(&card, &request(kind)).unwrap().ns();
        assert!((block - measured).abs() < 10.0, "{block}");
    }
    // A card moves whole blocks.
    let few =
        operation(&card, &OperationRequest { bytes: Some(100), ..request(OperationKind::Read) })
            .unwrap();
    assert_eq!((few.bytes(), few.data_bytes), (512, 100));
}

#[test]
fn the_error_names_a_read_mode_that_must_be_named() {
    let mut part = part_named("W25Q128JV");
    part.spi.as_mut().unwrap().modes.retain(|mode| mode.name == "1-1-1-03h");
    let read = OperationRequest { bus: Some(bus("50MHz-x4")), ..request(OperationKind::Read) };
    let unnamed = operation(&part, &read).unwrap_err().to_string();
    assert!(unnamed.contains("on 4 data lines by 1-1-1-03h alone"), "{unnamed}");
    assert!(unnamed.contains("name it as the read mode"), "{unnamed}");
    assert!(!unnamed.contains("no read mode"), "{unnamed}");
    assert!(operation(&part, &OperationRequest { mode: Some("1-1-1-03h"), ..read }).is_ok());
}

const MINE: &str = r#"name = "MINE"
maker = "me"
kind = "nand"
page_bytes = { value = 2048, source = "x" }
pages_per_block = { value = 64, source = "x" }
width_bits = { value = 4, source = "x" }
t_r_ns = { value = 25000, source = "x" }
t_prog_ns = { value = 200000, source = "x" }

[spi]
clock_mhz = { value = 50, source = "x" }

[[spi.modes]]
name = "1-1-1"
dummy_clocks = { value = 8, source = "x" }

[[spi.modes]]
name = "1-1-4"
dummy_clocks = { value = 8, source = "x" }
"#;

fn complaints(from: &str, to: &str) -> Vec<Complaint> {
    assert!(MINE.contains(from), "{from}");
    let text = MINE.replacen(from, to, 1);
    let (_, complaints) = Part::examine(&text);
    if let Some(first) = complaints.first() {
        let error = Part::parse(&text, "mine.toml").unwrap_err().to_string();
        assert_eq!(error, format!("mine.toml, line {}: {}", first.line, first.message));
        assert_eq!(error.lines().count(), 1);
    }
    complaints
}

/// A part without the table of an interface is refused. If only numbers are missing, the check
/// lists the operations that can be composed, and the missing numbers of the others.
#[test]
fn operations_that_cannot_be_composed_are_named() {
    let (no_table, _) = MINE.split_once("\n[spi]").unwrap();
    let (_, complaints) = Part::examine(no_table);
    let [Complaint { line: 3, message }] = complaints.as_slice() else { panic!("{complaints:?}") };
    assert!(message.contains("its file needs one of the tables [sdr], [onenand]"), "{message}");
    let error = Part::parse(no_table, "mine.toml").unwrap().byte_time(bus("33MHz-x4")).unwrap_err();
    assert!(error.to_string().contains("its file needs one of the tables"), "{error}");

    let t_rc_alone = no_table.replace("width_bits = { value = 4", "width_bits = { value = 8")
        + "\n[sdr]\nt_rc_ns = { value = 25, source = \"x\" }\n";
    let (part, complaints) = Part::examine(&t_rc_alone);
    assert_eq!(complaints, []);
    let (can, cannot) = part.unwrap().composable();
    assert_eq!(can, []);
    let (kind, reason) = &cannot[0];
    assert_eq!(*kind, OperationKind::Read);
    assert!(reason.contains("has neither t_clh_ns nor a timing_mode in [sdr]"), "{reason}");

    let (can, cannot) = Part::parse(MINE, "mine.toml").unwrap().composable();
    assert!(can.contains(&OperationKind::Read) && can.contains(&OperationKind::Program));
    let [(OperationKind::Erase, reason)] = cannot.as_slice() else { panic!("{cannot:?}") };
    assert!(reason.contains("has no t_bers_ns"), "{reason}");
}

/// Each change causes one complaint, with this line and these words.
#[test]
fn complaints_point_at_the_line() {
    assert_eq!(complaints("", ""), []);
    let second = "\"1-1-4\"\ndummy_clocks = { value = 8, source = \"x\" }\n";
    let sdr =
        |row: &str| format!("\"x\" }}\n\n[sdr]\nt_rc_ns = {{ value = 25, source = \"x\" }}\n{row}");
    let no_spi = MINE.split_once("\n[spi]").unwrap().1;
    for (from, to, line, words) in [
        (
            "value = 25000",
            "value = 0.000025",
            7,
            "t_r_ns = 0.000025 is no plausible time in nanoseconds (500 to 10000000); is it in seconds?",
        ),
        ("value = 25000", "value = 0.025", 7, "is it in milliseconds?"),
        ("value = 25000", "value = 25", 7, "is it in microseconds?"),
        ("value = 25000", "value = -25000", 7, "t_r_ns = -25000"),
        ("value = 200000", "value = 200", 8, "t_prog_ns = 200 is no plausible time"),
        ("\"me\"", "\"\"", 2, "maker = ''"),
        ("\"MINE\"", "\"a\\u001b[2J\"", 1, "is no name"),
        ("t_prog_ns", "t_porg_ns", 8, "unknown field `t_porg_ns`"),
        ("{ value = 25000, source = \"x\" }", "{ value = 25000 }", 7, "missing field `source`"),
        ("{ value = 25000, source = \"x\" }", "25000", 7, "expected struct Sourced"),
        ("\"1-1-4\"", "\"1-4\"", 18, "mode '1-4' is not of the form 1-4-4"),
        ("\"1-1-4\"", "\"1-1-8\"", 18, "mode '1-1-8' needs more lines than width_bits = 4"),
        ("\"1-1-4\"", "\"1-1-1\"", 18, "mode '1-1-1' is here twice"),
        ("\"1-1-4\"", "\"0-4-4-ebh\"", 18, "mode '0-4-4-ebh' has a command and no line for it"),
        (
            second,
            "\"1-1-4\"\ndummy_clocks = { value = 5000, source = \"x\" }\n",
            19,
            "dummy_clocks = 5000",
        ),
        (
            second,
            "\"1-1-4\"\ndummy_clocks = { value = 8, source = \"x\" }\nclock_mhz = { value = 0, source = \"x\" }\n",
            20,
            "clock_mhz = 0",
        ),
        (second, "\"1-1-4\"\ndummy_clocks = { value = 8 }\n", 19, "missing field `source`"),
        ("value = 50,", "value = 50000000,", 11, "clock_mhz = 50000000 is no clock in MHz"),
        (
            "\"nand\"",
            "\"card\"",
            10,
            "[spi] is for NAND, NOR, PCM, MRAM, FRAM, PSRAM, not for card",
        ),
        (
            "\"x\" }\n\n[spi]",
            &format!("{}\n[spi]", sdr("")),
            13,
            "spoken to in one way, not by [sdr] and [spi]",
        ),
        (no_spi, "", 10, "missing field `clock_mhz`"),
    ] {
        let found_complaints = complaints(from, to);
        assert_eq!(found_complaints.len(), 1, "{to}: {found_complaints:?}");
        assert_eq!(found_complaints[0].line, line, "{to}: {found_complaints:?}");
        assert!(found_complaints[0].message.contains(words), "{to}: {found_complaints:?}");
    }
    // The same with the table [sdr] in place of [spi].
    for (row, line, words) in [
        (
            "timing_mode = { value = 7, source = \"x\" }\n",
            12,
            "timing_mode = 7 is not between 0 and 5",
        ),
        ("t_wc_ns = { value = 25e-9, source = \"x\" }\n", 12, "; is it in seconds?"),
        (
            "t_wb_ns = { value = 0, source = \"x\" }\nt_wc_ns = { value = 0, source = \"x\" }\n",
            13,
            "t_wc_ns = 0: a cycle takes time",
        ),
        ("t_wb_ns = { value = -1, source = \"x\" }\n", 12, "t_wb_ns = -1"),
    ] {
        let text =
            MINE.replace("\n[spi]", "\n[sdr]\nt_rc_ns = { value = 25, source = \"x\" }\n[spi]");
        let text = text.replace("[spi]", row);
        let (text, _) = text.split_once("clock_mhz").unwrap();
        let (_, found_complaints) = Part::examine(text);
        assert_eq!(found_complaints.len(), 1, "{row}: {found_complaints:?}");
        assert_eq!(found_complaints[0].line, line, "{row}: {found_complaints:?}");
        assert!(found_complaints[0].message.contains(words), "{row}: {found_complaints:?}");
    }
}

#[test]
fn all_complaints_in_the_order_of_lines() {
    let text = MINE
        .replace("value = 2048", "value = 2000")
        .replace("value = 25000", "value = 1")
        .replace("\"1-1-1\"", "\"1\"")
        .replace("\"1-1-4\"", "\"4\"");
    let (part, complaints) = Part::examine(&text);
    assert!(part.is_some());
    assert_eq!(
        complaints.iter().map(|complaint| complaint.line).collect::<Vec<_>>(),
        [4, 7, 14, 18]
    );
}

/// Keys may contain dots, and lines can end in several ways.
#[test]
fn complaints_about_buses_and_odd_texts() {
    let times = "\n[t_byte_ns]\n\"33MHz-x8\" = { value = 1, source = 'x' }\n";
    let (_, complaints) =
        Part::examine(&format!("{MINE}{times}\"33.3MHz-x8\" = {{ value = -1, source = 'x' }}\n"));
    assert_eq!((complaints[0].line, complaints.len()), (23, 1));
    assert!(complaints[0].message.contains("t_byte_ns.33.3MHz-x8 = -1"), "{complaints:?}");
    let (_, complaints) = Part::examine(&MINE.replace('\n', "\r\n").replace("25000", "1"));
    assert_eq!(complaints[0].line, 7);
    let (_, complaints) = Part::examine("name = \"µ\"\n\u{feff}x");
    assert_eq!((complaints[0].line, complaints.len()), (2, 1));
}

#[test]
fn files_that_are_no_parts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.toml");
    let assert_refused = |words: &[&str]| {
        let error = part::find(path.to_str().unwrap()).unwrap_err().to_string();
        assert!(error.starts_with(path.to_str().unwrap()), "{error}");
        assert_eq!(error.lines().count(), 1);
        for word in words {
            assert!(error.contains(word), "no '{word}' in {error}");
        }
    };
    assert_refused(&["No such file"]);
    std::fs::create_dir(&path).unwrap();
    assert_refused(&["directory"]);
    std::fs::remove_dir(&path).unwrap();
    std::fs::write(&path, b"name = 'a'\n\nmaker = '\xff'\n").unwrap();
    assert_refused(&["line 3", "UTF-8"]);
    // Cut within its comment, the file would be in order.
    std::fs::write(&path, format!("{MINE}#{}", "x".repeat(10 << 20))).unwrap();
    assert_refused(&["larger than 1048576 bytes"]);
    std::fs::write(&path, "").unwrap();
    assert_refused(&["line 1", "missing field"]);
}

#[test]
fn facts_are_in_the_order_of_the_fields() {
    let (part, _) = Part::examine(MINE);
    let fields: Vec<String> = part.unwrap().facts().into_iter().map(|fact| fact.field).collect();
    assert_eq!(
        fields,
        [
            "page_bytes",
            "pages_per_block",
            "width_bits",
            "t_r_ns",
            "t_prog_ns",
            "spi.clock_mhz",
            "spi.modes.1-1-1.dummy_clocks",
            "spi.modes.1-1-4.dummy_clocks"
        ]
    );
    let card = part_named("SD-8GB-2012");
    let busy = card.facts().into_iter().find(|fact| fact.field == "sd.read_busy").unwrap();
    assert_eq!(busy.value.to_string(), r#"{"mean_ns":13267.0,"max_ns":314267.0}"#);
}

/// A part of the catalog that can be read.
fn any_part() -> impl Strategy<Value = &'static Part> {
    let parts: Vec<&'static Part> =
        part::catalog().unwrap().iter().filter(|part| part.medium().is_ok()).collect();
    prop::sample::select(parts)
}

fn any_bus() -> impl Strategy<Value = Bus> {
    let clock = prop_oneof![0.01..1000.0, prop::sample::select(vec![1.0, 20.0, 33.0, 104.0])];
    (clock, 1..=40u32, prop::sample::select(WIDTHS.to_vec()))
        .prop_map(|(clock_mhz, cycles, width_bits)| Bus { clock_mhz, cycles, width_bits })
}

/// Every operation of the part on two buses, or for two numbers of bytes, if both are possible.
fn pairs(part: &Part, one: (Bus, u64), other: (Bus, u64)) -> Vec<(OperationKind, f64, f64)> {
    let medium = part.medium().unwrap();
    let ns = |kind, (bus, bytes)| {
        let request = OperationRequest { kind, ..OperationRequest::read(Some(bytes), bus) };
        Some(medium.operation(part, &request).ok()?.ns())
    };
    let can = medium.operations(part).into_iter();
    can.filter_map(|kind| Some((kind, ns(kind, one)?, ns(kind, other)?))).collect()
}

/// Compares two sums of the same numbers.
fn no_more(less: f64, more: f64) -> bool {
    less <= more * (1.0 + 1e-12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_faster_clock_is_never_slower(part in any_part(), bus in any_bus(), by in 1.0..10.0f64, bytes in 0..20_000u64) {
        let faster = Bus { clock_mhz: bus.clock_mhz * by, ..bus };
        for (kind, slow, fast) in pairs(part, (bus, bytes), (faster, bytes)) {
            prop_assert!(no_more(fast, slow), "{} {kind:?}: {fast} after {slow}", part.name);
        }
    }

    #[test]
    fn a_wider_bus_is_never_slower(part in any_part(), bus in any_bus(), wider in 0..WIDTHS.len(), bytes in 0..20_000u64) {
        let wider = Bus { width_bits: bus.width_bits.max(WIDTHS[wider]), ..bus };
        for (kind, narrow, wide) in pairs(part, (bus, bytes), (wider, bytes)) {
            prop_assert!(no_more(wide, narrow), "{} {kind:?}: {wide} after {narrow}", part.name);
        }
    }

    #[test]
    fn more_bytes_never_take_less(part in any_part(), bus in any_bus(), bytes in 0..20_000u64, more in 0..20_000u64) {
        for (kind, few, many) in pairs(part, (bus, bytes), (bus, bytes + more)) {
            prop_assert!(no_more(few, many), "{} {kind:?}: {many} after {few}", part.name);
        }
    }

    #[test]
    fn any_number_of_bytes_has_a_time(part in any_part(), bus in any_bus(), bytes in any::<u64>()) {
        for (kind, ns, _) in pairs(part, (bus, bytes), (bus, bytes)) {
            prop_assert!(ns.is_finite() && ns >= 0.0, "{} {kind:?}: {ns}", part.name);
        }
    }

    #[test]
    fn time_is_the_sum_of_the_steps(part in any_part(), bus in any_bus(), bytes in 0..20_000u64, per_byte in 0.0..500.0f64) {
        let medium = part.medium().unwrap();
        for kind in medium.operations(part) {
            let request = OperationRequest { kind, ..OperationRequest::read(Some(bytes), bus) };
            let Ok(operation) = medium.operation(part, &request) else { continue };
            let (mut shown, mut transfer, mut hidden) = (0.0, 0.0, 0.0);
            for step in &operation.steps {
                match step.kind {
                    StepKind::Command | StepKind::Busy | StepKind::Wait => shown += step.ns,
                    StepKind::Transfer => transfer += step.ns + step.bytes as f64 * per_byte,
                    StepKind::Hidden => hidden += step.ns,
                }
            }
            let sum = shown + f64::max(transfer, hidden);
            prop_assert!((operation.ns_with(per_byte) - sum).abs() <= 1e-9 * sum);
            prop_assert!(no_more(operation.ns(), operation.ns_with(per_byte)));
        }
    }

    #[test]
    fn a_bus_reads_what_it_writes(bus in any_bus()) {
        prop_assert_eq!(bus.to_string().parse::<Bus>().unwrap(), bus);
    }

    #[test]
    fn no_text_is_a_bus_by_accident(text in "[0-9.eEx/MHz-]{0,16}") {
        if let Ok(bus) = text.parse::<Bus>() {
            prop_assert!(bus.access_ns().is_finite() && bus.access_ns() > 0.0);
            prop_assert_eq!(bus.to_string().parse::<Bus>().unwrap(), bus);
        }
    }
}
