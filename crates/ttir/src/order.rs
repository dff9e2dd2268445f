//! Which values are nowhere larger than others.
//!
//! Enough is known for what a softmax subtracts from its scores: their own maximum, perhaps with the one so far.

use crate::ops::arith_float::SUBF;
use crate::ops::forms::BinaryOp;
use crate::ops::reduce::CombineOp;
use crate::ops::shape::{BroadcastOp, ExpandDimsOp, SplatOp};
use ir::{Module, Op, Traits, Value};
use smallvec::{SmallVec, smallvec};

/// The most values that are looked at for an answer.
const MOST: usize = 16;

/// Whether every element is known to be zero or less, or NaN, but for what fusing the difference that it is with a
/// product leaves.
pub fn is_nonpositive(module: &Module, value: Value) -> bool {
    let Some(op) = module.def_op(value).filter(|&op| module.is(op, &SUBF)) else { return false };
    let difference = BinaryOp::new(module, op);
    is_at_most(module, difference.lhs(), difference.rhs())
}

/// Whether every element of a block, or a scalar, is known to be no larger than that of another, where neither is NaN.
pub fn is_at_most(module: &Module, low: Value, high: Value) -> bool {
    let mut open: SmallVec<[Seen; 4]> = smallvec![Seen { value: high, moves: SmallVec::new() }];
    for _ in 0..MOST {
        let Some(seen) = open.pop() else { return false };
        if seen.value == low && seen.moves.is_empty() {
            return true;
        }
        let Some(op) = module.def_op(seen.value) else { continue };
        if seen.is_maximum_of(module, op, low) {
            return true;
        }
        open.extend(seen.sources(module, op));
    }
    false
}

/// How the elements of a value come to where they are compared.
#[derive(Clone, PartialEq, Eq)]
enum Move {
    /// Along a dimension that was inserted.
    Along(usize),
    /// Everywhere.
    Everywhere,
}

/// A value that is no larger than what was asked about, moved so.
struct Seen {
    value: Value,
    moves: SmallVec<[Move; 2]>,
}

impl Seen {
    fn with(&self, value: Value, more: Option<Move>) -> Seen {
        Seen { value, moves: self.moves.iter().cloned().chain(more).collect() }
    }

    /// What its operation makes it of, as long as that is no larger either.
    fn sources(&self, module: &Module, op: Op) -> SmallVec<[Seen; 2]> {
        if let Some(broadcast) = BroadcastOp::of(module, op) {
            return smallvec![self.with(broadcast.src(), None)];
        }
        if let Some(expand) = ExpandDimsOp::of(module, op) {
            return smallvec![self.with(expand.src(), Some(Move::Along(expand.axis())))];
        }
        if let Some(splat) = SplatOp::of(module, op) {
            return smallvec![self.with(splat.src(), Some(Move::Everywhere))];
        }
        if module.has(op, Traits::MAXIMUM) {
            return module.operands(op).iter().map(|&operand| self.with(operand, None)).collect();
        }
        SmallVec::new()
    }

    /// Whether it is the maximum of a block along the dimension that it comes back along.
    fn is_maximum_of(&self, module: &Module, op: Op, low: Value) -> bool {
        let Some(reduce) = CombineOp::reduction(module, op) else { return false };
        let back = if crate::types::is_tensor(module.ty(self.value)) {
            Move::Along(reduce.axis())
        } else {
            Move::Everywhere
        };
        let takes_maximum = reduce.single().is_some_and(|combine| module.has(combine, Traits::MAXIMUM));
        reduce.srcs() == [low] && self.moves[..] == [back] && takes_maximum
    }
}

#[cfg(test)]
mod tests {
    use super::is_nonpositive;
    use crate::ops::arith_float::SUBF;
    use ir::text::{ParseOptions, parse};

    /// Whether the last difference of a function of these operations is known not to be positive.
    fn holds(body: &str) -> bool {
        let text = format!(
            "module {{
  tt.func public @f(%x: tensor<8x8xf32>, %row: tensor<8xf32>, %old: tensor<8xf32>, %s: f32, %t: f32) {{
{body}
    tt.return
  }}
}}"
        );
        let module = parse(&text, crate::registry(), ParseOptions { file: None }).expect("a program");
        ir::verify(&module).expect("a valid program");
        let mut all = module.walk(module.top()).into_iter();
        let difference = all.rfind(|&op| module.is(op, &SUBF)).expect("a difference");
        is_nonpositive(&module, module.result(difference, 0))
    }

    /// A reduction of a value of a type along an axis.
    fn reduce(to: &str, from: &str, axis: usize, op: &str, types: (&str, &str)) -> String {
        format!(
            "    {to} = \"tt.reduce\"({from}) <{{axis = {axis} : i32}}> ({{
    ^bb0(%a: f32, %b: f32):
      %c = {op} %a, %b : f32
      tt.reduce.return %c : f32
    }}) : ({}) -> {}\n",
            types.0, types.1
        )
    }

    fn of_row(op: &str) -> String {
        reduce("%m", "%row", 0, op, ("tensor<8xf32>", "f32"))
            + "    %all = tt.splat %m : f32 -> tensor<8xf32>\n    %d = arith.subf %row, %all : tensor<8xf32>"
    }

    /// Scores less their maximum along `axis`, which comes back along `back`, perhaps with the maximum so far.
    fn of_block(axis: usize, back: usize, online: bool) -> String {
        let (new, more) = match online {
            true => ("%n", "    %n = arith.maxnumf %old, %m : tensor<8xf32>\n"),
            false => ("%m", ""),
        };
        let thin = if back == 1 { "tensor<8x1xf32>" } else { "tensor<1x8xf32>" };
        reduce("%m", "%x", axis, "arith.maxnumf", ("tensor<8x8xf32>", "tensor<8xf32>"))
            + more
            + &format!(
                "    %e = tt.expand_dims {new} {{axis = {back} : i32}} : tensor<8xf32> -> {thin}
    %all = tt.broadcast %e : {thin} -> tensor<8x8xf32>
    %d = arith.subf %x, %all : tensor<8x8xf32>"
            )
    }

    #[test]
    fn what_is_less_than_its_own_maximum_is_not_positive() {
        for op in ["arith.maxnumf", "arith.maximumf"] {
            assert!(holds(&of_row(op)), "{op}");
        }
        for (axis, online) in [(0, false), (0, true), (1, false), (1, true)] {
            assert!(holds(&of_block(axis, axis, online)), "{axis} {online}");
        }
        assert!(holds(
            "    %m = arith.maximumf %s, %t : f32
    %d = arith.subf %t, %m : f32"
        ));
    }

    #[test]
    fn nothing_else_is_claimed() {
        assert!(!holds(&of_row("arith.minnumf")), "a minimum");
        assert!(!holds(&of_row("arith.addf")), "a sum");
        // The maximum of each row comes back along columns.
        assert!(!holds(&of_block(1, 0, true)) && !holds(&of_block(0, 1, false)), "turned");
        assert!(!holds("    %d = arith.subf %s, %t : f32"), "two numbers");
        assert!(!holds(
            "    %m = arith.maxnumf %s, %t : f32
    %d = arith.subf %m, %t : f32"
        ));
        let other = reduce("%m", "%old", 0, "arith.maxnumf", ("tensor<8xf32>", "f32"));
        assert!(!holds(&format!(
            "{other}    %all = tt.splat %m : f32 -> tensor<8xf32>
    %d = arith.subf %row, %all : tensor<8xf32>"
        )));
    }
}
