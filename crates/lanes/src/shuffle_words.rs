//! Elements as 32-bit integers, the unit that lanes send each other: small ones several to a word, wide ones as two or
//! four.

use crate::context::Cx;
use crate::packing::{as_integer, from_integer, join, split};
use llir::{Type, Value};

/// How many elements of a type go into one word; 0 for those that take more than one.
fn per_word(ty: Type) -> usize {
    match ty.lane_bits() {
        ..=8 => 4,
        16 => 2,
        32 => 1,
        _ => 0,
    }
}

/// How many words one element of a wide type takes.
fn words_per(ty: Type) -> usize {
    (ty.lane_bits() as usize).div_ceil(32)
}

/// How many words so many values of a type take.
pub(crate) fn words_of(ty: Type, count: usize) -> usize {
    match per_word(ty) {
        0 => words_per(ty) * count,
        per_word => count.div_ceil(per_word),
    }
}

/// Values of one type as 32-bit integers; the last word of small ones is filled up with zeros.
pub(crate) fn to_words(cx: &mut Cx<'_>, ty: Type, values: &[Value]) -> Vec<Value> {
    match per_word(ty) {
        0 => {
            let each = words_per(ty) as u32;
            let mut words = Vec::with_capacity(each as usize * values.len());
            for value in values {
                let whole = as_integer(cx, *value);
                let parts = cx.b.bitcast(whole, Type::I32.vector(each));
                words.extend((0..each).map(|part| cx.b.extract(parts, part)));
            }
            words
        }
        1 => values.iter().map(|value| as_integer(cx, *value)).collect(),
        // A lone byte needs no packing.
        4 if values.len() == 1 => {
            let byte = as_integer(cx, values[0]);
            vec![cx.b.resize_unsigned(byte, Type::I32)]
        }
        count => values.chunks(count).map(|chunk| join(cx, chunk)).collect(),
    }
}

/// The first `count` values of a type that [`to_words`] packed.
pub(crate) fn from_words(cx: &mut Cx<'_>, ty: Type, words: &[Value], count: usize) -> Vec<Value> {
    match per_word(ty) {
        0 => {
            let whole = Type::int(ty.lane_bits() as u16);
            let elements = words.chunks(words_per(ty));
            elements
                .map(|parts| {
                    let vector = cx.b.vector(parts);
                    let bits = cx.b.bitcast(vector, whole);
                    from_integer(cx, bits, ty)
                })
                .collect()
        }
        1 => words.iter().map(|word| from_integer(cx, *word, ty)).collect(),
        4 if count == 1 => {
            let byte = cx.b.resize_unsigned(words[0], Type::I8);
            vec![from_integer(cx, byte, ty)]
        }
        per_word => {
            let mut values = Vec::with_capacity(count);
            for (index, word) in words.iter().enumerate() {
                values.extend(split(cx, *word, ty, per_word.min(count - index * per_word)));
            }
            values
        }
    }
}
