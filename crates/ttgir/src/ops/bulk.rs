//! Bulk copies of boxes of tensors that a descriptor in memory describes, and making such descriptors.

use crate::SharedEncoding;
use crate::encoding::box_of;
use crate::types::{MEMDESC_ONLY, MUTABLE, memdesc};
use ir::text::{ParseError, Parser, Printer};
use ir::view::Flag;
use ir::{Effect, Format, Infer, Module, Op, OpInit, OpRow, Traits, Value};
use smallvec::SmallVec;
use ttir::ops::atomic::Rmw;
use ttir::ops::descriptor::ReduceKind;
use ttir::types::{BOOL, DESCRIPTOR, INT, POINTER, elem, shape};

ir::op_view! {
    GlobalScratchAllocOp of GLOBAL_SCRATCH_ALLOC {
        attrs { nbytes: u32, alignment: u32 }
        results { result: One POINTER }
    }
}

/// Memory for all programs.
pub static GLOBAL_SCRATCH_ALLOC: OpRow = OpRow {
    name: "ttg.global_scratch_alloc",
    doc: "Global memory of this program for the time it runs.",
    infer: Infer::Explicit,
    effect: Effect::Allocate,
    format: Format::Text("attr-dict : type($result)"),
    ..GlobalScratchAllocOp::ROW
};

ir::op_view! {
    BulkLoadOp of BULK_LOAD {
        operands {
            desc: One DESCRIPTOR => Read,
            coord: Variadic INT,
            barrier: One MUTABLE => Read,
            dst: One MUTABLE => WriteGuarded,
            pred: One BOOL,
        }
        attrs { multicast: Flag }
    }
}

/// Reads a box.
pub static BULK_LOAD: OpRow = OpRow {
    name: "ttng.async_tma_copy_global_to_local",
    doc: "Begins to copy the box at `coord` to shared memory, if `pred` holds; `barrier` counts the bytes. With \
          `multicast` this block copies its half to the memory of both of a pair of programs, and their barriers count it.",
    format: Format::Text(
        "$desc [ $coord ] $dst, $barrier, $pred attr-dict : type($desc), type($barrier) -> type($dst)",
    ),
    verify: Some(|module, op| {
        let group = |index| module.operand_group(op, index)[0];
        fits(module, group(0), module.operand_group(op, 1).len(), group(3))
    }),
    ..BulkLoadOp::ROW
};

ir::op_view! {
    BulkStoreOp of BULK_STORE {
        operands {
            desc: One DESCRIPTOR => Write,
            coord: Variadic INT,
            src: One MEMDESC_ONLY => ReadUntil(BULK_STORE_WAIT),
        }
    }
}

/// Writes a box.
pub static BULK_STORE: OpRow = OpRow {
    name: "ttng.async_tma_copy_local_to_global",
    doc: "Begins to copy shared memory to the box at `coord`; the memory may be a part of a block of `desc`.",
    format: Format::Text("$desc [ $coord ] $src attr-dict : type($desc), type($src)"),
    verify: Some(verify_store),
    ..BulkStoreOp::ROW
};

ir::op_view! {
    /// Of copies from shared memory,
    BulkWriteOp of BULK_STORE, BULK_REDUCE {
        operands { desc: One DESCRIPTOR }
    }
}

impl<'m> BulkWriteOp<'m> {
    /// Where the box begins.
    pub fn coord(self) -> &'m [Value] {
        self.module.operands_named(self.op, "coord")
    }

    /// What is copied.
    pub fn src(self) -> Value {
        self.module.operand_named(self.op, "src").expect("verified: it has a source")
    }

    /// How it is combined with what is there, if it is.
    pub fn kind(self) -> Option<ReduceKind> {
        BulkReduceOp::of(self.module, self.op).map(BulkReduceOp::kind)
    }
}

ir::op_view! {
    LanesStoreOp of LANES_STORE {
        operands {
            base: One POINTER => Write,
            coord: Variadic INT,
            sizes: Variadic INT,
            strides: Variadic INT,
            src: One MEMDESC_ONLY => Read,
        }
    }
}

/// Writes a box as [`BULK_STORE`] does, where that cannot.
pub static LANES_STORE: OpRow = OpRow {
    name: "ttng.lanes_copy_local_to_global",
    doc: "Copies shared memory to the box at `coord` of the tensor at `base`, an element a lane, as far as the tensor has \
          it. `sizes` are its elements along each axis, `strides` those from one to the next. Waits count it as a copy.",
    format: Format::Text("$base [ $coord ] [ $sizes ] [ $strides ] $src attr-dict : type($base), type($src)"),
    ..LanesStoreOp::ROW
};

