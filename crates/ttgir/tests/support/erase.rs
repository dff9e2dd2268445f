//! From code with layouts back to code without: what it computes is what it computed before it had layouts.
//!
//! Layouts go; conversions are the identity. Shared memory becomes global memory that follows the kernel's arguments, a
//! memory descriptor the block of its addresses; copies are made at once, waits do nothing. So a buffer that is filled
//! too early or read too late gives a wrong result.

use ir::{Attr, Block, Builder, Module, Op, OpRow, Type, Value};
use rustc_hash::FxHashMap;
use ttgir::ops::scaled_dot::ScaledDotOp;
use ttgir::ops::{async_copy, barrier, convert, group_dot, scaled_dot, shared};
use ttgir::types::memdesc;
use ttir::ops::arith_int::MULI;
use ttir::ops::constant::{CONSTANT, attr_from_bits};
use ttir::ops::dot::{DOT, DOT_SCALED, DotScaledOp};
use ttir::ops::func::FuncOp;
use ttir::ops::memory::{ADDPTR, LOAD, STORE};
use ttir::ops::shape::{MAKE_RANGE, RESHAPE, SPLAT, TRANS};
use ttir::types::{elem, elem_bytes, is_tensor, numel, pointee, ptr, shape, tensor};

/// Erases layouts from a kernel; gives the bytes of the buffers that follow its arguments.
pub(crate) fn erase(module: &mut Module, kernel: &str) -> Vec<usize> {
    let function = module.symbol(kernel).expect("the kernel is there");
    let entry = module.entry_of(function);
    module.set_registry(ttir::registry());
    let ops = module.walk(function);
    for &op in &ops {
        strip(module, op);
    }
    let mut views = FxHashMap::default();
    let mut sizes = Vec::new();
    let mut gone = Vec::new();
    for &op in &ops {
        if let Some((_, rule)) = RULES.iter().find(|(row, _)| module.is(op, row)) {
            rule(&mut Eraser { module, entry, views: &mut views, sizes: &mut sizes }, op);
            gone.push(op);
        }
    }
    for op in gone.into_iter().rev() {
        module.erase(op);
    }
    let params = module.args(entry).iter().map(|&arg| module.ty(arg)).collect();
    FuncOp::set_ty(module, function, Type::function(params, Vec::new()));
    sizes
}

struct Eraser<'a> {
    module: &'a mut Module,
    entry: Block,
    /// The addresses that stand for memory: a block of them, or the first one for several buffers.
    views: &'a mut FxHashMap<Value, Value>,
    sizes: &'a mut Vec<usize>,
}

