//! Loads, stores, addresses.

use super::memory_text as text;
use crate::types::{BOOL_LIKE, INT_LIKE, PTR_LIKE, VALUE_LIKE, elem, pointee, shape, with_elem};
use ir::{
    AttrKind, AttrSpec, EnumRow, Fold, Format, Infer, Module, Op, OpRow, Presence, Traits, Value, one,
    optional,
};
use smallvec::smallvec;

/// Where a load or store stands in the caches.
pub static CACHE: EnumRow = EnumRow {
    name: "cacheModifier",
    cases: &[("none", 1), ("ca", 2), ("cg", 3), ("wb", 4), ("cs", 5), ("wt", 6), ("cv", 7)],
};

/// What the caches should drop first.
pub static EVICT: EnumRow =
    EnumRow { name: "evictionPolicy", cases: &[("evict_normal", 1), ("evict_first", 2), ("evict_last", 3)] };

/// Which memory a barrier orders.
pub static BARRIER_SCOPE: EnumRow = EnumRow {
    name: "addrSpace",
    cases: &[("none", 0), ("local", 1), ("global_read", 2), ("global_write", 4), ("all", 7)],
};

/// Pointer plus offset.
pub static ADDPTR: OpRow = OpRow {
    name: "tt.addptr",
    doc: "A pointer moved by a signed number of elements.",
    operands: &[one("ptr", &PTR_LIKE), one("offset", &INT_LIKE)],
    results: &[one("result", &PTR_LIKE)],
    infer: Infer::SameAs(0),
    traits: Traits::PURE.and(Traits::ELEMENTWISE),
    format: Format::Text("$ptr, $offset attr-dict : type($result), type($offset)"),
    verify: Some(super::same_shape),
    eval: Some(|a, x| {
        let bytes = crate::types::elem_bytes(pointee(a.operand_types[0])?);
        let offset = ir::scalar::sign_extend(a.operand_types[1].as_int()?, x[1]);
        Some(x[0].wrapping_add((offset as u64).wrapping_mul(bytes)))
    }),
    fold: Some(|module, op| {
        (super::arith_int::constant_int(module, op, 1)? == 0).then(|| Fold::Value(module.operand(op, 0)))
    }),
    patterns: &[crate::passes::patterns::combine_addptr],
    ..OpRow::BASE
};

/// Slots of [`LOAD`]'s attributes.
pub mod load_attr {
    /// `cacheModifier`.
    pub const CACHE: usize = 0;
    /// `evictionPolicy`.
    pub const EVICT: usize = 1;
    /// `isVolatile`.
    pub const VOLATILE: usize = 2;
}

/// Load.
pub static LOAD: OpRow = OpRow {
    name: "tt.load",
    doc: "The elements at the pointers. Where the mask does not hold nothing is read and the element is `other`, or \
          undefined without it.",
    operands: &[one("ptr", &PTR_LIKE), optional("mask", &BOOL_LIKE), optional("other", &VALUE_LIKE)],
    attrs: &[
        AttrSpec::with_default("cacheModifier", AttrKind::Enum(&CACHE), Presence::Enum(1)),
        AttrSpec::with_default("evictionPolicy", AttrKind::Enum(&EVICT), Presence::Enum(1)),
        AttrSpec::with_default("isVolatile", AttrKind::Bool, Presence::Bool(false)),
    ],
    results: &[one("result", &VALUE_LIKE)],
    infer: Infer::Rule(|args| match pointee(args.ty(0)) {
        Some(pointee) => Ok(smallvec![with_elem(args.ty(0), pointee)]),
        None => Err(format!("{} is not a pointer", args.ty(0))),
    }),
    traits: Traits::READS,
    format: Format::Custom { print: text::print_load, parse: text::parse_load },
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
    patterns: &[crate::passes::patterns::simplify_load_mask],
    ..OpRow::BASE
};

/// Store.
pub static STORE: OpRow = OpRow {
    name: "tt.store",
    doc: "Writes the elements to the pointers where the mask holds.",
    operands: &[one("ptr", &PTR_LIKE), one("value", &VALUE_LIKE), optional("mask", &BOOL_LIKE)],
    attrs: &[
        AttrSpec::with_default("cacheModifier", AttrKind::Enum(&CACHE), Presence::Enum(1)),
        AttrSpec::with_default("evictionPolicy", AttrKind::Enum(&EVICT), Presence::Enum(1)),
    ],
    traits: Traits::WRITES,
    format: Format::Custom { print: text::print_store, parse: text::parse_store },
    verify: Some(|module, op| {
        check_pointee(module, op, 0, 1)?;
        super::same_shape(module, op)
    }),
    patterns: &[crate::passes::patterns::simplify_store_mask],
    ..OpRow::BASE
};

/// Verify rule: operand `value` is what operand `ptr` points to.
pub(crate) fn check_pointee(module: &Module, op: Op, ptr: usize, value: usize) -> Result<(), String> {
    let (ptr, value) = (module.ty(module.operand(op, ptr)), module.ty(module.operand(op, value)));
    if pointee(ptr) == Some(elem(value)) && shape(ptr) == shape(value) {
        Ok(())
    } else {
        Err(format!("a value of type {value} does not fit pointers of type {ptr}"))
    }
}

/// Barrier of a program.
pub static BARRIER: OpRow = OpRow {
    name: "ttg.barrier",
    doc: "All lanes of the program wait for each other, and see each other's writes.",
    attrs: &[AttrSpec::required("addrSpace", AttrKind::Enum(&BARRIER_SCOPE))],
    traits: Traits::WRITES,
    format: Format::Text("$addrSpace attr-dict"),
    ..OpRow::BASE
};

/// The mask of a load, store or atomic: its last optional operand of booleans.
pub fn mask(module: &Module, op: Op) -> Option<Value> {
    let group = module.row(op).operands.iter().position(|spec| spec.name == "mask")?;
    module.optional_operand(op, group)
}
