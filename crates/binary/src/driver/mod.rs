//! The copy loop of a flash driver: the instructions that it executes for each byte.
//!
//! A driver moves a page between the data port of a flash controller, one
//! address that does not move, and memory, where the address does. Given an
//! object file and the name of a function, [`copy_loop`] finds the loop that does
//! this and counts the instructions and accesses of one iteration. Their duration is
//! estimated elsewhere.
//!
//! The accesses of the loop are classified:
//!
//! * A constant beside the code (relative to the program counter) is a **literal**.
//! * An access to the stack, or to an address that moves, is **memory**. An
//!   address moves unless all its parts are the same in each iteration: not written
//!   in the loop, constant, or loaded from a place that the loop does not store to.
//!   A constant may be computed again for each byte, and a pointer to the port may
//!   lie in a stack slot or in a structure.
//! * Any other address is **fixed**. It is a device if it is a plain number at
//!   which the program has no memory, or if it lies in a port space (`in` and `out`
//!   of x86 and AVR). Otherwise it is a device or a variable. It is a variable if the
//!   loop both loads and stores it, or if the file lays it out. If it is neither the
//!   port nor a variable, a store counts as one to a device and a load as one of
//!   memory: pointers are often reloaded, and a status register behind a pointer is
//!   rare.
//!
//! The **data port** is the fixed address between which and moving memory data
//! flow. Data that is loaded from it is stored to memory (a read), or data that is
//! loaded from memory is stored to it (a write). The caller can name its address.
//! Accesses to other devices (strobes, a status register) are counted, too. A loop
//! that only polls moves no memory and is no copy loop.
//!
//! Among nested loops, the innermost one that accesses the port is chosen. Among
//! several, it is the one that moves most bytes in an iteration, because compilers
//! unroll loops. Among the paths through its body, the longest of those with most
//! port accesses is counted. An inner loop (a wait for a ready bit) counts once.
//! Instructions of called functions are not counted; the functions are named.
//!
//! The bytes of an iteration are those of its port accesses. They are fewer if
//! fewer bytes are stored to moving memory (a read) or loaded from it (a write): a
//! driver may keep a single byte of a 32-bit data register.

mod aarch64;
mod arm;
mod avr;
mod code;
mod count;
mod flow;
mod graph;
mod instruction;
mod loop_counts;
pub mod operands;
mod ports;
mod riscv;
mod values;
mod x86;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use code::FunctionCode;
use flashpager_base::{Error, Result, shown};
use graph::{Graph, Loop};
use instruction::{AccessKind, Flow};
use ports::{ClassifiedAccesses, DataPort, FixedAddress};
use values::Values;

pub use flow::{FlowReader, InstructionFlow, JumpTarget, only_length};
pub use loop_counts::{CopyLoop, Direction, ListedInstruction};

/// Largest object file, in bytes. Whole firmware images are smaller.
const MAX_OBJECT_BYTES: u64 = 256 << 20;

/// Does the same as [`copy_loop`] for the file `object`.
///
/// # Errors
/// If [`copy_loop`] fails, or a file cannot be read or is too large.
pub fn copy_loop_of(object: &Path, function: &str, port: Option<u64>) -> Result<CopyLoop> {
    copy_loop(&read(object)?, &object.display().to_string(), function, port)
}

