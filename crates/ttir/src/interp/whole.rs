//! Elementwise operations on whole blocks, for those that are frequent: a loop over plain numbers in place of a call of
//! the row's meaning for each element.
//!
//! What is here is faster and nothing else: a result that is NaN, whose bits the row decides, is taken from the row,
//! and a test gives every operation here and its row the same bits.

use super::data::Side;
use crate::ops::arith_float as float;
use crate::ops::arith_int as int;
use crate::ops::compare::{CMPF, CMPF_PREDICATE, CMPI, CMPI_PREDICATE, CmpFPredicate, CmpIPredicate};
use crate::ops::memory::ADDPTR;
use crate::types::{elem_bytes, pointee};
use ir::scalar::{sign_extend, truncate};
use ir::{EvalArgs, FloatKind, OpRow};
use std::sync::Arc;

type Elements = Arc<[u64]>;

/// A function on two elements, over two operands of which at least one is kept by element.
fn zip(a: Side<'_>, b: Side<'_>, apply: impl Fn(u64, u64) -> u64) -> Elements {
    match (a, b) {
        (Side::Each(a), Side::Each(b)) => a.iter().zip(b).map(|(&x, &y)| apply(x, y)).collect(),
        (Side::Each(a), Side::Uniform(y)) => a.iter().map(|&x| apply(x, y)).collect(),
        (Side::Uniform(x), Side::Each(b)) => b.iter().map(|&y| apply(x, y)).collect(),
        (Side::Uniform(x), Side::Uniform(y)) => Arc::from([apply(x, y)]),
    }
}

