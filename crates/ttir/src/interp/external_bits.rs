//! Functions of maths libraries that work on bits: integer functions, bit casts, neighbours of floats.

use crate::types::elem_bits;
use ir::scalar::{float_value, sign_extend, truncate};
use ir::{FloatKind, Type};

/// Types of the operands, type of the result, bits of the operands.
type OnBits = fn(&[Type], Type, &[u64]) -> Option<u64>;

fn signed(types: &[Type], x: &[u64], index: usize) -> i128 {
    i128::from(sign_extend(elem_bits(types[index]), x[index]))
}

fn cut(ty: Type, value: i128) -> Option<u64> {
    Some(truncate(elem_bits(ty), value as u64))
}

fn high(types: &[Type], value: i128) -> Option<u64> {
    Some(truncate(elem_bits(types[0]), (value >> elem_bits(types[0])) as u64))
}

fn high_unsigned(types: &[Type], x: &[u64]) -> Option<u64> {
    Some(((u128::from(x[0]) * u128::from(x[1])) >> elem_bits(types[0])) as u64)
}

/// The low 24 bits, as signed.
fn low24(value: u64) -> i128 {
    i128::from(sign_extend(24, value & 0xff_ffff))
}

fn leading_zeros(types: &[Type], _: Type, x: &[u64]) -> Option<u64> {
    Some(u64::from(x[0].leading_zeros() - (64 - elem_bits(types[0]))))
}

fn ones(_: &[Type], _: Type, x: &[u64]) -> Option<u64> {
    Some(u64::from(x[0].count_ones()))
}

fn reversed(types: &[Type], _: Type, x: &[u64]) -> Option<u64> {
    Some(x[0].reverse_bits() >> (64 - elem_bits(types[0])))
}

fn first_set(_: &[Type], _: Type, x: &[u64]) -> Option<u64> {
    Some(if x[0] == 0 { 0 } else { u64::from(x[0].trailing_zeros()) + 1 })
}

/// Of an integer, or of a float, whose sign is its first bit.
fn magnitude(types: &[Type], result: Type, x: &[u64]) -> Option<u64> {
    match types[0].as_float() {
        Some(_) => Some(x[0] & !(1 << (elem_bits(types[0]) - 1))),
        None => cut(result, signed(types, x, 0).abs()),
    }
}

fn same(_: &[Type], result: Type, x: &[u64]) -> Option<u64> {
    Some(truncate(elem_bits(result), x[0]))
}

/// Each byte of the result is one of the eight of the operands, picked by a digit of the selector.
fn permute_bytes(_: &[Type], _: Type, x: &[u64]) -> Option<u64> {
    let bytes = (x[0] & 0xffff_ffff) | x[1] << 32;
    Some((0..4).fold(0, |word, byte| {
        let digit = x[2] >> (4 * byte) & 7;
        word | (bytes >> (8 * digit) & 0xff) << (8 * byte)
    }))
}

fn next_after(_: &[Type], result: Type, x: &[u64]) -> Option<u64> {
    match result.as_float()? {
        FloatKind::F32 => {
            let [from, to] = [x[0], x[1]].map(|bits| f32::from_bits(bits as u32));
            Some(u64::from(libm::nextafterf(from, to).to_bits()))
        }
        FloatKind::F64 => Some(libm::nextafter(f64::from_bits(x[0]), f64::from_bits(x[1])).to_bits()),
        _ => None,
    }
}

/// Rounds an integer to the nearest number of the result's format, once.
fn int_to_float(result: Type, value: i128) -> Option<u64> {
    match result.as_float()? {
        FloatKind::F32 => Some(u64::from((value as f32).to_bits())),
        kind => Some(ir::scalar::float_bits(kind, value as f64)),
    }
}

fn from_signed(types: &[Type], result: Type, x: &[u64]) -> Option<u64> {
    int_to_float(result, signed(types, x, 0))
}

fn from_unsigned(_: &[Type], result: Type, x: &[u64]) -> Option<u64> {
    int_to_float(result, i128::from(x[0]))
}

fn narrowed(types: &[Type], result: Type, x: &[u64]) -> Option<u64> {
    Some(ir::scalar::float_bits(result.as_float()?, float_value(types[0].as_float()?, x[0])))
}

