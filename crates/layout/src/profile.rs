//! Profiles, from which orders are made without a replay: heat, calls and transitions.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::sequence::PieceSequence;
use crate::units::Units;

/// Weighted sums over sequences.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Bytes fetched, by unit.
    pub bytes: Vec<f64>,
    /// Number of times that a unit was entered from another one at its first byte, by unit.
    pub calls: Vec<f64>,
    /// Number of times that a unit was entered from another one, returns included, by unit.
    pub entries: Vec<f64>,
    /// Calls by (caller, callee): transitions to the first byte of another unit.
    pub called: FxHashMap<(u32, u32), f64>,
    /// Transitions of any kind between two units, the smaller number first.
    pub transitions: FxHashMap<(u32, u32), f64>,
}

impl Profile {
    /// Profiles sequences in the image of `units`, each with its weight.
    pub fn of<'a>(
        units: &Units,
        sequences: impl IntoIterator<Item = (&'a PieceSequence, f64)>,
    ) -> Self {
        let none = vec![0.0; units.all().len()];
        let mut profile = Self {
            bytes: none.clone(),
            calls: none.clone(),
            entries: none,
            called: FxHashMap::default(),
            transitions: FxHashMap::default(),
        };
        for (sequence, weight) in sequences {
            // There are far fewer distinct pairs of pieces than transitions.
            let mut pairs: FxHashMap<(u32, u32), u64> = FxHashMap::default();
            let mut before = None;
            for &piece in &sequence.executed {
                let Some(before) = before.replace(piece) else { continue };
                *pairs.entry((before, piece)).or_default() += 1;
            }
            let mut executed = vec![0u64; sequence.pieces.len()];
            sequence.executed.iter().for_each(|piece| executed[*piece as usize] += 1);
            for (piece, times) in sequence.pieces.iter().zip(executed) {
                let bytes = times as f64 * f64::from(piece.bytes);
                profile.bytes[piece.unit as usize] += weight * bytes;
            }
            let mut pairs: Vec<_> = pairs.into_iter().collect();
            // Floating-point sums depend on the order of their terms.
            pairs.sort_unstable();
            for ((before, after), times) in pairs {
                let (before, after) =
                    (sequence.pieces[before as usize], sequence.pieces[after as usize]);
                let (from, to) = (before.unit, after.unit);
                if from == to {
                    continue;
                }
                let times = weight * times as f64;
                profile.entries[to as usize] += times;
                *profile.transitions.entry((from.min(to), from.max(to))).or_default() += times;
                if after.start == 0 {
                    profile.calls[to as usize] += times;
                    *profile.called.entry((from, to)).or_default() += times;
                }
            }
        }
        profile
    }

    /// Returns the movable units of which something is executed, as they lie in the image.
    pub fn executed(&self, units: &Units) -> Vec<u32> {
        let hot = units.movable().iter().copied();
        hot.filter(|unit| self.bytes[*unit as usize] > 0.0).collect()
    }

    /// Returns the movable units of which nothing is executed.
    pub fn idle(&self, units: &Units) -> Vec<u32> {
        let idle = units.movable().iter().copied();
        idle.filter(|unit| self.bytes[*unit as usize] <= 0.0).collect()
    }
}

/// Returns the units in each window of `pieces` pieces of a sequence, each once and ascending. Equal
/// adjoining windows count once.
pub fn windows(sequence: &PieceSequence, pieces: usize) -> Vec<Vec<u32>> {
    let mut windows: Vec<Vec<u32>> = Vec::new();
    for window in sequence.executed.chunks(pieces.max(1)) {
        let units = window.iter().map(|piece| sequence.pieces[*piece as usize].unit);
        let mut units: Vec<u32> = units.collect::<FxHashSet<u32>>().into_iter().collect();
        units.sort_unstable();
        if windows.last() != Some(&units) {
            windows.push(units);
        }
    }
    windows
}

/// Sorts units by descending `key`. Equal units keep their order.
pub(crate) fn sorted_by(mut units: Vec<u32>, key: impl Fn(u32) -> f64) -> Vec<u32> {
    units.sort_by(|a, b| key(*b).total_cmp(&key(*a)));
    units
}
