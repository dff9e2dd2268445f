//! Operators: on constants by value, on tensors by ops, on tuples by elements.

use crate::codegen::join::same;
use crate::codegen::value::{Tuple, Val};
use crate::codegen::{Ctx, Num, Res, Stop, aggregate_operator};
use crate::constexpr;
use crate::lengths;
use crate::python_format;
use crate::semantic::{Overflow, Predicate};
use crate::value::PyValue;
use ruff_python_ast::{self as ast, BoolOp, CmpOp, Expr, Operator, UnaryOp};
use std::rc::Rc;
use ttir::ops::arith_int;

impl Ctx<'_> {
    /// A faulty or undefined operand ends the expression.
    pub(crate) fn usable(&mut self, val: &Val) -> Res<()> {
        match val {
            Val::Poison => Err(Stop),
            Val::Undefined(why) => Err(self.error(why.to_string())),
            _ => Ok(()),
        }
    }

    /// `left op right`.
    pub(crate) fn binary(&mut self, op: Operator, left: Val, right: Val) -> Res<Val> {
        self.usable(&left)?;
        self.usable(&right)?;
        if let Some(result) = self.tuple_operator(op, &left, &right) {
            return result;
        }
        if let Some(result) = self.aggregate_binary(&aggregate_operator::arithmetic(op), &left, &right) {
            return result;
        }
        if let Some(name) = self.extended_operator(op, &left, &right) {
            return self.call_builtin(name, vec![left, right], Vec::new());
        }
        match (left.to_py(), right.to_py()) {
            (Some(a), Some(b)) => Ok(Val::from_py(self.check(python_format::binary(op, &a, &b))?)),
            _ => {
                let message = || {
                    format!(
                        "unsupported operand type(s) for {}: '{}' and '{}'",
                        op.as_str(),
                        left.type_name(),
                        right.type_name()
                    )
                };
                if !is_number(&left) || !is_number(&right) {
                    return Err(self.unsupported(message(), ""));
                }
                let (a, b) = (self.number(&left)?, self.number(&right)?);
                Ok(Val::Tensor(self.arithmetic(op, a, b, Overflow::Checked)?))
            }
        }
    }

    fn tuple_operator(&mut self, op: Operator, left: &Val, right: &Val) -> Option<Res<Val>> {
        match (op, left, right) {
            (Operator::Add, Val::Tuple(a), Val::Tuple(b)) => {
                if let Err(message) = lengths::joined(a.items.len(), b.items.len()) {
                    return Some(Err(self.error(message)));
                }
                let items = a.items.iter().chain(&b.items).cloned().collect();
                Some(Ok(Val::tuple(items)))
            }
            (Operator::Mult, Val::Tuple(tuple), Val::Const(count))
            | (Operator::Mult, Val::Const(count), Val::Tuple(tuple)) => {
                let count = match lengths::repetitions(constexpr::as_int(count)?, tuple.items.len()) {
                    Ok(count) => count,
                    Err(message) => return Some(Err(self.error(message))),
                };
                let items = std::iter::repeat_n(&tuple.items, count).flatten().cloned().collect();
                Some(Ok(Val::Tuple(Rc::new(Tuple { items, fields: None }))))
            }
            _ => None,
        }
    }

    /// `op operand`.
    pub(crate) fn unary(&mut self, op: UnaryOp, operand: Val) -> Res<Val> {
        self.usable(&operand)?;
        if let Some(result) = self.aggregate_unary(op, &operand) {
            return result;
        }
        if let Val::Tensor(tensor) = operand {
            return Ok(Val::Tensor(match op {
                UnaryOp::USub => self.negate(tensor)?,
                UnaryOp::UAdd => tensor,
                UnaryOp::Invert => self.invert(tensor)?,
                UnaryOp::Not => self.logical_not(tensor)?,
            }));
        }
        match operand.to_py() {
            Some(value) => match constexpr::unary(op, &value) {
                Ok(value) => Ok(Val::from_py(value)),
                Err(fault) => Err(self.error(fault)),
            },
            None if op == UnaryOp::Not => Ok(Val::bool(!Self::known_truth(&operand))),
            None => Err(self.unsupported(
                format!("the unary operator `{}` is not supported on {}", op.as_str(), operand.describe()),
                "",
            )),
        }
    }

    pub(crate) fn known_truth(val: &Val) -> bool {
        match val {
            Val::Const(value) => constexpr::truth(value),
            Val::Tuple(tuple) => !tuple.items.is_empty(),
            _ => true,
        }
    }

    /// `a < b < c`: all must hold; the middle operands are evaluated once.
    pub(crate) fn comparison(&mut self, expr: &ast::ExprCompare) -> Res<Val> {
        let mut left = self.expr(&expr.left)?;
        let mut results = Vec::new();
        for (op, comparator) in expr.ops.iter().zip(&expr.comparators) {
            let right = self.expr(comparator)?;
            let result = self.compare_two(*op, &left, &right)?;
            if let Val::Const(value) = &result
                && !constexpr::truth(value)
            {
                return Ok(result);
            }
            results.push(result);
            left = right;
        }
        self.fold_bools(BoolOp::And, results)
    }

    /// `left op right` for a comparison.
    pub(crate) fn compare_two(&mut self, op: CmpOp, left: &Val, right: &Val) -> Res<Val> {
        self.usable(left)?;
        self.usable(right)?;
        if matches!(op, CmpOp::Is | CmpOp::IsNot) {
            return Ok(Val::bool(same(left, right) == (op == CmpOp::Is)));
        }
        if let Some(methods) = aggregate_operator::comparison(op)
            && let Some(result) = self.aggregate_binary(&methods, left, right)
        {
            return result;
        }
        if let (Some(a), Some(b)) = (left.to_py(), right.to_py()) {
            return Ok(Val::bool(self.check(constexpr::compare(op, &a, &b))?));
        }
        if matches!(op, CmpOp::Eq | CmpOp::NotEq)
            && !matches!((left, right), (Val::Tensor(_), _) | (_, Val::Tensor(_)))
            && let Some(equal) = equal(left, right)
        {
            return Ok(Val::bool(equal == (op == CmpOp::Eq)));
        }
        let Some(predicate) = Predicate::from_python(op) else {
            return Err(self.unsupported(
                format!(
                    "AST comparison operator '{}' is not (currently) implemented on tensors.",
                    op.as_str()
                ),
                "",
            ));
        };
        if !is_number(left) || !is_number(right) {
            let message = format!(
                "unsupported operand type(s) for {}: '{}' and '{}'",
                op.as_str(),
                left.type_name(),
                right.type_name()
            );
            let help = if left.is_none() || right.is_none() { "test for None with `is None`" } else { "" };
            return Err(self.unsupported(message, help));
        }
        let (a, b) = (self.number(left)?, self.number(right)?);
        Ok(Val::Tensor(self.compare(predicate, a, b)?))
    }

    /// `a and b`, `a or b`: constants decide early and skip what follows.
    pub(crate) fn boolean(&mut self, expr: &ast::ExprBoolOp) -> Res<Val> {
        let mut dynamic = Vec::new();
        let mut last = Val::NONE;
        for value in &expr.values {
            let val = self.expr(value)?;
            self.usable(&val)?;
            if matches!(&val, Val::Tensor(tensor) if tensor.ty.is_block()) {
                self.warn(
                    "Logical operators 'and' and 'or' are deprecated for non-scalar tensors; please use '&' or '|' instead",
                );
            }
            if is_dynamic(&val) {
                dynamic.push(val);
                continue;
            }
            if Self::known_truth(&val) == (expr.op == BoolOp::Or) {
                return Ok(val);
            }
            last = val;
        }
        if dynamic.is_empty() { Ok(last) } else { self.fold_bools(expr.op, dynamic) }
    }

    /// Combines run-time truths, the last two first.
    fn fold_bools(&mut self, op: BoolOp, mut values: Vec<Val>) -> Res<Val> {
        if values.len() > 1 {
            values.retain(is_dynamic);
        }
        let Some(mut result) = values.pop() else { return Ok(Val::bool(true)) };
        while let Some(left) = values.pop() {
            if let Some(combined) = self.aggregate_binary(&aggregate_operator::logical(op), &left, &result) {
                result = combined?;
                continue;
            }
            let (a, b) = self.both_bools(&left, &result)?;
            let (Num::Tensor(a), Num::Tensor(b)) = (a, b) else { return Err(Stop) };
            let (a, b) = self.broadcast_both(a, b)?;
            let row = if op == BoolOp::And { &arith_int::ANDI } else { &arith_int::ORI };
            result = Val::Tensor(self.elementwise(row, &a, &b)?);
        }
        Ok(result)
    }

    /// Evaluates the operands of a binary expression.
    ///
    /// `a + b + c + …` nests to the left as deep as it is long, so that side is walked in a loop.
    pub(crate) fn binary_expr(&mut self, expr: &ast::ExprBinOp) -> Res<Val> {
        let mut chain = vec![expr];
        let mut first = &*expr.left;
        while let Expr::BinOp(inner) = first {
            chain.push(inner);
            first = &inner.left;
        }
        let mut left = self.expr(first)?;
        while let Some(expr) = chain.pop() {
            let right = self.expr(&expr.right)?;
            left = self.at(expr, |ctx| ctx.binary(expr.op, left, right))?;
        }
        Ok(left)
    }
}

