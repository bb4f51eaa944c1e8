//! Gaps: places of a trace at which executed code is missing. They part it into windows.

use std::ops::Range;

use flashpager_base::{Error, Result, named};
use serde::{Deserialize, Serialize};

/// Largest number of gaps of a trace. It bounds the size of its description.
pub const MAX_GAPS: usize = 1 << 19;

/// The reason of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GapReason {
    /// The buffer of the recorder or of the trace port was full.
    BufferFull,
    /// Packets or records were lost on their way.
    LostPackets,
    /// Execution arrived where nothing before it leads.
    Discontinuity,
    /// The code that ran there is not the placed code.
    OtherCode,
    /// The user, or a filter of the trace port, left a part out.
    Cut,
}

named! {
    GapReason: "unknown reason of a gap",
    "buffer-full" => BufferFull,
    "lost-packets" => LostPackets,
    "discontinuity" => Discontinuity,
    "other-code" => OtherCode,
    "cut" => Cut,
}

impl GapReason {
    /// Returns the reason with this number of the recorder stream.
    pub fn numbered(number: u32) -> Option<Self> {
        Self::ALL.get(number.checked_sub(1)? as usize).map(|(_, reason)| *reason)
    }
}

/// A gap of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Gap {
    /// Number of runs before the gap.
    pub run: u64,
    /// The reason.
    pub reason: GapReason,
    /// Instructions that are missing; absent if nobody counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<u64>,
}

/// Gaps that are collected while a trace is written. Several without a run between them are one,
/// with the reason of the first.
#[derive(Default)]
pub(crate) struct GapList {
    gaps: Vec<Gap>,
}

impl GapList {
    /// Adds a gap behind `run` runs.
    ///
    /// # Errors
    /// If there are too many gaps, in words.
    pub fn add(&mut self, gap: Gap) -> std::result::Result<(), String> {
        if let Some(last) = self.gaps.last_mut().filter(|last| last.run == gap.run) {
            last.instructions = last
                .instructions
                .zip(gap.instructions)
                .map(|(one, other)| one.saturating_add(other));
            return Ok(());
        }
        if self.gaps.len() == MAX_GAPS {
            return Err(format!(
                "over {MAX_GAPS} gaps: capture fewer and longer windows, or import in parts"
            ));
        }
        self.gaps.push(gap);
        Ok(())
    }

    /// Returns the gaps of a trace of `runs` runs, and the gap behind its last run, which parts
    /// nothing.
    pub fn finish(mut self, runs: u64) -> (Vec<Gap>, Option<Gap>) {
        let last = self.gaps.pop_if(|gap| gap.run >= runs);
        (self.gaps, last)
    }
}

/// Returns true if a trace of `runs` runs can have these gaps.
pub(crate) fn are_possible(gaps: &[Gap], runs: u64) -> bool {
    gaps.len() <= MAX_GAPS
        && gaps.windows(2).all(|pair| pair[0].run < pair[1].run)
        && gaps.last().is_none_or(|gap| gap.run < runs)
}

/// Returns the windows between `gaps`, as ranges of numbers of runs.
pub fn windows(gaps: &[Gap], runs: u64) -> impl Iterator<Item = Range<u64>> + '_ {
    let inner = gaps.iter().map(|gap| gap.run).filter(|run| *run > 0);
    let starts = std::iter::once(0).chain(inner.clone());
    starts.zip(inner.chain(std::iter::once(runs))).map(|(start, end)| start..end)
}

/// Refuses a trace with gaps for a reader that needs all that ran. `place` is its file.
///
/// # Errors
/// If there are gaps.
pub fn refuse_gaps(place: &str, gaps: &[Gap]) -> Result<()> {
    let Some(first) = gaps.first() else { return Ok(()) };
    let are = if gaps.len() == 1 { "gap" } else { "gaps" };
    Err(Error::data(
        place,
        format!(
            "is as captured, with {} {are} (the first: {}): what is missing could change this \
             answer; 'flashpager simulate' and 'flashpager trace info' take it window by window",
            gaps.len(),
            first.reason.name()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(run: u64) -> Gap {
        Gap { run, reason: GapReason::Cut, instructions: None }
    }

    #[test]
    fn windows_lie_between_gaps() {
        let all = |gaps: &[Gap], runs| windows(gaps, runs).collect::<Vec<_>>();
        assert_eq!(all(&[], 9), std::iter::once(0..9).collect::<Vec<_>>());
        assert_eq!(all(&[gap(4)], 9), [0..4, 4..9]);
        assert_eq!(all(&[gap(0), gap(8)], 9), [0..8, 8..9]);
    }

    #[test]
    fn gaps_without_runs_between_them_are_one() {
        let mut list = GapList::default();
        let counted = |run, reason, instructions| Gap { run, reason, instructions };
        for gap in [
            counted(0, GapReason::BufferFull, Some(3)),
            counted(5, GapReason::LostPackets, Some(1)),
            counted(5, GapReason::Cut, Some(2)),
            counted(9, GapReason::Cut, None),
        ] {
            list.add(gap).expect("few gaps");
        }
        let (gaps, behind) = list.finish(9);
        assert_eq!(gaps[0], counted(0, GapReason::BufferFull, Some(3)));
        assert_eq!(gaps[1], counted(5, GapReason::LostPackets, Some(3)));
        assert_eq!(gaps.len(), 2);
        assert_eq!(behind, Some(counted(9, GapReason::Cut, None)));
    }

    #[test]
    fn impossible_gaps_are_found() {
        assert!(are_possible(&[gap(0), gap(3)], 4));
        assert!(!are_possible(&[gap(3), gap(3)], 4));
        assert!(!are_possible(&[gap(4)], 4));
    }
}
