//! Estimates compared with the flash-media article, and properties of every estimate.

use std::fmt::Write;
use std::path::PathBuf;

use flashpager::estimate::{
    Controller, Divider, Dma, Estimate, EstimateSpec, Host, Layer, Memory, Peripheral, Processor,
    Range, RemedyKind, Software, System, UnknownParameter, estimate, hosts,
};
use flashpager::media::bus::Bus;
use flashpager::media::operation::StepKind;
use proptest::prelude::*;

/// The AC characteristics that the article prints.
const ARTICLE: &[(&str, f64)] = &[
    ("t_adl_ns", 70.0),
    ("t_alh_ns", 5.0),
    ("t_als_ns", 10.0),
    ("t_ch_ns", 5.0),
    ("t_clh_ns", 5.0),
    ("t_cls_ns", 10.0),
    ("t_cs_ns", 15.0),
    ("t_dh_ns", 5.0),
    ("t_ds_ns", 10.0),
    ("t_wc_ns", 25.0),
    ("t_wh_ns", 10.0),
    ("t_wp_ns", 12.0),
    ("t_clr_ns", 10.0),
    ("t_rc_ns", 25.0),
    ("t_rhw_ns", 100.0),
    ("t_rhz_ns", 100.0),
    ("t_rp_ns", 12.0),
    ("t_rr_ns", 20.0),
    ("t_wb_ns", 100.0),
];

/// A part with the article's numbers, some of them replaced.
fn part(folder: &tempfile::TempDir, overruled: &[(&str, f64)]) -> String {
    let value = |name: &str, own: f64| {
        overruled.iter().find(|(other, _)| *other == name).map_or(own, |(_, value)| *value)
    };
    let mut text = String::from("name = \"X\"\nmaker = \"Y\"\nkind = \"nand\"\n");
    let mut line = |name: &str, own: f64| {
        writeln!(text, "{name} = {{ value = {}, source = \"article\" }}", value(name, own))
            .unwrap();
    };
    for (name, own) in [
        ("page_bytes", 2048.0),
        ("spare_bytes", 64.0),
        ("pages_per_block", 64.0),
        ("width_bits", 8.0),
        ("t_r_ns", 25_000.0),
        ("t_prog_ns", 220_000.0),
        ("t_bers_ns", 500_000.0),
    ] {
        line(name, own);
    }
    text.push_str("[sdr]\n");
    for (name, own) in ARTICLE {
        writeln!(text, "{name} = {{ value = {}, source = \"article\" }}", value(name, *own))
            .unwrap();
    }
    let path: PathBuf = folder.path().join("x.toml");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn spec(part: &str, operation: &str, host: Host) -> EstimateSpec {
    EstimateSpec {
        part: part.to_owned(),
        operation: Some(operation.to_owned()),
        bytes: None,
        mode: None,
        page_bytes: None,
        width_bits: None,
        waits: false,
        cache_page_bytes: None,
        host,
        without: None,
        measured: None,
    }
}

fn bus(text: &str) -> Bus {
    text.parse().unwrap()
}

/// The article's board: SAM9263, its SDRAM and its loop.
fn board() -> Host {
    Host {
        bus: Some(bus("120MHz/8-x8")),
        memory: Some(Memory::on(bus("100MHz/5-x32"))),
        processor: Some(Processor { clock_mhz: 200.0, cycles_per_instruction: None }),
        software: Some(loop_of(7.0)),
        ..Host::default()
    }
}

fn loop_of(instructions: f64) -> Software {
    Software::new(instructions, 1)
}

/// Section 1.1 of the article, to the nanosecond and the byte.
#[test]
fn the_article_comes_out_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(&folder, &[]);
    let read = estimate(&spec(&part, "read", Host::default())).unwrap();
    let times = |steps: &[flashpager::media::operation::OperationStep]| -> Vec<f64> {
        steps.iter().map(|step| step.ns).collect()
    };
    assert_eq!(times(&read.operation.steps), [17.0, 128.0, 17.0, 25_000.0, 52_820.0]);
    assert_eq!(read.stages[0].ns, 77_982.0);
    assert_eq!(read.stages[0].bytes_per_s.round(), 27_083_173.0);
    assert_eq!((read.bytes, read.operation.data_bytes), (2112, 2048));
    let program = estimate(&spec(&part, "program", Host::default())).unwrap();
    assert_eq!(
        times(&program.operation.steps),
        [17.0, 128.0, 52_805.0, 17.0, 220_000.0, 17.0, 142.0]
    );
    assert_eq!(program.stages[0].ns, 273_126.0);
    assert_eq!(program.stages[0].bytes_per_s.round(), 7_732_695.0);
    // The waits that the article's sums leave out.
    let waits =
        |operation: &str| EstimateSpec { waits: true, ..spec(&part, operation, Host::default()) };
    assert_eq!(estimate(&waits("read")).unwrap().stages[0].ns, 78_082.0);
    assert_eq!(estimate(&waits("program")).unwrap().stages[0].ns, 273_296.0);
}

