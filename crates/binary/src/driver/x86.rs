//! x86 of 32 and 64 bits.

use capstone::RegId;
use capstone::arch::x86::{X86Operand, X86OperandType};
use capstone::prelude::*;

use super::instruction::{
    AddressExpression, Decoder, Expression, Flow, Instruction, InstructionAccess, Machine, Register,
};

const AX: Register = 0;
const CX: Register = 1;
const DX: Register = 2;
const SP: Register = 4;
const SI: Register = 6;
const DI: Register = 7;
const VECTORS: Register = 32;

pub struct X86 {
    capstone: Capstone,
    wide: bool,
}

impl X86 {
    pub fn new(wide: bool) -> CsResult<Self> {
        use arch::x86::ArchMode;
        let mode = if wide { ArchMode::Mode64 } else { ArchMode::Mode32 };
        Ok(Self { capstone: Capstone::new().x86().mode(mode).detail(true).build()?, wide })
    }

    fn register(&self, id: RegId) -> Option<Register> {
        register(&self.capstone.reg_name(id)?)
    }

    fn word(&self) -> u32 {
        if self.wide { 8 } else { 4 }
    }
}

impl Decoder for X86 {
    fn machine(&self) -> Machine {
        Machine {
            address_mask: if self.wide { u64::MAX } else { 0xffff_ffff },
            register_mask: if self.wide { u64::MAX } else { 0xffff_ffff },
            stack: &[SP],
            zero: None,
            clobbered: if self.wide { &[0, 1, 2, 6, 7, 8, 9, 10, 11] } else { &[0, 1, 2] },
        }
    }

    fn step(&self) -> u64 {
        1
    }

    fn decode(&self, bytes: &[u8], address: u64, skip: usize) -> Option<Instruction> {
        let decoded = self.capstone.disasm_count(bytes, address, skip + 1).ok()?;
        let insn = decoded.get(skip)?;
        let mnemonic = insn.mnemonic()?;
        let text = format!("{mnemonic} {}", insn.op_str().unwrap_or_default());
        let mut made =
            Instruction::new(insn.address(), insn.len() as u32, text.trim_end().to_owned());
        let detail = self.capstone.insn_detail(insn).ok()?;
        let detail = detail.arch_detail();
        let operands: Vec<X86Operand> = detail.x86()?.operands().collect();
        let (prefix, name) = mnemonic.rsplit_once(' ').unwrap_or(("", mnemonic));
        self.fill(&mut made, name, &operands);
        if prefix.starts_with("rep") {
            made.repeated = true;
            made.outputs.push((CX, Expression::Computed));
        }
        Some(made)
    }
}

impl X86 {
    fn fill(&self, made: &mut Instruction, name: &str, operands: &[X86Operand]) {
        let target = match operands.first().map(|operand| &operand.op_type) {
            Some(X86OperandType::Imm(target)) => Some(*target as u64 & self.machine().address_mask),
            _ => None,
        };
        match (name, target) {
            ("jmp", target) => made.flow = Flow::Jump(target),
            ("call", target) => {
                made.flow = Flow::Call(target);
                let address = AddressExpression::Memory(vec![(SP, 1)], -i64::from(self.word()));
                made.accesses.push(InstructionAccess::store(
                    self.word(),
                    address,
                    Expression::Computed,
                ));
            }
            ("ret" | "retf" | "retfq" | "iret" | "iretd" | "iretq" | "hlt" | "ud2" | "int3", _) => {
                made.flow = Flow::Return;
            }
            ("loop" | "loope" | "loopne", Some(target)) => {
                made.outputs.push((CX, Expression::Sum(CX, -1)));
                made.flow = Flow::Branch(target);
            }
            (_, Some(target)) if name.starts_with('j') => made.flow = Flow::Branch(target),
            ("push" | "pop" | "leave" | "enter", _) => self.stack(made, name, operands),
            ("in" | "out", _) => self.port(made, name, operands),
            _ if is_string(name, operands) => self.string(made, name, operands),
            _ => self.works(made, name, operands),
        }
    }

    fn address(&self, made: &Instruction, operand: &X86Operand) -> Option<AddressExpression> {
        let X86OperandType::Mem(memory) = operand.op_type else { return None };
        let base_name = self.capstone.reg_name(memory.base()).unwrap_or_default();
        if base_name == "rip" || base_name == "eip" {
            let address = made.end().wrapping_add_signed(memory.disp());
            return Some(AddressExpression::Memory(Vec::new(), address as i64));
        }
        let mut terms = Vec::new();
        terms.extend(self.register(memory.base()).map(|base| (base, 1)));
        terms.extend(self.register(memory.index()).map(|index| (index, i64::from(memory.scale()))));
        Some(AddressExpression::Memory(terms, memory.disp()))
    }

    fn operand_register(&self, operand: &X86Operand) -> Option<Register> {
        match operand.op_type {
            X86OperandType::Reg(id) => self.register(id),
            _ => None,
        }
    }

