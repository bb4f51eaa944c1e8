//! Homes against a slow reference, written from docs/model.md alone: a register is a tape of bytes
//! with a position, and pointers move one by one.

use std::collections::BTreeMap;

use flashpager_layout::homes::{Contents, ROUNDS, TrainingMisses, fill_homes};
use flashpager_replay::pager::VictimSearch;
use flashpager_replay::register::{RegisterDesign, RegisterModel};
use flashpager_replay::{Counts, Homes, HomesRegisterDesign, HomesShape, Miss};
use proptest::prelude::*;

/// Bytes of a cache page in these tests.
const B: u32 = 16;

/// A store and the rule of its register.
#[derive(Clone, Copy, Debug)]
struct Model {
    slots: usize,
    number_bytes: u64,
    is_random: bool,
    most_skipped: usize,
}

/// Counts of the reference.
#[derive(Clone, Debug, Default, PartialEq)]
struct SlowCounts {
    loads: u64,
    forward: u64,
    backward: u64,
    column_changes: u64,
    bytes_fetched: u64,
    bytes_skipped: u64,
    header_bytes: u64,
    loads_of: BTreeMap<u32, u64>,
    distances: BTreeMap<i32, u64>,
}

impl SlowCounts {
    fn of(counts: &Counts) -> Self {
        assert_eq!(counts.other_page, counts.loads);
        assert_eq!((counts.other_buffer, counts.prefetches), (0, 0));
        Self {
            loads: counts.loads,
            forward: counts.forward,
            backward: counts.backward,
            column_changes: counts.column_changes,
            bytes_fetched: counts.bytes_fetched,
            bytes_skipped: counts.bytes_skipped,
            header_bytes: counts.header_bytes_fetched,
            loads_of: counts.loads_by_flash_page.iter().copied().collect(),
            distances: counts.distance_histogram.iter().copied().collect(),
        }
    }

    fn time(&self) -> f64 {
        (self.loads * 1000 + self.column_changes * 90 + self.bytes_fetched * 3) as f64
    }
}

/// Counts of serving `misses`, and whether each of them loads.
fn slow_serve(model: Model, homes: &[Vec<u32>], misses: &[u32]) -> (SlowCounts, Vec<bool>) {
    let (mut counts, mut loads) = (SlowCounts::default(), Vec::new());
    let mut tape: Vec<u32> = Vec::new();
    let mut c = 0;
    for &p in misses {
        let places: Vec<usize> = (0..tape.len()).filter(|k| tape[*k] == p).collect();
        let k = if model.is_random {
            places.iter().copied().find(|k| *k == c).or(places.first().copied())
        } else {
            places.iter().copied().find(|k| *k >= c && *k - c <= model.most_skipped)
        };
        loads.push(k.is_none());
        counts.bytes_fetched += u64::from(B);
        let Some(k) = k else {
            let header = model.slots as u64 * model.number_bytes;
            counts.loads += 1;
            counts.header_bytes += header;
            counts.bytes_fetched += header;
            *counts.loads_of.entry(p).or_default() += 1;
            tape = homes[p as usize].clone();
            c = 1;
            continue;
        };
        if k >= c {
            counts.forward += 1
        } else {
            counts.backward += 1
        }
        *counts.distances.entry(k as i32 - (c as i32 - 1)).or_default() += 1;
        if model.is_random {
            counts.column_changes += u64::from(k != c);
        } else {
            counts.bytes_skipped += (k - c) as u64 * u64::from(B);
            counts.bytes_fetched += (k - c) as u64 * u64::from(B);
        }
        c = k + 1;
    }
    (counts, loads)
}

/// The slots of the home of `x`, with a pointer (trace, place) behind each of `occurrences`.
fn slow_slots(
    model: Model,
    x: u32,
    occurrences: &[(usize, usize)],
    traces: &[(Vec<u32>, u32)],
) -> Vec<u32> {
    let at = |(trace, place): (usize, usize)| traces[trace].0.get(place).copied();
    let mut pointers: Vec<(usize, usize)> =
        occurrences.iter().map(|(trace, place)| (*trace, place + 1)).collect();
    let mut slots = vec![x];
    loop {
        pointers.retain(|pointer| at(*pointer).is_some());
        if slots.len() == model.slots || pointers.is_empty() {
            return slots;
        }
        let mut votes: BTreeMap<u32, u64> = BTreeMap::new();
        for pointer in &pointers {
            *votes.entry(at(*pointer).unwrap()).or_default() += u64::from(traces[pointer.0].1);
        }
        let most = *votes.values().max().unwrap();
        let next = *votes.iter().find(|(_, votes)| **votes == most).unwrap().0;
        slots.push(next);
        for pointer in &mut pointers {
            if at(*pointer) != Some(next) {
                continue;
            }
            pointer.1 += 1;
            while model.is_random && at(*pointer).is_some_and(|page| slots.contains(&page)) {
                pointer.1 += 1;
            }
        }
    }
}

