//! Every instruction of llir on every type it takes, assembled for every architecture.

use crate::support::{ARCHS, arch, errors, kernel, ptx_for};
use llir::{
    Flags, FloatCompare, FunctionBuilder, InstData, IntCompare, Memory, Module, Op, Ordering, Payload, Rmw,
    Scalar, Type, Value, intrinsics,
};

const INTS: [Type; 4] = [Type::I8, Type::I16, Type::I32, Type::I64];
const FLOATS: [Type; 4] = [Type::F16, Type::BF16, Type::F32, Type::F64];

/// A kernel that loads two values of a type and stores what is made of them.
fn on_pairs(ty: Type, make: impl FnOnce(&mut FunctionBuilder<'_>, Value, Value) -> Vec<Value>) -> Module {
    kernel(&[Type::pointer(1)], |b, args| {
        let bytes = ty.lane_bytes() * ty.lanes();
        let align = bytes.next_power_of_two().min(16);
        let x = b.load(ty, args[0], align);
        let next = b.i64(i64::from(bytes.next_power_of_two()));
        let next = b.offset(args[0], next);
        let y = b.load(ty, next, align);
        for value in make(b, x, y) {
            let bytes = b.ty(value).lane_bytes() * b.ty(value).lanes();
            let align = bytes.next_power_of_two().min(16);
            // Volatile, so that each stays.
            b.store_with(value, args[0], Memory::aligned(align), Flags::VOLATILE);
        }
    })
}

fn for_all(module: &Module) {
    for name in ARCHS {
        ptx_for(module, arch(name));
    }
}

#[test]
fn integer_arithmetic() {
    let ops = [
        Op::ADD,
        Op::SUB,
        Op::MUL,
        Op::SDIV,
        Op::UDIV,
        Op::SREM,
        Op::UREM,
        Op::SHL,
        Op::LSHR,
        Op::ASHR,
        Op::AND,
        Op::OR,
        Op::XOR,
    ];
    for ty in INTS.into_iter().chain([Type::I32.vector(2), Type::I8.vector(4), Type::I16.vector(2)]) {
        for_all(&on_pairs(ty, |b, x, y| {
            let mut values: Vec<Value> = ops.iter().map(|op| b.binary(*op, x, y)).collect();
            values.extend([b.neg(x), b.not(y)]);
            let product = b.mul(x, y);
            values.push(b.add(product, x));
            values
        }));
    }
}

#[test]
fn comparisons_and_choices() {
    let compares = [
        IntCompare::Eq,
        IntCompare::Ne,
        IntCompare::Slt,
        IntCompare::Sle,
        IntCompare::Sgt,
        IntCompare::Sge,
        IntCompare::Ult,
        IntCompare::Ule,
        IntCompare::Ugt,
        IntCompare::Uge,
    ];
    for ty in INTS.into_iter().chain([Type::I1, Type::I32.vector(2), Type::I8.vector(4), Type::I1.vector(2)])
    {
        for_all(&on_pairs(ty, |b, x, y| {
            let make = |b: &mut FunctionBuilder<'_>, compare: &IntCompare| {
                let holds = b.icmp(*compare, x, y);
                b.select(holds, x, y)
            };
            compares.iter().map(|compare| make(b, compare)).collect()
        }));
    }
    let compares = [
        FloatCompare::Oeq,
        FloatCompare::Ogt,
        FloatCompare::Oge,
        FloatCompare::Olt,
        FloatCompare::Ole,
        FloatCompare::One,
        FloatCompare::Ord,
        FloatCompare::Uno,
        FloatCompare::Ueq,
        FloatCompare::Ugt,
        FloatCompare::Uge,
        FloatCompare::Ult,
        FloatCompare::Ule,
        FloatCompare::Une,
    ];
    for ty in FLOATS.into_iter().chain([Type::F16.vector(2)]) {
        for_all(&on_pairs(ty, |b, x, y| {
            let make = |b: &mut FunctionBuilder<'_>, compare: &FloatCompare| {
                let holds = b.fcmp(*compare, x, y);
                b.select(holds, x, y)
            };
            compares.iter().map(|compare| make(b, compare)).collect()
        }));
    }
}

