//! Tensor descriptors: tensors in memory that are read and written in blocks, with bounds.

use super::arith_cast::EXTSI;
use super::arith_int::int_value;
use super::atomic::Rmw;
use super::memory::{CacheModifier, EvictionPolicy};
use super::memory_text;
use crate::types::{DESCRIPTOR, INT, INT_LIKE, POINTER, TENSOR_ONLY, elem, is_unsigned, shape, tensor};
use ir::{Effect, Format, Infer, Module, Op, OpRow, Traits, Type, Value};

/// Rows of this file.
pub(super) const ROWS: &[&OpRow] = &[&MAKE, &WRITTEN, &WRITE, &LOAD, &STORE, &GATHER, &SCATTER, &REDUCE];

ir::enum_attr! {
    /// What stands outside the tensor.
    Padding, PADDING "padding" { Zero "pad_zero" = 1, Nan "pad_nan" = 2 }
}

ir::enum_attr! {
    /// How a block is combined into memory.
    ReduceKind, REDUCE_KIND "kind" {
        Add "add" = 1, Min "min" = 2, Max "max" = 3, Inc "inc" = 4, Dec "dec" = 5, And "and" = 6, Or "or" = 7,
        Xor "xor" = 8,
    }
}

/// The atomic operation that combines a block into the memory of a descriptor; `None` where memory has none.
pub fn atomic_kind(descriptor: ir::Type, kind: ReduceKind) -> Option<Rmw> {
    let (is_float, is_unsigned) = (elem(descriptor).as_float().is_some(), is_unsigned(descriptor));
    Some(match (kind, is_float) {
        (ReduceKind::Add, true) => Rmw::Fadd,
        (ReduceKind::Add, false) => Rmw::Add,
        (ReduceKind::Min, _) if is_unsigned => Rmw::Umin,
        (ReduceKind::Min, _) => Rmw::Min,
        (ReduceKind::Max, _) if is_unsigned => Rmw::Umax,
        (ReduceKind::Max, _) => Rmw::Max,
        (ReduceKind::And, false) => Rmw::And,
        (ReduceKind::Or, false) => Rmw::Or,
        (ReduceKind::Xor, false) => Rmw::Xor,
        _ => return None,
    })
}

ir::op_view! {
    /// Of accesses by a descriptor,
    DescriptorAccessOp of LOAD, STORE, GATHER, SCATTER, REDUCE {
        operands { desc: One DESCRIPTOR }
    }
}

