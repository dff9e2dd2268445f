//! How many programs an SM holds at once, by the registers that loops with dots of warp groups take, and by shared
//! memory.

use super::context::Context;
use crate::Encoding;
use crate::ops::group_dot::{WARP_GROUP_DOT, WarpGroupDotOp};
use crate::ops::shared::AllocOp;
use crate::types::memdesc;
use ir::{Module, Op, Value};
use layout::Dim;
use rustc_hash::FxHashSet;
use ttir::ops::control::{FOR, ForOp, yielded};
use ttir::types::{elem, elem_bytes, is_tensor, shape};

/// Registers for addresses, fragments of operands and numbers of rows.
pub(super) const RESERVE: u64 = 16;

/// A ring of so many buffers or fewer does not hide what its copies take: other programs on the SM have to.
pub(super) const FEW_STAGES: usize = 2;
/// Registers beyond those of [`words_at_once`] that addresses of copies by lanes take, and what the assembler keeps
/// besides (attention forward of 64×32 and 128×32 blocks, d = 128: 117 to 148 registers in place of 108).
const BESIDES: u64 = 32;

/// Parts of an SM, each of which has registers for whole warps.
const SM_PARTS: u64 = 4;
/// Registers of a lane come in pieces of so many.
const REGISTER_PIECE: u64 = 8;

/// What the loops of a program leave of the registers of an SM.
pub(super) struct Residency {
    sm_registers: u64,
    lane_registers: u64,
    lanes: u64,
    warps: u64,
    /// Registers of a lane in the loop that takes most.
    most: u64,
}

impl Residency {
    pub(super) fn of(module: &Module, context: &Context) -> Residency {
        let loops = module.walk(module.top()).into_iter().filter(|&op| module.is(op, &FOR));
        Residency {
            sm_registers: u64::from(context.machine.sm_registers),
            lane_registers: u64::from(context.machine.lane_registers),
            lanes: context.lanes(),
            warps: u64::from(context.config.num_warps),
            most: loops.map(|op| loop_words(module, op)).max().unwrap_or(0),
        }
    }

    /// Whether an SM holds as many programs if a loop takes so many registers of a lane.
    pub(super) fn stays(&self, words: u64) -> bool {
        let programs = |words: u64| self.sm_registers / (self.lanes * words.max(1));
        programs(words.max(self.most)) >= programs(self.most)
    }

    /// Whether a lane has so many more registers for a loop with all that it holds, made operands among it, and an SM
    /// holds as many programs, and several. Addresses are not counted: not all of it is needed at the same time.
    pub(super) fn has_room(&self, module: &Module, op: Op, more: u64) -> bool {
        let dots = dots_of(module, op);
        let all =
            loop_words(module, op) - 2 * RESERVE + made_operand(module, op, &dots) + held(module, op, &dots);
        let is_several = self.sm_registers / (self.lanes * self.most.max(1)) > 1;
        is_several && all + more <= self.lane_registers && self.stays(loop_words(module, op) + more)
    }

    /// How many programs of a loop an SM holds, and how many where each has a warp more. Not said of loops that need
    /// nearly all registers of a lane: they may spill.
    pub(super) fn beside_a_warp(&self, module: &Module, op: Op) -> Option<[u64; 2]> {
        let words = words_at_once(module, op);
        (words + RESERVE <= self.lane_registers).then(|| self.programs(words))
    }

    /// The same of programs whose lanes have all registers that there are.
    pub(super) fn largest_beside_a_warp(&self) -> [u64; 2] {
        self.programs(self.lane_registers)
    }

    fn programs(&self, words: u64) -> [u64; 2] {
        let resident = self.resident_warps(words);
        [resident / self.warps, resident / (self.warps + 1)]
    }

    /// How many warps an SM holds whose lanes have so many registers.
    fn resident_warps(&self, words: u64) -> u64 {
        let of_warp = words.max(1).next_multiple_of(REGISTER_PIECE) * self.lanes / self.warps;
        self.sm_registers / SM_PARTS / of_warp * SM_PARTS
    }

    /// How many programs an SM holds that need so many registers, and how many that need `less` fewer.
    pub(super) fn programs_with_less(&self, words: u64, less: u64) -> [u64; 2] {
        [words, words.saturating_sub(less)]
            .map(|words| self.resident_warps((words + BESIDES).min(self.lane_registers)) / self.warps)
    }

    /// Whether an SM holds as many programs of a loop if it takes so many registers more, all counted exactly.
    pub(super) fn stays_with(&self, module: &Module, op: Op, more: u64) -> bool {
        let words = words_at_once(module, op) + BESIDES;
        self.resident_warps(words + more) / self.warps >= self.resident_warps(words) / self.warps
    }