#[test]
fn float_arithmetic() {
    let ops = [Op::FADD, Op::FSUB, Op::FMUL, Op::FDIV, Op::FREM];
    let pairs = [Type::F16.vector(2), Type::BF16.vector(4), Type::F32.vector(2), Type::F16.vector(3)];
    for ty in FLOATS.into_iter().chain(pairs) {
        for_all(&on_pairs(ty, |b, x, y| {
            let mut values: Vec<Value> = ops.iter().map(|op| b.binary(*op, x, y)).collect();
            b.set_float_flags(Flags::CONTRACT | Flags::AFN);
            values.extend(ops.iter().map(|op| b.binary(*op, x, y)));
            let product = b.fmul(x, x);
            values.push(b.fsub(product, y));
            let product = b.fmul(y, y);
            values.push(b.fsub(x, product));
            values.push(b.fneg(x));
            values
        }));
    }
}

/// Numbers of 16 bits, and pairs of them, are no immediates of the assembler.
#[test]
fn float_arithmetic_with_constants() {
    let ops = [Op::FADD, Op::FSUB, Op::FMUL, Op::FDIV];
    let vectors = [Type::F16.vector(2), Type::BF16.vector(2), Type::F16.vector(4), Type::F32.vector(2)];
    for ty in FLOATS.into_iter().chain(vectors) {
        for_all(&on_pairs(ty, |b, x, y| {
            let [one, other] = [1.5, -1024.0].map(|number| b.float(ty, number));
            let mut values = Vec::new();
            for op in ops {
                values.extend([b.binary(op, x, one), b.binary(op, other, y)]);
            }
            values.extend([
                b.intrinsic(&intrinsics::FMA, ty, &[x, one, other]),
                b.intrinsic(&intrinsics::MAXNUM, ty, &[x, other]),
            ]);
            let above = b.fcmp(FloatCompare::Ogt, x, one);
            values.push(b.select(above, y, other));
            values
        }));
    }
}

#[test]
fn intrinsics_of_floats() {
    let one = [
        &intrinsics::FABS,
        &intrinsics::SQRT,
        &intrinsics::FLOOR,
        &intrinsics::CEIL,
        &intrinsics::TRUNC,
        &intrinsics::RINT,
        &intrinsics::ROUNDEVEN,
    ];
    let two = [
        &intrinsics::MAXNUM,
        &intrinsics::MINNUM,
        &intrinsics::MAXIMUM,
        &intrinsics::MINIMUM,
        &intrinsics::COPYSIGN,
    ];
    let approximate = [&intrinsics::EXP2, &intrinsics::LOG2, &intrinsics::SIN, &intrinsics::COS];
    for ty in FLOATS.into_iter().chain([Type::F16.vector(2), Type::BF16.vector(2)]) {
        for_all(&on_pairs(ty, |b, x, y| {
            let mut values: Vec<Value> = one.iter().map(|row| b.intrinsic(row, ty, &[x])).collect();
            values.extend(two.iter().map(|row| b.intrinsic(row, ty, &[x, y])));
            values.extend([
                b.intrinsic(&intrinsics::FMA, ty, &[x, y, x]),
                b.intrinsic(&intrinsics::FMULADD, ty, &[x, y, y]),
            ]);
            if ty.kind() != Scalar::Double {
                values.extend(approximate.iter().map(|row| b.intrinsic(row, ty, &[x])));
            }
            values
        }));
    }
}

