//! Reductions, scans, elementwise regions and histograms.

use super::Maker;
use crate::ops::{arith_float, arith_int, compare, control, reduce};
use crate::types::{elem, is_tensor, pointee, shape};
use ir::{Attr, Builder, FloatKind, OpInit, OpRow, Place, Type, Value};
use smallvec::SmallVec;

/// Associative and commutative operations on integers.
pub(super) static INTS: &[&OpRow] = &[
    &arith_int::ADDI,
    &arith_int::MULI,
    &arith_int::ANDI,
    &arith_int::ORI,
    &arith_int::XORI,
    &arith_int::MAXSI,
    &arith_int::MINSI,
    &arith_int::MAXUI,
    &arith_int::MINUI,
];

/// Operations on floats whose result does not depend on the order, but for the sign of zeros in the last two.
static EXTREMA: &[&OpRow] =
    &[&arith_float::MAXIMUMF, &arith_float::MINIMUMF, &arith_float::MAXNUMF, &arith_float::MINNUMF];

/// How values along an axis are combined.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Reduction,
    Scan,
}

impl Maker {
    pub(super) fn random_combination(&mut self) {
        match self.random.below(9) {
            6..=8 => self.combine_several(),
            0..=2 => self.combine(Kind::Reduction),
            3 => self.combine(Kind::Scan),
            4 => self.map_elementwise(),
            _ => self.histogram(),
        }
    }

    /// A reduction or scan, by one operation.
    fn combine(&mut self, kind: Kind) {
        let Some(mut source) =
            self.pick(|ty| is_tensor(ty) && pointee(ty).is_none() && super::is_computed(elem(ty)))
        else {
            return;
        };
        let ty = self.ty(source);
        let axis = self.random.below(shape(ty).len() as u64) as i32;
        let float = elem(ty).as_float();
        // Sums of many numbers are no longer exact in bfloat16.
        let sums = float.is_some_and(|kind| kind != FloatKind::BF16) && self.random.one_in(2);
        if sums {
            source = self.small_integers(source);
        }
        let combiner = match float {
            _ if sums => &arith_float::ADDF,
            Some(_) => self.random.of(EXTREMA),
            None => self.random.of(INTS),
        };
        if [&arith_float::MAXNUMF, &arith_float::MINNUMF].iter().any(|row| row.name == combiner.name) {
            source = self.positive_zeros(source);
        }
        let reverse = self.random.one_in(2);
        if let Some(result) = self.combined(kind, source, (axis, reverse), combiner) {
            self.learn(result);
        }
    }

    /// A value along an axis, from the front or from the end, combined by one operation.
    fn combined(
        &mut self,
        kind: Kind,
        source: Value,
        (axis, reverse): (i32, bool),
        combiner: &'static OpRow,
    ) -> Option<Value> {
        let elem = elem(self.ty(source));
        let mut attrs = vec![Some(Attr::i32(axis))];
        let (row, terminator) = match kind {
            Kind::Reduction => (&reduce::REDUCE, &reduce::REDUCE_RETURN),
            Kind::Scan => {
                attrs.push(Some(Attr::Bool(reverse)));
                (&reduce::SCAN, &reduce::SCAN_RETURN)
            }
        };
        let results = ir::infer(&self.module, row, &[source], &attrs).ok()?;
        let init = OpInit {
            operands: SmallVec::from_slice(&[source]),
            results,
            attrs: attrs.into_iter().collect(),
            regions: 1,
        };
        let op = self.builder().insert(row, init);
        self.fill_region(op, &[elem; 2], terminator, |builder, args| {
            vec![builder.build(combiner, args, &[])]
        });
        Some(self.module.result(op, 0))
    }

    /// Of each element of a line the sum of it and of all in front of it, or of all behind it.
    pub(super) fn running_sum(&mut self, source: Value) -> Option<Value> {
        let reverse = self.random.one_in(2);
        self.combined(Kind::Scan, source, (0, reverse), &arith_int::ADDI)
    }

    pub(super) fn fill_region(
        &mut self,
        op: ir::Op,
        params: &[Type],
        terminator: &'static OpRow,
        body: impl Fn(&mut Builder<'_>, &[Value]) -> Vec<Value>,
    ) {
        let region = self.module.region(op, 0);
        let block = self.module.add_block(region);
        let args: Vec<Value> = params.iter().map(|&ty| self.module.add_arg(block, ty)).collect();
        let mut builder = Builder::new(&mut self.module, Place::End(block));
        let results = body(&mut builder, &args);
        builder.build_effect(terminator, &results, &[]);
    }

    /// `x > y ? x - y : y` for each element, by a condition.
    fn map_elementwise(&mut self) {
        let Some(left) = self.pick(|ty| is_tensor(ty) && elem(ty).as_int().is_some_and(|bits| bits > 1))
        else {
            return;
        };
        let ty = self.ty(left);
        let right = self.operand(ty);
        let init = OpInit {
            operands: SmallVec::from_slice(&[left, right]),
            results: SmallVec::from_slice(&[ty]),
            attrs: SmallVec::new(),
            regions: 1,
        };
        let op = self.builder().insert(&reduce::MAP_ELEMENTWISE, init);
        let element = elem(ty);
        self.fill_region(op, &[element; 2], &reduce::MAP_ELEMENTWISE_RETURN, |builder, args| {
            let predicate = Attr::Enum { row: &compare::CMPI_PREDICATE, value: 4 };
            let more = builder.build(&compare::CMPI, args, &[Some(predicate)]);
            let init = OpInit {
                operands: SmallVec::from_slice(&[more]),
                results: SmallVec::from_slice(&[element]),
                attrs: SmallVec::new(),
                regions: 2,
            };
            let branch = builder.insert(&control::IF, init);
            for side in 0..2 {
                let region = builder.module.region(branch, side);
                let block = builder.module.add_block(region);
                let mut inside = Builder::new(builder.module, Place::End(block));
                let value = if side == 0 { inside.build(&arith_int::SUBI, args, &[]) } else { args[1] };
                inside.build_effect(&control::YIELD, &[value], &[]);
            }
            vec![builder.module.result(branch, 0)]
        });
        let result = self.module.result(op, 0);
        self.learn(result);
    }

    fn histogram(&mut self) {
        let Some(source) = self.pick(|ty| shape(ty).len() == 1 && elem(ty).as_int() == Some(32)) else {
            return;
        };
        let bins = 1 << self.random.below(5);
        let mut operands = vec![source];
        if self.random.one_in(2) {
            let mask = crate::types::with_elem(self.ty(source), Type::int(1));
            operands.push(self.operand(mask));
        }
        let ty = crate::types::tensor(&[bins], Type::int(32));
        let value = self.build_as(&reduce::HISTOGRAM, &operands, &[], ty);
        self.learn(value);
    }
}
