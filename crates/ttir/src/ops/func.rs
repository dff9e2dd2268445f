//! Files, functions, calls.

use super::func_text as text;
use ir::{ANY, AttrKind, AttrSpec, DeclaredKey, Format, Infer, OpRow, Traits, variadic};

/// Attribute of a parameter: the value is a multiple of this (an address: in bytes).
pub static DIVISIBILITY: DeclaredKey =
    DeclaredKey::new("tt.divisibility", "The value is a multiple of this; an address, in bytes.");
/// Attribute of a value: so many neighbouring elements count up by one.
pub static CONTIGUITY: DeclaredKey =
    DeclaredKey::new("tt.contiguity", "So many neighbouring elements count up by one.");
/// Attribute of a value: so many neighbouring elements are equal.
pub static CONSTANCY: DeclaredKey =
    DeclaredKey::new("tt.constancy", "So many neighbouring elements are equal.");
/// Attribute of a pointer parameter: offsets fit so many bits.
pub static POINTER_RANGE: DeclaredKey = DeclaredKey::new("tt.pointer_range", "Offsets fit so many bits.");

/// Attribute of a tensor descriptor that is a parameter: outside the tensor it reads NaN.
pub static PADS_NAN: DeclaredKey = DeclaredKey::new("tt.pads_nan", "Outside the tensor it reads NaN.");
/// Attribute of a tensor descriptor that is a parameter: what it reads is rounded to ten bits of mantissa.
pub static ROUNDS_TO_TF32: DeclaredKey =
    DeclaredKey::new("tt.rounds_to_tf32", "What it reads is rounded to ten bits of mantissa.");

/// A file.
pub static MODULE: OpRow = OpRow {
    name: "builtin.module",
    doc: "A file of functions.",
    regions: Some(1),
    traits: Traits::ISOLATED,
    format: Format::Custom { print: text::print_module, parse: text::parse_module },
    ..OpRow::BASE
};

/// Slots of [`FUNC`]'s attributes.
pub mod func_attr {
    /// `sym_name`.
    pub const NAME: usize = 0;
    /// `function_type`.
    pub const TYPE: usize = 1;
    /// `sym_visibility`: `public` for kernels, `private` for the others.
    pub const VISIBILITY: usize = 2;
    /// `noinline`.
    pub const NOINLINE: usize = 3;
}

/// A function.
pub static FUNC: OpRow = OpRow {
    name: "tt.func",
    doc: "A function; a public one is a kernel.",
    attrs: &[
        AttrSpec::required("sym_name", AttrKind::Symbol),
        AttrSpec::required("function_type", AttrKind::Type),
        AttrSpec::optional("sym_visibility", AttrKind::Str),
        AttrSpec::optional("noinline", AttrKind::Bool),
    ],
    regions: Some(1),
    traits: Traits::ISOLATED.and(Traits::SYMBOL),
    format: Format::Custom { print: text::print_func, parse: text::parse_func },
    verify: Some(|module, op| {
        let Some(ir::Attr::Type(ty)) = module.attr(op, func_attr::TYPE) else {
            return Err("the function has no type".into());
        };
        let ir::TypeKind::Function { params, results } = ty.kind() else {
            return Err(format!("{ty} is not a function type"));
        };
        let entry = module.entry(module.region(op, 0));
        let args: Vec<_> = module.args(entry).iter().map(|&value| module.ty(value)).collect();
        if args != *params {
            return Err(format!("the body takes {args:?}, the type says {params:?}"));
        }
        match module.last_op(entry) {
            Some(last) if module.is(last, &RETURN) => {
                let found: Vec<_> = module.operands(last).iter().map(|&value| module.ty(value)).collect();
                if found == *results {
                    Ok(())
                } else {
                    Err(format!("returns {found:?}, the type says {results:?}"))
                }
            }
            _ => Err("the body must end in tt.return".into()),
        }
    }),
    ..OpRow::BASE
};

/// Ends a function.
pub static RETURN: OpRow = OpRow {
    name: "tt.return",
    doc: "Ends a function with its results.",
    operands: &[variadic("srcs", &ANY)],
    traits: Traits::TERMINATOR.and(Traits::PURE),
    format: Format::Text("attr-dict ($srcs : type($srcs))?"),
    ..OpRow::BASE
};

/// A call.
pub static CALL: OpRow = OpRow {
    name: "tt.call",
    doc: "Calls a function of the same file.",
    operands: &[variadic("operands", &ANY)],
    attrs: &[AttrSpec::required("callee", AttrKind::Symbol)],
    results: &[variadic("results", &ANY)],
    infer: Infer::Explicit,
    traits: Traits::READS.and(Traits::WRITES).and(Traits::CALL),
    format: Format::Text("$callee ( $operands ) attr-dict : functional-type"),
    ..OpRow::BASE
};
