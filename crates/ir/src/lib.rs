//! Values, ops, regions, types and attributes; text form, verifier, rewriter and pass runner. No tensors, no devices.
//!
//! A program is a [`Module`]: an arena of operations, values, blocks and regions with dense typed ids. An operation is
//! an instance of an [`OpRow`], the one place where it is declared. Control flow is structured: regions hold blocks,
//! a block ends in a terminator, and a value may be used later in its block and in regions nested there.
//!
//! Rules that [`verify`] checks, besides those of each row:
//! - every use is dominated by its definition, and isolated operations use nothing from outside;
//! - operands, results, attributes and regions are as many and of the types that the row declares;
//! - blocks end in exactly one terminator, except in the top operation;
//! - symbols are unique.
//!
//! Left out on purpose: branches between blocks, and any knowledge of tensors, memory or devices.

mod attr_data;
mod builder;
mod diagnostic;
mod entity;
mod facts;
mod loc;
mod module;
pub mod pass;
pub mod passes;
pub mod scalar;
pub mod text;
mod types;
mod verify;
pub mod view;

pub use attr_data::{AttrData, AttrRow, DialectAttr};
pub use builder::{Builder, Place, infer};
pub use diagnostic::Diagnostic;
pub use entity::{Block, Loc, Op, Region, Value};
pub use facts::{AccessWidth, CostClass, LayoutRule, Rates};
pub use loc::{LocData, LocTable};
pub use module::row::{
    ANY, Accuracy, Arity, AttrKind, AttrSpec, ConstantRules, Dialect, Effect, EvalArgs, EvalRule, Fold,
    Format, Infer, InferArgs, OpRow, Presence, Registry, TypeConstraint, ValueSpec, VerifyRule, one,
    optional, variadic,
};
pub use module::traits::Traits;
pub use module::{Def, Module, OpInit, mapped};
pub use types::attr::{Attr, AttrKey, DeclaredKey, Elements, EnumRow};
pub use types::{FloatKind, Type, TypeKind, TypeParam, TypeRow};
pub use verify::{verify, verify_structure};
