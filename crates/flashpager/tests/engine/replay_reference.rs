//! The engine's replay against the slow one in `reference`, and against what
//! must hold for any replay.

use std::cell::Cell as Counter;
use std::collections::BTreeSet;

use flashpager::Error;
use flashpager::pager::{POLICIES, PolicySpec};
use flashpager::replay::register::{RegisterDesign, RegisterModel};
use flashpager::replay::{
    CacheDesign, Cell, Counts, Events, Executed, Fault, HierarchyDesign, ICacheShape, TlbShape,
    replay, sweep,
};
use flashpager::trace::{CHUNK_RUNS, MAX_RUN_BYTES, MemoryTrace, Run};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::reference::{self, Replayed, Setup, policies};

const MODELS: [RegisterModel; 5] = [
    RegisterModel::Sequential,
    RegisterModel::StartColumn,
    RegisterModel::RandomColumn,
    RegisterModel::DoubleBuffer,
    RegisterModel::DoubleBufferPrefetch,
];

/// The models of one register.
const ONE_REGISTER: [RegisterModel; 3] =
    [RegisterModel::Sequential, RegisterModel::StartColumn, RegisterModel::RandomColumn];

/// The policies to which a hit tells nothing, but the first one after a bit was cleared.
const BLIND_TO_HITS: [&str; 6] = ["fifo", "clock", "pa-clock", "fifo-sc", "pa-fifo-sc", "random"];

/// A trace and the cache it runs through.
#[derive(Clone, Debug)]
struct Case {
    runs: Vec<Run>,
    cache_page: u32,
    frames: usize,
    /// Bytes of RAM too few for one more frame.
    spare_bytes: u32,
    /// What stands in front of the cache.
    hierarchy: Option<HierarchyDesign>,
    /// What of a page is fetched first.
    critical: Option<u32>,
}

fn run(offset: u32, length: u32) -> Run {
    Run { offset, length }
}

fn design(
    model: RegisterModel,
    flash_page_bytes: u32,
    codeword_bytes: Option<u32>,
) -> RegisterDesign {
    RegisterDesign { model, flash_page_bytes, codeword_bytes }
}

/// Every register model with small and large flash pages and codewords.
fn registers(cache_page: u32) -> Vec<RegisterDesign> {
    let mut all = BTreeSet::new();
    for flash_page in [cache_page, 2 * cache_page, 512, 1024, 4096] {
        if flash_page < cache_page {
            continue;
        }
        for codeword in [0, 1, cache_page / 2, 4 * cache_page, 512, flash_page] {
            if codeword > flash_page {
                continue;
            }
            for model in MODELS {
                if model == RegisterModel::RandomColumn && flash_page <= 512 {
                    continue;
                }
                all.insert(design(model, flash_page, Some(codeword).filter(|bytes| *bytes > 0)));
            }
        }
    }
    all.into_iter().collect()
}

fn cache(cache_page: u32, frames: usize, spare_bytes: u32, policy: &str) -> CacheDesign {
    CacheDesign {
        cache_bytes: u64::from(cache_page) * frames as u64 + u64::from(spare_bytes),
        cache_page_bytes: cache_page,
        policy: policy.parse().unwrap(),
        hierarchy: None,
    }
}

impl Case {
    fn cache(&self, policy: &str) -> CacheDesign {
        let hierarchy = self.hierarchy;
        CacheDesign { hierarchy, ..cache(self.cache_page, self.frames, self.spare_bytes, policy) }
    }

    fn trace(&self) -> MemoryTrace {
        MemoryTrace::new(self.runs.clone())
    }
}

/// The engine's counts and events for a case.
fn engine(case: &Case, policy: &str, registers: &[RegisterDesign]) -> Vec<Replayed> {
    let mut faults: Vec<Vec<Fault>> = vec![Vec::new(); registers.len()];
    let sink = &mut |register: usize, fault: &Fault| faults[register].push(*fault);
    let events = Events { critical_block_bytes: case.critical, sink };
    let replayed = replay(&case.trace(), &case.cache(policy), registers, &|| true, Some(events));
    let (counts, rest) = replayed.unwrap();
    let both = counts.into_iter().zip(faults);
    both.map(|(counts, faults)| Replayed { counts, faults, rest }).collect()
}

/// The engine's counts alone.
fn counts_of(case: &Case, policy: &str, registers: &[RegisterDesign]) -> Vec<Counts> {
    replay(&case.trace(), &case.cache(policy), registers, &|| true, None).unwrap().0
}

/// The engine's counts alone, of a single register.
fn counts(case: &Case, policy: &str) -> Counts {
    let register = design(RegisterModel::Sequential, case.cache_page.max(512), None);
    counts_of(case, policy, &[register]).remove(0)
}

/// Engine and reference agree on everything; gives what they agree on.
fn agreed(case: &Case, policy: &str, registers: &[RegisterDesign]) -> Vec<Replayed> {
    let Case { cache_page, frames, hierarchy, critical, .. } = *case;
    let engine = engine(case, policy, registers);
    // With what stands for parameters that are not written.
    let policy = &policy.parse::<PolicySpec>().unwrap().to_string();
    let runs = &case.runs;
    let setup = Setup { runs, cache_page, frames, policy, hierarchy, critical, registers };
    let reference = reference::replay(&setup);
    assert_eq!(engine.len(), reference.len());
    for ((ours, obvious), register) in engine.iter().zip(&reference).zip(registers) {
        assert_eq!(ours.counts, obvious.counts, "{policy}, {register:?}");
        if ours.faults != obvious.faults {
            let mut both = ours.faults.iter().zip(&obvious.faults);
            let (number, (ours, obvious)) =
                both.by_ref().enumerate().find(|(_, (a, b))| a != b).unwrap();
            panic!("{policy}, {register:?}, event {number}: {ours:?}, expected {obvious:?}");
        }
        assert_eq!(ours.rest, obvious.rest, "{policy}, {register:?}");
    }
    engine
}

