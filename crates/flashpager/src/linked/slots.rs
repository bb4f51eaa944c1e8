//! Orders with slots: read from a file, made of a search, and refreshed for a new link.

use flashpager_base::{Error, Result};
use flashpager_binary::link::{OrderText, SlottedSection, lines, slot_fragment, slot_lines};
use flashpager_layout::{Order, Slots, UnitPlacement};
use flashpager_trace::{TraceFile, for_runs};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{LinkedProgram, NamedOrder};

/// An order whose slots fit the functions of a new link.
#[derive(Clone, Debug)]
pub struct RefreshedOrder {
    /// The order, with its slots.
    pub order: NamedOrder,
    /// Units that have kept their slots.
    pub kept: usize,
    /// Names of units that got another slot, or their first one.
    pub moved: Vec<String>,
}

/// The slots of an order for a new link.
#[derive(Default)]
struct SortedSlots {
    /// Units that fit, with the offsets of their slots.
    placed: Vec<(u32, u32)>,
    /// Units that do not.
    moving: Vec<u32>,
    /// Start and end of the slots of these.
    rooms: Vec<(u32, u32)>,
    /// End of the unit in the last slot.
    last_end: u32,
}

impl LinkedProgram {
    /// The order that the text of a file describes, with its slots. Lines are those of
    /// [`LinkedProgram::order`].
    ///
    /// # Errors
    /// If no line names a unit.
    pub fn order_of_text(&self, text: &str) -> Result<NamedOrder> {
        let mut named = self.order(&lines(text))?;
        let Some(slots) = slot_lines(text) else { return Ok(named) };
        let offset = |address: u64| {
            let ahead = address.checked_sub(self.section.address)?;
            u32::try_from(u64::from(self.section.offset).checked_add(ahead)?).ok()
        };
        let mut offsets = Vec::new();
        for (line, address) in &slots.slots {
            let movable = self.units.movable().iter();
            let input = |number: &u32| self.inputs[*number as usize].as_ref();
            let selected = movable
                .copied()
                .find(|number| input(number).is_some_and(|input| line.selects(input)));
            offsets.extend(selected.zip(offset(*address)));
        }
        let followers_from = slots.end.and_then(offset).unwrap_or(0);
        named.slots = Some(Slots { offsets, followers_from });
        Ok(named)
    }

