//! The walk through all code that a function reaches, with the values of registers and of the stack.
//!
//! A function is walked once for each set of values of its arguments, up to a limit, and then once
//! for all others together. Its summary says what its callers may rely on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use flashpager_base::{Error, Result};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::arithmetic::Arithmetic;
use crate::decode::Decoder;
use crate::execute::{Access, Executor, MOST_ADDRESSES};
use crate::instruction::{
    Condition, Flow, Instruction, Operation, REGISTERS, Register, Relation, Trap,
};
use crate::program::{Memory, Program};
use crate::state::{Cell, State, extend};
use crate::value::Value;
use crate::variables::{Notes, Variables};

/// Most sets of arguments with which a function is walked on their own.
const MOST_CONTEXTS: usize = 12;
/// Number of sets of arguments in all from which on a program counts as large.
const MANY_INSTANCES: usize = 2000;
/// Most sets of arguments of a function in a large program.
const FEW_CONTEXTS: usize = 1;
/// Times that the state before an instruction may grow until its values are made unknown.
const MOST_JOINS: u32 = 24;
/// Words on the stack that are followed as arguments.
const STACK_WORDS: usize = 2;
/// Most instructions that are executed in all.
const MOST_STEPS: u64 = 30_000_000;

/// An observation at an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Event {
    /// Execution goes on in flash.
    Code {
        target: u64,
        is_certain: bool,
    },
    Access(Access),
    /// The target of a jump or a call is not known.
    UnknownTarget {
        is_call: bool,
    },
    /// A jump or a call to an address without code in the file.
    NoCode {
        target: u64,
    },
    /// The bytes are no known instruction.
    NotDecoded,
    /// The instruction has an effect that is not followed.
    Trap(Trap),
    /// The walk was ended: it has too many steps.
    TooLong,
    /// An indirect jump or call whose targets are all known.
    Resolved,
}

impl Event {
    /// True if flash is reached for certain.
    pub fn is_flash(&self) -> bool {
        matches!(
            self,
            Self::Code { is_certain: true, .. }
                | Self::Access(Access::Flash { is_certain: true, .. })
        )
    }

    /// True if something is not known that the values of variables may tell.
    pub fn is_unknown(&self) -> bool {
        matches!(
            self,
            Self::Access(Access::Pointer | Access::Nowhere { .. })
                | Self::UnknownTarget { .. }
                | Self::NoCode { .. }
        )
    }
}

/// An instruction that follows another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Successor {
    /// To the next instruction, without a call.
    Next,
    /// To an instruction in the same function.
    Go(u64),
    /// Into a function: a call, or a jump at the end of the caller.
    Call(usize),
    /// Back to the caller.
    Return,
}

/// An instruction of a recorded walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecutedInstruction {
    pub bytes: u64,
    /// True if calls come back to the next instruction.
    pub is_call: bool,
    /// The helper for switch statements that it calls.
    pub helper: Option<u64>,
    pub successors: BTreeSet<Successor>,
}

/// The promise of a function to its callers.
#[derive(Clone, Debug, PartialEq)]
struct Summary {
    returns: bool,
    /// Values of the registers of arguments at the return.
    results: Vec<Value>,
    /// True for each register that has its value again.
    preserved: Vec<bool>,
    /// Bytes above the stack pointer at the entry that it may write.
    writes_caller: i64,
    /// True if it may write an address of code through a pointer.
    writes_code_address: bool,
    /// The words that it may write at the addresses that its arguments hold.
    writes_given: BTreeMap<u8, (i64, i64)>,
}

/// The state before an instruction to which execution jumps.
struct Leader {
    state: State,
    joins: u32,
}

/// The states of instructions that are executed on a condition, and of those that are not.
#[derive(Default)]
struct Paths {
    condition: Option<Condition>,
    taken: Option<State>,
    skipped: Option<State>,
}

impl Paths {
    /// Notes that the numbers of both go where they are not followed.
    fn show_all(&self) {
        for state in self.taken.iter().chain(&self.skipped) {
            state.show_all();
        }
    }
}

/// A function with values of its arguments.
pub struct Instance {
    /// The address of its first instruction, with the bit of Thumb.
    pub entry: u64,
    leaders: FxHashMap<u64, Leader>,
    /// The leaders from which each instruction was executed that is no leader itself.
    passed: FxHashMap<u64, Vec<u64>>,
    summary: Summary,
    callers: FxHashSet<(usize, u64)>,
    is_root: bool,
    /// True if it begins at any instruction, with nothing known.
    is_inside: bool,
    /// Times that the summary has changed.
    changes: u32,
}

impl Instance {
    /// Returns true if it may return.
    pub fn returns(&self) -> bool {
        self.summary.returns
    }

    /// The addresses that execution jumps to in it, some of which lie in other functions.
    pub fn codes(&self) -> impl Iterator<Item = u64> {
        self.leaders.keys().copied()
    }
}

/// A call that was found: the caller, the address of the call, the callee.
pub type Edge = (usize, u64, usize);

