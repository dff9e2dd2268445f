//! Dots of binary32 blocks that are to be more exact than the matrix instruction's format are taken apart.
//!
//! ```text
//!                                                  %ah = truncf %a, %al = truncf (%a - extf %ah), … for %b
//! %d = tt.dot %a, %b, %c, bf16x3             =>    %0 = tt.dot %al, %bh, 0
//!                                                  %1 = tt.dot %ah, %bl, %0
//!                                                  %2 = select (%1 is a number), %1, 0
//!                                                  %3 = tt.dot %ah, %bh, %2
//!                                                  %d = addf %3, %c
//! ```
//!
//! `tf32x3` keeps the format and takes the upper bits instead. The small products are NaN where an operand is infinite;
//! there they count as nothing, so that infinities stay. Left out: dots that one instruction makes as asked.

use ir::pass::PassRow;
use ir::{Builder, Diagnostic, FloatKind, Module, Op, Type, Value};
use smallvec::smallvec;
use ttir::ops::arith_cast::{BITCAST, EXTF, TRUNCF};
use ttir::ops::arith_float::{ADDF, SUBF};
use ttir::ops::arith_int::ANDI;
use ttir::ops::compare::{CMPF, CmpFOp, CmpFPredicate, SELECT};
use ttir::ops::constant::{CONSTANT, attr_from_bits};
use ttir::ops::dot::{DOT, DotOp, InputPrecision};
use ttir::types::{elem, with_elem};

/// Takes precise dots apart.
pub static SPLIT_PRECISION: PassRow = PassRow {
    name: "split-precision",
    doc: "Makes dots that are asked to be more exact than one instruction out of several.",
    run,
};

/// The bits of a binary32 that tf32 keeps.
const TF32_BITS: u64 = 0xffff_e000;

/// How operands are taken apart: parts of each, and the pairs of parts that are multiplied, the smallest first.
struct Scheme {
    precision: InputPrecision,
    parts: usize,
    narrow: bool,
    small: &'static [(usize, usize)],
}

static SCHEMES: &[Scheme] = &[
    Scheme { precision: InputPrecision::Tf32x3, parts: 2, narrow: false, small: &[(1, 0), (0, 1)] },
    Scheme { precision: InputPrecision::Bf16x3, parts: 2, narrow: true, small: &[(1, 0), (0, 1)] },
    Scheme {
        precision: InputPrecision::Bf16x6,
        parts: 3,
        narrow: true,
        small: &[(1, 1), (2, 0), (0, 2), (1, 0), (0, 1)],
    },
];

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    for op in module.walk(module.top()) {
        let Some(dot) = DotOp::of(module, op) else { continue };
        let scheme = SCHEMES.iter().find(|scheme| scheme.precision == dot.input_precision());
        let is_binary32 = |&value: &Value| elem(module.ty(value)).as_float() == Some(FloatKind::F32);
        let binary32 = [dot.a(), dot.b()].iter().all(is_binary32);
        if let Some(scheme) = scheme.filter(|_| binary32) {
            expand(module, op, scheme);
        }
    }
    Ok(())
}

fn expand(module: &mut Module, op: Op, scheme: &Scheme) {
    let of = DotOp::new(module, op);
    let (a, b, c, result) = (of.a(), of.b(), of.c(), of.d());
    let mut builder = Builder::before(module, op);
    let left = split(&mut builder, a, scheme);
    let right = split(&mut builder, b, scheme);
    let sum_type = builder.module.ty(c);
    let zero = constant(&mut builder, sum_type, 0);
    let mut sum = zero;
    for &(i, j) in scheme.small {
        sum = dot(&mut builder, left[i], right[j], sum);
    }
    let number = builder.build(&CMPF, &[sum, sum], &CmpFOp::attrs(CmpFPredicate::Ord));
    let small = builder.build(&SELECT, &[number, sum, zero], &[]);
    let product = dot(&mut builder, left[0], right[0], small);
    let whole = builder.build(&ADDF, &[product, c], &[]);
    module.replace_uses(result, whole);
    module.erase(op);
}

fn constant(builder: &mut Builder<'_>, ty: Type, bits: u64) -> Value {
    let attr = attr_from_bits(ty, bits);
    builder.build_as(&CONSTANT, &[], &[attr], ty)
}

fn dot(builder: &mut Builder<'_>, a: Value, b: Value, c: Value) -> Value {
    builder.build(&DOT, &[a, b, c], &DotOp::attrs(InputPrecision::Tf32, 0))
}

/// The parts of a value, the largest first: each holds what those before it leave.
fn split(builder: &mut Builder<'_>, value: Value, scheme: &Scheme) -> Vec<Value> {
    let mut parts: smallvec::SmallVec<[Value; 3]> = smallvec![];
    let mut rest = value;
    for index in 0..scheme.parts {
        let (part, wide) = upper(builder, rest, scheme);
        parts.push(part);
        if index + 1 < scheme.parts {
            rest = builder.build(&SUBF, &[rest, wide], &[]);
        }
    }
    parts.into_vec()
}

/// The upper bits of a value, in the format of the products and in its own.
fn upper(builder: &mut Builder<'_>, value: Value, scheme: &Scheme) -> (Value, Value) {
    let ty = builder.module.ty(value);
    if scheme.narrow {
        let narrow = builder.build_as(&TRUNCF, &[value], &[], with_elem(ty, Type::float(FloatKind::BF16)));
        let wide = builder.build_as(&EXTF, &[narrow], &[], ty);
        return (narrow, wide);
    }
    let bits_type = with_elem(ty, Type::int(32));
    let bits = builder.build_as(&BITCAST, &[value], &[], bits_type);
    let mask = constant(builder, bits_type, TF32_BITS);
    let kept = builder.build(&ANDI, &[bits, mask], &[]);
    let part = builder.build_as(&BITCAST, &[kept], &[], ty);
    (part, part)
}
