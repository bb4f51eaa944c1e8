//! Prices against the CARDIS paper's tables and against sums done by hand.

use std::sync::atomic::{AtomicUsize, Ordering};

use flashpager::Error;
use flashpager::cost::handler::{Busy, Executor, Jobs, Schedule, Span, Timeline};
use flashpager::cost::{
    Execution, Fetch, FetchPrices, Handler, Latency, Prices, Ram, RawBandwidth, ReadDisturb, Time,
    fault_latencies, warnings,
};
use flashpager::design::{Design, memory_bytes, simulate};
use flashpager::media::bus::Bus;
use flashpager::media::part::{self, Part};
use flashpager::pager::Search;
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

/// CARDIS 2010, tables 1 and 2, the columns Min and Max to the printed digit.
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
        fetch: None,
        t_r_ns: 1000.0,
        t_load_commands_ns: None,
        power: None,
    }
}

fn class(load: bool, column_change: bool, bytes_fetched: u32, walk: u32) -> FaultClass {
    let search = Search { walk, downgrades: 0 };
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
    assert_eq!(time.handler_ns, 100.0 * 0.5 + 4.0 * 50.0 + 5.0 * 7.0);
    assert_eq!(time.time_ns, 3000.0 + 400.0 + 96.0 + 2000.0 + 100.0 + 285.0);
    assert_eq!(time.bandwidth_mib_s, 1000.0 / time.time_ns * 1e9 / 1_048_576.0);
}

