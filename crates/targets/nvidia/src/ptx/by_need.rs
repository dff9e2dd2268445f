//! Puts what only computes in front of what needs it, where more programs share an SM by that.
//!
//! ```text
//! mul.lo %r1, %a, 7;  mul.lo %r2, %b, 7;             mul.lo %r1, %a, 7;  xor %r3, %r1, 9;  st [%p], %r3;
//! xor %r3, %r1, 9;  xor %r4, %r2, 9;           =>    mul.lo %r2, %b, 7;  xor %r4, %r2, 9;  st [%q], %r4;
//! st [%p], %r3;  st [%q], %r4;
//! ```
//!
//! A block of values is computed operation by operation, so that all elements of each step are in use at a time:
//! random numbers of 32 elements a lane keep four words of each. `ptxas` mixes the chains of elements, but begins from
//! the order of the text: a layer norm with dropout of 8192 columns by 8 warps takes 96 registers in place of 168.
//! Loads, stores and exchanges keep their order, and everything stays between the same two of what lanes wait at.
//! Left out: functions with loops, matrix instructions or calls.

use super::machine::{MBlock, MFunction, MInst, Reg, Text};
use super::work::{InUse, Known, Work, loops, programs, waits};
use cranelift_entity::{EntitySet, SecondaryMap};

/// Orders the instructions of a function of so many lanes by need, if an SM holds more programs then.
pub(super) fn order_by_need(function: &mut MFunction, lanes: u32) {
    let mut known = Known::default();
    let is_demanding = function.blocks.iter().any(|block| Work::of(block, &mut known).is_demanding);
    if is_demanding || !loops(function).is_empty() {
        return;
    }
    let before = InUse::of(function, &mut known).anywhere;
    let orders: Vec<Option<Vec<usize>>> =
        function.blocks.iter().map(|block| Order::of(block, &mut Known::default())).collect();
    let mut ordered = function.clone();
    for (block, order) in ordered.blocks.iter_mut().zip(orders) {
        let Some(order) = order else { continue };
        let mut insts: Vec<Option<MInst>> = std::mem::take(&mut block.insts).into_iter().map(Some).collect();
        block.insts = order.into_iter().filter_map(|place| insts[place].take()).collect();
    }
    let after = InUse::of(&ordered, &mut Known::default()).anywhere;
    if programs(lanes, after) > programs(lanes, before) {
        *function = ordered;
    }
}

/// The order of a block as it grows.
struct Order<'a> {
    insts: &'a [MInst],
    /// Which instructions only compute, and so may move.
    moves: Vec<bool>,
    /// The instruction that writes a register, one behind its place.
    makers: SecondaryMap<Reg, usize>,
    placed: Vec<bool>,
    order: Vec<usize>,
}

impl<'a> Order<'a> {
    /// The places of a block's instructions by need; `None` where a register is written twice.
    fn of(block: &'a MBlock, known: &mut Known<'a>) -> Option<Vec<usize>> {
        let insts = &block.insts;
        let mut makers: SecondaryMap<Reg, usize> = SecondaryMap::new();
        let mut is_written_twice = false;
        for (place, inst) in insts.iter().enumerate() {
            inst.each_def(|reg| {
                is_written_twice |= makers[reg] != 0;
                makers[reg] = place + 1;
            });
        }
        if is_written_twice {
            return None;
        }
        let moves =
            insts.iter().map(|inst| inst.only_computes() && !matches!(inst.text, Text::Asm(_))).collect();
        let placed = vec![false; insts.len()];
        let mut order = Order { insts, moves, makers, placed, order: Vec::with_capacity(insts.len()) };
        let mut begin = 0;
        for (place, inst) in insts.iter().enumerate() {
            if order.moves[place] {
                continue;
            }
            if matches!(&inst.text, Text::Plain(mnemonic) if waits(known.of(mnemonic).role)) {
                order.place_rest(begin..place);
                begin = place;
            }
            order.place(place);
        }
        order.place_rest(begin..insts.len());
        Some(order.order)
    }

    /// Places an instruction behind all that it needs.
    fn place(&mut self, place: usize) {
        let mut open = vec![(place, false)];
        while let Some((place, is_ready)) = open.pop() {
            if self.placed[place] {
                continue;
            }
            if is_ready {
                self.placed[place] = true;
                self.order.push(place);
                continue;
            }
            open.push((place, true));
            let first = open.len();
            self.insts[place].each_use(|reg| {
                let maker = self.makers[reg].wrapping_sub(1);
                if maker < place && self.moves[maker] && !self.placed[maker] {
                    open.push((maker, false));
                }
            });
            // The first operand comes first.
            open[first..].reverse();
        }
    }

