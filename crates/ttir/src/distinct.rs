//! Whether the elements of a block of addresses, or of offsets, are all different.
//!
//! A block that is loaded and stored by the same addresses is read by each element before that element is written. Only
//! where no two elements have one address is it also read as a whole before anything is written.
//!
//! Along each dimension addresses grow by a stride. Strides that are known keep elements apart if each is longer than
//! all that the shorter ones span; those that the program gets as numbers are taken to do so. Addresses that depend on
//! loaded values, on a remainder, on a choice and the like may be the same.

use crate::ops::arith_cast::{BITCAST, TRUNCI, TT_BITCAST};
use crate::ops::arith_int::{ADDI, MULI, SHLI, SUBI, XORI, int_value};
use crate::ops::constant::splat_bits;
use crate::ops::control::{FOR, ForOp};
use crate::ops::forms::{BinaryOp, UnaryOp};
use crate::ops::memory::AddPtrOp;
use crate::ops::shape::{BROADCAST, ExpandDimsOp, MAKE_RANGE, SPLAT, TransOp};
use crate::types::shape;
use ir::{Block, Def, Module, Op, OpRow, Traits, Value};
use smallvec::{SmallVec, smallvec};

/// How many operations are looked at before the answer is no.
const FUEL: u32 = 512;

/// By how much a value grows from one position along a dimension to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stride {
    Known(i64),
    /// By a number that the program gets.
    Open,
}

use Stride::{Known, Open};

/// A stride for each dimension; none for a scalar.
type Strides = SmallVec<[Stride; 4]>;

/// Whether no two elements of a block of addresses or offsets are the same.
pub fn are_distinct(module: &Module, value: Value) -> bool {
    let mut walk = Walk { module, fuel: FUEL };
    walk.strides(value).is_some_and(|strides| keep_apart(shape(module.ty(value)), &strides))
}

/// Whether strides keep the elements of a block of these sizes apart.
fn keep_apart(sizes: &[i64], strides: &[Stride]) -> bool {
    let known = sizes.iter().zip(strides).filter(|(size, _)| **size > 1);
    let known = known.filter_map(|(&size, &stride)| match stride {
        Known(stride) => Some((stride.unsigned_abs(), size.unsigned_abs())),
        Open => None,
    });
    let mut known: SmallVec<[(u64, u64); 4]> = known.collect();
    known.sort_unstable();
    let mut span = 0u64;
    known.into_iter().all(|(stride, size)| {
        let is_longer = stride > span;
        span = span.saturating_add(stride.saturating_mul(size - 1));
        is_longer
    })
}

fn is_uniform(strides: &[Stride]) -> bool {
    strides.iter().all(|&stride| stride == Known(0))
}

/// What becomes of strides where all elements are changed alike; those that are zero stay so.
fn scaled(strides: &[Stride], by: impl Fn(i64) -> Option<i64>) -> Strides {
    let scale = |&stride: &Stride| match stride {
        Known(0) => Known(0),
        Known(stride) => by(stride).map_or(Open, Known),
        Open => Open,
    };
    strides.iter().map(scale).collect()
}

struct Walk<'m> {
    module: &'m Module,
    fuel: u32,
}

