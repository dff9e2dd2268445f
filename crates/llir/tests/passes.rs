//! Passes keep the rules, and do what they say.

use expect_test::{Expect, expect};
use llir::passes::optimize;
use llir::{FunctionBuilder, IntCompare, Module, Op, Param, ParamAttributes, Purity, Type, Value, verify};
use smallvec::smallvec;

fn optimized(params: &[Type], fill: impl FnOnce(&mut FunctionBuilder<'_>, &[Value])) -> Module {
    let mut module = Module::new("test");
    let param = |ty: &Type| Param { ty: *ty, name: String::new(), attributes: ParamAttributes::default() };
    let id = module.add_function("f", Type::VOID, params.iter().map(param).collect());
    let mut builder = FunctionBuilder::new(&mut module, id);
    let values: Vec<Value> = (0..params.len()).map(|index| builder.param(index)).collect();
    fill(&mut builder, &values);
    builder.finish();
    verify(&module).unwrap_or_else(|errors| panic!("{errors:?}\n{module}"));
    let before = module.to_string();
    let bounds: Vec<_> =
        module.find("lane").map(|lane| (lane, llir::passes::Bound::Below(128))).into_iter().collect();
    optimize(&mut module, &bounds, &mut |_, _| {});
    verify(&module).unwrap_or_else(|errors| panic!("{errors:?}\n{before}\n{module}"));
    let llvm = llvm::Llvm::load().expect("these tests need an LLVM");
    llvm.check(&module.to_string()).unwrap_or_else(|error| panic!("{error}\n{module}"));
    module
}

fn body(module: &Module, expected: Expect) {
    let text = module.to_string();
    let (from, to) = (text.find("define").unwrap(), text.find("\n}\n").unwrap() + 3);
    expected.assert_eq(&text[from..to]);
}

fn lane(b: &mut FunctionBuilder<'_>) -> Value {
    b.call_symbol("lane", Type::I32, &[], Purity::Pure).expect("a number")
}

#[test]
fn constants_of_addresses_go_outwards() {
    let module = optimized(&[Type::pointer(1), Type::I32], |b, args| {
        let base = b.i32(3);
        let base = b.gep(Type::F32, args[0], base);
        for offset in [1, 2] {
            let by = b.i32(offset);
            let index = b.add_nsw(args[1], by);
            let at = b.gep(Type::F32, base, index);
            let value = b.load(Type::F32, at, 4);
            b.store(value, at, 4);
        }
        b.ret(None);
    });
    body(
        &module,
        expect![[r#"
        define void @f(ptr addrspace(1) %p.0, i32 %p.1) {
        bb0:
          %0 = getelementptr float, ptr addrspace(1) %p.0, i32 %p.1
          %1 = getelementptr i8, ptr addrspace(1) %0, i64 16
          %2 = load float, ptr addrspace(1) %1, align 4
          store float %2, ptr addrspace(1) %1, align 4
          %3 = getelementptr i8, ptr addrspace(1) %0, i64 20
          %4 = load float, ptr addrspace(1) %3, align 4
          store float %4, ptr addrspace(1) %3, align 4
          ret void
        }
    "#]],
    );
}

#[test]
fn bits_of_lanes_are_known() {
    let module = optimized(&[Type::PTR], |b, args| {
        let lane = lane(b);
        let (mask, five, eight) = (b.i32(127), b.i32(7), b.i32(8));
        let masked = b.and(lane, mask);
        let nothing = b.lshr(masked, five);
        let quotient = b.sdiv(masked, eight);
        let sum = b.add(nothing, quotient);
        let wide = b.cast(Op::SEXT, sum, Type::I64);
        let limit = b.i32(128);
        let inside = b.icmp(IntCompare::Slt, masked, limit);
        let flag = b.cast(Op::ZEXT, inside, Type::I64);
        let sum = b.add(wide, flag);
        b.store(sum, args[0], 8);
        b.ret(None);
    });
    body(
        &module,
        expect![[r#"
        define void @f(ptr %p.0) {
        bb0:
          %0 = call i32 @lane()
          %1 = lshr i32 %0, 3
          %2 = zext i32 %1 to i64
          %3 = add i64 %2, 1
          store i64 %3, ptr %p.0, align 8
          ret void
        }
    "#]],
    );
}

#[test]
fn what_does_not_change_leaves_the_loop() {
    let module = optimized(&[Type::PTR, Type::I32, Type::I32], |b, args| {
        let (zero, one) = (b.i32(0), b.i32(1));
        b.for_loop(zero, args[1], one, &[args[2], zero, zero], |b, iv, carried| {
            let fixed = b.mul(args[1], args[2]);
            let divided = b.sdiv(fixed, args[2]);
            let moving = b.add(fixed, iv);
            let at = b.gep(Type::I32, args[0], moving);
            let same = b.add(carried[1], one);
            let sum = b.add(divided, same);
            let both = b.add(carried[2], sum);
            b.store(both, at, 4);
            smallvec![carried[0], same, same]
        });
        b.ret(None);
    });
    body(
        &module,
        expect![[r#"
        define void @f(ptr %p.0, i32 %p.1, i32 %p.2) {
        bb0:
          %0 = icmp sgt i32 %p.1, 0
          %1 = mul i32 %p.1, %p.2
          br i1 %0, label %bb1, label %bb2
        bb1:
          %2 = phi i32 [ 0, %bb0 ], [ %10, %bb1 ]
          %3 = phi i32 [ 0, %bb0 ], [ %7, %bb1 ]
          %4 = sdiv i32 %1, %p.2
          %5 = add i32 %2, %1
          %6 = getelementptr i32, ptr %p.0, i32 %5
          %7 = add i32 %3, 1
          %8 = add i32 %4, %7
          %9 = add i32 %3, %8
          store i32 %9, ptr %6, align 4
          %10 = add nsw i32 %2, 1
          %11 = icmp slt i32 %10, %p.1
          br i1 %11, label %bb1, label %bb2
        bb2:
          ret void
        }
    "#]],
    );
}

#[test]
fn straight_lines_become_one_block() {
    let module = optimized(&[Type::PTR, Type::I1], |b, args| {
        let (yes, one, two) = (b.bool(true), b.i32(1), b.i32(2));
        let inverted = b.not(args[1]);
        let inverted = b.not(inverted);
        let chosen = b.select(inverted, one, two);
        let known = b.or(yes, args[1]);
        let (next, other, last) = (b.create_block(), b.create_block(), b.create_block());
        let param = b.add_block_param(last, Type::I32);
        b.cond_br(known, (next, &[]), (other, &[]));
        b.switch_to(next);
        b.br(last, &[chosen]);
        b.switch_to(other);
        b.br(last, &[two]);
        b.switch_to(last);
        b.store(param, args[0], 4);
        b.ret(None);
    });
    body(
        &module,
        expect![[r#"
        define void @f(ptr %p.0, i1 %p.1) {
        bb0:
          %0 = select i1 %p.1, i32 1, i32 2
          store i32 %0, ptr %p.0, align 4
          ret void
        }
    "#]],
    );
}

#[test]
fn offsets_leave_the_loop_with_what_needs_them_only() {
    let module = optimized(&[Type::pointer(3), Type::I32], |b, args| {
        let (zero, one) = (b.i32(0), b.i32(1));
        b.for_loop(zero, args[1], one, &[], |b, iv, _| {
            let far = b.i64(64);
            let at = b.offset(args[0], far);
            b.store(iv, at, 4);
            let same = b.icmp(IntCompare::Eq, at, at);
            let number = b.cast(Op::PTRTOINT, at, Type::I32);
            let square = b.mul(number, number);
            let flag = b.cast(Op::ZEXT, same, Type::I32);
            let sum = b.add(square, flag);
            b.store(sum, args[0], 4);
            smallvec![]
        });
        b.ret(None);
    });
    let text = module.to_string();
    let (before, inside) = text.split_once("bb1:").expect("a loop");
    assert!(before.contains("ptrtoint") && before.contains("mul i32"), "{text}");
    assert!(!inside.contains("mul i32") && !inside.contains("getelementptr"), "{text}");
}
