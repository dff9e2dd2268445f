//! Expressions.

use crate::codegen::stmt::Numbers;
use crate::codegen::value::Val;
use crate::codegen::{Ctx, Res, Stop};
use crate::constexpr;
use crate::diagnostic::Cause;
use crate::lengths;
use crate::request::Dependency;
use crate::value::{ObjectRef, PyValue};
use crate::{language, stdlib};
use ruff_python_ast::{self as ast, Expr, Number};
use std::rc::Rc;
use std::sync::Arc;

/// How deep expressions, statements and calls may be nested, all together.
const MAX_DEPTH: usize = 300;

/// The most numbers of a range that a list may be made of.
const MAX_LISTED: u128 = 1 << 16;

/// What an unsupported expression is called, and what to do instead.
fn unsupported_expression(expr: &Expr) -> (&'static str, &'static str) {
    match expr {
        Expr::Lambda(_) => ("Lambda", "define a @triton.jit function at module level"),
        Expr::Dict(_) | Expr::DictComp(_) => {
            ("Dict", "kernels have no dictionaries: use a tuple or separate names")
        }
        Expr::Set(_) | Expr::SetComp(_) => ("Set", "kernels have no sets: use a tuple"),
        Expr::Generator(_) => ("GeneratorExp", "use a list comprehension"),
        Expr::Await(_) | Expr::Yield(_) | Expr::YieldFrom(_) => ("Yield", "kernels are no generators"),
        Expr::BytesLiteral(_) => ("Bytes", "use a string"),
        Expr::EllipsisLiteral(_) => ("Ellipsis", "write every dimension: `x[:, None]`"),
        _ => ("expression", ""),
    }
}

