//! Questions about statements that need no values: which names they set, whether they return.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ExprContext, Stmt};
use rustc_hash::FxHashSet;

#[derive(Default)]
struct Names {
    /// Those that are set.
    whole: FxHashSet<Name>,
    /// Those of blocks of which a part is set.
    parts: FxHashSet<Name>,
}

impl<'a> Visitor<'a> for Names {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr
            && name.ctx == ExprContext::Store
        {
            self.whole.insert(name.id.clone());
        }
        // `x[0] = y` makes a new block, which is called x.
        if let Expr::Subscript(subscript) = expr
            && let Expr::Name(name) = &*subscript.value
            && subscript.ctx == ExprContext::Store
        {
            self.parts.insert(name.id.clone());
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
    names.whole.extend(names.parts);
    names.whole
}

/// Every name that a statement may set, but for those that have a value already, of which it sets a part.
pub(crate) fn new_names(stmt: &Stmt) -> FxHashSet<Name> {
    let mut names = Names::default();
    names.visit_stmt(stmt);
    names.whole
}

/// Every name that an expression may set, with `:=`.
pub(crate) fn names_in_expr(expr: &Expr) -> FxHashSet<Name> {
    let mut names = Names::default();
    names.visit_expr(expr);
    names.whole
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
