//! Gives every block of a ttir module one encoding for its shape, with conversions wherever an operation asks for
//! another: no layout assignment, but every kind of layout that lowering must know.

use ir::text::{ParseOptions, PrintOptions, parse, print};
use ir::{Attr, Builder, Elements, LayoutRule, Module, Op, OpInit, Type, TypeKind, Value};
use smallvec::smallvec;
use ttgir::infer::{Shapes, backward, forward};
use ttgir::ops::convert::CONVERT_LAYOUT;
use ttgir::{Config, Encoding, replace_encoding};
use ttir::ops::func::FuncOp;
use ttir::ops::{constant, dot, shape as shape_ops};
use ttir::types::{is_tensor, shape};

/// How blocks are spread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    /// Warps of a program.
    pub(crate) num_warps: u32,
    /// Neighbouring elements of a lane, along the fastest dimension.
    pub(crate) vector: u32,
    /// Whether the first dimension is the fastest.
    pub(crate) column_major: bool,
    /// Blocks of a cluster, which split the fastest dimension first.
    pub(crate) num_ctas: u32,
}

/// Splits `total` over dimensions, the fastest first; what does not fit goes to the slowest.
fn split(total: u32, sizes: &mut [i64], order: &[u32]) -> Vec<u32> {
    let mut parts = vec![1; sizes.len()];
    let mut rest = total;
    for &dim in order {
        let part = rest.min(sizes[dim as usize].max(1) as u32);
        parts[dim as usize] = part;
        sizes[dim as usize] /= i64::from(part);
        rest /= part;
    }
    parts[order[order.len() - 1] as usize] *= rest;
    parts
}

impl Spread {
    fn encoding(self, dims: &[i64]) -> Encoding {
        let mut order: Vec<u32> = (0..dims.len() as u32).collect();
        if !self.column_major {
            order.reverse();
        }
        let mut sizes = dims.to_vec();
        let cga = self.blocks(&mut sizes, &order);
        let mut size_per_thread = vec![1; dims.len()];
        let fast = order[0] as usize;
        size_per_thread[fast] = self.vector.min(sizes[fast] as u32);
        sizes[fast] /= i64::from(size_per_thread[fast]);
        let threads_per_warp = split(32, &mut sizes, &order);
        let warps_per_cta = split(self.num_warps, &mut sizes, &order);
        Encoding::Blocked { size_per_thread, threads_per_warp, warps_per_cta, order, cga }
    }

    /// Splits sizes over the blocks of a cluster, the fastest dimension first; what does not fit makes copies.
    fn blocks(self, sizes: &mut [i64], order: &[u32]) -> Vec<Vec<u32>> {
        let mut at = vec![1; sizes.len()];
        let basis = |_| {
            let mut basis = vec![0; at.len()];
            if let Some(&dim) = order.iter().find(|dim| sizes[**dim as usize] > 1) {
                let dim = dim as usize;
                basis[dim] = at[dim];
                at[dim] *= 2;
                sizes[dim] /= 2;
            }
            basis
        };
        (0..self.num_ctas.ilog2()).map(basis).collect()
    }

    fn ty(self, ty: Type) -> Type {
        if !is_tensor(ty) || Encoding::of(ty).is_some() {
            return ty;
        }
        replace_encoding(ty, &self.encoding(shape(ty)))
    }
}

/// The same program with layouts.
pub(crate) fn encode(module: &Module, spread: Spread) -> Result<Module, String> {
    let text = print(module, PrintOptions::PLAIN);
    let options = ParseOptions { file: Some("encoded") };
    let mut module = parse(&text, ttgir::registry(), options).map_err(|error| error.to_string())?;
    Config { num_warps: spread.num_warps, threads_per_warp: 32, num_ctas: spread.num_ctas }.set(&mut module);
    let ops = module.walk(module.top());
    for &op in &ops {
        types(&mut module, op, spread);
    }
    for &op in &ops {
        convert(&mut module, op, spread)?;
    }
    match ir::verify(&module) {
        Ok(()) => Ok(module),
        Err(errors) => Err(format!("{}\n{}", errors[0], print(&module, PrintOptions::PLAIN))),
    }
}

