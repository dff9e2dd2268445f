//! Loops with dots that need more registers than a lane has keep less in them.
//!
//! ```text
//! %q = ttg.convert_layout %x                  %m = ttg.local_alloc %x
//! scf.for … {                           =>    scf.for … {
//!   tt.dot %q, …                                %q = ttg.local_load %m ; tt.dot %q, …
//! }                                           }
//! ```
//!
//! First operands that stay the same move to shared memory, where there is room for them, the largest first. If that is
//! not enough, the loop is not pipelined, as what is loaded ahead stays in registers as well; operands of its later
//! dots go to shared memory at its beginning ([`early`]), and its body makes everything else as late as it can
//! ([`late`]). Registers are counted from the layouts: what the loop carries, operands that stay the same, the largest
//! block that dots make of others, what is loaded. Left out: what is not a float, which is mostly addresses that share
//! registers.

mod early;
mod late;

pub(super) use late::{compute_late, produce_late};

use super::pipeline_loops::{feeds_dot, is_dot, memory_between};
use crate::Machine;
use crate::module::operands_stay;
use crate::ops::convert::ConvertLayoutOp;
use crate::ops::shared::{allocate_with, load_from};
use crate::passes::context::Context;
use crate::passes::residency::{RESERVE, words};
use crate::types::memdesc_type;
use ir::pass::PassRow;
use ir::{Attr, Builder, Def, Diagnostic, Module, Op, Traits, Type, Value};
use rustc_hash::FxHashMap;
use ttir::ops::access::AccessOp;
use ttir::ops::control::{FOR, ForOp, NUM_STAGES};
use ttir::ops::dot::MatmulOp;
use ttir::ops::forms::UnaryOp;
use ttir::types::{elem, elem_bytes, numel, shape};

/// Loops with dots that need more registers than a lane has keep less in them.
pub static FIT_REGISTERS: PassRow = PassRow {
    name: "fit-registers",
    doc: "Loops with dots that need more registers than a lane has keep less in them.",
    run,
};

/// What leaves a block as it is, laid out otherwise or of another precision.
const MOVES: Traits = Traits::PERMUTES.and(Traits::FLOAT_CAST);

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let context = Context::of(module)?;
    let mut memories = FxHashMap::default();
    for op in module.walk(module.top()) {
        let has_dots = |module: &Module| module.walk(op).iter().any(|&inner| is_dot(module, inner));
        if module.is(op, &FOR) && has_dots(module) {
            fit(module, op, &context, &mut memories);
        }
    }
    Ok(())
}

fn fit(module: &mut Module, op: Op, context: &Context, memories: &mut FxHashMap<Value, Value>) {
    let machine = context.machine;
    let limit = u64::from(machine.lane_registers).saturating_sub(RESERVE);
    let mut need = Need::of(module, op, context);
    need.fixed.sort_by_key(|&(value, words)| (std::cmp::Reverse(words), value));
    let fits = need.shared_bytes <= u64::from(machine.shared_bytes);
    let mut room = u64::from(machine.shared_bytes).saturating_sub(need.shared_bytes);
    for (value, words) in std::mem::take(&mut need.fixed) {
        let bytes = bytes(module.ty(value));
        let is_over = need.carried + need.made + need.ahead + need.held(words) > limit;
        if is_over
            && bytes <= room
            && !operands_stay(module)
            && to_memory(module, op, value, machine, memories)
        {
            room -= bytes;
        } else {
            need.carried += words;
        }
        need.left -= words;
    }
    if need.carried + need.made + need.loaded > limit {
        if need.ahead > 0 {
            module.set_extra(op, NUM_STAGES.key(), Some(Attr::int(1, Type::int(32))));
        }
        if fits && !operands_stay(module) {
            early::store_early(module, op, machine);
        }
        late::produce_late(module, ForOp::new(module, op).body());
        // What only the code behind the loop needs.
        if let Some(around) = module.block_of(op) {
            late::produce_late(module, around);
        }
    }
}

/// The registers of a lane, in words of 32 bits.
struct Need {
    /// What the loop carries, and operands that stay in registers.
    carried: u64,
    /// Operands of dots that stay the same.
    fixed: Vec<(Value, u64)>,
    /// All of them that are not decided about.
    left: u64,
    /// The largest block that a dot makes or takes and that is not carried.
    made: u64,
    /// What is loaded.
    loaded: u64,
    /// That, where it is loaded ahead.
    ahead: u64,
    /// Bytes of shared memory of what is loaded.
    shared_bytes: u64,
}

