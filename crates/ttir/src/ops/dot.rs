//! Matrix products.

use crate::types::{TENSOR_ONLY, elem, shape};
use ir::text::{ParseError, Parser, Printer};
use ir::view::AttrField;
use ir::{
    ANY, Attr, CostClass, DeclaredKey, Format, Infer, LayoutRule, Module, Op, OpInit, OpRow, Traits, Type,
    Value,
};
use smallvec::{SmallVec, smallvec};

/// Rows of this file.
pub(super) const ROWS: &[&OpRow] = &[&DOT, &DOT_SCALED];

/// Whether an operation multiplies matrices, with scales or without.
pub fn is_dot(module: &Module, op: Op) -> bool {
    MatmulOp::of(module, op).is_some() || module.is(op, &DOT_SCALED)
}

ir::enum_attr! {
    /// How binary32 operands are multiplied.
    InputPrecision, INPUT_PRECISION "inputPrecision" { Tf32 "tf32" = 0, Tf32x3 "tf32x3" = 1, Ieee "ieee" = 2, Bf16x3 "bf16x3" = 3, Bf16x6 "bf16x6" = 4 }
}

ir::enum_attr! {
    /// Formats of scaled operands.
    ScaleType, SCALE_TYPE "ScaleDotElemType" {
        E4m3 "e4m3" = 0, E5m2 "e5m2" = 1, E2m3 "e2m3" = 2, E3m2 "e3m2" = 3, E2m1 "e2m1" = 4, Bf16 "bf16" = 5,
        Fp16 "fp16" = 6,
    }
}

ir::op_view! {
    DotOp of DOT {
        operands { a: One TENSOR_ONLY, b: One TENSOR_ONLY, c: One TENSOR_ONLY }
        attrs {
            input_precision "inputPrecision": InputPrecision = Enum(InputPrecision::Ieee as u32),
            max_imprecise "maxNumImpreciseAcc": i32 = Int(0),
        }
        results { d: One TENSOR_ONLY }
    }
}

fn is_matmul(row: &OpRow) -> bool {
    row.traits.has(Traits::MATMUL)
}

ir::op_view! {
    /// A matrix product, whoever executes it.
    MatmulOp where is_matmul {
        operands { a: One ANY, b: One ANY, c: One ANY }
        results { d: One ANY }
    }
}

/// How much of a dot has a meaning.
pub static USED: DeclaredKey = DeclaredKey::new(
    "tt.used",
    "Rows, columns and depth of a dot that have a meaning. Beyond, factors are zero along the depth, and sums may be anything.",
);

impl MatmulOp<'_> {
    /// Rows, columns and depth that have a meaning, where that is less than all.
    pub fn used(self) -> Option<[i64; 3]> {
        let sizes = self.module.extra_attr(self.op, USED.name)?;
        <[i64; 3]>::try_from(super::shape::ints(Some(sizes))).ok()
    }

    /// Says how much has a meaning.
    pub fn set_used(module: &mut Module, op: Op, sizes: [i64; 3]) {
        let sizes = Attr::DenseArray { elem: Type::int(32), values: sizes.to_vec().into() };
        module.set_extra(op, USED.key(), Some(sizes));
    }

    /// How binary32 operands are multiplied.
    pub fn input_precision(self) -> InputPrecision {
        let attr = self.module.attr_named(self.op, "inputPrecision");
        InputPrecision::read(attr).expect("verified: a dot says how it multiplies")
    }
}

