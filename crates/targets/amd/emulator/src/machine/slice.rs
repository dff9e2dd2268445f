//! Time slices of a warp: its instructions one after the other, and the ways of its lanes through the blocks.

use crate::machine::code::{Block, Code, Edge, End, FULL, Flow, Instr, NOWHERE, Slot, blend, lanes_of};
use crate::machine::lds::Group;
use crate::machine::step::Step;
use crate::machine::wave::{Entry, Wave};
use crate::machine::world::World;
use emulation::{Fault, FaultKind, FindingKind};

/// How a warp's time slice ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SliceEnd {
    Ran,
    Blocked,
    Done,
}

impl Wave {
    /// Runs until it waits or ends, or the budget is used up.
    pub(crate) fn run_slice(
        &mut self,
        group: &mut Group,
        world: &mut World<'_>,
        budget: u32,
    ) -> Result<SliceEnd, Box<Fault>> {
        if let Some((phase, _)) = self.waiting {
            if group.barrier.phase == phase {
                return Ok(SliceEnd::Blocked);
            }
            self.waiting = None;
            self.meet(group);
        }
        let mut left = budget;
        while let Some(top) = self.stack.last().copied() {
            if top.mask == 0 {
                self.stack.pop();
                continue;
            }
            let code = world.code;
            let block = &code.blocks[top.block as usize];
            let mut pc = top.pc;
            let mut flow = Flow::Next;
            while pc < block.instructions.end && left > 0 && flow == Flow::Next {
                flow = self.execute(&code.instructions[pc as usize], top.mask, group, world)?;
                pc += 1;
                left -= 1;
            }
            if let Some(entry) = self.stack.last_mut() {
                entry.pc = pc;
            }
            match flow {
                Flow::Barrier => return Ok(SliceEnd::Ran),
                Flow::Exit => self.exit(top.mask, group, world),
                Flow::Next if left == 0 => return Ok(SliceEnd::Ran),
                Flow::Next => {
                    left -= 1;
                    world.count(block.site, top.mask, self.who(group))?;
                    self.end(block, top, group, world)?;
                }
            }
        }
        Ok(SliceEnd::Done)
    }

    fn execute(
        &mut self,
        instr: &Instr,
        mask: u64,
        group: &mut Group,
        world: &mut World<'_>,
    ) -> Result<Flow, Box<Fault>> {
        world.count(instr.site, mask, self.who(group))?;
        if world.checks.uninitialised {
            self.check_known(instr, mask, group, world);
        }
        instr.execute.run(&mut Step { wave: self, group, world, mask, site: instr.site })
    }

    /// Carries forward which values are known, and finds uses of values that are not.
    fn check_known(&mut self, instr: &Instr, mask: u64, group: &Group, world: &mut World<'_>) {
        for slot in &instr.sinks {
            self.check_sink(*slot, instr.site, mask, group, world);
        }
        if !instr.knows {
            let known = instr.reads.iter().fold(FULL, |known, slot| known & self.known[slot.index()]);
            for slot in &instr.writes {
                self.set_known(*slot, mask, known);
            }
        }
    }

    /// Finds lanes in which a value that is used was never written.
    fn check_sink(&mut self, slot: Slot, site: u32, mask: u64, group: &Group, world: &mut World<'_>) {
        let unknown = mask & !self.known[slot.index()];
        if unknown == 0 {
            return;
        }
        let message = "a value is used that was never written".to_owned();
        world.find(
            FindingKind::Uninitialised,
            message,
            site,
            None,
            self.who(group),
            unknown.trailing_zeros(),
        );
        // Reported once; what follows from it is not reported again.
        if slot != NOWHERE {
            self.known[slot.index()] |= unknown;
        }
    }

