//! Instructions in a form that all architectures share.

/// A register, numbered by its architecture. Parts of a register count as the whole register.
pub type Register = u8;

/// One more than the highest register number of any architecture.
pub const REGISTERS: usize = 96;

/// The control flow after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// Always to an address; `None` if it comes from a register or a table.
    Jump(Option<u64>),
    /// To an address or to the next instruction.
    Branch(u64),
    /// Into a function and back to the next instruction.
    Call(Option<u64>),
    /// Out of the function.
    Return,
}

/// A value that is written into a register or to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expression {
    /// A number.
    Constant(u64),
    /// A register plus a number.
    Sum(Register, i64),
    /// A register shifted to the left.
    Shifted(Register, u32),
    /// The bits of a register under a mask, combined with other bits.
    Bits(Register, u64, u64),
    /// The value that an access of the same instruction loads, by index.
    Loaded(usize),
    /// The unknown address of a symbol, plus a number.
    Symbol(u32, i64),
    /// Another value that is computed from the inputs of the instruction.
    Computed,
}

/// The direction of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// From memory or a device.
    Load,
    /// To memory or a device.
    Store,
}

/// The address of an access, in terms of registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressExpression {
    /// The sum of registers, each times a factor, and a displacement.
    Memory(Vec<(Register, i64)>, i64),
    /// A constant beside the code, with its address if it is known.
    Literal(Option<u64>),
    /// A port in the port space: its number, or the register that holds it.
    Port(Result<u64, Register>),
}

/// A word that an instruction loads or stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionAccess {
    pub kind: AccessKind,
    pub bytes: u32,
    pub address: AddressExpression,
    /// A symbol whose unknown address is added to that of the access.
    pub symbol: Option<u32>,
    /// The value that a store writes.
    pub value: Expression,
}

impl InstructionAccess {
    pub fn load(bytes: u32, address: AddressExpression) -> Self {
        Self { kind: AccessKind::Load, bytes, address, symbol: None, value: Expression::Computed }
    }

    pub fn store(bytes: u32, address: AddressExpression, value: Expression) -> Self {
        Self { kind: AccessKind::Store, bytes, address, symbol: None, value }
    }
}

/// An instruction of any architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub address: u64,
    pub size: u32,
    pub text: String,
    pub flow: Flow,
    /// Registers from which it computes its results. Registers of addresses are not among them.
    pub inputs: Vec<Register>,
    /// Registers that it writes, with their values.
    pub outputs: Vec<(Register, Expression)>,
    pub accesses: Vec<InstructionAccess>,
    /// True for conditional execution: the instruction may do nothing.
    pub predicated: bool,
    /// Number of the following instructions that it makes conditional (`it` of Thumb).
    pub governs: usize,
    /// True if the instruction is repeated until a count reaches 0 (`rep` of x86).
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

    /// Returns the address behind it.
    pub fn end(&self) -> u64 {
        self.address.wrapping_add(u64::from(self.size))
    }

    /// Adds a load of `bytes` into `register`.
    pub fn load(&mut self, bytes: u32, address: AddressExpression, register: Option<Register>) {
        self.accesses.push(InstructionAccess::load(bytes, address));
        if let Some(register) = register {
            self.outputs.push((register, Expression::Loaded(self.accesses.len() - 1)));
        }
    }

    /// Adds a store of `bytes` of `register`.
    pub fn store(&mut self, bytes: u32, address: AddressExpression, register: Option<Register>) {
        let value = register.map_or(Expression::Computed, |register| Expression::Sum(register, 0));
        self.inputs.extend(register);
        self.accesses.push(InstructionAccess::store(bytes, address, value));
    }
}

/// Properties of an architecture that the analysis needs.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Mask of the bits of an address.
    pub address_mask: u64,
    /// Mask of the bits of a register, for arithmetic on constants.
    pub register_mask: u64,
    /// The stack pointer; several registers if it has parts.
    pub stack: &'static [Register],
    /// The register that is always zero.
    pub zero: Option<Register>,
    /// The registers that a called function may change.
    pub clobbered: &'static [Register],
}

/// Decodes one instruction at a time.
pub trait Decoder {
    /// Returns the properties of its architecture.
    fn machine(&self) -> Machine;

    /// Returns the alignment of instructions in bytes.
    fn step(&self) -> u64;

    /// Decodes the instruction behind `skip` others in `bytes`, which lie at `address`. `None` if
    /// there is none. `skip` is not 0 only for instructions that an earlier one makes conditional.
    fn decode(&self, bytes: &[u8], address: u64, skip: usize) -> Option<Instruction>;
}
