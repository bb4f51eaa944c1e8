//! The values of variables in RAM that are the same in every run, as far as no pointer leads to
//! them.
//!
//! The whole program is walked, flash included. A variable is known if its address goes nowhere but
//! into accesses whose addresses are all known: then it holds the number in the file, or one that
//! such a store has put there.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::value::{Value, is_exact, mask_of};

/// Distance from a constant within which any object may be meant if an unknown index is added to the
/// constant, because a compiler may have subtracted the least index.
const NEAR_BYTES: u64 = 16 << 10;
/// Most numbers that a store may put into a variable.
const MOST_VALUES: usize = 256;
/// Most constants that a value is made of.
const MOST_BASES: usize = 48;
/// Most addresses of a store that are noted one by one.
const MOST_ADDRESSES: u64 = 256;

/// Bytes of RAM whose bits a Cortex-M3 or M4 has as words at the alias of them.
const BIT_BAND: (u64, u64) = (0x2000_0000, 0x2010_0000);
/// The alias: a word for each bit.
const BIT_BAND_ALIAS: (u64, u64) = (0x2200_0000, 0x2400_0000);

/// The stores to an address: their width, and the numbers; `None` if one of them is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stores {
    bytes: u8,
    numbers: Option<BTreeSet<u64>>,
}

impl Stores {
    fn extend(&mut self, other: &Self) {
        let is_same = self.bytes == other.bytes;
        self.bytes = self.bytes.max(other.bytes);
        self.numbers = match (self.numbers.take(), &other.numbers) {
            (Some(mut numbers), Some(others)) if is_same => {
                numbers.extend(others);
                (numbers.len() <= MOST_VALUES).then_some(numbers)
            }
            _ => None,
        };
    }
}

/// The ledger of a walk, if it has one. All handles are equal.
#[derive(Clone, Debug, Default)]
pub struct Notes(Option<Rc<RefCell<Ledger>>>);

impl PartialEq for Notes {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Notes {}

impl Notes {
    /// A handle of a new ledger of constants in these ranges.
    pub fn new(ranges: Vec<(u64, u64)>) -> Self {
        Self(Some(Rc::new(RefCell::new(Ledger::new(ranges)))))
    }

    /// Notes something, if there is a ledger.
    pub fn note(&self, note: impl FnOnce(&mut Ledger)) {
        if let Some(ledger) = &self.0 {
            note(&mut ledger.borrow_mut());
        }
    }

    /// An unknown value that is made of two, if one of them has constants in the ranges.
    pub fn near(&self, one: &Value, other: &Value) -> Option<Value> {
        let mut ledger = self.0.as_ref()?.borrow_mut();
        let mut bases: BTreeSet<u64> = BTreeSet::new();
        for value in [one, other] {
            ledger.lose_bits(value);
        }
        for value in [one, other] {
            match value {
                Value::Listed(numbers) => {
                    bases.extend(numbers.iter().filter(|number| ledger.is_near(**number)));
                }
                Value::Near(numbers) => bases.extend(numbers.iter()),
                _ => ledger.index(value),
            }
        }
        if bases.len() > MOST_BASES {
            ledger.indexed.extend(bases);
            return None;
        }
        (!bases.is_empty()).then(|| Value::Near(bases.into_iter().collect()))
    }

    /// True if there is a ledger.
    pub fn is_kept(&self) -> bool {
        self.0.is_some()
    }
}

/// Constants whose use is not followed, and stores to known addresses, in the walk of a program.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Sections with variables.
    ranges: Vec<(u64, u64)>,
    lost: BTreeSet<u64>,
    indexed: BTreeSet<u64>,
    spans: BTreeSet<(u64, u64)>,
    stores: BTreeMap<u64, Stores>,
    /// Addresses of words beside code that are read as constants.
    pub literals: BTreeSet<u64>,
    /// Sections with code.
    code_ranges: Vec<(u64, u64)>,
    /// Addresses in sections with code that go where they are not followed.
    pub lost_code: BTreeSet<u64>,
    /// True if an address of a bit in the alias of RAM goes where it is not followed.
    has_lost_bit: bool,
    /// True if a function uses a register that is no argument as its caller has left it.
    pub has_hidden_arguments: bool,
}

impl Ledger {
    /// Follows addresses in these sections with code, too.
    pub fn follow_code(&mut self, ranges: Vec<(u64, u64)>) {
        self.code_ranges = ranges;
    }

