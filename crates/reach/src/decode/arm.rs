//! ARM and Thumb, from the text that capstone writes.

use capstone::prelude::*;
use flashpager_binary::driver::operands::{Operand as Text, number};

use super::{Convention, Decoder};
use crate::instruction::{
    Address, Condition, Expression, Flow, Instruction, Operand, Operation, Operator, Register,
    Relation, Shift, TEMPORARY, Trap,
};

const SP: Register = 13;
const LR: Register = 14;
const PC: Register = 15;

pub struct Arm {
    thumb: Capstone,
    arm: Capstone,
}

impl Arm {
    pub fn new() -> CsResult<Self> {
        use arch::arm::{ArchExtraMode, ArchMode};
        let extra = [ArchExtraMode::MClass, ArchExtraMode::V8].into_iter();
        let builder = Capstone::new().arm().mode(ArchMode::Thumb).extra_mode(extra);
        let thumb = builder.detail(true).build()?;
        let arm = Capstone::new().arm().mode(ArchMode::Arm).detail(true).build()?;
        Ok(Self { thumb, arm })
    }
}

impl Decoder for Arm {
    fn convention(&self) -> Convention {
        Convention {
            stack: SP,
            link: LR,
            arguments: &[0, 1, 2, 3],
            zero: None,
            global: None,
            preserved: &[4, 5, 6, 7, 8, 9, 10, 11, SP],
            word: 4,
        }
    }

    fn decode(&self, bytes: &[u8], code: u64, in_block: bool) -> Option<Instruction> {
        let is_thumb = code & 1 != 0;
        if is_thumb && let Some(block) = if_then(bytes) {
            return block;
        }
        let address = code & !1;
        let capstone = if is_thumb { &self.thumb } else { &self.arm };
        let bytes = &bytes[..bytes.len().min(4)];
        let decoded = capstone.disasm_count(bytes, address, 1).ok()?;
        let insn = decoded.first()?;
        let detail = capstone.insn_detail(insn).ok()?;
        let groups: Vec<u8> = detail.groups().iter().map(|group| group.0).collect();
        let detail = detail.arch_detail();
        let arm = detail.arm()?;
        let mnemonic = insn.mnemonic()?;
        let text = insn.op_str().unwrap_or_default();
        let mut lift = Lift {
            made: Instruction::new(insn.len() as u64),
            pc: address.wrapping_add(if is_thumb { 4 } else { 8 }) & 0xffff_ffff,
            is_thumb,
            in_block,
            sets_flags: arm.update_flags(),
            condition: relation(arm.cc()),
            operands: Text::all(text),
            is_branch: groups.iter().any(|group| matches!(group, 1 | 2 | 3 | 7)),
        };
        lift.lift(&base_name(mnemonic, arm.cc()), text)?;
        Some(lift.made)
    }
}

/// Decodes an IT instruction of Thumb; `None` for another one. An IT with a mask that no assembler
/// writes is unknown.
fn if_then(bytes: &[u8]) -> Option<Option<Instruction>> {
    let half = u16::from_le_bytes(*bytes.first_chunk()?);
    if half & 0xff00 != 0xbf00 || half & 0xf == 0 {
        return None;
    }
    let (first, mask) = ((half >> 4) & 0xf, half & 0xf);
    let count = 4 - mask.trailing_zeros();
    let mut made = Instruction::new(2);
    for place in 0..count {
        // The lowest bit of the condition of each instruction behind the first is in the mask.
        let low = if place == 0 { first & 1 } else { (mask >> (4 - place)) & 1 };
        let Some(condition) = condition_code(first & 0xe | low) else { return Some(None) };
        made.block.push(condition);
    }
    Some(Some(made))
}

fn condition_code(code: u16) -> Option<Condition> {
    let relation = match code {
        0 => Relation::Equal,
        1 => Relation::NotEqual,
        2 => Relation::AboveOrEqual,
        3 => Relation::Below,
        4..=7 => Relation::Other,
        8 => Relation::Above,
        9 => Relation::BelowOrEqual,
        10 => Relation::GreaterOrEqual,
        11 => Relation::Less,
        12 => Relation::Greater,
        13 => Relation::LessOrEqual,
        // Always: the instructions of the block are executed, which both ways contain.
        _ => Relation::Other,
    };
    Some(Condition::of_flags(relation))
}

