//! Accesses through a buffer: a base pointer, a block of 32-bit offsets, and a range that the hardware checks. Reads
//! beyond it give zeros, writes are dropped.

use crate::types::{MUTABLE, memdesc, token_type};
use ir::text::ParseError;
use ir::{Format, Infer, LayoutRule, Module, Op, OpRow, Traits, Type, Value};
use smallvec::smallvec;
use ttir::ops::memory::CacheModifier;
use ttir::types::{BOOL_LIKE, INT, INT_LIKE, POINTER, TENSOR_ONLY, elem, pointee, shape};

ir::op_view! {
    BufferLoadOp of BUFFER_LOAD {
        operands {
            ptr: One POINTER => Read,
            offsets: One INT_LIKE,
            mask: Optional BOOL_LIKE,
            other: Optional TENSOR_ONLY,
            stride: Optional INT,
        }
        attrs { cache: CacheModifier = Enum(CacheModifier::None as u32), contiguity: u32 = Int(1) }
        results { result: One TENSOR_ONLY }
    }
}

/// Load.
pub static BUFFER_LOAD: OpRow = OpRow {
    name: "amdg.buffer_load",
    doc: "The elements at offsets from a pointer; where the mask does not hold, `other` or 0.",
    infer: Infer::Explicit,
    layout: LayoutRule::Same,
    format: Format::Text(
        "$ptr[ $offsets ] (, $mask)? (, $other)? (cacheModifier = $cache)? (stride = $stride)? attr-dict : type($ptr) -> \
         type($result)",
    ),
    verify: Some(|module, op| {
        let of = BufferLoadOp::new(module, op);
        fits(module, op, module.ty(of.ptr()), module.ty(of.result()))
    }),
    ..BufferLoadOp::ROW
};

ir::op_view! {
    BufferStoreOp of BUFFER_STORE {
        operands {
            value: One TENSOR_ONLY,
            ptr: One POINTER => Write,
            offsets: One INT_LIKE,
            mask: Optional BOOL_LIKE,
            stride: Optional INT,
        }
        attrs { cache: CacheModifier = Enum(CacheModifier::None as u32), contiguity: u32 = Int(1) }
    }
}

/// Store.
pub static BUFFER_STORE: OpRow = OpRow {
    name: "amdg.buffer_store",
    doc: "Writes elements at offsets from a pointer where the mask holds.",
    layout: LayoutRule::Same,
    format: Format::Text(
        "$value, $ptr[ $offsets ] (, $mask)? (cacheModifier = $cache)? (stride = $stride)? attr-dict : type($ptr) -> \
         type($value)",
    ),
    verify: Some(|module, op| {
        let of = BufferStoreOp::new(module, op);
        fits(module, op, module.ty(of.ptr()), module.ty(of.value()))
    }),
    ..BufferStoreOp::ROW
};

/// The block of offsets beside the pointer of an access, in elements; none where the pointers are a block.
pub fn offsets(module: &Module, op: Op) -> Option<Value> {
    module.operand_named(op, "offsets")
}

ir::op_view! {
    BufferLoadToLocalOp of BUFFER_LOAD_TO_LOCAL {
        operands {
            dest: One MUTABLE => WriteUntil(super::async_copy::ASYNC_WAIT),
            ptr: One POINTER => Read,
            offsets: One INT_LIKE,
            mask: Optional BOOL_LIKE,
            other: Optional TENSOR_ONLY,
            stride: Optional INT,
        }
        attrs { cache: CacheModifier = Enum(CacheModifier::None as u32), contiguity: u32 = Int(1) }
        results { token: One crate::types::TOKEN_ONLY }
    }
}

/// Begins a copy to shared memory.
pub static BUFFER_LOAD_TO_LOCAL: OpRow = OpRow {
    name: "amdg.buffer_load_to_local",
    doc: "Begins to copy the elements at offsets from a pointer to shared memory; where the mask does not hold, `other` or 0.",
    infer: Infer::Rule(|_| Ok(smallvec![token_type()])),
    format: Format::Custom {
        print: |printer, op| {
            let of = BufferLoadToLocalOp::new(printer.module(), op);
            let has_other = of.other().is_some();
            let edit = ir::text::DictEdit::default();
            let access = "$ptr[ $offsets ] (mask = $mask)? (other = $other)? (stride = $stride)? (cacheModifier = $cache)? \
                          into $dest attr-dict : type($ptr)[type($offsets)]";
            printer.directives(op, access, &edit);
            // The type of `other` stands between two spaces, also where there is none.
            printer.text(" ");
            if has_other {
                printer.directives(op, "type($other)", &edit);
            }
            printer.directives(op, "-> short-type($dest)", &edit);
        },
        parse: parse_load_to_local,
    },
    verify: Some(|module, op| {
        let of = BufferLoadToLocalOp::new(module, op);
        let to = memdesc(module.ty(of.dest())).ok_or("`dest` is not a memory descriptor")?;
        let offsets = module.ty(of.offsets());
        if pointee(module.ty(of.ptr())) == Some(to.elem) && shape(offsets) == to.shape {
            Ok(())
        } else {
            Err(format!("{offsets} do not fill memory of {:?} elements of {}", to.shape, to.elem))
        }
    }),
    ..BufferLoadToLocalOp::ROW
};

fn parse_load_to_local(parser: &mut ir::text::Parser<'_>) -> Result<Op, ParseError> {
    let directives = "$ptr[ $offsets ] (mask = $mask)? (other = $other)? (stride = $stride)? (cacheModifier = $cache)? into \
                      $dest attr-dict : type($ptr)[type($offsets)] (type($other))? -> short-type($dest)";
    parser.directives(&BUFFER_LOAD_TO_LOCAL, directives)
}

ir::op_view! {
    InThreadTransposeOp of IN_THREAD_TRANSPOSE {
        operands { src: One TENSOR_ONLY }
        results { result: One TENSOR_ONLY }
    }
}

/// A layout conversion inside of lanes.
pub static IN_THREAD_TRANSPOSE: OpRow = OpRow {
    name: "amdg.in_thread_transpose",
    doc: "The same block in a layout in which every lane has the same elements in another order.",
    infer: Infer::Explicit,
    traits: Traits::PURE,
    format: Format::Text("$src attr-dict : type($src) -> type($result)"),
    verify: Some(|module, op| {
        let of = InThreadTransposeOp::new(module, op);
        let (from, to) = (module.ty(of.src()), module.ty(of.result()));
        if shape(from) == shape(to) && elem(from) == elem(to) {
            Ok(())
        } else {
            Err(format!("{from} and {to} hold different blocks"))
        }
    }),
    ..InThreadTransposeOp::ROW
};

/// Offsets of 32 bits for each element, of the type that the pointer points to.
fn fits(module: &Module, op: Op, ptr: Type, value: Type) -> Result<(), String> {
    let offsets = module
        .operands(op)
        .iter()
        .map(|&value| module.ty(value))
        .find(|ty| elem(*ty).as_int() == Some(32) && shape(*ty) == shape(value));
    if pointee(ptr) == Some(elem(value)) && offsets.is_some() {
        Ok(())
    } else {
        Err(format!(
            "a value of type {value} needs as many offsets of 32 bits and a pointer to its elements, not {ptr}"
        ))
    }
}
