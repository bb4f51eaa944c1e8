//! The control flow of a function and of all that it calls: blocks of instructions, and the
//! ways on from each.
//!
//! The graph has each way that an execution of the function can take, and a program for which that
//! is not known is refused. One thing is taken for granted: a jump to an address that was loaded from
//! a fixed place on the stack is a return, if the stack pointer is not known to differ from that at
//! the entry. A write at an unknown index on the stack, which stays in its object, makes such an
//! address unknown.

use std::collections::{BTreeMap, BTreeSet};

use flashpager_base::{Error, Result, did_you_mean, shown};
use flashpager_binary::names::{demangled, is_called};
use rustc_hash::FxHashMap;

use crate::analysis::{Analysis, Event, ExecutedInstruction, Successor};
use crate::decode::decoder_for;
use crate::program::{Memory, MemoryRequest, Program};
use crate::report::{known_variables, named_calls};

/// The place where execution goes on behind a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Resumption {
    /// A block of the caller.
    Block(usize),
    /// The caller returns, too: the call is a jump at its end.
    Return,
    /// The callee does not return.
    Never,
}

/// A way on from the end of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Exit {
    /// To a block of the same function.
    Block(usize),
    /// Into a function, and on from there.
    Call(usize, Resumption),
    /// Back to the caller.
    Return,
}

/// Instructions that are executed one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The address of its first byte.
    pub start: u64,
    /// The address behind its last byte.
    pub end: u64,
    /// True if it lies in RAM.
    pub is_in_ram: bool,
    /// The successors; none if execution ends here.
    pub exits: Vec<Exit>,
}

/// A function, as it is called with certain arguments. A function may occur several times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The demangled name.
    pub name: String,
    /// The address of its first byte.
    pub address: u64,
    /// Its blocks; the first one is executed first.
    pub blocks: Vec<Block>,
}

/// The control flow of a function and of all that it calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeGraph {
    /// The functions; the first one is the root.
    pub functions: Vec<Function>,
}

/// Returns the control flow of the function `root` of the ELF file `bytes`; `place` is the file's name
/// in errors. `targets` are those of indirect calls, by the address of the call or the function that
/// holds it.
///
/// # Errors
/// If the file is no linked firmware of a machine that is followed, has no such function or several,
/// or the successors of an instruction are not known. [`Error::Interrupted`] if `should_continue`
/// returned false.
pub fn code_graph(
    bytes: &[u8],
    place: &str,
    root: &str,
    targets: &[(String, Vec<String>)],
    should_continue: &dyn Fn() -> bool,
) -> Result<CodeGraph> {
    let memory = MemoryRequest { is_pinned: true, ..MemoryRequest::default() };
    let program = Program::parse(bytes, place, &memory)?;
    let decoder = decoder_for(&program, place)?;
    let entry = root_entry(&program, place, root)?;
    let calls = named_calls(&program, place, targets)?;
    let mut analysis = Analysis::new(&program, decoder.as_ref(), &calls, &[]);
    let mut number = analysis.walk_recorded(entry, should_continue)?;
    let mut known = Vec::new();
    if analysis.events.iter().any(|(_, _, event)| is_open(event)) {
        known = known_variables(&program, decoder.as_ref(), &calls, should_continue)?;
    }
    if !known.is_empty() {
        analysis = Analysis::new(&program, decoder.as_ref(), &calls, &known);
        number = analysis.walk_recorded(entry, should_continue)?;
    }
    check_events(&program, &analysis, place)?;
    Builder { program: &program, analysis: &analysis, place }.graph(number)
}

/// True if the successors of an instruction are not known.
fn is_open(event: &Event) -> bool {
    matches!(event, Event::UnknownTarget { .. } | Event::NoCode { .. })
}