/// The relation of a condition; `None` for an instruction that is always executed.
fn relation(code: arch::arm::ArmCC) -> Option<Relation> {
    use arch::arm::ArmCC as C;
    Some(match code {
        C::ARM_CC_AL | C::ARM_CC_INVALID => return None,
        C::ARM_CC_EQ => Relation::Equal,
        C::ARM_CC_NE => Relation::NotEqual,
        C::ARM_CC_HS => Relation::AboveOrEqual,
        C::ARM_CC_LO => Relation::Below,
        C::ARM_CC_HI => Relation::Above,
        C::ARM_CC_LS => Relation::BelowOrEqual,
        C::ARM_CC_GE => Relation::GreaterOrEqual,
        C::ARM_CC_LT => Relation::Less,
        C::ARM_CC_GT => Relation::Greater,
        C::ARM_CC_LE => Relation::LessOrEqual,
        _ => Relation::Other,
    })
}

/// The mnemonic without its width and its condition.
fn base_name(mnemonic: &str, code: arch::arm::ArmCC) -> String {
    let name = mnemonic.trim_end_matches(".w").trim_end_matches(".n");
    let suffix = format!("{code:?}").to_lowercase();
    let suffix = suffix.rsplit('_').next().unwrap_or_default().to_owned();
    match suffix.as_str() {
        "al" | "invalid" => name.to_owned(),
        // The condition may stand before a type, as in vmoveq.f32.
        _ => match name.split_once('.') {
            Some((head, tail)) => format!("{}.{tail}", head.strip_suffix(&suffix).unwrap_or(head)),
            None => name.strip_suffix(&suffix).unwrap_or(name).to_owned(),
        },
    }
}

/// An instruction on its way from text.
struct Lift<'a> {
    made: Instruction,
    /// The value of the program counter in the instruction.
    pc: u64,
    is_thumb: bool,
    in_block: bool,
    sets_flags: bool,
    condition: Option<Relation>,
    operands: Vec<Text<'a>>,
    is_branch: bool,
}

