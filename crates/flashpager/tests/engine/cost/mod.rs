//! Prices compared with the tables of the CARDIS paper and with sums by hand.

mod executed;
mod handler;
mod lines;
mod run_time;

use std::sync::atomic::{AtomicUsize, Ordering};

use flashpager::Error;
use flashpager::cost::handler::{BusyUntil, Executor, JobSpan, Jobs, Schedule, Timeline};
use flashpager::cost::{
    Execution, Fetch, FetchPrices, Handler, Latency, Prices, Ram, RawBandwidth, ReadDisturb, Time,
    fault_latencies, short_tag, warnings,
};
use flashpager::design::{Design, cells, memory_bytes, simulate};
use flashpager::media::bus::Bus;
use flashpager::media::part::{self, Part};
use flashpager::pager::VictimSearch;
use flashpager::replay::register::{RegisterDesign, RegisterModel};
use flashpager::replay::{
    CacheDesign, Counts, Events, Executed, Fault, FaultClass, HierarchyDesign, ICacheShape,
    TlbShape, replay,
};
use flashpager::spec::DesignSpec;
use flashpager::trace::{MemoryTrace, Run, TraceInfo};
use proptest::prelude::*;

fn bus(text: &str) -> Bus {
    text.parse().unwrap()
}

/// The columns Min and Max of CARDIS 2010, tables 1 and 2, to the printed digit.
#[test]
fn min_and_max_of_the_papers_tables() {
    for (name, on, min, max) in [
        ("K9F1208Q0B", "33MHz-x8", "0.02", "12.03"),
        ("MT29F2G08AAC", "33MHz-x8", "0.01", "18.27"),
        ("K9F1208Q0B", "54MHz-x16", "0.02", "12.03"),
        ("MT29F2G08AAC", "54MHz-x16", "0.01", "29.61"),
        ("NOR-CARDIS", "33MHz-x8", "23.84", "23.84"),
    ] {
        let raw = RawBandwidth::of(&part::find(name).unwrap(), bus(on)).unwrap();
        assert_eq!(format!("{:.2}", raw.min_mib_s), min, "{name} on {on}");
        assert_eq!(format!("{:.2}", raw.max_mib_s), max, "{name} on {on}");
    }
}

/// The paper's 108 MB/s for NOR is 54 MHz × 2 bytes in 10⁶ bytes/s.
#[test]
fn the_papers_nor_bandwidth_is_decimal() {
    let nor = part::find("NOR-CARDIS").unwrap();
    let raw = RawBandwidth::of(&nor, bus("54MHz-x16")).unwrap();
    assert_eq!(format!("{:.2}", raw.max_mib_s), "105.96");
    let clocked = bus("54MHz-x16");
    assert_eq!(clocked.clock_mhz * f64::from(clocked.width_bits) / 8.0, 108.0);
}

#[test]
fn every_part_of_the_catalog_loads_under_its_file_name() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../parts");
    let catalog = part::catalog().unwrap();
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), catalog.len());
    for part in catalog {
        let file = part::find(&format!("{folder}/{}.toml", part.name)).unwrap();
        assert_eq!(file, *part);
    }
}

#[test]
fn a_bus_without_a_stated_time_is_as_slow_as_the_slower_of_bus_and_part() {
    let part = part::find("MT29F2G08AAC").unwrap();
    assert_eq!(part.byte_time(bus("10MHz-x8")).unwrap(), 100.0);
    assert_eq!(part.byte_time(bus("100MHz-x8")).unwrap(), 30.0);
    // An 8-bit part gains nothing from 16 lines.
    assert_eq!(part.byte_time(bus("100MHz-x16")).unwrap(), 30.0);
    for wrong in ["33", "33MHz", "0MHz-x8", "33MHz-x9", "-1MHz-x8", "nanMHz-x8"] {
        assert!(wrong.parse::<Bus>().is_err(), "{wrong}");
    }
}

