//! The copy loop of a flash driver: what it executes for each byte.
//!
//! A driver moves a page between the data port of a flash controller, one
//! address that does not move, and memory, where the address does. Given an
//! object file and the name of a function, [`copy_loop`] finds the loop that does
//! this and counts what one iteration of it executes. It only counts; what an
//! instruction or an access takes is for [`crate::estimate`].
//!
//! What is an access of the loop?
//!
//! * A constant beside the code (relative to the program counter) is a **literal**.
//! * An access to the stack, or to an address that moves, is **memory**. An
//!   address moves unless all that it is made of is the same in each iteration:
//!   not written in the loop, a constant, or loaded from a place that the loop
//!   does not store to. So the constant may be made anew for each byte, and a
//!   pointer to the port may lie in a stack slot or in a structure.
//! * Any other address is **fixed**. It is a device if it is a plain number at
//!   which the program has no memory, or lies in a port space (`in` and `out` of
//!   x86 and AVR). Else it may be a device or a variable: a variable if the loop
//!   both loads and stores it or if the file lays it out. If it is neither the
//!   port nor a variable, then a store counts as one to a device, a load as one
//!   of memory (that pointers are reloaded is common, and a status register
//!   behind a pointer is rare).
//!
//! The **data port** is the fixed address between which and moving memory data
//! flow: what is loaded from it is stored to memory (a read), or what is loaded
//! from memory is stored to it (a write). A caller who knows its address can name
//! it. Other devices (strobes, a status register) cross the bus too and are
//! counted as such. A loop that only polls moves no memory and is no copy loop.
//!
//! Of loops in loops the innermost that touches the port is taken, of several the
//! one that moves most bytes in an iteration, as compilers unroll. Of the ways
//! through its body the longest of those with the most port accesses is counted.
//! A loop inside (a wait for a ready bit) counts once. What a called function
//! executes is not counted; its name is given.
//!
//! The bytes of an iteration are those of its port accesses, or fewer where fewer
//! are stored to moving memory (a read) or loaded from it (a write): of a data
//! register of 32 bits a driver may keep only a byte.

mod aarch64;
mod arm;
mod avr;
mod code;
mod count;
mod graph;
mod instruction;
mod operands;
mod ports;
mod riscv;
mod values;
mod x86;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use code::FunctionCode;
use flashpager_base::{Error, Result, named, shown};
use graph::{Graph, Loop};
use instruction::{AccessKind, Flow};
use ports::{ClassifiedAccesses, DataPort, FixedAddress};
use serde::Serialize;
use values::Values;

/// Whole firmware images are below this.
const MAX_OBJECT_BYTES: u64 = 256 << 20;

/// Which way a loop moves data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the port to memory.
    Read,
    /// From memory to the port.
    Write,
}

named! {
    Direction: "unknown direction",
    "read" => Read,
    "write" => Write,
}

/// An instruction of a loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedInstruction {
    /// Its address in the file.
    pub address: u64,
    /// The instruction, as the disassembler writes it.
    pub text: String,
    /// What it accesses: `port`, `memory`, `literal` or `device`.
    pub access: Option<&'static str>,
}

/// What one iteration of a copy loop executes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CopyLoop {
    /// The function.
    pub function: String,
    /// `arm`, `thumb`, `aarch64`, `riscv32`, `riscv64`, `i386`, `x86_64` or `avr`.
    pub architecture: String,
    /// Which way it moves data.
    pub direction: Direction,
    /// The address of the port, where it is known.
    pub port: Option<u64>,
    /// Address of the loop's first instruction.
    pub first_address: u64,
    /// Address of the loop's last instruction.
    pub last_address: u64,
    /// Bytes through the port, without those that are not kept or hold no data.
    pub bytes: u32,
    /// Instructions, by the longest way.
    pub instructions: u32,
    /// Instructions, by the shortest way with as many port accesses.
    pub shortest_instructions: u32,
    /// Accesses to the data port.
    pub port_accesses: u32,
    /// Accesses to RAM: moving addresses, the stack, variables.
    pub memory_accesses: u32,
    /// Loads of constants from beside the code.
    pub literal_accesses: u32,
    /// Accesses to other addresses that are no memory.
    pub other_device_accesses: u32,
    /// Functions that it calls, whose instructions are not counted.
    pub calls: Vec<String>,
    /// The counted instructions, by address.
    pub listing: Vec<ListedInstruction>,
}

/// The same as [`copy_loop`], in the file `object`.
///
/// # Errors
/// Those of [`copy_loop`], and a file that cannot be read or is too large.
pub fn copy_loop_of(object: &Path, function: &str, port: Option<u64>) -> Result<CopyLoop> {
    copy_loop(&read(object)?, &object.display().to_string(), function, port)
}

