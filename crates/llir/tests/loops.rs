//! Loops mean the same after the passes: random ones are run before and after, and a few are looked at.

mod evaluate;

use evaluate::{Stop, Stored, stores};
use expect_test::{Expect, expect};
use llir::passes::optimize;
use llir::{
    Flags, FunctionBuilder, IntCompare, Module, Op, Param, ParamAttributes, Type, Value, Values, verify,
};
use smallvec::smallvec;

/// A sequence of numbers that look random.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

const PARAMS: [Type; 7] =
    [Type::pointer(1), Type::pointer(3), Type::I32, Type::I32, Type::I32, Type::I64, Type::I32];

fn function(fill: impl FnOnce(&mut FunctionBuilder<'_>, &[Value])) -> Module {
    let mut module = Module::new("test");
    let param = |ty: &Type| Param { ty: *ty, name: String::new(), attributes: ParamAttributes::default() };
    let id = module.add_function("f", Type::VOID, PARAMS.iter().map(param).collect());
    let mut builder = FunctionBuilder::new(&mut module, id);
    let values: Vec<Value> = (0..PARAMS.len()).map(|index| builder.param(index)).collect();
    fill(&mut builder, &values);
    builder.ret(None);
    builder.finish();
    verify(&module).unwrap_or_else(|errors| panic!("{errors:?}\n{module}"));
    module
}

fn optimized(module: &Module) -> Module {
    let mut after = module.clone();
    optimize(&mut after, &[], &mut |_, _| {});
    verify(&after).unwrap_or_else(|errors| panic!("{errors:?}\n{module}\n{after}"));
    after
}

/// A function being made of random instructions.
struct Maker<'a, 'b> {
    b: &'a mut FunctionBuilder<'b>,
    random: &'a mut Random,
    /// The values that there are.
    pool: Vec<Value>,
}

impl Maker<'_, '_> {
    fn of(&mut self, ty: Type) -> Value {
        let fitting: Vec<Value> = self.pool.iter().copied().filter(|value| self.b.ty(*value) == ty).collect();
        // Later values more often, so that long chains arise.
        if fitting.is_empty() || self.random.below(6) == 0 {
            let number = self.random.pick(&[-1, 1, 2, 3, 4, 7, 64, -100, 0x4000_0000]);
            return self.b.int(ty, number);
        }
        let back = self.random.below(fitting.len().min(4)).min(self.random.below(fitting.len()));
        fitting[fitting.len() - 1 - back]
    }

    fn instruction(&mut self) {
        let ty = self.random.pick(&[Type::I32, Type::I32, Type::I32, Type::I64, Type::int(16)]);
        let flags = self.random.pick(&[Flags::NONE, Flags::NSW]);
        let value = match self.random.below(10) {
            0..=2 => {
                let (a, b) = (self.of(ty), self.of(ty));
                let op = self.random.pick(&[Op::ADD, Op::ADD, Op::SUB]);
                self.b.binary_with(op, flags, a, b)
            }
            3 | 4 => {
                let (a, b) = (self.of(ty), self.of(ty));
                self.b.binary_with(Op::MUL, flags, a, b)
            }
            5 => {
                let (a, by) = (self.of(ty), self.random.below(8) as i64);
                let by = self.b.int(ty, by);
                self.b.binary_with(Op::SHL, flags, a, by)
            }
            6 => {
                let a = self.of(Type::I32);
                let op = self.random.pick(&[Op::SEXT, Op::SEXT, Op::ZEXT]);
                self.b.cast(op, a, Type::I64)
            }
            7 if self.random.below(2) == 0 => {
                let a = self.of(ty);
                let by = self.random.pick(&[2, 3, 7, 8, 10, -1, -4, -5, 641, 0x7fff, 1]);
                let by = self.b.int(ty, by);
                let op = self.random.pick(&[Op::SDIV, Op::UDIV, Op::SREM, Op::UREM]);
                self.b.binary(op, a, by)
            }
            7 => {
                let a = self.of(Type::I64);
                let to = self.random.pick(&[Type::I32, Type::int(16)]);
                self.b.cast(Op::TRUNC, a, to)
            }
            _ => {
                let pointer = self.random.pick(&[Type::pointer(1), Type::pointer(1), Type::pointer(3)]);
                let index = self.random.pick(&[Type::I64, Type::I32]);
                let (base, index) = (self.of_pointer(pointer), self.of(index));
                let element = self.random.pick(&[Type::I8, Type::F32, Type::I64]);
                self.b.gep(element, base, index)
            }
        };
        self.pool.push(value);
    }

    fn of_pointer(&mut self, ty: Type) -> Value {
        let fitting: Vec<Value> = self.pool.iter().copied().filter(|value| self.b.ty(*value) == ty).collect();
        self.random.pick(&fitting[fitting.len().saturating_sub(3)..])
    }

    fn store(&mut self) {
        let ty = self.random.pick(&[Type::pointer(1), Type::pointer(1), Type::pointer(3)]);
        let to = self.of_pointer(ty);
        let offset = self.random.pick(&[0, 4, 16, -8]);
        let offset = self.b.i64(offset);
        let to = self.b.offset(to, offset);
        let ty = self.random.pick(&[Type::I32, Type::I64, Type::int(16)]);
        let value = self.of(ty);
        self.b.store(value, to, 1);
    }

    /// Instructions, some of them under a condition, perhaps with loops inside.
    fn body(&mut self, depth: u32) {
        for _ in 0..4 + self.random.below(8) {
            self.instruction();
        }
        self.store();
        if self.random.below(3) == 0 {
            let (a, b) = (self.of(Type::I32), self.of(Type::I32));
            let condition = self.b.icmp(IntCompare::Slt, a, b);
            let mut branch = self.b.begin_if(condition);
            let known = self.pool.len();
            for _ in 0..3 {
                self.instruction();
            }
            self.store();
            self.pool.truncate(known);
            if self.random.below(2) == 0 {
                self.b.begin_else(&mut branch, &[]);
                self.store();
            }
            self.b.end_if(branch, &[]);
        }
        if depth < 2 && self.random.below(2) == 0 {
            self.looped(depth + 1);
            self.store();
        }
    }

    fn looped(&mut self, depth: u32) {
        match self.random.below(3) {
            0 => self.while_loop(depth),
            _ => self.for_loop(depth),
        }
    }

    fn for_loop(&mut self, depth: u32) {
        let ty = self.random.pick(&[Type::I32, Type::I32, Type::I64]);
        let start = self.random.pick(&[0, 0, 3, -5]);
        let end = start + self.random.below(5) as i64;
        let (start, end) = (self.b.int(ty, start), self.b.int(ty, end));
        // Bounds that are not constants, here and there; tests pass small numbers.
        let is_param = |maker: &Self, value: &Value| maker.b.ty(*value) == ty;
        let params: Vec<Value> =
            self.pool[2..7].iter().copied().filter(|value| is_param(self, value)).collect();
        let end = if self.random.below(2) == 0 { *params.last().unwrap_or(&end) } else { end };
        let step = self.random.pick(&[1, 1, 2, 3]);
        let step = self.b.int(ty, step);
        let carried = [self.of(Type::I32), self.of_pointer(Type::pointer(1))];
        let for_loop = self.b.begin_for(start, end, step, &carried);
        let known = self.pool.len();
        self.pool.push(for_loop.iv);
        self.pool.extend(for_loop.carried.iter().copied());
        let kept = for_loop.carried.clone();
        self.body(depth);
        let yields = self.moved(&kept, known);
        let after = self.b.end_for(for_loop, &yields);
        self.pool.truncate(known);
        self.pool.extend(after);
    }

    /// A counter that goes any way.
    fn while_loop(&mut self, depth: u32) {
        let start = self.random.pick(&[4, 0, -3]);
        let start = self.b.i32(start);
        let carried = [start, self.of(Type::I32), self.of_pointer(Type::pointer(1))];
        let while_loop = self.b.begin_while(&carried);
        let kept = while_loop.carried.clone();
        let down = self.random.below(2) == 0;
        let limit = self.b.i32(if down { -4 } else { 5 });
        let compare = if down { IntCompare::Sgt } else { IntCompare::Slt };
        let condition = self.b.icmp(compare, kept[0], limit);
        let known = self.pool.len();
        self.pool.extend(kept.iter().copied());
        self.instruction();
        self.b.do_while(&while_loop, condition, &kept);
        self.body(depth);
        let step = self.b.i32(if down { -3 } else { 2 });
        let flags = self.random.pick(&[Flags::NONE, Flags::NSW]);
        let next = self.b.binary_with(Op::ADD, flags, kept[0], step);
        let mut yields: Values = smallvec![next];
        let rest: Values = kept[1..].iter().copied().collect();
        yields.extend(self.moved(&rest, known));
        let after = self.b.end_while(while_loop, &yields);
        self.pool.truncate(known);
        self.pool.extend(after);
    }

    /// What a number and an address become in the next iteration, moved by something from before the loop.
    fn moved(&mut self, kept: &Values, known: usize) -> Values {
        let fixed = |maker: &mut Self, ty: Type| {
            let fitting: Vec<Value> =
                maker.pool[..known].iter().copied().filter(|value| maker.b.ty(*value) == ty).collect();
            if fitting.is_empty() { maker.b.int(ty, 12) } else { maker.random.pick(&fitting) }
        };
        let by = fixed(self, Type::I32);
        let op = self.random.pick(&[Op::ADD, Op::SUB]);
        let flags = self.random.pick(&[Flags::NONE, Flags::NSW]);
        let number = self.b.binary_with(op, flags, kept[0], by);
        let index = self.random.pick(&[Type::I32, Type::I64]);
        let by = fixed(self, index);
        let address = self.b.gep(Type::F32, kept[1], by);
        smallvec![number, address]
    }
}

fn random_function(random: &mut Random) -> Module {
    function(|b, args| {
        let mut maker = Maker { b, random, pool: args.to_vec() };
        maker.instruction();
        maker.looped(0);
        maker.store();
    })
}

#[test]
fn random_loops_mean_the_same() {
    let (mut run, mut more) = (0, 0);
    for seed in 0..1500 {
        let mut random = Random(seed);
        let module = random_function(&mut random);
        let after = optimized(&module);
        let mut before = module.clone();
        llir::remove_unused(&mut before);
        let carried = |module: &Module| module.to_string().matches(" phi ").count();
        more += usize::from(carried(&after) > carried(&before));
        for _ in 0..4 {
            let large = random.below(4) == 0;
            let mut number = |bits: u32| {
                let number = random.next() as i64;
                let number = if large { number } else { number % 9 };
                u128::from(number as u64) & ((1 << bits) - 1)
            };
            let mut args = vec![0x7f_0000_1000, 0x4000];
            args.extend([number(32), number(32), number(32), number(64)]);
            args.push(random.below(5) as u128);
            let of = |module: &Module| stores(module.functions().next().expect("one"), &args);
            let expected = match of(&module) {
                Ok(expected) => expected,
                Err(Stop::Undefined | Stop::Long) => continue,
            };
            let found = of(&after);
            let same = found.as_ref().is_ok_and(|found| {
                let refines = |(a, b): (&Stored, &Stored)| a.0 == b.0 && (a.1.is_none() || a.1 == b.1);
                found.len() == expected.len() && expected.iter().zip(found).all(refines)
            });
            assert!(same, "seed {seed}, {args:x?}\n{module}\n{after}\n{expected:x?}\n{found:x?}");
            run += 1;
        }
    }
    assert!(run > 4000 && more > 50, "{run} runs, {more} functions with more that is carried");
}

fn body(module: &Module, expected: Expect) {
    let text = optimized(module).to_string();
    let (from, to) = (text.find("define").unwrap(), text.find("\n}\n").unwrap() + 3);
    expected.assert_eq(&text[from..to]);
}

/// `for i in 0..n: store` to an address that the closure makes of `i`.
fn store_in_loop(at: impl FnOnce(&mut FunctionBuilder<'_>, &[Value], Value) -> Value) -> Module {
    function(|b, args| {
        let (zero, one) = (b.i32(0), b.i32(1));
        b.for_loop(zero, args[6], one, &[], |b, iv, _| {
            let at = at(b, args, iv);
            b.store(zero, at, 4);
            smallvec![]
        });
    })
}

#[test]
fn a_chain_is_carried() {
    let module = store_in_loop(|b, args, iv| {
        let wide = b.cast(Op::SEXT, iv, Type::I64);
        let product = b.mul(wide, args[5]);
        let row = b.gep(Type::F32, args[0], product);
        b.gep(Type::F32, row, args[2])
    });
    body(
        &module,
        expect![[r#"
        define void @f(ptr addrspace(1) %p.0, ptr addrspace(3) %p.1, i32 %p.2, i32 %p.3, i32 %p.4, i64 %p.5, i32 %p.6) {
        bb0:
          %0 = icmp sgt i32 %p.6, 0
          %1 = getelementptr float, ptr addrspace(1) %p.0, i32 %p.2
          %2 = mul i64 %p.5, 4
          br i1 %0, label %bb1, label %bb2
        bb1:
          %3 = phi i32 [ 0, %bb0 ], [ %5, %bb1 ]
          %4 = phi ptr addrspace(1) [ %1, %bb0 ], [ %7, %bb1 ]
          store i32 0, ptr addrspace(1) %4, align 4
          %5 = add nsw i32 %3, 1
          %6 = icmp slt i32 %5, %p.6
          %7 = getelementptr i8, ptr addrspace(1) %4, i64 %2
          br i1 %6, label %bb1, label %bb2
        bb2:
          ret void
        }
    "#]],
    );
}

#[test]
fn what_may_wrap_is_not_widened() {
    let module = store_in_loop(|b, args, iv| {
        let product = b.mul(iv, args[2]);
        let sum = b.add(product, args[3]);
        let wide = b.cast(Op::SEXT, sum, Type::I64);
        b.gep(Type::F32, args[0], wide)
    });
    let after = optimized(&module).to_string();
    assert!(after.contains("sext") && !after.contains("phi ptr"), "{after}");
}