#[test]
fn latency_by_nearest_rank() {
    // 98 cheap faults, one dear, one dearest: the 99th of 100 is the dear one.
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
fn a_part_file_says_where_it_is_wrong() {
    let good = include_str!("../../../../parts/K9F1208Q0B.toml");
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
    Timeline::new(schedule, jobs, Busy::default()).end_ns
}

/// Times of jobs, some of them none at all.
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

/// SWL, figures 3 to 5 and footnote 3.
#[test]
fn timelines_by_hand() {
    let jobs = Jobs {
        pre_process_ns: 3.0,
        get_freeframe_ns: 10.0,
        load_stopover_ns: 30.0,
        trans_host_mem_ns: 20.0,
        trans_rest_ns: 0.0,
        update_mmu_ns: 25.0,
        post_process_ns: 2.0,
    };
    let spans = |schedule| {
        let place = |span: Span| (span.job, span.executor, span.start_ns, span.end_ns);
        let timeline = Timeline::new(schedule, &jobs, Busy::default());
        timeline.spans().into_iter().map(place).collect::<Vec<_>>()
    };
    use Executor::{Flash, Host};
    let hdd = [
        ("PreProcess", Host, 0.0, 3.0),
        ("GetFreeframe", Host, 3.0, 13.0),
        ("LoadPage", Flash, 13.0, 63.0),
        ("UpdateMMU", Host, 63.0, 88.0),
        ("PostProcess", Host, 88.0, 90.0),
    ];
    assert_eq!(spans(Schedule::Hdd), hdd);
    let sequential = [
        ("PreProcess", Host, 0.0, 3.0),
        ("GetFreeframe", Host, 3.0, 13.0),
        ("LoadStopover", Flash, 13.0, 43.0),
        ("TransHostMem", Host, 43.0, 63.0),
        ("UpdateMMU", Host, 63.0, 88.0),
        ("PostProcess", Host, 88.0, 90.0),
    ];
    assert_eq!(spans(Schedule::Sequential), sequential);
    let parallel = [
        ("PreProcess", Host, 0.0, 3.0),
        ("GetFreeframe", Host, 3.0, 13.0),
        ("LoadStopover", Flash, 3.0, 33.0),
        ("TransHostMem", Host, 33.0, 53.0),
        ("UpdateMMU", Host, 53.0, 78.0),
        ("PostProcess", Host, 78.0, 80.0),
    ];
    assert_eq!(spans(Schedule::Parallel), parallel);
    let mut parallel_mmu = spans(Schedule::ParallelMmu);
    parallel_mmu.sort_by(|a, b| a.2.total_cmp(&b.2).then(a.3.total_cmp(&b.3)));
    let expected = [
        ("PreProcess", Host, 0.0, 3.0),
        ("GetFreeframe", Host, 3.0, 13.0),
        ("LoadStopover", Flash, 3.0, 33.0),
        ("UpdateMMU", Host, 13.0, 38.0),
        ("TransHostMem", Host, 38.0, 58.0),
        ("PostProcess", Host, 58.0, 60.0),
    ];
    assert_eq!(parallel_mmu, expected);
}

/// SWL, section 4.1.2: Clock's search is hidden up to 13 frames.
#[test]
fn the_papers_walk_budget() {
    let handler = Handler { get_freeframe_ns: 7920.0, walk_step_ns: 878.8, ..Handler::default() };
    let swl = Prices { t_load_ns: 19_350.0, handler, schedule: Schedule::Parallel, ..prices() };
    assert_eq!(swl.walk_budget(128), 13);
    assert_eq!(swl.walk_budget(4), 5);
    let handler = Handler { update_mmu_ns: 879.0, ..handler };
    assert_eq!(Prices { handler, ..swl }.walk_budget(128), 13);
    let with_update = Prices { handler, schedule: Schedule::ParallelMmu, ..swl };
    assert_eq!(with_update.walk_budget(128), 12);
    let whole_steps = Handler { get_freeframe_ns: 0.1, walk_step_ns: 0.1, ..Handler::default() };
    let fits = Prices { t_load_ns: 0.4, handler: whole_steps, ..swl };
    assert_eq!(fits.walk_budget(128), 3);
    // The first frame must be looked at; what costs nothing is always hidden.
    assert_eq!(Prices { t_load_ns: 0.0, ..swl }.walk_budget(128), 1);
    let free = Prices { handler: Handler::default(), ..swl };
    assert_eq!(free.walk_budget(128), 129);
}

#[test]
fn false_faults_have_prices() {
    // Three false faults; of five pages moved down two were in true faults.
    let search = Search { walk: 0, downgrades: 2 };
    let class = FaultClass { search, ..class(true, false, 8, 0) };
    let counts = Counts {
        references: 10,
        hits: 6,
        misses: 1,
        false_faults: 3,
        downgrades: 5,
        false_fault_downgrades: 3,
        loads: 1,
        bytes_fetched: 8,
        bytes_written: 8,
        fault_classes: vec![(class, 1)],
        ..Counts::default()
    };
    let handler = Handler { false_fault_ns: 100.0, downgrade_ns: 7.0, ..prices().handler };
    let prices = Prices { handler, ..prices() };
    let time = Time::of(&counts, &prices);
    assert_eq!(time.false_faults_ns, 3.0 * 100.0 + 3.0 * 7.0);
    assert_eq!(time.handler_ns, 10.0 * 0.5 + 50.0 + 2.0 * 7.0);
    assert_eq!(prices.fault_ns(&class, 8), 1000.0 + 80.0 + 24.0 + 50.0 + 2.0 * 7.0);
    // Of an emulated bit: what was a hit is a false fault.
    let emulated = Counts { reference_bits_set: 4, ..counts }.with_emulated_bit();
    assert_eq!(Time::of(&emulated, &prices).false_faults_ns, 7.0 * 100.0 + 3.0 * 7.0);
    let executed = Executed {
        references: 2,
        reference_bits_set: 4,
        false_faults: 3,
        downgrades: 3,
        ..Executed::default()
    };
    assert_eq!(prices.host_ns(&executed), 2.0 * 0.5 + 3.0 * 100.0 + 3.0 * 7.0);
    let emulates = Prices { emulates_bit: true, ..prices };
    assert_eq!(emulates.host_ns(&executed), 2.0 * 0.5 + 7.0 * 100.0 + 3.0 * 7.0);
}

/// 1 µs a load, 1 ns a byte over the bus, `t_read_ns` a byte executed, and nothing else.
fn plain(t_read_ns: f64) -> Prices {
    Prices {
        t_load_ns: 1000.0,
        t_byte_ns: 1.0,
        ram: Ram { t_read_ns, t_write_ns: 0.0 },
        handler: Handler::default(),
        ..prices()
    }
}

/// A trace, the cache and register it runs through, and what it costs.
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
        hierarchy: None,
    };
    let register = RegisterDesign { model, flash_page_bytes: flash_page, codeword_bytes: None };
    Case { runs: runs.to_vec(), cache, register, prices }
}

