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
use super::fit_registers::{RESERVE, words};
use super::insert_fences::is_filled_once;
use super::pipeline_loops::load_from_memory;
use crate::Encoding;
use crate::encoding::replace_encoding;
use crate::ops::group_dot::{WARP_GROUP_DOT, WarpGroupDotOp};
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
const ROWS: u32 = 64;

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let context = Context::of(module)?;
    let loops: Vec<Op> = module.walk(module.top()).into_iter().filter(|&op| module.is(op, &FOR)).collect();
    let loops: Vec<Loop> = loops.into_iter().filter_map(|op| Loop::of(module, op)).collect();
    let most = loops.iter().map(|one| one.words).max().unwrap_or(0);
    for one in loops {
        one.hold(module, &context, most);
    }
    Ok(())
}

/// A loop with dots of groups of warps.
struct Loop {
    op: Op,
    dots: Vec<Op>,
    /// Registers for what it carries.
    carried: u64,
    /// Registers that it takes in all.
    words: u64,
}

impl Loop {
    fn of(module: &Module, op: Op) -> Option<Loop> {
        let view = ForOp::new(module, op);
        let dots: Vec<Op> =
            module.ops(view.body()).filter(|&inner| module.is(inner, &WARP_GROUP_DOT)).collect();
        let carried = view.carried().iter().map(|&value| words(module, value)).sum();
        let words = carried + made(module, op, &dots) + 2 * RESERVE;
        (!dots.is_empty()).then_some(Loop { op, dots, carried, words })
    }

    /// Keeps left operands in registers, as long as an SM holds as many programs; the loops of the kernel take `most`
    /// registers without that. A loop whose sums take half of the registers has none to spare: what the rest needs at
    /// once is not counted that exactly.
    fn hold(self, module: &mut Module, context: &Context, most: u64) {
        let machine = context.machine;
        let lanes = u64::from(context.config.num_warps * context.config.threads_per_warp);
        let programs = |words: u64| u64::from(machine.sm_registers) / (lanes * words);
        if 2 * self.carried > u64::from(machine.lane_registers) {
            return;
        }
        let (op, mut taken) = (self.op, self.words);
        let mut held: FxHashMap<(Value, Type), Value> = FxHashMap::default();
        for dot in self.dots {
            let memory = WarpGroupDotOp::new(module, dot).a();
            let stays = module.is_outside(memory, op) && is_filled_once(module, memory);
            let Some(ty) = in_registers(module, dot).filter(|_| stays) else { continue };
            let value = match held.get(&(memory, ty)) {
                Some(&value) => value,
                None => {
                    let value = load_from_memory(&mut Builder::before(module, op), memory, ty);
                    let more = taken + words(module, value);
                    if more > u64::from(machine.lane_registers) || programs(more.max(most)) < programs(most) {
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
}

/// Registers of what dots make anew, which may be all at the same time, and of the largest operand among that.
fn made(module: &Module, op: Op, dots: &[Op]) -> u64 {
    let carried = ForOp::new(module, op).carried();
    let views = || dots.iter().map(|&dot| WarpGroupDotOp::new(module, dot));
    let sums = views().filter(|dot| !carried.contains(&dot.c())).map(|dot| words(module, dot.d()));
    let operands = views().map(|dot| dot.a()).filter(|&a| !module.is_outside(a, op));
    sums.sum::<u64>() + operands.map(|a| words(module, a)).max().unwrap_or(0)
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
