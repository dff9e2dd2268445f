//! Control flow: jumps, and loops and conditions that nest.
//!
//! The nested forms come in pairs (`begin_for` … `end_for`), so that a lowering that owns the builder can use them
//! without closures; `for_loop` is the same with one.

use super::FunctionBuilder;
use crate::function::{Block, BlockCall, InstData, IntCompare, Payload, Value};
use crate::rows::Op;
use crate::types::Type;
use smallvec::SmallVec;

/// Values a construct hands on.
pub type Values = SmallVec<[Value; 4]>;

/// A counting loop whose body is being filled.
#[derive(Debug)]
#[must_use = "a loop is finished by `end_for`"]
pub struct ForLoop {
    /// The counter.
    pub iv: Value,
    /// What the loop carries, as seen in the body.
    pub carried: Values,
    before: Block,
    body: Block,
    exit: Block,
    end: Value,
    step: Value,
}

/// A condition whose branches are being filled.
#[derive(Debug)]
#[must_use = "a condition is finished by `end_if`"]
pub struct If {
    before: Block,
    otherwise: Block,
    merge: Block,
    in_else: bool,
    merge_has_params: bool,
}

/// A loop with a condition at its head.
#[derive(Debug)]
#[must_use = "a loop is finished by `end_while`"]
pub struct While {
    /// What the loop carries, as seen in the head; the body sees it too.
    pub carried: Values,
    head: Block,
    exit: Block,
}