impl Lift<'_> {
    fn lift(&mut self, name: &str, text: &str) -> Option<()> {
        self.made.when = self.condition.map(Condition::of_flags);
        match name {
            "b" => self.jump()?,
            "bl" => self.made.flow = Flow::Call(self.target(self.is_thumb)?),
            "blx" => match self.target(!self.is_thumb) {
                Some(target) => self.made.flow = Flow::Call(target),
                None => self.made.flow = Flow::CallOf(self.register(0)?),
            },
            "bx" => self.made.flow = Flow::JumpTo(self.register(0)?),
            "cbz" | "cbnz" => {
                let relation = if name == "cbz" { Relation::Equal } else { Relation::NotEqual };
                let compared = Some((self.register(0)?, Operand::Constant(0)));
                let condition = Condition { relation, compared };
                self.made.flow = Flow::Branch(self.target(true)?, condition);
            }
            "tbb" | "tbh" => self.table_branch(name == "tbh")?,
            "svc" | "hvc" | "smc" => {
                self.made.flow = Flow::Trap(Trap::stops("calls the system (svc)"))
            }
            "udf" => self.made.flow = Flow::Stop,
            // A debugger may answer, and lets the program go on.
            "bkpt" | "hlt" => {
                self.made.flow = Flow::Trap(Trap::resumes("waits for a debugger (bkpt)"))
            }
            "eret" | "rfeia" | "rfedb" | "rfeda" | "rfeib" => {
                self.made.flow = Flow::ExceptionReturn
            }
            "msr" => self.special(text),
            _ if is_hint(name) => {}
            _ => self.other(name)?,
        }
        Some(())
    }

    fn other(&mut self, name: &str) -> Option<()> {
        let first_is_list = || matches!(self.operands.first(), Some(Text::List(_)));
        match name {
            "push" | "pop" | "vpush" | "vpop" if first_is_list() => {
                let mode = if name.ends_with("push") { "db" } else { "ia" };
                self.multiple(!name.ends_with("push"), mode, SP, true, 0)?;
            }
            _ if is_multiple(name) => {
                let Some(Text::Word(base)) = self.operands.first() else { return None };
                let (written, base) = (base.ends_with('!'), base.trim_end_matches('!'));
                let mode = match &name[name.len() - 2..] {
                    mode @ ("db" | "da" | "ib") => mode,
                    _ => "ia",
                };
                let is_load = name.contains("ld");
                self.multiple(is_load, mode, register(base)?, written, 1)?;
            }
            _ if name.starts_with("ldr") || name.starts_with("lda") || name == "vldr" => {
                self.single_load(name)?;
            }
            _ if name.starts_with("str") || name.starts_with("stl") || name == "vstr" => {
                self.single_store(name)?;
            }
            _ => self.computation(name)?,
        }
        self.jump_if_written();
        Some(())
    }

    /// Lets execution go on at the program counter, if the instruction writes it.
    fn jump_if_written(&mut self) {
        let writes = |operation: &Operation| match operation {
            Operation::Assign(to, _) => *to == PC,
            Operation::Load { to, .. } => *to == Some(PC),
            _ => false,
        };
        if self.made.flow == Flow::Next && self.made.operations.iter().any(writes) {
            self.made.flow = Flow::JumpTo(PC);
        }
    }

    fn jump(&mut self) -> Option<()> {
        let target = self.target(self.is_thumb)?;
        self.made.flow = match self.made.when.take() {
            Some(condition) => Flow::Branch(target, condition),
            None => Flow::Jump(target),
        };
        Some(())
    }

    /// The target of a direct jump, with the bit of Thumb.
    fn target(&self, is_thumb: bool) -> Option<u64> {
        let target = self.operands.last()?.immediate()? as u64 & 0xffff_ffff;
        Some(if is_thumb { target | 1 } else { target & !3 })
    }

    fn register(&self, place: usize) -> Option<Register> {
        register(self.operands.get(place)?.word()?)
    }

    fn immediate(&self, place: usize) -> Option<u64> {
        self.operands.get(place)?.immediate().map(|number| number as u64 & 0xffff_ffff)
    }

    fn table_branch(&mut self, is_wide: bool) -> Option<()> {
        let Text::Memory(parts, _) = self.operands.first()? else { return None };
        let (base, index) = (register(parts.first()?)?, register(parts.get(1)?)?);
        let index = if is_wide {
            Operand::Shifted(index, Shift::Left, 1)
        } else {
            Operand::Register(index)
        };
        let mut at = if base == PC { Address::fixed(self.pc) } else { Address::at(base, 0) };
        at.index = Some(index);
        self.made.load(Some(TEMPORARY), at, if is_wide { 2 } else { 1 });
        let doubled = Operand::Shifted(TEMPORARY, Shift::Left, 1);
        self.made.assign(TEMPORARY, Expression::Operand(doubled));
        let from = Operand::Constant(self.pc | 1);
        self.made.assign(TEMPORARY, Expression::Binary(Operator::Add, TEMPORARY, from));
        self.made.flow = Flow::JumpTo(TEMPORARY);
        Some(())
    }

    /// A write of a special register. Some are stack pointers.
    fn special(&mut self, text: &str) {
        const HARMLESS: [&str; 7] =
            ["primask", "basepri", "faultmask", "apsr", "msplim", "psplim", "basepri_max"];
        let name = text.split([',', '_']).next().unwrap_or_default().trim().to_lowercase();
        if !HARMLESS.contains(&name.as_str()) {
            self.made.assign(SP, Expression::Unknown);
        }
        self.made.operations.push(Operation::Flags);
    }

    /// The address of a memory operand, its base, and whether it is written back.
    fn memory(&self, place: usize) -> Option<(Address, Option<Register>, bool)> {
        let Text::Memory(parts, is_written) = self.operands.get(place)? else { return None };
        let name = parts.first()?.split(':').next()?;
        let base = register(name)?;
        let mut at = Address::at(base, 0);
        if base == PC {
            at = Address::fixed(self.pc & !3);
        }
        for (place, part) in parts.iter().enumerate().skip(1) {
            if let Some(by) = number(part) {
                at.offset = at.offset.wrapping_add(by);
            } else if let Some(index) = register(part.trim_start_matches('-')) {
                at.is_index_negative = part.starts_with('-');
                at.index = Some(match parts.get(place + 1) {
                    Some(text) => shifted(index, text),
                    None => Operand::Register(index),
                });
            } else if at.index.is_none() {
                return None;
            }
        }
        Some((at, (base != PC).then_some(base), *is_written))
    }

    /// Writes the base of an access back: before it, as in `[r0, #4]!`, or after it.
    fn write_back(&mut self, place: usize) -> Option<()> {
        let (at, base, is_written) = self.memory(place)?;
        let Some(base) = base else { return Some(()) };
        let (by, is_negative) = match self.operands.get(place + 1) {
            Some(Text::Immediate(by)) => (Operand::Constant(*by as u64 & 0xffff_ffff), false),
            Some(Text::Word(word)) => match register(word.trim_start_matches('-')) {
                Some(index) if place + 2 == self.operands.len() => {
                    (Operand::Register(index), word.starts_with('-'))
                }
                _ => {
                    self.made.assign(base, Expression::Unknown);
                    return Some(());
                }
            },
            Some(_) => return None,
            None if !is_written => return Some(()),
            None => match at.index {
                Some(index) => (index, at.is_index_negative),
                None => (Operand::Constant(at.offset as u64 & 0xffff_ffff), false),
            },
        };
        let operator = if is_negative { Operator::Subtract } else { Operator::Add };
        self.made.assign(base, Expression::Binary(operator, base, by));
        Some(())
    }

    fn memory_place(&self) -> Option<usize> {
        self.operands.iter().position(|operand| matches!(operand, Text::Memory(..)))
    }

    /// Bytes of the widest register of floating point or vectors before an operand.
    fn vector_bytes(&self, place: usize) -> u8 {
        let is_wide = |operand: &Text<'_>| operand.word().is_some_and(|word| word.starts_with('q'));
        if self.operands[..place].iter().any(is_wide) { 16 } else { 8 }
    }

    fn single_load(&mut self, name: &str) -> Option<()> {
        let place = self.memory_place()?;
        let (at, base, _) = self.memory(place)?;
        let rest = name.get(3..).unwrap_or_default();
        if name == "vldr" || self.operands[..place].iter().any(|operand| is_vector(operand)) {
            self.made.load(None, at, self.vector_bytes(place));
            return self.write_back(place);
        }
        let bytes = width(rest);
        let mut loads = Vec::new();
        for number in 0..place {
            let to = self.register(number)?;
            loads.push((to, Address { offset: at.offset + 4 * number as i64, ..at }));
        }
        // A load of the base comes last: the others need it.
        loads.sort_by_key(|(to, at)| {
            Some(*to) == base || matches!(at.index, Some(Operand::Register(index)) if index == *to)
        });
        for (to, at) in loads {
            let is_signed = rest.contains("sb") || rest.contains("sh");
            self.made.operations.push(Operation::Load { to: Some(to), at, bytes, is_signed });
        }
        self.write_back(place)
    }

    fn single_store(&mut self, name: &str) -> Option<()> {
        let place = self.memory_place()?;
        let (at, ..) = self.memory(place)?;
        let rest = name.get(3..).unwrap_or_default();
        if name == "vstr" || self.operands[..place].iter().any(|operand| is_vector(operand)) {
            self.made.store(None, at, self.vector_bytes(place));
            return self.write_back(place);
        }
        // An exclusive store writes its success first.
        let is_exclusive = rest.contains("ex");
        let first = usize::from(is_exclusive);
        for (number, operand) in self.operands[first..place].iter().enumerate() {
            let from = register(operand.word()?)?;
            let at = Address { offset: at.offset + 4 * number as i64, ..at };
            self.made.operations.push(Operation::Store {
                from: Some(from),
                at,
                bytes: width(rest),
            });
        }
        if is_exclusive {
            self.made.assign(self.register(0)?, Expression::Bits(1));
        }
        self.write_back(place)
    }

    /// Loads or stores a list of registers.
    fn multiple(
        &mut self,
        is_load: bool,
        mode: &str,
        base: Register,
        is_written: bool,
        place: usize,
    ) -> Option<()> {
        let Text::List(names) = self.operands.get(place)? else { return None };
        let mut words: Vec<(Option<Register>, i64, u8)> = Vec::new();
        let mut bytes = 0;
        for name in names {
            let size = match name.chars().next()? {
                'd' => 8,
                'q' => 16,
                _ => 4_u8,
            };
            let is_vector = size != 4 || is_single(name);
            let to = if is_vector { None } else { Some(register(name)?) };
            words.push((to, bytes, size));
            bytes += i64::from(size);
        }
        let start = match mode {
            "db" => -bytes,
            "da" => 4 - bytes,
            "ib" => 4,
            _ => 0,
        };
        words.sort_by_key(|(to, ..)| is_load && *to == Some(base));
        let loads_base = is_load && words.iter().any(|(to, ..)| *to == Some(base));
        for (register, at, size) in words {
            let at = Address::at(base, start + at);
            if is_load {
                self.made.load(register, at, size);
            } else {
                self.made.store(register, at, size);
            }
        }
        if is_written && !loads_base {
            let by = if mode.starts_with('d') { -bytes } else { bytes };
            let by = Operand::Constant(by as u64 & 0xffff_ffff);
            self.made.assign(base, Expression::Binary(Operator::Add, base, by));
        }
        Some(())
    }

    fn computation(&mut self, name: &str) -> Option<()> {
        match name {
            "cmp" => {
                let (left, right) = (self.register(0)?, self.operand(1)?);
                self.made.operations.push(Operation::Compare(left, right));
                return Some(());
            }
            "cmn" | "tst" | "teq" | "vmrs" => {
                self.made.operations.push(Operation::Flags);
                // The second operand of vmrs is no register of the core; the first may be.
                if name == "vmrs"
                    && let Some(to) = self.register(0)
                {
                    self.made.assign(to, Expression::Unknown);
                }
                return Some(());
            }
            _ => {}
        }
        let (name, is_flagged) = match name.strip_suffix('s') {
            Some(short) if is_known(short) => (short, true),
            _ => (name, self.sets_flags),
        };
        let value = self.result(name);
        if is_flagged && !self.in_block && name == "sub" && value.is_some() {
            let (left, right) = self.binary_operands()?;
            self.made.operations.push(Operation::Compare(left, right));
        } else if is_flagged {
            self.made.operations.push(Operation::Flags);
        }
        let Some(value) = value else { return self.unknown(name) };
        let to = self.register(0)?;
        if to == PC && is_flagged {
            self.made.flow = Flow::ExceptionReturn;
            return Some(());
        }
        self.made.assign(to, value);
        if to == PC && self.is_thumb {
            // Thumb stays Thumb where it computes the program counter.
            let bit = Operand::Constant(1);
            self.made.assign(PC, Expression::Binary(Operator::Or, PC, bit));
        }
        Some(())
    }

    /// The operands of a computation with two of them.
    fn binary_operands(&self) -> Option<(Register, Operand)> {
        let is_short = match self.operands.len() {
            2 => true,
            3 => matches!(self.operands[2], Text::Word(word) if register(word).is_none()),
            _ => false,
        };
        let place = usize::from(!is_short);
        Some((self.register(place)?, self.operand(place + 1)?))
    }

    /// The last operand of a computation, with its shift.
    fn operand(&self, place: usize) -> Option<Operand> {
        if let Some(number) = self.immediate(place) {
            return Some(Operand::Constant(number));
        }
        let register = self.register(place)?;
        Some(match self.operands.get(place + 1) {
            Some(Text::Word(text)) => shifted(register, text),
            Some(_) => Operand::Shifted(register, Shift::Rotation, 1),
            None => Operand::Register(register),
        })
    }

    /// The value that a known computation assigns to its first operand.
    fn result(&self, name: &str) -> Option<Expression> {
        let binary = |operator| {
            let (left, right) = self.binary_operands()?;
            Some(if left == PC {
                // Only a constant distance is added to the program counter here.
                match (operator, right) {
                    (Operator::Add, Operand::Constant(by)) => {
                        Expression::Constant(self.pc.wrapping_add(by) & 0xffff_ffff)
                    }
                    (Operator::Subtract, Operand::Constant(by)) => {
                        Expression::Constant(self.pc.wrapping_sub(by) & 0xffff_ffff)
                    }
                    (Operator::Add, Operand::Register(by)) if by != PC => {
                        Expression::Binary(operator, by, Operand::Constant(self.pc))
                    }
                    _ => Expression::Unknown,
                }
            } else if right == Operand::Register(PC) {
                Expression::Binary(operator, left, Operand::Constant(self.pc))
            } else {
                Expression::Binary(operator, left, right)
            })
        };
        let shift = |kind| match self.binary_operands()? {
            (left, right) if left != PC => {
                Some(Expression::Binary(Operator::Shift(kind), left, right))
            }
            _ => None,
        };
        match name {
            "mov" | "movw" | "cpy" => match self.operand(1)? {
                Operand::Register(PC) => Some(Expression::Constant(self.pc)),
                Operand::Constant(number) => Some(Expression::Constant(number)),
                operand => Some(Expression::Operand(operand)),
            },
            "mvn" => Some(match self.operand(1)? {
                Operand::Constant(number) => Expression::Constant(!number & 0xffff_ffff),
                Operand::Register(from) => {
                    Expression::Binary(Operator::Xor, from, Operand::Constant(0xffff_ffff))
                }
                _ => Expression::Computed,
            }),
            "movt" => Some(Expression::Insert(self.register(0)?, self.immediate(1)? << 16)),
            "adr" | "adr.w" => {
                let by = self.immediate(1)?;
                Some(Expression::Constant((self.pc & !3).wrapping_add(by) & 0xffff_ffff))
            }
            "add" | "addw" => binary(Operator::Add),
            "sub" | "subw" => binary(Operator::Subtract),
            "rsb" => binary(Operator::ReverseSubtract),
            "and" => binary(Operator::And),
            "bic" => binary(Operator::Clear),
            "orr" => binary(Operator::Or),
            "eor" => binary(Operator::Xor),
            "mul" => binary(Operator::Multiply),
            "lsl" => shift(Shift::Left),
            "lsr" => shift(Shift::Right),
            "asr" => shift(Shift::Arithmetic),
            "uxtb" | "uxth" if self.operands.len() == 2 => {
                let bits = if name == "uxtb" { 8 } else { 16 };
                Some(Expression::Low(self.register(1)?, bits))
            }
            "ubfx" => Some(Expression::Bits(u8::try_from(self.immediate(3)?).ok()?.min(32))),
            "clz" => Some(Expression::Bits(6)),
            _ => None,
        }
    }

    /// An instruction that is not known: all registers in it are unknown behind it, and its memory is
    /// read and written.
    fn unknown(&mut self, name: &str) -> Option<()> {
        let is_branch = self.is_branch
            || ["le", "letp", "dls", "wls", "bf", "bfl", "bfx", "bxns", "blxns", "bxaut"]
                .iter()
                .any(|prefix| name.starts_with(prefix) && !matches!(name, "bfi" | "bfc"));
        if is_branch {
            self.made.flow = Flow::Trap(Trap::stops("branches in a way that is not followed"));
            return Some(());
        }
        if let Some(place) = self.memory_place() {
            let (at, ..) = self.memory(place)?;
            self.made.load(None, at, 128);
            self.made.store(None, at, 128);
        }
        // The stack pointer of another mode is read as an address that is not known.
        let registers = self.operands.iter().flat_map(registers_of);
        let lost: Vec<Register> = registers
            .chain((name == "mrs").then_some(SP))
            .filter(|register| *register != PC)
            .collect();
        self.made.operations.extend(lost.into_iter().map(Operation::Lose));
        let mut written = Vec::new();
        let operands = match results_of(name) {
            Some(results) => &self.operands[..results.min(self.operands.len())],
            None => &self.operands[..],
        };
        for operand in operands {
            match operand {
                Text::Word(word) => written.extend(register(word.trim_end_matches('!'))),
                Text::Memory(parts, _) => {
                    written.extend(parts.first().and_then(|part| register(part)));
                }
                Text::List(names) => written.extend(names.iter().filter_map(|name| register(name))),
                _ => {}
            }
        }
        if written.contains(&PC) && self.memory_place().is_none() {
            self.made.flow =
                Flow::Trap(Trap::stops("writes the program counter in a way that is not followed"));
            return Some(());
        }
        for register in written {
            if register != PC && !(register == SP && self.memory_place().is_some()) {
                let is_index = IS_INDEX.contains(&name);
                let value = if is_index { Expression::Number } else { Expression::Computed };
                self.made.assign(register, value);
            }
        }
        self.made.operations.push(Operation::Flags);
        Some(())
    }
}

