//! What passes and lowering ask of the layout of a tensor.

use super::{Encoding, bases};
use ir::{Attr, Type, TypeParam};
use layout::{Dim, LinearLayout};

/// Which positions hold copies of what others hold, as masks: an element is held once by the positions whose masked
/// bits are all 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Facts {
    /// Bits of the register number that change nothing.
    pub free_registers: u32,
    /// Bits of the lane number that change nothing.
    pub free_lanes: u32,
    /// Bits of the warp number that change nothing.
    pub free_warps: u32,
    /// Bits of the block number that change nothing.
    pub free_blocks: u32,
}

impl Facts {
    /// The facts of a layout.
    pub fn of(layout: &LinearLayout) -> Facts {
        let mut spanned = Vec::new();
        let [free_registers, free_lanes, free_warps, free_blocks] = bases::INPUTS.map(|dim| {
            let (bits, shift) = (layout.ins().bits(dim), layout.ins().shift(dim));
            let column = |bit: u32| layout.apply_word(1 << (shift + bit));
            let free = (0..bits).filter(|&bit| !extend(&mut spanned, column(bit)));
            free.fold(0, |mask, bit| mask | 1 << bit)
        });
        Facts { free_registers, free_lanes, free_warps, free_blocks }
    }
}

/// Adds a vector to a basis of distinct highest bits; whether it was not spanned already.
fn extend(basis: &mut Vec<u64>, mut vector: u64) -> bool {
    for &own in basis.iter() {
        vector = vector.min(vector ^ own);
    }
    if vector != 0 {
        basis.push(vector);
        basis.sort_unstable_by(|a, b| b.cmp(a));
    }
    vector != 0
}

/// The registers of a lane for a value of a type: 1 for a scalar.
///
/// # Panics
/// For a tensor without an encoding: verified programs have none.
pub fn num_registers(ty: Type) -> usize {
    let shape = ttir::types::shape(ty);
    if !ttir::types::is_tensor(ty) {
        return 1;
    }
    let encoding = Encoding::of(ty).expect("tensors of verified programs have encodings");
    1 << encoding.to_linear(shape).ins().bits(Dim::REGISTER)
}

/// The same tensor type with another encoding; another type stays.
pub fn replace_encoding(ty: Type, encoding: &Encoding) -> Type {
    replace_attr(ty, &encoding.attr())
}

/// The same with an encoding as an attribute.
pub(crate) fn replace_attr(ty: Type, encoding: &Attr) -> Type {
    match ty.params_of(&ttir::types::TENSOR) {
        Some([shape, elem, ..]) => Type::dialect(
            &ttir::types::TENSOR,
            vec![shape.clone(), elem.clone(), TypeParam::Attr(encoding.clone())],
        ),
        _ => ty,
    }
}

/// Whether two encodings hold each element of blocks of a shape at the same positions.
pub fn same_layout(a: &Encoding, b: &Encoding, shape: &[i64]) -> bool {
    a == b || a.to_linear(shape) == b.to_linear(shape)
}

/// The layout without registers that only hold copies of other registers of the lane.
pub fn distinct_registers(layout: &LinearLayout) -> LinearLayout {
    let mut encoding = Encoding::from_linear(layout);
    let rank = layout.outs().iter().count();
    if let Encoding::Linear { register, .. } = &mut encoding {
        register.retain(|basis| basis.iter().any(|&at| at != 0));
    }
    let shape: Vec<i64> = (0..rank).map(|dim| 1 << layout.outs().bits(Dim::block(dim))).collect();
    bases::explicit(&encoding, &shape)
}

/// The shape of the part of one block of a cluster.
pub fn shape_per_block(cga: &[Vec<u32>], shape: &[i64]) -> Vec<i64> {
    let splits = bases::cga_sizes(cga, shape.len());
    shape.iter().zip(splits).map(|(size, split)| (size / i64::from(split)).max(1)).collect()
}
