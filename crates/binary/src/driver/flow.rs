//! The length and the control flow of single instructions.

use super::instruction::{Decoder, Flow};
use super::{aarch64::Aarch64, arm::Arm, avr::Avr, riscv::RiscV, x86::X86};

/// Longest instruction of any architecture, in bytes.
const MAX_INSTRUCTION_BYTES: usize = 16;

/// The length of an instruction, and the addresses to which it can lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionFlow {
    /// Length of the instruction in bytes.
    pub bytes: u32,
    /// True if execution can continue at the byte behind the instruction.
    pub falls_through: bool,
    /// Addresses to which the instruction can jump.
    pub jump: JumpTarget,
}

/// Addresses to which an instruction can jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JumpTarget {
    /// No address: the instruction does not jump.
    None,
    /// One address.
    Address(u64),
    /// Any address: the target is in a register, or the instruction enters another mode.
    Any,
}

impl InstructionFlow {
    /// Returns true if the instruction at `address` can lead to `next`.
    pub fn leads_to(&self, address: u64, next: u64) -> bool {
        let is_next = self.falls_through && next == address.wrapping_add(self.bytes.into());
        is_next
            || match self.jump {
                JumpTarget::None => false,
                JumpTarget::Address(target) => target == next,
                JumpTarget::Any => true,
            }
    }
}

/// Reads instructions of one architecture.
pub struct FlowReader {
    architecture: String,
    /// Decoders of ARM and of Thumb, or the same decoder for both; `None` without a disassembler.
    decoders: Option<[Box<dyn Decoder>; 2]>,
}

impl FlowReader {
    /// Makes a reader for an architecture as QEMU spells it.
    pub fn new(architecture: &str) -> Self {
        fn boxed(decoder: impl Decoder + 'static) -> Box<dyn Decoder> {
            Box::new(decoder)
        }
        let make = |thumb: bool| match architecture {
            "arm" => Arm::new(thumb).ok().map(boxed),
            "aarch64" => Aarch64::new().ok().map(boxed),
            "riscv32" => RiscV::new(false).ok().map(boxed),
            "riscv64" => RiscV::new(true).ok().map(boxed),
            "i386" => X86::new(false).ok().map(boxed),
            "x86_64" => X86::new(true).ok().map(boxed),
            "avr" => Some(boxed(Avr)),
            _ => None,
        };
        let decoders = match (make(false), make(true)) {
            (Some(first), Some(second)) => Some([first, second]),
            _ => None,
        };
        Self { architecture: architecture.to_owned(), decoders }
    }

    /// Reads the instruction at `address`, at the beginning of `code`. `None` if its length is not
    /// known. An instruction that the disassembler does not know may lead anywhere.
    pub fn read(&self, code: &[u8], address: u64, thumb: bool) -> Option<InstructionFlow> {
        let code = &code[..code.len().min(MAX_INSTRUCTION_BYTES)];
        let bytes = self.fixed_bytes(code, thumb);
        let decoded = self.decoders.as_ref().and_then(|decoders| {
            let decoder = &decoders[usize::from(thumb)];
            let made = decoder.decode(code, address, 0)?;
            let falls_through = match made.flow {
                Flow::Next | Flow::Branch(_) => true,
                Flow::Jump(_) | Flow::Call(_) | Flow::Return => false,
            };
            let jump = match made.flow {
                Flow::Next if made.predicated || enters_another_mode(&made.text) => JumpTarget::Any,
                Flow::Next => JumpTarget::None,
                Flow::Branch(target) | Flow::Jump(Some(target)) | Flow::Call(Some(target)) => {
                    JumpTarget::Address(target)
                }
                Flow::Jump(None) | Flow::Call(None) | Flow::Return => JumpTarget::Any,
            };
            let falls_through = falls_through || made.predicated || made.repeated;
            // A repeated instruction can lead to itself.
            let jump = if made.repeated { JumpTarget::Address(address) } else { jump };
            Some(InstructionFlow { bytes: made.size, falls_through, jump })
        });
        match (decoded, bytes) {
            (Some(decoded), None) => Some(decoded),
            (Some(decoded), Some(bytes)) if decoded.bytes == bytes => Some(decoded),
            (_, Some(bytes)) => {
                Some(InstructionFlow { bytes, falls_through: true, jump: JumpTarget::Any })
            }
            (None, None) => None,
        }
    }

