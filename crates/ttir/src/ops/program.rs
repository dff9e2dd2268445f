//! Where a program stands in its grid, and what it may assume.

use crate::types::{BOOL, INT};
use ir::{Effect, Format, Infer, OpRow, Traits, Type};
use smallvec::smallvec;

/// Rows of this file.
pub(super) const ROWS: &[&OpRow] =
    &[&GET_PROGRAM_ID, &GET_NUM_PROGRAMS, &ASSUME, &GRID_DEPENDENCY_WAIT, &GRID_DEPENDENCY_LAUNCH_DEPENDENTS];

ir::enum_attr! {
    /// Axes of the grid.
    Axis, AXIS "axis" { X "x" = 0, Y "y" = 1, Z "z" = 2 }
}

ir::op_view! {
    ProgramIdOp of GET_PROGRAM_ID, GET_NUM_PROGRAMS {
        attrs { axis: Axis }
        results { result: One INT }
    }
}

const fn row(name: &'static str, doc: &'static str) -> OpRow {
    OpRow {
        name,
        doc,
        infer: Infer::Rule(|_| Ok(smallvec![Type::int(32)])),
        traits: Traits::PURE,
        format: Format::Text("$axis attr-dict : type($result)"),
        ..ProgramIdOp::ROW
    }
}

/// Position along an axis.
pub static GET_PROGRAM_ID: OpRow =
    row("tt.get_program_id", "The position of this program along an axis of the grid.");
/// Size of an axis.
pub static GET_NUM_PROGRAMS: OpRow =
    row("tt.get_num_programs", "The number of programs along an axis of the grid.");

ir::op_view! {
    AssumeOp of ASSUME {
        operands { cond: One BOOL }
    }
}

/// A promise of the program.
pub static ASSUME: OpRow = OpRow {
    name: "llvm.intr.assume",
    doc: "The program promises that this holds; what follows is undefined where it does not.",
    traits: Traits::MARKER,
    effect: Effect::Write,
    format: Format::Text("$cond attr-dict : type($cond)"),
    ..AssumeOp::ROW
};

/// Waits for the launch before.
pub static GRID_DEPENDENCY_WAIT: OpRow = OpRow {
    name: "tt.grid_dependency_wait",
    doc: "Waits until the launch before this one is over and what it wrote can be read, where launches overlap.",
    traits: Traits::MARKER,
    effect: Effect::Atomic,
    format: Format::Text("attr-dict"),
    ..OpRow::BASE
};

/// Lets the next launch begin.
pub static GRID_DEPENDENCY_LAUNCH_DEPENDENTS: OpRow = OpRow {
    name: "tt.grid_dependency_launch_dependents",
    doc: "Lets the launch behind this one begin as soon as every program has come here, where launches overlap.",
    traits: Traits::MARKER,
    effect: Effect::Write,
    format: Format::Text("attr-dict"),
    ..OpRow::BASE
};