impl Walk<'_> {
    /// The strides of a value; `None` where it changes in any other way.
    fn strides(&mut self, value: Value) -> Option<Strides> {
        if shape(self.module.ty(value)).is_empty() {
            return Some(Strides::new());
        }
        self.fuel = self.fuel.checked_sub(1)?;
        match self.module.def(value) {
            Def::Result(op, _) => self.result(op),
            Def::Arg(block, number) => self.carried(value, block, number),
        }
    }

    fn result(&mut self, op: Op) -> Option<Strides> {
        let module = self.module;
        let is = |rows: &[&'static OpRow]| rows.iter().any(|row| module.is(op, row));
        let sizes = shape(module.ty(module.result(op, 0)));
        let (first, both) = (|| UnaryOp::new(module, op).src(), || BinaryOp::new(module, op));
        if is(&[&MAKE_RANGE]) {
            return Some(smallvec![Known(1)]);
        }
        if is(&[&SPLAT]) {
            return Some(smallvec![Known(0); sizes.len()]);
        }
        if module.has(op, Traits::ADDS) || is(&[&SUBI]) {
            let (left, right) = (self.strides(both().lhs())?, self.strides(both().rhs())?);
            let add = if is(&[&SUBI]) { i64::checked_sub } else { i64::checked_add };
            let sum = |(&left, &right): (&Stride, &Stride)| match (left, right) {
                (Known(left), Known(right)) => add(left, right).map_or(Open, Known),
                _ => Open,
            };
            return Some(left.iter().zip(&right).map(sum).collect());
        }
        if is(&[&MULI, &SHLI, &XORI]) {
            return self.by_number(op, both());
        }
        if is(&[&TT_BITCAST]) {
            // Elements of another size.
            return Some(scaled(&self.strides(first())?, |_| None));
        }
        if module.has(op, Traits::WIDENS) || is(&[&TRUNCI, &BITCAST]) {
            return self.strides(first());
        }
        if is(&[&BROADCAST]) {
            let from = shape(module.ty(first()));
            let strides = self.strides(first())?;
            let kept =
                from.iter().zip(&strides).map(|(&size, &stride)| if size == 1 { Known(0) } else { stride });
            return Some(kept.collect());
        }
        if module.has(op, Traits::MOVES) && module.operands(op).len() == 1 {
            return self.moved(op, first());
        }
        self.uniform(op)
    }

    /// A block that is multiplied or shifted by one number, or has its bits flipped by one.
    fn by_number(&mut self, op: Op, of: BinaryOp<'_>) -> Option<Strides> {
        let (module, left, right) = (self.module, of.lhs(), of.rhs());
        let strides = [self.strides(left)?, self.strides(right)?];
        let (strides, number) = match (is_uniform(&strides[0]), is_uniform(&strides[1])) {
            (_, true) => (&strides[0], self.number(right)),
            (true, _) if !module.is(op, &SHLI) => (&strides[1], self.number(left)),
            _ => return None,
        };
        if module.is(op, &MULI) {
            return Some(scaled(strides, |stride| stride.checked_mul(number?)));
        }
        let shifts = number.filter(|number| module.is(op, &SHLI) && (0..63).contains(number));
        Some(scaled(strides, |stride| stride.checked_mul(1 << shifts?)))
    }

    /// The number that a block is everywhere, if it is known.
    fn number(&self, value: Value) -> Option<i64> {
        let module = self.module;
        let splat = module.def_op(value).filter(|&op| module.is(op, &SPLAT));
        int_value(module, value).or_else(|| int_value(module, UnaryOp::new(module, splat?).src()))
    }

    /// Operations that arrange elements.
    fn moved(&mut self, op: Op, from: Value) -> Option<Strides> {
        let module = self.module;
        let mut strides = self.strides(from)?;
        if let Some(of) = ExpandDimsOp::of(module, op) {
            strides.insert(of.axis(), Known(0));
            return Some(strides);
        }
        if let Some(of) = TransOp::of(module, op) {
            return Some(of.order().iter().map(|&from| strides[from as usize]).collect());
        }
        let [before, after] = [from, module.result(op, 0)].map(|value| shape(module.ty(value)));
        if before == after {
            return Some(strides);
        }
        let any = if is_uniform(&strides) { Known(0) } else { Open };
        (any == Known(0) || keep_apart(before, &strides)).then(|| smallvec![any; after.len()])
    }

    /// A block that is the same number everywhere, as it is computed from such blocks.
    fn uniform(&mut self, op: Op) -> Option<Strides> {
        let module = self.module;
        let is_known = !module.has(op, Traits::CONSTANT)
            || module.constant(module.result(op, 0)).and_then(splat_bits).is_some();
        let is_elementwise = module.has(op, Traits::PURE) && module.regions(op).is_empty() && is_known;
        let mut is_same = |part: Value| self.strides(part).is_some_and(|strides| is_uniform(&strides));
        let uniform = is_elementwise && module.operands(op).iter().all(|&part| is_same(part));
        uniform.then(|| smallvec![Known(0); shape(module.ty(module.result(op, 0))).len()])
    }

    /// What a loop carries: its first value, moved in each iteration by as much for all elements.
    fn carried(&mut self, value: Value, block: Block, number: u32) -> Option<Strides> {
        let module = self.module;
        let around = module.region_parent(module.block_region(block)).filter(|&op| module.is(op, &FOR))?;
        let around = ForOp::new(module, around);
        let index = number.checked_sub(1)? as usize;
        let mut next = around.yielded()[index];
        while next != value {
            let (from, by) = moved_by(module, next)?;
            if !is_uniform(&self.strides(by)?) {
                return None;
            }
            next = from;
        }
        self.strides(around.inits()[index])
    }
}