    /// A ledger of constants in these ranges.
    pub fn new(ranges: Vec<(u64, u64)>) -> Self {
        Self { ranges, ..Self::default() }
    }

    /// True if variables have aliases of their bits, as far as the ranges tell.
    fn has_bit_band(&self) -> bool {
        let meets = |(low, high): (u64, u64)| {
            self.ranges.iter().any(|(start, end)| *start < high && low < *end)
        };
        meets(BIT_BAND) && !meets(BIT_BAND_ALIAS)
    }

    /// The byte of RAM whose bit an address is the alias of.
    fn bit_byte(&self, number: u64) -> Option<u64> {
        let is_alias = (BIT_BAND_ALIAS.0..BIT_BAND_ALIAS.1).contains(&number);
        let byte = BIT_BAND.0 + number.saturating_sub(BIT_BAND_ALIAS.0) / 32;
        (is_alias && self.has_bit_band()).then_some(byte)
    }

    /// Notes addresses of bits that go where they are not followed.
    fn lose_bits(&mut self, value: &Value) {
        let (low, high) = match value {
            Value::Listed(numbers) | Value::Near(numbers) => {
                self.has_lost_bit |= numbers.iter().any(|number| self.bit_byte(*number).is_some());
                return;
            }
            Value::Span { low, step, count } if is_exact(value) => {
                (*low, low.saturating_add(step.saturating_mul(count - 1)))
            }
            // A wide span is a number, unless it begins in the alias.
            Value::Span { low, .. } => (*low, *low),
            _ => return,
        };
        self.has_lost_bit |=
            low < BIT_BAND_ALIAS.1 && BIT_BAND_ALIAS.0 <= high && self.has_bit_band();
    }

    /// Notes addresses of code that go where they are not followed.
    fn lose_code(&mut self, value: &Value) {
        let Some(numbers) = value.numbers(MOST_ADDRESSES) else { return };
        let is_code = |address: &u64| {
            self.code_ranges.iter().any(|(start, end)| (*start..*end).contains(address))
        };
        let found: Vec<u64> = numbers.into_iter().filter(is_code).collect();
        self.lost_code.extend(found);
    }

    fn is_inside(&self, number: u64) -> bool {
        self.ranges.iter().any(|(start, end)| (*start..=*end).contains(&number))
    }

    /// True if a number may be an address in the ranges minus an index.
    fn is_near(&self, number: u64) -> bool {
        self.ranges.iter().any(|(start, end)| {
            number.saturating_add(NEAR_BYTES) >= *start && number <= end.saturating_add(NEAR_BYTES)
        })
    }

    fn span(&self, value: &Value) -> Option<(u64, u64)> {
        let Value::Span { low, step, count } = value else { return None };
        if !is_exact(value) {
            return None;
        }
        let (low, high) = (*low, low + step * (count - 1));
        let meets = |(start, end): &(u64, u64)| low <= *end && *start <= high;
        self.ranges.iter().any(meets).then_some((low, high))
    }

    /// True if a number of a value is in the ranges.
    pub fn has_address(&self, value: &Value) -> bool {
        match value {
            Value::Listed(numbers) => numbers.iter().any(|number| self.is_inside(*number)),
            _ => self.span(value).is_some(),
        }
    }

    /// Notes a value that goes to a place that is not followed, as it is.
    pub fn lose(&mut self, value: &Value) {
        self.lose_bits(value);
        self.lose_code(value);
        match value {
            Value::Listed(numbers) => {
                let inside: Vec<u64> =
                    numbers.iter().copied().filter(|number| self.is_inside(*number)).collect();
                self.lost.extend(inside);
            }
            Value::Near(numbers) => self.indexed.extend(numbers.iter()),
            _ => self.spans.extend(self.span(value)),
        }
    }

    /// Notes a value of which an unknown one is made, such as the sum with an unknown index.
    pub fn index(&mut self, value: &Value) {
        self.lose_bits(value);
        self.lose_code(value);
        match value {
            Value::Listed(numbers) => {
                let inside: Vec<u64> =
                    numbers.iter().copied().filter(|number| self.is_near(*number)).collect();
                self.indexed.extend(inside);
            }
            Value::Near(numbers) => self.indexed.extend(numbers.iter()),
            _ => self.spans.extend(self.span(value)),
        }
    }

