//! The torture of the log (`runtime/README.md`, "Tortured").

#[path = "harness.rs"]
mod harness;

use harness::kinds::{
    BAD_BLOCKS, BLACKOUT, CORRECTED, CUT, ERASE, ERASE_FAILURE, FORMAT, FaultKinds,
    PROGRAM_FAILURE, TORN, TRANSIENT, UNSTABLE,
};
use harness::{NAMES, ROUNDS, TortureOptions, torture};

/// Cuts of each combination of kinds, in all about half a minute on two cores. `make soak` runs the
/// other kinds, drawn for each store; `runtime/README.md` lists what fails there.
const CUTS: u64 = 500_000;

fn held(kinds: &[FaultKinds]) {
    let threads = std::thread::available_parallelism().map_or(2, |cores| cores.get() as u32);
    let cuts = [CUT, TORN, ERASE, UNSTABLE, FORMAT];
    let kinds = cuts.iter().chain(kinds).fold(FaultKinds(0), |all, &kind| all.with(kind));
    let report = torture(&TortureOptions {
        seed: 1,
        cuts: CUTS,
        stores: u64::MAX,
        kinds: Some(kinds),
        rounds: ROUNDS,
        threads,
        keep_going: false,
        lines: 40,
        verbose: false,
    });
    println!("kinds {} of {}\n{}", kinds.list(), NAMES.join(","), report.summary);
    assert!(report.violations.is_none(), "{}", report.violations.unwrap_or_default());
}

#[test]
fn nothing_is_lost_by_cuts() {
    held(&[]);
}

#[test]
fn nothing_is_lost_by_failures_and_cuts() {
    held(&[PROGRAM_FAILURE, ERASE_FAILURE, BAD_BLOCKS, CORRECTED, TRANSIENT]);
}

#[test]
fn nothing_is_lost_by_reads_that_fail_and_cuts() {
    held(&[CORRECTED, TRANSIENT, BLACKOUT]);
}
