//! Long traces, large caches and images, and passes that are stopped.

use super::*;

/// More than one chunk of runs, with three runs per page, so that two runs of a page lie on both
/// sides of the first chunk's end.
#[test]
fn long_traces_agree() {
    assert_eq!(CHUNK_RUNS % 3, 1);
    let mut state = 1u32;
    let mut page = 0;
    let mut runs = Vec::new();
    for number in 0..2 * CHUNK_RUNS + 100 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if number % 3 == 0 {
            page = (state >> 16) % 20;
        }
        runs.push(run(page * 256 + (state >> 24) % 200, 1 + (state >> 8) % 40));
    }
    let icache = ICacheShape { cache_bytes: 128, line_bytes: 16, ways: 2 };
    let tlb = Some(TlbShape { sets: 2, ways: 1 });
    let registers: Vec<RegisterDesign> = registers(256).into_iter().step_by(16).collect();
    for hierarchy in [None, Some(HierarchyDesign { icache, tlb })] {
        let case = Case {
            ways: None,
            runs: runs.clone(),
            cache_page: 256,
            frames: 6,
            spare_bytes: 0,
            hierarchy,
            critical: Some(64),
        };
        all_agree(&case, &registers);
    }
}

#[test]
fn runs_up_to_the_last_byte_agree() {
    let up_to_4_gib = |length: u32| run(u32::MAX - (length - 1), length);
    let case = Case {
        ways: None,
        runs: vec![up_to_4_gib(3_000_000), run(0, 1), up_to_4_gib(MAX_RUN_BYTES), run(0, 4)],
        cache_page: 1 << 19,
        frames: 4,
        spare_bytes: 0,
        hierarchy: None,
        critical: None,
    };
    let registers: Vec<RegisterDesign> = models()
        .flat_map(|model| [None, Some(1 << 20)].map(|codeword| design(model, 1 << 20, codeword)))
        .collect();
    for policy in policies(case.frames) {
        agreed(&case, &policy, &registers);
    }
}

/// Caches so large that shares of 1 % and 10 % are rounded.
#[test]
fn larger_caches_agree() {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 16
    };
    for frames in [19, 20, 99, 100, 199, 200, 203] {
        let mut order = Vec::new();
        let mut base = 0;
        while order.len() < 4_000 {
            if next() % 8 == 0 {
                base = next() % (4 * frames);
            }
            let reach = if next() % 4 == 0 { 4 * frames } else { frames / 2 };
            order.push(base + next() % reach);
        }
        let case = pages(&order, 16, frames as usize);
        for policy in policies(case.frames) {
            agreed(&case, &policy, &[design(RegisterModel::Sequential, 512, None)]);
        }
    }
}

/// A cache larger than that of any device must not take as much of the host's memory.
#[test]
fn frames_that_no_page_can_fill_cost_nothing() {
    let trace = MemoryTrace::new(pages(&[0, 3, 1, 3, 0], 16, 1).runs);
    for policy in policies(2) {
        let cache = CacheDesign { cache_bytes: 1 << 34, ..cache(16, 1, 0, &policy) };
        if cache.check().is_err() {
            assert_eq!(policy, "lru-array");
            continue;
        }
        let register = [design(RegisterModel::Sequential, 512, None)];
        let (counts, _) = replay(&trace, &cache, &register, &|| true, None).unwrap();
        assert_eq!((counts[0].misses, counts[0].walk), (3, 0), "{policy}");
    }
}

/// A small instruction cache, and a TLB of as many sets of two.
fn small_front(tlb_sets: Option<u32>) -> HierarchyDesign {
    let icache = ICacheShape { cache_bytes: 64, line_bytes: 16, ways: 2 };
    HierarchyDesign { icache, tlb: tlb_sets.map(|sets| TlbShape { sets, ways: 2 }) }
}

/// The number of times that `pass` calls `should_continue`. It must stop at the first call that
/// returns false.
fn callbacks_of(pass: impl Fn(&dyn Fn() -> bool) -> Result<(), Error>) -> usize {
    let calls = Counter::new(0);
    let after = |answers: usize| {
        calls.set(0);
        pass(&|| {
            calls.set(calls.get() + 1);
            calls.get() <= answers
        })
    };
    after(usize::MAX).unwrap();
    let all = calls.get();
    for answers in 0..all {
        assert!(matches!(after(answers), Err(Error::Interrupted)), "{answers} of {all}");
        assert_eq!(calls.get(), answers + 1);
    }
    all
}

