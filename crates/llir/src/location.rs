//! Places in source files, which instructions may carry.

use cranelift_entity::entity_impl;

/// A source file of a module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(u32);
entity_impl!(FileId, "file");

/// A place in a source file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Location {
    /// The file.
    pub file: FileId,
    /// The line, from 1; 0 for code that belongs to no line.
    pub line: u32,
    /// The column, from 1; 0 for none.
    pub column: u32,
}
