//! Blocks of any size become blocks of powers of two.
//!
//! ```text
//! %i = tt.make_range {end = 96, start = 0} : tensor<96xi32>     %i = tt.make_range {end = 128, start = 0} : tensor<128xi32>
//! %p = tt.addptr %ptrs, %i : tensor<96x!tt.ptr<f32>>, …         %p = tt.addptr %ptrs, %i : tensor<128x!tt.ptr<f32>>, …
//!                                                         =>    %m = arith.cmpi slt, %range, dense<96> : tensor<128xi32>
//! %x = tt.load %p : tensor<96x!tt.ptr<f32>>                     %x = tt.load %p, %m, dense<0.0> : tensor<128x!tt.ptr<f32>>
//! ```
//!
//! Each dimension is rounded up. An element that the block did not have, a *padding element*, may hold anything: what
//! works element by element takes the new type and nothing else. Whatever lets elements meet, or the world see them,
//! stands in [`REWRITES`]:
//!
//! - accesses to memory get a mask, those by descriptors a smaller tensor;
//! - reductions, and scans from the end, begin with what their function leaves as it is, or carry along which elements
//!   count (`combine`); dots add zeros;
//! - what changes the row-major order takes elements by their index (`order`).
//!
//! What a load gives behind its mask is known, and so is what is computed of that (`padding`): zeros that a dot needs
//! are not selected twice.
//!
//! No lowering meets other blocks, because this pass is among the first of all pipelines. A module without such blocks
//! is walked once and left alone.

mod access;
mod combine;
mod descriptor;
mod map;
mod order;
mod padding;

use super::FLATTEN_DESCRIPTORS;
use crate::ops::access::AccessOp;
use crate::ops::constant::{self, CONSTANT, ConstantOp};
use crate::ops::debug::{self, AssertOp, PrintOp};
use crate::ops::dot::{self, MatmulOp};
use crate::ops::func::{FUNC, FuncOp};
use crate::ops::reduce::{self, CombineOp};
use crate::ops::shape::{MAKE_RANGE, MakeRangeOp};
use crate::ops::{arith_int, compare, descriptor as desc, shape as rows};
use crate::types::{elem, is_odd, padded, padded_type, shape, tensor};
use ir::pass::PassRow;
use ir::{Attr, Builder, Diagnostic, Elements, Module, Op, OpRow, Type, TypeKind, Value};
use rustc_hash::FxHashMap;

/// Rounds the sizes of blocks up to powers of two.
pub static PAD_BLOCKS: PassRow =
    PassRow { name: "pad-blocks", doc: "Rounds the sizes of blocks up to powers of two.", run };

/// The module while it is rewritten.
struct Pad<'m> {
    module: &'m mut Module,
    /// The types that values had.
    before: FxHashMap<Value, Type>,
    /// What the padding elements of a value hold, as far as this pass saw to it.
    filled: FxHashMap<Value, u64>,
}

type Rewrite = fn(&mut Pad<'_>, Op) -> Result<(), String>;

/// The operations that see more than one element, besides those of [`AccessOp`], [`MatmulOp`] and [`CombineOp`].
static REWRITES: &[(&OpRow, Rewrite)] = &[
    (&FUNC, |pad, op| pad.function(op)),
    (&CONSTANT, |pad, op| pad.constant(op)),
    (&MAKE_RANGE, |pad, op| pad.range(op)),
    (&debug::ASSERT, |pad, op| pad.assertion(op)),
    (&debug::PRINT, |pad, op| pad.print(op)),
    (&desc::LOAD, descriptor::block),
    (&desc::STORE, descriptor::block),
    (&desc::REDUCE, descriptor::block),
    (&desc::GATHER, descriptor::rows),
    (&desc::SCATTER, descriptor::rows),
    (&reduce::HISTOGRAM, combine::histogram),
    (&reduce::MAP_ELEMENTWISE, map::map),
    (&dot::DOT_SCALED, combine::dot_scaled),
    (&rows::GATHER, order::gather),
    (&rows::CAT, order::cat),
    (&rows::RESIZE, order::resize),
];

/// Operations that are rewritten when all others are, which may have taken their operand instead of their result.
static LATE: &[(&OpRow, Rewrite)] = &[(&rows::RESHAPE, order::reshape)];

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    if odd_values(module).is_empty() {
        return Ok(());
    }
    if odd_values(module).iter().any(|&value| !crate::types::is_tensor(module.ty(value))) {
        (FLATTEN_DESCRIPTORS.run)(module)?;
    }
    let mut pad = Pad { module, before: FxHashMap::default(), filled: FxHashMap::default() };
    for value in odd_values(pad.module) {
        let ty = pad.module.ty(value);
        pad.before.insert(value, ty);
        pad.module.set_ty(value, padded_type(ty));
    }
    let ops = pad.module.walk(pad.module.top());
    for &op in &ops {
        pad.rewrite(op, REWRITES)?;
    }
    for &op in &ops {
        if LATE.iter().any(|(row, _)| pad.module.is(op, row)) {
            pad.rewrite(op, LATE)?;
        }
    }
    Ok(())
}

/// The values whose sizes are no powers of two.
fn odd_values(module: &Module) -> Vec<Value> {
    let mut found = Vec::new();
    for op in module.walk(module.top()) {
        found.extend(module.results(op).iter().filter(|&&value| is_odd(module.ty(value))));
        for &region in module.regions(op) {
            for &block in module.blocks(region) {
                found.extend(module.args(block).iter().filter(|&&value| is_odd(module.ty(value))));
            }
        }
    }
    found
}