    /// Notes a store at known addresses.
    pub fn store(&mut self, at: &Value, bytes: u8, value: &Value) {
        let Some(addresses) = at.numbers(MOST_ADDRESSES) else {
            self.index(at);
            return;
        };
        // Memory holds the low bytes of the register alone.
        let low = |number: u64| number & mask_of(bytes);
        let numbers = value.numbers(MOST_VALUES as u64);
        let numbers = numbers.map(|all| all.into_iter().map(low).collect());
        let stores = Stores { bytes, numbers };
        for address in addresses {
            let (address, stores) = match self.bit_byte(address) {
                Some(byte) => (byte, Stores { bytes: 1, numbers: None }),
                None => (address, stores.clone()),
            };
            self.stores
                .entry(address)
                .and_modify(|known| known.extend(&stores))
                .or_insert_with(|| stores.clone());
        }
    }
}

/// Variables whose values are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    /// Ranges of addresses that no pointer leads to, without overlaps, in order.
    ranges: Vec<(u64, u64)>,
    stores: BTreeMap<u64, Stores>,
}

/// The parts of memory that one object or the gap between two of them takes.
pub struct Extents {
    /// First addresses, in order; the last one is the end.
    edges: Vec<u64>,
}

impl Extents {
    /// Divides sections into the objects in them and the gaps between.
    pub fn new(sections: &[(u64, u64)], mut objects: Vec<(u64, u64)>) -> Self {
        objects.sort_unstable();
        let mut edges: BTreeSet<u64> =
            sections.iter().flat_map(|section| [section.0, section.1]).collect();
        let mut last: Option<(u64, u64)> = None;
        for (start, end) in objects {
            match &mut last {
                // Objects that overlap are one.
                Some((_, before)) if start < *before => *before = (*before).max(end),
                _ => {
                    edges.extend(last.into_iter().flat_map(|object| [object.0, object.1]));
                    last = Some((start, end));
                }
            }
        }
        edges.extend(last.into_iter().flat_map(|object| [object.0, object.1]));
        Self { edges: edges.into_iter().collect() }
    }

    /// The extents that a range of addresses, both included, meets.
    fn meeting(&self, low: u64, high: u64) -> impl Iterator<Item = (u64, u64)> {
        let first = self.edges.partition_point(|edge| *edge <= low).saturating_sub(1);
        self.edges[first..]
            .windows(2)
            .map(|pair| (pair[0], pair[1]))
            .take_while(move |(start, _)| *start <= high)
            .filter(move |(_, end)| low < *end)
    }
}

impl Variables {
    /// All that lies in RAM, with the numbers of the file alone.
    pub fn unwritten(extents: &Extents) -> Self {
        let pairs = extents.edges.windows(2).map(|pair| (pair[0], pair[1]));
        Self { ranges: pairs.collect(), stores: BTreeMap::new() }
    }

    /// The variables that are left of these behind a walk in which they were taken for known.
    /// `words` are numbers in memory that may be addresses.
    pub fn behind(&self, notes: &Notes, extents: &Extents, words: &BTreeSet<u64>) -> Self {
        let Some(ledger) = &notes.0 else { return Self::default() };
        let ledger = ledger.borrow();
        let mut reached: BTreeSet<(u64, u64)> = BTreeSet::new();
        for number in ledger.lost.iter().chain(words) {
            // The address behind an object is one of it, too.
            reached.extend(extents.meeting(number.saturating_sub(1), *number));
        }
        for number in &ledger.indexed {
            let (low, high) =
                (number.saturating_sub(NEAR_BYTES), number.saturating_add(NEAR_BYTES));
            reached.extend(extents.meeting(low, high));
        }
        for (low, high) in &ledger.spans {
            reached.extend(extents.meeting(low.saturating_sub(1), *high));
        }
        let mut left = self.with_stores(notes);
        let has_none = ledger.has_hidden_arguments || ledger.has_lost_bit;
        left.ranges.retain(|range| !reached.contains(range) && !has_none);
        left
    }

    /// These variables with the stores of a walk, too.
    pub fn with_stores(&self, notes: &Notes) -> Self {
        let mut all = self.clone();
        let Some(ledger) = &notes.0 else { return all };
        for (address, stores) in &ledger.borrow().stores {
            all.stores
                .entry(*address)
                .and_modify(|known| known.extend(stores))
                .or_insert_with(|| stores.clone());
        }
        all
    }

    /// The same variables with the numbers of the file alone.
    pub fn without_stores(self) -> Self {
        Self { stores: BTreeMap::new(), ..self }
    }