    fn stack(&self, made: &mut Instruction, name: &str, operands: &[X86Operand]) {
        const BP: Register = 5;
        let word = i64::from(self.word());
        let at = |offset| AddressExpression::Memory(vec![(SP, 1)], offset);
        match name {
            "push" => {
                if let Some(from) = operands.first().and_then(|operand| self.address(made, operand))
                {
                    made.load(self.word(), from, None);
                }
                let register = operands.first().and_then(|operand| self.operand_register(operand));
                made.store(self.word(), at(-word), register);
                made.outputs.push((SP, Expression::Sum(SP, -word)));
            }
            "pop" => {
                let register = operands.first().and_then(|operand| self.operand_register(operand));
                made.load(self.word(), at(0), register);
                if let Some(to) = operands.first().and_then(|operand| self.address(made, operand)) {
                    made.accesses.push(InstructionAccess::store(
                        self.word(),
                        to,
                        Expression::Loaded(0),
                    ));
                }
                made.outputs.push((SP, Expression::Sum(SP, word)));
            }
            "leave" => {
                made.load(self.word(), AddressExpression::Memory(vec![(BP, 1)], 0), Some(BP));
                made.outputs.push((SP, Expression::Sum(BP, word)));
            }
            _ => {
                made.store(self.word(), at(-word), Some(BP));
                made.outputs.push((BP, Expression::Sum(SP, -word)));
                made.outputs.push((SP, Expression::Computed));
            }
        }
    }

    fn port(&self, made: &mut Instruction, name: &str, operands: &[X86Operand]) {
        let (data, port) = if name == "in" { (0, 1) } else { (1, 0) };
        let port = match operands.get(port).map(|operand| &operand.op_type) {
            Some(X86OperandType::Imm(number)) => Ok(*number as u64 & 0xff),
            _ => Err(DX),
        };
        let bytes = operands.get(data).map_or(1, |operand| u32::from(operand.size));
        match name {
            "in" => made.load(bytes, AddressExpression::Port(port), Some(AX)),
            _ => made.store(bytes, AddressExpression::Port(port), Some(AX)),
        }
    }

    /// Fills in `movs`, `stos`, `lods`, `ins`, `outs`, and those that only compare.
    fn string(&self, made: &mut Instruction, name: &str, operands: &[X86Operand]) {
        let bytes = operands.iter().map(|operand| u32::from(operand.size)).min().unwrap_or(1);
        // The direction flag is not known. Forward is the rule.
        let step = |register| (register, Expression::Sum(register, i64::from(bytes)));
        let at = |register| AddressExpression::Memory(vec![(register, 1)], 0);
        match &name[..3] {
            "mov" => {
                made.load(bytes, at(SI), None);
                made.accesses.push(InstructionAccess::store(bytes, at(DI), Expression::Loaded(0)));
                made.outputs.extend([step(SI), step(DI)]);
            }
            "sto" => {
                made.store(bytes, at(DI), Some(AX));
                made.outputs.push(step(DI));
            }
            "lod" => {
                made.load(bytes, at(SI), Some(AX));
                made.outputs.push(step(SI));
            }
            "ins" => {
                made.load(bytes, AddressExpression::Port(Err(DX)), None);
                made.accesses.push(InstructionAccess::store(bytes, at(DI), Expression::Loaded(0)));
                made.outputs.push(step(DI));
            }
            "out" => {
                made.load(bytes, at(SI), None);
                let port = AddressExpression::Port(Err(DX));
                made.accesses.push(InstructionAccess::store(bytes, port, Expression::Loaded(0)));
                made.outputs.push(step(SI));
            }
            "cmp" => {
                made.load(bytes, at(SI), None);
                made.load(bytes, at(DI), None);
                made.outputs.extend([step(SI), step(DI)]);
            }
            _ => {
                made.load(bytes, at(DI), None);
                made.outputs.push(step(DI));
            }
        }
    }

    fn works(&self, made: &mut Instruction, name: &str, operands: &[X86Operand]) {
        let untouched = ["lea", "nop", "endbr64", "endbr32", "clflush", "invlpg"].contains(&name)
            || name.starts_with("prefetch");
        let mut loaded = None;
        for operand in operands {
            if let Some(register) = self.operand_register(operand)
                && operand.access.is_none_or(|access| access.is_readable())
            {
                made.inputs.push(register);
            }
            if untouched {
                // `lea` computes its result from the registers of the address. If they were no inputs,
                // a scaled index would seem to be the same in each iteration.
                if let Some(AddressExpression::Memory(terms, _)) = self.address(made, operand) {
                    made.inputs.extend(terms.into_iter().map(|(register, _)| register));
                }
                continue;
            }
            if let Some(address) = self.address(made, operand)
                && operand.access.is_none_or(|access| access.is_readable())
            {
                loaded = Some(made.accesses.len());
                made.load(u32::from(operand.size), address, None);
            }
        }
        let first = operands.first();
        let result = self.result(made, name, operands, loaded);
        for (index, operand) in operands.iter().enumerate() {
            if !operand.access.is_some_and(|access| access.is_writable()) {
                continue;
            }
            let value = if index == 0 { result } else { Expression::Computed };
            if let Some(register) = self.operand_register(operand) {
                // A register that is written in part keeps the rest of its value, which does not
                // matter for the flow of data.
                let in_part = operand.size < 4 && register < VECTORS;
                let value = if in_part { Expression::Computed } else { value };
                made.outputs.push((register, value));
            } else if !untouched && let Some(address) = self.address(made, operand) {
                made.accesses.push(InstructionAccess::store(
                    u32::from(operand.size),
                    address,
                    value,
                ));
            }
        }
        if ["mul", "imul", "div", "idiv"].contains(&name) && operands.len() == 1 {
            made.inputs.push(AX);
            made.outputs.extend([(AX, Expression::Computed), (DX, Expression::Computed)]);
        }
        if ["cdqe", "cwde", "cbw"].contains(&name) {
            made.inputs.push(AX);
            made.outputs.push((AX, Expression::Computed));
        }
        if ["cdq", "cqo", "cwd"].contains(&name) {
            made.outputs.push((DX, Expression::Computed));
        }
        // `xor eax, eax` reads nothing.
        if first.is_some() && result == Expression::Constant(0) {
            made.inputs.clear();
        }
    }

