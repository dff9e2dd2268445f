//! Operators by the names of their methods: `x.__lshift__(4)` is `x << 4`, `x.__rsub__(1)` is `1 - x`.

use crate::codegen::value::Val;
use crate::codegen::{Ctx, Res};
use ruff_python_ast::{CmpOp, Operator, UnaryOp};

/// What a method of blocks computes.
#[derive(Clone, Copy)]
pub(crate) enum OperatorMethod {
    Binary(Operator),
    /// With the operands exchanged.
    Reflected(Operator),
    Comparison(CmpOp),
    Unary(UnaryOp),
}

const BINARY: [(&str, Operator); 11] = [
    ("add", Operator::Add),
    ("sub", Operator::Sub),
    ("mul", Operator::Mult),
    ("truediv", Operator::Div),
    ("floordiv", Operator::FloorDiv),
    ("mod", Operator::Mod),
    ("lshift", Operator::LShift),
    ("rshift", Operator::RShift),
    ("and", Operator::BitAnd),
    ("or", Operator::BitOr),
    ("xor", Operator::BitXor),
];

const COMPARISONS: [(&str, CmpOp); 6] = [
    ("lt", CmpOp::Lt),
    ("le", CmpOp::LtE),
    ("gt", CmpOp::Gt),
    ("ge", CmpOp::GtE),
    ("eq", CmpOp::Eq),
    ("ne", CmpOp::NotEq),
];

const UNARY: [(&str, UnaryOp); 3] =
    [("neg", UnaryOp::USub), ("invert", UnaryOp::Invert), ("not", UnaryOp::Not)];

fn among<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(own, _)| *own == name).map(|(_, op)| *op)
}

/// What a method of this name computes, where it is an operator's.
pub(crate) fn operator_method(name: &str) -> Option<OperatorMethod> {
    let name = name.strip_prefix("__")?.strip_suffix("__")?;
    let reflected = || among(&BINARY, name.strip_prefix('r')?).map(OperatorMethod::Reflected);
    among(&BINARY, name)
        .map(OperatorMethod::Binary)
        .or_else(|| among(&COMPARISONS, name).map(OperatorMethod::Comparison))
        .or_else(|| among(&UNARY, name).map(OperatorMethod::Unary))
        .or_else(reflected)
}

impl Ctx<'_> {
    /// Calls the method `name` of a block, which computes `method`.
    pub(crate) fn call_operator_method(
        &mut self,
        receiver: &Val,
        name: &str,
        method: OperatorMethod,
        args: Vec<Val>,
    ) -> Res<Val> {
        let count = args.len();
        let mut args = args.into_iter();
        match (method, args.next(), count) {
            (OperatorMethod::Unary(op), None, _) => self.unary(op, receiver.clone()),
            (OperatorMethod::Binary(op), Some(other), 1) => self.binary(op, receiver.clone(), other),
            (OperatorMethod::Reflected(op), Some(other), 1) => self.binary(op, other, receiver.clone()),
            (OperatorMethod::Comparison(op), Some(other), 1) => self.compare_two(op, receiver, &other),
            (OperatorMethod::Unary(_), ..) => {
                Err(self.error(format!("{name}() takes no arguments, {count} given")))
            }
            _ => Err(self.error(format!("{name}() takes one argument, {count} given"))),
        }
    }
}
