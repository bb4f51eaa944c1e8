//! Arithmetic with values, as far as they are known: which sums are addresses, and in which memory.

use crate::instruction::{Operator, Shift};
use crate::value::{MOST_LISTED, Value, divisor, is_exact};
use crate::variables::Notes;

/// Ranges of addresses that a constant may point into, together with an unknown index.
#[derive(Clone, Debug, Default)]
pub struct Bases {
    /// RAM and peripherals.
    pub memory: Vec<(u64, u64)>,
    /// Objects in flash.
    pub flash: Vec<(u64, u64)>,
    /// Sections in RAM, and ranges that the user names.
    pub sections: Vec<(u64, u64)>,
    /// Greatest number of a register.
    pub mask: u64,
}

/// Smallest address that counts as that of an object where a constant is added to an unknown
/// number. Below, it may as well be an offset.
const LEAST_BASE: u64 = 1 << 16;
/// A distance as large as this leads out of a frame on the stack.
const MOST_FRAME: u64 = 1 << 20;
/// A constant that lies nearer to flash than this is not taken for an address in RAM: a compiler may
/// have subtracted the least index from the address of a table in flash.
const GUARD_BYTES: u64 = 16 << 10;

impl Bases {
    /// True if an object in RAM or a peripheral lies at an address.
    pub fn is_memory(&self, address: u64) -> bool {
        let near = |(start, end): &(u64, u64)| {
            address.saturating_add(GUARD_BYTES) >= *start
                && address < end.saturating_add(GUARD_BYTES)
        };
        address >= LEAST_BASE
            && self.memory.iter().any(|(start, end)| (*start..*end).contains(&address))
            && !self.flash.iter().any(near)
            && !self.is_distance(address)
    }

    /// True if a number may be the distance from RAM to flash, or the negative of an address.
    fn is_distance(&self, number: u64) -> bool {
        let leads = |(start, end): &(u64, u64)| {
            self.flash.iter().any(|(first, last)| {
                // From the end of the one to the end of the other, on a circle.
                let least = first.wrapping_sub(*end).wrapping_sub(GUARD_BYTES) & self.mask;
                let width = (last - first).saturating_add(end - start) + 2 * GUARD_BYTES;
                number.wrapping_sub(least) & self.mask <= width
            })
        };
        self.is_negative_address(number) || self.sections.iter().any(leads)
    }

    /// True if a number is the negative of an address in a section.
    fn is_negative_address(&self, number: u64) -> bool {
        let address = number.wrapping_neg() & self.mask;
        let is_inside = |(start, end): &(u64, u64)| {
            address.saturating_add(GUARD_BYTES) >= *start
                && address <= end.saturating_add(GUARD_BYTES)
        };
        address >= LEAST_BASE && self.sections.iter().chain(&self.flash).any(is_inside)
    }

    fn is_constant(&self, address: u64) -> bool {
        address >= LEAST_BASE
            && self.flash.iter().any(|(start, end)| (*start..*end).contains(&address))
    }

    /// The object in which all numbers of a value lie, if it is of one kind.
    fn pointer(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Memory | Value::Given(..) => Some(Value::Memory),
            Value::Constants(base) => Some(Value::Constants(*base)),
            Value::Listed(numbers) if numbers.iter().all(|number| self.is_memory(*number)) => {
                Some(Value::Memory)
            }
            Value::Listed(numbers) if numbers.iter().all(|number| self.is_constant(*number)) => {
                Some(Value::Constants(numbers[0]))
            }
            Value::Span { .. } => {
                let (low, high) = value.bounds(u64::MAX)?;
                let inside = |(start, end): &&(u64, u64)| *start <= low && high < *end;
                let range = self.memory.iter().find(inside)?;
                let is_near = |(start, end): &(u64, u64)| {
                    *start < range.1.saturating_add(GUARD_BYTES)
                        && range.0 < end.saturating_add(GUARD_BYTES)
                };
                let is_alone = !self.flash.iter().any(is_near);
                (low >= LEAST_BASE && is_alone).then_some(Value::Memory)
            }
            _ => None,
        }
    }
}

