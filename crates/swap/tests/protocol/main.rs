//! A model of the swap log's protocol, with every power cut that a small medium can suffer.
//!
//! - `medium`: pages that are blank, complete or flaky, and an adversary who cuts and fails operations.
//! - `store`: sync and mount as operations on the medium, with rules and deliberate errors.
//! - `explorer`: every run, breadth first over cuts, and the shortest one that breaks the promise.
//!
//! The promise: a mount restores the version of the last sync that returned, or of one begun since,
//! with its data; it never restores a version that an earlier mount passed over; and it finds a
//! block to go on in.
//!
//! A cut is any loss of power, also between two steps. `FLASHPAGER_SOAK=1` explores deeper.

mod confirm;
mod explorer;
mod medium;
mod store;

use explorer::{Bounds, Exploration, Explorer};
use store::{Mutation, Protocol, Rules};

/// Explores a protocol within bounds.
fn explore(
    rules: Rules,
    mutation: Mutation,
    zone: usize,
    cuts: usize,
    failures: u8,
    pairs: usize,
) -> Exploration {
    let data = 2 + usize::from(failures);
    let protocol = Protocol { pairs, zone, blocks: zone + data, keep_base: false, rules, mutation };
    let syncs = if pairs > 2 {
        3
    } else if rules == Rules::Steady && mutation == Mutation::None {
        1
    } else {
        2
    };
    let bounds =
        Bounds { cuts, failures, restless: false, blank: false, syncs, states: 60_000_000 };
    show(Explorer { protocol, bounds })
}

fn show(explorer: Explorer) -> Exploration {
    let start = std::time::Instant::now();
    let exploration = explorer.explore();
    println!("{:?}, {:?}", explorer.protocol, explorer.bounds);
    println!(
        "{} states, {} runs, by cuts {:?}, {:.1?}",
        exploration.states,
        exploration.runs,
        exploration.layers,
        start.elapsed()
    );
    exploration
}

fn holds(exploration: &Exploration) {
    if let Some(trace) = &exploration.counterexample {
        panic!("after {} cuts:\n{trace}", exploration.depth);
    }
    assert!(exploration.complete, "too many states");
}

fn breaks(exploration: &Exploration) {
    let trace = exploration.counterexample.as_ref().expect("a counterexample");
    println!("after {} cuts:\n{trace}", exploration.depth);
}

fn soak() -> bool {
    std::env::var_os("FLASHPAGER_SOAK").is_some()
}

#[test]
fn cuts_in_a_row_break_nothing() {
    holds(&explore(Rules::Steady, Mutation::None, 7, if soak() { 6 } else { 4 }, 0, 2));
}

#[test]
fn cuts_and_a_failure_break_nothing() {
    holds(&explore(Rules::Steady, Mutation::None, 8, if soak() { 4 } else { 2 }, 1, 2));
}

#[test]
fn cuts_and_two_failures_break_nothing() {
    holds(&explore(Rules::Steady, Mutation::None, 9, if soak() { 3 } else { 2 }, 2, 2));
}

#[test]
fn longer_blocks_break_nothing() {
    holds(&explore(Rules::Steady, Mutation::None, 7, if soak() { 4 } else { 2 }, 1, 3));
}

#[test]
fn pages_that_change_within_a_mount_break_nothing() {
    let protocol = Protocol {
        pairs: 2,
        zone: 8,
        blocks: 10,
        keep_base: false,
        rules: Rules::Steady,
        mutation: Mutation::None,
    };
    let cuts = if soak() { 5 } else { 3 };
    let bounds =
        Bounds { cuts, failures: 0, restless: true, blank: false, syncs: 2, states: 60_000_000 };
    holds(&show(Explorer { protocol, bounds }));
}

#[test]
fn rules_that_were_not_taken_break() {
    breaks(&explore(Rules::Nested, Mutation::None, 7, 3, 0, 2));
    if soak() {
        breaks(&explore(Rules::Written, Mutation::None, 7, 5, 0, 2));
        breaks(&explore(Rules::Witness, Mutation::None, 6, 7, 0, 2));
    }
}

#[test]
fn every_error_is_caught() {
    // Each error, with the zone, cuts, failures and pairs that it takes to show.
    let errors = [
        (Mutation::EraseOne, 7, 3, 0, 2),
        (Mutation::TakeNew, 7, 3, 0, 2),
        (Mutation::Trust, 7, 2, 0, 2),
        (Mutation::FreeDataEarly, 7, 1, 0, 2),
        (Mutation::OneCopy, 7, 4, 0, 2),
        (Mutation::SameGeneration, 7, 1, 0, 2),
        (Mutation::CountFlaky, 7, 2, 0, 2),
        (Mutation::Unnested, 7, 1, 0, 2),
        (Mutation::FreeMetaEarly, 6, 4, 0, 2),
        (Mutation::CopyBFirst, 7, 4, 0, 2),
        (Mutation::CopyBAfterFailure, 7, 3, 1, 2),
        (Mutation::MarkEarly, 7, 1, 1, 2),
        (Mutation::GoOnAfterFailure, 6, 1, 1, 3),
    ];
    for (mutation, zone, cuts, failures, pairs) in errors {
        breaks(&explore(Rules::Steady, mutation, zone, cuts, failures, pairs));
    }
}

/// No version is served before the other blocks are erased, so the order of the two does not
/// matter.
#[test]
fn erasing_later_is_harmless() {
    let cuts = if soak() { 5 } else { 3 };
    holds(&explore(Rules::Steady, Mutation::EraseLater, 7, cuts, 0, 2));
}

fn confirmed(keep_base: bool, mutation: Mutation, cuts: usize, blank: bool) -> Exploration {
    let rules = Rules::Confirm;
    let protocol = Protocol { pairs: 2, zone: 6, blocks: 8, keep_base, rules, mutation };
    let bounds = Bounds { cuts, failures: 0, restless: false, blank, syncs: 1, states: 60_000_000 };
    show(Explorer { protocol, bounds })
}

#[test]
fn a_confirmation_holds_where_its_base_stays() {
    let cuts = if soak() { 3 } else { 2 };
    holds(&confirmed(true, Mutation::None, cuts, false));
    holds(&confirmed(true, Mutation::None, cuts, true));
}

#[test]
fn a_torn_confirmation_breaks_where_its_base_is_free() {
    breaks(&confirmed(false, Mutation::None, 3, false));
}

#[test]
fn errors_with_a_confirmation_are_caught() {
    breaks(&confirmed(true, Mutation::NoConfirmation, 2, false));
    breaks(&confirmed(true, Mutation::OverCountingOnly, 2, false));
}
