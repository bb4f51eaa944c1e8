//! AVR. Capstone does not support it, and it has few opcodes, of 16 bits.

use super::instruction::{
    AddressExpression, Decoder, Expression, Flow, Instruction, InstructionAccess, Machine, Register,
};

const X: Register = 26;
const Y: Register = 28;
const Z: Register = 30;
/// The halves of the stack pointer, which lie in the I/O space.
const SP_LOW: Register = 32;
const SP_HIGH: Register = 33;
const SP_LOW_PORT: u32 = 0x3d;
const SP_HIGH_PORT: u32 = 0x3e;
const STATUS_PORT: u32 = 0x3f;

pub struct Avr;

impl Decoder for Avr {
    fn machine(&self) -> Machine {
        Machine {
            address_mask: 0xffff,
            register_mask: 0xff,
            stack: &[SP_LOW, SP_HIGH],
            zero: None,
            clobbered: &[0, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 30, 31],
        }
    }

    fn step(&self) -> u64 {
        2
    }

    fn decode(&self, bytes: &[u8], address: u64, _skip: usize) -> Option<Instruction> {
        let word = |at: usize| {
            Some(u32::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
        };
        let opcode = word(0)?;
        let made = Instruction::new(address, 2, String::new());
        if length(opcode) == 4 {
            return Some(decode_long(made, opcode, word(2)?));
        }
        let next = word(2).unwrap_or_default();
        decode_short(made, opcode, length(next))
    }
}

/// Returns the length in bytes of the instruction that begins with `opcode`.
fn length(opcode: u32) -> u64 {
    let long = opcode & 0xfc0f == 0x9000 || opcode & 0xfe0c == 0x940c;
    if long { 4 } else { 2 }
}

/// Makes an address of a pair of registers.
fn pair(low: Register, displacement: i64) -> AddressExpression {
    AddressExpression::Memory(vec![(low, 1), (low + 1, 256)], displacement)
}

/// Adds `by` to a pair of registers. The number is added to the value of the low register.
fn step(made: &mut Instruction, low: Register, by: i64) {
    made.outputs.push((low, Expression::Sum(low, by)));
    made.outputs.push((low + 1, Expression::Sum(low + 1, 0)));
}

/// The registers and numbers that opcodes of one word hold. Each opcode has some of them.
struct Fields {
    /// The register that is written.
    d: Register,
    /// The second register.
    r: Register,
    /// The register that is written, if it is one of r16 to r31.
    high_d: Register,
    /// An 8-bit number.
    k: u32,
}

impl Fields {
    fn of(opcode: u32) -> Self {
        Self {
            d: (opcode >> 4 & 0x1f) as Register,
            r: ((opcode & 0xf) | (opcode >> 5 & 0x10)) as Register,
            high_d: 16 + (opcode >> 4 & 0xf) as Register,
            k: (opcode & 0xf) | (opcode >> 4 & 0xf0),
        }
    }
}

/// Decodes an instruction of one word. `skipped` is the length of the next instruction, which some
/// instructions skip.
fn decode_short(mut made: Instruction, opcode: u32, skipped: u64) -> Option<Instruction> {
    let fields = Fields::of(opcode);
    let skip_target = made.address.wrapping_add(2).wrapping_add(skipped);
    match opcode {
        0x0000..=0x03ff => return copies_and_products(made, opcode, &fields),
        0x0400..=0x2fff => two_registers(&mut made, opcode, &fields, skip_target),
        0x3000..=0x7fff | 0xe000..=0xefff => immediate(&mut made, opcode, &fields),
        _ if opcode & 0xd000 == 0x8000 => displaced(&mut made, opcode, &fields),
        _ if opcode & 0xfc00 == 0x9000 => return moves(made, opcode, fields.d),
        _ if opcode & 0xfe00 == 0x9400 => return single(made, opcode, fields.d),
        0x9600..=0x97ff => add_to_pair(&mut made, opcode),
        0x9800..=0x9bff => port_bit(&mut made, opcode, skip_target),
        0x9c00..=0x9fff => {
            two(&mut made, "mul", &fields, false, true);
            made.outputs.extend([(0, Expression::Computed), (1, Expression::Computed)]);
        }
        0xb000..=0xbfff => in_or_out(&mut made, opcode, fields.d),
        0xc000..=0xdfff => relative_jump(&mut made, opcode),
        0xf000..=0xf7ff => branch(&mut made, opcode),
        _ if opcode & 0xf808 == 0xf800 => {
            register_bit(&mut made, opcode, fields.d, skip_target);
        }
        _ => return None,
    }
    Some(made)
}

/// Fills in an instruction with two registers.
fn two(made: &mut Instruction, name: &str, fields: &Fields, writes: bool, reads_d: bool) {
    let Fields { d, r, .. } = *fields;
    made.text = format!("{name} r{d}, r{r}");
    made.inputs.push(r);
    if reads_d {
        made.inputs.push(d);
    }
    if writes {
        let value = if reads_d { Expression::Computed } else { Expression::Sum(r, 0) };
        made.outputs.push((d, value));
    }
}

/// Decodes `nop`, `movw` and the products of some registers.
fn copies_and_products(mut made: Instruction, opcode: u32, fields: &Fields) -> Option<Instruction> {
    match opcode {
        0x0000 => made.text = "nop".into(),
        0x0100..=0x01ff => {
            let (to, from) = ((opcode >> 3 & 0x1e) as Register, (opcode << 1 & 0x1e) as Register);
            made.text = format!("movw r{to}, r{from}");
            made.inputs.extend([from, from + 1]);
            made.outputs.push((to, Expression::Sum(from, 0)));
            made.outputs.push((to + 1, Expression::Sum(from + 1, 0)));
        }
        0x0200..=0x03ff => {
            let (a, b) = if opcode < 0x0300 {
                (fields.high_d, 16 + (opcode & 0xf) as Register)
            } else {
                (16 + (opcode >> 4 & 7) as Register, 16 + (opcode & 7) as Register)
            };
            made.text = format!("mul r{a}, r{b}");
            made.inputs.extend([a, b]);
            made.outputs.extend([(0, Expression::Computed), (1, Expression::Computed)]);
        }
        _ => return None,
    }
    Some(made)
}

/// Fills in arithmetic and comparisons of two registers.
fn two_registers(made: &mut Instruction, opcode: u32, fields: &Fields, skip_target: u64) {
    match opcode {
        0x0400..=0x07ff => two(made, "cpc", fields, false, true),
        0x0800..=0x0bff => two(made, "sbc", fields, true, true),
        0x0c00..=0x0fff => two(made, "add", fields, true, true),
        0x1000..=0x13ff => {
            two(made, "cpse", fields, false, true);
            made.flow = Flow::Branch(skip_target);
        }
        0x1400..=0x17ff => two(made, "cp", fields, false, true),
        0x1800..=0x1bff => two(made, "sub", fields, true, true),
        0x1c00..=0x1fff => two(made, "adc", fields, true, true),
        0x2000..=0x23ff => two(made, "and", fields, true, true),
        0x2400..=0x27ff => {
            two(made, "eor", fields, true, true);
            if fields.d == fields.r {
                made.inputs.clear();
                made.outputs = vec![(fields.d, Expression::Constant(0))];
            }
        }
        0x2800..=0x2bff => two(made, "or", fields, true, true),
        _ => two(made, "mov", fields, true, false),
    }
}

/// Fills in instructions with a register and an 8-bit number.
fn immediate(made: &mut Instruction, opcode: u32, fields: &Fields) {
    let Fields { high_d, k, .. } = *fields;
    let minus_k = -i64::from(k as u8 as i8);
    let (name, value) = match opcode >> 12 {
        3 => ("cpi", None),
        4 => ("sbci", Some(Expression::Sum(high_d, minus_k))),
        5 => ("subi", Some(Expression::Sum(high_d, minus_k))),
        6 => ("ori", Some(Expression::Bits(high_d, 0xff, u64::from(k)))),
        7 => ("andi", Some(Expression::Bits(high_d, u64::from(k), 0))),
        _ => ("ldi", Some(Expression::Constant(u64::from(k)))),
    };
    made.text = format!("{name} r{high_d}, 0x{k:02x}");
    if name != "ldi" {
        made.inputs.push(high_d);
    }
    made.outputs.extend(value.map(|value| (high_d, value)));
}

/// Fills in `ldd` and `std`.
fn displaced(made: &mut Instruction, opcode: u32, fields: &Fields) {
    let d = fields.d;
    let displacement = i64::from((opcode & 7) | (opcode >> 7 & 0x18) | (opcode >> 8 & 0x20));
    let (low, name) = if opcode & 8 != 0 { (Y, 'Y') } else { (Z, 'Z') };
    if opcode & 0x200 == 0 {
        made.text = format!("ldd r{d}, {name}+{displacement}");
        made.load(1, pair(low, displacement), Some(d));
    } else {
        made.text = format!("std {name}+{displacement}, r{d}");
        made.store(1, pair(low, displacement), Some(d));
    }
}

/// Fills in `adiw` and `sbiw`.
fn add_to_pair(made: &mut Instruction, opcode: u32) {
    let low = 24 + (opcode >> 3 & 6) as Register;
    let by = i64::from((opcode & 0xf) | (opcode >> 2 & 0x30));
    let (name, sign) = if opcode < 0x9700 { ("adiw", 1) } else { ("sbiw", -1) };
    made.text = format!("{name} r{low}, 0x{by:02x}");
    made.inputs.extend([low, low + 1]);
    step(made, low, sign * by);
}

/// Fills in instructions that set, clear or test a bit of a port.
fn port_bit(made: &mut Instruction, opcode: u32, skip_target: u64) {
    let (port, bit) = (opcode >> 3 & 0x1f, opcode & 7);
    let name = ["cbi", "sbic", "sbi", "sbis"][(opcode >> 8 & 3) as usize];
    made.text = format!("{name} 0x{port:02x}, {bit}");
    let address = AddressExpression::Port(Ok(u64::from(port)));
    made.load(1, address.clone(), None);
    if opcode & 0x100 == 0 {
        made.accesses.push(InstructionAccess::store(1, address, Expression::Computed));
    } else {
        made.flow = Flow::Branch(skip_target);
    }
}

/// Fills in `in` and `out`.
fn in_or_out(made: &mut Instruction, opcode: u32, d: Register) {
    let port = (opcode & 0xf) | (opcode >> 5 & 0x30);
    let special = match port {
        SP_LOW_PORT => Some(SP_LOW),
        SP_HIGH_PORT => Some(SP_HIGH),
        _ => None,
    };
    let address = AddressExpression::Port(Ok(u64::from(port)));
    if opcode & 0x800 == 0 {
        made.text = format!("in r{d}, 0x{port:02x}");
        match special {
            Some(special) => made.outputs.push((d, Expression::Sum(special, 0))),
            None if port == STATUS_PORT => made.outputs.push((d, Expression::Computed)),
            None => made.load(1, address, Some(d)),
        }
    } else {
        made.text = format!("out 0x{port:02x}, r{d}");
        match special {
            Some(special) => made.outputs.push((special, Expression::Sum(d, 0))),
            None if port == STATUS_PORT => made.inputs.push(d),
            None => made.store(1, address, Some(d)),
        }
    }
}

/// Fills in `rjmp` and `rcall`.
fn relative_jump(made: &mut Instruction, opcode: u32) {
    let distance = i64::from(((opcode << 4) as u16 as i16) >> 4) * 2;
    let target = made.address.wrapping_add(2).wrapping_add_signed(distance);
    if opcode < 0xd000 {
        made.text = format!("rjmp 0x{target:x}");
        made.flow = Flow::Jump(Some(target));
    } else {
        made.text = format!("rcall 0x{target:x}");
        made.flow = Flow::Call(Some(target));
    }
}

/// Fills in conditional branches.
fn branch(made: &mut Instruction, opcode: u32) {
    const SET: [&str; 8] = ["brcs", "breq", "brmi", "brvs", "brlt", "brhs", "brts", "brie"];
    const CLEAR: [&str; 8] = ["brcc", "brne", "brpl", "brvc", "brge", "brhc", "brtc", "brid"];
    let names = if opcode & 0x400 == 0 { SET } else { CLEAR };
    let distance = i64::from(((opcode << 6) as u16 as i16) >> 9) * 2;
    let target = made.address.wrapping_add(2).wrapping_add_signed(distance);
    made.text = format!("{} 0x{target:x}", names[(opcode & 7) as usize]);
    made.flow = Flow::Branch(target);
}

/// Fills in instructions that copy or test a bit of a register.
fn register_bit(made: &mut Instruction, opcode: u32, d: Register, skip_target: u64) {
    let name = ["bld", "bst", "sbrc", "sbrs"][(opcode >> 9 & 3) as usize];
    made.text = format!("{name} r{d}, {}", opcode & 7);
    made.inputs.push(d);
    match name {
        "bld" => made.outputs.push((d, Expression::Computed)),
        "bst" => {}
        _ => made.flow = Flow::Branch(skip_target),
    }
}

/// Decodes `ld`, `st`, `lpm`, `push`, `pop` and the exchanges.
fn moves(mut made: Instruction, opcode: u32, d: Register) -> Option<Instruction> {
    let store = opcode & 0x200 != 0;
    let (low, by) = match opcode & 0xf {
        1 => (Z, 1),
        2 => (Z, -1),
        9 => (Y, 1),
        10 => (Y, -1),
        12 => (X, 0),
        13 => (X, 1),
        14 => (X, -1),
        4..=7 if !store => {
            let name = if opcode & 2 == 0 { "lpm" } else { "elpm" };
            let plus = if opcode & 1 == 0 { "" } else { "+" };
            made.text = format!("{name} r{d}, Z{plus}");
            // A load from program memory, whose address moves like an address of data.
            made.load(1, pair(Z, 0), Some(d));
            if opcode & 1 != 0 {
                step(&mut made, Z, 1);
            }
            return Some(made);
        }
        4..=7 => {
            made.text = format!("{} Z, r{d}", ["xch", "las", "lac", "lat"][(opcode & 3) as usize]);
            made.load(1, pair(Z, 0), Some(d));
            made.accesses.push(InstructionAccess::store(1, pair(Z, 0), Expression::Computed));
            made.inputs.push(d);
            return Some(made);
        }
        15 => {
            let stack = |by| AddressExpression::Memory(vec![(SP_LOW, 1), (SP_HIGH, 256)], by);
            if store {
                made.text = format!("push r{d}");
                made.store(1, stack(0), Some(d));
                step(&mut made, SP_LOW, -1);
            } else {
                made.text = format!("pop r{d}");
                made.load(1, stack(1), Some(d));
                step(&mut made, SP_LOW, 1);
            }
            return Some(made);
        }
        _ => return None,
    };
    let letter = ['X', 'Y', 'Z'][usize::from((low - X) / 2)];
    let name = match by {
        1 => format!("{letter}+"),
        -1 => format!("-{letter}"),
        _ => letter.to_string(),
    };
    let address = pair(low, by.min(0));
    if store {
        made.text = format!("st {name}, r{d}");
        made.store(1, address, Some(d));
    } else {
        made.text = format!("ld r{d}, {name}");
        made.load(1, address, Some(d));
    }
    if by != 0 {
        step(&mut made, low, by);
    }
    Some(made)
}

/// Decodes instructions with one operand or none.
fn single(mut made: Instruction, opcode: u32, d: Register) -> Option<Instruction> {
    let name = match opcode & 0xf {
        0 => "com",
        1 => "neg",
        2 => "swap",
        3 => "inc",
        5 => "asr",
        6 => "lsr",
        7 => "ror",
        10 => "dec",
        8 => {
            made.text = match opcode {
                0x9408..=0x94ff if opcode & 0x80 == 0 => format!("bset {}", opcode >> 4 & 7),
                0x9408..=0x94ff => format!("bclr {}", opcode >> 4 & 7),
                0x9508 => "ret".into(),
                0x9518 => "reti".into(),
                0x9588 => "sleep".into(),
                0x9598 => "break".into(),
                0x95a8 => "wdr".into(),
                0x95c8 | 0x95d8 => "lpm".into(),
                0x95e8 | 0x95f8 => "spm".into(),
                _ => return None,
            };
            match opcode {
                0x9508 | 0x9518 => made.flow = Flow::Return,
                0x95c8 | 0x95d8 => made.load(1, pair(Z, 0), Some(0)),
                _ => {}
            }
            return Some(made);
        }
        9 => {
            (made.text, made.flow) = match opcode {
                0x9409 | 0x9419 => ("ijmp".into(), Flow::Jump(None)),
                0x9509 | 0x9519 => ("icall".into(), Flow::Call(None)),
                _ => return None,
            };
            return Some(made);
        }
        11 => {
            made.text = format!("des 0x{:x}", opcode >> 4 & 0xf);
            return (opcode < 0x9500).then_some(made);
        }
        _ => return None,
    };
    made.text = format!("{name} r{d}");
    made.inputs.push(d);
    let result = match name {
        "inc" => Expression::Sum(d, 1),
        "dec" => Expression::Sum(d, -1),
        _ => Expression::Computed,
    };
    made.outputs.push((d, result));
    Some(made)
}

/// Decodes instructions of two words.
fn decode_long(mut made: Instruction, opcode: u32, second: u32) -> Instruction {
    made.size = 4;
    let d = (opcode >> 4 & 0x1f) as Register;
    if opcode & 0xfc0f == 0x9000 {
        let address = AddressExpression::Memory(Vec::new(), i64::from(second));
        if opcode & 0x200 == 0 {
            made.text = format!("lds r{d}, 0x{second:04x}");
            made.load(1, address, Some(d));
        } else {
            made.text = format!("sts 0x{second:04x}, r{d}");
            made.store(1, address, Some(d));
        }
        return made;
    }
    let target = u64::from((opcode >> 3 & 0x3e | opcode & 1) << 16 | second) * 2;
    if opcode & 2 == 0 {
        made.text = format!("jmp 0x{target:x}");
        made.flow = Flow::Jump(Some(target));
    } else {
        made.text = format!("call 0x{target:x}");
        made.flow = Flow::Call(Some(target));
    }
    made
}
