//! Values of registers and of words on the stack, as far as they are known without running the
//! program.

use std::rc::Rc;

use crate::instruction::Relation;

/// Most numbers that a value lists one by one.
pub const MOST_LISTED: usize = 512;

/// The possible values of a register or a word.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// Any number.
    Any,
    /// Any number. It may be the negative of an address, or the difference of two addresses.
    Computed,
    /// Any number that is no address and no negative of one: the result of a multiplication, a
    /// division or a shift.
    Number,
    /// One of these numbers, which ascend.
    Listed(Rc<[u64]>),
    /// One of `count` numbers, `step` apart.
    Span { low: u64, step: u64, count: u64 },
    /// The stack pointer at the entry of the function plus a distance, `None` if that is unknown.
    Stack(Option<i64>),
    /// An address in an object of RAM, of a peripheral, or of the caller's stack.
    Memory,
    /// The address that an argument holds, which is one of RAM, plus a distance.
    Given(u8, i64),
    /// An address in an object in flash. The number is an address in that object.
    Constants(u64),
    /// The address to which the function returns.
    Return,
    /// The value that a register had at the entry of the function.
    Initial(u8),
    /// Any number: one of these constants and an unknown index, as far as it is an address. Where the
    /// whole program is walked, it stands for others that keep no constants.
    Near(Rc<[u64]>),
}

impl Value {
    /// A single number.
    pub fn number(number: u64) -> Self {
        Self::Listed(Rc::from([number]))
    }

    /// The number, if there is one only.
    pub fn single(&self) -> Option<u64> {
        match self {
            Self::Listed(numbers) if numbers.len() == 1 => Some(numbers[0]),
            _ => None,
        }
    }

    /// One of these numbers.
    pub fn listed(mut numbers: Vec<u64>) -> Self {
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.len() <= MOST_LISTED {
            return Self::Listed(numbers.into());
        }
        let low = numbers[0];
        let step = numbers.iter().fold(0, |step, number| divisor(step, number - low));
        let count = ((numbers[numbers.len() - 1] - low) / step).saturating_add(1);
        Self::Span { low, step, count }
    }

    /// The numbers from `low` to `high`, `step` apart.
    pub fn span(low: u64, high: u64, step: u64, mask: u64) -> Self {
        let step = step.max(1);
        if low == 0 && high >= mask && step == 1 {
            return Self::Any;
        }
        let count = ((high - low) / step).saturating_add(1);
        if count <= 64 {
            return Self::Listed((0..count).map(|number| low + number * step).collect());
        }
        Self::Span { low, step, count }
    }

    /// The least and the greatest number. `None` for addresses that have no number here.
    pub fn bounds(&self, mask: u64) -> Option<(u64, u64)> {
        match self {
            Self::Any | Self::Computed | Self::Number => Some((0, mask)),
            Self::Listed(numbers) => Some((*numbers.first()?, *numbers.last()?)),
            Self::Span { low, step, count } => Some((*low, low + step * (count - 1))),
            _ => None,
        }
    }

    /// All numbers, if there are at most `most`.
    pub fn numbers(&self, most: u64) -> Option<Vec<u64>> {
        match self {
            Self::Listed(numbers) if numbers.len() as u64 <= most => Some(numbers.to_vec()),
            Self::Span { low, step, count } if *count <= most => {
                Some((0..*count).map(|number| low + number * step).collect())
            }
            _ => None,
        }
    }

    /// A distance that all numbers are apart, or a multiple of.
    pub fn step(&self) -> u64 {
        match self {
            Self::Listed(numbers) => {
                numbers.iter().fold(0, |step, number| divisor(step, number - numbers[0]))
            }
            Self::Span { step, .. } => *step,
            _ => 1,
        }
    }

    /// The union of two values.
    pub fn join(&self, other: &Self, mask: u64) -> Self {
        if self == other {
            return self.clone();
        }
        match (self, other) {
            (Self::Stack(_), Self::Stack(_)) => Self::Stack(None),
            (Self::Listed(a), Self::Listed(b)) => {
                Self::listed(a.iter().chain(b.iter()).copied().collect())
            }
            (Self::Listed(_) | Self::Span { .. }, Self::Listed(_) | Self::Span { .. }) => {
                let (Some((low, high)), Some((other_low, other_high))) =
                    (self.bounds(mask), other.bounds(mask))
                else {
                    return Self::Any;
                };
                let step = divisor(divisor(self.step(), other.step()), low.abs_diff(other_low));
                Self::span(low.min(other_low), high.max(other_high), step, mask)
            }
            (Self::Constants(base), Self::Constants(_)) => Self::Constants(*base),
            (Self::Computed, _) | (_, Self::Computed) => Self::Computed,
            _ => Self::Any,
        }
    }

