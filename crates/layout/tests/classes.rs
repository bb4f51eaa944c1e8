//! The training of reuse classes against a slow reference, written from docs/model.md alone: caches
//! are lists, the register is a tape, and every pair of every page is replayed from the start.

use flashpager_base::Error;
use flashpager_layout::classes::{ClassesDesign, TrainingReferences, train_classes};
use flashpager_replay::pager::{PageClasses, PolicySpec, VictimSearch};
use flashpager_replay::register::{Access, RegisterDesign, RegisterModel};
use flashpager_replay::{Homes, HomesRegisterDesign, HomesShape};
use proptest::prelude::*;

/// Bytes of a cache page in these tests.
const B: u32 = 16;
/// The class of a fill and that of a use, by page.
type Classes = Vec<(u8, u8)>;

/// A store with classes, and the rule of its register.
#[derive(Clone, Debug)]
struct Model {
    frames: usize,
    is_clock: bool,
    is_random: bool,
    most_skipped: usize,
    slots: usize,
    homes: Vec<Vec<u32>>,
}

/// The prices of these tests: of a fault that looks at `walk` frames.
fn price(load: bool, column_change: bool, bytes: u32, walk: u32) -> f64 {
    f64::from(1000 * u32::from(load) + 90 * u32::from(column_change) + 3 * bytes + 7 * walk)
}

/// The misses of `references`, each with its walk.
fn slow_misses(model: &Model, references: &[u32], classes: &Classes) -> Vec<(u32, u32)> {
    let last = model.frames - 1;
    let mut misses = Vec::new();
    // An array of frames, or a ring that begins under the hand, with a count.
    let mut held: Vec<Option<(u32, u8)>> =
        if model.is_clock { vec![] } else { vec![None; last + 1] };
    for &page in references {
        let (fill, used) = classes[page as usize];
        let at = held.iter().position(|it| it.is_some_and(|(held, _)| held == page));
        if model.is_clock {
            if let Some((_, count)) = at.and_then(|at| held[at].as_mut()) {
                *count = used.max(*count);
                continue;
            }
            let mut walk = 0;
            while held.len() == model.frames {
                walk += 1;
                let (passed, count) = held.remove(0).unwrap();
                if count > 0 {
                    held.push(Some((passed, count - 1)));
                }
            }
            held.push(Some((page, fill)));
            misses.push((page, walk));
            continue;
        }
        let class = if at.is_some() { used } else { fill };
        let empty = held.iter().position(Option::is_none);
        held.remove(at.or(empty).unwrap_or(0));
        held.insert(last.min((usize::from(class) * last + 1) / 3), Some((page, 0)));
        if at.is_none() {
            misses.push((page, 0));
        }
    }
    misses
}

/// The time of the faults of `misses`. A slot is a page and its byte of classes.
fn slow_time(model: &Model, misses: &[(u32, u32)]) -> f64 {
    let (slot, header) = (B + 1, model.slots as u32);
    let (mut time, mut c) = (0.0, 0);
    let mut tape: &[u32] = &[];
    for (p, walk) in misses {
        let mut places = (0..tape.len()).filter(|k| tape[*k] == *p);
        let k = if model.is_random {
            if tape.get(c) == Some(p) { Some(c) } else { places.next() }
        } else {
            places.find(|k| *k >= c && *k <= c + model.most_skipped)
        };
        time += match k {
            None => price(true, false, header + slot, *walk),
            Some(k) if model.is_random => price(false, k != c, slot, *walk),
            Some(k) => price(false, false, (k - c) as u32 * slot + slot, *walk),
        };
        if k.is_none() {
            tape = &model.homes[*p as usize];
        }
        c = k.unwrap_or(0) + 1;
    }
    time
}

/// The trained classes and their time.
fn slow_train(model: &Model, traces: &[(Vec<u32>, u32)], hits: f64, start: u8) -> (Classes, f64) {
    let time = |classes: &Classes| {
        let of = |(references, weight): &(Vec<u32>, u32)| {
            f64::from(*weight) * (hits + slow_time(model, &slow_misses(model, references, classes)))
        };
        traces.iter().map(of).sum::<f64>()
    };
    let mut classes = vec![(start, start); model.homes.len()];
    let mut misses = vec![0; classes.len()];
    for (references, weight) in traces {
        for (page, _) in slow_misses(model, references, &classes) {
            misses[page as usize] += weight;
        }
    }
    let mut pages: Vec<usize> = (0..classes.len()).filter(|page| misses[*page] > 0).collect();
    pages.sort_by(|a, b| misses[*b].cmp(&misses[*a]).then(a.cmp(b)));
    let mut best = time(&classes);
    loop {
        let before = classes.clone();
        for page in &pages {
            for pair in (0..4).flat_map(|fill| (0..4).map(move |used| (fill, used))) {
                let mut tried = classes.clone();
                tried[*page] = pair;
                let now = time(&tried);
                if now < best * (1.0 - 1e-5) {
                    (best, classes) = (now, tried);
                }
            }
        }
        if classes == before {
            return (classes, best);
        }
    }
}

