//! Placing: the new offsets of units, and of the runs of a trace.

use flashpager_base::{Error, Result};
use flashpager_trace::{
    MAX_IMAGE_BYTES, Mark, MemoryTrace, Relocation, Relocations, Run, RunBuilder, Trace,
    for_marked_runs,
};

use crate::order::Order;
use crate::sequence::for_parts;
use crate::units::{Room, Unit, Units};

/// The layout of an image: the place of each unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitPlacement {
    /// The new offset of each unit, by its number.
    pub offsets: Vec<u32>,
    /// Size of the image in bytes. It is at least that of the recorded image if a unit stays at its
    /// end.
    pub image_bytes: u64,
    /// Bytes between units, for alignment or before units that stay.
    pub gap_bytes: u32,
}

/// Lays the movable units out in `order` from [`Units::start`] on, and the followers behind them. Each
/// lies at the next multiple of its alignment, or behind a unit that stays if it would overlap with
/// that.
///
/// # Errors
/// An image beyond 4 GiB.
pub fn place(units: &Units, order: &Order) -> Result<UnitPlacement> {
    place_parts(units, order.numbers().iter().map(unit_part(units)), "laid out anew")
}

/// Lays the units out as [`place`] does, with code that the recorded image does not have. It lies behind
/// the movable units and behind [the last other unit of code](Units::with_last_code). Returns its
/// offset, too.
///
/// # Errors
/// An image beyond 4 GiB.
pub fn place_with_code(
    units: &Units,
    order: &Order,
    bytes: u32,
    align: u32,
) -> Result<(UnitPlacement, u32)> {
    let added = PlacedPart { unit: None, bytes, align, room: Room::default() };
    let movable = order.numbers().iter().map(unit_part(units));
    let followers = units.followers().iter().map(unit_part(units));
    let last_code = units.last_code();
    let last_follower = units.followers().iter().position(|number| Some(*number) == last_code);
    let mut added_at = units.start();
    let mut take_offset = |offset| added_at = offset;
    let placement = if let Some(last) = last_follower {
        let followers =
            followers.clone().take(last + 1).chain([added]).chain(followers.skip(last + 1));
        placed(units, (movable, followers), "laid out anew", &mut take_offset)?
    } else {
        let end = last_code.map_or(0, |number| units.all()[number as usize].end());
        let from = u32::try_from(end).unwrap_or(u32::MAX);
        let added = PlacedPart { room: Room { from, ..added.room }, ..added };
        placed(units, (movable.chain([added]), followers), "laid out anew", &mut take_offset)?
    };
    Ok((placement, added_at))
}

/// Places parts as [`lay_out_parts`] does. `how` begins the error.
///
/// # Errors
/// An image beyond 4 GiB.
pub(crate) fn place_parts(
    units: &Units,
    parts: impl Iterator<Item = PlacedPart>,
    how: &str,
) -> Result<UnitPlacement> {
    let followers = units.followers().iter().map(unit_part(units));
    placed(units, (parts, followers), how, &mut |_| ())
}

/// Places parts, and then the followers, as [`lay_out_parts`] does. `added` takes the offset of each
/// part that is no unit.
fn placed(
    units: &Units,
    parts: (impl Iterator<Item = PlacedPart>, impl Iterator<Item = PlacedPart>),
    how: &str,
    added: &mut dyn FnMut(u32),
) -> Result<UnitPlacement> {
    let mut offsets: Vec<u32> = units.all().iter().map(|unit| unit.offset).collect();
    let (image_bytes, gap_bytes) = lay_out_parts(units, parts, &mut offsets, added);
    if image_bytes > MAX_IMAGE_BYTES {
        return Err(Error::design(format!("{how}, the image would reach beyond 4 GiB")));
    }
    Ok(UnitPlacement { offsets, image_bytes, gap_bytes: gap_bytes as u32 })
}

