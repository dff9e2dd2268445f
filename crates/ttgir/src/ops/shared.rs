//! Shared memory: making it, reading and writing it, and other views of it.

use crate::encoding::SharedEncoding;
use crate::types::{MEMDESC_ONLY, MUTABLE, MemDesc, TOKEN_ONLY, memdesc};
use ir::view::Ints;
use ir::{Builder, Effect, Format, Infer, LayoutRule, Module, Op, OpRow, Traits, Type, Value};
use ttir::types::{INT, TENSOR_ONLY, elem, shape};

/// Whether a row makes memory of the thread block.
fn is_alloc(row: &OpRow) -> bool {
    matches!((row.effect, row.results), (Effect::Allocate, [result]) if std::ptr::eq(result.constraint, &MEMDESC_ONLY))
}

ir::op_view! {
    /// Of whatever makes shared memory, filled or not,
    AllocOp where is_alloc {
        operands { src: Optional TENSOR_ONLY }
        results { result: One MEMDESC_ONLY }
    }
}

impl AllocOp<'_> {
    /// Whether an operation makes shared memory.
    pub fn is(module: &Module, op: Op) -> bool {
        AllocOp::of(module, op).is_some()
    }
}

/// Makes shared memory that is filled later.
pub fn allocate(builder: &mut Builder<'_>, ty: Type) -> Value {
    builder.build_as(&LOCAL_ALLOC, &[], &LocalAllocOp::attrs(None), ty)
}

/// Makes shared memory with a block.
pub fn allocate_with(builder: &mut Builder<'_>, block: Value, ty: Type) -> Value {
    builder.build_as(&LOCAL_ALLOC, &[block], &LocalAllocOp::attrs(None), ty)
}

/// Loads a block from shared memory; the token is that of a wait for the copies that fill it.
pub fn load_from(builder: &mut Builder<'_>, memory: Value, token: Option<Value>, ty: Type) -> Value {
    let operands: Vec<Value> = [memory].into_iter().chain(token).collect();
    builder.build_as(&LOCAL_LOAD, &operands, &[], ty)
}

ir::op_view! {
    LocalAllocOp of LOCAL_ALLOC {
        operands { src: Optional TENSOR_ONLY }
        attrs { alignment: Option<u32> }
        results { result: One MEMDESC_ONLY }
    }
}

/// Makes shared memory.
pub static LOCAL_ALLOC: OpRow = OpRow {
    name: "ttg.local_alloc",
    doc: "Shared memory for a block, filled with `src` if it is given; without it the memory is mutable and undefined.",
    infer: Infer::Explicit,
    layout: LayoutRule::Stored,
    effect: Effect::Allocate,
    format: Format::Text("($src)? attr-dict : functional-type"),
    verify: Some(|module, op| {
        let desc = result(module, op)?;
        if desc.alloc_shape != desc.shape {
            return Err("what is allocated is the whole".into());
        }
        match module.operands(op).first() {
            Some(&src) => same_block(module.ty(src), &desc),
            None if desc.mutable => Ok(()),
            None => Err("memory without a source must be mutable".into()),
        }
    }),
    ..LocalAllocOp::ROW
};

ir::op_view! {
    LocalDeallocOp of LOCAL_DEALLOC {
        operands { src: One MEMDESC_ONLY => Nothing }
    }
}

/// Gives shared memory back.
pub static LOCAL_DEALLOC: OpRow = OpRow {
    name: "ttg.local_dealloc",
    doc: "The memory is not used any more; without this it lives until its last use.",
    effect: Effect::Write,
    format: Format::Text("$src attr-dict : type($src)"),
    ..LocalDeallocOp::ROW
};

ir::op_view! {
    LocalLoadOp of LOCAL_LOAD {
        operands { src: One MEMDESC_ONLY => Read, token: Optional TOKEN_ONLY }
        results { result: One TENSOR_ONLY }
    }
}

/// Reads shared memory.
pub static LOCAL_LOAD: OpRow = OpRow {
    name: "ttg.local_load",
    doc: "The block in shared memory. The token is of a wait for the copies that fill it.",
    infer: Infer::Explicit,
    format: Format::Text("$src (token $token)? attr-dict : type($src) -> type($result)"),
    verify: Some(|module, op| same_block(module.ty(module.result(op, 0)), &operand(module, op, 0)?)),
    ..LocalLoadOp::ROW
};

