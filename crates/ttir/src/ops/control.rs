//! Structured control flow: loops and conditions whose regions yield values.

use super::control_text::{self as text, Rows};
use crate::passes::patterns;
use crate::types::{BOOL, INT};
use ir::{ANY, Attr, Block, DeclaredKey, Format, Infer, Module, Op, OpRow, Traits, Type, Value};

/// Rows of this file.
pub(super) const ROWS: &[&OpRow] = &[&FOR, &IF, &WHILE, &CONDITION, &YIELD];

/// How many iterations of a loop are in flight.
pub static NUM_STAGES: DeclaredKey =
    DeclaredKey::new("tt.num_stages", "Stages of software pipelining of this loop.");
/// How often a loop is unrolled.
pub static UNROLL: DeclaredKey = DeclaredKey::new("tt.loop_unroll_factor", "How often the body is repeated.");
/// Whether nested loops become one.
pub static FLATTEN: DeclaredKey = DeclaredKey::new("tt.flatten", "Fuse this loop with the one around it.");
/// Whether warps take different roles.
pub static WARP_SPECIALIZE: DeclaredKey =
    DeclaredKey::new("tt.warp_specialize", "Warps may take different roles in this loop.");
/// Whether an accumulator may have several buffers.
pub static DISALLOW_ACC_MULTI_BUFFER: DeclaredKey =
    DeclaredKey::new("tt.disallow_acc_multi_buffer", "An accumulator has one buffer only.");
/// Whether invariant operations stay in the loop.
pub static DISABLE_LICM: DeclaredKey =
    DeclaredKey::new("tt.disable_licm", "Invariant operations stay in the loop.");

ir::op_view! {
    ForOp of FOR {
        operands { lower: One INT, upper: One INT, step: One INT, inits: Variadic ANY }
        results { results: Variadic ANY }
    }
}

/// Counted loop. Region arguments: the counter, then one for each carried value.
pub static FOR: OpRow = OpRow {
    name: "scf.for",
    doc: "Counts from `lower` up to, without, `upper` in steps of `step` (positive, signed); carries values.",
    infer: Infer::Rule(|args| {
        Ok(args.operands[ForOp::NUM_BOUNDS..].iter().map(|&value| args.module.ty(value)).collect())
    }),
    regions: Some(1),
    traits: Traits::REGION_EFFECTS.and(Traits::LOOP),
    format: Format::Custom {
        print: text::print_for,
        parse: |parser| text::parse_for(parser, &Rows { own: &FOR, end: &YIELD }),
    },
    verify: Some(|module, op| {
        let of = ForOp::new(module, op);
        let bound = module.ty(of.lower());
        if [of.upper(), of.step()].iter().any(|&value| module.ty(value) != bound) {
            return Err("bounds and step must have the same type".into());
        }
        let inits: Vec<Type> = types(module, of.inits());
        let args = types(module, module.args(of.body()));
        if args.first() != Some(&bound) || args[1..] != inits[..] {
            return Err(format!("the body takes {args:?}, given {bound} and {inits:?}"));
        }
        if types(module, of.results()) != inits {
            return Err("results and initial values differ in type".into());
        }
        yields(module, op, 0, &inits)
    }),
    patterns: &[
        patterns::skip_empty_loop,
        patterns::inline_single_iteration,
        patterns::forward_invariant_values,
        patterns::drop_unneeded_values,
    ],
    ..ForOp::ROW
};

ir::op_view! {
    IfOp of IF {
        operands { condition: One BOOL }
        results { results: Variadic ANY }
    }
}

/// Condition. Two regions; the second may be without a block when there are no results.
pub static IF: OpRow = OpRow {
    name: "scf.if",
    doc: "Runs one of two regions and yields its values.",
    infer: Infer::Explicit,
    regions: Some(2),
    traits: Traits::REGION_EFFECTS,
    format: Format::Custom {
        print: text::print_if,
        parse: |parser| text::parse_if(parser, &Rows { own: &IF, end: &YIELD }),
    },
    verify: Some(|module, op| {
        let results = types(module, module.results(op));
        yields(module, op, 0, &results)?;
        if IfOp::new(module, op).else_block().is_none() {
            return if results.is_empty() {
                Ok(())
            } else {
                Err("an `if` with results needs an `else`".into())
            };
        }
        yields(module, op, 1, &results)
    }),
    patterns: &[patterns::fold_if, patterns::sink_from_branches, patterns::drop_unused_results],
    ..IfOp::ROW
};

ir::op_view! {
    WhileOp of WHILE {
        operands { inits: Variadic ANY }
        results { results: Variadic ANY }
    }
}