fn prices() -> Prices {
    Prices {
        t_load_ns: 1000.0,
        t_byte_ns: 10.0,
        t_column_change_ns: Some(100.0),
        ram: Ram { t_read_ns: 2.0, t_write_ns: 3.0 },
        t_execute_ns: None,
        handler: Handler {
            lookup_ns: 0.5,
            pre_process_ns: 20.0,
            get_freeframe_ns: 15.0,
            walk_step_ns: 7.0,
            update_mmu_ns: 5.0,
            post_process_ns: 10.0,
            ..Handler::default()
        },
        schedule: Schedule::Sequential,
        emulates_bit: false,
        tag: None,
        fetch: None,
        t_r_ns: 1000.0,
        t_load_commands_ns: None,
        power: None,
    }
}

fn class(load: bool, column_change: bool, bytes_fetched: u32, walk: u32) -> FaultClass {
    let search = VictimSearch { walk, downgrades: 0 };
    FaultClass { load, column_change, bytes_fetched, search }
}

#[test]
fn time_is_the_sum_of_its_steps() {
    let counts = Counts {
        references: 100,
        misses: 4,
        loads: 3,
        column_changes: 1,
        bytes_read: 1000,
        bytes_fetched: 40,
        bytes_written: 32,
        walk: 5,
        ..Counts::default()
    };
    let time = Time::of(&counts, &prices());
    assert_eq!(time.load_ns, 3000.0);
    assert_eq!(time.fetch_ns, 400.0);
    assert_eq!(time.write_ns, 96.0);
    assert_eq!(time.read_ns, 2000.0);
    assert_eq!(time.column_change_ns, 100.0);
    assert_eq!(time.lookups_ns, 100.0 * 0.5);
    assert_eq!(time.handler_ns, 4.0 * 50.0 + 5.0 * 7.0);
    assert_eq!(time.time_ns, 3000.0 + 400.0 + 96.0 + 2000.0 + 100.0 + 285.0);
    assert_eq!(time.bandwidth_mib_s, 1000.0 / time.time_ns * 1e9 / 1_048_576.0);
}

#[test]
fn a_load_costs_its_command_and_hides_nothing_of_it() {
    let handler = Handler { load_command_ns: 11.0, ..prices().handler };
    let commanded = Prices { handler, ..prices() };
    let counts = Counts {
        misses: 5,
        loads: 3,
        bytes_written: 40,
        bytes_fetched: 40,
        walk: 5,
        fault_classes: vec![(class(true, false, 8, 1), 3), (class(false, false, 8, 1), 2)],
        ..Counts::default()
    };
    for schedule in [Schedule::Sequential, Schedule::Parallel] {
        let time_of = |prices: &Prices| Time::of(&counts, &Prices { schedule, ..*prices });
        assert_eq!(time_of(&commanded).time_ns - time_of(&prices()).time_ns, 3.0 * 11.0);
        assert_eq!(time_of(&commanded).handler_ns - time_of(&prices()).handler_ns, 3.0 * 11.0);
        let later = |load| {
            let fault = |prices: Prices| prices.fault_ns(&class(load, false, 8, 1), 8);
            fault(Prices { schedule, ..commanded }) - fault(Prices { schedule, ..prices() })
        };
        assert_eq!((later(true), later(false)), (11.0, 0.0));
    }
}

#[test]
fn a_column_change_costs_its_command_beside_the_bus() {
    let spec = |column_command_ns| DesignSpec {
        part: Some("MT29F1G08ABAFA".into()),
        register: Some("random-column".into()),
        handler: Some(Handler { column_command_ns, ..Handler::default() }),
        ..DesignSpec::default()
    };
    let change_ns =
        |command_ns| Design::new(spec(command_ns)).unwrap().prices().t_column_change_ns.unwrap();
    assert_eq!(change_ns(70.0), change_ns(0.0) + 70.0);
}

