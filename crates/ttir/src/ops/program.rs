//! Where a program stands in its grid, and what it may assume.

use crate::types::{BOOL, INT};
use ir::{AttrKind, AttrSpec, EnumRow, Format, Infer, OpRow, Traits, Type, ValueSpec, one};
use smallvec::smallvec;

/// Axes of the grid.
pub static AXIS: EnumRow = EnumRow { name: "axis", cases: &[("x", 0), ("y", 1), ("z", 2)] };

const ATTRS: &[AttrSpec] = &[AttrSpec::required("axis", AttrKind::Enum(&AXIS))];
const RESULTS: &[ValueSpec] = &[one("result", &INT)];

const fn row(name: &'static str, doc: &'static str) -> OpRow {
    OpRow {
        name,
        doc,
        attrs: ATTRS,
        results: RESULTS,
        infer: Infer::Rule(|_| Ok(smallvec![Type::int(32)])),
        traits: Traits::PURE,
        format: Format::Text("$axis attr-dict : type($result)"),
        ..OpRow::BASE
    }
}

/// Position along an axis.
pub static GET_PROGRAM_ID: OpRow =
    row("tt.get_program_id", "The position of this program along an axis of the grid.");
/// Size of an axis.
pub static GET_NUM_PROGRAMS: OpRow =
    row("tt.get_num_programs", "The number of programs along an axis of the grid.");

/// A promise of the program.
pub static ASSUME: OpRow = OpRow {
    name: "llvm.intr.assume",
    doc: "The program promises that this holds; what follows is undefined where it does not.",
    operands: &[one("cond", &BOOL)],
    traits: Traits::WRITES,
    format: Format::Text("$cond attr-dict : type($cond)"),
    ..OpRow::BASE
};
