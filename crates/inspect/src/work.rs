//! What one program does: operations by kind and bytes by access, as amounts that name the loops they depend on.
//!
//! Integer arithmetic is not counted: most of it makes addresses. Both sides of a condition are counted, and masked-off
//! elements count as accessed: the amounts are upper bounds.

use crate::loops::{Amount, Loop};
use ir::{Block, Effect, Module, Op, Rates, Traits, Type};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use ttgir::ops::access::{addresses, block};
use ttir::ops::control::IF;
use ttir::ops::dot::MatmulOp;
use ttir::ops::func::FuncOp;
use ttir::ops::reduce::{CombineOp, SCAN};
use ttir::types::{elem, numel, shape};

/// How an operation touches memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes, or waits for others.
    Atomic,
}

impl Kind {
    /// In one word.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Load => "load",
            Kind::Store => "store",
            Kind::Atomic => "atomic",
        }
    }
}

/// What an access moves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Touch {
    pub(crate) kind: Kind,
    pub(crate) elem: Type,
    pub(crate) elements: u64,
    pub(crate) by_address: bool,
}

impl Touch {
    pub(crate) fn bytes(&self) -> u64 {
        self.elements * ttir::types::elem_bytes(self.elem)
    }
}

/// How an operation touches the memory of the device, if it does.
pub(crate) fn touch(module: &Module, op: Op) -> Option<Touch> {
    let kind = module.row(op).operands.iter().find_map(|spec| kind_of(spec.effect))?;
    let (elem, elements, by_address) = if let Some(addresses) = addresses(module, op) {
        let ty = module.ty(addresses);
        (ttir::types::pointee(ty)?, numel(ty), true)
    } else {
        let ty = module.ty(block(module, op)?);
        match ttgir::types::memdesc(ty) {
            Some(desc) => (desc.elem, desc.shape.iter().product::<i64>(), false),
            None => (elem(ty), numel(ty), false),
        }
    };
    Some(Touch { kind, elem, elements: elements as u64, by_address })
}

/// An access, by its effect on the memory of the device, which stands first in its row.
fn kind_of(effect: Effect) -> Option<Kind> {
    match effect {
        Effect::Read | Effect::ReadUntil(_) => Some(Kind::Load),
        Effect::Write | Effect::WriteUntil(_) | Effect::WriteGuarded => Some(Kind::Store),
        Effect::Atomic => Some(Kind::Atomic),
        Effect::Unknown | Effect::Nothing | Effect::Allocate => None,
    }
}

/// What one program does.
#[derive(Default, Debug)]
pub(crate) struct Work {
    /// Operations by the name of their rate, without dots.
    pub(crate) arithmetic: BTreeMap<String, Amount>,
    /// Operations of dots.
    pub(crate) dots: Vec<(Op, Amount)>,
    /// Accesses, with the loops around them.
    pub(crate) accesses: Vec<(Op, Touch, Vec<usize>)>,
}

/// Counts what a kernel does.
pub(crate) fn count(module: &Module, kernel: Op, loops: &[Loop]) -> Work {
    let numbers = loops.iter().enumerate().map(|(index, one)| (one.op, index)).collect();
    let mut counter = Counter { module, numbers, nest: Vec::new(), work: Work::default() };
    counter.block(FuncOp::new(module, kernel).entry());
    counter.work
}

struct Counter<'a> {
    module: &'a Module,
    numbers: FxHashMap<Op, usize>,
    nest: Vec<usize>,
    work: Work,
}

impl Counter<'_> {
    fn block(&mut self, block: Block) {
        let module = self.module;
        for op in module.ops(block) {
            let is_loop = module.has(op, Traits::LOOP);
            if is_loop || module.is(op, &IF) {
                self.nest.extend(self.numbers.get(&op));
                for &region in module.regions(op) {
                    module.blocks(region).iter().for_each(|block| self.block(*block));
                }
                if is_loop {
                    self.nest.pop();
                }
            } else {
                self.op(op);
            }
        }
    }

    fn op(&mut self, op: Op) {
        let module = self.module;
        if let Some(touch) = touch(module, op) {
            self.work.accesses.push((op, touch, self.nest.clone()));
        } else if let Some(dot) = MatmulOp::of(module, op) {
            let depth = ttgir::ops::scaled_dot::depth(module, dot);
            let mut amount = Amount::default();
            amount.add(&self.nest, 2.0 * (numel(module.ty(module.result(op, 0))) * depth) as f64);
            self.work.dots.push((op, amount));
        } else if let Some(combine) = CombineOp::of(module, op) {
            self.combined(combine);
        } else if module.row(op).rates != Rates::NONE {
            let ty = module.ty(module.result(op, 0));
            if !shape(ty).is_empty() {
                self.arithmetic(op, numel(ty) as f64);
            }
        }
    }

    /// Counts what an operation does for so many elements.
    fn arithmetic(&mut self, op: Op, elements: f64) {
        let Rates { own, special } = self.module.row(op).rates;
        let ty = elem(self.module.ty(self.module.result(op, 0)));
        self.add(&ty.to_string(), own * elements);
        self.add("special", special * elements);
    }

    fn add(&mut self, rate: &str, amount: f64) {
        if amount > 0.0 {
            self.work.arithmetic.entry(rate.to_owned()).or_default().add(&self.nest, amount);
        }
    }

    /// Every element is combined with another once; in a scan about twice.
    fn combined(&mut self, op: CombineOp<'_>) {
        let module = op.module;
        let elements = numel(module.ty(op.srcs()[0])) as f64;
        let times = if module.is(op.op, &SCAN) { 2.0 } else { 1.0 };
        for inner in module.ops(op.block()).filter(|&inner| module.row(inner).rates != Rates::NONE) {
            self.arithmetic(inner, elements * times);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, count, touch};
    use ir::text::ParseOptions;
    use ttir::ops::func::FUNC;

    #[test]
    fn what_a_descriptor_moves_is_its_block() {
        let text = r#"
tt.func public @copy(%d: !tt.tensordesc<8x16xf16>, %i: i32) {
  %x = tt.descriptor_load %d[%i, %i] : !tt.tensordesc<8x16xf16> -> tensor<8x16xf16>
  tt.descriptor_store %d[%i, %i], %x : !tt.tensordesc<8x16xf16>, tensor<8x16xf16>
  tt.return
}
"#;
        let module = ir::text::parse(text, ttgir::registry(), ParseOptions { file: None }).expect("parses");
        let touches: Vec<_> =
            module.walk(module.top()).into_iter().filter_map(|op| touch(&module, op)).collect();
        let found: Vec<_> = touches.iter().map(|touch| (touch.kind, touch.bytes())).collect();
        assert_eq!(found, [(Kind::Load, 256), (Kind::Store, 256)]);
    }

    #[test]
    fn functions_of_libraries_count_as_those_of_the_language() {
        let text = r#"
tt.func public @both(%x: tensor<64xf32>) {
  %a = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__nv_tanhf"}
    : (tensor<64xf32>) -> tensor<64xf32>
  %b = math.exp %a : tensor<64xf32>
  tt.return
}
"#;
        let module = ir::text::parse(text, ttgir::registry(), ParseOptions { file: None }).expect("parses");
        let is_kernel = |op: &ir::Op| module.is(*op, &FUNC);
        let kernel = module.walk(module.top()).into_iter().find(is_kernel).expect("there is one");
        let work = count(&module, kernel, &[]);
        assert_eq!(work.arithmetic["special"].value(&[]), 128.0);
    }
}