impl Pad<'_> {
    fn rewrite(&mut self, op: Op, rewrites: &[(&OpRow, Rewrite)]) -> Result<(), Diagnostic> {
        let module = &*self.module;
        let listed = rewrites.iter().find(|(row, _)| module.is(op, row)).map(|(_, rewrite)| *rewrite);
        let rewrite = listed
            .or_else(|| AccessOp::of(module, op).map(|_| access::masked as Rewrite))
            .or_else(|| MatmulOp::of(module, op).map(|_| combine::dot as Rewrite))
            .or_else(|| CombineOp::of(module, op).map(|_| combine::combine as Rewrite));
        let Some(rewrite) = rewrite else { return Ok(()) };
        let place = module.locs.describe(module.loc(op));
        rewrite(self, op).map_err(|message| {
            Diagnostic::new(message).at(place).note(
                "this has no meaning for blocks whose sizes are no powers of two; docs/extensions.md lists what they can do",
            )
        })
    }

    /// The shape that a value had.
    fn shape(&self, value: Value) -> &'static [i64] {
        shape(self.before.get(&value).copied().unwrap_or_else(|| self.module.ty(value)))
    }

    /// Whether a value had other sizes than powers of two.
    fn was_odd(&self, value: Value) -> bool {
        self.before.contains_key(&value)
    }

    /// Puts a value in the place of the only result of an operation.
    fn replace(&mut self, op: Op, value: Value) {
        let result = self.module.result(op, 0);
        self.take_place(result, value);
        self.module.erase(op);
    }

    /// Puts a value in the place of another one, with its name and the type that it had.
    fn take_place(&mut self, old: Value, new: Value) {
        if let Some(name) = self.module.name(old).map(str::to_owned) {
            self.module.set_name(new, &name);
        }
        self.module.replace_uses(old, new);
        if let Some(&ty) = self.before.get(&old) {
            self.before.insert(new, ty);
        }
    }

    /// Functions take and return the new types.
    fn function(&mut self, op: Op) -> Result<(), String> {
        if let TypeKind::Function { params, results } = FuncOp::new(self.module, op).ty().kind() {
            let all = |types: &[Type]| types.iter().map(|&ty| padded_type(ty)).collect();
            FuncOp::set_ty(self.module, op, Type::function(all(params), all(results)));
        }
        Ok(())
    }

    /// The elements of a list are padded with zeros.
    fn constant(&mut self, op: Op) -> Result<(), String> {
        let result = self.module.result(op, 0);
        if !self.was_odd(result) {
            return Ok(());
        }
        let (dims, ty) = (self.shape(result), self.module.ty(result));
        let value = match ConstantOp::new(self.module, op).value() {
            Attr::Dense { elements: Elements::List(list), .. } => {
                let elements = Elements::List(padded_list(list, dims).into());
                self.filled.insert(result, 0);
                Attr::Dense { ty, elements }
            }
            attr => {
                let bits = constant::splat_bits(attr).expect("verified: a constant is a number");
                constant::attr_from_bits(ty, bits).expect("a block of numbers")
            }
        };
        ConstantOp::set_value(self.module, op, &value);
        Ok(())
    }

    fn range(&mut self, op: Op) -> Result<(), String> {
        let range = MakeRangeOp::new(self.module, op);
        if !self.was_odd(range.result()) {
            return Ok(());
        }
        let (start, count) = (range.start(), padded(self.shape(range.result())[0]) as i32);
        let mut b = Builder::before(self.module, op);
        let value = match start.checked_add(count) {
            Some(end) => b.build(&MAKE_RANGE, &[], &[Some(Attr::i32(end)), Some(Attr::i32(start))]),
            None => {
                let range = b.build(&MAKE_RANGE, &[], &[Some(Attr::i32(count)), Some(Attr::i32(0))]);
                let start = constant::int(&mut b, tensor(&[i64::from(count)], Type::int(32)), start.into());
                b.build(&arith_int::ADDI, &[range, start], &[])
            }
        };
        self.replace(op, value);
        Ok(())
    }

    /// Padding elements hold whatever is asserted.
    fn assertion(&mut self, op: Op) -> Result<(), String> {
        let condition = AssertOp::new(self.module, op).condition();
        let Some(valid) = self.valid(op, self.shape(condition)) else { return Ok(()) };
        let mut b = Builder::before(self.module, op);
        let ty = b.module.ty(condition);
        let holds = constant::build(&mut b, ty, 1);
        let condition = b.build(&compare::SELECT, &[valid, condition, holds], &[]);
        self.module.set_operands(op, &[condition]);
        Ok(())
    }

    /// What is printed keeps its sizes in an attribute.
    fn print(&mut self, op: Op) -> Result<(), String> {
        let args = PrintOp::new(self.module, op).args();
        if args.iter().any(|&arg| self.was_odd(arg)) {
            let sizes: Vec<i64> = args.iter().flat_map(|&arg| self.shape(arg).iter().copied()).collect();
            PrintOp::set_sizes(self.module, op, Some(&sizes));
        }
        Ok(())
    }
}

/// The elements of a block of these sizes in one of larger sizes, with zeros between them.
fn padded_list(list: &[u64], dims: &[i64]) -> Vec<u64> {
    let Some((&first, rest)) = dims.split_first() else { return list.to_vec() };
    let mut all: Vec<u64> =
        list.chunks(list.len() / first as usize).flat_map(|part| padded_list(part, rest)).collect();
    let each = all.len() / first as usize;
    all.resize(each * padded(first) as usize, 0);
    all
}

/// The element type of a value.
fn elem_of(module: &Module, value: Value) -> Type {
    elem(module.ty(value))
}
