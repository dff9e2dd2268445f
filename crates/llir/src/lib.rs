//! Per-lane or per-vector code in SSA form; prints as textual LLVM IR.
//!
//! A [`Module`] holds functions, declarations, constant data and definitions attached as text. Functions are built with
//! a [`FunctionBuilder`], checked by [`verify`], and printed by `Display` in a form that LLVM 17 to 22 accept.
//! Instructions are rows of a table ([`Op::row`]); which rules a function keeps is said at [`Function`].
//!
//! The text of an edited module is read back by [`parse`].
//!
//! Left out: named structures, exceptions, and every optimisation that LLVM does.

mod asm;
mod builder;
mod constant;
mod dominators;
mod flags;
mod function;
pub mod intrinsics;
mod known;
mod location;
mod module;
mod parse;
pub mod passes;
mod print;
mod quoted;
mod rows;
mod types;
mod unused;
mod verify;

pub use asm::{Asm, Constraint};
pub use builder::{ForLoop, FunctionBuilder, If, Values, While};
pub use constant::{Constant, ConstantKind};
pub use dominators::postorder;
pub use flags::Flags;
pub use function::{
    Block, BlockCall, BlockData, FloatCompare, FuncId, Function, Inst, InstData, IntCompare, Kernel, Linkage,
    Memory, Ordering, Param, ParamAttributes, Payload, Rmw, SyncScope, Value, ValueData, ValueDef,
};
pub use intrinsics::{Intrinsic, Purity};
pub use location::{FileId, Location};
pub use module::{Callee, Global, GlobalKind, Module};
pub use parse::{ParseError, parse, read};
pub use print::{print, write_number};
pub use rows::{Effect, Format, Lanes, Op, Row, Width};
pub use types::{Scalar, Type};
pub use unused::remove_unused;
pub use verify::{VerifyError, verify};