/// Sections 1.2 and 1.3 of the article: 67 + 50 + 35 ns per byte, where 67 is 66.67 rounded.
#[test]
fn the_articles_board_comes_out() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(&folder, &[]);
    let estimated = estimate(&spec(&part, "read", board())).unwrap();
    let byte = estimated.byte;
    assert_eq!(byte.part_ns, 25.0);
    assert!((byte.bus_ns - 8e3 / 120.0).abs() < 1e-9);
    assert!((byte.memory_ns - 50.0).abs() < 1e-9 && (byte.software_ns - 35.0).abs() < 1e-9);
    assert_eq!(byte.ns().round(), 152.0);
    let names: Vec<&str> = estimated.stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(names, ["part", "bus", "memory", "software"]);
    // By hand: commands and address stretched, then 2112 bytes.
    let cycle = 8e3 / 120.0;
    let by_hand = 2.0 * cycle + (5.0 * cycle + 3.0) + 25_000.0 + (2112.0 * (cycle + 85.0) + 20.0);
    assert!((estimated.stages[3].ns - by_hand).abs() < 1e-6);
    // DMA halves the software and leaves the hardware as it is.
    let halved = Host { dma: Some(Dma::default()), ..board() };
    let halved = estimate(&spec(&part, "read", halved)).unwrap();
    assert_eq!(halved.byte.software_ns, byte.software_ns / 2.0);
    assert_eq!((halved.byte.bus_ns, halved.byte.memory_ns), (byte.bus_ns, byte.memory_ns));
}

/// Section 2.2 of the article: a 40 MHz peripheral makes 20 MHz where the card allows 24.
#[test]
fn a_divider_reaches_what_it_can() {
    let clock = |divider| Peripheral { divider: Some(divider), ..Peripheral::new(40.0) };
    assert_eq!(clock(Divider::Integer).clock_up_to(24.0).unwrap(), 20.0);
    assert_eq!(clock(Divider::Integer).clock_up_to(13.0).unwrap(), 10.0);
    assert_eq!(clock(Divider::Even).clock_up_to(40.0).unwrap(), 20.0);
    assert_eq!(clock(Divider::PowerOfTwo).clock_up_to(13.0).unwrap(), 10.0);
    assert_eq!(clock(Divider::PowerOfTwo).clock_up_to(9.0).unwrap(), 5.0);
    assert_eq!(clock(Divider::Integer).clock_up_to(400.0).unwrap(), 40.0);
    let exact = Peripheral::new(72.0);
    assert_eq!(exact.clock_up_to(24.0).unwrap(), 24.0);
}

#[test]
fn layers_are_shares_or_measured_and_never_gain() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(&folder, &[]);
    let layer = |share: Option<f64>, bytes_per_s: Option<f64>| Layer {
        name: "file system".into(),
        share,
        bytes_per_s,
    };
    let with = |layers: Vec<Layer>| estimate(&spec(&part, "read", Host { layers, ..board() }));
    let estimated = with(vec![layer(Some(0.85), None), layer(Some(0.67), None)]).unwrap();
    let rate = |index: usize| estimated.stages[index].bytes_per_s;
    assert!((rate(4) / rate(3) - 0.85).abs() < 1e-12 && (rate(5) / rate(3) - 0.67).abs() < 1e-12);
    let measured = with(vec![layer(None, Some(3.373e6))]).unwrap();
    assert!(measured.stages[4].measured);
    assert_eq!(measured.stages[4].bytes_per_s, 3.373e6);
    for wrong in [
        vec![layer(Some(1.1), None)],
        vec![layer(Some(0.5), None), layer(Some(0.6), None)],
        vec![layer(None, None)],
        vec![layer(Some(0.5), Some(1e6))],
        vec![layer(None, Some(-1.0))],
        vec![layer(Some(f64::NAN), None)],
    ] {
        assert!(with(wrong).unwrap_err().to_string().contains("file system"));
    }
}

#[test]
fn an_impossible_input_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(&folder, &[]);
    let refused = |spec: EstimateSpec| estimate(&spec).unwrap_err().to_string();
    let hosted = |host: Host| spec(&part, "read", host);
    let fast = hosted(Host { bus: Some(bus("54MHz-x8")), ..Host::default() });
    let says = refused(fast);
    assert!(says.contains("faster than X allows") && says.contains("54MHz/2-x8"), "{says}");
    let exact = hosted(Host { bus: Some(bus("40MHz-x8")), ..Host::default() });
    assert_eq!(estimate(&exact).unwrap().stages[1].ns, 77_982.0 + 2.0 * 8.0);
    assert!(refused(spec(&part, "cache-read", Host::default())).contains("t_rcbsy_ns"));
    assert!(refused(spec(&part, "multi-plane-read", Host::default())).contains("cannot"));
    assert!(refused(spec(&part, "reed", Host::default())).contains("did you mean read"));
    assert!(refused(hosted(Host { processor: None, ..board() })).contains("processor"));
    let bytes = EstimateSpec { bytes: Some(3000), ..hosted(Host::default()) };
    assert!(refused(bytes).contains("2112"));
    let odd = Software { bytes: 3, port_accesses: Some(2), ..loop_of(1.0) };
    assert!(refused(hosted(Host { software: Some(odd), ..board() })).contains("3 bytes"));
    let page = EstimateSpec { page_bytes: Some(1000), ..hosted(Host::default()) };
    assert!(refused(page).contains("power of two"));
    let waiting = Memory { bus: bus("100MHz-x8"), refresh_share: Some(1.0) };
    assert!(refused(hosted(Host { memory: Some(waiting), ..board() })).contains("refresh"));
}