/// The walk.
pub struct Analysis<'a> {
    program: &'a Program,
    decoder: &'a dyn Decoder,
    arithmetic: Arithmetic,
    /// Targets of indirect calls that the user names, by the address of the call.
    calls: &'a FxHashMap<u64, Vec<u64>>,
    pub instances: Vec<Instance>,
    contexts: FxHashMap<(u64, Vec<Value>), usize>,
    /// Number of contexts of each function, and the instance of all others.
    counts: FxHashMap<u64, (usize, Option<usize>)>,
    instructions: FxHashMap<(u64, bool), Option<Rc<Instruction>>>,
    queue: Vec<(usize, u64)>,
    queued: FxHashSet<(usize, u64)>,
    steps: u64,
    is_collecting: bool,
    /// True if code in flash is walked, too.
    is_whole: bool,
    variables: &'a [Variables],
    /// Instructions of a whole walk that jump to what is not known.
    unresolved: BTreeSet<u64>,
    pub events: FxHashSet<(usize, u64, Event)>,
    /// Indirect calls whose targets are those that the user names.
    pub named: FxHashSet<u64>,
    pub edges: FxHashSet<Edge>,
    /// The instructions of each instance, by their addresses; `None` if they are not recorded.
    pub executed: Option<BTreeMap<(usize, u64), ExecutedInstruction>>,
    /// The callees of the instance that is collected.
    callees: FxHashSet<usize>,
}

impl<'a> Analysis<'a> {
    pub fn new(
        program: &'a Program,
        decoder: &'a dyn Decoder,
        calls: &'a FxHashMap<u64, Vec<u64>>,
        variables: &'a [Variables],
    ) -> Self {
        let mask = if decoder.convention().word == 8 { u64::MAX } else { 0xffff_ffff };
        Self {
            program,
            decoder,
            arithmetic: Arithmetic { mask, bases: program.bases(mask), notes: Notes::default() },
            calls,
            instances: Vec::new(),
            contexts: FxHashMap::default(),
            counts: FxHashMap::default(),
            instructions: FxHashMap::default(),
            queue: Vec::new(),
            queued: FxHashSet::default(),
            steps: 0,
            is_collecting: false,
            is_whole: false,
            variables,
            unresolved: BTreeSet::new(),
            events: FxHashSet::default(),
            named: FxHashSet::default(),
            edges: FxHashSet::default(),
            executed: None,
            callees: FxHashSet::default(),
        }
    }

