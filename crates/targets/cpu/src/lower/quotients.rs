//! Indices that are divided by a number that is larger than a chunk, as positions of an image are for its channel.
//!
//! Input:  `store y + i, x[i] * w[i / d]` for `i` in a block
//! Output: `for each run of one quotient q { store y + i, x[i] * w[q] }`
//!
//! Inside of a run the quotient is one number, the remainder grows with the index, and what they lead to is loaded as
//! one element or as a vector in place of a gather. Done where a block of one dimension does nothing but store, all
//! quotients and remainders in its addresses are of one index by one number, and that is large enough when it runs; for
//! other numbers the group is there a second time.

use super::chunk::{Assumed, Chunks, Memo};
use super::emitter::Emitter;
use super::error::Result;
use super::nest::{Nest, Run};
use super::plan::{Group, Root};
use super::strides::{self, DEPTH};
use super::value::{Index, Lanes, Linear, Val};
use ir::{Op, Traits, Value as IrValue};
use llir::{IntCompare, Type, Value, intrinsics};
use rustc_hash::FxHashMap;
use ttir::ops::access::AccessOp;
use ttir::ops::arith_int;
use ttir::ops::forms::BinaryOp;
use ttir::ops::shape::SplatOp;

/// The shortest run that is worth a loop of its own, in chunks of one register.
const SHORTEST: i64 = 8;

/// The quotients and remainders in the addresses of a group.
pub(crate) struct Quotients {
    /// Whether runs are long enough.
    pub(crate) serve: Value,
    divisions: Vec<Op>,
    remainders: Vec<Op>,
    /// The first index, and what it is divided by: `i64`.
    first: Value,
    divisor: Value,
}

/// Divisions that are met on the way to an address.
#[derive(Default)]
struct Found {
    divisions: Vec<Op>,
    remainders: Vec<Op>,
    /// What all of them divide, and by what.
    operands: Option<[IrValue; 2]>,
    /// Whether any of them is of another kind.
    is_mixed: bool,
}

