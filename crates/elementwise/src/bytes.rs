//! Neighbours of 8 bits that lie in one word of a vector, converted to floats together.

use crate::{Ctx, Elems};
use ir::FloatKind;
use llir::{FunctionBuilder, Op, Type, Value, Values};
use ttir::ops::arith_cast::{EXTF, FP_TO_FP, SITOFP, UITOFP};

/// What 8 bits stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Byte {
    /// An integer from -128 to 127.
    Signed,
    /// An integer from 0 to 255.
    Unsigned,
    /// A float.
    Float(FloatKind),
}

/// How many are converted together: a whole word, or half of one.
pub const TOGETHER: [usize; 2] = [4, 2];

impl Byte {
    /// What an operation converts to a float of more bits, each element by itself.
    pub fn of(elems: &Elems<'_>) -> Option<Byte> {
        let [from] = elems.operands[..] else { return None };
        let is = |rows: &[&'static ir::OpRow]| rows.iter().any(|row| elems.module.is(elems.op, row));
        elems.result.as_float().filter(|to| to.bits() > 8)?;
        match from.as_float() {
            Some(kind) => (kind.bits() == 8 && is(&[&FP_TO_FP, &EXTF])).then_some(Byte::Float(kind)),
            None if from.as_int() != Some(8) => None,
            None if is(&[&SITOFP]) => Some(Byte::Signed),
            None => is(&[&UITOFP]).then_some(Byte::Unsigned),
        }
    }
}

/// Elements as floats, where they are neighbours in one word and the machine converts such together.
pub fn convert_together(ctx: &mut Ctx<'_, '_>, elems: &Elems<'_>, from: Byte, x: &[Value]) -> Option<Values> {
    let to = elems.result.as_float()?;
    let (vector, first) = run_of_lanes(ctx.b, x)?;
    let lanes = ctx.b.ty(vector).lanes();
    let count = x.len() as u32;
    if !first.is_multiple_of(count) || !lanes.is_multiple_of(count) {
        return None;
    }
    let convert = ctx.target.bytes_converter(from, to)?;
    let word = Type::int(8 * count as u16);
    let word = match lanes / count {
        1 => ctx.b.bitcast(vector, word),
        words => {
            let words = ctx.b.bitcast(vector, word.vector(words));
            ctx.b.extract(words, first / count)
        }
    };
    let word = ctx.b.resize_unsigned(word, Type::I32);
    Some(ctx.exactly(|ctx| convert(ctx.b, (from, to), word, x.len())))
}

/// The vector that scalars are taken out of, one lane after another, and the first of these lanes.
fn run_of_lanes(b: &FunctionBuilder<'_>, scalars: &[Value]) -> Option<(Value, u32)> {
    let place = |scalar: Value| {
        let data = b.func().defining(scalar).filter(|data| data.op == Op::EXTRACT)?;
        Some((data.operands[0], u32::try_from(b.as_int(data.operands[1])?).ok()?))
    };
    let first = place(*scalars.first()?)?;
    let follows =
        |(index, scalar): (usize, &Value)| place(*scalar) == Some((first.0, first.1 + index as u32));
    scalars.iter().enumerate().all(follows).then_some(first)
}
