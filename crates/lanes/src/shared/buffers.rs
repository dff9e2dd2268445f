//! The buffers of a kernel: which memory descriptors are views of which, and how long each is alive.
//!
//! Positions number the operations in program order, functions that are called standing where they are called. A buffer
//! is alive from its allocation to its last use, or to the wait for the last copy to it; one that is made outside a
//! loop and used inside is alive to the loop's end, one that a loop carries is alive throughout the loop. Scratch
//! memory is alive for its operation alone. Small scratch memory gets bytes of its own, so that neighbouring operations
//! need not wait for each other to reuse it.

use super::place::Request;
use super::{Need, Order};
use crate::error::Result;
use ir::{Block, Effect, Module, Op, Region, Traits, Value};
use rustc_hash::FxHashMap;
use target::survey::BufferFacts;
use ttgir::ops::async_copy::{ASYNC_WAIT, AsyncWaitOp};
use ttgir::ops::roles::WARP_SPECIALIZE;
use ttgir::ops::shared::AllocOp;
use ttgir::roots::{callee, flows, reachable};
use ttgir::types::memdesc;
use ttir::ops::control::IF;

/// Scratch memory up to this size is not shared...
const SMALL: u32 = 1024;
/// ...as long as all of it together is at most this.
const SMALL_TOTAL: u32 = 8192;

/// A buffer.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    /// What allocates it, or needs it as scratch memory.
    pub(crate) op: Op,
    /// Its size.
    pub(crate) bytes: u32,
    align: u32,
    /// For scratch memory, how its operation orders its accesses.
    pub(crate) scratch: Option<Order>,
    alive: Vec<(u32, u32)>,
    /// Loops around the allocation.
    depth: usize,
}

impl Buffer {
    /// What is reported of it, once its place is known.
    pub(super) fn facts(&self, offset: u32) -> BufferFacts {
        BufferFacts {
            op: self.op,
            scratch: self.scratch.is_some(),
            offset: u64::from(offset),
            bytes: u64::from(self.bytes),
            alive: self.alive.clone(),
            why: None,
        }
    }
}

/// The buffers of a kernel.
#[derive(Default, Debug)]
pub(crate) struct Buffers {
    /// All of them.
    pub(crate) list: Vec<Buffer>,
    /// Which buffer an operation allocates or needs.
    pub(crate) of_op: FxHashMap<Op, usize>,
    /// The buffers that a memory descriptor may be a view of.
    pub(crate) views: FxHashMap<Value, Vec<usize>>,
}

impl Buffers {
    /// The buffers of a kernel; `need_of` says what scratch memory an operation needs.
    pub(crate) fn of(
        module: &Module,
        kernel: Op,
        need_of: &mut dyn FnMut(Op) -> Result<Need>,
    ) -> Result<Buffers> {
        let mut buffers = Buffers::default();
        let ops = reachable(module, kernel);
        for &op in &ops {
            if let Some(request) = allocation(module, op) {
                buffers.add(op, request, None);
                continue;
            }
            let need = need_of(op)?;
            if need.bytes > 0 {
                let request = Request { bytes: need.bytes, align: need.align.max(16), alive: Vec::new() };
                buffers.add(op, request, Some(need.order));
            }
        }
        if buffers.list.is_empty() {
            return Ok(buffers);
        }
        buffers.find_views(module, &ops);
        let mut walk = Walk {
            module,
            buffers: &mut buffers,
            position: 0,
            loops: Vec::new(),
            whole: Vec::new(),
            in_flight: Vec::new(),
            calls: Vec::new(),
        };
        walk.block(module.entry_of(kernel));
        let end = walk.position;
        buffers.keep_small_apart(end);
        Ok(buffers)
    }

