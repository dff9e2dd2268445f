//! The rules of encodings that the verifier checks on every operation.

use super::{Shapes, backward, forward};
use crate::encoding::{Encoding, distinct_registers, same_layout};
use crate::module::Config;
use crate::ops::roles::warps_around;
use ir::{LayoutRule, Module, Op, Type, Value};
use ttir::ops::dot::MatmulOp;
use ttir::ops::forms::UnaryOp;
use ttir::ops::shape::{GatherOp, ReshapeOp};
use ttir::types::{is_tensor, shape};

/// Checks the encodings of an operation.
///
/// # Errors
/// Says what does not hold.
pub fn check(module: &Module, op: Op) -> Result<(), String> {
    let values = module.operands(op).iter().chain(module.results(op)).copied();
    let tensors: Vec<Type> = values.map(|value| module.ty(value)).filter(|&ty| is_tensor(ty)).collect();
    if tensors.is_empty() {
        return Ok(());
    }
    let mut config = Config::of(module)?;
    config.num_warps = warps_around(module, op).unwrap_or(config.num_warps);
    for &ty in &tensors {
        check_type(ty, config)?;
    }
    let row = module.row(op);
    match row.layout {
        LayoutRule::Free | LayoutRule::Stored => Ok(()),
        LayoutRule::Broadcast => check_broadcast(tensors[0], tensors[1]),
        LayoutRule::Same => all_same(&tensors),
        LayoutRule::Apart => {
            let operands = module.operands(op).iter().map(|&value| module.ty(value));
            all_same(&operands.filter(|&ty| is_tensor(ty)).collect::<Vec<Type>>())
        }
        LayoutRule::Dot => check_dot(module, op),
        LayoutRule::Gather => {
            let gather = GatherOp::new(module, op);
            let (indices, result) = (gather.indices(), gather.result());
            same(module, indices, result)
                .map_err(|error| format!("the result is not held as the indices: {error}"))
        }
        LayoutRule::Reshape if ReshapeOp::new(module, op).allow_reorder() => Ok(()),
        _ => check_follows(module, op),
    }
}

/// A tensor has an encoding that fits its rank and the program.
fn check_type(ty: Type, config: Config) -> Result<(), String> {
    let Some(encoding) = Encoding::of(ty) else {
        return Err(format!("{ty} has no encoding"));
    };
    if encoding.rank() != shape(ty).len() {
        return Err(format!("the encoding of {ty} has rank {}", encoding.rank()));
    }
    let (lanes, warps) = encoding.lanes_and_warps();
    if lanes != config.threads_per_warp {
        return Err(format!(
            "{ty} is for {lanes} lanes in a warp, the program has {}",
            config.threads_per_warp
        ));
    }
    if config.num_ctas > 1 || matches!(encoding, Encoding::Blocked { cga, .. } if !cga.is_empty()) {
        let blocks = 1u64 << encoding.cga().len();
        if blocks != u64::from(config.num_ctas) {
            return Err(format!(
                "{ty} is for {blocks} blocks of a cluster, the program has {}",
                config.num_ctas
            ));
        }
    }
    if warps != config.num_warps {
        return Err(format!("{ty} is for {warps} warps, the program has {}", config.num_warps));
    }
    Ok(())
}

fn all_same(tensors: &[Type]) -> Result<(), String> {
    match tensors.iter().find(|&&ty| !held_alike(tensors[0], ty, shape(ty))) {
        None => Ok(()),
        Some(other) => Err(format!("{} and {other} must have one encoding", tensors[0])),
    }
}

/// The operand is held as the result would be if it had the shape of the operand; the number of copies in a lane is
/// free.
fn check_broadcast(operand: Type, result: Type) -> Result<(), String> {
    let distinct = |ty: Type| {
        let encoding = Encoding::of(ty)?;
        Some(distinct_registers(&encoding.to_linear(shape(operand))))
    };
    if shape(operand).len() == shape(result).len() && distinct(operand) == distinct(result) {
        Ok(())
    } else {
        Err(format!("{operand} is not held as the same elements of {result}"))
    }
}

/// Whether the encodings of two types are the same for blocks of a shape.
fn held_alike(a: Type, b: Type, shape: &[i64]) -> bool {
    matches!((Encoding::of(a), Encoding::of(b)), (Some(a), Some(b)) if a == b
        || (a.rank() == shape.len() && b.rank() == shape.len() && same_layout(a, b, shape)))
}

fn same(module: &Module, a: Value, b: Value) -> Result<(), String> {
    let (a, b) = (module.ty(a), module.ty(b));
    if held_alike(a, b, shape(a)) { Ok(()) } else { Err(format!("{a} and {b} differ")) }
}

/// The encoding of the result follows from that of the operand, or the other way round.
fn check_follows(module: &Module, op: Op) -> Result<(), String> {
    let row = module.row(op);
    let operand = module.ty(UnaryOp::new(module, op).src());
    let results = module.results(op).iter().map(|&value| module.ty(value));
    let Some(own) = Encoding::of(operand) else { return Ok(()) };
    for result in results.filter(|&ty| is_tensor(ty)) {
        let Some(found) = Encoding::of(result) else { return Err(format!("{result} has no encoding")) };
        let shapes = Shapes { attrs: module.attrs(op), from: shape(operand), to: shape(result) };
        let forth = forward(row, own, shapes);
        let fits = matches!(&forth, Ok(expected) if same_layout(expected, found, shape(result)))
            || matches!(backward(row, found, shapes), Ok(needed) if same_layout(&needed, own, shape(operand)));
        if !fits {
            let reason = forth.err().map_or(String::new(), |error| format!(": {error}"));
            return Err(format!("{result} does not follow from {operand}{reason}"));
        }
    }
    Ok(())
}

fn check_dot(module: &Module, op: Op) -> Result<(), String> {
    let dot = MatmulOp::new(module, op);
    let [a, b, c, d] = [dot.a(), dot.b(), dot.c(), dot.d()].map(|value| module.ty(value));
    if c != d {
        return Err(format!("the result must be {c}, found {d}"));
    }
    for (index, ty) in [a, b].into_iter().enumerate() {
        match Encoding::of(ty) {
            Some(Encoding::DotOp { op_idx, parent, .. })
                if *op_idx as usize == index && Some(&**parent) == Encoding::of(d) => {}
            _ => {
                return Err(format!("operand {index} must be encoded as operand {index} of {d}, found {ty}"));
            }
        }
    }
    Ok(())
}
