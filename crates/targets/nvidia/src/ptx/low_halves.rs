//! A product of 32 bits that is also half of one of 64 bits is read from that.
//!
//! ```text
//! mul.wide.u32 %rd1, %r1, -845247145;             mul.wide.u32 %rd1, %r1, -845247145;
//! …                                         =>    …
//! mul.lo.s32 %r5, %r1, -845247145;                cvt.u32.u64 %r5, %rd1;
//! ```
//!
//! Each round of Philox wants both halves of two products, and `ptxas` 12.8 to 13.5 multiplies twice for each; the
//! conversion is no instruction of the machine, which holds numbers of 64 bits in two registers. Only behind the wide
//! product in its block.

use super::machine::{MFunction, MInst, Operand, Reg, Text};
use rustc_hash::{FxHashMap, FxHashSet};

/// Factors of 32 bits, whatever their order and their signs.
type Factors = [Factor; 2];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Factor {
    Reg(Reg),
    Bits(u32),
}

/// Reads lower halves of wide products where they are there.
pub(super) fn read_low_halves(function: &mut MFunction) {
    for block in &mut function.blocks {
        let mut wide: FxHashMap<Factors, Reg> = FxHashMap::default();
        let mut read: FxHashSet<Reg> = FxHashSet::default();
        for inst in &mut block.insts {
            let product = product(inst);
            if let Some((false, _, factors)) = product
                && let Some(&whole) = wide.get(&factors)
            {
                inst.text = Text::Plain("cvt.u32.u64".into());
                inst.operands.truncate(1);
                inst.operands.push(Operand::Reg(whole));
            }
            // What holds for registers ends where they are written again.
            let mut is_read = false;
            inst.operands[..inst.defs]
                .iter()
                .for_each(|operand| operand.each_reg(&mut |reg| is_read |= read.contains(&reg)));
            if is_read {
                wide.clear();
                read.clear();
            }
            if let Some((true, result, factors)) = product {
                wide.insert(factors, result);
                read.insert(result);
                read.extend(factors.iter().filter_map(|factor| match factor {
                    Factor::Reg(reg) => Some(*reg),
                    Factor::Bits(_) => None,
                }));
            }
        }
    }
}

/// Whether a product of 32-bit numbers is wide, its result and its factors.
fn product(inst: &MInst) -> Option<(bool, Reg, Factors)> {
    let Text::Plain(name) = &inst.text else { return None };
    let is_wide = match name.as_ref() {
        "mul.wide.u32" | "mul.wide.s32" => true,
        "mul.lo.s32" | "mul.lo.u32" => false,
        _ => return None,
    };
    let [Operand::Reg(result), a, b] = inst.operands.as_slice() else { return None };
    let factor = |operand: &Operand| match operand {
        Operand::Reg(reg) => Some(Factor::Reg(*reg)),
        Operand::Int(value) => Some(Factor::Bits(*value as u32)),
        _ => None,
    };
    let mut factors = [factor(a)?, factor(b)?];
    factors.sort_unstable();
    Some((is_wide, *result, factors))
}
