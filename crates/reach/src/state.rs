//! The registers and the stack of a function before an instruction, as far as they are known.

use std::collections::BTreeMap;

use crate::arithmetic::Arithmetic;
use crate::instruction::{Condition, Operand, REGISTERS, Register, Relation};
use crate::value::Value;
use crate::variables::Notes;

/// The identity of a value: cells with the same one hold the same number. 0 is none.
pub type Identity = u64;

/// A register, or a word on the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    pub value: Value,
    pub identity: Identity,
}

impl Cell {
    /// A cell without an identity.
    pub fn of(value: Value) -> Self {
        Self { value, identity: 0 }
    }
}

/// A number on the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    pub bytes: u8,
    pub cell: Cell,
    /// True if others may have written it, and only its constants are followed.
    is_kept: bool,
}

/// The state of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    pub registers: Vec<Cell>,
    /// Words of the stack by their distance from the stack pointer at the entry.
    slots: BTreeMap<i64, Slot>,
    /// The operands of the last comparison.
    compared: Option<(Cell, Cell)>,
    /// True if the address of something on the stack may be in memory or in another function.
    pub is_escaped: bool,
    /// Bytes above the stack pointer at the entry that the function may have written: its arguments
    /// on the stack.
    pub writes_caller: i64,
    /// True if the function may have written an address of code through a pointer.
    pub writes_code_address: bool,
    /// The words that the function may have written at the addresses that its arguments hold, from a
    /// distance to another one, by argument.
    pub writes_given: BTreeMap<u8, (i64, i64)>,
    notes: Notes,
}

/// Extends the range of an argument.
pub fn extend(ranges: &mut BTreeMap<u8, (i64, i64)>, argument: u8, range: (i64, i64)) {
    let whole = ranges.entry(argument).or_insert(range);
    *whole = (whole.0.min(range.0), whole.1.max(range.1));
}

impl State {
    /// The state at the entry of a function.
    pub fn new(registers: Vec<Cell>, notes: Notes) -> Self {
        debug_assert_eq!(registers.len(), REGISTERS);
        Self {
            registers,
            slots: BTreeMap::new(),
            compared: None,
            is_escaped: false,
            writes_caller: 0,
            writes_code_address: false,
            writes_given: BTreeMap::new(),
            notes,
        }
    }

    /// The value of a register.
    pub fn value(&self, register: Register) -> &Value {
        &self.registers[usize::from(register)].value
    }

    /// Puts a new value into a register.
    pub fn set(&mut self, register: Register, value: Value, identity: Identity) {
        self.retire(identity);
        self.registers[usize::from(register)] = Cell { value, identity };
    }

    /// Copies a cell into a register.
    pub fn copy(&mut self, register: Register, cell: Cell) {
        self.registers[usize::from(register)] = cell;
    }

    /// The identity of the value of a register.
    pub fn identity(&self, register: Register) -> Identity {
        self.registers[usize::from(register)].identity
    }

    /// The cell of a register, which gets an identity if it has none.
    pub fn identified(&mut self, register: Register, identity: Identity) -> Cell {
        if self.registers[usize::from(register)].identity == 0 {
            self.retire(identity);
            self.registers[usize::from(register)].identity = identity;
        }
        self.registers[usize::from(register)].clone()
    }

    fn retire(&mut self, identity: Identity) {
        let slots = self.slots.values_mut().map(|slot| &mut slot.cell);
        for cell in self.registers.iter_mut().chain(slots) {
            if cell.identity == identity {
                cell.identity = 0;
            }
        }
        if let Some((left, right)) = &mut self.compared {
            for cell in [left, right] {
                if cell.identity == identity {
                    cell.identity = 0;
                }
            }
        }
    }

    /// Remembers the operands of a comparison; `None` if the flags have another meaning.
    pub fn compare(&mut self, operands: Option<(Cell, Cell)>) {
        self.compared = operands;
    }

