//! Random programs print to texts that read back to the same texts, in every form, and stay valid under the generic
//! passes.

use ir::text::{ParseOptions, PrintOptions, parse, print};
use ir::{Attr, AttrKey, Builder, FloatKind, Loc, LocData, Module, Op, OpInit, Place, Type, Value};
use proptest::prelude::{ProptestConfig, any, proptest};
use smallvec::SmallVec;
use std::sync::Arc;
use ttir::ops::{arith_float, arith_int, compare, constant, control, func, shape};
use ttir::types::{elem_bits, is_tensor, tensor};

/// Random numbers from one seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        value ^ (value >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

const NAMES: &[&str] = &[
    "x", "x_0", "x_1", "y", "acc", "c0_i32", "cst", "arg0", "0", "3d", "a b", "é", "%", "\"q\"", "true", "_",
    "-", "",
];

fn random_loc(module: &mut Module, random: &mut Random, depth: usize) -> Loc {
    let data = match random.below(if depth == 0 { 2 } else { 6 }) {
        0 => LocData::Unknown,
        1 => LocData::File {
            file: Arc::from(random.pick(&["a.py", "b \"c\".py", "ü.py"])),
            line: 1 + random.below(5) as u32,
            col: 7,
        },
        2 | 3 => {
            let child = random_loc(module, random, depth - 1);
            LocData::Name { name: Arc::from(random.pick(NAMES)), child }
        }
        4 => {
            let callee = random_loc(module, random, depth - 1);
            let caller = random_loc(module, random, depth - 1);
            LocData::CallSite { callee, caller }
        }
        _ => {
            let count = random.below(3);
            LocData::Fused((0..count).map(|_| random_loc(module, random, depth - 1)).collect())
        }
    };
    if data == LocData::Unknown { module.locs.unknown() } else { module.locs.intern(data) }
}

fn random_attr(random: &mut Random, depth: usize) -> Attr {
    let float = FloatKind::TABLE[random.below(8)];
    match random.below(if depth == 0 { 8 } else { 11 }) {
        0 => Attr::Unit,
        1 => Attr::Bool(random.below(2) == 0),
        2 => Attr::int(
            random.next() as i64,
            random.pick(&[Type::int(8), Type::int(32), Type::int(64), Type::index()]),
        ),
        3 => Attr::Float { bits: random.next() & (u64::MAX >> (64 - float.2)), ty: Type::float(float.0) },
        4 => Attr::str(random.pick(NAMES)),
        5 => Attr::Type(random.pick(&[
            Type::int(1),
            Type::function(vec![Type::int(8)], vec![]),
            tensor(&[4], Type::int(32)),
        ])),
        6 => Attr::Symbol(Arc::from(random.pick(&["f", "odd name", "g.h"]))),
        7 => Attr::Dialect {
            name: Arc::from("some.thing"),
            body: Arc::from(random.pick(&["", "a = 1", "b = #other.one<x, \">\">, c"])),
        },
        8 => Attr::Array((0..random.below(4)).map(|_| random_attr(random, depth - 1)).collect()),
        9 => Attr::DenseArray {
            elem: Type::int(32),
            values: (0..random.below(4)).map(|_| random.next() as i32 as i64).collect(),
        },
        _ => {
            let mut keys: Vec<&str> = vec!["k", "l.m", "odd key"];
            keys.truncate(random.below(4));
            keys.sort_unstable();
            Attr::Dict(
                keys.into_iter().map(|key| (AttrKey::unknown(key), random_attr(random, depth - 1))).collect(),
            )
        }
    }
}

struct Program<'r> {
    module: Module,
    random: &'r mut Random,
    kernel_args: Vec<Type>,
}