/// A part of an image that is placed: a unit, or code that the recorded image does not have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedPart {
    /// Number of the unit.
    pub unit: Option<u32>,
    /// Length in bytes.
    pub bytes: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// The free bytes around it.
    pub room: Room,
}

/// Places the units with these numbers one behind another, and the followers behind them. Returns the
/// end of the image, and the number of bytes between units. A unit that would reach beyond 4 GiB is
/// placed at their end.
pub(crate) fn lay_out<'a>(
    units: &Units,
    numbers: impl Iterator<Item = &'a u32>,
    offsets: &mut [u32],
) -> (u64, u64) {
    let followers = units.followers().iter().map(unit_part(units));
    lay_out_parts(units, (numbers.map(unit_part(units)), followers), offsets, &mut |_| ())
}

/// Returns the function that makes the part of a unit.
fn unit_part(units: &Units) -> impl Fn(&u32) -> PlacedPart + Clone {
    move |number: &u32| {
        let Unit { bytes, align, .. } = units.all()[*number as usize];
        PlacedPart { unit: Some(*number), bytes, align, room: units.room(*number) }
    }
}

/// Places parts and then those of the followers one behind another, around the units that stay. Writes
/// the offsets of those that are units, and passes the others' to `added`; returns the end of the image,
/// and the number of bytes between parts.
fn lay_out_parts(
    units: &Units,
    (parts, followers): (impl Iterator<Item = PlacedPart>, impl Iterator<Item = PlacedPart>),
    offsets: &mut [u32],
    added: &mut dyn FnMut(u32),
) -> (u64, u64) {
    let all = units.all();
    let mut fixed = units.fixed().iter().map(|number| &all[*number as usize]).peekable();
    let (mut at, mut gaps) = (u64::from(units.start()), 0);
    // The offset from which on the next part may lie.
    let mut least = at;
    let followers = followers.enumerate().map(|(place, part)| (place == 0, part));
    for (is_first_follower, part) in parts.map(|part| (false, part)).chain(followers) {
        if is_first_follower {
            let reserved = at + u64::from(units.reserve_bytes());
            least = least.max(reserved).max(units.followers_from().into());
        }
        let (bytes, align) = (u64::from(part.bytes), u64::from(part.align));
        let mut free = at;
        let mut offset = at.max(least).max(part.room.from.into()).next_multiple_of(align);
        while let Some(next) = fixed.peek().filter(|next| u64::from(next.offset) < offset + bytes) {
            let end = next.end();
            if end > free {
                gaps += u64::from(next.offset).saturating_sub(free);
                free = end;
                offset = offset.max(end.next_multiple_of(align));
            }
            fixed.next();
        }
        gaps += offset - free;
        at = offset + bytes;
        least = at + u64::from(part.room.slack_bytes);
        let offset = offset.min(MAX_IMAGE_BYTES - bytes) as u32;
        match part.unit {
            Some(number) => offsets[number as usize] = offset,
            None => added(offset),
        }
    }
    let last = units.fixed().last().map_or(0, |number| all[*number as usize].end());
    (at.max(last), gaps)
}

impl UnitPlacement {
    /// The layout of the recorded image.
    pub fn recorded(units: &Units) -> Self {
        Self {
            offsets: units.all().iter().map(|unit| unit.offset).collect(),
            image_bytes: units.image_bytes(),
            gap_bytes: 0,
        }
    }

    /// Returns the relocations of the bytes of the recorded image. Those of resident units are not
    /// placed.
    pub fn relocations(&self, units: &Units) -> Relocations {
        let one = |(number, (unit, to)): (usize, (&Unit, &u32))| Relocation {
            from: unit.offset,
            bytes: unit.bytes,
            to: (!units.is_resident(number)).then_some(*to),
        };
        Relocations::new(units.all().iter().zip(&self.offsets).enumerate().map(one).collect())
    }

