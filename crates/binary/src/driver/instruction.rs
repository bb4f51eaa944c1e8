//! The form that the instructions of all architectures are brought into.

/// A register, numbered by its architecture. Parts of a register count as the
/// whole of it.
pub type Register = u8;

/// One more than the highest register number of any architecture.
pub const REGISTERS: usize = 96;

/// Where execution goes after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the instruction that follows.
    Next,
    /// To an address, always; `None` where a register or a table says.
    Jump(Option<u64>),
    /// To an address, or to the instruction that follows.
    Branch(u64),
    /// Into a function and back to the instruction that follows.
    Call(Option<u64>),
    /// Out of the function.
    Return,
}

/// What is written into a register or to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expression {
    /// A number.
    Constant(u64),
    /// A register plus a number.
    Sum(Register, i64),
    /// A register shifted to the left.
    Shifted(Register, u32),
    /// The bits of a register under a mask, and other bits.
    Bits(Register, u64, u64),
    /// What an access of the same instruction loads.
    Loaded(usize),
    /// The address of a symbol that is not placed yet, plus a number.
    Symbol(u32, i64),
    /// Something made of the inputs of the instruction.
    Computed,
}

/// Which way an access goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// From memory or a device.
    Load,
    /// To memory or a device.
    Store,
}

/// Where an access goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressExpression {
    /// The sum of registers, each times a factor, and a displacement.
    Memory(Vec<(Register, i64)>, i64),
    /// A constant beside the code, at an address if it is known.
    Literal(Option<u64>),
    /// A port in a space of its own: a number, or what a register says.
    Port(Result<u64, Register>),
}

/// A word that an instruction loads or stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionAccess {
    pub kind: AccessKind,
    pub bytes: u32,
    pub place: AddressExpression,
    /// The symbol whose address, not known yet, belongs to the sum.
    pub symbol: Option<u32>,
    /// What a store writes.
    pub value: Expression,
}

impl InstructionAccess {
    pub fn load(bytes: u32, place: AddressExpression) -> Self {
        Self { kind: AccessKind::Load, bytes, place, symbol: None, value: Expression::Computed }
    }

    pub fn store(bytes: u32, place: AddressExpression, value: Expression) -> Self {
        Self { kind: AccessKind::Store, bytes, place, symbol: None, value }
    }
}

/// An instruction of any architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub address: u64,
    pub size: u32,
    pub text: String,
    pub flow: Flow,
    /// Registers that what it writes is made of; those that only make an
    /// address are not among them.
    pub inputs: Vec<Register>,
    pub outputs: Vec<(Register, Expression)>,
    pub accesses: Vec<InstructionAccess>,
    /// Whether it may do nothing (conditional execution).
    pub predicated: bool,
    /// How many of the instructions behind it it makes conditional (`it` of Thumb).
    pub governs: usize,
    /// Whether it goes on until a count is used up (`rep` of x86).
    pub repeated: bool,
}

impl Instruction {
    pub fn new(address: u64, size: u32, text: String) -> Self {
        Self {
            address,
            size,
            text,
            flow: Flow::Next,
            inputs: Vec::new(),
            outputs: Vec::new(),
            accesses: Vec::new(),
            predicated: false,
            governs: 0,
            repeated: false,
        }
    }

    /// The address behind it.
    pub fn end(&self) -> u64 {
        self.address.wrapping_add(u64::from(self.size))
    }

    /// Add a load of `bytes` into `register`.
    pub fn load(&mut self, bytes: u32, place: AddressExpression, register: Option<Register>) {
        self.accesses.push(InstructionAccess::load(bytes, place));
        if let Some(register) = register {
            self.outputs.push((register, Expression::Loaded(self.accesses.len() - 1)));
        }
    }

    /// Add a store of `bytes` of `register`.
    pub fn store(&mut self, bytes: u32, place: AddressExpression, register: Option<Register>) {
        let value = register.map_or(Expression::Computed, |register| Expression::Sum(register, 0));
        self.inputs.extend(register);
        self.accesses.push(InstructionAccess::store(bytes, place, value));
    }
}

/// What the analysis must know of an architecture besides its instructions.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Bits that an address has.
    pub address_mask: u64,
    /// Bits that a register has, for arithmetic on constants.
    pub register_mask: u64,
    /// The stack pointer, in parts where it is no single register.
    pub stack: &'static [Register],
    /// The register that is always zero.
    pub zero: Option<Register>,
    /// The registers that a called function may change.
    pub clobbered: &'static [Register],
}

/// Decodes one instruction at a time.
pub trait Decoder {
    /// The machine that it decodes for.
    fn machine(&self) -> Machine;

    /// Bytes between the places where an instruction may start.
    fn step(&self) -> u64;

    /// The instruction that `skip` others precede in `bytes`; `None` when there is
    /// none. The bytes lie at `address`. Only the instructions that an earlier one
    /// makes conditional are asked for with `skip`.
    fn decode(&self, bytes: &[u8], address: u64, skip: usize) -> Option<Instruction>;
}
