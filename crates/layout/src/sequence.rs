//! A trace as a sequence of pieces of units, which is the same in every layout.

use flashpager_base::{Error, Result};
use flashpager_trace::{Mark, Run, Trace, for_marked_runs};
use rustc_hash::FxHashMap;

use crate::units::Units;

/// Bytes of a unit fetched one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// The unit's number.
    pub unit: u32,
    /// Offset of the first byte in the unit.
    pub start: u32,
    /// Number of bytes, at least 1.
    pub bytes: u32,
}

/// The runs of a trace, cut at the borders of units.
#[derive(Clone, Debug, Default)]
pub struct PieceSequence {
    /// The distinct pieces.
    pub pieces: Vec<Piece>,
    /// Numbers of the executed pieces, in order.
    pub executed: Vec<u32>,
    /// Bytes fetched. Those of resident units count, although they have no pieces.
    pub bytes: u64,
    /// Number of distinct data reads that end beyond the unit that they belong to ([`Units::read`]).
    pub reads_beyond: usize,
}

impl PieceSequence {
    /// Makes the sequence of `trace`, which was recorded in the image of `units`. `should_continue`
    /// is that of [`for_runs`].
    ///
    /// # Errors
    /// Errors of reading, and code that belongs to no unit.
    pub fn of(
        units: &Units,
        trace: &dyn Trace,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Self> {
        let mut sequence = Self::default();
        let mut numbers: FxHashMap<Piece, u32> = FxHashMap::default();
        // The pieces of each distinct run.
        let mut known: FxHashMap<(Run, bool), Vec<u32>> = FxHashMap::default();
        for_marked_runs(trace, should_continue, |run, mark| {
            sequence.bytes += u64::from(run.length);
            let is_read = mark == Mark::Read;
            if let Some(pieces) = known.get(&(run, is_read)) {
                sequence.executed.extend_from_slice(pieces);
                return Ok(());
            }
            let mut pieces = Vec::new();
            for_parts(units, run, is_read, |number, part| {
                if units.is_resident(number) {
                    return;
                }
                let is_beyond = is_read && units.is_read_beyond(number, part);
                sequence.reads_beyond += usize::from(is_beyond);
                let start = part.offset - units.all()[number].offset;
                let piece = Piece { unit: number as u32, start, bytes: part.length };
                let new_number = sequence.pieces.len() as u32;
                let piece_number = *numbers.entry(piece).or_insert_with(|| {
                    sequence.pieces.push(piece);
                    new_number
                });
                pieces.push(piece_number);
            })?;
            sequence.executed.extend_from_slice(&pieces);
            known.insert((run, is_read), pieces);
            Ok(())
        })?;
        Ok(sequence)
    }

    /// Returns the sequence without the resident units of `units`, which must have the same image.
    pub fn without_resident(&self, units: &Units) -> Self {
        let stays =
            |number: &&u32| !units.is_resident(self.pieces[**number as usize].unit as usize);
        Self {
            pieces: self.pieces.clone(),
            executed: self.executed.iter().filter(stays).copied().collect(),
            bytes: self.bytes,
            reads_beyond: self.reads_beyond,
        }
    }

    /// Returns the executed pieces, in order.
    pub fn iter(&self) -> impl Iterator<Item = Piece> {
        self.executed.iter().map(|number| self.pieces[*number as usize])
    }
}

/// Passes the parts of a run that lie in different units to `take`, each with the number of its unit.
/// A data read has one.
///
/// # Errors
/// Code that belongs to no unit, and data that lies before all units.
pub(crate) fn for_parts(
    units: &Units,
    run: Run,
    is_read: bool,
    mut take: impl FnMut(usize, Run),
) -> Result<()> {
    let unknown = |at: u32| {
        let kind = if is_read { "data" } else { "code" };
        Error::design(format!("the {kind} at {at:#x} belongs to no unit"))
    };
    if is_read {
        let (number, part) = units.read(run).ok_or_else(|| unknown(run.offset))?;
        take(number, part);
        return Ok(());
    }
    let mut next = u64::from(run.offset);
    while next < run.end() {
        let at = next as u32;
        let number = units.owner(at).ok_or_else(|| unknown(at))?;
        let end = units.all()[number].end().min(run.end());
        take(number, Run { offset: at, length: (end - next) as u32 });
        next = end;
    }
    Ok(())
}
