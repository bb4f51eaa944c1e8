use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::store::{Compressor, Geometry, MediumFaults, StoreLayout, StoreSpec};
use crate::workload::{AccessPattern, SplitMix, Synthetic};

const RAM: u32 = 64;
const PAGES: u32 = 256;

fn workload(reading: AccessPattern) -> Workload {
    let page = page_bytes() as u32;
    Workload {
        reading,
        page_bytes: page,
        chunk_bytes: u64::from(page) * 16,
        reads: 2,
        random_pages: 64,
        most_bytes: u64::from(page * PAGES),
        seed: 11,
    }
}

fn store(layout: StoreLayout, blocks: u32) -> Store {
    let program_bytes = if layout == StoreLayout::Fragments { 1 } else { 2048 };
    Store::format(&StoreSpec {
        layout,
        compressor: Compressor::Lz4,
        verify: false,
        page_bytes: page_bytes() as u32,
        slot_count: PAGES,
        geometry: Geometry { program_bytes, block_bytes: 16 * 2048, block_count: blocks },
        reserve_blocks: 0,
        file: None,
        faults: MediumFaults::default(),
        seed: 1,
    })
    .unwrap()
}

const CONTENTS: Synthetic = Synthetic { percent: 25, seed: 4 };

fn live<'a>(workload: &'a Workload, policy: &'a PolicySpec) -> Live<'a> {
    Live { workload, contents: &CONTENTS, ram_pages: RAM, policy, delay: None }
}

/// Returns true if userfaultfd is refused here, so that nothing can be tested.
fn refused() -> bool {
    let region = FaultRegion::new(1).unwrap();
    match Userfault::new(&region) {
        Ok(_) => false,
        Err(error) => {
            assert!(std::env::var_os("FLASHPAGER_REQUIRE_TOOLS").is_none(), "{error}");
            eprintln!("skipped: {error}");
            if let Some(file) = std::env::var_os("FLASHPAGER_TEST_RECORD") {
                let test = std::thread::current().name().unwrap_or("live").to_owned();
                let mut file =
                    std::fs::OpenOptions::new().append(true).create(true).open(file).unwrap();
                writeln!(file, "Rust\tno page faults in user space\t{test}").unwrap();
            }
            true
        }
    }
}

#[test]
fn every_byte_comes_back_under_every_layout_policy_and_reading() {
    if refused() {
        return;
    }
    let policies = [
        "lru",
        "fifo",
        "clock",
        "pa-clock(8)",
        "fifo-sc(32)",
        "pa-fifo-sc(32)",
        "random(1)",
        "cflru(16)",
        "sieve",
        "s3-fifo",
        "arc",
        "lirs",
        "2q",
        "lru-2",
    ];
    for (at, policy) in policies.iter().enumerate() {
        let policy: PolicySpec = policy.parse().unwrap();
        for (_, reading) in AccessPattern::ALL {
            let (_, layout) = StoreLayout::ALL[at % StoreLayout::ALL.len()];
            let workload = workload(reading);
            let live = live(&workload, &policy);
            let mut store = store(layout, 64);
            let result = run(&live, &mut store, &|| true, &|_| {}).unwrap();
            assert_eq!(result.ending, LiveEnding::Complete);
            assert_eq!(result.allocated_bytes, workload.most_bytes);
            assert_eq!(result.points.len(), 16);
            let LiveCounts { faults, zero_fills, swap_ins, swap_outs, dropped, .. } = result.counts;
            assert_eq!((zero_fills, faults), (PAGES.into(), zero_fills + swap_ins));
            // All pages are written to once, before anything is read.
            assert_eq!(result.counts.write_faults, 0);
            assert_eq!(swap_outs + dropped, faults - u64::from(RAM));
            assert!(swap_outs <= u64::from(PAGES), "a clean page is written again");
            assert_eq!(result.most_resident_pages, RAM);
            // The kernel also counts faults on the thread's other memory.
            let kernel = result.minor_faults + result.major_faults;
            assert!((faults..faults + 100).contains(&kernel), "{kernel} for {faults}");
            assert_eq!(result.notes.is_empty(), ["fifo", "random(1)"].contains(&policies[at]));
            store.check().unwrap();
        }
    }
}