/// With DMA the loop moves no data: its width does not limit the bus, and its variables cost no
/// RAM.
#[test]
fn dma_takes_the_loop_out_of_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let wide = part(&folder, &[("width_bits", 16.0)]);
    let slow = Software { memory_accesses: Some(6.0), ..loop_of(12.0) };
    let host = Host {
        bus: Some(bus("40MHz-x16")),
        software: Some(slow),
        dma: Some(Dma::default()),
        ..board()
    };
    let estimated = estimate(&spec(&wide, "read", host)).unwrap().byte;
    assert_eq!((estimated.bus_ns, estimated.memory_ns, estimated.software_ns), (12.5, 25.0, 30.0));
}

/// The time of an operation outside of the loop counts without a loop, too.
#[test]
fn a_driver_can_be_a_measured_time() {
    let folder = tempfile::tempdir().unwrap();
    let part = part(&folder, &[]);
    let host = Host { operation_ns: Some(110_000.0), ..Host::default() };
    let estimated = estimate(&spec(&part, "read", host)).unwrap();
    assert_eq!(estimated.stages[1].ns, 77_982.0 + 110_000.0);
}

/// NP5Q128A reads in 1-1-4 up to 50 MHz, in 1-1-2 up to 66.
#[test]
fn a_bus_too_fast_for_one_mode_does_for_another() {
    let read = |host: Host| estimate(&spec("NP5Q128A", "read", host)).unwrap();
    let fast = read(Host { bus: Some(bus("66MHz-x4")), ..Host::default() });
    assert_eq!(fast.on_bus.mode.as_deref(), Some("1-1-2"));
    let peripheral = Peripheral::new(66.0);
    let divided = read(Host { peripheral: Some(peripheral), ..Host::default() });
    assert!(divided.on_bus.ns() <= fast.on_bus.ns());
    let too_fast = spec("NP5Q128A", "read", Host { bus: Some(bus("70MHz-x4")), ..Host::default() });
    assert!(estimate(&too_fast).unwrap_err().to_string().contains("faster than NP5Q128A"));
}

#[test]
fn a_mode_is_one_of_reading() {
    let refused = |part: &str, operation: &str, mode: &str| {
        let mode = Some(mode.to_owned());
        let request = EstimateSpec { mode, ..spec(part, operation, Host::default()) };
        estimate(&request).unwrap_err().to_string()
    };
    assert!(refused("MT29F8G08", "read", "1-1-4").contains("has no modes"));
    assert!(refused("W25N01GV", "program", "1-1-4").contains("one of reading"));
    assert!(refused("W25N01GV", "read", "1-1-9").contains("1-1-4"));
}

/// For every part, operation and bus, the time of a byte equals that of the transfers.
#[test]
fn a_byte_takes_its_share_of_the_transfers() {
    for part in flashpager::media::part::catalog().unwrap() {
        let Ok(medium) = part.medium() else { continue };
        for what in medium.operations(part) {
            let Ok(estimated) = estimate(&spec(&part.name, what.name(), Host::default())) else {
                continue;
            };
            if estimated.bytes < 32 {
                // Fewer bytes are moved than a word holds.
                continue;
            }
            let steps = estimated.operation.steps.iter();
            let moves = steps.filter(|step| step.kind == StepKind::Transfer);
            let transfers: f64 = moves.map(|step| step.ns).sum();
            let bytes = estimated.byte.part_ns * estimated.bytes as f64;
            // t_RR and similar times belong to a transfer, not to a byte.
            assert!(
                bytes <= transfers + 1e-6 && bytes >= 0.98 * transfers - 1e-6,
                "{} {}: {bytes} of {transfers}",
                part.name,
                what.name()
            );
        }
    }
}

#[test]
fn a_narrow_loop_wastes_a_wide_bus() {
    let folder = tempfile::tempdir().unwrap();
    let wide = part(&folder, &[("width_bits", 16.0)]);
    let host = Host { bus: Some(bus("40MHz-x16")), software: None, ..board() };
    let without = estimate(&spec(&wide, "read", host.clone())).unwrap();
    let bytewise = Host { software: Some(loop_of(7.0)), ..host };
    let estimated = estimate(&spec(&wide, "read", bytewise)).unwrap();
    assert_eq!(estimated.byte.bus_ns, 2.0 * without.byte.bus_ns);
    assert!(estimated.notes.iter().any(|note| note.contains("8 bits at a time over a bus of 16")));
}

