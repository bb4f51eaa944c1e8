//! RISC-V of 32 and 64 bits: the base, M, A, F, D, C, Zba in part, Zcb.

use crate::instruction::{
    Address, Condition, Expression, Flow, Instruction, Operand, Operation, Operator, Register,
    Relation, Shift, TEMPORARY, Trap,
};

use super::{Convention, Decoder};

const RA: Register = 1;
const SP: Register = 2;

const EBREAK: u32 = 0x0010_0073;
/// The instruction behind an `ebreak` that a debugger answers: `srai x0, x0, 7`.
const SEMIHOSTING: u32 = 0x4070_5013;

pub struct RiscV {
    pub is_wide: bool,
    /// True if the program has floating point of 64 bits. Zcmp uses the same encodings.
    pub has_double: bool,
}

impl Decoder for RiscV {
    fn convention(&self) -> Convention {
        Convention {
            stack: SP,
            link: RA,
            arguments: &[10, 11, 12, 13, 14, 15, 16, 17],
            zero: Some(0),
            global: Some(3),
            preserved: &[2, 3, 4, 8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27],
            word: if self.is_wide { 8 } else { 4 },
        }
    }

    fn decode(&self, bytes: &[u8], code: u64, _in_block: bool) -> Option<Instruction> {
        let low = u16::from_le_bytes(*bytes.first_chunk()?);
        if low & 3 != 3 {
            return self.compressed(u32::from(low), code);
        }
        if low & 0x1c == 0x1c {
            return None;
        }
        let word = u32::from_le_bytes(*bytes.first_chunk()?);
        if word == EBREAK && bytes.get(4..8) == Some(&SEMIHOSTING.to_le_bytes()) {
            let mut made = Instruction::new(4);
            made.flow = Flow::Trap(Trap::resumes("calls a debugger (semihosting)"));
            return Some(made);
        }
        self.full(word, code)
    }
}

/// Bits `high` to `low` of a word.
fn bits(word: u32, high: u32, low: u32) -> u32 {
    (word >> low) & ((1 << (high - low + 1)) - 1)
}

/// The lowest `count` bits of a number with a sign.
fn signed(number: u32, count: u32) -> i64 {
    i64::from((number << (32 - count)) as i32 >> (32 - count))
}

/// Assigns a result, except to the register that is always 0.
fn assign(made: &mut Instruction, to: Register, value: Expression) {
    if to != 0 {
        made.assign(to, value);
    }
}

/// Notes that the values of two registers go to a place that is not followed.
fn lose(made: &mut Instruction, one: Register, other: Register) {
    made.operations.extend([one, other].map(Operation::Lose));
}

/// An unknown result: an index, or a number that may be the negative of an address.
fn unknown(is_index: bool) -> Expression {
    if is_index { Expression::Number } else { Expression::Computed }
}

impl RiscV {
    fn mask(&self) -> u64 {
        if self.is_wide { u64::MAX } else { 0xffff_ffff }
    }

    fn constant(&self, number: i64) -> Operand {
        Operand::Constant(number as u64 & self.mask())
    }

    fn add(&self, made: &mut Instruction, to: Register, from: Register, by: i64) {
        let value = if from == 0 {
            Expression::Constant(by as u64 & self.mask())
        } else {
            Expression::Binary(Operator::Add, from, self.constant(by))
        };
        assign(made, to, value);
    }

    fn load(
        made: &mut Instruction,
        to: Register,
        base: Register,
        at: i64,
        width: u32,
    ) -> Option<()> {
        let (bytes, is_signed) = match width {
            0 => (1, true),
            1 => (2, true),
            2 => (4, true),
            3 => (8, true),
            4 => (1, false),
            5 => (2, false),
            6 => (4, false),
            _ => return None,
        };
        let to = (to != 0).then_some(to);
        made.operations.push(Operation::Load { to, at: Address::at(base, at), bytes, is_signed });
        Some(())
    }

    /// The address behind an instruction, which a call leaves in its link register.
    fn link(&self, made: &mut Instruction, code: u64, to: Register) {
        let next = code.wrapping_add(made.bytes) & self.mask();
        assign(made, to, Expression::Constant(next));
    }

