//! Packed operands that outlive a program: what they depend on, and where that is noted.
//!
//! The programs of a launch run unordered, so memory that the kernel writes nowhere holds still for the length of it.
//! An operand then depends only on scalars, its keys; where a program that this thread ran had the same, its panels are
//! used as they are. Panels are kept in as many slots as there is room for, which follows from the length of the loop
//! when it runs. The notes are how many slots are in use, a number from which follows which one is given up next, the
//! size of the slots, the slot of the program before, and the keys of each; they are zero at the first program that a
//! thread runs of a launch. A program whose loop has another length has slots of another size in the same memory, so
//! that none of those in use is whole after it.

use super::super::accesses::{self, Access};
use super::slice::Slice;
use crate::dot::Definition;
use ir::{Def, Module, Op, Traits, Value};
use rustc_hash::FxHashSet;
use ttir::ops::access::AccessOp;
use ttir::ops::control::ForOp;
use ttir::ops::{constant, func};

/// The most bytes of panels that a thread keeps for all loops of a kernel, the same share for each operand.
pub(super) const MOST_BYTES: u64 = 32 << 20;

/// The most slots of an operand. They are searched one by one.
const MOST_SLOTS: u64 = 64;

/// Words in front of the keys: slots in use, the state of a random number, the blocks of iterations in a slot, and the
/// slot of the last program.
const HEAD: u64 = 4;

/// Panels that are kept.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The scalars that the operand depends on.
    pub(super) keys: Vec<Value>,
    /// Where the notes are, in bytes.
    pub(super) notes: u64,
    /// Where the panels are, in bytes.
    pub(super) panels: u64,
    /// Blocks of iterations that there is room for, in all slots together.
    pub(super) blocks: u64,
}

impl Kept {
    /// Bytes of its notes: behind those of all slots are the keys that are looked for.
    pub(super) fn note_bytes(&self) -> u64 {
        self.sought() + 8 * self.keys.len() as u64
    }

    /// Where in the notes the slot of the last program is.
    pub(super) fn last(&self) -> u64 {
        8 * (HEAD - 1)
    }

    /// Where in the notes the keys are that are looked for.
    pub(super) fn sought(&self) -> u64 {
        8 * (HEAD + MOST_SLOTS * self.keys.len() as u64)
    }
}

/// Finds the slot of some keys, or gives one up for them.
///
/// `i64 (ptr notes, i64 sought, i64 keys, i64 slots, i64 size, i1 looks)`: the slot where its panels are whole, its
/// complement where they must be packed. Who only looks is given -1 where there is none, and nothing is noted. Which
/// slot is given up is random: programs often walk over more operands than there are slots, and then the oldest is the
/// one that comes next. With no slots, everything is packed, and nothing is noted.
pub(super) fn search() -> Definition {
    let text = format!(
        "define internal i64 @{SEARCH}(ptr noalias %notes, i64 %sought, i64 %keys, i64 %room, i64 %size, i1 %looks) noinline nounwind {{
entry:
  %size.p = getelementptr i64, ptr %notes, i64 2
  %size.old = load i64, ptr %size.p, align 8
  %same.size = icmp eq i64 %size.old, %size
  br i1 %same.size, label %begin, label %renew
renew:
  store i64 0, ptr %notes, align 8
  store i64 %size, ptr %size.p, align 8
  br label %begin
begin:
  %has = icmp sgt i64 %room, 0
  br i1 %has, label %start, label %none
none:
  ret i64 -1
start:
  %is.few = icmp slt i64 %room, {MOST_SLOTS}
  %slots = select i1 %is.few, i64 %room, i64 {MOST_SLOTS}
  %wanted = getelementptr i8, ptr %notes, i64 %sought
  %table = getelementptr i64, ptr %notes, i64 {HEAD}
  %used = load i64, ptr %notes, align 8
  br label %slot
slot:
  %s = phi i64 [ 0, %start ], [ %s.next, %differs ]
  %open = icmp slt i64 %s, %used
  br i1 %open, label %look, label %end
look:
  %s.keys = mul i64 %s, %keys
  %row = getelementptr i64, ptr %table, i64 %s.keys
  br label %key
key:
  %k = phi i64 [ 0, %look ], [ %k.next, %equal ]
  %more = icmp slt i64 %k, %keys
  br i1 %more, label %compare, label %found
compare:
  %known.p = getelementptr i64, ptr %row, i64 %k
  %known = load i64, ptr %known.p, align 8
  %new.p = getelementptr i64, ptr %wanted, i64 %k
  %new = load i64, ptr %new.p, align 8
  %same = icmp eq i64 %known, %new
  br i1 %same, label %equal, label %differs
equal:
  %k.next = add i64 %k, 1
  br label %key
differs:
  %s.next = add i64 %s, 1
  br label %slot
found:
  ret i64 %s
end:
  br i1 %looks, label %none, label %miss
miss:
  %next.p = getelementptr i64, ptr %notes, i64 1
  %old = load i64, ptr %next.p, align 8
  %is.new = icmp slt i64 %used, %slots
  %state.m = mul i64 %old, 6364136223846793005
  %state = add i64 %state.m, 1442695040888963407
  %high = lshr i64 %state, 33
  %any = urem i64 %high, %slots
  %place = select i1 %is.new, i64 %used, i64 %any
  %one.more = add i64 %used, 1
  %used.new = select i1 %is.new, i64 %one.more, i64 %used
  store i64 %used.new, ptr %notes, align 8
  store i64 %state, ptr %next.p, align 8
  %place.keys = mul i64 %place, %keys
  %to = getelementptr i64, ptr %table, i64 %place.keys
  %stale = xor i64 %place, -1
  br label %copy
copy:
  %c = phi i64 [ 0, %miss ], [ %c.next, %copied ]
  %left = icmp slt i64 %c, %keys
  br i1 %left, label %copied, label %done
copied:
  %from.c = getelementptr i64, ptr %wanted, i64 %c
  %value = load i64, ptr %from.c, align 8
  %to.c = getelementptr i64, ptr %to, i64 %c
  store i64 %value, ptr %to.c, align 8
  %c.next = add i64 %c, 1
  br label %copy
done:
  ret i64 %stale
}}
"
    );
    Definition { symbol: SEARCH.to_owned(), text }
}

