//! Loads by addresses that are themselves loaded become loads by descriptors that the kernel makes, where a test in
//! front of the loop says so.
//!
//! ```text
//!                                          %fits = … %a, %stride and %n are as bulk copies need them
//!                                          scf.if %fits {
//!                                            %d = tt.make_tensor_descriptor %a, [most, most], [%stride, 1]
//! %a = tt.int_to_ptr (tt.load %as)           scf.for %k = %zero to %n { %x = tt.descriptor_load %d[…] … }
//! scf.for %k = %zero to %n {           =>  } else {
//!   %x = tt.load (%a + …) … }                scf.for %k = %zero to %n { %x = tt.load (%a + …) … }
//!                                          }
//! ```
//!
//! Which loads those are, `ttir::boxes` says. The test asks what a launch is asked elsewhere, in 64 bits: the address
//! and the distance of rows are multiples of 16 bytes, boxes do not begin in front of the tensor, offsets do not
//! overflow; and that the loop runs often enough. What the program stored before is fenced (`order-copies`). Left out:
//! loops that write memory, loops around loops.

use super::box_descriptors::{as_descriptor, desc_type, order};
use ir::{Block, Builder, Module, Op, OpInit, Place, Traits, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use ttir::boxes::{BoxLoad, Counted, LoopBox, Poly, in_loop};
use ttir::ops::arith_cast::{EXTSI, PTR_TO_INT};
use ttir::ops::arith_int::{ADDI, ANDI, MULI, SUBI};
use ttir::ops::compare::{CMPI, CmpIOp, CmpIPredicate};
use ttir::ops::constant;
use ttir::ops::control::{FOR, ForOp, IF, YIELD};
use ttir::ops::descriptor::{MAKE, MakeDescriptorOp, Padding};
use ttir::types::{elem, elem_bytes};

/// Iterations from which on a descriptor is worth being made: it takes about as long as two of them.
const FEWEST: i64 = 8;
/// What addresses and distances of rows are multiples of, in bytes.
const UNIT: i64 = 16;
/// The largest position, and the largest distance of rows in elements.
const MOST: i64 = i32::MAX as i64;

/// Rewrites the loops of a kernel around such loads; says which loads of them are by descriptors now.
pub(super) fn rewrite_all(
    module: &mut Module,
    kernel: Op,
    is_wanted: &dyn Fn(&Module, Op) -> bool,
    fits: &dyn Fn(&Module, Type) -> bool,
) -> Vec<Op> {
    let loops: Vec<Op> = module.walk(kernel).into_iter().filter(|&op| module.is(op, &FOR)).collect();
    let mut rewritten = Vec::new();
    for op in loops {
        let body = ForOp::new(module, op).body();
        let inside = module.walk(op);
        let has_inner = inside.iter().any(|&inner| inner != op && module.has(inner, Traits::LOOP));
        if has_inner || inside.iter().any(|&inner| inner != op && module.row(inner).writes()) {
            continue;
        }
        let loads: Vec<Op> = module.ops(body).filter(|&load| is_wanted(module, load)).collect();
        let mut boxes = in_loop(module, kernel, ForOp::new(module, op), &loads);
        boxes.retain(|found| fits(module, desc_type(module, &as_box(found))));
        if boxes.is_empty() {
            continue;
        }
        rewritten.extend(boxes.iter().map(|found| found.load));
        rewrite(module, op, &boxes);
    }
    rewritten
}

/// A box as descriptors are made of it.
fn as_box(found: &LoopBox) -> BoxLoad {
    BoxLoad { load: found.load, base: 0, axes: found.axes.clone(), fastest: found.fastest }
}

fn rewrite(module: &mut Module, op: Op, boxes: &[LoopBox]) {
    let mut builder = Builder { loc: module.loc(op), place: Place::Before(op), module };
    let fits = test(&mut builder, op, boxes);
    // What the loop carries for its own sake stays in each.
    let used: Vec<usize> = (0..builder.module.results(op).len())
        .filter(|&number| !builder.module.is_unused(builder.module.result(op, number)))
        .collect();
    let results: Vec<Value> = used.iter().map(|&number| builder.module.result(op, number)).collect();
    let init = OpInit {
        operands: SmallVec::from_slice(&[fits]),
        results: results.iter().map(|&value| builder.module.ty(value)).collect(),
        attrs: SmallVec::new(),
        regions: 2,
    };
    let branch = builder.insert(&IF, init);
    let [then, otherwise] =
        [0, 1].map(|region| builder.module.add_block(builder.module.region(branch, region)));
    let mut values = FxHashMap::default();
    let copy = builder.module.clone_op(op, &mut values);
    builder.place = Place::End(then);
    let descriptors: Vec<Value> = boxes.iter().map(|found| describe(&mut builder, found)).collect();
    for (block, own) in [(then, copy), (otherwise, op)] {
        if own == op {
            let branched = builder.module.results(branch).to_vec();
            for (&value, by) in results.iter().zip(branched) {
                builder.module.replace_uses(value, by);
            }
            builder.module.detach(op);
        }
        builder.module.append(block, own);
        builder.place = Place::End(block);
        let yielded: Vec<Value> = used.iter().map(|&number| builder.module.result(own, number)).collect();
        builder.build_effect(&YIELD, &yielded, &[]);
    }
    for (found, desc) in boxes.iter().zip(descriptors) {
        let mine = |value: Value| values.get(&value).copied().unwrap_or(value);
        let old = builder.module.result(found.load, 0);
        let load = builder.module.def_op(mine(old)).expect("a load was copied");
        let mut own = as_box(found);
        own.load = load;
        for axis in &mut own.axes {
            axis.start =
                axis.start.with(|value| Some(mine(value))).expect("every value has one in its place");
        }
        as_descriptor(builder.module, &own, desc);
    }
}

/// Once what nobody needs is gone: what the loop by addresses alone needs is computed where it stands.
pub(super) fn sink_addresses(module: &mut Module, kernel: Op) {
    for branch in module.walk(kernel).into_iter().filter(|&op| module.is(op, &IF)).collect::<Vec<_>>() {
        let [then, otherwise] = module.regions(branch)[..] else { continue };
        let blocks = [then, otherwise].map(|region| module.blocks(region).first().copied());
        let [Some(then), Some(otherwise)] = blocks else { continue };
        if module.ops(then).any(|op| module.is(op, &MAKE)) {
            sink(module, branch, otherwise);
        }
    }
}

/// What is computed in front of a condition for one of its blocks alone is computed there: mostly addresses.
fn sink(module: &mut Module, branch: Op, block: Block) {
    let around = module.block_of(branch).expect("it stands in a block");
    let before: Vec<Op> = module.ops(around).take_while(|&op| op != branch).collect();
    let region = module.block_region(block);
    for op in before.into_iter().rev() {
        let is_inside = |user: Op| {
            let mut blocks = std::iter::successors(Some(user), |&op| module.parent_op(op));
            blocks.any(|op| module.block_of(op).is_some_and(|block| module.block_region(block) == region))
        };
        let users = module.results(op).iter().flat_map(|&value| module.uses(value).iter().map(|use_| use_.0));
        let mut users = users.peekable();
        let moves = module.has(op, Traits::PURE)
            && module.regions(op).is_empty()
            && users.peek().is_some()
            && users.all(is_inside);
        if moves {
            let first = module.first_op(block).expect("the block ends");
            module.move_before(first, op);
        }
    }
}

/// A descriptor of the tensor of a box.
fn describe(builder: &mut Builder<'_>, found: &LoopBox) -> Value {
    let own = as_box(found);
    let ty = desc_type(builder.module, &own);
    let order = order(&own);
    let mut operands = vec![found.base];
    for &at in &order {
        let size = match &found.axes[at].extent {
            Some(extent) => extent.build(builder),
            None => constant::int(builder, Type::int(32), MOST),
        };
        operands.push(size);
    }
    for &at in &order {
        let stride =
            if at == found.fastest { integer(builder, 1) } else { sum(builder, &found.axes[at].stride) };
        operands.push(stride);
    }
    builder.build_as(&MAKE, &operands, &MakeDescriptorOp::attrs(Padding::Zero), ty)
}

fn integer(builder: &mut Builder<'_>, value: i64) -> Value {
    constant::int(builder, Type::int(64), value)
}

/// A sum of 32-bit numbers, in 64 bits.
fn sum(builder: &mut Builder<'_>, poly: &Poly) -> Value {
    let long = Type::int(64);
    let mut sum = None;
    for (monomial, factor) in poly.terms() {
        let factor = integer(builder, *factor);
        let term = match monomial.first() {
            Some(&value) => {
                let value = builder.build_as(&EXTSI, &[value], &[], long);
                builder.build(&MULI, &[value, factor], &[])
            }
            None => factor,
        };
        sum = Some(match sum {
            Some(sum) => builder.build(&ADDI, &[sum, term], &[]),
            None => term,
        });
    }
    sum.unwrap_or_else(|| integer(builder, 0))
}

/// What must hold of numbers.
struct Test<'a, 'm> {
    builder: &'a mut Builder<'m>,
    holds: Option<Value>,
}

impl Test<'_, '_> {
    fn and(&mut self, condition: Value) {
        self.holds = Some(match self.holds {
            Some(holds) => self.builder.build(&ANDI, &[holds, condition], &[]),
            None => condition,
        });
    }

    /// A number lies between two, both included.
    fn within(&mut self, number: Value, low: i64, high: i64) {
        let low_value = integer(self.builder, low);
        let width = integer(self.builder, high - low);
        let above = self.builder.build(&SUBI, &[number, low_value], &[]);
        let condition = self.builder.build(&CMPI, &[above, width], &CmpIOp::attrs(CmpIPredicate::Ule));
        self.and(condition);
    }

    /// A number of bytes is a multiple of what bulk copies need.
    fn whole(&mut self, bytes: Value) {
        let mask = integer(self.builder, UNIT - 1);
        let left = self.builder.build(&ANDI, &[bytes, mask], &[]);
        self.within(left, 0, 0);
    }

    /// Where boxes begin in an iteration.
    fn start(&mut self, of: &Counted, counter: Value) -> Value {
        let first = sum(self.builder, &of.first);
        let times = integer(self.builder, of.times);
        let moved = self.builder.build(&MULI, &[counter, times], &[]);
        self.builder.build(&ADDI, &[first, moved], &[])
    }
}

/// Whether bulk copies read what the loads of a loop would.
fn test(builder: &mut Builder<'_>, op: Op, boxes: &[LoopBox]) -> Value {
    let of = ForOp::new(builder.module, op);
    let bounds = [of.lower(), of.upper()];
    let long = Type::int(64);
    let [lower, upper] = bounds.map(|bound| {
        let is_long = builder.module.ty(bound) == long;
        if is_long { bound } else { builder.build_as(&EXTSI, &[bound], &[], long) }
    });
    let one = integer(builder, 1);
    let last = builder.build(&SUBI, &[upper, one], &[]);
    let mut test = Test { builder, holds: None };
    // Numbers of 32 bits from here on, so that their products with others do not overflow.
    test.within(lower, 0, MOST);
    test.within(upper, 0, MOST);
    let count = test.builder.build(&SUBI, &[upper, lower], &[]);
    test.within(count, FEWEST, MOST);
    for found in boxes {
        let bytes =
            elem_bytes(elem(test.builder.module.ty(test.builder.module.result(found.load, 0)))) as i64;
        let base = test.builder.build_as(&PTR_TO_INT, &[found.base], &[], long);
        test.whole(base);
        let mut reach = integer(test.builder, 0);
        for (at, (axis, start)) in found.axes.iter().zip(&found.starts).enumerate() {
            let begin = test.start(start, lower);
            test.within(begin, 0, MOST - axis.size);
            let end = test.start(start, last);
            test.within(end, 0, MOST - axis.size);
            let farthest = match &axis.extent {
                Some(extent) => {
                    let extent = sum(test.builder, extent);
                    test.within(extent, 1, MOST);
                    test.builder.build(&SUBI, &[extent, one], &[])
                }
                None => {
                    let size = integer(test.builder, axis.size - 1);
                    test.builder.build(&ADDI, &[end, size], &[])
                }
            };
            let steps = if at == found.fastest {
                farthest
            } else {
                let stride = sum(test.builder, &axis.stride);
                test.within(stride, 1, MOST / bytes);
                let width = integer(test.builder, bytes);
                let distance = test.builder.build(&MULI, &[stride, width], &[]);
                test.whole(distance);
                test.builder.build(&MULI, &[farthest, stride], &[])
            };
            reach = test.builder.build(&ADDI, &[reach, steps], &[]);
        }
        // The loop's own sums must not overflow either.
        test.within(reach, 0, if found.bits == 32 { MOST } else { i64::MAX >> 8 });
    }
    test.holds.expect("a loop has bounds")
}
