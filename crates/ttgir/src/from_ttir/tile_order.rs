//! Programs over a plane of tiles are taken in groups of tiles that read the same ([`super::order`]), where they are no
//! loops over programs that have that order already: those of grids of two or three axes, and those of one that take
//! tiles line by line, `p // n` and `p % n`, and ask for nothing else of their position.
//!
//! Assumed: programs do nothing but load and store, and none reads what another one writes. Done behind all that looks
//! at positions of programs. Left out: kernels that have an order of their own, and those that count together.

use super::order::{GROUP, asks_along, divided, has_plane, has_tiles, in_groups, replace};
use super::persist::{is_repeatable, programs_params};
use crate::passes::Context;
use ir::pass::PassRow;
use ir::passes::LICM;
use ir::{Builder, Diagnostic, Module, Op, Type, Value};
use ttir::ops::arith_cast::EXTSI;
use ttir::ops::arith_int::{ADDI, ANDI, DIVSI, MULI, REMSI};
use ttir::ops::compare::{CMPI, CmpIOp, CmpIPredicate, SELECT};
use ttir::ops::constant;
use ttir::ops::control::ForOp;
use ttir::ops::forms::BinaryOp;
use ttir::ops::func::{FuncOp, kernels};
use ttir::ops::program::{Axis, GET_NUM_PROGRAMS, GET_PROGRAM_ID, ProgramIdOp};

/// Programs over a plane of tiles are taken in groups.
pub(crate) static TILE_ORDER: PassRow = PassRow {
    name: "tile-order",
    doc: "Programs over a plane of tiles are taken in groups of tiles that read the same.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let context = Context::of(module)?;
    if !context.machine.tile_groups || context.config.num_ctas != 1 {
        return Ok(());
    }
    let mut is_changed = false;
    for kernel in kernels(module).map(|func| func.op).collect::<Vec<_>>() {
        let mut inside = module.walk(kernel).into_iter().filter(|&op| op != kernel);
        if inside.all(|op| is_repeatable(module, op)) {
            is_changed |= order_plane(module, kernel) || order_row(module, kernel);
        }
    }
    // What the programs of a loop have in common is computed in front of it.
    if is_changed { (LICM.run)(module) } else { Ok(()) }
}

/// Takes the programs of a grid of two or three axes in groups; a loop over them has that order already.
fn order_plane(module: &mut Module, kernel: Op) -> bool {
    let entry = FuncOp::new(module, kernel).entry();
    if !programs_params(module, entry).is_empty() || !has_plane(module, kernel) {
        return false;
    }
    let first = module.ops(entry).next().expect("it ends with an operation");
    let asks = asks_along(module, kernel, &[Axis::X, Axis::Y, Axis::Z]);
    let mut builder = Builder::before(module, first);
    let mut along = |row, axis: Axis| builder.build(row, &[], &ProgramIdOp::attrs(axis));
    let [x, y] = [Axis::X, Axis::Y].map(|axis| along(&GET_PROGRAM_ID, axis));
    let counts = [Axis::X, Axis::Y].map(|axis| along(&GET_NUM_PROGRAMS, axis));
    let above = builder.build(&MULI, &[y, counts[0]], &[]);
    let program = builder.build(&ADDI, &[above, x], &[]);
    let ordered = in_groups(&mut builder, program, counts);
    let is_countable = is_countable(&mut builder, counts);
    let positions = [[ordered[0], x], [ordered[1], y]]
        .map(|[other, own]| builder.build(&SELECT, &[is_countable, other, own], &[]));
    replace(module, &asks, &positions, &counts);
    true
}

/// Takes the programs of a row that stands for a plane, line by line, in groups: those that divide their position by
/// the length of a line, and ask for nothing else of it.
fn order_row(module: &mut Module, kernel: Op) -> bool {
    let Some((position, programs)) = row(module, kernel) else { return false };
    let users: Vec<Op> = module.uses(position).iter().map(|&(user, _)| user).collect();
    let line = |op: Op| {
        let divides = [&DIVSI, &REMSI].iter().any(|row| module.is(op, row));
        let of = divides.then(|| BinaryOp::new(module, op))?;
        (of.lhs() == position && of.rhs() != position).then(|| of.rhs())
    };
    let Some(first) = module.walk(kernel).into_iter().find(|op| users.contains(op)) else { return false };
    let Some(length) = line(first) else { return false };
    let is_alike = |&op: &Op| line(op) == Some(length) && module.block_of(op) == module.block_of(first);
    let of_plane = |op: Op| users.contains(&op).then(|| usize::from(module.is(op, &DIVSI)));
    if !users.iter().all(is_alike) || !has_tiles(module, kernel, of_plane) {
        return false;
    }
    let mut builder = Builder::before(module, first);
    let of_launch =
        |builder: &mut Builder<'_>| builder.build(&GET_NUM_PROGRAMS, &[], &ProgramIdOp::attrs(Axis::X));
    let programs = programs.unwrap_or_else(|| of_launch(&mut builder));
    let lines = builder.build(&DIVSI, &[programs, length], &[]);
    let whole = builder.build(&MULI, &[lines, length], &[]);
    let has_lines = builder.build(&CMPI, &[whole, programs], &CmpIOp::attrs(CmpIPredicate::Eq));
    let group = constant::int(&mut builder, Type::int(32), GROUP);
    // Shorter lines are groups as they are.
    let is_long = builder.build(&CMPI, &[length, group], &CmpIOp::attrs(CmpIPredicate::Sgt));
    let is_plane = builder.build(&ANDI, &[has_lines, is_long], &[]);
    let [line, at] = divided(&mut builder, position, length);
    let ordered = in_groups(&mut builder, position, [length, lines]);
    let positions = [[ordered[0], at], [ordered[1], line]]
        .map(|[other, own]| builder.build(&SELECT, &[is_plane, other, own], &[]));
    for op in users {
        let value = positions[usize::from(module.is(op, &DIVSI))];
        let old = module.result(op, 0);
        module.replace_uses(old, value);
        module.erase(op);
    }
    true
}

/// The position of a program along x, where it asks for no other axis, and how many there are, in a loop over them.
fn row(module: &Module, kernel: Op) -> Option<(Value, Option<Value>)> {
    let entry = FuncOp::new(module, kernel).entry();
    if let &[at] = &programs_params(module, entry)[..] {
        let programs = module.args(entry)[at];
        let &[(around, _)] = module.uses(programs) else { return None };
        let of = ForOp::of(module, around).filter(|of| of.upper() == programs)?;
        return Some((of.counter(), Some(programs)));
    }
    let asks = asks_along(module, kernel, &[Axis::X, Axis::Y, Axis::Z]);
    let &[id] = &asks[..] else { return None };
    let is_along_x = module.is(id, &GET_PROGRAM_ID) && ProgramIdOp::new(module, id).axis() == Axis::X;
    is_along_x.then(|| (module.result(id, 0), None))
}

/// Whether all programs of a plane can be counted in 32 bits.
fn is_countable(builder: &mut Builder<'_>, counts: [Value; 2]) -> Value {
    let wide = Type::int(64);
    let counts = counts.map(|count| builder.build_as(&EXTSI, &[count], &[], wide));
    let all = builder.build(&MULI, &counts, &[]);
    let most = constant::int(builder, wide, i32::MAX.into());
    builder.build(&CMPI, &[all, most], &CmpIOp::attrs(CmpIPredicate::Sle))
}