    /// True if no pointer leads to any of the bytes.
    fn is_known(&self, at: u64, bytes: u8) -> bool {
        let place = self.ranges.partition_point(|(start, _)| *start <= at);
        let Some((_, end)) = place.checked_sub(1).map(|place| self.ranges[place]) else {
            return false;
        };
        at.saturating_add(u64::from(bytes)) <= end
    }

    /// The numbers that a variable may hold; `initial` is the one in the file.
    pub fn values(&self, at: u64, bytes: u8, initial: u64) -> Option<Vec<u64>> {
        if !self.is_known(at, bytes) {
            return None;
        }
        let mut values = vec![initial];
        let end = at.saturating_add(u64::from(bytes));
        for (address, stores) in self.stores.range(at.saturating_sub(128)..end) {
            if address.saturating_add(u64::from(stores.bytes)) <= at {
                continue;
            }
            if *address != at || stores.bytes != bytes {
                return None;
            }
            values.extend(stores.numbers.as_ref()?);
        }
        Some(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extents() -> Extents {
        Extents::new(
            &[(0x1000, 0x9000)],
            vec![(0x1000, 0x1004), (0x1004, 0x1010), (0x8000, 0x8004)],
        )
    }

    fn variables(fill: impl FnOnce(&mut Ledger)) -> Variables {
        let notes = Notes::new(vec![(0x1000, 0x9000)]);
        notes.note(fill);
        Variables::unwritten(&extents()).behind(&notes, &extents(), &BTreeSet::new())
    }

    #[test]
    fn a_variable_holds_its_initial_number_or_a_stored_one() {
        let known = variables(|ledger| {
            ledger.store(&Value::number(0x1004), 4, &Value::number(7));
        });
        assert_eq!(known.values(0x1004, 4, 3), Some(vec![3, 7]));
        assert_eq!(known.values(0x1004, 2, 3), None);
        assert_eq!(known.values(0x1000, 4, 3), Some(vec![3]));
        let unknown = variables(|ledger| ledger.store(&Value::number(0x1004), 4, &Value::Any));
        assert_eq!(unknown.values(0x1004, 4, 3), None);
    }

    #[test]
    fn a_narrow_store_puts_its_low_bytes_into_a_variable() {
        let minus_one = Value::number(0xffff_ffff_ffff_ffff);
        for (bytes, held) in [(1, 0xff), (2, 0xffff), (4, 0xffff_ffff), (8, u64::MAX)] {
            let known = variables(|ledger| {
                ledger.store(&Value::number(0x1004), bytes, &minus_one);
            });
            assert_eq!(known.values(0x1004, bytes, 3), Some(vec![3, held]), "{bytes}");
        }
    }

    #[test]
    fn a_store_to_the_alias_of_a_bit_writes_its_byte() {
        let sections = [(0x2000_0000, 0x2000_1000)];
        let extents = Extents::new(&sections, vec![(0x2000_0004, 0x2000_0008)]);
        let behind = |fill: &dyn Fn(&mut Ledger)| {
            let notes = Notes::new(sections.to_vec());
            notes.note(fill);
            Variables::unwritten(&extents).behind(&notes, &extents, &BTreeSet::new())
        };
        // Bit 3 of the byte at 0x20000005.
        let alias = Value::number(0x2200_0000 + 5 * 32 + 3 * 4);
        let known = behind(&|ledger| ledger.store(&alias, 4, &Value::number(1)));
        assert_eq!(known.values(0x2000_0004, 4, 3), None);
        assert_eq!(known.values(0x2000_0010, 4, 3), Some(vec![3]));
        let known = behind(&|ledger| ledger.index(&alias));
        assert_eq!(known.values(0x2000_0010, 4, 3), None);
    }

    #[test]
    fn a_lost_address_reaches_its_object_and_the_one_that_ends_there() {
        let known = variables(|ledger| ledger.lose(&Value::number(0x1004)));
        assert_eq!(known.values(0x1004, 4, 3), None);
        assert_eq!(known.values(0x1000, 4, 3), None);
        assert_eq!(known.values(0x8000, 4, 3), Some(vec![3]));
    }

    #[test]
    fn an_indexed_address_reaches_what_is_near() {
        let known = variables(|ledger| ledger.index(&Value::number(0x1008)));
        assert_eq!(known.values(0x1000, 4, 3), None);
        assert_eq!(known.values(0x8000, 4, 3), Some(vec![3]));
        let known = variables(|ledger| ledger.index(&Value::number(0x7000)));
        assert_eq!(known.values(0x8000, 4, 3), None);
    }
}