#[test]
fn intrinsics_of_integers() {
    let two = [&intrinsics::SMAX, &intrinsics::SMIN, &intrinsics::UMAX, &intrinsics::UMIN];
    for ty in INTS.into_iter().chain([Type::I32.vector(2), Type::I16.vector(2)]) {
        for_all(&on_pairs(ty, |b, x, y| {
            let flag = b.bool(false);
            let mut values: Vec<Value> = two.iter().map(|row| b.intrinsic(row, ty, &[x, y])).collect();
            values
                .extend([&intrinsics::CTPOP, &intrinsics::BITREVERSE].map(|row| b.intrinsic(row, ty, &[x])));
            values.extend(
                [&intrinsics::ABS, &intrinsics::CTLZ, &intrinsics::CTTZ]
                    .map(|row| b.intrinsic(row, ty, &[x, flag])),
            );
            if ty.lane_bits() > 8 {
                values.push(b.intrinsic(&intrinsics::BSWAP, ty, &[x]));
            }
            if ty.lane_bits() > 16 {
                values.extend(
                    [&intrinsics::FSHL, &intrinsics::FSHR].map(|row| b.intrinsic(row, ty, &[x, y, y])),
                );
            }
            values
        }));
    }
}

#[test]
fn casts() {
    let ints: Vec<Type> = INTS.into_iter().chain([Type::I1]).collect();
    for from in ints.iter().copied() {
        for_all(&on_pairs(from, |b, x, _| {
            let mut values = Vec::new();
            for to in ints.iter().copied().filter(|to| *to != from) {
                values.extend([b.resize_signed(x, to), b.resize_unsigned(x, to)]);
            }
            for to in FLOATS {
                values.extend([b.cast(Op::SITOFP, x, to), b.cast(Op::UITOFP, x, to)]);
            }
            values
        }));
    }
    for from in FLOATS {
        for_all(&on_pairs(from, |b, x, _| {
            let mut values = Vec::new();
            for to in ints.iter().copied() {
                values.extend([b.cast(Op::FPTOSI, x, to), b.cast(Op::FPTOUI, x, to)]);
            }
            values.extend(FLOATS.into_iter().filter(|to| *to != from).map(|to| b.resize_float(x, to)));
            values.push(b.bitcast(x, from.as_int()));
            values
        }));
    }
}

#[test]
fn vectors_taken_apart_and_regrouped() {
    let shapes = [
        (Type::I32.vector(4), Type::F16.vector(8)),
        (Type::I64.vector(2), Type::I32.vector(4)),
        (Type::I64, Type::F16.vector(4)),
        (Type::I32, Type::I8.vector(4)),
        (Type::I16, Type::I8.vector(2)),
        (Type::I8.vector(16), Type::I64.vector(2)),
        (Type::F16.vector(2), Type::I32),
        (Type::F64, Type::I32.vector(2)),
    ];
    for (from, to) in shapes {
        for_all(&on_pairs(from, |b, x, y| {
            let (x, y) = (b.bitcast(x, to), b.bitcast(y, to));
            let back = b.bitcast(y, from);
            if !to.is_vector() {
                return vec![b.add(x, y), back];
            }
            let lanes = to.lanes();
            let first = b.extract(x, 0);
            let last = b.extract(x, lanes - 1);
            let mixed = b.insert(y, first, lanes - 1);
            let reversed: Vec<i32> = (0..lanes as i32).rev().collect();
            let reversed = b.shuffle(x, y, &reversed);
            vec![first, last, mixed, reversed, back]
        }));
    }
}

#[test]
fn memory_accesses() {
    for space in [0, 1, 3] {
        let module = kernel(&[Type::pointer(1), Type::I64], |b, args| {
            let base = match space {
                3 => b.cast(Op::INTTOPTR, args[1], Type::pointer(3)),
                1 => args[0],
                _ => b.space_cast(args[0], 0),
            };
            for ty in [Type::I1, Type::I8, Type::I64.vector(2), Type::I8.vector(16), Type::F16.vector(4)] {
                let align = (ty.lane_bytes() * ty.lanes()).min(16);
                let far = b.i64(if ty == Type::I8 { -4096 } else { 4096 });
                let at = b.offset(base, far);
                let value = b.load_with(ty, at, Memory::aligned(align), Flags::VOLATILE);
                b.store(value, base, ty.lane_bytes());
            }
            let order = Memory { ordering: Some(Ordering::Acquire), ..Memory::aligned(4) };
            let value = b.load_with(Type::I32, base, order, Flags::NONE);
            for rmw in [Rmw::Add, Rmw::Xchg, Rmw::Max, Rmw::UMin, Rmw::And] {
                b.atomic_rmw(rmw, base, value, Ordering::AcqRel);
            }
            let float = b.bitcast(value, Type::F32);
            b.atomic_rmw(Rmw::FAdd, base, float, Ordering::Monotonic);
            let (old, swapped) = b.cmpxchg(base, value, value, Ordering::AcqRel);
            let chosen = b.select(swapped, old, value);
            b.store(chosen, base, 4);
            b.fence(Ordering::SeqCst);
            let room = b.alloca(Type::I32.vector(4), 16);
            b.store(chosen, room, 4);
            let again = b.load(Type::I32, room, 4);
            b.store(again, base, 4);
        });
        for_all(&module);
    }
}