/// Matrix product.
pub static DOT: OpRow = OpRow {
    name: "tt.dot",
    doc: "a · b + c for matrices, or for each matrix of two stacks. Sums are in the format of c, in any order.",
    infer: Infer::SameAs(2),
    layout: LayoutRule::Dot,
    cost: CostClass::Once,
    traits: Traits::PURE.and(Traits::MATMUL),
    format: Format::Text(
        "$a, $b, $c (, inputPrecision = $inputPrecision)? attr-dict : type($a) * type($b) -> type($d)",
    ),
    verify: Some(|module, op| {
        let dot = DotOp::new(module, op);
        let [a, b, c] = [dot.a(), dot.b(), dot.c()].map(|value| shape(module.ty(value)));
        let rank = a.len();
        let fits = (rank == 2 || rank == 3)
            && b.len() == rank
            && c.len() == rank
            && a[rank - 1] == b[rank - 2]
            && c[rank - 2] == a[rank - 2]
            && c[rank - 1] == b[rank - 1]
            && (rank == 2 || (a[0] == b[0] && a[0] == c[0]));
        if !fits {
            return Err(format!("shapes {a:?} and {b:?} do not multiply to {c:?}"));
        }
        check_factors([dot.a(), dot.b(), dot.c()].map(|value| elem(module.ty(value))))
    }),
    ..DotOp::ROW
};

/// Factors are exact in the format of the sums: integers and floats do not mix.
fn check_factors([a, b, c]: [Type; 3]) -> Result<(), String> {
    let fits = |factor: Type| match (factor.as_float(), c.as_float(), factor.as_int(), c.as_int()) {
        (Some(factor), Some(sums), ..) => factor == sums || sums.bits() > factor.bits(),
        (None, None, Some(factor), Some(sums)) => sums >= factor && sums <= 64,
        _ => false,
    };
    if fits(a) && fits(b) { Ok(()) } else { Err(format!("{a} and {b} are not multiplied with sums of {c}")) }
}

ir::op_view! {
    DotScaledOp of DOT_SCALED {
        operands {
            a: One TENSOR_ONLY,
            b: One TENSOR_ONLY,
            c: One TENSOR_ONLY,
            scales: Variadic TENSOR_ONLY,
        }
        attrs {
            a_format "a_elem_type": ScaleType,
            b_format "b_elem_type": ScaleType,
            fast_math "fastMath": bool,
            lhs_k_pack: bool = Bool(true),
            rhs_k_pack: bool = Bool(true),
            given "scales": u32 = Int(3),
        }
        results { d: One TENSOR_ONLY }
    }
}

/// Matrix product of scaled operands. `scales` says which scales are given: bit 0 for a, bit 1 for b.
pub static DOT_SCALED: OpRow = OpRow {
    name: "tt.dot_scaled",
    doc: "a · b + c, where groups of 32 (or 16) elements along k share a scale.",
    infer: Infer::SameAs(2),
    cost: CostClass::Once,
    traits: Traits::PURE,
    format: Format::Custom { print: print_scaled, parse: parse_scaled },
    verify: Some(|module, op| {
        let dot = DotScaledOp::new(module, op);
        let (given, said) = (dot.scales().len(), dot.given());
        if said < 4 && said.count_ones() as usize == given {
            Ok(())
        } else {
            Err(format!("`scales` is {said}, and {given} scales are given"))
        }
    }),
    ..DotScaledOp::ROW
};

impl DotScaledOp<'_> {
    /// Whether both operands are rounded to binary16 behind their scales: one of them is of that format, and the other
    /// is of a narrow one. All other scaled operands keep every digit.
    pub fn is_half(self, module: &Module) -> bool {
        let fits = |format: ScaleType, scale: Option<Value>| {
            let has_float_scale = scale.is_some_and(|scale| elem(module.ty(scale)).as_float().is_some());
            format != ScaleType::Bf16 && !has_float_scale
        };
        let one = self.a_format() == ScaleType::Fp16 || self.b_format() == ScaleType::Fp16;
        one && fits(self.a_format(), self.a_scale()) && fits(self.b_format(), self.b_scale())
    }

    /// The scales of a.
    pub fn a_scale(self) -> Option<Value> {
        if self.given() & 1 != 0 { self.scales().first().copied() } else { None }
    }

    /// The scales of b.
    pub fn b_scale(self) -> Option<Value> {
        if self.given() & 2 != 0 { self.scales().last().copied() } else { None }
    }
}

