//! Keeps loads of device memory in front of the arithmetic that follows them.
//!
//! At its full level `ptxas` moves loads down to where their values are used, to need fewer registers, and then a lane
//! waits for a few loads at a time in place of all. It moves nothing over a branch. So a branch that is never taken
//! comes behind loads that stand together in the text:
//!
//! ```text
//! ld.global.v4.b32 {%r1, …}, [%rd1];
//! ld.global.v4.b32 {%r5, …}, [%rd1 + 2048];
//! mov.u32 %r9, %nctaid.x;        a grid has at least one program
//! setp.eq.b32 %p1, %r9, 0;
//! @%p1 trap;
//! lg2.approx.f32 …
//! ```
//!
//! What takes loaded words apart moves behind it.
//!
//! Done where it was measured to pay (H200, docs/notes/gpu.md): in loops whose lanes do not wait for each other, as
//! sums of losses over long rows (1.15 to 1.28 times as fast), and in kernels without loops and waits that memory
//! bounds by far (up to 1.07). Left alone: kernels without loops that compute as long as they load, where registers
//! that wait cost programs on an SM (0.75), and loops with dots, which have pipelines of their own.

use super::machine::{AsmText, Class, MFunction, MInst, Operand, Reg, Text};
use super::work::{Known, REGISTERS, Work, loops};
use cranelift_entity::{EntitySet, PrimaryMap};
use ptx_isa::Role;
use smallvec::{SmallVec, smallvec};

/// The fewest loads of a group.
const LEAST_LOADS: u32 = 4;
/// The most registers that a group loads; of 1024 lanes, three quarters of what each has.
const MOST_REGISTERS: u32 = 96;
/// The fewest instructions behind a group: fewer are over before loads could move among them.
const LEAST_BEHIND: usize = 100;
/// Bytes for each instruction from which on memory bounds a kernel by far: twice what the level of the assembler asks
/// for.
const BYTES_PER_INSTRUCTION: f64 = 0.64;

/// Loads that stand together, by the places of their instructions in the block.
#[derive(Default)]
struct Group {
    /// The first.
    first: usize,
    /// The last.
    last: usize,
    /// How many.
    loads: u32,
    /// Registers of 32 bits that they write.
    registers: u32,
    /// What takes their words apart, in order.
    unpacking: Vec<usize>,
    /// The registers that all of these write.
    written: EntitySet<Reg>,
}

/// Keeps loads early in a function of so many lanes, where that pays.
pub(super) fn keep_loads_early(function: &mut MFunction, lanes: u32) {
    let most = MOST_REGISTERS.min(REGISTERS / lanes * 3 / 4);
    let mut known = Known::default();
    let work: Vec<Work> = function.blocks.iter().map(|block| Work::of(block, &mut known)).collect();
    let loops = loops(function);
    let all: Work = work.iter().copied().sum();
    let is_bound_by_memory =
        loops.is_empty() && f64::from(all.bytes) >= BYTES_PER_INSTRUCTION * f64::from(all.instructions);
    for index in 0..work.len() {
        let around = loops.iter().filter(|blocks| blocks.contains(&index));
        let inner = around.min_by_key(|blocks| blocks.len());
        let pays = inner.map_or(is_bound_by_memory, |blocks| {
            let inside: Work = work[blocks.clone()].iter().copied().sum();
            !inside.waits && !inside.is_demanding
        });
        if pays && work[index].bytes > 0 {
            let groups = groups(&function.blocks[index].insts, most);
            let insts = std::mem::take(&mut function.blocks[index].insts);
            function.blocks[index].insts = with_branches(insts, groups, &mut function.regs);
        }
    }
}

/// The groups of loads in a block, in order. Loads beyond `most` registers belong to none: they may move.
fn groups(insts: &[MInst], most: u32) -> Vec<Group> {
    let mut known = Known::default();
    let (mut groups, mut group) = (Vec::new(), Group::default());
    for (place, inst) in insts.iter().enumerate() {
        let loads = loaded_bytes(inst, &mut known).div_ceil(4);
        let mut reads = false;
        inst.each_use(|reg| reads |= group.written.contains(reg));
        if reads && (loads > 0 || !is_unpacking(inst)) {
            groups.push(std::mem::take(&mut group));
            reads = false;
        }
        if loads > 0 && group.registers + loads <= most {
            group.first = if group.loads == 0 { place } else { group.first };
            group.last = place;
            group.loads += 1;
            group.registers += loads;
        } else if reads {
            group.unpacking.push(place);
        } else {
            continue;
        }
        inst.each_def(|reg| _ = group.written.insert(reg));
    }
    groups.push(group);
    groups.retain(|group| group.loads > 0);
    groups
}

