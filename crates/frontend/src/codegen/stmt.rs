//! Statements.

use crate::codegen::flow::{Flow, Rest};
use crate::codegen::value::{Tuple, Val};
use crate::codegen::{Ctx, Res, Stop, assigned};
use crate::diagnostic::{Cause, Kind};
use crate::extension::Extension;
use crate::loop_exits;
use crate::value::PyValue;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;
use std::rc::Rc;

/// What an unsupported statement is called, and what to do instead.
fn unsupported_statement(stmt: &Stmt) -> (&'static str, &'static str) {
    match stmt {
        Stmt::Break(_) => (
            "Break",
            "put the condition into a `while`, mask the work with `tl.where`, or switch it on: `@triton.jit(extensions=[\"loop_exits\"])`",
        ),
        Stmt::Continue(_) => (
            "Continue",
            "put the rest of the body under an `if`, or switch it on: `@triton.jit(extensions=[\"loop_exits\"])`",
        ),
        Stmt::Try(_) | Stmt::Raise(_) => {
            ("Try", "kernels have no exceptions: use `tl.device_assert` or `tl.static_assert`")
        }
        Stmt::Import(_) | Stmt::ImportFrom(_) => ("ImportFrom", "import at module level"),
        Stmt::Global(_) | Stmt::Nonlocal(_) => ("Global", "pass the value as an argument"),
        Stmt::Delete(_) => ("Delete", "names need not be deleted"),
        Stmt::ClassDef(_) => ("ClassDef", "define classes at module level"),
        Stmt::Match(_) => ("Match", "use `if` and `elif`"),
        _ => ("statement", ""),
    }
}

