//! Python source text to ttir.
//!
//! A kernel arrives as the text of a Python function ([`Function`]) and the types or values of its arguments
//! ([`Request`]); names that it does not define come through the trait [`Globals`]. [`compile`] gives a verified
//! [`ir::Module`] or diagnostics with a place, an explanation and a way out.
//!
//! How it works: the syntax tree is walked once. What is known at compile time (constexprs, shapes, dtypes, functions)
//! is computed by value; everything else becomes ttir ops as it is met. Calls of `@jit` functions are inlined on the
//! way. Operations of the language stand in tables under `ops/`, those that are written in the language itself in
//! `stdlib/`.
//!
//! Left out: Python itself. Nothing here runs or links a Python interpreter; classes, exceptions, closures and dynamic
//! containers do not exist in kernels.

// A faulty compile makes a handful of diagnostics; their size does not matter.
#![allow(clippy::result_large_err)]

pub mod addressing;
mod codegen;
mod constexpr;
mod counters;
mod diagnostic;
mod dtype;
pub mod eager;
mod extension;
mod file;
mod globals;
pub mod language;
mod lengths;
mod loop_exits;
mod nesting;
mod ops;
pub mod params;
mod parse;
mod python_format;
mod python_math;
mod python_methods;
pub mod reference;
mod request;
mod semantic;
pub mod signature;
mod stdlib;
pub mod typing;
mod value;

pub use codegen::compile;
pub use diagnostic::{Call, Cause, Diagnostic, Fault, Kind, Place, render_all};
pub use dtype::{DType, DTypeFacts, FACTS, Kind as DTypeKind, Pointer, Scalar};
pub use extension::{Extension, Extensions};
pub use file::FileGlobals;
pub use globals::{Globals, NoGlobals};
pub use request::{ArgSpec, ArgType, Compiled, Dependency, DescriptorSpec, Facts, Known, Options, Request};
pub use value::{Function, FunctionRef, Object, ObjectRef, PyValue, TupleValue};
