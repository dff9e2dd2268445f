//! Tensor descriptors: tensors in memory that are read and written in blocks, with bounds.

use super::memory::{CACHE, EVICT};
use crate::types::{DESCRIPTOR, INT, INT_LIKE, POINTER, TENSOR_ONLY, elem, is_unsigned, shape, tensor};
use ir::{AttrKind, AttrSpec, EnumRow, Format, Infer, OpRow, Presence, Traits, one, variadic};
use smallvec::smallvec;

/// What stands outside the tensor.
pub static PADDING: EnumRow = EnumRow { name: "padding", cases: &[("pad_zero", 1), ("pad_nan", 2)] };

/// How a block is combined into memory.
pub static REDUCE_KIND: EnumRow = EnumRow {
    name: "kind",
    cases: &[("add", 1), ("min", 2), ("max", 3), ("inc", 4), ("dec", 5), ("and", 6), ("or", 7), ("xor", 8)],
};

/// The atomic operation, by its keyword of [`super::atomic::RMW`], that combines a block into the memory of a descriptor; `None`
/// where memory has none.
pub fn atomic_name(descriptor: ir::Type, kind: &str) -> Option<&'static str> {
    let (is_float, is_unsigned) = (elem(descriptor).as_float().is_some(), is_unsigned(descriptor));
    Some(match (kind, is_float) {
        ("add", true) => "fadd",
        ("add", false) => "add",
        ("min", false) => {
            if is_unsigned {
                "umin"
            } else {
                "min"
            }
        }
        ("max", false) => {
            if is_unsigned {
                "umax"
            } else {
                "max"
            }
        }
        ("and", false) => "and",
        ("or", false) => "or",
        ("xor", false) => "xor",
        _ => return None,
    })
}

/// A descriptor.
pub static MAKE: OpRow = OpRow {
    name: "tt.make_tensor_descriptor",
    doc: "Describes a tensor in memory: base, shape (i32), strides in elements (i64, the last one 1).",
    operands: &[one("base", &POINTER), variadic("shape", &INT), variadic("strides", &INT)],
    attrs: &[AttrSpec::with_default("padding", AttrKind::Enum(&PADDING), Presence::Enum(1))],
    results: &[one("result", &DESCRIPTOR)],
    infer: Infer::Explicit,
    traits: Traits::PURE,
    format: Format::Text(
        "$base, [ $shape ], [ $strides ] attr-dict : short-type($base), short-type($result)",
    ),
    verify: Some(|module, op| {
        let rank = shape(module.ty(module.result(op, 0))).len();
        let given = module.operand_group(op, 1).len();
        if rank == given { Ok(()) } else { Err(format!("{given} sizes for a block of rank {rank}")) }
    }),
    ..OpRow::BASE
};

/// Reads a block.
pub static LOAD: OpRow = OpRow {
    name: "tt.descriptor_load",
    doc: "The block at an offset (in elements); what lies outside the tensor is the padding.",
    operands: &[one("desc", &DESCRIPTOR), variadic("indices", &INT)],
    attrs: &[
        AttrSpec::with_default("cache", AttrKind::Enum(&CACHE), Presence::Enum(1)),
        AttrSpec::with_default("evict", AttrKind::Enum(&EVICT), Presence::Enum(1)),
    ],
    results: &[one("result", &TENSOR_ONLY)],
    infer: Infer::Rule(|args| Ok(smallvec![tensor(shape(args.ty(0)), elem(args.ty(0)))])),
    traits: Traits::READS,
    format: Format::Custom {
        print: super::memory_text::print_descriptor_load,
        parse: super::memory_text::parse_descriptor_load,
    },
    ..OpRow::BASE
};

/// Writes a block.
pub static STORE: OpRow = OpRow {
    name: "tt.descriptor_store",
    doc: "Writes a block at an offset (in elements); what lies outside the tensor is not written.",
    operands: &[one("desc", &DESCRIPTOR), variadic("indices", &INT), one("src", &TENSOR_ONLY)],
    traits: Traits::WRITES,
    format: Format::Text("$desc [ $indices ], $src attr-dict : type($desc), type($src)"),
    ..OpRow::BASE
};

/// Reads rows.
pub static GATHER: OpRow = OpRow {
    name: "tt.descriptor_gather",
    doc: "Rows of a matrix, picked by `x_offsets`, from column `y_offset` on.",
    operands: &[one("desc", &DESCRIPTOR), one("x_offsets", &INT_LIKE), one("y_offset", &INT)],
    results: &[one("result", &TENSOR_ONLY)],
    infer: Infer::Explicit,
    traits: Traits::READS,
    format: Format::Text("$desc [ $x_offsets, $y_offset ] attr-dict : functional-type"),
    ..OpRow::BASE
};

/// Writes rows.
pub static SCATTER: OpRow = OpRow {
    name: "tt.descriptor_scatter",
    doc: "Writes rows of a matrix, picked by `x_offsets`, from column `y_offset` on.",
    operands: &[
        one("desc", &DESCRIPTOR),
        one("x_offsets", &INT_LIKE),
        one("y_offset", &INT),
        one("src", &TENSOR_ONLY),
    ],
    traits: Traits::WRITES,
    format: Format::Text(
        "$desc [ $x_offsets, $y_offset ], $src attr-dict : type($desc), type($x_offsets), type($y_offset), type($src)",
    ),
    ..OpRow::BASE
};

/// Combines a block into memory.
pub static REDUCE: OpRow = OpRow {
    name: "tt.descriptor_reduce",
    doc: "Combines a block into memory at an offset, each element atomically.",
    operands: &[one("desc", &DESCRIPTOR), variadic("indices", &INT), one("src", &TENSOR_ONLY)],
    attrs: &[AttrSpec::required("kind", AttrKind::Enum(&REDUCE_KIND))],
    traits: Traits::READS.and(Traits::WRITES),
    format: Format::Text("$kind, $desc [ $indices ], $src attr-dict : type($desc), type($src)"),
    ..OpRow::BASE
};
