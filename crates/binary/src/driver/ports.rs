//! Which accesses of a loop go to a device, and which of them is the data port.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Direction;
use super::code::FunctionCode;
use super::graph::{Graph, Loop};
use super::instruction::{AccessKind, Expression, Flow};
use super::values::{AccessTarget, Address, StorageLocation, SymbolicBase, Value, Values};

/// An access of a loop: the instruction and which of its accesses.
pub type AccessId = (usize, usize);

/// What an access is to a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessClass {
    /// A constant beside the code.
    Literal,
    /// A slot of the stack, or memory whose address moves: RAM.
    Memory { moves: bool },
    /// An address that does not move, and whether it is surely a device.
    Fixed { at: FixedAddress, is_device: bool },
}

/// An address that does not move.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FixedAddress {
    Memory(Address),
    /// In a space of its own, at a number.
    Port(u64),
    /// In a space of its own, where a register says.
    PortOf(SymbolicBase, i64),
}

impl FixedAddress {
    /// The number of the address, where it is known.
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Memory(address) => {
                address.terms.is_empty().then_some(address.displacement as u64)
            }
            Self::Port(number) => Some(*number),
            Self::PortOf(..) => None,
        }
    }

    /// How far above this address another lies.
    fn distance_to(&self, other: &Self) -> Option<i64> {
        let (Self::Memory(here), Self::Memory(there)) = (self, other) else { return None };
        (here.terms == there.terms).then(|| there.displacement.wrapping_sub(here.displacement))
    }
}

/// The accesses of a loop, sorted out.
pub struct ClassifiedAccesses<'a> {
    code: &'a FunctionCode,
    graph: &'a Graph,
    values: &'a Values<'a>,
    found: &'a Loop,
    pub classes: BTreeMap<AccessId, AccessClass>,
}

/// The data port of a loop.
#[derive(Clone, Debug)]
pub struct DataPort {
    /// Its address, or several side by side that data flow through alike: the
    /// halves of a wide register, or a window.
    pub addresses: Vec<FixedAddress>,
    pub direction: Direction,
}

impl<'a> ClassifiedAccesses<'a> {
    pub fn of(
        code: &'a FunctionCode,
        graph: &'a Graph,
        values: &'a Values<'a>,
        found: &'a Loop,
    ) -> Self {
        let mut sorted = Self { code, graph, values, found, classes: BTreeMap::new() };
        let mut same = FxHashMap::default();
        let mut first_loads = BTreeMap::new();
        let mut known = FxHashMap::default();
        for block in &found.blocks {
            for at in &graph.blocks[*block].instructions {
                for index in 0..code.instructions[*at].accesses.len() {
                    let class = sorted.classify(*at, index, &same, &mut known);
                    if let AccessClass::Fixed { at: fixed, is_device: false } = &class {
                        // Loads of one address give one value, whichever of them is used.
                        let outputs = &code.instructions[*at].outputs;
                        let output = outputs.iter().find(|(_, e)| *e == Expression::Loaded(index));
                        if let Some((register, _)) = output {
                            let made = SymbolicBase::Made(*at, StorageLocation::from(*register));
                            let first = *first_loads.entry(fixed.clone()).or_insert(made);
                            same.insert(made, first);
                        }
                    }
                    sorted.classes.insert((*at, index), class);
                }
            }
        }
        sorted.resolve_variables();
        sorted
    }