    /// The values within bounds; `None` if there are none.
    pub fn within(&self, low: u64, high: u64, mask: u64) -> Option<Self> {
        if low > high {
            return None;
        }
        match self {
            Self::Any | Self::Computed | Self::Number if low == 0 && high >= mask => {
                Some(self.clone())
            }
            Self::Any | Self::Computed | Self::Number => Some(Self::span(low, high, 1, mask)),
            Self::Listed(numbers) => {
                let rest: Rc<[u64]> = numbers
                    .iter()
                    .copied()
                    .filter(|number| (low..=high).contains(number))
                    .collect();
                (!rest.is_empty()).then_some(Self::Listed(rest))
            }
            Self::Span { low: first, step, count } => {
                let last = first + step * (count - 1);
                let first = if low > *first {
                    first + (low - first).div_ceil(*step) * step
                } else {
                    *first
                };
                let last = last.min(high);
                (first <= last).then(|| Self::span(first, last, *step, mask))
            }
            _ => Some(self.clone()),
        }
    }

    fn without(&self, number: u64) -> Option<Self> {
        let Self::Listed(numbers) = self else { return Some(self.clone()) };
        let rest: Rc<[u64]> = numbers.iter().copied().filter(|other| *other != number).collect();
        (!rest.is_empty()).then_some(Self::Listed(rest))
    }

    /// The values for which the relation to `other` may hold; `None` if there are none.
    pub fn related(&self, relation: Relation, other: &Self, mask: u64) -> Option<Self> {
        let (Some((_, high)), Some((other_low, other_high))) =
            (self.bounds(mask), other.bounds(mask))
        else {
            return Some(self.clone());
        };
        let sign = mask / 2;
        match relation {
            Relation::Equal => self.within(other_low, other_high, mask),
            Relation::NotEqual => match other.single() {
                Some(number) => self.without(number),
                None => Some(self.clone()),
            },
            Relation::Below => self.within(0, other_high.checked_sub(1)?, mask),
            Relation::BelowOrEqual => self.within(0, other_high, mask),
            Relation::Above => {
                self.within(other_low.checked_add(1).filter(|low| *low <= mask)?, mask, mask)
            }
            Relation::AboveOrEqual => self.within(other_low, mask, mask),
            Relation::Less if high <= sign && other_high <= sign => {
                self.within(0, other_high.checked_sub(1)?, mask)
            }
            Relation::LessOrEqual if high <= sign && other_high <= sign => {
                self.within(0, other_high, mask)
            }
            Relation::Greater if other_high < sign => self.within(other_low + 1, sign, mask),
            Relation::Greater if other.single() == Some(mask) => self.within(0, sign, mask),
            Relation::GreaterOrEqual if other_high <= sign => self.within(other_low, sign, mask),
            _ => Some(self.clone()),
        }
    }
}

/// The greatest common divisor; that of 0 and a number is the number.
pub fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// A span of numbers that is wider than this is not taken for addresses, as that of a counter.
const MOST_SPAN: u64 = 1 << 16;

/// True if a value is a list or a narrow span of numbers.
pub fn is_exact(value: &Value) -> bool {
    match value {
        Value::Listed(_) => true,
        Value::Span { step, count, .. } => step.saturating_mul(*count) <= MOST_SPAN,
        _ => false,
    }
}

/// The width of a number in memory.
pub fn mask_of(bytes: u8) -> u64 {
    if bytes >= 8 { u64::MAX } else { (1 << (8 * u32::from(bytes))) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_bound_values() {
        let mask = 0xffff_ffff;
        let below = Value::Any.related(Relation::Below, &Value::number(8), mask);
        assert_eq!(below.and_then(|value| value.bounds(mask)), Some((0, 7)));
        assert_eq!(Value::number(9).related(Relation::Below, &Value::number(8), mask), None);
        // A signed relation says nothing of numbers that may be negative.
        let less = Value::Any.related(Relation::Less, &Value::number(8), mask);
        assert_eq!(less, Some(Value::Any));
    }
}