impl Program<'_> {
    fn builder(&mut self, place: Place) -> Builder<'_> {
        let loc = random_loc(&mut self.module, self.random, 3);
        let mut builder = Builder::new(&mut self.module, place);
        builder.loc = loc;
        builder
    }

    fn decorate(&mut self, op: Op) {
        if self.random.below(4) == 0 {
            let attr = random_attr(self.random, 2);
            self.module.set_extra(op, AttrKey::unknown(self.random.pick(&["t.note", "odd key"])), Some(attr));
        }
        for value in self.module.results(op).to_vec() {
            if self.random.below(3) == 0 {
                let name = self.random.pick(NAMES);
                self.module.set_name(value, name);
            }
        }
    }

    /// A value of a type that is visible, or a new constant.
    fn value(&mut self, place: Place, ty: Type, visible: &[Value]) -> Value {
        let fitting: Vec<Value> =
            visible.iter().copied().filter(|&value| self.module.ty(value) == ty).collect();
        if !fitting.is_empty() && self.random.below(5) > 0 {
            return self.random.pick(&fitting);
        }
        let width = elem_bits(ty);
        let bits = self.random.next() & (u64::MAX >> (64 - width));
        let mut builder = self.builder(place);
        constant::build(&mut builder, ty, bits)
    }

    fn block(&mut self, place: Place, visible: &mut Vec<Value>, depth: usize) {
        for _ in 0..self.random.below(6) {
            let scalar = self.random.pick(&[
                Type::int(32),
                Type::int(8),
                Type::int(1),
                Type::float(FloatKind::F32),
                Type::float(FloatKind::BF16),
            ]);
            let ty = if self.random.below(2) == 0 { tensor(&[2, 4], scalar) } else { scalar };
            let first = self.value(place, ty, visible);
            let second = self.value(place, ty, visible);
            let integer = scalar.as_int().is_some();
            let value = match self.random.below(if depth == 0 { 4 } else { 6 }) {
                0 | 1 => {
                    let row = if integer { &arith_int::MULI } else { &arith_float::ADDF };
                    self.builder(place).build(row, &[first, second], &[])
                }
                2 if !is_tensor(ty) => {
                    self.builder(place).build_as(&shape::SPLAT, &[first], &[], tensor(&[8], ty))
                }
                2 | 3 => {
                    let condition = self.value(place, Type::int(1), visible);
                    self.builder(place).build(&compare::SELECT, &[condition, first, second], &[])
                }
                4 => self.condition(place, first, visible, depth),
                _ => self.counted(place, first, visible, depth),
            };
            if let Some(op) = self.module.def_op(value) {
                self.decorate(op);
            }
            visible.push(value);
        }
    }

    fn region(&mut self, op: Op, index: usize, args: &[Type], yields: Type, visible: &[Value], depth: usize) {
        let region = self.module.region(op, index);
        let block = self.module.add_block(region);
        let mut visible = visible.to_vec();
        for &ty in args {
            visible.push(self.module.add_arg(block, ty));
        }
        self.block(Place::End(block), &mut visible, depth - 1);
        let last = self.value(Place::End(block), yields, &visible);
        self.builder(Place::End(block)).build_effect(&control::YIELD, &[last], &[]);
    }

    fn condition(&mut self, place: Place, value: Value, visible: &[Value], depth: usize) -> Value {
        let condition = self.value(place, Type::int(1), visible);
        let ty = self.module.ty(value);
        let init = OpInit {
            operands: SmallVec::from_slice(&[condition]),
            results: SmallVec::from_slice(&[ty]),
            regions: 2,
            ..OpInit::default()
        };
        let op = self.builder(place).insert(&control::IF, init);
        self.region(op, 0, &[], ty, visible, depth);
        self.region(op, 1, &[], ty, visible, depth);
        self.module.result(op, 0)
    }

    fn counted(&mut self, place: Place, value: Value, visible: &[Value], depth: usize) -> Value {
        let bounds = [(); 3].map(|()| self.value(place, Type::int(32), visible));
        let ty = self.module.ty(value);
        let operands = bounds.into_iter().chain([value]).collect();
        let init = OpInit { operands, results: SmallVec::from_slice(&[ty]), regions: 1, ..OpInit::default() };
        let op = self.builder(place).insert(&control::FOR, init);
        self.region(op, 0, &[Type::int(32), ty], ty, visible, depth);
        self.module.result(op, 0)
    }

    fn function(&mut self) {
        let attrs = [
            Some(Attr::Symbol(Arc::from("kernel"))),
            Some(Attr::Type(Type::function(self.kernel_args.clone(), vec![]))),
            Some(Attr::str("public")),
        ];
        let body = self.module.body();
        let init = OpInit { attrs: attrs.into_iter().collect(), regions: 1, ..OpInit::default() };
        let op = self.builder(Place::End(body)).insert(&func::FUNC, init);
        let block = self.module.add_block(self.module.region(op, 0));
        let mut visible = Vec::new();
        for (index, ty) in self.kernel_args.clone().into_iter().enumerate() {
            visible.push(self.module.add_arg(block, ty));
            let loc = random_loc(&mut self.module, self.random, 2);
            self.module.set_arg_loc(block, index, loc);
            if self.random.below(2) == 0 {
                let attr = random_attr(self.random, 1);
                self.module.set_arg_attr(block, index, func::DIVISIBILITY.key(), Some(attr));
            }
        }
        self.block(Place::End(block), &mut visible, 3);
        self.builder(Place::End(block)).build_effect(&func::RETURN, &[], &[]);
    }
}

fn random_module(seed: u64) -> Module {
    let mut random = Random(seed);
    let count = random.below(4);
    let kernel_args = (0..count)
        .map(|_| random.pick(&[Type::int(32), Type::float(FloatKind::F32), Type::int(1)]))
        .collect();
    let mut program = Program { module: ttir::new_module(), random: &mut random, kernel_args };
    program.function();
    program.module
}

fn check(module: &Module) {
    let forms = [
        PrintOptions::default(),
        PrintOptions::PLAIN,
        PrintOptions { generic: true, ..PrintOptions::default() },
    ];
    for options in forms {
        let once = print(module, options);
        let again = parse(&once, ttir::registry(), ParseOptions::default())
            .unwrap_or_else(|error| panic!("{error}\n{once}"));
        if let Err(errors) = ir::verify(&again) {
            panic!("{}\n{once}", errors[0]);
        }
        let twice = print(&again, options);
        for (now, before) in twice.lines().zip(once.lines()) {
            assert_eq!(now, before, "printed a second time");
        }
        assert_eq!(twice.len(), once.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_programs_read_back(seed in any::<u64>()) {
        let mut module = random_module(seed);
        ir::verify(&module).unwrap_or_else(|errors| panic!("{}", errors[0]));
        check(&module);
        for pass in [&ir::passes::CSE, &ir::passes::LICM, &ir::passes::CANONICALIZE, &ir::passes::CSE] {
            (pass.run)(&mut module).unwrap_or_else(|error| panic!("{error}"));
            ir::verify(&module).unwrap_or_else(|errors| panic!("after {}: {}", pass.name, errors[0]));
        }
        check(&module);
    }
}
