//! RISC-V of 32 and 64 bits, with compressed instructions.

use capstone::prelude::*;

use super::instruction::{
    AddressExpression, Decoder, Expression, Flow, Instruction, Machine, Register,
};
use super::operands::Operand;

const RA: Register = 1;
const SP: Register = 2;
const FLOATS: Register = 32;

pub struct RiscV {
    capstone: Capstone,
    mask: u64,
}

impl RiscV {
    pub fn new(wide: bool) -> CsResult<Self> {
        use arch::riscv::{ArchExtraMode, ArchMode};
        let mode = if wide { ArchMode::RiscV64 } else { ArchMode::RiscV32 };
        let compressed = [ArchExtraMode::RiscVC].into_iter();
        let capstone = Capstone::new().riscv().mode(mode).extra_mode(compressed).build()?;
        Ok(Self { capstone, mask: if wide { u64::MAX } else { 0xffff_ffff } })
    }
}

impl Decoder for RiscV {
    fn machine(&self) -> Machine {
        Machine {
            address_mask: self.mask,
            register_mask: self.mask,
            stack: &[SP],
            zero: Some(0),
            clobbered: &[1, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29, 30, 31],
        }
    }

    fn step(&self) -> u64 {
        2
    }

    fn decode(&self, bytes: &[u8], address: u64, skip: usize) -> Option<Instruction> {
        let decoded = self.capstone.disasm_count(bytes, address, skip + 1).ok()?;
        let insn = decoded.get(skip)?;
        let mnemonic = insn.mnemonic()?;
        let operands = insn.op_str().unwrap_or_default();
        let mut made = Instruction::new(insn.address(), insn.len() as u32, String::new());
        self.fill(
            &mut made,
            mnemonic.strip_prefix("c.").unwrap_or(mnemonic),
            &Operand::all(operands),
        );
        made.text = shown(&made, mnemonic, operands);
        Some(made)
    }
}

/// Returns the text of an instruction, with the target of a branch instead of capstone's distance.
fn shown(made: &Instruction, mnemonic: &str, operands: &str) -> String {
    let (Flow::Jump(Some(target)) | Flow::Branch(target) | Flow::Call(Some(target))) = made.flow
    else {
        return format!("{mnemonic} {operands}").trim_end().to_owned();
    };
    match operands.rsplit_once(',') {
        Some((others, _)) => format!("{mnemonic} {others}, 0x{target:x}"),
        None => format!("{mnemonic} 0x{target:x}"),
    }
}

