//! Decoders of instructions.

mod arm;
mod riscv;

use flashpager_base::{Error, Result};

use crate::instruction::{Instruction, Register};
use crate::program::Program;
use arm::Arm;
use riscv::RiscV;

/// The registers of a machine, by the calling convention of its ABI.
#[derive(Clone, Copy, Debug)]
pub struct Convention {
    pub stack: Register,
    pub link: Register,
    /// Registers of arguments; the result is in the first of them.
    pub arguments: &'static [Register],
    /// A register that is always 0.
    pub zero: Option<Register>,
    /// A register that start-up code sets once.
    pub global: Option<Register>,
    /// Registers that a function has to preserve.
    pub preserved: &'static [Register],
    /// Bytes of a register.
    pub word: u8,
}

/// A decoder of one architecture.
pub trait Decoder {
    fn convention(&self) -> Convention;

    /// Decodes the instruction at the code address `code`. In the block of an IT instruction the
    /// short forms set no flags. `None` if it is unknown.
    fn decode(&self, bytes: &[u8], code: u64, in_block: bool) -> Option<Instruction>;
}

/// Returns the decoder for a program.
pub fn decoder_for(program: &Program, place: &str) -> Result<Box<dyn Decoder>> {
    let failed = |_| Error::design("the disassembler does not start (out of memory?)");
    Ok(match program.architecture.as_str() {
        "arm" => Box::new(Arm::new().map_err(failed)?),
        "riscv32" => Box::new(RiscV { is_wide: false, has_double: program.has_double }),
        "riscv64" => Box::new(RiscV { is_wide: true, has_double: program.has_double }),
        name => {
            let name = if name.is_empty() { "a machine without a name here" } else { name };
            let message = format!(
                "is for {name}, whose instructions reach does not follow (it follows arm, riscv32 \
                 and riscv64)"
            );
            return Err(Error::data(place, message));
        }
    })
}
