//! Kernels of one loop over a dot become loops over the programs of their launch, so that the loads of a program
//! run ahead under the stores of the one before it.
//!
//! ```text
//! tt.func @f(…, %a.map) {                     tt.func @f(…, %programs: i32 {tt.programs}, %a.map) {
//!   %p = tt.get_program_id x                    %first = tt.get_program_id x ; %step = tt.get_num_programs x
//!   scf.for %k … { dot(load %a.map …) }   =>    scf.for %p = %first to %programs step %step {
//!   tt.store …                                    scf.for %k … { dot(load %a.map …) } ; tt.store …
//! }                                             } {tt.flatten}
//! ```
//!
//! A launch of it starts as many programs as the device runs at a time, and says in `%programs` how many there are; of
//! kernels that ask for other positions than along x, how many along each axis. The loop is then over all of them, in
//! the order of [`super::order`].
//! Programs of a launch are independent of each other, which is what `tt.flatten` promises: what one of them writes, no
//! other one reads. And each of them writes behind its loop alone, so that it reads nothing that it wrote itself.
//!
//! A kernel that could be such a loop says in `tt.persistence` what launches gain by it. Left out: kernels that do more
//! than load and store, that store in front of the loop or in it, that make descriptors themselves, or whose loop is as
//! long as the program's position says; loops over several dots, which lose (attention forward, d = 128: 497 TFLOP/s,
//! 377 on an H200); and kernels that add a block of memory to the result, which lose as well (4096³ in 128×256×64: 196
//! µs, 311).

use super::map_parts::map_parts;
use super::order::{self, Grid};
use crate::machine::Persistence;
use crate::passes::{Context, feeds_dot, is_dot};
use ir::pass::PassRow;
use ir::passes::LICM;
use ir::{
    Attr, Block, Builder, DeclaredKey, Def, Diagnostic, Module, Op, OpInit, Place, Traits, Type, Value,
};
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};
use ttir::boxes;
use ttir::ops::access::AccessOp;
use ttir::ops::control::{FLATTEN, FOR, ForOp, YIELD};
use ttir::ops::descriptor::DescriptorAccessOp;
use ttir::ops::dot::MatmulOp;
use ttir::ops::func::{FuncOp, kernels};
use ttir::ops::program::{ASSUME, Axis, GET_NUM_PROGRAMS, GET_PROGRAM_ID, ProgramIdOp};
use ttir::types::{is_tensor, numel};

/// Attribute of a kernel: what a launch must be that gains by a loop over its programs in any case, as
/// `ttir::boxes` writes it.
pub static PERSISTENCE: DeclaredKey =
    DeclaredKey::new("tt.persistence", "What a launch must be that gains by a loop over its programs.");

/// Attribute of a parameter: how many programs a launch has along x, or another axis.
pub static PROGRAMS: DeclaredKey =
    DeclaredKey::new("tt.programs", "The programs of the launch along an axis, which the kernel loops over.");

/// The longest loop over dots beside which what stands in front of it and behind it counts even where programs run
/// beside each other. What that is worth: `docs/notes/gpu.md`.
const MOST_ITERATIONS: i64 = 8;

/// What no launch is: the condition where a launch cannot tell how long the loop is.
const NEVER: &str = "0 | 0 in 1..1";

/// Kernels become loops over programs.
pub(crate) static PERSIST: PassRow = PassRow {
    name: "persist",
    doc: "Kernels of one loop over a dot become loops over the programs of their launch.",
    run,
};

/// What a launch of a kernel must be that gains by a loop over its programs; none where there can be no such loop.
pub fn persistence(module: &Module, kernel: Op) -> Option<&str> {
    module.extra_attr(kernel, PERSISTENCE.name).and_then(Attr::as_str)
}

