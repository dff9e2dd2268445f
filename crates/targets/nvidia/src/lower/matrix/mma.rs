//! Products by the matrix instruction of one warp, `mma.sync`: operands and result in registers.
//!
//! Input: `tt.dot` whose result has the encoding of version 2. The warp's part of the result is tiled by the
//! instruction's shape; along k, tile after tile is added, so that instructions next to each other are independent.

use super::fragment::{Offsets, accumulator_fragment, column_fragment, row_fragment};
use super::kinds::{self, Kind};
use super::pack::{pack, pack_narrow};
use super::text::{constraints, operands};
use ir::Op;
use lanes::{Cx, LaneValue, Positions, Result};
use llir::{Asm, Type, Value};
use ttir::ops::constant::splat_bits;

/// An instruction: its text and what its operands look like.
struct Shape {
    asm: Asm,
    result: Type,
    rows: u32,
    depth: u32,
    a: Offsets,
    b: Offsets,
    sum: Offsets,
}

/// Lowers a product of version 2.
pub(crate) fn lower_dot(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let values = [0, 1, 2].map(|index| cx.module.operand(op, index));
    let types = values.map(|value| cx.module.ty(value));
    let elements = types.map(ttir::types::elem);
    let k = ttir::types::shape(types[0]).last().copied().unwrap_or(1);
    let shape = shape_of(elements, overflow(cx, values[2], k)).ok_or_else(|| {
        cx.error(op, format!("no matrix instruction multiplies {} and {}", elements[0], elements[1]))
    })?;
    let mut positions = Vec::with_capacity(3);
    for ty in types {
        positions.push(Positions::of(&*cx.layout(ty)?));
    }
    let [a, b] = [cx.operand(op, 0)?, cx.operand(op, 1)?];
    let mut sums = cx.operand(op, 2)?.to_vec();
    let lost = "an operand's encoding does not belong to the result's";
    for k in (0..positions[0].sizes()[2]).step_by(shape.depth as usize) {
        for corner in positions[2].corners(shape.rows, 8) {
            let [batch, row, column] = corner;
            let find = |operand: usize, corner, offsets: &Offsets| {
                positions[operand].fragment(corner, offsets).ok_or(lost)
            };
            let x = find(0, [batch, row, k], &shape.a).map_err(|text| cx.error(op, text))?;
            let y = find(1, [batch, k, column], &shape.b).map_err(|text| cx.error(op, text))?;
            let z = find(2, corner, &shape.sum).map_err(|text| cx.error(op, text))?;
            let pick =
                |from: &[Value], which: &[u32]| which.iter().map(|at| from[*at as usize]).collect::<Vec<_>>();
            let (x, y, old) = (pick(&a, &x), pick(&b, &y), pick(&sums, &z));
            let new = multiply(cx, &shape, [&x, &y, &old]);
            for (at, value) in z.iter().zip(new) {
                sums[*at as usize] = value;
            }
        }
    }
    copy_repeated(&positions[2], &mut sums);
    cx.set_result(op, LaneValue::tensor(sums));
    Ok(())
}

/// Registers that hold the same element get the same value.
pub(super) fn copy_repeated(positions: &Positions, registers: &mut [Value]) {
    for (at, element) in positions.elements().iter().enumerate() {
        if let Some(first) = positions.register(*element) {
            registers[at] = registers[first as usize];
        }
    }
}

/// One instruction.
fn multiply(cx: &mut Cx<'_>, shape: &Shape, [a, b, sum]: [&[Value]; 3]) -> Vec<Value> {
    let ty = cx.b.ty(sum[0]);
    let mut args = pack(cx, a);
    args.extend(pack(cx, b));
    args.extend(pack_narrow(cx, sum));
    let results = cx.b.inline_asm(shape.asm.clone(), shape.result, &args).expect("a product has results");
    let results = cx.b.parts(results);
    if ty.lane_bits() >= 32 {
        return results.to_vec();
    }
    let pair = ty.vector(2);
    let halves = |value: Value, cx: &mut Cx<'_>| {
        let vector = cx.b.bitcast(value, pair);
        [cx.b.extract(vector, 0), cx.b.extract(vector, 1)]
    };
    results.iter().flat_map(|value| halves(*value, cx)).collect()
}

/// What becomes of integer sums that do not fit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overflow {
    Wraps,
    /// All sums fit: the form that would saturate gives the same, and is the one that people look for.
    Never,
}

