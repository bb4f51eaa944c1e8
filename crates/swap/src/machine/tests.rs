use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::spec::SwapSpec;
use crate::store::StoreLayout;
use crate::workload::{AccessPattern, SplitMix};

const PAGE: u64 = 4096;

/// A system with 16 frames for a program of 64 pages.
fn small(medium: &str, compressor: &str) -> SwapSpec {
    let mut spec = SwapSpec {
        medium: medium.into(),
        compressor: compressor.into(),
        chunk_bytes: 4 * PAGE,
        random_pages: 16,
        reads: 3,
        most_bytes: Some(64 * PAGE),
        ..SwapSpec::default()
    };
    let taken = SwapSystem::new(spec.clone()).unwrap().taken_bytes();
    spec.ram_bytes = taken + 16 * PAGE;
    spec
}

fn ran(spec: SwapSpec) -> BenchReport {
    bench(spec, &|| true, &|_| {}).unwrap()
}

/// LRU, dirty pages and copies in the plainest possible code.
#[derive(Default)]
struct Model {
    /// Pages in frames, the least recently used first.
    frames: Vec<Page>,
    dirty: BTreeSet<Page>,
    /// Contents of the slots.
    slots: BTreeMap<Page, u64>,
    content: BTreeMap<Page, u64>,
    counts: MachineCounts,
}

impl Model {
    fn touch(&mut self, page: Page) {
        if let Some(at) = self.frames.iter().position(|other| *other == page) {
            self.frames.remove(at);
        } else {
            self.counts.faults += 1;
            if self.frames.len() == 16 {
                let victim = self.frames.remove(0);
                if self.dirty.remove(&victim) {
                    self.slots.insert(victim, self.content[&victim]);
                    self.counts.pages_out += 1;
                } else {
                    self.counts.pages_dropped += 1;
                }
            }
            match self.slots.get(&page) {
                Some(content) => {
                    assert_eq!(*content, self.content[&page]);
                    self.counts.pages_in += 1;
                }
                None => {
                    self.counts.first_touches += 1;
                    self.dirty.insert(page);
                    self.content.entry(page).or_insert(0);
                }
            }
        }
        self.frames.push(page);
    }

    fn read(&mut self, page: Page) {
        self.touch(page);
        self.counts.bytes_read += PAGE;
    }

    fn write(&mut self, page: Page, content: u64) {
        self.touch(page);
        self.counts.copies_freed += u64::from(self.slots.remove(&page).is_some());
        self.dirty.insert(page);
        self.content.insert(page, content);
        self.counts.bytes_written += PAGE;
    }
}

#[test]
fn a_machine_equals_a_slow_reference() {
    for (medium, layout) in [("ram:512K", "fragments"), ("nand:2M", "log"), ("nand:2M", "rewrite")]
    {
        let spec = SwapSpec { layout: Some(layout.into()), ..small(medium, "lz4") };
        let ram_bytes = SwapSystem::new(spec.clone()).unwrap().taken_bytes() + 16 * PAGE;
        let system = SwapSystem::new(SwapSpec { ram_bytes, ..spec }).unwrap();
        assert_eq!(system.frames().unwrap(), 16);
        let contents = system.contents().unwrap();
        let mut machine = Machine::new(&system, &*contents).unwrap();
        let (mut model, mut random) = (Model::default(), SplitMix::new(11));
        for step in 0..3000 {
            let page = random.below(1 + random.clone().below(64)) as Page;
            let written = random.below(3) == 0 || !model.content.contains_key(&page);
            let done = if written {
                model.write(page, step);
                machine.write(page, step)
            } else {
                model.read(page);
                machine.read(page)
            };
            assert!(done.is_ok(), "{layout} {step}");
            for page in 0..64 {
                assert_eq!(machine.store.holds(page), model.slots.contains_key(&page));
            }
        }
        let counts = machine.counts();
        assert_eq!(counts, MachineCounts { store: counts.store, ..model.counts });
        assert!(counts.pages_in > 500 && counts.pages_dropped > 100, "{counts:?}");
        assert!(counts.copies_freed > 100 && counts.pages_out > 500, "{counts:?}");
        assert_eq!(counts.store.compressed_pages, counts.pages_out);
        assert_eq!(counts.store.decompressed_pages, counts.pages_in);
        machine.store.check().unwrap();
    }
}

#[test]
fn time_is_what_the_counts_cost() {
    let spec = SwapSpec {
        ram_ns_per_byte: 2.0,
        fault_ns: 1000.0,
        clock_mhz: 100.0,
        cycles_per_instruction: 2.0,
        compress_instructions_per_byte: Some(10.0),
        decompress_instructions_per_byte: Some(4.0),
        ..small("ram:512K", "lz4")
    };
    let report = ran(spec);
    assert_eq!(report.points.len(), 16);
    for point in &report.points {
        for phase in [point.fill, point.read] {
            let MachineCounts { bytes_read, bytes_written, faults, store, .. } = phase.counts;
            let ns = 2 * (bytes_read + bytes_written)
                + 1000 * faults
                + 2 * (store.read_bytes + store.program_bytes)
                // 10 ns a cycle, 2 cycles an instruction
                + 20 * PAGE * (10 * store.compressed_pages + 4 * store.decompressed_pages);
            let total = phase.time.total_ns;
            assert!((total - ns as f64).abs() < 1e-6 * total, "{total} {ns}");
        }
        let seconds = point.read.time.total_ns * 1e-9;
        let mb = (16 * PAGE) as f64 / 1_048_576.0;
        assert!((point.mib_s - mb / seconds).abs() < 1e-9 * point.mib_s);
        assert!((point.share_of_ram - point.mib_s / report.system.ram_mib_s).abs() < 1e-9);
    }
    // First all pages fit into frames, at RAM's own speed; later there are more and more faults.
    let shares: Vec<f64> = report.points.iter().map(|point| point.share_of_ram).collect();
    assert_eq!(shares[..4], [1.0; 4]);
    assert!(shares[5] < 0.5 && shares[15] < shares[5]);
    let totals = report.points.iter().map(|p| p.fill.time.total_ns + p.read.time.total_ns);
    assert!((totals.sum::<f64>() - report.total.time.total_ns).abs() < 1.0);
}