/// References to up to 9 pages, no two of one page in a row.
fn references() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(0_u32..9, 1..120).prop_map(|mut pages| {
        pages.dedup();
        pages
    })
}

fn register(model: &Model) -> HomesRegisterDesign {
    let kind =
        if model.is_random { RegisterModel::RandomColumn } else { RegisterModel::StartColumn };
    let design = RegisterDesign {
        model: kind,
        flash_page_bytes: 1024,
        codeword_bytes: None,
        prefetch_lines: 0,
    };
    HomesRegisterDesign::new(design, model.most_skipped as u32).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn training_is_that_of_the_reference(
        traces in prop::collection::vec((references(), 1_u32..4), 1..3),
        frames in 1_usize..6,
        is_clock in any::<bool>(),
        is_random in any::<bool>(),
        most_skipped in 0_usize..4,
        picks in prop::collection::vec(0_u32..9, 36),
    ) {
        let shape = HomesShape {
            cache_page_bytes: B, flash_page_bytes: 128, pages: 9, has_classes: true,
        };
        // 128 / (16 + 1 + 1) slots.
        prop_assert_eq!((shape.slots(), shape.header_bytes(), shape.slot_bytes()), (7, 7, 17));
        let homes: Vec<Vec<u32>> = (0..9)
            .map(|x| std::iter::once(x).chain(picks.iter().copied().skip(4 * x as usize).take(4)).collect())
            .collect();
        let model = Model { frames, is_clock, is_random, most_skipped, slots: 7, homes: homes.clone() };
        let policy: PolicySpec = if is_clock { "gclock" } else { "lru-array" }.parse().unwrap();
        let start = policy.default_class().unwrap();
        prop_assert_eq!(start, if is_clock { 1 } else { 3 });
        let fault_time = |access: &Access, search: VictimSearch| {
            price(access.load, access.column_change, access.bytes_fetched, search.walk)
        };
        let design = ClassesDesign {
            policy: &policy,
            frames: frames as u32,
            homes: &Homes::new(shape, homes).unwrap(),
            register: register(&model),
            fault_time: &fault_time,
        };
        let hits_time = 5_000.0;
        let training: Vec<TrainingReferences<'_>> = traces
            .iter()
            .map(|(references, weight)| TrainingReferences { references, weight: *weight, hits_time })
            .collect();
        let both = vec![PageClasses::both(start); 9];
        let trained = train_classes(&design, &training, both, &|| true, &|_| ()).unwrap();
        let (classes, time) = slow_train(&model, &traces, hits_time, start);
        let found: Classes = trained.classes.iter().map(|one| (one.fill, one.used)).collect();
        prop_assert_eq!(found, classes);
        prop_assert_eq!(trained.time, time);
    }
}

#[test]
fn interrupted_training_returns_interrupted() {
    let shape =
        HomesShape { cache_page_bytes: B, flash_page_bytes: 128, pages: 2, has_classes: true };
    let homes = Homes::of_neighbours(shape);
    let policy: PolicySpec = "lru-array".parse().unwrap();
    let model = Model {
        frames: 1,
        is_clock: false,
        is_random: false,
        most_skipped: 0,
        slots: 7,
        homes: Vec::new(),
    };
    let fault_time = |_: &Access, _| 1.0;
    let register = register(&model);
    let design = ClassesDesign {
        policy: &policy,
        frames: 1,
        homes: &homes,
        register,
        fault_time: &fault_time,
    };
    let training = [TrainingReferences { references: &[0, 1, 0], weight: 1, hits_time: 0.0 }];
    let both = vec![PageClasses::both(3); 2];
    let stopped = train_classes(&design, &training, both, &|| false, &|_| ());
    assert!(matches!(stopped, Err(Error::Interrupted)), "{stopped:?}");
}
