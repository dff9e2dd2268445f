//! What instructions do: one file a family, and the tables from names to decoders.

mod access;
mod approximate;
mod atomic;
mod buffer;
mod cells;
mod compare;
mod convert;
mod copy;
mod exchange;
mod float;
mod integer;
mod matrix;
mod order;
mod scaled;
mod small;
mod system;
mod vector;

use crate::decode::site::{Decoded, Site};
use amdgcn_isa::Row;
use llir::{Format, Intrinsic, Op, Payload};

/// Reads an instruction and adds what it does.
type Decode = fn(&mut Site<'_, '_>) -> Decoded;

/// Intrinsics that LLVM has for all machines, by their rows.
type General = &'static [(&'static Intrinsic, Decode)];

/// Intrinsics of AMD GPUs, by theirs.
type Own = &'static [(&'static Row, Decode)];

/// Instructions of LLVM.
const OPS: &[&[(Op, Decode)]] =
    &[integer::OPS, float::OPS, compare::OPS, convert::OPS, vector::OPS, access::OPS, atomic::OPS];

/// Intrinsics that LLVM has for all machines.
static GENERAL: &[General] = &[integer::INTRINSICS, float::INTRINSICS, convert::INTRINSICS, system::GENERAL];

/// Intrinsics of AMD GPUs.
static OWN: &[Own] = &[
    system::INTRINSICS,
    exchange::INTRINSICS,
    approximate::INTRINSICS,
    small::INTRINSICS,
    buffer::INTRINSICS,
    copy::INTRINSICS,
];

/// Decodes an instruction that is no jump.
pub(crate) fn decode(site: &mut Site<'_, '_>) -> Decoded {
    if site.data.op.row().format == Format::Call {
        return call(site);
    }
    if let Payload::Asm(asm) = &site.data.payload {
        // Empty assembly only keeps LLVM from moving things.
        return match (asm.text.trim(), &site.data.operands[..]) {
            ("", []) => Ok(()),
            _ => Err("assembly cannot be run".to_owned()),
        };
    }
    let row = OPS.iter().copied().flatten().find(|(op, _)| *op == site.data.op);
    let (_, decode) = row.ok_or_else(|| format!("`{}` cannot be run", site.data.op.row().name))?;
    decode(site)
}

fn call(site: &mut Site<'_, '_>) -> Decoded {
    let Payload::Callee(id) = site.data.payload else { return Err("a call without a callee".to_owned()) };
    let callee = site.assembly.module.callee(id);
    let name = &callee.name;
    if let Some(row) = amdgcn_isa::of(callee) {
        let arch = site.arch();
        if !row.is_on(arch) {
            return Err(format!("{arch} has no `{name}`"));
        }
        if let Some(shape) = row.matrix {
            return if row.is_scaled() {
                scaled::decode(site, shape.into())
            } else {
                matrix::decode(site, shape)
            };
        }
        return decoder(row).ok_or_else(|| format!("`{name}` cannot be run"))?(site);
    }
    let known = |intrinsic| GENERAL.iter().copied().flatten().find(|(own, _)| *own == intrinsic);
    let (_, decode) = callee.intrinsic.and_then(known).ok_or_else(|| format!("`{name}` is not known"))?;
    decode(site)
}

/// What decodes an intrinsic of AMD GPUs that is no matrix instruction.
fn decoder(row: &Row) -> Option<Decode> {
    OWN.iter().copied().flatten().find(|(own, _)| *own == row).map(|(_, decode)| *decode)
}

#[cfg(test)]
mod tests {
    use super::{OPS, decoder};
    use llir::{Format, Op};

    #[test]
    fn every_instruction_can_be_run_or_is_refused_on_purpose() {
        let refused = [Op::ASM, Op::CALL_INDIRECT, Op::CALL];
        for op in Op::all() {
            let is_end = matches!(
                op.row().format,
                Format::Jump | Format::Branch | Format::Switch | Format::Return | Format::Unreachable
            );
            let is_known = OPS.iter().copied().flatten().any(|(known, _)| *known == op);
            assert_eq!(is_known, !is_end && !refused.contains(&op), "{}", op.row().name);
        }
    }

    #[test]
    fn every_intrinsic_of_the_table_can_be_run_or_is_refused_on_purpose() {
        for row in amdgcn_isa::rows().filter(|row| row.matrix.is_none()) {
            let is_refused = super::system::REFUSED.contains(&row);
            assert_eq!(decoder(row).is_some(), !is_refused, "{}", row.name);
        }
    }
}
