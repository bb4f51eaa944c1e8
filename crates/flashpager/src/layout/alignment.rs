//! Alignments of units, inferred from where a linker has put them.
//!
//! A linker puts each unit at the next multiple of its alignment. Padding before a unit shows a least
//! alignment, its address a largest one. Where both differ, units of the same kind decide: those
//! before which padding would have been needed show whether the kind is aligned so far.

use flashpager_layout::Unit;
use rustc_hash::FxHashMap;

/// The largest alignment that is inferred; a larger one is chance.
const MAX_ALIGN: u32 = 16;
/// Share of the offsets that must be multiples of an alignment for it to be that of all units, if
/// no padding is visible.
const USUAL: f64 = 0.9;

/// A kind of units that compilers align alike: whether there is data among the code, if that is
/// known, and otherwise whether the length is a multiple of a word, as it is with data at the end.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct UnitKind {
    has_data: Option<bool>,
    is_whole_words: bool,
}

impl UnitKind {
    fn of(unit: &Unit, data: Option<&[u32]>) -> Self {
        let has_data = data.map(|offsets| {
            let at = offsets.partition_point(|offset| *offset < unit.offset);
            offsets.get(at).is_some_and(|offset| u64::from(*offset) < unit.end())
        });
        Self { has_data, is_whole_words: has_data.is_none() && unit.bytes.is_multiple_of(4) }
    }
}

/// Units before which padding would show an alignment, and those that have it.
#[derive(Clone, Copy, Default)]
struct Evidence {
    shown: u32,
    aligned: u32,
}

impl Evidence {
    fn is_aligned(self) -> bool {
        2 * self.aligned > self.shown
    }

    fn is_always(self) -> bool {
        self.shown > 0 && self.aligned == self.shown
    }

    fn is_never(self) -> bool {
        self.shown > 0 && self.aligned == 0
    }
}

/// Bytes between `end` and `unit`; [`MAX_ALIGN`] stands for that many or more.
fn padding(unit: &Unit, end: u64) -> u32 {
    u64::from(unit.offset).saturating_sub(end).min(MAX_ALIGN.into()) as u32
}

/// The least and the largest alignment that a unit can have.
fn range(unit: &Unit, end_before: Option<u64>) -> (u32, u32) {
    let largest = 1 << unit.offset.trailing_zeros().min(MAX_ALIGN.trailing_zeros());
    let padding = end_before.map_or(0, |end| padding(unit, end));
    let least = if padding < MAX_ALIGN { (padding + 1).next_power_of_two() } else { 1 };
    (least.min(largest), largest)
}

/// Sets the alignments of `units`, sorted by offset. `data` has the offsets of data among the code,
/// if they are known. Returns the number of units whose alignment is not certain.
pub(super) fn infer(units: &mut [Unit], data: Option<&[u32]>) -> usize {
    let is_padded = |two: &[Unit]| (1..MAX_ALIGN).contains(&padding(&two[1], two[0].end()));
    if !units.windows(2).any(is_padded) {
        return infer_without_padding(units);
    }
    let mut evidence: FxHashMap<(UnitKind, u32), Evidence> = FxHashMap::default();
    for number in 1..units.len() {
        let (unit, end) = (&units[number], units[number - 1].end());
        if padding(unit, end) >= MAX_ALIGN {
            continue;
        }
        for align in [2, 4, 8, 16] {
            if end.next_multiple_of(u64::from(align / 2)).is_multiple_of(align.into()) {
                continue;
            }
            let known = evidence.entry((UnitKind::of(unit, data), align)).or_default();
            known.shown += 1;
            known.aligned += u32::from(unit.offset.is_multiple_of(align));
        }
    }
    // All units are multiples of an instruction.
    let bits = units.iter().fold(MAX_ALIGN, |bits, unit| bits | unit.offset | unit.end() as u32);
    let instruction = 1 << bits.trailing_zeros();
    let mut uncertain = 0;
    let mut end = None;
    for unit in units {
        let kind = UnitKind::of(unit, data);
        let (least, largest) = range(unit, end);
        let least = least.max(instruction);
        let known = |align: u32| evidence.get(&(kind, align)).copied().unwrap_or_default();
        let is_larger = |one: &u32| (least + 1..=largest).contains(one);
        let larger: Vec<u32> = [2, 4, 8, 16].into_iter().filter(is_larger).collect();
        let aligned = larger.iter().rfind(|one| known(**one).is_aligned());
        unit.align = aligned.copied().unwrap_or(least);
        // A kind that is certainly not aligned so far is not aligned farther, either.
        let open = larger.iter().find(|one| !known(**one).is_always());
        uncertain += usize::from(open.is_some_and(|one| !known(*one).is_never()));
        end = Some(unit.end());
    }
    uncertain
}

