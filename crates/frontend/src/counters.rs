//! The targets of the loops of a function, and which of them are read outside of their loops: asked of the text alone.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{self as ast, Expr, ExprContext, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

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

    /// Whether a name is the target of a loop, and nothing outside of such loops reads it.
    pub(crate) fn is_read_by_its_loop_alone(&self, name: &Name) -> bool {
        self.targets.contains(name) && !self.read_outside.contains(name)
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
