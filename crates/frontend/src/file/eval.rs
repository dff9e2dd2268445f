//! A small interpreter of Python for what runs when compiling: module-level constants and constexpr functions.
//!
//! Expressions, assignments, `if`, `while`, `for`, `return`, `assert`. Anything else is an error that says so.

use super::FileGlobals;
use crate::constexpr;
use crate::diagnostic::{Cause, Fault};
use crate::globals::Globals;
use crate::language;
use crate::python_format;
use crate::value::PyValue;
use ruff_python_ast::{self as ast, BoolOp, Expr, Number, Stmt, StmtFunctionDef};
use rustc_hash::FxHashMap;

/// Names and their values.
pub(super) type Scope = FxHashMap<String, PyValue>;

/// More steps than this are an endless loop.
const MAX_STEPS: usize = 1 << 20;

/// How statements ended.
pub(super) enum End {
    Next,
    Return(PyValue),
    Break,
    Continue,
}

/// Runs statements against the names of a file.
pub(super) struct Interpreter<'f> {
    file: &'f FileGlobals,
    steps: usize,
}

impl<'f> Interpreter<'f> {
    pub(super) fn new(file: &'f FileGlobals) -> Interpreter<'f> {
        Interpreter { file, steps: 0 }
    }

    fn step(&mut self) -> Result<(), Fault> {
        self.steps += 1;
        if self.steps > MAX_STEPS { Err("a constexpr function runs without end".into()) } else { Ok(()) }
    }

    /// Calls a function of the file.
    pub(super) fn call_function(
        &mut self,
        definition: &StmtFunctionDef,
        args: &[PyValue],
        kwargs: &[(String, PyValue)],
    ) -> Result<PyValue, Fault> {
        let name = definition.name.as_str();
        let parameters = &definition.parameters;
        let all: Vec<_> =
            parameters.posonlyargs.iter().chain(&parameters.args).chain(&parameters.kwonlyargs).collect();
        let by_position = parameters.posonlyargs.len() + parameters.args.len();
        if args.len() > by_position {
            return Err(format!(
                "{name}() takes {by_position} positional arguments but {} were given",
                args.len()
            )
            .into());
        }
        let mut scope = Scope::default();
        for (param, arg) in all.iter().zip(args) {
            scope.insert(param.parameter.name.to_string(), arg.clone().unwrapped());
        }
        for (keyword, value) in kwargs {
            if !all.iter().any(|param| param.parameter.name.as_str() == keyword) {
                return Err(format!("{name}() got an unexpected keyword argument '{keyword}'").into());
            }
            scope.insert(keyword.clone(), value.clone().unwrapped());
        }
        for param in all {
            let own = param.parameter.name.to_string();
            if scope.contains_key(&own) {
                continue;
            }
            let Some(default) = &param.default else {
                return Err(format!("{name}() missing required argument: '{own}'").into());
            };
            let value = self.expr(default, &mut Scope::default())?;
            scope.insert(own, value);
        }
        match self.run(&definition.body, &mut scope)? {
            End::Return(value) => Ok(value),
            _ => Ok(PyValue::None),
        }
    }

    /// Runs statements.
    pub(super) fn run(&mut self, body: &[Stmt], scope: &mut Scope) -> Result<End, Fault> {
        for stmt in body {
            self.step()?;
            match self.statement(stmt, scope)? {
                End::Next => {}
                end => return Ok(end),
            }
        }
        Ok(End::Next)
    }

    /// Whether an annotation is `tl.constexpr`, under any name or as a text.
    fn is_constexpr(&mut self, annotation: &Expr, scope: &mut Scope) -> bool {
        match self.expr(annotation, scope) {
            Ok(PyValue::Builtin(path)) => &*path == "tl.constexpr",
            Ok(PyValue::Str(text)) => crate::params::is_constexpr_annotation(&text),
            _ => false,
        }
    }

    fn statement(&mut self, stmt: &Stmt, scope: &mut Scope) -> Result<End, Fault> {
        match stmt {
            Stmt::Pass(_) => {}
            Stmt::Expr(stmt) => {
                if !matches!(&*stmt.value, Expr::StringLiteral(_)) {
                    self.expr(&stmt.value, scope)?;
                }
            }
            Stmt::Assign(stmt) => {
                let value = self.expr(&stmt.value, scope)?;
                stmt.targets.iter().try_for_each(|target| assign(target, value.clone(), scope))?;
            }
            Stmt::AnnAssign(stmt) => {
                if let Some(value) = &stmt.value {
                    let mut value = self.expr(value, scope)?;
                    if self.is_constexpr(&stmt.annotation, scope) {
                        value = PyValue::Constexpr(Box::new(value.unwrapped()));
                    }
                    assign(&stmt.target, value, scope)?;
                }
            }
            Stmt::AugAssign(stmt) => {
                let (left, right) = (self.expr(&stmt.target, scope)?, self.expr(&stmt.value, scope)?);
                let value = python_format::binary(stmt.op, &left.unwrapped(), &right.unwrapped())?;
                assign(&stmt.target, value, scope)?;
            }
            Stmt::If(stmt) => return self.branch(stmt, scope),
            Stmt::While(stmt) => {
                while constexpr::truth(&self.expr(&stmt.test, scope)?) {
                    match self.run(&stmt.body, scope)? {
                        End::Break => break,
                        End::Return(value) => return Ok(End::Return(value)),
                        End::Next | End::Continue => self.step()?,
                    }
                }
            }
            Stmt::For(stmt) => {
                for item in items(&self.expr(&stmt.iter, scope)?)? {
                    assign(&stmt.target, item, scope)?;
                    match self.run(&stmt.body, scope)? {
                        End::Break => break,
                        End::Return(value) => return Ok(End::Return(value)),
                        End::Next | End::Continue => self.step()?,
                    }
                }
            }
            Stmt::Return(stmt) => {
                let value = stmt.value.as_ref().map(|value| self.expr(value, scope)).transpose()?;
                return Ok(End::Return(value.unwrap_or(PyValue::None)));
            }
            Stmt::Break(_) => return Ok(End::Break),
            Stmt::Continue(_) => return Ok(End::Continue),
            Stmt::Assert(stmt) => {
                if !constexpr::truth(&self.expr(&stmt.test, scope)?) {
                    let message = stmt.msg.as_ref().map(|message| self.expr(message, scope)).transpose()?;
                    return Err(Cause::Assertion.says(
                        message.map_or("assertion failed".to_string(), |text| constexpr::text(&text)),
                    ));
                }
            }
            _ => return Err("this statement cannot be run without Python".into()),
        }
        Ok(End::Next)
    }

    fn branch(&mut self, stmt: &ast::StmtIf, scope: &mut Scope) -> Result<End, Fault> {
        if constexpr::truth(&self.expr(&stmt.test, scope)?) {
            return self.run(&stmt.body, scope);
        }
        for clause in &stmt.elif_else_clauses {
            let taken = match &clause.test {
                Some(test) => constexpr::truth(&self.expr(test, scope)?),
                None => true,
            };
            if taken {
                return self.run(&clause.body, scope);
            }
        }
        Ok(End::Next)
    }

    /// Evaluates an expression.
    pub(super) fn expr(&mut self, expr: &Expr, scope: &mut Scope) -> Result<PyValue, Fault> {
        self.step()?;
        match expr {
            Expr::NoneLiteral(_) => Ok(PyValue::None),
            Expr::BooleanLiteral(literal) => Ok(PyValue::Bool(literal.value)),
            Expr::StringLiteral(literal) => Ok(PyValue::str(literal.value.to_str())),
            Expr::NumberLiteral(literal) => match &literal.value {
                Number::Float(value) => Ok(PyValue::Float(*value)),
                Number::Int(value) => crate::codegen::int_literal(value)
                    .map(PyValue::Int)
                    .ok_or_else(|| Cause::Overflow.says("integer literal too large")),
                Number::Complex { .. } => Err("complex numbers are not supported".into()),
            },
            Expr::Name(name) => self.name(&name.id, scope),
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                let items: Result<Vec<PyValue>, Fault> =
                    elts.iter().map(|element| Ok(self.expr(element, scope)?.unwrapped())).collect();
                Ok(PyValue::tuple(items?))
            }
            Expr::BinOp(expr) => {
                let (left, right) = (self.expr(&expr.left, scope)?, self.expr(&expr.right, scope)?);
                python_format::binary(expr.op, &left.unwrapped(), &right.unwrapped())
            }
            Expr::UnaryOp(expr) => constexpr::unary(expr.op, &self.expr(&expr.operand, scope)?.unwrapped()),
            Expr::BoolOp(expr) => {
                let mut value = PyValue::None;
                for operand in &expr.values {
                    value = self.expr(operand, scope)?;
                    if constexpr::truth(&value) == (expr.op == BoolOp::Or) {
                        break;
                    }
                }
                Ok(value)
            }
            Expr::Compare(expr) => self.comparison(expr, scope),
            Expr::If(expr) => {
                let test = constexpr::truth(&self.expr(&expr.test, scope)?);
                self.expr(if test { &expr.body } else { &expr.orelse }, scope)
            }
            Expr::Attribute(attribute) => {
                let value = self.expr(&attribute.value, scope)?.unwrapped();
                self.attribute(&value, &attribute.attr)
            }
            Expr::Subscript(subscript) => {
                let value = self.expr(&subscript.value, scope)?.unwrapped();
                let index = self.expr(&subscript.slice, scope)?.unwrapped();
                index_tuple(&value, &index)
            }
            Expr::Call(call) => self.call(call, scope),
            _ => Err("this expression cannot be evaluated without Python".into()),
        }
    }

