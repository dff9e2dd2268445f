//! Matrix instructions: a row of the machine as the call of an intrinsic.

use amdgcn_isa::{Arch, Number as IsaNumber, Row, Signature};
use ir::FloatKind::{BF16, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F16, F32, F64};
use lanes::Multiply;
use llir::{FunctionBuilder, Type, Value};
use ttgir::{MatrixRow, Number};

/// Which numbers of the machine's rows are which of the table of intrinsics.
const NUMBERS: &[(Number, IsaNumber)] = &[
    (Number::Float(F64), IsaNumber::F64),
    (Number::Float(F32), IsaNumber::F32),
    (Number::Tf32, IsaNumber::Xf32),
    (Number::Float(F16), IsaNumber::F16),
    (Number::Float(BF16), IsaNumber::BF16),
    (Number::Float(F8E4M3FNUZ), IsaNumber::Fp8),
    (Number::Float(F8E4M3FN), IsaNumber::Fp8),
    (Number::Float(F8E5M2FNUZ), IsaNumber::Bf8),
    (Number::Float(F8E5M2), IsaNumber::Bf8),
    (Number::Int(8), IsaNumber::I8),
    (Number::Int(32), IsaNumber::I32),
];

/// The intrinsic of a row on an architecture.
pub(crate) fn intrinsic(arch: Arch, row: &MatrixRow) -> Option<&'static Row> {
    let number = |number: Number| NUMBERS.iter().find(|(own, _)| *own == number).map(|(_, isa)| *isa);
    let (a, b, c) = (number(row.a)?, number(row.b)?, number(row.c)?);
    // A few rows with many columns are made by instructions that make many small blocks.
    let blocks = row.n[0] / row.m;
    let wanted = [row.m, row.n[0] / blocks, row.k / blocks, blocks];
    amdgcn_isa::matrices().find(|isa| {
        isa.is_on(arch)
            && isa.matrix.is_some_and(|matrix| {
                let size = [matrix.m, matrix.n, matrix.k, matrix.blocks];
                size == wanted && (matrix.a, matrix.b, matrix.c) == (a, b, c)
            })
    })
}

/// Emits a row: `sums + a · b` for what a lane holds of each. With a block, all blocks take the `a` of that one.
pub(super) fn multiplier(arch: Arch, row: &MatrixRow, block: Option<u32>) -> Option<Box<Multiply>> {
    let call = intrinsic(arch, row)?.calls().next()?;
    let (called, Signature { result, operands }) = (call.row, call.signature());
    let blocks = i64::from((row.n[0] / row.m).ilog2());
    Some(Box::new(move |b, factors, sums| {
        let mut lists = [factors[0], factors[1], sums].into_iter();
        let last = operands.len() - 1;
        // Behind the sums: how many blocks take the same `a`, as a power of two, and which one's.
        let shared = |at: usize| match (at, block) {
            (3, Some(_)) => blocks,
            (4, Some(block)) => i64::from(block),
            _ => 0,
        };
        let mut args = Vec::with_capacity(operands.len());
        for (at, &(ty, constant)) in operands.iter().enumerate() {
            args.push(match constant {
                // In front of a factor: whether it is signed. Behind: whether sums stop at the ends of their range; how
                // lanes trade places.
                true if ty == Type::I1 => b.int(ty, i64::from(at < last)),
                true => b.int(ty, shared(at)),
                false => pack(b, lists.next()?, ty),
            });
        }
        let result = b.intrinsic(called, result, &args);
        Some((0..sums.len() as u32).map(|at| b.extract(result, at)).collect())
    }))
}

/// Values side by side as one of a type with as many bits.
pub(super) fn pack(b: &mut FunctionBuilder<'_>, values: &[Value], ty: Type) -> Value {
    let all = if values.len() == 1 { values[0] } else { b.vector(values) };
    if b.ty(all) == ty { all } else { b.bitcast(all, ty) }
}

#[cfg(test)]
mod tests {
    use super::intrinsic;
    use crate::machine::MACHINES;
    use ttgir::FragmentKind;

    #[test]
    fn every_row_of_every_machine_is_an_intrinsic_with_room_for_its_fragments() {
        for (arch, machine) in MACHINES {
            assert!(!machine.matrix.is_empty());
            for row in machine.matrix {
                let isa = intrinsic(*arch, row).unwrap_or_else(|| panic!("{arch}: {row}"));
                let signature = isa.calls().next().expect("one").signature();
                let operands: Vec<_> = signature.operands.iter().filter(|operand| !operand.1).collect();
                let FragmentKind::Runs { k_base, .. } = row.fragments else { panic!("{row}") };
                assert_eq!(row.is_narrow(), isa.matrix.is_some_and(|matrix| matrix.blocks > 1));
                let bits = |ty: llir::Type| ty.lane_bits() * ty.lanes();
                assert_eq!(bits(operands[0].0), k_base * row.a.bits(), "{arch}: {row}");
                assert_eq!(bits(operands[2].0) * machine.warp_size, row.m * row.n[0] * row.c.bits());
            }
        }
    }
}