/// The BENAND example of NAND simulators: 3.3 V · 30 mA · (40 + 52.8 µs) ≈ 9.2 µJ.
#[test]
fn energy_is_voltage_times_current_times_time() {
    let estimated = estimate(&spec("TC58BVG0S3H", "read", Host::default())).unwrap();
    if let Some(energy) = estimated.energy {
        let array = 3.3 * 30.0 * 40_000.0 * 1e-6;
        assert!((energy.array_uj - array).abs() < 1e-9);
        assert!((energy.operation_uj - energy.array_uj - energy.io_uj).abs() < 1e-12);
        let moving: f64 = estimated
            .operation
            .steps
            .iter()
            .filter(|step| step.kind != StepKind::Busy)
            .map(|step| step.ns)
            .sum();
        assert!((energy.io_uj - 3.3 * 30.0 * moving * 1e-6).abs() < 1e-9);
    } else {
        panic!("TC58BVG0S3H has volts and read_ma");
    }
}

fn any_host() -> impl Strategy<Value = Host> {
    let memory = prop::option::of((1.0..500.0f64, 1..20u32, 0.0..0.5f64));
    (1.0..20.0f64, 1..10u32, memory, 10.0..500.0f64, 0.0..50.0f64, 0.0..1.0f64, any::<bool>())
        .prop_map(|(clock_mhz, cycles, memory, cpu, instructions, share, dma)| Host {
            bus: Some(Bus { clock_mhz, cycles, width_bits: 8 }),
            memory: memory.map(|(clock_mhz, cycles, refresh_share)| Memory {
                bus: Bus { clock_mhz, cycles, width_bits: 32 },
                refresh_share: Some(refresh_share),
            }),
            processor: Some(Processor { clock_mhz: cpu, cycles_per_instruction: None }),
            software: Some(loop_of(instructions)),
            dma: dma.then_some(Dma { software_share: Some(share) }),
            ..Host::default()
        })
}

const PARTS: &[(&str, &str)] =
    &[("MT29F2G08AAC", "read"), ("K9F1208Q0B", "read"), ("TC58BVG0S3H", "read")];

proptest! {
    /// Each stage is at least as slow as the one before, and the last is the sum of all.
    #[test]
    fn overhead_never_speeds_up(host in any_host(), index in 0..PARTS.len()) {
        let (part, operation) = PARTS[index];
        let estimated = estimate(&spec(part, operation, host.clone())).unwrap();
        // A loop that packs two bytes into each access to RAM.
        let packs = Software { bytes: 2, port_accesses: Some(2), ..host.software.unwrap() };
        let packing = Host { software: Some(packs), dma: None, ..host };
        for pair in estimated.stages.windows(2) {
            prop_assert!(pair[1].ns >= pair[0].ns * (1.0 - 1e-12), "{:?}", estimated.stages);
        }
        let last = estimated.stages.last().unwrap();
        let byte = estimated.byte.memory_ns + estimated.byte.software_ns;
        let sum = estimated.on_bus.ns() + byte * estimated.bytes as f64;
        prop_assert!((last.ns - sum).abs() < 1e-6 * sum);
        let dma = Host { dma: Some(Dma { software_share: Some(1.0) }), ..packing.clone() };
        let moved = |host: Host| estimate(&spec(part, operation, host)).unwrap().stages.last().unwrap().ns;
        prop_assert!(moved(dma) <= moved(packing) * (1.0 + 1e-12));
        for remedy in &estimated.remedies {
            prop_assert!(remedy.speedup >= 1.0 - 1e-9, "{remedy:?}");
        }
    }

    /// A faster clock, fewer cycles or more data lines never slow an operation.
    #[test]
    fn more_clock_or_width_never_slows(
        host in any_host(), faster in 1.0..4.0f64, index in 0..PARTS.len()
    ) {
        let (part, operation) = PARTS[index];
        let slow = estimate(&spec(part, operation, host.clone())).unwrap();
        let bus = host.bus.unwrap();
        let last = |estimated: &flashpager::estimate::Estimate| estimated.stages.last().unwrap().ns;
        let mut quick = host.clone();
        quick.bus = Some(Bus { clock_mhz: (bus.clock_mhz * faster).min(20.0).max(bus.clock_mhz), ..bus });
        let estimated = estimate(&spec(part, operation, quick)).unwrap();
        prop_assert!(last(&estimated) <= last(&slow) * (1.0 + 1e-12));
        let wide = EstimateSpec { width_bits: Some(16), ..spec(part, operation, host) };
        prop_assert!(last(&estimate(&wide).unwrap()) <= last(&slow) * (1.0 + 1e-12));
    }

    /// Rate and time, energy and power, and bus and its text are consistent.
    #[test]
    fn units_survive_a_round_trip(host in any_host(), index in 0..PARTS.len()) {
        let (part, operation) = PARTS[index];
        let bus = host.bus.unwrap();
        prop_assert_eq!(bus.to_string().parse::<Bus>().unwrap(), bus);
        let text = serde_json::to_string(&host).unwrap();
        let estimated = estimate(&spec(part, operation, host)).unwrap();
        prop_assert_eq!(serde_json::from_str::<Host>(&text).unwrap().bus, Some(bus));
        for stage in &estimated.stages {
            let bytes = stage.bytes_per_s * stage.ns / 1e9;
            prop_assert!((bytes - estimated.bytes as f64).abs() < 1e-6 * bytes);
        }
    }
}

