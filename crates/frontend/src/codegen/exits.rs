//! Loops that `break` and `return` leave (extension `loop_exits`), as [`crate::loop_exits`] has rewritten them.

use crate::codegen::flow::Flow;
use crate::codegen::join::{leaves, with_leaves};
use crate::codegen::stmt::Numbers;
use crate::codegen::value::{Range, Tensor, Val};
use crate::codegen::{Ctx, Res, Stop, assigned};
use crate::extension::Extension;
use crate::loop_exits::{self, VALUE};
use crate::semantic::Predicate;
use ruff_python_ast as ast;
use ruff_python_ast::name::Name;
use ruff_text_size::Ranged;
use ttir::ops::arith_int;

/// Whether an unrolled loop goes on.
#[derive(PartialEq, Eq)]
pub(crate) enum Iterations {
    More,
    Enough,
}

impl Ctx<'_> {
    /// The flag that ends a loop, if something in it does.
    pub(crate) fn stop_flag(&mut self, stmt: &ast::StmtFor) -> Option<Name> {
        let name = loop_exits::stop_flag(stmt.range());
        self.frame().locals.contains_key(&name).then_some(name)
    }

    /// One iteration of an unrolled loop: under its flag, where that is a run-time value.
    pub(crate) fn unrolled_body(&mut self, stmt: &ast::StmtFor, value: Val) -> Res<Iterations> {
        self.repeat_code()?;
        self.assign(&stmt.target, value, Numbers::Keep)?;
        let flag = loop_exits::stop_flag(stmt.range());
        let known = match self.frame().locals.get(&flag) {
            Some(Val::Tensor(tensor)) => tensor.value,
            _ => {
                self.block(&stmt.body, None);
                return Ok(Iterations::More);
            }
        };
        match self.splat_bits(known) {
            Some(0) => drop(self.block(&stmt.body, None)),
            Some(_) => return Ok(Iterations::Enough),
            None => {
                let guarded = loop_exits::unless(flag, stmt.body.clone(), stmt.range());
                self.block(&[guarded], None);
            }
        }
        Ok(Iterations::More)
    }

    /// A `for` over a run-time range that something in it ends: a `while` that counts.
    pub(crate) fn counted_until(&mut self, range: &Range, stmt: &ast::StmtFor, stop: &Name) -> Res<Flow> {
        let ([lower, upper, step], negative) = self.loop_bounds(range)?;
        let count = Name::new(format!("count{}", stop.trim_start_matches("stop")));
        self.frame().locals.insert(count.clone(), Val::Tensor(lower.clone()));
        let mut names = assigned::names(&stmt.body);
        names.insert(count.clone());
        if let ast::Expr::Name(target) = &*stmt.target
            && !self.is_read_by_its_loop_alone(&target.id)
        {
            let known = self.frame().locals.get(&target.id);
            if matches!(known, None | Some(Val::Undefined(_))) {
                let first = if negative { &upper } else { &lower };
                self.frame().locals.insert(target.id.clone(), Val::Tensor(first.clone()));
            }
            names.insert(target.id.clone());
        }
        let test = |ctx: &mut Self, _| {
            let counted = ctx.hidden(&count)?;
            let goes_on = ctx.compare_same(Predicate::Lt, &counted, &upper)?;
            let stopped = ctx.hidden(stop)?;
            let wanted = ctx.logical_not(stopped)?;
            Ok(ctx.elementwise(&arith_int::ANDI, &wanted, &goes_on)?.value)
        };
        let body = |ctx: &mut Self| {
            let iteration = |ctx: &mut Self| {
                let counted = ctx.hidden(&count)?;
                let mut index = counted.clone();
                if negative {
                    // The loop counts up from the last.
                    let from_top = ctx.elementwise(&arith_int::SUBI, &upper, &index)?;
                    index = ctx.elementwise(&arith_int::ADDI, &from_top, &lower)?;
                }
                ctx.assign(&stmt.target, Val::Tensor(index), Numbers::Keep)?;
                ctx.block(&stmt.body, None);
                let next = ctx.elementwise(&arith_int::ADDI, &counted, &step)?;
                ctx.frame().locals.insert(count.clone(), Val::Tensor(next));
                Ok(())
            };
            // What was wrong was reported, and the names are poisoned.
            let _: Res<()> = iteration(ctx);
        };
        let outcome = self.repeat(&names, test, body);
        self.frame().locals.shift_remove(&count);
        outcome.map(|()| Flow::Next)
    }

    /// The value of a name of ours.
    fn hidden(&mut self, name: &Name) -> Res<Tensor> {
        match self.frame().locals.get(name) {
            Some(Val::Tensor(tensor)) => Ok(tensor.clone()),
            _ => Err(Stop),
        }
    }

    /// Gives the value of a `return` in a loop a start, since loops carry only what is there before them. Its type is
    /// found by walking the loop once on a copy of the module.
    pub(crate) fn prepare_returned_value(
        &mut self,
        body: &[ast::Stmt],
        walk: impl FnOnce(&mut Self) -> Res<Flow>,
    ) -> Res<()> {
        let name = Name::new_static(VALUE);
        let frame = self.frame();
        if !frame.parsed.function.0.extensions.has(Extension::LoopExits)
            || frame.looks_for_value
            || frame.locals.contains_key(&name)
            || !assigned::names(body).contains(&name)
        {
            return Ok(());
        }
        let Some(found) = self.tried(walk) else { return Ok(()) };
        let mut parts = Vec::new();
        leaves(&found, &mut parts);
        let mut zeros = Vec::new();
        for part in &parts {
            if part.ty.scalar.pointer().is_some() {
                return Err(self.error_help(
                    "a `return` in a loop cannot give a pointer",
                    "keep an offset in a variable and `break`",
                ));
            }
            let ty = self.ir_type(&part.ty)?;
            zeros.push(self.constant_bits(ty, 0));
        }
        let mut zeros = zeros.into_iter();
        let start = with_leaves(&found, &mut |tensor| zeros.next().unwrap_or(tensor.value));
        self.frame().locals.insert(name, start);
        Ok(())
    }

    /// What a walk assigns to the value of a `return`; everything else is as before it.
    fn tried(&mut self, walk: impl FnOnce(&mut Self) -> Res<Flow>) -> Option<Val> {
        let (module, place, depth) = (self.module.clone(), self.place, self.depth);
        let (locals, loops) = (self.frame().locals.clone(), self.frame().loops);
        let counts = [self.diagnostics.len(), self.warnings.len()];
        self.frame().looks_for_value = true;
        // Errors are reported by the walk that counts.
        let _ = walk(self);
        let frame = self.frame();
        frame.looks_for_value = false;
        (frame.locals, frame.loops) = (locals, loops);
        let found = frame.returned.take();
        (self.module, self.place, self.depth, self.known_loc) = (module, place, depth, None);
        self.diagnostics.truncate(counts[0]);
        self.warnings.truncate(counts[1]);
        found
    }
}