/// Plain name and meaning.
pub(crate) static BITS: &[(&str, OnBits)] = &[
    ("abs", magnitude),
    ("brev", reversed),
    ("brevll", reversed),
    ("byte_perm", permute_bytes),
    ("clz", leading_zeros),
    ("clzll", leading_zeros),
    ("double2float_rn", narrowed),
    ("double2hiint", |_, _, x| Some(x[0] >> 32)),
    ("double2loint", |_, _, x| Some(x[0] & 0xffff_ffff)),
    ("double_as_longlong", same),
    ("ffs", first_set),
    ("ffsll", first_set),
    ("float_as_int", same),
    ("float_as_uint", same),
    ("hadd", |t, r, x| cut(r, (signed(t, x, 0) + signed(t, x, 1)) >> 1)),
    ("hiloint2double", |_, _, x| Some(x[0] << 32 | (x[1] & 0xffff_ffff))),
    ("int2double_rn", from_signed),
    ("int2float_rn", from_signed),
    ("int_as_float", same),
    ("ll2double_rn", from_signed),
    ("ll2float_rn", from_signed),
    ("llabs", magnitude),
    ("longlong_as_double", same),
    ("mul24", |_, r, x| cut(r, low24(x[0]) * low24(x[1]))),
    ("mul64hi", |t, _, x| high(t, signed(t, x, 0) * signed(t, x, 1))),
    ("mulhi", |t, _, x| high(t, signed(t, x, 0) * signed(t, x, 1))),
    ("nextafter", next_after),
    ("nextafterf", next_after),
    ("popc", ones),
    ("popcll", ones),
    ("rhadd", |t, r, x| cut(r, (signed(t, x, 0) + signed(t, x, 1) + 1) >> 1)),
    ("sad", |t, r, x| cut(r, (signed(t, x, 0) - signed(t, x, 1)).abs() + i128::from(x[2]))),
    ("uhadd", |_, r, x| cut(r, (i128::from(x[0]) + i128::from(x[1])) >> 1)),
    ("uint2double_rn", from_unsigned),
    ("uint2float_rn", from_unsigned),
    ("uint_as_float", same),
    ("ull2double_rn", from_unsigned),
    ("ull2float_rn", from_unsigned),
    ("umul24", |_, r, x| cut(r, i128::from(x[0] & 0xff_ffff) * i128::from(x[1] & 0xff_ffff))),
    ("umul64hi", |t, _, x| high_unsigned(t, x)),
    ("umulhi", |t, _, x| high_unsigned(t, x)),
    ("urhadd", |_, r, x| cut(r, (i128::from(x[0]) + i128::from(x[1]) + 1) >> 1)),
    ("usad", |_, r, x| cut(r, i128::from(x[0].abs_diff(x[1])) + i128::from(x[2]))),
];

#[cfg(test)]
mod tests {
    use super::BITS;
    use ir::Type;

    fn run(name: &str, bits: u32, x: &[u64]) -> Option<u64> {
        let types = vec![Type::int(bits); x.len()];
        let function = BITS.iter().find(|row| row.0 == name)?.1;
        function(&types, Type::int(bits), x)
    }

    #[test]
    fn integer_functions_see_the_width() {
        assert_eq!(run("clz", 32, &[1]), Some(31));
        assert_eq!(run("clzll", 64, &[0]), Some(64));
        assert_eq!(run("brev", 32, &[1]), Some(0x8000_0000));
        assert_eq!(run("ffs", 32, &[0x10]), Some(5));
        assert_eq!(run("mulhi", 32, &[0xffff_ffff, 2]), Some(0xffff_ffff));
        assert_eq!(run("umulhi", 32, &[0xffff_ffff, 2]), Some(1));
        assert_eq!(run("umul64hi", 64, &[u64::MAX, u64::MAX]), Some(u64::MAX - 1));
        assert_eq!(run("hadd", 32, &[0xffff_ffff, 0xffff_fffd]), Some(0xffff_fffe));
        assert_eq!(run("byte_perm", 32, &[0x3322_1100, 0x7766_5544, 0x7520]), Some(0x7755_2200));
    }
}
