//! Decides the layout of every block, as one decision with a cost.
//!
//! ```text
//! // addresses run along dimension 0          lanes run along dimension 0, four elements each
//! %x = tt.load %p : tensor<128x64x…, #a>      %x = tt.load %p : tensor<128x64x…, #b>
//! %y = arith.addf %x, %x : …, #a         =>   %y = arith.addf %x, %x : …, #b
//! tt.store %q, %y : …, #a                     %z = ttg.convert_layout %y : …, #b -> …, #c
//!                                             tt.store %q, %z : …, #c
//! ```
//!
//! Accesses to memory prefer to run along their addresses, dots are pinned to the layouts of their instruction, and
//! every other operation takes what makes the whole cheapest: bytes through shared memory or between lanes, sectors of
//! global memory, work done twice, each times how often it runs. What is cheap to compute (constants, ranges,
//! addresses) is computed in every layout in which it is wanted, and never converted. Conversions that are there
//! already are taken out first, so that the pass may run again after other passes have pinned more.
//!
//! Left out: values that a `while` or an `if` carries are not computed twice.

pub(crate) mod bases;
mod branches;
pub(crate) mod cost;
mod demand;
pub(crate) mod derive;
mod graph;
mod layouts;
mod memory;
mod neighbours;
mod pins;
mod rematerialize;
mod rewrite;
mod scan_cost;
mod search;
mod ties;
mod together;

pub(crate) use derive::blocked;
pub(crate) use memory::access as memory_access;

use super::context::Context;
use crate::ops::convert::ConvertLayoutOp;
use crate::{Config, Encoding};
use graph::{Graph, Subject};
use ir::pass::PassRow;
use ir::{Diagnostic, LayoutRule, Module, Op, Traits, Type, Value};
use layouts::Layouts;
use rematerialize::Rematerializable;
use rewrite::Assignment;
use ttir::ops::dot::MatmulOp;
use ttir::ops::func::{FuncOp, RETURN};
use ttir::types::{is_tensor, shape};

/// Decides the layout of every block.
pub static ASSIGN_LAYOUTS: PassRow = PassRow {
    name: "assign-layouts",
    doc: "Decides which lane holds which element of each block, so that accesses and conversions cost least.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    if module.is_settled(ASSIGN_LAYOUTS.name) {
        return Ok(());
    }
    let context = Context::of(module)?;
    let mut stays = true;
    for function in module.ops(module.body()).collect::<Vec<_>>() {
        if module.has(function, Traits::SYMBOL) {
            stays &= assign(module, function, context);
        }
    }
    if stays {
        module.settle(ASSIGN_LAYOUTS.name);
    }
    Ok(())
}

/// Whether all operations are those that were there, and none is a dot: then the same would be decided again, since
/// nothing but the layouts of dots counts of those that are there.
fn assign(module: &mut Module, function: Op, context: Context) -> bool {
    let mut layouts = Layouts::new(context.config);
    let pins = pins::collect(module, function, &mut layouts);
    take_out_conversions(module, function);
    let plan = decide(module, function, &pins, &mut layouts, u64::from(context.machine.vector_bytes));
    let is_same = rewrite::rewrite(module, function, &mut layouts, &plan);
    branches::convert_in_branches(module, function);
    follow_borders(module, function);
    is_same && !module.walk(function).into_iter().any(|op| MatmulOp::of(module, op).is_some())
}

/// The type of a function is that of what it takes and returns.
fn follow_borders(module: &mut Module, function: Op) {
    let Some(func) = FuncOp::of(module, function) else { return };
    let types = |values: &[Value]| values.iter().map(|&value| module.ty(value)).collect::<Vec<_>>();
    let last = module.operands(module.terminator(func.entry()));
    let ty = Type::function(types(func.params()), types(last));
    if ty != func.ty() {
        FuncOp::set_ty(module, function, ty);
    }
}

/// Whether values are cheap enough to be computed anew in any layout.
pub(crate) fn is_computed(module: &Module, function: Op, values: &[Value]) -> bool {
    let cheap = rematerializable_in(module, function);
    values.iter().all(|&value| !is_tensor(module.ty(value)) || cheap.contains(value))
}