    fn classify(
        &self,
        at: usize,
        index: usize,
        same: &FxHashMap<SymbolicBase, SymbolicBase>,
        known: &mut FxHashMap<Value, bool>,
    ) -> AccessClass {
        let moving = AccessClass::Memory { moves: true };
        let Some(place) = self.values.facts[at].targets.get(index).cloned().flatten() else {
            return moving;
        };
        match place {
            AccessTarget::Literal => AccessClass::Literal,
            AccessTarget::Port(Value::Constant(number)) => {
                AccessClass::Fixed { at: FixedAddress::Port(number), is_device: true }
            }
            AccessTarget::Port(value @ Value::Sum(root, by)) => {
                // A port in a register that the loop changes is a device all the same.
                let at = if self.stays(value, known, 0) {
                    FixedAddress::PortOf(root, by)
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
                for (root, _) in &mut address.terms {
                    *root = same.get(root).copied().unwrap_or(*root);
                }
                let is_device = self.is_device(&address);
                AccessClass::Fixed { at: FixedAddress::Memory(address), is_device }
            }
        }
    }

    /// Whether an address that does not move is no memory of the program.
    fn is_device(&self, address: &Address) -> bool {
        address.terms.is_empty() && !self.code.has_memory_at(address.displacement as u64)
    }

    /// What is loaded as well as stored is a variable, and so is memory that the
    /// file lays out.
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
                    |(root, _)| matches!(root, SymbolicBase::Symbol(symbol) if self.code.is_variable(*symbol)),
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

    /// Whether `address` is the same in each iteration.
    fn address_stays(
        &self,
        address: &Address,
        known: &mut FxHashMap<Value, bool>,
        depth: u32,
    ) -> bool {
        address.terms.iter().all(|(root, _)| self.stays(Value::Sum(*root, 0), known, depth))
    }

    /// Whether `value` is the same in each iteration.
    fn stays(&self, value: Value, known: &mut FxHashMap<Value, bool>, depth: u32) -> bool {
        const MAX_DEPTH: u32 = 64;
        let Value::Sum(root, _) = value else { return true };
        match root {
            SymbolicBase::Entry(_) | SymbolicBase::Symbol(_) => true,
            SymbolicBase::Merged(block, _) => !self.found.holds[block],
            SymbolicBase::Made(at, home) => {
                if !self.found.holds[self.graph.block_of[at]] {
                    return true;
                }
                let key = Value::Sum(root, 0);
                if let Some(stays) = known.get(&key) {
                    return *stays;
                }
                let stays = depth < MAX_DEPTH && self.made_stays(at, home, known, depth + 1);
                known.insert(key, stays);
                stays
            }
        }
    }

    /// Whether what the instruction `at` of the loop writes to `home` stays.
    fn made_stays(
        &self,
        at: usize,
        home: u32,
        known: &mut FxHashMap<Value, bool>,
        depth: u32,
    ) -> bool {
        let made = self.values.instruction(at);
        if made.predicated || made.repeated || matches!(made.flow, Flow::Call(_)) {
            return false;
        }
        let output = made.outputs.iter().find(|(register, _)| u32::from(*register) == home);
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

    /// Whether the loop stores to the very address.
    fn stores_to(&self, address: &Address) -> bool {
        self.found.blocks.iter().flat_map(|block| &self.graph.blocks[*block].instructions).any(
            |at| {
                let targets = &self.values.facts[*at].targets;
                targets.iter().enumerate().any(|(index, place)| {
                    self.kind(*at, index) == AccessKind::Store
                        && matches!(place, Some(AccessTarget::Memory(other)) if other == address)
                })
            },
        )
    }

    /// Whether the loop has an access of `kind` to memory that moves.
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

    /// The addresses that do not move, each with its accesses.
    pub fn addresses(&self) -> BTreeMap<FixedAddress, (Vec<AccessId>, bool)> {
        let mut addresses: BTreeMap<FixedAddress, (Vec<AccessId>, bool)> = BTreeMap::new();
        for (id, class) in &self.classes {
            if let AccessClass::Fixed { at, is_device } = class {
                addresses.entry(at.clone()).or_insert_with(|| (Vec::new(), *is_device)).0.push(*id);
            }
        }
        addresses
    }

    /// The data port: the address between which and memory that moves data flow.
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
        // A sure device before an address that a pointer gives.
        let chosen = ports
            .iter()
            .filter(|(fixed, ..)| is_wanted(fixed))
            .min_by_key(|(.., is_device)| !is_device);
        if let Some((fixed, accesses, direction, _)) = chosen {
            let mut port = DataPort { addresses: vec![(*fixed).clone()], direction: *direction };
            // In order of address, each may join the one before.
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
        // Data can pass through what is not followed; then only one address may be there.
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

    /// The bytes of the widest of `accesses`.
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

    /// Whether what `store` writes is made of what one of `sources` loads.
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
            let Value::Sum(root, _) = value else { continue };
            if !visited.insert(root) {
                continue;
            }
            match root {
                SymbolicBase::Entry(_) | SymbolicBase::Symbol(_) => {}
                SymbolicBase::Merged(block, home) => {
                    if self.found.holds[block] {
                        open.extend(self.values.merged(block, home));
                    }
                }
                SymbolicBase::Made(at, home) => {
                    let made = self.values.instruction(at);
                    let output =
                        made.outputs.iter().find(|(register, _)| u32::from(*register) == home);
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
