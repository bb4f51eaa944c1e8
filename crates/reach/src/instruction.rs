//! Instructions in a form that all architectures share: what they compute, which memory they access,
//! and where execution goes on.

/// Number of a register. 0 to 31 are those of the processor.
pub type Register = u8;

/// A register that holds an intermediate result of one instruction.
pub const TEMPORARY: Register = 32;
/// Number of registers of a state.
pub const REGISTERS: usize = 33;

/// A shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    Left,
    Right,
    Arithmetic,
    /// A rotation; its result is unknown.
    Rotation,
}

/// A computation with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Add,
    Subtract,
    /// The right operand minus the left one.
    ReverseSubtract,
    And,
    /// The left operand without the bits of the right one.
    Clear,
    Or,
    Xor,
    Multiply,
    Shift(Shift),
}

/// An operand of a computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    Register(Register),
    Constant(u64),
    Shifted(Register, Shift, u8),
}

/// The value that an instruction puts into a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expression {
    Constant(u64),
    Operand(Operand),
    Binary(Operator, Register, Operand),
    /// A computation in 32 bits, with its sign extended.
    Narrow(Operator, Register, Operand),
    /// The lowest 16 bits of a register, and others above.
    Insert(Register, u64),
    /// The lowest bits of a register, as many as given, without a sign.
    Low(Register, u8),
    /// An unknown value with as many bits as given.
    Bits(u8),
    Unknown,
    /// An unknown number that is no address.
    Number,
    /// An unknown value that may be the negative of an address.
    Computed,
}

/// The address of an access: base + (index << shift) + offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    pub base: Option<Register>,
    pub index: Option<Operand>,
    pub is_index_negative: bool,
    pub offset: i64,
}

impl Address {
    /// The address in a register, plus an offset.
    pub fn at(base: Register, offset: i64) -> Self {
        Self { base: Some(base), index: None, is_index_negative: false, offset }
    }

    /// A fixed address.
    pub fn fixed(address: u64) -> Self {
        Self { base: None, index: None, is_index_negative: false, offset: address as i64 }
    }
}

/// A part of an instruction's effect, in the order of execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Assign(Register, Expression),
    Load {
        /// `None` for a register that holds no address, such as one of floating point.
        to: Option<Register>,
        at: Address,
        bytes: u8,
        is_signed: bool,
    },
    Store {
        from: Option<Register>,
        at: Address,
        bytes: u8,
    },
    /// Sets the flags by a comparison.
    Compare(Register, Operand),
    /// Sets the flags by something else.
    Flags,
    /// The value of a register goes to a place that is not followed.
    Lose(Register),
}

/// A relation of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Equal,
    NotEqual,
    Below,
    BelowOrEqual,
    Above,
    AboveOrEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// A condition of which nothing follows.
    Other,
}

impl Relation {
    /// The relation that holds where this one does not.
    pub fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Below => Self::AboveOrEqual,
            Self::AboveOrEqual => Self::Below,
            Self::Above => Self::BelowOrEqual,
            Self::BelowOrEqual => Self::Above,
            Self::Less => Self::GreaterOrEqual,
            Self::GreaterOrEqual => Self::Less,
            Self::Greater => Self::LessOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Other => Self::Other,
        }
    }

    /// The same relation with its operands exchanged.
    pub fn swapped(self) -> Self {
        match self {
            Self::Below => Self::Above,
            Self::AboveOrEqual => Self::BelowOrEqual,
            Self::Above => Self::Below,
            Self::BelowOrEqual => Self::AboveOrEqual,
            Self::Less => Self::Greater,
            Self::GreaterOrEqual => Self::LessOrEqual,
            Self::Greater => Self::Less,
            Self::LessOrEqual => Self::GreaterOrEqual,
            same => same,
        }
    }
}

/// A condition of a branch or a predicated instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    pub relation: Relation,
    /// The compared operands; `None` for those of the last comparison.
    pub compared: Option<(Register, Operand)>,
}

impl Condition {
    /// A condition of the flags.
    pub fn of_flags(relation: Relation) -> Self {
        Self { relation, compared: None }
    }

    /// The condition that holds where this one does not.
    pub fn negated(self) -> Self {
        Self { relation: self.relation.negated(), ..self }
    }
}

/// The place where execution goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Next,
    Jump(u64),
    Branch(u64, Condition),
    /// A call of a fixed address.
    Call(u64),
    /// A jump to the address in a register; the return is one.
    JumpTo(Register),
    /// A call of the address in a register.
    CallOf(Register),
    /// The return from an exception.
    ExceptionReturn,
    /// Execution ends, as at a breakpoint.
    Stop,
    /// An effect that is not followed.
    Trap(Trap),
}

/// An effect that is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Trap {
    /// The predicate that names it.
    pub text: &'static str,
    /// True if the program itself executes nothing until it goes on at the next instruction, as when a
    /// debugger answers.
    pub resumes: bool,
}

impl Trap {
    /// An effect behind which the program may execute anything.
    pub const fn stops(text: &'static str) -> Self {
        Self { text, resumes: false }
    }

    /// A call of a debugger.
    pub const fn resumes(text: &'static str) -> Self {
        Self { text, resumes: true }
    }
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub bytes: u64,
    pub operations: Vec<Operation>,
    pub flow: Flow,
    /// The condition under which the instruction is executed.
    pub when: Option<Condition>,
    /// Conditions of the instructions that follow, by an IT instruction of Thumb.
    pub block: Vec<Condition>,
}

impl Instruction {
    /// An instruction without an effect.
    pub fn new(bytes: u64) -> Self {
        Self { bytes, operations: Vec::new(), flow: Flow::Next, when: None, block: Vec::new() }
    }

    /// Adds an assignment.
    pub fn assign(&mut self, to: Register, value: Expression) {
        self.operations.push(Operation::Assign(to, value));
    }

    /// Adds a load of a number without a sign.
    pub fn load(&mut self, to: Option<Register>, at: Address, bytes: u8) {
        self.operations.push(Operation::Load { to, at, bytes, is_signed: false });
    }

    /// Adds a store.
    pub fn store(&mut self, from: Option<Register>, at: Address, bytes: u8) {
        self.operations.push(Operation::Store { from, at, bytes });
    }
}