/// Instructions whose unknown result is no negative of an address.
const IS_INDEX: [&str; 21] = [
    "smull", "smmul", "smmulr", "smulbb", "smuad", "sxtb", "sxth", "uxtb", "uxth", "sxtab",
    "sxtah", "uxtab", "uxtah", "sdiv", "udiv", "mla", "sbfx", "usat", "ssat", "umull", "umlal",
];

/// The registers in an operand.
fn registers_of(operand: &Text<'_>) -> Vec<Register> {
    match operand {
        Text::Word(word) => register(word.trim_end_matches('!')).into_iter().collect(),
        Text::Memory(parts, _) => parts.iter().filter_map(|part| register(part)).collect(),
        Text::List(names) => names.iter().filter_map(|name| register(name)).collect(),
        _ => Vec::new(),
    }
}

/// Returns true for instructions without an effect on registers and memory.
fn is_hint(name: &str) -> bool {
    const NAMES: [&str; 17] = [
        "nop", "dsb", "dmb", "isb", "wfi", "wfe", "sev", "sevl", "yield", "hint", "csdb", "esb",
        "setend", "clrex", "ssbb", "pssbb", "cps",
    ];
    NAMES.contains(&name) || name.starts_with("cpsi") || name.starts_with("pl")
}

/// Returns true for computations whose flag-setting form ends with `s`.
fn is_known(name: &str) -> bool {
    const NAMES: [&str; 13] =
        ["mov", "mvn", "add", "sub", "rsb", "and", "bic", "orr", "eor", "mul", "lsl", "lsr", "asr"];
    NAMES.contains(&name)
}