impl<'m> DescriptorAccessOp<'m> {
    /// Reads an operation if it loads the block at its indices.
    pub fn load(module: &'m Module, op: Op) -> Option<DescriptorAccessOp<'m>> {
        DescriptorAccessOp::of(module, op).filter(|access| access.reads() && !access.indices().is_empty())
    }

    /// Reads an operation if it stores a block at its indices, and does not combine it with what is there.
    pub fn store(module: &'m Module, op: Op) -> Option<DescriptorAccessOp<'m>> {
        let is_store = |access: &DescriptorAccessOp<'_>| matches!(access.effect(), Effect::Write);
        DescriptorAccessOp::of(module, op).filter(|access| is_store(access) && !access.indices().is_empty())
    }

    /// Reads an operation if it writes a block at its indices: stores it, or combines it with what is there.
    pub fn written(module: &'m Module, op: Op) -> Option<DescriptorAccessOp<'m>> {
        DescriptorAccessOp::of(module, op).filter(|access| !access.reads() && !access.indices().is_empty())
    }

    /// How the block is combined with what is there, if it is.
    pub fn kind(self) -> Option<ReduceKind> {
        DescriptorReduceOp::of(self.module, self.op).map(DescriptorReduceOp::kind)
    }

    /// Whether it reads memory, and does not write it.
    pub fn reads(self) -> bool {
        matches!(self.effect(), Effect::Read)
    }

    /// What becomes of the tensor.
    fn effect(self) -> Effect {
        self.module.row(self.op).operands[0].effect
    }

    /// Where the block begins; none where rows are picked.
    pub fn indices(self) -> &'m [Value] {
        self.module.operands_named(self.op, "indices")
    }

    /// What is written, or combined into memory.
    pub fn src(self) -> Option<Value> {
        self.module.operand_named(self.op, "src")
    }

    /// The block that is moved: what is written, or what is read.
    pub fn block(self) -> Value {
        self.src().unwrap_or_else(|| self.module.result(self.op, 0))
    }
}

ir::op_view! {
    MakeDescriptorOp of MAKE {
        operands { base: One POINTER, shape: Variadic INT, strides: Variadic INT }
        attrs { padding: Padding = Enum(Padding::Zero as u32) }
        results { result: One DESCRIPTOR }
    }
}

/// A descriptor.
pub static MAKE: OpRow = OpRow {
    name: "tt.make_tensor_descriptor",
    doc: "Describes a tensor in memory: base, shape (i32), strides in elements (i64, the last one 1).",
    infer: Infer::Explicit,
    traits: Traits::PURE,
    format: Format::Text(
        "$base, [ $shape ], [ $strides ] attr-dict : short-type($base), short-type($result)",
    ),
    verify: Some(verify_make),
    ..MakeDescriptorOp::ROW
};

fn verify_make(module: &Module, op: Op) -> Result<(), String> {
    let rank = shape(module.ty(module.result(op, 0))).len();
    let given = module.operand_group(op, 1).len();
    if rank != given {
        return Err(format!("{given} sizes for a block of rank {rank}"));
    }
    let strides = module.operand_group(op, 2);
    match strides.last().and_then(|&stride| extended_constant(module, stride)) {
        Some(stride) if stride != 1 => Err(format!("the last stride must be 1, and is {stride}")),
        _ => Ok(()),
    }
}

/// The number that an integer is, if it is a constant or the extension of one.
fn extended_constant(module: &Module, mut value: Value) -> Option<i64> {
    while let Some(op) = module.def_op(value).filter(|&op| module.is(op, &EXTSI)) {
        value = module.operand(op, 0);
    }
    int_value(module, value)
}

/// Where a descriptor in memory has the address of its tensor, counted in words of 64 bits; sizes follow.
pub const FIRST_WORD: i64 = 1;

ir::op_view! {
    WrittenDescriptorOp of WRITTEN {
        operands { ptr: One POINTER => Read }
        results { result: One DESCRIPTOR }
    }
}

/// A descriptor from memory.
pub static WRITTEN: OpRow = OpRow {
    name: "tt.reinterpret_tensor_descriptor",
    doc: "The descriptor of a row, or of a matrix whose rows lie side by side, that was written to memory \
          (`tt.experimental_tensormap_create`, `tools.experimental_descriptor`).",
    infer: Infer::Explicit,
    format: Format::Text("$ptr attr-dict : type($ptr) to type($result)"),
    verify: Some(|module, op| match shape(module.ty(module.result(op, 0))).len() {
        1 | 2 => Ok(()),
        rank => Err(format!("a descriptor in memory has one or two dimensions, not {rank}")),
    }),
    ..WrittenDescriptorOp::ROW
};

ir::op_view! {
    WriteDescriptorOp of WRITE {
        operands { ptr: One POINTER => Write, base: One POINTER, shape: Variadic INT }
    }
}

/// Writes a descriptor to memory.
pub static WRITE: OpRow = OpRow {
    name: "tt.experimental_tensormap_create",
    doc: "Writes 128 bytes to `ptr`: the descriptor of a row, or of a matrix whose rows lie side by side, at `base`; \
          `shape` (i64) is its size.",
    format: Format::Text("$ptr, $base, [ $shape ] attr-dict : type($ptr), type($base)"),
    verify: Some(|module, op| match module.operand_group(op, 2).len() {
        1 | 2 => Ok(()),
        rank => Err(format!("a descriptor in memory has one or two dimensions, not {rank}")),
    }),
    ..WriteDescriptorOp::ROW
};

ir::op_view! {
    DescriptorLoadOp of LOAD {
        operands { desc: One DESCRIPTOR => Read, indices: Variadic INT }
        attrs {
            cache: CacheModifier = Enum(CacheModifier::None as u32),
            evict: EvictionPolicy = Enum(EvictionPolicy::Normal as u32),
        }
        results { result: One TENSOR_ONLY }
    }
}

/// Reads a block.
pub static LOAD: OpRow = OpRow {
    name: "tt.descriptor_load",
    doc: "The block at an offset (in elements); what lies outside the tensor is the padding. The result may leave out \
          dimensions of size 1 other than the last one.",
    infer: Infer::Explicit,
    verify: Some(|module, op| {
        let load = DescriptorLoadOp::new(module, op);
        let (desc, result) = (module.ty(load.desc()), module.ty(load.result()));
        match elem(desc) == elem(result) && leaves_out_units(shape(desc), shape(result)) {
            true => Ok(()),
            false => Err(format!("a block of {desc} cannot be loaded as {result}")),
        }
    }),
    format: Format::Custom {
        print: |printer, op| {
            let directives = "$desc [ $indices ] attr-dict : type($desc) -> type($result)";
            memory_text::print(printer, op, directives);
        },
        parse: |parser| {
            let directives = "$desc [ $indices ] (cacheModifier = $cache)? (evictionPolicy = $evict)? attr-dict \
                              : type($desc) -> type($result)";
            memory_text::parse(parser, &LOAD, directives)
        },
    },
    ..DescriptorLoadOp::ROW
};

/// The block that a descriptor describes.
pub fn block_type(desc: Type) -> Type {
    tensor(shape(desc), elem(desc))
}

/// Whether one shape is another one without some of its dimensions of size 1; the last dimension stays.
pub fn leaves_out_units(from: &[i64], to: &[i64]) -> bool {
    let others = |shape: &[i64]| shape.iter().copied().filter(|&size| size != 1).collect::<Vec<_>>();
    to.len() <= from.len() && from.last() == to.last() && others(from) == others(to)
}

ir::op_view! {
    DescriptorStoreOp of STORE {
        operands { desc: One DESCRIPTOR => Write, indices: Variadic INT, src: One TENSOR_ONLY }
    }
}

/// Writes a block.
pub static STORE: OpRow = OpRow {
    name: "tt.descriptor_store",
    doc: "Writes a block at an offset (in elements); what lies outside the tensor is not written.",
    format: Format::Text("$desc [ $indices ], $src attr-dict : type($desc), type($src)"),
    ..DescriptorStoreOp::ROW
};

ir::op_view! {
    DescriptorGatherOp of GATHER {
        operands { desc: One DESCRIPTOR => Read, x_offsets: One INT_LIKE, y_offset: One INT }
        results { result: One TENSOR_ONLY }
    }
}

/// Reads rows.
pub static GATHER: OpRow = OpRow {
    name: "tt.descriptor_gather",
    doc: "Rows of a matrix, picked by `x_offsets`, from column `y_offset` on.",
    infer: Infer::Explicit,
    format: Format::Text("$desc [ $x_offsets, $y_offset ] attr-dict : functional-type"),
    ..DescriptorGatherOp::ROW
};

ir::op_view! {
    DescriptorScatterOp of SCATTER {
        operands { desc: One DESCRIPTOR => Write, x_offsets: One INT_LIKE, y_offset: One INT, src: One TENSOR_ONLY }
    }
}

/// Writes rows.
pub static SCATTER: OpRow = OpRow {
    name: "tt.descriptor_scatter",
    doc: "Writes rows of a matrix, picked by `x_offsets`, from column `y_offset` on.",
    format: Format::Text(
        "$desc [ $x_offsets, $y_offset ], $src attr-dict : type($desc), type($x_offsets), type($y_offset), type($src)",
    ),
    ..DescriptorScatterOp::ROW
};

ir::op_view! {
    DescriptorReduceOp of REDUCE {
        operands { desc: One DESCRIPTOR => Atomic, indices: Variadic INT, src: One TENSOR_ONLY }
        attrs { kind: ReduceKind }
    }
}

/// Combines a block into memory.
pub static REDUCE: OpRow = OpRow {
    name: "tt.descriptor_reduce",
    doc: "Combines a block into memory at an offset, each element atomically.",
    format: Format::Text("$kind, $desc [ $indices ], $src attr-dict : type($desc), type($src)"),
    ..DescriptorReduceOp::ROW
};
