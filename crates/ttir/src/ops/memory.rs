//! Loads, stores, addresses.

use super::memory_text as text;
use crate::types::{BOOL_LIKE, INT_LIKE, PTR_LIKE, VALUE_LIKE, elem, pointee, shape, with_elem};
use ir::{AccessWidth, Builder, Effect, Fold, Format, Infer, LayoutRule, Module, Op, OpRow, Traits, Value};
use smallvec::smallvec;

/// Rows of this file.
pub(super) const ROWS: &[&OpRow] = &[&ADDPTR, &LOAD, &STORE, &BARRIER];

ir::enum_attr! {
    /// Where a load or store stands in the caches.
    CacheModifier, CACHE "cacheModifier" { None "none" = 1, Ca "ca" = 2, Cg "cg" = 3, Wb "wb" = 4, Cs "cs" = 5, Wt "wt" = 6, Cv "cv" = 7 }
}

ir::enum_attr! {
    /// What the caches should drop first.
    EvictionPolicy, EVICT "evictionPolicy" { Normal "evict_normal" = 1, First "evict_first" = 2, Last "evict_last" = 3 }
}

ir::enum_attr! {
    /// Which memory a barrier orders.
    BarrierScope, BARRIER_SCOPE "addrSpace" {
        None "none" = 0, Local "local" = 1, GlobalRead "global_read" = 2, GlobalWrite "global_write" = 4,
        All "all" = 7,
    }
}

ir::op_view! {
    AddPtrOp of ADDPTR {
        operands { ptr: One PTR_LIKE, offset: One INT_LIKE }
        results { result: One PTR_LIKE }
    }
}

/// Pointer plus offset.
pub static ADDPTR: OpRow = OpRow {
    name: "tt.addptr",
    doc: "A pointer moved by a signed number of elements.",
    infer: Infer::SameAs(0),
    layout: LayoutRule::Same,
    traits: Traits::PURE.and(Traits::ELEMENTWISE).and(Traits::ADDS),
    format: Format::Text("$ptr, $offset attr-dict : type($result), type($offset)"),
    verify: Some(super::same_shape),
    eval: Some(|a, x| {
        let bytes = crate::types::elem_bytes(pointee(a.operand_types[0])?);
        let offset = ir::scalar::sign_extend(a.operand_types[1].as_int()?, x[1]);
        Some(x[0].wrapping_add((offset as u64).wrapping_mul(bytes)))
    }),
    fold: Some(|module, op| {
        let op = AddPtrOp::new(module, op);
        (super::arith_int::int_value(module, op.offset())? == 0).then(|| Fold::Value(op.ptr()))
    }),
    patterns: &[crate::passes::patterns::combine_addptr],
    ..AddPtrOp::ROW
};

ir::op_view! {
    LoadOp of LOAD {
        operands { ptr: One PTR_LIKE => Read, mask: Optional BOOL_LIKE, other: Optional VALUE_LIKE }
        attrs {
            cache "cacheModifier": CacheModifier = Enum(CacheModifier::None as u32),
            evict "evictionPolicy": EvictionPolicy = Enum(EvictionPolicy::Normal as u32),
            volatile "isVolatile": bool = Bool(false),
        }
        results { result: One VALUE_LIKE }
    }
}