/// The number of operands that an instruction writes, for those that compute something unknown;
/// `None` if it may write all.
fn results_of(name: &str) -> Option<usize> {
    const ONE: [&str; 34] = [
        "sxtb", "sxth", "uxtb", "uxth", "sxtab", "sxtah", "uxtab", "uxtah", "sdiv", "udiv", "mla",
        "mls", "rev", "rev16", "revsh", "rbit", "adc", "adcs", "sbc", "sbcs", "bfi", "bfc", "orn",
        "orns", "sbfx", "ror", "rors", "rrx", "mvn", "mvns", "usat", "ssat", "mrs", "rsc",
    ];
    const TWO: [&str; 5] = ["umull", "smull", "umlal", "smlal", "umaal"];
    if ONE.contains(&name) { Some(1) } else { TWO.contains(&name).then_some(2) }
}

fn is_multiple(name: &str) -> bool {
    let head = name.strip_prefix('v').unwrap_or(name);
    head.starts_with("ldm") || head.starts_with("stm")
}

/// Bytes of an access, by the letters behind `ldr` or `str`.
fn width(rest: &str) -> u8 {
    match rest {
        _ if rest.contains('b') => 1,
        _ if rest.contains('h') => 2,
        _ => 4,
    }
}

/// Returns true for a register of floating point, of 32 bits.
fn is_single(name: &str) -> bool {
    name.strip_prefix('s').is_some_and(|digits| digits.parse::<u8>().is_ok())
}

