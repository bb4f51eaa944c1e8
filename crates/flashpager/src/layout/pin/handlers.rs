//! Interrupt handlers, which a trace does not mark.

use flashpager_trace::{Run, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::traces::LoadedTrace;
use super::functions::FunctionStarts;

/// Minimum number of different instructions after which a handler was entered. An interrupt can
/// come after any instruction, but a conditional call or jump comes after one alone.
const MIN_INTERRUPTED: usize = 2;

/// Functions of a trace that look like interrupt handlers: they were entered after several
/// different instructions that at other times just went on, and execution came back there.
///
/// After a jump at the end of a function, execution does not come back. After a conditional call it
/// does: one such call makes no handler, several in one function can.
pub(super) struct InterruptHandlers {
    /// First bytes of the functions.
    entries: FxHashSet<u32>,
}

/// Jumps from one function to another.
#[derive(Default)]
struct OuterJumps {
    /// Functions entered after an instruction, by the byte behind it.
    entered: FxHashMap<u64, FxHashSet<u32>>,
    /// Bytes inside of functions where execution went on.
    resumed: FxHashSet<u64>,
}

impl InterruptHandlers {
    /// The handlers of a trace.
    pub(super) fn of(trace: &LoadedTrace) -> Self {
        let starts = FunctionStarts::of(&trace.info);
        Self::among(trace.training.in_memory().unwrap_or_default(), &starts)
    }

    fn among(runs: &[Run], starts: &FunctionStarts) -> Self {
        let jumps = OuterJumps::of(runs, starts);
        let mut interrupted: Vec<u64> =
            jumps.entered.keys().copied().filter(|at| jumps.resumed.contains(at)).collect();
        interrupted.sort_unstable();
        let mut instructions: FxHashMap<u32, usize> = FxHashMap::default();
        for at in passed(runs, &interrupted) {
            for function in jumps.entered.get(&at).into_iter().flatten() {
                *instructions.entry(*function).or_default() += 1;
            }
        }
        instructions.retain(|_, count| *count >= MIN_INTERRUPTED);
        Self { entries: instructions.into_keys().collect() }
    }

    /// Returns true if the function that begins at `entry` is a handler.
    pub(super) fn contains(&self, entry: u32) -> bool {
        self.entries.contains(&entry)
    }
}

impl OuterJumps {
    fn of(runs: &[Run], starts: &FunctionStarts) -> Self {
        let mut jumps = Self::default();
        // Each different jump is examined once, as most of them recur.
        let mut seen: FxHashSet<(u64, u32)> = FxHashSet::default();
        for (before, run) in runs.iter().zip(runs.iter().skip(1)) {
            let (behind, to) = (before.end(), run.offset);
            if behind == u64::from(to) || !seen.insert((behind, to)) {
                continue;
            }
            if starts.owner(before.last()) == starts.owner(to) {
                continue;
            }
            if starts.contains(to) {
                jumps.entered.entry(behind).or_default().insert(to);
            } else {
                jumps.resumed.insert(to.into());
            }
        }
        jumps
    }
}

/// The bytes of `at`, ascending, that lie inside of a run, where execution went on.
fn passed(runs: &[Run], at: &[u64]) -> FxHashSet<u64> {
    let mut passed: FxHashSet<u64> = FxHashSet::default();
    let mut seen: FxHashSet<Run> = FxHashSet::default();
    for run in runs.iter().filter(|run| seen.insert(**run)) {
        let first = at.partition_point(|at| *at <= u64::from(run.offset));
        passed.extend(at[first..].iter().take_while(|at| **at < run.end()));
    }
    passed
}