impl Case {
    /// Executed fault by fault: the time, and each fault's latency in order.
    fn execute(&self, critical: Option<u32>) -> (f64, Vec<f64>, Vec<(f64, u64)>) {
        let page_bytes = self.cache.cache_page_bytes;
        let execution = || Execution::new(self.prices, page_bytes, critical);
        let (faults, rest) = self.faults(critical);
        let mut whole = execution();
        let mut latencies = Vec::new();
        for (index, fault) in faults.iter().enumerate() {
            whole.fault(fault);
            // What one fault adds to the latencies of those before it.
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
        let events = Events { critical_block_bytes: critical, sink };
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

/// Three flash pages one after the other, each 512 ns over the bus. While page 0 is
/// transferred from 1000 on, page 1 is loaded until 2000.
#[test]
fn loads_ahead_by_hand() {
    let prefetch = RegisterModel::DoubleBufferPrefetch;
    let in_order = [(0, 1536)];
    // 0: load, transfer 1000..1512, executed until 2024: page 1 is there, 2024..2536;
    // page 2 is loaded 2024..3024, wanted at 3048, transferred until 3560.
    let (time, latencies, _) = one_frame(&in_order, prefetch, 512, plain(1.0)).execute(None);
    assert_eq!((time, latencies), (4072.0, vec![1512.0, 512.0, 512.0]));
    // Executed in 128 ns: page 1 is wanted at 1640 and there at 2000, so is page 2 at
    // 2640 and 3000.
    let (time, latencies, _) = one_frame(&in_order, prefetch, 512, plain(0.25)).execute(None);
    assert_eq!((time, latencies), (3640.0, vec![1512.0, 872.0, 872.0]));
    // Page 2 is wanted at 1640 instead: its load waits for that of page 1, 2000..3000. It
    // is the last one: page 1 is loaded when it is wanted at 3640.
    let jumps = [(0, 512), (1024, 512), (512, 512), (2047, 1)];
    let (time, latencies, _) = one_frame(&jumps[..3], prefetch, 512, plain(0.25)).execute(None);
    assert_eq!((time, latencies), (5280.0, vec![1512.0, 1872.0, 1512.0]));
    // Of an image of four pages page 3 is loaded until 4000, and page 1 waits for that.
    let (_, latencies, _) = one_frame(&jumps, prefetch, 512, plain(0.25)).execute(None);
    assert_eq!(latencies[..3], [1512.0, 1872.0, 1872.0]);
    // Without loads ahead every page is waited for.
    let (time, latencies, _) =
        one_frame(&in_order, RegisterModel::DoubleBuffer, 512, plain(1.0)).execute(None);
    assert_eq!((time, latencies), (3.0 * 2024.0, vec![1512.0; 3]));
}

#[test]
fn critical_blocks_by_hand() {
    // The first 128 bytes are there at 1128 and executed at 1256, all at 1512.
    let double = RegisterModel::DoubleBuffer;
    let (time, latencies, _) = one_frame(&[(0, 512)], double, 512, plain(1.0)).execute(Some(128));
    assert_eq!((time, latencies), (1512.0 + 384.0, vec![1128.0]));
    // Of page 0 ten bytes are needed: at 1138 page 1 is, whose load goes until 2138.
    let (time, latencies, _) =
        one_frame(&[(300, 10), (512, 1)], double, 512, plain(1.0)).execute(Some(128));
    assert_eq!((time, latencies), (1138.0 + 1128.0 + 1.0, vec![1128.0, 1128.0]));
    // Page 1 is in the same flash page: it waits for the bus, which brings the rest of
    // page 0 until 1512.
    let (time, latencies, _) =
        one_frame(&[(300, 10), (512, 1)], double, 1024, plain(1.0)).execute(Some(128));
    assert_eq!((time, latencies), (1641.0, vec![1128.0, 502.0]));
}

/// OneNAND with cache pages of 256 bytes in 1 KB.
fn one_nand(model: RegisterModel, policy: &str, critical: Option<u32>) -> Design {
    let spec = DesignSpec {
        part: "KFG1G16Q2M".into(),
        bus: "13.16MHz-x16".into(),
        cache_bytes: 1024,
        cache_page_bytes: 256,
        flash_page_bytes: None,
        register: model.name().into(),
        codeword_bytes: None,
        policy: policy.into(),
        ram: Ram { t_read_ns: 10.0, t_write_ns: 10.0 },
        handler: Handler::default(),
        nor: None,
        count_commands: false,
        schedule: "parallel".into(),
        reference_bit: "hardware".into(),
        critical_block_bytes: critical,
        icache: None,
        tlb: None,
    };
    Design::new(spec).unwrap()
}

#[test]
fn executed_designs_end_when_they_are_told_to() {
    let run = |at: u32| Run { offset: at * 100 % 20_000, length: 60 };
    let trace = MemoryTrace::new((0..1000).map(run).collect());
    let (double, ahead) = (RegisterModel::DoubleBuffer, RegisterModel::DoubleBufferPrefetch);
    // How often they ask; where the answer is no, they end.
    let questions = |designs: &[Design]| {
        let asked = AtomicUsize::new(0);
        let after = |answers: usize| {
            asked.store(0, Ordering::Relaxed);
            let go_on = || asked.fetch_add(1, Ordering::Relaxed) < answers;
            simulate(&trace, designs, &go_on, &|_, _| {}).map(|found| found.len())
        };
        assert_eq!(after(usize::MAX).unwrap(), designs.len());
        let all = asked.load(Ordering::Relaxed);
        for answers in 0..all {
            assert!(matches!(after(answers), Err(Error::Interrupted)), "{answers} of {all}");
        }
        all
    };
    let once = questions(&[one_nand(double, "lru", None)]);
    assert!(once > 1);
    let executed = [one_nand(double, "lru", Some(64)), one_nand(ahead, "min", None)];
    assert_eq!(questions(&executed[..1]), once);
    // MIN looks for next uses first.
    assert_eq!(questions(&executed[1..]), 2 * once);
    // A pass for all that is a sum, and one for each that is executed.
    let [critical, min] = executed;
    let all = [one_nand(double, "lru", None), critical, min, one_nand(ahead, "lru", None)];
    assert_eq!(questions(&all), 5 * once);
}

#[test]
fn bounds_of_memory_know_executed_designs() {
    let image_bytes = 1 << 20;
    let info =
        TraceInfo { image_bytes, runs: 1_000_000, bytes: 30_000_000, ..TraceInfo::default() };
    let double = RegisterModel::DoubleBuffer;
    let [whole, critical] = [None, Some(64)].map(|critical| one_nand(double, "lru", critical));
    let bytes = |designs: &[&Design], threads| {
        let designs: Vec<Design> = designs.iter().map(|design| (*design).clone()).collect();
        memory_bytes(&info, &designs, threads)
    };
    let alone = bytes(&[&whole], 8);
    assert!(alone >= image_bytes / 256 * 4);
    assert!(bytes(&[&critical], 8) >= alone);
    assert!(bytes(&[&critical], 1) >= alone);
    assert_eq!(bytes(&[&whole, &critical], 1), alone);
    assert_eq!(bytes(&[&whole, &critical], 8), 2 * alone);
    assert_eq!(bytes(&[&whole, &critical, &critical], 2), 2 * alone);
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
                hierarchy,
            };
            let register = RegisterDesign { model, flash_page_bytes: 1024, codeword_bytes: None };
            Case { runs, cache, register, prices }
        },
    )
}

