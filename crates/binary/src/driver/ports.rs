//! The classes of a loop's accesses, and its data port.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::code::FunctionCode;
use super::graph::{Graph, Loop};
use super::instruction::{AccessKind, Expression, Flow};
use super::loop_counts::Direction;
use super::values::{AccessTarget, Address, StorageLocation, SymbolicBase, Value, Values};

/// An access of a loop: index of the instruction, and index of the access in it.
pub type AccessId = (usize, usize);

/// The class of an access in a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessClass {
    /// A constant beside the code.
    Literal,
    /// RAM: a slot of the stack, or memory whose address moves.
    Memory { moves: bool },
    /// An address that does not move. The flag states whether it is certainly a device.
    Fixed { at: FixedAddress, is_device: bool },
}

/// An address that does not move.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FixedAddress {
    Memory(Address),
    /// In the port space, at a number.
    Port(u64),
    /// In the port space, at a number in a register.
    PortOf(SymbolicBase, i64),
}

impl FixedAddress {
    /// Returns the number of the address, if it is known.
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Memory(address) => {
                address.terms.is_empty().then_some(address.displacement as u64)
            }
            Self::Port(number) => Some(*number),
            Self::PortOf(..) => None,
        }
    }

    /// Returns the distance from this address to `other`, if both have the same bases.
    fn distance_to(&self, other: &Self) -> Option<i64> {
        let (Self::Memory(here), Self::Memory(there)) = (self, other) else { return None };
        (here.terms == there.terms).then(|| there.displacement.wrapping_sub(here.displacement))
    }
}

/// The accesses of a loop with their classes.
pub struct ClassifiedAccesses<'a> {
    code: &'a FunctionCode,
    graph: &'a Graph,
    values: &'a Values<'a>,
    natural_loop: &'a Loop,
    pub classes: BTreeMap<AccessId, AccessClass>,
}

/// The data port of a loop.
#[derive(Clone, Debug)]
pub struct DataPort {
    /// Address of the port, or several adjoining addresses with the same flow of data: the halves
    /// of a wide register, or a window.
    pub addresses: Vec<FixedAddress>,
    pub direction: Direction,
}

impl<'a> ClassifiedAccesses<'a> {
    pub fn of(
        code: &'a FunctionCode,
        graph: &'a Graph,
        values: &'a Values<'a>,
        natural_loop: &'a Loop,
    ) -> Self {
        let mut classified = Self { code, graph, values, natural_loop, classes: BTreeMap::new() };
        let mut same = FxHashMap::default();
        let mut first_loads = BTreeMap::new();
        let mut known = FxHashMap::default();
        for block in &natural_loop.blocks {
            for at in &graph.blocks[*block].instructions {
                for index in 0..code.instructions[*at].accesses.len() {
                    let class = classified.classify(*at, index, &same, &mut known);
                    if let AccessClass::Fixed { at: fixed, is_device: false } = &class {
                        // All loads of one address have the same value.
                        let outputs = &code.instructions[*at].outputs;
                        let output = outputs.iter().find(|(_, e)| *e == Expression::Loaded(index));
                        if let Some((register, _)) = output {
                            let made = SymbolicBase::Made(*at, StorageLocation::from(*register));
                            let first = *first_loads.entry(fixed.clone()).or_insert(made);
                            same.insert(made, first);
                        }
                    }
                    classified.classes.insert((*at, index), class);
                }
            }
        }
        classified.resolve_variables();
        classified
    }