/// Even divisors cannot make 50 MHz from 208 MHz.
#[test]
fn a_controller_runs_what_its_divider_can() {
    let port = |controller, clock_mhz: f64, asked_mhz| Peripheral {
        controller: Some(controller),
        asked_mhz: Some(asked_mhz),
        ..Peripheral::new(clock_mhz)
    };
    for (controller, clock_mhz, asked, runs) in [
        (Controller::MediatekSpi, 208.0, 50.0, 208.0 / 6.0),
        (Controller::MediatekSpi, 208.0, 52.0, 52.0),
        (Controller::Mt7621Spi, 220.0, 50.0, 44.0),
        (Controller::Ath79Spi, 225.0, 25.0, 22.5),
        (Controller::Stm32Spi, 84.0, 84.0, 42.0),
        (Controller::Stm32Spi, 100.0, 30.0, 25.0),
        (Controller::Stm32Qspi, 216.0, 100.0, 72.0),
        (Controller::Rp2040Ssi, 125.0, 100.0, 62.5),
    ] {
        let estimated = port(controller, clock_mhz, asked).clock_up_to(1e3).unwrap();
        assert!((estimated - runs).abs() < 1e-9, "{controller} {asked}: {estimated}");
    }
    let slow = port(Controller::CadenceQspi, 400.0, 1.0).clock_up_to(1e3).unwrap_err().to_string();
    assert!(slow.contains("32 at most") && slow.contains("cadence"), "{slow}");
    let odd = Peripheral {
        divider: Some(Divider::Integer),
        ..port(Controller::MediatekSpi, 208.0, 50.0)
    };
    assert!(odd.check().unwrap_err().to_string().contains("even"));
    let host = Host {
        bus: Some(bus("208MHz-x4")),
        peripheral: Some(port(Controller::MediatekSpi, 208.0, 50.0)),
        ..Host::default()
    };
    let estimated = estimate(&spec("W25N01GV", "read", host)).unwrap();
    let says = estimated.notes.iter().find(|note| note.contains("asked")).unwrap();
    assert!(
        says.contains("50 MHz asked, 34.6667 MHz run") && says.contains("spi-mt65xx"),
        "{says}"
    );
}

fn range_of(part: &str, operation: &str, host: Host) -> Range {
    estimate(&spec(part, operation, host)).unwrap().range
}

/// Every part and operation has a range, which is a single number if everything is known.
#[test]
fn a_range_is_there_until_all_is_known() {
    let known = Host {
        operation_ns: Some(0.0),
        system: Some(System::Linux),
        array_share: Some(1.0),
        ..Host::default()
    };
    for part in flashpager::media::part::catalog().unwrap() {
        let Ok(medium) = part.medium() else { continue };
        for what in medium.operations(part) {
            let estimate_on = |host: Host| estimate(&spec(&part.name, what.name(), host));
            let Ok(free) = estimate_on(Host::default()) else { continue };
            let Range { low_ns, likely_ns, high_ns, .. } = free.range;
            let named = format!("{} {what}", part.name);
            assert!(low_ns > 0.0 && low_ns <= likely_ns && likely_ns <= high_ns, "{named}");
            assert!(!free.range.assumed.is_empty() && free.range.width() > 1.0, "{named}");
            let mut narrows = free.range.assumed.iter().map(|one| one.narrows);
            assert!(narrows.clone().is_sorted_by(|a, b| a >= b), "{named}");
            assert!(narrows.all(|by| by >= 1.0 - 1e-9), "{named}: {:?}", free.range.assumed);
            // A bus of all the part's lines that is slow enough for every mode.
            let lines = part.width_bits.value;
            let with_bus = Host {
                bus: Some(Bus { clock_mhz: 5.0, cycles: 1, width_bits: lines }),
                ..known.clone()
            };
            let estimated = estimate_on(with_bus).unwrap();
            let Range { low_ns, likely_ns, high_ns, assumed, .. } = &estimated.range;
            assert!(assumed.is_empty(), "{named}: {assumed:?}");
            assert_eq!((low_ns, high_ns), (likely_ns, likely_ns));
            let last = estimated.stages.last().unwrap().ns;
            assert!((last - likely_ns).abs() <= 1e-9 * last, "{named}: {last} {likely_ns}");
        }
    }
}

