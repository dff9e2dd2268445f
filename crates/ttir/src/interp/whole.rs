//! Elementwise operations on whole blocks, for those that are frequent: a loop over plain numbers in place of a call of
//! the row's meaning for each element, and none at all where numbers are kept by coordinates.
//!
//! What is here is faster and nothing else: a result that is NaN, whose bits the row decides, is taken from the row,
//! and a test gives every operation here and its row the same bits.

use super::affine::Affine;
use super::data::{Data, Side, WordSide};
use crate::ops::arith_cast as cast;
use crate::ops::arith_float as float;
use crate::ops::arith_int as int;
use crate::ops::compare::{CMPF, CMPI, CmpFPredicate, CmpIPredicate};
use crate::ops::math;
use crate::ops::memory::ADDPTR;
use crate::types::{elem_bytes, pointee};
use ir::scalar::{sign_extend, truncate};
use ir::{EvalArgs, FloatKind, OpRow};

/// A function on two elements, over two operands.
fn zip<'a>(a: &'a Data, b: &'a Data, apply: impl Fn(u64, u64) -> u64) -> Data {
    match (a.side(), b.side()) {
        (Side::Each(a), Side::Each(b)) => {
            Data::each(a.iter().zip(b).map(|(&x, &y)| apply(x, y)).collect::<Vec<_>>())
        }
        (Side::Each(a), Side::Uniform(y)) => Data::each(a.iter().map(|&x| apply(x, y)).collect::<Vec<_>>()),
        (Side::Uniform(x), Side::Each(b)) => Data::each(b.iter().map(|&y| apply(x, y)).collect::<Vec<_>>()),
        (Side::Uniform(x), Side::Uniform(y)) => Data::uniform(apply(x, y)),
    }
}

/// The same on elements of at most 32 bits.
#[inline(always)]
fn zip_words(a: &WordSide<'_>, b: &WordSide<'_>, apply: impl Fn(u32, u32) -> u32) -> Vec<u32> {
    match (a, b) {
        (WordSide::Each(a), WordSide::Each(b)) => {
            a.iter().zip(b.iter()).map(|(&x, &y)| apply(x, y)).collect()
        }
        (WordSide::Each(a), WordSide::Uniform(y)) => a.iter().map(|&x| apply(x, *y)).collect(),
        (WordSide::Uniform(x), WordSide::Each(b)) => b.iter().map(|&y| apply(*x, y)).collect(),
        (WordSide::Uniform(x), WordSide::Uniform(y)) => vec![apply(*x, *y)],
    }
}

/// The result of an operation of one operand; `None` where it is not among those here.
pub(crate) fn unary(row: &'static OpRow, args: &EvalArgs<'_>, operand: &Data) -> Option<Data> {
    if let Some(affine) = operand.as_affine() {
        let is_extension = std::ptr::eq(row, &cast::EXTSI);
        return is_extension.then(|| affine.extended(args.result_type.as_int()?).map(Data::affine)).flatten();
    }
    let single = Some(FloatKind::F32);
    if args.operand_types[0].as_float() != single || args.result_type.as_float() != single {
        return None;
    }
    let (_, apply) = FUNCTIONS.iter().find(|(known, _)| std::ptr::eq(*known, row))?;
    let WordSide::Each(words) = operand.word_side() else { return None };
    let eval = row.eval.expect("operations here have a meaning by element");
    let one = |&word: &u32| {
        let result = apply(f64::from(f32::from_bits(word))) as f32;
        if result.is_nan() {
            return eval(args, &[word.into()]).expect("float arithmetic is defined everywhere") as u32;
        }
        result.to_bits()
    };
    Some(Data::words(words.iter().map(one).collect()))
}

