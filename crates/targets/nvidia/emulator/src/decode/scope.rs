//! What names mean: a stack of scopes, of which inner ones hide outer ones.

use crate::machine::code::Slot;
use crate::syntax::types::{Space, Type};
use rustc_hash::FxHashMap;

/// What a name stands for.
#[derive(Debug, Clone)]
pub(crate) enum Symbol {
    /// A register and its type.
    Register(Slot, Type),
    /// A variable at an offset of shared or local memory or of the entry's parameters.
    Placed { space: Space, offset: u64, bytes: u64 },
    /// A variable of the module in global or constant memory.
    Variable(usize),
    /// A label's number.
    Label(u32),
    /// The labels of a `.branchtargets`.
    Targets(Vec<String>),
}

/// The names in sight.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    stack: Vec<FxHashMap<String, Symbol>>,
}

impl Scopes {
    pub(crate) fn push(&mut self) {
        self.stack.push(FxHashMap::default());
    }

    pub(crate) fn pop(&mut self) {
        self.stack.pop();
    }

    /// Declares a name in the innermost scope; false if it is there already.
    pub(crate) fn declare(&mut self, name: &str, symbol: Symbol) -> bool {
        let inner = self.stack.last_mut().expect("a scope is open while names are declared");
        inner.insert(name.to_owned(), symbol).is_none()
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Symbol> {
        self.stack.iter().rev().find_map(|scope| scope.get(name))
    }

    /// Hides every scope but the outermost, for the body of a called function.
    pub(crate) fn enter_function(&mut self) -> Vec<FxHashMap<String, Symbol>> {
        self.stack.split_off(1)
    }

    /// Shows again what `enter_function` hid.
    pub(crate) fn leave_function(&mut self, hidden: Vec<FxHashMap<String, Symbol>>) {
        self.stack.truncate(1);
        self.stack.extend(hidden);
    }
}