    /// Leaves a block.
    fn end(
        &mut self,
        block: &Block,
        top: Entry,
        group: &mut Group,
        world: &mut World<'_>,
    ) -> Result<(), Box<Fault>> {
        match &block.end {
            End::Jump(edge) => self.go(edge, top.mask, world.code),
            End::Branch(condition, edges) => {
                if world.checks.uninitialised {
                    self.check_sink(*condition, block.site, top.mask, group, world);
                }
                let holds = self.truth(*condition) & top.mask;
                self.part(block, top, &[(&edges[0], holds), (&edges[1], top.mask & !holds)], world.code);
            }
            End::Switch(value, cases, edges) => {
                if world.checks.uninitialised {
                    self.check_sink(*value, block.site, top.mask, group, world);
                }
                let masks = self.cases(*value, cases, top.mask);
                let parts: Vec<(&Edge, u64)> = edges.iter().zip(masks).collect();
                self.part(block, top, &parts, world.code);
            }
            End::Return => self.exit(top.mask, group, world),
            End::Unreachable => {
                let (who, lane) = (self.who(group), top.mask.trailing_zeros());
                let message = "`unreachable` is reached".to_owned();
                return Err(world.fault(FaultKind::Misuse, message, block.site, who, Some(lane)));
            }
        }
        Ok(())
    }

    /// The lanes that take the default, then those of each case.
    fn cases(&self, value: Slot, cases: &[u64], mask: u64) -> Vec<u64> {
        let row = self.row(value);
        let mut masks = vec![0; cases.len() + 1];
        for lane in lanes_of(mask) {
            let case = cases.iter().position(|case| *case == row[lane]);
            masks[case.map_or(0, |case| case + 1)] |= 1 << lane;
        }
        masks
    }

    /// The lanes on top go on in one block.
    fn go(&mut self, edge: &Edge, mask: u64, code: &Code) {
        self.pass(edge, mask);
        let Some(top) = self.stack.last_mut() else { return };
        if top.join == Some(edge.block) {
            self.stack.pop();
            return;
        }
        top.block = edge.block;
        top.pc = code.blocks[edge.block as usize].instructions.start;
    }

    /// The lanes on top go different ways, and meet again.
    fn part(&mut self, block: &Block, top: Entry, parts: &[(&Edge, u64)], code: &Code) {
        if let Some((edge, _)) = parts.iter().find(|(_, mask)| *mask == top.mask) {
            return self.go(edge, top.mask, code);
        }
        for (edge, mask) in parts {
            self.pass(edge, *mask);
        }
        let start = |block: u32| code.blocks[block as usize].instructions.start;
        self.stack.pop();
        if let Some(join) = block.join
            && top.join != Some(join)
        {
            self.stack.push(Entry { block: join, pc: start(join), ..top });
        }
        for (edge, mask) in parts.iter().rev() {
            if *mask != 0 && block.join != Some(edge.block) {
                let entry = Entry { block: edge.block, pc: start(edge.block), mask: *mask, join: block.join };
                self.stack.push(entry);
            }
        }
    }

    /// Gives the parameters of a block their values.
    fn pass(&mut self, edge: &Edge, mask: u64) {
        if mask == 0 {
            return;
        }
        for (dest, source) in &edge.moves {
            let (from, known) = (self.rows[source.index()], self.known[source.index()]);
            blend(&mut self.rows[dest.index()], &from, mask);
            self.set_known(*dest, mask, known);
        }
    }

    /// Lanes end.
    fn exit(&mut self, mask: u64, group: &mut Group, world: &mut World<'_>) {
        self.live &= !mask;
        for entry in &mut self.stack {
            entry.mask &= !mask;
        }
        if self.live != 0 {
            return;
        }
        if let Some(copy) = self.copies.first() {
            let message = "the warp ends, but never waited for this copy to LDS".to_owned();
            world.find(FindingKind::Unfinished, message, copy.site, None, self.who(group), 0);
        }
        for copy in self.copies.drain(..) {
            for (_, offset, bytes) in copy.pieces {
                for byte in offset..offset + bytes.len() as u32 {
                    group.pending.remove(&byte);
                }
            }
        }
        self.compare_barriers(group, world);
        group.live -= 1;
        group.barrier.settle(group.live);
    }

    /// Finds warps that come to fewer barriers than others, which then meet at other places than they are meant to.
    fn compare_barriers(&self, group: &mut Group, world: &mut World<'_>) {
        let (count, site) = self.arrived;
        let others = *group.ended.get_or_insert(count);
        if count != others {
            let message =
                format!("the warp comes to {count} barriers, and others of its program to {others}");
            world.find(FindingKind::Unfinished, message, site, None, self.who(group), 0);
        }
    }
}