    /// Places what is left between two places: what nothing there needs, in order, each behind what it needs.
    fn place_rest(&mut self, places: std::ops::Range<usize>) {
        let left: Vec<usize> = places.filter(|&place| !self.placed[place]).collect();
        let mut needed: EntitySet<Reg> = EntitySet::new();
        left.iter().for_each(|&place| self.insts[place].each_use(|reg| _ = needed.insert(reg)));
        for &place in &left {
            let mut is_needed = false;
            self.insts[place].each_def(|reg| is_needed |= needed.contains(reg));
            if !is_needed {
                self.place(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine::{Base, Class, End, MBlock, MFunction, MInst, Operand, Reg, Text};
    use super::{Known, Order, order_by_need};
    use cranelift_entity::{EntityRef, PrimaryMap};
    use llir::Block;
    use smallvec::SmallVec;

    /// A function of one block that grows by an instruction at a time.
    #[derive(Default)]
    struct Chains {
        regs: PrimaryMap<Reg, Class>,
        insts: Vec<MInst>,
    }

    impl Chains {
        fn push(&mut self, mnemonic: &'static str, result: Option<Reg>, uses: &[Operand]) {
            let operands: SmallVec<[Operand; 4]> =
                result.map(Operand::Reg).into_iter().chain(uses.iter().cloned()).collect();
            let text = Text::Plain(mnemonic.into());
            self.insts.push(MInst { text, defs: result.iter().len(), operands, location: None });
        }

        fn made(&mut self, mnemonic: &'static str, uses: &[Operand]) -> Reg {
            let result = self.regs.push(Class::B32);
            self.push(mnemonic, Some(result), uses);
            result
        }

        /// So many words, each loaded, multiplied, mixed and stored, step by step.
        fn steps(words: usize, between: &'static str) -> Chains {
            let mut chains = Chains::default();
            let base = chains.regs.push(Class::B64);
            let at = |word: usize| Operand::Address(Base::Reg(base), 4 * word as i64);
            let each: Vec<usize> = (0..words).collect();
            let loaded: Vec<Reg> =
                each.iter().map(|&word| chains.made("ld.global.b32", &[at(word)])).collect();
            let step = |chains: &mut Chains, name, from: &[Reg]| -> Vec<Reg> {
                from.iter().map(|&x| chains.made(name, &[Operand::Reg(x), Operand::Int(7)])).collect()
            };
            let low = step(&mut chains, "mul.lo.s32", &loaded);
            let high = step(&mut chains, "mul.hi.u32", &loaded);
            chains.push(between, None, &[Operand::Int(0)]);
            let mixed: Vec<Reg> = (low.iter().zip(&high))
                .map(|(&low, &high)| chains.made("xor.b32", &[Operand::Reg(low), Operand::Reg(high)]))
                .collect();
            for (word, &reg) in mixed.iter().enumerate() {
                chains.push("st.global.b32", None, &[at(word), Operand::Reg(reg)]);
            }
            chains
        }

        fn ordered(self, lanes: u32) -> Vec<String> {
            let end = End::Return(SmallVec::new());
            let block = MBlock { block: Block::new(0), params: Vec::new(), insts: self.insts, end };
            let mut function = MFunction { blocks: vec![block], regs: self.regs, stack: (0, 1) };
            order_by_need(&mut function, lanes);
            let name = |inst: &MInst| match &inst.text {
                Text::Plain(name) => name.split('.').next().expect("a word").to_owned(),
                _ => String::new(),
            };
            function.blocks[0].insts.iter().map(name).collect()
        }
    }

    fn repeat(parts: &[(&[&str], usize)]) -> Vec<String> {
        let each = parts.iter().flat_map(|(names, count)| names.repeat(*count));
        each.map(str::to_owned).collect()
    }

    /// The steps of so many words as they were made.
    fn stepwise(words: usize, between: &str) -> Vec<String> {
        let steps: [(&[&str], usize); 5] =
            [(&["ld"], words), (&["mul"], 2 * words), (&[between], 1), (&["xor"], words), (&["st"], words)];
        repeat(&steps)
    }

    #[test]
    fn chains_follow_each_other() {
        // Loads keep their places; a fence of memory holds nothing back.
        let chains: (&[&str], usize) = (&["mul", "mul", "xor", "st"], 16);
        let by_need = repeat(&[(&["ld"], 16), (&["membar"], 1), chains]);
        assert_eq!(Chains::steps(16, "membar.gl").ordered(1024), by_need);
        // As many programs share an SM either way.
        assert_eq!(Chains::steps(4, "membar.gl").ordered(1024), stepwise(4, "membar"));
        // All products are in use where lanes wait, in any order.
        assert_eq!(Chains::steps(16, "bar.sync").ordered(1024), stepwise(16, "bar"));
    }

    #[test]
    fn nothing_moves_behind_what_lanes_wait_at() {
        let insts = Chains::steps(4, "bar.sync").insts;
        let end = End::Return(SmallVec::new());
        let block = MBlock { block: Block::new(0), params: Vec::new(), insts, end };
        let order = Order::of(&block, &mut Known::default()).expect("each register is written once");
        // Loads 0 to 3, products 4 to 11, the barrier 12, sums 13 to 16 each in front of its store 17 to 20.
        let stores = [13, 17, 14, 18, 15, 19, 16, 20];
        assert_eq!(order, (0..13).chain(stores).collect::<Vec<usize>>());
    }

    #[test]
    fn carries_and_registers_that_change_stay() {
        let mut chains = Chains::steps(16, "membar.gl");
        let (first, second) = (Reg::new(1), Reg::new(2));
        chains.push("mov.b32", Some(first), &[Operand::Reg(second)]);
        let names = stepwise(16, "membar");
        assert_eq!(chains.ordered(1024)[..names.len()], names, "a register is written twice");
        for (mnemonic, computes) in [
            ("add.s32", true),
            ("add.cc.u32", false),
            ("addc.u32", false),
            ("madc.lo.u32", false),
            ("cvt.rn.f16x2.f32", true),
            ("mul.wide.u32", true),
            ("shfl.sync.bfly.b32", false),
            ("ld.shared.b32", false),
            ("atom.global.add.u32", false),
            ("vote.sync.ballot.b32", false),
        ] {
            assert_eq!(ptx_isa::computes(mnemonic), computes, "{mnemonic}");
        }
    }
}
