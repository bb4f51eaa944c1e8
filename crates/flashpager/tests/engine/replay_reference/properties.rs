//! Properties that hold for any program.

use super::*;

/// A run somewhere in the image, of at most `longest` bytes.
fn any_run(image: u32, longest: u32) -> impl Strategy<Value = Run> {
    (0..image, 1..=longest)
        .prop_map(move |(offset, length)| run(offset, length.min(image - offset)))
}

/// Basic blocks near each other, in the order of one iteration of a loop.
fn loop_body(image: u32, near: u32) -> impl Strategy<Value = Vec<Run>> {
    let blocks = prop::collection::vec((0..near, 1..48u32), 1..6);
    (0..image, blocks).prop_map(move |(base, blocks)| {
        blocks
            .into_iter()
            .map(|(ahead, length)| {
                let offset = (base + ahead) % image;
                run(offset, length.min(image - offset))
            })
            .collect()
    })
}

/// One run cut into pieces, some of them with a call elsewhere in between.
fn calls(image: u32, longest: u32) -> impl Strategy<Value = Vec<Run>> {
    let pieces = prop::collection::vec((1..64u32, any_run(image, longest), any::<bool>()), 1..8);
    (0..image, pieces).prop_map(move |(mut offset, pieces)| {
        let mut runs = Vec::new();
        for (length, callee, called) in pieces {
            let length = length.min(image - offset);
            runs.push(run(offset, length));
            offset = (offset + length) % image;
            if called {
                runs.push(callee);
            }
        }
        runs
    })
}

/// Loops, jumps and calls; short runs and runs over several pages.
fn program(image: u32, cache_page: u32) -> impl Strategy<Value = Vec<Run>> {
    let step = prop_oneof![
        3 => any_run(image, 48).prop_map(|run| vec![run]),
        2 => any_run(image, 5 * cache_page).prop_map(|run| vec![run]),
        2 => calls(image, 48),
        3 => (loop_body(image, 4 * cache_page), 1..10usize).prop_map(|(body, times)| body.repeat(times)),
        1 => (loop_body(image, image), 1..5usize).prop_map(|(body, times)| body.repeat(times)),
    ];
    prop::collection::vec(step, 1..40).prop_map(|steps| steps.concat())
}

/// No hierarchy, or a small instruction cache, with a TLB or without; and a critical block.
fn front(shift: u32) -> impl Strategy<Value = (Option<HierarchyDesign>, Option<u32>)> {
    let line = (2..=shift.max(2), 0..=3u32, 1..=4u32).prop_map(|(line, sets, ways)| {
        let line_bytes = 1 << line;
        ICacheShape { cache_bytes: (line_bytes << sets) * ways, line_bytes, ways }
    });
    let tlb = prop::option::of(
        (0..=2u32, 1..=3u32).prop_map(|(sets, ways)| TlbShape { sets: 1 << sets, ways }),
    );
    let hierarchy = (line, tlb).prop_map(|(icache, tlb)| HierarchyDesign { icache, tlb });
    let hierarchy = prop::option::weighted(0.7, hierarchy);
    (hierarchy, prop::option::of(0..=shift)).prop_map(move |(hierarchy, critical)| {
        let hierarchy = hierarchy.filter(|_| shift >= 2);
        let least = hierarchy.map_or(1, |hierarchy| hierarchy.icache.line_bytes);
        (hierarchy, critical.map(|shift| least.max(1 << shift)))
    })
}

fn programs() -> impl Strategy<Value = Case> {
    (4..=10u32, 1..=48u32)
        .prop_flat_map(|(shift, pages)| {
            let cache_page = 1 << shift;
            let runs = (1..=cache_page)
                .prop_flat_map(move |last| program((pages - 1) * cache_page + last, cache_page));
            (runs, Just(cache_page), 1..=12usize, 0..cache_page, front(shift))
        })
        .prop_map(|(runs, cache_page, frames, spare_bytes, (hierarchy, critical))| Case {
            runs,
            cache_page,
            frames,
            spare_bytes,
            ways: None,
            hierarchy,
            critical,
        })
}