impl FunctionBuilder<'_> {
    /// Goes to a block.
    pub fn br(&mut self, block: Block, args: &[Value]) {
        let mut data = InstData::new(Op::JUMP, Type::VOID, &[]);
        data.targets.push(goal(block, args));
        self.emit_void(data);
    }

    /// Goes to one of two blocks. The two may not be one block with different arguments.
    pub fn cond_br(&mut self, condition: Value, then: (Block, &[Value]), otherwise: (Block, &[Value])) {
        self.cond_br_with(condition, then, otherwise, Payload::None);
    }

    /// The same for a condition that nearly always holds.
    pub fn cond_br_likely(
        &mut self,
        condition: Value,
        then: (Block, &[Value]),
        otherwise: (Block, &[Value]),
    ) {
        self.cond_br_with(condition, then, otherwise, Payload::Weights(2000, 1));
    }

    fn cond_br_with(
        &mut self,
        condition: Value,
        then: (Block, &[Value]),
        otherwise: (Block, &[Value]),
        payload: Payload,
    ) {
        match self.as_int(condition) {
            Some(0) => self.br(otherwise.0, otherwise.1),
            Some(_) => self.br(then.0, then.1),
            None => {
                let mut data = InstData::new(Op::BRANCH, Type::VOID, &[condition]).with(payload);
                data.targets.push(goal(then.0, then.1));
                data.targets.push(goal(otherwise.0, otherwise.1));
                self.emit_void(data);
            }
        }
    }

    /// Goes to the block of the case that equals the value, else to the default.
    pub fn switch(&mut self, value: Value, default: Block, cases: &[(i64, Block)]) {
        let width = self.ty(value).lane_bits();
        let bits = |case: i64| crate::constant::mask(i128::from(case) as u128, width);
        let numbers = cases.iter().map(|(case, _)| bits(*case)).collect();
        let mut data = InstData::new(Op::SWITCH, Type::VOID, &[value]).with(Payload::Cases(numbers));
        data.targets.push(goal(default, &[]));
        data.targets.extend(cases.iter().map(|(_, block)| goal(*block, &[])));
        self.emit_void(data);
    }

    /// Returns.
    pub fn ret(&mut self, value: Option<Value>) {
        let operands: SmallVec<[Value; 1]> = value.into_iter().collect();
        self.emit_void(InstData::new(Op::RETURN, Type::VOID, &operands));
    }

    /// Says that this place is never reached.
    pub fn unreachable(&mut self) {
        self.emit_void(InstData::new(Op::UNREACHABLE, Type::VOID, &[]));
    }

    /// Starts `for iv in start..end` by `step` (> 0, signed; `end + step` must not overflow) that carries values.
    pub fn begin_for(&mut self, start: Value, end: Value, step: Value, inits: &[Value]) -> ForLoop {
        let (before, body, exit) = (self.current(), self.create_block(), self.create_block());
        self.set_dominator(body, before);
        self.set_dominator(exit, before);
        let iv = self.add_block_param(body, self.ty(start));
        let carried = self.params_like(body, inits);
        self.params_like(exit, inits);
        let mut first: Values = SmallVec::from_slice(&[start]);
        first.extend_from_slice(inits);
        let enters = self.icmp(IntCompare::Slt, start, end);
        self.cond_br(enters, (body, &first), (exit, inits));
        self.switch_to(body);
        ForLoop { iv, carried, before, body, exit, end, step }
    }

    /// Ends the loop body, which hands these values to its next iteration; answers the values after the loop.
    pub fn end_for(&mut self, for_loop: ForLoop, yields: &[Value]) -> Values {
        let ForLoop { iv, before, body, exit, end, step, .. } = for_loop;
        if !self.is_terminated() {
            let next = self.add_nsw(iv, step);
            let again = self.icmp(IntCompare::Slt, next, end);
            let mut args: Values = SmallVec::from_slice(&[next]);
            args.extend_from_slice(yields);
            self.cond_br(again, (body, &args), (exit, yields));
        }
        self.enter(exit, before)
    }

    /// A counting loop with its body in a closure, which answers what it hands to the next iteration.
    pub fn for_loop(
        &mut self,
        start: Value,
        end: Value,
        step: Value,
        inits: &[Value],
        body: impl FnOnce(&mut Self, Value, &[Value]) -> Values,
    ) -> Values {
        let for_loop = self.begin_for(start, end, step, inits);
        let yields = body(self, for_loop.iv, &for_loop.carried);
        self.end_for(for_loop, &yields)
    }

    /// Starts the branch that is taken when the condition holds.
    pub fn begin_if(&mut self, condition: Value) -> If {
        let before = self.current();
        let [then, otherwise, merge] = [(); 3].map(|()| self.create_block());
        for block in [then, otherwise, merge] {
            self.set_dominator(block, before);
        }
        self.cond_br(condition, (then, &[]), (otherwise, &[]));
        self.switch_to(then);
        If { before, otherwise, merge, in_else: false, merge_has_params: false }
    }

    /// Ends the first branch with these values and starts the other.
    pub fn begin_else(&mut self, condition: &mut If, yields: &[Value]) {
        self.leave_branch(condition, yields);
        condition.in_else = true;
        self.switch_to(condition.otherwise);
    }

    /// Ends the last branch; answers what the branches gave. Without an `else` there is nothing to give.
    pub fn end_if(&mut self, mut condition: If, yields: &[Value]) -> Values {
        self.leave_branch(&mut condition, yields);
        if !condition.in_else {
            self.switch_to(condition.otherwise);
            self.br(condition.merge, &[]);
        }
        self.enter(condition.merge, condition.before)
    }

    /// Starts a loop that carries values, at its head.
    pub fn begin_while(&mut self, inits: &[Value]) -> While {
        let (before, head, exit) = (self.current(), self.create_block(), self.create_block());
        self.set_dominator(head, before);
        let carried = self.params_like(head, inits);
        self.br(head, inits);
        self.switch_to(head);
        While { carried, head, exit }
    }

    /// Ends the head: goes on into the body when the condition holds, else leaves with these values.
    pub fn do_while(&mut self, while_loop: &While, condition: Value, leaves_with: &[Value]) {
        let (head_end, body) = (self.current(), self.create_block());
        self.set_dominator(body, head_end);
        self.set_dominator(while_loop.exit, head_end);
        self.params_like(while_loop.exit, leaves_with);
        self.cond_br(condition, (body, &[]), (while_loop.exit, leaves_with));
        self.switch_to(body);
    }

    /// Ends the body, which hands these values to the head; answers the values after the loop.
    pub fn end_while(&mut self, while_loop: While, yields: &[Value]) -> Values {
        if !self.is_terminated() {
            self.br(while_loop.head, yields);
        }
        self.switch_to(while_loop.exit);
        SmallVec::from_slice(&self.func.blocks[while_loop.exit].params)
    }

    fn leave_branch(&mut self, condition: &mut If, yields: &[Value]) {
        if self.is_terminated() {
            return;
        }
        if !condition.merge_has_params {
            self.params_like(condition.merge, yields);
            condition.merge_has_params = true;
        }
        self.br(condition.merge, yields);
    }

    /// Goes on in a block that `dominator` dominates; answers its parameters.
    fn enter(&mut self, block: Block, dominator: Block) -> Values {
        self.set_dominator(block, dominator);
        self.switch_to(block);
        SmallVec::from_slice(&self.func.blocks[block].params)
    }

    /// Gives a block parameters of the types of these values.
    fn params_like(&mut self, block: Block, values: &[Value]) -> Values {
        values.iter().map(|value| self.add_block_param(block, self.ty(*value))).collect()
    }
}

fn goal(block: Block, args: &[Value]) -> BlockCall {
    BlockCall { block, args: SmallVec::from_slice(args) }
}