    /// Returns the trace of the same execution in the new image, without resident code.
    /// `should_continue` is that of [`for_runs`].
    ///
    /// # Errors
    /// Errors of reading, and code that belongs to no unit.
    pub fn remap(
        &self,
        units: &Units,
        trace: &dyn Trace,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<MemoryTrace> {
        let mut runs = Vec::new();
        for_marked_runs(trace, should_continue, |run, mark| {
            self.remap_run(units, run, mark, &mut runs)
        })?;
        let image_bytes = self.image_bytes_with(&runs);
        Ok(MemoryTrace::with_image(runs, image_bytes))
    }

    /// Appends the runs in the new image that execute or read what `run` does in the recorded one,
    /// without resident code.
    ///
    /// # Errors
    /// Code that belongs to no unit.
    pub fn remap_run(
        &self,
        units: &Units,
        run: Run,
        mark: Mark,
        runs: &mut Vec<Run>,
    ) -> Result<()> {
        // Between two recorded runs is a jump, or code outside the image.
        let mut builder = RunBuilder::default();
        for_parts(units, run, mark == Mark::Read, |number, part| {
            if units.is_resident(number) {
                runs.extend(builder.cut());
                return;
            }
            let start = part.offset - units.all()[number].offset;
            let offset = self.offsets[number] + start;
            runs.extend(builder.push(Run { offset, length: part.length }));
        })?;
        runs.extend(builder.cut());
        Ok(())
    }

    /// The bytes of the image with `runs`, of which a read may end beyond the last unit.
    pub fn image_bytes_with(&self, runs: &[Run]) -> u64 {
        let end = runs.iter().map(|run| run.end()).max().unwrap_or(0);
        self.image_bytes.max(end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Makes units of random sizes, alignments and gaps, some of which stay, and an order of the
    /// others.
    pub(crate) fn units_and_order() -> impl Strategy<Value = (Units, Order)> {
        let unit = (1u32..90, 0u32..5, 0u32..20, prop::bool::weighted(0.15));
        let all = prop::collection::vec(unit, 1..24).prop_filter_map("some move", |all| {
            let mut at = 0u32;
            let mut units = Vec::new();
            for (number, (bytes, align, gap, fixed)) in all.into_iter().enumerate() {
                let align = 1 << align;
                let offset = (at + gap).next_multiple_of(align);
                at = offset + bytes;
                units.push(Unit { name: number.to_string(), offset, bytes, align, fixed });
            }
            Units::new(units, at.into()).ok()
        });
        all.prop_flat_map(|units| {
            let numbers = Just(units.movable().to_vec()).prop_shuffle();
            (Just(units), numbers).prop_map(|(units, numbers)| {
                let order = Order::new(&units, numbers).expect("a permutation");
                (units, order)
            })
        })
    }

    proptest! {
        /// Every byte has a place of its own, and units keep their alignments.
        #[test]
        fn placing_is_a_permutation((units, order) in units_and_order()) {
            let placement = place(&units, &order).expect("a small image");
            let mut taken = vec![false; placement.image_bytes as usize];
            for (unit, &offset) in units.all().iter().zip(&placement.offsets) {
                prop_assert_eq!(offset % unit.align, 0);
                if unit.fixed {
                    prop_assert_eq!(offset, unit.offset);
                }
                for at in offset..offset + unit.bytes {
                    prop_assert!(!std::mem::replace(&mut taken[at as usize], true));
                }
            }
            let placed = order.numbers().iter().map(|unit| placement.offsets[*unit as usize]);
            prop_assert!(placed.is_sorted());
        }

        /// Runs execute the same bytes as before.
        #[test]
        fn runs_execute_the_same_bytes(
            (units, order) in units_and_order(),
            runs in prop::collection::vec((0u32..2000, 1u32..120), 1..30),
        ) {
            let placement = place(&units, &order).expect("a small image");
            let in_units = |run: &Run| (run.offset..=run.last()).all(|at| units.owner(at).is_some());
            let runs = runs.into_iter().map(|(offset, length)| Run { offset, length });
            let runs: Vec<Run> = runs.filter(in_units).collect();
            let bytes = |runs: &[Run]| -> Vec<u32> {
                runs.iter().flat_map(|run| run.offset..=run.last()).collect()
            };
            let expected: Vec<u32> = bytes(&runs)
                .into_iter()
                .map(|at| {
                    let owner = units.owner(at).expect("in a unit");
                    placement.offsets[owner] + (at - units.all()[owner].offset)
                })
                .collect();
            let trace = MemoryTrace::with_image(runs, units.image_bytes());
            let moved = placement.remap(&units, &trace, &|| true).expect("runs in units");
            prop_assert_eq!(bytes(moved.in_memory().expect("in memory")), expected);
        }
    }

    fn unit(name: &str, offset: u32, bytes: u32, align: u32, fixed: bool) -> Unit {
        Unit { name: name.to_owned(), offset, bytes, align, fixed }
    }

    /// By hand: vectors stay at 0; b needs 4 and goes first at 8, a follows at 18, and c does not
    /// fit before what stays at 24.
    #[test]
    fn units_go_around_what_stays() {
        let units = Units::new(
            vec![
                unit("vectors", 0, 8, 4, true),
                unit("a", 8, 4, 2, false),
                unit("b", 12, 10, 4, false),
                unit("stays", 24, 4, 4, true),
                unit("c", 28, 6, 4, false),
            ],
            34,
        )
        .expect("units that can be");
        let order = Order::of_names(&units, ["b", "a", "c"]).expect("an order");
        let placement = place(&units, &order).expect("a small image");
        assert_eq!(placement.offsets, [0, 18, 8, 24, 28]);
        assert_eq!((placement.image_bytes, placement.gap_bytes), (34, 2));
    }

    fn with_data() -> Units {
        let units = vec![
            unit("a", 0, 8, 4, false),
            unit("b", 8, 6, 2, false),
            unit("c", 14, 6, 2, false),
            unit("text", 20, 5, 4, true),
            unit("table", 32, 8, 8, true),
        ];
        Units::new(units, 40).expect("units that can be").with_followers(vec![3, 4])
    }

    /// By hand: b, a and c need 2 bytes of padding more than a, b and c, and the data goes on by that,
    /// each with its alignment.
    #[test]
    fn followers_go_on_behind_what_moves() {
        let units = with_data();
        let offsets = |units: &Units, names: [&str; 3]| {
            let order = Order::of_names(units, names).expect("an order");
            place(units, &order).expect("a small image").offsets
        };
        assert_eq!(offsets(&units, ["a", "b", "c"]), [0, 8, 14, 20, 32]);
        assert_eq!(offsets(&units, ["b", "a", "c"]), [8, 0, 16, 24, 32]);
        let held = units.clone().holding_followers();
        let without_a = |units: &Units| {
            let units = units.with_resident(["a"]).expect("units that move");
            place(&units, &Order::original(&units)).expect("a small image").offsets
        };
        assert_eq!(without_a(&units)[3..], [12, 24]);
        assert_eq!(without_a(&held)[3..], [20, 32], "an order holds them");
        assert_eq!(offsets(&held, ["b", "a", "c"]), [8, 0, 16, 24, 32]);
    }

    /// By hand: code of 8 bytes behind the 20 of the functions begins at 24, and the data moves on.
    #[test]
    fn added_code_lies_between_functions_and_data() {
        let units = with_data();
        let order = Order::original(&units);
        let (placement, code) = place_with_code(&units, &order, 8, 8).expect("a small image");
        assert_eq!(code, 24);
        assert_eq!(placement.offsets, [0, 8, 14, 32, 40]);
    }

    /// By hand: code that follows the functions, as `.fini` does, is held at 20. The added code lies at
    /// 32 behind it, and the table moves on although the followers are held.
    #[test]
    fn added_code_lies_behind_the_last_code() {
        let units = with_data().holding_followers().with_last_code(Some(3));
        let without_a = units.with_resident(["a"]).expect("units that move");
        let order = Order::original(&without_a);
        let (placement, code) = place_with_code(&without_a, &order, 8, 8).expect("a small image");
        assert_eq!((code, placement.image_bytes), (32, 48));
        assert_eq!(placement.offsets[1..], [0, 6, 20, 40]);
    }

    /// By hand: the code at 20 stays, and the added code lies behind it, though 8 bytes before it are
    /// free.
    #[test]
    fn added_code_lies_behind_code_that_stays() {
        let all = vec![
            unit("a", 0, 8, 4, false),
            unit("b", 8, 6, 2, false),
            unit("fini", 20, 5, 4, true),
        ];
        let units = Units::new(all, 25).expect("units that can be").with_last_code(Some(2));
        let units = units.with_resident(["a"]).expect("units that move");
        let order = Order::original(&units);
        let (placement, code) = place_with_code(&units, &order, 8, 8).expect("a small image");
        assert_eq!((code, placement.image_bytes), (32, 40));
    }

    /// By hand: 8 bytes do not fit between the functions and what stays at 16, and lie behind it.
    #[test]
    fn added_code_goes_around_what_stays() {
        let all = vec![
            unit("a", 0, 8, 4, false),
            unit("b", 8, 6, 2, false),
            unit("stays", 16, 12, 4, true),
        ];
        let units = Units::new(all, 28).expect("units that can be");
        let order = Order::original(&units);
        let (placement, code) = place_with_code(&units, &order, 8, 8).expect("a small image");
        assert_eq!((code, placement.image_bytes), (32, 40));
        assert_eq!(placement.offsets, [0, 8, 16]);
    }

    /// By hand: reads of padding and of what lies behind it move with the text before, those that
    /// round the address of the text down with the text behind, and code in padding is refused.
    #[test]
    fn reads_of_padding_move_with_data() {
        let units = with_data();
        let read = |offset, length| units.read(Run { offset, length });
        let run = |offset, length| Run { offset, length };
        assert_eq!(read(24, 4), Some((3, run(24, 4))), "the end of the text, and padding");
        assert_eq!(read(25, 2), Some((3, run(25, 2))), "padding alone");
        assert_eq!(read(26, 8), Some((3, run(26, 8))), "padding, and the table");
        assert_eq!(read(38, 8), Some((4, run(38, 8))), "the table, and what is no unit");
        assert_eq!(read(14, 8), Some((2, run(14, 8))), "no multiple of its length");
        assert_eq!(read(8, 8), Some((1, run(8, 8))), "code");
        assert_eq!(read(16, 8), Some((3, run(20, 4))), "rounded down into code");
        let order = Order::of_names(&units, ["b", "a", "c"]).expect("an order");
        let placement = place(&units, &order).expect("a small image");
        let code = MemoryTrace::with_image(vec![run(24, 4)], 40);
        let refused = placement.remap(&units, &code, &|| true).err().expect("code in padding");
        assert_eq!(refused.to_string(), "the code at 0x19 belongs to no unit");
    }

    #[test]
    fn orders_that_cannot_be_are_refused() {
        let units = Units::new(
            vec![
                Unit { name: "send".into(), offset: 0, bytes: 8, align: 1, fixed: false },
                Unit { name: "vectors".into(), offset: 8, bytes: 8, align: 1, fixed: true },
            ],
            16,
        )
        .expect("units that can be");
        let refusal = |names: &[&str]| {
            Order::of_names(&units, names.iter().copied()).unwrap_err().to_string()
        };
        assert_eq!(refusal(&["sent"]), "'sent' is no unit of the image; did you mean send?");
        assert_eq!(refusal(&["send", "send"]), "'send' comes twice");
        assert_eq!(refusal(&["vectors"]), "'vectors' stays where it is");
    }
}
