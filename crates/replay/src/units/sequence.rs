//! The units that a trace visits, one after another.

use std::ops::Range;

use flashpager_base::{Error, Result};
use flashpager_trace::{Mark, Run, Trace, for_marked_runs};
use rustc_hash::FxHashMap;

/// The most visits of a sequence, which takes 4 bytes for each.
const MAX_VISITS: usize = 1 << 28;

/// The most units. A visit has the number of a unit and a bit.
const MAX_UNITS: usize = 1 << 30;

/// The visits of a trace to units.
///
/// A run is cut where a unit begins or ends. A visit begins where execution enters another unit than
/// the one before. Code in no unit is one more unit, behind all others. Data reads are no visits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitSequence {
    /// Twice the number of the unit, plus 1 if the visit begins at the unit's first byte.
    visits: Vec<u32>,
    /// The number of units.
    units: u32,
    /// Bytes executed.
    bytes: u64,
    /// Bytes executed in no unit.
    outside_bytes: u64,
    /// Bytes read as data.
    data_bytes: u64,
}

/// A reference to a unit that is paged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnitReference {
    pub(super) unit: u32,
    /// True if it begins at the unit's first byte.
    pub(super) is_call: bool,
}

/// The bytes of units in the image, ascending, without overlaps.
struct UnitRanges<'a>(&'a [Range<u64>]);

impl UnitRanges<'_> {
    /// The unit of the byte at `offset` and the offset at which the piece ends that begins there.
    fn piece(&self, offset: u64) -> (usize, u64) {
        let Self(ranges) = self;
        let behind = ranges.partition_point(|range| range.start <= offset);
        if let Some(unit) = behind.checked_sub(1).filter(|unit| offset < ranges[*unit].end) {
            return (unit, ranges[unit].end);
        }
        (ranges.len(), ranges.get(behind).map_or(u64::MAX, |range| range.start))
    }

    /// The visits of a run, each with the bytes that it executes.
    fn visits(&self, run: Run) -> Vec<(u32, u32)> {
        let (mut at, mut visits) = (u64::from(run.offset), Vec::new());
        while at < run.end() {
            let (unit, end) = self.piece(at);
            let is_call = self.0.get(unit).is_some_and(|range| range.start == at);
            let end = end.min(run.end());
            visits.push((2 * unit as u32 + u32::from(is_call), (end - at) as u32));
            at = end;
        }
        visits
    }
}

impl UnitSequence {
    /// The visits of `trace` to the units in `ranges` of its image.
    ///
    /// # Errors
    /// Ranges that overlap or do not ascend, too many visits, and a trace that cannot be read.
    pub fn of(
        trace: &dyn Trace,
        ranges: &[Range<u64>],
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Self> {
        let is_sorted = ranges.windows(2).all(|two| two[0].end <= two[1].start);
        if !is_sorted || ranges.iter().any(Range::is_empty) || ranges.len() > MAX_UNITS {
            return Err(Error::design("units of code ascend, do not overlap, and have bytes"));
        }
        let units = ranges.len() as u32;
        let mut sequence =
            Self { visits: Vec::new(), units, bytes: 0, outside_bytes: 0, data_bytes: 0 };
        let ranges = UnitRanges(ranges);
        let mut known: FxHashMap<Run, Vec<(u32, u32)>> = FxHashMap::default();
        for_marked_runs(trace, should_continue, |run, mark| {
            if mark == Mark::Read {
                sequence.data_bytes += u64::from(run.length);
                return Ok(());
            }
            known.entry(run).or_insert_with(|| ranges.visits(run)).iter().try_for_each(
                |(visit, bytes)| {
                    sequence.bytes += u64::from(*bytes);
                    sequence.push(*visit, *bytes)
                },
            )
        })?;
        Ok(sequence)
    }

    #[inline]
    fn push(&mut self, visit: u32, bytes: u32) -> Result<()> {
        if visit >> 1 == self.units {
            self.outside_bytes += u64::from(bytes);
        }
        if self.visits.last().is_some_and(|last| last >> 1 == visit >> 1) {
            return Ok(());
        }
        if self.visits.len() >= MAX_VISITS {
            return Err(Error::design(format!(
                "the trace enters functions over {MAX_VISITS} times: record a part of it"
            )));
        }
        self.visits.push(visit);
        Ok(())
    }

    /// The number of units, without the code in no unit.
    pub fn units(&self) -> usize {
        self.units as usize
    }

    /// Bytes executed.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes executed in no unit.
    pub fn outside_bytes(&self) -> u64 {
        self.outside_bytes
    }

    /// Bytes read as data.
    pub fn data_bytes(&self) -> u64 {
        self.data_bytes
    }

    /// The number of visits to each unit, and behind them to code in no unit.
    pub fn visits(&self) -> Vec<u64> {
        let mut visits = vec![0; self.units() + 1];
        self.visits.iter().for_each(|visit| visits[(visit >> 1) as usize] += 1);
        visits
    }

    /// The references to units that are not `resident`, and the number of returns from one of them
    /// to resident code.
    pub(super) fn references(&self, resident: &[bool]) -> (Vec<UnitReference>, u64) {
        let is_resident = |unit: u32| resident.get(unit as usize).is_none_or(|resident| *resident);
        let (mut references, mut resident_returns) = (Vec::new(), 0);
        let mut last_paged = None;
        let mut was_paged = false;
        for visit in &self.visits {
            let (unit, is_call) = (visit >> 1, visit & 1 == 1);
            let is_paged = !is_resident(unit);
            if !is_paged {
                resident_returns += u64::from(was_paged && !is_call);
            } else if is_call || last_paged != Some(unit) {
                references.push(UnitReference { unit, is_call });
                last_paged = Some(unit);
            }
            was_paged = is_paged;
        }
        (references, resident_returns)
    }
}