    /// What is to be placed.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let request = |buffer: &Buffer| Request {
            bytes: buffer.bytes,
            align: buffer.align,
            alive: buffer.alive.clone(),
        };
        self.list.iter().map(request).collect()
    }

    fn add(&mut self, op: Op, request: Request, scratch: Option<Order>) {
        self.of_op.insert(op, self.list.len());
        let Request { bytes, align, alive } = request;
        self.list.push(Buffer { op, bytes, align, scratch, alive, depth: 0 });
    }

    fn keep_small_apart(&mut self, end: u32) {
        let mut left = SMALL_TOTAL;
        for buffer in self.list.iter_mut().filter(|buffer| buffer.scratch.is_some() && buffer.bytes <= SMALL)
        {
            if buffer.bytes > left {
                break;
            }
            left -= buffer.bytes;
            buffer.alive = vec![(0, end)];
        }
    }

    /// Follows memory descriptors through views, loops, conditions and calls until nothing changes.
    fn find_views(&mut self, module: &Module, ops: &[Op]) {
        let is_view = |value: Value| memdesc(module.ty(value)).is_some();
        let mut ways = Vec::new();
        for &op in ops {
            let found = flows(module, op, |ty| memdesc(ty).is_some());
            ways.extend(found.into_iter().filter(|&(from, _)| is_view(from)));
            let made = module.results(op).first().filter(|&&result| is_view(result));
            if let (Some(&buffer), Some(&result)) = (self.of_op.get(&op), made) {
                self.join(result, &[buffer]);
            }
        }
        loop {
            let before: usize = self.views.values().map(Vec::len).sum();
            for &(from, to) in &ways {
                // None is known of it so far: a later round may find some.
                let buffers = self.views.get(&from).cloned().unwrap_or_default();
                self.join(to, &buffers);
            }
            if self.views.values().map(Vec::len).sum::<usize>() == before {
                return;
            }
        }
    }

    fn join(&mut self, value: Value, buffers: &[usize]) {
        let known = self.views.entry(value).or_default();
        for &buffer in buffers {
            if !known.contains(&buffer) {
                known.push(buffer);
            }
        }
    }
}

/// What an operation that allocates memory asks for.
fn allocation(module: &Module, op: Op) -> Option<Request> {
    if !AllocOp::is(module, op) {
        return None;
    }
    let ty = module.ty(module.result(op, 0));
    let desc = memdesc(ty)?;
    let encoding = ttgir::SharedEncoding::of(ty)?;
    let (outer, inner) = desc.shape.split_at(desc.shape.len() - encoding.rank());
    let layout = encoding.to_linear(inner);
    let stages: i64 = outer.iter().product();
    let elements = stages << layout.ins().bits(layout::Dim::OFFSET);
    let bytes = elements * i64::from(crate::types::memory_bits(desc.elem)) / 8;
    let align = encoding.alignment().max(16);
    Some(Request { bytes: u32::try_from(bytes).unwrap_or(u32::MAX), align, alive: Vec::new() })
}

/// The walk that numbers operations and finds how long buffers live.
struct Walk<'a> {
    module: &'a Module,
    buffers: &'a mut Buffers,
    position: u32,
    /// Where the loops around begin.
    loops: Vec<u32>,
    /// Buffers that are alive to the end of a loop around: the depth of the loop.
    whole: Vec<(usize, usize)>,
    /// Buffers that copies may write to which nobody has waited for.
    in_flight: Vec<usize>,
    /// Functions around; one that calls itself is refused where calls are lowered.
    calls: Vec<Op>,
}