/// A chip with one register changes its column to the spare area and back; one with two buffers
/// does not.
#[test]
fn a_tag_costs_its_bytes_its_column_changes_and_its_check_at_each_fault() {
    let run = |at: u32| Run { offset: at.wrapping_mul(2_654_435_761) % 60_000, length: 700 };
    let trace = MemoryTrace::new((0..3_000).map(run).collect());
    let handler = Handler { tag_check_ns: 500.0, mac_block_ns: 30.0, ..prices().handler };
    for (part, register, columns) in [
        ("MT29F1G08ABAFA", "random-column", true),
        ("KFG1G16Q2M", "double-buffer", false),
        ("KFG1G16Q2M", "double-buffer-prefetch", false),
    ] {
        let spec = |tag_bytes| DesignSpec {
            part: Some(part.into()),
            register: Some(register.into()),
            policy: "clock".into(),
            cache_page_bytes: 256,
            cache_bytes: 4096,
            codeword_bytes: Some(512),
            schedule: "parallel".into(),
            handler: Some(handler),
            tag_bytes,
            ..DesignSpec::default()
        };
        let designs = [None, Some(8)].map(|tag| Design::new(spec(tag)).unwrap());
        let rows = simulate(
            &trace,
            &designs,
            &|| true,
            flashpager::design::WatchedWork::unwatched(),
            &|_| (),
        )
        .unwrap();
        let (bare, tagged) = (&rows[0], &rows[1]);
        let (before, counts) = (&bare.counts, &tagged.counts);
        let misses = counts.misses;
        assert!(before.forward > 0 && before.backward > 0 && before.misses == misses);
        assert_eq!((before.tag_bytes_fetched, before.mac_bytes), (0, 0));
        assert_eq!(counts.tag_bytes_fetched, 8 * misses);
        assert_eq!(counts.mac_bytes, (8 + 512) * misses);
        assert_eq!(counts.bytes_fetched, before.bytes_fetched + 8 * misses);
        let changes = if columns { misses + before.forward + before.backward } else { 0 };
        assert_eq!(counts.column_changes, changes);
        // 520 bytes are 33 blocks.
        let check_ns = 500.0 + 33.0 * 30.0;
        assert_eq!(tagged.time.handler_ns - bare.time.handler_ns, misses as f64 * check_ns);
        if !designs[1].is_executed() {
            let byte_ns = designs[1].prices().t_byte_ns;
            let change_ns = designs[1].prices().t_column_change_ns.unwrap_or(0.0);
            let more = misses as f64 * (check_ns + 8.0 * byte_ns)
                + (changes - before.column_changes) as f64 * change_ns;
            assert!((tagged.time.time_ns - bare.time.time_ns - more).abs() < 1.0);
            let faults: f64 =
                tagged.fault_latencies.iter().map(|(ns, times)| ns * *times as f64).sum();
            let others = tagged.time.read_ns + tagged.time.lookups_ns;
            assert!((faults + others - tagged.time.time_ns).abs() < 1.0);
            assert!(tagged.latency.worst_fault_ns >= bare.latency.worst_fault_ns + check_ns);
        }
        // A load ahead continues while a tag is checked.
        assert!(tagged.latency.worst_fault_ns >= bare.latency.worst_fault_ns);
    }
}

#[test]
fn tags_that_cannot_be_are_refused() {
    let spec = || DesignSpec {
        part: Some("MT29F1G08ABAEA".into()),
        register: Some("random-column".into()),
        cache_page_bytes: 512,
        cache_bytes: 4096,
        tag_bytes: Some(15),
        ..DesignSpec::default()
    };
    // 4 tags of 15 bytes and the bad-block mark fit into 64 bytes.
    let free = Design::new(spec()).unwrap();
    assert!(free.assumed().iter().any(|one| one.value.contains("mac_block_ns")));
    let nand = |part: &str| Some(part.to_owned());
    for (wrong, message) in [
        (DesignSpec { tag_bytes: Some(16), ..spec() }, "62 behind the mark"),
        (DesignSpec { tag_bytes: Some(17), cache_page_bytes: 1024, ..spec() }, "1 to 16"),
        (DesignSpec { tag_bytes: Some(0), ..spec() }, "1 to 16"),
        (DesignSpec { register: nand("start-column"), ..spec() }, "cannot change its column"),
        (DesignSpec { part: nand("W25Q128JV"), register: None, ..spec() }, "in place"),
        (
            DesignSpec {
                part: nand("KFG1G16Q2M"),
                register: nand("double-buffer"),
                critical_block_bytes: Some(64),
                ..spec()
            },
            "critical block",
        ),
    ] {
        let refused = Design::new(wrong).unwrap_err().to_string();
        assert!(refused.contains(message), "{refused}");
    }
}

