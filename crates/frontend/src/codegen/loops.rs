//! `for` and `while`.
//!
//! A loop is walked once. Every name that its body may set and that has a run-time value before becomes a block
//! argument; arguments that come out of the body unchanged are taken back, so that only what changes is carried.

use crate::codegen::exits::Iterations;
use crate::codegen::flow::{Condition, Flow, Rest};
use crate::codegen::join::{joinable, leaves, with_leaves};
use crate::codegen::value::{Range, Tensor, Val};
use crate::codegen::{Ctx, Res, Stop, assigned};
use crate::constexpr;
use crate::diagnostic::Cause;
use crate::dtype::{DType, Scalar};
use crate::lengths;
use crate::typing::promote_integers;
use crate::value::PyValue;
use ir::Place;
use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr};
use rustc_hash::FxHashSet;
use std::rc::Rc;
use ttir::ops::{arith_int, control};

/// How often an unrolled loop may run: more is a mistake, or would take minutes.
const MAX_UNROLLED: u128 = 1 << 16;

/// A value that a loop may carry.
struct Carried {
    name: Name,
    before: Val,
    /// Where its leaves stand among those of all carried names.
    first: usize,
    count: usize,
}

/// All values that a loop may carry.
struct Candidates {
    names: Vec<Carried>,
    /// The run-time values before the loop.
    inits: Vec<Tensor>,
}