/// The instructions of a block with a branch behind each group of loads that is worth one.
fn with_branches(insts: Vec<MInst>, groups: Vec<Group>, regs: &mut PrimaryMap<Reg, Class>) -> Vec<MInst> {
    let ends: Vec<usize> = groups.iter().skip(1).map(|next| next.first).chain([insts.len()]).collect();
    let is_worth_it = |(group, end): &(Group, usize)| {
        let behind = &insts[group.last + 1..*end];
        let mut work = Work::default();
        let mut known = Known::default();
        behind.iter().for_each(|inst| work.add(inst, &mut known));
        group.loads >= LEAST_LOADS
            && behind.len() + group.unpacking.len() >= LEAST_BEHIND
            && !work.waits
            && !work.is_demanding
    };
    let chosen: Vec<Group> =
        groups.into_iter().zip(ends).filter(is_worth_it).map(|(group, _)| group).collect();
    let mut chosen = chosen.into_iter().peekable();
    let mut out = Vec::with_capacity(insts.len() + 8);
    let mut late = Vec::new();
    for (place, inst) in insts.into_iter().enumerate() {
        let is_late = chosen.peek().is_some_and(|group| group.unpacking.binary_search(&place).is_ok());
        if is_late {
            late.push(inst)
        } else {
            out.push(inst)
        }
        if chosen.next_if(|group| group.last == place).is_some() {
            out.extend(never_taken(regs));
            out.append(&mut late);
        }
    }
    out
}

/// Bytes from device memory that an instruction loads into registers.
fn loaded_bytes<'a>(inst: &'a MInst, known: &mut Known<'a>) -> u32 {
    let mut of = |name: &'a str| {
        let about = known.of(name);
        if about.role == Role::Access && inst.defs > 0 { about.bytes } else { 0 }
    };
    match &inst.text {
        Text::Plain(name) => of(name),
        Text::Asm(asm) => ptx_isa::mnemonics(&asm.text).map(of).sum(),
        Text::Copy | Text::Call(_) => 0,
    }
}

/// Whether an instruction only takes a word apart or moves it, and may come later.
fn is_unpacking(inst: &MInst) -> bool {
    const MOVES: [&str; 6] = ["mov.", "cvt.", "prmt.", "shl.", "shr.", "and."];
    match &inst.text {
        Text::Copy => true,
        Text::Plain(name) => MOVES.iter().any(|one| name.starts_with(one)),
        Text::Asm(_) | Text::Call(_) => false,
    }
}