#[test]
fn latency_by_nearest_rank() {
    // 98 cheap faults, one dear and one dearest: the 99th of 100 is the dear one.
    let counts = Counts {
        misses: 100,
        bytes_written: 800,
        fault_classes: vec![
            (class(false, false, 8, 0), 98),
            (class(false, true, 8, 2), 1),
            (class(true, false, 16, 0), 1),
        ],
        ..Counts::default()
    };
    let latency = Latency::of(&fault_latencies(&counts, &prices()));
    let (cheap, dear, dearest) =
        (50.0 + 80.0 + 24.0, 50.0 + 14.0 + 80.0 + 24.0 + 100.0, 50.0 + 160.0 + 24.0 + 1000.0);
    assert_eq!(latency.p99_fault_ns, dear);
    assert_eq!(latency.worst_fault_ns, dearest);
    assert!((latency.mean_fault_ns - (98.0 * cheap + dear + dearest) / 100.0).abs() < 1e-9);
}

#[test]
fn a_trace_without_a_miss_has_no_latency() {
    let latency = Latency::of(&fault_latencies(&Counts::default(), &prices()));
    assert_eq!(
        (latency.mean_fault_ns, latency.p99_fault_ns, latency.worst_fault_ns),
        (0.0, 0.0, 0.0)
    );
}

#[test]
fn read_disturb_sums_the_pages_of_a_block() {
    // K9F1208Q0B: 32 pages a block. Block 1 is the hottest with 5 + 6 loads.
    let loads_by_flash_page = vec![(0, 10), (32, 5), (63, 6), (64, 9)];
    let counts = Counts { loads_by_flash_page, bytes_read: 1, ..Counts::default() };
    let part = part::find("K9F1208Q0B").unwrap();
    let hour = Time { time_ns: 3.6e12, ..Time::of(&counts, &prices()) };
    let disturb = ReadDisturb::of(&counts, &hour, &part, 512);
    assert_eq!(disturb.hottest_block_loads, 11);
    assert_eq!(disturb.hottest_block_loads_per_hour, 11.0);
    assert_eq!(disturb.hours_to_refresh, Some(100_000.0 / 11.0));
}

#[test]
fn read_disturb_sums_the_lines_of_an_erase_block() {
    // W25Q128JV is read in place and erases 4096 bytes: 512 lines of 8.
    let loads_by_flash_page = vec![(0, 2), (1, 1), (511, 2), (512, 3)];
    let counts = Counts { loads_by_flash_page, bytes_read: 1, ..Counts::default() };
    let part = part::find("W25Q128JV").unwrap();
    let hour = Time { time_ns: 3.6e12, ..Time::of(&counts, &prices()) };
    assert_eq!(ReadDisturb::of(&counts, &hour, &part, 8).hottest_block_loads, 5);
}

#[test]
fn short_tags_are_warned_of() {
    assert_eq!(short_tag(0), None);
    for bytes in 1..8 {
        let warning = short_tag(bytes).unwrap();
        assert!(warning.contains(&format!("one forged page in 2^{} pass", 8 * bytes)));
    }
    assert_eq!(short_tag(8), None);
    assert_eq!(short_tag(16), None);
}

#[test]
fn less_than_a_codeword_is_warned_of() {
    let host = part::find("K9F1208Q0B").unwrap();
    assert!(warnings(&host, 64, None, 512)[0].contains("cannot be checked"));
    assert!(warnings(&host, 64, Some(512), 512).is_empty());
    assert!(warnings(&host, 512, None, 512).is_empty());
    let on_die = part::find("TC58BVG0S3H").unwrap();
    assert!(warnings(&on_die, 64, None, 2048).is_empty());
    assert!(warnings(&on_die, 64, None, 512)[0].contains("what-if"));
}