    fn jump(&self, made: &mut Instruction, code: u64, link: Register, by: i64) {
        let target = code.wrapping_add_signed(by) & self.mask();
        if link == RA {
            made.flow = Flow::Call(target);
            return;
        }
        self.link(made, code, link);
        made.flow = Flow::Jump(target);
    }

    fn jump_to(&self, made: &mut Instruction, code: u64, link: Register, base: Register, by: i64) {
        let mut to = base;
        if by != 0 || link == base {
            self.add(made, TEMPORARY, base, by);
            to = TEMPORARY;
        }
        if link == RA {
            made.flow = Flow::CallOf(to);
            return;
        }
        self.link(made, code, link);
        made.flow = Flow::JumpTo(to);
    }

    fn branch(
        &self,
        made: &mut Instruction,
        code: u64,
        relation: Relation,
        a: u32,
        b: u32,
        by: i64,
    ) {
        let target = code.wrapping_add_signed(by) & self.mask();
        let condition = if a == 0 {
            let compared = Some((b as Register, Operand::Constant(0)));
            Condition { relation: relation.swapped(), compared }
        } else {
            let right =
                if b == 0 { Operand::Constant(0) } else { Operand::Register(b as Register) };
            Condition { relation, compared: Some((a as Register, right)) }
        };
        made.flow = Flow::Branch(target, condition);
    }

    fn full(&self, word: u32, code: u64) -> Option<Instruction> {
        let mut made = Instruction::new(4);
        let (rd, rs1, rs2) =
            (bits(word, 11, 7) as Register, bits(word, 19, 15) as Register, bits(word, 24, 20));
        let funct3 = bits(word, 14, 12);
        let i_immediate = signed(word >> 20, 12);
        let s_immediate = signed(bits(word, 31, 25) << 5 | bits(word, 11, 7), 12);
        let upper = i64::from((word & 0xffff_f000) as i32);
        match word & 0x7f {
            0x37 => assign(&mut made, rd, Expression::Constant(upper as u64 & self.mask())),
            0x17 => {
                let value = code.wrapping_add_signed(upper) & self.mask();
                assign(&mut made, rd, Expression::Constant(value));
            }
            0x6f => {
                let by = bits(word, 31, 31) << 20
                    | bits(word, 19, 12) << 12
                    | bits(word, 20, 20) << 11
                    | bits(word, 30, 21) << 1;
                self.jump(&mut made, code, rd, signed(by, 21));
            }
            0x67 if funct3 == 0 => self.jump_to(&mut made, code, rd, rs1, i_immediate),
            0x63 => {
                let by = bits(word, 31, 31) << 12
                    | bits(word, 7, 7) << 11
                    | bits(word, 30, 25) << 5
                    | bits(word, 11, 8) << 1;
                let relation = match funct3 {
                    0 => Relation::Equal,
                    1 => Relation::NotEqual,
                    4 => Relation::Less,
                    5 => Relation::GreaterOrEqual,
                    6 => Relation::Below,
                    7 => Relation::AboveOrEqual,
                    _ => return None,
                };
                self.branch(&mut made, code, relation, u32::from(rs1), rs2, signed(by, 13));
            }
            0x03 => Self::load(&mut made, rd, rs1, i_immediate, funct3)?,
            0x23 if funct3 < 4 => {
                made.store(Some(rs2 as Register), Address::at(rs1, s_immediate), 1 << funct3);
            }
            0x13 => self.immediate(&mut made, word, rd, rs1)?,
            0x1b => match funct3 {
                0 => {
                    let by = Operand::Constant(i_immediate as u64);
                    assign(&mut made, rd, Expression::Narrow(Operator::Add, rs1, by));
                }
                _ => {
                    made.operations.push(Operation::Lose(rs1));
                    assign(&mut made, rd, Expression::Unknown);
                }
            },
            0x33 => self.computation(&mut made, word, rd, rs1, rs2 as Register),
            0x3b => match (bits(word, 31, 25), funct3) {
                (0, 0) => {
                    let right = Operand::Register(rs2 as Register);
                    assign(&mut made, rd, Expression::Narrow(Operator::Add, rs1, right));
                }
                (0x20, 0) => {
                    let right = Operand::Register(rs2 as Register);
                    assign(&mut made, rd, Expression::Narrow(Operator::Subtract, rs1, right));
                }
                (upper, _) => {
                    lose(&mut made, rs1, rs2 as Register);
                    // Division and remainder, shifts to the left and to the right.
                    let is_index = upper == 1 || (upper & !0x20 == 0 && funct3 != 0);
                    assign(&mut made, rd, unknown(is_index));
                }
            },
            // Fences.
            0x0f => {}
            0x73 => {
                lose(&mut made, rs1, 0);
                self.system(&mut made, word, rd, funct3)?;
            }
            _ => self.extension(&mut made, word, rd, rs1)?,
        }
        Some(made)
    }

