//! In which order programs of a grid of two or three axes follow each other.
//!
//! The device starts them along x first, and a long way along x every program reads other rows: what the programs that
//! run at a time read in all is larger than the L2 cache. Where tiles of rows lie along one axis and tiles of columns
//! along the other, programs are taken in groups of a few tiles along x instead, all of y in each:
//!
//! ```text
//! along x first              in groups of 2
//!  0  1  2  3                 0  1  6  7
//!  4  5  6  7          =>     2  3  8  9
//!  8  9 10 11                 4  5 10 11
//! ```
//!
//! It is the order of the third tutorial of Triton, which kernels write down themselves whose grid has one axis.

use super::map_parts::map_parts;
use ir::view::EnumAttr;
use ir::{Builder, Def, Module, Op, Traits, Type, Value};
use rustc_hash::FxHashSet;
use ttir::ops::arith_int::{ADDI, DIVSI, MINSI, MULI, REMSI, SUBI};
use ttir::ops::constant;
use ttir::ops::control::ForOp;
use ttir::ops::descriptor::DescriptorAccessOp;
use ttir::ops::func::FuncOp;
use ttir::ops::program::{Axis, GET_NUM_PROGRAMS, GET_PROGRAM_ID, ProgramIdOp};

/// Tiles along x of a group; even, so that the programs of a pair stay beside each other.
const GROUP: i64 = 8;

/// The programs of a launch.
pub(super) struct Grid {
    x: Value,
    y: Value,
    /// Of one plane.
    plane: Value,
    /// How many they are.
    pub(super) all: Value,
}

impl Grid {
    /// Of so many programs along each axis.
    pub(super) fn of(builder: &mut Builder<'_>, [x, y, z]: [Value; 3]) -> Grid {
        let plane = builder.build(&MULI, &[x, y], &[]);
        let all = builder.build(&MULI, &[plane, z], &[]);
        Grid { x, y, plane, all }
    }

    /// The position of a program that has so many in front of it, along each axis.
    pub(super) fn positions(&self, builder: &mut Builder<'_>, program: Value, in_groups: bool) -> [Value; 3] {
        let z = builder.build(&DIVSI, &[program, self.plane], &[]);
        let inside = builder.build(&REMSI, &[program, self.plane], &[]);
        if !in_groups {
            let x = builder.build(&REMSI, &[inside, self.x], &[]);
            let y = builder.build(&DIVSI, &[inside, self.x], &[]);
            return [x, y, z];
        }
        let group = constant::int(builder, Type::int(32), GROUP);
        let programs = builder.build(&MULI, &[self.y, group], &[]);
        let number = builder.build(&DIVSI, &[inside, programs], &[]);
        let first = builder.build(&MULI, &[number, group], &[]);
        let left = builder.build(&SUBI, &[self.x, first], &[]);
        let width = builder.build(&MINSI, &[left, group], &[]);
        let at = builder.build(&REMSI, &[inside, programs], &[]);
        let across = builder.build(&REMSI, &[at, width], &[]);
        let x = builder.build(&ADDI, &[first, across], &[]);
        let y = builder.build(&DIVSI, &[at, width], &[]);
        [x, y, z]
    }
}

/// The operations that ask for positions or numbers of programs along some axes.
pub(super) fn asks_along(module: &Module, of: Op, axes: &[Axis]) -> Vec<Op> {
    let asks = |&op: &Op| module.is(op, &GET_PROGRAM_ID) || module.is(op, &GET_NUM_PROGRAMS);
    let mut found: Vec<Op> = module.walk(of).into_iter().filter(asks).collect();
    found.retain(|&op| axes.contains(&ProgramIdOp::new(module, op).axis()));
    found
}

/// Puts values in the place of positions and numbers of programs, those of x first.
pub(super) fn replace(module: &mut Module, of: Op, positions: &[Value], counts: &[Value]) {
    for op in asks_along(module, of, &[Axis::X, Axis::Y, Axis::Z]) {
        let axis = ProgramIdOp::new(module, op).axis().number() as usize;
        let values = if module.is(op, &GET_PROGRAM_ID) { positions } else { counts };
        if let Some(&value) = values.get(axis) {
            let old = module.result(op, 0);
            module.replace_uses(old, value);
            module.erase(op);
        }
    }
}

/// Whether tiles of rows lie along one of x and y and tiles of columns along the other: one tensor is read at places
/// that depend on x alone, another on y alone, none on both.
pub(super) fn has_tiles(module: &Module, kernel: Op) -> bool {
    let inside = module.walk(kernel);
    let loads = inside.into_iter().filter_map(|op| DescriptorAccessOp::load(module, op));
    let places = loads.filter(|load| map_parts(module, load.desc()).is_some());
    let along: Option<Vec<[bool; 2]>> = places.map(|load| follows(module, load.indices())).collect();
    along.is_some_and(|along| {
        [[true, false], [false, true]].iter().all(|one| along.contains(one)) && !along.contains(&[true; 2])
    })
}

/// Whether scalars depend on the position along x, and along y; none where it is not known.
fn follows(module: &Module, scalars: &[Value]) -> Option<[bool; 2]> {
    let (mut found, mut seen) = ([false; 2], FxHashSet::default());
    let mut open = scalars.to_vec();
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        let op = match module.def(value) {
            Def::Result(op, _) => op,
            Def::Arg(block, at) => {
                let around = module.region_parent(module.block_region(block))?;
                open.extend(carried_from(module, around, at as usize)?);
                continue;
            }
        };
        if module.is(op, &GET_PROGRAM_ID) {
            match ProgramIdOp::new(module, op).axis() {
                Axis::X => found[0] = true,
                Axis::Y => found[1] = true,
                Axis::Z => {}
            }
        } else if module.has(op, Traits::PURE) {
            open.extend_from_slice(module.operands(op));
        } else {
            return None;
        }
    }
    Some(found)
}

/// What an argument of a block is made of: nothing, of a kernel; bounds and what is carried, of a loop.
fn carried_from(module: &Module, around: Op, at: usize) -> Option<Vec<Value>> {
    if FuncOp::of(module, around).is_some() {
        return Some(Vec::new());
    }
    let of = ForOp::of(module, around)?;
    Some(match at.checked_sub(1) {
        None => vec![of.lower(), of.upper(), of.step()],
        Some(number) => vec![of.inits()[number], of.yielded()[number]],
    })
}
