//! AArch64.

use capstone::prelude::*;

use super::instruction::{
    AccessKind, AddressExpression, Decoder, Expression, Flow, Instruction, Machine, Register,
};
use super::operands::{Operand, number, shift_factor};

const SP: Register = 31;
const VECTORS: Register = 32;
const ZERO: Register = 64;

pub struct Aarch64(Capstone);

impl Aarch64 {
    pub fn new() -> CsResult<Self> {
        let builder = Capstone::new().arm64().mode(arch::arm64::ArchMode::Arm);
        Ok(Self(builder.build()?))
    }
}

impl Decoder for Aarch64 {
    fn machine(&self) -> Machine {
        Machine {
            address_mask: u64::MAX,
            register_mask: u64::MAX,
            stack: &[SP],
            zero: Some(ZERO),
            clobbered: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 30],
        }
    }

    fn step(&self) -> u64 {
        4
    }

    fn decode(&self, bytes: &[u8], address: u64, skip: usize) -> Option<Instruction> {
        let decoded = self.0.disasm_count(bytes, address, skip + 1).ok()?;
        let insn = decoded.get(skip)?;
        let mnemonic = insn.mnemonic()?;
        let operands = insn.op_str().unwrap_or_default();
        let text = format!("{mnemonic} {operands}").trim_end().to_owned();
        let mut made = Instruction::new(insn.address(), insn.len() as u32, text);
        fill(&mut made, mnemonic, &Operand::all(operands));
        Some(made)
    }
}