/// Tiny images, a single page, runs longer than the cache, loops over one page more than the cache
/// holds, and pages in random order.
fn adversaries() -> impl Strategy<Value = Case> {
    let tiny = (0..=6u32, 1..=3u32, 1..=4usize).prop_flat_map(move |(shift, pages, frames)| {
        let image = pages << shift;
        (prop::collection::vec(any_run(image, image), 0..60), Just(shift), Just(frames))
    });
    let one_page = (0..=8u32, 0..=40u32, 1..=4usize).prop_flat_map(move |(shift, page, frames)| {
        let inside = any_run(1 << shift, 1 << shift)
            .prop_map(move |inside| run((page << shift) + inside.offset, inside.length));
        (prop::collection::vec(inside, 0..30), Just(shift), Just(frames))
    });
    let long = (2..=6u32, 1..=8usize).prop_flat_map(move |(shift, frames)| {
        let image = 60 << shift;
        (prop::collection::vec(any_run(image, image), 0..12), Just(shift), Just(frames))
    });
    let round =
        (4..=7u32, 1..=12usize, 0..=2u32, 1..=12u32).prop_map(|(shift, frames, more, rounds)| {
            let pages = frames as u32 + more;
            let once: Vec<Run> = (0..pages).map(|page| run(page << shift, 1)).collect();
            (once.repeat(rounds as usize), shift, frames)
        });
    let unordered = (4..=9u32, 1..=9usize, 2..=24u32).prop_flat_map(|(shift, frames, pages)| {
        let byte = (0..pages).prop_map(move |page| run(page << shift, 1));
        (prop::collection::vec(byte, 1..400), Just(shift), Just(frames))
    });
    prop_oneof![tiny, one_page, long, round, unordered]
        .prop_flat_map(|(runs, shift, frames)| (Just((runs, shift, frames)), front(shift)))
        .prop_map(|((runs, shift, frames), (hierarchy, critical))| Case {
            runs,
            cache_page: 1 << shift,
            frames,
            spare_bytes: 0,
            ways: None,
            hierarchy,
            critical,
        })
}

/// Cases with some of the registers that suit them.
fn with_registers(
    cases: impl Strategy<Value = Case>,
) -> impl Strategy<Value = (Case, Vec<RegisterDesign>)> {
    cases.prop_flat_map(|case| {
        let registers = registers(case.cache_page);
        let some = prop::sample::subsequence(registers, 1..=10);
        (Just(case), some)
    })
}

fn cases() -> impl Strategy<Value = Case> {
    prop_oneof![programs(), adversaries(), in_sets(programs()), in_sets(adversaries())]
}

/// Cases with a cache in sets.
fn in_sets(cases: impl Strategy<Value = Case>) -> impl Strategy<Value = Case> {
    (cases, 0..=3u32, 1..=5u32).prop_map(|(case, sets, ways)| Case {
        frames: (ways << sets) as usize,
        spare_bytes: 0,
        ways: Some(ways),
        ..case
    })
}

/// The whole execution, from the counts.
fn executed(counts: &Counts) -> Executed {
    Executed {
        bytes: counts.bytes_read,
        references: counts.references,
        reference_bits_set: counts.reference_bits_set,
        false_faults: counts.false_faults,
        downgrades: counts.false_fault_downgrades,
        words: counts.words,
        line_refills: counts.line_refills,
        tlb_misses: counts.tlb_misses,
    }
}

fn fields(executed: &Executed) -> [u64; 8] {
    let Executed {
        bytes,
        references,
        reference_bits_set,
        false_faults,
        downgrades,
        words,
        line_refills,
        tlb_misses,
    } = *executed;
    [
        bytes,
        references,
        reference_bits_set,
        false_faults,
        downgrades,
        words,
        line_refills,
        tlb_misses,
    ]
}

