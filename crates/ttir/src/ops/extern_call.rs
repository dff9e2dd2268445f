//! Functions and instructions from outside the language.

use crate::types::VALUE_LIKE;
use ir::view::Str;
use ir::{DeclaredKey, Effect, Format, Infer, LayoutRule, OpRow, Rates, Traits, Value};

/// Rows of this file.
pub(super) const ROWS: &[&OpRow] = &[&EXTERN_ELEMENTWISE, &INLINE_ASM];

ir::op_view! {
    ExternElementwiseOp of EXTERN_ELEMENTWISE {
        operands { srcs: Variadic VALUE_LIKE }
        attrs { libname: Str, libpath: Str, pure: bool, symbol: Str }
        results { result: One VALUE_LIKE }
    }
}

/// What stands in front of the names of functions, in the maths libraries that kernels name.
const PREFIXES: [&str; 2] = ["__nv_", "__ocml_"];

/// What stands behind them.
const SUFFIXES: [&str; 3] = ["_f16", "_f32", "_f64"];

/// The function that a symbol of a maths library stands for: `exp` for `__ocml_exp_f32`, `expf` for `__nv_expf`.
pub fn plain_symbol(symbol: &str) -> &str {
    let name = PREFIXES.iter().find_map(|prefix| symbol.strip_prefix(prefix)).unwrap_or(symbol);
    SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
}

/// The base and the exponent of a call that is a power.
pub fn power_of(call: ExternElementwiseOp<'_>) -> Option<(Value, Value)> {
    let &[x, y] = call.srcs() else { return None };
    let is_power = matches!(plain_symbol(call.symbol()), "pow" | "powf" | "powi" | "powif" | "pown");
    (is_power && call.module.ty(x) == call.module.ty(call.result())).then_some((x, y))
}

/// A function of a maths library.
pub static EXTERN_ELEMENTWISE: OpRow = OpRow {
    name: "tt.extern_elementwise",
    doc: "A function of a maths library, named by `symbol`, on each element.",
    infer: Infer::Explicit,
    layout: LayoutRule::Same,
    traits: Traits::PURE,
    format: Format::Text("$srcs attr-dict : functional-type"),
    // Some are an instruction or two; most are not.
    rates: Rates::new(0.0, 1.0),
    verify: Some(super::same_shape),
    patterns: &[crate::passes::patterns::power_of_constant],
    ..ExternElementwiseOp::ROW
};

ir::op_view! {
    InlineAsmOp of INLINE_ASM {
        operands { args: Variadic VALUE_LIKE }
        attrs {
            asm_string: Str,
            constraints: Str,
            packed_element: u32,
            pure: bool,
        }
        results { results: Variadic VALUE_LIKE }
    }
}

/// Attribute of packed assembly: an element of a result depends on those of the operands at its own place alone.
pub static ANY_ORDER: DeclaredKey =
    DeclaredKey::new("tt.any_order", "A run takes elements of the block in any order.");

impl InlineAsmOp<'_> {
    /// How many neighbours, in the row-major order of the block, a run must get together.
    pub fn neighbours(self) -> usize {
        match self.module.extra_attr(self.op, ANY_ORDER.name) {
            Some(_) => 1,
            None => self.packed_element() as usize,
        }
    }
}

/// Instructions of the target.
pub static INLINE_ASM: OpRow = OpRow {
    name: "tt.elementwise_inline_asm",
    doc: "Instructions of the target, run for each `packed_element` elements.",
    infer: Infer::Explicit,
    layout: LayoutRule::Same,
    // Kept in order even when pure: what it does is not known here.
    effect: Effect::Atomic,
    format: Format::Text("$asm_string attr-dict ($args : type($args))? -> type($results)"),
    ..InlineAsmOp::ROW
};
