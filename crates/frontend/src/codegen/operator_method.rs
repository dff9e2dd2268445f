//! Operators by the names of their methods: `x.__lshift__(4)` is `x << 4`, `x.__rsub__(1)` is `1 - x`, `t.__len__()`
//! is `len(t)`.

use crate::codegen::value::Val;
use crate::codegen::{Ctx, Res};
use crate::diagnostic::Cause;
use crate::value::PyValue;
use ruff_python_ast::{CmpOp, Operator, UnaryOp};

/// What a method of blocks computes.
#[derive(Clone, Copy)]
pub(crate) enum OperatorMethod {
    Binary(Operator),
    /// With the operands exchanged.
    Reflected(Operator),
    Comparison(CmpOp),
    Unary(UnaryOp),
    /// `x[…]`.
    Item,
    /// `len(x)`.
    Length,
}

const BINARY: [(&str, Operator); 12] = [
    ("add", Operator::Add),
    ("sub", Operator::Sub),
    ("mul", Operator::Mult),
    ("truediv", Operator::Div),
    ("floordiv", Operator::FloorDiv),
    ("mod", Operator::Mod),
    ("pow", Operator::Pow),
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

const UNARY: [(&str, UnaryOp); 4] =
    [("neg", UnaryOp::USub), ("pos", UnaryOp::UAdd), ("invert", UnaryOp::Invert), ("not", UnaryOp::Not)];

fn among<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(own, _)| *own == name).map(|(_, op)| *op)
}

/// What a method of this name computes, where it is an operator's.
fn operator_method(name: &str) -> Option<OperatorMethod> {
    match name {
        "__getitem__" => return Some(OperatorMethod::Item),
        "__len__" => return Some(OperatorMethod::Length),
        _ => {}
    }
    let name = name.strip_prefix("__")?.strip_suffix("__")?;
    let reflected = || among(&BINARY, name.strip_prefix('r')?).map(OperatorMethod::Reflected);
    among(&BINARY, name)
        .map(OperatorMethod::Binary)
        .or_else(|| among(&COMPARISONS, name).map(OperatorMethod::Comparison))
        .or_else(|| among(&UNARY, name).map(OperatorMethod::Unary))
        .or_else(reflected)
}

/// The method of this name that a value has, where it is an operator's.
pub(crate) fn operator_method_of(value: &Val, name: &str) -> Option<OperatorMethod> {
    let method = operator_method(name)?;
    let has = match (value, method) {
        // Blocks have no power, no unary plus and no length.
        (
            Val::Tensor(_),
            OperatorMethod::Length
            | OperatorMethod::Unary(UnaryOp::UAdd)
            | OperatorMethod::Binary(Operator::Pow)
            | OperatorMethod::Reflected(Operator::Pow),
        ) => false,
        (Val::Tensor(_) | Val::Tuple(_) | Val::Const(PyValue::Str(_)), _) => true,
        (_, OperatorMethod::Item | OperatorMethod::Length) => false,
        (Val::Const(PyValue::Bool(_) | PyValue::Int(_) | PyValue::Float(_)), _) => true,
        _ => false,
    };
    has.then_some(method)
}

impl Ctx<'_> {
    /// Calls the method `name` of a value, which computes `method`.
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
            (OperatorMethod::Item, Some(index), 1) => self.subscript_value(receiver, &index),
            (OperatorMethod::Length, None, _) => {
                self.call_builtin("python.len", vec![receiver.clone()], Vec::new())
            }
            (OperatorMethod::Unary(_) | OperatorMethod::Length, ..) => {
                Err(self.error(Cause::Type.says(format!("{name}() takes no arguments, {count} given"))))
            }
            _ => Err(self.error(Cause::Type.says(format!("{name}() takes one argument, {count} given")))),
        }
    }
}
