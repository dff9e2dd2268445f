//! Code objects: from the relocatable object of LLVM to what a device loads, and what stands in its notes.

mod elf;
pub mod link;
mod msgpack;
pub mod note;

use std::fmt;

/// What is wrong with an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectError(pub String);

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ObjectError {}

impl From<object::Error> for ObjectError {
    fn from(error: object::Error) -> ObjectError {
        ObjectError(error.to_string())
    }
}
