//! `if`, `return`, and the conditional expression.
//!
//! Code stays structured. A `return` under a run-time condition makes what follows the `if` part of the arms that do
//! not return: `if c: return a` followed by `rest` becomes `scf.if c { yield a } else { rest }`, whose result is
//! returned.

use crate::codegen::join::{describe_both, joinable, leaves, same, with_leaves};
use crate::codegen::scope::Locals;
use crate::codegen::value::{Tensor, Val};
use crate::codegen::{Ctx, Num, Res, Stop, assigned};
use crate::constexpr;
use crate::diagnostic::{Cause, Kind};
use crate::loop_exits;
use crate::value::PyValue;
use ir::Place;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;
use std::rc::Rc;
use ttir::ops::{constant, control};

/// What happened after statements.
#[derive(Debug)]
pub(crate) enum Flow {
    /// Control reached their end.
    Next,
    /// The function is left with a value.
    Return(Val),
    /// The function ended, on every way without a `return`.
    End,
}

/// Statements that follow in the function, the nearest first.
#[derive(Clone, Copy)]
pub(crate) struct Rest<'r> {
    pub(crate) body: &'r [Stmt],
    pub(crate) next: Option<&'r Rest<'r>>,
}

/// How one arm came out.
struct Arm {
    place: Place,
    locals: Locals,
}

/// Names and what they mean behind an `if`.
type Names = Vec<(ast::name::Name, Val)>;

/// An arm of an `if`: its condition stands elsewhere.
#[derive(Clone, Copy)]
enum Else<'e> {
    /// None.
    Nothing,
    /// `else:`.
    Body(&'e [Stmt]),
    /// `elif …:` and what follows.
    Elif(&'e ast::ElifElseClause, &'e [ast::ElifElseClause]),
}

fn else_of(clauses: &[ast::ElifElseClause]) -> Else<'_> {
    match clauses {
        [] => Else::Nothing,
        [clause, rest @ ..] if clause.test.is_some() => Else::Elif(clause, rest),
        [clause, ..] => Else::Body(&clause.body),
    }
}

/// A condition: known, or a run-time `i1`.
pub(crate) enum Condition {
    Known(bool),
    Runtime(Tensor),
}

