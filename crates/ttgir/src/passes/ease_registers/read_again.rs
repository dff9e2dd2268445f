//! Operands of dots that stay the same in a loop are read from shared memory by each iteration.
//!
//! ```text
//! %a = ttg.convert_layout %q                     %m = ttg.local_alloc %q
//! scf.for … {                             =>     scf.for … {
//!   %d = tt.dot %a, %b, %c                         %a = ttg.local_load %m
//! }                                                %d = tt.dot %a, %b, %c
//!                                                }
//! ```
//!
//! An operand of 16 rows and 512 columns of bf16 takes 128 registers of each lane where all warps need its rows, and
//! would take them throughout. Those of most registers go first, until the loop needs no more than there are. Where
//! each iteration waits for all that it copies, other programs on the SM are what hides that: operands go as well if
//! more programs share it then (decoding with heads of 128: 16 rows are 32 of 135 registers).

use super::Room;
use crate::Encoding;
use crate::ops::async_copy::{ASYNC_COPY, AsyncWaitOp};
use crate::ops::shared::{allocate_with, load_from};
use crate::passes::accelerate_dots::swizzled;
use crate::passes::context::Context;
use crate::passes::pressure::{Pressure, words};
use crate::passes::residency::Residency;
use crate::types::memdesc_type;
use ir::{Block, Builder, Module, Op, Traits, Value};
use ttir::ops::control::FOR;
use ttir::ops::forms::UnaryOp;
use ttir::types::{elem, elem_bytes, numel, shape};

/// Operands that take less than this part of the registers stay in them: reading them again takes time as well.
const PART: u64 = 3;

/// Lets the loops of a function that need more registers than `limit` read operands from shared memory.
pub(super) fn read_again(module: &mut Module, function: Op, limit: u64, room: &mut Room, context: &Context) {
    for around in module.walk(function).into_iter().filter(|&op| module.is(op, &FOR)).collect::<Vec<_>>() {
        let block = module.entry_of(around);
        let mut operands = operands(module, block, around);
        operands.sort_by_key(|&value| std::cmp::Reverse(words(module, value)));
        let waits = waits_for_all(module, block);
        for value in operands {
            let bytes = numel(module.ty(value)) as u64 * elem_bytes(elem(module.ty(value)));
            let own = words(module, value);
            let needed = Pressure::of(module, function).most_in(block);
            let is_short = PART * own > limit && needed > limit && room.take(bytes);
            let mut lets_more_in = || {
                let [with, without] = Residency::of(module, context).programs_with_less(needed, own);
                let is_more = without.min(room.programs(bytes)) > with.min(room.programs(0));
                waits && is_more && room.take(bytes)
            };
            if is_short || lets_more_in() {
                keep_in_memory(module, value);
            }
        }
    }
}

/// Whether an iteration copies blocks, and waits for all copies that are under way.
fn waits_for_all(module: &Module, body: Block) -> bool {
    let copies = module.ops(body).any(|op| module.is(op, &ASYNC_COPY));
    let mut waits = module.ops(body).filter_map(|op| AsyncWaitOp::of(module, op)).map(AsyncWaitOp::num);
    copies && waits.any(|num| num == 0)
}

/// What dots of a loop alone use, that is brought into their layout in front of it.
fn operands(module: &Module, block: Block, around: Op) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    for dot in module.ops(block).filter(|&op| module.has(op, Traits::MATMUL)) {
        for &value in module.operands(dot) {
            let is_operand = matches!(Encoding::of(module.ty(value)), Some(Encoding::DotOp { .. }));
            let is_converted = module.def_op(value).is_some_and(|op| module.has(op, Traits::RELAYOUT));
            let is_own = |&(user, _): &(Op, u32)| {
                module.block_of(user) == Some(block) && module.has(user, Traits::MATMUL)
            };
            if is_operand
                && is_converted
                && module.is_outside(value, around)
                && module.uses(value).iter().all(is_own)
                && !found.contains(&value)
            {
                found.push(value);
            }
        }
    }
    found
}

/// Puts an operand into shared memory, from which each of its users reads it.
fn keep_in_memory(module: &mut Module, value: Value) {
    let op = module.def_op(value).expect("an operand is converted");
    let source = UnaryOp::new(module, op).src();
    let (ty, source_ty) = (module.ty(value), module.ty(source));
    let encoding = Encoding::of(source_ty).expect("blocks have layouts");
    let shared = swizzled(shape(ty), elem_bytes(elem(ty)), &encoding.order(), encoding.cga());
    let memory = memdesc_type(shape(ty), elem(ty), &shared, false);
    let memory = allocate_with(&mut Builder::before(module, op), source, memory);
    for (user, index) in module.uses(value).to_vec() {
        let loaded = load_from(&mut Builder::before(module, user), memory, None, ty);
        module.set_operand(user, index as usize, loaded);
    }
    module.erase(op);
}
