//! The values of registers and stack slots: numbers, and sums of a number and a symbolic base.
//!
//! One pass over the blocks in execution order finds all values, because everything that a loop
//! writes gets a new symbolic base where the loop begins. Two more passes use the stack slots that
//! the loops write, and the values that an iteration changes and restores (such as a pointer that
//! goes to a field and back).

use rustc_hash::{FxHashMap, FxHashSet};

use super::code::FunctionCode;
use super::graph::Graph;
use super::instruction::{
    AccessKind, AddressExpression, Expression, Flow, Instruction, Machine, REGISTERS, Register,
};

/// Largest number of stack slots that are followed.
const MAX_SLOTS: usize = 256;

/// The number of a register or, from [`REGISTERS`] on, of a stack slot.
pub type StorageLocation = u32;

/// An unknown value, which is the same wherever this base occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SymbolicBase {
    /// The value at the start of the function.
    Entry(StorageLocation),
    /// The value that an instruction wrote.
    Made(usize, StorageLocation),
    /// The value at the start of a block in which paths with different values meet.
    Merged(usize, StorageLocation),
    /// The address of a symbol.
    Symbol(u32),
}

/// The value of a register or a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    Constant(u64),
    Sum(SymbolicBase, i64),
}

/// An address: symbolic bases, each times a factor, plus a displacement.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    pub terms: Vec<(SymbolicBase, i64)>,
    pub displacement: i64,
}

/// The address of an access, in terms of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessTarget {
    Literal,
    Memory(Address),
    Port(Value),
}

/// Facts about an executed instruction.
#[derive(Clone, Debug, Default)]
pub struct InstructionFacts {
    /// Address of each access; `None` if it is not known.
    pub targets: Vec<Option<AccessTarget>>,
    /// Value that each access stores; `None` for loads and unknown values.
    pub stored: Vec<Option<Value>>,
    /// Values of the inputs.
    pub inputs: Vec<Value>,
}

type State = FxHashMap<StorageLocation, Value>;

/// The values of a function.
pub struct Values<'a> {
    code: &'a FunctionCode,
    graph: &'a Graph,
    machine: Machine,
    slots: FxHashMap<Address, StorageLocation>,
    /// Slots that each block stores to.
    stores: Vec<FxHashSet<StorageLocation>>,
    /// Locations that an iteration of a loop leaves unchanged, by its first block.
    kept: FxHashSet<(usize, StorageLocation)>,
    /// State behind each block.
    behind: Vec<State>,
    /// Facts about each instruction.
    pub facts: Vec<InstructionFacts>,
}

impl<'a> Values<'a> {
    pub fn of(code: &'a FunctionCode, graph: &'a Graph) -> Self {
        let mut values = Self {
            code,
            graph,
            machine: code.machine,
            slots: FxHashMap::default(),
            stores: vec![FxHashSet::default(); graph.blocks.len()],
            kept: FxHashSet::default(),
            behind: Vec::new(),
            facts: Vec::new(),
        };
        for pass in 0..3 {
            values.pass(pass > 0);
            values.find_kept();
        }
        values
    }

    /// Returns the value of a location behind each block that leads to `block`.
    pub fn merged(&self, block: usize, location: StorageLocation) -> Vec<Value> {
        self.graph.blocks[block]
            .before
            .iter()
            .map(|from| held(&self.behind[*from], location))
            .collect()
    }

    /// Returns true if an address lies in the stack.
    pub fn is_stack(&self, address: &Address) -> bool {
        address.terms.iter().any(|(base, _)| self.is_stack_base(*base))
    }

    /// Returns true if an address is a fixed slot of the stack.
    pub fn is_slot(&self, address: &Address) -> bool {
        !address.terms.is_empty() && address.terms.iter().all(|(base, _)| self.is_stack_base(*base))
    }

    fn is_stack_base(&self, base: SymbolicBase) -> bool {
        let is_pointer = |location: StorageLocation| {
            self.machine.stack.iter().any(|register| StorageLocation::from(*register) == location)
        };
        match base {
            SymbolicBase::Entry(location)
            | SymbolicBase::Made(_, location)
            | SymbolicBase::Merged(_, location) => is_pointer(location),
            SymbolicBase::Symbol(_) => false,
        }
    }

    fn pass(&mut self, slots_are_known: bool) {
        let graph = self.graph;
        let written: Vec<u128> = graph
            .blocks
            .iter()
            .map(|block| block.instructions.iter().fold(0, |all, at| all | self.written_by(*at)))
            .collect();
        self.behind = Vec::with_capacity(graph.blocks.len());
        self.facts = vec![InstructionFacts::default(); self.code.instructions.len()];
        for number in 0..graph.blocks.len() {
            let mut state = self.before(number, &written, slots_are_known);
            for at in &graph.blocks[number].instructions {
                self.execute(*at, number, &mut state);
            }
            self.behind.push(state);
        }
    }