impl Ctx<'_> {
    /// A `for` statement.
    pub(crate) fn for_statement(&mut self, stmt: &ast::StmtFor, rest: &Rest<'_>) -> Res<Flow> {
        let over = self.expr(&stmt.iter)?;
        let Val::Range(range) = over else {
            if let Val::Poison = over {
                return Err(Stop);
            }
            return Err(self.unsupported(
                format!(
                    "Only `range` and `static_range` iterators are currently supported, found {}",
                    over.describe()
                ),
                "loop with `for i in tl.static_range(len(x))` and index",
            ));
        };
        let stop = self.stop_flag(stmt);
        let has_else = !stmt.orelse.is_empty();
        if has_else && (!range.is_static || stop.is_some()) {
            return Err(
                self.unsupported("unsupported AST node type: For with else", "put it behind the loop")
            );
        }
        if stmt.body.iter().any(assigned::returns) {
            return Err(self.unsupported(
                "Cannot have `return` statements inside `while` or `for` statements in triton.",
                "keep the result in a variable and return behind the loop, or switch it on: `@triton.jit(extensions=[\"loop_exits\"])`",
            ));
        }
        if let (Some(stop), false) = (&stop, range.is_static) {
            return self.counted_until(&range, stmt, stop);
        }
        if range.is_static {
            self.unroll(&range, stmt)?;
            return Ok(self.block(&stmt.orelse, Some(rest)));
        }
        self.counted_loop(&range, stmt)?;
        Ok(Flow::Next)
    }

    fn static_bound(&mut self, val: &Val, what: &str) -> Res<i128> {
        match val {
            Val::Const(value) if constexpr::as_int(value).is_some() => {
                Ok(constexpr::as_int(value).unwrap_or(0))
            }
            Val::Poison => Err(Stop),
            other => Err(self.error_help(
                Cause::Assertion.says(format!(
                    "{} used as tl.static_range {what} value is not a constexpr",
                    other.describe()
                )),
                "use `range`, or make the value a `tl.constexpr` parameter",
            )),
        }
    }

    fn unroll(&mut self, range: &Range, stmt: &ast::StmtFor) -> Res<()> {
        let start = self.static_bound(&range.start, "start")?;
        let end = self.static_bound(&range.end, "end")?;
        let step = self.static_bound(&range.step, "step")?;
        let Some(count) = lengths::range_length(start, end, step) else {
            return Err(self.error("tl.static_range step must not be zero"));
        };
        if count > MAX_UNROLLED {
            return Err(self.error_help(
                format!(
                    "tl.static_range would be unrolled {count} times, at most {MAX_UNROLLED} are sensible"
                ),
                "use `range`",
            ));
        }
        for index in 0..count {
            let value = Val::int(lengths::range_element(start, step, index));
            if self.unrolled_body(stmt, value)? == Iterations::Enough {
                break;
            }
        }
        Ok(())
    }

    /// A bound or step of a loop. Loops compare signed numbers: a constant that fits no signed type of 32 bits has 64.
    fn bound(&mut self, val: &Val, what: &str) -> Res<Tensor> {
        let tensor = self.tensor_from(val)?;
        let Some(value) = val.to_py().and_then(|value| constexpr::as_int(&value)) else { return Ok(tensor) };
        match tensor.ty.scalar.dtype() {
            Some(DType::UInt32) => self.cast(tensor, DType::Int64),
            Some(DType::UInt64) => {
                Err(self.error(format!("the {what} is {value}, and loops count to {}", i64::MAX)))
            }
            _ => Ok(tensor),
        }
    }

    /// Bounds and step in one integer type. A negative constant step is counted upwards from zero and reversed.
    pub(crate) fn loop_bounds(&mut self, range: &Range) -> Res<([Tensor; 3], bool)> {
        let step = range.step.to_py().and_then(|value| constexpr::as_int(&value));
        if step == Some(0) {
            return Err(self.error("range() step must not be zero"));
        }
        let negative = step.is_some_and(|step| step < 0);
        let mut bounds = Vec::new();
        for (val, what) in [(&range.start, "lower bound"), (&range.end, "upper bound"), (&range.step, "step")]
        {
            let tensor = match (what, step) {
                ("step", Some(step)) if negative => self.bound(&Val::int(step.saturating_neg()), what)?,
                _ => self.bound(val, what)?,
            };
            if !tensor.ty.scalar.is_number(DType::is_int) {
                return Err(self.error_help(
                    Cause::Type.says(format!(
                        "For loop bounds and step must all be ints, the {what} is {}",
                        tensor.ty
                    )),
                    "convert it with `.to(tl.int32)`",
                ));
            }
            if tensor.ty.is_block() {
                return Err(
                    self.error(Cause::Type.says(format!("For {what} must be a scalar, got {}", tensor.ty)))
                );
            }
            bounds.push(tensor);
        }
        let dtypes = bounds.iter().filter_map(|bound| bound.ty.scalar.dtype());
        let dtype = dtypes.reduce(promote_integers).unwrap_or(DType::Int32);
        let mut cast = Vec::new();
        for bound in bounds {
            cast.push(self.cast(bound, dtype)?);
        }
        if negative {
            cast.swap(0, 1);
        }
        match cast.try_into() {
            Ok(bounds) => Ok((bounds, negative)),
            Err(_) => Err(self.error("internal error: a loop has three bounds")),
        }
    }

    fn counted_loop(&mut self, range: &Range, stmt: &ast::StmtFor) -> Res<()> {
        let Expr::Name(target) = &*stmt.target else {
            return Err(self.unsupported("the target of a `for` must be a name", ""));
        };
        let (bounds, negative) = self.loop_bounds(range)?;
        let [lower, upper, step] = bounds.clone();
        let mut names = assigned::names(&stmt.body);
        let is_set_inside = names.remove(&target.id);
        let candidates = self.candidates(&names);
        let op = self.emit_op(&control::FOR, &[lower.value, upper.value, step.value], &[], &[]);
        for (key, attr) in &range.attrs {
            self.module.set_extra(op, key.key(), Some(attr.clone()));
        }
        let region = self.module.region(op, 0);
        let block = self.module.add_block(region);
        let counter_ty = self.ir_type(&lower.ty)?;
        let counter = self.module.add_arg(block, counter_ty);
        self.module.set_name(counter, &target.id);
        let loc = self.loc();
        self.module.set_arg_loc(block, 0, loc);
        let before = self.frame().locals.clone();
        let outside = std::mem::replace(&mut self.place, Place::End(block));
        let args = self.enter(&candidates, block)?;
        let mut index = Tensor { value: counter, ty: lower.ty.clone() };
        if negative {
            // The loop counts up from the last; `upper - counter + lower` counts down from the first.
            let from_top = self.elementwise(&arith_int::SUBI, &upper, &index)?;
            index = self.elementwise(&arith_int::ADDI, &from_top, &lower)?;
        }
        self.frame().locals.insert(target.id.clone(), Val::Tensor(index));
        self.frame().loops += 1;
        self.block(&stmt.body, None);
        self.frame().loops -= 1;
        let changed = self.changed(&candidates, &args)?;
        self.yield_changed(&changed);
        self.place = outside;
        for (position, (keep, init)) in changed.iter().zip(&candidates.inits).enumerate() {
            match keep {
                Some(_) => {
                    self.module.push_operand(op, init.value);
                    let ty = self.module.ty(init.value);
                    self.module.push_result(op, ty);
                }
                None => self.module.replace_uses(args[position], init.value),
            }
        }
        self.module.retain_args(block, |index| index == 0 || changed[index - 1].is_some());
        let results = self.module.results(op).to_vec();
        let earlier = before.get(&target.id).cloned();
        self.leave(before, &candidates, &changed, results, Some(&target.id));
        let is_known = matches!(self.frame().locals.get(&target.id), Some(Val::Undefined(_)));
        if is_known
            && !is_set_inside
            && let Some(last) = self.last_count(&target.id, &bounds, negative, earlier.as_ref())?
        {
            self.frame().locals.insert(target.id.clone(), Val::Tensor(last));
        }
        Ok(())
    }

    /// The values before a loop of the names that it may set.
    fn candidates(&mut self, names: &FxHashSet<Name>) -> Candidates {
        let mut candidates = Candidates { names: Vec::new(), inits: Vec::new() };
        for (name, val) in &self.frame().locals {
            if names.contains(name) && !matches!(val, Val::Undefined(_) | Val::Poison) {
                let first = candidates.inits.len();
                leaves(val, &mut candidates.inits);
                let count = candidates.inits.len() - first;
                candidates.names.push(Carried { name: name.clone(), before: val.clone(), first, count });
            }
        }
        candidates
    }

    /// Gives the names of a loop block arguments for their values.
    fn enter(&mut self, candidates: &Candidates, block: ir::Block) -> Res<Vec<ir::Value>> {
        let mut args = Vec::new();
        for init in &candidates.inits {
            let ty = self.module.ty(init.value);
            args.push(self.module.add_arg(block, ty));
            let (index, loc) = (self.module.args(block).len() - 1, self.loc());
            self.module.set_arg_loc(block, index, loc);
        }
        for carried in &candidates.names {
            let mut next = args[carried.first..carried.first + carried.count].iter();
            let val =
                with_leaves(&carried.before, &mut |tensor| next.next().copied().unwrap_or(tensor.value));
            let val = self.with_descriptors_made(val, &carried.before)?;
            if let (Val::Tensor(tensor), 1) = (&val, carried.count) {
                self.module.set_name(tensor.value, &carried.name);
            }
            self.frame().locals.insert(carried.name.clone(), val);
        }
        Ok(args)
    }

    /// For each argument of a loop the value at the end of its body, where that is another one.
    fn changed(&mut self, candidates: &Candidates, args: &[ir::Value]) -> Res<Vec<Option<ir::Value>>> {
        let mut changed = vec![None; args.len()];
        for carried in &candidates.names {
            let Some(mut after) = self.frame().locals.get(&carried.name).cloned() else { continue };
            if let (Val::Tensor(before), Val::Tensor(tensor)) = (&carried.before, &after) {
                after = Val::Tensor(self.narrowed_extremum(tensor.clone(), &before.ty)?);
            }
            if matches!(after, Val::Undefined(_)) && self.is_read_by_its_loop_alone(&carried.name) {
                continue;
            }
            if let Err(Stop) = self.check_carried(carried, &after) {
                self.frame().locals.insert(carried.name.clone(), Val::Poison);
                continue;
            }
            let mut values = Vec::new();
            leaves(&after, &mut values);
            for (offset, value) in values.iter().enumerate() {
                let position = carried.first + offset;
                let known = self.splat_bits(value.value);
                let as_before = known.is_some() && known == self.splat_bits(candidates.inits[position].value);
                if value.value != args[position] && !as_before {
                    changed[position] = Some(value.value);
                }
            }
        }
        for (position, init) in candidates.inits.iter().enumerate() {
            self.hand_on_hints(args[position], init.value, changed[position]);
        }
        Ok(changed)
    }

    /// A hint on a value that a loop carries holds in each iteration: for the value before the loop, and for the one
    /// that the body hands on.
    fn hand_on_hints(&mut self, arg: ir::Value, init: ir::Value, next: Option<ir::Value>) {
        let ir::Def::Arg(block, index) = self.module.def(arg) else { return };
        for (key, attr) in self.module.arg_attrs(block, index as usize).to_vec() {
            self.module.set_arg_attr(block, index as usize, key.clone(), None);
            for value in std::iter::once(init).chain(next) {
                self.set_hint(value, key.clone(), attr.clone());
            }
        }
    }

    fn check_carried(&mut self, carried: &Carried, after: &Val) -> Res<()> {
        let (name, before) = (&carried.name, &carried.before);
        if joinable(before, after) {
            return Ok(());
        }
        match (before, after) {
            (_, Val::Poison) => Err(Stop),
            (Val::Tensor(_), Val::Tensor(_)) => Err(self.error_help(
                Cause::Assertion.says(format!(
                    "Loop-carried variable {name} has initial type {} but is re-assigned to {} in loop! Please make sure \
                     that the type stays consistent.",
                    type_text(before),
                    type_text(after)
                )),
                &format!(
                    "give `{name}` the type it has in the loop before the loop, or cast in the loop with `.to(…)`"
                ),
            )),
            (Val::Const(PyValue::None), _) => Err(self.error_help(
                Cause::Assertion.says(format!("Loop carried variable {name} is not a triton value: it is None before the loop")),
                &format!("give `{name}` a value of its type before the loop, for example with `tl.zeros`"),
            )),
            (Val::Const(_), _) => Err(self.error_help(
                Cause::Assertion.says(format!("cannot reassign constexpr {name} in the loop")),
                "use a name that is not annotated as constexpr, or `tl.static_range`",
            )),
            _ => Err(self.error(Cause::Assertion.says(format!(
                "Loop carried variable {name} changed type, was {} but is now {}",
                before.describe(),
                after.describe()
            )))),
        }
    }

    fn yield_changed(&mut self, changed: &[Option<ir::Value>]) {
        let values: Vec<ir::Value> = changed.iter().flatten().copied().collect();
        self.emit_effect(&control::YIELD, &values, &[]);
    }

    /// The names behind a loop: what it carries are its results; what only it defines is gone.
    fn leave(
        &mut self,
        before: crate::codegen::scope::Locals,
        candidates: &Candidates,
        changed: &[Option<ir::Value>],
        results: Vec<ir::Value>,
        counter: Option<&Name>,
    ) {
        let inside = std::mem::replace(&mut self.frame().locals, before);
        let line = {
            let range = self.at;
            self.frame().parsed.text.line_column(range.start()).0
        };
        let mut results = results.into_iter();
        for carried in &candidates.names {
            if matches!(inside.get(&carried.name), Some(Val::Poison)) {
                self.frame().locals.insert(carried.name.clone(), Val::Poison);
                continue;
            }
            let mut position = carried.first;
            let val = with_leaves(&carried.before, &mut |tensor| {
                position += 1;
                let result = changed[position - 1].and_then(|_| results.next());
                result.unwrap_or(tensor.value)
            });
            let val = self.with_descriptors_made(val, &carried.before).unwrap_or(Val::Poison);
            if let Val::Tensor(tensor) = &val
                && self.module.name(tensor.value).is_none()
            {
                self.module.set_name(tensor.value, &carried.name);
            }
            self.frame().locals.insert(carried.name.clone(), val);
        }
        for (name, val) in inside {
            if counter == Some(&name) || !self.frame().locals.contains_key(&name) {
                let gone = match val {
                    Val::Poison => Val::Poison,
                    _ => Val::Undefined(Rc::from(format!(
                        "{name} is not defined: only the loop on line {line} defines it"
                    ))),
                };
                self.frame().locals.insert(name, gone);
            }
        }
    }

    /// A `while` statement.
    pub(crate) fn while_statement(&mut self, stmt: &ast::StmtWhile) -> Res<Flow> {
        if !stmt.orelse.is_empty() {
            return Err(
                self.unsupported("unsupported AST node type: While with else", "put it behind the loop")
            );
        }
        if stmt.body.iter().any(assigned::returns) {
            return Err(self.unsupported(
                "Cannot have `return` statements inside `while` or `for` statements in triton.",
                "keep the result in a variable and return behind the loop, or switch it on: `@triton.jit(extensions=[\"loop_exits\"])`",
            ));
        }
        let mut names = assigned::names(&stmt.body);
        names.extend(assigned::names_in_expr(&stmt.test));
        let test = |ctx: &mut Self, op| ctx.loop_condition(op, &stmt.test);
        self.repeat(&names, test, |ctx| drop(ctx.block(&stmt.body, None)))?;
        Ok(Flow::Next)
    }

    /// An `scf.while` that may set these names.
    pub(crate) fn repeat(
        &mut self,
        names: &FxHashSet<Name>,
        test: impl FnOnce(&mut Self, ir::Op) -> Res<ir::Value>,
        body: impl FnOnce(&mut Self),
    ) -> Res<()> {
        let candidates = self.candidates(names);
        let before = self.frame().locals.clone();
        let op = self.emit_op(&control::WHILE, &[], &[], &[]);
        let regions = [0, 1].map(|index| self.module.region(op, index));
        let [test_block, body_block] = regions.map(|region| self.module.add_block(region));
        let outside = std::mem::replace(&mut self.place, Place::End(test_block));
        let test_args = self.enter(&candidates, test_block)?;
        let condition = match test(self, op) {
            Ok(condition) => condition,
            Err(Stop) => {
                self.place = outside;
                return Err(Stop);
            }
        };
        let passed = self.changed(&candidates, &test_args)?;
        let test_place = std::mem::replace(&mut self.place, Place::End(body_block));
        let body_args = self.enter(&candidates, body_block)?;
        self.frame().loops += 1;
        body(self);
        self.frame().loops -= 1;
        let yielded = self.changed(&candidates, &body_args)?;
        let changed: Vec<Option<ir::Value>> = (0..test_args.len())
            .map(|index| {
                let carried = passed[index].is_some() || yielded[index].is_some();
                carried.then(|| yielded[index].unwrap_or(body_args[index]))
            })
            .collect();
        self.yield_changed(&changed);
        self.place = test_place;
        let mut forwarded = vec![condition];
        for (index, keep) in changed.iter().enumerate() {
            if keep.is_some() {
                forwarded.push(passed[index].unwrap_or(test_args[index]));
            }
        }
        self.emit_effect(&control::CONDITION, &forwarded, &[]);
        self.place = outside;
        for (index, init) in candidates.inits.iter().enumerate() {
            if changed[index].is_some() {
                self.module.push_operand(op, init.value);
                let ty = self.module.ty(init.value);
                self.module.push_result(op, ty);
            } else {
                self.module.replace_uses(test_args[index], init.value);
                self.module.replace_uses(body_args[index], init.value);
            }
        }
        for block in [test_block, body_block] {
            self.module.retain_args(block, |index| changed[index].is_some());
        }
        let results = self.module.results(op).to_vec();
        self.leave(before, &candidates, &changed, results, None);
        Ok(())
    }

    fn loop_condition(&mut self, op: ir::Op, test: &Expr) -> Res<ir::Value> {
        let mut val = self.expr(test)?;
        if let Val::Condition { value, disable_licm } = &val {
            if *disable_licm {
                self.module.set_extra(op, control::DISABLE_LICM.key(), Some(ir::Attr::Unit));
            }
            val = (**value).clone();
        }
        match self.at(test, |ctx| ctx.condition(&val))? {
            Condition::Runtime(condition) => Ok(condition.value),
            Condition::Known(value) => {
                let constant = self.literal(&PyValue::Bool(value), crate::typing::Ty::scalar(DType::Int1))?;
                Ok(constant.value)
            }
        }
    }
}

fn type_text(val: &Val) -> String {
    match val {
        Val::Tensor(Tensor { ty, .. }) => match ty.scalar {
            Scalar::Number(_) | Scalar::Pointer(_) => ty.to_string(),
        },
        other => other.describe(),
    }
}