impl Emitter<'_> {
    /// The quotients in the addresses of a group, if it can go by their runs.
    pub(crate) fn quotients(&mut self, group: &Group, nest: &Nest) -> Result<Option<Quotients>> {
        let module = self.module;
        let is_plain = group.shape.len() == 1 && group.axis.is_none() && nest.lanes >= self.machine.lanes();
        if !is_plain || !group.roots.iter().all(|root| matches!(root, Root::Store(_))) {
            return Ok(None);
        }
        let roots = group.roots.iter().filter_map(|root| match root {
            Root::Store(op) => Some(*op),
            _ => None,
        });
        let loads = group.members.iter().copied().filter(|&op| AccessOp::load(module, op).is_some());
        let mut found = Found::default();
        for op in loads.chain(roots) {
            self.find_divisions(AccessOp::new(module, op).ptr(), DEPTH, &mut found);
        }
        let Found { divisions, remainders, operands: Some([dividend, divisor]), is_mixed: false } = found
        else {
            return Ok(None);
        };
        if divisions.is_empty() {
            return Ok(None);
        }
        let lanes = self.machine.lanes();
        let at = self.at(vec![Index::Known(Linear::default(), Lanes((0..i64::from(lanes)).collect()))]);
        let (mut memo, assumed) = (Memo::default(), Assumed::default());
        let val =
            Chunks::new(self, &mut memo, &assumed, lanes).scoped(|chunks| chunks.eval(dividend, &at))?;
        let Val::Affine(affine) = val else { return Ok(None) };
        let first = self.scalar_of(&affine, Type::I8);
        let divisor = match SplatOp::def(module, divisor) {
            Some(splat) => self.scalar(splat.src())?,
            None => match arith_int::int_value(module, divisor) {
                Some(number) => self.b.i64(number),
                None => return Ok(None),
            },
        };
        let [first, divisor] = [first, divisor].map(|value| self.b.resize_signed(value, Type::I64));
        let [least, zero] = [SHORTEST * i64::from(lanes), 0].map(|number| self.b.i64(number));
        let is_long = self.b.icmp(IntCompare::Sge, divisor, least);
        let is_positive = self.b.icmp(IntCompare::Sge, first, zero);
        let serve = self.b.and(is_long, is_positive);
        Ok(Some(Quotients { serve, divisions, remainders, first, divisor }))
    }

    fn find_divisions(&self, value: IrValue, depth: u32, found: &mut Found) {
        let module = self.module;
        if !ttir::types::is_tensor(module.ty(value)) || self.buffers.contains_key(&value) {
            return;
        }
        let (Some(op), Some(depth)) = (module.def_op(value), depth.checked_sub(1)) else { return };
        let row = module.row(op);
        let is = |rows: [&ir::OpRow; 2]| rows.iter().any(|own| row.is(own));
        let (divides, leaves) =
            (is([&arith_int::DIVSI, &arith_int::DIVUI]), is([&arith_int::REMSI, &arith_int::REMUI]));
        if !divides && !leaves {
            if AccessOp::of(module, op).is_none() && !row.traits.has(Traits::SOURCE) {
                module.operands(op).iter().for_each(|&operand| self.find_divisions(operand, depth, found));
            }
            return;
        }
        let two = BinaryOp::new(module, op);
        let operands = [two.lhs(), two.rhs()];
        let is_index = strides::stride(module, operands[0], 0, depth) == Some(1);
        if !is_index || !self.may_be_long(operands[1]) {
            // Of what a quotient was made of, the quotient or the remainder may be taken again.
            match is_index {
                true => found.is_mixed = true,
                false => self.find_divisions(operands[0], depth, found),
            }
            return;
        }
        found.is_mixed |= found.operands.is_some_and(|own| own != operands);
        found.operands = Some(operands);
        let own = if divides { &mut found.divisions } else { &mut found.remainders };
        if !own.contains(&op) {
            own.push(op);
        }
    }

    /// Whether a divisor is a number that may be large enough.
    fn may_be_long(&self, divisor: IrValue) -> bool {
        match arith_int::int_value(self.module, divisor) {
            Some(number) => number >= SHORTEST * i64::from(self.machine.lanes()),
            None => SplatOp::def(self.module, divisor).is_some(),
        }
    }

    /// Walks a group run by run.
    pub(crate) fn walk_runs(&mut self, group: &Group, nest: Nest, quotients: &Quotients) -> Result<()> {
        let module = self.module;
        let run = Run::new(group, nest);
        let plain = Assumed::default();
        let (size, lanes) = (self.b.i64(group.shape[0]), run.nest.lanes);
        let mut memo = Memo::default();
        let bounds = Chunks::new(self, &mut memo, &plain, lanes)
            .scoped(|chunks| chunks.bounds(&run, 0, run.innermost().step))?;
        let (extent, end) = bounds.as_ref().map_or((size, size), |bounds| (bounds.extent, bounds.end));
        let zero = self.b.i64(0);
        let opened = self.b.begin_while(&[zero]);
        let start = opened.carried[0];
        let goes_on = self.b.icmp(IntCompare::Slt, start, end);
        self.b.do_while(&opened, goes_on, &[]);
        let index = self.b.add(quotients.first, start);
        let quotient = self.b.sdiv(index, quotients.divisor);
        let excess = self.b.mul(quotient, quotients.divisor);
        let next = self.b.add(excess, quotients.divisor);
        let until = self.b.sub(next, quotients.first);
        let until = self.b.intrinsic(&intrinsics::SMIN, Type::I64, &[until, end]);
        let mut of = |ops: &[Op], value: Value| -> FxHashMap<IrValue, Value> {
            let each = ops.iter().map(|&op| {
                let result = module.result(op, 0);
                let ty = super::types::register(ttir::types::elem(module.ty(result)));
                (result, self.b.resize_signed(value, ty))
            });
            each.collect()
        };
        let assumed = Assumed {
            quotients: of(&quotients.divisions, quotient),
            no_wrap: of(&quotients.remainders, excess),
            ..Assumed::default()
        };
        let mut memo = Memo::default();
        Chunks::new(self, &mut memo, &assumed, lanes)
            .scoped(|chunks| chunks.stretch(&run, bounds.as_ref(), [start, until], extent))?;
        self.b.end_while(opened, &[until]);
        Ok(())
    }
}
