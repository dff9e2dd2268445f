//! The front end driven operation by operation, by a program that runs, instead of by a text.
//!
//! [`build`] gives the code of one operation of the language on values of given [`Form`]s: a module with one function,
//! whose parameters are the run-time parts of the operands and whose results are those of the result. Rules of types,
//! promotion and arguments are those of a compile, because the same code decides them. Whoever runs the module owns the
//! values.

mod bind;
mod form;

pub use form::{Form, FormKind};

use crate::codegen::value::Val;
use crate::codegen::{Ctx, Res, leaves};
use crate::diagnostic::Diagnostic;
use crate::dtype::DType;
use crate::request::Request;
use crate::value::PyValue;
use bind::Bound;
use ir::{Attr, Type};
use ruff_python_ast::{CmpOp, Operator, UnaryOp};
use std::sync::Arc;
use ttir::ops::func;

/// What the function of a step is called.
const NAME: &str = "step";

/// One operation of the language.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Calls an operation, a function of the library or a `@jit` function.
    Call(PyValue),
    /// Calls a method of the first operand.
    Method(String),
    /// Reads an attribute of the operand.
    Attribute(String),
    /// `left op right`, by the name of Python's special method without its underscores: `add`, `lt`, ….
    Binary(&'static str),
    /// `op operand`, likewise: `neg`, `invert`, `pos`.
    Unary(&'static str),
    /// `operand[index]`.
    Subscript,
    /// What a plain assignment keeps of a value.
    Assign,
}

/// The code of one operation.
pub struct Step {
    /// A module that holds [`Step::function`].
    pub module: ir::Module,
    /// The function.
    pub function: ir::Op,
    /// Which run-time part of the operands, counted through all of them, each parameter takes.
    pub params: Vec<usize>,
    /// The result; its run-time parts are the results of the function.
    pub result: Form,
    /// Deprecations and the like.
    pub warnings: Vec<Diagnostic>,
}

/// The code of an operation on operands of these forms. Of `request.function` only the extensions are
/// read, and `request.args` is not.
///
/// # Errors
/// Everything that is wrong with the operation. Diagnostics have a place only inside functions that it calls.
pub fn build(
    request: &Request<'_>,
    action: &Action,
    args: &[Form],
    keywords: &[(String, Form)],
) -> Result<Step, Vec<Diagnostic>> {
    let mut ctx = Ctx::new(request);
    ctx.granted = request.function.0.extensions;
    let outcome = ctx.step(action, args, keywords);
    let built = match outcome {
        Ok(built) if ctx.diagnostics.is_empty() => built,
        _ => return Err(ctx.into_diagnostics()),
    };
    let Ctx { mut module, warnings, .. } = ctx;
    let internal = |error: String| {
        let message = format!("internal error (please report it): {error}");
        vec![Diagnostic::without_place(crate::diagnostic::Kind::Compilation, message)]
    };
    (ttir::passes::FLATTEN_DESCRIPTORS.run)(&mut module).map_err(|error| internal(error.to_string()))?;
    ir::verify(&module)
        .map_err(|errors| internal(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")))?;
    let (function, params, result) = built;
    Ok(Step { module, function, params, result: Form(result), warnings })
}

impl Ctx<'_> {
    /// The function of a step, which operand parts its parameters take, and its result.
    fn step(
        &mut self,
        action: &Action,
        args: &[Form],
        keywords: &[(String, Form)],
    ) -> Res<(ir::Op, Vec<usize>, Val)> {
        let attrs = [
            Some(Attr::Symbol(Arc::from(NAME))),
            Some(Attr::Type(Type::function(Vec::new(), Vec::new()))),
            Some(Attr::str("public")),
            Some(Attr::Bool(false)),
        ];
        let function = self.emit_op(&func::FUNC, &[], &attrs, &[]);
        let region = self.module.region(function, 0);
        let block = self.module.add_block(region);
        self.place = ir::Place::End(block);
        let mut bound = Bound::new(block);
        let args = args.iter().map(|form| bound.bind(self, &form.0)).collect::<Res<Vec<Val>>>()?;
        let keywords = keywords
            .iter()
            .map(|(name, form)| Ok((name.clone(), bound.bind(self, &form.0)?)))
            .collect::<Res<Vec<_>>>()?;
        let result = self.act(action, args, keywords)?;
        let mut parts = Vec::new();
        leaves(&result, &mut parts);
        let values: Vec<ir::Value> = parts.iter().map(|part| part.value).collect();
        self.emit_effect(&func::RETURN, &values, &[]);
        let ty = |value: &ir::Value| self.module.ty(*value);
        let params = self.module.args(block).iter().map(ty).collect();
        let ty = Type::function(params, values.iter().map(ty).collect());
        func::FuncOp::set_ty(&mut self.module, function, ty);
        Ok((function, bound.params, result))
    }

    fn act(&mut self, action: &Action, mut args: Vec<Val>, keywords: Vec<(String, Val)>) -> Res<Val> {
        match action {
            Action::Call(callee) => self.call_value(&Val::from_py(callee.clone()), args, keywords),
            Action::Method(name) => {
                let receiver = args.remove(0);
                self.call_method(&receiver, name, args, keywords)
            }
            Action::Attribute(name) => self.attribute(&args[0], name),
            Action::Binary(name) => {
                let right = args.remove(1);
                match (operator(name), comparison(name)) {
                    (Some(op), _) => self.binary(op, args.remove(0), right),
                    (None, Some(op)) => self.compare_two(op, &args[0], &right),
                    (None, None) => Err(self.error(format!("`{name}` is no operator of the language"))),
                }
            }
            Action::Unary(name) => self.unary(unary(name), args.remove(0)),
            Action::Subscript => self.subscript_value(&args[0], &args[1]),
            Action::Assign => self.materialized(args.remove(0)),
        }
    }
}

/// The value of a float of a type by its bits; `None` for types that are no floats.
pub fn float_of(dtype: DType, bits: u64) -> Option<f64> {
    if dtype == DType::Fp8E4B15 {
        let half = (bits & 0x80) << 8 | (bits & 0x7f) << 7;
        return Some(ir::scalar::float_value(ir::FloatKind::F16, half));
    }
    let kind = crate::codegen::ir_dtype(dtype)?.as_float()?;
    Some(ir::scalar::float_value(kind, bits))
}

fn operator(name: &str) -> Option<Operator> {
    Some(match name {
        "add" => Operator::Add,
        "sub" => Operator::Sub,
        "mul" => Operator::Mult,
        "matmul" => Operator::MatMult,
        "truediv" => Operator::Div,
        "floordiv" => Operator::FloorDiv,
        "mod" => Operator::Mod,
        "pow" => Operator::Pow,
        "lshift" => Operator::LShift,
        "rshift" => Operator::RShift,
        "and" => Operator::BitAnd,
        "or" => Operator::BitOr,
        "xor" => Operator::BitXor,
        _ => return None,
    })
}

fn comparison(name: &str) -> Option<CmpOp> {
    Some(match name {
        "lt" => CmpOp::Lt,
        "le" => CmpOp::LtE,
        "gt" => CmpOp::Gt,
        "ge" => CmpOp::GtE,
        "eq" => CmpOp::Eq,
        "ne" => CmpOp::NotEq,
        _ => return None,
    })
}

fn unary(name: &str) -> UnaryOp {
    match name {
        "neg" => UnaryOp::USub,
        "invert" => UnaryOp::Invert,
        "not" => UnaryOp::Not,
        _ => UnaryOp::UAdd,
    }
}