fn is_vector(operand: &Text<'_>) -> bool {
    let Text::Word(word) = operand else { return matches!(operand, Text::List(_)) };
    is_single(word)
        || word.strip_prefix(['d', 'q']).is_some_and(|digits| digits.parse::<u8>().is_ok())
}

/// The operand of a register with a shift such as `lsl #2`.
fn shifted(register: Register, text: &str) -> Operand {
    let unknown = Operand::Shifted(register, Shift::Rotation, 1);
    let Some((name, by)) = text.split_once(' ') else { return unknown };
    let Some(by) = number(by).and_then(|by| u8::try_from(by).ok()) else { return unknown };
    match name {
        "lsl" => Operand::Shifted(register, Shift::Left, by),
        "lsr" => Operand::Shifted(register, Shift::Right, by),
        "asr" => Operand::Shifted(register, Shift::Arithmetic, by),
        _ => unknown,
    }
}

/// The number of a register by its name. Capstone writes some of them as `sb`, `sl` and `fp`.
fn register(name: &str) -> Option<Register> {
    match name {
        "sb" => Some(9),
        "sl" => Some(10),
        "fp" => Some(11),
        "ip" => Some(12),
        "sp" => Some(SP),
        "lr" => Some(LR),
        "pc" => Some(PC),
        _ => name.strip_prefix('r')?.parse().ok().filter(|number| *number < 16),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thumb(bytes: &[u8]) -> Instruction {
        let arm = Arm::new().expect("capstone starts");
        arm.decode(bytes, 0x2000_0001, false).expect("the bytes are an instruction")
    }

    #[test]
    fn an_it_block_has_a_condition_for_each_instruction() {
        // ite eq
        let block = thumb(&[0x0c, 0xbf]).block;
        let relations: Vec<Relation> = block.iter().map(|one| one.relation).collect();
        assert_eq!(relations, [Relation::Equal, Relation::NotEqual]);
    }

    #[test]
    fn short_computations_change_the_flags() {
        // movs r0, #1; lsls r0, r0, #1; muls r0, r1, r0; mvns r0, r0; negs r0, r0; adds r0, r1, #1
        for code in [0x2001_u16, 0x0040, 0x4348, 0x43c0, 0x4240, 0x1c48] {
            let flags = thumb(&code.to_le_bytes()).operations;
            assert!(flags.contains(&Operation::Flags), "{code:#06x}: {flags:?}");
        }
        // subs r0, r0, #1
        let compare = Operation::Compare(0, Operand::Constant(1));
        assert_eq!(thumb(&[0x01, 0x38]).operations[0], compare);
    }

    #[test]
    fn names_of_capstone_are_registers() {
        let names = ["sb", "sl", "fp", "ip", "r8"].map(register);
        assert_eq!(names, [Some(9), Some(10), Some(11), Some(12), Some(8)]);
    }

    #[test]
    fn returns_and_switches_are_jumps() {
        // pop {pc}; mov pc, r0; bx lr; tbb [pc, r0]
        assert_eq!(thumb(&[0x00, 0xbd]).flow, Flow::JumpTo(PC));
        assert_eq!(thumb(&[0x87, 0x46]).flow, Flow::JumpTo(PC));
        assert_eq!(thumb(&[0x70, 0x47]).flow, Flow::JumpTo(LR));
        assert_eq!(thumb(&[0xdf, 0xe8, 0x00, 0xf0]).flow, Flow::JumpTo(TEMPORARY));
    }

    #[test]
    fn a_debugger_may_let_the_program_go_on() {
        assert!(matches!(thumb(&[0xab, 0xbe]).flow, Flow::Trap(_)));
        assert_eq!(thumb(&[0xff, 0xde]).flow, Flow::Stop);
    }

    #[test]
    fn an_address_that_goes_where_it_is_not_followed_is_lost() {
        // mla r0, r1, r2, r3; vmov s0, r4; mrs r0, msp
        assert!(thumb(&[0x01, 0xfb, 0x02, 0x30]).operations.contains(&Operation::Lose(3)));
        assert!(thumb(&[0x00, 0xee, 0x10, 0x4a]).operations.contains(&Operation::Lose(4)));
        assert!(thumb(&[0xef, 0xf3, 0x08, 0x80]).operations.contains(&Operation::Lose(SP)));
    }

    #[test]
    fn a_list_of_doubles_is_stored_with_eight_bytes_each() {
        // vstmia r0, {d0, d1}
        let stored: Vec<(i64, u8)> = thumb(&[0x80, 0xec, 0x04, 0x0b])
            .operations
            .iter()
            .filter_map(|one| match one {
                Operation::Store { from: None, at, bytes } => Some((at.offset, *bytes)),
                _ => None,
            })
            .collect();
        assert_eq!(stored, [(0, 8), (8, 8)]);
    }

    #[test]
    fn the_base_is_written_back_behind_the_access() {
        // ldr r1, [r2, #-4]!
        let made = thumb(&[0x52, 0xf8, 0x04, 0x1d]);
        let down = Expression::Binary(Operator::Add, 2, Operand::Constant(0xffff_fffc));
        assert_eq!(made.operations.last(), Some(&Operation::Assign(2, down)));
    }
}