fn check_invariants(case: &Case, registers: &[RegisterDesign]) {
    let has_tlb = case.hierarchy.is_some_and(|hierarchy| hierarchy.tlb.is_some());
    for policy in case.policies() {
        for (Replayed { counts, faults, rest }, register) in
            engine(case, &policy, registers).into_iter().zip(registers)
        {
            assert_eq!(counts.references, counts.hits + counts.misses + counts.false_faults);
            let cases = counts.other_page + counts.other_buffer + counts.forward + counts.backward;
            assert_eq!(counts.misses, cases);
            let in_page: u64 = counts.distance_histogram.iter().map(|(_, times)| times).sum();
            assert_eq!(in_page, counts.forward + counts.backward);
            assert_eq!(
                counts.loads + counts.prefetches,
                counts.loads_by_flash_page.iter().map(|(_, loads)| loads).sum::<u64>()
            );
            assert!(counts.reference_bits_set <= counts.hits);
            let emulated = counts.clone().with_emulated_bit();
            assert_eq!(emulated.false_faults, counts.false_faults + counts.reference_bits_set);
            assert_eq!(emulated.hits + emulated.false_faults, counts.hits + counts.false_faults);
            if case.hierarchy.is_some() {
                assert!(counts.line_refills <= counts.words);
                assert!(counts.references <= counts.line_refills);
                assert_eq!(counts.tlb_misses, if has_tlb { counts.references } else { 0 });
            } else {
                assert_eq!((counts.words, counts.line_refills, counts.tlb_misses), (0, 0, 0));
            }

            // The execution between the faults and after the last one is the whole.
            let left = faults.iter().fold(executed(&counts), |all, fault| all - fault.executed);
            assert_eq!(left, rest, "{policy}");
            let after = faults.iter().skip(1).map(|next| next.executed).chain([rest]);
            for (fault, after) in faults.iter().zip(after) {
                let Some(left) = fault.left else { continue };
                let mut both = fields(&left).into_iter().zip(fields(&after));
                assert!(both.all(|(left, after)| left <= after), "{left:?} of {after:?}");
                assert!(case.critical.is_some_and(|critical| critical < case.cache_page));
            }

            let summed =
                reference::with_sums(&counts, &faults, case.cache_page, register.flash_page_bytes);
            assert_eq!(counts, summed, "{policy}, {register:?}");
        }
    }
}

/// Loads under the models of one register, under two buffers, and with loads ahead.
fn check_loads(case: &Case, registers: &[RegisterDesign]) {
    for policy in case.policies() {
        for register in registers {
            let with = |model: &RegisterModel| RegisterDesign { model: *model, ..*register };
            let can_be = |design: &RegisterDesign| design.check(case.cache_page).is_ok();
            let one: Vec<RegisterDesign> = ONE_REGISTER.iter().map(with).filter(can_be).collect();
            let buffers = [RegisterModel::DoubleBuffer, RegisterModel::DoubleBufferPrefetch];
            let all = [&buffers.each_ref().map(with)[..], &one[..]].concat();
            let counts = counts_of(case, &policy, &all);
            let (buffers, one) = counts.split_at(2);
            for buffers in buffers {
                assert_eq!((buffers.column_changes, buffers.bytes_skipped), (0, 0));
                assert_eq!(buffers.loads, buffers.other_page);
                for one in one {
                    assert!(buffers.loads <= one.loads, "{policy}, {register:?}");
                    assert_eq!(buffers.other_page + buffers.other_buffer, one.other_page);
                }
            }
            assert_eq!(buffers[0].prefetches, 0);
        }
    }
}

/// An instruction cache of a single line of one page lets exactly the collapsed references through.
fn check_one_line(case: &Case, registers: &[RegisterDesign]) {
    let line_bytes = case.cache_page;
    let icache = ICacheShape { cache_bytes: line_bytes, line_bytes, ways: 1 };
    for tlb in [None, Some(TlbShape { sets: 1, ways: 1 })] {
        let one_line = Case { hierarchy: Some(HierarchyDesign { icache, tlb }), ..case.clone() };
        let none = Case { hierarchy: None, ..case.clone() };
        for policy in case.policies() {
            // A new page is unknown to the TLB, which still knows the page before.
            if policy == "sieve" && tlb.is_some() {
                continue;
            }
            let in_front = counts_of(&one_line, &policy, registers);
            let alone = counts_of(&none, &policy, registers);
            for (in_front, alone) in in_front.into_iter().zip(alone) {
                let expected = Counts {
                    words: in_front.words,
                    line_refills: alone.references,
                    tlb_misses: if tlb.is_some() { alone.references } else { 0 },
                    ..alone
                };
                assert_eq!(in_front, expected, "{policy}, {tlb:?}");
            }
        }
    }
}

