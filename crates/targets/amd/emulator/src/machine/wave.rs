//! A warp: rows of its lanes, and the stack of lanes that part and meet.

use crate::machine::code::{Block, Code, Edge, End, Fill, Flow, Instr, LANES, NOWHERE, Row, Slot};
use crate::machine::lanes::{FULL, blend, lanes_of};
use crate::machine::launch::World;
use crate::machine::lds::Group;
use crate::machine::step::Step;
use emulation::{Fault, FaultKind, FindingKind, Seen, Who};

/// Lanes that run together, from an instruction of a block until they come to the block `join`.
#[derive(Debug, Clone, Copy)]
struct Entry {
    block: u32,
    pc: u32,
    mask: u64,
    join: Option<u32>,
}

/// A copy from device memory to LDS under way: it lands when its warp has waited for it.
#[derive(Debug)]
pub(crate) struct Copy {
    /// Lanes, their offsets in LDS, and the bytes that they copy.
    pub(crate) pieces: Vec<(usize, u32, Vec<u8>)>,
    pub(crate) site: u32,
}

/// How a warp's turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    Ran,
    Blocked,
    Done,
}

/// A warp of a program.
pub(crate) struct Wave {
    /// Its number in the program.
    pub(crate) index: u32,
    rows: Vec<Row>,
    /// Lanes whose value is known to have been written, by row.
    known: Vec<u64>,
    stack: Vec<Entry>,
    /// Lanes that have not ended.
    pub(crate) live: u64,
    /// The phase of the barrier that it waits for to end, and the place where it waits.
    pub(crate) waiting: Option<(u32, u32)>,
    pub(crate) private: Vec<u8>,
    pub(crate) private_written: Vec<bool>,
    /// What it had done when it last executed a release fence.
    pub(crate) released: Option<Seen>,
    /// What those had released whom it has met: an acquire fence makes it seen.
    pub(crate) met: Vec<u32>,
    /// Copies to LDS under way, oldest first.
    pub(crate) copies: Vec<Copy>,
    /// The phase of the barrier that it has signalled at and not waited for.
    pub(crate) signalled: Option<u32>,
}

impl Wave {
    pub(crate) fn new(code: &Code) -> Wave {
        Wave {
            index: 0,
            rows: vec![[0; LANES]; code.slots],
            known: vec![0; code.slots],
            stack: Vec::new(),
            live: 0,
            waiting: None,
            private: vec![0; code.private * LANES],
            private_written: vec![false; code.private * LANES],
            released: None,
            met: Vec::new(),
            copies: Vec::new(),
            signalled: None,
        }
    }

    /// Begins a program.
    pub(crate) fn start(&mut self, world: &World<'_>, index: u32) {
        let code = world.code;
        self.index = index;
        self.known.fill(0);
        for (slot, fill) in &code.fills {
            let bits = match *fill {
                Fill::Bits(bits) => bits,
                Fill::Variable(index) => world.variables[index],
                Fill::Argument { offset, bytes } => {
                    let mut cell = [0; 8];
                    cell[..bytes].copy_from_slice(&world.arguments[offset..offset + bytes]);
                    u64::from_le_bytes(cell)
                }
            };
            self.rows[slot.index()] = [bits; LANES];
            self.known[slot.index()] = FULL;
        }
        self.live = FULL >> (LANES as u32 - code.wave());
        let start = code.blocks[0].instructions.start;
        self.stack.clear();
        self.stack.push(Entry { block: 0, pc: start, mask: self.live, join: None });
        self.private_written.fill(false);
        (self.waiting, self.released, self.signalled) = (None, None, None);
        self.met.clear();
        self.copies.clear();
    }

    /// Who this is.
    pub(crate) fn who(&self, group: &Group) -> Who {
        Who { block: group.id, warp: self.index }
    }

    pub(crate) fn row(&self, slot: Slot) -> &Row {
        &self.rows[slot.index()]
    }

    pub(crate) fn row_mut(&mut self, slot: Slot) -> &mut Row {
        &mut self.rows[slot.index()]
    }

    /// The lanes whose value is known.
    pub(crate) fn known(&self, slot: Slot) -> u64 {
        self.known[slot.index()]
    }

    pub(crate) fn set_known(&mut self, slot: Slot, mask: u64, known: u64) {
        let own = &mut self.known[slot.index()];
        *own = *own & !mask | known & mask;
    }

    /// The lanes whose truth value holds.
    pub(crate) fn truth(&self, slot: Slot) -> u64 {
        let cells = self.row(slot).iter().enumerate();
        cells.fold(0, |mask, (lane, cell)| mask | (cell & 1) << lane)
    }

    /// Runs until it waits or ends, or the budget is used up.
    pub(crate) fn turn(
        &mut self,
        group: &mut Group,
        world: &mut World<'_>,
        budget: u32,
    ) -> Result<Turn, Box<Fault>> {
        if let Some((phase, _)) = self.waiting {
            if group.barrier.phase == phase {
                return Ok(Turn::Blocked);
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
                Flow::Barrier => return Ok(Turn::Ran),
                Flow::Exit => self.exit(top.mask, group, world),
                Flow::Next if left == 0 => return Ok(Turn::Ran),
                Flow::Next => {
                    left -= 1;
                    world.count(block.site, top.mask, self.who(group))?;
                    self.end(block, top, group, world)?;
                }
            }
        }
        Ok(Turn::Done)
    }

    /// What those had released who came to the barrier may now be acquired.
    pub(crate) fn meet(&mut self, group: &Group) {
        merge(&mut self.met, &group.barrier.completed_seen);
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
        // Told once; what follows from it is not told again.
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
        group.live -= 1;
        group.barrier.settle(group.live);
    }
}

/// Adds what somebody has seen to a list of clocks.
pub(crate) fn merge(into: &mut Vec<u32>, seen: &[u32]) {
    if into.len() < seen.len() {
        into.resize(seen.len(), 0);
    }
    for (own, other) in into.iter_mut().zip(seen) {
        *own = (*own).max(*other);
    }
}