/// A case in which flash or bus may work on while the program runs, and its critical block.
fn any_executed_case() -> impl Strategy<Value = (Case, Option<u32>)> {
    let model = prop::sample::select(vec![
        RegisterModel::DoubleBuffer,
        RegisterModel::DoubleBufferPrefetch,
        RegisterModel::DoubleBufferPrefetch,
    ]);
    let schedules = [Schedule::Sequential, Schedule::Parallel, Schedule::ParallelMmu];
    let schedule = prop::sample::select(schedules.to_vec());
    let critical = prop::option::of((4..=7u32).prop_map(|shift| 1 << shift));
    // A slow host leaves nothing to wait for.
    let slow = prop::sample::select(vec![1.0, 0.1, 0.001]);
    (any_case(), model, schedule, 7..=10u32, critical, slow).prop_map(
        |(case, model, schedule, flash_page, critical, slow)| {
            let register =
                RegisterDesign { model, flash_page_bytes: 1 << flash_page, codeword_bytes: None };
            let Prices { handler, ram, fetch, .. } = case.prices;
            let prices = Prices {
                schedule,
                ram: Ram { t_read_ns: ram.t_read_ns * slow, ..ram },
                handler: Handler {
                    lookup_ns: handler.lookup_ns * slow,
                    pre_process_ns: handler.pre_process_ns * slow,
                    get_freeframe_ns: handler.get_freeframe_ns * slow,
                    walk_step_ns: handler.walk_step_ns * slow,
                    downgrade_ns: handler.downgrade_ns * slow,
                    update_mmu_ns: handler.update_mmu_ns * slow,
                    post_process_ns: handler.post_process_ns * slow,
                    false_fault_ns: handler.false_fault_ns * slow,
                    ..handler
                },
                fetch: fetch.map(|fetch| FetchPrices {
                    fetch_ns: fetch.fetch_ns * slow,
                    refill_ns: fetch.refill_ns * slow,
                    tlb_lookup_ns: fetch.tlb_lookup_ns * slow,
                    page_walk_ns: fetch.page_walk_ns * slow,
                }),
                ..case.prices
            };
            (Case { register, prices, ..case }, critical)
        },
    )
}