fn all_agree(case: &Case, registers: &[RegisterDesign]) {
    for policy in policies(case.frames) {
        agreed(case, &policy, registers);
    }
}

/// All that was done, as the counts say.
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
    for policy in policies(case.frames) {
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

            // What was done between the faults and after the last one is all.
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
    for policy in policies(case.frames) {
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

/// An instruction cache of one line as large as a page lets through what is not in the
/// page just used: the collapsed references.
fn check_one_line(case: &Case, registers: &[RegisterDesign]) {
    let line_bytes = case.cache_page;
    let icache = ICacheShape { cache_bytes: line_bytes, line_bytes, ways: 1 };
    for tlb in [None, Some(TlbShape { sets: 1, ways: 1 })] {
        let one_line = Case { hierarchy: Some(HierarchyDesign { icache, tlb }), ..case.clone() };
        let none = Case { hierarchy: None, ..case.clone() };
        for policy in policies(case.frames) {
            // Its pages come in unknown to the TLB, which then still knows the one before.
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

/// Whatever a TLB hides, it is no fault, and no bit that has to be set again.
fn check_tlb_hides_hits_alone(case: &Case, registers: &[RegisterDesign]) {
    let Some(HierarchyDesign { icache, .. }) = case.hierarchy else { return };
    let with = |tlb: Option<TlbShape>| Case {
        hierarchy: Some(HierarchyDesign { icache, tlb }),
        ..case.clone()
    };
    let small = case.hierarchy.and_then(|hierarchy| hierarchy.tlb);
    let huge = Some(TlbShape { sets: 64, ways: 16 });
    let blind = |policy: &String| BLIND_TO_HITS.contains(&policy.split('(').next().unwrap());
    for policy in policies(case.frames).into_iter().filter(blind) {
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

/// A run somewhere in the image, at most `longest` bytes.
fn any_run(image: u32, longest: u32) -> impl Strategy<Value = Run> {
    (0..image, 1..=longest)
        .prop_map(move |(offset, length)| run(offset, length.min(image - offset)))
}

/// Basic blocks near each other, once around a loop.
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

/// Nothing in front, or a small instruction cache, or a TLB, too; and a critical block.
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
            hierarchy,
            critical,
        })
}

/// Tiny images, a single page, runs longer than the cache, round and round
/// over one page too many, and pages without any order.
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
            hierarchy,
            critical,
        })
}

/// With some of the registers that can be behind it.
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
    prop_oneof![programs(), adversaries()]
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
    fn counts_add_up_and_events_sum_to_them((case, registers) in with_registers(cases())) {
        check_invariants(&case, &registers);
    }

    #[test]
    fn a_sweep_equals_single_replays(
        (case, registers) in with_registers(cases()),
        more in prop::collection::vec(0..40usize, 0..4),
    ) {
        let trace = MemoryTrace::new(case.runs.clone());
        for policy in policies(case.frames) {
            let frames = more.iter().map(|more| case.frames + more).chain([case.frames]);
            let cell = Cell {
                cache_page_bytes: case.cache_page,
                policy: policy.parse().unwrap(),
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
        // What LRU sees through a TLB depends on what it evicts.
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
        for policy in policies(case.frames) {
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
        for policy in policies(case.frames) {
            prop_assert_eq!(
                engine(&case, &policy, &registers),
                engine(&split, &policy, &registers),
            );
        }
    }

    #[test]
    fn a_cache_for_the_whole_image_misses_each_page_once(case in cases(), more in 0..3usize) {
        let pages_of = |run: &Run| run.offset / case.cache_page..=(run.end() - 1) / case.cache_page;
        let touched: BTreeSet<u32> = case.runs.iter().flat_map(pages_of).collect();
        let frames = touched.last().map_or(1, |page| *page as usize + 1) + more;
        for policy in policies(frames) {
            let counts = counts(&Case { frames, ..case.clone() }, &policy);
            prop_assert_eq!(counts.misses, touched.len() as u64, "{}", policy);
            prop_assert_eq!(counts.walk, 0, "{}", policy);
        }
    }
}

#[test]
fn every_policy_of_the_engine_has_a_reference() {
    let engine: BTreeSet<&str> = POLICIES.iter().map(|(name, _)| *name).collect();
    let reference: BTreeSet<&str> = reference::POLICIES.iter().map(|(name, ..)| *name).collect();
    assert_eq!(engine, reference);
}

#[test]
fn small_page_chips_cannot_change_the_column() {
    let case = pages(&[0, 1], 256, 1);
    for (flash_page, possible) in [(256, false), (512, false), (1024, true)] {
        let register = design(RegisterModel::RandomColumn, flash_page, None);
        let cache = cache(256, 1, 0, "lru");
        let trace = MemoryTrace::new(case.runs.clone());
        let result = replay(&trace, &cache, &[register], &|| true, None);
        assert_eq!(result.is_ok(), possible, "{flash_page}");
    }
}

/// More than one chunk of runs; three runs a page, the first two of them on
/// both sides of the first chunk's end.
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
    let end = u32::MAX;
    let case = Case {
        runs: vec![
            run(end - 3_000_000, 3_000_000),
            run(0, 1),
            run(end - MAX_RUN_BYTES, MAX_RUN_BYTES),
        ],
        cache_page: 1 << 19,
        frames: 4,
        spare_bytes: 0,
        hierarchy: None,
        critical: None,
    };
    let registers: Vec<RegisterDesign> = MODELS
        .into_iter()
        .flat_map(|model| [None, Some(1 << 20)].map(|codeword| design(model, 1 << 20, codeword)))
        .collect();
    for policy in policies(case.frames) {
        agreed(&case, &policy, &registers);
    }
}

/// Caches large enough for shares of 1 % and 10 % to be rounded.
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

/// More memory than any device has must not take as much of the host's.
#[test]
fn frames_that_no_page_can_fill_cost_nothing() {
    let trace = MemoryTrace::new(pages(&[0, 3, 1, 3, 0], 16, 1).runs);
    for policy in policies(2) {
        let cache = CacheDesign { cache_bytes: 1 << 40, ..cache(16, 1, 0, &policy) };
        let register = [design(RegisterModel::Sequential, 512, None)];
        let (counts, _) = replay(&trace, &cache, &register, &|| true, None).unwrap();
        assert_eq!((counts[0].misses, counts[0].walk), (3, 0), "{policy}");
    }
}

/// A byte of each page.
fn pages(pages: &[u32], cache_page: u32, frames: usize) -> Case {
    let runs = pages.iter().map(|page| run(page * cache_page, 1)).collect();
    Case { runs, cache_page, frames, spare_bytes: 0, hierarchy: None, critical: None }
}

fn walks(case: &Case) -> Vec<(u32, u32)> {
    walks_of("clock", case)
}

fn walks_of(policy: &str, case: &Case) -> Vec<(u32, u32)> {
    let replayed = agreed(case, policy, &[design(RegisterModel::Sequential, 512, None)]);
    replayed[0].faults.iter().map(|fault| (fault.page, fault.search.walk)).collect()
}

#[test]
fn clock_by_hand() {
    // 0 1 2 take frames 0 1 2, hand 0          [0* 1* 2*]
    // 3 looks at frames 0 1 2 0, evicts 0      [3* 1  2 ] hand 1
    // 1 hits                                   [3* 1* 2 ]
    // 4 looks at 1 2, evicts 2                 [3* 1  4*] hand 0
    // 0 looks at 0 1, evicts 1                 [3  0* 4*] hand 2
    // 3 hits                                   [3* 0* 4*]
    // 1 looks at 2 0 1 2, evicts 4             [3  0  1*] hand 0
    let case = pages(&[0, 1, 2, 3, 1, 4, 0, 3, 1], 16, 3);
    assert_eq!(walks(&case), [(0, 0), (1, 0), (2, 0), (3, 4), (4, 2), (0, 2), (1, 4)]);
    let counts = counts(&case, "clock");
    assert_eq!((counts.references, counts.hits, counts.misses), (9, 2, 7));
    assert_eq!((counts.walk, counts.max_walk), (12, 4));
}

#[test]
fn clock_with_one_frame_looks_at_it_twice() {
    assert_eq!(walks(&pages(&[0, 0, 1, 0], 16, 1)), [(0, 0), (1, 2), (0, 2)]);
}

#[test]
fn clock_with_free_frames_does_not_walk() {
    assert_eq!(walks(&pages(&[2, 0, 2, 1, 0], 16, 4)), [(2, 0), (0, 0), (1, 0)]);
}

#[test]
fn reference_bits_set_by_hand() {
    // As above: 1 hits after the hand cleared its bit for 3, 3 after it did for 4 and 0.
    let case = pages(&[0, 1, 2, 3, 1, 4, 0, 3, 1], 16, 3);
    let hardware = counts(&case, "clock");
    assert_eq!((hardware.hits, hardware.false_faults, hardware.reference_bits_set), (2, 0, 2));
    // A page comes in with its bit set: its next use sets nothing again.
    assert_eq!(counts(&pages(&[0, 1, 0, 1, 0], 16, 2), "clock").reference_bits_set, 0);
    let emulated = hardware.clone().with_emulated_bit();
    let expected = Counts { hits: 0, false_faults: 2, ..hardware };
    assert_eq!(emulated, expected);
    assert_eq!(emulated.false_fault_downgrades, 0);
}

#[test]
fn pa_clock_by_hand() {
    // 0 1 2 take frames 0 1 2, hand 0                      [0* 1* 2*]
    // 3 looks at 0 1, may look no further: evicts 1        [0  3* 2*] hand 2
    // 1 looks at 2 0, evicts 0                             [1* 3* 2 ] hand 1
    // 4 looks at 1 2, evicts 2                             [1* 3  4*] hand 0
    // 0 looks at 0 1, evicts 3                             [1  0* 4*] hand 2
    // 1 hits, its bit is set again                         [1* 0* 4*]
    // 3 looks at 2 0, may look no further: evicts 1        [3* 0* 4 ] hand 1
    let case = pages(&[0, 1, 2, 3, 1, 4, 0, 1, 3], 16, 3);
    let expected = [(0, 0), (1, 0), (2, 0), (3, 2), (1, 2), (4, 2), (0, 2), (3, 2)];
    assert_eq!(walks_of("pa-clock(2)", &case), expected);
    assert_eq!(counts(&case, "pa-clock(2)").reference_bits_set, 1);
    let order = [0, 1, 2, 3, 0, 3, 4];
    // A budget of one frame is FIFO.
    assert_eq!(missed("pa-clock(1)", &order, 3), missed("fifo", &order, 3));
}

/// Page and pages moved down of each true fault, and the counts.
fn downgrades(policy: &str, order: &[u32], frames: usize) -> (Vec<(u32, u32)>, Counts) {
    let case = pages(order, 16, frames);
    let Replayed { counts, faults, .. } =
        agreed(&case, policy, &[design(RegisterModel::Sequential, 512, None)]).remove(0);
    let moved = faults.iter().map(|fault| (fault.page, fault.search.downgrades)).collect();
    (moved, counts)
}

const SECOND_CHANCES: [u32; 15] = [0, 1, 2, 3, 0, 1, 2, 4, 3, 1, 2, 4, 0, 3, 5];

#[test]
fn fifo_sc_by_hand() {
    // Four frames, two of them valid. valid | invalid, heads first.
    // 0 1                              0 1 |
    // 2 comes in, 0 moves down         1 2 | 0
    // 3 comes in, 1 moves down         2 3 | 0 1
    // 0 false fault, 2 moves down      3 0 | 1 2
    // 1 false fault, 3 moves down      0 1 | 2 3
    // 2 false fault, 0 moves down      1 2 | 3 0
    // 4 evicts 3, 1 moves down         2 4 | 0 1
    // 3 evicts 0, 2 moves down         4 3 | 1 2
    // 1 false fault, 4 moves down      3 1 | 2 4
    // 2 false fault, 3 moves down      1 2 | 4 3
    // 4 false fault, 1 moves down      2 4 | 3 1
    // 0 evicts 3, 2 moves down         4 0 | 1 2
    // 3 evicts 1, 4 moves down         0 3 | 2 4
    // 5 evicts 2, 0 moves down         3 5 | 4 0
    let (faults, counts) = downgrades("fifo-sc(2)", &SECOND_CHANCES, 4);
    let expected = [(0, 0), (1, 0), (2, 1), (3, 1), (4, 1), (3, 1), (0, 1), (3, 1), (5, 1)];
    assert_eq!(faults, expected);
    assert_eq!((counts.hits, counts.false_faults, counts.misses), (0, 6, 9));
    assert_eq!((counts.downgrades, counts.false_fault_downgrades), (13, 6));
    assert_eq!(downgrades("fifo-sc", &SECOND_CHANCES, 4).1, counts);
    assert_eq!(downgrades("fifo-sc(74%)", &SECOND_CHANCES, 4).1, counts);
}

#[test]
fn pa_fifo_sc_by_hand() {
    // Four frames, two of them valid. valid | invalid, heads first.
    // 0 1                              0 1     |
    // 2 comes in, 0 moves down         1 2     | 0
    // 3 comes in, 1 moves down         2 3     | 0 1
    // 0 false fault                    2 3 0   | 1
    // 1 false fault                    2 3 0 1 |
    // 2 hits
    // 4: 2 3 move down                 0 1     | 2 3
    //    evicts 2, 0 moves down        1 4     | 3 0
    // 3 false fault                    1 4 3   | 0
    // 1 hits
    // 2: 1 moves down                  4 3     | 0 1
    //    evicts 0, 4 moves down        3 2     | 1 4
    // 4 false fault                    3 2 4   | 1
    // 0: 3 moves down                  2 4     | 1 3
    //    evicts 1, 2 moves down        4 0     | 3 2
    // 3 false fault                    4 0 3   | 2
    // 5: 4 moves down                  0 3     | 2 4
    //    evicts 2, 0 moves down        3 5     | 4 0
    let (faults, counts) = downgrades("pa-fifo-sc(2)", &SECOND_CHANCES, 4);
    let expected = [(0, 0), (1, 0), (2, 1), (3, 1), (4, 3), (2, 2), (0, 2), (5, 2)];
    assert_eq!(faults, expected);
    assert_eq!((counts.hits, counts.false_faults, counts.misses), (2, 5, 8));
    assert_eq!((counts.downgrades, counts.false_fault_downgrades), (11, 0));
    assert_eq!(downgrades("pa-fifo-sc", &SECOND_CHANCES, 4).1, counts);
}

#[test]
fn parameters_must_fit_the_frames() {
    for (policy, frames, possible) in [
        ("fifo-sc(0)", 4, false),
        ("fifo-sc(1)", 4, true),
        ("fifo-sc(3)", 4, true),
        ("fifo-sc(4)", 4, false),
        ("fifo-sc(1)", 1, false),
        ("fifo-sc", 1, false),
        ("fifo-sc", 2, true),
        ("fifo-sc(1%)", 3, true),
        ("fifo-sc(99%)", 3, true),
        ("fifo-sc(100%)", 3, false),
        ("pa-fifo-sc(2)", 2, false),
        ("pa-fifo-sc(1)", 2, true),
        ("pa-clock(0)", 4, false),
        ("pa-clock(1)", 1, true),
        ("pa-clock(50%)", 4, false),
    ] {
        let result = cache(16, frames, 0, policy).check();
        assert_eq!(result.is_ok(), possible, "{policy}, {frames} frames");
    }
    for wrong in ["fifo-sc(1,2)", "fifo-sc(x)", "clock(1)", "pa-clock(1,1)"] {
        assert!(wrong.parse::<PolicySpec>().is_err(), "{wrong}");
    }
}

#[test]
fn instruction_cache_and_tlb_by_hand() {
    // Pages of 16 bytes, two frames under clock; two lines of 8 bytes in one set; a TLB
    // of two entries in one set. Lines and TLB by way, . for an empty way.
    //
    // run      words  line        instruction cache  page                TLB     frames
    // 2..12    0-2    0 refilled  0 .                0 faults            0 .     0*
    //                 1 refilled  0 1                0 known
    // 14..22   3-5    1 there
    //                 2 refilled  2 1                1 faults            0 1     0* 1*
    // 0..4     0      0 refilled  2 0                0 known
    // 33..35   8      4 refilled  4 0                2 faults: looks at 0 1 0, evicts 0,
    //                                                clears 1            2 .     2* 1
    // 16..20   4      2 refilled  4 2                1 sets its bit      2 1     2* 1*
    // 16..36   4-8    2 there
    //                 3 refilled  3 2                1 known
    //                 4 refilled  3 4                2 known
    // 5..6     1      0 refilled  0 4                0 faults: looks at 1 2 1, evicts 1,
    //                                                clears 2            0 .     2  0*
    let icache = ICacheShape { cache_bytes: 16, line_bytes: 8, ways: 2 };
    let tlb = Some(TlbShape { sets: 1, ways: 2 });
    let case = Case {
        runs: vec![
            run(2, 10),
            run(14, 8),
            run(0, 4),
            run(33, 2),
            run(16, 4),
            run(16, 20),
            run(5, 1),
        ],
        cache_page: 16,
        frames: 2,
        spare_bytes: 0,
        hierarchy: Some(HierarchyDesign { icache, tlb }),
        critical: Some(8),
    };
    let Replayed { counts, faults, rest } =
        agreed(&case, "clock", &[design(RegisterModel::RandomColumn, 1024, None)]).remove(0);
    assert_eq!((counts.bytes_read, counts.words), (49, 15));
    assert_eq!((counts.line_refills, counts.tlb_misses), (9, 5));
    assert_eq!((counts.references, counts.hits, counts.misses), (5, 1, 4));
    assert_eq!((counts.reference_bits_set, counts.walk, counts.max_walk), (1, 6, 3));
    let places: Vec<(u32, u32)> = faults.iter().map(|fault| (fault.page, fault.offset)).collect();
    assert_eq!(places, [(0, 2), (1, 16), (2, 33), (0, 5)]);

    let executed: Vec<Executed> = faults.iter().map(|fault| fault.executed).collect();
    let did = |bytes, words, line_refills, tlb_misses, reference_bits_set| Executed {
        bytes,
        words,
        line_refills,
        tlb_misses,
        references: tlb_misses,
        reference_bits_set,
        ..Executed::default()
    };
    let expected =
        [did(0, 0, 1, 1, 0), did(12, 4, 2, 1, 0), did(10, 3, 2, 1, 0), did(26, 7, 4, 2, 1)];
    assert_eq!(executed, expected);
    assert_eq!(rest, did(1, 1, 0, 0, 0));
    // Line 1 is the other half of page 0: refilled after 6 bytes in 2 words. Of page 1
    // nothing else is needed before page 2 faults, of page 2 nothing else at all.
    let left: Vec<Option<Executed>> = faults.iter().map(|fault| fault.left).collect();
    assert_eq!(left, [Some(did(6, 2, 1, 0, 0)), None, None, None]);

    // Without a TLB every refill asks: pages 0 0 1 0 2 1 1 2 0.
    let case = Case { hierarchy: Some(HierarchyDesign { icache, tlb: None }), ..case };
    let without = counts_of(&case, "clock", &[design(RegisterModel::RandomColumn, 1024, None)]);
    assert_eq!((without[0].references, without[0].hits, without[0].misses), (7, 3, 4));
    assert_eq!((without[0].line_refills, without[0].tlb_misses), (9, 0));
}

#[test]
fn what_is_left_of_a_page_by_hand() {
    // Pages of 16 bytes, 4 of them first. 6 faults: 4..8 come first, 8 is needed after two
    // bytes. 20 faults: 24 is needed after three bytes, one of page 0 and the references
    // to both. 40, 1 and 20 evict pages 0, 1 and 2; nothing else of theirs is needed before
    // the next fault.
    let runs = vec![
        run(6, 4),
        run(20, 3),
        run(7, 1),
        run(24, 1),
        run(40, 1),
        run(1, 3),
        run(20, 1),
        run(4, 1),
    ];
    let case = Case {
        runs,
        cache_page: 16,
        frames: 2,
        spare_bytes: 0,
        hierarchy: None,
        critical: Some(4),
    };
    let replayed = agreed(&case, "fifo", &[design(RegisterModel::RandomColumn, 1024, None)]);
    let faults = &replayed[0].faults;
    let places: Vec<u32> = faults.iter().map(|fault| fault.offset).collect();
    assert_eq!(places, [6, 20, 40, 1, 20]);
    let left: Vec<Option<(u64, u64)>> =
        faults.iter().map(|fault| fault.left.map(|left| (left.bytes, left.references))).collect();
    assert_eq!(left, [Some((2, 0)), Some((4, 2)), None, None, None]);
    let whole = Case { critical: None, ..case };
    let replayed = agreed(&whole, "fifo", &[design(RegisterModel::RandomColumn, 1024, None)]);
    assert!(replayed[0].faults.iter().all(|fault| fault.left.is_none()));

    // One line of 8 bytes, a TLB of one entry: 16 faults, and its other half is needed
    // after two runs, two refills and two questions that the TLB had no answer to.
    let case = Case {
        runs: vec![run(0, 4), run(16, 4), run(8, 4), run(24, 4)],
        hierarchy: Some(HierarchyDesign {
            icache: ICacheShape { cache_bytes: 8, line_bytes: 8, ways: 1 },
            tlb: Some(TlbShape { sets: 1, ways: 1 }),
        }),
        critical: Some(8),
        ..whole
    };
    let replayed = agreed(&case, "fifo", &[design(RegisterModel::RandomColumn, 1024, None)]);
    let left: Vec<Option<Executed>> = replayed[0].faults.iter().map(|fault| fault.left).collect();
    let expected = Executed {
        bytes: 8,
        words: 2,
        line_refills: 2,
        tlb_misses: 2,
        references: 2,
        ..Executed::default()
    };
    assert_eq!(left, [None, Some(expected)]);
}

#[test]
fn two_buffers_by_hand() {
    // Four blocks of 256 a flash page of 1024, one frame, an image of 3 flash pages. Flash
    // page used last and the other one held, without and with loads ahead.
    // 0  other_page    0 .    other_page, then 1 ahead      0 1
    // 2  forward       0 .    forward, 1 is there           0 1
    // 5  other_page    1 0    other_buffer, then 2 ahead    1 2
    // 1  other_buffer  0 1    other_page, 1 is there        0 1
    // 0  backward      0 1    backward                      0 1
    // 9  other_page    2 0    other_page, 3 is no page      2 0
    // 4  other_page    1 2    other_page, 2 is there        1 2
    // 8  other_buffer  2 1    other_buffer                  2 1
    let case = pages(&[0, 2, 5, 1, 0, 9, 4, 8], 256, 1);
    let models = [RegisterModel::DoubleBuffer, RegisterModel::DoubleBufferPrefetch];
    let replayed = agreed(&case, "lru", &models.map(|model| design(model, 1024, None)));
    let [double, ahead] = &replayed[..] else { panic!() };
    let cases = |c: &Counts| (c.other_page, c.other_buffer, c.forward, c.backward);
    assert_eq!(cases(&double.counts), (4, 2, 1, 1));
    assert_eq!(cases(&ahead.counts), (4, 2, 1, 1));
    assert_eq!((double.counts.loads, double.counts.prefetches), (4, 0));
    let prefetches: Vec<Option<u32>> =
        ahead.faults.iter().map(|fault| fault.access.prefetch).collect();
    assert_eq!(prefetches, [Some(1), None, Some(2), None, None, None, None, None]);
    assert_eq!(ahead.counts.loads_by_flash_page, [(0, 2), (1, 2), (2, 2)]);
    assert_eq!(double.counts.bytes_fetched, 8 * 256);
}

#[test]
fn sieve_by_hand() {
    // Oldest first, ' visited, the hand before the page it is at.
    // 0 1 2, then 0 hits                       >0' 1  2
    // 3 looks at 0 1, evicts 1                  0 >2  3
    // 2 hits                                    0 >2' 3
    // 4 looks at 2 3, evicts 3, the newest     >0  2  4
    // 1 looks at 0, evicts 0                   >2  4  1
    let case = pages(&[0, 1, 2, 0, 3, 2, 4, 1, 2, 4], 16, 3);
    let expected = [(0, 0), (1, 0), (2, 0), (3, 2), (4, 2), (1, 1)];
    assert_eq!(walks_of("sieve", &case), expected);
}

#[test]
fn s3_fifo_by_hand() {
    // Three frames: a share of 1 for small, 2 ghosts. small | main | ghosts.
    // 0 1 2, then 0 0 hit                      0.2 1 2 |     |
    // 3 looks at 0 1: 0 to main, evicts 1      2 3     | 0   | 1
    // 1 was a ghost; 2 is evicted              3       | 0 1 | 2
    // 4 looks at 3, evicts it                  4       | 0 1 | 2 3
    // 2 was a ghost; 4 is evicted              .       | 0 1 2 | 3 4
    // 5 looks at main, evicts 0                5       | 1 2 | 3 4
    let case = pages(&[0, 1, 0, 2, 0, 3, 1, 4, 2, 5, 1, 2], 16, 3);
    let expected = [(0, 0), (1, 0), (2, 0), (3, 2), (1, 1), (4, 1), (2, 1), (5, 1)];
    assert_eq!(walks_of("s3-fifo", &case), expected);
}

fn missed(policy: &str, order: &[u32], frames: usize) -> Vec<u32> {
    walks_of(policy, &pages(order, 16, frames)).into_iter().map(|(page, _)| page).collect()
}

#[test]
fn arc_by_hand() {
    // Two frames. T1 | T2 | B1 | B2, p.
    // 0 1 0          1 | 0 |   |  , 0
    // 2: replace     2 | 0 | 1 |  , 0
    // 1 in B1: p = 1, T1 is not over it: T2    2 | 1 |   | 0, 1
    // 0 in B2: p = 0, T1 is over it            . | 1 0 | 2 | , 0
    // 1 and 0 hit
    assert_eq!(missed("arc", &[0, 1, 0, 2, 1, 0, 1, 0], 2), [0, 1, 2, 1, 0]);
}

#[test]
fn two_q_by_hand() {
    // Four frames, Kin 1, Kout 2. A1in | Am | A1out.
    // 0 1 2 3        0 1 2 3 |   |
    // 4              1 2 3 4 |   | 0
    // 0              2 3 4 | 0   | 1
    // 5              3 4 5 | 0   | 1 2
    // 6              4 5 6 | 0   | 2 3
    // 1 (forgotten)  5 6 1 | 0   | 3 4
    // 0 hits
    assert_eq!(missed("2q", &[0, 1, 2, 3, 4, 0, 5, 6, 1, 0], 4), [0, 1, 2, 3, 4, 0, 5, 6, 1]);
}

#[test]
fn lirs_by_hand() {
    // Three frames, two of them for LIR pages. Stack, oldest first | resident.
    // 0 1 are LIR    0 1     |
    // 2              0 1 2   | 2
    // 3 evicts 2     0 1 2 3 | 3       2 is a ghost
    // 2 evicts 3 and is promoted: 0 is resident    1 2' 3 -> 1 3 2 | 0
    // 0 hits, not in the stack                     1 3 2 0 | 0
    // 0 and 1 hit: no more than one in between
    // 3 evicts 0 and is promoted: 2 is resident, 0 stays a ghost
    // 2 hits, 0 evicts 2
    assert_eq!(missed("lirs", &[0, 1, 2, 3, 2, 0, 1, 3, 2, 0], 3), [0, 1, 2, 3, 2, 3, 0]);
}

#[test]
fn lru_2_by_hand() {
    // Two frames. Each page with its last reference but one and its last.
    // 0 1 0          0:1,3  1:-,2
    // 2 evicts 1     0:1,3  2:-,4         1 was last used at 2
    // 1 evicts 2     0:1,3  1:2,5         2 was last used at 4
    // 2 evicts 0     1:2,5  2:4,6
    let case = pages(&[0, 1, 0, 2, 1, 2, 1], 16, 2);
    assert_eq!(walks_of("lru-2", &case), [(0, 0), (1, 0), (2, 2), (1, 2), (2, 2)]);
}

#[test]
fn random_by_hand() {
    // xorshift32 from 1: 270369, 67634689, 2647435461, 307599695, and four frames:
    // 0, 0, 2, 0.
    let order = [0, 1, 2, 3, 4, 5, 6, 7, 1, 3];
    assert_eq!(missed("random(1)", &order, 4), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(missed("random(1)", &[0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 2], 4).len(), 11);
}

#[test]
fn random_takes_seeds_of_32_bits() {
    let trace = MemoryTrace::new(vec![run(0, 1)]);
    let register = [design(RegisterModel::Sequential, 512, None)];
    for (seed, possible) in [(0, true), (u64::from(u32::MAX), true), (1 << 32, false)] {
        let cache = cache(16, 1, 0, &format!("random({seed})"));
        let result = replay(&trace, &cache, &register, &|| true, None);
        assert_eq!(result.is_ok(), possible, "{seed}");
    }
}

/// Belady's anomaly: FIFO misses more with 4 frames than with 3.
#[test]
fn lru_fifo_and_min_by_hand() {
    let order = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5];
    let register = [design(RegisterModel::Sequential, 512, None)];
    for (policy, with_3, with_4) in [("fifo", 9, 10), ("lru", 10, 8), ("min", 7, 6)] {
        for (frames, misses) in [(3, with_3), (4, with_4)] {
            let replayed = agreed(&pages(&order, 16, frames), policy, &register);
            assert_eq!(replayed[0].counts.misses, misses, "{policy}, {frames} frames");
            assert_eq!(replayed[0].counts.walk, 0);
        }
    }
}

#[test]
fn bytes_executed_between_faults_by_hand() {
    // 10..40 enters page 1 after 6 bytes and page 2 after 22; 40 is in page 2;
    // page 0 comes back after 31.
    let case = Case {
        runs: vec![run(10, 30), run(40, 1), run(0, 4)],
        cache_page: 16,
        frames: 1,
        spare_bytes: 0,
        hierarchy: None,
        critical: None,
    };
    let replayed = agreed(&case, "lru", &[design(RegisterModel::Sequential, 64, None)]);
    let executed: Vec<u64> = replayed[0].faults.iter().map(|fault| fault.executed.bytes).collect();
    assert_eq!(executed, [0, 6, 16, 9]);
    assert_eq!(replayed[0].counts.bytes_read, 35);
}

/// Loads, column changes, bytes fetched and bytes skipped of each fault.
fn costs(replayed: &Replayed) -> Vec<(bool, bool, u32, u32)> {
    let accesses = replayed.faults.iter().map(|fault| fault.access);
    accesses.map(|a| (a.load, a.column_change, a.bytes_fetched, a.bytes_skipped)).collect()
}

#[test]
fn register_cases_by_hand() {
    // Four blocks a flash page, one frame. Columns: 256 other_page, 512 forward
    // at c, 0 backward, 512 forward behind c = 256, then page 1 and page 0 again.
    let case = pages(&[1, 2, 0, 2, 5, 3], 256, 1);
    let replayed = agreed(&case, "lru", &ONE_REGISTER.map(|model| design(model, 1024, None)));
    for Replayed { counts, .. } in &replayed {
        assert_eq!((counts.other_page, counts.forward, counts.backward), (3, 2, 1));
        assert_eq!(counts.distance_histogram, [(-2, 1), (1, 1), (2, 1)]);
        assert_eq!(counts.bytes_written, 6 * 256);
    }
    let [sequential, start_column, random_column] = &replayed[..] else { panic!() };
    assert_eq!(
        costs(sequential),
        [
            (true, false, 512, 256),
            (false, false, 256, 0),
            (true, false, 256, 0),
            (false, false, 512, 256),
            (true, false, 512, 256),
            (true, false, 1024, 768),
        ]
    );
    assert_eq!(sequential.counts.loads_by_flash_page, [(0, 3), (1, 1)]);
    assert_eq!(
        costs(start_column),
        [
            (true, false, 256, 0),
            (false, false, 256, 0),
            (true, false, 256, 0),
            (false, false, 512, 256),
            (true, false, 256, 0),
            (true, false, 256, 0),
        ]
    );
    assert_eq!(
        costs(random_column),
        [
            (true, false, 256, 0),
            (false, false, 256, 0),
            (false, true, 256, 0),
            (false, true, 256, 0),
            (true, false, 256, 0),
            (true, false, 256, 0),
        ]
    );
    assert_eq!(random_column.counts.loads_by_flash_page, [(0, 2), (1, 1)]);
}

#[test]
fn codewords_by_hand() {
    // Blocks 0 1 and 2 3 share a codeword of 512. 0 fetches [0, 512), 2 goes
    // on with [512, 1024), 3 wants that again, 1 wants [0, 512).
    let case = pages(&[0, 2, 3, 1], 256, 1);
    let replayed = agreed(&case, "lru", &ONE_REGISTER.map(|model| design(model, 1024, Some(512))));
    for Replayed { counts, .. } in &replayed {
        assert_eq!((counts.other_page, counts.forward, counts.backward), (1, 1, 2));
        assert_eq!(counts.distance_histogram, [(-2, 1), (1, 1), (2, 1)]);
        assert_eq!(counts.bytes_written, 4 * 256);
    }
    let [sequential, start_column, random_column] = &replayed[..] else { panic!() };
    assert_eq!(
        costs(sequential),
        [
            (true, false, 512, 0),
            (false, false, 512, 0),
            (true, false, 1024, 512),
            (true, false, 512, 0)
        ]
    );
    assert_eq!(
        costs(start_column),
        [
            (true, false, 512, 0),
            (false, false, 512, 0),
            (true, false, 512, 0),
            (true, false, 512, 0)
        ]
    );
    assert_eq!(
        costs(random_column),
        [
            (true, false, 512, 0),
            (false, false, 512, 0),
            (false, true, 512, 0),
            (false, true, 512, 0)
        ]
    );
}

/// A small instruction cache, and a TLB of as many sets of two.
fn small_front(tlb_sets: Option<u32>) -> HierarchyDesign {
    let icache = ICacheShape { cache_bytes: 64, line_bytes: 16, ways: 2 };
    HierarchyDesign { icache, tlb: tlb_sets.map(|sets| TlbShape { sets, ways: 2 }) }
}

/// How often `pass` asks whether to go on; where the answer is no, it ends there.
fn questions(pass: impl Fn(&dyn Fn() -> bool) -> Result<(), Error>) -> usize {
    let asked = Counter::new(0);
    let after = |answers: usize| {
        asked.set(0);
        pass(&|| {
            asked.set(asked.get() + 1);
            asked.get() <= answers
        })
    };
    after(usize::MAX).unwrap();
    let all = asked.get();
    for answers in 0..all {
        assert!(matches!(after(answers), Err(Error::Interrupted)), "{answers} of {all}");
        assert_eq!(asked.get(), answers + 1);
    }
    all
}

#[test]
fn passes_end_when_they_are_told_to() {
    let trace = MemoryTrace::new((0..2000).map(|at| run(at * 40 % 5000, 30)).collect());
    let registers = [design(RegisterModel::DoubleBuffer, 512, None)];
    let asked = |policy: &str, hierarchy| {
        let cell = Cell {
            cache_page_bytes: 64,
            policy: policy.parse().unwrap(),
            hierarchy,
            cache_bytes: vec![256, 1024],
            registers: registers.to_vec(),
        };
        let cache = CacheDesign { hierarchy, ..cache(64, 4, 0, policy) };
        let swept = questions(|go_on| sweep(&trace, &cell, go_on).map(|_| ()));
        let single = questions(|go_on| replay(&trace, &cache, &registers, go_on, None).map(|_| ()));
        let told = questions(|go_on| {
            let events = Events { critical_block_bytes: Some(16), sink: &mut |_, _| {} };
            replay(&trace, &cache, &registers, go_on, Some(events)).map(|_| ())
        });
        assert_eq!((single, told), (swept, swept), "{policy}");
        swept
    };
    let once = asked("lru", None);
    assert!((2..=2000).contains(&once));
    for hierarchy in [None, Some(small_front(None)), Some(small_front(Some(2)))] {
        assert_eq!(asked("clock", hierarchy), once);
        // MIN looks for next uses first.
        assert_eq!(asked("min", hierarchy), 2 * once);
    }
}

#[test]
fn bounds_of_memory_know_tlbs() {
    for policy in policies(64) {
        let bytes = |sizes: u64, hierarchy| {
            let cell = Cell {
                cache_page_bytes: 64,
                policy: policy.parse().unwrap(),
                hierarchy,
                cache_bytes: (1..=sizes).map(|size| size * 4096).collect(),
                registers: vec![design(RegisterModel::Sequential, 512, None)],
            };
            cell.memory_bytes(1 << 20, 1_000_000, 30_000_000)
        };
        // Bits for up to 64 sizes in one mask take as much as the tables of four.
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
        // All others run side by side.
        for policy in ["lru", "min", "fifo", "clock"] {
            let cell = Cell {
                cache_page_bytes: 64,
                policy: policy.parse().unwrap(),
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
                    hierarchy: None,
                };
                let (single, _) = replay(&trace, &cache, &registers, &|| true, None).unwrap();
                assert!(swept == single, "{cache:?}");
            }
        }
    }
}