/// The symbol of [`search`].
pub(super) const SEARCH: &str = "dn.panels.search";

/// Whether what is kept depends on how many iterations a loop has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// It is that of all iterations.
    Fixed,
    /// It is that of each iteration by itself.
    Open,
}

/// What the operand that a slice of a loop makes depends on, if that is all known.
pub(super) fn find(module: &Module, kernel: Op, op: Op, (slice, length): (&Slice, Length)) -> Option<Kept> {
    let mut search = Search { module, keys: Vec::new(), loads: Vec::new(), seen: FxHashSet::default() };
    let of = ForOp::new(module, op);
    let inits = slice.carried.iter().map(|&index| of.inits()[index]);
    let bounds = [of.lower(), of.step()].into_iter().chain((length == Length::Fixed).then_some(of.upper()));
    for value in bounds.chain(inits).chain(slice.outside.iter().copied()) {
        search.visit(value)?;
    }
    search.loads.extend(slice.ops.iter().copied().filter(|&inner| AccessOp::load(module, inner).is_some()));
    let reads: Vec<Access> = search.loads.iter().flat_map(|&load| accesses::of(module, load)).collect();
    let writes: Vec<Access> =
        accesses::of(module, kernel).into_iter().filter(|access| access.is_write).collect();
    let is_still =
        reads.iter().all(|read| !read.is_write && writes.iter().all(|write| !write.may_touch(read)));
    is_still.then_some(Kept { keys: search.keys, notes: 0, panels: 0, blocks: 0 })
}

/// Goes from blocks back to the scalars that they are made of.
struct Search<'a> {
    module: &'a Module,
    keys: Vec<Value>,
    loads: Vec<Op>,
    seen: FxHashSet<Value>,
}

impl Search<'_> {
    fn visit(&mut self, value: Value) -> Option<()> {
        let module = self.module;
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            if !self.seen.insert(value) || module.constant(value).and_then(constant::splat_bits).is_some() {
                continue;
            }
            if !ttir::types::is_tensor(module.ty(value)) {
                if !is_parameter(module, value) {
                    self.keys.push(value);
                }
                continue;
            }
            let Def::Result(op, _) = module.def(value) else { return None };
            let row = module.row(op);
            if AccessOp::load(module, op).is_some() {
                self.loads.push(op);
            } else if !row.traits.has(Traits::PURE) {
                return None;
            }
            if !module.regions(op).is_empty() {
                return None;
            }
            open.extend(module.operands(op).iter().rev());
        }
        Some(())
    }
}

/// Whether a value is a parameter of the kernel, the same for all programs.
fn is_parameter(module: &Module, value: Value) -> bool {
    match module.def(value) {
        Def::Arg(block, _) => {
            module.region_parent(module.block_region(block)).is_some_and(|op| module.is(op, &func::FUNC))
        }
        Def::Result(..) => false,
    }
}