#[test]
fn reading_one_chunk_again_and_again_is_faster_than_all_over() {
    let share = |reading: AccessPattern| {
        let spec = SwapSpec { reading: reading.name().into(), ..small("pcm:512K", "lz4") };
        ran(spec).mean_share_of_ram.unwrap()
    };
    let [random, fixed, last] =
        [AccessPattern::Random, AccessPattern::Fixed, AccessPattern::Last].map(share);
    assert!(random < fixed && fixed < last && last == 1.0, "{random} {fixed} {last}");
}

#[test]
fn a_full_medium_ends_the_run_and_the_store_keeps_the_compressors_ratio() {
    for (medium, compressor) in [("ram:1M", "deflate"), ("pcm:1M", "lz4"), ("nand:4M", "deflate")] {
        let spec = SwapSpec {
            chunk_bytes: 16 * PAGE,
            most_bytes: Some(64 << 20),
            ram_bytes: 8 << 20,
            ..small(medium, compressor)
        };
        let report = ran(spec.clone());
        let end = report.out_of_memory_at_bytes.unwrap();
        let last = report.points.last().unwrap().allocated_bytes;
        assert!(end >= last && end < last + 16 * PAGE + 1, "{end} {last}");
        // Bytes of the frames, and those that the medium holds at 25 %.
        let room =
            report.store.statistics.mem_limit as f64 / report.store.statistics.used_ratio.unwrap();
        let expected = f64::from(report.system.frames) * PAGE as f64 + room;
        assert!(
            (end as f64 / expected - 1.0).abs() < 0.02,
            "{medium} {end} {expected} {:?}",
            report.store
        );
        let statistics = report.store.statistics;
        let kept = statistics.compr_data_size as f64 / statistics.mem_used_total as f64;
        assert!(kept >= 0.95, "{medium} keeps {kept}");
        assert_eq!(ran(spec), report);
    }
}

#[test]
fn a_log_beats_rewriting_of_blocks_by_far() {
    let share = |layout: StoreLayout| {
        let spec = SwapSpec { layout: Some(layout.name().into()), ..small("nand:4M", "lz4") };
        let report = ran(SwapSpec {
            ram_bytes: 2 << 20,
            chunk_bytes: 16 * PAGE,
            most_bytes: Some(10 << 20),
            random_pages: 64,
            // Pages that are read go out again, so that writes go everywhere.
            keep_copies_percent: 0,
            ..spec
        });
        assert_eq!(report.out_of_memory_at_bytes, None);
        assert!(report.total.counts.copies_freed > 1000);
        report.points.last().unwrap().share_of_ram
    };
    let ratio = share(StoreLayout::Log) / share(StoreLayout::Rewrite);
    assert!(ratio > 10.0, "{ratio}");
}

#[test]
fn churn_turns_a_store_over() {
    for (medium, layout) in [("pcm:256K", "fragments"), ("nand:4M", "log"), ("nand:2M", "rewrite")]
    {
        let spec = SwapSpec {
            medium: medium.into(),
            layout: Some(layout.into()),
            compressor: "lz4".into(),
            turnovers: 2.0,
            ..SwapSpec::default()
        };
        let report = churn(spec, &|| true, &|_| {}).unwrap();
        assert!((0.8..0.83).contains(&report.filled_share), "{}", report.filled_share);
        assert!((2.0..2.3).contains(&report.turnovers), "{}", report.turnovers);
        let amplification = report.write_amplification;
        let expected = match layout {
            "rewrite" => 10.0..1000.0,
            _ => 1.0..2.5,
        };
        assert!(expected.contains(&amplification), "{layout} {amplification}");
        assert!(report.page_ns > 0.0 && report.store.wear.mean > 0.5);
    }
}

#[test]
fn an_impossible_input_is_refused_in_one_line() {
    let with = |change: fn(&mut SwapSpec)| {
        let mut spec = SwapSpec::default();
        change(&mut spec);
        spec
    };
    for (wrong, line) in [
        (with(|spec| spec.compressor = "lz5".into()), "did you mean lz4?"),
        (with(|spec| spec.medium = "ram:32M".into()), "no page fits"),
        (with(|spec| spec.policy = "min".into()), "policy 'min'"),
        (with(|spec| spec.reading = "randon".into()), "did you mean random?"),
        (with(|spec| spec.layout = Some("log".into())), "needs NAND"),
        (with(|spec| spec.chunk_bytes = 5000), "not whole pages"),
        (with(|spec| spec.pages = "synthetic(125%)".into()), "synthetic(25%)"),
        (with(|spec| spec.pages = "/no/such/file".into()), "/no/such/file"),
        (with(|spec| spec.clock_mhz = 0.0), "clock_mhz = 0"),
        (with(|spec| spec.bus = Some("fast".into())), "bus 'fast'"),
        (with(|spec| spec.most_bytes = Some(0)), "hold no chunk"),
    ] {
        let error = bench(wrong, &|| true, &|_| {}).unwrap_err().to_string();
        assert!(error.contains(line) && !error.contains('\n'), "{error}");
    }
    let stopped = bench(SwapSpec::default(), &|| false, &|_| {}).unwrap_err();
    assert!(matches!(stopped, Error::Interrupted));
}
