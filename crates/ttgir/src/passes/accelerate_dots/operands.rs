//! Where the operands of a matrix instruction come from.

use crate::encoding::SharedEncoding;
use crate::infer;
use crate::ops::access::is_block_load;
use crate::ops::convert::{self, ConvertLayoutOp};
use crate::ops::shared::{MEMDESC_TRANS, MemdescTransOp, allocate_with};
use crate::types::memdesc_type;
use crate::{BasisList, Encoding, replace_encoding, shape_per_block};
use ir::{Builder, Module, Op, Traits, Value};
use rustc_hash::FxHashSet;
use ttir::ops::descriptor::DescriptorAccessOp;
use ttir::ops::shape::TransOp;
use ttir::types::{elem, elem_bytes, is_tensor, shape};

/// What stands behind conversions.
pub(super) fn behind_conversions(module: &Module, mut value: Value) -> Value {
    while let Some(conversion) = ConvertLayoutOp::def(module, value) {
        value = conversion.src();
    }
    value
}

/// Whether a value is as it was loaded, or comes from outside the block, so that shared memory is its natural place.
pub(super) fn is_as_loaded(module: &Module, dot: Op, value: Value) -> bool {
    let mut value = behind_conversions(module, value);
    loop {
        let Some(def) = module.def_op(value) else { return true };
        if module.block_of(def) != module.block_of(dot) || is_block_load(module, def) {
            return true;
        }
        let Some(trans) = TransOp::of(module, def) else { return false };
        value = behind_conversions(module, trans.src());
    }
}

/// The dimensions of a value in the order in which its producer runs through them, the fastest first: a load, or what
/// computes element by element from one, whose lanes hold what the load gives them.
pub(super) fn natural_order(module: &Module, value: Value) -> Vec<u32> {
    let value = behind_conversions(module, value);
    let from_load = order_of_load(module, value, &mut FxHashSet::default());
    let own = || Encoding::of(module.ty(value)).map(Encoding::order);
    from_load.or_else(own).unwrap_or_else(|| row_major(shape(module.ty(value)).len()))
}

/// The order of the load that a value is computed from element by element, of the one of most bytes where there are
/// several.
fn order_of_load(module: &Module, value: Value, seen: &mut FxHashSet<Value>) -> Option<Vec<u32>> {
    let value = behind_conversions(module, value);
    let (op, block) = (module.def_op(value)?, shape(module.ty(value)));
    if DescriptorAccessOp::load(module, op).is_some() {
        return Some(row_major(block.len()));
    }
    if is_block_load(module, op) {
        return Encoding::of(module.ty(value)).map(Encoding::order);
    }
    if let Some(trans) = TransOp::of(module, op) {
        // The fastest dimension of the source is where the permutation puts it.
        let place =
            |dim: u32| trans.order().iter().position(|&from| from as u32 == dim).map_or(dim, |at| at as u32);
        let order = order_of_load(module, trans.src(), seen)?;
        return Some(order.into_iter().map(place).collect());
    }
    if !module.has(op, Traits::ELEMENTWISE) {
        return None;
    }
    let is_whole = |&operand: &Value| is_tensor(module.ty(operand)) && shape(module.ty(operand)) == block;
    let mut operands: Vec<Value> = module
        .operands(op)
        .iter()
        .copied()
        .filter(is_whole)
        .filter(|&operand| seen.insert(operand))
        .collect();
    operands.sort_by_key(|&operand| std::cmp::Reverse(elem_bytes(elem(module.ty(operand)))));
    operands.into_iter().find_map(|operand| order_of_load(module, operand, seen))
}

fn row_major(rank: usize) -> Vec<u32> {
    (0..rank as u32).rev().collect()
}

/// Which operand of a dot something is.
pub(super) struct Side<'a> {
    /// 0 for the left one, 1 for the right one.
    pub(super) op_idx: u32,
    /// The encoding of the result.
    pub(super) result: &'a Encoding,
}