#[test]
fn the_first_write_to_a_page_that_was_read_is_a_fault_and_no_other() {
    if refused() {
        return;
    }
    let (workload, policy) = (workload(AccessPattern::Last), "fifo".parse().unwrap());
    let live = live(&workload, &policy);
    let region = FaultRegion::new(PAGES).unwrap();
    let mut store = store(StoreLayout::Fragments, 64);
    let size = page_bytes();
    let (_, (), most) = paged(&live, &mut store, &region, |shared| {
        let mut page = vec![0; size];
        let counts = || shared.counts();
        let filled_with = |n: u32| vec![n as u8 + 1; size];
        for n in 0..RAM {
            region.write(n, &filled_with(n));
            assert!(region.resident() <= RAM as usize);
        }
        assert_eq!((counts().faults, counts().write_faults), (RAM.into(), 0));
        // Pages that were never written to are zeros and need no store.
        for n in RAM..2 * RAM {
            region.read(n, &mut page);
            assert!(page.iter().all(|byte| *byte == 0));
            assert!(region.resident() <= RAM as usize);
        }
        assert_eq!((counts().swap_outs, counts().write_faults), (RAM.into(), 0));
        for n in 0..RAM {
            region.read(n, &mut page);
            assert!(page == filled_with(n));
        }
        assert_eq!((counts().dropped, counts().swap_ins), (RAM.into(), RAM.into()));
        for n in 0..RAM / 2 {
            region.write(n, &filled_with(n + 100));
            region.write(n, &filled_with(n + 101));
            assert_eq!(counts().write_faults, u64::from(n) + 1);
        }
        // Half of the pages are dirty now; the others are dropped without a write.
        for n in 3 * RAM..4 * RAM {
            region.write(n, &filled_with(0));
            assert!(region.resident() <= RAM as usize);
        }
        assert_eq!(counts().swap_outs, u64::from(RAM) * 3 / 2);
        assert_eq!(counts().dropped, u64::from(RAM) * 3 / 2);
        for n in 0..RAM {
            region.read(n, &mut page);
            assert!(page == filled_with(if n < RAM / 2 { n + 101 } else { n }));
        }
        assert_eq!(counts().write_faults, u64::from(RAM) / 2);
        assert_eq!(region.resident(), RAM as usize);
    })
    .unwrap();
    assert_eq!(most, RAM);
}

#[test]
fn no_write_is_lost_while_threads_write_to_pages_that_go() {
    if refused() {
        return;
    }
    const THREADS: usize = 4;
    const WRITES: u64 = 6000;
    let (workload, policy) = (workload(AccessPattern::Last), "random(3)".parse().unwrap());
    // There are so few frames that a page is evicted while another of its words is written to.
    let live = Live { ram_pages: 6, ..live(&workload, &policy) };
    for (_, layout) in StoreLayout::ALL {
        let region = FaultRegion::new(PAGES).unwrap();
        let mut store = store(layout, 64);
        let work = |number: usize, shared: &PagerLink| {
            let mut random = SplitMix::new(number as u64);
            let mut last = vec![0; PAGES as usize];
            for write in 1..=WRITES {
                let page = random.below(12) as u32 * 20;
                // Each thread has a word of its own in every page.
                let word = region.word(page, number * 31);
                let value = word.load(Ordering::Relaxed);
                assert!(shared.over() || value == last[page as usize], "page {page}");
                if random.below(2) == 0 {
                    word.store(write, Ordering::Relaxed);
                    last[page as usize] = write;
                }
            }
        };
        let (shared, (), most) = paged(&live, &mut store, &region, |shared| {
            thread::scope(|scope| {
                for number in 0..THREADS {
                    scope.spawn(move || work(number, shared));
                }
            });
        })
        .unwrap();
        let counts = shared.counts();
        assert!(!shared.over() && most <= 6, "{counts:?}");
        assert!(counts.swap_outs > 1000 && counts.write_faults > 100, "{counts:?}");
        store.check().unwrap();
    }
}