/// Sets the alignments of units whose lengths reach to the next one, padding included: the largest one
/// that most of them have.
fn infer_without_padding(units: &mut [Unit]) -> usize {
    let offsets: Vec<u32> = units.iter().skip(1).map(|unit| unit.offset).collect();
    let keeps = |align: &u32| {
        let kept = offsets.iter().filter(|offset| offset.is_multiple_of(*align)).count();
        !offsets.is_empty() && kept as f64 >= USUAL * offsets.len() as f64
    };
    let usual = [16, 8, 4, 2].into_iter().find(keeps).unwrap_or(1);
    for unit in units.iter_mut() {
        unit.align = usual.min(range(unit, None).1);
    }
    units.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn linked(sizes: &[(u32, u32)]) -> Vec<Unit> {
        let mut at = 0u32;
        let unit = |(number, (bytes, align)): (usize, &(u32, u32))| {
            let offset = at.next_multiple_of(*align);
            at = offset + bytes;
            Unit { name: number.to_string(), offset, bytes: *bytes, align: 1, fixed: false }
        };
        sizes.iter().enumerate().map(unit).collect()
    }

    proptest! {
        /// Inferred alignments put the units where they lie, and functions with and without literals
        /// get theirs to the bit.
        #[test]
        fn thumb_code_is_aligned_as_it_was_linked(
            sizes in prop::collection::vec((1u32..60, any::<bool>()), 2..80),
        ) {
            // GCC with -Os: functions with a literal pool are aligned to 4 bytes, others to 2.
            let sizes: Vec<(u32, u32)> = sizes
                .into_iter()
                .map(|(halves, has_data)| if has_data { (4 * halves, 4) } else { (2 * halves, 2) })
                .collect();
            let mut units = linked(&sizes);
            let data: Vec<u32> = units
                .iter()
                .zip(&sizes)
                .filter(|(_, (_, align))| *align == 4)
                .map(|(unit, _)| (unit.end() - 4) as u32)
                .collect();
            let uncertain = infer(&mut units, Some(&data));
            let mut at = 0u32;
            for (unit, (bytes, _)) in units.iter().zip(&sizes) {
                prop_assert_eq!(at.next_multiple_of(unit.align), unit.offset);
                at = unit.offset + bytes;
            }
            if uncertain == 0 {
                for (unit, (_, align)) in units.iter().zip(&sizes).skip(1) {
                    prop_assert_eq!(unit.align, *align);
                }
            }
        }
    }

    #[test]
    fn padding_proves_an_alignment() {
        // By hand: 2 and 4 bytes, the one of 4 bytes once behind padding.
        let sizes = [(8, 4), (6, 2), (2, 2), (6, 2), (8, 4), (4, 2), (6, 2)];
        let mut units = linked(&sizes);
        infer(&mut units, Some(&[4, 28]));
        let aligns: Vec<u32> = units.iter().skip(1).map(|unit| unit.align).collect();
        assert_eq!(aligns, [2, 2, 2, 4, 2, 2]);
    }
}
