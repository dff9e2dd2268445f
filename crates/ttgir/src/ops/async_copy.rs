//! Copies from global to shared memory that go on while the program does.

use crate::types::{MUTABLE, TOKEN_ONLY, memdesc, token_type};
use ir::{AttrKind, AttrSpec, Format, Infer, OpRow, Presence, Traits, one, optional, variadic};
use smallvec::smallvec;
use ttir::ops::memory::{CACHE, EVICT};
use ttir::ops::memory_text;
use ttir::types::{BOOL_LIKE, PTR_LIKE, VALUE_LIKE, pointee, shape};

const TOKEN: Infer = Infer::Rule(|_| Ok(smallvec![token_type()]));

/// Begins a copy.
pub static ASYNC_COPY: OpRow = OpRow {
    name: "ttg.async_copy_global_to_local",
    doc: "Begins to copy the elements at pointers to shared memory; where the mask does not hold, `other` or 0.",
    operands: &[
        one("src", &PTR_LIKE),
        one("result", &MUTABLE),
        optional("mask", &BOOL_LIKE),
        optional("other", &VALUE_LIKE),
    ],
    attrs: &[
        AttrSpec::with_default("cacheModifier", AttrKind::Enum(&CACHE), Presence::Enum(1)),
        AttrSpec::with_default("evictionPolicy", AttrKind::Enum(&EVICT), Presence::Enum(1)),
        AttrSpec::with_default("isVolatile", AttrKind::Bool, Presence::Bool(false)),
        AttrSpec::with_default("contiguity", AttrKind::Int(32), Presence::Int(1)),
    ],
    results: &[one("token", &TOKEN_ONLY)],
    infer: TOKEN,
    traits: Traits::READS.and(Traits::WRITES),
    format: Format::Custom {
        print: |printer, op| {
            let directives = "$src, $result (mask $mask)? (other $other)? attr-dict : type($src) -> \
                              short-type($result)";
            memory_text::print(printer, op, directives);
        },
        parse: |parser| {
            let directives = "$src, $result (mask $mask)? (other $other)? (cacheModifier = $cacheModifier)? \
                              (evictionPolicy = $evictionPolicy)? attr-dict : type($src) -> short-type($result)";
            memory_text::parse(parser, &ASYNC_COPY, directives)
        },
    },
    verify: Some(|module, op| {
        let pointers = module.ty(module.operand(op, 0));
        let to = memdesc(module.ty(module.operand(op, 1))).ok_or("operand 1 is not a memory description")?;
        if shape(pointers) != to.shape || pointee(pointers) != Some(to.elem) {
            return Err(format!("{pointers} do not fill memory of {:?} elements of {}", to.shape, to.elem));
        }
        let others = module.operands(op).iter().skip(2);
        match others.map(|&value| module.ty(value)).find(|&ty| shape(ty) != shape(pointers)) {
            None => Ok(()),
            Some(ty) => Err(format!("{ty} has not the shape of the pointers")),
        }
    }),
    ..OpRow::BASE
};

/// Ends a group of copies.
pub static ASYNC_COMMIT_GROUP: OpRow = OpRow {
    name: "ttg.async_commit_group",
    doc: "The copies begun since the last group are the next group.",
    operands: &[variadic("inputTokens", &TOKEN_ONLY)],
    results: &[one("asyncToken", &TOKEN_ONLY)],
    infer: TOKEN,
    traits: Traits::WRITES,
    format: Format::Text("(tokens $inputTokens)? attr-dict"),
    ..OpRow::BASE
};

/// Waits for groups of copies.
pub static ASYNC_WAIT: OpRow = OpRow {
    name: "ttg.async_wait",
    doc: "Waits until at most `num` of the newest groups of copies are going on.",
    operands: &[variadic("asyncToken", &TOKEN_ONLY)],
    attrs: &[AttrSpec::required("num", AttrKind::Int(32))],
    results: &[one("retToken", &TOKEN_ONLY)],
    infer: TOKEN,
    traits: Traits::READS.and(Traits::WRITES),
    format: Format::Text("($asyncToken)? attr-dict"),
    ..OpRow::BASE
};