/// The kept contents, their homes and their time.
fn slow_fill(
    model: Model,
    pages: u32,
    traces: &[(Vec<u32>, u32)],
    plain_time: f64,
) -> (Contents, Option<Vec<Vec<u32>>>, f64) {
    let time = |homes: &[Vec<u32>]| -> f64 {
        let of = |(misses, weight): &(Vec<u32>, u32)| {
            f64::from(*weight) * slow_serve(model, homes, misses).0.time()
        };
        traces.iter().map(of).sum()
    };
    let mut homes: Vec<Vec<u32>> =
        (0..pages).map(|x| (x..pages).take(model.slots).collect()).collect();
    let mut candidates = vec![
        (Contents::Plain, None, plain_time),
        (Contents::Neighbours, Some(homes.clone()), time(&homes)),
    ];
    for round in 1..=ROUNDS {
        let loaded: Vec<Vec<bool>> =
            traces.iter().map(|(misses, _)| slow_serve(model, &homes, misses).1).collect();
        let occurrences = |x: u32| -> Vec<(usize, usize)> {
            let all = traces.iter().enumerate().flat_map(|(trace, (misses, _))| {
                (0..misses.len()).map(move |place| (trace, place))
            });
            all.filter(|(trace, place)| traces[*trace].0[*place] == x)
                .filter(|(trace, place)| round == 1 || loaded[*trace][*place])
                .collect()
        };
        for x in 0..pages {
            // A round writes over the first slots; the others stay.
            let taken = slow_slots(model, x, &occurrences(x), traces);
            let home = &mut homes[x as usize];
            for (k, page) in taken.into_iter().enumerate() {
                if k < home.len() { home[k] = page } else { home.push(page) }
            }
        }
        candidates.push((Contents::Round(round), Some(homes.clone()), time(&homes)));
    }
    let least = candidates.iter().map(|(_, _, time)| *time).fold(f64::INFINITY, f64::min);
    candidates.into_iter().find(|(_, _, time)| *time == least).unwrap()
}

fn register(model: Model) -> HomesRegisterDesign {
    let is_random = model.is_random;
    let named = if is_random { RegisterModel::RandomColumn } else { RegisterModel::StartColumn };
    let design = RegisterDesign {
        model: named,
        flash_page_bytes: 1024,
        codeword_bytes: None,
        prefetch_lines: 0,
    };
    HomesRegisterDesign::new(design, model.most_skipped as u32).unwrap()
}

fn engine_misses(pages: &[u32]) -> Vec<Miss> {
    pages.iter().map(|page| Miss { page: *page, search: VictimSearch::default() }).collect()
}

fn engine_time(counts: &Counts) -> f64 {
    SlowCounts::of(counts).time()
}

/// Counts of the plain store with a given number of loads.
fn plain_counts(loads: u64, misses: usize) -> Counts {
    Counts {
        loads,
        other_page: loads,
        bytes_fetched: misses as u64 * u64::from(B),
        misses: misses as u64,
        ..Counts::default()
    }
}

/// Misses as caches have them: no page misses twice in a row.
fn misses(pages: u32) -> impl Strategy<Value = Vec<u32>> {
    // Few pages at a time, so that something can be learnt.
    let phase = (0..pages, 1..=pages.min(6), prop::collection::vec(any::<u32>(), 1..60));
    prop::collection::vec(phase, 1..5).prop_map(move |phases| {
        let all = phases.into_iter().flat_map(|(first, few, picks)| {
            picks.into_iter().map(move |pick| (first + pick % few) % pages)
        });
        let mut misses: Vec<u32> = all.collect();
        misses.dedup();
        misses
    })
}

/// Cache pages of the image, bytes of a flash page, whether the register changes its column, the
/// most slots that are skipped, and the misses of one trace or more with their weights.
type Case = (u32, u32, bool, usize, Vec<(Vec<u32>, u32)>);

fn case() -> impl Strategy<Value = Case> {
    (prop_oneof![1_u32..20, 250_u32..262], 6_u32..=9, any::<bool>(), 0_usize..5).prop_flat_map(
        |(pages, log, is_random, most_skipped)| {
            let traces = prop::collection::vec((misses(pages), 1_u32..4), 1..3);
            (Just(pages), Just(1 << log), Just(is_random), Just(most_skipped), traces)
        },
    )
}

fn model_of(shape: HomesShape, is_random: bool, most_skipped: usize) -> Model {
    // The formula of the model, in numbers of its own.
    let number_bytes = if shape.pages < 256 { 1 } else { 2 };
    let (n, b) = (u64::from(shape.flash_page_bytes), u64::from(B));
    let slots = ((n - (n / b - 1) * number_bytes) / b) as usize;
    Model { slots, number_bytes, is_random, most_skipped }
}