    /// Length in bytes of the instruction at the start of `code`, for architectures whose first
    /// bits determine it.
    fn fixed_bytes(&self, code: &[u8], thumb: bool) -> Option<u32> {
        let first = u32::from(*code.first()?);
        let second = code.get(1).map(|byte| u32::from(*byte));
        Some(match self.architecture.as_str() {
            "arm" if thumb => {
                if second? >> 3 >= 0b11101 {
                    4
                } else {
                    2
                }
            }
            "armeb" if thumb => {
                if first >> 3 >= 0b11101 {
                    4
                } else {
                    2
                }
            }
            "riscv32" | "riscv64" => match first {
                _ if first & 3 != 3 => 2,
                _ if first & 0x1f == 0x1f => 6,
                _ => 4,
            },
            "xtensa" => {
                if first & 0xf >= 8 {
                    2
                } else {
                    3
                }
            }
            "tricore" => {
                if first & 1 == 1 {
                    4
                } else {
                    2
                }
            }
            "avr" => {
                let word = second? << 8 | first;
                // LDS and STS, JMP and CALL.
                let is_long = word & 0xfc0f == 0x9000 || word & 0xfe0c == 0x940c;
                if is_long { 4 } else { 2 }
            }
            "arm" | "armeb" => 4,
            one => return only_length(one),
        })
    }
}

/// Length of every instruction of an architecture, as QEMU spells it; `None` if they differ.
pub fn only_length(architecture: &str) -> Option<u32> {
    Some(match architecture {
        "sh4" | "sh4eb" => 2,
        "aarch64" | "aarch64_be" | "mips" | "mipsel" | "mips64" | "mips64el" | "mipsn32"
        | "mipsn32el" | "ppc" | "ppc64" | "ppc64le" | "sparc" | "sparc32plus" | "sparc64"
        | "alpha" | "hppa" | "or1k" | "microblaze" | "microblazeel" | "nios2" | "loongarch64"
        | "hexagon" => 4,
        _ => return None,
    })
}

/// Returns true for system calls, traps and returns from them. They may continue elsewhere,
/// although the analysis of drivers treats them like instructions without a jump.
fn enters_another_mode(text: &str) -> bool {
    let (mnemonic, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    match mnemonic {
        // Compared whole, because plain instructions begin alike: `udiv`, `movsx`.
        "ud0" | "ud1" | "ud2" | "int" | "int1" | "int3" | "into" => true,
        _ if mnemonic.starts_with("subs") || mnemonic.starts_with("movs") => {
            operands.trim_start().starts_with("pc")
        }
        _ => [
            "svc", "swi", "bkpt", "brk", "hvc", "smc", "eret", "ecall", "ebreak", "mret", "sret",
            "uret", "syscall", "sysenter", "sysret", "sysexit", "iret", "hlt", "wfi", "udf",
            "reti", "rfe", "cps", "c.ebreak", "dret", "isb",
        ]
        .iter()
        .any(|name| mnemonic.starts_with(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_targets() {
        let thumb = FlowReader::new("arm");
        let read = |code: &[u8]| thumb.read(code, 0x100, true).unwrap();
        assert_eq!(read(&[0x00, 0xbf]).bytes, 2);
        assert!(read(&[0x00, 0xbf]).leads_to(0x100, 0x102));
        assert!(!read(&[0x00, 0xbf]).leads_to(0x100, 0x200));
        // movs, subs and udiv continue at the next instruction; svc and udf may continue anywhere.
        for plain in [&[0x01, 0x20][..], &[0x01, 0x38], &[0xb0, 0xfb, 0xf1, 0xf0]] {
            assert!(!read(plain).leads_to(0x100, 0x200), "{plain:?}");
        }
        for other in [&[0x00, 0xdf], &[0x00, 0xde]] {
            assert!(read(other).leads_to(0x100, 0x200), "{other:?}");
        }
        // bl to itself, and a short branch.
        let call = read(&[0xff, 0xf7, 0xfe, 0xff]);
        assert_eq!((call.bytes, call.jump), (4, JumpTarget::Address(0x100)));
        assert!(!call.leads_to(0x100, 0x104));
        assert!(read(&[0x70, 0x47]).leads_to(0x100, 0x1234));
        let riscv = FlowReader::new("riscv32");
        let read = |code: &[u8]| riscv.read(code, 0x100, false).unwrap();
        assert_eq!(read(&[0x01, 0x00]).bytes, 2);
        let jump = read(&[0x6f, 0x00, 0x00, 0x01]);
        assert_eq!((jump.bytes, jump.jump), (4, JumpTarget::Address(0x110)));
        let xtensa = FlowReader::new("xtensa");
        assert_eq!(xtensa.read(&[0x3d, 0xf0], 0, false).unwrap().bytes, 2);
        assert!(FlowReader::new("m68k").read(&[0x4e, 0x71], 0, false).is_none());
    }
}
