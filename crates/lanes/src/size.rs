//! How much code a kernel becomes, before it is written: every register of a block is an instruction of its own.
//!
//! Each operation counts as the registers of its widest block, a dot by elements as its multiply-adds. A kernel
//! beyond [`MOST_INSTRUCTIONS`] is refused with the block that takes the most of them: an assembler would need minutes.

use crate::error::{Result, at};
use crate::layouts::layout_of;
use ir::{Module, Op, Traits, Type};
use layout::Dim;
use rustc_hash::FxHashMap;
use ttgir::Encoding;
use ttir::ops::dot::MatmulOp;
use ttir::types::{elem, is_tensor, shape, tensor};

/// Instructions of one lane, by this count. A sort of 32 rows of 128 in two warps is 160 thousand, which is compiled;
/// code of twice this size is more than 16 MB of text.
const MOST_INSTRUCTIONS: u64 = 1 << 18;

/// Registers of blocks, by their type.
#[derive(Default)]
struct Sizes {
    registers: FxHashMap<Type, u64>,
}

impl Sizes {
    /// How many registers of each lane hold a value: none for what is no block with a layout.
    fn registers(&mut self, ty: Type) -> u64 {
        if !is_tensor(ty) {
            return 0;
        }
        let count = || layout_of(ty).map_or(0, |layout| 1 << layout.ins().bits(Dim::REGISTER));
        *self.registers.entry(ty).or_insert_with(count)
    }

    /// About how many instructions an operation becomes, and the type of its widest block.
    fn of(&mut self, module: &Module, op: Op) -> (u64, Option<Type>) {
        let values = module.operands(op).iter().chain(module.results(op));
        let types = values.map(|&value| module.ty(value));
        let widest = types.map(|ty| (self.registers(ty), ty)).max_by_key(|(registers, _)| *registers);
        let Some((registers, ty)) = widest else { return (0, None) };
        let Some(dot) = MatmulOp::of(module, op) else { return (registers, Some(ty)) };
        let result = module.ty(module.result(op, 0));
        if matches!(Encoding::of(result), Some(Encoding::Mma { .. } | Encoding::Fragments(_))) {
            return (registers, Some(ty));
        }
        let depth = shape(module.ty(dot.a())).last().map_or(1, |&size| size as u64);
        (registers.max(self.registers(result) * depth), Some(ty))
    }
}

/// Refuses a kernel, given as all operations that it reaches, that becomes too much code.
///
/// # Errors
/// Names the operation that takes the most.
pub(crate) fn check(module: &Module, ops: &[Op], lanes: u32) -> Result<()> {
    let mut sizes = Sizes::default();
    let mut total = 0;
    let mut largest: Option<((u64, bool), Op, Type)> = None;
    for &op in ops {
        let (instructions, ty) = sizes.of(module, op);
        total += instructions;
        // Of operations that are as large, a dot says more than a constant does.
        let weight = (instructions, module.has(op, Traits::MATMUL));
        if let Some(ty) = ty.filter(|_| largest.is_none_or(|(most, ..)| weight > most)) {
            largest = Some((weight, op, ty));
        }
    }
    let Some(((most, _), op, ty)) = largest.filter(|_| total > MOST_INSTRUCTIONS) else { return Ok(()) };
    let block = tensor(shape(ty), elem(ty));
    let message = format!(
        "the kernel is too large: each of the {lanes} lanes of a program would run about {total} instructions, \
         {most} of them here for a block of {block}; at most {MOST_INSTRUCTIONS} are compiled. Use smaller blocks, or \
         more warps"
    );
    Err(at(module, op, message))
}
