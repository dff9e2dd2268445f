//! Rows: what is known of an intrinsic, and how its signature is written.

use crate::arch::{Arch, Archs};
use llir::{Intrinsic, Type};
use std::ops::Deref;

/// What a call does to memory and to other lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// It only computes its result from its operands.
    None,
    /// It reads what may be written by others.
    Reads,
    /// It writes, or does something besides that must stay where it is.
    Writes,
}

/// The numbers that a matrix instruction takes or gives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Number {
    /// IEEE binary64.
    F64,
    /// IEEE binary32.
    F32,
    /// Binary32 of which the 13 low bits are not looked at.
    Xf32,
    /// IEEE binary16.
    F16,
    /// bfloat16.
    BF16,
    /// 8-bit float with 4 bits of exponent: FNUZ on gfx942, OCP later.
    Fp8,
    /// 8-bit float with 5 bits of exponent: FNUZ on gfx942, OCP later.
    Bf8,
    /// A signed byte.
    I8,
    /// Four bits, signed.
    I4,
    /// A 32-bit integer.
    I32,
}

impl Number {
    /// Bits of one.
    pub const fn bits(self) -> u32 {
        match self {
            Number::F64 => 64,
            Number::F32 | Number::Xf32 | Number::I32 => 32,
            Number::F16 | Number::BF16 => 16,
            Number::Fp8 | Number::Bf8 | Number::I8 => 8,
            Number::I4 => 4,
        }
    }
}

/// A matrix instruction: c (m × n) += a (m × k) · b (k × n), for so many independent blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Matrix {
    /// Rows of the result.
    pub m: u32,
    /// Columns of the result.
    pub n: u32,
    /// The length of the sums.
    pub k: u32,
    /// Products that it makes side by side.
    pub blocks: u32,
    /// The numbers of a.
    pub a: Number,
    /// The numbers of b.
    pub b: Number,
    /// The numbers of c.
    pub c: Number,
}

/// What an instruction is, where it is worth counting or may be moved.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Waves of a thread block wait for each other.
    Barrier,
    /// Lanes of a wave do.
    WaveBarrier,
    /// Lanes read each other's values.
    Shuffle,
    /// Lanes exchange registers, by an instruction that waits for nothing.
    Permute,
    /// A matrix instruction.
    Multiply,
    /// A load for one.
    MatrixLoad,
}

/// An intrinsic.
///
/// A signature is LLVM's text, `result (operands)`. `T` in it stands for each of `types`, whose mangled name is then
/// behind `name`. `imm` in front of an operand says that it must be a constant.
#[derive(Debug)]
pub struct Row {
    /// The row of llir: its name, without types that vary.
    pub intrinsic: Intrinsic,
    /// The types that `T` stands for; empty where there is no `T`.
    pub types: &'static [&'static str],
    /// Result and operands.
    pub signature: &'static str,
    /// The architectures that have it.
    pub archs: Archs,
    /// What it does to memory.
    pub effect: Effect,
    /// Whether lanes take part in it together, so that it may not be moved into or out of a branch.
    pub convergent: bool,
    /// What it computes, where it is a matrix instruction.
    pub matrix: Option<Matrix>,
    /// What it is, where somebody counts it.
    pub role: Option<Role>,
    /// What it does.
    pub doc: &'static str,
}

/// One call that a row allows: the full name and the signature without `T`.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The row.
    pub row: &'static Row,
    /// What `T` stands for.
    pub ty: Option<&'static str>,
}

/// The types of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// Of the result.
    pub result: Type,
    /// Of the operands, and whether each must be a constant.
    pub operands: Vec<(Type, bool)>,
}

fn read(ty: &str) -> Type {
    ty.parse().expect("a test reads every row")
}

impl Deref for Row {
    type Target = Intrinsic;

    fn deref(&self) -> &Intrinsic {
        &self.intrinsic
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Row) -> bool {
        self.intrinsic == other.intrinsic
    }
}

impl Row {
    /// The calls that it allows.
    pub fn calls(&'static self) -> impl Iterator<Item = Call> {
        let plain = self.types.is_empty().then_some(Call { row: self, ty: None });
        plain.into_iter().chain(self.types.iter().map(move |ty| Call { row: self, ty: Some(ty) }))
    }

    /// Whether `T` may be a type.
    pub fn takes(&self, ty: Type) -> bool {
        self.types.iter().any(|own| read(own) == ty)
    }

    /// Whether an architecture has it.
    pub const fn is_on(&self, arch: Arch) -> bool {
        self.archs.has(arch)
    }
}

impl Call {
    /// The name that LLVM knows: `llvm.amdgcn.readlane.i32`.
    pub fn name(&self) -> String {
        match self.ty {
            Some(ty) => format!("{}.{}", self.row.name, read(ty).mangled()),
            None => self.row.name.to_owned(),
        }
    }

    /// Result and operands.
    ///
    /// # Panics
    /// When a row is written wrong, which a test rules out.
    pub fn signature(&self) -> Signature {
        let (result, operands) = self.row.signature.split_once(" (").expect("written `result (operands)`");
        let operands = operands.strip_suffix(')').expect("written `result (operands)`");
        let put = |text: &str| read(self.ty.filter(|_| text == "T").unwrap_or(text));
        let operand = |text: &str| match text.strip_prefix("imm ") {
            Some(ty) => (put(ty), true),
            None => (put(text), false),
        };
        let operands = split(operands).map(operand).collect();
        Signature { result: put(result), operands }
    }
}

/// The parts between commas that stand in no brackets.
fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(", ").filter(|part| !part.is_empty())
}