#[test]
fn a_full_store_ends_the_run_and_lets_everybody_go() {
    if refused() {
        return;
    }
    for (_, layout) in StoreLayout::ALL {
        for (_, reading) in AccessPattern::ALL {
            let (workload, policy) = (workload(reading), "lru".parse().unwrap());
            let mut store = store(layout, if layout == StoreLayout::Log { 14 } else { 6 });
            let calls = AtomicU32::new(0);
            let progress = |_| {
                calls.fetch_add(1, Ordering::Relaxed);
            };
            let result = run(&live(&workload, &policy), &mut store, &|| true, &progress).unwrap();
            assert_eq!(result.ending, LiveEnding::OutOfMemory, "{}", layout.name());
            let ram = u64::from(RAM) * page_bytes() as u64;
            assert!((ram..workload.most_bytes).contains(&result.allocated_bytes));
            assert_eq!(result.points.len(), calls.into_inner() as usize);
            assert_eq!(result.points.last().unwrap().allocated_bytes, result.allocated_bytes);
        }
    }
}

#[test]
fn a_caller_stops_a_run_and_a_lost_page_ends_it() {
    if refused() {
        return;
    }
    let (workload, policy) = (workload(AccessPattern::Random), "lru".parse().unwrap());
    let live = live(&workload, &policy);
    let calls = AtomicU32::new(0);
    let should_continue = || calls.fetch_add(1, Ordering::Relaxed) < 300;
    let stopped = run(&live, &mut store(StoreLayout::Fragments, 64), &should_continue, &|_| {});
    assert!(matches!(stopped, Err(Error::Interrupted)));

    let region = FaultRegion::new(PAGES).unwrap();
    let mut small = Store::format(&StoreSpec {
        layout: StoreLayout::Fragments,
        compressor: Compressor::None,
        verify: false,
        page_bytes: page_bytes() as u32,
        // Fewer slots than the program has pages, so the last pages have none.
        slot_count: 100,
        geometry: Geometry { program_bytes: 1, block_bytes: 1 << 15, block_count: 64 },
        reserve_blocks: 0,
        file: None,
        faults: MediumFaults::default(),
        seed: 1,
    })
    .unwrap();
    let lost = paged(&live, &mut small, &region, |shared| {
        let mut page = 0;
        while !shared.over() && page < PAGES {
            region.write(page, &vec![1; page_bytes()]);
            page += 1;
        }
        page
    });
    let error = lost.err().unwrap().to_string();
    assert!(error.contains("no such slot"), "{error}");
}

#[test]
fn the_medium_takes_its_time() {
    if refused() {
        return;
    }
    let (workload, policy) = (workload(AccessPattern::Random), "lru".parse().unwrap());
    let delay = |counters: StoreCounters| (counters.reads + counters.programs) as f64 * 20_000.0;
    let slow = Live { delay: Some(&delay), ..live(&workload, &policy) };
    let mut store = store(StoreLayout::Fragments, 64);
    let result = run(&slow, &mut store, &|| true, &|_| {}).unwrap();
    let last = result.points.last().unwrap();
    assert!(last.counts.swap_ins > 20, "{last:?}");
    assert!(last.time_ns > last.counts.swap_ins * 20_000, "{last:?}");
}

#[test]
fn impossible_runs_are_refused() {
    let (workload, policy) = (workload(AccessPattern::Last), "lru".parse().unwrap());
    let mut store = store(StoreLayout::Fragments, 64);
    let mut error = |workload: &Workload| {
        let live = live(workload, &policy);
        run(&live, &mut store, &|| true, &|_| {}).unwrap_err().to_string()
    };
    let small = Workload { page_bytes: 512, ..workload.clone() };
    assert!(error(&small).contains("live pages are those of this kernel"));
    let none = Workload { most_bytes: 0, ..workload.clone() };
    assert!(error(&none).contains("allocates no chunk"));
}