/// Slots that the text has outside of its dictionary: both formats, and which scales are given.
const NAMED_SLOTS: [usize; 3] = [0, 1, 5];

/// `%a scale %s, %b scale %t, %c lhs = FORMAT rhs = FORMAT {…} : type of %a, of %s * of %b, of %t -> type`, without the
/// scales that are not given.
fn print_scaled(printer: &mut Printer<'_>, op: Op) {
    let module = printer.module();
    let dot = DotScaledOp::new(module, op);
    let (a, b) = ((dot.a(), dot.a_scale()), (dot.b(), dot.b_scale()));
    for (value, scale) in [a, b] {
        printer.text(" ");
        printer.value(value);
        if let Some(scale) = scale {
            printer.text(" scale ");
            printer.value(scale);
        }
        printer.text(",");
    }
    printer.text(" ");
    printer.value(dot.c());
    for (word, slot) in [(" lhs = ", 0), (" rhs = ", 1)] {
        printer.text(word);
        printer.slot(op, slot);
    }
    printer.attr_dict(op, &NAMED_SLOTS);
    for (before, (value, scale)) in [(" : ", a), (" * ", b)] {
        printer.text(before);
        printer.ty(module.ty(value));
        if let Some(scale) = scale {
            printer.text(", ");
            printer.ty(module.ty(scale));
        }
    }
    printer.text(" -> ");
    printer.ty(module.ty(module.result(op, 0)));
}

fn parse_scaled(parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    let (a, a_scale) = scaled_operand(parser)?;
    let (b, b_scale) = scaled_operand(parser)?;
    let c = parser.operand()?;
    let mut attrs: SmallVec<[Option<Attr>; 2]> = SmallVec::new();
    for (slot, word) in ["lhs", "rhs"].into_iter().enumerate() {
        parser.expect(word)?;
        parser.expect("=")?;
        attrs.push(Some(parser.slot(&DOT_SCALED.attrs[slot])?));
    }
    attrs.extend(DOT_SCALED.attrs[2..].iter().map(|spec| spec.default_attr()));
    let given = i64::from(a_scale.is_some()) | i64::from(b_scale.is_some()) << 1;
    attrs[NAMED_SLOTS[2]] = Some(Attr::int(given, Type::int(32)));
    let entries = parser.optional_attr_dict()?;
    check_scaled(parser, ":", a, a_scale)?;
    check_scaled(parser, "*", b, b_scale)?;
    parser.expect("->")?;
    let result = parser.parse_type()?;
    parser.check_types(&[c], &[result])?;
    let operands = [Some(a), Some(b), Some(c), a_scale, b_scale].into_iter().flatten().collect();
    let op = parser.append(&DOT_SCALED, OpInit { operands, results: smallvec![result], attrs, regions: 0 });
    parser.set_attrs(op, entries)?;
    Ok(op)
}

/// Reads `%a,` or `%a scale %s,`.
fn scaled_operand(parser: &mut Parser<'_>) -> Result<(Value, Option<Value>), ParseError> {
    let value = parser.operand()?;
    let scale = if parser.accept("scale") { Some(parser.operand()?) } else { None };
    parser.expect(",")?;
    Ok((value, scale))
}

/// Reads the types of an operand and its scales.
fn check_scaled(
    parser: &mut Parser<'_>,
    before: &str,
    value: Value,
    scale: Option<Value>,
) -> Result<(), ParseError> {
    parser.expect(before)?;
    let ty = parser.parse_type()?;
    parser.check_types(&[value], &[ty])?;
    if let Some(scale) = scale {
        parser.expect(",")?;
        let ty = parser.parse_type()?;
        parser.check_types(&[scale], &[ty])?;
    }
    Ok(())
}