    /// Whether an SM could hold two programs of a loop over several dots, where it holds one, if the assembler spilled
    /// a few registers: up to 84 bytes a lane were worth 1.1 to 1.5 times the speed (attention forward of 128×64
    /// blocks, d = 128, and of 128×128, d = 64, 8 warps, H200). Not if the sums take most of what each would have, or
    /// operands stay in registers: of these 140 bytes and more are spilled (0.6 to 0.9). Nor if another loop of the
    /// kernel needs more.
    pub(super) fn may_hold_two(&self, module: &Module, op: Op) -> bool {
        let each = self.sm_registers / (2 * self.lanes);
        let needed = words_at_once(module, op);
        let loops = module.walk(module.top()).into_iter().filter(|&op| module.is(op, &FOR));
        let most = loops.map(|op| words_at_once(module, op)).max().unwrap_or(needed);
        let carried = ForOp::new(module, op).carried();
        let sums = carried.iter().map(|&value| words(module, value)).sum::<u64>();
        let dots = dots_of(module, op);
        dots.len() > 1
            && self.resident_warps(needed) / self.warps == 1
            && each <= self.lane_registers
            && most <= each + each / 5
            && 2 * sums <= each + RESERVE
            && held(module, op, &dots) == 0
    }
}

/// Registers of the largest left operand that a loop makes.
pub(super) fn made_operand(module: &Module, op: Op, dots: &[Op]) -> u64 {
    let lefts = dots.iter().map(|&dot| WarpGroupDotOp::new(module, dot).a());
    lefts.filter(|&left| !module.is_outside(left, op)).map(|left| words(module, left)).max().unwrap_or(0)
}

/// Registers of left operands that stay in registers through a loop.
fn held(module: &Module, op: Op, dots: &[Op]) -> u64 {
    let lefts = dots.iter().map(|&dot| WarpGroupDotOp::new(module, dot).a());
    let all: FxHashSet<Value> = lefts.filter(|&left| module.is_outside(left, op)).collect();
    all.into_iter().map(|left| words(module, left)).sum()
}

/// The dots of warp groups in the body of a loop.
pub(super) fn dots_of(module: &Module, op: Op) -> Vec<Op> {
    let body = ForOp::new(module, op).body();
    module.ops(body).filter(|&inner| module.is(inner, &WARP_GROUP_DOT)).collect()
}

/// Registers of a lane for what a loop carries and for what its dots make anew, which may all be there at the same
/// time; and for the rest, which is 26 to 32 registers for blocks of 64×64 and 4 warps.
pub(super) fn loop_words(module: &Module, op: Op) -> u64 {
    let carried = ForOp::new(module, op).carried();
    let dots = dots_of(module, op);
    let sums = dots.iter().map(|&dot| WarpGroupDotOp::new(module, dot));
    let made = sums.filter(|dot| !carried.contains(&dot.c())).map(|dot| words(module, dot.d()));
    carried.iter().map(|&value| words(module, value)).sum::<u64>() + made.sum::<u64>() + 2 * RESERVE
}

/// Registers of a lane that a loop needs, more exactly: what is added to a carried sum takes its place, and the left
/// operand of a dot that goes on is still read while the next dot begins. 111 and 122 registers in place of 100 and 128
/// (attention forward and backward, 8 warps), 209 in place of 184 (forward, 4 warps).
fn words_at_once(module: &Module, op: Op) -> u64 {
    let of = ForOp::new(module, op);
    let (carried, yielded) = (of.carried(), yielded(module, of.body()));
    let dots = dots_of(module, op);
    let sums = dots.iter().map(|&dot| WarpGroupDotOp::new(module, dot));
    let made = sums.filter(|dot| !carried.contains(&dot.c()) && !yielded.contains(&dot.d()));
    let all = carried.iter().copied().chain(made.map(|dot| dot.d()));
    all.map(|value| words(module, value)).sum::<u64>() + made_operand(module, op, &dots) + RESERVE
}

/// Words of a lane for a block of floats; operands of dots are packed.
pub(super) fn words(module: &Module, value: Value) -> u64 {
    let ty = module.ty(value);
    let (Some(encoding), Some(float)) =
        (is_tensor(ty).then(|| Encoding::of(ty)).flatten(), elem(ty).as_float())
    else {
        return 0;
    };
    let registers = 1u64 << encoding.to_linear(shape(ty)).ins().bits(Dim::REGISTER);
    let bits = match encoding {
        Encoding::DotOp { .. } => u64::from(float.bits()),
        _ => u64::from(float.bits()).max(32),
    };
    (registers * bits).div_ceil(32)
}

/// Bytes of all buffers of a function, if no two share memory.
pub(super) fn buffer_bytes(module: &Module, function: Op) -> u64 {
    let buffers = module.walk(function).into_iter().filter_map(|op| AllocOp::of(module, op));
    buffers
        .filter_map(|alloc| memdesc(module.ty(alloc.result())))
        .map(|memory| memory.shape.iter().product::<i64>() as u64 * elem_bytes(memory.elem))
        .sum()
}