    fn classify(
        &self,
        at: usize,
        index: usize,
        same: &FxHashMap<SymbolicBase, SymbolicBase>,
        known: &mut FxHashMap<Value, bool>,
    ) -> AccessClass {
        let moving = AccessClass::Memory { moves: true };
        let Some(target) = self.values.facts[at].targets.get(index).cloned().flatten() else {
            return moving;
        };
        match target {
            AccessTarget::Literal => AccessClass::Literal,
            AccessTarget::Port(Value::Constant(number)) => {
                AccessClass::Fixed { at: FixedAddress::Port(number), is_device: true }
            }
            AccessTarget::Port(value @ Value::Sum(base, by)) => {
                // A port whose number the loop changes is still a device.
                let at = if self.stays(value, known, 0) {
                    FixedAddress::PortOf(base, by)
                } else {
                    FixedAddress::PortOf(SymbolicBase::Made(at, 0), by)
                };
                AccessClass::Fixed { at, is_device: true }
            }
            AccessTarget::Memory(address) if self.values.is_slot(&address) => {
                AccessClass::Memory { moves: false }
            }
            AccessTarget::Memory(address) => {
                if !self.address_stays(&address, known, 0) {
                    return moving;
                }
                if self.values.is_stack(&address) {
                    return AccessClass::Memory { moves: false };
                }
                let mut address = address;
                for (base, _) in &mut address.terms {
                    *base = same.get(base).copied().unwrap_or(*base);
                }
                let is_device = self.is_device(&address);
                AccessClass::Fixed { at: FixedAddress::Memory(address), is_device }
            }
        }
    }

    /// Returns true if an address that does not move is no memory of the program.
    fn is_device(&self, address: &Address) -> bool {
        address.terms.is_empty() && !self.code.has_memory_at(address.displacement as u64)
    }

    /// Classifies addresses as variables if they are both loaded and stored, or if the file lays them
    /// out.
    fn resolve_variables(&mut self) {
        let mut loaded = FxHashSet::default();
        let mut stored = FxHashSet::default();
        for ((at, index), class) in &self.classes {
            if let AccessClass::Fixed { at: FixedAddress::Memory(address), .. } = class {
                match self.kind(*at, *index) {
                    AccessKind::Load => loaded.insert(address.clone()),
                    AccessKind::Store => stored.insert(address.clone()),
                };
            }
        }
        for class in self.classes.values_mut() {
            if let AccessClass::Fixed { at: FixedAddress::Memory(address), is_device: false } =
                class
            {
                let both = loaded.contains(address) && stored.contains(address);
                let laid_out = address.terms.iter().any(
                    |(base, _)| matches!(base, SymbolicBase::Symbol(symbol) if self.code.is_variable(*symbol)),
                );
                if both || laid_out || address.terms.is_empty() {
                    *class = AccessClass::Memory { moves: false };
                }
            }
        }
    }

    pub fn kind(&self, at: usize, index: usize) -> AccessKind {
        self.code.instructions[at].accesses[index].kind
    }

    /// Returns true if `address` is the same in each iteration.
    fn address_stays(
        &self,
        address: &Address,
        known: &mut FxHashMap<Value, bool>,
        depth: u32,
    ) -> bool {
        address.terms.iter().all(|(base, _)| self.stays(Value::Sum(*base, 0), known, depth))
    }

    /// Returns true if `value` is the same in each iteration.
    fn stays(&self, value: Value, known: &mut FxHashMap<Value, bool>, depth: u32) -> bool {
        const MAX_DEPTH: u32 = 64;
        let Value::Sum(base, _) = value else { return true };
        match base {
            SymbolicBase::Entry(_) | SymbolicBase::Symbol(_) => true,
            SymbolicBase::Merged(block, _) => !self.natural_loop.holds[block],
            SymbolicBase::Made(at, location) => {
                if !self.natural_loop.holds[self.graph.block_of[at]] {
                    return true;
                }
                let key = Value::Sum(base, 0);
                if let Some(stays) = known.get(&key) {
                    return *stays;
                }
                let stays = depth < MAX_DEPTH && self.made_stays(at, location, known, depth + 1);
                known.insert(key, stays);
                stays
            }
        }
    }

