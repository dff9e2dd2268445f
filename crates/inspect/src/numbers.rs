//! Integers and addresses of a program, element by element, for arguments that are given or assumed.
//!
//! A value is asked for at one position of its block and worked out backwards from there, by the meaning that each
//! operation's row has; nothing is run. What a loop carries is followed for two iterations and taken to go on as it
//! began, which is how counters and addresses move. What comes from memory is not known.

use ir::view::EnumAttr;
use ir::{Attr, Block, Def, Elements, EvalArgs, Module, Op, Traits, Value};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use std::cell::RefCell;
use ttir::ops::compare::SelectOp;
use ttir::ops::constant::{ConstantOp, splat_bits};
use ttir::ops::control::{FOR, ForOp, IfOp, yielded};
use ttir::ops::forms::UnaryOp;
use ttir::ops::program::{GET_PROGRAM_ID, ProgramIdOp};
use ttir::ops::shape::{
    BROADCAST, EXPAND_DIMS, ExpandDimsOp, MakeRangeOp, RESHAPE, SPLAT, TRANS, TransOp, UNSPLAT,
};
use ttir::types::{elem, pointee, shape};

/// A position in a block.
pub(crate) type Index = SmallVec<[i64; 4]>;

/// What is taken for known.
#[derive(Clone, Default, Debug)]
pub(crate) struct Setting {
    /// Values of the parameters.
    pub(crate) params: FxHashMap<Value, u64>,
    /// The program.
    pub(crate) program: [i64; 3],
    /// The size of the grid.
    pub(crate) grid: [i64; 3],
    /// The iteration that each loop is in; the first where it is not said.
    pub(crate) iterations: FxHashMap<Op, i64>,
}

/// Works out values under one setting.
pub(crate) struct Numbers<'a> {
    module: &'a Module,
    setting: Setting,
    known: RefCell<FxHashMap<(Value, Index), Option<u64>>>,
}

impl<'a> Numbers<'a> {
    pub(crate) fn new(module: &'a Module, setting: Setting) -> Numbers<'a> {
        Numbers { module, setting, known: RefCell::default() }
    }

    /// The same program with a loop in another iteration.
    fn in_iteration(&self, op: Op, iteration: i64) -> Numbers<'a> {
        let mut setting = self.setting.clone();
        setting.iterations.insert(op, iteration);
        Numbers::new(self.module, setting)
    }

    /// The value of an integer scalar, signed.
    pub(crate) fn scalar(&self, value: Value) -> Option<i64> {
        let bits = self.bits(value, &smallvec![])?;
        Some(match elem(self.module.ty(value)).as_int() {
            Some(width) => ir::scalar::sign_extend(width, bits),
            None => bits as i64,
        })
    }

    /// The bits of an integer, truth value or address at a position.
    pub(crate) fn bits(&self, value: Value, index: &Index) -> Option<u64> {
        let key = (value, index.clone());
        if let Some(known) = self.known.borrow().get(&key) {
            return *known;
        }
        let found = match self.module.def(value) {
            Def::Result(op, number) => self.result(op, number as usize, index),
            Def::Arg(block, number) => self.argument(block, number as usize, value, index),
        };
        self.known.borrow_mut().insert(key, found);
        found
    }

    fn argument(&self, block: Block, number: usize, value: Value, index: &Index) -> Option<u64> {
        let op = self.module.region_parent(self.module.block_region(block))?;
        let Some(of) = ForOp::of(self.module, op) else {
            return self.setting.params.get(&value).copied();
        };
        let iteration = self.setting.iterations.get(&op).copied().unwrap_or(0);
        if number == 0 {
            let (lower, step) = (self.scalar(of.lower()), self.scalar(of.step()));
            return Some((lower? + iteration * step?) as u64);
        }
        self.carried(op, number - 1, iteration, index)
    }

    /// What a loop carries at the beginning of an iteration.
    fn carried(&self, op: Op, number: usize, iteration: i64, index: &Index) -> Option<u64> {
        let of = ForOp::new(self.module, op);
        let start = self.bits(of.inits()[number], index)?;
        if iteration <= 0 {
            return Some(start);
        }
        let yielded = of.yielded()[number];
        let first = self.in_iteration(op, 0).bits(yielded, index)?;
        if iteration == 1 {
            return Some(first);
        }
        let second = self.in_iteration(op, 1).bits(yielded, index)?;
        let step = second.wrapping_sub(first);
        (first.wrapping_sub(start) == step).then(|| start.wrapping_add((iteration as u64).wrapping_mul(step)))
    }

