//! The attributes and the operand that the core reads itself, whichever operation has them. Rows declare them by these
//! names: those with [`Traits::SYMBOL`] a name, those with [`Traits::CALL`] the symbol that they call, those with
//! [`Traits::CONSTANT`] their value, those with [`Traits::NO_SPECULATION`] what they divide by.

use super::Module;
use super::traits::Traits;
use crate::entity::{Op, Value};
use crate::types::Type;
use crate::types::attr::Attr;

const SYMBOL_NAME: &str = "sym_name";
const VISIBILITY: &str = "sym_visibility";
const FUNCTION_TYPE: &str = "function_type";
const CALLEE: &str = "callee";
const VOLATILE: &str = "isVolatile";
const VALUE: &str = "value";
const DIVISOR: &str = "rhs";

impl Module {
    /// The name of a symbol.
    pub(crate) fn symbol_name(&self, op: Op) -> Option<&str> {
        self.attr_named(op, SYMBOL_NAME).and_then(Attr::as_str).filter(|_| self.has(op, Traits::SYMBOL))
    }

    /// Whether a symbol is known in this module only.
    pub(crate) fn is_private(&self, op: Op) -> bool {
        self.attr_named(op, VISIBILITY).and_then(Attr::as_str) == Some("private")
    }

    /// The type of a function.
    pub(crate) fn function_type(&self, op: Op) -> Option<Type> {
        match self.attr_named(op, FUNCTION_TYPE) {
            Some(Attr::Type(ty)) => Some(*ty),
            _ => None,
        }
    }

    /// The name of the symbol that a call calls.
    pub(crate) fn callee(&self, op: Op) -> Option<&str> {
        self.attr_named(op, CALLEE).and_then(Attr::as_str).filter(|_| self.has(op, Traits::CALL))
    }

    /// The value of a constant.
    pub(crate) fn constant_value(&self, op: Op) -> Option<&Attr> {
        self.attr_named(op, VALUE).filter(|_| self.has(op, Traits::CONSTANT))
    }

    /// What an operation that may not run where the program would not have run it divides by.
    pub(crate) fn divisor(&self, op: Op) -> Option<Value> {
        self.operand_named(op, DIVISOR).filter(|_| self.has(op, Traits::NO_SPECULATION))
    }

    /// Whether an access must take place as it is written, though nobody uses what it reads.
    pub fn is_volatile(&self, op: Op) -> bool {
        self.attr_named(op, VOLATILE).and_then(Attr::as_bool) == Some(true)
    }
}