/// The entry of the root.
fn root_entry(program: &Program, place: &str, root: &str) -> Result<u64> {
    let named = program.names.iter().filter(|(name, _)| is_called(name, root));
    let entries: BTreeSet<u64> = named.map(|(_, address)| *address).collect();
    let places: Vec<String> =
        entries.iter().map(|entry| format!("{:#x}", program.plain(*entry))).collect();
    let mut entries = entries.into_iter();
    let Some(entry) = entries.next() else {
        let known = program.names.iter().map(|(name, _)| name.as_str());
        let near = shown(did_you_mean(root, known));
        return Err(Error::data(place, format!("has no function '{}'{near}", shown(root))));
    };
    if entries.next().is_some() {
        let message = format!(
            "has several functions '{}' ({}), and a bound is that of one: rename it, or name a \
             caller",
            shown(root),
            places.join(", ")
        );
        return Err(Error::data(place, message));
    }
    Ok(entry)
}

/// Refuses a walk in which the successors of some instruction are not known.
fn check_events(program: &Program, analysis: &Analysis<'_>, place: &str) -> Result<()> {
    let mut refused: Vec<(u64, String)> = Vec::new();
    for (_, code, event) in &analysis.events {
        let site = program.plain(*code);
        let text = match event {
            Event::UnknownTarget { is_call: true } => format!(
                "calls a function that is not known: name those that it may call, as --targets \
                 {site:#x}=NAME,NAME"
            ),
            Event::UnknownTarget { is_call: false } => format!(
                "jumps to an address that is not known: name the functions that it may be, as \
                 --targets {site:#x}=NAME,NAME; for a jump within a function there is no remedy"
            ),
            Event::NoCode { target } => {
                format!("goes to {target:#x}, where the file has no code: no bound is known")
            }
            Event::NotDecoded => {
                "executes an instruction that is not known: no bound is known".to_owned()
            }
            // The debugger executes nothing of the program.
            Event::Trap(trap) if trap.resumes => continue,
            Event::Trap(trap) => format!("{}: no bound is known for what follows", trap.text),
            Event::TooLong => {
                "is part of a program that is too large to follow: name a smaller function"
                    .to_owned()
            }
            Event::Code { .. } | Event::Access(_) | Event::Resolved => continue,
        };
        refused.push((site, text));
    }
    refused.sort();
    let Some((site, text)) = refused.first() else { return Ok(()) };
    let name = function_name(program, *site);
    let more = match refused.len() - 1 {
        0 => String::new(),
        more => format!(" ({more} more)"),
    };
    Err(Error::data(place, format!("{name} at {site:#x} {text}{more}")))
}

fn function_name(program: &Program, address: u64) -> String {
    let function = program.function_at(address);
    function.map_or_else(|| format!("{address:#x}"), |function| demangled(&function.name))
}

/// Makes the graph of a walk.
struct Builder<'a> {
    program: &'a Program,
    analysis: &'a Analysis<'a>,
    place: &'a str,
}

/// The instructions of a function by their addresses.
type Instructions<'a> = BTreeMap<u64, &'a ExecutedInstruction>;