fn fill(made: &mut Instruction, name: &str, operands: &[Operand<'_>]) {
    let target = operands.last().and_then(Operand::immediate).map(|target| target as u64);
    match (name, target) {
        ("b", target) => made.flow = Flow::Jump(target),
        ("bl", target) => made.flow = Flow::Call(target),
        ("blr" | "blraa" | "blraaz" | "blrab" | "blrabz", _) => made.flow = Flow::Call(None),
        ("br" | "braa" | "braaz" | "brab" | "brabz", _) => made.flow = Flow::Jump(None),
        ("ret" | "retaa" | "retab" | "eret", _) => made.flow = Flow::Return,
        ("cbz" | "cbnz" | "tbz" | "tbnz", Some(target)) => made.flow = Flow::Branch(target),
        (_, Some(target)) if name.starts_with("b.") || name.starts_with("bc.") => {
            made.flow = Flow::Branch(target);
        }
        _ if name.starts_with("ld") => memory(made, name, AccessKind::Load, operands),
        _ if name.starts_with("st") => memory(made, name, AccessKind::Store, operands),
        _ => computes(made, name, operands),
    }
}

/// Returns the bytes of one access, by the mnemonic or else by the register.
fn width(name: &str, data: &str) -> u32 {
    let single = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if single.ends_with("sw") {
        return 4;
    }
    // Only the letters behind `ldr`, `ldur`, `ldar` and so on give a width.
    let tail = single.get(3..).unwrap_or_default();
    match (tail.chars().next_back(), data.chars().next()) {
        (Some('b'), _) | (_, Some('b')) => 1,
        (Some('h'), _) | (_, Some('h')) => 2,
        (_, Some('w' | 's')) => 4,
        (_, Some('q' | 'v')) => 16,
        _ => 8,
    }
}

fn memory(made: &mut Instruction, name: &str, kind: AccessKind, operands: &[Operand<'_>]) {
    let at = operands.iter().position(|operand| matches!(operand, Operand::Memory(..)));
    let Some(at) = at else {
        // `ldr x0, label`
        if let (AccessKind::Load, Some(first), Some(target)) = (
            kind,
            operands.first().and_then(Operand::word),
            operands.get(1).and_then(Operand::immediate),
        ) {
            made.load(
                width(name, first),
                AddressExpression::Literal(Some(target as u64)),
                register(first),
            );
        }
        return;
    };
    let Operand::Memory(parts, writes_back) = &operands[at] else { return };
    let mut data: Vec<&str> = Vec::new();
    for operand in &operands[..at] {
        match operand {
            Operand::Word(name) => data.push(name),
            Operand::List(names) => data.extend(names),
            _ => {}
        }
    }
    if kind == AccessKind::Store && name.contains('x') && data.len() > 1 {
        // `stxr` writes into its first register whether it stored.
        made.outputs.extend(register(data.remove(0)).map(|to| (to, Expression::Computed)));
    }
    let base = parts.first().and_then(|part| register(part));
    let Some(base) = base else { return };
    let mut terms = vec![(base, 1)];
    let mut displacement = 0_i64;
    for (index, part) in parts.iter().enumerate().skip(1) {
        if let Some(value) = number(part) {
            displacement = displacement.wrapping_add(value);
        } else if let Some(register) = register(part) {
            terms.push((register, shift_factor(parts.get(index + 1))));
        }
    }
    let mut offset = displacement;
    for name_of_data in &data {
        let bytes = width(name, name_of_data);
        let address = AddressExpression::Memory(terms.clone(), offset);
        match kind {
            AccessKind::Load => made.load(bytes, address, register(name_of_data)),
            AccessKind::Store => made.store(bytes, address, register(name_of_data)),
        }
        offset = offset.wrapping_add(i64::from(bytes));
    }
    let step = if *writes_back { Some(displacement) } else { None };
    let step = step.or_else(|| operands.get(at + 1).and_then(Operand::immediate));
    match (step, operands.get(at + 1)) {
        (Some(step), _) => made.outputs.push((base, Expression::Sum(base, step))),
        (None, Some(_)) => made.outputs.push((base, Expression::Computed)),
        (None, None) => {}
    }
}

fn computes(made: &mut Instruction, name: &str, operands: &[Operand<'_>]) {
    const WRITE_NOTHING: &[&str] = &[
        "cmp", "cmn", "tst", "ccmp", "ccmn", "nop", "hint", "msr", "prfm", "prfum", "dmb", "dsb",
        "isb", "svc", "brk", "hlt", "fcmp", "fcmpe", "udf", "yield", "wfi", "wfe", "sev", "dc",
        "ic",
    ];
    let registers: Vec<Register> = operands.iter().filter_map(|o| register(o.word()?)).collect();
    if WRITE_NOTHING.contains(&name) {
        made.inputs = registers;
        return;
    }
    let Some(&first) = registers.first() else { return };
    made.inputs = registers[1..].to_vec();
    if matches!(name, "movk" | "bfi" | "bfxil" | "bfm" | "ins") {
        made.inputs.push(first);
    }
    // `mov x0, #1, lsl #16`
    let shift = match operands.get(2).and_then(Operand::word) {
        Some(word) if word.starts_with("lsl") => {
            word.rsplit_once(' ').and_then(|(_, by)| number(by)).unwrap_or(0).clamp(0, 63) as u32
        }
        _ => 0,
    };
    let second = operands.get(1).and_then(|operand| register(operand.word()?));
    let immediate = operands.get(1).and_then(Operand::immediate).map(|value| value as u64);
    let third = operands.get(2).and_then(Operand::immediate);
    let narrow = operands[0].word().is_some_and(|name| name.starts_with('w'));
    let mask = if narrow { 0xffff_ffff } else { u64::MAX };
    let shifted_third = |by: i64| match operands.get(3).and_then(Operand::word) {
        Some("lsl #12") | Some("lsl #0xc") => by << 12,
        _ => by,
    };
    let result = match (name, second, immediate, third) {
        ("mov" | "movz" | "adr" | "adrp", None, Some(value), _) => {
            Expression::Constant((value << shift) & mask)
        }
        ("movn", None, Some(value), _) => Expression::Constant(!(value << shift) & mask),
        ("movk", None, Some(value), _) => {
            Expression::Bits(first, !(0xffff_u64 << shift), (value & 0xffff) << shift)
        }
        ("mov", Some(from), ..) if operands.len() == 2 => Expression::Sum(from, 0),
        ("add", Some(from), _, Some(by)) => Expression::Sum(from, shifted_third(by)),
        ("sub", Some(from), _, Some(by)) => Expression::Sum(from, shifted_third(by).wrapping_neg()),
        ("adds", Some(from), _, Some(by)) => Expression::Sum(from, by),
        ("subs", Some(from), _, Some(by)) => Expression::Sum(from, by.wrapping_neg()),
        ("orr", Some(from), _, Some(bits)) => Expression::Bits(from, mask, bits as u64 & mask),
        ("lsl", Some(from), _, Some(by @ 0..64)) => Expression::Shifted(from, by as u32),
        _ => Expression::Computed,
    };
    made.outputs.push((first, result));
}

fn register(name: &str) -> Option<Register> {
    match name {
        "sp" | "wsp" => return Some(SP),
        "xzr" | "wzr" => return Some(ZERO),
        "fp" => return Some(29),
        "lr" => return Some(30),
        _ => {}
    }
    let name = name.split(['.', '[']).next()?;
    let kind = name.chars().next()?;
    let number: u8 = name.get(1..)?.parse().ok()?;
    match kind {
        'x' | 'w' if number < 31 => Some(number),
        'v' | 'q' | 'd' | 's' | 'h' | 'b' if number < 32 => Some(VECTORS + number),
        _ => None,
    }
}