proptest! {
    #[test]
    fn any_homes_serve_as_the_reference(
        (pages, flash_page_bytes, is_random, most_skipped, traces) in case(),
        picks in prop::collection::vec(any::<u32>(), 64),
    ) {
        let shape = HomesShape { cache_page_bytes: B, flash_page_bytes, pages, has_classes: false };
        let model = model_of(shape, is_random, most_skipped);
        // Any slots, with repeated pages and empty ends.
        let home = |x: u32| -> Vec<u32> {
            let pick = |at: usize| picks[(x as usize * 7 + at) % picks.len()];
            let used = 1 + pick(0) as usize % model.slots;
            std::iter::once(x).chain((1..used).map(|at| (x + pick(at) % 5) % pages)).collect()
        };
        let contents: Vec<Vec<u32>> = (0..pages).map(home).collect();
        let homes = Homes::new(shape, contents.clone()).unwrap();
        for (misses, _) in &traces {
            let mut loads = Vec::new();
            let served = homes.serve(register(model), &engine_misses(misses), |_, access| {
                loads.push(access.load);
            });
            let counts = served.instead_of(&plain_counts(0, misses.len()));
            let (slow, slow_loads) = slow_serve(model, &contents, misses);
            prop_assert_eq!(SlowCounts::of(&counts), slow);
            prop_assert_eq!(loads, slow_loads);
            prop_assert_eq!(counts.loads + counts.forward + counts.backward, counts.misses);
        }
    }

    #[test]
    fn training_fills_as_the_reference(
        (pages, flash_page_bytes, is_random, most_skipped, traces) in case(),
        plain_loads in 0_u64..200,
    ) {
        let shape = HomesShape { cache_page_bytes: B, flash_page_bytes, pages, has_classes: false };
        let model = model_of(shape, is_random, most_skipped);
        let engine: Vec<Vec<Miss>> =
            traces.iter().map(|(misses, _)| engine_misses(misses)).collect();
        let plain: Vec<Counts> =
            traces.iter().map(|(misses, _)| plain_counts(plain_loads, misses.len())).collect();
        let training: Vec<TrainingMisses<'_>> = engine
            .iter()
            .zip(&plain)
            .zip(&traces)
            .map(|((misses, plain), (_, weight))| TrainingMisses {
                misses,
                counts: plain,
                plain,
                weight: *weight,
            })
            .collect();
        let filled =
            fill_homes(shape, register(model), &training, &engine_time, &|| true).unwrap();
        let plain_time: f64 = plain
            .iter()
            .zip(&traces)
            .map(|(plain, (_, weight))| f64::from(*weight) * engine_time(plain))
            .sum();
        let (kept, contents, time) = slow_fill(model, pages, &traces, plain_time);
        prop_assert_eq!(filled.kept, kept);
        prop_assert_eq!((filled.time, filled.plain_time), (time, plain_time));
        prop_assert!(filled.time <= filled.plain_time);
        let slots = filled
            .homes
            .map(|homes| (0..pages).map(|x| homes.slots(x).to_vec()).collect::<Vec<_>>());
        prop_assert_eq!(slots, contents);
    }

    #[test]
    fn homes_of_their_page_alone_load_at_each_miss(
        (pages, flash_page_bytes, is_random, most_skipped, traces) in case(),
    ) {
        let shape = HomesShape { cache_page_bytes: B, flash_page_bytes, pages, has_classes: false };
        let model = model_of(shape, is_random, most_skipped);
        let homes = Homes::new(shape, (0..pages).map(|page| vec![page]).collect()).unwrap();
        for (misses, _) in &traces {
            let served = homes.serve(register(model), &engine_misses(misses), |_, _| ());
            let counts = served.instead_of(&plain_counts(0, misses.len()));
            prop_assert_eq!(counts.loads, counts.misses);
            let header = u64::from(shape.header_bytes());
            prop_assert_eq!(counts.bytes_fetched, counts.misses * (u64::from(B) + header));
        }
    }
}

#[test]
fn a_loop_is_one_load() {
    let shape =
        HomesShape { cache_page_bytes: B, flash_page_bytes: 256, pages: 8, has_classes: false };
    let pages: Vec<u32> = (0..50).flat_map(|_| [0, 5, 2, 7]).collect();
    let misses = engine_misses(&pages);
    let plain = plain_counts(pages.len() as u64, pages.len());
    let training = [TrainingMisses { misses: &misses, counts: &plain, plain: &plain, weight: 1 }];
    for (is_random, loads) in [(true, 1), (false, 200_u64.div_ceil(15))] {
        let model = model_of(shape, is_random, 2);
        let filled = fill_homes(shape, register(model), &training, &engine_time, &|| true).unwrap();
        let homes = filled.homes.expect("homes are faster");
        let counts = homes.serve(register(model), &misses, |_, _| ()).instead_of(&plain);
        assert_eq!(counts.loads, loads);
    }
    assert!(
        fill_homes(shape, register(model_of(shape, true, 0)), &training, &engine_time, &|| {
            false
        })
        .is_err()
    );
}