    /// Returns true if the instruction `at` of the loop writes the same value to `location` in each
    /// iteration.
    fn made_stays(
        &self,
        at: usize,
        location: u32,
        known: &mut FxHashMap<Value, bool>,
        depth: u32,
    ) -> bool {
        let made = self.values.instruction(at);
        if made.predicated || made.repeated || matches!(made.flow, Flow::Call(_)) {
            return false;
        }
        let output = made.outputs.iter().find(|(register, _)| u32::from(*register) == location);
        let loads: Vec<usize> = match output {
            Some((_, Expression::Loaded(index))) => vec![*index],
            Some(_) => (0..made.accesses.len()).collect(),
            None => return false,
        };
        let facts = &self.values.facts[at];
        let loads_stay = loads.iter().all(|index| match &facts.targets[*index] {
            Some(AccessTarget::Literal) => true,
            Some(AccessTarget::Memory(address)) => {
                !self.is_device(address)
                    && self.address_stays(address, known, depth)
                    && !self.stores_to(address)
            }
            _ => false,
        });
        let only_loads = matches!(output, Some((_, Expression::Loaded(_))));
        loads_stay
            && (only_loads || facts.inputs.iter().all(|input| self.stays(*input, known, depth)))
    }

    /// Returns true if the loop stores to exactly this address.
    fn stores_to(&self, address: &Address) -> bool {
        self.natural_loop
            .blocks
            .iter()
            .flat_map(|block| &self.graph.blocks[*block].instructions)
            .any(|at| {
                let targets = &self.values.facts[*at].targets;
                targets.iter().enumerate().any(|(index, target)| {
                    self.kind(*at, index) == AccessKind::Store
                        && matches!(target, Some(AccessTarget::Memory(other)) if other == address)
                })
            })
    }

    /// Returns true if the loop has an access of `kind` to memory whose address moves.
    pub fn moves_memory(&self, kind: AccessKind) -> bool {
        self.moving(kind).next().is_some()
    }

