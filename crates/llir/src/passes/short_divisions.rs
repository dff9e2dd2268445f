//! Divisions of 64 bits are done in 32 where the numbers are short when the program runs.
//!
//! Input: `%q = sdiv i64 %x, %n` twice, of other dividends. Output:
//! ```text
//!   %short = …            the upper halves of all operands are zero
//!   br %short, fast, slow
//! fast:                   udiv i32 of the lower halves, widened
//! slow:                   sdiv i64
//! join(%q, %r):           what follows
//! ```
//! Assemblers for GPUs call a routine of some seventy instructions for a division of 64 bits, and make about twenty of
//! one of 32. Indices are short in most launches, and nothing in the code says so. LLVM asks for each division
//! (`BypassSlowDivision`); here one branch serves all divisions of a block that do not need each other's results, and
//! a quotient and a rest of the same numbers share the division. Left out: divisions by constants, which become
//! products.

use super::Context;
use super::code::Code;
use super::rewrite::Replacements;
use crate::function::{
    Block, BlockCall, BlockData, Function, Inst, InstData, IntCompare, Value, ValueData, ValueDef,
};
use crate::location::Location;
use crate::module::Module;
use crate::rows::Op;
use crate::types::Type;
use rustc_hash::FxHashSet;

/// A branch serves at most so many results: each is kept in two registers behind it.
const MOST_RESULTS: usize = 16;

pub(super) fn short_divisions(cx: &Context<'_>, function: &mut Function) {
    let mut replacements = Replacements::default();
    let mut place = 0;
    // What follows a branch stands behind it in the layout, and is looked at next.
    while let Some(&block) = function.layout.get(place) {
        if let Some(group) = Group::first_of(cx.module, function, block) {
            group.branch(function, block, place, &mut replacements);
            place += 2;
        }
        place += 1;
    }
    replacements.apply(function);
}

/// Divisions of a block that do not need each other's results.
struct Group {
    /// The divisions, in order.
    divisions: Vec<Inst>,
    /// The instructions in front of the branch, in order.
    before: Vec<Inst>,
    /// Those behind it.
    behind: Vec<Inst>,
}

impl Group {
    /// The first divisions of a block; what their operands need moves in front of them.
    fn first_of(module: &Module, function: &Function, block: Block) -> Option<Group> {
        let insts = &function.block(block).insts;
        let first = insts.iter().position(|inst| is_long(function, *inst))?;
        let mut divisions = Vec::new();
        // Results that are not known in front of the branch.
        let mut late: FxHashSet<Value> = FxHashSet::default();
        for &inst in &insts[first..] {
            let data = function.inst(inst);
            let known = data.operands.iter().all(|value| !late.contains(value));
            let divides = is_long(function, inst);
            if known && divides && divisions.len() < MOST_RESULTS {
                divisions.push(inst);
            }
            if !known || divides || !module.is_pure(data) {
                late.extend(function.result(inst));
            }
        }
        let mut wanted: FxHashSet<Value> =
            divisions.iter().flat_map(|inst| function.inst(*inst).operands.iter().copied()).collect();
        let (mut moved, mut behind) = (Vec::new(), Vec::new());
        for &inst in insts[first..].iter().rev() {
            match function.result(inst) {
                _ if divisions.contains(&inst) => {}
                Some(result) if wanted.contains(&result) => {
                    wanted.extend(function.inst(inst).operands.iter().copied());
                    moved.push(inst);
                }
                _ => behind.push(inst),
            }
        }
        let before = insts[..first].iter().copied().chain(moved.into_iter().rev()).collect();
        behind.reverse();
        Some(Group { divisions, before, behind })
    }

