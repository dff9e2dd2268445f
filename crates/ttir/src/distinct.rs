//! Whether the elements of a block of addresses, or of offsets, are all different.
//!
//! A block that is loaded and stored by the same addresses is read by each element before that element is written. Only
//! where no two elements have one address is it also read as a whole before anything is written.
//!
//! Strides that the program gets as numbers are taken to keep elements apart. Addresses that depend on loaded values,
//! on a remainder, on a choice and the like may be the same.

use crate::ops::arith_cast::{BITCAST, EXTSI, EXTUI, TRUNCI, TT_BITCAST};
use crate::ops::arith_int::{ADDI, MULI, SHLI, SUBI, XORI};
use crate::ops::control::{FOR, ForOp};
use crate::ops::forms::BinaryOp;
use crate::ops::memory::{ADDPTR, AddPtrOp};
use crate::ops::shape::{BROADCAST, ExpandDimsOp, MAKE_RANGE, SPLAT, TransOp};
use crate::types::shape;
use ir::{Block, Def, Module, Op, OpRow, Traits, Value};

/// How many operations are looked at before the answer is no.
const FUEL: u32 = 512;

/// Whether no two elements of a block of addresses or offsets are the same.
pub fn are_distinct(module: &Module, value: Value) -> bool {
    let mut walk = Walk { module, fuel: FUEL };
    walk.dims(value).is_some_and(|dims| covers(shape(module.ty(value)), dims))
}

/// Whether elements differ along every dimension that has several.
fn covers(shape: &[i64], dims: u64) -> bool {
    shape.iter().enumerate().all(|(dim, &size)| size == 1 || dims >> dim & 1 == 1)
}

struct Walk<'m> {
    module: &'m Module,
    fuel: u32,
}

impl Walk<'_> {
    /// The dimensions along which a value grows by a stride, a bit each; `None` where it changes in any other way.
    fn dims(&mut self, value: Value) -> Option<u64> {
        if shape(self.module.ty(value)).is_empty() {
            return Some(0);
        }
        self.fuel = self.fuel.checked_sub(1)?;
        match self.module.def(value) {
            Def::Result(op, _) => self.result(op),
            Def::Arg(block, number) => self.carried(value, block, number),
        }
    }

    fn result(&mut self, op: Op) -> Option<u64> {
        let module = self.module;
        let is = |rows: &[&'static OpRow]| rows.iter().any(|row| module.is(op, row));
        if is(&[&MAKE_RANGE]) {
            return Some(1);
        }
        let operands = module.operands(op);
        if is(&[&SPLAT]) {
            return Some(0);
        }
        if is(&[&ADDPTR, &ADDI, &SUBI]) {
            return Some(self.dims(operands[0])? | self.dims(operands[1])?);
        }
        if is(&[&MULI, &SHLI, &XORI]) {
            let (left, right) = (self.dims(operands[0])?, self.dims(operands[1])?);
            let is_stride = right == 0 || left == 0 && !module.is(op, &SHLI);
            return is_stride.then_some(left | right);
        }
        if is(&[&EXTSI, &EXTUI, &TRUNCI, &BITCAST, &TT_BITCAST, &BROADCAST]) {
            return self.dims(operands[0]);
        }
        if module.row(op).traits.has(Traits::MOVES) && operands.len() == 1 {
            return self.moved(op, operands[0]);
        }
        self.uniform(op)
    }

    /// Operations that arrange elements.
    fn moved(&mut self, op: Op, from: Value) -> Option<u64> {
        let module = self.module;
        let dims = self.dims(from)?;
        if let Some(of) = ExpandDimsOp::of(module, op) {
            let low = (1 << of.axis()) - 1;
            return Some(dims & low | (dims & !low) << 1);
        }
        if let Some(of) = TransOp::of(module, op) {
            let bits = of.order().iter().enumerate().map(|(dim, &from)| (dims >> from & 1) << dim);
            return Some(bits.sum());
        }
        let [before, after] = [from, module.result(op, 0)].map(|value| shape(module.ty(value)));
        if before == after || dims == 0 {
            return Some(dims);
        }
        covers(before, dims).then_some(u64::MAX)
    }

    /// A block that is the same number everywhere, as it is computed from such blocks.
    fn uniform(&mut self, op: Op) -> Option<u64> {
        let module = self.module;
        let is_elementwise = module.has(op, Traits::PURE) && module.regions(op).is_empty();
        let uniform = is_elementwise && module.operands(op).iter().all(|&part| self.dims(part) == Some(0));
        uniform.then_some(0)
    }

    /// What a loop carries: its first value, moved in each iteration by as much for all elements.
    fn carried(&mut self, value: Value, block: Block, number: u32) -> Option<u64> {
        let module = self.module;
        let around = module.region_parent(module.block_region(block)).filter(|&op| module.is(op, &FOR))?;
        let around = ForOp::new(module, around);
        let index = number.checked_sub(1)? as usize;
        let mut next = around.yielded()[index];
        while next != value {
            let (from, by) = moved_by(module, next)?;
            if self.dims(by) != Some(0) {
                return None;
            }
            next = from;
        }
        self.dims(around.inits()[index])
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
    }
}