    /// The number of `bytes` on the stack at a distance, if it is known. It gets an identity.
    pub fn slot(&mut self, at: i64, bytes: u8, identity: Identity) -> Option<Cell> {
        if self.slots.get(&at).is_some_and(|slot| slot.bytes == bytes && slot.cell.identity == 0) {
            self.retire(identity);
            if let Some(slot) = self.slots.get_mut(&at) {
                slot.cell.identity = identity;
            }
        }
        if let Some(slot) = self.slots.get(&at)
            && slot.bytes == bytes
        {
            return Some(slot.cell.clone());
        }
        // A part of an address on the stack is read.
        let is_address = |(place, slot): (&i64, &Slot)| {
            *place < at + i64::from(bytes)
                && at < *place + i64::from(slot.bytes)
                && matches!(slot.cell.value, Value::Stack(_))
        };
        self.is_escaped |= self.slots.iter().any(is_address);
        let end = at.saturating_add(i64::from(bytes));
        self.lose_slots(|place, slot| place < end && at < place + i64::from(slot.bytes));
        None
    }

    /// Notes that the numbers in some words of the stack go where they are not followed.
    fn lose_slots(&self, is_lost: impl Fn(i64, &Slot) -> bool) {
        self.notes.note(|ledger| {
            for (at, slot) in &self.slots {
                if is_lost(*at, slot) {
                    ledger.index(&slot.cell.value);
                }
            }
        });
    }

    /// A word of the stack that may hold another number by now, if its constants are followed.
    fn kept(&self, slot: &Slot) -> Option<Slot> {
        let value = self.notes.near(&slot.cell.value, &Value::Any)?;
        if !slot.is_kept {
            self.notes.note(|ledger| ledger.lose(&slot.cell.value));
        }
        Some(Slot { bytes: slot.bytes, cell: Cell::of(value), is_kept: true })
    }

    /// Forgets words of the stack that others may have written.
    fn forget_slots(&mut self, is_forgotten: impl Fn(i64, &Slot) -> bool) {
        let forgotten: Vec<i64> = self
            .slots
            .iter()
            .filter(|(at, slot)| is_forgotten(**at, slot))
            .map(|one| *one.0)
            .collect();
        for at in forgotten {
            if let Some(slot) = self.slots.remove(&at)
                && let Some(kept) = self.kept(&slot)
            {
                self.slots.insert(at, kept);
            }
        }
    }

    /// Notes that somebody else may read the stack: what others read are objects of C.
    pub fn show_slots(&self) {
        self.notes.note(|ledger| {
            for slot in self.slots.values().filter(|slot| !slot.is_kept) {
                ledger.lose(&slot.cell.value);
            }
        });
    }

    /// Notes that the numbers in all registers and on the stack go where they are not followed.
    pub fn show_all(&self) {
        self.show_slots();
        self.notes.note(|ledger| {
            for cell in &self.registers {
                ledger.lose(&cell.value);
            }
        });
    }

    /// Puts a number on the stack.
    pub fn put(&mut self, at: i64, bytes: u8, cell: Cell) {
        let end = at.saturating_add(i64::from(bytes));
        self.lose_slots(|place, slot| {
            let behind = place + i64::from(slot.bytes);
            place < end && at < behind && (place < at || end < behind)
        });
        self.slots.retain(|place, slot| *place >= end || place + i64::from(slot.bytes) <= at);
        self.slots.insert(at, Slot { bytes, cell, is_kept: false });
        self.writes_caller = self.writes_caller.max(end);
    }

    /// The value of a word on the stack, if it is known.
    pub fn word(&self, at: i64, bytes: u8) -> Option<&Value> {
        self.slots.get(&at).filter(|slot| slot.bytes == bytes).map(|slot| &slot.cell.value)
    }

    /// Puts a word on the stack that the caller has put there.
    pub fn pass(&mut self, at: i64, bytes: u8, cell: Cell) {
        self.slots.insert(at, Slot { bytes, cell, is_kept: false });
    }

    /// Forgets what the caller has put on the stack: others may have written it.
    pub fn forget_passed(&mut self) {
        let is_address =
            |(at, slot): (&i64, &Slot)| *at >= 0 && matches!(slot.cell.value, Value::Stack(_));
        self.is_escaped |= self.slots.iter().any(is_address);
        self.forget_slots(|at, slot| at + i64::from(slot.bytes) > 0);
    }