    /// Decodes atomic accesses and floating point.
    fn extension(
        &self,
        made: &mut Instruction,
        word: u32,
        rd: Register,
        rs1: Register,
    ) -> Option<()> {
        let funct3 = bits(word, 14, 12);
        match word & 0x7f {
            0x2f => {
                let bytes = 1 << funct3.min(3);
                let is_reservation = bits(word, 31, 27) == 2;
                lose(made, 0, bits(word, 24, 20) as Register);
                made.load(None, Address::at(rs1, 0), bytes);
                if !is_reservation {
                    made.store(None, Address::at(rs1, 0), bytes);
                }
                assign(made, rd, Expression::Unknown);
            }
            0x07 if (1..=4).contains(&funct3) => {
                made.load(None, Address::at(rs1, signed(word >> 20, 12)), 1 << funct3);
            }
            0x27 if (1..=4).contains(&funct3) => {
                made.store(
                    None,
                    Address::at(rs1, signed(bits(word, 31, 25) << 5 | bits(word, 11, 7), 12)),
                    1 << funct3,
                );
            }
            0x43 | 0x47 | 0x4b | 0x4f => {}
            0x53 => {
                lose(made, rs1, 0);
                if matches!(bits(word, 31, 27), 0x14 | 0x18 | 0x1c) {
                    assign(made, rd, Expression::Unknown);
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn system(&self, made: &mut Instruction, word: u32, rd: Register, funct3: u32) -> Option<()> {
        match (funct3, word >> 20) {
            (0, 0) => made.flow = Flow::Trap(Trap::stops("calls the system (ecall)")),
            (0, 1) => made.flow = Flow::Stop,
            (0, 0x102 | 0x302) => made.flow = Flow::ExceptionReturn,
            // wfi, and sfence.vma.
            (0, 0x105) => {}
            (0, other) if other >> 5 == 9 => {}
            (0 | 4, _) => return None,
            _ => assign(made, rd, Expression::Unknown),
        }
        Some(())
    }

    fn immediate(
        &self,
        made: &mut Instruction,
        word: u32,
        rd: Register,
        rs1: Register,
    ) -> Option<()> {
        let number = signed(word >> 20, 12);
        let binary = |operator| Expression::Binary(operator, rs1, self.constant(number));
        let amount =
            Operand::Constant(u64::from(bits(word, if self.is_wide { 25 } else { 24 }, 20)));
        let kind = bits(word, 31, 26);
        match bits(word, 14, 12) {
            0 => self.add(made, rd, rs1, number),
            1 if kind == 0 => {
                let shift = Operator::Shift(Shift::Left);
                assign(made, rd, Expression::Binary(shift, rs1, amount));
            }
            5 if kind == 0 || kind == 0x10 => {
                let shift = if kind == 0 { Shift::Right } else { Shift::Arithmetic };
                assign(made, rd, Expression::Binary(Operator::Shift(shift), rs1, amount));
            }
            1 | 5 => {
                lose(made, rs1, 0);
                assign(made, rd, Expression::Computed);
            }
            2 | 3 => assign(made, rd, Expression::Bits(1)),
            4 => assign(made, rd, binary(Operator::Xor)),
            6 => assign(made, rd, binary(Operator::Or)),
            7 => assign(made, rd, binary(Operator::And)),
            _ => return None,
        }
        Some(())
    }

    fn computation(
        &self,
        made: &mut Instruction,
        word: u32,
        rd: Register,
        rs1: Register,
        rs2: Register,
    ) {
        let right = Operand::Register(rs2);
        let binary = |operator| Expression::Binary(operator, rs1, right);
        let shifted =
            |by| Expression::Binary(Operator::Add, rs2, Operand::Shifted(rs1, Shift::Left, by));
        let value = match (bits(word, 31, 25), bits(word, 14, 12)) {
            (0, 0) => binary(Operator::Add),
            (0x20, 0) => binary(Operator::Subtract),
            (0, 1) => binary(Operator::Shift(Shift::Left)),
            (0, 2 | 3) => Expression::Bits(1),
            (0, 4) => binary(Operator::Xor),
            (0, 5) => binary(Operator::Shift(Shift::Right)),
            (0x20, 5) => binary(Operator::Shift(Shift::Arithmetic)),
            (0, 6) => binary(Operator::Or),
            (0, 7) => binary(Operator::And),
            (1, 0) => binary(Operator::Multiply),
            (0x10, 2) => shifted(1),
            (0x10, 4) => shifted(2),
            (0x10, 6) => shifted(3),
            (upper, _) => {
                lose(made, rs1, rs2);
                unknown(upper == 1)
            }
        };
        assign(made, rd, value);
    }

    fn compressed(&self, half: u32, code: u64) -> Option<Instruction> {
        let mut made = Instruction::new(2);
        match half & 3 {
            0 => self.quadrant_0(&mut made, half)?,
            1 => self.quadrant_1(&mut made, half, code)?,
            _ => self.quadrant_2(&mut made, half, code)?,
        }
        Some(made)
    }

    fn quadrant_0(&self, made: &mut Instruction, half: u32) -> Option<()> {
        let (rd, rs1) = ((8 + bits(half, 4, 2)) as Register, (8 + bits(half, 9, 7)) as Register);
        let high = bits(half, 12, 10) << 3;
        let word = i64::from(high | bits(half, 6, 6) << 2 | bits(half, 5, 5) << 6);
        let double = i64::from(high | bits(half, 6, 5) << 6);
        match bits(half, 15, 13) {
            0 => {
                let by = bits(half, 12, 11) << 4
                    | bits(half, 10, 7) << 6
                    | bits(half, 6, 6) << 2
                    | bits(half, 5, 5) << 3;
                if by == 0 {
                    return None;
                }
                self.add(made, rd, SP, i64::from(by));
            }
            4 => {
                let byte = i64::from(bits(half, 6, 6) | bits(half, 5, 5) << 1);
                let two = i64::from(bits(half, 5, 5) << 1);
                match (bits(half, 12, 10), bits(half, 6, 6)) {
                    (0, _) => Self::load(made, rd, rs1, byte, 4)?,
                    (1, 0) => Self::load(made, rd, rs1, two, 5)?,
                    (1, _) => Self::load(made, rd, rs1, two, 1)?,
                    (2, _) => made.store(Some(rd), Address::at(rs1, byte), 1),
                    (3, 0) => made.store(Some(rd), Address::at(rs1, two), 2),
                    _ => return None,
                }
            }
            kind => self.word_or_double(made, kind, rd, rs1, (word, double))?,
        }
        Some(())
    }

    /// Adds a compressed load or store of a whole register, of 4 bytes or 8: `kind` are the bits 15
    /// to 13 in quadrants 0 and 2, and the distances from `base` are those of a word and of a double.
    fn word_or_double(
        &self,
        made: &mut Instruction,
        kind: u32,
        register: Register,
        base: Register,
        (word, double): (i64, i64),
    ) -> Option<()> {
        match kind {
            1 | 5 if !self.has_double => return None,
            1 => made.load(None, Address::at(base, double), 8),
            2 => Self::load(made, register, base, word, 2)?,
            3 if self.is_wide => Self::load(made, register, base, double, 3)?,
            3 => made.load(None, Address::at(base, word), 4),
            5 => made.store(None, Address::at(base, double), 8),
            6 => made.store(Some(register), Address::at(base, word), 4),
            7 if self.is_wide => made.store(Some(register), Address::at(base, double), 8),
            _ => made.store(None, Address::at(base, word), 4),
        }
        Some(())
    }

    fn quadrant_1(&self, made: &mut Instruction, half: u32, code: u64) -> Option<()> {
        let rd = bits(half, 11, 7) as Register;
        let number = signed(bits(half, 12, 12) << 5 | bits(half, 6, 2), 6);
        let jump = bits(half, 12, 12) << 11
            | bits(half, 11, 11) << 4
            | bits(half, 10, 9) << 8
            | bits(half, 8, 8) << 10
            | bits(half, 7, 7) << 6
            | bits(half, 6, 6) << 7
            | bits(half, 5, 3) << 1
            | bits(half, 2, 2) << 5;
        match bits(half, 15, 13) {
            0 => self.add(made, rd, rd, number),
            1 if self.is_wide => {
                assign(
                    made,
                    rd,
                    Expression::Narrow(Operator::Add, rd, Operand::Constant(number as u64)),
                );
            }
            1 => self.jump(made, code, RA, signed(jump, 12)),
            2 => self.add(made, rd, 0, number),
            3 if rd == SP => {
                let by = bits(half, 12, 12) << 9
                    | bits(half, 6, 6) << 4
                    | bits(half, 5, 5) << 6
                    | bits(half, 4, 3) << 7
                    | bits(half, 2, 2) << 5;
                self.add(made, SP, SP, signed(by, 10));
            }
            3 => {
                // Its encodings with 0 are other instructions.
                if number == 0 {
                    return None;
                }
                assign(made, rd, Expression::Constant((number << 12) as u64 & self.mask()));
            }
            4 => self.arithmetic(made, half, number)?,
            5 => self.jump(made, code, 0, signed(jump, 12)),
            kind => {
                let by = bits(half, 12, 12) << 8
                    | bits(half, 11, 10) << 3
                    | bits(half, 6, 5) << 6
                    | bits(half, 4, 3) << 1
                    | bits(half, 2, 2) << 5;
                let relation = if kind == 6 { Relation::Equal } else { Relation::NotEqual };
                self.branch(made, code, relation, 8 + bits(half, 9, 7), 0, signed(by, 9));
            }
        }
        Some(())
    }

    fn arithmetic(&self, made: &mut Instruction, half: u32, number: i64) -> Option<()> {
        let rd = (8 + bits(half, 9, 7)) as Register;
        let right = Operand::Register((8 + bits(half, 4, 2)) as Register);
        let amount = Operand::Constant(number as u64 & 0x3f);
        let binary = |operator, right| Expression::Binary(operator, rd, right);
        let value = match (bits(half, 11, 10), bits(half, 12, 12), bits(half, 6, 5)) {
            (0, ..) => binary(Operator::Shift(Shift::Right), amount),
            (1, ..) => binary(Operator::Shift(Shift::Arithmetic), amount),
            (2, ..) => binary(Operator::And, self.constant(number)),
            (_, 0, 0) => binary(Operator::Subtract, right),
            (_, 0, 1) => binary(Operator::Xor, right),
            (_, 0, 2) => binary(Operator::Or, right),
            (_, 0, _) => binary(Operator::And, right),
            (_, _, 0) if self.is_wide => Expression::Narrow(Operator::Subtract, rd, right),
            (_, _, 1) if self.is_wide => Expression::Narrow(Operator::Add, rd, right),
            (_, _, 2) => binary(Operator::Multiply, right),
            (_, _, 3) => match bits(half, 4, 2) {
                0 => Expression::Low(rd, 8),
                2 => Expression::Low(rd, 16),
                4 if self.is_wide => Expression::Low(rd, 32),
                1 | 3 | 5 => {
                    lose(made, rd, 0);
                    Expression::Computed
                }
                _ => return None,
            },
            _ => return None,
        };
        made.assign(rd, value);
        Some(())
    }

    fn quadrant_2(&self, made: &mut Instruction, half: u32, code: u64) -> Option<()> {
        let (rd, rs2) = (bits(half, 11, 7) as Register, bits(half, 6, 2) as Register);
        let top = bits(half, 12, 12) << 5;
        let word = i64::from(top | bits(half, 6, 4) << 2 | bits(half, 3, 2) << 6);
        let double = i64::from(top | bits(half, 6, 5) << 3 | bits(half, 4, 2) << 6);
        let word_store = i64::from(bits(half, 12, 9) << 2 | bits(half, 8, 7) << 6);
        let double_store = i64::from(bits(half, 12, 10) << 3 | bits(half, 9, 7) << 6);
        match bits(half, 15, 13) {
            0 => {
                let amount = Operand::Constant(u64::from(top | bits(half, 6, 2)));
                assign(made, rd, Expression::Binary(Operator::Shift(Shift::Left), rd, amount));
            }
            kind @ 1..=3 => self.word_or_double(made, kind, rd, SP, (word, double))?,
            4 => match (bits(half, 12, 12), rd, rs2) {
                (0, 0, 0) => return None,
                (0, _, 0) => self.jump_to(made, code, 0, rd, 0),
                (1, 0, 0) => made.flow = Flow::Stop,
                (1, _, 0) => self.jump_to(made, code, RA, rd, 0),
                (0, ..) => assign(made, rd, Expression::Operand(Operand::Register(rs2))),
                _ => {
                    let right = Operand::Register(rs2);
                    assign(made, rd, Expression::Binary(Operator::Add, rd, right));
                }
            },
            kind => self.word_or_double(made, kind, rs2, SP, (word_store, double_store))?,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: RiscV = RiscV { is_wide: true, has_double: false };
    const NARROW: RiscV = RiscV { is_wide: false, has_double: false };

    fn decoded(machine: &RiscV, word: u32) -> Option<Instruction> {
        machine.decode(&word.to_le_bytes(), 0x1000, false)
    }

    #[test]
    fn calls_and_returns() {
        // jal ra, +8; jalr ra, a5; ret; c.jalr a5; c.jr ra; jal t0, +8
        let flow = |word| decoded(&NARROW, word).map(|made| made.flow);
        assert_eq!(flow(0x0080_00ef), Some(Flow::Call(0x1008)));
        assert_eq!(flow(0x0007_80e7), Some(Flow::CallOf(15)));
        assert_eq!(flow(0x0000_8067), Some(Flow::JumpTo(RA)));
        assert_eq!(flow(0x9782), Some(Flow::CallOf(15)));
        assert_eq!(flow(0x8082), Some(Flow::JumpTo(RA)));
        assert_eq!(flow(0x0080_02ef), Some(Flow::Jump(0x1008)));
    }

    #[test]
    fn unsigned_branches_compare_registers() {
        // bltu s0, s3, -10
        let made = decoded(&NARROW, 0xff34_6be3).map(|made| made.flow);
        let compared = Some((8, Operand::Register(19)));
        let condition = Condition { relation: Relation::Below, compared };
        assert_eq!(made, Some(Flow::Branch(0xff6, condition)));
    }

    #[test]
    fn encodings_that_machines_share_are_not_guessed() {
        // c.fsdsp, which Zcmp uses for its pushes; zeros
        assert_eq!(decoded(&NARROW, 0xb002), None);
        assert_eq!(decoded(&NARROW, 0), None);
        // c.jal of RV32 is c.addiw of RV64.
        assert!(matches!(decoded(&NARROW, 0x2001).map(|made| made.flow), Some(Flow::Call(_))));
        assert_eq!(decoded(&WIDE, 0x2505).map(|made| made.flow), Some(Flow::Next));
    }

    #[test]
    fn an_address_that_goes_where_it_is_not_followed_is_lost() {
        // csrw mscratch, sp; amoswap.w a0, sp, (a1)
        for word in [0x3401_1073, 0x0825_a52f_u32 & !0x01f0_0000 | 2 << 20] {
            let made = decoded(&NARROW, word).map(|made| made.operations).unwrap_or_default();
            assert!(made.contains(&Operation::Lose(SP)), "{word:#x}: {made:?}");
        }
    }
}