    fn result(
        &self,
        made: &Instruction,
        name: &str,
        operands: &[X86Operand],
        loaded: Option<usize>,
    ) -> Expression {
        let [to, from] = operands else {
            let first = operands.first().and_then(|operand| self.operand_register(operand));
            return match (name, first) {
                ("inc", Some(register)) => Expression::Sum(register, 1),
                ("dec", Some(register)) => Expression::Sum(register, -1),
                _ => Expression::Computed,
            };
        };
        let target = self.operand_register(to);
        let mask = if to.size == 4 { 0xffff_ffff } else { u64::MAX };
        match (name, &from.op_type) {
            ("mov" | "movabs", X86OperandType::Imm(value)) => {
                Expression::Constant(*value as u64 & mask)
            }
            ("mov" | "movabs" | "movaps" | "movups" | "movdqa" | "movdqu", _) => {
                match (self.operand_register(from), loaded) {
                    (Some(register), _) => Expression::Sum(register, 0),
                    (None, Some(index)) => Expression::Loaded(index),
                    (None, None) => Expression::Computed,
                }
            }
            ("movzx" | "movsx" | "movsxd", X86OperandType::Mem(_)) => {
                loaded.map_or(Expression::Computed, Expression::Loaded)
            }
            ("lea", X86OperandType::Mem(_)) => match self.address(made, from) {
                Some(AddressExpression::Memory(terms, by)) => match terms.as_slice() {
                    [] => Expression::Constant(by as u64 & self.machine().address_mask),
                    [(register, 1)] => Expression::Sum(*register, by),
                    _ => Expression::Computed,
                },
                _ => Expression::Computed,
            },
            ("add", X86OperandType::Imm(by)) => {
                target.map_or(Expression::Computed, |register| Expression::Sum(register, *by))
            }
            ("sub", X86OperandType::Imm(by)) => target.map_or(Expression::Computed, |register| {
                Expression::Sum(register, by.wrapping_neg())
            }),
            ("xor" | "sub", X86OperandType::Reg(_))
                if target.is_some() && to.op_type == from.op_type =>
            {
                Expression::Constant(0)
            }
            _ => Expression::Computed,
        }
    }
}

fn is_string(name: &str, operands: &[X86Operand]) -> bool {
    const NAMES: [&str; 26] = [
        "movsb", "movsw", "movsd", "movsq", "stosb", "stosw", "stosd", "stosq", "lodsb", "lodsw",
        "lodsd", "lodsq", "insb", "insw", "insd", "outsb", "outsw", "outsd", "cmpsb", "cmpsw",
        "cmpsd", "cmpsq", "scasb", "scasw", "scasd", "scasq",
    ];
    // `movsd` and `cmpsd` are also names of floating point instructions.
    NAMES.contains(&name)
        && !operands.iter().any(|operand| operand.size >= 16)
        && operands.len() == 2
}

fn register(name: &str) -> Option<Register> {
    const NAMES: [&[&str]; 8] = [
        &["rax", "eax", "ax", "al", "ah"],
        &["rcx", "ecx", "cx", "cl", "ch"],
        &["rdx", "edx", "dx", "dl", "dh"],
        &["rbx", "ebx", "bx", "bl", "bh"],
        &["rsp", "esp", "sp", "spl"],
        &["rbp", "ebp", "bp", "bpl"],
        &["rsi", "esi", "si", "sil"],
        &["rdi", "edi", "di", "dil"],
    ];
    if let Some(index) = NAMES.iter().position(|names| names.contains(&name)) {
        return u8::try_from(index).ok();
    }
    for vector in ["xmm", "ymm", "zmm"] {
        if let Some(digits) = name.strip_prefix(vector) {
            let number: u8 = digits.parse().ok()?;
            return (number < 32).then_some(VECTORS + number);
        }
    }
    let digits = name.strip_prefix('r')?.trim_end_matches(['d', 'w', 'b']);
    digits.parse::<u8>().ok().filter(|number| (8..16).contains(number))
}