    /// Forgets what lies on the stack from a distance on, as far as a callee may have written it.
    pub fn overwrite(&mut self, at: i64, bytes: i64) {
        let end = at.saturating_add(bytes);
        let is_address = |(place, slot): (&i64, &Slot)| {
            *place < end && matches!(slot.cell.value, Value::Stack(_))
        };
        self.is_escaped |= self.slots.iter().any(is_address);
        self.forget_slots(|place, slot| place + i64::from(slot.bytes) > at && place < end);
        self.writes_caller = self.writes_caller.max(end);
    }

    /// Forgets what lies on the stack below a distance.
    pub fn pop_to(&mut self, at: i64) {
        self.slots.retain(|place, _| *place >= at);
    }

    /// Forgets what a store through a pointer may write: all but saved registers.
    pub fn forget_objects(&mut self, preserved: &[Register]) {
        let is_saved = |value: &Value| match value {
            Value::Return => true,
            Value::Initial(register) => preserved.contains(register),
            _ => false,
        };
        let is_address = |slot: &Slot| matches!(slot.cell.value, Value::Stack(_));
        self.is_escaped |= self.slots.values().any(is_address);
        self.forget_slots(|_, slot| !is_saved(&slot.cell.value));
    }

    /// Notes a write at a distance from the address that an argument holds.
    pub fn write_given(&mut self, argument: u8, at: i64, bytes: u8) {
        extend(&mut self.writes_given, argument, (at, at.saturating_add(i64::from(bytes))));
    }

    /// Forgets all that lies on the stack.
    pub fn forget_all(&mut self) {
        self.is_escaped |= self.holds_address();
        self.forget_slots(|_, _| true);
    }

    /// True if an address of the stack lies on the stack.
    pub fn holds_address(&self) -> bool {
        self.slots.values().any(|slot| matches!(slot.cell.value, Value::Stack(_)))
    }

    /// The state that comes of this one or `other`. With `widen`, values that grow become unknown
    /// soon.
    pub fn joined(&self, other: &Self, arithmetic: &Arithmetic, widen: bool) -> Self {
        let mut is_escaped = self.is_escaped || other.is_escaped;
        let mut both = |one: &Cell, two: &Cell| {
            let value = if widen {
                arithmetic.widened(&one.value, &two.value)
            } else {
                arithmetic.join(&one.value, &two.value)
            };
            let had_address = [one, two].iter().any(|cell| matches!(cell.value, Value::Stack(_)));
            is_escaped |= had_address && !matches!(value, Value::Stack(_));
            let identity = if one.identity == two.identity { one.identity } else { 0 };
            Cell { value, identity }
        };
        let registers =
            self.registers.iter().zip(&other.registers).map(|(one, two)| both(one, two)).collect();
        let mut slots = BTreeMap::new();
        for (at, slot) in &self.slots {
            if let Some(same) = other.slots.get(at)
                && same.bytes == slot.bytes
            {
                let cell = both(&slot.cell, &same.cell);
                slots.insert(
                    *at,
                    Slot { bytes: slot.bytes, cell, is_kept: slot.is_kept && same.is_kept },
                );
            }
        }
        let lost = |from: &Self| {
            let is_lost = |(at, slot): (&i64, &Slot)| {
                !slots.contains_key(at) && matches!(slot.cell.value, Value::Stack(_))
            };
            from.slots.iter().any(is_lost)
        };
        let is_lost = lost(self) || lost(other);
        for from in [self, other] {
            for (at, slot) in &from.slots {
                if !slots.contains_key(at)
                    && let Some(kept) = from.kept(slot)
                {
                    slots.insert(*at, kept);
                }
            }
        }
        let compared = if self.compared == other.compared { self.compared.clone() } else { None };
        Self {
            is_escaped: is_escaped || is_lost,
            writes_caller: self.writes_caller.max(other.writes_caller),
            writes_code_address: self.writes_code_address || other.writes_code_address,
            writes_given: {
                let mut writes = self.writes_given.clone();
                for (argument, range) in &other.writes_given {
                    extend(&mut writes, *argument, *range);
                }
                writes
            },
            registers,
            slots,
            compared,
            notes: self.notes.clone(),
        }
    }

    /// Gives the compared registers of a condition their identities.
    pub fn identify(&mut self, condition: &Condition, identity: Identity) {
        if let Some((left, right)) = condition.compared {
            self.identified(left, identity);
            if let Operand::Register(right) = right {
                self.identified(right, identity + 1);
            }
        }
    }