/// A TLB hides neither faults nor references that set a bit again.
fn check_tlb_hides_hits_alone(case: &Case, registers: &[RegisterDesign]) {
    let Some(HierarchyDesign { icache, .. }) = case.hierarchy else { return };
    let with = |tlb: Option<TlbShape>| Case {
        hierarchy: Some(HierarchyDesign { icache, tlb }),
        ..case.clone()
    };
    let small = case.hierarchy.and_then(|hierarchy| hierarchy.tlb);
    let huge = Some(TlbShape { sets: 64, ways: 16 });
    let blind = |policy: &String| BLIND_TO_HITS.contains(&policy.split('(').next().unwrap());
    for policy in case.policies().into_iter().filter(blind) {
        let without = counts_of(&with(None), &policy, registers);
        for tlb in small.into_iter().chain(huge) {
            let behind = counts_of(&with(Some(tlb)), &policy, registers);
            for (behind, without) in behind.into_iter().zip(&without) {
                assert!(behind.references <= without.references);
                let expected = Counts {
                    references: behind.references,
                    hits: behind.references - without.misses - without.false_faults,
                    tlb_misses: behind.references,
                    ..without.clone()
                };
                assert_eq!(behind, expected, "{policy}, {tlb:?}");
            }
        }
    }
}

/// The first runs of a case alone, in the same image.
fn first_runs(case: &Case, first: usize) -> MemoryTrace {
    MemoryTrace::with_image(case.runs[..first].to_vec(), case.trace().image_bytes())
}

