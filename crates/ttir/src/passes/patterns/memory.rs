//! Addresses, and masks that are known.
//!
//! ```text
//! tt.addptr (tt.addptr %p, %a), %b      =>  tt.addptr %p, (%a + %b)      where the sum cannot overflow
//! tt.load %p, true, %other              =>  tt.load %p
//! tt.load %p, false, %other             =>  %other
//! tt.store %p, %v, true                 =>  tt.store %p, %v
//! tt.store %p, %v, false                =>
//! ```

use super::replace;
use crate::ops::access::AccessOp;
use crate::ops::arith_int::{ADDI, int_value};
use crate::ops::constant;
use crate::ops::memory::AddPtrOp;
use crate::types::elem;
use ir::{Builder, Module, Op, Value};
use smallvec::SmallVec;

/// Whether two offsets may be added before they are applied: the sum of 64 bits wraps as addresses do; a narrower one
/// must not overflow, which is known of constants only.
fn sum_is_safe(module: &Module, inner: AddPtrOp<'_>, outer: AddPtrOp<'_>) -> bool {
    let ty = module.ty(inner.offset());
    if ty != module.ty(outer.offset()) {
        return false;
    }
    let bits = elem(ty).as_int().expect("verified: an offset is a number of bits");
    if bits == 64 {
        return true;
    }
    match (int_value(module, inner.offset()), int_value(module, outer.offset())) {
        (Some(a), Some(b)) => a
            .checked_add(b)
            .is_some_and(|sum| sum == ir::scalar::sign_extend(bits, ir::scalar::truncate(bits, sum as u64))),
        _ => false,
    }
}

/// See the file.
pub(crate) fn combine_addptr(module: &mut Module, op: Op) -> bool {
    let outer = AddPtrOp::new(module, op);
    let Some(inner) = AddPtrOp::def(module, outer.ptr()) else { return false };
    if !sum_is_safe(module, inner, outer) {
        return false;
    }
    let (base, first, second) = (inner.ptr(), inner.offset(), outer.offset());
    let sum = Builder::before(module, op).build(&ADDI, &[first, second], &[]);
    module.set_operands(op, &[base, sum]);
    true
}

/// Whether a mask is a constant with equal elements, and which.
fn known_mask(module: &Module, mask: Option<Value>) -> Option<bool> {
    Some(constant::splat_bits(module.constant(mask?)?)? & 1 != 0)
}

/// See the file, of loads and stores. Without `other`, what is not loaded is 0, as in the interpreter.
pub(crate) fn simplify_mask(module: &mut Module, op: Op) -> bool {
    let access = AccessOp::new(module, op);
    let Some(holds) = known_mask(module, access.mask()) else { return false };
    if holds {
        let operands: SmallVec<[Value; 2]> =
            [Some(access.ptr()), access.value()].into_iter().flatten().collect();
        module.set_operands(op, &operands);
        return true;
    }
    let Some(ty) = access.result().map(|result| module.ty(result)) else {
        module.erase(op);
        return true;
    };
    let value = match access.other() {
        Some(other) => other,
        None if elem(ty).scalar_bits().is_some() => constant::build(&mut Builder::before(module, op), ty, 0),
        // There are no constant addresses.
        None => return false,
    };
    replace(module, op, value)
}