impl Walk<'_> {
    fn block(&mut self, block: Block) {
        let module = self.module;
        for op in module.ops(block) {
            self.position += 1;
            self.uses(op);
            if let Some(&buffer) = self.buffers.of_op.get(&op) {
                let (position, depth) = (self.position, self.loops.len());
                let buffer = &mut self.buffers.list[buffer];
                buffer.alive.push((position, position));
                buffer.depth = depth;
            }
            if let Some(callee) = callee(module, op) {
                if !self.calls.contains(&callee) {
                    self.calls.push(callee);
                    self.block(module.entry_of(callee));
                    self.calls.pop();
                }
            } else if module.has(op, Traits::LOOP) {
                self.a_loop(op);
            } else if module.is(op, &IF) {
                self.regions(op);
            } else if module.is(op, &WARP_SPECIALIZE) {
                self.roles(op);
            }
        }
    }

    /// Regions that run at the same time: what a partition touches is alive as long as any of them runs.
    fn roles(&mut self, op: Op) {
        let start = self.position;
        self.regions(op);
        self.position += 1;
        let end = self.position;
        let own = self.buffers.of_op.get(&op).copied();
        let inside = self.module.regions(op)[1..].iter().flat_map(|&region| self.touched(region));
        for buffer in inside.chain(own).collect::<Vec<_>>() {
            self.extend(buffer, start, end);
        }
    }

    /// The buffers that operations of a region allocate, need or use.
    fn touched(&self, region: Region) -> Vec<usize> {
        let block = self.module.entry(region);
        let ops = self.module.ops(block).flat_map(|op| self.module.walk(op));
        let mut touched = Vec::new();
        for op in ops {
            touched.extend(self.buffers.of_op.get(&op));
            let views = self.module.operands(op).iter().filter_map(|value| self.buffers.views.get(value));
            touched.extend(views.flatten());
        }
        touched
    }

    /// The regions of an operation, of which each may be left out: what is in flight in front of it may still be so
    /// behind it.
    fn regions(&mut self, op: Op) {
        let before = self.in_flight.clone();
        for &region in self.module.regions(op) {
            self.module.blocks(region).iter().for_each(|&block| self.block(block));
        }
        self.begin_copies(&before);
    }

    fn begin_copies(&mut self, buffers: &[usize]) {
        for &buffer in buffers {
            if !self.in_flight.contains(&buffer) {
                self.in_flight.push(buffer);
            }
        }
    }

    fn a_loop(&mut self, op: Op) {
        let module = self.module;
        let start = self.position;
        self.loops.push(start);
        let depth = self.loops.len();
        self.regions(op);
        self.position += 1;
        let end = self.position;
        let entry = module.entry_of(op);
        for arg in module.args(entry) {
            for buffer in self.buffers.views.get(arg).cloned().unwrap_or_default() {
                self.extend(buffer, start, end);
            }
        }
        let (of_this, of_others) =
            std::mem::take(&mut self.whole).into_iter().partition(|mark| mark.1 >= depth);
        self.whole = of_others;
        let of_this: Vec<(usize, usize)> = of_this;
        let carried = self.in_flight.clone();
        for buffer in of_this.into_iter().map(|mark| mark.0).chain(carried) {
            self.extend(buffer, start, end);
        }
        self.loops.pop();
    }

    fn uses(&mut self, op: Op) {
        let operands = self.module.operands(op).iter();
        let used: Vec<usize> =
            operands.filter_map(|operand| self.buffers.views.get(operand)).flatten().copied().collect();
        for buffer in used {
            self.use_of(buffer);
        }
        self.begin_copies(&self.copied_to(op));
        if let Some(wait) = AsyncWaitOp::of(self.module, op) {
            // Copies in flight write up to here.
            self.in_flight.clone().into_iter().for_each(|buffer| self.use_of(buffer));
            if wait.num() == 0 {
                self.in_flight.clear();
            }
        }
    }

    /// The buffers that an operation begins to copy to.
    fn copied_to(&self, op: Op) -> Vec<usize> {
        let row = self.module.row(op);
        let groups = (0..row.operands.len()).filter(
            |&group| matches!(row.operands[group].effect, Effect::WriteUntil(wait) if wait.is(&ASYNC_WAIT)),
        );
        let operands = groups.flat_map(|group| self.module.operand_group(op, group));
        operands.filter_map(|operand| self.buffers.views.get(operand)).flatten().copied().collect()
    }

    fn use_of(&mut self, buffer: usize) {
        self.extend(buffer, self.position, self.position);
        let depth = self.buffers.list[buffer].depth;
        if self.loops.len() > depth {
            self.whole.push((buffer, depth + 1));
        }
    }

    fn extend(&mut self, buffer: usize, start: u32, end: u32) {
        match self.buffers.list[buffer].alive.last_mut() {
            Some(last) => *last = (last.0.min(start), last.1.max(end)),
            None => self.buffers.list[buffer].alive.push((start, end)),
        }
    }
}
