//! Questions about statements that need no values: which names they set, whether they return.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ExprContext, Stmt};
use rustc_hash::FxHashSet;

#[derive(Default)]
struct Names(FxHashSet<Name>);

impl<'a> Visitor<'a> for Names {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr
            && name.ctx == ExprContext::Store
        {
            self.0.insert(name.id.clone());
        }
        walk_expr(self, expr);
    }
}

/// Every name that statements may set.
pub(crate) fn names(body: &[Stmt]) -> FxHashSet<Name> {
    let mut names = Names::default();
    for stmt in body {
        names.visit_stmt(stmt);
    }
    names.0
}

/// Every name that an expression may set, with `:=`.
pub(crate) fn names_in_expr(expr: &Expr) -> FxHashSet<Name> {
    let mut names = Names::default();
    names.visit_expr(expr);
    names.0
}

#[derive(Default)]
struct Returns(bool);

impl<'a> Visitor<'a> for Returns {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Return(_) => self.0 = true,
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            other => walk_stmt(self, other),
        }
    }

    fn visit_expr(&mut self, _expr: &'a Expr) {}
}

/// Whether a statement holds a `return`.
pub(crate) fn returns(stmt: &Stmt) -> bool {
    let mut returns = Returns::default();
    returns.visit_stmt(stmt);
    returns.0
}