fn read(object: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(object)
        .and_then(|file| file.take(MAX_OBJECT_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|e| Error::file(object, e))?;
    if bytes.len() as u64 > MAX_OBJECT_BYTES {
        let reason = format!("is larger than {} MiB", MAX_OBJECT_BYTES >> 20);
        return Err(Error::data(object.display().to_string(), reason));
    }
    Ok(bytes)
}

/// Returns the ends of the jumps to its own first byte that `function`, at `address` of the file
/// `object`, makes without calling itself.
///
/// # Errors
/// If [`copy_loop_of`] fails, or another function has the same name.
pub fn loops_to_start(object: &Path, function: &str, address: u64) -> Result<Vec<u64>> {
    let file_name = object.display().to_string();
    let code = FunctionCode::of(&read(object)?, &file_name, function)?;
    if code.entry != address {
        let reason = format!("has several functions {}", shown(function));
        return Err(Error::data(file_name, reason));
    }
    let leads_back =
        |flow| matches!(flow, Flow::Jump(Some(to)) | Flow::Branch(to) if to == address);
    let jumps = code.instructions.iter().filter(|made| leads_back(made.flow));
    Ok(jumps.map(|made| made.end()).collect())
}

/// Finds the loop of `function` in the ELF file `object` that moves bytes through the data port,
/// and counts one iteration. `file_name` is the file's name in errors; `port` is the port's address, if
/// the caller knows it.
///
/// # Errors
/// If the file is no ELF file, is damaged, or is for an unknown machine. If the function is
/// missing, is too large, cannot be disassembled, or has no loop that moves bytes through a port.
pub fn copy_loop(
    object: &[u8],
    file_name: &str,
    function: &str,
    port: Option<u64>,
) -> Result<CopyLoop> {
    let code = FunctionCode::of(object, file_name, function)?;
    let wrong = |reason: String| {
        Error::data(file_name, format!("its function {} {reason}", shown(function)))
    };
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
    let classified: Vec<ClassifiedAccesses<'_>> = graph
        .loops
        .iter()
        .map(|natural_loop| ClassifiedAccesses::of(&code, &graph, &values, natural_loop))
        .collect();
    let port_loops: Vec<(&Loop, &ClassifiedAccesses<'_>, DataPort)> = graph
        .loops
        .iter()
        .zip(&classified)
        .filter_map(|(natural_loop, classified)| {
            Some((natural_loop, classified, classified.port(port)?))
        })
        .collect();
    // A loop around a copy loop has the same accesses, and more.
    let is_innermost = |outer: &Loop| {
        !port_loops.iter().any(|(inner, ..)| {
            inner.header != outer.header && inner.blocks.iter().all(|block| outer.holds[*block])
        })
    };
    let mut best: Option<CopyLoop> = None;
    for (natural_loop, classified, port) in
        port_loops.iter().filter(|(outer, ..)| is_innermost(outer))
    {
        let counted = count::count(&code, &graph, natural_loop, classified, port, function);
        let is_better = best.as_ref().is_none_or(|best| {
            (counted.bytes, std::cmp::Reverse(counted.first_address))
                > (best.bytes, std::cmp::Reverse(best.first_address))
        });
        if is_better {
            best = Some(counted);
        }
    }
    best.ok_or_else(|| wrong(why_none(&code, &graph, &classified, port)))
}

/// Explains why none of the loops is a copy loop, and what to do.
fn why_none(
    code: &FunctionCode,
    graph: &Graph,
    classified: &[ClassifiedAccesses<'_>],
    port: Option<u64>,
) -> String {
    let calls =
        graph.loops.iter().flat_map(|natural_loop| &natural_loop.blocks).flat_map(|block| {
            let inside = &graph.blocks[*block].instructions;
            inside.iter().filter_map(|at| code.calls.get(&code.instructions[*at].address))
        });
    let called = called(calls);
    let mut numbers: Vec<u64> = classified
        .iter()
        .flat_map(|classified| classified.addresses().into_keys())
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
    let touches = classified.iter().any(|classified| !classified.addresses().is_empty());
    let moves = |classified: &ClassifiedAccesses<'_>| {
        classified.moves_memory(AccessKind::Load) || classified.moves_memory(AccessKind::Store)
    };
    let polls = classified
        .iter()
        .any(|classified| !classified.addresses().is_empty() && !moves(classified));
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

/// Makes the end of a message, which names the called functions.
fn called<'a>(calls: impl Iterator<Item = &'a String>) -> String {
    const SHOWN: usize = 5;
    let mut names: Vec<&str> =
        calls.map(String::as_str).filter(|name| !name.starts_with('(')).collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(SHOWN);
    if names.is_empty() { String::new() } else { format!(", perhaps {}", names.join(" or ")) }
}