#[test]
fn calls_and_data() {
    let mut module = kernel(&[Type::pointer(1), Type::F16, Type::I1], |b, args| {
        let text = b.module().add_bytes(b"%d\n\0");
        let table = b.module().add_table("numbers", Type::I16, vec![1, 2, 0xffff], 2);
        let (text, table) = (b.symbol(&text), b.symbol(&table));
        let value = b.load(Type::I16, table, 2);
        let room = b.alloca(Type::I64, 8);
        b.store(value, room, 8);
        let count =
            b.call_symbol("vprintf", Type::I32, &[text, room], llir::Purity::Impure).expect("a result");
        b.store(count, args[0], 4);
        let scaled =
            b.call_symbol("scale", Type::F16, &[args[1], args[2]], llir::Purity::Impure).expect("a result");
        b.store(scaled, args[0], 2);
    });
    let attributes = llir::ParamAttributes::default();
    let param = |name: &str, ty: Type| llir::Param { ty, name: name.into(), attributes };
    let id = module.add_function("scale", Type::F16, vec![param("x", Type::F16), param("p", Type::I1)]);
    let mut b = FunctionBuilder::new(&mut module, id);
    let (x, p) = (b.param(0), b.param(1));
    let double = b.fadd(x, x);
    let chosen = b.select(p, double, x);
    b.ret(Some(chosen));
    b.finish();
    for_all(&module);
}

#[test]
fn functions_of_wide_parameters_cannot_be_declared() {
    let mut module = kernel(&[], |_, _| {});
    let params = vec![Type::F32, Type::F32.vector(4)];
    module.declare(llir::Callee::new("wide", Type::VOID, params, llir::Purity::Impure));
    let found = errors(&module, arch("sm_90a"));
    let message = "in `wide`: a call passes <4 x float>, which needs several registers";
    assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), [message]);
}

#[test]
fn what_an_architecture_lacks_is_an_error() {
    let module = kernel(&[Type::pointer(1)], |b, args| {
        let file = b.module().add_file("kernel.py");
        b.set_loc(Some(llir::Location { file, line: 3, column: 5 }));
        b.inline_asm(llir::Asm::effect("wgmma.fence.sync.aligned;", ""), Type::VOID, &[]);
        let wide = b.load(Type::int(128), args[0], 16);
        b.store(wide, args[0], 16);
    });
    let found = errors(&module, arch("sm_90a"));
    assert!(found[0].to_string().starts_with("kernel.py:3:5: in `k`: "), "{}", found[0]);
    assert!(found[0].message.contains("i128"), "{}", found[0]);
    let module = kernel(&[], |b, _| {
        b.inline_asm(llir::Asm::effect("wgmma.fence.sync.aligned;", ""), Type::VOID, &[]);
    });
    let found = errors(&module, arch("sm_80"));
    assert!(found[0].message.contains("instruction of sm_90a alone"), "{}", found[0]);
    let data = InstData::new(Op::FENCE, Type::VOID, &[])
        .with(Payload::Fence(Ordering::SeqCst, llir::SyncScope::System));
    assert_eq!(data.op.row().name, "fence");
}
