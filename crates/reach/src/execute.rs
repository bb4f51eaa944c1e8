//! The effect of an instruction on a state: what it computes, reads and writes.

use crate::arithmetic::Arithmetic;
use crate::decode::Convention;
use crate::instruction::{Address, Expression, Operand, Operation, Operator, Register, Shift};
use crate::program::{Memory, Program};
use crate::state::{Cell, Identity, State};
use crate::value::{Value, is_exact, mask_of};
use crate::variables::Variables;

/// Most addresses of an access that are looked at one by one.
pub const MOST_ADDRESSES: u64 = 4096;

/// An access to memory that is not known to be RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Access {
    /// An access to flash. It is certain if the instruction has no other address.
    Flash { address: u64, is_certain: bool, is_write: bool },
    /// A read at an address that is not known.
    Pointer,
    /// A read at an address where the file has no memory.
    Nowhere { address: u64 },
    /// A write of code or constants in RAM, whose values are taken from the file.
    Constant { address: u64 },
}

/// Executes operations of instructions.
pub struct Executor<'a> {
    pub program: &'a Program,
    pub arithmetic: &'a Arithmetic,
    pub convention: Convention,
    /// Variables in RAM whose values are known.
    pub variables: &'a [Variables],
}

impl Executor<'_> {
    /// Executes an operation. `identity` is a new one for its result.
    pub fn execute(
        &self,
        state: &mut State,
        operation: &Operation,
        identity: Identity,
        accesses: &mut Vec<Access>,
    ) {
        match operation {
            Operation::Assign(to, expression) => self.assign(state, *to, *expression, identity),
            Operation::Load { to, at, bytes, is_signed } => {
                let is_literal = at.base.is_none();
                let at = self.address(state, at);
                let cell =
                    self.load(state, &at, *bytes, *is_signed, is_literal, identity, accesses);
                if let Some(to) = to {
                    self.put(state, *to, cell, identity);
                }
            }
            Operation::Store { from, at, bytes } => {
                let at = self.address(state, at);
                let cell = match from {
                    Some(from) => state.identified(*from, identity),
                    None => Cell::of(Value::Any),
                };
                self.store(state, &at, *bytes, cell, accesses);
            }
            Operation::Compare(left, right) => {
                let left = state.identified(*left, identity);
                let right = match right {
                    Operand::Register(right) => state.identified(*right, identity + 1),
                    operand => Cell::of(self.operand(state, operand)),
                };
                state.compare(Some((left, right)));
            }
            Operation::Flags => state.compare(None),
            Operation::Lose(register) => {
                state.is_escaped |= is_stack_value(state.value(*register));
                self.arithmetic.notes.note(|ledger| ledger.index(state.value(*register)));
            }
        }
    }

    fn put(&self, state: &mut State, to: Register, cell: Cell, identity: Identity) {
        if cell.identity == 0 {
            state.set(to, cell.value, identity);
        } else {
            state.copy(to, cell);
        }
        if to == self.convention.stack
            && let Value::Stack(Some(at)) = *state.value(to)
        {
            state.pop_to(at);
        }
    }

    fn assign(&self, state: &mut State, to: Register, expression: Expression, identity: Identity) {
        if let Expression::Operand(Operand::Register(from)) = expression {
            let cell = state.identified(from, identity);
            self.put(state, to, cell, identity);
            return;
        }
        let value = self.value(state, expression);
        let is_stack = |register: &Register| matches!(state.value(*register), Value::Stack(_));
        let is_frame = |register: Register| matches!(state.value(register), Value::Stack(_));
        let value = match expression {
            // A frame of a length that is not known.
            Expression::Binary(Operator::Subtract, from, _)
                if to == self.convention.stack && is_frame(from) && !is_stack_value(&value) =>
            {
                Value::Stack(None)
            }
            _ => value,
        };
        let is_number = matches!(value, Value::Stack(_) | Value::Listed(_));
        if !is_number && inputs(expression).iter().any(is_stack) {
            state.is_escaped = true;
        }
        self.put(state, to, Cell::of(value), identity);
    }

    fn operand(&self, state: &State, operand: &Operand) -> Value {
        match *operand {
            Operand::Register(register) => state.value(register).clone(),
            Operand::Constant(number) => Value::number(number),
            Operand::Shifted(register, shift, by) => {
                let by = Value::number(by.into());
                let value = state.value(register);
                if shift == Shift::Rotation {
                    self.arithmetic.notes.note(|ledger| ledger.index(value));
                    Value::Any
                } else {
                    self.arithmetic.binary(Operator::Shift(shift), value, &by)
                }
            }
        }
    }

    fn value(&self, state: &State, expression: Expression) -> Value {
        let all = self.arithmetic.mask;
        let low = |value: &Value, bits: u8| {
            if bits >= 64 {
                return value.clone();
            }
            self.arithmetic.binary(Operator::And, value, &Value::number((1 << bits) - 1))
        };
        match expression {
            Expression::Constant(number) => Value::number(number),
            Expression::Operand(operand) => self.operand(state, &operand),
            // A multiplication by a constant, such as 8 * r - r.
            Expression::Binary(
                Operator::Subtract | Operator::ReverseSubtract | Operator::Add,
                left,
                Operand::Shifted(right, Shift::Left, _),
            ) if left == right && state.value(left).numbers(MOST_ADDRESSES).is_none() => {
                self.arithmetic.notes.note(|ledger| ledger.index(state.value(left)));
                Value::Number
            }
            Expression::Binary(operator, left, right) => {
                let right = self.operand(state, &right);
                self.arithmetic.binary(operator, state.value(left), &right)
            }
            Expression::Narrow(operator, left, right) => {
                let right = self.operand(state, &right);
                let sum = self.arithmetic.binary(operator, state.value(left), &right);
                match sum.numbers(MOST_ADDRESSES) {
                    Some(numbers) => Value::listed(
                        numbers
                            .into_iter()
                            .map(|number| i64::from(number as u32 as i32) as u64)
                            .collect(),
                    ),
                    None => match sum.bounds(all) {
                        Some((_, high)) if high < 1 << 31 => sum,
                        _ if matches!(sum, Value::Computed | Value::Number) => sum,
                        _ => {
                            self.arithmetic.notes.note(|ledger| ledger.index(&sum));
                            Value::Any
                        }
                    },
                }
            }
            Expression::Insert(register, bits) => match state.value(register) {
                Value::Listed(numbers) => {
                    Value::listed(numbers.iter().map(|number| (number & 0xffff) | bits).collect())
                }
                _ => {
                    let any = Value::Span { low: bits, step: 1, count: 1 << 16 };
                    self.arithmetic.notes.note(|ledger| ledger.index(&any));
                    Value::Any
                }
            },
            Expression::Low(register, bits) => low(state.value(register), bits),
            Expression::Bits(bits) => low(&Value::Any, bits),
            Expression::Unknown => Value::Any,
            Expression::Computed => Value::Computed,
            Expression::Number => Value::Number,
        }
    }

    /// The address of an access. A place in the frame that is not known lets the frame escape.
    fn address(&self, state: &mut State, at: &Address) -> Value {
        let value = self.address_value(state, at);
        let index = at.index.and_then(|index| match index {
            Operand::Register(register) | Operand::Shifted(register, ..) => Some(register),
            Operand::Constant(_) => None,
        });
        let is_frame = |register: Register| is_stack_value(state.value(register));
        if !is_stack_value(&value) && at.base.into_iter().chain(index).any(is_frame) {
            state.is_escaped = true;
        }
        value
    }

    fn address_value(&self, state: &State, at: &Address) -> Value {
        let offset = Value::number(at.offset as u64 & self.arithmetic.mask);
        let mut value = match at.base {
            Some(base) => self.arithmetic.binary(Operator::Add, state.value(base), &offset),
            None => offset.clone(),
        };
        if let Some(index) = at.index {
            let operator = if at.is_index_negative { Operator::Subtract } else { Operator::Add };
            let index = self.operand(state, &index);
            // The offset may belong to either, as in a table whose least index is not 0.
            value = match at.base {
                Some(base) => {
                    let sum = self.arithmetic.binary(operator, state.value(base), &index);
                    self.arithmetic.binary(Operator::Add, &sum, &offset)
                }
                None => self.arithmetic.binary(operator, &value, &index),
            };
        }
        value
    }

    #[allow(clippy::too_many_arguments)]
    fn load(
        &self,
        state: &mut State,
        at: &Value,
        bytes: u8,
        is_signed: bool,
        is_literal: bool,
        identity: Identity,
        accesses: &mut Vec<Access>,
    ) -> Cell {
        if !is_exact(at) && (state.is_escaped || *at == Value::Stack(None)) {
            state.show_slots();
        }
        self.note_hidden(at);
        let unknown = if is_signed || bytes >= self.convention.word {
            Value::Any
        } else {
            Value::span(0, mask_of(bytes), 1, self.arithmetic.mask)
        };
        match at {
            Value::Stack(Some(at)) => match state.slot(*at, bytes, identity) {
                Some(cell) => self.extended(cell, bytes, is_signed),
                None => Cell::of(unknown),
            },
            Value::Stack(None) => {
                state.is_escaped |= state.holds_address();
                Cell::of(unknown)
            }
            Value::Memory | Value::Given(..) => Cell::of(unknown),
            Value::Constants(base) => {
                accesses.push(Access::Flash { address: *base, is_certain: true, is_write: false });
                Cell::of(unknown)
            }
            _ => match at.numbers(MOST_ADDRESSES) {
                Some(numbers) => {
                    self.classify(&numbers, bytes, false, accesses);
                    // A word that is written is a variable, whose contents are followed elsewhere.
                    if is_literal
                        && let [at] = numbers[..]
                        && self.program.constant(at, bytes, true).is_some()
                    {
                        self.arithmetic.notes.note(|ledger| {
                            ledger.literals.insert(at);
                        });
                    }
                    let read =
                        |address: &u64| self.contents(*address, bytes, is_signed, is_literal);
                    let values: Option<Vec<Vec<u64>>> = numbers.iter().map(read).collect();
                    Cell::of(values.map_or(unknown, |values| Value::listed(values.concat())))
                }
                None => {
                    self.classify_wide(at, accesses);
                    Cell::of(unknown)
                }
            },
        }
    }

    /// A number that was stored in `bytes`, as it is read.
    fn extended(&self, cell: Cell, bytes: u8, is_signed: bool) -> Cell {
        if bytes >= self.convention.word || !is_signed {
            return cell;
        }
        match cell.value.bounds(self.arithmetic.mask) {
            Some((_, high)) if high <= mask_of(bytes) / 2 => cell,
            _ => match cell.value.numbers(MOST_ADDRESSES) {
                Some(numbers) => {
                    let numbers =
                        numbers.into_iter().map(|number| self.sign_extended(number, bytes));
                    Cell::of(Value::listed(numbers.collect()))
                }
                None => Cell::of(Value::Any),
            },
        }
    }

    fn sign_extended(&self, number: u64, bytes: u8) -> u64 {
        if bytes >= 8 {
            return number;
        }
        let unused = 64 - 8 * u32::from(bytes);
        (((number << unused) as i64) >> unused) as u64 & self.arithmetic.mask
    }

    /// The numbers that memory may hold at an address, if all of them are known.
    fn contents(&self, at: u64, bytes: u8, is_signed: bool, is_literal: bool) -> Option<Vec<u64>> {
        let numbers = match self.program.constant(at, bytes, is_literal) {
            Some(number) => vec![number],
            None => {
                let initial = self.program.initial(at, bytes)?;
                self.variables.iter().find_map(|known| known.values(at, bytes, initial))?
            }
        };
        let extend = |number: u64| {
            let low = number & mask_of(bytes);
            if is_signed { self.sign_extended(low, bytes) } else { low }
        };
        Some(numbers.into_iter().map(extend).collect())
    }

    /// Notes the use of a register that is no argument as an address.
    fn note_hidden(&self, at: &Value) {
        if matches!(at, Value::Initial(_)) {
            self.arithmetic.notes.note(|ledger| ledger.has_hidden_arguments = true);
        }
    }

    /// Notes a store: what it writes goes to a place that is not followed.
    fn note_store(&self, at: &Value, bytes: u8, value: &Value) {
        self.note_hidden(at);
        if !is_stack_value(at) {
            self.note_hidden(value);
        }
        self.arithmetic.notes.note(|ledger| {
            if bytes < self.convention.word
                && value.bounds(self.arithmetic.mask).is_some_and(|(_, high)| high > mask_of(bytes))
            {
                ledger.index(value);
            }
            if !matches!(at, Value::Stack(Some(at)) if *at < 0) {
                ledger.lose(value);
            }
            ledger.store(at, bytes, value);
        });
    }

    /// Records the accesses to addresses that are not RAM.
    fn classify(&self, numbers: &[u64], bytes: u8, is_write: bool, accesses: &mut Vec<Access>) {
        let memory = |address: &u64| {
            let last = address.saturating_add(u64::from(bytes) - 1);
            match (self.program.memory_at(*address), self.program.memory_at(last)) {
                (first, last) if first == last => first,
                (Memory::Flash, _) | (_, Memory::Flash) => Memory::Flash,
                _ => Memory::Unknown,
            }
        };
        let is = |kind: Memory| move |address: &&u64| memory(address) == kind;
        let in_flash: Vec<u64> = numbers.iter().filter(is(Memory::Flash)).copied().collect();
        if let Some(address) = in_flash.first() {
            let is_certain = in_flash.len() == numbers.len();
            accesses.push(Access::Flash { address: *address, is_certain, is_write });
        }
        if !is_write && let Some(address) = numbers.iter().find(is(Memory::Unknown)) {
            accesses.push(Access::Nowhere { address: *address });
        }
    }

    /// Records a read at one of more addresses than are looked at one by one.
    fn classify_wide(&self, at: &Value, accesses: &mut Vec<Access>) {
        let Value::Span { .. } = at else {
            accesses.push(Access::Pointer);
            return;
        };
        let Some((low, high)) = at.bounds(self.arithmetic.mask) else { return };
        match (self.program.section_at(low), self.program.section_at(high)) {
            (Some(first), Some(last))
                if first.start == last.start && !self.program.is_split(low, high) =>
            {
                if self.program.memory_at(low) != Memory::Ram {
                    let access = Access::Flash { address: low, is_certain: true, is_write: false };
                    accesses.push(access);
                }
            }
            _ => accesses.push(Access::Pointer),
        }
    }

    /// True if a value may be the address of code.
    fn may_be_code(&self, value: &Value) -> bool {
        match value {
            Value::Listed(numbers) => numbers.iter().any(|number| {
                let section = self.program.section_at(self.program.plain(*number));
                section.is_some_and(|section| section.is_code)
            }),
            Value::Any
            | Value::Computed
            | Value::Number
            | Value::Span { .. }
            | Value::Return
            | Value::Near(_)
            | Value::Initial(_) => true,
            Value::Stack(_) | Value::Memory | Value::Given(..) | Value::Constants(_) => false,
        }
    }

    fn store(
        &self,
        state: &mut State,
        at: &Value,
        bytes: u8,
        cell: Cell,
        accesses: &mut Vec<Access>,
    ) {
        self.note_store(at, bytes, &cell.value);
        if let Value::Stack(Some(at)) = at {
            let cell = if bytes >= self.convention.word {
                cell
            } else {
                let mask = mask_of(bytes);
                let fits =
                    cell.value.bounds(self.arithmetic.mask).is_some_and(|(_, high)| high <= mask);
                if fits {
                    cell
                } else {
                    let value = match cell.value.numbers(MOST_ADDRESSES) {
                        Some(numbers) => {
                            Value::listed(numbers.iter().map(|number| number & mask).collect())
                        }
                        None => Value::span(0, mask, 1, self.arithmetic.mask),
                    };
                    state.is_escaped |= matches!(cell.value, Value::Stack(_));
                    Cell::of(value)
                }
            };
            state.put(*at, bytes, cell);
            return;
        }
        state.is_escaped |= matches!(cell.value, Value::Stack(_));
        if let Some(numbers) = at.numbers(MOST_ADDRESSES) {
            self.classify(&numbers, bytes, true, accesses);
            let is_constant = |address: &&u64| {
                self.program.memory_at(**address) == Memory::Ram
                    && self.program.constant(**address, 1, false).is_some()
            };
            if let Some(address) = numbers.iter().find(is_constant) {
                accesses.push(Access::Constant { address: *address });
            }
        }
        let is_pointer = at.numbers(MOST_ADDRESSES).is_none() && !is_stack_value(at);
        if is_pointer {
            state.forget_passed();
        }
        if let Value::Given(argument, at) = *at {
            // The caller knows which of its words that is.
            state.write_given(argument, at, bytes);
        }
        let writes_code_address = is_pointer
            && bytes >= self.convention.word
            && self.may_be_code(&cell.value)
            && !matches!(at, Value::Given(..));
        state.writes_code_address |= writes_code_address;
        if state.is_escaped && writes_code_address {
            state.forget_all();
        } else if state.is_escaped || matches!(at, Value::Stack(None)) {
            state.forget_objects(self.convention.preserved);
        }
    }
}

fn is_stack_value(value: &Value) -> bool {
    matches!(value, Value::Stack(_))
}

/// The registers that an expression reads.
fn inputs(expression: Expression) -> Vec<Register> {
    let of_operand = |operand: Operand| match operand {
        Operand::Register(register) | Operand::Shifted(register, ..) => Some(register),
        Operand::Constant(_) => None,
    };
    match expression {
        Expression::Operand(operand) => of_operand(operand).into_iter().collect(),
        Expression::Binary(_, left, right) | Expression::Narrow(_, left, right) => {
            std::iter::once(left).chain(of_operand(right)).collect()
        }
        Expression::Insert(register, _) | Expression::Low(register, _) => vec![register],
        Expression::Constant(_)
        | Expression::Bits(_)
        | Expression::Unknown
        | Expression::Computed
        | Expression::Number => Vec::new(),
    }
}