fn read(object: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(object)
        .and_then(|file| file.take(MAX_OBJECT_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|e| Error::file(object, e))?;
    if bytes.len() as u64 > MAX_OBJECT_BYTES {
        let what = format!("is larger than {} MiB", MAX_OBJECT_BYTES >> 20);
        return Err(Error::data(object.display().to_string(), what));
    }
    Ok(bytes)
}

/// Where the jumps end that `function`, at `address` of the file `object`, makes to its own first
/// byte without calling itself.
///
/// # Errors
/// Those of [`copy_loop_of`], and another function of the same name.
pub fn loops_to_start(object: &Path, function: &str, address: u64) -> Result<Vec<u64>> {
    let place = object.display().to_string();
    let code = FunctionCode::of(&read(object)?, &place, function)?;
    if code.entry != address {
        let what = format!("has several functions {}", shown(function));
        return Err(Error::data(place, what));
    }
    let leads_back =
        |flow| matches!(flow, Flow::Jump(Some(to)) | Flow::Branch(to) if to == address);
    let jumps = code.instructions.iter().filter(|made| leads_back(made.flow));
    Ok(jumps.map(|made| made.end()).collect())
}

/// Find the loop of `function` in the ELF file `object` that moves bytes through
/// the data port, and count what an iteration executes. `place` names the file in
/// errors; `port` is the port's address, if the caller knows it.
///
/// # Errors
/// A file that is no ELF file, damaged, or for an unknown machine; a function
/// that it lacks, that is too large or that cannot be disassembled; no loop, or
/// none that moves bytes through a port.
pub fn copy_loop(
    object: &[u8],
    place: &str,
    function: &str,
    port: Option<u64>,
) -> Result<CopyLoop> {
    let code = FunctionCode::of(object, place, function)?;
    let wrong =
        |what: String| Error::data(place, format!("its function {} {what}", shown(function)));
    let graph = Graph::of(&code.instructions, code.entry).ok_or_else(|| {
        wrong("has more branches than a driver has; name the function that holds the loop".into())
    })?;
    if graph.loops.is_empty() {
        let called = called(code.calls.values());
        return Err(wrong(format!(
            "has no loop; name the function whose loop moves the bytes{called}"
        )));
    }
    let values = Values::of(&code, &graph);
    let sorted: Vec<ClassifiedAccesses<'_>> = graph
        .loops
        .iter()
        .map(|found| ClassifiedAccesses::of(&code, &graph, &values, found))
        .collect();
    let found: Vec<(&Loop, &ClassifiedAccesses<'_>, DataPort)> = graph
        .loops
        .iter()
        .zip(&sorted)
        .filter_map(|(found, sorted)| Some((found, sorted, sorted.port(port)?)))
        .collect();
    // A loop around a copy loop holds the same accesses, and more.
    let is_innermost = |outer: &Loop| {
        !found.iter().any(|(inner, ..)| {
            inner.header != outer.header && inner.blocks.iter().all(|block| outer.holds[*block])
        })
    };
    let mut best: Option<CopyLoop> = None;
    for (found, sorted, port) in found.iter().filter(|(outer, ..)| is_innermost(outer)) {
        let counted = count::count(&code, &graph, found, sorted, port, function);
        let is_better = best.as_ref().is_none_or(|best| {
            (counted.bytes, std::cmp::Reverse(counted.first_address))
                > (best.bytes, std::cmp::Reverse(best.first_address))
        });
        if is_better {
            best = Some(counted);
        }
    }
    best.ok_or_else(|| wrong(why_none(&code, &graph, &sorted, port)))
}

/// Why none of the loops is a copy loop, and what to do.
fn why_none(
    code: &FunctionCode,
    graph: &Graph,
    sorted: &[ClassifiedAccesses<'_>],
    port: Option<u64>,
) -> String {
    let calls = graph.loops.iter().flat_map(|found| &found.blocks).flat_map(|block| {
        let inside = &graph.blocks[*block].instructions;
        inside.iter().filter_map(|at| code.calls.get(&code.instructions[*at].address))
    });
    let called = called(calls);
    let mut numbers: Vec<u64> = sorted
        .iter()
        .flat_map(|sorted| sorted.addresses().into_keys())
        .filter_map(|fixed: FixedAddress| fixed.number())
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    if let Some(port) = port
        && !numbers.contains(&port)
    {
        let there: Vec<String> = numbers.iter().take(8).map(|at| format!("0x{at:x}")).collect();
        let there = if there.is_empty() {
            "no number for an address that does not move".into()
        } else {
            there.join(", ")
        };
        return format!(
            "has no loop that touches 0x{port:x} (its loops show {there}); name the port's address \
             as the code has it, or none{called}"
        );
    }
    let touches = sorted.iter().any(|sorted| !sorted.addresses().is_empty());
    let moves = |sorted: &ClassifiedAccesses<'_>| {
        sorted.moves_memory(AccessKind::Load) || sorted.moves_memory(AccessKind::Store)
    };
    let polls = sorted.iter().any(|sorted| !sorted.addresses().is_empty() && !moves(sorted));
    if polls {
        return format!(
            "only polls: its loops read an address that does not move and store nothing; name the \
             function that copies the data{called}"
        );
    }
    if touches {
        return format!(
            "has no loop that moves data between memory and a port; name the port's address, or \
             the function that copies the data{called}"
        );
    }
    format!(
        "has no loop that touches a port (an address that does not move); name the function that \
         copies the data{called}"
    )
}

/// The end of a message that names the called functions.
fn called<'a>(calls: impl Iterator<Item = &'a String>) -> String {
    const SHOWN: usize = 5;
    let mut names: Vec<&str> =
        calls.map(String::as_str).filter(|name| !name.starts_with('(')).collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(SHOWN);
    if names.is_empty() { String::new() } else { format!(", perhaps {}", names.join(" or ")) }
}