/// Load.
pub static LOAD: OpRow = OpRow {
    name: "tt.load",
    doc: "The elements at the pointers. Where the mask does not hold nothing is read and the element is `other`, or \
          undefined without it.",
    infer: Infer::Rule(|args| match pointee(args.ty(0)) {
        Some(pointee) => Ok(smallvec![with_elem(args.ty(0), pointee)]),
        None => Err(format!("{} is not a pointer", args.ty(0))),
    }),
    layout: LayoutRule::Same,
    access: Some(AccessWidth::Any),
    format: Format::Custom {
        print: |printer, op| text::print(printer, op, "$ptr (, $mask)? (, $other)? attr-dict : type($ptr)"),
        parse: |parser| {
            let directives = "$ptr (, $mask)? (, $other)? (cacheModifier = $cacheModifier)? \
                              (evictionPolicy = $evictionPolicy)? attr-dict : type($ptr)";
            text::parse(parser, &LOAD, directives)
        },
    },
    verify: Some(|module, op| {
        let result = module.ty(module.result(op, 0));
        if pointee(module.ty(module.operand(op, 0))) != Some(elem(result)) {
            return Err(format!("pointers of type {} load no {result}", module.ty(module.operand(op, 0))));
        }
        if let Some(other) = module.optional_operand(op, 2).filter(|&other| module.ty(other) != result) {
            return Err(format!("`other` is {}, the loaded type {result}", module.ty(other)));
        }
        super::same_shape(module, op)
    }),
    patterns: &[crate::passes::patterns::simplify_mask],
    ..LoadOp::ROW
};

ir::op_view! {
    StoreOp of STORE {
        operands { ptr: One PTR_LIKE => Write, value: One VALUE_LIKE, mask: Optional BOOL_LIKE }
        attrs {
            cache "cacheModifier": CacheModifier = Enum(CacheModifier::None as u32),
            evict "evictionPolicy": EvictionPolicy = Enum(EvictionPolicy::Normal as u32),
        }
    }
}

/// Store.
pub static STORE: OpRow = OpRow {
    name: "tt.store",
    doc: "Writes the elements to the pointers where the mask holds.",
    layout: LayoutRule::Same,
    access: Some(AccessWidth::Any),
    format: Format::Custom {
        print: |printer, op| text::print(printer, op, "$ptr, $value (, $mask)? attr-dict : type($ptr)"),
        parse: |parser| {
            let directives = "$ptr, $value (, $mask)? (cacheModifier = $cacheModifier)? \
                              (evictionPolicy = $evictionPolicy)? attr-dict : type($ptr)";
            text::parse(parser, &STORE, directives)
        },
    },
    verify: Some(|module, op| {
        check_pointee(module, op, 0, 1)?;
        super::same_shape(module, op)
    }),
    patterns: &[crate::passes::patterns::simplify_mask],
    ..StoreOp::ROW
};

/// Reads what a pointer points to.
pub(crate) fn load(b: &mut Builder<'_>, ptr: Value) -> Value {
    let ty = pointee(b.module.ty(ptr)).expect("it is a pointer");
    b.build_as(&LOAD, &[ptr], &LoadOp::attrs(CacheModifier::None, EvictionPolicy::Normal, false), ty)
}

/// Writes to where a pointer points.
pub(crate) fn store(b: &mut Builder<'_>, ptr: Value, value: Value) {
    b.build_effect(&STORE, &[ptr, value], &[]);
}

/// Verify rule: operand `value` is what operand `ptr` points to.
pub(crate) fn check_pointee(module: &Module, op: Op, ptr: usize, value: usize) -> Result<(), String> {
    let (ptr, value) = (module.ty(module.operand(op, ptr)), module.ty(module.operand(op, value)));
    if pointee(ptr) == Some(elem(value)) && shape(ptr) == shape(value) {
        Ok(())
    } else {
        Err(format!("a value of type {value} does not fit pointers of type {ptr}"))
    }
}

ir::op_view! {
    BarrierOp of BARRIER {
        attrs { scope "addrSpace": BarrierScope }
    }
}

/// Barrier of a program.
pub static BARRIER: OpRow = OpRow {
    name: "ttg.barrier",
    doc: "All lanes of the program wait for each other, and see each other's writes.",
    traits: Traits::MARKER,
    effect: Effect::Atomic,
    format: Format::Text("$addrSpace attr-dict"),
    ..BarrierOp::ROW
};

/// The mask of a load, store or atomic.
pub fn mask(module: &Module, op: Op) -> Option<Value> {
    module.operand_named(op, "mask")
}
