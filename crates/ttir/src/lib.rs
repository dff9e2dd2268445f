//! Block-level tensors: op rows, target-independent passes, axis analysis and the reference interpreter.
