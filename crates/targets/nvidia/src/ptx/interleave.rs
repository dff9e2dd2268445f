//! Puts what only later matrix instructions of a dot need behind the earlier ones, which are under way meanwhile.
//!
//! ```text
//! shl %a0, %w0, 4;  mul.bf16x2 %b0, %a0, %s0;          shl %a0, %w0, 4;  mul.bf16x2 %b0, %a0, %s0;
//! shl %a1, %w1, 4;  mul.bf16x2 %b1, %a1, %s1;    =>    wgmma.fence;  wgmma.mma_async %c, {%b0}, …
//! wgmma.fence;  wgmma.mma_async %c, {%b0}, …           shl %a1, %w1, 4;  mul.bf16x2 %b1, %a1, %s1;
//! wgmma.fence;  wgmma.mma_async %c, {%b1}, …           wgmma.fence;  wgmma.mma_async %c, {%b1}, …
//! ```
//!
//! Weights of four or eight bits are unpacked to left operands so; without this the matrix units wait for all of them.
//! Only what computes moves, and only in front of instructions that begin with a fence of their own (`lower::matrix`).

use super::machine::{MBlock, MFunction, MInst, Reg, Text};
use cranelift_entity::SecondaryMap;

/// What such instructions begin with.
const FENCE: &str = "wgmma.fence.sync.aligned";

/// Moves instructions of a function.
pub(super) fn interleave(function: &mut MFunction) {
    for block in &mut function.blocks {
        if block.insts.iter().filter(|inst| begins_with_fence(inst)).count() > 1 {
            let order = order(block);
            let mut insts: Vec<Option<MInst>> =
                std::mem::take(&mut block.insts).into_iter().map(Some).collect();
            block.insts = order.into_iter().filter_map(|place| insts[place].take()).collect();
        }
    }
}

/// The places of the instructions of a block in their new order.
fn order(block: &MBlock) -> Vec<usize> {
    let insts = &block.insts;
    let mut defs: SecondaryMap<Reg, Vec<usize>> = SecondaryMap::new();
    for (place, inst) in insts.iter().enumerate() {
        inst.each_def(|reg| defs[reg].push(place));
    }
    // In front of which place a register is wanted first: the end of the block where none is.
    let mut wanted: SecondaryMap<Reg, usize> = SecondaryMap::with_default(usize::MAX);
    let end = insts.len();
    block.end.each_use(|reg| wanted[reg] = end);
    // Behind each place, what stands in front of a matrix instruction.
    let mut moved: Vec<Vec<usize>> = vec![Vec::new(); end];
    let mut stays = vec![true; end];
    let mut is_first = vec![false; end];
    if let Some(first) = insts.iter().position(begins_with_fence) {
        is_first[first] = true;
    }
    for (place, inst) in insts.iter().enumerate().rev() {
        let mut target = usize::MAX;
        inst.each_def(|reg| target = target.min(wanted[reg]));
        let may_move = target < end && begins_with_fence(&insts[target]) && !is_first[target];
        let mut at = place;
        if may_move && inst.only_computes() && keeps_its_meaning(inst, &defs, place, target) {
            moved[target].push(place);
            stays[place] = false;
            at = target;
        }
        inst.each_use(|reg| wanted[reg] = wanted[reg].min(at));
    }
    let mut order = Vec::with_capacity(end);
    for place in 0..end {
        order.extend(moved[place].iter().rev());
        order.extend(stays[place].then_some(place));
    }
    order
}

/// Whether an instruction computes the same in front of a later place: what it reads is not written in between, and
/// what it writes is written by it alone.
fn keeps_its_meaning(
    inst: &MInst,
    defs: &SecondaryMap<Reg, Vec<usize>>,
    place: usize,
    target: usize,
) -> bool {
    let mut keeps = true;
    inst.each_use(|reg| keeps &= !defs[reg].iter().any(|def| (place..target).contains(def)));
    inst.each_def(|reg| keeps &= defs[reg].len() == 1);
    keeps
}

fn begins_with_fence(inst: &MInst) -> bool {
    matches!(&inst.text, Text::Asm(asm) if asm.text.starts_with(FENCE) && asm.text.contains("wgmma.mma_async"))
}