ir::op_view! {
    LocalStoreOp of LOCAL_STORE {
        operands { src: One TENSOR_ONLY, dst: One MUTABLE => Write }
    }
}

/// Writes shared memory.
pub static LOCAL_STORE: OpRow = OpRow {
    name: "ttg.local_store",
    doc: "Writes a block to shared memory.",
    format: Format::Text("$src, $dst attr-dict : type($src) -> type($dst)"),
    verify: Some(|module, op| same_block(module.ty(module.operand(op, 0)), &operand(module, op, 1)?)),
    ..LocalStoreOp::ROW
};

ir::op_view! {
    MemdescIndexOp of MEMDESC_INDEX {
        operands { src: One MEMDESC_ONLY, index: One INT }
        results { result: One MEMDESC_ONLY }
    }
}

/// One of several buffers.
pub static MEMDESC_INDEX: OpRow = OpRow {
    name: "ttg.memdesc_index",
    doc: "The buffer of this number: the part at a position of the first dimension, which goes.",
    infer: Infer::Explicit,
    traits: Traits::PURE,
    format: Format::Text("$src [ $index ] attr-dict : type($src) -> type($result)"),
    verify: Some(|module, op| {
        let (from, to) = (operand(module, op, 0)?, result(module, op)?);
        let fits = from.shape.len() == to.shape.len() + 1
            && from.shape[1..] == *to.shape
            && from.alloc_shape == from.shape;
        let same = from.elem == to.elem && from.encoding == to.encoding && from.mutable == to.mutable;
        if fits && same { Ok(()) } else { Err("the result is not one buffer of the operand".into()) }
    }),
    ..MemdescIndexOp::ROW
};

ir::op_view! {
    MemdescSubsliceOp of MEMDESC_SUBSLICE {
        operands { src: One MEMDESC_ONLY }
        attrs { offsets: Ints }
        results { result: One MEMDESC_ONLY }
    }
}

/// A box of a block.
pub static MEMDESC_SUBSLICE: OpRow = OpRow {
    name: "ttg.memdesc_subslice",
    doc: "The part of a block that begins at `offsets` and has the shape of the result.",
    infer: Infer::Explicit,
    traits: Traits::PURE,
    format: Format::Text("$src [ $offsets ] attr-dict : type($src) -> type($result)"),
    verify: Some(verify_subslice),
    ..MemdescSubsliceOp::ROW
};

fn verify_subslice(module: &Module, op: Op) -> Result<(), String> {
    let (from, to) = (operand(module, op, 0)?, result(module, op)?);
    let offsets = ttir::ops::shape::ints(module.attr(op, 0));
    let same = from.elem == to.elem && from.encoding == to.encoding && from.mutable == to.mutable;
    let rank = from.shape.len();
    if !same || to.shape.len() != rank || offsets.len() != rank || from.alloc_shape != to.alloc_shape {
        return Err(
            "a part has the element type, the encoding, the rank and the allocation of the whole".into()
        );
    }
    for (dim, &offset) in offsets.iter().enumerate() {
        let (whole, part) = (from.shape[dim], to.shape[dim]);
        if offset < 0 || part > whole || offset > whole - part {
            return Err(format!("the part leaves the block along dimension {dim}"));
        }
        if part != whole && offset % part != 0 {
            return Err(format!(
                "offset {offset} along dimension {dim} is not a multiple of the size {part}"
            ));
        }
    }
    Ok(())
}

ir::op_view! {
    MemdescTransOp of MEMDESC_TRANS {
        operands { src: One MEMDESC_ONLY }
        attrs { order: Ints }
        results { result: One MEMDESC_ONLY }
    }
}