    /// Walks all that the code at `entry` reaches, and returns its instance. The events and edges are
    /// those of instances that the roots reach.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if `should_continue` returned false.
    pub fn walk(
        &mut self,
        roots: &[u64],
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Vec<usize>> {
        let none = vec![Value::Any; self.decoder.convention().arguments.len() + STACK_WORDS];
        let mut entries = Vec::new();
        for root in roots {
            let number = self.instance(*root, none.clone());
            self.instances[number].is_root = true;
            entries.push(number);
        }
        while let Some(next) = self.queue.pop() {
            if !should_continue() {
                return Err(Error::Interrupted);
            }
            self.queued.remove(&next);
            if self.steps > MOST_STEPS {
                self.event(entries[0], roots[0], Event::TooLong);
                break;
            }
            self.run(next.0, next.1);
        }
        self.collect(&entries);
        Ok(entries)
    }

    /// Walks all that the code at `root` reaches, in flash, too, and records each instruction.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if `should_continue` returned false.
    pub fn walk_recorded(
        &mut self,
        root: u64,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<usize> {
        self.is_whole = true;
        self.executed = Some(BTreeMap::new());
        Ok(self.walk(&[root], should_continue)?[0])
    }

    /// Records a successor of an instruction.
    fn add_successor(&mut self, number: usize, code: u64, successor: Successor) {
        if self.is_collecting
            && let Some(executed) = &mut self.executed
        {
            executed.entry((number, code)).or_default().successors.insert(successor);
        }
    }

    /// Walks all code of the program, and notes the constants and stores in it. Returns false if that
    /// takes more than `steps` instructions, or some code cannot be told from data. `steps` becomes
    /// what is left of them.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if `should_continue` returned false.
    pub fn walk_all(
        &mut self,
        notes: &Notes,
        steps: &mut u64,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<bool> {
        self.is_whole = true;
        let most_steps = *steps;
        self.arithmetic.notes = notes.clone();
        let none = vec![Value::Any; self.decoder.convention().arguments.len() + STACK_WORDS];
        for entry in &self.program.entries {
            let number = self.instance(*entry, none.clone());
            self.instances[number].is_root = true;
        }
        if !self.drain(most_steps, should_continue)? {
            return Ok(false);
        }
        let Some(regions) = self.program.code_regions() else { return Ok(false) };
        if self.program.has_hidden_returns() {
            return Ok(false);
        }
        let mut started = self.program.entries.clone();
        if !self.start_unseen(&regions, most_steps, should_continue)?
            || !self.start_entries(&regions, &mut started, most_steps, should_continue)?
        {
            return Ok(false);
        }
        *steps = most_steps.saturating_sub(self.steps);
        Ok(true)
    }

    /// Walks code that no known jump has led to; false if that takes too long.
    fn start_unseen(
        &mut self,
        regions: &[(u64, u64, u64)],
        most_steps: u64,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<bool> {
        for (start, end, bit) in regions.iter().copied() {
            let mut at = start;
            while at < end {
                if let Some(object) = self.program.object_at(at) {
                    at = object.end.next_multiple_of(2);
                    continue;
                }
                let code = at | bit;
                let known = self.instructions.get(&(code, false)).cloned();
                let known = known.or_else(|| self.instructions.get(&(code, true)).cloned());
                if known.is_none() {
                    self.start_inside(code);
                    if !self.drain(most_steps, should_continue)? {
                        return Ok(false);
                    }
                }
                at += self.bytes_of(code);
            }
        }
        Ok(true)
    }

    /// Bytes from one instruction to the next one.
    fn bytes_of(&mut self, code: u64) -> u64 {
        let least = if self.program.architecture == "arm" && code & 1 == 0 { 4 } else { 2 };
        let known = self.instructions.get(&(code, false)).cloned();
        let known = known.or_else(|| self.instructions.get(&(code, true)).cloned()).flatten();
        known
            .or_else(|| self.instruction(code, false))
            .map_or(least, |instruction| instruction.bytes)
    }

    /// Walks, with nothing known, code that has an entry besides the jumps that were seen: labels,
    /// code whose address is in data or goes where it is not followed, and all code of functions with
    /// a jump to what is not known. False if that takes too long, or such a function has no name.
    fn start_entries(
        &mut self,
        regions: &[(u64, u64, u64)],
        started: &mut BTreeSet<u64>,
        most_steps: u64,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<bool> {
        let mut entries: Vec<u64> =
            self.program.names.iter().map(|(_, address)| *address).collect();
        entries.extend(self.program.code_words());
        let codes = self.codes(regions);
        let mut sites: BTreeSet<u64> = BTreeSet::new();
        loop {
            self.arithmetic.notes.note(|ledger| entries.extend(ledger.lost_code.iter()));
            for site in std::mem::take(&mut self.unresolved) {
                if !sites.insert(site) {
                    continue;
                }
                let plain = self.program.plain(site);
                let Some(parts) = self.program.parts_of_function(plain) else { return Ok(false) };
                for (start, end) in parts {
                    let is_inside =
                        |code: &&u64| (start..end).contains(&self.program.plain(**code));
                    entries.extend(codes.iter().filter(is_inside));
                }
            }
            let is_new = |code: &u64| !started.contains(code) && self.may_run(*code);
            let new: BTreeSet<u64> = entries.drain(..).filter(is_new).collect();
            if new.is_empty() {
                return Ok(true);
            }
            for code in new {
                started.insert(code);
                self.start_inside(code);
                if !self.drain(most_steps, should_continue)? {
                    return Ok(false);
                }
            }
        }
    }

    /// All instructions, with the bit of Thumb.
    fn codes(&mut self, regions: &[(u64, u64, u64)]) -> Vec<u64> {
        let mut codes = Vec::new();
        for (start, end, bit) in regions.iter().copied() {
            let mut at = start;
            while at < end {
                codes.push(at | bit);
                at += self.bytes_of(at | bit);
            }
        }
        codes
    }

    /// Walks on until nothing is left; false if that takes too long.
    fn drain(&mut self, most_steps: u64, should_continue: &dyn Fn() -> bool) -> Result<bool> {
        while let Some(next) = self.queue.pop() {
            if !should_continue() {
                return Err(Error::Interrupted);
            }
            self.queued.remove(&next);
            if self.steps > most_steps {
                return Ok(false);
            }
            self.run(next.0, next.1);
        }
        Ok(true)
    }

    /// Walks code that no known jump leads to, with nothing known.
    fn start_inside(&mut self, code: u64) {
        let convention = self.decoder.convention();
        let number = self.new_instance(code);
        self.instances[number].is_root = true;
        self.instances[number].is_inside = true;
        let mut registers = vec![Cell::of(Value::Any); REGISTERS];
        if let Some(zero) = convention.zero {
            registers[usize::from(zero)] = Cell::of(Value::number(0));
        }
        if let (Some(global), Some(address)) = (convention.global, self.program.global_pointer) {
            registers[usize::from(global)] = Cell::of(Value::number(address));
        }
        let state = State::new(registers, self.arithmetic.notes.clone());
        self.join(number, code, state);
    }

    fn collect(&mut self, entries: &[usize]) {
        self.is_collecting = true;
        let mut seen: FxHashSet<usize> = FxHashSet::default();
        let mut next: Vec<usize> = entries.to_vec();
        while let Some(number) = next.pop() {
            if !seen.insert(number) {
                continue;
            }
            let leaders: Vec<u64> = self.instances[number].leaders.keys().copied().collect();
            for leader in leaders {
                self.run(number, leader);
            }
            next.extend(std::mem::take(&mut self.callees));
        }
        self.events.retain(|(number, ..)| seen.contains(number));
    }

    fn event(&mut self, number: usize, code: u64, event: Event) {
        if self.is_collecting || event == Event::TooLong {
            self.events.insert((number, code, event));
        }
    }

    /// Returns the instance of the function at `entry` for values of its arguments.
    fn instance(&mut self, entry: u64, arguments: Vec<Value>) -> usize {
        if let Some(number) = self.contexts.get(&(entry, arguments.clone())) {
            return *number;
        }
        let (count, merged) = self.counts.get(&entry).copied().unwrap_or_default();
        if self.is_collecting && merged.is_none() {
            // The walk has ended, and is not complete.
            self.event(0, entry, Event::TooLong);
        }
        let state = self.entry_state(&arguments);
        if count < self.most_contexts(&arguments) {
            let number = self.new_instance(entry);
            self.counts.insert(entry, (count + 1, merged));
            self.contexts.insert((entry, arguments), number);
            self.join(number, entry, state);
            return number;
        }
        let number = merged.unwrap_or_else(|| self.new_instance(entry));
        self.counts.insert(entry, (count, Some(number)));
        self.join(number, entry, state);
        number
    }

    /// Most sets of arguments for a function: in a large program many for addresses of code alone.
    fn most_contexts(&self, arguments: &[Value]) -> usize {
        let is_code = |value: &Value| match value {
            Value::Listed(numbers) => numbers.iter().all(|number| self.is_code(*number)),
            _ => false,
        };
        if self.instances.len() < MANY_INSTANCES || arguments.iter().any(is_code) {
            MOST_CONTEXTS
        } else {
            FEW_CONTEXTS
        }
    }

    fn new_instance(&mut self, entry: u64) -> usize {
        let convention = self.decoder.convention();
        self.instances.push(Instance {
            entry,
            leaders: FxHashMap::default(),
            passed: FxHashMap::default(),
            summary: Summary {
                returns: false,
                results: vec![Value::Any; convention.arguments.len()],
                preserved: vec![true; REGISTERS],
                writes_caller: 0,
                writes_code_address: false,
                writes_given: BTreeMap::new(),
            },
            callers: FxHashSet::default(),
            is_root: false,
            is_inside: false,
            changes: 0,
        });
        self.instances.len() - 1
    }

    fn entry_state(&self, arguments: &[Value]) -> State {
        let convention = self.decoder.convention();
        let mut registers: Vec<Cell> =
            (0..REGISTERS as u8).map(|number| Cell::of(Value::Initial(number))).collect();
        for (register, value) in convention.arguments.iter().zip(arguments) {
            registers[usize::from(*register)] = Cell::of(value.clone());
        }
        registers[usize::from(convention.stack)] = Cell::of(Value::Stack(Some(0)));
        registers[usize::from(convention.link)] = Cell::of(Value::Return);
        if let Some(zero) = convention.zero {
            registers[usize::from(zero)] = Cell::of(Value::number(0));
        }
        if let (Some(global), Some(address)) = (convention.global, self.program.global_pointer) {
            registers[usize::from(global)] = Cell::of(Value::number(address));
        }
        let mut state = State::new(registers, self.arithmetic.notes.clone());
        for (word, value) in arguments.iter().skip(convention.arguments.len()).enumerate() {
            if *value != Value::Any {
                let at = word as i64 * i64::from(convention.word);
                state.pass(at, convention.word, Cell::of(value.clone()));
            }
        }
        state
    }

    /// Adds a state before the instruction at `code`.
    fn join(&mut self, number: usize, code: u64, state: State) {
        if self.is_collecting {
            return;
        }
        let arithmetic = &self.arithmetic;
        match self.instances[number].leaders.get_mut(&code) {
            Some(leader) => {
                let joined = leader.state.joined(&state, arithmetic, leader.joins > MOST_JOINS);
                if joined == leader.state {
                    return;
                }
                leader.state = joined;
                leader.joins += 1;
            }
            None => {
                self.instances[number].leaders.insert(code, Leader { state, joins: 0 });
                // Code that ran on over this instruction has to give it its state, too.
                for leader in self.instances[number].passed.remove(&code).unwrap_or_default() {
                    self.enqueue(number, leader);
                }
            }
        }
        self.enqueue(number, code);
    }

    fn enqueue(&mut self, number: usize, code: u64) {
        if !self.is_collecting && self.queued.insert((number, code)) {
            self.queue.push((number, code));
        }
    }

    fn instruction(&mut self, code: u64, in_block: bool) -> Option<Rc<Instruction>> {
        let (program, decoder) = (self.program, self.decoder);
        let decode = || {
            let section = program.section_at(program.plain(code))?;
            let bytes = program.bytes_at(program.plain(code)).filter(|_| section.is_code)?;
            decoder.decode(bytes, code, in_block).map(Rc::new)
        };
        self.instructions.entry((code, in_block)).or_insert_with(decode).clone()
    }

    /// Executes from an instruction on, up to the next one that is jumped to.
    fn run(&mut self, number: usize, leader: u64) {
        let Some(start) = self.instances[number].leaders.get(&leader) else { return };
        let mut paths = Paths { taken: Some(start.state.clone()), ..Paths::default() };
        let mut block: VecDeque<Condition> = VecDeque::new();
        let mut code = leader;
        while paths.taken.is_some() || paths.skipped.is_some() {
            if code != leader
                && block.is_empty()
                && self.instances[number].leaders.contains_key(&code)
            {
                if let Some(state) = self.merged(paths) {
                    self.join(number, code, state);
                }
                return;
            }
            self.steps += 1;
            if code != leader {
                let passed = self.instances[number].passed.entry(code).or_default();
                if !passed.contains(&leader) {
                    passed.push(leader);
                }
            }
            match self.program.memory_at(self.program.plain(code)) {
                Memory::Ram => {}
                Memory::Flash if self.is_whole => {}
                Memory::Flash => {
                    let target = self.program.plain(code);
                    self.event(number, code, Event::Code { target, is_certain: true });
                    return;
                }
                _ => {
                    paths.show_all();
                    self.event(number, code, Event::NoCode { target: self.program.plain(code) });
                    return;
                }
            }
            let in_block = !block.is_empty();
            let Some(instruction) = self.instruction(code, in_block) else {
                paths.show_all();
                self.event(number, code, Event::NotDecoded);
                return;
            };
            let when = instruction.when.or_else(|| block.pop_front());
            let next = code.wrapping_add(instruction.bytes);
            paths = self.step(number, (leader, code), paths, &instruction, when);
            self.record(number, code, &instruction, when.is_some(), &paths);
            block.extend(instruction.block.iter().copied());
            code = next;
        }
    }

    /// Records an instruction, and the way to the next one.
    fn record(
        &mut self,
        number: usize,
        code: u64,
        instruction: &Instruction,
        is_conditional: bool,
        behind: &Paths,
    ) {
        if !self.is_collecting {
            return;
        }
        let Some(executed) = &mut self.executed else { return };
        let executed = executed.entry((number, code)).or_default();
        let is_call = matches!(instruction.flow, Flow::Call(_) | Flow::CallOf(_));
        executed.bytes = instruction.bytes;
        executed.is_call = is_call;
        let goes_on = behind.taken.is_some() || behind.skipped.is_some();
        if goes_on && (!is_call || is_conditional) {
            executed.successors.insert(Successor::Next);
        }
    }

    /// Executes an instruction; returns the states behind it, as far as execution goes on there.
    fn step(
        &mut self,
        number: usize,
        place: (u64, u64),
        mut paths: Paths,
        instruction: &Instruction,
        when: Option<Condition>,
    ) -> Paths {
        let is_same = |other: Condition| when == Some(other) && other.relation != Relation::Other;
        if paths.condition.is_some_and(is_same) {
            paths.taken =
                paths.taken.and_then(|state| self.execute(number, place, state, instruction));
        } else if paths.condition.is_some_and(|condition| is_same(condition.negated())) {
            paths.skipped =
                paths.skipped.and_then(|state| self.execute(number, place, state, instruction));
        } else {
            let Some(state) = self.merged(paths) else { return Paths::default() };
            let Some(condition) = when else {
                let taken = self.execute(number, place, state, instruction);
                return Paths { taken, ..Paths::default() };
            };
            let mask = self.arithmetic.mask;
            let skipped = state.clone().refined(&condition.negated(), mask);
            let taken = state.refined(&condition, mask);
            let taken = taken.and_then(|state| self.execute(number, place, state, instruction));
            paths = Paths { condition: Some(condition), taken, skipped };
        }
        let sets_flags =
            |operation: &Operation| matches!(operation, Operation::Compare(..) | Operation::Flags);
        if instruction.flow != Flow::Next || instruction.operations.iter().any(sets_flags) {
            paths = Paths { taken: self.merged(paths), ..Paths::default() };
        }
        paths
    }

    /// The state of both paths.
    fn merged(&self, paths: Paths) -> Option<State> {
        self.either(paths.taken, paths.skipped)
    }

    fn either(&self, one: Option<State>, other: Option<State>) -> Option<State> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.joined(&other, &self.arithmetic, false)),
            (one, other) => one.or(other),
        }
    }

    fn execute(
        &mut self,
        number: usize,
        place: (u64, u64),
        mut state: State,
        instruction: &Instruction,
    ) -> Option<State> {
        let code = place.1;
        let mut accesses = Vec::new();
        let executor = Executor {
            program: self.program,
            arithmetic: &self.arithmetic,
            convention: self.decoder.convention(),
            variables: self.variables,
        };
        for (at, operation) in instruction.operations.iter().enumerate() {
            let identity = code << 8 | (4 * at as u64 + 1);
            executor.execute(&mut state, operation, identity, &mut accesses);
        }
        for access in accesses {
            self.event(number, code, Event::Access(access));
        }
        let next = code.wrapping_add(instruction.bytes);
        match instruction.flow {
            Flow::Next => Some(state),
            Flow::Jump(target) => {
                self.go(number, place, target, state, true);
                None
            }
            Flow::Branch(target, condition) => {
                state.identify(&condition, code << 8 | 0xf0);
                let mask = self.arithmetic.mask;
                if let Some(taken) = state.clone().refined(&condition, mask) {
                    self.go(number, place, target, taken, true);
                }
                state.refined(&condition.negated(), mask)
            }
            Flow::Call(target) => match self.case_helper(target) {
                Some(helper) => {
                    self.case(number, place, next, target, &helper, state);
                    None
                }
                None => self.call(number, place, target, state, true),
            },
            Flow::CallOf(register) => self.call_of(number, place, register, state),
            Flow::JumpTo(register) => {
                self.jump_to(number, place, register, state);
                None
            }
            Flow::ExceptionReturn => {
                if !self.instances[number].is_root {
                    self.event(number, code, Event::Trap(Trap::stops("returns from an exception")));
                }
                self.add_successor(number, code, Successor::Return);
                self.returned(number, &state);
                None
            }
            Flow::Stop => None,
            Flow::Trap(trap) => {
                self.event(number, code, Event::Trap(trap));
                Some(self.opaque(state))
            }
        }
    }

    /// The targets of an indirect jump or call: resolved, or named by the user.
    fn targets(&mut self, code: u64, value: &Value) -> Option<Vec<u64>> {
        let resolved = value.numbers(MOST_ADDRESSES).map(|all| {
            // The program does not call a null pointer. All other numbers are targets.
            let is_null = |value: u64| self.program.plain(value) == 0 && !self.may_run(value);
            let rest = all.iter().copied().filter(|value| !is_null(*value)).collect::<Vec<u64>>();
            if rest.is_empty() { all } else { rest }
        });
        resolved.or_else(|| {
            let site = self.program.plain(code);
            let here = || self.calls.get(&self.program.function_at(site)?.address);
            let named = self.calls.get(&site).or_else(here).cloned();
            if named.is_some() && self.is_collecting {
                self.named.insert(site);
            }
            named
        })
    }

    fn call_of(
        &mut self,
        number: usize,
        place: (u64, u64),
        register: Register,
        state: State,
    ) -> Option<State> {
        let Some(targets) = self.targets(place.1, state.value(register)) else {
            self.event(number, place.1, Event::UnknownTarget { is_call: true });
            return Some(self.opaque(state));
        };
        self.event(number, place.1, Event::Resolved);
        let mut after = None;
        for target in &targets {
            let callee_state = self.call(number, place, *target, state.clone(), targets.len() == 1);
            after = self.either(after, callee_state);
        }
        after
    }

    fn jump_to(&mut self, number: usize, place: (u64, u64), register: Register, state: State) {
        if *state.value(register) == Value::Return {
            self.add_successor(number, place.1, Successor::Return);
            self.returned(number, &state);
            return;
        }
        let Some(targets) = self.targets(place.1, state.value(register)) else {
            if self.executed.is_some() && self.is_certain_return(place.1, register, &state) {
                self.add_successor(number, place.1, Successor::Return);
                let state = self.kept(state);
                self.returned(number, &state);
                return;
            }
            self.event(number, place.1, Event::UnknownTarget { is_call: false });
            if !(self.instances[number].is_inside && self.is_return(place.1, register)) {
                self.unresolved.insert(place.1);
            }
            // It may be a call whose return is the function's own.
            let state = self.opaque(state);
            self.returned(number, &state);
            return;
        };
        self.event(number, place.1, Event::Resolved);
        for target in &targets {
            self.go(number, place, *target, state.clone(), targets.len() == 1);
        }
    }

    /// True if a jump has the form of a return: to the link register, or to a word of the stack.
    fn is_return(&mut self, code: u64, register: Register) -> bool {
        register == self.decoder.convention().link || self.loads_from_stack(code, register)
    }

    /// True if a jump to an unknown address is taken for a return in a recorded walk: the address was
    /// loaded from a fixed place on the stack, and the stack may be that at the entry again. The link
    /// register may as well hold a label.
    fn is_certain_return(&mut self, code: u64, register: Register, state: &State) -> bool {
        let convention = self.decoder.convention();
        if matches!(*state.value(convention.stack), Value::Stack(Some(at)) if at != 0) {
            return false;
        }
        if self.loads_from_stack(code, register) {
            return true;
        }
        let writer = state.identity(register) >> 8;
        register == convention.link && writer != 0 && self.loads_from_stack(writer, register)
    }

    /// True if an instruction loads a register from a fixed place on the stack.
    fn loads_from_stack(&mut self, code: u64, register: Register) -> bool {
        let stack = self.decoder.convention().stack;
        let is_loaded = |operation: &Operation| {
            matches!(operation, Operation::Load { to, at, .. }
                if *to == Some(register) && at.base == Some(stack) && at.index.is_none())
        };
        let instruction = self.instruction(code, false);
        instruction.is_some_and(|instruction| instruction.operations.iter().any(is_loaded))
    }

    /// Goes on at a target of a jump: in this function, or in another one that returns for it.
    fn go(
        &mut self,
        number: usize,
        place: (u64, u64),
        target: u64,
        state: State,
        is_certain: bool,
    ) {
        let convention = self.decoder.convention();
        let plain = self.program.plain(target);
        let is_balanced = *state.value(convention.stack) == Value::Stack(Some(0))
            && *state.value(convention.link) == Value::Return;
        let here = self.program.function_at(self.program.plain(place.1));
        let is_other = self
            .program
            .function_from(plain)
            .is_some_and(|function| here.is_none_or(|here| here.address != function.address));
        let memory = self.program.memory_at(plain);
        let is_ram = memory == Memory::Ram || (self.is_whole && memory == Memory::Flash);
        if is_ram && self.is_code(target) && !(is_balanced && is_other) {
            self.add_successor(number, place.1, Successor::Go(target));
            self.join(number, target, state);
            return;
        }
        if let Some(state) = self.call(number, place, target, state, is_certain) {
            self.returned(number, &state);
        }
    }

    /// True if a number may be the address of code, in the file or in ROM.
    fn may_run(&self, target: u64) -> bool {
        let plain = self.program.plain(target);
        let is_rom = self.program.memory_at(plain) == Memory::Rom;
        is_rom || (self.is_code(target) && self.program.object_at(plain).is_none())
    }

    fn is_code(&self, target: u64) -> bool {
        let plain = self.program.plain(target);
        let has_bytes = self.program.bytes_at(plain).is_some_and(|bytes| !bytes.is_empty());
        let section = self.program.section_at(plain);
        let is_mode = !self.program.is_thumb_only || target & 1 == 1;
        has_bytes && is_mode && section.is_some_and(|section| section.is_code)
    }

    /// Calls a function; returns the state behind the call, if it returns.
    fn call(
        &mut self,
        number: usize,
        place: (u64, u64),
        target: u64,
        state: State,
        is_certain: bool,
    ) -> Option<State> {
        let (leader, code) = place;
        let plain = self.program.plain(target);
        match self.program.memory_at(plain) {
            Memory::Ram if self.is_code(target) => {}
            Memory::Flash if self.is_whole && self.is_code(target) => {}
            Memory::Flash if !self.is_whole => {
                self.event(number, code, Event::Code { target: plain, is_certain });
                return Some(self.opaque(state));
            }
            Memory::Rom => return Some(self.opaque(state)),
            _ => {
                self.event(number, code, Event::NoCode { target: plain });
                return Some(self.opaque(state));
            }
        }
        // The callee may read arguments on the stack, and what it is given the address of.
        state.show_slots();
        let callee = self.instance(target, self.arguments(&state));
        if self.is_collecting {
            self.add_successor(number, code, Successor::Call(callee));
            self.edges.insert((number, code, callee));
            self.callees.insert(callee);
        } else {
            self.instances[callee].callers.insert((number, leader));
        }
        let summary = self.instances[callee].summary.clone();
        summary.returns.then(|| self.behind(state, &summary, code))
    }

    /// The values of arguments before a call: those in registers, then the first words on the stack.
    fn arguments(&self, state: &State) -> Vec<Value> {
        let convention = self.decoder.convention();
        let given = |place: usize| {
            u8::try_from(place).map_or(Value::Memory, |argument| Value::Given(argument, 0))
        };
        let registers = convention.arguments.iter().enumerate();
        let mut arguments: Vec<Value> = registers
            .map(|(place, register)| match state.value(*register) {
                value @ (Value::Listed(_)
                | Value::Span { .. }
                | Value::Memory
                | Value::Computed
                | Value::Near(_)
                | Value::Constants(_)) => value.clone(),
                Value::Stack(_) | Value::Given(..) => given(place),
                _ => Value::Any,
            })
            .collect();
        for word in 0..STACK_WORDS {
            let value = match self.stack_word(state, word) {
                Some(Value::Stack(_) | Value::Given(..)) => given(arguments.len()),
                // Other words may as well be no arguments: numbers would make too many contexts.
                Some(Value::Listed(numbers))
                    if numbers.iter().all(|number| self.is_code(*number)) =>
                {
                    Value::Listed(numbers.clone())
                }
                _ => Value::Any,
            };
            arguments.push(value);
        }
        arguments
    }

    /// The value of a word on the stack, from the stack pointer on, if it is known.
    fn stack_word<'b>(&self, state: &'b State, word: usize) -> Option<&'b Value> {
        let convention = self.decoder.convention();
        let Value::Stack(Some(at)) = *state.value(convention.stack) else { return None };
        let distance = word as i64 * i64::from(convention.word);
        state.word(at.checked_add(distance)?, convention.word)
    }

