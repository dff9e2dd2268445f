//! Per-lane or per-vector code in SSA form; prints as textual LLVM IR.
