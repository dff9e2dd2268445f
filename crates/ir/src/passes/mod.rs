//! Passes that need nothing but the facts in op rows. One pass a file.

mod canonicalize;
mod cse;
mod dce;
mod inline;
mod licm;

pub use canonicalize::{CANONICALIZE, constant_value};
pub use cse::CSE;
pub use dce::{SYMBOL_DCE, is_removable};
pub use inline::{INLINE, inline_calls};
pub use licm::{DISABLE_LICM, LICM};

/// Every pass of this crate, for tools that find passes by name.
pub static ALL: &[&crate::pass::PassRow] = &[&INLINE, &CANONICALIZE, &CSE, &LICM, &SYMBOL_DCE];