ir::op_view! {
    LanesReduceOp of LANES_REDUCE {
        operands {
            base: One POINTER => Atomic,
            coord: Variadic INT,
            sizes: Variadic INT,
            strides: Variadic INT,
            src: One MEMDESC_ONLY => Read,
        }
        attrs { kind: Rmw }
    }
}

/// Combines a box as [`BULK_REDUCE`] does, where that cannot.
pub static LANES_REDUCE: OpRow = OpRow {
    name: "ttng.lanes_reduce_local_to_global",
    doc: "Combines shared memory into the box at `coord` as `ttng.lanes_copy_local_to_global` writes one, each element \
          atomically.",
    format: Format::Text(
        "$kind, $base [ $coord ] [ $sizes ] [ $strides ] $src attr-dict : type($base), type($src)",
    ),
    ..LanesReduceOp::ROW
};

ir::op_view! {
    /// Of copies by lanes from shared memory to boxes,
    LanesWriteOp of LANES_STORE, LANES_REDUCE {
        operands { base: One POINTER }
    }
}

impl<'m> LanesWriteOp<'m> {
    /// Where the box begins, how many elements the tensor has along each axis, and elements from one to the next.
    pub fn places(self) -> [&'m [Value]; 3] {
        ["coord", "sizes", "strides"].map(|name| self.module.operands_named(self.op, name))
    }

    /// What is copied.
    pub fn src(self) -> Value {
        self.module.operand_named(self.op, "src").expect("verified: it has a source")
    }

    /// How it is combined with what is there, if it is.
    pub fn kind(self) -> Option<Rmw> {
        LanesReduceOp::of(self.module, self.op).map(LanesReduceOp::kind)
    }
}

ir::op_view! {
    BulkReduceOp of BULK_REDUCE {
        operands {
            desc: One DESCRIPTOR => Atomic,
            coord: Variadic INT,
            src: One MEMDESC_ONLY => ReadUntil(BULK_STORE_WAIT),
        }
        attrs { kind: ReduceKind }
    }
}

/// Combines a box.
pub static BULK_REDUCE: OpRow = OpRow {
    name: "ttng.async_tma_reduce",
    doc: "Begins to combine shared memory into the box at `coord`, each element atomically.",
    format: Format::Text("$kind, $desc [ $coord ] $src attr-dict : type($desc), type($src)"),
    verify: Some(verify_store),
    ..BulkReduceOp::ROW
};

fn verify_store(module: &Module, op: Op) -> Result<(), String> {
    let (desc, memory) = (module.operand(op, 0), module.operand_group(op, 2)[0]);
    let coordinates = module.operand_group(op, 1).len();
    if is_part(module, desc, memory) && coordinates == shape(module.ty(desc)).len() {
        return Ok(());
    }
    fits(module, desc, coordinates, memory)
}

/// Whether memory is a part of a block of a descriptor that the same copies write, only fewer of them.
fn is_part(module: &Module, desc: Value, memory: Value) -> bool {
    let (whole, ty) = (shape(module.ty(desc)), module.ty(memory));
    let (Some(of), Some(encoding)) = (memdesc(ty), SharedEncoding::of(ty)) else { return false };
    elem(module.ty(desc)) == of.elem
        && whole.len() == of.shape.len()
        && whole.iter().zip(of.shape).all(|(&whole, &part)| whole >= part)
        && box_of(encoding, of.shape).is_some_and(|own| box_of(encoding, whole) == Some(own))
}

/// The box of a descriptor, the coordinates and the memory fit each other.
fn fits(module: &Module, desc: Value, coordinates: usize, memory: Value) -> Result<(), String> {
    let (desc, memory) = (module.ty(desc), module.ty(memory));
    let of = memdesc(memory).ok_or("a memory descriptor is missing")?;
    if coordinates != shape(desc).len() {
        return Err(format!("{coordinates} coordinates for {desc}"));
    }
    let squeezed = |shape: &[i64]| shape.iter().copied().filter(|&size| size != 1).collect::<Vec<_>>();
    if squeezed(shape(desc)) == squeezed(of.shape) && elem(desc) == of.elem {
        Ok(())
    } else {
        Err(format!("the box of {desc} does not fit {memory}"))
    }
}

ir::op_view! {
    BulkStoreWaitOp of BULK_STORE_WAIT {
        attrs { pendings: u32, read_only: Flag }
    }
}