/// Arithmetic with values in registers of a width.
#[derive(Clone, Debug)]
pub struct Arithmetic {
    pub mask: u64,
    pub bases: Bases,
    /// The constants whose use is not followed.
    pub notes: Notes,
}

impl Arithmetic {
    /// The result of a computation.
    pub fn binary(&self, operator: Operator, left: &Value, right: &Value) -> Value {
        let value = self.computed(operator, left, right);
        if self.notes.is_kept() { self.noted(operator, (left, right), value) } else { value }
    }

    /// Keeps the constants of operands whose numbers are not in the result, or not as they were.
    fn noted(&self, operator: Operator, operands: (&Value, &Value), value: Value) -> Value {
        let (left, right) = operands;
        let is_hidden = |value: &Value| matches!(value, Value::Initial(_));
        if (is_hidden(left) || is_hidden(right)) && !is_exact(&value) && !is_hidden(&value) {
            self.notes.note(|ledger| ledger.has_hidden_arguments = true);
        }
        if matches!(operator, Operator::Add | Operator::Subtract) {
            if !is_exact(&value) {
                return self.near(left, right, value);
            }
            if operator == Operator::Add {
                return value;
            }
        }
        self.notes.note(|ledger| match operator {
            Operator::Subtract if ledger.has_address(right) => {
                ledger.lose(left);
                ledger.lose(right);
            }
            Operator::Subtract => {}
            _ => {
                for operand in [left, right].into_iter().filter(|operand| **operand != value) {
                    ledger.index(operand);
                }
            }
        });
        value
    }

    /// A value that is not exact, with the constants of those that it was made of.
    fn near(&self, one: &Value, other: &Value, value: Value) -> Value {
        self.notes.near(one, other).unwrap_or(value)
    }

    fn computed(&self, operator: Operator, left: &Value, right: &Value) -> Value {
        if operator == Operator::ReverseSubtract {
            return self.computed(Operator::Subtract, right, left);
        }
        let value = self.result(operator, left, right);
        if value != Value::Any {
            return value;
        }
        let are_numbers = [left, right].iter().all(|operand| self.is_number(operand));
        match operator {
            _ if self.is_computed(operator, left, right) => Value::Computed,
            Operator::Multiply | Operator::Shift(_) => Value::Number,
            Operator::Add | Operator::Subtract if are_numbers => Value::Number,
            _ => Value::Any,
        }
    }

    /// True if a value is known to be no address and no negative of one.
    fn is_number(&self, value: &Value) -> bool {
        let is_small = |(low, high): (u64, u64)| high < LEAST_BASE || self.mask - low < LEAST_BASE;
        *value == Value::Number
            || (matches!(value, Value::Listed(_) | Value::Span { .. })
                && value.bounds(self.mask).is_some_and(is_small))
    }

    /// True if an unknown result may be a difference or the negative of an address.
    fn is_computed(&self, operator: Operator, left: &Value, right: &Value) -> bool {
        let is_negative = |value: &Value| {
            value.single().is_some_and(|number| {
                self.signed(number) < 0 && self.signed(number).unsigned_abs() >= LEAST_BASE
            })
        };
        let is_input = [left, right].contains(&&Value::Computed);
        is_input
            || match operator {
                Operator::Subtract => !self.is_number(right),
                Operator::Xor => true,
                Operator::Multiply => [left, right]
                    .iter()
                    .any(|operand| operand.single().is_some_and(|number| self.signed(number) < 0)),
                Operator::Add => is_negative(left) || is_negative(right),
                _ => false,
            }
    }