impl Builder<'_> {
    fn graph(&self, root: usize) -> Result<CodeGraph> {
        let mut instructions: BTreeMap<usize, Instructions<'_>> = BTreeMap::new();
        let executed = self.analysis.executed.iter().flatten();
        let mut helpers = BTreeSet::new();
        for ((number, code), each) in executed {
            instructions.entry(*number).or_default().insert(*code, each);
            helpers.extend(each.helper);
        }
        let others = instructions.keys().copied().filter(|number| *number != root);
        let order: Vec<usize> = std::iter::once(root).chain(others).collect();
        let places: FxHashMap<usize, usize> =
            order.iter().enumerate().map(|(place, number)| (*number, place)).collect();
        let helper_places: FxHashMap<u64, usize> =
            helpers.iter().enumerate().map(|(at, helper)| (*helper, order.len() + at)).collect();
        let mut functions = Vec::new();
        for number in &order {
            let Some(own) = instructions.get(number) else {
                return Err(Error::data(self.place, "has a function without code: make it again"));
            };
            functions.push(self.function(*number, own, &places, &helper_places)?);
        }
        functions.extend(helpers.iter().map(|helper| self.helper(*helper)));
        Ok(CodeGraph { functions })
    }

    /// A helper for switch statements, whose instructions are executed one after another.
    fn helper(&self, code: u64) -> Function {
        let start = self.program.plain(code);
        let end = self.program.function_from(start).map_or(start, |function| function.end);
        Function {
            name: function_name(self.program, start),
            address: start,
            blocks: vec![self.block(start, end.max(start + 2), vec![Exit::Return])],
        }
    }

    fn block(&self, start: u64, end: u64, exits: Vec<Exit>) -> Block {
        Block { start, end, is_in_ram: self.program.memory_at(start) == Memory::Ram, exits }
    }

    fn function(
        &self,
        number: usize,
        own: &Instructions<'_>,
        places: &FxHashMap<usize, usize>,
        helpers: &FxHashMap<u64, usize>,
    ) -> Result<Function> {
        let entry = self.analysis.instances[number].entry;
        let heads = block_heads(entry, own);
        let others = heads.iter().copied().filter(|head| *head != entry);
        let order: Vec<u64> = std::iter::once(entry).chain(others).collect();
        let blocks: FxHashMap<u64, usize> =
            order.iter().enumerate().map(|(place, head)| (*head, place)).collect();
        let mut made = Vec::new();
        for head in order {
            let mut last = head;
            while let Some(executed) = own.get(&last) {
                let next = last.wrapping_add(executed.bytes);
                if !is_plain(executed) || heads.contains(&next) {
                    break;
                }
                last = next;
            }
            let Some(executed) = own.get(&last) else {
                return Err(Error::data(self.place, format!("has no code at {last:#x}")));
            };
            let next = last.wrapping_add(executed.bytes);
            let mut exits = BTreeSet::new();
            for successor in &executed.successors {
                exits.insert(self.exit(*successor, next, executed, &blocks, places, helpers)?);
            }
            let start = self.program.plain(head);
            let end = self.program.plain(last) + executed.bytes;
            made.push(self.block(start, end, exits.into_iter().collect()));
        }
        let address = self.program.plain(entry);
        Ok(Function { name: function_name(self.program, address), address, blocks: made })
    }

    fn exit(
        &self,
        successor: Successor,
        next: u64,
        executed: &ExecutedInstruction,
        blocks: &FxHashMap<u64, usize>,
        places: &FxHashMap<usize, usize>,
        helpers: &FxHashMap<u64, usize>,
    ) -> Result<Exit> {
        let lost = |code: u64| {
            let site = self.program.plain(code);
            Error::data(self.place, format!("goes on at {site:#x} in a way that is not followed"))
        };
        let block = |code: u64| blocks.get(&code).copied().ok_or_else(|| lost(code));
        let helper = executed.helper.and_then(|helper| helpers.get(&helper).copied());
        Ok(match (successor, helper) {
            (Successor::Go(target), Some(helper)) => {
                Exit::Call(helper, Resumption::Block(block(target)?))
            }
            (Successor::Next, _) => Exit::Block(block(next)?),
            (Successor::Go(target), None) => Exit::Block(block(target)?),
            (Successor::Return, _) => Exit::Return,
            (Successor::Call(_), Some(_)) => return Err(lost(next)),
            (Successor::Call(callee), None) => {
                let place = places.get(&callee).copied().ok_or_else(|| lost(next))?;
                let resumption = match (self.analysis.instances[callee].returns(), executed.is_call)
                {
                    (false, _) => Resumption::Never,
                    (true, true) => Resumption::Block(block(next)?),
                    (true, false) => Resumption::Return,
                };
                Exit::Call(place, resumption)
            }
        })
    }
}

/// True if execution always goes on at the next instruction.
fn is_plain(executed: &ExecutedInstruction) -> bool {
    executed.successors.len() == 1 && executed.successors.contains(&Successor::Next)
}

/// The addresses of first instructions of blocks.
fn block_heads(entry: u64, own: &Instructions<'_>) -> BTreeSet<u64> {
    let mut heads = BTreeSet::from([entry]);
    for (code, executed) in own {
        let next = code.wrapping_add(executed.bytes);
        if !is_plain(executed) && own.contains_key(&next) {
            heads.insert(next);
        }
        heads.extend(executed.successors.iter().filter_map(|successor| match successor {
            Successor::Go(target) => Some(*target),
            _ => None,
        }));
    }
    heads
}