    /// Ends the block with a branch, and puts its three successors behind it in the layout.
    fn branch(self, function: &mut Function, block: Block, place: usize, replacements: &mut Replacements) {
        let location = function.location_of(self.divisions[0]);
        let mut front = Code { function, insts: self.before, location };
        let short = front.all_short(&self.divisions);
        let before = front.insts;
        let fast = results(function, &self.divisions, location, Type::I32);
        let slow = results(function, &self.divisions, location, Type::I64);
        let join = function.blocks.push(BlockData { params: Vec::new(), insts: self.behind });
        for (number, inst) in self.divisions.iter().enumerate() {
            let Some(result) = function.result(*inst) else { continue };
            let def = ValueDef::BlockParam(join, number as u32);
            let param = function.values.push(ValueData { ty: Type::I64, def });
            function.blocks[join].params.push(param);
            replacements.replace(result, param);
        }
        let [fast, slow] = [fast, slow].map(|(insts, args)| {
            let mut jump = InstData::new(Op::JUMP, Type::VOID, &[]);
            jump.targets.push(BlockCall { block: join, args: args.into() });
            let jump = function.make(jump, location);
            function
                .blocks
                .push(BlockData { params: Vec::new(), insts: insts.into_iter().chain([jump]).collect() })
        });
        let mut branch = InstData::new(Op::BRANCH, Type::VOID, &[short]);
        branch.targets = [fast, slow].map(|block| BlockCall { block, args: Default::default() }).into();
        let branch = function.make(branch, location);
        function.blocks[block].insts = before.into_iter().chain([branch]).collect();
        function.layout.splice(place + 1..place + 1, [fast, slow, join]);
    }
}

/// Whether an instruction divides numbers of 64 bits by one that is no constant.
fn is_long(function: &Function, inst: Inst) -> bool {
    let data = function.inst(inst);
    [Op::SDIV, Op::UDIV, Op::SREM, Op::UREM].contains(&data.op)
        && data.ty == Type::I64
        && function.constant(data.operands[1]).is_none()
}

/// The results of some divisions in numbers of a type, and the instructions that make them; a rest and a quotient of
/// the same numbers come from one division.
fn results(
    function: &mut Function,
    divisions: &[Inst],
    location: Option<Location>,
    ty: Type,
) -> (Vec<Inst>, Vec<Value>) {
    let mut code = Code { function, insts: Vec::new(), location };
    let mut known: Vec<(Op, [Value; 2], [Value; 2])> = Vec::new();
    let mut args = Vec::with_capacity(divisions.len());
    for inst in divisions {
        let data = code.function.inst(*inst);
        let (op, rest) = match data.op {
            Op::SREM => (Op::SDIV, true),
            Op::UREM => (Op::UDIV, true),
            op => (op, false),
        };
        let operands = [data.operands[0], data.operands[1]];
        let found = known.iter().find(|(other, of, _)| *other == op && *of == operands);
        let both = match found {
            Some((_, _, both)) => *both,
            None => {
                let both = code.divide(ty, op, operands);
                known.push((op, operands, both));
                both
            }
        };
        args.push(both[usize::from(rest)]);
    }
    (code.insts, args)
}

impl Code<'_> {
    /// Whether the upper halves of all operands are zero.
    fn all_short(&mut self, divisions: &[Inst]) -> Value {
        let mut seen: FxHashSet<Value> = FxHashSet::default();
        let operands = divisions.iter().flat_map(|inst| self.function.inst(*inst).operands.clone());
        let operands: Vec<Value> = operands.filter(|value| seen.insert(*value)).collect();
        let half = self.int(Type::I64, 32);
        let zero = self.int(Type::I32, 0);
        let mut all = zero;
        for value in operands {
            let upper = self.binary(Op::LSHR, Type::I64, value, half);
            let upper = self.push(InstData::new(Op::TRUNC, Type::I32, &[upper]));
            all = if all == zero { upper } else { self.binary(Op::OR, Type::I32, all, upper) };
        }
        self.compare(IntCompare::Eq, all, zero)
    }

    /// The quotient and the rest as numbers of 64 bits; those of 32 are of halves that are not negative.
    fn divide(&mut self, ty: Type, op: Op, operands: [Value; 2]) -> [Value; 2] {
        if ty == Type::I64 {
            return self.both(op, ty, operands);
        }
        let halves = operands.map(|value| self.push(InstData::new(Op::TRUNC, ty, &[value])));
        let both = self.both(Op::UDIV, ty, halves);
        both.map(|value| self.push(InstData::new(Op::ZEXT, Type::I64, &[value])))
    }

    /// A quotient and its rest; what is not used goes later.
    fn both(&mut self, op: Op, ty: Type, [x, by]: [Value; 2]) -> [Value; 2] {
        let quotient = self.binary(op, ty, x, by);
        let product = self.binary(Op::MUL, ty, quotient, by);
        [quotient, self.binary(Op::SUB, ty, x, product)]
    }
}