/// The result of an operation of two operands; `None` where it is not among those here.
pub(crate) fn binary(row: &'static OpRow, args: &EvalArgs<'_>, sides: [Side<'_>; 2]) -> Option<Elements> {
    let ty = args.operand_types[0];
    if let Some(kind) = ty.as_float() {
        return (kind == FloatKind::F32).then(|| on_floats(row, args, sides)).flatten();
    }
    match ty.as_int() {
        Some(bits) => on_integers(row, args, bits, sides),
        None => on_pointers(row, args, sides),
    }
}

fn on_pointers(row: &'static OpRow, args: &EvalArgs<'_>, [a, b]: [Side<'_>; 2]) -> Option<Elements> {
    if !std::ptr::eq(row, &ADDPTR) {
        return None;
    }
    let bytes = elem_bytes(pointee(args.operand_types[0])?);
    let bits = args.operand_types[1].as_int()?;
    Some(zip(a, b, |base, offset| base.wrapping_add((sign_extend(bits, offset) as u64).wrapping_mul(bytes))))
}

fn on_integers(
    row: &'static OpRow,
    args: &EvalArgs<'_>,
    bits: u32,
    [a, b]: [Side<'_>; 2],
) -> Option<Elements> {
    let is = |other: &'static OpRow| std::ptr::eq(row, other);
    let low = |value: u64| truncate(bits, value);
    if is(&int::ADDI) {
        return Some(zip(a, b, |x, y| low(x.wrapping_add(y))));
    }
    if is(&int::SUBI) {
        return Some(zip(a, b, |x, y| low(x.wrapping_sub(y))));
    }
    if is(&int::MULI) {
        return Some(zip(a, b, |x, y| low(x.wrapping_mul(y))));
    }
    if is(&int::ANDI) {
        return Some(zip(a, b, |x, y| x & y));
    }
    if is(&int::ORI) {
        return Some(zip(a, b, |x, y| x | y));
    }
    if !is(&CMPI) {
        return None;
    }
    let predicate = args.attrs[0].as_ref()?.as_enum(&CMPI_PREDICATE)?;
    let signed = |value: u64| sign_extend(bits, value);
    let (eq, ne) = (CmpIPredicate::Eq as u32, CmpIPredicate::Ne as u32);
    let [slt, sle] = [CmpIPredicate::Slt as u32, CmpIPredicate::Sle as u32];
    let [sgt, sge] = [CmpIPredicate::Sgt as u32, CmpIPredicate::Sge as u32];
    Some(match predicate {
        kind if kind == eq => zip(a, b, |x, y| u64::from(x == y)),
        kind if kind == ne => zip(a, b, |x, y| u64::from(x != y)),
        kind if kind == slt => zip(a, b, |x, y| u64::from(signed(x) < signed(y))),
        kind if kind == sle => zip(a, b, |x, y| u64::from(signed(x) <= signed(y))),
        kind if kind == sgt => zip(a, b, |x, y| u64::from(signed(x) > signed(y))),
        kind if kind == sge => zip(a, b, |x, y| u64::from(signed(x) >= signed(y))),
        _ => return None,
    })
}

fn on_floats(row: &'static OpRow, args: &EvalArgs<'_>, sides: [Side<'_>; 2]) -> Option<Elements> {
    let is = |other: &'static OpRow| std::ptr::eq(row, other);
    if is(&float::ADDF) {
        return Some(floats(row, args, sides, |x, y| x + y));
    }
    if is(&float::SUBF) {
        return Some(floats(row, args, sides, |x, y| x - y));
    }
    if is(&float::MULF) {
        return Some(floats(row, args, sides, |x, y| x * y));
    }
    if is(&float::DIVF) || is(&float::PRECISE_DIVF) {
        return Some(floats(row, args, sides, |x, y| x / y));
    }
    // Where operands are equal, signs of zeros decide, and a NaN leaves the choice to the row: both are NaN here.
    if is(&float::MAXNUMF) || is(&float::MAXIMUMF) {
        return Some(floats(row, args, sides, |x, y| {
            if x > y {
                x
            } else if y > x {
                y
            } else {
                f32::NAN
            }
        }));
    }
    if is(&float::MINNUMF) || is(&float::MINIMUMF) {
        return Some(floats(row, args, sides, |x, y| {
            if x < y {
                x
            } else if y < x {
                y
            } else {
                f32::NAN
            }
        }));
    }
    if is(&CMPF) {
        return compare_floats(args, sides);
    }
    None
}

/// A function of binary32 numbers; where it gives NaN, the row decides.
fn floats(
    row: &'static OpRow,
    args: &EvalArgs<'_>,
    [a, b]: [Side<'_>; 2],
    apply: impl Fn(f32, f32) -> f32,
) -> Elements {
    let eval = row.eval.expect("operations here have a meaning by element");
    zip(a, b, |x, y| {
        let result = apply(f32::from_bits(x as u32), f32::from_bits(y as u32));
        if result.is_nan() {
            return eval(args, &[x, y]).expect("float arithmetic is defined everywhere");
        }
        u64::from(result.to_bits())
    })
}

fn compare_floats(args: &EvalArgs<'_>, [a, b]: [Side<'_>; 2]) -> Option<Elements> {
    let predicate = args.attrs[0].as_ref()?.as_enum(&CMPF_PREDICATE)?;
    let number = |bits: u64| f32::from_bits(bits as u32);
    let [olt, ogt] = [CmpFPredicate::Olt as u32, CmpFPredicate::Ogt as u32];
    Some(match predicate {
        kind if kind == olt => zip(a, b, |x, y| u64::from(number(x) < number(y))),
        kind if kind == ogt => zip(a, b, |x, y| u64::from(number(x) > number(y))),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{Side, binary};
    use crate::ops::compare::{CMPF, CMPF_PREDICATE, CMPI, CMPI_PREDICATE};
    use crate::ops::memory::ADDPTR;
    use crate::ops::{arith_float as float, arith_int as int};
    use ir::{Attr, EvalArgs, FloatKind, OpRow, Type};

    /// Numbers of every kind: small and large ones, NaN, infinities and zeros of both signs among them.
    fn samples(seed: &mut u64) -> u64 {
        const SPECIAL: [u64; 12] = [
            0,
            1,
            0x8000_0000,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0001,
            0xffc0_0000,
            0x7f80_0001,
            0x3f80_0000,
            0xffff_ffff,
            0x7fff_ffff,
            0x0000_0001_0000_0000,
        ];
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        if seed.is_multiple_of(3) { SPECIAL[(*seed >> 8) as usize % SPECIAL.len()] } else { *seed }
    }

    fn check(row: &'static OpRow, attrs: &[Option<Attr>], types: [Type; 2], result: Type) {
        let args = EvalArgs { attrs, operand_types: &types, result_type: result };
        let mut seed = 0x9e37_79b9_7f4a_7c15;
        let width = |ty: Type| ty.scalar_bits().unwrap_or(64);
        let mut draw = |ty: Type| -> Vec<u64> {
            (0..500).map(|_| ir::scalar::truncate(width(ty), samples(&mut seed))).collect()
        };
        let (a, b) = (draw(types[0]), draw(types[1]));
        let ways = [
            [Side::Each(&a), Side::Each(&b)],
            [Side::Each(&a), Side::Uniform(b[7])],
            [Side::Uniform(a[9]), Side::Each(&b)],
            [Side::Uniform(a[9]), Side::Uniform(b[7])],
        ];
        let eval = row.eval.expect("a meaning by element");
        for sides in ways {
            let Some(found) = binary(row, &args, sides) else { panic!("{} is not here", row.name) };
            for (index, &bits) in found.iter().enumerate() {
                let words = sides.map(|side| side.at(index));
                assert_eq!(Some(bits), eval(&args, &words), "{} of {words:x?}", row.name);
            }
        }
    }

    #[test]
    fn whole_blocks_get_what_the_rows_say() {
        let f32_ty = Type::float(FloatKind::F32);
        for row in [
            &float::ADDF,
            &float::SUBF,
            &float::MULF,
            &float::DIVF,
            &float::PRECISE_DIVF,
            &float::MAXNUMF,
            &float::MAXIMUMF,
            &float::MINNUMF,
            &float::MINIMUMF,
        ] {
            check(row, &[], [f32_ty; 2], f32_ty);
        }
        for bits in [1, 8, 16, 32, 64] {
            let ty = Type::int(bits);
            for row in [&int::ADDI, &int::SUBI, &int::MULI, &int::ANDI, &int::ORI] {
                check(row, &[], [ty; 2], ty);
            }
            for keyword in ["eq", "ne", "slt", "sle", "sgt", "sge"] {
                let value = CMPI_PREDICATE.value(keyword).expect("a predicate");
                check(&CMPI, &[Some(Attr::Enum { row: &CMPI_PREDICATE, value })], [ty; 2], Type::int(1));
            }
        }
        for keyword in ["olt", "ogt"] {
            let value = CMPF_PREDICATE.value(keyword).expect("a predicate");
            check(&CMPF, &[Some(Attr::Enum { row: &CMPF_PREDICATE, value })], [f32_ty; 2], Type::int(1));
        }
        for bits in [32, 64] {
            let pointer = crate::types::ptr(f32_ty);
            check(&ADDPTR, &[], [pointer, Type::int(bits)], pointer);
        }
    }
}