impl Ctx<'_> {
    /// Evaluates a condition.
    pub(crate) fn condition(&mut self, val: &Val) -> Res<Condition> {
        match val {
            Val::Const(value @ (PyValue::Bool(_) | PyValue::Int(_) | PyValue::None)) => {
                Ok(Condition::Known(constexpr::truth(value)))
            }
            Val::Tensor(tensor) => {
                if tensor.ty.numel() > 1 {
                    return Err(self.unsupported(
                        format!("Boolean value of Tensor with more than one value is ambiguous (type {})", tensor.ty),
                        "reduce it first, for example with `tl.max(x.to(tl.int32))`, or select with `tl.where`",
                    ));
                }
                let scalar = self.item(tensor.clone())?;
                let truth = self.as_bool(scalar)?;
                Ok(Condition::Runtime(truth))
            }
            Val::Poison => Err(Stop),
            Val::Undefined(why) => Err(self.error(Cause::Name.says(&**why))),
            other => Err(self.unsupported(
                format!(
                    "`if` conditionals can only accept values of type {{bool, int, NoneType}}, not objects of type {}",
                    other.type_name()
                ),
                "compare it: `x is not None`, `x == …`, `len(x) > 0`",
            )),
        }
    }

    /// The condition of an `if`. Flags of loops are decided where they are constant.
    fn condition_of(&mut self, test: &Expr, val: &Val) -> Res<Condition> {
        match val {
            Val::Tensor(tensor) if loop_exits::is_flag(test) => match self.splat_bits(tensor.value) {
                Some(bits) => Ok(Condition::Known(bits != 0)),
                None => self.condition(val),
            },
            _ => self.condition(val),
        }
    }

    /// An `if` statement.
    pub(crate) fn if_statement(&mut self, stmt: &ast::StmtIf, rest: &Rest<'_>) -> Res<Flow> {
        self.if_arms(&stmt.test, &stmt.body, else_of(&stmt.elif_else_clauses), rest)
    }

    fn if_arms(&mut self, test: &Expr, body: &[Stmt], orelse: Else<'_>, rest: &Rest<'_>) -> Res<Flow> {
        let test_value = self.expr(test)?;
        match self.at(test, |ctx| ctx.condition_of(test, &test_value))? {
            Condition::Known(true) => Ok(self.block(body, Some(rest))),
            Condition::Known(false) => self.else_arm(orelse, rest),
            Condition::Runtime(condition) => {
                if body.iter().any(assigned::returns) || else_returns(orelse) {
                    return self.if_returning(condition, body, orelse, rest);
                }
                self.if_joining(condition, body, orelse)?;
                Ok(Flow::Next)
            }
        }
    }

    fn else_arm(&mut self, orelse: Else<'_>, rest: &Rest<'_>) -> Res<Flow> {
        match orelse {
            Else::Nothing => Ok(Flow::Next),
            Else::Body(body) => Ok(self.block(body, Some(rest))),
            Else::Elif(clause, clauses) => {
                let Some(test) = &clause.test else { return Ok(Flow::Next) };
                self.at(clause, |ctx| {
                    ctx.deeper()?;
                    let flow = ctx.if_arms(test, &clause.body, else_of(clauses), rest);
                    ctx.depth -= 1;
                    flow
                })
            }
        }
    }

    /// An `scf.if` without results and blocks yet.
    fn open_if(&mut self, condition: &Tensor) -> ir::Op {
        self.emit_op(&control::IF, &[condition.value], &[], &[])
    }

    /// Walks into a new block of a region on a copy of the names; gives back what the names were there.
    fn arm<T>(&mut self, op: ir::Op, region: usize, walk: impl FnOnce(&mut Self) -> T) -> (T, Arm) {
        let region = self.module.region(op, region);
        let block = self.module.add_block(region);
        let before = self.frame().locals.clone();
        let outside = std::mem::replace(&mut self.place, Place::End(block));
        let result = walk(self);
        let place = std::mem::replace(&mut self.place, outside);
        let locals = std::mem::replace(&mut self.frame().locals, before);
        (result, Arm { place, locals })
    }

    /// An `if` whose arms do not return: names that they set are joined.
    fn if_joining(&mut self, condition: Tensor, body: &[Stmt], orelse: Else<'_>) -> Res<()> {
        let op = self.open_if(&condition);
        let (_, then_arm) = self.arm(op, 0, |ctx| ctx.block(body, None));
        let (names, yields, else_place) = if matches!(orelse, Else::Nothing) {
            let before = self.frame().locals.clone();
            let (names, yields) = self.join_names(op, &then_arm.locals, &before);
            // Without values to yield there is no `else`.
            let place = (!yields[1].is_empty()).then(|| self.arm(op, 1, |_| ()).1.place);
            (names, yields, place)
        } else {
            let nothing = Rest { body: &[], next: None };
            let (outcome, else_arm) = self.arm(op, 1, |ctx| ctx.else_arm(orelse, &nothing));
            outcome?;
            let (names, yields) = self.join_names(op, &then_arm.locals, &else_arm.locals);
            (names, yields, Some(else_arm.place))
        };
        self.end_block(then_arm.place, &yields[0]);
        if let Some(place) = else_place {
            self.end_block(place, &yields[1]);
        }
        self.frame().locals.extend(names);
        Ok(())
    }

    /// The names behind an `if`, and what its arms yield for them.
    fn join_names(&mut self, op: ir::Op, a: &Locals, b: &Locals) -> (Names, [Vec<ir::Value>; 2]) {
        let before = self.frame().locals.clone();
        let mut yields: [Vec<ir::Value>; 2] = Default::default();
        let mut joined = Names::new();
        for name in a.keys().chain(b.keys().filter(|name| !a.contains_key(*name))) {
            let val = match (a.get(name), b.get(name)) {
                (Some(a), Some(b)) if same(a, b) => a.clone(),
                // Undefined on one way is undefined behind both.
                (Some(Val::Undefined(why)), Some(_)) | (Some(_), Some(Val::Undefined(why))) => {
                    Val::Undefined(why.clone())
                }
                (Some(a), Some(b)) => match self.check_join(name, before.get(name), a, b) {
                    Ok(()) => self.join_value(op, a, b, &mut yields).unwrap_or(Val::Poison),
                    Err(Stop) => Val::Poison,
                },
                _ => {
                    let line = self.line_of_at();
                    Val::Undefined(Rc::from(format!(
                        "{name} is not defined: only one arm of the `if` on line {line} defines it"
                    )))
                }
            };
            joined.push((name.clone(), val));
        }
        (joined, yields)
    }

    fn line_of_at(&mut self) -> u32 {
        let range = self.at;
        self.frame().parsed.text.line_column(range.start()).0
    }

    fn check_join(&mut self, name: &str, known: Option<&Val>, a: &Val, b: &Val) -> Res<()> {
        if [a, b].into_iter().chain(known).any(|val| matches!(val, Val::Poison)) {
            return Err(Stop);
        }
        if joinable(a, b)
            && known.is_none_or(|known| matches!(known, Val::Undefined(_)) || joinable(known, a))
        {
            return Ok(());
        }
        let message = match known {
            Some(known) if !matches!(known, Val::Undefined(_)) => {
                let (block, found) = if joinable(known, a) { ("else", b) } else { ("then", a) };
                let [known, found] = describe_both(known, found);
                format!(
                    "initial value for `{name}` is {known}, but the {block} block redefines it as {found}"
                )
            }
            _ => {
                let [then, other] = describe_both(a, b);
                format!("Mismatched type for {name} between then block ({then}) and else block ({other})")
            }
        };
        Err(self.error_help(
            Cause::Assertion.says(message),
            "a name must have one type on both ways: cast with `.to(…)`, or use two names",
        ))
    }

    /// A value whose differing leaves are new results of `op`.
    fn join_value(&mut self, op: ir::Op, a: &Val, b: &Val, yields: &mut [Vec<ir::Value>; 2]) -> Res<Val> {
        let mut others = Vec::new();
        leaves(b, &mut others);
        let mut others = others.into_iter();
        let joined = with_leaves(a, &mut |tensor| match others.next() {
            Some(other) if other.value != tensor.value => {
                // Equal constants of both arms are that constant behind them.
                let known = self.splat_bits(tensor.value);
                if let (Some(bits), true) = (known, known == self.splat_bits(other.value)) {
                    let ty = self.module.ty(tensor.value);
                    return self.constant_bits(ty, bits);
                }
                yields[0].push(tensor.value);
                yields[1].push(other.value);
                let ty = self.module.ty(tensor.value);
                self.module.push_result(op, ty)
            }
            _ => tensor.value,
        });
        self.with_descriptors_made(joined, a)
    }

    fn end_block(&mut self, place: Place, values: &[ir::Value]) {
        let outside = std::mem::replace(&mut self.place, place);
        self.emit_effect(&control::YIELD, values, &[]);
        self.place = outside;
    }

    /// An `if` with a `return` in it. The arms that go on also hold what follows.
    fn if_returning(
        &mut self,
        condition: Tensor,
        body: &[Stmt],
        orelse: Else<'_>,
        rest: &Rest<'_>,
    ) -> Res<Flow> {
        if self.frame().loops > 0 {
            return Err(self.unsupported(
                "Cannot have `return` statements inside `while` or `for` statements in triton.",
                "keep the result in a variable and return behind the loop",
            ));
        }
        let op = self.open_if(&condition);
        let (then_value, then_arm) = self.arm(op, 0, |ctx| {
            let flow = ctx.block(body, Some(rest));
            ctx.finish(flow, Some(rest))
        });
        let (else_value, else_arm) = self.arm(op, 1, |ctx| {
            let flow = ctx.else_arm(orelse, rest)?;
            Ok(ctx.finish(flow, Some(rest)))
        });
        let places = [then_arm.place, else_arm.place];
        let mut yields: [Vec<ir::Value>; 2] = Default::default();
        let flow = match self.returned_by_both([then_value, else_value?], places)? {
            Some((a, b)) => Flow::Return(self.join_value(op, &a, &b, &mut yields)?),
            None => Flow::End,
        };
        self.end_block(then_arm.place, &yields[0]);
        self.end_block(else_arm.place, &yields[1]);
        Ok(flow)
    }

    /// Walks what follows until the function returns; gives `None` where it ends without a `return`.
    fn finish(&mut self, flow: Flow, rest: Option<&Rest<'_>>) -> Option<Val> {
        let (mut flow, mut rest) = (flow, rest);
        loop {
            match (flow, rest) {
                (Flow::Return(value), _) => return Some(value),
                (Flow::End, _) | (Flow::Next, None) => return None,
                (Flow::Next, Some(here)) => {
                    flow = self.block(here.body, here.next);
                    rest = here.next;
                }
            }
        }
    }

    /// What two arms return, as values of one type. Where one arm ends without a `return`, nobody may depend on its
    /// value.
    fn returned_by_both(&mut self, values: [Option<Val>; 2], places: [Place; 2]) -> Res<Option<(Val, Val)>> {
        Ok(match values {
            [Some(a), Some(b)] => Some(self.common_return(a, b, places)?),
            [Some(a), None] => {
                let b = self.poison_like(&a, places[1]);
                Some((a, b))
            }
            [None, Some(b)] => {
                let a = self.poison_like(&b, places[0]);
                Some((a, b))
            }
            [None, None] => None,
        })
    }

    /// A value of the same type whose run-time parts have no meaning.
    fn poison_like(&mut self, val: &Val, place: Place) -> Val {
        let outside = std::mem::replace(&mut self.place, place);
        let poison = with_leaves(val, &mut |tensor| {
            let ty = self.module.ty(tensor.value);
            self.emit_as(&constant::POISON, &[], &[], ty)
        });
        self.place = outside;
        poison
    }

    /// Brings two returned values to one type; numbers become run-time constants where they differ.
    fn common_return(&mut self, a: Val, b: Val, places: [Place; 2]) -> Res<(Val, Val)> {
        if joinable(&a, &b) {
            return Ok((a, b));
        }
        let outside = self.place;
        self.place = places[0];
        let a = self.materialized_like(a, &b);
        self.place = places[1];
        let b = match &a {
            Ok(a) => self.materialized_like(b, a),
            Err(Stop) => Err(Stop),
        };
        self.place = outside;
        let (a, b) = (a?, b?);
        if joinable(&a, &b) {
            return Ok((a, b));
        }
        let [one, two] = describe_both(&a, &b);
        let message = Cause::Type.says(format!("Return type mismatch: {one} and {two}"));
        let line = self.line_of_at();
        let help = format!(
            "every `return` of a function must give the same type: cast with `.to(…)`; they part at the `if` on line \
             {line}"
        );
        let header = self.frame().parsed.header();
        Err(self.report(Kind::Compilation, message, header, &[&help]))
    }

    fn materialized_like(&mut self, val: Val, other: &Val) -> Res<Val> {
        match (&val, other) {
            (Val::Tuple(own), Val::Tuple(others)) if own.items.len() == others.items.len() => {
                let items: Res<Vec<Val>> = own
                    .items
                    .iter()
                    .zip(&others.items)
                    .map(|(item, other)| self.materialized_like(item.clone(), other))
                    .collect();
                let fields = own.fields.clone();
                Ok(Val::Tuple(Rc::new(crate::codegen::value::Tuple { items: items?, fields })))
            }
            _ if same(&val, other) => Ok(val),
            _ => self.materialized(val),
        }
    }

    /// `a if test else b`.
    pub(crate) fn conditional(&mut self, expr: &ast::ExprIf) -> Res<Val> {
        let test = self.expr(&expr.test)?;
        let condition = match self.at(&*expr.test, |ctx| ctx.condition(&test))? {
            Condition::Known(true) => return self.expr(&expr.body),
            Condition::Known(false) => return self.expr(&expr.orelse),
            Condition::Runtime(condition) => condition,
        };
        let op = self.open_if(&condition);
        let (a, then_arm) = self.arm(op, 0, |ctx| ctx.arm_of_conditional(&expr.body));
        let (b, else_arm) = self.arm(op, 1, |ctx| ctx.arm_of_conditional(&expr.orelse));
        let (a, b) = (a?, b?);
        if !joinable(&a, &b) {
            let at = expr.range();
            let [one, two] = describe_both(&a, &b);
            let message = Cause::Assertion.says(format!(
                "Ternary expression with dynamic condition has inconsistent types {one} and {two}"
            ));
            return Err(self.report(Kind::Compilation, message, at, &["cast one side with `.to(…)`"]));
        }
        let mut yields: [Vec<ir::Value>; 2] = Default::default();
        let value = self.join_value(op, &a, &b, &mut yields)?;
        self.end_block(then_arm.place, &yields[0]);
        self.end_block(else_arm.place, &yields[1]);
        Ok(value)
    }

    fn arm_of_conditional(&mut self, expr: &Expr) -> Res<Val> {
        let val = self.expr(expr)?;
        self.materialized(val)
    }

    /// A run-time truth of both arms of `and` / `or`.
    pub(crate) fn both_bools(&mut self, a: &Val, b: &Val) -> Res<(Num, Num)> {
        let (a, b) = (self.tensor_from(a)?, self.tensor_from(b)?);
        let (a, b) = (self.as_bool(a)?, self.as_bool(b)?);
        Ok((Num::Tensor(a), Num::Tensor(b)))
    }
}

fn else_returns(orelse: Else<'_>) -> bool {
    match orelse {
        Else::Nothing => false,
        Else::Body(body) => body.iter().any(assigned::returns),
        Else::Elif(clause, clauses) => {
            clause.body.iter().any(assigned::returns)
                || clauses.iter().any(|clause| clause.body.iter().any(assigned::returns))
        }
    }
}
