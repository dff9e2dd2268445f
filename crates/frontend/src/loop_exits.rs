//! `break`, `continue` and `return` in loops, as flags (extension `loop_exits`).
//!
//! The syntax tree is rewritten before it is walked, so that code stays structured. Of each loop two flags are kept:
//! `stop$` says that no further iteration is wanted, `skip$` that nothing more of this one is; what follows an exit
//! goes under the `else` of its condition.
//!
//! Input:                          Output:
//! ```text
//! while c:                        stop$7 = False
//!     x += 1                      while False if stop$7 else not not c:
//!     if x > n:                       skip$7 = False
//!         break                       x += 1
//!     y += x                          if x > n: stop$7 = True; skip$7 = True
//!                                     else: y += x
//! ```
//! `return` in a loop also sets `returned$` and the value `value$`, and `if returned$: return value$` follows the
//! outermost loop. Names of flags hold a `$`, which no name of Python does. A `for` over a run-time range that stops
//! becomes a `while` when it is walked.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::{Visitor, walk_stmt};
use ruff_python_ast::{self as ast, AtomicNodeIndex, ExceptHandler, Expr, ExprContext, Stmt, Suite, UnaryOp};
use ruff_text_size::{Ranged, TextRange};

/// The value that a `return` in a loop gives.
pub(crate) const VALUE: &str = "value$";
/// Whether a loop returned from the function.
const RETURNED: &str = "returned$";

/// The flag that ends the loop at a place.
pub(crate) fn stop_flag(of: TextRange) -> Name {
    flag("stop", of)
}

fn flag(what: &str, of: TextRange) -> Name {
    Name::new(format!("{what}${}", of.start().to_u32()))
}

/// Whether a condition is one of the flags of this file.
pub(crate) fn is_flag(test: &Expr) -> bool {
    matches!(test, Expr::Name(name) if name.id.contains('$'))
}

/// Whether statements leave the iteration that they stand in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Never,
    Sometimes,
    Always,
}

/// A loop around what is being rewritten.
struct Loop {
    range: TextRange,
    skips: bool,
    stops: bool,
    returns: bool,
}

/// Rewrites a function.
pub(crate) fn rewrite(definition: &mut ast::StmtFunctionDef) {
    let mut search = Search::default();
    definition.body.iter().for_each(|stmt| search.visit_stmt(stmt));
    if !search.exits {
        return;
    }
    let mut rewriting = Rewriting { loops: Vec::new(), gives_values: search.values };
    let (mut body, _) = rewriting.block(std::mem::take(&mut definition.body));
    if search.returns {
        body.insert(0, assign(RETURNED.into(), boolean(false, definition.range), definition.range));
    }
    definition.body = body;
}

/// What there is in loops.
#[derive(Default)]
struct Search {
    loops: usize,
    exits: bool,
    returns: bool,
    values: bool,
}

