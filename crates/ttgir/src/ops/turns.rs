//! Warp groups of a program that take turns.
//!
//! Each group of four warps waits for its turn and gives it to the next one, the last one to the first. Before anybody
//! waits, the last group gives the first its turn (`begin`); when all is over, all but the last give theirs away
//! (`end`): then nothing is left behind.

use ir::{Effect, Format, OpRow};

ir::enum_attr! {
    /// Who gives a turn away.
    Giving, GIVING "giving" {
        Begin "begin" = 0, Each "each" = 1, End "end" = 2,
    }
}

ir::op_view! {
    WaitTurnOp of WAIT_TURN {}
}

/// Waits for a turn.
pub static WAIT_TURN: OpRow = OpRow {
    name: "ttng.wait_turn",
    doc: "Each group of four warps waits until the one before has given its turn away.",
    effect: Effect::Atomic,
    format: Format::Text("attr-dict"),
    ..WaitTurnOp::ROW
};

ir::op_view! {
    GiveTurnOp of GIVE_TURN {
        attrs { giving: Giving }
    }
}

/// Gives a turn away.
pub static GIVE_TURN: OpRow = OpRow {
    name: "ttng.give_turn",
    doc: "Each group of four warps gives its turn to the next one; with `begin` the last group alone, with `end` all but the last.",
    effect: Effect::Atomic,
    format: Format::Text("$giving attr-dict"),
    ..GiveTurnOp::ROW
};