/// The numbers of the parameters that say how many programs there are, where a kernel loops over them: along x, or
/// along every axis.
pub fn programs_params(module: &Module, entry: Block) -> Vec<usize> {
    let is_count =
        |at: &usize| module.arg_attrs(entry, *at).iter().any(|(key, _)| key.name() == PROGRAMS.name);
    (0..module.args(entry).len()).filter(is_count).collect()
}

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let context = Context::of(module)?;
    let persistence = context.machine.persistence;
    if persistence == Persistence::Never || context.config.num_ctas != 1 {
        return Ok(());
    }
    for kernel in kernels(module).map(|func| func.op).collect::<Vec<_>>() {
        let Some(gain) = gain(module, kernel) else { continue };
        if persistence == Persistence::Loop {
            loop_over_programs(module, kernel, context.machine.tile_groups);
            FuncOp::follow_arguments(module, kernel);
        } else {
            module.set_extra(kernel, PERSISTENCE.key(), Some(Attr::str(&gain)));
        }
    }
    if persistence == Persistence::Loop { (LICM.run)(module) } else { Ok(()) }
}

/// What a launch must be that gains by a loop, if the kernel can be one.
fn gain(module: &Module, kernel: Op) -> Option<String> {
    let entry = FuncOp::new(module, kernel).entry();
    let inside = module.walk(kernel);
    let dots = loop_over_dot(module, kernel, entry, &inside)?;
    let mut ops = inside.iter().filter(|&&op| op != kernel);
    let by_position = |op: &Op| module.is(*op, &GET_PROGRAM_ID);
    let is_store =
        |op: Op| AccessOp::store(module, op).is_some() || DescriptorAccessOp::store(module, op).is_some();
    let (early, _) = inside.split_at(inside.iter().position(|&op| op == dots)?);
    let stores_early = early.iter().copied().chain(module.walk(dots)).any(is_store);
    if stores_early || !ops.clone().any(by_position) || !ops.all(|&op| is_repeatable(module, op)) {
        return None;
    }
    if loads_beside(module, kernel, dots) {
        return None;
    }
    let few = boxes::few_iterations(module, kernel, dots, MOST_ITERATIONS);
    Some(few.map_or_else(|| NEVER.to_owned(), |guards| guards.to_string()))
}

/// Whether a program also loads a block as large as its dot's result, to add it, say. All lanes wait for that in each
/// tile, while nobody begins the next one's copies.
fn loads_beside(module: &Module, kernel: Op, dots: Op) -> bool {
    let dot = module.walk(dots).into_iter().find_map(|op| MatmulOp::of(module, op));
    let size = |value: Value| if is_tensor(module.ty(value)) { numel(module.ty(value)) } else { 1 };
    let loaded = |op: Op| {
        let by_pointers = AccessOp::load(module, op).and_then(AccessOp::result);
        by_pointers.or_else(|| Some(DescriptorAccessOp::load(module, op)?.block()))
    };
    let mut beside = module.walk(kernel).into_iter().filter(|&op| !module.is_inside(op, dots));
    dot.is_some_and(|dot| beside.any(|op| loaded(op).is_some_and(|block| size(block) >= size(dot.d()))))
}

/// The one loop of a kernel: over one dot whose operands bulk copies load, and as long in every program.
pub(super) fn loop_over_dot(module: &Module, kernel: Op, entry: Block, inside: &[Op]) -> Option<Op> {
    let mut loops = inside.iter().copied().filter(|&op| module.has(op, Traits::LOOP));
    let (dots, others) = (loops.next()?, loops.next());
    if others.is_some() || !module.is(dots, &FOR) || module.parent_op(dots) != Some(kernel) {
        return None;
    }
    let body = module.walk(dots);
    let is_passed = |desc: Value| matches!(module.def(desc), Def::Arg(block, _) if block == entry);
    let is_bulk = |op: Op| {
        DescriptorAccessOp::load(module, op)
            .is_some_and(|load| is_passed(load.desc()) && is_map(module, load.desc()))
    };
    let is_load =
        |op: Op| AccessOp::load(module, op).is_some() || DescriptorAccessOp::load(module, op).is_some();
    let mut loads = body.iter().copied().filter(|&op| is_load(op)).peekable();
    let is_whole = loads.peek().is_some() && loads.all(|op| is_bulk(op) && feeds_dot(module, None, op));
    let of = ForOp::new(module, dots);
    let is_alike = [of.lower(), of.upper(), of.step()].iter().all(|&bound| is_alike(module, bound));
    let count = body.iter().filter(|&&op| is_dot(module, op)).count();
    (is_whole && is_alike && count == 1).then_some(dots)
}