    fn name(&mut self, name: &str, scope: &Scope) -> Result<PyValue, Fault> {
        scope
            .get(name)
            .cloned()
            .or_else(|| self.file.names.get(name).cloned())
            .or_else(|| language::python_builtin(name))
            .ok_or_else(|| Cause::Name.says(format!("{name} is not defined")))
    }

    fn comparison(&mut self, expr: &ast::ExprCompare, scope: &mut Scope) -> Result<PyValue, Fault> {
        let mut left = self.expr(&expr.left, scope)?.unwrapped();
        for (op, comparator) in expr.ops.iter().zip(&expr.comparators) {
            let right = self.expr(comparator, scope)?.unwrapped();
            if !constexpr::compare(*op, &left, &right)? {
                return Ok(PyValue::Bool(false));
            }
            left = right;
        }
        Ok(PyValue::Bool(true))
    }

    fn attribute(&mut self, value: &PyValue, name: &str) -> Result<PyValue, Fault> {
        let found = match value {
            PyValue::Module(path) | PyValue::Builtin(path) => language::attribute(path, name),
            PyValue::Object(object) => self.file.attribute(object, name),
            PyValue::DType(scalar) => crate::codegen::dtype_attribute(*scalar, name),
            other if name == "value" => Some(other.clone()),
            other => crate::python_methods::part(other, name),
        };
        found.ok_or_else(|| {
            Cause::Attribute.says(format!("'{}' object has no attribute '{name}'", value.type_name()))
        })
    }