/// In place no time is a single number, whatever is known: no bridge is as fast as its bus.
#[test]
fn in_place_is_never_a_single_number() {
    let likes = hosts().iter().filter(|it| it.system == System::InPlace).map(|it| Some(it.name));
    for part in flashpager::media::part::catalog().unwrap() {
        let Ok(medium) = part.medium() else { continue };
        for (what, like) in medium
            .operations(part)
            .into_iter()
            .flat_map(|what| likes.clone().chain([None]).map(move |like| (what, like)))
        {
            let lines = part.width_bits.value;
            let host = Host {
                bus: Some(Bus { clock_mhz: 5.0, cycles: 1, width_bits: lines }),
                system: Some(System::InPlace),
                like: like.map(str::to_owned),
                operation_ns: like.is_none().then_some(0.0),
                array_share: Some(1.0),
                ..Host::default()
            };
            let Ok(estimated) = estimate(&spec(&part.name, what.name(), host)) else { continue };
            let Range { low_ns, likely_ns, high_ns, assumed, .. } = &estimated.range;
            let named = format!("{} {what} {like:?}: {:?}", part.name, estimated.range);
            assert!(low_ns < likely_ns && likely_ns < high_ns, "{named}");
            assert_eq!(assumed[0].parameter, UnknownParameter::Controller, "{named}");
            let on_bus = estimated.stages.last().unwrap().ns;
            assert!(*low_ns >= on_bus * (1.0 - 1e-9), "{named}");
            let shares: f64 = estimated.likely_shares.iter().map(|(_, ns)| ns).sum();
            assert!((shares - likely_ns).abs() <= 1e-9 * likely_ns, "{named}");
        }
    }
}

/// A PSRAM needs no write enable: a write takes command, address and data; an FRAM's takes more.
#[test]
fn only_memory_that_keeps_data_is_write_enabled() {
    let on_bus = |part: &str| {
        let host = Host { bus: Some(bus("1MHz-x1")), ..Host::default() };
        let one = EstimateSpec { bytes: Some(16), ..spec(part, "program", host) };
        estimate(&one).unwrap().on_bus.ns()
    };
    assert_eq!(on_bus("APS6404L"), 1e3 * f64::from(8 + 24 + 16 * 8));
    assert_eq!(on_bus("MB85RS256TY"), 1e3 * f64::from(8 + 8 + 16 + 16 * 8));
}

/// A measured driver leaves nothing to estimate.
#[test]
fn a_measured_layer_ends_the_range() {
    let layer = Layer { name: "driver".into(), share: None, bytes_per_s: Some(5.041e6) };
    let estimated = range_of("MT29F8G08", "read", Host { layers: vec![layer], ..board() });
    assert!(estimated.assumed.is_empty());
    assert!((estimated.likely_bytes_per_s - 5.041e6).abs() < 1.0);
}

#[test]
fn a_host_is_like_one_that_was_measured() {
    let refused =
        |part: &str, host: Host| estimate(&spec(part, "read", host)).unwrap_err().to_string();
    let like = |name: &str| Host { like: Some(name.into()), ..Host::default() };
    let near = refused("W25N01GV", like("linux-mediatek"));
    assert!(near.contains("did you mean linux-mediatek-spi"), "{near}");
    assert!(refused("W25Q128JV", like("linux-pl353-zynq")).contains("measured on pages"));
    let mapped = Host { system: Some(System::InPlace), ..Host::default() };
    assert!(refused("W25N01GV", mapped.clone()).contains("in place"));
    let estimated = range_of("W25Q128JV", "read", mapped);
    assert!(estimated.assumed.iter().all(|one| !matches!(
        one.parameter,
        UnknownParameter::Operation | UnknownParameter::TransferEngine
    )));
    let contradicts = Host { system: Some(System::Firmware), ..like("linux-mediatek-spi") };
    assert!(refused("W25N01GV", contradicts).contains("linux-mediatek-spi is linux, not firmware"));
    let copied = Host { copied: true, system: Some(System::Linux), ..Host::default() };
    assert!(refused("W25N01GV", copied).contains("copies under linux"));
    let both = Host { copied: true, dma: Some(Dma::default()), ..Host::default() };
    assert!(refused("W25N01GV", both).contains("not both"));
    let copied = |name| Host { copied: true, ..like(name) };
    let by_dma = |name| Host { dma: Some(Dma::default()), ..like(name) };
    assert!(refused("W25Q128JV", copied("stm32f7-qspi-dma")).contains("does not copy in stm32f7"));
    assert!(refused("W25N01GV", copied("esp-idf-spi-nand")).contains("does not copy in esp-idf"));
    assert!(refused("W25Q128JV", by_dma("samd51-qspi")).contains("samd51-qspi has no DMA"));
    let timed = Host { operation_ns: Some(1.0), ..like("linux-mediatek-spi") };
    assert!(refused("W25N01GV", timed).contains("gives the time of an operation"));
    assert!(refused("W25N01GV", like("linux-gpmi-imx6")).contains("measured on parallel memory"));
    assert!(refused("MT29F8G08", like("linux-mediatek-spi")).contains("on serial memory"));
    assert!(refused("W25N01GV", like("stm32f7-qspi-dma")).contains("read in place"));
    assert!(refused("SD-8GB-2012", like("linux-rzn1-qspi")).contains("is a card"));
    assert!(refused("W25Q128JV", like("esp32s3-sdmmc")).contains("was measured with a card"));
    assert!(estimate(&spec("SD-8GB-2012", "read", like("zephyr-sd-spi"))).is_ok());
    let port = Peripheral { controller: Some(Controller::Stm32Spi), ..Peripheral::new(100.0) };
    let clocked = Host { peripheral: Some(port), ..Host::default() };
    assert!(refused("MT29F8G08", clocked).contains("is parallel"));
}

