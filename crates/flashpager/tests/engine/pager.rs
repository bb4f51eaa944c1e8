//! Policies that page data: their victims, the effect of writes, and their use outside of a replay.

use std::collections::BTreeSet;
use std::sync::Arc;

use flashpager::pager::{
    Moment, NEVER, POLICIES, Page, PageClasses, Pager, Policy, PolicySpec, PolicyVisitor,
    ReferenceOutcome, ReuseClasses, Shape,
};
use proptest::prelude::*;

use crate::reference::{self, CleanFirst, gclock_with, lru_array_with, policies};

fn spec(policy: &str) -> PolicySpec {
    policy.parse().unwrap()
}

/// The index of the next reference to the same page, for each reference.
fn next_uses(order: &[Page]) -> Vec<Moment> {
    let later = |at: usize| order[at + 1..].iter().position(|page| *page == order[at]);
    (0..order.len()).map(|at| later(at).map_or(NEVER, |on| (at + 1 + on) as Moment)).collect()
}

/// Takes all references and returns their outcomes.
struct All<'a>(&'a [Page]);

impl PolicyVisitor for All<'_> {
    type Output = Vec<ReferenceOutcome>;

    fn visit<P: Policy>(self, mut policy: P) -> Self::Output {
        let next_uses = next_uses(self.0);
        self.0.iter().zip(next_uses).map(|(page, next)| policy.reference(*page, next)).collect()
    }
}

/// Tracks the cached pages by the reported victims, and checks that policy and reference agree with
/// them.
fn check_victims(policy: &str, order: &[Page], frames: usize, pages: u32) {
    let shape = Shape { frames: frames as u32, pages, ways: None };
    let outcomes = spec(policy).visit(shape, All(order)).unwrap();
    let mut reference = reference::cache_of(policy, frames);
    let mut cached = BTreeSet::new();
    for (at, (&page, outcome)) in order.iter().zip(outcomes).enumerate() {
        let was_cached = cached.contains(&page);
        match outcome {
            ReferenceOutcome::Miss { victim, .. } => {
                assert!(!was_cached, "{policy}: {page} is in a frame");
                assert_eq!(victim.is_some(), cached.len() == frames, "{policy}");
                if let Some(victim) = victim {
                    assert!(cached.remove(&victim), "{policy}: {victim} is in no frame");
                }
                cached.insert(page);
            }
            _ => assert!(was_cached, "{policy}: {page} is in no frame"),
        }
        assert!(cached.len() <= frames);
        let future = &order[at + 1..];
        let mut expected: BTreeSet<Page> = reference(page, future).cached.into_iter().collect();
        let mut kept = cached.clone();
        if policy == "min" {
            // The choice among pages that are never used again is free.
            for pages in [&mut expected, &mut kept] {
                pages.retain(|page| future.contains(page));
            }
        }
        assert_eq!(kept, expected, "{policy} after {:?}", &order[..=at]);
    }
}

/// References to few pages, some of them in loops.
fn orders() -> impl Strategy<Value = (Vec<Page>, usize)> {
    let piece = prop_oneof![
        prop::collection::vec(0..20u32, 1..30),
        (0..12u32, 1..8u32, 1..4usize).prop_map(|(first, length, times)| {
            (first..first + length).collect::<Vec<_>>().repeat(times)
        }),
    ];
    let order = prop::collection::vec(piece, 1..8).prop_map(|pieces| {
        let mut order = pieces.concat();
        order.dedup();
        order
    });
    (order, 1..14usize)
}

/// An action on a page.
#[derive(Clone, Copy, Debug)]
enum Act {
    Read,
    Write,
    Clean,
}

fn acts() -> impl Strategy<Value = Vec<(Act, Page)>> {
    let act = prop_oneof![4 => Just(Act::Read), 3 => Just(Act::Write), 1 => Just(Act::Clean)];
    prop::collection::vec((act, 0..16u32), 1..150)
}

