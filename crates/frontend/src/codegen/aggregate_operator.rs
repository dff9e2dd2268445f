//! Operators on aggregates: the methods of their classes.
//!
//! The left operand's class is asked first, then the right one's for the reflected method (`__radd__`, for `<` it is
//! `__gt__`). Numbers and blocks give way to aggregates. A method that runs when compiling may decline with
//! `NotImplemented`.

use crate::codegen::value::{Aggregate, Val};
use crate::codegen::{Ctx, Res};
use crate::value::PyValue;
use ruff_python_ast::{BoolOp, CmpOp, Operator, UnaryOp};

/// The methods that an operator with two operands calls.
pub(crate) struct Methods {
    of_left: &'static str,
    of_right: &'static str,
    symbol: &'static str,
}

const fn methods(of_left: &'static str, of_right: &'static str, symbol: &'static str) -> Methods {
    Methods { of_left, of_right, symbol }
}

pub(crate) fn arithmetic(op: Operator) -> Methods {
    match op {
        Operator::Add => methods("__add__", "__radd__", "+"),
        Operator::Sub => methods("__sub__", "__rsub__", "-"),
        Operator::Mult => methods("__mul__", "__rmul__", "*"),
        Operator::MatMult => methods("__matmul__", "__rmatmul__", "@"),
        Operator::Div => methods("__truediv__", "__rtruediv__", "/"),
        Operator::FloorDiv => methods("__floordiv__", "__rfloordiv__", "//"),
        Operator::Mod => methods("__mod__", "__rmod__", "%"),
        Operator::Pow => methods("__pow__", "__rpow__", "**"),
        Operator::LShift => methods("__lshift__", "__rlshift__", "<<"),
        Operator::RShift => methods("__rshift__", "__rrshift__", ">>"),
        Operator::BitAnd => methods("__and__", "__rand__", "&"),
        Operator::BitOr => methods("__or__", "__ror__", "|"),
        Operator::BitXor => methods("__xor__", "__rxor__", "^"),
    }
}

/// `None` for what compares without methods.
pub(crate) fn comparison(op: CmpOp) -> Option<Methods> {
    Some(match op {
        CmpOp::Eq => methods("__eq__", "__eq__", "=="),
        CmpOp::NotEq => methods("__ne__", "__ne__", "!="),
        CmpOp::Lt => methods("__lt__", "__gt__", "<"),
        CmpOp::LtE => methods("__le__", "__ge__", "<="),
        CmpOp::Gt => methods("__gt__", "__lt__", ">"),
        CmpOp::GtE => methods("__ge__", "__le__", ">="),
        CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn => return None,
    })
}

pub(crate) fn logical(op: BoolOp) -> Methods {
    match op {
        BoolOp::And => methods("logical_and", "logical_and", "and"),
        BoolOp::Or => methods("logical_or", "logical_or", "or"),
    }
}

fn unary_method(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::USub => "__neg__",
        UnaryOp::UAdd => "__pos__",
        UnaryOp::Invert => "__invert__",
        UnaryOp::Not => "__not__",
    }
}

fn declined(result: &Val) -> bool {
    matches!(result, Val::Const(PyValue::Object(object)) if object.0.type_name == "NotImplementedType")
}

impl Ctx<'_> {
    /// An operator with an aggregate among its operands; `None` where neither is one.
    pub(crate) fn aggregate_binary(
        &mut self,
        methods: &Methods,
        left: &Val,
        right: &Val,
    ) -> Option<Res<Val>> {
        let mut candidates = [(left, methods.of_left, right), (right, methods.of_right, left)];
        match (left, right) {
            (Val::Aggregate(a), Val::Aggregate(b)) if self.derives(b, a) => candidates.reverse(),
            (Val::Aggregate(_), _) | (_, Val::Aggregate(_)) => {}
            _ => return None,
        }
        for (owner, name, other) in candidates {
            let Val::Aggregate(aggregate) = owner else { continue };
            if !self.has_method(aggregate, name) {
                continue;
            }
            match self.call_aggregate_method(owner, aggregate, name, vec![other.clone()], Vec::new()) {
                Ok(result) if declined(&result) => {}
                result => return Some(result),
            }
        }
        let message = format!(
            "unsupported operand type(s) for {}: '{}' and '{}'",
            methods.symbol,
            self.operand_type(left),
            self.operand_type(right)
        );
        Some(Err(self.unsupported(message, "")))
    }

    /// `op aggregate`; `None` where its class has no method for it.
    pub(crate) fn aggregate_unary(&mut self, op: UnaryOp, operand: &Val) -> Option<Res<Val>> {
        let Val::Aggregate(aggregate) = operand else { return None };
        let name = unary_method(op);
        if !self.has_method(aggregate, name) {
            return None;
        }
        let result = self.call_aggregate_method(operand, aggregate, name, Vec::new(), Vec::new());
        Some(match result {
            Ok(result) if declined(&result) => {
                let class_name = self.class_name(&aggregate.class);
                let message =
                    format!("the unary operator `{}` is not supported on {class_name}", op.as_str());
                Err(self.unsupported(message, ""))
            }
            result => result,
        })
    }

    fn has_method(&self, aggregate: &Aggregate, name: &str) -> bool {
        let found = self.class_function(&aggregate.class, name);
        matches!(found, Some(PyValue::JitFunction(_) | PyValue::ConstexprFunction(_)))
    }

    /// Whether the class of one is another one's, made more special: its methods go first, as in Python.
    fn derives(&self, special: &Aggregate, general: &Aggregate) -> bool {
        let Some(PyValue::Tuple(bases)) = self.class_attribute(&special.class, "__mro__") else {
            return false;
        };
        special.class != general.class
            && bases.items.iter().any(|base| matches!(base, PyValue::Object(base) if *base == general.class))
    }

    fn operand_type(&self, val: &Val) -> String {
        match val {
            Val::Aggregate(aggregate) => self.class_name(&aggregate.class),
            _ => val.type_name().to_owned(),
        }
    }
}