/// Permutes dimensions of a view.
pub static MEMDESC_TRANS: OpRow = OpRow {
    name: "ttg.memdesc_trans",
    doc: "The same memory with its dimensions permuted: dimension `i` of the result is dimension `order[i]`.",
    infer: Infer::Explicit,
    traits: Traits::PURE,
    format: Format::Text("$src attr-dict : type($src) -> type($result)"),
    verify: Some(|module, op| {
        let (from, to) = (operand(module, op, 0)?, result(module, op)?);
        let order = ttir::ops::shape::ints(module.attr(op, 0));
        let expected = crate::infer::memdesc_trans(module.ty(module.operand(op, 0)), order)?;
        let expected = memdesc(expected).ok_or("the rule gives a memory descriptor")?;
        if expected.shape != to.shape || from.elem != to.elem || from.mutable != to.mutable {
            return Err(format!(
                "the shape of the result must be {:?}, found {:?}",
                expected.shape, to.shape
            ));
        }
        same_offsets(&expected, &to)
    }),
    ..MemdescTransOp::ROW
};

ir::op_view! {
    MemdescReshapeOp of MEMDESC_RESHAPE {
        operands { src: One MEMDESC_ONLY }
        results { result: One MEMDESC_ONLY }
    }
}

/// The same memory in another shape.
pub static MEMDESC_RESHAPE: OpRow = OpRow {
    name: "ttg.memdesc_reshape",
    doc: "The same memory with the same elements, in row-major order, in another shape.",
    infer: Infer::Explicit,
    traits: Traits::PURE,
    format: Format::Text("$src attr-dict : type($src) -> type($result)"),
    verify: Some(|module, op| {
        let (from, to) = (operand(module, op, 0)?, result(module, op)?);
        if from.alloc_shape != from.shape || to.alloc_shape != to.shape {
            return Err("a part of a block cannot change its shape".into());
        }
        let expected = crate::infer::memdesc_reshape(module.ty(module.operand(op, 0)), to.shape)?;
        if from.mutable != to.mutable || from.elem != to.elem {
            return Err("elements and mutability stay".into());
        }
        same_offsets(&memdesc(expected).ok_or("the rule gives a memory descriptor")?, &to)
    }),
    ..MemdescReshapeOp::ROW
};

ir::op_view! {
    MemdescReinterpretOp of MEMDESC_REINTERPRET {
        operands { src: One MEMDESC_ONLY }
        results { result: One MEMDESC_ONLY }
    }
}

/// The same memory as something else.
pub static MEMDESC_REINTERPRET: OpRow = OpRow {
    name: "ttg.memdesc_reinterpret",
    doc: "The same memory with another element type, shape and encoding.",
    infer: Infer::Explicit,
    traits: Traits::PURE,
    format: Format::Text("$src attr-dict : type($src) -> type($result)"),
    verify: Some(|module, op| {
        let (from, to) = (operand(module, op, 0)?, result(module, op)?);
        if from.mutable == to.mutable { Ok(()) } else { Err("mutability stays".into()) }
    }),
    ..MemdescReinterpretOp::ROW
};

fn operand(module: &Module, op: Op, index: usize) -> Result<MemDesc<'static>, String> {
    of(module, module.operand(op, index))
}

fn result(module: &Module, op: Op) -> Result<MemDesc<'static>, String> {
    of(module, module.result(op, 0))
}

fn of(module: &Module, value: Value) -> Result<MemDesc<'static>, String> {
    memdesc(module.ty(value)).ok_or_else(|| "a memory descriptor is missing".into())
}

/// A tensor and a memory descriptor hold blocks of one shape and element type.
pub(super) fn same_block(tensor: Type, desc: &MemDesc<'_>) -> Result<(), String> {
    if shape(tensor) == desc.shape && elem(tensor) == desc.elem {
        Ok(())
    } else {
        Err(format!(
            "{tensor} and memory of {:?} elements of {} hold different blocks",
            desc.shape, desc.elem
        ))
    }
}

/// Two descriptions have each element at the same offset.
fn same_offsets(a: &MemDesc<'_>, b: &MemDesc<'_>) -> Result<(), String> {
    let layout = |desc: &MemDesc<'_>| {
        let encoding = desc.encoding.data::<SharedEncoding>()?;
        let inner = desc.alloc_shape.len() - encoding.rank();
        Some((encoding.to_linear(&desc.alloc_shape[inner..]), encoding.padding().to_vec()))
    };
    if a.encoding == b.encoding || layout(a) == layout(b) {
        Ok(())
    } else {
        Err("the encoding of the result has elements at other offsets".into())
    }
}