/// A clock above the fastest of the part is noted, and nothing is noted without such a clock.
#[test]
fn the_granted_clock_is_reported() {
    let notes = |asked_mhz: Option<f64>, clock_mhz: f64| {
        let peripheral = Some(Peripheral { asked_mhz, ..Peripheral::new(clock_mhz) });
        let host = Host { bus: Some(bus("104MHz-x4")), peripheral, ..Host::default() };
        estimate(&spec("W25N01GV", "read", host)).unwrap().notes.join("\n")
    };
    let more = notes(Some(500.0), 208.0);
    assert!(more.contains("500 MHz asked, 104 MHz run: W25N01GV allows 104 MHz"), "{more}");
    let unasked = notes(None, 150.0);
    assert!(!unasked.contains("asked") && unasked.contains("75 MHz run"), "{unasked}");
}

/// A maximum or measured time is not exceeded; a typical one is.
#[test]
fn only_typical_array_times_get_longer() {
    for (part, operation, worst) in [
        ("W25N01GV", "program", 1.0),
        ("W25N01GV", "erase", 1.0),
        ("W25N02KV", "erase", 1.0),
        ("W25N512GW", "program", 1.0),
        ("MX25R6435F", "erase", 1.0),
        ("MT29F8G08", "erase", 6.0),
        ("MT29F8G08", "program", 500.0 / 220.0),
    ] {
        let estimated = range_of(part, operation, Host::default());
        let array =
            estimated.assumed.iter().find(|one| one.parameter == UnknownParameter::Array).unwrap();
        assert_eq!(array.span.worst, worst, "{part} {operation}");
    }
}

/// A statement on a host, which narrows its range.
#[derive(Clone, Debug)]
enum Statement {
    Clock(f64),
    System(System),
    Operation(f64),
    Dma,
    Copied,
    Processor(f64),
    Array(f64),
    Like(usize),
}

impl Statement {
    /// The host with the statement; `None` if it was made before or contradicts another.
    fn on(&self, host: &Host, estimated: &Estimate) -> Option<Host> {
        let part = flashpager::media::part::find(&estimated.part).unwrap();
        let assumed = |what: UnknownParameter| {
            estimated.range.assumed.iter().find(|one| one.parameter == what)
        };
        let mut stated = host.clone();
        match *self {
            Self::Clock(at) => {
                let span = assumed(UnknownParameter::Clock)?.span;
                // A clock between the ends, over the likely number of lines.
                let clock_mhz = span.worst + at * (span.best - span.worst) * (1.0 - 1e-9);
                let width_bits = part.width_bits.value;
                stated.bus = Some(Bus { clock_mhz, cycles: 1, width_bits });
            }
            Self::System(system) => {
                stated.system = (host.system.is_none() && host.like.is_none()).then_some(system);
                stated.system?;
                if host.copied && system != System::Firmware {
                    return None;
                }
                if system == System::InPlace
                    && part.kind == flashpager::media::part::MemoryKind::Nand
                {
                    return None;
                }
            }
            Self::Operation(at) => {
                host.like.is_none().then_some(())?;
                let span = assumed(UnknownParameter::Operation)?.span;
                stated.operation_ns = Some(span.best + at * (span.worst - span.best));
            }
            Self::Dma => {
                assumed(UnknownParameter::TransferEngine)?;
                (!host.copied && host.dma.is_none() && host.like.is_none()).then_some(())?;
                stated.dma = Some(Dma::default());
            }
            Self::Copied => {
                assumed(UnknownParameter::TransferEngine)?;
                (!host.copied && host.dma.is_none() && host.like.is_none()).then_some(())?;
                stated.copied = true;
            }
            Self::Processor(at) => {
                assumed(UnknownParameter::TransferEngine)?;
                host.processor.is_none().then_some(())?;
                let clock_mhz = 4.0 + at * (1000.0 - 4.0);
                stated.processor = Some(Processor { clock_mhz, cycles_per_instruction: None });
            }
            Self::Array(at) => {
                let span = assumed(UnknownParameter::Array)?.span;
                stated.array_share = Some(span.best + at * (span.worst - span.best));
            }
            Self::Like(index) => {
                let like = &hosts()[index % hosts().len()];
                let is_nand = part.kind == flashpager::media::part::MemoryKind::Nand;
                let free = host.system.is_none() && host.like.is_none();
                (free
                    && like.transfer.is_none()
                    && like.pages == is_nand
                    && !like.card
                    && like.serial == part.spi.is_some()
                    // A pace of its own does not depend on the processor's clock.
                    && (host.processor.is_none() || like.byte_ns.is_none_or(|ns| ns == 0.0))
                    && host.dma.is_none()
                    && !host.copied
                    && host.operation_ns.is_none())
                .then_some(())?;
                stated.like = Some(like.name.into());
            }
        }
        Some(stated)
    }
}