    /// The state behind a call of a function with a summary.
    fn behind(&self, mut state: State, summary: &Summary, code: u64) -> State {
        let convention = self.decoder.convention();
        self.escape_arguments(&mut state);
        state.writes_code_address |= summary.writes_code_address;
        self.write_given(&mut state, &summary.writes_given);
        if state.is_escaped && summary.writes_code_address {
            state.forget_all();
        } else if state.is_escaped {
            state.forget_objects(convention.preserved);
        }
        if summary.writes_caller > 0 {
            match *state.value(convention.stack) {
                Value::Stack(Some(at)) => state.overwrite(at, summary.writes_caller),
                _ => state.forget_all(),
            }
        }
        state.forget_passed();
        state.compare(None);
        for register in 0..REGISTERS as u8 {
            let is_kept =
                summary.preserved[usize::from(register)] || convention.zero == Some(register);
            if is_kept && register != convention.link {
                continue;
            }
            let place = convention.arguments.iter().position(|argument| *argument == register);
            // The ABI has two registers of results: an address that is left in another one is none.
            let place = place.filter(|place| *place < 2 || !self.arithmetic.notes.is_kept());
            let value = place.map_or(Value::Any, |place| summary.results[place].clone());
            state.set(register, value, code << 8 | (0x80 + u64::from(register)));
        }
        if let Value::Stack(Some(at)) = *state.value(convention.stack) {
            state.pop_to(at);
        }
        state
    }

