//! Functions and compiled kernels as data: what a `JITFunction` holds, what it was compiled to, and how a compiled
//! kernel is launched with slots.

pub(crate) mod asm;
pub(crate) mod compiled;
pub(crate) mod describe;
pub(crate) mod function;
pub(crate) mod globals;
pub(crate) mod grid;
pub(crate) mod hooks;
pub(crate) mod interrupt;
pub(crate) mod library;
pub(crate) mod listed;
pub(crate) mod load;
pub(crate) mod metadata;
pub(crate) mod pack;
pub(crate) mod params;
pub(crate) mod prediction;
pub(crate) mod report;
pub(crate) mod source;
pub(crate) mod source_text;
pub(crate) mod state;
pub(crate) mod submit;
pub(crate) mod symbol;
pub(crate) mod used;
pub(crate) mod value;
pub(crate) mod variant;
pub(crate) mod variants;