/// An address or an offset, and what is added to it.
fn moved_by(module: &Module, value: Value) -> Option<(Value, Value)> {
    if let Some(of) = AddPtrOp::def(module, value) {
        return Some((of.ptr(), of.offset()));
    }
    let op = module.def_op(value).filter(|&op| module.is(op, &ADDI))?;
    let of = BinaryOp::new(module, op);
    Some((of.lhs(), of.rhs()))
}

#[cfg(test)]
mod tests {
    use super::are_distinct;
    use crate::ops::memory::StoreOp;

    /// Whether the addresses of the only store of a kernel are distinct.
    fn of(body: &str) -> bool {
        let text = format!("tt.func @f(%p: !tt.ptr<f32>, %s: i32) {{\n{body}\n  tt.return\n}}\n");
        let module = ir::text::parse(&text, crate::registry(), ir::text::ParseOptions::default())
            .expect("the text is valid");
        let store = module.walk(module.top()).into_iter().find_map(|op| StoreOp::of(&module, op));
        are_distinct(&module, store.expect("there is a store").ptr())
    }

    #[test]
    fn strides_keep_elements_apart() {
        let range = "  %i = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %v = arith.constant dense<0.0> : tensor<8xf32>
  %a = tt.splat %p : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %k = tt.splat %s : i32 -> tensor<8xi32>\n";
        let store = "  %q = tt.addptr %a, %j : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  tt.store %q, %v : tensor<8x!tt.ptr<f32>>";
        let by = |op: &str| of(&format!("{range}  %j = {op} : tensor<8xi32>\n{store}"));
        assert!(by("arith.muli %i, %k"));
        assert!(by("arith.addi %i, %k"));
        assert!(!by("arith.muli %i, %i"));
        assert!(!by("arith.remsi %i, %k"));
        assert!(!by("arith.addi %k, %k"));
        assert!(!by("arith.subi %i, %i"));
    }

    #[test]
    fn known_strides_must_be_longer_than_what_others_span() {
        let by = |rows: i64, columns: i64| {
            of(&format!(
                "  %i = tt.make_range {{end = 4 : i32, start = 0 : i32}} : tensor<4xi32>
  %j = tt.make_range {{end = 8 : i32, start = 0 : i32}} : tensor<8xi32>
  %v = arith.constant dense<0.0> : tensor<4x8xf32>
  %r = tt.expand_dims %i {{axis = 1 : i32}} : tensor<4xi32> -> tensor<4x1xi32>
  %c = tt.expand_dims %j {{axis = 0 : i32}} : tensor<8xi32> -> tensor<1x8xi32>
  %rs = arith.constant dense<{rows}> : tensor<4x1xi32>
  %cs = arith.constant dense<{columns}> : tensor<1x8xi32>
  %rm = arith.muli %r, %rs : tensor<4x1xi32>
  %cm = arith.muli %c, %cs : tensor<1x8xi32>
  %rb = tt.broadcast %rm : tensor<4x1xi32> -> tensor<4x8xi32>
  %cb = tt.broadcast %cm : tensor<1x8xi32> -> tensor<4x8xi32>
  %o = arith.addi %rb, %cb : tensor<4x8xi32>
  %a = tt.splat %p : !tt.ptr<f32> -> tensor<4x8x!tt.ptr<f32>>
  %q = tt.addptr %a, %o : tensor<4x8x!tt.ptr<f32>>, tensor<4x8xi32>
  tt.store %q, %v : tensor<4x8x!tt.ptr<f32>>"
            ))
        };
        assert!(by(8, 1) && by(-8, 1) && by(1, 4) && by(100, -2));
        assert!(!by(1, 1) && !by(7, 1) && !by(1, 3) && !by(0, 1) && !by(8, 0) && !by(2, 1));
    }
}