/// Whether a value that is computed outside of loops is the same in every program.
pub(super) fn is_alike(module: &Module, value: Value) -> bool {
    let (mut seen, mut stack) = (FxHashSet::default(), vec![value]);
    while let Some(value) = stack.pop() {
        let Def::Result(op, _) = module.def(value) else { continue };
        if module.is(op, &GET_PROGRAM_ID) || !module.has(op, Traits::PURE) {
            return false;
        }
        if seen.insert(op) {
            stack.extend_from_slice(module.operands(op));
        }
    }
    true
}

/// Whether a program may do this after another one, in the order in which they come.
pub(super) fn is_repeatable(module: &Module, op: Op) -> bool {
    let is_plain = |access: AccessOp<'_>| !access.is_atomic() && !access.volatile();
    let accesses = [AccessOp::load(module, op), AccessOp::store(module, op)];
    let by_descriptor = [DescriptorAccessOp::load(module, op), DescriptorAccessOp::store(module, op)];
    [Traits::PURE, Traits::REGION_EFFECTS, Traits::TERMINATOR].iter().any(|&kind| module.has(op, kind))
        || module.is(op, &ASSUME)
        || accesses.into_iter().flatten().any(is_plain)
        || by_descriptor.into_iter().flatten().any(|access| is_map(module, access.desc()))
}

/// Puts everything that a kernel does into a loop.
fn loop_over_programs(module: &mut Module, kernel: Op, tile_groups: bool) {
    let entry = FuncOp::new(module, kernel).entry();
    let own = module.args(entry).iter().take_while(|&&arg| !is_map(module, arg)).count();
    let ty = Type::int(32);
    let is_row = order::asks_along(module, kernel, &[Axis::Y, Axis::Z]).is_empty();
    let in_groups = tile_groups && !is_row && order::has_plane(module, kernel);
    let names: &[&str] = if is_row { &["programs"] } else { &["programs_x", "programs_y", "programs_z"] };
    let mut counts = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let count = module.insert_arg(entry, own + at, ty);
        module.set_name(count, name);
        module.set_arg_attr(entry, own + at, PROGRAMS.key(), Some(Attr::Unit));
        counts.push(count);
    }
    let last = module.terminator(entry);
    let ops: Vec<Op> = module.ops(entry).filter(|&op| op != last).collect();
    let mut builder = Builder { loc: module.loc(kernel), place: Place::Before(last), module };
    let grid = match counts[..] {
        [x, y, z] => Some(Grid::of(&mut builder, [x, y, z])),
        _ => None,
    };
    let programs = grid.as_ref().map_or(counts[0], |grid| grid.all);
    let [first, step] =
        [&GET_PROGRAM_ID, &GET_NUM_PROGRAMS].map(|row| builder.build(row, &[], &ProgramIdOp::attrs(Axis::X)));
    let init = OpInit {
        operands: smallvec![first, programs, step],
        results: SmallVec::new(),
        attrs: SmallVec::new(),
        regions: 1,
    };
    let tiles = builder.insert(&FOR, init);
    let body = builder.module.add_block(builder.module.region(tiles, 0));
    let counter = builder.module.add_arg(body, ty);
    builder.place = Place::End(body);
    let end = builder.insert(&YIELD, OpInit::default());
    builder.module.set_extra(tiles, FLATTEN.key(), Some(Attr::Unit));
    for op in ops {
        builder.module.move_before(end, op);
    }
    let first = builder.module.ops(body).next().expect("it ends with an operation");
    let mut builder = Builder::before(builder.module, first);
    let positions = match &grid {
        Some(grid) => grid.positions(&mut builder, counter, in_groups).to_vec(),
        None => vec![counter],
    };
    let asks = order::asks_along(builder.module, tiles, &[Axis::X, Axis::Y, Axis::Z]);
    order::replace(builder.module, &asks, &positions, &counts);
}

/// Whether a value is a descriptor that launches make.
fn is_map(module: &Module, value: Value) -> bool {
    map_parts(module, value).is_some()
}