    fn call(&mut self, call: &ast::ExprCall, scope: &mut Scope) -> Result<PyValue, Fault> {
        let mut args = Vec::new();
        for arg in &call.arguments.args {
            args.push(self.expr(arg, scope)?.unwrapped());
        }
        let mut kwargs = Vec::new();
        for keyword in &call.arguments.keywords {
            let name = keyword.arg.as_ref().ok_or("`**` cannot be called with here")?;
            kwargs.push((name.to_string(), self.expr(&keyword.value, scope)?.unwrapped()));
        }
        if let Expr::Attribute(attribute) = &*call.func {
            let value = self.expr(&attribute.value, scope)?.unwrapped();
            match &value {
                PyValue::Module(path) if &**path == "math" => {
                    return crate::python_math::call(&attribute.attr, &args);
                }
                PyValue::DType(scalar) => {
                    return crate::codegen::dtype_question(*scalar, &attribute.attr)
                        .ok_or_else(|| Fault::from(format!("dtypes have no method {}", attribute.attr)));
                }
                _ if crate::python_methods::has(&value, &attribute.attr) => {
                    return crate::python_methods::call(&value, &attribute.attr, &args);
                }
                _ => {}
            }
        }
        match self.expr(&call.func, scope)?.unwrapped() {
            PyValue::Builtin(path) => builtin(&path, &args),
            PyValue::ConstexprFunction(object) => self.file.call(&object, &args, &kwargs),
            other => {
                Err(format!("{} cannot be called without running Python", constexpr::text(&other)).into())
            }
        }
    }
}

