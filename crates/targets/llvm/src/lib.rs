//! Finds a shared LLVM at run time and drives it with text through its C interface.