impl RiscV {
    fn fill(&self, made: &mut Instruction, name: &str, operands: &[Operand<'_>]) {
        let registers: Vec<Register> =
            operands.iter().filter_map(|operand| register(operand.word()?)).collect();
        let last = operands.last().and_then(Operand::immediate);
        let target = last.map(|distance| made.address.wrapping_add_signed(distance) & self.mask);
        match (name, target) {
            ("j", target) => made.flow = Flow::Jump(target),
            ("jal", target) => {
                let link = registers.first().copied().unwrap_or(RA);
                made.flow = if link == 0 { Flow::Jump(target) } else { Flow::Call(target) };
            }
            ("ret" | "mret" | "sret" | "uret", _) => made.flow = Flow::Return,
            ("jr", _) => {
                let to_caller = registers.first() == Some(&RA);
                made.flow = if to_caller { Flow::Return } else { Flow::Jump(None) };
            }
            ("jalr", _) => {
                let links = operands.len() < 2 || registers.first() != Some(&0);
                made.flow = if links { Flow::Call(None) } else { Flow::Jump(None) };
            }
            ("tail", target) => made.flow = Flow::Jump(target),
            ("call", target) => made.flow = Flow::Call(target),
            (_, Some(target)) if is_branch(name) => {
                made.inputs = registers;
                made.flow = Flow::Branch(target);
            }
            _ => self.works(made, name, operands, &registers, last),
        }
    }

    fn works(
        &self,
        made: &mut Instruction,
        name: &str,
        operands: &[Operand<'_>],
        registers: &[Register],
        last: Option<i64>,
    ) {
        let address = operands.iter().find_map(|operand| match operand {
            Operand::Displaced(by, base) => {
                Some(AddressExpression::Memory(vec![(register(base)?, 1)], *by))
            }
            _ => None,
        });
        let first = registers.first().copied();
        if let Some(address) = address {
            let core = name.strip_suffix("sp").unwrap_or(name);
            if name.starts_with("amo") || name.starts_with("sc.") || name.starts_with("lr.") {
                let bytes = if name.contains(".w") { 4 } else { 8 };
                if !name.starts_with("sc.") {
                    made.load(bytes, address.clone(), first);
                }
                if !name.starts_with("lr.") {
                    made.store(bytes, address, registers.get(1).copied());
                }
                return;
            }
            let bytes = match core.trim_end_matches('u').chars().next_back() {
                Some('b') => 1,
                Some('h') => 2,
                Some('w') => 4,
                _ => 8,
            };
            let loads = core.starts_with('l') || core.starts_with("fl");
            if loads {
                made.load(bytes, address, first);
            } else {
                made.store(bytes, address, first);
            }
            return;
        }
        let Some(first) = first else { return };
        if matches!(name, "fence" | "fence.i" | "ecall" | "ebreak" | "nop" | "wfi") {
            return;
        }
        made.inputs = registers[1..].to_vec();
        if operands.len() == 2 && !matches!(name, "mv" | "li" | "lui" | "auipc" | "not" | "neg") {
            made.inputs.push(first);
        }
        let from = registers.get(1).copied().unwrap_or(first);
        let upper = last.map(|value| i64::from((value << 12) as i32));
        let result = match (name, last, upper) {
            ("lui", _, Some(upper)) => Expression::Constant(upper as u64 & self.mask),
            ("auipc", _, Some(upper)) => {
                Expression::Constant(made.address.wrapping_add_signed(upper) & self.mask)
            }
            ("li", Some(value), _) => Expression::Constant(value as u64 & self.mask),
            ("mv", ..) => Expression::Sum(from, 0),
            ("add", None, _) if registers.len() == 3 && registers[1] == 0 => {
                Expression::Sum(registers[2], 0)
            }
            ("addi" | "addi16sp" | "addi4spn", Some(value), _) => Expression::Sum(from, value),
            ("addiw", Some(value), _) if from == 0 => Expression::Constant(value as u64),
            ("addiw", Some(value), _) => Expression::Sum(from, value),
            ("slli", Some(by @ 0..64), _) => Expression::Shifted(from, by as u32),
            _ => Expression::Computed,
        };
        made.outputs.push((first, result));
    }
}

fn is_branch(name: &str) -> bool {
    matches!(
        name,
        "beq"
            | "bne"
            | "blt"
            | "bge"
            | "bltu"
            | "bgeu"
            | "beqz"
            | "bnez"
            | "blez"
            | "bgez"
            | "bltz"
            | "bgtz"
            | "bgt"
            | "ble"
            | "bgtu"
            | "bleu"
    )
}

fn register(name: &str) -> Option<Register> {
    const NAMES: [&str; 32] = [
        "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4",
        "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
        "t5", "t6",
    ];
    const FLOAT_NAMES: [&str; 32] = [
        "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2",
        "fa3", "fa4", "fa5", "fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9",
        "fs10", "fs11", "ft8", "ft9", "ft10", "ft11",
    ];
    if name == "fp" {
        return Some(8);
    }
    let position = |names: &[&str]| names.iter().position(|known| *known == name);
    position(&NAMES)
        .or_else(|| position(&FLOAT_NAMES).map(|index| index + usize::from(FLOATS)))
        .and_then(|index| u8::try_from(index).ok())
}
