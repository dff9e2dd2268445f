//! Addresses, and masks that are known.
//!
//! ```text
//! tt.addptr (tt.addptr %p, %a), %b      =>  tt.addptr %p, (%a + %b)      where the sum cannot overflow
//! tt.load %p, true, %other              =>  tt.load %p
//! tt.load %p, false, %other             =>  %other
//! tt.store %p, %v, true                 =>  tt.store %p, %v
//! tt.store %p, %v, false                =>
//! ```

use super::{def_of_kind, replace};
use crate::ops::arith_int::{ADDI, constant_int};
use crate::ops::constant;
use crate::ops::memory::{ADDPTR, mask};
use crate::types::elem;
use ir::{Builder, Module, Op};

/// Whether two offsets may be added before they are applied: the sum of 64 bits wraps as addresses do; a narrower one
/// must not overflow, which is known of constants only.
fn sum_is_safe(module: &Module, inner: Op, outer: Op) -> bool {
    let ty = module.ty(module.operand(inner, 1));
    if ty != module.ty(module.operand(outer, 1)) {
        return false;
    }
    let bits = elem(ty).as_int().unwrap_or(0);
    if bits == 64 {
        return true;
    }
    match (constant_int(module, inner, 1), constant_int(module, outer, 1)) {
        (Some(a), Some(b)) => a
            .checked_add(b)
            .is_some_and(|sum| sum == ir::scalar::sign_extend(bits, ir::scalar::truncate(bits, sum as u64))),
        _ => false,
    }
}

/// See the file.
pub(crate) fn combine_addptr(module: &mut Module, op: Op) -> bool {
    let Some(inner) = def_of_kind(module, op, 0, &ADDPTR) else { return false };
    if !sum_is_safe(module, inner, op) {
        return false;
    }
    let (base, first, second) = (module.operand(inner, 0), module.operand(inner, 1), module.operand(op, 1));
    let sum = Builder::before(module, op).build(&ADDI, &[first, second], &[]);
    module.set_operands(op, &[base, sum]);
    true
}

/// Whether the mask of an access is a constant with equal elements, and which.
fn known_mask(module: &Module, op: Op) -> Option<bool> {
    let mask = mask(module, op)?;
    Some(constant::splat_bits(module.constant(mask)?)? & 1 != 0)
}

/// See the file. Without `other`, what is not loaded is 0, as in the interpreter.
pub(crate) fn simplify_load_mask(module: &mut Module, op: Op) -> bool {
    let Some(holds) = known_mask(module, op) else { return false };
    if holds {
        let pointer = module.operand(op, 0);
        module.set_operands(op, &[pointer]);
        return true;
    }
    let ty = module.ty(module.result(op, 0));
    let value = match module.optional_operand(op, 2) {
        Some(other) => other,
        None if elem(ty).scalar_bits().is_some() => constant::build(&mut Builder::before(module, op), ty, 0),
        // There are no constant addresses.
        None => return false,
    };
    replace(module, op, value)
}

/// See the file.
pub(crate) fn simplify_store_mask(module: &mut Module, op: Op) -> bool {
    match known_mask(module, op) {
        None => false,
        Some(true) => {
            let kept = module.operands(op)[..2].to_vec();
            module.set_operands(op, &kept);
            true
        }
        Some(false) => {
            module.erase(op);
            true
        }
    }
}