    /// Forgets the words of the stack that a callee may have written through its arguments.
    fn write_given(&self, state: &mut State, writes: &BTreeMap<u8, (i64, i64)>) {
        let registers = self.decoder.convention().arguments;
        if writes.is_empty() {
            return;
        }
        let before = state.clone();
        for (argument, (low, high)) in writes {
            let place = usize::from(*argument);
            let value = match registers.get(place) {
                Some(register) => Some(before.value(*register)),
                None => self.stack_word(&before, place - registers.len()),
            };
            match value.cloned().unwrap_or(Value::Any) {
                Value::Stack(Some(at)) => {
                    state.overwrite(at.saturating_add(*low), high.saturating_sub(*low));
                }
                Value::Given(own, at) => {
                    let range = (at.saturating_add(*low), at.saturating_add(*high));
                    extend(&mut state.writes_given, own, range);
                }
                Value::Stack(None) => {
                    state.writes_code_address = true;
                    state.forget_all();
                }
                _ => state.writes_code_address = true,
            }
        }
    }

    /// The state behind a call of a function that is not known, and keeps to the ABI.
    fn opaque(&self, state: State) -> State {
        state.show_all();
        let convention = self.decoder.convention();
        let preserved =
            (0..REGISTERS as u8).map(|register| convention.preserved.contains(&register));
        let summary = Summary {
            returns: true,
            results: vec![Value::Any; convention.arguments.len()],
            preserved: preserved.collect(),
            writes_caller: 0,
            writes_code_address: false,
            writes_given: BTreeMap::new(),
        };
        let mut state = self.behind(state, &summary, 0);
        // It may write its arguments on the stack.
        state.forget_objects(convention.preserved);
        state
    }