impl Ctx<'_> {
    /// Walks statements. `rest` is what follows them in the function, for `return`s under run-time conditions.
    pub(crate) fn block(&mut self, body: &[Stmt], rest: Option<&Rest<'_>>) -> Flow {
        for (index, stmt) in body.iter().enumerate() {
            let rest = Rest { body: &body[index + 1..], next: rest };
            let flow = self.at(stmt, |ctx| {
                ctx.deeper()?;
                let flow = ctx.statement(stmt, &rest);
                ctx.depth -= 1;
                flow
            });
            match flow {
                Ok(Flow::Next) => {}
                Ok(flow) => return flow,
                Err(Stop) => self.poison(stmt),
            }
        }
        Flow::Next
    }

    /// After a fault: names that the statement would have set are used without further reports.
    fn poison(&mut self, stmt: &Stmt) {
        for name in assigned::new_names(stmt) {
            self.frame().locals.insert(name, Val::Poison);
        }
    }

    fn statement(&mut self, stmt: &Stmt, rest: &Rest<'_>) -> Res<Flow> {
        match stmt {
            Stmt::Expr(stmt) => self.expression_statement(&stmt.value),
            Stmt::Assign(stmt) => self.assign_statement(stmt),
            Stmt::AnnAssign(stmt) => self.annotated_assignment(stmt),
            Stmt::AugAssign(stmt) => self.augmented_assignment(stmt),
            Stmt::If(stmt) => self.if_statement(stmt, rest),
            Stmt::For(stmt) => {
                self.prepare_returned_value(&stmt.body, |ctx| ctx.for_statement(stmt, rest))?;
                self.for_statement(stmt, rest)
            }
            Stmt::While(stmt) => {
                self.prepare_returned_value(&stmt.body, |ctx| ctx.while_statement(stmt))?;
                self.while_statement(stmt)
            }
            Stmt::Return(stmt) => self.return_statement(stmt),
            Stmt::Assert(stmt) => self.assert_statement(stmt),
            Stmt::With(stmt) => self.with_statement(stmt),
            Stmt::Pass(_) => Ok(Flow::Next),
            Stmt::FunctionDef(_) => Err(self.unsupported(
                "nested function definitions are not allowed inside a @triton.jit kernel",
                "Move the helper function to module level and decorate it with @triton.jit.",
            )),
            other => {
                let (name, help) = unsupported_statement(other);
                Err(self.unsupported(format!("unsupported AST node type: {name}"), help))
            }
        }
    }

    /// `with manager as name:`; managers are aggregates, or objects from outside that are entered and left when
    /// compiling.
    fn with_statement(&mut self, stmt: &ast::StmtWith) -> Res<Flow> {
        if stmt.body.iter().any(assigned::returns) {
            return Err(self.unsupported(
                "Cannot have `return` statements inside `with` statements in triton",
                "keep the result in a variable and return behind the block",
            ));
        }
        let mut managers = Vec::new();
        for item in &stmt.items {
            let manager = self.expr(&item.context_expr)?;
            let entered = self.call_special(&manager, "__enter__", Vec::new())?;
            if let Some(target) = &item.optional_vars {
                self.assign(target, entered, Numbers::Keep)?;
            }
            managers.push(manager);
        }
        let flow = self.block(&stmt.body, None);
        for manager in managers.iter().rev() {
            self.call_special(manager, "__exit__", vec![Val::NONE; 3])?;
        }
        Ok(flow)
    }

    /// A special method of an object; nothing where the object is `None`.
    fn call_special(&mut self, object: &Val, name: &str, args: Vec<Val>) -> Res<Val> {
        if object.is_none() {
            return Ok(Val::NONE);
        }
        let method = self.attribute(object, name)?;
        self.call_value(&method, args, Vec::new())
    }

    fn expression_statement(&mut self, value: &Expr) -> Res<Flow> {
        // A docstring or a comment.
        if matches!(value, Expr::StringLiteral(_) | Expr::EllipsisLiteral(_)) {
            return Ok(Flow::Next);
        }
        if let Expr::Call(call) = value {
            self.discarded = Some(call.range());
        }
        self.expr(value)?;
        Ok(Flow::Next)
    }

    fn return_statement(&mut self, stmt: &ast::StmtReturn) -> Res<Flow> {
        if self.frame().loops > 0 {
            return Err(self.unsupported(
                "Cannot have `return` statements inside `while` or `for` statements in triton.",
                "keep the result in a variable and return behind the loop",
            ));
        }
        match &stmt.value {
            Some(value) => Ok(Flow::Return(self.expr(value)?)),
            None => Ok(Flow::Return(Val::NONE)),
        }
    }

    fn assert_statement(&mut self, stmt: &ast::StmtAssert) -> Res<Flow> {
        let test = self.expr(&stmt.test)?;
        let message = match &stmt.msg {
            Some(message) => self.expr(message)?,
            None => Val::Const(PyValue::str("")),
        };
        self.device_assert(&test, &message, None)?;
        Ok(Flow::Next)
    }

    fn assign_statement(&mut self, stmt: &ast::StmtAssign) -> Res<Flow> {
        let [target] = stmt.targets.as_slice() else {
            return Err(
                self.unsupported("simultaneous multiple assignment is not supported.", "assign one by one")
            );
        };
        self.assign_expr(target, &stmt.value)?;
        Ok(Flow::Next)
    }

    /// `target = value`.
    pub(crate) fn assign_expr(&mut self, target: &Expr, value: &Expr) -> Res<()> {
        let value = self.expr(value)?;
        self.assign(target, value, Numbers::ToTensors)
    }

    fn annotated_assignment(&mut self, stmt: &ast::StmtAnnAssign) -> Res<Flow> {
        let Expr::Name(name) = &*stmt.target else {
            return Err(self.unsupported("only names can be annotated", ""));
        };
        let is_constexpr = self.is_constexpr_annotation(&stmt.annotation);
        let Some(value) = &stmt.value else {
            if is_constexpr {
                self.frame().pending_constexprs.insert(name.id.clone());
            }
            return Ok(Flow::Next);
        };
        if !is_constexpr {
            self.assign_expr(&stmt.target, value)?;
            return Ok(Flow::Next);
        }
        let known = self.frame().locals.get(&name.id);
        if known.is_some_and(|val| !matches!(val, Val::Undefined(_) | Val::Poison)) {
            return Err(self.error_help(
                format!("{} is already defined. constexpr cannot be reassigned.", name.id),
                "use another name",
            ));
        }
        let value = self.expr(value)?;
        self.frame().locals.insert(name.id.clone(), value);
        Ok(Flow::Next)
    }

    fn is_constexpr_annotation(&mut self, annotation: &Expr) -> bool {
        let text = self.frame().parsed.text.slice(annotation.range());
        crate::params::is_constexpr_annotation(text)
    }

    fn augmented_assignment(&mut self, stmt: &ast::StmtAugAssign) -> Res<Flow> {
        let left = match &*stmt.target {
            Expr::Name(name) => self.at(&*stmt.target, |ctx| ctx.name(&name.id))?,
            Expr::Subscript(part) if self.has_extension(Extension::BlockIndexing) => {
                self.at(part, |ctx| ctx.subscript(part))?
            }
            other => return Err(self.assign_to_part(other)),
        };
        let right = self.expr(&stmt.value)?;
        let value = self.binary(stmt.op, left, right)?;
        self.assign(&stmt.target, value, Numbers::ToTensors)?;
        Ok(Flow::Next)
    }

    /// Sets a target, which may be a tuple of targets.
    pub(crate) fn assign(&mut self, target: &Expr, value: Val, numbers: Numbers) -> Res<()> {
        match target {
            Expr::Name(name) => {
                let pending = self.frame().pending_constexprs.remove(&name.id);
                let value =
                    if pending || numbers == Numbers::Keep { value } else { self.materialized(value)? };
                self.name_value(&name.id, &value);
                if name.id.as_str() == loop_exits::VALUE {
                    self.frame().returned.get_or_insert_with(|| value.clone());
                }
                self.frame().locals.insert(name.id.clone(), value);
                Ok(())
            }
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                self.unpack(elts, value, numbers)
            }
            Expr::Attribute(attribute) => match &*attribute.value {
                Expr::Name(object) => {
                    self.at(target, |ctx| ctx.set_field(&object.id, &attribute.attr.id, value))
                }
                _ => Err(self.assign_to_part(target)),
            },
            Expr::Subscript(part) if self.has_extension(Extension::BlockIndexing) => {
                self.at(target, |ctx| ctx.set_part(part, &value))
            }
            other => Err(self.assign_to_part(other)),
        }
    }

    /// `x[…] = value`: from here on `x` is another block.
    fn set_part(&mut self, part: &ast::ExprSubscript, value: &Val) -> Res<()> {
        let Expr::Name(name) = &*part.value else {
            return Err(self.error_help(
                "elements can only be assigned to blocks that have a name",
                "give the block a name: `x = …` and `x[…] = value`",
            ));
        };
        let Val::Tensor(block) = self.name(&name.id)? else {
            return Err(self.assign_to_part(&part.value));
        };
        let index = self.expr(&part.slice)?;
        let changed = Val::Tensor(self.with_part(block, &index, value)?);
        self.name_value(&name.id, &changed);
        self.frame().locals.insert(name.id.clone(), changed);
        Ok(())
    }

    fn unpack(&mut self, targets: &[Expr], value: Val, numbers: Numbers) -> Res<()> {
        let tuple = match value {
            Val::Tuple(tuple) => tuple,
            Val::Poison => return Err(Stop),
            other => {
                return Err(self.error(
                    Cause::Type.says(format!("cannot unpack non-iterable value: {}", other.describe())),
                ));
            }
        };
        if targets.iter().any(|target| matches!(target, Expr::Starred(_))) {
            return Err(
                self.unsupported("starred assignment targets are not supported", "unpack every element")
            );
        }
        let (expected, found) = (targets.len(), tuple.items.len());
        if found > expected {
            return Err(self.error(format!("too many values to unpack (expected {expected}, got {found})")));
        }
        if found < expected {
            return Err(self.error(format!("not enough values to unpack (expected {expected}, got {found})")));
        }
        for (target, item) in targets.iter().zip(&tuple.items) {
            self.at(target, |ctx| ctx.assign(target, item.clone(), numbers))?;
        }
        Ok(())
    }

    /// A value as a plain assignment keeps it: Python numbers become run-time constants.
    pub(crate) fn materialized(&mut self, value: Val) -> Res<Val> {
        match value {
            Val::Const(PyValue::Bool(_) | PyValue::Int(_) | PyValue::Float(_)) => {
                Ok(Val::Tensor(self.tensor_from(&value)?))
            }
            Val::Tuple(tuple) => {
                let items: Res<Vec<Val>> =
                    tuple.items.iter().map(|item| self.materialized(item.clone())).collect();
                Ok(Val::Tuple(Rc::new(Tuple { items: items?, fields: tuple.fields.clone() })))
            }
            Val::Undefined(why) => Err(self.error(Cause::Name.says(&*why))),
            other => Ok(other),
        }
    }

    fn name_value(&mut self, name: &str, value: &Val) {
        if let Val::Tensor(tensor) = value
            && self.module.name(tensor.value).is_none()
        {
            self.module.set_name(tensor.value, name);
        }
    }

    fn assign_to_part(&mut self, target: &Expr) -> Stop {
        let (message, help) = match target {
            Expr::Subscript(_) => (
                "__setitem__ is not supported in triton: elements of a block cannot be assigned",
                "build a new block: `x = tl.where(positions == i, value, x)`, or switch it on: \
                 `@triton.jit(extensions=[\"block_indexing\"])`",
            ),
            Expr::Attribute(_) => ("Attribute assignment is not supported in triton", "use a local name"),
            _ => ("this cannot be assigned to", ""),
        };
        let help: &[&str] = if help.is_empty() { &[] } else { &[help] };
        self.report(Kind::Compilation, Cause::NotImplemented.says(message), target.range(), help)
    }
}

/// What an assignment makes of Python numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Run-time constants, as `x = 1` does.
    ToTensors,
    /// They stay what they are, as in a comprehension or an unrolled loop.
    Keep,
}
