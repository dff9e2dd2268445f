//! Loop-invariant code motion: pure operations whose operands come from outside a loop move in front of it.
//!
//! ```text
//! scf.for … {                            %a = arith.muli %n, %c : i32
//!   %a = arith.muli %n, %c : i32    =>   scf.for … {
//!   use(%a)                                use(%a)
//! }                                      }
//! ```
//!
//! An operation that may be undefined where the loop would not have run it (a division) moves only if its divisor is a
//! constant other than zero and minus one.

use super::canonicalize::constant_value;
use crate::diagnostic::Diagnostic;
use crate::entity::{Op, Region};
use crate::module::Module;
use crate::module::traits::Traits;
use crate::pass::PassRow;
use crate::scalar::sign_extend;
use crate::types::attr::DeclaredKey;

/// Moves invariant operations out of loops.
pub static LICM: PassRow =
    PassRow { name: "licm", doc: "Moves loop-invariant operations in front of loops.", run };

/// Attribute of a loop from which nothing may be moved.
pub static DISABLE_LICM: DeclaredKey =
    DeclaredKey::new("tt.disable_licm", "Invariant operations stay in the loop.");

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let loops =
        module.walk(module.top()).into_iter().filter(|&op| module.has(op, Traits::LOOP)).collect::<Vec<_>>();
    // Inner loops first, so that what leaves them can go on leaving the outer ones.
    for op in loops.into_iter().rev() {
        if module.extra_attr(op, DISABLE_LICM.name).is_none() {
            for index in 0..module.regions(op).len() {
                hoist_from(module, op, module.region(op, index));
            }
        }
    }
    Ok(())
}

fn hoist_from(module: &mut Module, around: Op, region: Region) {
    for block in module.blocks(region).to_vec() {
        for op in module.ops(block).collect::<Vec<_>>() {
            if is_movable(module, op)
                && module.operands(op).iter().all(|&value| module.is_outside(value, around))
            {
                module.move_before(around, op);
            }
        }
    }
}

fn is_movable(module: &Module, op: Op) -> bool {
    let traits = module.row(op).traits;
    if !traits.has(Traits::PURE) || traits.has(Traits::TERMINATOR) || !module.regions(op).is_empty() {
        return false;
    }
    !traits.has(Traits::NO_SPECULATION) || has_safe_divisor(module, op)
}

fn has_safe_divisor(module: &Module, op: Op) -> bool {
    let Some(divisor) = module.divisor(op) else { return false };
    let Some(bits) = constant_value(module, divisor) else { return false };
    let Some(width) = module.registry().rules().elem(module.ty(divisor)).scalar_bits() else { return false };
    !matches!(sign_extend(width, bits), 0 | -1)
}