/// The counts after the first runs are those of the whole minus those of the first runs, which a
/// single replay confirms fault by fault.
fn check_what_follows_first_runs(case: &Case, registers: &[RegisterDesign], first: usize) {
    let cell = |policy: &str| Cell {
        cache_page_bytes: case.cache_page,
        policy: policy.parse().unwrap(),
        ways: case.ways,
        hierarchy: case.hierarchy,
        cache_bytes: vec![case.cache(policy).cache_bytes],
        registers: registers.to_vec(),
    };
    let does_not_look_ahead =
        |policy: &String| !policy.parse::<PolicySpec>().unwrap().needs_next_use();
    for policy in case.policies().into_iter().filter(does_not_look_ahead) {
        // The counts at the end of the first runs.
        let (mut begun, mut before) = (0, None);
        let faults = RefCell::new(vec![Vec::new(); registers.len()]);
        let events = Events {
            critical_block_bytes: None,
            sink: &mut |register, fault: &Fault| faults.borrow_mut()[register].push(*fault),
            begun: Some(&mut |_, executed: &Executed| {
                if begun == first {
                    let faults = faults.borrow().iter().map(Vec::len).collect::<Vec<_>>();
                    before = Some((faults, *executed));
                }
                begun += 1;
            }),
            words: None,
        };
        let cache = case.cache(&policy);
        let (_, rest) = replay(&case.trace(), &cache, registers, &|| true, Some(events)).unwrap();
        let (faults_before, executed_before) = before.unwrap();
        let faults = faults.into_inner();

        let whole = sweep(&case.trace(), &cell(&policy), &|| true).unwrap().remove(0);
        let of_first = sweep(&first_runs(case, first), &cell(&policy), &|| true).unwrap().remove(0);
        for (index, faults) in faults.iter().enumerate() {
            let all = faults.iter().fold(rest, |sum, fault| sum + fault.executed);
            let after = &faults[faults_before[index]..];
            let mut expected = Counts::default();
            let (mut distances, mut classes, mut loads) =
                (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
            let flash_page_bytes = registers[index].flash_page_bytes;
            for fault in after {
                let Fault { access, search, .. } = fault;
                expected.misses += 1;
                expected.add_access(access);
                expected.bytes_written += u64::from(case.cache_page);
                expected.walk += u64::from(search.walk);
                expected.max_walk = expected.max_walk.max(search.walk);
                expected.downgrades += u64::from(search.downgrades);
                *classes.entry(FaultClass::of(access, *search)).or_default() += 1;
                if let Some(distance) = access.distance {
                    *distances.entry(distance).or_default() += 1;
                }
                let loaded = access.load.then(|| fault.page * case.cache_page / flash_page_bytes);
                for page in loaded.into_iter().chain(access.prefetch) {
                    *loads.entry(page).or_default() += 1;
                }
            }
            let executed = all - executed_before;
            expected.bytes_read = executed.bytes;
            expected.references = executed.references;
            expected.reference_bits_set = executed.reference_bits_set;
            expected.false_faults = executed.false_faults;
            expected.false_fault_downgrades = executed.downgrades;
            expected.downgrades += executed.downgrades;
            expected.hits = executed.references - executed.false_faults - expected.misses;
            expected.words = executed.words;
            expected.line_refills = executed.line_refills;
            expected.tlb_misses = executed.tlb_misses;
            expected.distance_histogram = distances.into_iter().collect();
            expected.fault_classes = classes.into_iter().collect();
            expected.loads_by_flash_page = loads.into_iter().collect();
            assert_eq!(
                whole[index].minus(&of_first[index]),
                expected,
                "{policy}, {:?}, after {first} of {} runs",
                registers[index],
                case.runs.len()
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2 * ProptestConfig::default().cases,
        ..ProptestConfig::default()
    })]

    #[test]
    fn programs_agree((case, registers) in with_registers(programs())) {
        all_agree(&case, &registers);
    }

    #[test]
    fn adversaries_agree((case, registers) in with_registers(adversaries())) {
        all_agree(&case, &registers);
    }

    #[test]
    fn caches_in_sets_agree((case, registers) in with_registers(in_sets(cases()))) {
        all_agree(&case, &registers);
    }

    #[test]
    fn one_set_of_all_ways_is_no_set((case, registers) in with_registers(programs())) {
        let one_set = Case { spare_bytes: 0, ways: Some(case.frames as u32), ..case.clone() };
        for policy in case.policies() {
            prop_assert_eq!(
                engine(&one_set, &policy, &registers),
                engine(&case, &policy, &registers),
            );
        }
    }

    #[test]
    fn lru_misses_no_more_with_more_sets_or_ways(
        mut case in in_sets(cases()),
        policy in prop::sample::select(vec!["lru", "min"]),
    ) {
        case.hierarchy = case.hierarchy.map(|shape| HierarchyDesign { tlb: None, ..shape });
        let ways = case.ways.unwrap();
        let more_sets = Case { frames: 2 * case.frames, ..case.clone() };
        let sets = case.frames as u32 / ways;
        let frames = (sets * (ways + 1)) as usize;
        let more_ways = Case { frames, ways: Some(ways + 1), ..case.clone() };
        let misses = |case: &Case| counts(case, policy).misses;
        prop_assert!(misses(&more_sets) <= misses(&case));
        prop_assert!(misses(&more_ways) <= misses(&case));
    }

    #[test]
    fn counts_add_up_and_events_sum_to_them((case, registers) in with_registers(cases())) {
        check_invariants(&case, &registers);
    }

    #[test]
    fn counts_after_the_first_runs_are_the_difference(
        (case, registers) in with_registers(cases()),
        first in any::<Index>(),
    ) {
        if !case.runs.is_empty() {
            check_what_follows_first_runs(&case, &registers, first.index(case.runs.len()));
            check_what_follows_first_runs(&case, &registers, 0);
        }
    }

    #[test]
    fn a_sweep_equals_single_replays(
        (case, registers) in with_registers(cases()),
        more in prop::collection::vec(0..40usize, 0..4),
    ) {
        let trace = MemoryTrace::new(case.runs.clone());
        for policy in case.policies() {
            let larger = |more: &usize| match case.ways {
                // The number of sets is a power of two.
                Some(_) => case.frames << (more % 4),
                None => case.frames + more,
            };
            let can_be = |frames: &usize| {
                policy.parse::<PolicySpec>().unwrap().check(case.ways.unwrap_or(*frames as u32)).is_ok()
            };
            let frames = more.iter().map(larger).filter(can_be).chain([case.frames]);
            let cell = Cell {
                cache_page_bytes: case.cache_page,
                policy: policy.parse().unwrap(),
                ways: case.ways,
        hierarchy: case.hierarchy,
                cache_bytes: frames.map(|frames| frames as u64 * u64::from(case.cache_page)).collect(),
                registers: registers.clone(),
            };
            let swept = sweep(&trace, &cell, &|| true).unwrap();
            for (cache_bytes, swept) in cell.cache_bytes.iter().zip(swept) {
                let cache = CacheDesign {
                    cache_bytes: *cache_bytes,
                    cache_page_bytes: case.cache_page,
                    policy: cell.policy.clone(),
                    ways: case.ways,
        hierarchy: case.hierarchy,
                };
                let (single, _) = replay(&trace, &cache, &registers, &|| true, None).unwrap();
                prop_assert_eq!(swept, single, "{:?}", cache);
            }
        }
    }

    #[test]
    fn two_buffers_load_no_more_than_one_register((case, registers) in with_registers(cases())) {
        check_loads(&case, &registers);
    }

    #[test]
    fn a_line_of_a_page_in_front_changes_nothing((case, registers) in with_registers(cases())) {
        if case.cache_page >= 4 {
            check_one_line(&case, &registers);
        }
    }

    #[test]
    fn a_tlb_hides_hits_alone((case, registers) in with_registers(cases())) {
        check_tlb_hides_hits_alone(&case, &registers);
    }

    #[test]
    fn pa_clock_keeps_to_its_budget(
        (case, registers) in with_registers(cases()),
        budget in 1..20u64,
    ) {
        let replayed = engine(&case, &format!("pa-clock({budget})"), &registers);
        let clock = engine(&case, "clock", &registers);
        for (replayed, clock) in replayed.into_iter().zip(clock) {
            prop_assert!(u64::from(replayed.counts.max_walk) <= budget);
            if budget > case.frames as u64 || u64::from(clock.counts.max_walk) <= budget {
                prop_assert_eq!(replayed, clock);
            }
        }
    }

    #[test]
    fn lru_and_min_never_miss_more_with_more_frames(mut case in cases()) {
        (case.ways, case.spare_bytes) = (None, 0);
        // The references that LRU sees behind a TLB depend on its evictions.
        case.hierarchy = case.hierarchy.map(|shape| HierarchyDesign { tlb: None, ..shape });
        for policy in ["lru", "min"] {
            let mut before = u64::MAX;
            for frames in 1..=16 {
                let misses = counts(&Case { frames, ..case.clone() }, policy).misses;
                prop_assert!(misses <= before, "{policy}: {before}, with {frames} frames {misses}");
                before = misses;
            }
        }
    }

    #[test]
    fn min_misses_least(case in cases()) {
        let least = counts(&case, "min").misses;
        for policy in case.policies() {
            let misses = counts(&case, &policy).misses;
            prop_assert!(least <= misses, "min {least}, {policy} {misses}");
        }
    }

    #[test]
    fn splitting_runs_changes_nothing(
        (case, registers) in
            with_registers(cases().prop_map(|case| Case { hierarchy: None, ..case })),
        cuts in prop::collection::vec((any::<Index>(), any::<Index>()), 1..6),
    ) {
        let mut split = case.clone();
        for (which, place) in cuts {
            if split.runs.is_empty() {
                break;
            }
            let which = which.index(split.runs.len());
            let whole = split.runs[which];
            if whole.length > 1 {
                let first = 1 + place.index(whole.length as usize - 1) as u32;
                split.runs[which].length = first;
                split.runs.insert(which + 1, run(whole.offset + first, whole.length - first));
            }
        }
        for policy in case.policies() {
            prop_assert_eq!(
                engine(&case, &policy, &registers),
                engine(&split, &policy, &registers),
            );
        }
    }

    #[test]
    fn a_cache_for_the_whole_image_misses_each_page_once(case in cases(), more in 0..3usize) {
        let pages_of = |run: &Run| run.offset / case.cache_page..=run.last() / case.cache_page;
        let touched: BTreeSet<u32> = case.runs.iter().flat_map(pages_of).collect();
        let frames = touched.last().map_or(1, |page| *page as usize + 1) + more;
        let case = Case { frames, ways: None, ..case };
        for policy in case.policies() {
            let counts = counts(&case, &policy);
            prop_assert_eq!(counts.misses, touched.len() as u64, "{}", policy);
            prop_assert_eq!(counts.walk, 0, "{}", policy);
        }
    }
}