#[test]
fn a_pass_stops_when_its_callback_returns_false() {
    let trace = MemoryTrace::new((0..2000).map(|at| run(at * 40 % 5000, 30)).collect());
    let registers = [design(RegisterModel::DoubleBuffer, 512, None)];
    let callbacks = |policy: &str, hierarchy| {
        let cell = Cell {
            cache_page_bytes: 64,
            policy: policy.parse().unwrap(),
            ways: None,
            hierarchy,
            cache_bytes: vec![256, 1024],
            registers: registers.to_vec(),
        };
        let cache = CacheDesign { hierarchy, ..cache(64, 4, 0, policy) };
        let swept =
            callbacks_of(|should_continue| sweep(&trace, &cell, should_continue).map(|_| ()));
        let single = callbacks_of(|should_continue| {
            replay(&trace, &cache, &registers, should_continue, None).map(|_| ())
        });
        let with_events = callbacks_of(|should_continue| {
            let events = Events {
                critical_block_bytes: Some(16),
                sink: &mut |_, _| {},
                begun: None,
                words: None,
            };
            replay(&trace, &cache, &registers, should_continue, Some(events)).map(|_| ())
        });
        assert_eq!((single, with_events), (swept, swept), "{policy}");
        swept
    };
    let once = callbacks("lru", None);
    assert!((2..=2000).contains(&once));
    for hierarchy in [None, Some(small_front(None)), Some(small_front(Some(2)))] {
        assert_eq!(callbacks("clock", hierarchy), once);
        // MIN reads the trace twice: first to find the next uses.
        assert_eq!(callbacks("min", hierarchy), 2 * once);
    }
}

#[test]
fn bounds_of_memory_know_tlbs() {
    for policy in policies(64) {
        let bytes = |sizes: u64, hierarchy| {
            let cell = Cell {
                ways: None,
                cache_page_bytes: 64,
                policy: policy.parse().unwrap(),
                hierarchy,
                cache_bytes: (1..=sizes).map(|size| size * 4096).collect(),
                registers: vec![design(RegisterModel::Sequential, 512, None)],
            };
            cell.memory_bytes(1 << 20, 1_000_000, 30_000_000)
        };
        // A mask of up to 64 sizes takes as much as the tables of four sizes.
        for sizes in [4, 9, 70] {
            let without = bytes(sizes, None);
            assert_eq!(bytes(sizes, Some(small_front(None))), without, "{policy}");
            let small = bytes(sizes, Some(small_front(Some(2))));
            let large = bytes(sizes, Some(small_front(Some(1024))));
            assert!(without < small && small < large, "{policy}: {without}, {small}, {large}");
        }
    }
}

/// Deep stacks, page numbers beyond 16 bits, and more sizes than a mask has bits.
#[test]
fn sweeps_over_large_programs_equal_single_replays() {
    for (stride, sizes) in [(64, 70), (64 * 40, 7)] {
        let mut state = 1u32;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((u64::from(state) * u64::from(below)) >> 32) as u32
        };
        // Loops of growing length over random places, and jumps anywhere.
        let mut runs = Vec::new();
        for round in 0..400 {
            let (base, length) = (random(5000), 1 + random(10 + round * 8));
            for _ in 0..1 + random(3) {
                runs.extend((base..base + length).map(|page| run(page * stride, 40)));
            }
            runs.push(run(random(9000) * stride, 40));
        }
        let trace = MemoryTrace::new(runs);
        let registers = [
            design(RegisterModel::Sequential, 2048, None),
            design(RegisterModel::RandomColumn, 4096, Some(512)),
        ];
        let sizes: Vec<u64> =
            (0..sizes).map(|size| 64 * (1 + size * size * 12000 / sizes / sizes)).collect();
        // All other policies run one object per size.
        for policy in ["lru", "min", "fifo", "clock"] {
            let cell = Cell {
                cache_page_bytes: 64,
                policy: policy.parse().unwrap(),
                ways: None,
                hierarchy: None,
                cache_bytes: sizes.clone(),
                registers: registers.to_vec(),
            };
            let swept = sweep(&trace, &cell, &|| true).unwrap();
            for (cache_bytes, swept) in sizes.iter().zip(swept) {
                let cache = CacheDesign {
                    cache_bytes: *cache_bytes,
                    cache_page_bytes: 64,
                    policy: cell.policy.clone(),
                    ways: None,
                    hierarchy: None,
                };
                let (single, _) = replay(&trace, &cache, &registers, &|| true, None).unwrap();
                assert!(swept == single, "{cache:?}");
            }
        }
    }
}

/// Runs that are longer than a block of references, behind an instruction cache, too.
#[test]
fn sweeps_over_long_runs_equal_single_replays() {
    let run = |at: u32| Run { offset: at % 5 * 40_004, length: 1 + at % 4 * 30_001 };
    let trace = MemoryTrace::new((0..12).map(run).collect());
    for (hierarchy, cache_page_bytes) in [(None, 4), (None, 64), (Some(small_front(None)), 16)] {
        for policy in ["lru", "min", "clock"] {
            let cell = Cell {
                cache_page_bytes,
                policy: policy.parse().unwrap(),
                ways: None,
                hierarchy,
                cache_bytes: vec![1024, 4096],
                registers: vec![design(RegisterModel::Sequential, 512, None)],
            };
            let swept = sweep(&trace, &cell, &|| true).unwrap();
            for (cache_bytes, swept) in cell.cache_bytes.iter().zip(swept) {
                let cache = CacheDesign {
                    cache_bytes: *cache_bytes,
                    cache_page_bytes,
                    policy: cell.policy.clone(),
                    ways: None,
                    hierarchy,
                };
                let (alone, _) = replay(&trace, &cache, &cell.registers, &|| true, None).unwrap();
                assert_eq!(swept, alone, "{policy}, {cache_bytes}, {cache_page_bytes}");
            }
        }
    }
}
