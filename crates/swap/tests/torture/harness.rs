//! Tortures many stores, each with its own seed, and reports violations.

pub mod kinds;
mod medium;
mod model;
mod pages;
mod plan;
mod random;
mod run;
mod store;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::Instant;

pub use kinds::{FaultKinds, NAMES};
use run::{CostliestCall, TortureCounts, Violation, run};

/// Default number of cuts of one store.
pub const ROUNDS: u32 = 400;

pub struct TortureOptions {
    /// Seed of the first store. The next ones have the next seeds.
    pub seed: u64,
    /// Ends after this many cuts of all stores.
    pub cuts: u64,
    /// Ends after this many stores.
    pub stores: u64,
    /// Kinds of faults. `None` draws them for each store.
    pub kinds: Option<FaultKinds>,
    /// Cuts and unmounts of one store.
    pub rounds: u32,
    pub threads: u32,
    /// Go on after a violation.
    pub keep_going: bool,
    /// Lines of the trace that are shown.
    pub lines: usize,
    /// Print a line for each million cuts.
    pub verbose: bool,
}

/// Violations of one class.
struct ViolationClass {
    count: u64,
    /// The violation with the fewest calls.
    shortest: Violation,
}

#[derive(Default)]
struct TortureProgress {
    next: u64,
    counts: TortureCounts,
    classes: BTreeMap<String, ViolationClass>,
    reported_millions: u64,
}

/// The result: a summary, and the violations.
pub struct TortureReport {
    pub summary: String,
    pub violations: Option<String>,
}

/// Tortures stores until there were enough cuts.
pub fn torture(options: &TortureOptions) -> TortureReport {
    let start = Instant::now();
    let progress = Mutex::new(TortureProgress::default());
    std::thread::scope(|scope| {
        for _ in 0..options.threads {
            scope.spawn(|| work(options, &progress, start));
        }
    });
    let progress = progress.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let seconds = start.elapsed().as_secs_f64();
    let violations = (!progress.classes.is_empty()).then(|| {
        progress
            .classes
            .values()
            .map(|class| describe(options, class))
            .collect::<Vec<_>>()
            .join("\n")
    });
    TortureReport { summary: summary(&progress.counts, seconds), violations }
}

fn work(options: &TortureOptions, progress: &Mutex<TortureProgress>, start: Instant) {
    loop {
        let seed = {
            let Ok(mut progress) = progress.lock() else { return };
            let enough = progress.next >= options.stores
                || progress.counts.cuts >= options.cuts
                || (!progress.classes.is_empty() && !options.keep_going);
            if enough {
                return;
            }
            progress.next += 1;
            options.seed + progress.next - 1
        };
        let (counts, violation) = run(seed, options.kinds, options.rounds, false);
        let Ok(mut progress) = progress.lock() else { return };
        progress.counts.join(&counts);
        if let Some(violation) = violation {
            let calls = violation.calls;
            match progress.classes.get_mut(&violation.class) {
                Some(class) => {
                    class.count += 1;
                    if calls < class.shortest.calls {
                        class.shortest = violation;
                    }
                }
                None => {
                    let class = violation.class.clone();
                    if options.verbose {
                        println!("seed {seed}: {class}: {}", violation.message);
                    }
                    progress
                        .classes
                        .insert(class, ViolationClass { count: 1, shortest: violation });
                }
            }
        }
        let millions = progress.counts.cuts / 1_000_000;
        if options.verbose && millions > progress.reported_millions {
            progress.reported_millions = millions;
            let counts = &progress.counts;
            let seconds = start.elapsed().as_secs_f64();
            println!(
                "{millions} million cuts, {} stores, {} mounts, {:.0} cuts a second, \
                 {} violations",
                counts.stores,
                counts.mounts,
                counts.cuts as f64 / seconds,
                progress.classes.values().map(|class| class.count).sum::<u64>()
            );
        }
    }
}

fn describe(options: &TortureOptions, class: &ViolationClass) -> String {
    let violation = &class.shortest;
    let mut out = String::new();
    let kinds = options.kinds.map_or(String::new(), |kinds| format!(" --kinds {}", kinds.list()));
    let rounds = if options.rounds == ROUNDS {
        String::new()
    } else {
        format!(" --rounds {}", options.rounds)
    };
    // Writing to a string does not fail.
    let _ = write!(
        out,
        "VIOLATION, {}, in {} stores. The shortest, after {} cuts and {} calls:\n  {}\n  {}\n  \
         cargo run --release -p flashpager-swap --example torture -- --seed {} --stores 1{kinds}{rounds}\n",
        violation.class,
        class.count,
        violation.cuts,
        violation.calls,
        violation.message,
        violation.plan,
        violation.seed
    );
    if options.lines > 0 {
        let (_, again) = run(violation.seed, options.kinds, options.rounds, true);
        match again {
            Some(again) => {
                let from = again.trace.len().saturating_sub(options.lines);
                for line in &again.trace[from..] {
                    let _ = writeln!(out, "    | {line}");
                }
            }
            None => out.push_str("    (it did not come again)\n"),
        }
    }
    out
}

fn worst(name: &str, worst: &CostliestCall) -> String {
    let operations = worst.operations;
    format!(
        "{name}: {} operations ({} pages read, {} programs, {} erases, {} marks; seed {})\n",
        worst.all,
        operations.reads,
        operations.programs,
        operations.erases,
        operations.marks,
        worst.seed
    )
}

fn summary(counts: &TortureCounts, seconds: f64) -> String {
    let TortureCounts { fault_counts, .. } = counts;
    let mut out = format!(
        "{} cuts, {} mounts, {} of them served in whole, {} calls, {} stores ({} refused, {} worn \
         out), {:.0} s, {:.0} cuts a second\n",
        counts.cuts,
        counts.mounts,
        counts.served,
        counts.calls,
        counts.stores,
        counts.refused,
        counts.worn,
        seconds,
        counts.cuts as f64 / seconds
    );
    let _ = writeln!(
        out,
        "happened: {} torn programs, {} torn erasures, {} unstable pages and {} reads of them, {} \
         program failures, {} erase failures, {} corrected reads, {} transient errors, {} reads in \
         the dark, {} pages lost; {} writes were FULL; {} formats, {} of them cut and {} undone, \
         {} undecided",
        fault_counts.torn_programs,
        fault_counts.torn_erases,
        fault_counts.flaky_pages,
        fault_counts.flaky_reads,
        fault_counts.program_failures,
        fault_counts.erase_failures,
        fault_counts.corrected,
        fault_counts.transient,
        fault_counts.dark_reads,
        fault_counts.unreadable,
        counts.full,
        counts.formats,
        counts.cut_formats,
        counts.undone_formats,
        counts.undecided
    );
    out += &worst("worst write", &counts.worst_write);
    out += &worst("worst write, failures included", &counts.worst_write_failing);
    out += &worst("worst mount after an unmount", &counts.worst_mount);
    out += &worst("worst mount after a cut", &counts.worst_mount_cut);
    out
}