    /// Finds the locations that return to the first block of a loop with the value they had there.
    fn find_kept(&mut self) {
        let mut kept = std::mem::take(&mut self.kept);
        for (number, block) in self.graph.blocks.iter().enumerate() {
            let mut back = block.before.iter().filter(|from| Graph::goes_back(**from, number));
            let Some(first) = back.next() else { continue };
            let others: Vec<&usize> = back.collect();
            for (location, value) in &self.behind[*first] {
                let named = Value::Sum(SymbolicBase::Merged(number, *location), 0);
                let is_named = |from: &&usize| held(&self.behind[**from], *location) == named;
                if *value == named && others.iter().all(is_named) {
                    kept.insert((number, *location));
                }
            }
        }
        self.kept = kept;
    }

    fn written_by(&self, at: usize) -> u128 {
        let made = &self.code.instructions[at];
        let outputs = made.outputs.iter().map(|(register, _)| *register);
        let clobbered: &[Register] = match made.flow {
            Flow::Call(_) => self.machine.clobbered,
            _ => &[],
        };
        outputs.chain(clobbered.iter().copied()).fold(0, |all, register| all | 1 << register)
    }

    /// Returns the state at the start of block `number`.
    fn before(&self, number: usize, written: &[u128], slots_are_known: bool) -> State {
        let block = &self.graph.blocks[number];
        let mut state = State::default();
        let mut forward = block.before.iter().filter(|from| !Graph::goes_back(**from, number));
        if let Some(first) = forward.next() {
            state.clone_from(&self.behind[*first]);
        }
        for from in forward {
            let other = &self.behind[*from];
            let locations: FxHashSet<StorageLocation> =
                state.keys().chain(other.keys()).copied().collect();
            for location in locations {
                if held(&state, location) != held(other, location) {
                    state.insert(location, Value::Sum(SymbolicBase::Merged(number, location), 0));
                }
            }
        }
        if !block.before.iter().any(|from| Graph::goes_back(*from, number)) {
            return state;
        }
        // An edge back that belongs to no loop may come from anywhere.
        let natural = self.graph.loops.iter().find(|candidate| {
            let back = block.before.iter().filter(|from| Graph::goes_back(**from, number)).count();
            candidate.header == number && candidate.latches.len() == back
        });
        let inside = |other: usize| natural.is_none_or(|candidate| candidate.holds[other]);
        let mut changed = (0..self.graph.blocks.len())
            .filter(|other| inside(*other))
            .fold(0, |all, other| all | written[other]);
        let mut register = 0;
        while changed != 0 {
            if changed & 1 != 0 && !self.kept.contains(&(number, register)) {
                state.insert(register, Value::Sum(SymbolicBase::Merged(number, register), 0));
            }
            changed >>= 1;
            register += 1;
        }
        if slots_are_known {
            for other in (0..self.graph.blocks.len()).filter(|other| inside(*other)) {
                let stored = self.stores[other].iter();
                for slot in stored.filter(|slot| !self.kept.contains(&(number, **slot))) {
                    state.insert(*slot, Value::Sum(SymbolicBase::Merged(number, *slot), 0));
                }
            }
        } else {
            for slot in self.slots.values() {
                state.insert(*slot, Value::Sum(SymbolicBase::Merged(number, *slot), 0));
            }
        }
        state
    }

