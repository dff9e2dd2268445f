//! In which order programs over a plane of tiles follow each other.
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
//! It is the order of the third tutorial of Triton.

use super::map_parts::map_parts;
use ir::view::EnumAttr;
use ir::{Builder, Def, Module, Op, Traits, Type, Value};
use rustc_hash::FxHashSet;
use ttir::ops::arith_int::{ADDI, DIVSI, MAXSI, MINSI, MULI, SUBI};
use ttir::ops::constant;
use ttir::ops::control::ForOp;
use ttir::ops::descriptor::DescriptorAccessOp;
use ttir::ops::func::FuncOp;
use ttir::ops::program::{Axis, GET_NUM_PROGRAMS, GET_PROGRAM_ID, ProgramIdOp};

/// Tiles along x of a group; even, so that the programs of a pair stay beside each other.
pub(super) const GROUP: i64 = 8;

/// The position along x and y of a program of a plane that has so many in front of it, in groups.
pub(super) fn in_groups(builder: &mut Builder<'_>, program: Value, [x, y]: [Value; 2]) -> [Value; 2] {
    let group = constant::int(builder, Type::int(32), GROUP);
    let programs = builder.build(&MULI, &[y, group], &[]);
    let [number, at] = divided(builder, program, programs);
    let first = builder.build(&MULI, &[number, group], &[]);
    let left = builder.build(&SUBI, &[x, first], &[]);
    let width = builder.build(&MINSI, &[left, group], &[]);
    let [y, across] = divided(builder, at, width);
    [builder.build(&ADDI, &[first, across], &[]), y]
}

/// How often a number has another in it, and what is left. A quotient takes long, so it is made once. By what is not
/// positive nothing is divided: it is so where the result is of no interest.
pub(super) fn divided(builder: &mut Builder<'_>, number: Value, by: Value) -> [Value; 2] {
    let one = constant::int(builder, Type::int(32), 1);
    let by = builder.build(&MAXSI, &[by, one], &[]);
    let quotient = builder.build(&DIVSI, &[number, by], &[]);
    let whole = builder.build(&MULI, &[quotient, by], &[]);
    [quotient, builder.build(&SUBI, &[number, whole], &[])]
}

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
    pub(super) fn positions(&self, builder: &mut Builder<'_>, program: Value, groups: bool) -> [Value; 3] {
        let [z, inside] = divided(builder, program, self.plane);
        if groups {
            let [x, y] = in_groups(builder, inside, [self.x, self.y]);
            return [x, y, z];
        }
        let [y, x] = divided(builder, inside, self.x);
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

/// Puts values in the place of what operations ask for: positions and numbers of programs, those of x first.
pub(super) fn replace(module: &mut Module, asks: &[Op], positions: &[Value], counts: &[Value]) {
    for &op in asks {
        let axis = ProgramIdOp::new(module, op).axis().number() as usize;
        let values = if module.is(op, &GET_PROGRAM_ID) { positions } else { counts };
        if let Some(&value) = values.get(axis) {
            let old = module.result(op, 0);
            module.replace_uses(old, value);
            module.erase(op);
        }
    }
}

/// Whether tiles of rows lie along one of x and y, and tiles of columns along the other.
pub(super) fn has_plane(module: &Module, kernel: Op) -> bool {
    has_tiles(module, kernel, |op| {
        let along = ProgramIdOp::of(module, op).filter(|_| module.is(op, &GET_PROGRAM_ID))?;
        [Axis::X, Axis::Y].iter().position(|&axis| axis == along.axis())
    })
}

/// Whether tiles of rows lie along one axis of a plane and tiles of columns along the other: one tensor is read at
/// places that depend on the first alone, another on the second alone, none on both. `axis` says which operations are
/// positions along which.
pub(super) fn has_tiles(module: &Module, kernel: Op, axis: impl Fn(Op) -> Option<usize>) -> bool {
    let inside = module.walk(kernel);
    let loads = inside.into_iter().filter_map(|op| DescriptorAccessOp::load(module, op));
    let places = loads.filter(|load| map_parts(module, load.desc()).is_some());
    let along: Option<Vec<[bool; 2]>> = places.map(|load| follows(module, load.indices(), &axis)).collect();
    along.is_some_and(|along| {
        [[true, false], [false, true]].iter().all(|one| along.contains(one)) && !along.contains(&[true; 2])
    })
}

/// Whether scalars depend on the position along each axis of a plane; none where it is not known.
fn follows(module: &Module, scalars: &[Value], axis: &impl Fn(Op) -> Option<usize>) -> Option<[bool; 2]> {
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
        if let Some(axis) = axis(op) {
            found[axis] = true;
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