fn builtin(path: &str, args: &[PyValue]) -> Result<PyValue, Fault> {
    match (path, args) {
        ("tl.constexpr", [value]) => Ok(PyValue::Constexpr(Box::new(value.clone()))),
        ("triton.cdiv", [x, y]) => constexpr::ceil_div(x, y),
        ("triton.next_power_of_2", [n]) => constexpr::next_power_of_2(n),
        ("python.int", [value]) => constexpr::to_int(value),
        ("python.float", [value]) => constexpr::to_float(value),
        ("python.bool", [value]) => Ok(PyValue::Bool(constexpr::truth(value))),
        ("python.tuple" | "python.list", [value]) => Ok(PyValue::tuple(items(value)?)),
        ("python.len", [value]) => Ok(PyValue::Int(items(value)?.len() as i128)),
        ("python.range", bounds) => range(bounds),
        ("python.min" | "python.max", args) => {
            let all = if let [PyValue::Tuple(tuple)] = args { tuple.items.clone() } else { args.to_vec() };
            constexpr::extremum(&all, path == "python.min")
        }
        _ => Err(format!("{path} cannot be called without running Python").into()),
    }
}

fn range(bounds: &[PyValue]) -> Result<PyValue, Fault> {
    let known: Option<Vec<i128>> = bounds.iter().map(constexpr::as_int).collect();
    let (start, end, step) = match known.as_deref() {
        Some([end]) => (0, *end, 1),
        Some([start, end]) => (*start, *end, 1),
        Some([start, end, step]) if *step != 0 => (*start, *end, *step),
        _ => return Err("range() needs one to three integers".into()),
    };
    let mut items = Vec::new();
    let mut at = start;
    while (step > 0 && at < end) || (step < 0 && at > end) {
        if items.len() > MAX_STEPS {
            return Err("this range is too long".into());
        }
        items.push(PyValue::Int(at));
        at += step;
    }
    Ok(PyValue::tuple(items))
}

fn items(value: &PyValue) -> Result<Vec<PyValue>, Fault> {
    match value {
        PyValue::Tuple(tuple) => Ok(tuple.items.clone()),
        PyValue::Str(text) => Ok(text.chars().map(|c| PyValue::str(&c.to_string())).collect()),
        other => Err(format!("'{}' object is not iterable", other.type_name()).into()),
    }
}

fn index_tuple(value: &PyValue, index: &PyValue) -> Result<PyValue, Fault> {
    let items = items(value)?;
    let at = constexpr::as_int(index).ok_or("the index must be an integer")?;
    let wrapped = if at < 0 { at + items.len() as i128 } else { at };
    usize::try_from(wrapped)
        .ok()
        .and_then(|at| items.get(at))
        .cloned()
        .ok_or_else(|| Cause::Index.says(format!("index {at} out of range for {} elements", items.len())))
}

fn assign(target: &Expr, value: PyValue, scope: &mut Scope) -> Result<(), Fault> {
    match target {
        Expr::Name(name) => {
            scope.insert(name.id.to_string(), value);
            Ok(())
        }
        Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
            let items = items(&value.unwrapped())?;
            if items.len() != elts.len() {
                return Err(format!("cannot unpack {} values into {} names", items.len(), elts.len()).into());
            }
            elts.iter().zip(items).try_for_each(|(target, item)| assign(target, item, scope))
        }
        _ => Err("only names can be assigned to here".into()),
    }
}
