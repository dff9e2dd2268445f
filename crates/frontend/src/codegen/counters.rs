//! The target of a `for` behind its loop.
//!
//! Python keeps the last value there, and the reference an undefined one. Which functions read it is asked of their text, so that other
//! loops compute nothing for it.
//!
//! Input:                      Output:
//! ```text
//! for i in range(0, n, 2):    scf.for %i = …
//!     …                       %last = 0 + (n - 1) / 2 * 2
//! x = i                       (the value before the loop, where it has one and n <= 0)
//! ```

use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Num, Res};
use crate::semantic::{Overflow, Predicate};
use crate::value::PyValue;
use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{self as ast, Expr, ExprContext, Operator, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};
use ttir::ops::arith_int;

/// The targets of the loops of a function.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Those that are targets of a `for`.
    targets: FxHashSet<Name>,
    /// Those that are read outside of all loops over them.
    read_outside: FxHashSet<Name>,
}

impl Counters {
    /// Those of a function.
    pub(crate) fn of(body: &[Stmt]) -> Counters {
        let mut search = Search::default();
        for stmt in body {
            search.visit_stmt(stmt);
        }
        search.found
    }
}

#[derive(Default)]
struct Search {
    found: Counters,
    /// How many loops over a name the place being visited stands in.
    open: FxHashMap<Name, usize>,
}

impl Search {
    fn read(&mut self, name: &Name) {
        if self.open.get(name).is_none_or(|count| *count == 0) {
            self.found.read_outside.insert(name.clone());
        }
    }

    fn loop_over(&mut self, stmt: &ast::StmtFor, target: &Name) {
        self.visit_expr(&stmt.iter);
        self.found.targets.insert(target.clone());
        *self.open.entry(target.clone()).or_default() += 1;
        for inner in &stmt.body {
            self.visit_stmt(inner);
        }
        *self.open.entry(target.clone()).or_default() -= 1;
    }
}

impl<'a> Visitor<'a> for Search {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::For(inner) = stmt
            && let Expr::Name(target) = &*inner.target
        {
            return self.loop_over(inner, &target.id);
        }
        if let Stmt::AugAssign(assign) = stmt
            && let Expr::Name(target) = &*assign.target
        {
            self.read(&target.id);
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr
            && name.ctx == ExprContext::Load
        {
            self.read(&name.id);
        }
        walk_expr(self, expr);
    }
}

impl Ctx<'_> {
    /// Whether a name is the target of a loop of this function, and nothing outside of such loops reads it.
    pub(crate) fn is_read_by_its_loop_alone(&mut self, name: &Name) -> bool {
        let counters = self.frame().parsed.counters();
        counters.targets.contains(name) && !counters.read_outside.contains(name)
    }

    /// The value of a loop's target behind the loop, where something may read it.
    pub(crate) fn last_count(
        &mut self,
        target: &Name,
        bounds: &[Tensor; 3],
        is_reversed: bool,
        before: Option<&Val>,
    ) -> Res<Option<Tensor>> {
        if self.is_read_by_its_loop_alone(target) {
            return Ok(None);
        }
        let [lower, upper, step] = bounds;
        let one = self.literal(&PyValue::Int(1), lower.ty.clone())?;
        let span = self.elementwise(&arith_int::SUBI, upper, lower)?;
        let below = self.elementwise(&arith_int::SUBI, &span, &one)?;
        let (below, by) = (Num::Tensor(below), Num::Tensor(step.clone()));
        let steps = self.arithmetic(Operator::FloorDiv, below, by, Overflow::Wraps)?;
        let way = self.elementwise(&arith_int::MULI, &steps, step)?;
        let last = if is_reversed {
            self.elementwise(&arith_int::SUBI, upper, &way)?
        } else {
            self.elementwise(&arith_int::ADDI, lower, &way)?
        };
        let Some(Val::Tensor(before)) = before else { return Ok(Some(last)) };
        if before.ty != last.ty {
            return Ok(Some(last));
        }
        let runs = self.compare_same(Predicate::Lt, lower, upper)?;
        self.select(runs, Num::Tensor(last), Num::Tensor(before.clone())).map(Some)
    }
}