/// A row and what it computes of a number.
type Function = (&'static OpRow, fn(f64) -> f64);

/// Functions of one number, which rows compute in binary64 and round.
static FUNCTIONS: &[Function] = &[
    (&math::EXP, f64::exp),
    (&math::EXP2, f64::exp2),
    (&math::LOG, f64::ln),
    (&math::LOG2, f64::log2),
    (&math::SQRT, f64::sqrt),
    (&math::PRECISE_SQRT, f64::sqrt),
];

/// The result of an operation of two operands; `None` where it is not among those here.
pub(crate) fn binary(row: &'static OpRow, args: &EvalArgs<'_>, [a, b]: [&Data; 2]) -> Option<Data> {
    let ty = args.operand_types[0];
    if let Some(kind) = ty.as_float() {
        return (kind == FloatKind::F32).then(|| on_floats(row, args, [a, b])).flatten();
    }
    match ty.as_int() {
        Some(bits) => by_coordinates(row, bits, [a, b])
            .map(Data::affine)
            .or_else(|| decided(row, args, bits, [a, b]))
            .or_else(|| on_integers(row, args, bits, [a, b])),
        None => on_pointers(row, args, [a, b]),
    }
}

/// Sums, differences and multiples of numbers by coordinates.
fn by_coordinates(row: &'static OpRow, bits: u32, [a, b]: [&Data; 2]) -> Option<Affine> {
    let is = |other: &'static OpRow| std::ptr::eq(row, other);
    match (a.as_affine(), b.as_affine()) {
        (Some(a), Some(b)) if is(&int::ADDI) => a.zip(b, u64::wrapping_add),
        (Some(a), Some(b)) if is(&int::SUBI) => a.zip(b, u64::wrapping_sub),
        (Some(a), None) => {
            let other = b.as_uniform()?;
            if is(&int::REMSI) {
                // Numbers below the divisor stay what they are.
                let [least, greatest] = a.bounds()?;
                return (least >= 0 && greatest < sign_extend(bits, other)).then(|| a.map(|value| value));
            }
            sum_or_multiple(row, a, other)
                .or_else(|| is(&int::SUBI).then(|| a.moved(a.base.wrapping_sub(other))))
        }
        (None, Some(b)) => sum_or_multiple(row, b, a.as_uniform()?),
        _ => None,
    }
}

fn sum_or_multiple(row: &'static OpRow, affine: &Affine, other: u64) -> Option<Affine> {
    if std::ptr::eq(row, &int::ADDI) {
        return Some(affine.moved(affine.base.wrapping_add(other)));
    }
    std::ptr::eq(row, &int::MULI).then(|| affine.map(|value| value.wrapping_mul(other)))
}

/// What one operand, or the bounds of one, decide for all elements.
fn decided(row: &'static OpRow, args: &EvalArgs<'_>, bits: u32, [a, b]: [&Data; 2]) -> Option<Data> {
    if std::ptr::eq(row, &int::ANDI) && bits == 1 {
        return match (a.as_uniform(), b.as_uniform()) {
            (Some(0), _) | (_, Some(0)) => Some(Data::uniform(0)),
            (Some(_), _) => Some(b.defined()),
            (_, Some(_)) => Some(a.defined()),
            _ => None,
        };
    }
    if !std::ptr::eq(row, &CMPI) || (a.as_affine().is_none() && b.as_affine().is_none()) {
        return None;
    }
    let bounds = |data: &Data| match data.as_affine() {
        Some(affine) => affine.bounds(),
        None => data.as_uniform().map(|value| [sign_extend(bits, value); 2]),
    };
    let ([least, greatest], [other_least, other_greatest]) = (bounds(a)?, bounds(b)?);
    let (always, never) = (greatest < other_least, least >= other_greatest);
    let (always_le, never_le) = (greatest <= other_least, least > other_greatest);
    let (yes, no) = match args.case()? {
        CmpIPredicate::Slt => (always, never),
        CmpIPredicate::Sge => (never, always),
        CmpIPredicate::Sle => (always_le, never_le),
        CmpIPredicate::Sgt => (never_le, always_le),
        _ => return None,
    };
    (yes || no).then(|| Data::uniform(u64::from(yes)))
}

fn on_pointers(row: &'static OpRow, args: &EvalArgs<'_>, [a, b]: [&Data; 2]) -> Option<Data> {
    if !std::ptr::eq(row, &ADDPTR) {
        return None;
    }
    let bytes = elem_bytes(pointee(args.operand_types[0])?);
    let bits = args.operand_types[1].as_int()?;
    let offset = |offset: u64| (sign_extend(bits, offset) as u64).wrapping_mul(bytes);
    let offsets =
        b.as_affine().and_then(|b| b.extended(64)).map(|b| b.map(|value| value.wrapping_mul(bytes)));
    let whole = match (a.as_affine(), offsets) {
        (Some(a), Some(b)) => a.zip(&b, u64::wrapping_add),
        (Some(a), None) => b.as_uniform().map(|b| a.moved(a.base.wrapping_add(offset(b)))),
        (None, Some(b)) => a.as_uniform().map(|a| b.moved(a.wrapping_add(b.base))),
        (None, None) => None,
    };
    Some(whole.map_or_else(|| zip(a, b, |base, by| base.wrapping_add(offset(by))), Data::affine))
}

fn on_integers(row: &'static OpRow, args: &EvalArgs<'_>, bits: u32, [a, b]: [&Data; 2]) -> Option<Data> {
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
    if is(&int::XORI) {
        return Some(zip(a, b, |x, y| x ^ y));
    }
    if is(&int::MULHIUI) && bits <= 32 {
        return Some(zip(a, b, |x, y| x.wrapping_mul(y) >> bits));
    }
    if is(&int::ORI) {
        return Some(zip(a, b, |x, y| x | y));
    }
    if is(&CMPI) { compare_integers(args, bits, [a, b]) } else { None }
}

fn compare_integers(args: &EvalArgs<'_>, bits: u32, [a, b]: [&Data; 2]) -> Option<Data> {
    let signed = |value: u64| sign_extend(bits, value);
    Some(match args.case()? {
        CmpIPredicate::Eq => zip(a, b, |x, y| u64::from(x == y)),
        CmpIPredicate::Ne => zip(a, b, |x, y| u64::from(x != y)),
        CmpIPredicate::Slt => zip(a, b, |x, y| u64::from(signed(x) < signed(y))),
        CmpIPredicate::Sle => zip(a, b, |x, y| u64::from(signed(x) <= signed(y))),
        CmpIPredicate::Sgt => zip(a, b, |x, y| u64::from(signed(x) > signed(y))),
        CmpIPredicate::Sge => zip(a, b, |x, y| u64::from(signed(x) >= signed(y))),
        _ => return None,
    })
}

fn on_floats(row: &'static OpRow, args: &EvalArgs<'_>, operands: [&Data; 2]) -> Option<Data> {
    let is = |other: &'static OpRow| std::ptr::eq(row, other);
    if is(&float::ADDF) {
        return Some(floats(row, args, operands, |x, y| x + y));
    }
    if is(&float::SUBF) {
        return Some(floats(row, args, operands, |x, y| x - y));
    }
    if is(&float::MULF) {
        return Some(floats(row, args, operands, |x, y| x * y));
    }
    if is(&float::DIVF) || is(&float::PRECISE_DIVF) {
        return Some(floats(row, args, operands, |x, y| x / y));
    }
    // Signs of equal zeros decide, and a NaN leaves the choice to the row: both are NaN here.
    let equal = |x: f32, y: f32| if x == y && x != 0.0 { x } else { f32::NAN };
    if is(&float::MAXNUMF) || is(&float::MAXIMUMF) {
        let larger = |x, y| if x > y { x } else { y };
        return Some(floats(row, args, operands, |x, y| {
            if x != y && !x.is_nan() && !y.is_nan() { larger(x, y) } else { equal(x, y) }
        }));
    }
    if is(&float::MINNUMF) || is(&float::MINIMUMF) {
        let smaller = |x, y| if x < y { x } else { y };
        return Some(floats(row, args, operands, |x, y| {
            if x != y && !x.is_nan() && !y.is_nan() { smaller(x, y) } else { equal(x, y) }
        }));
    }
    if is(&CMPF) {
        return compare_floats(args, operands);
    }
    None
}

/// A function of binary32 numbers; where it gives NaN, the row decides.
fn floats(
    row: &'static OpRow,
    args: &EvalArgs<'_>,
    operands: [&Data; 2],
    apply: impl Fn(f32, f32) -> f32,
) -> Data {
    let [a, b] = operands.map(Data::word_side);
    let mut results = zip_words(&a, &b, |x, y| apply(f32::from_bits(x), f32::from_bits(y)).to_bits());
    let is_nan = |word: u32| word & 0x7fff_ffff > 0x7f80_0000;
    // No early end: the loop is one over vectors.
    if results.iter().fold(false, |any, &word| any | is_nan(word)) {
        let eval = row.eval.expect("operations here have a meaning by element");
        for (index, result) in results.iter_mut().enumerate().filter(|(_, word)| is_nan(**word)) {
            let words = [u64::from(a.at(index)), u64::from(b.at(index))];
            *result = eval(args, &words).expect("float arithmetic is defined everywhere") as u32;
        }
    }
    Data::words(results)
}

fn compare_floats(args: &EvalArgs<'_>, operands: [&Data; 2]) -> Option<Data> {
    let [a, b] = operands.map(Data::word_side);
    let number = f32::from_bits;
    Some(Data::words(match args.case()? {
        CmpFPredicate::Olt => zip_words(&a, &b, |x, y| u32::from(number(x) < number(y))),
        CmpFPredicate::Ogt => zip_words(&a, &b, |x, y| u32::from(number(x) > number(y))),
        CmpFPredicate::Ole => zip_words(&a, &b, |x, y| u32::from(number(x) <= number(y))),
        CmpFPredicate::Oge => zip_words(&a, &b, |x, y| u32::from(number(x) >= number(y))),
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::{Affine, Data, binary, unary};
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
        let mut draw = |ty: Type| -> Vec<u64> {
            (0..500).map(|_| ir::scalar::truncate(crate::types::elem_bits(ty), samples(&mut seed))).collect()
        };
        let (a, b) = (draw(types[0]), draw(types[1]));
        let narrow = |ty: Type, bits: &[u64]| {
            let fits = crate::types::elem_bits(ty) <= 32;
            fits.then(|| Data::words(bits.iter().map(|&bits| bits as u32).collect()))
        };
        let (one, two) = (Data::each(a.clone()), Data::each(b.clone()));
        let mut ways = vec![
            [one.clone(), two.clone()],
            [one, Data::uniform(b[7])],
            [Data::uniform(a[9]), two],
            [Data::uniform(a[9]), Data::uniform(b[7])],
        ];
        if let (Some(one), Some(two)) = (narrow(types[0], &a), narrow(types[1], &b)) {
            ways.extend([[one.clone(), two], [one, Data::uniform(b[11])]]);
        }
        for [one, two] in &ways {
            let found = binary(row, &args, [one, two]);
            compare(row, &args, found, &[one, two]);
        }
    }

    /// What was found is what the row says of each element.
    fn compare(row: &'static OpRow, args: &EvalArgs<'_>, found: Option<Data>, operands: &[&Data]) {
        let Some(found) = found else { panic!("{} is not here", row.name) };
        let count = operands.iter().map(|data| data.kept()).max().expect("operands");
        let eval = row.eval.expect("a meaning by element");
        for index in 0..count {
            let words: Vec<u64> = operands.iter().map(|data| data.at(index)).collect();
            assert_eq!(Some(found.at(index)), eval(args, &words), "{} of {words:x?}", row.name);
        }
    }

    #[test]
    fn functions_are_those_of_the_rows() {
        let ty = Type::float(FloatKind::F32);
        let args = EvalArgs { attrs: &[], operand_types: &[ty], result_type: ty };
        let mut seed = 0x1234_5678_9abc_def1;
        let words: Vec<u32> = (0..2000).map(|_| samples(&mut seed) as u32).collect();
        let operand = Data::words(words);
        for (row, _) in super::FUNCTIONS {
            compare(row, &args, unary(row, &args, &operand), &[&operand]);
        }
    }

    /// Offsets of eight bits in addresses, and in more bits.
    fn check_offsets(one: &Data) {
        const SHAPE: &[i64] = &[2, 3];
        let (bits, pointer) = (Type::int(8), crate::types::ptr(Type::float(FloatKind::F32)));
        let addresses = Data::affine(Affine::new(1 << 40, &[64, 4], SHAPE, 64));
        let args = EvalArgs { attrs: &[], operand_types: &[pointer, bits], result_type: pointer };
        for base in [&addresses, &Data::uniform(1 << 41)] {
            compare(&ADDPTR, &args, binary(&ADDPTR, &args, [base, one]), &[base, one]);
        }
        let args = EvalArgs { attrs: &[], operand_types: &[bits], result_type: Type::int(32) };
        if let Some(found) = unary(&crate::ops::arith_cast::EXTSI, &args, one) {
            compare(&crate::ops::arith_cast::EXTSI, &args, Some(found), &[one]);
        }
    }

    /// Blocks by coordinates, some of which wrap, give what their elements give.
    #[test]
    fn numbers_by_coordinates_are_their_elements() {
        const SHAPE: &[i64] = &[2, 3];
        let bits = Type::int(8);
        let bases = [0u64, 1, 5, 100, 120, 127, 128, 200, 250, 255];
        let blocks: Vec<Data> = bases
            .iter()
            .flat_map(|&base| [[1, 1], [3, 1], [0, 255], [40, 7], [128, 0]].map(|steps| (base, steps)))
            .map(|(base, steps)| Data::affine(Affine::new(base, &steps, SHAPE, 8)))
            .collect();
        let uniform = bases.iter().map(|&base| Data::uniform(base));
        let all: Vec<Data> = blocks.iter().cloned().chain(uniform).collect();
        let predicates = ["slt", "sle", "sgt", "sge", "eq", "ne"].map(|keyword| {
            let value = CMPI_PREDICATE.value(keyword).expect("a predicate");
            Some(Attr::Enum { row: &CMPI_PREDICATE, value })
        });
        for one in &blocks {
            for two in &all {
                for operands in [[one, two], [two, one]] {
                    for row in [&int::ADDI, &int::SUBI, &int::MULI] {
                        let args = EvalArgs { attrs: &[], operand_types: &[bits; 2], result_type: bits };
                        compare(row, &args, binary(row, &args, operands), &operands);
                    }
                    for predicate in &predicates {
                        let attrs = std::slice::from_ref(predicate);
                        let args = EvalArgs { attrs, operand_types: &[bits; 2], result_type: Type::int(1) };
                        compare(&CMPI, &args, binary(&CMPI, &args, operands), &operands);
                    }
                }
                let args = EvalArgs { attrs: &[], operand_types: &[bits; 2], result_type: bits };
                if let Some(found) = binary(&int::REMSI, &args, [one, two]) {
                    compare(&int::REMSI, &args, Some(found), &[one, two]);
                }
            }
            check_offsets(one);
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
            for row in [&int::ADDI, &int::SUBI, &int::MULI, &int::ANDI, &int::ORI, &int::XORI] {
                check(row, &[], [ty; 2], ty);
            }
            for keyword in ["eq", "ne", "slt", "sle", "sgt", "sge"] {
                let value = CMPI_PREDICATE.value(keyword).expect("a predicate");
                check(&CMPI, &[Some(Attr::Enum { row: &CMPI_PREDICATE, value })], [ty; 2], Type::int(1));
            }
        }
        for bits in [8, 32] {
            check(&int::MULHIUI, &[], [Type::int(bits); 2], Type::int(bits));
        }
        for keyword in ["olt", "ogt", "ole", "oge"] {
            let value = CMPF_PREDICATE.value(keyword).expect("a predicate");
            check(&CMPF, &[Some(Attr::Enum { row: &CMPF_PREDICATE, value })], [f32_ty; 2], Type::int(1));
        }
        for bits in [32, 64] {
            let pointer = crate::types::ptr(f32_ty);
            check(&ADDPTR, &[], [pointer, Type::int(bits)], pointer);
        }
    }
}
