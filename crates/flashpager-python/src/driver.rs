//! The copy loop of a driver's code.

use flashpager::driver;

use crate::seam::{view, views_by_name};

views_by_name!(driver::Direction);

view! {
    /// An instruction of a loop.
    ListedInstruction = driver::ListedInstruction {
        /// Address of the instruction in the file.
        address: u64,
        /// The instruction, as the disassembler writes it.
        text: String,
        /// The target of its access: `port`, `memory`, `literal` or `device`; None without one.
        access: Option<&'static str>,
    }
}

view! {
    /// The instructions of one iteration of a copy loop.
    CopyLoop = driver::CopyLoop {
        /// Name of the function that holds the loop.
        function: String,
        /// `arm`, `thumb`, `aarch64`, `riscv32`, `riscv64`, `i386`, `x86_64` or `avr`.
        architecture: String,
        /// The direction of the data: `read` or `write`.
        direction: &'static str,
        /// Address of the data port; None if it is unknown.
        port: Option<u64>,
        /// Address of the loop's first instruction.
        first_address: u64,
        /// Address of the loop's last instruction.
        last_address: u64,
        /// Bytes of data that pass through the port, without those that are thrown away.
        bytes: u32,
        /// Instructions on the longest path through the loop.
        instructions: u32,
        /// Instructions on the shortest path with as many port accesses.
        shortest_instructions: u32,
        /// Accesses to the data port.
        port_accesses: u32,
        /// Accesses to RAM: at moving addresses, on the stack, and to variables.
        memory_accesses: u32,
        /// Loads of constants that lie beside the code.
        literal_accesses: u32,
        /// Accesses to other devices.
        other_device_accesses: u32,
        /// Functions that the loop calls. Their instructions are not counted.
        calls: Vec<String>,
        /// The counted instructions, by address.
        listing: Vec<ListedInstruction>,
    }
}
