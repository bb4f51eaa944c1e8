//! ARM and Thumb.

use capstone::prelude::*;

use super::instruction::{
    AccessKind, AddressExpression, Decoder, Expression, Flow, Instruction, InstructionAccess,
    Machine, Register,
};
use super::operands::{Operand, number, shift_factor};

const SP: Register = 13;
const PC: Register = 15;
/// The first 32 bits of the vector registers; each number is 64 bits of them.
const VECTORS: Register = 32;

pub struct Arm {
    capstone: Capstone,
    thumb: bool,
}

impl Arm {
    pub fn new(thumb: bool) -> CsResult<Self> {
        let builder = Capstone::new().arm();
        let capstone = if thumb {
            let mclass = [arch::arm::ArchExtraMode::MClass].into_iter();
            builder.mode(arch::arm::ArchMode::Thumb).extra_mode(mclass).detail(true).build()?
        } else {
            builder.mode(arch::arm::ArchMode::Arm).detail(true).build()?
        };
        Ok(Self { capstone, thumb })
    }

    /// Returns the value of `pc` for the instruction at `address`.
    fn pc(&self, address: u64) -> u64 {
        address.wrapping_add(if self.thumb { 4 } else { 8 }) & 0xffff_ffff
    }
}

impl Decoder for Arm {
    fn machine(&self) -> Machine {
        Machine {
            address_mask: 0xffff_ffff,
            register_mask: 0xffff_ffff,
            stack: &[SP],
            zero: None,
            clobbered: &[0, 1, 2, 3, 12, 14],
        }
    }

    fn step(&self) -> u64 {
        if self.thumb { 2 } else { 4 }
    }

    fn decode(&self, bytes: &[u8], address: u64, skip: usize) -> Option<Instruction> {
        let decoded = self.capstone.disasm_count(bytes, address, skip + 1).ok()?;
        let insn = decoded.get(skip)?;
        let detail = self.capstone.insn_detail(insn).ok()?;
        let detail = detail.arch_detail();
        let conditional = detail.arm().is_some_and(|arm| {
            use arch::arm::ArmCC::{ARM_CC_AL, ARM_CC_INVALID};
            !matches!(arm.cc(), ARM_CC_AL | ARM_CC_INVALID)
        });
        let mnemonic = insn.mnemonic()?;
        let name = self.capstone.insn_name(insn.id()).unwrap_or_default();
        let operands = insn.op_str().unwrap_or_default();
        let text = format!("{mnemonic} {operands}").trim_end().to_owned();
        let mut made = Instruction::new(insn.address(), insn.len() as u32, text);
        if self.thumb && name == "it" {
            made.governs = mnemonic.len().saturating_sub(1).min(4);
            return Some(made);
        }
        made.predicated = conditional || skip > 0;
        self.fill(&mut made, &name, mnemonic, &Operand::all(operands));
        if made.predicated && matches!(made.flow, Flow::Return | Flow::Jump(None)) {
            // If its condition is false, execution goes on behind it.
            made.flow = Flow::Next;
        }
        Some(made)
    }
}

