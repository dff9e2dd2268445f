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
use llir::{Format, Op, Payload};

/// Reads an instruction and adds what it does.
type Decode = fn(&mut Site<'_, '_>) -> Decoded;

/// Instructions of LLVM.
const OPS: &[&[(Op, Decode)]] =
    &[integer::OPS, float::OPS, compare::OPS, convert::OPS, vector::OPS, access::OPS, atomic::OPS];

/// Intrinsics that LLVM has for all machines, without the types in their names.
const GENERAL: &[&[(&str, Decode)]] =
    &[integer::INTRINSICS, float::INTRINSICS, convert::INTRINSICS, system::GENERAL];

/// Intrinsics of AMD GPUs.
const OWN: &[&[(&str, Decode)]] = &[
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
    let name = site.assembly.module.callee(id).name.clone();
    if let Some(call) = amdgcn_isa::find(&name) {
        let arch = site.arch();
        if !call.row.is_on(arch) {
            return Err(format!("{arch} has no `{name}`"));
        }
        if let Some(shape) = call.row.matrix {
            return matrix::decode(site, &name, shape);
        }
        let row = OWN.iter().copied().flatten().find(|(known, _)| *known == call.row.name);
        let (_, decode) = row.ok_or_else(|| format!("`{name}` cannot be run"))?;
        return decode(site);
    }
    if let Some(scaled) = scaled::of_name(&name) {
        return scaled::decode(site, scaled);
    }
    let mut stem = name.as_str();
    loop {
        if let Some((_, decode)) = GENERAL.iter().copied().flatten().find(|(known, _)| *known == stem) {
            return decode(site);
        }
        match stem.rsplit_once('.') {
            Some((shorter, _)) => stem = shorter,
            None => return Err(format!("`{name}` is not known")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OPS, OWN};
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
            let is_known = OWN.iter().copied().flatten().any(|(known, _)| *known == row.name);
            assert_eq!(is_known, !super::system::REFUSED.contains(&row.name), "{}", row.name);
        }
    }
}