impl Side<'_> {
    /// How blocks of a cluster split it: as they split the result, each with all of k.
    fn cga(&self) -> BasisList {
        Encoding::DotOp { op_idx: self.op_idx, parent: Box::new(self.result.clone()), k_width: 0 }.cga()
    }
}

/// Bytes of the narrowest swizzle.
const NARROWEST: u64 = 32;

/// Bytes that lie behind each other in a matrix, along its columns where it is transposed.
fn fast_bytes(shape: &[i64], bytes: u64, transposed: bool) -> u64 {
    let fast = if transposed { shape[0] } else { shape[1] };
    fast as u64 * bytes
}

/// A matrix in shared memory as warp groups read it, with the rows or the columns behind each other.
fn group_shared(shape: &[i64], bytes: u64, transposed: bool, cga: BasisList) -> SharedEncoding {
    let shape = shape_per_block(&cga, shape);
    let row = fast_bytes(&shape, bytes, transposed);
    let width = [128, 64, NARROWEST].into_iter().find(|&width| row >= width).unwrap_or(0) as u32;
    SharedEncoding::Nvmma {
        swizzling_byte_width: width,
        transposed,
        element_bit_width: bytes as u32 * 8,
        rank: 2,
        fp4_padded: false,
        cga,
    }
}

/// A matrix in shared memory such that neither whole rows nor eight rows of 16 bytes below each other meet in one bank.
pub(crate) fn swizzled(shape: &[i64], bytes: u64, order: &[u32], cga: BasisList) -> SharedEncoding {
    let shape = shape_per_block(&cga, shape);
    let row = shape[order[0] as usize] as u64;
    let vec = (16 / bytes).clamp(1, row);
    let per_phase = (128 / (row * bytes)).max(1);
    let groups = (row / vec).max(1);
    let max_phase = (8 / per_phase).clamp(1, groups);
    SharedEncoding::Swizzled {
        vec: vec as u32,
        per_phase: per_phase as u32,
        max_phase: max_phase as u32,
        order: order.to_vec(),
        cga,
    }
}

/// Puts an operand into shared memory. Where the instruction wants k fastest, that is the last dimension of the left
/// one and the first of the right one.
pub(super) fn to_shared(builder: &mut Builder<'_>, value: Value, any_major: bool, side: &Side<'_>) -> Value {
    let value = behind_conversions(builder.module, value);
    let cga = side.cga();
    let bytes = elem_bytes(elem(builder.module.ty(value)));
    let mut transposed = side.op_idx == 1;
    if any_major {
        let natural = natural_order(builder.module, value)[0] == 0;
        // What is too narrow to be swizzled lies the other way round: along k there is always enough.
        let sizes = shape_per_block(&cga, shape(builder.module.ty(value)));
        transposed = if fast_bytes(&sizes, bytes, natural) < NARROWEST { transposed } else { natural };
    }
    if let Some(trans) = TransOp::def(builder.module, value) {
        // Memory can be looked at the other way round; nothing needs to move.
        let (source, order) = (behind_conversions(builder.module, trans.src()), trans.order().to_vec());
        let turned = cga.iter().map(|basis| basis.iter().rev().copied().collect()).collect();
        let alloc = alloc(builder, source, bytes, !transposed, turned);
        if let Ok(ty) = infer::memdesc_trans(builder.module.ty(alloc), &order) {
            return builder.build_as(&MEMDESC_TRANS, &[alloc], &MemdescTransOp::attrs(&order), ty);
        }
    }
    alloc(builder, value, bytes, transposed, cga)
}

fn alloc(builder: &mut Builder<'_>, value: Value, bytes: u64, transposed: bool, cga: BasisList) -> Value {
    let ty = builder.module.ty(value);
    let encoding = group_shared(shape(ty), bytes, transposed, cga);
    let memory = memdesc_type(shape(ty), elem(ty), &encoding, false);
    allocate_with(builder, value, memory)
}

/// A value in another layout.
pub(super) fn convert(builder: &mut Builder<'_>, value: Value, encoding: &Encoding) -> Value {
    let ty = replace_encoding(builder.module.ty(value), encoding);
    convert::convert(builder, value, ty)
}