fn any_statement() -> impl Strategy<Value = Statement> {
    let at = || 0.0..1.0f64;
    prop_oneof![
        at().prop_map(Statement::Clock),
        prop::sample::select(vec![System::Linux, System::Firmware, System::InPlace])
            .prop_map(Statement::System),
        at().prop_map(Statement::Operation),
        Just(Statement::Dma),
        Just(Statement::Copied),
        at().prop_map(Statement::Processor),
        at().prop_map(Statement::Array),
        (0..100usize).prop_map(Statement::Like),
    ]
}

const RANGED: &[(&str, &str)] = &[
    ("W25N01GV", "read"),
    ("W25N01GV", "program"),
    ("MT29F8G08", "read"),
    ("MT29F8G08", "erase"),
    ("W25Q128JV", "read"),
    ("MB85RS256TY", "read"),
];

proptest! {
    /// With each statement on a host, in any order, the range lies within the one before.
    #[test]
    fn each_statement_narrows_the_range(
        statements in prop::collection::vec(any_statement(), 1..8), index in 0..RANGED.len(),
        bytes in prop::option::of(1..2048u64)
    ) {
        let (part, operation) = RANGED[index];
        let estimate_on = |host: Host| {
            let bytes = bytes.filter(|_| operation != "erase");
            estimate(&EstimateSpec { bytes, ..spec(part, operation, host) }).unwrap()
        };
        let mut host = Host::default();
        let mut estimated = estimate_on(host.clone());
        for fact in statements {
            let Some(narrower) = fact.on(&host, &estimated) else { continue };
            let now = estimate_on(narrower.clone());
            let (was, is) = (&estimated.range, &now.range);
            prop_assert!(is.low_ns <= is.likely_ns && is.likely_ns <= is.high_ns, "{is:?}");
            prop_assert!(
                is.low_ns >= was.low_ns * (1.0 - 1e-9) && is.high_ns <= was.high_ns * (1.0 + 1e-9),
                "{fact:?} of {part} {operation}: {was:?} became {is:?}"
            );
            (host, estimated) = (narrower, now);
        }
    }

    /// A remedy has its speedup at the likely point, as far as the remedy can be stated: an array
    /// by its share, and DMA instead of copying.
    #[test]
    fn the_sentences_are_true_of_the_numbers(
        statements in prop::collection::vec(any_statement(), 0..6), index in 0..RANGED.len()
    ) {
        let (part, operation) = RANGED[index];
        let estimate_on = |host: Host| estimate(&spec(part, operation, host)).unwrap();
        let mut host = Host::default();
        let mut estimated = estimate_on(host.clone());
        for fact in statements {
            let Some(narrower) = fact.on(&host, &estimated) else { continue };
            (host, estimated) = (narrower.clone(), estimate_on(narrower));
        }
        let now = estimated.range.likely_ns;
        let gain = |change: RemedyKind| estimated.remedies.iter().find(|it| it.change == change);
        let near = |one: f64, other: f64| (one - other).abs() <= 1e-9 * one;
        let share = estimated.range.assumed.iter().find(|one| one.parameter == UnknownParameter::Array);
        let share = share.map_or(host.array_share, |one| Some(one.span.likely)).unwrap_or(1.0);
        let with = |share| Host { array_share: Some(share), ..host.clone() };
        prop_assert!(near(estimate_on(with(share)).range.likely_ns, now));
        let faster = estimate_on(with(share / 2.0)).range.likely_ns;
        prop_assert!(near(now / faster, gain(RemedyKind::Array).unwrap().speedup));
        let moved = host.copied && estimated.bytes > 0;
        prop_assert_eq!(moved, gain(RemedyKind::Dma).is_some());
        if let Some(dma) = gain(RemedyKind::Dma) {
            let by_dma = Host { copied: false, dma: Some(Dma::default()), ..host.clone() };
            let faster = estimate_on(by_dma).range.likely_ns;
            prop_assert!(near(now / faster, dma.speedup));
            prop_assert_eq!(estimated.verdict.contains("DMA would not help"), dma.speedup < 1.05);
        } else {
            prop_assert!(!estimated.verdict.contains("DMA"), "{}", estimated.verdict);
        }
    }

    /// Neither a longer time beside the operation nor a slower array makes it faster.
    #[test]
    fn more_in_the_way_is_never_faster(
        index in 0..RANGED.len(), ns in 0.0..1e6f64, more in 0.0..1e6f64, share in 0.1..2.0f64
    ) {
        let (part, operation) = RANGED[index];
        let with = |ns: f64, share: f64| {
            let (operation_ns, array_share) = (Some(ns), Some(share));
            range_of(part, operation, Host { operation_ns, array_share, ..Host::default() })
        };
        let (less, slower) = (with(ns, share), with(ns + more, 1.5 * share));
        prop_assert!(slower.low_ns >= less.low_ns);
        prop_assert!(slower.likely_ns >= less.likely_ns);
        prop_assert!(slower.high_ns >= less.high_ns);
    }
}
