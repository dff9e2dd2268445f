//! Names of the function that is being walked, in the order in which they were first set.

use crate::codegen::value::Val;
use crate::parse::ParsedFunction;
use indexmap::IndexMap;
use ruff_python_ast::name::Name;
use ruff_text_size::TextRange;
use rustc_hash::{FxBuildHasher, FxHashSet};
use std::sync::Arc;

/// Local names and their values.
pub(crate) type Locals = IndexMap<Name, Val, FxBuildHasher>;

/// One function being walked: the kernel, or one inlined into it.
pub(crate) struct Frame {
    /// Its text and tree.
    pub(crate) parsed: Arc<ParsedFunction>,
    /// Its names.
    pub(crate) locals: Locals,
    /// Names declared as `x: tl.constexpr` without a value yet.
    pub(crate) pending_constexprs: FxHashSet<Name>,
    /// Where it was called, in the frame below.
    pub(crate) call: TextRange,
    /// The location of that call; `None` for the kernel.
    pub(crate) call_loc: Option<ir::Loc>,
    /// Whether this is the `__init__` of an aggregate, which its first parameter is.
    pub(crate) initializes: bool,
    /// How many run-time loops the place being walked stands in, within this function.
    pub(crate) loops: usize,
    /// The first value that a `return` in a loop gave.
    pub(crate) returned: Option<Val>,
    /// Whether a loop is being walked to find the type of that value.
    pub(crate) looks_for_value: bool,
}