    /// Names of the movable units of which `trace` executes something, as they lie. `should_continue`
    /// is as in [`for_runs`].
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn executed(
        &self,
        trace: &TraceFile,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<String>> {
        let all = self.units.all();
        let mut is_executed = vec![false; all.len()];
        for_runs(trace, should_continue, |runs| {
            for run in runs {
                let first = all.partition_point(|unit| unit.end() <= u64::from(run.offset));
                let in_run =
                    all[first..].iter().take_while(|unit| u64::from(unit.offset) < run.end());
                let count = in_run.count();
                is_executed[first..first + count].fill(true);
            }
            Ok(())
        })?;
        let movable = self.units.movable().iter().filter(|number| is_executed[**number as usize]);
        Ok(movable.map(|number| all[*number as usize].name.clone()).collect())
    }

    /// The order of units of these names with a slot for each unit of `hot`, which has `slack_bytes`
    /// behind it. It is placed as the search for an order with slots places it.
    ///
    /// # Errors
    /// If a name is of no movable unit, or [`LinkedProgram::place`] fails.
    pub fn in_slots(
        &self,
        names: &[String],
        hot: &[String],
        slack_bytes: u32,
    ) -> Result<NamedOrder> {
        let order = Order::of_names(&self.units, names.iter().map(String::as_str))?;
        let numbers = Order::of_names(&self.units, hot.iter().map(String::as_str))?;
        let hot = &numbers.numbers()[..hot.len()];
        let units = self.ordered_units.clone().with_slack(hot, slack_bytes);
        let placement = self.checked(&units, &order)?;
        let slots = Some(Slots::of(&units, &order, &placement));
        let (units, unknown, repeated) = (names.len(), Vec::new(), Vec::new());
        Ok(NamedOrder { order, units, unknown, repeated, slots })
    }

    /// Lines for a linker script that place the units `names` in this order beside those named
    /// `pinned`, which leave the flash image. Each unit of `hot` has a slot with `slack_bytes` behind
    /// it.
    ///
    /// # Errors
    /// If a name is of no movable unit or is in both lists, or [`LinkedProgram::place`] fails.
    pub fn slot_text_beside(
        &self,
        pinned: &[String],
        names: &[String],
        hot: &[String],
        slack_bytes: u32,
    ) -> Result<OrderText> {
        let named = Order::of_names(&self.units, pinned.iter().map(String::as_str))?;
        let units = self.ordered_units.with_resident_numbers(&named.numbers()[..pinned.len()]);
        let order = Order::of_names(&units, names.iter().map(String::as_str))?;
        let numbers = Order::of_names(&units, hot.iter().map(String::as_str))?;
        let units = units.with_slack(&numbers.numbers()[..hot.len()], slack_bytes);
        let placement = self.checked(&units, &order)?;
        let slots = Slots::of(&units, &order, &placement);
        Ok(OrderText { text: self.slot_text(&order, &slots), ..OrderText::default() })
    }

    /// The order for a link of changed functions. Units of `order` keep the slots that they fit in.
    /// Others, and units of `hot` without a slot, get one in the room of those that left, or behind
    /// the last, with `slack_bytes`.
    ///
    /// # Errors
    /// If the order has no slots, a name is of no movable unit, or [`LinkedProgram::place`] fails.
    pub fn refreshed(
        &self,
        order: &NamedOrder,
        hot: &[String],
        slack_bytes: u32,
    ) -> Result<RefreshedOrder> {
        let Some(slots) = order.slots.as_ref().filter(|slots| !slots.offsets.is_empty()) else {
            return Err(Error::design(
                "the order has no slots of this program: search one with 'layout --slots'",
            ));
        };
        let hot = Order::of_names(&self.units, hot.iter().map(String::as_str))?.numbers()
            [..hot.len()]
            .to_vec();
        let SortedSlots { mut placed, mut moving, rooms, last_end } = self.sorted(slots);
        let kept = placed.len();
        let slotted: FxHashSet<u32> = slots.offsets.iter().map(|(number, _)| *number).collect();
        moving.extend(hot.into_iter().filter(|number| !slotted.contains(number)));
        let all = self.units.all();
        let moved = moving.iter().map(|number| all[*number as usize].name.clone()).collect();
        let behind = last_end.saturating_add(slack_bytes);
        placed.extend(self.new_slots(moving, rooms, behind, slack_bytes));
        placed.sort_by_key(|(_, from)| *from);
        let taken: FxHashSet<u32> = placed.iter().map(|(number, _)| *number).collect();
        let rest = order.order.numbers().iter().copied().filter(|number| !taken.contains(number));
        let numbers = placed.iter().map(|(number, _)| *number).chain(rest).collect();
        let named = NamedOrder {
            order: Order::new(&self.units, numbers)?,
            slots: Some(Slots { offsets: placed, ..slots.clone() }),
            ..order.clone()
        };
        self.place_named(&named)?;
        Ok(RefreshedOrder { order: named, kept, moved })
    }

    /// Sorts out which units still fit in their slots.
    fn sorted(&self, slots: &Slots) -> SortedSlots {
        let all = self.units.all();
        let mut sorted = SortedSlots::default();
        let mut ends = slots.offsets.iter().map(|(_, from)| *from).skip(1);
        for &(number, from) in &slots.offsets {
            let end = ends.next();
            let unit = &all[number as usize];
            sorted.last_end = from.saturating_add(unit.bytes);
            let fits = end.is_none_or(|end| sorted.last_end <= end);
            if fits && from.is_multiple_of(unit.align) {
                sorted.placed.push((number, from));
            } else {
                sorted.moving.push(number);
                sorted.rooms.extend(end.map(|end| (from, end)));
            }
        }
        sorted
    }

    /// Makes slots for units in the free `rooms`, which have a start and an end, or from the offset
    /// `behind` on. The largest unit comes first, and takes the smallest room that it fits in.
    fn new_slots(
        &self,
        mut moving: Vec<u32>,
        mut rooms: Vec<(u32, u32)>,
        mut behind: u32,
        slack_bytes: u32,
    ) -> Vec<(u32, u32)> {
        let all = self.units.all();
        moving.sort_by_key(|number| std::cmp::Reverse(all[*number as usize].bytes));
        let slot = |number: u32| {
            let unit = &all[number as usize];
            let fits = |(from, end): &(u32, u32)| {
                let from = u64::from(*from).next_multiple_of(unit.align.into());
                from + u64::from(unit.bytes) <= u64::from(*end)
            };
            let fitting = rooms.iter_mut().filter(|room| fits(room));
            let smallest = fitting.min_by_key(|(from, end)| end - from);
            let next = smallest.map_or(&mut behind, |(from, _)| from);
            let from = next.next_multiple_of(unit.align);
            *next = from.saturating_add(unit.bytes).saturating_add(slack_bytes);
            (number, from)
        };
        moving.into_iter().map(slot).collect()
    }

    /// Lays the image out in `order` and its slots, as a linker does with
    /// [`LinkedProgram::text`].
    ///
    /// # Errors
    /// If [`LinkedProgram::place`] fails.
    pub fn place_named(&self, order: &NamedOrder) -> Result<UnitPlacement> {
        let Some(slots) = &order.slots else { return self.place(&order.order) };
        let units = self.ordered_units.clone();
        self.checked(&units.in_slots(slots), &order.order)
    }

    /// Lines for a linker script that place the units in `order`, those with a slot there.
    pub(super) fn slot_text(&self, order: &Order, slots: &Slots) -> String {
        let address = |offset: u32| {
            self.section.address + u64::from(offset.saturating_sub(self.section.offset))
        };
        let at: FxHashMap<u32, u32> = slots.offsets.iter().copied().collect();
        let ordered: Vec<SlottedSection<'_>> = order
            .numbers()
            .iter()
            .filter_map(|number| {
                let slot = at.get(number).map(|offset| address(*offset));
                Some((self.inputs[*number as usize].as_ref()?, slot))
            })
            .collect();
        let end = Some(slots.followers_from).filter(|from| *from > 0).map(address);
        slot_fragment(&self.map, &ordered, end, self.section.address)
    }
}