    fn execute(&mut self, at: usize, block: usize, state: &mut State) {
        let code = self.code;
        let made = &code.instructions[at];
        let mut facts = InstructionFacts {
            inputs: made.inputs.iter().map(|input| self.register(state, *input)).collect(),
            ..InstructionFacts::default()
        };
        let mut loaded = Vec::with_capacity(made.accesses.len());
        let mut slot_stores = Vec::new();
        for access in &made.accesses {
            let target = self.target(state, &access.address, access.symbol);
            let slot = match &target {
                Some(AccessTarget::Memory(address)) if self.is_slot(address) => {
                    self.slot(address.clone())
                }
                _ => None,
            };
            let mut value_loaded = None;
            if access.kind == AccessKind::Load {
                value_loaded = match (&access.address, slot) {
                    (_, Some(slot)) => Some(held(state, slot)),
                    (AddressExpression::Literal(Some(address)), _) => {
                        code.literal(*address).and_then(|value| self.evaluate(state, value, &[]))
                    }
                    _ => None,
                };
                facts.stored.push(None);
            } else {
                let value = self.evaluate(state, access.value, &loaded);
                facts.stored.push(value);
                if let Some(slot) = slot {
                    slot_stores.push((slot, value));
                }
            }
            loaded.push(value_loaded);
            facts.targets.push(target);
        }
        let new: Vec<(StorageLocation, Value)> = made
            .outputs
            .iter()
            .map(|(register, expression)| {
                let location = StorageLocation::from(*register);
                let value =
                    if made.predicated { None } else { self.evaluate(state, *expression, &loaded) };
                (location, value.unwrap_or(Value::Sum(SymbolicBase::Made(at, location), 0)))
            })
            .collect();
        for (slot, value) in slot_stores {
            let value = value.filter(|_| !made.predicated);
            state.insert(slot, value.unwrap_or(Value::Sum(SymbolicBase::Made(at, slot), 0)));
            self.stores[block].insert(slot);
        }
        state.extend(new);
        if let Flow::Call(_) = made.flow {
            for register in self.machine.clobbered {
                let location = StorageLocation::from(*register);
                state.insert(location, Value::Sum(SymbolicBase::Made(at, location), 0));
            }
        }
        self.facts[at] = facts;
    }

    fn register(&self, state: &State, register: Register) -> Value {
        if self.machine.zero == Some(register) {
            return Value::Constant(0);
        }
        held(state, StorageLocation::from(register))
    }

    fn slot(&mut self, address: Address) -> Option<StorageLocation> {
        let next = (REGISTERS + self.slots.len()) as StorageLocation;
        if let Some(slot) = self.slots.get(&address) {
            return Some(*slot);
        }
        (self.slots.len() < MAX_SLOTS).then(|| *self.slots.entry(address).or_insert(next))
    }

    fn target(
        &self,
        state: &State,
        address: &AddressExpression,
        symbol: Option<u32>,
    ) -> Option<AccessTarget> {
        Some(match address {
            AddressExpression::Literal(_) => AccessTarget::Literal,
            AddressExpression::Port(Ok(number)) => AccessTarget::Port(Value::Constant(*number)),
            AddressExpression::Port(Err(register)) => {
                AccessTarget::Port(self.register(state, *register))
            }
            AddressExpression::Memory(terms, displacement) => {
                let mut address = Address { terms: Vec::new(), displacement: *displacement };
                address.terms.extend(symbol.map(|symbol| (SymbolicBase::Symbol(symbol), 1)));
                for (register, factor) in terms {
                    let more = match self.register(state, *register) {
                        Value::Constant(value) => value as i64,
                        Value::Sum(base, more) => {
                            address.terms.push((base, *factor));
                            more
                        }
                    };
                    let more = more.wrapping_mul(*factor);
                    address.displacement = address.displacement.wrapping_add(more);
                }
                if address.terms.is_empty() {
                    let masked = address.displacement as u64 & self.machine.address_mask;
                    address.displacement = masked as i64;
                }
                address.terms.sort_unstable();
                AccessTarget::Memory(address)
            }
        })
    }

    /// Evaluates an expression. `None` if its value is unknown.
    fn evaluate(
        &self,
        state: &State,
        expression: Expression,
        loaded: &[Option<Value>],
    ) -> Option<Value> {
        let mask = self.machine.register_mask;
        Some(match expression {
            Expression::Constant(value) => Value::Constant(value & mask),
            Expression::Symbol(symbol, by) => Value::Sum(SymbolicBase::Symbol(symbol), by),
            Expression::Sum(register, by) => match self.register(state, register) {
                Value::Constant(value) => Value::Constant(value.wrapping_add_signed(by) & mask),
                Value::Sum(base, before) => Value::Sum(base, before.wrapping_add(by)),
            },
            Expression::Shifted(register, by) => match self.register(state, register) {
                Value::Constant(value) => {
                    Value::Constant(value.checked_shl(by).unwrap_or(0) & mask)
                }
                Value::Sum(..) => return None,
            },
            Expression::Bits(register, kept, set) => match self.register(state, register) {
                Value::Constant(value) => Value::Constant((value & kept | set) & mask),
                Value::Sum(..) => return None,
            },
            Expression::Loaded(index) => return loaded.get(index).copied().flatten(),
            Expression::Computed => return None,
        })
    }

    /// Returns the instruction with index `at`.
    pub fn instruction(&self, at: usize) -> &'a Instruction {
        &self.code.instructions[at]
    }
}

fn held(state: &State, location: StorageLocation) -> Value {
    state.get(&location).copied().unwrap_or(Value::Sum(SymbolicBase::Entry(location), 0))
}