/// A branch that is never taken, and that the assembler cannot know of.
fn never_taken(regs: &mut PrimaryMap<Reg, Class>) -> [MInst; 3] {
    let (programs, none) = (regs.push(Class::B32), regs.push(Class::Pred));
    let inst = |text, defs, operands| MInst { text, defs, operands, location: None };
    let trap = AsmText { text: "@ trap;".into(), places: vec![(1, 0)], ties: SmallVec::new(), early: false };
    let grid = Operand::Name("%nctaid.x".into());
    [
        inst(Text::Plain("mov.u32".into()), 1, smallvec![Operand::Reg(programs), grid]),
        inst(
            Text::Plain("setp.eq.b32".into()),
            1,
            smallvec![Operand::Reg(none), Operand::Reg(programs), Operand::Int(0)],
        ),
        inst(Text::Asm(Box::new(trap)), 0, smallvec![Operand::Reg(none)]),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::machine::{Class, Edge, End, MBlock, MFunction, MInst, Operand, Reg, Text};
    use super::keep_loads_early;
    use cranelift_entity::{EntityRef, PrimaryMap};
    use llir::Block;
    use smallvec::{SmallVec, smallvec};
    use std::collections::BTreeMap;

    /// What stands in a block: so many rounds of a load of four words and of what takes its first word apart, then
    /// `behind`, then so many sums of what was taken apart.
    fn insts(
        regs: &mut PrimaryMap<Reg, Class>,
        loads: usize,
        behind: &[&'static str],
        sums: usize,
    ) -> Vec<MInst> {
        let inst = |name: &'static str, defs: &[Reg], uses: &[Reg]| MInst {
            text: Text::Plain(name.into()),
            defs: defs.len(),
            operands: defs.iter().chain(uses).map(|reg| Operand::Reg(*reg)).collect(),
            location: None,
        };
        let mut out = Vec::new();
        let mut halves = Vec::new();
        for _ in 0..loads {
            let words: Vec<Reg> = (0..4).map(|_| regs.push(Class::B32)).collect();
            let half = regs.push(Class::B16);
            let list = Operand::list(words.iter().map(|reg| Operand::Reg(*reg)));
            let load = Text::Plain("ld.global.v4.b32".into());
            out.push(MInst { text: load, defs: 1, operands: smallvec![list], location: None });
            out.push(inst("mov.b32", &[half], &words[..1]));
            halves.push(half);
        }
        out.extend(behind.iter().map(|name| inst(name, &[], &[])));
        for number in 0..sums {
            let sum = regs.push(Class::B16);
            out.push(inst("add.f16", &[sum], &[halves[number % loads]]));
        }
        out
    }

    /// The runs of equal instructions in the block after the pass; `is_loop`: whether it jumps back to itself.
    fn order(loads: usize, behind: &[&'static str], sums: usize, is_loop: bool) -> String {
        let mut regs = PrimaryMap::new();
        let insts = insts(&mut regs, loads, behind, sums);
        let mut before: BTreeMap<String, usize> = BTreeMap::new();
        insts.iter().for_each(|inst| *before.entry(format!("{:?}", inst.operands)).or_default() += 1);
        let block = Block::new(0);
        let end = if is_loop {
            End::Jump(Edge { block, copies: Vec::new() })
        } else {
            End::Return(SmallVec::new())
        };
        let blocks = vec![MBlock { block, params: Vec::new(), insts, end }];
        let mut function = MFunction { blocks, regs, stack: (0, 1) };
        keep_loads_early(&mut function, 128);
        let mut runs: Vec<(&str, usize)> = Vec::new();
        for inst in &function.blocks[0].insts {
            if let Some(count) = before.get_mut(&format!("{:?}", inst.operands)) {
                *count -= 1;
            }
            let name = match &inst.text {
                Text::Plain(name) => name.split('.').next().unwrap_or_default(),
                Text::Asm(asm) => asm.text.as_str(),
                Text::Copy | Text::Call(_) => "",
            };
            match runs.last_mut() {
                Some((last, count)) if *last == name => *count += 1,
                _ => runs.push((name, 1)),
            }
        }
        assert!(before.values().all(|left| *left == 0), "every instruction stays, once");
        runs.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn loads_of_a_loop_come_first() {
        assert_eq!(order(4, &[], 120, true), "4 ld, 1 mov, 1 setp, 1 @ trap;, 4 mov, 120 add");
        // The first 24 have 96 registers; the others may move.
        let many = order(26, &[], 120, true);
        assert_eq!(many, "24 ld, 1 mov, 1 setp, 1 @ trap;, 24 mov, 1 ld, 1 mov, 1 ld, 1 mov, 120 add");
    }

    #[test]
    fn nothing_changes_where_it_would_not_pay() {
        let plain = |loads: usize, rest: &str| {
            let rounds = vec!["1 ld, 1 mov"; loads].join(", ");
            format!("{rounds}, {rest}")
        };
        assert_eq!(order(3, &[], 120, true), plain(3, "120 add"), "few loads");
        assert_eq!(order(4, &[], 40, true), plain(4, "40 add"), "little behind them");
        assert_eq!(order(4, &["bar.sync"], 120, true), plain(4, "1 bar, 120 add"), "lanes wait");
        let dot = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
        assert_eq!(order(4, &[dot], 120, true), plain(4, "1 mma, 120 add"), "a loop with dots");
    }

    #[test]
    fn without_loops_memory_must_decide_by_far() {
        assert!(
            order(8, &[], 100, false).starts_with("8 ld, 1 mov, 1 setp, 1 @ trap;, 8 mov"),
            "1.1 bytes each"
        );
        assert!(order(8, &[], 300, false).starts_with("1 ld, 1 mov, 1 ld"), "0.4 bytes each");
        assert!(order(8, &["bar.sync"], 100, false).starts_with("1 ld, 1 mov, 1 ld"), "lanes wait");
    }
}
