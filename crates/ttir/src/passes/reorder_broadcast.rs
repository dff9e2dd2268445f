//! Elementwise operations move in front of the operations that spread their operands.
//!
//! ```text
//! %b = tt.splat %x : i32 -> tensor<64xi32>            %s = arith.addi %x, %c : i32
//! %r = arith.addi %b, dense<3> : tensor<64xi32>   =>  %r = tt.splat %s : i32 -> tensor<64xi32>
//!
//! %b = tt.broadcast %x : tensor<64x1xi32> -> tensor<64x16xi32>     %s = arith.muli %x, dense<3> : tensor<64x1xi32>
//! %r = arith.muli %b, dense<3> : tensor<64x16xi32>             =>  %r = tt.broadcast %s : …
//! ```
//!
//! So what is uniform is computed once. Nothing changes in any result: elements that were computed from equal operands
//! are still equal.

use crate::ops::constant::{CONSTANT, attr_from_bits, splat_bits};
use crate::ops::forms::UnaryOp;
use crate::ops::shape::{BROADCAST, SPLAT};
use crate::types::{elem, is_tensor, shape, tensor};
use ir::pass::PassRow;
use ir::{Attr, Builder, Diagnostic, Module, Op, OpInit, Traits, Type, Value};
use smallvec::SmallVec;

/// Moves elementwise operations in front of splats and broadcasts.
pub static REORDER_BROADCAST: PassRow = PassRow {
    name: "reorder-broadcast",
    doc: "Moves elementwise operations in front of splats and broadcasts.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    // In order, so that a chain of operations moves as a whole in one run.
    for op in module.walk(module.top()) {
        if module.has(op, Traits::ELEMENTWISE) && module.results(op).len() == 1 {
            reorder(module, op);
        }
    }
    Ok(())
}

/// What an operand is before it is spread.
enum Source {
    /// A value of fewer elements.
    Value(Value),
    /// One constant for all elements.
    Constant(u64),
}

fn source(module: &Module, value: Value, spread: &'static ir::OpRow) -> Option<Source> {
    if !is_tensor(module.ty(value)) {
        return Some(Source::Value(value));
    }
    if let Some(bits) = module.constant(value).and_then(splat_bits) {
        return Some(Source::Constant(bits));
    }
    let def = module.def_op(value).filter(|&def| module.is(def, spread))?;
    Some(Source::Value(UnaryOp::new(module, def).src()))
}

fn reorder(module: &mut Module, op: Op) -> bool {
    is_tensor(module.ty(module.result(op, 0)))
        && (spread_later(module, op, &SPLAT) || spread_later(module, op, &BROADCAST))
}

/// Does the operation on the sources of its operands, which `spread` has spread, and spreads the result.
fn spread_later(module: &mut Module, op: Op, spread: &'static ir::OpRow) -> bool {
    let operands: SmallVec<[Value; 4]> = module.operands(op).iter().copied().collect();
    let sources: Option<Vec<Source>> = operands.iter().map(|&value| source(module, value, spread)).collect();
    let Some(sources) = sources else { return false };
    let mut shapes = sources.iter().zip(&operands).filter_map(|(source, &operand)| match source {
        Source::Value(value) if is_tensor(module.ty(operand)) => Some(shape(module.ty(*value))),
        _ => None,
    });
    let Some(small) = shapes.next() else { return false };
    if shapes.any(|shape| shape != small) {
        return false;
    }
    let result = module.result(op, 0);
    let ty = module.ty(result);
    if crate::types::encoding(ty).is_some() {
        return false;
    }
    let narrowed = |ty: Type| tensor(small, elem(ty));
    let types: Vec<Type> = operands.iter().map(|&value| module.ty(value)).collect();
    let row = module.row(op);
    let attrs: Vec<Option<Attr>> = module.attrs(op).to_vec();
    let mut builder = Builder::before(module, op);
    let mut moved = SmallVec::new();
    for (source, ty) in sources.into_iter().zip(types) {
        moved.push(match source {
            Source::Value(value) => value,
            Source::Constant(bits) => match attr_from_bits(narrowed(ty), bits) {
                Some(attr) => builder.build_as(&CONSTANT, &[], &[Some(attr)], narrowed(ty)),
                None => return false,
            },
        });
    }
    let init = OpInit {
        operands: moved,
        results: SmallVec::from_slice(&[narrowed(ty)]),
        attrs: attrs.into_iter().collect(),
        regions: 0,
    };
    let early = builder.insert(row, init);
    let early = builder.module.result(early, 0);
    let late = builder.build_as(spread, &[early], &[], ty);
    if let Some(name) = module.name(result).map(str::to_owned) {
        module.set_name(early, &name);
    }
    module.replace_uses(result, late);
    module.erase(op);
    true
}
