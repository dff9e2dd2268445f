//! Where names that a kernel does not define come from.

use crate::diagnostic::Fault;
use crate::value::{FunctionRef, ObjectRef, PyValue};

/// Answers for names and objects outside a function. One implementation asks live Python objects, another
/// ([`crate::FileGlobals`]) reads a `.py` file without Python.
///
/// Everything that belongs to the language itself (`tl.load`, `triton.cdiv`, `math.exp`, dtypes, Python's own `range`,
/// `len`, `min`, …) is named, not looked into: answer with [`PyValue::Builtin`] / [`PyValue::Module`] /
/// [`PyValue::DType`], for which [`crate::language::resolve`] helps, and with `None` for Python's own builtins.
pub trait Globals {
    /// The value of a free name in `function`: its closure first, then its module. `None` when neither defines it.
    ///
    /// A plain number that is not wrapped as `tl.constexpr` is answered as such ([`PyValue::Int`], …): the front end
    /// decides whether it may be used.
    fn lookup(&self, function: &FunctionRef, name: &str) -> Option<PyValue>;

    /// The attribute of an object that this implementation handed out.
    fn attribute(&self, object: &ObjectRef, name: &str) -> Option<PyValue>;

    /// Calls a constexpr function (or another object) on values known at compile time.
    ///
    /// # Errors
    /// What it raised.
    fn call(
        &self,
        callee: &ObjectRef,
        args: &[PyValue],
        kwargs: &[(String, PyValue)],
    ) -> Result<PyValue, Fault>;

    /// A function that was made a method of blocks.
    fn block_method(&self, _name: &str) -> Option<PyValue> {
        None
    }

    /// Whether a call of a function whose result nobody uses is an error, and what to say then.
    fn must_use(&self, _function: &FunctionRef) -> Option<String> {
        None
    }

    /// Whether a function is marked as an operation of the language; one that is reads any global.
    fn is_builtin(&self, _function: &FunctionRef) -> bool {
        false
    }

    /// Whether plain (not `tl.constexpr`) globals may be read, a knob of the reference.
    fn allows_non_constexpr_globals(&self) -> bool {
        false
    }
}

/// Globals of a function that uses none but the language's own.
pub struct NoGlobals;

impl Globals for NoGlobals {
    fn lookup(&self, _function: &FunctionRef, _name: &str) -> Option<PyValue> {
        None
    }

    fn attribute(&self, _object: &ObjectRef, _name: &str) -> Option<PyValue> {
        None
    }

    fn call(
        &self,
        callee: &ObjectRef,
        _args: &[PyValue],
        _kwargs: &[(String, PyValue)],
    ) -> Result<PyValue, Fault> {
        Err(format!("`{}` cannot be called here", callee.0.text).into())
    }
}