    /// The part of the state for which a condition may hold; `None` if there is none.
    pub fn refined(mut self, condition: &Condition, mask: u64) -> Option<Self> {
        let (left, right) = match condition.compared {
            None => match self.compared.clone() {
                Some(operands) => operands,
                None => return Some(self),
            },
            Some((left, right)) => {
                let left = self.registers[usize::from(left)].clone();
                let right = match right {
                    Operand::Register(right) => self.registers[usize::from(right)].clone(),
                    Operand::Constant(number) => Cell::of(Value::number(number)),
                    Operand::Shifted(..) => Cell::of(Value::Any),
                };
                (left, right)
            }
        };
        let relation = condition.relation;
        let new_left = left.value.related(relation, &right.value, mask)?;
        let new_right = right.value.related(relation.swapped(), &left.value, mask)?;
        self.restrict(left.identity, relation, &right.value, mask)?;
        self.restrict(right.identity, relation.swapped(), &left.value, mask)?;
        if condition.compared.is_none() {
            self.compared = Some((
                Cell { value: new_left, identity: left.identity },
                Cell { value: new_right, identity: right.identity },
            ));
        }
        Some(self)
    }

    fn restrict(
        &mut self,
        identity: Identity,
        relation: Relation,
        to: &Value,
        mask: u64,
    ) -> Option<()> {
        if identity == 0 {
            return Some(());
        }
        let slots = self.slots.values_mut().map(|slot| &mut slot.cell);
        for cell in self.registers.iter_mut().chain(slots) {
            if cell.identity == identity {
                cell.value = cell.value.related(relation, to, mask)?;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        let mut state = State::new(vec![Cell::of(Value::Any); REGISTERS], Notes::default());
        state.put(-4, 4, Cell::of(Value::Return));
        state.put(-8, 4, Cell::of(Value::Initial(4)));
        state.put(-12, 4, Cell::of(Value::number(1)));
        state
    }

    fn value(state: &mut State, at: i64) -> Option<Value> {
        state.slot(at, 4, 1).map(|cell| cell.value)
    }

    #[test]
    fn a_pointer_into_the_frame_spares_saved_registers_only_if_no_code_is_written() {
        let mut kept = state();
        kept.forget_objects(&[4]);
        assert_eq!(value(&mut kept, -4), Some(Value::Return));
        assert_eq!(value(&mut kept, -12), None);
        let mut lost = state();
        lost.forget_all();
        assert_eq!(value(&mut lost, -4), None);
    }

    #[test]
    fn a_callee_that_writes_above_its_entry_overwrites_that_much() {
        let mut state = state();
        state.overwrite(-12, 8);
        assert_eq!(value(&mut state, -12), None);
        assert_eq!(value(&mut state, -8), None);
        assert_eq!(value(&mut state, -4), Some(Value::Return));
        state.overwrite(-4, 8);
        assert_eq!(state.writes_caller, 4);
    }

    #[test]
    fn a_part_of_an_address_that_is_read_lets_the_frame_escape() {
        let mut state = state();
        state.put(-16, 4, Cell::of(Value::Stack(Some(-12))));
        assert!(!state.is_escaped);
        assert!(state.slot(-16, 1, 1).is_none());
        assert!(state.is_escaped);
    }

    #[test]
    fn a_condition_holds_for_all_copies_of_a_value() {
        let mut state = State::new(vec![Cell::of(Value::Any); REGISTERS], Notes::default());
        let cell = state.identified(0, 77);
        state.copy(1, cell.clone());
        state.put(-4, 4, cell.clone());
        state.set(0, Value::Any, 78);
        state.compare(Some((cell, Cell::of(Value::number(4)))));
        let state = state.refined(&Condition::of_flags(Relation::Below), 0xffff_ffff);
        let mut state = state.expect("the condition may hold");
        assert_eq!(state.value(1).bounds(0xffff_ffff), Some((0, 3)));
        assert_eq!(*state.value(0), Value::Any);
        assert_eq!(value(&mut state, -4).and_then(|one| one.bounds(9)), Some((0, 3)));
    }
}