fn is_number(val: &Val) -> bool {
    matches!(val, Val::Tensor(_) | Val::Const(PyValue::Bool(_) | PyValue::Int(_) | PyValue::Float(_)))
}

/// Whether `and` and `or` look at a value when the kernel runs.
fn is_dynamic(val: &Val) -> bool {
    matches!(val, Val::Tensor(_) | Val::Aggregate(_))
}

/// Whether two values are equal as Python objects are; `None` where that depends on run-time values.
fn equal(left: &Val, right: &Val) -> Option<bool> {
    if let (Some(a), Some(b)) = (left.to_py(), right.to_py()) {
        return constexpr::compare(CmpOp::Eq, &a, &b).ok();
    }
    match (left, right) {
        (Val::Tuple(a), Val::Tuple(b)) if a.items.len() != b.items.len() => Some(false),
        // As Python does: items up to the first that differ.
        (Val::Tuple(a), Val::Tuple(b)) => {
            let mut pairs = a.items.iter().zip(&b.items).map(|(a, b)| equal(a, b));
            pairs.find(|pair| *pair != Some(true)).unwrap_or(Some(true))
        }
        _ if same(left, right) => Some(true),
        (Val::Tensor(_) | Val::Aggregate(_), _) | (_, Val::Tensor(_) | Val::Aggregate(_)) => None,
        _ => Some(false),
    }
}