/// Time, latencies of the faults and waits for the rest of a page of a slow, obvious
/// execution on one clock, written from docs/handler.md and docs/model.md alone.
fn walk_through_time(case: &Case, critical: Option<u32>) -> (f64, Vec<f64>, Vec<f64>) {
    let Case { cache, register, prices, .. } = case;
    let Handler {
        lookup_ns,
        pre_process_ns,
        get_freeframe_ns,
        walk_step_ns,
        downgrade_ns,
        update_mmu_ns,
        post_process_ns,
        false_fault_ns,
        ..
    } = prices.handler;
    let host_ns = |executed: &Executed| {
        let Executed { bytes, words, line_refills, tlb_misses, .. } = *executed;
        let code_ns = match prices.fetch {
            None => bytes as f64 * prices.ram.t_read_ns,
            Some(fetch) => {
                words as f64 * fetch.fetch_ns
                    + line_refills as f64 * (fetch.tlb_lookup_ns + fetch.refill_ns)
                    + tlb_misses as f64 * fetch.page_walk_ns
            }
        };
        let bits = if prices.emulates_bit { executed.reference_bits_set } else { 0 };
        code_ns
            + executed.references as f64 * lookup_ns
            + (executed.false_faults + bits) as f64 * false_fault_ns
            + executed.downgrades as f64 * downgrade_ns
    };
    let (faults, rest) = case.faults(critical);
    let (mut latencies, mut waits) = (Vec::new(), Vec::new());
    // The host's clock, and until when flash and bus are at work.
    let (mut now, mut flash_free, mut bus_free) = (0.0_f64, 0.0_f64, 0.0_f64);
    let mut ahead = None;
    let mut left = None;
    let mut run = |now: &mut f64, executed: Executed, left: Option<Executed>, bus_free: f64| {
        let before = left.unwrap_or(executed);
        *now += host_ns(&before);
        if left.is_some() && bus_free > *now {
            waits.push(bus_free - *now);
            *now = bus_free;
        }
        *now += host_ns(&(executed - before));
    };
    for Fault { offset, access, search, executed, left: next_left, .. } in faults {
        run(&mut now, executed, left, bus_free);
        left = next_left;

        let began = now;
        now += pre_process_ns;
        let sought = now;
        now += get_freeframe_ns
            + f64::from(search.walk) * walk_step_ns
            + f64::from(search.downgrades) * downgrade_ns;
        let may_load = if prices.schedule == Schedule::Sequential { now } else { sought };
        if prices.schedule == Schedule::ParallelMmu {
            now += update_mmu_ns;
        }
        let flash_page = offset / register.flash_page_bytes;
        let in_buffer = if access.load {
            flash_free = flash_free.max(may_load) + prices.t_load_ns;
            flash_free
        } else {
            match ahead {
                Some((page, loaded)) if page == flash_page => loaded,
                _ => sought,
            }
        };

        // The page is in its buffer, there is a frame for it, and the bus is free.
        now = now.max(in_buffer).max(bus_free);
        if let Some(page) = access.prefetch {
            flash_free = flash_free.max(now) + prices.t_load_ns;
            ahead = Some((page, flash_free));
        }
        let bytes_ns = |bytes: u32| f64::from(bytes) * (prices.t_byte_ns + prices.ram.t_write_ns);
        bus_free = now + bytes_ns(cache.cache_page_bytes);
        now += bytes_ns(critical.unwrap_or(cache.cache_page_bytes));
        if prices.schedule != Schedule::ParallelMmu {
            now += update_mmu_ns;
        }
        now += post_process_ns;
        latencies.push(now - began);
    }
    run(&mut now, rest, left, bus_free);
    (now, latencies, waits)
}

