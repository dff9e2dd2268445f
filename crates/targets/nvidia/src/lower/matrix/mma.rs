//! The matrix instruction of one warp, `mma.sync`: operands and result in registers.

use super::kinds;
use super::pack::{pack, pack_narrow};
use crate::lower::instruction::Instruction;
use lanes::{Multiply, Overflow};
use llir::{Type, Values};
use ttgir::MatrixRow;

/// Emits the instruction of a row.
pub(crate) fn multiplier(row: &MatrixRow, overflow: Overflow) -> Option<Box<Multiply>> {
    let Shape { mnemonic, sum, results } = shape_of(row, overflow)?;
    Some(Box::new(move |b, factors, sums| {
        let ty = b.ty(sums[0]);
        let mut multiply = Instruction::new(mnemonic.as_str()).tuple(sum, results);
        for words in [pack(b, factors[0]), pack(b, factors[1]), pack_narrow(b, sums)] {
            multiply = multiply.tuple_of(&words);
        }
        let results = multiply.pure(b);
        let results = b.parts(results);
        if ty.lane_bits() >= 32 {
            return Some(results);
        }
        let mut halves = Values::new();
        for value in results {
            let vector = b.bitcast(value, ty.vector(2));
            halves.extend([0, 1].map(|lane| b.extract(vector, lane)));
        }
        Some(halves)
    }))
}

/// An instruction, and the registers of its result.
struct Shape {
    mnemonic: String,
    sum: Type,
    results: usize,
}

/// Words of 32 bits that hold so many numbers of one of 32 lanes; numbers of 64 bits stay as they are.
fn words(elements: u32, bits: u32) -> usize {
    (elements / 32).div_ceil((32 / bits).max(1)) as usize
}

fn shape_of(row: &MatrixRow, overflow: Overflow) -> Option<Shape> {
    let [a, b] = [kinds::kind(row.a.ty())?.operand, kinds::kind(row.b.ty())?.operand];
    let (name, sum) = kinds::sum(row.c.ty())?;
    let &MatrixRow { m, n: &[n], k, .. } = row else { return None };
    let saturates = if name == "s32" && overflow == Overflow::Never { ".satfinite" } else { "" };
    let mnemonic = format!("mma.sync.aligned.m{m}n{n}k{k}.row.col{saturates}.{name}.{a}.{b}.{name}");
    Some(Shape { mnemonic, sum, results: words(m * n, row.c.bits()) })
}

#[cfg(test)]
mod tests {
    use super::{Overflow, Shape, shape_of};
    use crate::machine::machine;
    use ir::{FloatKind, Type};
    use ttgir::machine::MatrixKind;

    #[test]
    fn texts_of_instructions() {
        let shape = |[a, b, c]: [Type; 3], overflow| {
            let mut rows = machine(80).expect("known").matrix_rows(a, b, c);
            let row = rows.find(|row| row.kind == MatrixKind::Warp).expect("a row");
            shape_of(row, overflow).expect("exists")
        };
        let [f16, f32, f64] = [FloatKind::F16, FloatKind::F32, FloatKind::F64].map(Type::float);
        let is = |found: Shape, mnemonic: &str, sum: llir::Type, results: usize| {
            assert_eq!((found.mnemonic.as_str(), found.sum, found.results), (mnemonic, sum, results));
        };
        let plain = |types| shape(types, Overflow::Never);
        is(plain([f16, f16, f32]), "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", llir::Type::F32, 4);
        is(plain([f64, f64, f64]), "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", llir::Type::F64, 2);
        is(plain([f16, f16, f16]), "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", llir::Type::I32, 2);
        let [i8, i32] = [Type::int(8), Type::int(32)];
        let name = |overflow| shape([i8, i8, i32], overflow).mnemonic;
        assert_eq!(name(Overflow::Never), "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32");
        assert_eq!(name(Overflow::Wraps), "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32");
    }
}