type Rule = fn(&mut Eraser<'_>, Op);

static RULES: &[(&OpRow, Rule)] = &[
    (&convert::CONVERT_LAYOUT, |eraser, op| eraser.forward(op)),
    (&group_dot::WARP_GROUP_DOT_WAIT, |eraser, op| eraser.forward(op)),
    (&shared::LOCAL_ALLOC, |eraser, op| eraser.alloc(op)),
    (&shared::LOCAL_DEALLOC, |_, _| ()),
    (&shared::LOCAL_LOAD, |eraser, op| {
        let value = eraser.read(op, 0);
        eraser.replace(op, value);
    }),
    (&shared::LOCAL_STORE, |eraser, op| {
        let target = eraser.module.operand(op, 1);
        let (view, value) = (eraser.view(op, target).expect("memory"), eraser.module.operand(op, 0));
        Builder::before(eraser.module, op).build_effect(&STORE, &[view, value], &[None, None]);
    }),
    (&shared::MEMDESC_INDEX, |eraser, op| eraser.index(op)),
    (&shared::MEMDESC_TRANS, |eraser, op| eraser.trans(op)),
    (&async_copy::ASYNC_COPY, |eraser, op| eraser.copy(op)),
    (&async_copy::ASYNC_COMMIT_GROUP, |_, _| ()),
    (&async_copy::ASYNC_WAIT, |_, _| ()),
    (&barrier::FENCE_ASYNC_SHARED, |_, _| ()),
    (&barrier::FENCE_ASYNC_GLOBAL, |_, _| ()),
    (&group_dot::WARP_GROUP_DOT, |eraser, op| eraser.group_dot(op)),
    (&scaled_dot::SCALED_DOT, |eraser, op| eraser.scaled_dot(op)),
];

/// Takes encodings off the types of an operation's results, its blocks' arguments and its constant.
fn strip(module: &mut Module, op: Op) {
    let mut values = module.results(op).to_vec();
    for &region in module.regions(op) {
        for &block in module.blocks(region) {
            values.extend(module.args(block));
        }
    }
    for value in values {
        let ty = module.ty(value);
        if is_tensor(ty) {
            module.set_ty(value, plain(ty));
        }
    }
    if let Some(Attr::Dense { ty, elements }) = module.attr(op, 0).cloned() {
        module.set_attr(op, 0, Some(Attr::Dense { ty: plain(ty), elements }));
    }
}

fn plain(ty: Type) -> Type {
    tensor(shape(ty), elem(ty))
}

impl Eraser<'_> {
    fn forward(&mut self, op: Op) {
        for index in 0..self.module.results(op).len() {
            let (from, to) = (self.module.result(op, index), self.module.operand(op, index));
            if let Some(&view) = self.views.get(&to) {
                self.views.insert(from, view);
            }
            self.module.replace_uses(from, to);
        }
    }

    fn replace(&mut self, op: Op, value: Value) {
        let old = self.module.result(op, 0);
        self.module.replace_uses(old, value);
    }

    /// The block of addresses of a block that lies row by row from an address on.
    fn addresses(&mut self, op: Op, base: Value, dims: &[i64]) -> Value {
        let count: i64 = dims.iter().product();
        let mut builder = Builder::before(self.module, op);
        let ends = [count, 0].map(|end| Some(Attr::i32(end as i32)));
        let range = builder.build(&MAKE_RANGE, &[], &ends);
        let ty = tensor(&[count], builder.module.ty(base));
        let bases = builder.build_as(&SPLAT, &[base], &[], ty);
        let flat = builder.build(&ADDPTR, &[bases, range], &[]);
        let whole = tensor(dims, elem(ty));
        if whole == ty { flat } else { builder.build_as(&RESHAPE, &[flat], &[None, None], whole) }
    }

    fn alloc(&mut self, op: Op) {
        let result = self.module.result(op, 0);
        let desc = memdesc(self.module.ty(result)).expect("a memory descriptor");
        let base = self.module.add_arg(self.entry, ptr(desc.elem));
        self.sizes.push(desc.shape.iter().product::<i64>() as usize * elem_bytes(desc.elem) as usize);
        let Some(&source) = self.module.operands(op).first() else {
            self.views.insert(result, base);
            return;
        };
        let view = self.addresses(op, base, desc.shape);
        Builder::before(self.module, op).build_effect(&STORE, &[view, source], &[None, None]);
        self.views.insert(result, view);
    }

    fn index(&mut self, op: Op) {
        let result = self.module.result(op, 0);
        let desc = memdesc(self.module.ty(result)).expect("a memory descriptor");
        let (ring, number) = (self.views[&self.module.operand(op, 0)], self.module.operand(op, 1));
        let mut builder = Builder::before(self.module, op);
        let size = Some(Attr::i32(desc.shape.iter().product::<i64>() as i32));
        let size = builder.build_as(&CONSTANT, &[], &[size], Type::int(32));
        let offset = builder.build(&MULI, &[number, size], &[]);
        let base = builder.build(&ADDPTR, &[ring, offset], &[]);
        let view = self.addresses(op, base, desc.shape);
        self.views.insert(result, view);
    }

    fn trans(&mut self, op: Op) {
        let view = self.views[&self.module.operand(op, 0)];
        let order = self.module.attr(op, 0).cloned();
        let turned = Builder::before(self.module, op).build(&TRANS, &[view], &[order]);
        self.views.insert(self.module.result(op, 0), turned);
    }

    /// The addresses of a block in memory.
    fn view(&mut self, op: Op, memory: Value) -> Option<Value> {
        let view = *self.views.get(&memory)?;
        if is_tensor(self.module.ty(view)) {
            return Some(view);
        }
        let desc = memdesc(self.module.ty(memory)).expect("a memory descriptor");
        Some(self.addresses(op, view, desc.shape))
    }

    /// An operand that is a block, or that is in memory.
    fn read(&mut self, op: Op, slot: usize) -> Value {
        let operand = self.module.operand(op, slot);
        match self.view(op, operand) {
            Some(view) => Builder::before(self.module, op).build(&LOAD, &[view], &[None, None, None]),
            None => operand,
        }
    }

    fn copy(&mut self, op: Op) {
        let source = self.module.operand(op, 0);
        let target = self.views[&self.module.operand(op, 1)];
        let mut operands = vec![source];
        if let Some(mask) = self.module.optional_operand(op, 2) {
            let other = self.module.optional_operand(op, 3);
            let ty = self.module.ty(source);
            let value = tensor(shape(ty), pointee(ty).expect("addresses"));
            let mut builder = Builder::before(self.module, op);
            let zero = builder.build_as(&CONSTANT, &[], &[attr_from_bits(value, 0)], value);
            operands.extend([mask, other.unwrap_or(zero)]);
        }
        let mut builder = Builder::before(self.module, op);
        let value = builder.build(&LOAD, &operands, &[None, None, None]);
        builder.build_effect(&STORE, &[target, value], &[None, None]);
        debug_assert!(numel(builder.module.ty(value)) > 0);
    }

    fn group_dot(&mut self, op: Op) {
        let (a, b, c) = (self.read(op, 0), self.read(op, 1), self.module.operand(op, 2));
        let precision = self.module.attr(op, 0).cloned();
        let product = Builder::before(self.module, op).build(&DOT, &[a, b, c], &[precision, None]);
        self.replace(op, product);
    }

    fn scaled_dot(&mut self, op: Op) {
        let dot = ScaledDotOp::new(self.module, op);
        let attrs = DotScaledOp::attrs(dot.a_format(), dot.b_format(), false, true, true, 3);
        let operands = [dot.a(), dot.b(), dot.c(), dot.a_scale(), dot.b_scale()];
        let product = Builder::before(self.module, op).build(&DOT_SCALED, &operands, &attrs);
        self.replace(op, product);
    }
}