/// Times and how many each, against times one by one; none is shorter than a picosecond.
fn same_times(counted: &[(f64, u64)], one_by_one: &[f64]) -> bool {
    let mut counted: Vec<f64> =
        counted.iter().flat_map(|(ns, times)| vec![*ns; *times as usize]).collect();
    let mut one_by_one = one_by_one.to_vec();
    for times in [&mut counted, &mut one_by_one] {
        times.retain(|ns| *ns > 0.001);
        times.sort_by(f64::total_cmp);
    }
    let same = |(a, b): (&f64, &f64)| (a - b).abs() <= 0.001 + 1e-9 * a;
    counted.len() == one_by_one.len() && counted.iter().zip(&one_by_one).all(same)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4 * ProptestConfig::default().cases,
        failure_persistence: None,
        ..Default::default()
    })]

    /// SWL, equations 1 to 3, footnote 3 and figure 3.
    #[test]
    fn handlers_take_what_the_papers_equations_say(jobs in any_jobs()) {
        let Jobs {
            pre_process_ns: pre,
            get_freeframe_ns: get,
            load_stopover_ns: load,
            trans_host_mem_ns: transfer,
            update_mmu_ns: update,
            post_process_ns: post,
            ..
        } = jobs;
        let sum = pre + get + load + transfer + update + post;
        prop_assert!(about(jobs.sum_ns(), sum));
        let sequential = end_ns(Schedule::Sequential, &jobs);
        prop_assert!(about(sequential, sum));
        prop_assert!(about(end_ns(Schedule::Hdd, &jobs), sum));
        let parallel = end_ns(Schedule::Parallel, &jobs);
        prop_assert!(about(parallel, pre + transfer + load.max(get) + update + post));
        prop_assert!(about(sequential - parallel, load.min(get)));
        let with_mmu = end_ns(Schedule::ParallelMmu, &jobs);
        prop_assert!(about(with_mmu, pre + load.max(get + update) + transfer + post));
        prop_assert!(with_mmu <= parallel * (1.0 + 1e-9));
    }

    /// Nobody does two jobs at once, the page is transferred when it is loaded and has a
    /// frame, and no job is lost.
    #[test]
    fn jobs_wait_for_what_they_need(
        jobs in any_jobs(),
        rest in job_ns(),
        load_busy in job_ns(),
        transfer_busy in job_ns(),
    ) {
        let busy = Busy { load_ns: load_busy, transfer_ns: transfer_busy };
        for (_, schedule) in Schedule::ALL {
            let with_rest = Jobs { trans_rest_ns: rest, ..jobs };
            let timeline = Timeline::new(schedule, &with_rest, busy);
            prop_assert_eq!(timeline.end_ns, Timeline::new(schedule, &jobs, busy).end_ns);
            prop_assert!(timeline.end_ns >= end_ns(schedule, &jobs) * (1.0 - 1e-9));
            let start = timeline.transfer_start_ns;
            prop_assert!(start >= transfer_busy);
            let transferred = timeline.transfer_end_ns - start;
            prop_assert!(about(transferred, jobs.trans_host_mem_ns + rest));

            let spans = timeline.spans();
            if schedule != Schedule::Hdd {
                let all: f64 = spans.iter().map(|span| span.end_ns - span.start_ns).sum();
                prop_assert!(about(all, with_rest.sum_ns()));
            }
            for executor in [Executor::Host, Executor::Flash, Executor::Dma] {
                let mut own: Vec<&Span> =
                    spans.iter().filter(|span| span.executor == executor).collect();
                own.sort_by(|a, b| a.start_ns.total_cmp(&b.start_ns));
                prop_assert!(own.is_sorted_by(|a, b| a.end_ns <= b.start_ns));
            }
            let find = |job: &str| spans.iter().find(|span| span.job == job);
            if let Some(load) = find("LoadStopover") {
                prop_assert!(load.start_ns >= load_busy && load.end_ns <= start);
            }
            if let Some(get) = find("GetFreeframe") {
                prop_assert!(get.end_ns <= start);
            }
        }
    }

    /// A walk of the budget is hidden, a longer one is not.
    #[test]
    fn the_budget_is_the_longest_walk_that_is_hidden(
        load in 1.0..100_000.0,
        base in 0.0..50_000.0,
        step in 10.0..5000.0,
        update in 0.0..20_000.0,
        frames in 1..200u32,
    ) {
        for schedule in [Schedule::Parallel, Schedule::ParallelMmu] {
            let handler = Handler {
                get_freeframe_ns: base,
                walk_step_ns: step,
                update_mmu_ns: update,
                ..Handler::default()
            };
            let prices = Prices { t_load_ns: load, handler, schedule, ..prices() };
            let budget = prices.walk_budget(frames);
            let time = |walk| prices.fault_ns(&class(true, false, 8, walk), 8);
            // Of a search, what no load hides.
            let seen = |walk: u32| {
                let without = Prices { handler: Handler { walk_step_ns: 0.0, ..handler }, ..prices };
                let shown = time(walk) - without.fault_ns(&class(true, false, 8, walk), 8);
                shown / load > 1e-6
            };
            prop_assert!((1..=frames + 1).contains(&budget));
            if budget > 1 {
                prop_assert!(!seen(budget), "{schedule:?}");
            }
            if budget <= frames {
                prop_assert!(seen(budget + 1), "{schedule:?}");
            }
        }
    }

    #[test]
    fn times_add_up(case in any_case()) {
        let Case { prices, .. } = &case;
        let counts = case.counts();
        let time = Time::of(&counts, prices);
        let steps = time.load_ns
            + time.fetch_ns
            + time.write_ns
            + time.read_ns
            + time.column_change_ns
            + time.handler_ns
            + time.false_faults_ns;
        prop_assert!(about(steps - time.hidden_ns, time.time_ns));
        prop_assert!(time.hidden_ns >= -1e-9 * steps);
        prop_assert!(prices.schedule.overlaps() || time.hidden_ns == 0.0);

        // Fault by fault: what a fault takes, and all that is none.
        let faults = fault_latencies(&counts, prices);
        let sum = |of: &[(f64, u64)]| of.iter().map(|(ns, times)| ns * *times as f64).sum::<f64>();
        let lookups = counts.references as f64 * prices.handler.lookup_ns;
        let others = time.read_ns + lookups + time.false_faults_ns;
        prop_assert!(about(sum(&faults) + others, time.time_ns));

        let Some(fetch) = Fetch::of(&counts, &time, &faults, &[], prices) else {
            prop_assert!(case.cache.hierarchy.is_none());
            return Ok(());
        };
        let words: u64 = fetch.fetch_latencies.iter().map(|(_, words)| words).sum();
        prop_assert_eq!(words, counts.words);
        prop_assert!(about(sum(&fetch.fetch_latencies), time.time_ns));
        prop_assert!(about(fetch.mean_fetch_ns * words as f64, time.time_ns));
        prop_assert!(fetch.fetch_latencies.is_sorted_by(|a, b| a.0 <= b.0));
        prop_assert!(fetch.worst_fetch_ns >= faults.last().map_or(0.0, |(ns, _)| *ns));
        prop_assert!(about(fetch.page_miss_ratio * words as f64, counts.misses as f64));
    }

    /// Where nothing goes on while the program runs, its time is the sum of its prices.
    #[test]
    fn an_execution_without_overlap_takes_the_sum(case in any_case()) {
        let counts = case.counts();
        let time = Time::of(&counts, &case.prices).time_ns;
        let sum = |of: &[(f64, u64)]| of.iter().map(|(ns, times)| ns * *times as f64).sum::<f64>();
        let summed = fault_latencies(&counts, &case.prices);
        for critical in [None, Some(case.cache.cache_page_bytes)] {
            let (executed, _, latencies) = case.execute(critical);
            prop_assert!(about(executed, time), "{critical:?}: {executed}, sum {time}");
            // Latencies of an execution are whole picoseconds.
            let summed_ns = sum(&summed);
            let rounding_ns = 0.001 * counts.misses as f64 + 1e-9 * summed_ns;
            prop_assert!((sum(&latencies) - summed_ns).abs() <= rounding_ns);
            let worst = |of: &[(f64, u64)]| of.last().map_or(0.0, |(ns, _)| *ns);
            prop_assert!((worst(&latencies) - worst(&summed)).abs() <= 0.001);
            prop_assert_eq!(latencies.iter().map(|(_, times)| times).sum::<u64>(), counts.misses);
        }
    }

    /// Where flash and bus go on while the program runs, a clock says the same.
    #[test]
    fn an_execution_takes_what_a_clock_says((case, critical) in any_executed_case()) {
        let (time, latencies, waits) = walk_through_time(&case, critical);
        let page_bytes = case.cache.cache_page_bytes;
        let mut execution = Execution::new(case.prices, page_bytes, critical);
        let (faults, rest) = case.faults(critical);
        faults.iter().for_each(|fault| execution.fault(fault));
        let executed = execution.finish(&rest);
        prop_assert!(about(executed.time_ns, time), "{}, by the clock {time}", executed.time_ns);
        let ours = executed.fault_latencies;
        prop_assert!(same_times(&ours, &latencies), "{ours:?}, by the clock {latencies:?}");
        let ours = executed.waits;
        prop_assert!(same_times(&ours, &waits), "{ours:?}, by the clock {waits:?}");
    }

    /// With two buffers, a critical block costs nothing and may save what it leaves for
    /// later; loads ahead cost at most a load each.
    #[test]
    fn what_goes_on_at_once_saves_time(case in any_case(), shift in 4..7u32) {
        let double = |model| Case {
            register: RegisterDesign { model, ..case.register },
            ..case.clone()
        };
        let (whole, ..) = double(RegisterModel::DoubleBuffer).execute(None);
        let (critical, ..) = double(RegisterModel::DoubleBuffer).execute(Some(1 << shift));
        prop_assert!(critical <= whole * (1.0 + 1e-9), "{critical}, whole pages {whole}");
        let ahead = double(RegisterModel::DoubleBufferPrefetch);
        let counts = ahead.counts();
        let (time, ..) = ahead.execute(None);
        let most = Time::of(&counts, &ahead.prices).time_ns
            + counts.prefetches as f64 * ahead.prices.t_load_ns;
        prop_assert!(time <= most * (1.0 + 1e-9), "{time}, at most {most}");
    }
}