impl Arm {
    fn fill(&self, made: &mut Instruction, name: &str, mnemonic: &str, operands: &[Operand<'_>]) {
        let target = operands.last().and_then(Operand::immediate).map(|to| to as u64 & 0xffff_ffff);
        match name {
            "b" | "bl" | "blx" | "bx" | "bxj" | "cbz" | "cbnz" | "tbb" | "tbh" => {
                made.flow = match (name, target) {
                    ("bl" | "blx", target) => Flow::Call(target),
                    ("b", Some(target)) if made.predicated => Flow::Branch(target),
                    ("b", target) => Flow::Jump(target),
                    ("cbz" | "cbnz", Some(target)) => Flow::Branch(target),
                    ("bx", _) if operands.first().and_then(Operand::word) == Some("lr") => {
                        Flow::Return
                    }
                    _ => Flow::Jump(None),
                };
                made.predicated &= !matches!(made.flow, Flow::Branch(_));
                return;
            }
            "ldm" | "ldmda" | "ldmdb" | "ldmib" | "pop" | "vldmia" | "vldmdb" | "vpop" => {
                multiple(made, name, AccessKind::Load, operands);
            }
            "stm" | "stmda" | "stmdb" | "stmib" | "push" | "vstmia" | "vstmdb" | "vpush" => {
                multiple(made, name, AccessKind::Store, operands);
            }
            _ if mnemonic.starts_with("pop") => multiple(made, "pop", AccessKind::Load, operands),
            _ if mnemonic.starts_with("push") => {
                multiple(made, "push", AccessKind::Store, operands)
            }
            _ if name.starts_with("ldr") || name.starts_with("lda") || name == "vldr" => {
                self.single(made, name, AccessKind::Load, operands);
            }
            _ if name.starts_with("str") || name.starts_with("stl") || name == "vstr" => {
                self.single(made, name, AccessKind::Store, operands);
            }
            _ if name.starts_with("vld") => vector(made, AccessKind::Load, operands),
            _ if name.starts_with("vst") => vector(made, AccessKind::Store, operands),
            _ => self.computes(made, name, mnemonic, operands),
        }
        if made.outputs.iter().any(|(register, _)| *register == PC) {
            let stacked = name.starts_with("ldm") || name == "pop" || mnemonic.starts_with("pop");
            let from_link = operands.get(1).and_then(Operand::word) == Some("lr");
            made.flow = if stacked || from_link { Flow::Return } else { Flow::Jump(None) };
        }
    }

    /// Fills in `ldr` and `str` of all widths.
    fn single(
        &self,
        made: &mut Instruction,
        name: &str,
        kind: AccessKind,
        operands: &[Operand<'_>],
    ) {
        let rest = &name[3.min(name.len())..];
        let Some(at) = operands.iter().position(|operand| matches!(operand, Operand::Memory(..)))
        else {
            return;
        };
        let Operand::Memory(parts, writes_back) = &operands[at] else { return };
        let mut data: Vec<Register> =
            operands[..at].iter().filter_map(|o| register(o.word()?)).collect();
        let exclusive_store =
            kind == AccessKind::Store && (rest.starts_with("ex") || rest == "lex");
        if exclusive_store && !data.is_empty() {
            made.outputs.push((data.remove(0), Expression::Computed));
        }
        let (bytes, words) = match name {
            "vldr" | "vstr" => {
                let double = operands[0].word().is_some_and(|name| name.starts_with('d'));
                (4, if double { 2 } else { 1 })
            }
            _ if rest.contains('b') => (1, 1),
            _ if rest.contains('h') => (2, 1),
            _ => (4, data.len().max(1)),
        };
        let literal = parts.first() == Some(&"pc");
        let (terms, displacement) = memory(parts);
        let pc = self.pc(made.address) & !3;
        for word in 0..words {
            let offset = displacement.wrapping_add(4 * word as i64);
            let address = if literal {
                AddressExpression::Literal(
                    (parts.len() <= 2).then(|| pc.wrapping_add_signed(offset)),
                )
            } else {
                AddressExpression::Memory(terms.clone(), offset)
            };
            let data = data.get(word).or(data.first()).copied();
            match kind {
                AccessKind::Load => made.load(bytes, address, data),
                AccessKind::Store => made.store(bytes, address, data),
            }
        }
        let base = parts.first().and_then(|part| register(part));
        if let Some(base) = base {
            if *writes_back {
                let step = if parts.len() <= 2 && terms.len() == 1 {
                    Expression::Sum(base, displacement)
                } else {
                    Expression::Computed
                };
                made.outputs.push((base, step));
            } else if let Some(after) = operands.get(at + 1) {
                let step = after
                    .immediate()
                    .map_or(Expression::Computed, |step| Expression::Sum(base, step));
                made.outputs.push((base, step));
            }
        }
    }

    /// Fills in instructions that access no memory.
    fn computes(
        &self,
        made: &mut Instruction,
        name: &str,
        mnemonic: &str,
        operands: &[Operand<'_>],
    ) {
        const WRITE_NOTHING: &[&str] = &[
            "cmp", "cmn", "tst", "teq", "nop", "it", "svc", "msr", "pld", "pldw", "pli", "dmb",
            "dsb", "isb", "cps", "bkpt", "hint", "wfi", "wfe", "sev", "yield", "vcmp", "vcmpe",
            "setend", "clrex", "mcr", "vmsr", "udf",
        ];
        const ONLY_WRITE_FIRST: &[&str] = &[
            "mov", "movw", "mvn", "uxtb", "uxth", "sxtb", "sxth", "rev", "rev16", "revsh", "clz",
            "rbit", "adr", "lsl", "lsr", "asr", "ror", "rrx", "ubfx", "sbfx", "vmov", "neg",
        ];
        let registers: Vec<Register> =
            operands.iter().filter_map(|o| register(o.word()?)).collect();
        if WRITE_NOTHING.contains(&name) {
            made.inputs = registers;
            return;
        }
        let Some(&first) = registers.first() else { return };
        let two = matches!(name, "umull" | "smull" | "umlal" | "smlal" | "umaal");
        if registers.len() > 1 {
            made.inputs = registers[1..].to_vec();
        }
        if operands.len() < 3 && !ONLY_WRITE_FIRST.contains(&name) {
            made.inputs.push(first);
        }
        if two && registers.len() > 1 {
            made.inputs.push(first);
            made.outputs.push((registers[1], Expression::Computed));
        }
        made.outputs.push((first, self.result(made.address, name, mnemonic, operands, first)));
    }

    fn result(
        &self,
        address: u64,
        name: &str,
        mnemonic: &str,
        operands: &[Operand<'_>],
        first: Register,
    ) -> Expression {
        let second = operands.get(1).and_then(|operand| register(operand.word()?));
        let last = operands.last().and_then(Operand::immediate);
        let from = second.unwrap_or(first);
        match (name, last) {
            _ if mnemonic.starts_with("lsl") => match last {
                Some(by @ 0..32) => Expression::Shifted(from, by as u32),
                _ => Expression::Computed,
            },
            ("mov", None) if operands.len() == 2 => {
                second.map_or(Expression::Computed, |from| Expression::Sum(from, 0))
            }
            ("mov" | "movw", Some(value)) if operands.len() == 2 => {
                Expression::Constant(value as u64 & 0xffff_ffff)
            }
            ("mvn", Some(value)) if operands.len() == 2 => {
                Expression::Constant(!value as u64 & 0xffff_ffff)
            }
            ("movt", Some(value)) => Expression::Bits(first, 0xffff, (value as u64 & 0xffff) << 16),
            ("orr", Some(value)) => Expression::Bits(from, u64::MAX, value as u64 & 0xffff_ffff),
            ("adr", Some(value)) => {
                let pc = self.pc(address) & !3;
                Expression::Constant(pc.wrapping_add_signed(value) & 0xffff_ffff)
            }
            ("add" | "addw", Some(value)) => Expression::Sum(from, value),
            ("sub" | "subw", Some(value)) => Expression::Sum(from, value.wrapping_neg()),
            _ => Expression::Computed,
        }
    }
}

/// Returns the terms and the displacement of a memory operand.
fn memory(parts: &[&str]) -> (Vec<(Register, i64)>, i64) {
    let mut terms = Vec::new();
    let mut displacement = 0_i64;
    for (index, part) in parts.iter().enumerate() {
        let (name, sign) = part.strip_prefix('-').map_or((*part, 1), |name| (name, -1));
        if let Some(value) = number(part) {
            displacement = displacement.wrapping_add(value);
        } else if let Some(register) = register(name) {
            let factor = if index > 0 { shift_factor(parts.get(index + 1)) } else { 1 };
            terms.push((register, sign * factor));
        }
    }
    (terms, displacement)
}

/// Fills in `ldm`, `stm`, `push` and `pop`, which access a word for each register.
fn multiple(made: &mut Instruction, name: &str, kind: AccessKind, operands: &[Operand<'_>]) {
    let mut list = Vec::new();
    for operand in operands {
        match operand {
            Operand::List(names) => list.extend(names.iter().copied()),
            _ => continue,
        }
    }
    let words: Vec<Register> = list
        .iter()
        .flat_map(|name| {
            let double = if name.starts_with('d') { 2 } else { 1 };
            std::iter::repeat_n(register(name), double)
        })
        .flatten()
        .collect();
    let base_text = operands.first().and_then(Operand::word);
    let on_stack = name.ends_with("push") || name.ends_with("pop");
    let base =
        if on_stack { Some(SP) } else { base_text.and_then(|t| register(t.trim_end_matches('!'))) };
    let Some(base) = base else { return };
    let bytes = 4 * words.len() as i64;
    let down = name.ends_with("db") || name.ends_with("push") || name.ends_with("da");
    let inclusive = i64::from(name.ends_with("ib") || name.ends_with("da")) * 4;
    let start = if down { inclusive - bytes } else { inclusive };
    for (index, register) in words.iter().enumerate() {
        let address = AddressExpression::Memory(vec![(base, 1)], start + 4 * index as i64);
        match kind {
            AccessKind::Load => made.load(4, address, Some(*register)),
            AccessKind::Store => made.store(4, address, Some(*register)),
        }
    }
    if on_stack || base_text.is_some_and(|text| text.ends_with('!')) {
        let step = if down { -bytes } else { bytes };
        made.outputs.push((base, Expression::Sum(base, step)));
    }
}

/// Fills in `vld1` and similar instructions, which access eight bytes for each register.
fn vector(made: &mut Instruction, kind: AccessKind, operands: &[Operand<'_>]) {
    let mut list = Vec::new();
    let mut base = None;
    let mut writes_back = false;
    for operand in operands {
        match operand {
            Operand::List(names) => list.extend(names.iter().filter_map(|name| register(name))),
            Operand::Memory(parts, back) => {
                base = parts.first().and_then(|part| register(part.split(':').next()?));
                writes_back |= *back;
            }
            Operand::Word(_) if base.is_some() => writes_back = true,
            _ => {}
        }
    }
    let Some(base) = base else { return };
    for (index, register) in list.iter().enumerate() {
        for half in 0..2 {
            let address = AddressExpression::Memory(vec![(base, 1)], 8 * index as i64 + 4 * half);
            match kind {
                AccessKind::Load => made.load(4, address, Some(*register)),
                AccessKind::Store => {
                    made.accesses.push(InstructionAccess::store(4, address, Expression::Computed))
                }
            }
        }
    }
    if kind == AccessKind::Store {
        made.inputs.extend(list);
    }
    if writes_back {
        made.outputs.push((base, Expression::Computed));
    }
}

fn register(name: &str) -> Option<Register> {
    let name = name.split(['[', '!']).next()?;
    let numbered = |prefix: char, count: u8| {
        let digits = name.strip_prefix(prefix)?;
        digits.parse::<u8>().ok().filter(|number| *number < count)
    };
    match name {
        "sb" => return Some(9),
        "sl" => return Some(10),
        "fp" => return Some(11),
        "ip" => return Some(12),
        "sp" => return Some(SP),
        "lr" => return Some(14),
        "pc" => return Some(PC),
        _ => {}
    }
    numbered('r', 16)
        .or_else(|| numbered('d', 32).map(|number| VECTORS + number))
        .or_else(|| numbered('s', 32).map(|number| VECTORS + number / 2))
        .or_else(|| numbered('q', 16).map(|number| VECTORS + 2 * number))
}