/// Gives loads other layouts. What they read at and where is computed in these too, as far as [`is_computed`] says that
/// it can; what they give is converted for its users.
pub(crate) fn move_loads(module: &mut Module, function: Op, config: Config, moves: &[(Op, Encoding)]) {
    let cheap = rematerializable_in(module, function).values();
    let mut layouts = Layouts::new(config);
    let (mut homes, mut wants) = (Vec::new(), Vec::new());
    for op in module.walk(function) {
        let blocks = module.regions(op).iter().flat_map(|&region| module.blocks(region));
        let args = blocks.flat_map(|&block| module.args(block));
        let moved = moves.iter().find(|(load, _)| *load == op).map(|(_, encoding)| layouts.number(encoding));
        for &value in args.chain(module.results(op)) {
            let own = Encoding::of(module.ty(value)).map(|encoding| layouts.number(encoding));
            homes.extend(own.map(|own| (value, moved.unwrap_or(own))));
        }
        let Some(layout) = moved else { continue };
        let operands = module.operands(op).iter().enumerate();
        let blocks = operands.filter(|(_, value)| is_tensor(module.ty(**value)));
        wants.extend(blocks.map(|(slot, _)| ((op, slot as u32), Some(layout))));
        // Conversions convert from any layout; other users get what they had.
        let loaded = module.result(op, 0);
        let own = Encoding::of(module.ty(loaded)).map(|encoding| layouts.number(encoding));
        let users =
            module.uses(loaded).iter().filter(|(user, _)| ConvertLayoutOp::of(module, *user).is_none());
        wants.extend(users.map(|&place| (place, own)));
    }
    rewrite::rewrite(module, function, &mut layouts, &Assignment { homes, wants, cheap });
}

fn rematerializable_in(module: &Module, function: Op) -> Rematerializable {
    let mut cheap = Rematerializable::default();
    for &region in module.regions(function) {
        cheap.visit(module, module.entry(region));
    }
    cheap
}

fn take_out_conversions(module: &mut Module, function: Op) {
    for op in module.walk(function) {
        if let Some(conversion) = ConvertLayoutOp::of(module, op) {
            let (from, to) = (conversion.result(), conversion.src());
            module.replace_uses(from, to);
            module.erase(op);
        }
    }
}

fn decide(
    module: &Module,
    function: Op,
    pins: &pins::Pins,
    layouts: &mut Layouts,
    widest: u64,
) -> Assignment {
    let axis = ttir::axis::analyze(module, function);
    let graph =
        Graph::new(module, function, pins, layouts, &mut |op| memory::access(module, op, &axis, widest));
    let choice = search::search(&graph, layouts);
    let mut homes = Vec::new();
    let mut wants = Vec::new();
    let params = module.args(module.entry_of(function)).iter().filter(|&&param| is_tensor(module.ty(param)));
    homes.extend(params.map(|&param| (param, layouts.default_for(shape(module.ty(param))))));
    let mut note = |layouts: &mut Layouts, value| {
        if let Some(node) = graph.maker(value) {
            homes.push((value, graph.made(layouts, node, value, choice[node.index()])));
        }
    };
    for op in module.walk(function) {
        for &region in module.regions(op) {
            for &block in module.blocks(region) {
                module.args(block).iter().for_each(|&value| note(layouts, value));
            }
        }
        module.results(op).iter().for_each(|&value| note(layouts, value));
        for (slot, &value) in module.operands(op).iter().enumerate() {
            if module.is(op, &RETURN) {
                let pinned = pins.operands.get(&(op, slot as u32)).copied();
                wants.extend(pinned.map(|layout| ((op, slot as u32), Some(layout))));
                continue;
            }
            let Some(taker) = graph.taker(op, slot).filter(|_| is_tensor(module.ty(value))) else { continue };
            let own = choice[taker.index()];
            let want = match graph.nodes[taker.index()].subject {
                Subject::Carried => Some(own),
                Subject::Op(op) => graph.wanted_by(layouts, op, slot as u32, own),
            };
            let want = match leader(module, op, &graph) {
                Some(leader) if leader != value || graph.maker(value).is_none() => {
                    Some(match graph.maker(leader) {
                        Some(node) => graph.made(layouts, node, leader, choice[node.index()]),
                        None => layouts.default_for(shape(module.ty(leader))),
                    })
                }
                _ => want,
            };
            wants.push(((op, slot as u32), want));
        }
    }
    Assignment { homes, wants, cheap: graph.cheap.values() }
}

/// Of several operands that lie anywhere but alike (the numbers of a histogram and their mask), the one that all
/// follow: what is computed in any layout follows the others.
fn leader(module: &Module, op: Op, graph: &Graph<'_>) -> Option<Value> {
    if module.row(op).layout != LayoutRule::Apart {
        return None;
    }
    let operands = module.operands(op);
    if operands.len() < 2 {
        return None;
    }
    operands.iter().copied().find(|&value| graph.maker(value).is_some()).or(operands.last().copied())
}