    /// How often a loop runs.
    pub(crate) fn trips(&self, op: Op) -> Option<i64> {
        let of = ForOp::new(self.module, op);
        let (lower, upper, step) =
            (self.scalar(of.lower())?, self.scalar(of.upper())?, self.scalar(of.step())?);
        (step > 0).then(|| ((upper - lower).max(0) + step - 1) / step)
    }

    fn result(&self, op: Op, number: usize, index: &Index) -> Option<u64> {
        let module = self.module;
        let row = module.row(op);
        if row.traits.has(Traits::RELAYOUT) {
            return self.bits(UnaryOp::new(module, op).src(), index);
        }
        if let Some((_, move_index)) = MOVES.iter().find(|(own, _)| own.is(row)) {
            return self.bits(UnaryOp::new(module, op).src(), &move_index(module, op, index));
        }
        if let Some(constant) = ConstantOp::of(module, op) {
            return element(constant, index);
        }
        if let Some(range) = MakeRangeOp::of(module, op) {
            return Some((i64::from(range.start()) + index.first()?) as u64);
        }
        if let Some(id) = ProgramIdOp::of(module, op) {
            let of = if row.is(&GET_PROGRAM_ID) { &self.setting.program } else { &self.setting.grid };
            return Some(of[id.axis().number() as usize] as u64);
        }
        if let Some(select) = SelectOp::of(module, op) {
            let scalar = shape(module.ty(select.condition())).is_empty();
            let holds = self.bits(select.condition(), &if scalar { smallvec![] } else { index.clone() })?;
            let chosen = if holds & 1 != 0 { select.true_value() } else { select.false_value() };
            return self.bits(chosen, index);
        }
        if row.is(&FOR) {
            return self.carried(op, number, self.trips(op)?, index);
        }
        if let Some(branch) = IfOp::of(module, op) {
            let holds = self.bits(branch.condition(), &smallvec![])?;
            let block = if holds & 1 != 0 { Some(branch.then_block()) } else { branch.else_block() };
            return self.bits(*yielded(module, block?).get(number)?, index);
        }
        self.elementwise(op, index)
    }

    fn elementwise(&self, op: Op, index: &Index) -> Option<u64> {
        let (module, row) = (self.module, self.module.row(op));
        let eval = row.eval.filter(|_| row.traits.has(Traits::ELEMENTWISE))?;
        let types: SmallVec<[ir::Type; 4]> =
            module.operands(op).iter().map(|&value| elem(module.ty(value))).collect();
        let is_whole = |ty: &ir::Type| ty.as_int().is_some() || pointee(*ty).is_some();
        if !types.iter().all(is_whole) {
            return None;
        }
        let words: Option<SmallVec<[u64; 4]>> =
            module.operands(op).iter().map(|&value| self.bits(value, index)).collect();
        let result_type = elem(module.ty(module.result(op, 0)));
        let args = EvalArgs { attrs: module.attrs(op), operand_types: &types, result_type };
        // Rows take values of their width, with nothing above it.
        let narrow =
            |(word, ty): (u64, &ir::Type)| ty.as_int().map_or(word, |bits| ir::scalar::truncate(bits, word));
        let words: SmallVec<[u64; 4]> = words?.into_iter().zip(&types).map(narrow).collect();
        eval(&args, &words)
    }
}

/// Where an element of a result is in the operand.
type MoveIndex = fn(&Module, Op, &Index) -> Index;

/// Operations that move elements to other places of a block.
static MOVES: &[(&ir::OpRow, MoveIndex)] = &[
    (&SPLAT, |_, _, _| smallvec![]),
    (&UNSPLAT, |module, op, _| shape(module.ty(UnaryOp::new(module, op).src())).iter().map(|_| 0).collect()),
    (&EXPAND_DIMS, |module, op, index| {
        let axis = ExpandDimsOp::new(module, op).axis();
        let kept = index.iter().enumerate().filter(|(dim, _)| *dim != axis);
        kept.map(|(_, at)| *at).collect()
    }),
    (&BROADCAST, |module, op, index| {
        let from = shape(module.ty(UnaryOp::new(module, op).src()));
        index.iter().zip(from).map(|(at, size)| if *size == 1 { 0 } else { *at }).collect()
    }),
    (&TRANS, |module, op, index| {
        let order = TransOp::new(module, op).order();
        let mut from: Index = smallvec![0; order.len()];
        for (dim, at) in order.iter().zip(index) {
            from[*dim as usize] = *at;
        }
        from
    }),
    (&RESHAPE, |module, op, index| {
        let of = UnaryOp::new(module, op);
        let (to, from) = (shape(module.ty(of.result())), shape(module.ty(of.src())));
        let mut flat = index.iter().zip(to).fold(0, |flat, (at, size)| flat * size + at);
        let mut place: Index = from
            .iter()
            .rev()
            .map(|size| {
                let at = flat % size;
                flat /= size;
                at
            })
            .collect();
        place.reverse();
        place
    }),
];