    fn result(&self, operator: Operator, left: &Value, right: &Value) -> Value {
        if let (Value::Listed(a), Value::Listed(b)) = (left, right)
            && a.len() * b.len() <= MOST_LISTED
        {
            let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (*a, *b)));
            let results: Option<Vec<u64>> =
                pairs.map(|(a, b)| self.number(operator, a, b)).collect();
            return results.map_or(Value::Any, Value::listed);
        }
        match operator {
            Operator::Add => self.sum(left, right),
            Operator::Subtract => self.difference(left, right),
            Operator::And => self.masked(left, right),
            Operator::Shift(shift) => self.shifted(shift, left, right),
            Operator::Or | Operator::Xor => self.merged(left, right),
            Operator::Multiply => self.product(left, right),
            Operator::Clear => match right.single() {
                Some(mask) => self.masked(left, &Value::number(!mask & self.mask)),
                None => Value::Any,
            },
            Operator::ReverseSubtract => Value::Any,
        }
    }

    fn number(&self, operator: Operator, a: u64, b: u64) -> Option<u64> {
        let bits = u64::from(self.mask.count_ones());
        let result = match operator {
            Operator::Add => a.wrapping_add(b),
            Operator::Subtract => a.wrapping_sub(b),
            Operator::ReverseSubtract => b.wrapping_sub(a),
            Operator::And => a & b,
            Operator::Clear => a & !b,
            Operator::Or => a | b,
            Operator::Xor => a ^ b,
            Operator::Multiply => a.wrapping_mul(b),
            Operator::Shift(_) if b >= bits => return None,
            Operator::Shift(Shift::Left) => a << b,
            Operator::Shift(Shift::Right) => a >> b,
            Operator::Shift(Shift::Arithmetic) => (self.signed(a) >> b) as u64,
            Operator::Shift(Shift::Rotation) => return None,
        };
        Some(result & self.mask)
    }

    fn signed(&self, number: u64) -> i64 {
        if self.mask == u64::MAX { number as i64 } else { i64::from(number as u32 as i32) }
    }

    fn sum(&self, left: &Value, right: &Value) -> Value {
        match (left, right) {
            (Value::Given(argument, at), other) | (other, Value::Given(argument, at))
                if other
                    .single()
                    .is_some_and(|by| self.signed(by).unsigned_abs() < GUARD_BYTES) =>
            {
                let by = other.single().map_or(0, |by| self.signed(by));
                Value::Given(*argument, at.saturating_add(by))
            }
            (Value::Stack(at), other) | (other, Value::Stack(at)) => {
                let is_far = |number: i64| number.unsigned_abs() >= MOST_FRAME;
                let distance = other.single().map(|number| self.signed(number));
                if matches!(
                    other,
                    Value::Stack(_)
                        | Value::Memory
                        | Value::Given(..)
                        | Value::Constants(_)
                        | Value::Computed
                ) || distance.is_some_and(is_far)
                    || self.bases.pointer(other).is_some()
                {
                    return Value::Any;
                }
                Value::Stack(at.zip(distance).and_then(|(at, by)| at.checked_add(by)))
            }
            (Value::Return | Value::Initial(_), other)
            | (other, Value::Return | Value::Initial(_)) => match other.single() {
                Some(0) if left == other => right.clone(),
                Some(0) => left.clone(),
                _ => self.pointer_sum(other, &Value::Any),
            },
            _ => self.numbers_sum(left, right).unwrap_or_else(|| {
                let (one, two) = (self.bases.pointer(left), self.bases.pointer(right));
                match (one, two) {
                    (Some(_), Some(_)) => Value::Any,
                    (Some(_), None) => self.pointer_sum(left, right),
                    (None, _) => self.pointer_sum(right, left),
                }
            }),
        }
    }

    /// The sum of an address and an index.
    fn pointer_sum(&self, pointer: &Value, index: &Value) -> Value {
        // A constant distance as large as between RAM and flash leads from one to the other.
        let is_far = index.single().is_some_and(|by| self.signed(by).unsigned_abs() >= GUARD_BYTES);
        match self.bases.pointer(pointer) {
            Some(base) if !is_far && *index != Value::Computed => base,
            _ => Value::Any,
        }
    }

    fn numbers_sum(&self, left: &Value, right: &Value) -> Option<Value> {
        let is_number = |value: &Value| matches!(value, Value::Listed(_) | Value::Span { .. });
        if !is_number(left) || !is_number(right) {
            return None;
        }
        // A negative constant is subtracted.
        for (value, constant) in [(left, right), (right, left)] {
            if let Some(number) = constant.single()
                && self.signed(number) < 0
            {
                return self.numbers_difference(value, self.signed(number).unsigned_abs());
            }
        }
        let ((low, high), (other_low, other_high)) =
            (left.bounds(self.mask)?, right.bounds(self.mask)?);
        let high = high.checked_add(other_high).filter(|high| *high <= self.mask)?;
        Some(Value::span(low + other_low, high, divisor(left.step(), right.step()), self.mask))
    }

    fn numbers_difference(&self, value: &Value, by: u64) -> Option<Value> {
        let (low, high) = value.bounds(self.mask)?;
        let low = low.checked_sub(by)?;
        Some(Value::span(low, high - by, value.step(), self.mask))
    }

    fn difference(&self, left: &Value, right: &Value) -> Value {
        match (left, right) {
            (Value::Stack(a), Value::Stack(b)) => match a.zip(*b) {
                Some((a, b)) => Value::number(a.wrapping_sub(b) as u64 & self.mask),
                None => Value::Any,
            },
            (Value::Given(..), other) if other.single().is_some() => self
                .sum(left, &Value::number(other.single().unwrap_or(0).wrapping_neg() & self.mask)),
            (Value::Stack(at), other) => {
                let distance = other.single().map(|number| self.signed(number));
                let is_far = |number: i64| number.unsigned_abs() >= MOST_FRAME;
                if distance.map_or(!self.is_index(other), is_far) {
                    return Value::Any;
                }
                Value::Stack(at.zip(distance).and_then(|(at, by)| at.checked_sub(by)))
            }
            (Value::Listed(_) | Value::Span { .. }, _) if right.single().is_some() => {
                let by = right.single().unwrap_or(0);
                let signed = self.signed(by);
                if signed < 0 {
                    return self.sum(left, &Value::number(signed.unsigned_abs()));
                }
                self.numbers_difference(left, by).unwrap_or(Value::Any)
            }
            // The difference of two addresses is a number.
            (pointer, other) if self.bases.pointer(other).is_none() => {
                // A greater number that is subtracted may be an address itself.
                if self.is_index(other) { self.pointer_sum(pointer, other) } else { Value::Any }
            }
            _ => Value::Any,
        }
    }

    /// True if a value is too small for an address.
    fn is_index(&self, value: &Value) -> bool {
        if *value == Value::Number {
            return true;
        }
        value.bounds(self.mask).is_some_and(|(_, high)| high < LEAST_BASE)
    }

    fn masked(&self, left: &Value, right: &Value) -> Value {
        let (value, mask) = match (left.single(), right.single()) {
            (_, Some(mask)) => (left, mask),
            (Some(mask), None) => (right, mask),
            (None, None) => return Value::Any,
        };
        // Alignment leaves an address in its object.
        let is_alignment =
            (!mask & self.mask) < 4096 && (!mask & self.mask).wrapping_add(1).is_power_of_two();
        match value {
            Value::Stack(_) if is_alignment => return Value::Stack(None),
            Value::Memory | Value::Given(..) if is_alignment => return Value::Memory,
            _ => {}
        }
        if let Some(numbers) = value.numbers(MOST_LISTED as u64) {
            return Value::listed(numbers.into_iter().map(|number| number & mask).collect());
        }
        if mask == self.mask {
            return value.clone();
        }
        let high = match value.bounds(self.mask) {
            Some((_, high)) => high.min(mask),
            None => mask,
        };
        let step = if mask == 0 { 1 } else { 1 << mask.trailing_zeros() };
        Value::span(0, high, step, self.mask)
    }

    fn shifted(&self, shift: Shift, value: &Value, by: &Value) -> Value {
        let bits = u64::from(self.mask.count_ones());
        let Some(by) = by.single().filter(|by| *by < bits) else { return Value::Any };
        if by == 0 {
            return value.clone();
        }
        let Some((low, high)) = value.bounds(self.mask) else { return Value::Any };
        match shift {
            Shift::Left if high <= self.mask >> by => {
                Value::span(low << by, high << by, value.step() << by, self.mask)
            }
            Shift::Right => Value::span(low >> by, high >> by, 1, self.mask),
            Shift::Arithmetic if high <= self.mask / 2 => {
                Value::span(low >> by, high >> by, 1, self.mask)
            }
            _ => Value::Any,
        }
    }

    fn merged(&self, left: &Value, right: &Value) -> Value {
        match (left.bounds(self.mask), right.bounds(self.mask)) {
            (Some((_, a)), Some((_, b))) => {
                let above = (a | b).checked_add(1).and_then(u64::checked_next_power_of_two);
                let most = above.map_or(self.mask, |above| (above - 1).min(self.mask));
                Value::span(0, most, 1, self.mask)
            }
            _ => Value::Any,
        }
    }

    fn product(&self, left: &Value, right: &Value) -> Value {
        let (value, by) = match (left.single(), right.single()) {
            (_, Some(by)) => (left, by),
            (Some(by), None) => (right, by),
            (None, None) => return Value::Any,
        };
        let Some((low, high)) = value.bounds(self.mask) else { return Value::Any };
        match high.checked_mul(by).filter(|high| *high <= self.mask) {
            Some(high) if by > 0 => Value::span(low * by, high, value.step() * by, self.mask),
            Some(_) => Value::number(0),
            None => Value::Any,
        }
    }

    /// The union of two values.
    pub fn join(&self, one: &Value, other: &Value) -> Value {
        let joined = self.joined(one, other);
        if is_exact(&joined) { joined } else { self.near(one, other, joined) }
    }

    fn joined(&self, one: &Value, other: &Value) -> Value {
        let joined = one.join(other, self.mask);
        if !matches!(joined, Value::Any | Value::Computed | Value::Number) {
            return joined;
        }
        match (self.bases.pointer(one), self.bases.pointer(other)) {
            (Some(Value::Memory), Some(Value::Memory)) => Value::Memory,
            (Some(Value::Constants(base)), Some(Value::Constants(_))) => Value::Constants(base),
            _ => joined,
        }
    }

    /// The union of two values, widened so that a loop which changes the value comes to an end.
    pub fn widened(&self, old: &Value, new: &Value) -> Value {
        let widened = self.grown(old, new);
        if is_exact(&widened) { widened } else { self.near(old, new, widened) }
    }

    fn grown(&self, old: &Value, new: &Value) -> Value {
        let joined = old.join(new, self.mask);
        if joined == *old {
            return joined;
        }
        if let (Some(base), Some(_)) = (self.bases.pointer(old), self.bases.pointer(new)) {
            return match (base, self.bases.pointer(new)) {
                (Value::Memory, Some(Value::Memory)) => Value::Memory,
                (Value::Constants(base), Some(Value::Constants(_))) => Value::Constants(base),
                _ => Value::Any,
            };
        }
        let (Value::Listed(_) | Value::Span { .. }, Some((low, high)), Some((old_low, old_high))) =
            (&joined, joined.bounds(self.mask), old.bounds(self.mask))
        else {
            return joined;
        };
        let half = self.mask / 2;
        let low = if low < old_low { 0 } else { low };
        let high = match high {
            high if high <= old_high => old_high,
            high if high <= half && old_high < half => half,
            _ => self.mask,
        };
        if high == self.mask { Value::Any } else { Value::span(low, high, 1, self.mask) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flash at 0 and at 0x800_0000, RAM at 0x2000_0000, peripherals of an M processor.
    fn arithmetic() -> Arithmetic {
        let mask = 0xffff_ffff;
        let sections = vec![(0x2000_0000, 0x2001_0000)];
        let mut memory = sections.clone();
        memory.extend([(0x4000_0000, 0x6000_0000), (0xe000_0000, 0xe010_0000)]);
        let flash = vec![(0, 0x1000), (0x0800_0000, 0x0801_0000)];
        let bases = Bases { memory, flash, sections, mask };
        Arithmetic { mask, bases, notes: Notes::default() }
    }

    fn sum(left: &Value, right: &Value) -> Value {
        arithmetic().binary(Operator::Add, left, right)
    }

    fn difference(left: &Value, right: &Value) -> Value {
        arithmetic().binary(Operator::Subtract, left, right)
    }

    #[test]
    fn an_index_stays_in_the_object_of_its_base() {
        let ram = Value::number(0x2000_8000);
        assert_eq!(sum(&ram, &Value::Any), Value::Memory);
        assert_eq!(sum(&Value::Number, &ram), Value::Memory);
        assert_eq!(sum(&Value::number(0x0800_0100), &Value::Any), Value::Constants(0x0800_0100));
        assert_eq!(sum(&Value::number(0x4000_0010), &Value::Any), Value::Memory);
    }

    #[test]
    fn a_negative_number_is_no_address_of_a_peripheral() {
        assert_eq!(sum(&Value::Any, &Value::number(0xffff_fffc)), Value::Any);
    }

    #[test]
    fn a_distance_between_memories_is_no_address() {
        // From RAM to flash at 0, and from RAM to flash at 0x800_0000.
        for distance in [0xe000_0000, 0xe800_0000] {
            let value = sum(&Value::Any, &Value::number(distance));
            assert!(matches!(value, Value::Any | Value::Computed), "{distance:#x}: {value:?}");
        }
        let ram = Value::number(0x2000_8000);
        assert_eq!(sum(&sum(&ram, &Value::Any), &Value::number(0xe800_0000)), Value::Computed);
    }

    #[test]
    fn a_difference_of_addresses_is_no_address() {
        let end = Value::number(0x2000_8000);
        let frame = Value::Stack(Some(-8));
        for value in [difference(&end, &Value::Any), difference(&frame, &Value::Any)] {
            assert_eq!(value, Value::Computed);
            // With flash at 0, a table has a small address.
            assert_eq!(sum(&value, &Value::number(0x30)), Value::Computed);
        }
        let complement =
            arithmetic().binary(Operator::Xor, &Value::Any, &Value::number(u32::MAX.into()));
        assert_eq!(sum(&end, &complement), Value::Computed);
        assert_eq!(difference(&frame, &Value::Number), Value::Stack(None));
    }

    #[test]
    fn addresses_near_flash_are_no_base() {
        let mut near = arithmetic();
        near.bases.memory = vec![(0x0801_0000, 0x0802_0000)];
        let value = near.binary(Operator::Add, &Value::number(0x0801_0010), &Value::Any);
        assert_eq!(value, Value::Any);
        let value = near.binary(Operator::Add, &Value::number(0x0801_8000), &Value::Any);
        assert_eq!(value, Value::Memory);
    }

    #[test]
    fn widening_ends_with_any_number() {
        let one = Value::number(0x30);
        let two = Value::listed(vec![0x2c, 0x30]);
        let widened = arithmetic().widened(&one, &two);
        assert!(widened.bounds(0xffff_ffff).is_some_and(|(low, _)| low == 0), "{widened:?}");
        let three = Value::listed(vec![0xffff_fffc, 0x30]);
        assert_eq!(arithmetic().widened(&one, &three), Value::Any);
    }
}
