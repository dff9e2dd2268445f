//! Printing and asserting while a kernel runs.

use crate::passes::patterns;
use crate::types::{BOOL_LIKE, VALUE_LIKE, shape};
use ir::view::{Ints, Str};
use ir::{Effect, Format, OpRow};

/// Rows of this file.
pub(super) const ROWS: &[&OpRow] = &[&PRINT, &ASSERT];

ir::op_view! {
    PrintOp of PRINT {
        operands { args: Variadic VALUE_LIKE }
        attrs { prefix: Str, hex: bool, is_signed "isSigned": Ints, sizes / set_sizes: Option<Ints> }
    }
}

/// Print.
pub static PRINT: OpRow = OpRow {
    name: "tt.print",
    doc: "Prints a prefix and every element of the operands with the position of the program and of the element. `sizes` \
          are those of all operands, one after the other, where blocks are larger than what is printed of them.",
    effect: Effect::Write,
    format: Format::Text("$prefix attr-dict (: $args : type($args))?"),
    ..PrintOp::ROW
};

impl<'m> PrintOp<'m> {
    /// The sizes of what is printed of an operand.
    pub fn printed_shape(self, index: usize) -> &'m [i64] {
        let shapes = self.args().iter().map(|&arg| shape(self.module.ty(arg)));
        let first = shapes.clone().take(index).map(<[i64]>::len).sum::<usize>();
        let own = shapes.clone().nth(index).expect("an operand of this number");
        match self.sizes() {
            None => own,
            Some(sizes) => &sizes[first..first + own.len()],
        }
    }
}

ir::op_view! {
    AssertOp of ASSERT {
        operands { condition: One BOOL_LIKE }
        attrs { message: Str }
    }
}

/// Assert.
pub static ASSERT: OpRow = OpRow {
    name: "tt.assert",
    doc: "Stops the kernel with a message where the condition does not hold.",
    effect: Effect::Write,
    format: Format::Text("$condition, $message attr-dict : type($condition)"),
    patterns: &[patterns::drop_repeated_assert],
    ..AssertOp::ROW
};
