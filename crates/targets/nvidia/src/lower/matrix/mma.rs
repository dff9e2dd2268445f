//! The matrix instruction of one warp, `mma.sync`: operands and result in registers.

use super::kinds;
use super::pack::{pack, pack_narrow};
use super::text::{constraints, operands};
use lanes::{Multiply, Overflow};
use llir::{Asm, Type, Value, Values};
use smallvec::SmallVec;
use ttgir::MatrixRow;

/// An instruction: its text and its result.
struct Shape {
    asm: Asm,
    result: Type,
}

/// Emits the instruction of a row.
pub(crate) fn multiplier(row: &MatrixRow, overflow: Overflow) -> Option<Box<Multiply>> {
    let Shape { asm, result } = shape_of(row, overflow)?;
    Some(Box::new(move |b, factors, sums| {
        let ty = b.ty(sums[0]);
        let mut args: SmallVec<[Value; 16]> = pack(b, factors[0]);
        args.extend(pack(b, factors[1]));
        args.extend(pack_narrow(b, sums));
        let results = b.inline_asm(asm.clone(), result, &args)?;
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

/// Words of 32 bits that hold so many numbers of one of 32 lanes; numbers of 64 bits stay as they are.
fn words(elements: u32, bits: u32) -> usize {
    (elements / 32).div_ceil((32 / bits).max(1)) as usize
}

fn shape_of(row: &MatrixRow, overflow: Overflow) -> Option<Shape> {
    let (a, b) = (kinds::kind(row.a.ty())?, kinds::kind(row.b.ty())?);
    let (sum, class) = kinds::sum(row.c.ty())?;
    let &MatrixRow { m, n: &[n], k, .. } = row else { return None };
    let [a_words, b_words] = [words(m * k, row.a.bits()), words(k * n, row.b.bits())];
    let results = words(m * n, row.c.bits());
    let saturates = if sum == "s32" && overflow == Overflow::Never { ".satfinite" } else { "" };
    let text = format!(
        "mma.sync.aligned.m{m}n{n}k{k}.row.col{saturates}.{sum}.{}.{}.{sum} {{{}}}, {{{}}}, {{{}}}, {{{}}};",
        a.operand,
        b.operand,
        operands(0, results),
        operands(results, a_words),
        operands(results + a_words, b_words),
        operands(results + a_words + b_words, results),
    );
    let mut classes = vec![if a.bytes == 8 { "d" } else { "r" }; a_words + b_words];
    classes.extend(vec![class; results]);
    let part = match class {
        "f" => Type::F32,
        "d" => Type::F64,
        _ => Type::I32,
    };
    Some(Shape {
        asm: Asm::pure(&text, &constraints(&vec![class; results], 0, &classes)),
        result: part.times(results as u32),
    })
}

#[cfg(test)]
mod tests {
    use super::{Overflow, shape_of};
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
        let halves = shape([f16, f16, f32], Overflow::Never);
        assert_eq!(
            halves.asm.text,
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, \
             {$10, $11, $12, $13};"
        );
        assert_eq!(halves.asm.constraints, "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f");
        let doubles = shape([f64, f64, f64], Overflow::Never);
        assert_eq!(
            doubles.asm.text,
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {$0, $1}, {$2}, {$3}, {$4, $5};"
        );
        let [i8, i32] = [Type::int(8), Type::int(32)];
        let name = |overflow| {
            let shape = shape([i8, i8, i32], overflow);
            shape.asm.text.split(' ').next().expect("a name").to_owned()
        };
        assert_eq!(name(Overflow::Never), "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32");
        assert_eq!(name(Overflow::Wraps), "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32");
        let shape = shape([f16, f16, f16], Overflow::Never);
        assert_eq!(shape.asm.constraints, "=r,=r,r,r,r,r,r,r,r,r");
    }
}
