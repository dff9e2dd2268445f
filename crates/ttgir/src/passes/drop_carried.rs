//! Carried values that serve nothing but their own next value go.
//!
//! ```text
//! scf.for … iter_args(%p = %a) {              scf.for … {
//!   %q = tt.addptr %p, %s              =>       …
//!   scf.yield %q                              }
//! }
//! ```
//!
//! Left out: loops whose condition is computed, where what looks unused may end the loop.

use ir::pass::PassRow;
use ir::passes::is_removable;
use ir::{Block, Def, Diagnostic, Module, Op, Traits, Value};
use rustc_hash::FxHashSet;
use ttir::ops::control::FOR;

/// Removes carried values that only serve themselves.
pub static DROP_CARRIED: PassRow =
    PassRow { name: "drop-carried", doc: "Removes carried values that only serve themselves.", run };

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let loops: Vec<Op> = module.walk(module.top()).into_iter().filter(|&op| module.is(op, &FOR)).collect();
    for op in loops.into_iter().rev() {
        drop_from(module, op);
    }
    Ok(())
}

fn drop_from(module: &mut Module, op: Op) {
    let body = module.entry_of(op);
    let live = live_numbers(module, op, body);
    let count = module.results(op).len();
    if live.len() == count {
        return;
    }
    let last = module.terminator(body);
    for number in (0..count).filter(|number| !live.contains(number)) {
        // The cycle is cut; what led to the next value is then unused.
        let arg = module.args(body)[number + 1];
        module.set_operand(last, number, arg);
    }
    for inner in module.ops(body).collect::<Vec<_>>().into_iter().rev() {
        let unused = module.results(inner).iter().all(|&value| module.is_unused(value));
        if unused && !module.results(inner).is_empty() && is_removable(module, inner) {
            module.erase(inner);
        }
    }
}

/// The numbers of the carried values that an effect, or the code behind the loop, depends on.
fn live_numbers(module: &Module, op: Op, body: Block) -> FxHashSet<usize> {
    let last = module.terminator(body);
    let mut live: FxHashSet<usize> =
        (0..module.results(op).len()).filter(|&at| !module.is_unused(module.result(op, at))).collect();
    let mut stack: Vec<Value> = live.iter().map(|&at| module.operand(last, at)).collect();
    for inner in module.ops(body).filter(|&inner| inner != last) {
        let kept = !is_removable(module, inner) || module.has(inner, Traits::TERMINATOR);
        if kept {
            uses_inside(module, inner, &mut stack);
        }
    }
    let mut seen: FxHashSet<Op> = FxHashSet::default();
    while let Some(value) = stack.pop() {
        match module.def(value) {
            Def::Arg(block, index) if block == body && index > 0 => {
                let number = index as usize - 1;
                if live.insert(number) {
                    stack.push(module.operand(last, number));
                }
            }
            Def::Result(def, _) if module.block_of(def) == Some(body) => {
                if seen.insert(def) {
                    uses_inside(module, def, &mut stack);
                }
            }
            Def::Arg(..) | Def::Result(..) => {}
        }
    }
    live
}

/// Everything that an operation and what stands in its regions use.
fn uses_inside(module: &Module, op: Op, stack: &mut Vec<Value>) {
    stack.extend(module.operands(op));
    if !module.regions(op).is_empty() {
        module.walk(op)[1..].iter().for_each(|&inner| stack.extend(module.operands(inner)));
    }
}
