//! Reductions and scans of several blocks at once, by regions of more than one operation.

use super::Maker;
use super::combine::{INTS, Kind};
use crate::ops::{arith_float, arith_int, compare, constant, control, reduce};
use crate::types::{elem, is_tensor, pointee, shape, tensor};
use ir::{Attr, Builder, OpInit, OpRow, Place, Type, Value};
use smallvec::SmallVec;

/// How lines of several values are combined.
#[derive(Clone, Copy)]
enum Combiner {
    /// The greatest or the least key, and of equal ones the least index.
    Extreme { least: bool, unsigned: bool },
    /// Each value by an operation of its own.
    Each([&'static OpRow; 3]),
    /// The one of two values that a condition chooses, by a branch.
    Branch,
    /// `x -> a * x + b`, one behind the other, which depends on the order.
    Affine,
    /// The last key that is not zero, with what belongs to it, which depends on the order.
    Last,
}

impl Maker {
    /// A reduction or scan of two or three blocks.
    pub(super) fn combine_several(&mut self) {
        let is_key = |ty: Type| {
            let is_number =
                pointee(ty).is_none() && elem(ty).as_int() != Some(1) && super::is_computed(elem(ty));
            is_tensor(ty) && is_number
        };
        let Some(mut key) = self.pick(is_key) else { return };
        let kind = if self.random.one_in(2) { Kind::Scan } else { Kind::Reduction };
        let is_float = elem(self.ty(key)).as_float().is_some();
        if is_float {
            key = self.small_integers(key);
            key = self.positive_zeros(key);
        }
        let combiner = self.random_combiner(kind, is_float);
        let dims = shape(self.ty(key));
        let count = if matches!(combiner, Combiner::Each(_)) { 2 + self.random.below(2) } else { 2 };
        let mut sources = vec![key];
        for _ in 1..count {
            let width = self.random.of(&[8, 16, 32, 32, 32, 64]);
            let ty = if matches!(combiner, Combiner::Affine) {
                self.ty(key)
            } else {
                tensor(dims, Type::int(width))
            };
            let source = self.operand(ty);
            sources.push(source);
        }
        self.combined_values(kind, &sources, combiner);
    }

    fn random_combiner(&mut self, kind: Kind, is_float: bool) -> Combiner {
        let is_ordered = matches!(kind, Kind::Scan);
        match self.random.below(if is_ordered { 8 } else { 6 }) {
            0..=2 => Combiner::Extreme { least: self.random.one_in(2), unsigned: self.random.one_in(2) },
            5 => Combiner::Branch,
            6 if !is_float => Combiner::Affine,
            6 | 7 => Combiner::Last,
            _ => {
                let first = if is_float { &arith_float::MAXIMUMF } else { self.random.of(INTS) };
                Combiner::Each([first, self.random.of(INTS), self.random.of(INTS)])
            }
        }
    }

    fn combined_values(&mut self, kind: Kind, sources: &[Value], combiner: Combiner) {
        let axis = self.random.below(shape(self.ty(sources[0])).len() as u64) as i32;
        let mut attrs = vec![Some(Attr::i32(axis))];
        let (row, terminator) = match kind {
            Kind::Reduction => (&reduce::REDUCE, &reduce::REDUCE_RETURN),
            Kind::Scan => {
                attrs.push(Some(Attr::Bool(self.random.one_in(2))));
                (&reduce::SCAN, &reduce::SCAN_RETURN)
            }
        };
        let Ok(results) = ir::infer(&self.module, row, sources, &attrs) else { return };
        let elems: Vec<Type> = sources.iter().map(|&source| elem(self.ty(source))).collect();
        let init = OpInit {
            operands: SmallVec::from_slice(sources),
            results,
            attrs: attrs.into_iter().collect(),
            regions: 1,
        };
        let op = self.builder().insert(row, init);
        let params = [&elems[..], &elems[..]].concat();
        self.fill_region(op, &params, terminator, |builder, args| {
            let (left, right) = args.split_at(elems.len());
            combine(builder, combiner, left, right)
        });
        self.learn_results(op);
    }
}

fn combine(builder: &mut Builder<'_>, combiner: Combiner, left: &[Value], right: &[Value]) -> Vec<Value> {
    match combiner {
        Combiner::Extreme { least, unsigned } => {
            let first = [left[0], right[0]];
            let better = compared(builder, first, if least { Order::Less } else { Order::Greater }, unsigned);
            let equal = compared(builder, first, Order::Equal, unsigned);
            let earlier = compared(builder, [left[1], right[1]], Order::Less, false);
            let tie = builder.build(&arith_int::ANDI, &[equal, earlier], &[]);
            let chosen = builder.build(&arith_int::ORI, &[better, tie], &[]);
            let pairs = left.iter().zip(right);
            pairs
                .map(|(&left, &right)| builder.build(&compare::SELECT, &[chosen, left, right], &[]))
                .collect()
        }
        Combiner::Each(rows) => {
            let pairs = left.iter().zip(right).zip(rows);
            pairs.map(|((&left, &right), row)| builder.build(row, &[left, right], &[])).collect()
        }
        Combiner::Branch => branch(builder, left, right),
        Combiner::Affine => {
            let factor = builder.build(&arith_int::MULI, &[left[0], right[0]], &[]);
            let moved = builder.build(&arith_int::MULI, &[left[1], right[0]], &[]);
            vec![factor, builder.build(&arith_int::ADDI, &[moved, right[1]], &[])]
        }
        Combiner::Last => {
            let ty = builder.module.ty(right[0]);
            let zero = constant::build(builder, ty, 0);
            let is_none = compared(builder, [right[0], zero], Order::Equal, false);
            let pairs = left.iter().zip(right);
            pairs
                .map(|(&left, &right)| builder.build(&compare::SELECT, &[is_none, left, right], &[]))
                .collect()
        }
    }
}

/// The lesser pair of two by a branch: by the second value, and of equal ones by the first.
fn branch(builder: &mut Builder<'_>, left: &[Value], right: &[Value]) -> Vec<Value> {
    let less = compared(builder, [left[1], right[1]], Order::Less, false);
    let equal = compared(builder, [left[1], right[1]], Order::Equal, false);
    let first = compared(builder, [left[0], right[0]], Order::Less, false);
    let tie = builder.build(&arith_int::ANDI, &[equal, first], &[]);
    let condition = builder.build(&arith_int::ORI, &[less, tie], &[]);
    let init = OpInit {
        operands: SmallVec::from_slice(&[condition]),
        results: left.iter().map(|&value| builder.module.ty(value)).collect(),
        attrs: SmallVec::new(),
        regions: 2,
    };
    let branch = builder.insert(&control::IF, init);
    for (side, values) in [left, right].into_iter().enumerate() {
        let region = builder.module.region(branch, side);
        let block = builder.module.add_block(region);
        Builder::new(builder.module, Place::End(block)).build_effect(&control::YIELD, values, &[]);
    }
    builder.module.results(branch).to_vec()
}

#[derive(Clone, Copy)]
enum Order {
    Equal,
    Less,
    Greater,
}

fn compared(builder: &mut Builder<'_>, values: [Value; 2], order: Order, unsigned: bool) -> Value {
    if elem(builder.module.ty(values[0])).as_float().is_some() {
        use compare::{CmpFOp, CmpFPredicate};
        let predicate = match order {
            Order::Equal => CmpFPredicate::Oeq,
            Order::Less => CmpFPredicate::Olt,
            Order::Greater => CmpFPredicate::Ogt,
        };
        return builder.build(&compare::CMPF, &values, &CmpFOp::attrs(predicate));
    }
    use compare::{CmpIOp, CmpIPredicate};
    let predicate = match (order, unsigned) {
        (Order::Equal, _) => CmpIPredicate::Eq,
        (Order::Less, false) => CmpIPredicate::Slt,
        (Order::Less, true) => CmpIPredicate::Ult,
        (Order::Greater, false) => CmpIPredicate::Sgt,
        (Order::Greater, true) => CmpIPredicate::Ugt,
    };
    builder.build(&compare::CMPI, &values, &CmpIOp::attrs(predicate))
}