/// Waits for boxes that are written.
pub static BULK_STORE_WAIT: OpRow = OpRow {
    name: "ttng.async_tma_store_wait",
    doc: "Waits until at most `pendings` of the newest copies to global memory are going on, or, with `read_only`, still \
          read their source.",
    effect: Effect::Atomic,
    format: Format::Text("attr-dict"),
    ..BulkStoreWaitOp::ROW
};

ir::op_view! {
    TensormapCreateOp of TENSORMAP_CREATE {
        operands { desc_ptr: One POINTER, global_address: One POINTER, parts: Variadic INT }
        attrs {
            elem_type: u32,
            interleave_layout: u32,
            swizzle_mode: u32,
            fill_mode: u32,
        }
    }
}

/// Makes a descriptor in memory.
///
/// `parts` are, for a tensor of rank n: n sizes of the box, n sizes, n - 1 strides (all but the fastest), n strides of
/// elements.
pub static TENSORMAP_CREATE: OpRow = OpRow {
    name: "ttng.tensormap_create",
    doc: "Writes a descriptor of the tensor at `global_address` to memory.",
    effect: Effect::Atomic,
    format: Format::Custom { print: print_tensormap, parse: parse_tensormap },
    verify: Some(|module, op| {
        let parts = module.operand_group(op, 2).len();
        if parts % 4 == 3 { Ok(()) } else { Err(format!("{parts} sizes and strides are of no rank")) }
    }),
    ..TensormapCreateOp::ROW
};

/// The parts of [`TENSORMAP_CREATE`]: sizes of the box, sizes, strides, strides of elements.
pub fn tensormap_parts(module: &Module, op: Op) -> [&[Value]; 4] {
    let parts = module.operand_group(op, 2);
    let rank = (parts.len() + 1) / 4;
    let (sizes_of_box, rest) = parts.split_at(rank.min(parts.len()));
    let (sizes, rest) = rest.split_at(rank.min(rest.len()));
    let (strides, element_strides) = rest.split_at(rank.saturating_sub(1).min(rest.len()));
    [sizes_of_box, sizes, strides, element_strides]
}

fn print_tensormap(printer: &mut Printer<'_>, op: Op) {
    let module = printer.module();
    printer.text(" ");
    printer.values(&module.operands(op)[..2]);
    for part in tensormap_parts(module, op) {
        printer.text(", [");
        printer.values(part);
        printer.text("]");
    }
    printer.attr_dict(op, &[]);
    printer.text(" : ");
    printer.functional_type(op);
}

fn parse_tensormap(parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    let mut operands: SmallVec<[Value; 4]> = SmallVec::new();
    operands.push(parser.operand()?);
    parser.expect(",")?;
    operands.push(parser.operand()?);
    for _ in 0..4 {
        parser.expect(",")?;
        parser.expect("[")?;
        operands.extend(parser.list("]", Parser::operand)?);
    }
    let entries = parser.optional_attr_dict()?;
    let (attrs, extra) = parser.split_attrs(&TENSORMAP_CREATE, entries)?;
    parser.expect(":")?;
    let (types, results) = parser.parse_function_type()?;
    parser.check_types(&operands, &types)?;
    if !results.is_empty() {
        return Err(parser.error("`ttng.tensormap_create` has no results"));
    }
    let op =
        parser.append(&TENSORMAP_CREATE, OpInit { operands, results: SmallVec::new(), attrs, regions: 0 });
    parser.set_extra(op, extra);
    Ok(op)
}

ir::op_view! {
    TensormapAcquireOp of TENSORMAP_ACQUIRE {
        operands { desc_ptr: One POINTER }
    }
}

/// Reads a descriptor that was written before.
pub static TENSORMAP_ACQUIRE: OpRow = OpRow {
    name: "ttng.tensormap_fenceproxy_acquire",
    doc: "Bulk copies behind this see the descriptor that was written before.",
    effect: Effect::Atomic,
    format: Format::Text("$desc_ptr attr-dict : type($desc_ptr)"),
    ..TensormapAcquireOp::ROW
};

ir::op_view! {
    ReinterpretDescriptorOp of REINTERPRET_DESCRIPTOR {
        operands { raw_desc: One POINTER }
        results { result: One DESCRIPTOR }
    }
}

/// A descriptor by its address.
pub static REINTERPRET_DESCRIPTOR: OpRow = OpRow {
    name: "ttng.reinterpret_tensor_descriptor",
    doc: "The descriptor at an address.",
    infer: Infer::Explicit,
    traits: Traits::PURE,
    format: Format::Text("$raw_desc attr-dict : type($raw_desc) to type($result)"),
    ..ReinterpretDescriptorOp::ROW
};