/// Compares an outcome of the engine with one of the reference.
fn same(outcome: ReferenceOutcome, expected: reference::ModelOutcome) -> bool {
    match (outcome, expected) {
        (ReferenceOutcome::Hit, reference::ModelOutcome::Hit) => true,
        (
            ReferenceOutcome::Miss { search, .. },
            reference::ModelOutcome::Miss { walk, downgrades },
        ) => (search.walk, search.downgrades) == (walk, downgrades),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_policy_tells_its_victims((order, frames) in orders()) {
        for policy in policies(frames) {
            check_victims(&policy, &order, frames, 20);
        }
    }

    /// The engine agrees with the reference in every victim and every walk.
    #[test]
    fn cflru_agrees_with_writes(acts in acts(), frames in 1..10usize, window in 1..12usize) {
        let shape = Shape { frames: frames as u32, pages: 16, ways: None };
        let mut pager = Pager::new(&spec(&format!("cflru({window})")), shape).unwrap();
        let mut expected = CleanFirst::new(frames, window);
        let mut before: Vec<Page> = Vec::new();
        for (act, page) in acts {
            if matches!(act, Act::Clean) {
                pager.cleaned(page);
                expected.cleaned(page);
                continue;
            }
            let outcome = pager.reference(page).unwrap();
            let step = expected.reference(page);
            prop_assert!(same(outcome, step.outcome), "{outcome:?} is not {:?}", step.outcome);
            if let ReferenceOutcome::Miss { victim, .. } = outcome {
                let gone = before.iter().find(|page| !step.cached.contains(page));
                prop_assert_eq!(victim.as_ref(), gone);
            }
            if matches!(act, Act::Write) {
                pager.written(page);
                expected.written(page);
            }
            before = step.cached;
        }
    }

    /// With classes drawn at random, every victim and every walk are those of the lists.
    #[test]
    fn policies_with_reuse_classes_agree(
        (order, frames) in orders(),
        classes in prop::collection::vec((0..4u8, 0..4u8), 20),
    ) {
        let shape = Shape { frames: frames as u32, pages: 20, ways: None };
        let by_page = classes.iter().map(|(fill, used)| PageClasses { fill: *fill, used: *used });
        let trained = Arc::new(ReuseClasses::new(by_page.collect()).unwrap());
        for (name, slow) in [("lru-array", lru_array_with as fn(_, _) -> _), ("gclock", gclock_with)] {
            let classes = classes.clone();
            let of = move |page: Page| {
                let (fill, used) = classes[page as usize];
                (usize::from(fill), usize::from(used))
            };
            let mut expected = slow(frames, Box::new(of));
            let policy = spec(name).with_classes(trained.clone()).unwrap();
            let mut pager = Pager::new(&policy, shape).unwrap();
            let mut before: Vec<Page> = Vec::new();
            for page in &order {
                let outcome = pager.reference(*page).unwrap();
                let step = expected(*page, &[]);
                prop_assert!(same(outcome, step.outcome), "{name}: {outcome:?}, {:?}", step.outcome);
                if let ReferenceOutcome::Miss { victim, .. } = outcome {
                    prop_assert_eq!(victim, before.iter().find(|page| !step.cached.contains(page)).copied());
                }
                for page in 0..20 {
                    prop_assert_eq!(pager.would_hit(page), step.usable.contains(&page));
                }
                before = step.cached;
            }
        }
    }

    /// With all classes 3 an array is LRU, and with all classes 1 generalized Clock is Clock.
    #[test]
    fn one_class_is_lru_or_clock((order, frames) in orders()) {
        let shape = Shape { frames: frames as u32, pages: 20, ways: None };
        let outcomes = |policy: PolicySpec| policy.visit(shape, All(&order)).unwrap();
        for (name, plain, class) in [("lru-array", "lru", 3), ("gclock", "clock", 1)] {
            let all = ReuseClasses::new(vec![PageClasses::both(class); 20]).unwrap();
            let trained = spec(name).with_classes(Arc::new(all)).unwrap();
            let mut plain = outcomes(spec(plain));
            for outcome in &mut plain {
                if *outcome == ReferenceOutcome::BitSet {
                    *outcome = ReferenceOutcome::Hit;
                }
            }
            prop_assert_eq!(&outcomes(spec(name)), &plain, "{}", name);
            prop_assert_eq!(&outcomes(trained), &plain, "{}", name);
        }
    }

    /// The two differ only in the look at the oldest page's dirty bit.
    #[test]
    fn cflru_is_lru_where_nothing_is_written(
        (order, frames) in orders(), window in prop_oneof!["[1-9]", "[1-9][0-9]?%"],
    ) {
        let shape = Shape { frames: frames as u32, pages: 20, ways: None };
        let cflru = spec(&format!("cflru({window})")).visit(shape, All(&order)).unwrap();
        let lru = spec("lru").visit(shape, All(&order)).unwrap();
        for (mut cflru, lru) in cflru.into_iter().zip(lru) {
            if let ReferenceOutcome::Miss { search, victim } = &mut cflru {
                prop_assert_eq!(search.walk, u32::from(victim.is_some()));
                search.walk = 0;
            }
            prop_assert_eq!(cflru, lru);
        }
    }

    /// Writes change nothing for policies that ignore them, nor does a second reference in a row.
    #[test]
    fn a_pager_steps_as_a_replay((order, frames) in orders(), writes in any::<u64>()) {
        let shape = Shape { frames: frames as u32, pages: 20, ways: None };
        for policy in policies(frames).iter().filter(|policy| *policy != "min") {
            let replayed = spec(policy).visit(shape, All(&order)).unwrap();
            let mut pager = Pager::new(&spec(policy), shape).unwrap();
            for (at, (page, replayed)) in order.iter().zip(replayed).enumerate() {
                let outcome = pager.reference(*page).unwrap();
                prop_assert_eq!(outcome, replayed, "{}", policy);
                prop_assert_eq!(pager.reference(*page).unwrap(), ReferenceOutcome::Hit, "{}", policy);
                if !policy.starts_with("cflru") && writes >> (at % 64) & 1 == 1 {
                    pager.written(*page);
                }
            }
        }
    }
}

#[test]
fn an_array_of_bytes_has_255_frames() {
    assert!(spec("lru-array").check(255).is_ok());
    let error = spec("lru-array").check(256).unwrap_err().to_string();
    assert!(error.contains("lru-array with 256 frames: a byte numbers at most 255"), "{error}");
}

#[test]
fn classes_are_for_their_policies_and_images() {
    let classes = |class| ReuseClasses::new(vec![PageClasses::both(class); 9]);
    assert!(classes(4).is_err());
    let three = Arc::new(classes(3).unwrap());
    assert!(spec("lru").with_classes(three.clone()).is_err());
    let policy = spec("lru-array").with_classes(three).unwrap();
    assert_eq!(policy.to_string(), "lru-array");
    assert_eq!(policy.metadata().unwrap().bytes(30), 38);
    assert!(policy.check(30).is_ok());
    assert!(Pager::new(&policy, Shape { frames: 3, pages: 10, ways: None }).is_err());
    assert!(Pager::new(&policy, Shape { frames: 3, pages: 9, ways: None }).is_ok());
}

/// Pages 1 and 2 are dirty: 3 is the oldest clean one, but only a window of 3 reaches it.
#[test]
fn cflru_by_hand() {
    let evicted = |policy: &str, cleaned: &[Page]| {
        let mut pager =
            Pager::new(&spec(policy), Shape { frames: 4, pages: 9, ways: None }).unwrap();
        for page in [1, 2, 3, 4] {
            pager.reference(page).unwrap();
        }
        pager.written(1);
        pager.written(2);
        cleaned.iter().for_each(|page| pager.cleaned(*page));
        match pager.reference(5).unwrap() {
            ReferenceOutcome::Miss { search, victim: Some(victim) } => (victim, search.walk),
            outcome => panic!("{outcome:?}"),
        }
    };
    assert_eq!(evicted("lru", &[]), (1, 0));
    assert_eq!(evicted("cflru(1)", &[]), (1, 1));
    assert_eq!(evicted("cflru(2)", &[]), (1, 2));
    assert_eq!(evicted("cflru(3)", &[]), (3, 3));
    assert_eq!(evicted("cflru(99)", &[]), (3, 3));
    assert_eq!(evicted("cflru(74%)", &[]), (1, 2));
    assert_eq!(evicted("cflru(75%)", &[]), (3, 3));
    assert_eq!(evicted("cflru(1%)", &[]), (1, 1));
    assert_eq!(evicted("cflru(100%)", &[2]), (2, 2));
    assert_eq!(evicted("cflru(100%)", &[1, 7]), (1, 1));
}

#[test]
fn windows_must_fit() {
    for policy in ["cflru(0)", "cflru(0%)", "cflru(101%)"] {
        let refused = spec(policy).check(4).unwrap_err().to_string();
        assert!(refused.starts_with(policy) && !refused.contains('\n'), "{refused}");
    }
    assert!("cflru".parse::<PolicySpec>().is_err());
}

#[test]
fn what_a_pager_cannot_be_is_refused() {
    let shape = Shape { frames: 2, pages: 3, ways: None };
    let refused = |policy: &str, shape| Pager::new(&spec(policy), shape).err().unwrap().to_string();
    assert_eq!(
        refused("min", shape),
        "policy 'min' must know every reference to come, which only a replay does: take another \
         for a running program"
    );
    let none = Shape { frames: 0, ..shape };
    assert_eq!(refused("lru", none), "policy 'lru': 0 frames hold no page");
    assert!(refused("fifo-sc(2)", shape).starts_with("fifo-sc(2): "));
}

/// A page out of range is an error and changes nothing.
#[test]
fn pages_beyond_are_refused() {
    for (name, parameters) in POLICIES.iter().filter(|(name, _)| *name != "min") {
        let policy = if *parameters == 0 { name.to_string() } else { format!("{name}(1)") };
        let mut pager =
            Pager::new(&spec(&policy), Shape { frames: 2, pages: 3, ways: None }).unwrap();
        pager.reference(2).unwrap();
        for page in [3, Page::MAX] {
            let refused = pager.reference(page).unwrap_err().to_string();
            assert_eq!(
                refused,
                format!("page {page} is beyond the 3 pages that the pager was made for")
            );
            pager.written(page);
            pager.cleaned(page);
            assert!(!pager.would_hit(page));
        }
        assert_eq!(pager.reference(2).unwrap(), ReferenceOutcome::Hit, "{policy}");
    }
    let mut nothing = Pager::new(&spec("lru"), Shape { frames: 2, pages: 0, ways: None }).unwrap();
    assert!(nothing.reference(0).is_err());
}