/// Loop with a condition. The first region takes the carried values and ends in [`CONDITION`]; the second takes what
/// that passes on and yields the next carried values.
pub static WHILE: OpRow = OpRow {
    name: "scf.while",
    doc: "Repeats: runs the first region; if its condition holds, runs the second with what it passes on.",
    infer: Infer::Explicit,
    regions: Some(2),
    traits: Traits::REGION_EFFECTS.and(Traits::LOOP),
    format: Format::Custom {
        print: text::print_while,
        parse: |parser| text::parse_while(parser, &Rows { own: &WHILE, end: &YIELD }),
    },
    verify: Some(|module, op| {
        let inits = types(module, WhileOp::new(module, op).inits());
        let before = WhileOp::new(module, op).before();
        let Some(&after) = module.blocks(module.region(op, 1)).first() else {
            return Err("the second region has no block".into());
        };
        if types(module, module.args(before)) != inits {
            return Err("the first region does not take the initial values".into());
        }
        let results = types(module, module.results(op));
        if types(module, module.args(after)) != results {
            return Err("the second region does not take the values that the first passes on".into());
        }
        match module.last_op(before) {
            Some(last)
                if ConditionOp::of(module, last)
                    .is_some_and(|last| types(module, last.args()) == results) =>
            {
                yields(module, op, 1, &inits)
            }
            _ => Err("the first region must end in scf.condition with values of the result types".into()),
        }
    }),
    ..WhileOp::ROW
};

ir::op_view! {
    ConditionOp of CONDITION {
        operands { condition: One BOOL, args: Variadic ANY }
    }
}

/// Ends the first region of [`WHILE`].
pub static CONDITION: OpRow = OpRow {
    name: "scf.condition",
    doc: "Ends the first region of a `while`: whether to go on, and the values to go on with or to end with.",
    traits: Traits::TERMINATOR.and(Traits::PURE),
    format: Format::Custom {
        print: text::print_condition,
        parse: |parser| text::parse_condition(parser, &CONDITION),
    },
    ..ConditionOp::ROW
};

ir::op_view! {
    YieldOp of YIELD {
        operands { results: Variadic ANY }
    }
}

/// Ends a region with values.
pub static YIELD: OpRow = OpRow {
    name: "scf.yield",
    doc: "Ends a region with the values it yields.",
    traits: Traits::TERMINATOR.and(Traits::PURE),
    format: Format::Text("attr-dict ($results : type($results))?"),
    ..YieldOp::ROW
};

/// The values that a block ends with: what its [`YIELD`], or whatever else ends it, takes.
pub fn yielded(module: &Module, block: Block) -> &[Value] {
    module.operands(module.terminator(block))
}

impl<'m> ForOp<'m> {
    /// Operands in front of the initial values; a carried value is operand `NUM_BOUNDS + n` and block argument `1 + n`.
    pub const NUM_BOUNDS: usize = 3;

    /// Whether another loop counts alike.
    pub fn same_bounds(self, other: ForOp<'_>) -> bool {
        [self.lower(), self.upper(), self.step()] == [other.lower(), other.upper(), other.step()]
    }

    /// How many iterations are in flight, as far as the loop names a number ([`NUM_STAGES`]): 1 where it names none, or
    /// none that is positive. Then nothing of it is pipelined.
    pub fn stages(self) -> u32 {
        let named = self.module.extra_attr(self.op, NUM_STAGES.name).and_then(Attr::as_int);
        named.and_then(|stages| u32::try_from(stages).ok()).map_or(1, |stages| stages.max(1))
    }

    /// The block that is repeated.
    pub fn body(self) -> Block {
        self.module.entry_of(self.op)
    }

    /// What counts.
    pub fn counter(self) -> Value {
        self.module.args(self.body())[0]
    }

    /// The carried values, in the body.
    pub fn carried(self) -> &'m [Value] {
        &self.module.args(self.body())[1..]
    }

    /// What ends the body.
    pub fn terminator(self) -> Op {
        self.module.terminator(self.body())
    }

    /// The carried values of the next iteration, in the body.
    pub fn yielded(self) -> &'m [Value] {
        yielded(self.module, self.body())
    }
}

impl<'m> IfOp<'m> {
    /// What runs where the condition holds.
    pub fn then_block(self) -> Block {
        self.module.entry_of(self.op)
    }

    /// What runs where it does not hold.
    pub fn else_block(self) -> Option<Block> {
        self.module.blocks(self.module.region(self.op, 1)).first().copied()
    }

    /// Both blocks, as far as they are there.
    pub fn blocks(self) -> impl Iterator<Item = Block> + 'm {
        std::iter::once(self.then_block()).chain(self.else_block())
    }
}

impl<'m> WhileOp<'m> {
    /// The block that computes the condition from the carried values.
    pub fn before(self) -> Block {
        self.module.entry_of(self.op)
    }

    /// The block that is run where the condition holds.
    pub fn after(self) -> Block {
        self.module.entry(self.module.region(self.op, 1))
    }

    /// What ends the first block.
    pub fn condition(self) -> ConditionOp<'m> {
        let last = self.module.terminator(self.before());
        ConditionOp::new(self.module, last)
    }

    /// The carried values of the next iteration.
    pub fn yielded(self) -> &'m [Value] {
        yielded(self.module, self.after())
    }
}

fn types(module: &Module, values: &[Value]) -> Vec<Type> {
    values.iter().map(|&value| module.ty(value)).collect()
}

fn yields(module: &Module, op: Op, region: usize, expected: &[Type]) -> Result<(), String> {
    let Some(&block) = module.blocks(module.region(op, region)).first() else {
        return Err("a region has no block".into());
    };
    match module.last_op(block) {
        Some(last) if module.is(last, &YIELD) && types(module, module.operands(last)) == expected => Ok(()),
        Some(last) if module.is(last, &YIELD) => {
            Err(format!("a region yields {:?}, expected {expected:?}", types(module, module.operands(last))))
        }
        _ => Err("a region must end in scf.yield".into()),
    }
}