fn types(module: &mut Module, op: Op, spread: Spread) {
    for value in module.results(op).to_vec() {
        module.set_ty(value, spread.ty(module.ty(value)));
    }
    for region in module.regions(op).to_vec() {
        for block in module.blocks(region).to_vec() {
            for value in module.args(block).to_vec() {
                module.set_ty(value, spread.ty(module.ty(value)));
            }
        }
    }
    if module.is(op, &constant::CONSTANT)
        && let Some(Attr::Dense { ty, elements }) = module.attr(op, 0).cloned()
    {
        let elements: Elements = elements;
        module.set_attr(op, 0, Some(Attr::Dense { ty: spread.ty(ty), elements }));
    }
    if let Some(func) = FuncOp::of(module, op)
        && let TypeKind::Function { params, results } = func.ty().kind()
    {
        let map = |types: &[Type]| types.iter().map(|ty| spread.ty(*ty)).collect::<Vec<_>>();
        let ty = Type::function(map(params), map(results));
        FuncOp::set_ty(module, op, ty);
    }
}

/// The value in another encoding, made in front of an operation.
fn converted(module: &mut Module, before: Op, value: Value, encoding: &Encoding) -> Value {
    let ty = replace_encoding(module.ty(value), encoding);
    if ty == module.ty(value) {
        return value;
    }
    Builder::before(module, before).build_as(&CONVERT_LAYOUT, &[value], &[], ty)
}

fn convert_operand(module: &mut Module, op: Op, index: usize, encoding: &Encoding) {
    let value = module.operand(op, index);
    if is_tensor(module.ty(value)) {
        let value = converted(module, op, value, encoding);
        module.set_operand(op, index, value);
    }
}

/// Gives a result an encoding of its own, with a conversion to the usual one behind it.
fn convert_result(module: &mut Module, op: Op, index: usize, encoding: &Encoding) {
    let value = module.result(op, index);
    let usual = module.ty(value);
    let own = replace_encoding(usual, encoding);
    if own == usual || !is_tensor(usual) {
        return;
    }
    module.set_ty(value, own);
    let init = OpInit { operands: smallvec![value], results: smallvec![usual], ..OpInit::default() };
    let loc = module.loc(op);
    let conversion = module.create(&CONVERT_LAYOUT, init, loc);
    module.insert_after(op, conversion);
    let after = module.result(conversion, 0);
    module.replace_uses_if(value, after, |_, user, _| user != conversion);
}

fn convert(module: &mut Module, op: Op, spread: Spread) -> Result<(), String> {
    let row = module.row(op);
    if module.is(op, &shape_ops::BROADCAST) {
        let wanted = Encoding::of(module.ty(module.result(op, 0))).cloned().ok_or("no encoding")?;
        convert_operand(module, op, 0, &wanted);
        return Ok(());
    }
    if module.is(op, &dot::DOT) {
        let result = Encoding::of(module.ty(module.result(op, 0))).cloned().ok_or("no encoding")?;
        for op_idx in 0..2 {
            let operand = Encoding::DotOp { op_idx, parent: Box::new(result.clone()), k_width: 0 };
            convert_operand(module, op, op_idx as usize, &operand);
        }
        return Ok(());
    }
    if !matches!(
        row.layout,
        LayoutRule::Reduce
            | LayoutRule::ExpandDims
            | LayoutRule::Trans
            | LayoutRule::Reshape
            | LayoutRule::Join
            | LayoutRule::Split
    ) {
        return Ok(());
    }
    let (from, to) = (module.ty(module.operand(op, 0)), module.ty(module.result(op, 0)));
    let attrs = module.attrs(op).to_vec();
    let shapes = Shapes { attrs: &attrs, from: shape(from), to: shape(to) };
    let own = Encoding::of(from).cloned().ok_or("no encoding")?;
    if let Ok(result) = forward(row, &own, shapes) {
        for index in 0..module.results(op).len() {
            convert_result(module, op, index, &result);
        }
        return Ok(());
    }
    let result =
        if is_tensor(to) { Encoding::of(to).cloned().ok_or("no encoding")? } else { spread.encoding(&[1]) };
    let operand = backward(row, &result, shapes)?;
    for index in 0..module.operands(op).len() {
        convert_operand(module, op, index, &operand);
    }
    Ok(())
}