#[test]
fn an_error_names_the_line_of_a_part_file() {
    let good = include_str!("../../../../../parts/K9F1208Q0B.toml");
    let wrong = |from: &str, to: &str| {
        assert!(good.contains(from));
        Part::parse(&good.replace(from, to), "my.toml").unwrap_err().to_string()
    };
    assert!(wrong("value = 15000", "value = -15000").contains("t_r_ns"));
    assert!(wrong("value = 15000", "value = 15e12").contains("t_r_ns"));
    assert!(wrong("maker", "mkaer").starts_with("my.toml, line 3:"));
    assert!(
        wrong("page_bytes = { value = 512", "page_bytes = { value = 500").contains("power of two")
    );
    assert!(wrong("33MHz-x8", "33-x8").contains("33MHz-x8"));
    assert!(wrong("t_r_ns = ", "t_load_ns = ").contains("t_load_ns"));
}

fn about(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

fn end_ns(schedule: Schedule, jobs: &Jobs) -> f64 {
    Timeline::new(schedule, jobs, BusyUntil::default()).end_ns
}

/// Times of jobs, some of them 0.
fn job_ns() -> impl Strategy<Value = f64> {
    prop_oneof![1 => Just(0.0), 4 => 0.0..100_000.0]
}

fn any_jobs() -> impl Strategy<Value = Jobs> {
    prop::array::uniform6(job_ns()).prop_map(|[pre, get, load, transfer, update, post]| Jobs {
        pre_process_ns: pre,
        get_freeframe_ns: get,
        load_stopover_ns: load,
        trans_host_mem_ns: transfer,
        trans_rest_ns: 0.0,
        update_mmu_ns: update,
        post_process_ns: post,
    })
}

/// Prices of 1 µs per load, 1 ns per byte over the bus, and `t_read_ns` per executed byte.
fn plain(t_read_ns: f64) -> Prices {
    Prices {
        t_load_ns: 1000.0,
        t_byte_ns: 1.0,
        ram: Ram { t_read_ns, t_write_ns: 0.0 },
        handler: Handler::default(),
        ..prices()
    }
}

/// A trace, its cache and register, and the prices.
#[derive(Clone, Debug)]
struct Case {
    runs: Vec<(u32, u32)>,
    cache: CacheDesign,
    register: RegisterDesign,
    prices: Prices,
}

/// Pages of 512 bytes, one frame.
fn one_frame(runs: &[(u32, u32)], model: RegisterModel, flash_page: u32, prices: Prices) -> Case {
    let cache = CacheDesign {
        cache_bytes: 512,
        cache_page_bytes: 512,
        policy: "fifo".parse().unwrap(),
        ways: None,
        hierarchy: None,
    };
    let register = RegisterDesign {
        model,
        flash_page_bytes: flash_page,
        codeword_bytes: None,
        prefetch_lines: 0,
    };
    Case { runs: runs.to_vec(), cache, register, prices }
}

impl Case {
    /// Executes the case fault by fault. Returns the time and the latency of each fault, in order.
    fn execute(&self, critical: Option<u32>) -> (f64, Vec<f64>, Vec<(f64, u64)>) {
        let page_bytes = self.cache.cache_page_bytes;
        let execution = || Execution::new(self.prices, page_bytes, critical);
        let (faults, rest) = self.faults(critical);
        let mut whole = execution();
        let mut latencies = Vec::new();
        for (index, fault) in faults.iter().enumerate() {
            whole.fault(fault);
            // The latency of one fault: the difference to those before it.
            let sum = |count: usize| {
                let mut part = execution();
                faults[..count].iter().for_each(|fault| part.fault(fault));
                let latencies = part.finish(&Executed::default()).fault_latencies;
                latencies.iter().map(|(ns, times)| ns * *times as f64).sum::<f64>()
            };
            if faults.len() < 10 {
                latencies.push(sum(index + 1) - sum(index));
            }
        }
        let executed = whole.finish(&rest);
        (executed.time_ns, latencies, executed.fault_latencies)
    }

    fn trace(&self) -> MemoryTrace {
        let run = |&(offset, length): &(u32, u32)| Run { offset, length };
        MemoryTrace::new(self.runs.iter().map(run).collect())
    }

    fn faults(&self, critical: Option<u32>) -> (Vec<Fault>, Executed) {
        let mut faults = Vec::new();
        let sink = &mut |_: usize, fault: &Fault| faults.push(*fault);
        let events = Events { critical_block_bytes: critical, sink, begun: None, words: None };
        let registers = [self.register];
        let (_, rest) =
            replay(&self.trace(), &self.cache, &registers, &|| true, Some(events)).unwrap();
        (faults, rest)
    }

    /// The counts as a device sees them.
    fn counts(&self) -> Counts {
        let registers = [self.register];
        let (mut counts, _) =
            replay(&self.trace(), &self.cache, &registers, &|| true, None).unwrap();
        let counts = counts.remove(0);
        if self.prices.emulates_bit { counts.with_emulated_bit() } else { counts }
    }
}

fn any_case() -> impl Strategy<Value = Case> {
    let runs = prop::collection::vec((0..4000u32, 1..96u32), 1..80);
    let policy = prop::sample::select(vec![
        "lru",
        "min",
        "clock",
        "pa-clock(2)",
        "fifo-sc(2)",
        "pa-fifo-sc(2)",
        "sieve",
    ]);
    let model = prop::sample::select(vec![
        RegisterModel::Sequential,
        RegisterModel::StartColumn,
        RegisterModel::RandomColumn,
        RegisterModel::DoubleBuffer,
    ]);
    let schedule = prop::sample::select(Schedule::ALL.to_vec());
    let times = prop::array::uniform16(job_ns());
    let shapes = (any::<bool>(), any::<bool>(), 2..8u64, any::<bool>());
    (runs, policy, model, schedule, times, shapes).prop_map(
        |(runs, policy, model, (_, schedule), times, (icache, tlb, frames, emulates_bit))| {
            let hierarchy = icache.then_some(HierarchyDesign {
                icache: ICacheShape { cache_bytes: 128, line_bytes: 16, ways: 2 },
                tlb: tlb.then_some(TlbShape { sets: 2, ways: 1 }),
            });
            let [load, byte, change, read, write, lookup, pre, get, ..] = times;
            let [.., step, down, update, post, false_fault, fetch, refill, page] = times;
            let fetch = FetchPrices {
                fetch_ns: fetch,
                refill_ns: refill,
                tlb_lookup_ns: if tlb { lookup } else { 0.0 },
                page_walk_ns: if tlb { page } else { 0.0 },
            };
            let prices = Prices {
                t_load_ns: load,
                t_byte_ns: byte / 1000.0,
                t_column_change_ns: Some(change),
                ram: Ram { t_read_ns: read / 1000.0, t_write_ns: write / 1000.0 },
                handler: Handler {
                    lookup_ns: lookup / 10.0,
                    pre_process_ns: pre,
                    get_freeframe_ns: get,
                    walk_step_ns: step,
                    downgrade_ns: down,
                    update_mmu_ns: update,
                    post_process_ns: post,
                    load_command_ns: pre / 2.0,
                    column_command_ns: 0.0,
                    tag_check_ns: 0.0,
                    mac_block_ns: 0.0,
                    false_fault_ns: false_fault,
                    load_stopover_ns: None,
                },
                schedule,
                emulates_bit: emulates_bit && policy != "lru" && policy != "sieve",
                fetch: icache.then_some(fetch),
                ..prices()
            };
            let cache = CacheDesign {
                cache_bytes: 128 * frames.max(3),
                cache_page_bytes: 128,
                policy: policy.parse().unwrap(),
                ways: None,
                hierarchy,
            };
            let register = RegisterDesign {
                model,
                flash_page_bytes: 1024,
                codeword_bytes: None,
                prefetch_lines: 0,
            };
            Case { runs, cache, register, prices }
        },
    )
}