#[cfg(test)]
mod tests {
    use super::super::machine::{AsmText, Class, End, MBlock, MFunction, MInst, Operand, Reg, Text};
    use super::{FENCE, interleave};
    use cranelift_entity::{EntityRef, PrimaryMap};
    use llir::Block;
    use smallvec::SmallVec;

    fn inst(text: Text, result: Option<Reg>, uses: &[Reg]) -> MInst {
        let operands = result.iter().chain(uses).map(|&reg| Operand::Reg(reg)).collect();
        MInst { text, defs: result.iter().len(), operands, location: None }
    }

    fn plain(mnemonic: &'static str, result: Reg, uses: &[Reg]) -> MInst {
        inst(Text::Plain(mnemonic.into()), Some(result), uses)
    }

    fn asm(text: &str, result: Reg, uses: &[Reg]) -> MInst {
        let text = AsmText { text: text.into(), places: Vec::new(), ties: SmallVec::new(), early: false };
        inst(Text::Asm(Box::new(text)), Some(result), uses)
    }

    /// The names of instructions in their new order: the number of the register that each writes.
    fn ordered(registers: usize, insts: Vec<MInst>, out: &[Reg]) -> Vec<usize> {
        let mut regs: PrimaryMap<Reg, Class> = PrimaryMap::new();
        (0..registers).for_each(|_| _ = regs.push(Class::B32));
        let end = End::Return(out.iter().map(|&reg| Operand::Reg(reg)).collect());
        let block = MBlock { block: Block::new(0), params: Vec::new(), insts, end };
        let mut function = MFunction { blocks: vec![block], regs, stack: (0, 1) };
        interleave(&mut function);
        let mut order = Vec::new();
        function.blocks[0].insts.iter().for_each(|inst| inst.each_def(|reg| order.push(reg.index())));
        order
    }

    /// Two words are unpacked in two steps each, the second of which is assembly; a third value is made of both.
    fn two_parts(matrix: &str, second: &str) -> Vec<MInst> {
        let [w0, w1, a0, a1, b0, b1, both, c0, c1] = std::array::from_fn(Reg::new);
        vec![
            plain("shl.b32", a0, &[w0]),
            plain("shl.b32", a1, &[w1]),
            plain("and.b32", both, &[a0, a1]),
            asm(second, b0, &[a0]),
            asm(second, b1, &[a1]),
            asm(matrix, c0, &[b0, both]),
            asm(matrix, c1, &[b1, both, c0]),
        ]
    }

    fn matrix() -> String {
        format!("{FENCE};\n wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 ;")
    }

    const UNPACKS: &str =
        "{\n.reg .b32 t; // a register of its own\n and.b32 t, , 3;\n mul.bf16x2 , t, t;\n}";

    #[test]
    fn what_the_second_part_needs_comes_behind_the_first() {
        // The shift of the second word stays, as both parts need what is made of it.
        let order = ordered(9, two_parts(&matrix(), UNPACKS), &[Reg::new(8)]);
        assert_eq!(order, [2, 3, 6, 4, 7, 5, 8]);
    }

    #[test]
    fn what_has_an_effect_stays() {
        let as_it_was = [2, 3, 6, 4, 5, 7, 8];
        let out = [Reg::new(8)];
        for second in [
            "st.global.b32 [], ;",
            "mov.u32 , %clock;",
            "// none\n atom.global.add.u32 , [], 1;",
            "/* none */ st.global.b32 [], ;",
        ] {
            assert_eq!(ordered(9, two_parts(&matrix(), second), &out), as_it_was, "{second}");
        }
        let without_fence = matrix().replace(FENCE, "");
        assert_eq!(ordered(9, two_parts(&without_fence, UNPACKS), &out), as_it_was);
        // What would read another value there.
        let mut insts = two_parts(&matrix(), UNPACKS);
        insts.insert(5, plain("add.s32", Reg::new(3), &[Reg::new(3)]));
        assert_eq!(ordered(9, insts, &out), [2, 3, 6, 4, 5, 3, 7, 8]);
    }
}