fn element(constant: ConstantOp<'_>, index: &Index) -> Option<u64> {
    let attr = constant.value();
    if let Attr::Dense { elements: Elements::List(list), .. } = attr {
        let dims = shape(constant.module.ty(constant.result()));
        let flat = index.iter().zip(dims).fold(0, |flat, (at, size)| flat * size + at);
        return list.get(usize::try_from(flat).ok()?).copied();
    }
    splat_bits(attr)
}

#[cfg(test)]
mod tests {
    use super::{Index, Numbers, Setting};
    use ir::text::ParseOptions;
    use smallvec::smallvec;
    use ttir::ops::access::AccessOp;
    use ttir::ops::control::FOR;
    use ttir::ops::memory::{LOAD, STORE};

    const TEXT: &str = r#"
tt.func public @walk(%x: !tt.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %step = arith.constant dense<64> : tensor<8x16xi32>
  %pid = tt.get_program_id x : i32
  %rows = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %columns = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %r = tt.expand_dims %rows {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
  %n1 = tt.splat %n : i32 -> tensor<8x1xi32>
  %rn = arith.muli %r, %n1 : tensor<8x1xi32>
  %c = tt.expand_dims %columns {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %rb = tt.broadcast %rn : tensor<8x1xi32> -> tensor<8x16xi32>
  %cb = tt.broadcast %c : tensor<1x16xi32> -> tensor<8x16xi32>
  %at = arith.addi %rb, %cb : tensor<8x16xi32>
  %base = tt.addptr %x, %pid : !tt.ptr<f32>, i32
  %bases = tt.splat %base : !tt.ptr<f32> -> tensor<8x16x!tt.ptr<f32>>
  %p = tt.addptr %bases, %at : tensor<8x16x!tt.ptr<f32>>, tensor<8x16xi32>
  %end = scf.for %i = %c0 to %n step %c64 iter_args(%q = %p) -> (tensor<8x16x!tt.ptr<f32>>) : i32 {
    %v = tt.load %q : tensor<8x16x!tt.ptr<f32>>
    tt.store %q, %v : tensor<8x16x!tt.ptr<f32>>
    %next = tt.addptr %q, %step : tensor<8x16x!tt.ptr<f32>>, tensor<8x16xi32>
    scf.yield %next : tensor<8x16x!tt.ptr<f32>>
  }
  tt.store %end, %step2 : tensor<8x16x!tt.ptr<f32>>
  tt.return
}
"#;

    #[test]
    fn addresses_are_worked_out_backwards() {
        let text = TEXT.replace(
            "  tt.store %end, %step2 : tensor<8x16x!tt.ptr<f32>>\n",
            "  %v2 = tt.load %end : tensor<8x16x!tt.ptr<f32>>\n",
        );
        let module = ir::text::parse(&text, ttgir::registry(), ParseOptions { file: None }).expect("parses");
        let func = module.ops(module.body()).next().expect("a kernel");
        let args = module.args(module.entry_of(func)).to_vec();
        let find = |row: &ir::OpRow| {
            let all: Vec<_> = module.walk(func).into_iter().filter(|op| module.is(*op, row)).collect();
            all
        };
        let mut setting = Setting { program: [3, 0, 0], grid: [9, 1, 1], ..Setting::default() };
        setting.params.insert(args[0], 1 << 20);
        setting.params.insert(args[1], 1000);
        let (loops, loads, stores) = (find(&FOR), find(&LOAD), find(&STORE));
        let at = |setting: &Setting, op, index: Index| {
            Numbers::new(&module, setting.clone()).bits(AccessOp::new(&module, op).ptr(), &index)
        };
        assert_eq!(Numbers::new(&module, setting.clone()).trips(loops[0]), Some(16));
        assert_eq!(at(&setting, loads[0], smallvec![2, 5]), Some((1 << 20) + 4 * (3 + 2 * 1000 + 5)));
        setting.iterations.insert(loops[0], 7);
        assert_eq!(at(&setting, stores[0], smallvec![0, 0]), Some((1 << 20) + 4 * (3 + 7 * 64)));
        assert_eq!(at(&setting, loads[1], smallvec![0, 1]), Some((1 << 20) + 4 * (3 + 16 * 64 + 1)));
    }
}
