//! Views of operations that many rows share: of those with one operand and of those with two.

use ir::ANY;

ir::op_view! {
    /// Reads an operation of one operand: a function, a cast, a change of shape.
    UnaryOp {
        operands { src: One ANY }
        results { result: One ANY }
    }
}

ir::op_view! {
    /// Reads an operation of two operands.
    BinaryOp {
        operands { lhs: One ANY, rhs: One ANY }
        results { result: One ANY }
    }
}