/// Products of bytes are at most 2^14, and so many of them fit a sum that begins with zero.
const LONGEST: i64 = (1 << 17) - 1;

fn overflow(cx: &Cx<'_>, start: ir::Value, k: i64) -> Overflow {
    let from_zero = cx.module.constant(start).and_then(splat_bits) == Some(0);
    if from_zero && k <= LONGEST { Overflow::Never } else { Overflow::Wraps }
}

/// The instruction for element types of a, b and the sum.
fn shape_of([a, b, sum]: [ir::Type; 3], overflow: Overflow) -> Option<Shape> {
    let (a, b) = (kinds::kind(a)?, kinds::kind(b)?);
    let (sum_name, class) = kinds::sum(sum)?;
    let double = a.bytes == 8;
    let (rows, depth) = if double { (8, 4) } else { (16, 32 / a.bytes) };
    let fragment = |kind: &Kind, is_a: bool| match (double, is_a) {
        (true, _) => vec![(0, 0)],
        (false, true) => row_fragment(16, 32, 4 / kind.bytes),
        (false, false) => column_fragment(32, 4 / kind.bytes),
    };
    let sum_offsets = accumulator_fragment(rows, 8);
    let words = |offsets: &Offsets, bytes: u32| {
        (offsets.len() as u32 * bytes.min(8)).div_ceil(bytes.clamp(4, 8)) as usize
    };
    let (a_offsets, b_offsets) = (fragment(a, true), fragment(b, false));
    let (a_words, b_words) = (words(&a_offsets, a.bytes), words(&b_offsets, b.bytes));
    let results = if sum_name == "f16" { sum_offsets.len() / 2 } else { sum_offsets.len() };
    let saturates = if sum_name == "s32" && overflow == Overflow::Never { ".satfinite" } else { "" };
    let text = format!(
        "mma.sync.aligned.m{rows}n8k{depth}.row.col{saturates}.{sum_name}.{}.{}.{sum_name} {{{}}}, {{{}}}, {{{}}}, {{{}}};",
        a.operand,
        b.operand,
        operands(0, results),
        operands(results, a_words),
        operands(results + a_words, b_words),
        operands(results + a_words + b_words, results),
    );
    let operand_class = if double { "d" } else { "r" };
    let mut classes = vec![operand_class; a_words + b_words];
    classes.extend(vec![class; results]);
    let part = match class {
        "f" => Type::F32,
        "d" => Type::F64,
        _ => Type::I32,
    };
    Some(Shape {
        asm: Asm::pure(&text, &constraints(&vec![class; results], 0, &classes)),
        result: part.times(results as u32),
        rows,
        depth,
        a: a_offsets,
        b: b_offsets,
        sum: sum_offsets,
    })
}

#[cfg(test)]
mod tests {
    use super::{Overflow, shape_of};
    use ir::{FloatKind, Type};

    #[test]
    fn texts_of_instructions() {
        let f16 = Type::float(FloatKind::F16);
        let f32 = Type::float(FloatKind::F32);
        let f64 = Type::float(FloatKind::F64);
        let shape = shape_of([f16, f16, f32], Overflow::Never).expect("exists");
        assert_eq!(
            shape.asm.text,
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, \
             {$10, $11, $12, $13};"
        );
        assert_eq!(shape.asm.constraints, "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f");
        let shape = shape_of([f64, f64, f64], Overflow::Never).expect("exists");
        assert_eq!(
            shape.asm.text,
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {$0, $1}, {$2}, {$3}, {$4, $5};"
        );
        let [i8, i32] = [Type::int(8), Type::int(32)];
        let name = |overflow| {
            let shape = shape_of([i8, i8, i32], overflow).expect("exists");
            shape.asm.text.split(' ').next().expect("a name").to_owned()
        };
        assert_eq!(name(Overflow::Never), "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32");
        assert_eq!(name(Overflow::Wraps), "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32");
        let shape = shape_of([f16, f16, f16], Overflow::Never).expect("exists");
        assert_eq!(shape.asm.constraints, "=r,=r,r,r,r,r,r,r,r,r");
        let shape = shape_of([f32, f32, f32], Overflow::Never).expect("exists");
        assert_eq!(shape.depth, 8);
        assert_eq!(shape.a.as_slice(), [(0, 0), (8, 0), (0, 4), (8, 4)]);
    }
}