impl<'a> Visitor<'a> for Search {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::For(_) | Stmt::While(_) => {
                self.loops += 1;
                walk_stmt(self, stmt);
                self.loops -= 1;
            }
            Stmt::Break(_) | Stmt::Continue(_) => self.exits |= self.loops > 0,
            Stmt::Return(returned) if self.loops > 0 => {
                (self.exits, self.returns) = (true, true);
                self.values |= returned.value.is_some();
            }
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            other => walk_stmt(self, other),
        }
    }

    fn visit_expr(&mut self, _expr: &'a Expr) {}

    fn visit_except_handler(&mut self, _handler: &'a ExceptHandler) {}
}

struct Rewriting {
    loops: Vec<Loop>,
    /// Whether a `return` in a loop has a value.
    gives_values: bool,
}

impl Rewriting {
    fn block(&mut self, body: Suite) -> (Suite, End) {
        let mut out = Suite::new();
        let mut stmts = body.into_iter();
        while let Some(stmt) = stmts.next() {
            let range = stmt.range();
            let end = self.statement(stmt, &mut out);
            if end == End::Never {
                continue;
            }
            let rest: Suite = stmts.collect();
            if rest.is_empty() || end == End::Always {
                return (out, end);
            }
            let (rest, rest_end) = self.block(rest);
            self.put_rest(&mut out, rest, range);
            return (out, if rest_end == End::Always { End::Always } else { End::Sometimes });
        }
        (out, End::Never)
    }

    /// Puts what follows a statement with exits where it runs if there was none.
    fn put_rest(&self, out: &mut Suite, rest: Suite, range: TextRange) {
        if let Some(Stmt::If(branch)) = out.last_mut()
            && branch.elif_else_clauses.is_empty()
            && branch.body.last().is_some_and(is_skip)
        {
            branch.elif_else_clauses.push(otherwise(rest, range));
            return;
        }
        if let Some(innermost) = self.loops.last() {
            out.push(unless(flag("skip", innermost.range), rest, range));
        }
    }

    fn statement(&mut self, stmt: Stmt, out: &mut Suite) -> End {
        let range = stmt.range();
        match stmt {
            Stmt::Break(_) if !self.loops.is_empty() => self.leave(false, range, out),
            Stmt::Continue(_) if !self.loops.is_empty() => {
                out.push(self.skip(range));
                End::Always
            }
            Stmt::Return(returned) if !self.loops.is_empty() => {
                if self.gives_values {
                    let none = || Box::new(Expr::NoneLiteral(ast::ExprNoneLiteral::default()));
                    let value = returned.value.unwrap_or_else(none);
                    out.push(assign(VALUE.into(), *value, range));
                }
                out.push(assign(RETURNED.into(), boolean(true, range), range));
                self.leave(true, range, out)
            }
            Stmt::If(branch) => self.branch(branch, out),
            Stmt::With(mut with) => {
                let (body, end) = self.block(std::mem::take(&mut with.body));
                with.body = body;
                out.push(Stmt::With(with));
                end
            }
            Stmt::For(mut counted) => {
                let (body, left) = self.loop_body(std::mem::take(&mut counted.body), range);
                counted.body = body;
                self.put_loop(Stmt::For(counted), left, out)
            }
            Stmt::While(mut repeated) => {
                let (body, left) = self.loop_body(std::mem::take(&mut repeated.body), range);
                repeated.body = body;
                if left.stops {
                    *repeated.test = unless_stopped(&repeated.test, range);
                }
                self.put_loop(Stmt::While(repeated), left, out)
            }
            other => {
                out.push(other);
                End::Never
            }
        }
    }

    /// Sets the flags of a `break`, or of a `return`.
    fn leave(&mut self, returns: bool, range: TextRange, out: &mut Suite) -> End {
        if let Some(innermost) = self.loops.last_mut() {
            innermost.stops = true;
            innermost.returns |= returns;
            out.push(assign(flag("stop", innermost.range), boolean(true, range), range));
            out.push(self.skip(range));
        }
        End::Always
    }

    fn skip(&mut self, range: TextRange) -> Stmt {
        let innermost = self.loops.last_mut().expect("an exit stands in a loop");
        innermost.skips = true;
        assign(flag("skip", innermost.range), boolean(true, range), range)
    }

    fn branch(&mut self, mut branch: ast::StmtIf, out: &mut Suite) -> End {
        let (body, end) = self.block(std::mem::take(&mut branch.body));
        branch.body = body;
        let mut ends = vec![end];
        for clause in &mut branch.elif_else_clauses {
            let (body, end) = self.block(std::mem::take(&mut clause.body));
            clause.body = body;
            ends.push(end);
        }
        let is_complete = branch.elif_else_clauses.last().is_some_and(|clause| clause.test.is_none());
        out.push(Stmt::If(branch));
        if ends.iter().all(|end| *end == End::Never) {
            End::Never
        } else if is_complete && ends.iter().all(|end| *end == End::Always) {
            End::Always
        } else {
            End::Sometimes
        }
    }

    fn loop_body(&mut self, body: Suite, range: TextRange) -> (Suite, Loop) {
        self.loops.push(Loop { range, skips: false, stops: false, returns: false });
        let (mut body, _) = self.block(body);
        let left = self.loops.pop().expect("it was pushed");
        if left.skips {
            body.insert(0, assign(flag("skip", range), boolean(false, range), range));
        }
        (body, left)
    }

    /// Puts a loop, its flag in front of it, and behind it what a `return` in it does.
    fn put_loop(&mut self, stmt: Stmt, left: Loop, out: &mut Suite) -> End {
        let range = left.range;
        if left.stops {
            out.push(assign(stop_flag(range), boolean(false, range), range));
        }
        out.push(stmt);
        if !left.returns {
            return End::Never;
        }
        let mut body = Suite::new();
        if self.loops.is_empty() {
            let value = self.gives_values.then(|| Box::new(name(VALUE.into(), ExprContext::Load, range)));
            body.push(Stmt::Return(ast::StmtReturn { node_index: AtomicNodeIndex::NONE, range, value }));
        } else {
            self.leave(true, range, &mut body);
        }
        let returns = !self.loops.is_empty();
        out.push(when(RETURNED.into(), body, Vec::new(), range));
        if returns { End::Sometimes } else { End::Never }
    }
}

fn is_skip(stmt: &Stmt) -> bool {
    let Stmt::Assign(assign) = stmt else { return false };
    matches!(assign.targets.as_slice(), [Expr::Name(name)] if name.id.starts_with("skip$"))
}

fn name(id: Name, ctx: ExprContext, range: TextRange) -> Expr {
    Expr::Name(ast::ExprName { node_index: AtomicNodeIndex::NONE, range, id, ctx })
}

fn boolean(value: bool, range: TextRange) -> Expr {
    Expr::BooleanLiteral(ast::ExprBooleanLiteral { node_index: AtomicNodeIndex::NONE, range, value })
}

/// `target = value`.
pub(crate) fn assign(target: Name, value: Expr, range: TextRange) -> Stmt {
    let targets = vec![name(target, ExprContext::Store, range)];
    Stmt::Assign(ast::StmtAssign {
        node_index: AtomicNodeIndex::NONE,
        range,
        targets,
        value: Box::new(value),
    })
}

fn otherwise(body: Suite, range: TextRange) -> ast::ElifElseClause {
    ast::ElifElseClause { range, node_index: AtomicNodeIndex::NONE, test: None, body }
}

fn when(flag: Name, body: Suite, orelse: Vec<ast::ElifElseClause>, range: TextRange) -> Stmt {
    let test = Box::new(name(flag, ExprContext::Load, range));
    let node_index = AtomicNodeIndex::NONE;
    Stmt::If(ast::StmtIf { node_index, range, test, body, elif_else_clauses: orelse })
}

/// `if flag: pass`, `else: body`.
pub(crate) fn unless(flag: Name, body: Suite, range: TextRange) -> Stmt {
    let pass = Stmt::Pass(ast::StmtPass { node_index: AtomicNodeIndex::NONE, range });
    when(flag, std::iter::once(pass).collect(), vec![otherwise(body, range)], range)
}

/// `False if stop$ else not not test`.
fn unless_stopped(test: &Expr, range: TextRange) -> Expr {
    let not = |operand: Expr| {
        let range = operand.range();
        let node_index = AtomicNodeIndex::NONE;
        Expr::UnaryOp(ast::ExprUnaryOp { node_index, range, op: UnaryOp::Not, operand: Box::new(operand) })
    };
    Expr::If(ast::ExprIf {
        node_index: AtomicNodeIndex::NONE,
        range: test.range(),
        test: Box::new(name(stop_flag(range), ExprContext::Load, range)),
        body: Box::new(boolean(false, range)),
        orelse: Box::new(not(not(test.clone()))),
    })
}
