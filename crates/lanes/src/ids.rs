//! The numbers of a lane: in its program, in its warp, of its warp; and positions that follow from them by a layout.

use crate::context::{Cx, Ids, Role};
use crate::free_bits::FreeBits;
use layout::{Dim, LinearLayout};
use llir::{IntCompare, Value};
use smallvec::SmallVec;

/// A run of input bits that go to neighbouring bits of one output: `(input >> from & mask) << to`.
struct Run {
    from: u32,
    len: u32,
    to: u32,
}

/// Input bits whose basis along an output is one bit, in runs, and the others: bit and basis.
fn runs(bases: &[u32]) -> (Vec<Run>, Vec<(u32, u32)>) {
    let (mut runs, mut others): (Vec<Run>, Vec<(u32, u32)>) = (Vec::new(), Vec::new());
    for (bit, &basis) in bases.iter().enumerate().filter(|(_, basis)| **basis != 0) {
        let bit = bit as u32;
        if !basis.is_power_of_two() {
            others.push((bit, basis));
            continue;
        }
        let to = basis.trailing_zeros();
        match runs.last_mut() {
            Some(run) if run.from + run.len == bit && run.to + run.len == to => run.len += 1,
            _ => runs.push(Run { from: bit, len: 1, to }),
        }
    }
    (runs, others)
}

/// The bases of an input along an output.
fn bases_along(layout: &LinearLayout, dim: Dim, index: usize) -> Vec<u32> {
    layout.bases(dim).iter().map(|basis| basis[index].1).collect()
}

/// Whether some bits go to the bits that follow on that of the last of others.
fn goes_on(bits: &[u32], next: &[u32]) -> bool {
    let follows = |pair: &[u32]| pair[0].is_power_of_two() && u64::from(pair[1]) == 2 * u64::from(pair[0]);
    let behind: Vec<u32> = bits.last().iter().copied().chain(next).copied().collect();
    behind.len() > 1 && behind.len() == next.len() + 1 && behind.windows(2).all(follows)
}