impl Ctx<'_> {
    /// Evaluates an expression.
    pub(crate) fn expr(&mut self, expr: &Expr) -> Res<Val> {
        match expr {
            // Leaves emit nothing; they report for themselves.
            Expr::Name(name) => self.at(expr, |ctx| ctx.name(&name.id)),
            Expr::NumberLiteral(number) => self.at(expr, |ctx| ctx.number_literal(&number.value)),
            Expr::StringLiteral(text) => Ok(Val::Const(PyValue::str(text.value.to_str()))),
            Expr::BooleanLiteral(literal) => Ok(Val::bool(literal.value)),
            Expr::NoneLiteral(_) => Ok(Val::NONE),
            other => self.at(other, |ctx| {
                ctx.deeper()?;
                let val = ctx.compound(other);
                ctx.depth -= 1;
                val
            }),
        }
    }

    /// Counts the nesting of what is being walked, calls included, which is bounded by the stack.
    pub(crate) fn deeper(&mut self) -> Res<()> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error_help(
                format!("expressions, statements and calls are nested more than {MAX_DEPTH} deep"),
                "give parts of it names, or end the recursion on a constexpr condition",
            ));
        }
        self.depth += 1;
        Ok(())
    }

    fn compound(&mut self, expr: &Expr) -> Res<Val> {
        match expr {
            Expr::BinOp(expr) => self.binary_expr(expr),
            Expr::UnaryOp(expr) => {
                let operand = self.expr(&expr.operand)?;
                self.unary(expr.op, operand)
            }
            Expr::Compare(expr) => self.comparison(expr),
            Expr::BoolOp(expr) => self.boolean(expr),
            Expr::Call(call) => self.call_expr(call),
            Expr::Attribute(attribute) => {
                let value = self.expr(&attribute.value)?;
                self.attribute(&value, &attribute.attr.id)
            }
            Expr::Subscript(subscript) => self.subscript(subscript),
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                self.elements(elts)
            }
            Expr::If(expr) => self.conditional(expr),
            Expr::Named(expr) => {
                self.assign_expr(&expr.target, &expr.value)?;
                self.expr(&expr.target)
            }
            Expr::Slice(slice) => self.slice(slice),
            Expr::ListComp(expr) => self.comprehension(expr),
            Expr::FString(expr) => self.f_string(expr),
            Expr::Starred(_) => Err(self.unsupported("`*` may only stand in calls, tuples and lists", "")),
            other => {
                let (name, help) = unsupported_expression(other);
                Err(self.unsupported(format!("unsupported AST node type: {name}"), help))
            }
        }
    }

    fn number_literal(&mut self, number: &Number) -> Res<Val> {
        match number {
            Number::Float(value) => Ok(Val::Const(PyValue::Float(*value))),
            Number::Int(int) => match parse_int(int) {
                Some(value) => Ok(Val::Const(PyValue::Int(value))),
                None => Err(self.error(format!("Nonrepresentable integer {int}"))),
            },
            Number::Complex { .. } => Err(self.unsupported("complex numbers are not supported", "")),
        }
    }

    /// The value of a name: local, global, or Python's own.
    pub(crate) fn name(&mut self, name: &ast::name::Name) -> Res<Val> {
        if let Some(val) = self.frame().locals.get(name).cloned() {
            return match val {
                Val::Poison => Err(Stop),
                Val::Undefined(why) => {
                    Err(self.error_help(Cause::Name.says(&*why), "give it a value before"))
                }
                val => Ok(val),
            };
        }
        if let Some(value) = self.global(name)? {
            return Ok(Val::from_py(value));
        }
        if let Some(builtin) = language::python_builtin(name) {
            return Ok(Val::Const(builtin));
        }
        let near = self.nearest_name(name);
        let help = near.map(|near| format!("did you mean `{near}`?"));
        Err(self.error_help(
            Cause::Name.says(format!("{name} is not defined")),
            help.as_deref().unwrap_or(
                "names come from the kernel's parameters, its body, and the globals of its module",
            ),
        ))
    }

    fn nearest_name(&mut self, name: &str) -> Option<String> {
        let close = |candidate: &str| {
            let same = candidate.eq_ignore_ascii_case(name);
            let prefix = candidate.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
            let suffix = candidate.chars().rev().zip(name.chars().rev()).take_while(|(a, b)| a == b).count();
            let longest = candidate.chars().count().max(name.chars().count());
            same || (longest > 2 && prefix + suffix + 1 >= longest)
        };
        self.frame().locals.keys().find(|candidate| close(candidate)).map(|name| name.to_string())
    }

    /// The value of a global name of the function being walked, if there is one that may be read.
    fn global(&mut self, name: &ast::name::Name) -> Res<Option<PyValue>> {
        let function = self.frame().parsed.function.clone();
        if stdlib::owns(&function) {
            return Ok(stdlib::global(name));
        }
        let key = (Arc::as_ptr(&self.frame().parsed).addr(), name.clone());
        let value = match self.known_globals.get(&key) {
            Some(known) => known.clone(),
            None => {
                let value = self.request.globals.lookup(&function, name);
                self.known_globals.insert(key, value.clone());
                if let Some(value) = &value {
                    let (name, value) = (name.to_string(), value.clone());
                    let function = function.clone();
                    self.dependencies.push(Dependency::Global { function, name, value });
                }
                value
            }
        };
        let plain = matches!(
            value,
            Some(
                PyValue::Bool(_) | PyValue::Int(_) | PyValue::Float(_) | PyValue::Str(_) | PyValue::Tuple(_)
            )
        );
        let named = matches!(&value, Some(PyValue::Tuple(tuple)) if tuple.fields.is_some());
        let globals = self.request.globals;
        let allowed = || globals.allows_non_constexpr_globals() || globals.is_builtin(&function);
        if plain && !named && !self.in_defaults && !allowed() {
            return Err(self.error_help(
                Cause::Name.says(format!(
                    "Cannot access global variable {name} from within @jit'ed function. Triton kernels can only access \
                     global variables that are instanstiated as constexpr (`x = triton.language.constexpr(42)`)."
                )),
                &format!(
                    "write `{name} = tl.constexpr(…)` or `{name}: tl.constexpr = …` at module level, pass it as an \
                     argument, or set TRITON_ALLOW_NON_CONSTEXPR_GLOBALS=1"
                ),
            ));
        }
        Ok(value)
    }

    /// The elements of a tuple or list; `*x` puts in those of another.
    pub(crate) fn elements(&mut self, elts: &[Expr]) -> Res<Val> {
        let mut items = Vec::with_capacity(elts.len());
        for element in elts {
            match element {
                Expr::Starred(starred) => {
                    let val = self.expr(&starred.value)?;
                    items.extend(self.at(element, |ctx| ctx.iterate(&val))?);
                }
                other => items.push(self.expr(other)?),
            }
        }
        Ok(Val::tuple(items))
    }

    /// The elements of a value that has a known number of them.
    pub(crate) fn iterate(&mut self, val: &Val) -> Res<Vec<Val>> {
        match val {
            Val::Tuple(tuple) => Ok(tuple.items.clone()),
            Val::Poison => Err(Stop),
            Val::Range(range) => self.static_elements(range),
            other => Err(self.error(Cause::Type.says(format!("cannot iterate over {}", other.describe())))),
        }
    }

    fn static_elements(&mut self, range: &Rc<crate::codegen::value::Range>) -> Res<Vec<Val>> {
        let known = |val: &Val| val.to_py().and_then(|value| constexpr::as_int(&value));
        let (Some(start), Some(end), Some(step)) =
            (known(&range.start), known(&range.end), known(&range.step))
        else {
            return Err(self.error("the bounds of this range must be constexprs"));
        };
        match lengths::range_length(start, end, step) {
            None => Err(self.error("range() step must not be zero")),
            Some(count) if count > MAX_LISTED => {
                let message = format!("this range has {count} numbers, and a list may have {MAX_LISTED}");
                Err(self.error_help(message, "use a loop over the range"))
            }
            Some(count) => {
                Ok((0..count).map(|index| Val::int(lengths::range_element(start, step, index))).collect())
            }
        }
    }

    fn slice(&mut self, slice: &ast::ExprSlice) -> Res<Val> {
        let mut part = |expr: &Option<Box<Expr>>| match expr {
            Some(expr) => self.expr(expr),
            None => Ok(Val::NONE),
        };
        Ok(Val::Slice(Rc::new([part(&slice.lower)?, part(&slice.upper)?, part(&slice.step)?])))
    }

    /// `value[index]` in a text.
    pub(crate) fn subscript(&mut self, subscript: &ast::ExprSubscript) -> Res<Val> {
        let value = self.expr(&subscript.value)?;
        let index = self.expr(&subscript.slice)?;
        self.subscript_value(&value, &index)
    }

    /// `value[index]`.
    pub(crate) fn subscript_value(&mut self, value: &Val, index: &Val) -> Res<Val> {
        match value {
            Val::Tensor(tensor) => Ok(Val::Tensor(self.index_tensor(tensor.clone(), index)?)),
            Val::Tuple(tuple) => self.index_tuple(&tuple.items, index),
            Val::Aggregate(aggregate) => {
                self.call_aggregate_method(value, aggregate, "__getitem__", vec![index.clone()], Vec::new())
            }
            Val::Const(PyValue::JitFunction(_)) => Err(self.error_help(
                "kernels cannot be launched from kernels",
                "call a @triton.jit function without a grid: `f(x)`",
            )),
            Val::Const(PyValue::Str(text)) => self.index_text(text, index),
            Val::Const(PyValue::Object(object)) => self.index_object(value, object, index),
            Val::Poison => Err(Stop),
            other => Err(self.error(Cause::Type.says(format!("{} cannot be indexed", other.describe())))),
        }
    }

    /// A character of a text, or a part of it.
    fn index_text(&mut self, text: &str, index: &Val) -> Res<Val> {
        let characters: Vec<_> =
            text.chars().map(|one| Val::Const(PyValue::str(one.encode_utf8(&mut [0; 4])))).collect();
        Ok(match self.index_tuple(&characters, index)? {
            Val::Tuple(part) => {
                let part = part.items.iter().filter_map(Val::to_py).map(|one| constexpr::text(&one));
                Val::Const(PyValue::str(&part.collect::<String>()))
            }
            one => one,
        })
    }

    /// What an object from outside, such as a dictionary in a `tl.constexpr`, has at a constant.
    fn index_object(&mut self, value: &Val, object: &ObjectRef, index: &Val) -> Res<Val> {
        let Some(PyValue::Object(get)) = self.request.globals.attribute(object, "__getitem__") else {
            return Err(self.error(Cause::Type.says(format!("{} cannot be indexed", value.describe()))));
        };
        let key = self.constant_argument("__getitem__", index)?;
        let found = self.request.globals.call(&get, &[key], &[]);
        Ok(Val::from_py(self.check(found)?))
    }

    fn index_tuple(&mut self, items: &[Val], index: &Val) -> Res<Val> {
        let len = items.len() as i128;
        let bound = |val: &Val, default: i128| match val {
            Val::Const(PyValue::None) => Some(default),
            other => other.to_py().and_then(|value| constexpr::as_int(&value)),
        };
        match index {
            Val::Const(value) if constexpr::as_int(value).is_some() => {
                let at = constexpr::as_int(value).unwrap_or(0);
                let wrapped = if at < 0 { at + len } else { at };
                match usize::try_from(wrapped).ok().and_then(|at| items.get(at)) {
                    Some(item) => Ok(item.clone()),
                    None => Err(self.error(
                        Cause::Index.says(format!("tuple index {at} out of range for {len} elements")),
                    )),
                }
            }
            Val::Slice(parts) => {
                let step = bound(&parts[2], 1).filter(|step| *step != 0);
                let (low, high) =
                    if step.is_some_and(|step| step < 0) { (len - 1, -len - 1) } else { (0, len) };
                let (Some(start), Some(stop), Some(step)) =
                    (bound(&parts[0], low), bound(&parts[1], high), step)
                else {
                    return Err(self.error("the bounds of a tuple's slice must be integer constexprs"));
                };
                let clamp = |at: i128| if at < 0 { (at + len).max(-1) } else { at.min(len) };
                let (mut at, stop) = (clamp(start).clamp(if step < 0 { -1 } else { 0 }, len), clamp(stop));
                let mut picked = Vec::new();
                while (step > 0 && at < stop.max(0)) || (step < 0 && at > stop) {
                    picked.extend(usize::try_from(at).ok().and_then(|at| items.get(at)).cloned());
                    at += step;
                }
                Ok(Val::tuple(picked))
            }
            Val::Poison => Err(Stop),
            other => {
                let message = Cause::Type
                    .says(format!("tuple index must be a constexpr integer, found {}", other.describe()));
                Err(self.error_help(message, "index with a constexpr, for example in `tl.static_range`"))
            }
        }
    }

    fn comprehension(&mut self, expr: &ast::ExprListComp) -> Res<Val> {
        let [generator] = expr.generators.as_slice() else {
            return Err(self.unsupported("nested comprehensions are not supported", "write a loop"));
        };
        let over = self.expr(&generator.iter)?;
        let items = self.at(&generator.iter, |ctx| ctx.iterate(&over))?;
        let before = self.frame().locals.clone();
        let mut results = Vec::new();
        let outcome = items.into_iter().try_for_each(|item| {
            self.repeat_code()?;
            self.assign(&generator.target, item, Numbers::Keep)?;
            for condition in &generator.ifs {
                let val = self.expr(condition)?;
                match self.condition(&val)? {
                    crate::codegen::flow::Condition::Known(true) => {}
                    crate::codegen::flow::Condition::Known(false) => return Ok(()),
                    crate::codegen::flow::Condition::Runtime(_) => {
                        return Err(self.error("the `if` of a comprehension must be a constexpr"));
                    }
                }
            }
            results.push(self.expr(&expr.elt)?);
            Ok(())
        });
        self.frame().locals = before;
        outcome?;
        Ok(Val::tuple(results))
    }
}

/// A literal of any size, as far as constants go.
pub(crate) fn parse_int(int: &ast::Int) -> Option<i128> {
    if let Some(value) = int.as_u64() {
        return Some(i128::from(value));
    }
    let text = int.to_string().replace('_', "").to_ascii_lowercase();
    match text.get(..2) {
        Some("0x") => i128::from_str_radix(&text[2..], 16).ok(),
        Some("0o") => i128::from_str_radix(&text[2..], 8).ok(),
        Some("0b") => i128::from_str_radix(&text[2..], 2).ok(),
        _ => text.parse().ok(),
    }
}