    /// The state behind a return whose saved registers were lost, and are taken to be intact: a write
    /// at an unknown index on the stack stays in its object.
    fn kept(&self, state: State) -> State {
        let mut state = self.opaque(state);
        let convention = self.decoder.convention();
        for register in convention.preserved {
            state.set(*register, Value::Initial(*register), 0);
        }
        state.set(convention.stack, Value::Stack(Some(0)), 0);
        state
    }

    /// Notes whether a callee gets an address of the stack.
    fn escape_arguments(&self, state: &mut State) {
        let convention = self.decoder.convention();
        let is_kept = |register: &Register| {
            convention.preserved.contains(register) || convention.stack == *register
        };
        let is_address = |register: Register| matches!(state.value(register), Value::Stack(_));
        let passed = (0..REGISTERS as u8).filter(|register| !is_kept(register)).any(is_address);
        state.is_escaped |= passed || state.holds_address();
    }

    /// Adds a state at a return to the summary of a function.
    fn returned(&mut self, number: usize, state: &State) {
        if self.is_collecting {
            return;
        }
        let convention = self.decoder.convention();
        // The first two registers hold results, which others than the known callers may read.
        let is_result = |register: u8| convention.arguments[2..].contains(&register);
        self.arithmetic.notes.note(|ledger| {
            for register in (0..REGISTERS as u8).filter(|candidate| !is_result(*candidate)) {
                if Some(register) != convention.global {
                    ledger.lose(state.value(register));
                }
            }
        });
        let old = self.instances[number].summary.clone();
        let mut new = old.clone();
        let changes = self.instances[number].changes;
        new.returns = true;
        new.writes_caller = new.writes_caller.max(state.writes_caller);
        new.writes_code_address |= state.writes_code_address;
        for (argument, range) in &state.writes_given {
            extend(&mut new.writes_given, *argument, *range);
        }
        // A range that grows in a loop of calls is any.
        if changes > MOST_JOINS && new.writes_given != old.writes_given {
            new.writes_given = old.writes_given.clone();
            new.writes_code_address = true;
        }
        for register in 0..REGISTERS as u8 {
            let value = state.value(register);
            let is_same = *value == Value::Initial(register)
                || (register == convention.stack && *value == Value::Stack(Some(0)))
                || (convention.global == Some(register)
                    && value.single().is_some()
                    && value.single() == self.program.global_pointer);
            new.preserved[usize::from(register)] &= is_same;
        }
        for (register, result) in convention.arguments.iter().zip(&mut new.results) {
            let value = match state.value(*register) {
                Value::Stack(Some(at)) if *at >= 0 => Value::Memory,
                Value::Given(..) => Value::Memory,
                Value::Stack(_) | Value::Initial(_) | Value::Return => Value::Any,
                value => value.clone(),
            };
            *result = match old.returns {
                false => value,
                true if changes > MOST_JOINS => self.arithmetic.widened(result, &value),
                true => self.arithmetic.join(result, &value),
            };
        }
        if new != old {
            self.instances[number].summary = new;
            self.instances[number].changes += 1;
            let callers: Vec<_> = self.instances[number].callers.iter().copied().collect();
            for (caller, leader) in callers {
                self.enqueue(caller, leader);
            }
        }
    }

