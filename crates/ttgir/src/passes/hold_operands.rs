//! Left operands that stay the same, of dots with few columns, stay in registers where there is room.
//!
//! ```text
//! %m = ttg.local_alloc %x                            %m = ttg.local_alloc %x
//! scf.for … {                                        %a = ttg.local_load %m
//!   %d = ttng.warp_group_dot %m, %n, %c       =>     scf.for … {
//! }                                                    %d = ttng.warp_group_dot %a, %n, %c
//!                                                    }
//! ```
//!
//! An instruction of 64 rows and `n` columns multiplies for `n / 2` cycles and reads `64 + n` vectors of 32
//! bytes, of which shared memory gives four in a cycle: with fewer columns than rows, reading takes longer than
//! multiplying. With the left operand in registers it reads `n` of them.

use super::context::Context;
use super::insert_fences::is_filled_once;
use super::residency::{FEW_STAGES, Residency, dots_of, loop_words, made_operand, words};
use crate::Encoding;
use crate::encoding::replace_encoding;
use crate::ops::group_dot::WarpGroupDotOp;
use crate::ops::shared::load_from;
use crate::types::memdesc;
use ir::pass::PassRow;
use ir::{Builder, Diagnostic, Module, Op, Type, Value};
use rustc_hash::FxHashMap;
use ttir::ops::control::{FOR, ForOp};
use ttir::types::{elem_bits, tensor};

/// Left operands that stay the same, of dots with few columns, stay in registers.
pub static HOLD_OPERANDS: PassRow = PassRow {
    name: "hold-operands",
    doc: "Left operands that stay the same, of dots with few columns, stay in registers where there is room.",
    run,
};

/// Rows of an instruction of a group of warps.
pub(super) const ROWS: u32 = 64;

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let context = Context::of(module)?;
    let residency = Residency::of(module, &context);
    for op in module.walk(module.top()) {
        if module.is(op, &FOR) {
            hold(module, op, u64::from(context.machine.lane_registers), &residency);
        }
    }
    Ok(())
}

/// Keeps left operands of the dots of a loop in registers, as long as an SM holds as many programs; which is counted
/// more exactly where they wait for copies (attention forward with two stages, 64×32, d = 128: two programs in place of
/// four, and 0.81 of the speed; with three stages it gains 1.1). A loop whose sums take half of the registers has none
/// to spare: what the rest needs at once is not counted that exactly.
fn hold(module: &mut Module, op: Op, registers: u64, residency: &Residency) {
    let carried: u64 = ForOp::new(module, op).carried().iter().map(|&value| words(module, value)).sum();
    if 2 * carried > registers {
        return;
    }
    let dots = dots_of(module, op);
    let base = loop_words(module, op) + made_operand(module, op, &dots);
    let mut taken = base;
    // Other programs hide what a short ring does not.
    let is_short = ForOp::new(module, op).stages() as usize == FEW_STAGES;
    let mut held: FxHashMap<(Value, Type), Value> = FxHashMap::default();
    for dot in dots {
        let memory = WarpGroupDotOp::new(module, dot).a();
        let stays = module.is_outside(memory, op) && is_filled_once(module, memory);
        let Some(ty) = in_registers(module, dot).filter(|_| stays) else { continue };
        let value = match held.get(&(memory, ty)) {
            Some(&value) => value,
            None => {
                let value = load_from(&mut Builder::before(module, op), memory, None, ty);
                let more = taken + words(module, value);
                let words = more - base;
                let leaves_programs =
                    residency.stays(more) && (!is_short || residency.stays_with(module, op, words));
                if more > registers || !leaves_programs {
                    module.erase(module.def_op(value).expect("a load gives it"));
                    continue;
                }
                taken = more;
                held.insert((memory, ty), value);
                value
            }
        };
        let dot = WarpGroupDotOp::new(module, dot);
        let operands: Vec<Value> = [value, dot.b(), dot.c()].into_iter().chain(dot.use_c()).collect();
        let dot = dot.op;
        module.set_operands(dot, &operands);
    }
}

/// The type of the left operand in registers, of a dot with fewer columns than rows that reads it from memory.
fn in_registers(module: &Module, dot: Op) -> Option<Type> {
    let dot = WarpGroupDotOp::new(module, dot);
    let memory = memdesc(module.ty(dot.a()))?;
    let parent = Encoding::of(module.ty(dot.d()))?;
    let Encoding::Mma { instr_shape, .. } = parent else { return None };
    let k_width = (32 / elem_bits(memory.elem)).max(1);
    let is_narrow = instr_shape[1] < ROWS;
    let encoding = Encoding::DotOp { op_idx: 0, parent: Box::new(parent.clone()), k_width };
    is_narrow.then(|| replace_encoding(tensor(memory.shape, memory.elem), &encoding))
}