impl Cx<'_> {
    /// The number of this thread block in its cluster; zero without clusters.
    pub fn block_id(&mut self) -> Value {
        if self.num_blocks == 1 { self.b.i32(0) } else { self.target.block_id(&mut self.b) }
    }

    /// The position of the program along an axis of the grid.
    pub(crate) fn program_id(&mut self, axis: u32) -> Value {
        let id = self.target.program_id(&mut self.b, axis);
        self.per_program(axis, id)
    }

    /// The size of the grid along an axis, in programs.
    pub(crate) fn num_programs(&mut self, axis: u32) -> Value {
        let count = self.target.num_programs(&mut self.b, axis);
        self.per_program(axis, count)
    }

    /// Blocks of a program lie side by side along the first axis.
    fn per_program(&mut self, axis: u32, value: Value) -> Value {
        if axis != 0 || self.num_blocks == 1 {
            return value;
        }
        let by = self.b.i32(self.num_blocks.trailing_zeros() as i32);
        self.b.lshr(value, by)
    }

    /// All lanes of the program wait for each other, whatever block they are in.
    pub(crate) fn program_barrier(&mut self) {
        if self.num_blocks > 1 {
            self.target.cluster_barrier(&mut self.b);
        } else {
            self.block_barrier();
        }
    }

    /// The same, and device memory is in order: what the program asks for.
    pub(crate) fn memory_barrier(&mut self) {
        if self.planner.is_one_lane() {
            return;
        }
        if self.num_blocks > 1 || self.role.is_some() {
            self.program_barrier();
        } else {
            self.target.barrier(&mut self.b);
        }
    }

    /// All lanes of the block that run this code wait for each other: those of a role, where warps have roles. Device
    /// memory is in order where the program needs that.
    pub(crate) fn block_barrier(&mut self) {
        match self.role {
            Some(role) => self.target.barrier_of(&mut self.b, role.barrier, role.num_warps * self.lanes),
            None if self.shared.orders_device => self.target.barrier(&mut self.b),
            None => self.target.shared_barrier(&mut self.b),
        }
    }

    /// The number of this warp among all that a launch has, whatever their roles are.
    pub(crate) fn warp_of_block(&mut self) -> Value {
        let thread = self.target.thread_id(&mut self.b);
        let by = self.b.i32(self.lanes.trailing_zeros() as i32);
        let warp = self.b.lshr(thread, by);
        self.target.uniform(&mut self.b, warp)
    }

    /// From here on the code is that of a role; `warp` is [`Cx::warp_of_block`].
    pub(crate) fn enter_role(&mut self, role: Role, warp: Value) {
        let [first_warp, first_lane] =
            [role.first_warp, role.first_warp * self.lanes].map(|first| self.b.i32(first as i32));
        let thread = self.target.thread_id(&mut self.b);
        let (thread, warp) = (self.b.sub(thread, first_lane), self.b.sub(warp, first_warp));
        let warp = if role.num_warps == 1 { self.b.i32(0) } else { warp };
        let lane = self.ids().lane;
        self.set_ids(Ids { thread, lane, warp });
        self.num_warps = role.num_warps;
        self.role = Some(role);
    }

    /// The bits of the thread index of conversions: lane, warp, and above them the block.
    pub(crate) fn place_in_cluster(&mut self) -> Value {
        let thread = self.ids().thread;
        if self.num_blocks == 1 {
            return thread;
        }
        let block = self.block_id();
        let by = self.b.i32((self.lanes * self.num_warps).trailing_zeros() as i32);
        let above = self.b.shl(block, by);
        self.b.or(thread, above)
    }

    /// Applies a layout to values: for each output dimension in order, the combination of its bases. Inputs that are
    /// not given are at zero. All values are `i32`.
    pub fn apply_layout(&mut self, layout: &LinearLayout, inputs: &[(Dim, Value)]) -> SmallVec<[Value; 4]> {
        let parts =
            |index: usize| inputs.iter().map(move |&(dim, value)| (value, bases_along(layout, dim, index)));
        (0..layout.outs().iter().count()).map(|index| self.combine_parts(parts(index))).collect()
    }

    /// The combination of values that are spread by bases of their own, one basis a bit.
    fn combine_parts(&mut self, parts: impl Iterator<Item = (Value, Vec<u32>)>) -> Value {
        let mut result = self.b.i32(0);
        let mut taken = 0u32;
        for (value, bases) in parts {
            let (part, bits) = self.spread_bits(value, &bases);
            // Parts without a common bit are joined alike by `or` and `xor`; sums of them need no carry.
            result = if taken & bits == 0 { self.b.or(result, part) } else { self.b.xor(result, part) };
            taken |= bits;
        }
        result
    }

    /// The bits of a value moved to where their bases say, and which bits that may set.
    fn spread_bits(&mut self, value: Value, bases: &[u32]) -> (Value, u32) {
        let (runs, others) = runs(bases);
        let width = bases.len() as u32;
        let (mut result, mut taken) = (self.b.i32(0), 0u32);
        for run in runs {
            let mut part = value;
            // Shift by the difference, then mask: two instructions where four would do too.
            let mask = ((1u64 << run.len) - 1) as u32;
            let (moved, covers) = if run.to >= run.from {
                let by = self.b.i32((run.to - run.from) as i32);
                (self.b.shl(part, by), false)
            } else {
                let by = self.b.i32((run.from - run.to) as i32);
                (self.b.lshr(part, by), run.from + run.len == width && run.to == 0)
            };
            part = moved;
            let whole = run.from == 0 && run.len == width;
            if !covers && !whole {
                let mask = self.b.i32((mask << run.to) as i32);
                part = self.b.and(part, mask);
            }
            let bits = mask << run.to;
            result = if taken & bits == 0 { self.b.or(result, part) } else { self.b.xor(result, part) };
            taken |= bits;
        }
        for (bit, basis) in others {
            let bit = self.b.i32(1 << bit);
            let zero = self.b.i32(0);
            let masked = self.b.and(value, bit);
            let set = self.b.icmp(IntCompare::Ne, masked, zero);
            let basis_value = self.b.i32(basis as i32);
            let part = self.b.select(set, basis_value, zero);
            result = if taken & basis == 0 { self.b.or(result, part) } else { self.b.xor(result, part) };
            taken |= basis;
        }
        (result, taken)
    }

    /// The part of the positions of this lane's elements that lane, warp and block decide, for each dimension of a
    /// layout with the inputs register, lane, warp, block.
    pub fn lane_positions(&mut self, layout: &LinearLayout) -> SmallVec<[Value; 4]> {
        let ids = self.ids();
        let block = (layout.ins().bits(Dim::BLOCK) > 0).then(|| self.block_id());
        let position = |index: usize| {
            let (lane, warp) = (bases_along(layout, Dim::LANE, index), bases_along(layout, Dim::WARP, index));
            // Where warps go on where lanes end, the number of the thread says both at once. With a mask it does not
            // save an instruction, and the number of the warp is one for all lanes.
            let parts = match goes_on(&lane, &warp) {
                true => vec![(ids.thread, [lane, warp].concat())],
                false => vec![(ids.lane, lane), (ids.warp, warp)],
            };
            parts.into_iter().chain(block.map(|block| (block, bases_along(layout, Dim::BLOCK, index))))
        };
        (0..layout.outs().iter().count()).map(|index| self.combine_parts(position(index))).collect()
    }

    /// The position along each dimension of the element in each register.
    pub fn positions(&mut self, layout: &LinearLayout) -> Vec<SmallVec<[Value; 4]>> {
        let lane = self.lane_positions(layout);
        let sizes: Vec<u32> = layout.outs().iter().map(|(_, bits)| bits).collect();
        // Which bits the lane may set decides between a sum, which keeps the constant apart, and an exclusive or.
        let mut lane_bits: SmallVec<[u32; 4]> = SmallVec::from_elem(0, lane.len());
        for dim in [Dim::LANE, Dim::WARP, Dim::BLOCK] {
            for basis in layout.bases(dim) {
                basis.iter().zip(&mut lane_bits).for_each(|((_, at), bits)| *bits |= at);
            }
        }
        for (value, bits) in lane.iter().zip(&sizes) {
            self.affine.bound(*value, 1 << bits);
        }
        let words = layout.along(Dim::REGISTER).into_iter();
        words
            .map(|word| {
                let constants = layout.outs().unpack(word);
                let dims = lane.iter().zip(&constants).zip(&lane_bits);
                dims.map(|((value, (_, constant)), bits)| self.combine(*value, *constant, *bits)).collect()
            })
            .collect()
    }

    fn combine(&mut self, lane: Value, constant: u32, lane_bits: u32) -> Value {
        let by = self.b.i32(constant as i32);
        if lane_bits & constant == 0 { self.add(lane, by) } else { self.b.xor(lane, by) }
    }

    /// Whether this lane is the one that acts for an element that several lanes, warps or blocks hold; `None` where
    /// each lane has its own elements.
    pub fn owner_mask(&mut self, free: &FreeBits) -> Option<Value> {
        let ids = self.ids();
        let mut mask: Option<Value> = None;
        let mut require_zero = |cx: &mut Self, value: Value, bits: u32| {
            if bits == 0 {
                return;
            }
            let (bits, zero) = (cx.b.i32(bits as i32), cx.b.i32(0));
            let masked = cx.b.and(value, bits);
            let holds = cx.b.icmp(IntCompare::Eq, masked, zero);
            mask = Some(match mask {
                Some(mask) => cx.b.and(mask, holds),
                None => holds,
            });
        };
        require_zero(self, ids.lane, free.lane);
        require_zero(self, ids.warp, free.warp);
        if free.block != 0 {
            let block = self.block_id();
            require_zero(self, block, free.block);
        }
        mask
    }

    /// Whether this is the lane that acts for the whole program.
    pub fn is_first_lane(&mut self) -> Value {
        let ids = self.ids();
        let zero = self.b.i32(0);
        let first = self.b.icmp(IntCompare::Eq, ids.thread, zero);
        if self.num_blocks == 1 {
            return first;
        }
        let block = self.block_id();
        let first_block = self.b.icmp(IntCompare::Eq, block, zero);
        self.b.and(first, first_block)
    }
}