    /// The kind of the helper for switch statements that lies at an address.
    fn case_helper(&self, target: u64) -> Option<String> {
        let function = self.program.function_from(self.program.plain(target))?;
        let kind = function.name.strip_prefix("__gnu_thumb1_case_")?;
        ["uqi", "sqi", "uhi", "shi", "si"].contains(&kind).then(|| kind.to_owned())
    }

    /// Follows a call of a helper of libgcc for switch statements, whose table is behind the call.
    fn case(
        &mut self,
        number: usize,
        place: (u64, u64),
        next: u64,
        helper: u64,
        kind: &str,
        mut state: State,
    ) {
        let plain = self.program.plain(helper);
        if self.program.memory_at(plain) == Memory::Flash {
            self.event(number, place.1, Event::Code { target: plain, is_certain: true });
        }
        if self.is_collecting
            && let Some(executed) = &mut self.executed
        {
            executed.entry((number, place.1)).or_default().helper = Some(helper);
        }
        let base = self.program.plain(next);
        let base = if kind == "si" { base.next_multiple_of(4) } else { base };
        let (bytes, factor) = match kind {
            "uqi" | "sqi" => (1, 2),
            "si" => (4, 1),
            _ => (2, 2),
        };
        let target = |index: u64| {
            let at = index.checked_mul(u64::from(bytes))?.checked_add(base)?;
            let entry = self.program.constant(at, bytes, true)?;
            let unused = 64 - 8 * u32::from(bytes);
            let is_signed = kind.starts_with('s');
            let entry = if is_signed { ((entry << unused) as i64) >> unused } else { entry as i64 };
            Some(base.wrapping_add_signed(factor * entry) & 0xffff_ffff | 1)
        };
        let indices = state.value(0).numbers(MOST_ADDRESSES);
        let targets: Option<Vec<u64>> =
            indices.and_then(|indices| indices.into_iter().map(target).collect());
        let Some(mut targets) = targets else {
            self.event(number, place.1, Event::UnknownTarget { is_call: false });
            self.unresolved.insert(place.1);
            let state = self.opaque(state);
            self.returned(number, &state);
            return;
        };
        targets.sort_unstable();
        targets.dedup();
        self.event(number, place.1, Event::Resolved);
        let link = self.decoder.convention().link;
        state.set(link, Value::Any, place.1 << 8 | 0xa0);
        state.compare(None);
        for target in targets {
            self.go(number, place, target, state.clone(), true);
        }
    }
}