    fn moving(&self, kind: AccessKind) -> impl Iterator<Item = AccessId> + '_ {
        self.classes
            .iter()
            .filter(move |((at, index), class)| {
                **class == AccessClass::Memory { moves: true } && self.kind(*at, *index) == kind
            })
            .map(|(id, _)| *id)
    }

    /// Returns the addresses that do not move, each with its accesses.
    pub fn addresses(&self) -> BTreeMap<FixedAddress, (Vec<AccessId>, bool)> {
        let mut addresses: BTreeMap<FixedAddress, (Vec<AccessId>, bool)> = BTreeMap::new();
        for (id, class) in &self.classes {
            if let AccessClass::Fixed { at, is_device } = class {
                addresses.entry(at.clone()).or_insert_with(|| (Vec::new(), *is_device)).0.push(*id);
            }
        }
        addresses
    }

    /// Finds the data port: the fixed address that exchanges data with memory whose address moves. With
    /// `wanted`, only the port at this number counts.
    pub fn port(&self, wanted: Option<u64>) -> Option<DataPort> {
        let addresses: Vec<(FixedAddress, (Vec<AccessId>, bool))> =
            self.addresses().into_iter().collect();
        let mut ports = Vec::new();
        for (fixed, (accesses, is_device)) in &addresses {
            for direction in [Direction::Read, Direction::Write] {
                if self.flows(accesses, direction) {
                    ports.push((fixed, accesses, direction, *is_device));
                }
            }
        }
        let is_wanted = |fixed: &FixedAddress| wanted.is_none() || fixed.number() == wanted;
        // A certain device is preferred to the address in a pointer.
        let chosen = ports
            .iter()
            .filter(|(fixed, ..)| is_wanted(fixed))
            .min_by_key(|(.., is_device)| !is_device);
        if let Some((fixed, accesses, direction, _)) = chosen {
            let mut port = DataPort { addresses: vec![(*fixed).clone()], direction: *direction };
            // The ports are sorted by address, so that each may adjoin the one before.
            let mut end = self.bytes(accesses);
            for (other, accesses, way, _) in &ports {
                if way == direction && fixed.distance_to(other) == Some(end) {
                    port.addresses.push((*other).clone());
                    end = end.saturating_add(self.bytes(accesses));
                }
            }
            return Some(port);
        }
        let addresses: Vec<_> =
            addresses.into_iter().filter(|(fixed, _)| is_wanted(fixed)).collect();
        // Data can flow through values that are not followed. Then the address must be the only one.
        let [(fixed, (accesses, is_device))] = addresses.as_slice() else { return None };
        if wanted.is_none() && !is_device {
            return None;
        }
        let has = |kind| accesses.iter().any(|(at, index)| self.kind(*at, *index) == kind);
        let direction = if has(AccessKind::Load) && self.moves_memory(AccessKind::Store) {
            Direction::Read
        } else if has(AccessKind::Store) && self.moves_memory(AccessKind::Load) {
            Direction::Write
        } else {
            return None;
        };
        Some(DataPort { addresses: vec![fixed.clone()], direction })
    }

    /// Returns the bytes of the widest of `accesses`.
    fn bytes(&self, accesses: &[AccessId]) -> i64 {
        let bytes = |(at, index): &AccessId| self.code.instructions[*at].accesses[*index].bytes;
        accesses.iter().map(bytes).max().map_or(0, i64::from)
    }

    fn flows(&self, accesses: &[AccessId], direction: Direction) -> bool {
        let of_kind = |wanted: AccessKind| {
            accesses.iter().copied().filter(move |(at, index)| self.kind(*at, *index) == wanted)
        };
        match direction {
            Direction::Read => {
                let sources: FxHashSet<AccessId> = of_kind(AccessKind::Load).collect();
                !sources.is_empty()
                    && self.moving(AccessKind::Store).any(|store| self.comes_from(store, &sources))
            }
            Direction::Write => {
                let sources: FxHashSet<AccessId> = self.moving(AccessKind::Load).collect();
                !sources.is_empty()
                    && of_kind(AccessKind::Store).any(|store| self.comes_from(store, &sources))
            }
        }
    }

    /// Returns true if the value of a store is computed from a load in `sources`.
    fn comes_from(&self, (at, index): AccessId, sources: &FxHashSet<AccessId>) -> bool {
        let mut visited = FxHashSet::default();
        let mut open = Vec::new();
        let made = self.values.instruction(at);
        match (made.accesses[index].value, self.values.facts[at].stored[index]) {
            (_, Some(value)) => open.push(value),
            (Expression::Loaded(load), None) => return sources.contains(&(at, load)),
            (_, None) => {
                open.extend(&self.values.facts[at].inputs);
                if (0..made.accesses.len())
                    .any(|load| load != index && sources.contains(&(at, load)))
                {
                    return true;
                }
            }
        }
        while let Some(value) = open.pop() {
            let Value::Sum(base, _) = value else { continue };
            if !visited.insert(base) {
                continue;
            }
            match base {
                SymbolicBase::Entry(_) | SymbolicBase::Symbol(_) => {}
                SymbolicBase::Merged(block, location) => {
                    if self.natural_loop.holds[block] {
                        open.extend(self.values.merged(block, location));
                    }
                }
                SymbolicBase::Made(at, location) => {
                    let made = self.values.instruction(at);
                    let output =
                        made.outputs.iter().find(|(register, _)| u32::from(*register) == location);
                    match output {
                        Some((_, Expression::Loaded(load))) => {
                            if sources.contains(&(at, *load)) {
                                return true;
                            }
                        }
                        _ => {
                            let loads = 0..made.accesses.len();
                            if loads.into_iter().any(|load| sources.contains(&(at, load))) {
                                return true;
                            }
                            open.extend(&self.values.facts[at].inputs);
                        }
                    }
                }
            }
        }
        false
    }
}
