//! The text as it stands: functions, variables, statements and operands, with no name resolved.

pub(crate) mod lex;
pub(crate) mod parse;
mod statements;
pub(crate) mod types;

use types::{Space, Type};

/// A whole text.
#[derive(Debug, Default)]
pub(crate) struct Module {
    /// `.version`, major and minor.
    pub(crate) version: (u32, u32),
    /// `.target`, as written.
    pub(crate) target: String,
    /// Entries and device functions, in order.
    pub(crate) functions: Vec<Function>,
    /// Variables outside functions.
    pub(crate) variables: Vec<Variable>,
    /// `.file` numbers and names.
    pub(crate) files: Vec<(u32, String)>,
}

/// An `.entry` or `.func`.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) entry: bool,
    pub(crate) params: Vec<Variable>,
    pub(crate) returns: Vec<Variable>,
    pub(crate) reqntid: Option<[u32; 3]>,
    pub(crate) cluster: Option<[u32; 3]>,
    /// `.maxnreg`.
    pub(crate) max_registers: Option<u32>,
    /// Absent for a declaration.
    pub(crate) body: Option<Vec<Statement>>,
    pub(crate) line: u32,
}

/// How many elements a variable has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// So many elements (1 for a scalar).
    Elements(u64),
    /// `name[]`: as much as the launch gives (shared), or as the initialiser has.
    Open,
}

/// A variable or a parameter.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) space: Space,
    pub(crate) ty: Type,
    pub(crate) align: u64,
    pub(crate) extent: Extent,
    pub(crate) init: Vec<Init>,
    pub(crate) line: u32,
}

impl Variable {
    /// Bytes it needs; 0 if open.
    pub(crate) fn bytes(&self) -> u64 {
        match self.extent {
            Extent::Elements(count) => count * self.ty.bytes() as u64,
            Extent::Open => self.init.len() as u64 * self.ty.bytes() as u64,
        }
    }
}

/// One element of an initialiser.
#[derive(Debug, Clone)]
pub(crate) enum Init {
    /// Bits of the element's type.
    Bits(u64),
    /// The address of a variable plus bytes.
    Symbol(String, i64),
}

/// One statement of a body.
#[derive(Debug)]
pub(crate) enum Statement {
    Label(String, u32),
    Instruction(Instruction),
    /// `.reg .b32 %r<4>, %x;`: type, names.
    Registers(Type, Vec<String>, u32),
    Variable(Variable),
    /// `{ ... }`, a scope of its own.
    Block(Vec<Statement>),
    /// `name: .branchtargets a, b;`
    Targets(String, Vec<String>, u32),
}

/// Where `.loc` says the following instructions come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Loc {
    pub(crate) file: u32,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// One instruction, unresolved.
#[derive(Debug, Clone)]
pub(crate) struct Instruction {
    pub(crate) line: u32,
    pub(crate) loc: Loc,
    /// `@p` or `@!p`: the register and whether it is negated.
    pub(crate) guard: Option<(String, bool)>,
    /// All of the opcode, dots included.
    pub(crate) opcode: String,
    pub(crate) operands: Vec<Operand>,
}

/// The base of an address.
#[derive(Debug, Clone)]
pub(crate) enum Base {
    Name(String),
    Absolute,
}

/// One operand.
#[derive(Debug, Clone)]
pub(crate) enum Operand {
    /// A register, variable, label, special register or function.
    Name(String),
    /// A variable plus bytes, outside brackets.
    Offset(String, i64),
    Integer(i128),
    /// A decimal floating-point literal.
    Float(f64),
    /// `0f…`.
    Bits32(u32),
    /// `0d…`.
    Bits64(u64),
    /// `[base + offset]`.
    Address(Base, i64),
    /// `[base, {coordinates}]` and, for im2col, offsets.
    Tensor(Box<Operand>, Vec<Vec<Operand>>),
    /// `{a, b}`.
    Vector(Vec<Operand>),
    /// `a | b`.
    Pair(Box<Operand>, Box<Operand>),
    /// `!p`.
    Not(Box<Operand>),
    /// `-r`, of a register.
    Minus(Box<Operand>),
    /// `_`.
    Sink,
    /// `(a, b)`, of a call.
    Group(Vec<Operand>),
}
