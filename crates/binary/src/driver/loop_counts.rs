//! The counts of a copy loop.

use flashpager_base::named;
use serde::Serialize;

/// The direction in which a loop moves data.
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
    /// Address in the file.
    pub address: u64,
    /// Text of the disassembler.
    pub text: String,
    /// Kind of the instruction's memory access: `port`, `memory`, `literal` or `device`. `None` if
    /// it accesses no memory.
    pub access: Option<&'static str>,
}

/// The counts of one iteration of a copy loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CopyLoop {
    /// Name of the function.
    pub function: String,
    /// `arm`, `thumb`, `aarch64`, `riscv32`, `riscv64`, `i386`, `x86_64` or `avr`.
    pub architecture: String,
    /// Direction in which it moves data.
    pub direction: Direction,
    /// Address of the port, if it is known.
    pub port: Option<u64>,
    /// Address of the loop's first instruction.
    pub first_address: u64,
    /// Address of the loop's last instruction.
    pub last_address: u64,
    /// Bytes of data that pass the port. Bytes that are not kept or hold no data do not count.
    pub bytes: u32,
    /// Instructions on the longest path.
    pub instructions: u32,
    /// Instructions on the shortest path with as many port accesses.
    pub shortest_instructions: u32,
    /// Accesses to the data port.
    pub port_accesses: u32,
    /// Accesses to RAM: moving addresses, the stack, variables.
    pub memory_accesses: u32,
    /// Loads of constants from beside the code.
    pub literal_accesses: u32,
    /// Accesses to other devices.
    pub other_device_accesses: u32,
    /// Called functions. Their instructions are not counted.
    pub calls: Vec<String>,
    /// The counted instructions, sorted by address.
    pub listing: Vec<ListedInstruction>,
}