impl Need {
    fn of(module: &Module, op: Op, context: &Context) -> Need {
        let of = ForOp::new(module, op);
        let mut need = Need {
            carried: of.carried().iter().map(|&value| words(module, value)).sum(),
            fixed: Vec::new(),
            left: 0,
            made: 0,
            loaded: 0,
            ahead: 0,
            shared_bytes: 0,
        };
        let lanes = context.lanes();
        let stages = of.stages();
        for inner in module.walk(op) {
            if let Some(dot) = MatmulOp::of(module, inner) {
                for value in [dot.a(), dot.b()] {
                    need.operand(module, op, value);
                }
                if !of.carried().contains(&dot.c()) {
                    need.made = need.made.max(words(module, dot.d()));
                }
            } else if let Some(value) = AccessOp::load(module, inner).and_then(AccessOp::result)
                && feeds_dot(module, None, inner)
            {
                let bytes = bytes(module.ty(value));
                need.shared_bytes += bytes;
                need.loaded += bytes.div_ceil(4 * lanes);
            }
        }
        need.ahead = if stages >= 2 { need.loaded } else { 0 };
        need
    }

    fn operand(&mut self, module: &Module, op: Op, value: Value) {
        let inside = match module.def(value) {
            Def::Arg(block, _) => module.region_parent(module.block_region(block)),
            Def::Result(def, _) => Some(def),
        };
        let is_inside = inside.is_some_and(|def| def == op || module.is_inside(def, op));
        let words = words(module, value);
        if !is_inside {
            if self.fixed.iter().all(|&(known, _)| known != value) {
                self.fixed.push((value, words));
                self.left += words;
            }
        } else if !is_loaded(module, value) {
            self.made = self.made.max(words);
        }
    }

    /// Registers of operands that stay the same if one of them, of so many words, stays with those not decided about.
    fn held(&self, words: u64) -> u64 {
        self.left.max(words)
    }
}

/// Whether an operand is what a load gave, laid out otherwise: it is read from shared memory part by part.
fn is_loaded(module: &Module, value: Value) -> bool {
    let mut value = value;
    while let Some(op) = module.def_op(value) {
        if AccessOp::load(module, op).is_some() {
            return true;
        }
        if !module.row(op).traits.has_any(MOVES) {
            return false;
        }
        value = UnaryOp::new(module, op).src();
    }
    false
}

fn bytes(ty: Type) -> u64 {
    numel(ty) as u64 * elem_bytes(elem(ty))
}

/// Whether an operation reads memory and does nothing else.
fn only_reads(module: &Module, op: Op) -> bool {
    let row = module.row(op);
    let volatile = AccessOp::load(module, op).is_some_and(AccessOp::volatile);
    row.reads() && !row.writes() && !volatile && module.regions(op).is_empty()
}

/// Whether an operation, or one in its regions, may write memory.
fn writes(module: &Module, op: Op) -> bool {
    let acts = |&inner: &Op| module.row(inner).writes() || module.has(inner, Traits::CALL);
    module.walk(op).iter().any(acts)
}

/// Lets dots of a loop read an operand from shared memory; whether that is possible.
fn to_memory(
    module: &mut Module,
    op: Op,
    value: Value,
    machine: &Machine,
    memories: &mut FxHashMap<Value, Value>,
) -> bool {
    let Some(conversion) = ConvertLayoutOp::def(module, value) else { return false };
    let (from, ty, at) = (conversion.src(), module.ty(value), conversion.op);
    let memory = match memories.get(&value) {
        Some(&memory) => memory,
        None => {
            let Some(encoding) = memory_between(module.ty(from), ty, machine) else { return false };
            let memory = memdesc_type(shape(ty), elem(ty), &encoding, false);
            let memory = allocate_with(&mut Builder::before(module, at), from, memory);
            memories.insert(value, memory);
            memory
        }
    };
    for (user, slot) in module.uses(value).to_vec() {
        if module.is_inside(user, op) {
            let loaded = load_from(&mut Builder::before(module, user), memory, None, ty);
            module.set_operand(user, slot as usize, loaded);
        }
    }
    true
}
