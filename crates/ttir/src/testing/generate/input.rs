//! Random inputs: ordinary numbers, and the ones that break things.

use super::Random;
use crate::types::elem_bits;
use ir::scalar::{float_bits, truncate};
use ir::{FloatKind, Type};

/// Elements of each input buffer: an odd number, so that masks matter.
pub(super) const LENGTH: usize = 1023;

const FLOATS: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    3.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    65504.0,
    -448.0,
    1e-40,
    6e-8,
    1e30,
];

const INTS: [i64; 10] = [0, 1, -1, 2, 7, i64::MAX, i64::MIN, 127, -128, 255];

/// The bits of random elements.
pub(super) fn values(random: &mut Random, elem: Type, count: usize) -> Vec<u64> {
    (0..count).map(|_| value(random, elem)).collect()
}

fn value(random: &mut Random, elem: Type) -> u64 {
    match elem.as_float() {
        Some(kind) => float(random, kind),
        None => {
            let bits = elem_bits(elem);
            let number = match random.below(8) {
                0 => random.of(&INTS) as u64,
                1 => random.word(),
                // The least number of the width, and the largest.
                2 => (1u64 << (bits - 1)).wrapping_sub(random.below(2)),
                _ => (random.below(41) as i64 - 20) as u64,
            };
            truncate(bits, number)
        }
    }
}

fn float(random: &mut Random, kind: FloatKind) -> u64 {
    let number = match random.below(10) {
        0 => random.of(&FLOATS),
        1 => (random.below(2001) as f64 - 1000.0) * 1.25,
        2 => random.below(21) as f64 - 10.0,
        _ => (random.word() >> 11) as f64 / (1u64 << 51) as f64 - 2.0,
    };
    float_bits(kind, number)
}
