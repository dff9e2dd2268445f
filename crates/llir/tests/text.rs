//! Functions built, verified, printed, and accepted by LLVM.

use expect_test::{Expect, expect};
use llir::{
    Asm, Callee, Flags, FloatCompare, FunctionBuilder, Global, GlobalKind, IntCompare, Kernel, Linkage,
    Location, Memory, Module, Op, Ordering, Param, ParamAttributes, Purity, Rmw, SyncScope, Type, Value,
    intrinsics, verify,
};
use smallvec::smallvec;

/// A parameter.
fn param(name: &str, ty: Type) -> Param {
    let attributes = ParamAttributes { noalias: ty.is_ptr(), ..ParamAttributes::default() };
    Param { ty, name: name.into(), attributes }
}

/// Builds one function `f` and returns its module, checked by our verifier and by LLVM.
fn build(
    ret: Type,
    params: &[(&str, Type)],
    fill: impl FnOnce(&mut FunctionBuilder<'_>, &[Value]),
) -> Module {
    let mut module = Module::new("test");
    let params: Vec<Param> = params.iter().map(|(name, ty)| param(name, *ty)).collect();
    let count = params.len();
    let id = module.add_function("f", ret, params);
    let mut builder = FunctionBuilder::new(&mut module, id);
    let values: Vec<Value> = (0..count).map(|index| builder.param(index)).collect();
    fill(&mut builder, &values);
    builder.finish();
    accepted(&module);
    module
}

/// Holds when our verifier and LLVM agree that a module is right.
fn accepted(module: &Module) {
    verify(module).unwrap_or_else(|errors| panic!("{errors:?}\n{module}"));
    let llvm = llvm::Llvm::load().expect("these tests need an LLVM");
    llvm.check(&module.to_string()).unwrap_or_else(|error| panic!("{error}\n{module}"));
}

/// The text of the function in a module.
fn body(module: &Module, expected: Expect) {
    let text = module.to_string();
    let from = text.find("define").unwrap();
    let to = text.find("\n}\n").unwrap() + 3;
    expected.assert_eq(&text[from..to]);
}

#[test]
fn a_loop_with_a_carried_sum() {
    let module = build(Type::F32, &[("x", Type::PTR), ("n", Type::I32)], |b, args| {
        b.set_float_flags(Flags::CONTRACT);
        let (zero, eight) = (b.i32(0), b.i32(8));
        let vector = Type::F32.vector(8);
        let start = b.zero(vector);
        let sums = b.for_loop(zero, args[1], eight, &[start], |b, iv, carried| {
            let at = b.gep(Type::F32, args[0], iv);
            let x = b.load(vector, at, 4);
            let scale = b.float(vector, 0.5);
            smallvec![b.intrinsic(&intrinsics::FMA, vector, &[x, scale, carried[0]])]
        });
        let first = b.float(Type::F32, -0.0);
        b.set_float_flags(Flags::REASSOC);
        let sum = b.intrinsic(&intrinsics::VECTOR_REDUCE_FADD, Type::F32, &[first, sums[0]]);
        b.ret(Some(sum));
    });
    body(
        &module,
        expect![[r#"
            define float @f(ptr noalias %x, i32 %n) {
            bb0:
              %0 = icmp slt i32 0, %n
              br i1 %0, label %bb1, label %bb2
            bb1:
              %1 = phi i32 [ 0, %bb0 ], [ %6, %bb1 ]
              %2 = phi <8 x float> [ zeroinitializer, %bb0 ], [ %5, %bb1 ]
              %3 = getelementptr float, ptr %x, i32 %1
              %4 = load <8 x float>, ptr %3, align 4
              %5 = call contract <8 x float> @llvm.fma.v8f32(<8 x float> %4, <8 x float> <float 0x3FE0000000000000, float 0x3FE0000000000000, float 0x3FE0000000000000, float 0x3FE0000000000000, float 0x3FE0000000000000, float 0x3FE0000000000000, float 0x3FE0000000000000, float 0x3FE0000000000000>, <8 x float> %2)
              %6 = add nsw i32 %1, 8
              %7 = icmp slt i32 %6, %n
              br i1 %7, label %bb1, label %bb2
            bb2:
              %8 = phi <8 x float> [ zeroinitializer, %bb0 ], [ %5, %bb1 ]
              %9 = call reassoc float @llvm.vector.reduce.fadd.v8f32(float 0x8000000000000000, <8 x float> %8)
              ret float %9
            }
        "#]],
    );
}

#[test]
fn naive_code_is_folded_and_shared() {
    let module = build(Type::I32, &[("a", Type::I32), ("b", Type::I32)], |b, args| {
        let (zero, one, three, four) = (b.i32(0), b.i32(1), b.i32(3), b.i32(4));
        let seven = b.add(three, four);
        assert_eq!(b.as_int(seven), Some(7));
        let first = b.add(args[0], args[1]);
        let again = b.add(args[1], args[0]);
        assert_eq!(first, again);
        let same = b.mul(first, one);
        let same = b.add(same, zero);
        assert_eq!(same, first);
        let none = b.sub(first, first);
        assert!(b.is_zero(none));
        let always = b.icmp(IntCompare::Sle, three, four);
        assert!(b.is_all_ones(always));
        let shifted = b.shl(seven, four);
        let negative = b.neg(shifted);
        assert_eq!(b.as_int(negative), Some(-112));
        let lanes = b.iota(Type::I32.vector(4));
        let doubled = b.add(lanes, lanes);
        let third = b.extract(doubled, 3);
        assert_eq!(b.as_int(third), Some(6));
        let chosen = b.select(always, first, negative);
        // Division by zero and overlong shifts are left for the program to meet.
        let bad = b.sdiv(seven, zero);
        assert_eq!(b.as_int(bad), None);
        b.ret(Some(chosen));
    });
    body(
        &module,
        expect![[r#"
            define i32 @f(i32 %a, i32 %b) {
            bb0:
              %0 = add i32 %a, %b
              %1 = sdiv i32 7, 0
              ret i32 %0
            }
        "#]],
    );
}

#[test]
fn values_are_shared_only_where_they_dominate() {
    let module = build(Type::I32, &[("c", Type::I1), ("a", Type::I32)], |b, args| {
        let five = b.i32(5);
        let before = b.mul(args[1], args[1]);
        let mut branch = b.begin_if(args[0]);
        let inner = b.sdiv(args[1], five);
        let shared = b.mul(args[1], args[1]);
        assert_eq!(shared, before);
        b.begin_else(&mut branch, &[inner]);
        let other = b.sdiv(args[1], five);
        assert_ne!(inner, other, "one branch must not use what the other made");
        let other = b.add(other, five);
        let result = b.end_if(branch, &[other]);
        let last = b.sdiv(args[1], five);
        let result = b.add(result[0], last);
        let result = b.add(result, before);
        b.ret(Some(result));
    });
    body(
        &module,
        expect![[r#"
            define i32 @f(i1 %c, i32 %a) {
            bb0:
              %0 = mul i32 %a, %a
              br i1 %c, label %bb1, label %bb2
            bb1:
              %1 = sdiv i32 %a, 5
              br label %bb3
            bb2:
              %2 = sdiv i32 %a, 5
              %3 = add i32 %2, 5
              br label %bb3
            bb3:
              %4 = phi i32 [ %1, %bb1 ], [ %3, %bb2 ]
              %5 = sdiv i32 %a, 5
              %6 = add i32 %4, %5
              %7 = add i32 %0, %6
              ret i32 %7
            }
        "#]],
    );
}

#[test]
fn a_while_loop_and_a_switch() {
    let module = build(Type::I64, &[("n", Type::I64), ("bb0", Type::I64)], |b, args| {
        let (zero, one) = (b.i64(0), b.i64(1));
        let looped = b.begin_while(&[args[0], zero]);
        let more = b.icmp(IntCompare::Ne, looped.carried[0], zero);
        let count = looped.carried[1];
        b.do_while(&looped, more, &[count]);
        let half = b.lshr(looped.carried[0], one);
        let next = b.add(looped.carried[1], one);
        let count = b.end_while(looped, &[half, next])[0];
        let (known, other) = (b.create_block(), b.create_block());
        b.switch(count, other, &[(3, known), (-4, known)]);
        b.switch_to(known);
        b.ret(Some(args[1]));
        b.switch_to(other);
        b.ret(Some(count));
    });
    body(
        &module,
        expect![[r#"
            define i64 @f(i64 %n, i64 %bb0.) {
            bb0:
              br label %bb1
            bb1:
              %0 = phi i64 [ %n, %bb0 ], [ %3, %bb2 ]
              %1 = phi i64 [ 0, %bb0 ], [ %4, %bb2 ]
              %2 = icmp ne i64 %0, 0
              br i1 %2, label %bb2, label %bb3
            bb2:
              %3 = lshr i64 %0, 1
              %4 = add i64 %1, 1
              br label %bb1
            bb3:
              %5 = phi i64 [ %1, %bb1 ]
              switch i64 %5, label %bb5 [ i64 3, label %bb4 i64 -4, label %bb4 ]
            bb4:
              ret i64 %bb0.
            bb5:
              ret i64 %5
            }
        "#]],
    );
}

#[test]
fn every_kind_of_memory_access() {
    let module = build(Type::I32, &[("p", Type::PTR), ("i", Type::I32.vector(4))], |b, args| {
        let vector = Type::F32.vector(4);
        let lanes = b.iota(Type::I32.vector(4));
        let mask = b.icmp(IntCompare::Ult, lanes, args[1]);
        let other = b.zero(vector);
        let x = b.masked_load(vector, args[0], 4, mask, other);
        b.masked_store(x, args[0], 4, mask);
        let places = b.gep_with(Type::F32, args[0], args[1], Flags::INBOUNDS);
        let y = b.gather(vector, places, 4, mask, other);
        b.scatter(y, places, 4, mask);
        let streaming = Memory { nontemporal: true, ..Memory::aligned(16) };
        b.store_with(y, args[0], streaming, Flags::NONE);
        let constant = Memory { invariant: true, ..Memory::aligned(4) };
        let z = b.load_with(Type::I32, args[0], constant, Flags::VOLATILE);
        let acquired = Memory { ordering: Some(Ordering::Acquire), ..Memory::aligned(4) };
        let w = b.load_with(Type::I32, args[0], acquired, Flags::NONE);
        let old = b.atomic_rmw(Rmw::UMax, args[0], w, Ordering::AcqRel);
        let (was, stored) = b.cmpxchg(args[0], old, z, Ordering::AcqRel);
        let agent =
            Memory { ordering: Some(Ordering::Monotonic), scope: SyncScope::Agent, ..Memory::aligned(4) };
        b.atomic_rmw_with(Rmw::Add, args[0], old, agent);
        b.cmpxchg_with(args[0], old, z, agent);
        b.load_with(Type::I32, args[0], agent, Flags::NONE);
        b.store_with(old, args[0], agent, Flags::NONE);
        b.fence_among(Ordering::Release, SyncScope::Workgroup);
        let room = b.alloca(vector, 16);
        b.store(x, room, 16);
        b.prefetch(room);
        let bytes = b.i64(16);
        b.memcpy(args[0], room, bytes);
        b.fence(Ordering::SeqCst);
        let result = b.select(stored, was, old);
        b.ret(Some(result));
    });
    body(
        &module,
        expect![[r#"
            define i32 @f(ptr noalias %p, <4 x i32> %i) {
            bb0:
              %0 = icmp ult <4 x i32> <i32 0, i32 1, i32 2, i32 3>, %i
              %1 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr %p, i32 4, <4 x i1> %0, <4 x float> zeroinitializer)
              call void @llvm.masked.store.v4f32.p0(<4 x float> %1, ptr %p, i32 4, <4 x i1> %0)
              %2 = getelementptr inbounds float, ptr %p, <4 x i32> %i
              %3 = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> %2, i32 4, <4 x i1> %0, <4 x float> zeroinitializer)
              call void @llvm.masked.scatter.v4f32.v4p0(<4 x float> %3, <4 x ptr> %2, i32 4, <4 x i1> %0)
              store <4 x float> %3, ptr %p, align 16, !nontemporal !0
              %4 = load volatile i32, ptr %p, align 4, !invariant.load !1
              %5 = load atomic i32, ptr %p acquire, align 4
              %6 = atomicrmw umax ptr %p, i32 %5 acq_rel, align 4
              %7 = cmpxchg ptr %p, i32 %6, i32 %4 acq_rel acquire, align 4
              %8 = extractvalue { i32, i1 } %7, 0
              %9 = extractvalue { i32, i1 } %7, 1
              %10 = atomicrmw add ptr %p, i32 %6 syncscope("agent") monotonic, align 4
              %11 = cmpxchg ptr %p, i32 %6, i32 %4 syncscope("agent") monotonic monotonic, align 4
              %12 = extractvalue { i32, i1 } %11, 0
              %13 = extractvalue { i32, i1 } %11, 1
              %14 = load atomic i32, ptr %p syncscope("agent") monotonic, align 4
              store atomic i32 %6, ptr %p syncscope("agent") monotonic, align 4
              fence syncscope("workgroup") release
              %15 = alloca <4 x float>, align 16
              store <4 x float> %1, ptr %15, align 16
              call void @llvm.prefetch.p0(ptr %15, i32 0, i32 3, i32 1)
              call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %15, i64 16, i1 false)
              fence seq_cst
              %16 = select i1 %9, i32 %8, i32 %6
              ret i32 %16
            }
        "#]],
    );
}

#[test]
fn lanes_casts_and_calls() {
    let module = build(Type::VOID, &[("x", Type::F32), ("call", Type::PTR)], |b, args| {
        let all = b.splat(args[0], 8);
        let same = b.extract(all, 5);
        assert_eq!(same, args[0]);
        let low = b.slice(all, 0, 4);
        let high = b.slice(all, 4, 4);
        let both = b.concat(low, high);
        let double = b.resize_float(both, Type::F64.vector(8));
        let half = b.resize_float(both, Type::F16.vector(8));
        let brain = b.resize_float(half, Type::BF16.vector(8));
        let bits = b.bitcast(brain, Type::I16.vector(8));
        let whole = b.cast(Op::FPTOSI, double, Type::I64.vector(8));
        let narrow = b.resize_signed(whole, Type::I16.vector(8));
        let sum = b.add(bits, narrow);
        let over = b.intrinsic(&intrinsics::SADD_WITH_OVERFLOW, sum_type().flagged(), &[sum, bits]);
        let flag = b.part(over, 1);
        let any = b.intrinsic(&intrinsics::VECTOR_REDUCE_OR, Type::I1, &[flag]);
        let unordered = b.fcmp(FloatCompare::Uno, args[0], args[0]);
        let stop = b.or(any, unordered);
        b.begin_if_likely_not(stop);
        let message = b.module().add_bytes(b"quote \" and \\ and \0");
        let message = b.symbol(&message);
        b.call_indirect(args[1], Type::VOID, &[message]);
        b.inline_asm(Asm::effect("nop", ""), Type::VOID, &[]);
        b.call_symbol("outside", Type::VOID, &[args[0]], Purity::Impure);
        b.ret(None);
    });
    let text = module.to_string();
    assert!(text.contains("c\"quote \\22 and \\5C and \\00\""), "{text}");
    assert!(text.contains("declare void @outside(float)"), "{text}");
    assert!(text.contains("!2 = !{!\"branch_weights\", i32 2000, i32 1}"), "{text}");
}

fn sum_type() -> Type {
    Type::I16.vector(8)
}

/// A branch to a trap, by hand.
trait Trap {
    fn begin_if_likely_not(&mut self, stop: Value);
}

impl Trap for FunctionBuilder<'_> {
    fn begin_if_likely_not(&mut self, stop: Value) {
        let (go_on, trap) = (self.create_block(), self.create_block());
        let goes = self.not(stop);
        self.cond_br_likely(goes, (go_on, &[]), (trap, &[]));
        self.switch_to(trap);
        self.intrinsic_void(&intrinsics::TRAP, &[]);
        self.unreachable();
        self.switch_to(go_on);
    }
}

#[test]
fn constant_conditions_leave_no_dead_blocks() {
    let module = build(Type::I32, &[], |b, _| {
        let (start, end, step, init) = (b.i32(4), b.i32(4), b.i32(1), b.i32(9));
        let result = b.for_loop(start, end, step, &[init], |b, iv, carried| smallvec![b.add(iv, carried[0])]);
        b.ret(Some(result[0]));
    });
    body(
        &module,
        expect![[r#"
            define i32 @f() {
            bb0:
              br label %bb1
            bb1:
              %0 = phi i32 [ 9, %bb0 ]
              ret i32 %0
            }
        "#]],
    );
}

#[test]
fn attached_text_shares_declarations() {
    let mut module = build(Type::F32, &[("x", Type::F32)], |b, args| {
        let root = b.intrinsic(&intrinsics::SQRT, Type::F32, &[args[0]]);
        let result = b.call_symbol("twice", Type::F32, &[root], Purity::Pure);
        b.ret(result);
    });
    let text = "declare float @llvm.sqrt.f32(float)\ndeclare float @llvm.fabs.f32(float)\n\
        define internal float @twice(float %x) alwaysinline {\n  %a = call float @llvm.fabs.f32(float %x)\n  \
        %r = call float @llvm.sqrt.f32(float %a)\n  ret float %r\n}\n";
    module.attach_text("twice", text);
    module.attach_text("twice", text);
    accepted(&module);
    let printed = module.to_string();
    assert_eq!(printed.matches("declare float @llvm.sqrt.f32(float)").count(), 1);
    assert!(!printed.contains("declare float @twice"));
    let table = module.add_table("table", Type::F64, vec![1.5f64.to_bits().into(), 0], 64);
    assert_eq!(module.add_table("table", Type::F64, vec![1.5f64.to_bits().into(), 0], 8), table);
    accepted(&module);
}

#[test]
fn the_verifier_finds_what_is_wrong() {
    let mut module = Module::new("bad");
    let id = module.add_function("f", Type::I32, vec![param("a", Type::I32), param("x", Type::F32)]);
    module.declare(Callee::new("g", Type::VOID, vec![Type::I64], Purity::Impure));
    let mut b = FunctionBuilder::new(&mut module, id);
    let (a, x) = (b.param(0), b.param(1));
    b.add(a, x);
    b.load(Type::I8, a, 3);
    b.bitcast(a, Type::I64);
    b.call_symbol("g", Type::VOID, &[a], Purity::Impure);
    let (left, right) = (b.create_block(), b.create_block());
    let yes = b.icmp(IntCompare::Eq, a, x);
    b.cond_br(a, (left, &[a]), (right, &[]));
    b.switch_to(left);
    let inner = b.add(a, a);
    b.br(right, &[]);
    b.switch_to(right);
    b.ret(Some(inner));
    b.ret(Some(yes));
    b.finish();
    let errors: Vec<String> = verify(&module).unwrap_err().iter().map(ToString::to_string).collect();
    expect![[r#"
        @f, bb0, instruction 0: `add` does not take [i32, float] to give i32
        @f, bb0, instruction 1: `load` does not take [i32] to give i8
        @f, bb0, instruction 2: `bitcast` does not take [i32] to give i64
        @f, bb0, instruction 3: `call` does not take [i32] to give void
        @f, bb0, instruction 4: `icmp` does not take [i32, float] to give i1
        @f, bb0, instruction 5: `br` does not take [i32] to give void
        @f, bb0, instruction 5: bb1 takes [] but is passed [i32]
        @f, bb2, instruction 0: `ret` stands before the end of the block
        @f, bb2, instruction 0: v6 is used where its definition may not have run
        @f, bb2, instruction 1: `ret` does not take [i1] to give void"#]]
    .assert_eq(&errors.join("\n"));
}

#[test]
fn linkage_and_attributes_are_printed() {
    let mut module = build(Type::VOID, &[("p", Type::PTR)], |b, _| b.ret(None));
    let id = module.find("f").unwrap();
    let function = module.function_mut(id).unwrap();
    function.linkage = Linkage::Internal;
    function.attributes = vec!["nounwind".into(), "\"prefer-vector-width\"=\"512\"".into()];
    function.params[0].attributes.align = 64;
    function.params[0].attributes.dereferenceable = 128;
    accepted(&module);
    let line = "define internal void @f(ptr noalias align 64 dereferenceable(128) %p) nounwind \
                \"prefer-vector-width\"=\"512\" {";
    assert!(module.to_string().contains(line), "{module}");
}

#[test]
fn rows_name_what_llvm_knows() {
    let names: Vec<&str> = Op::all().map(|op| op.row().name).collect();
    assert!(names.contains(&"fadd") && names.contains(&"shufflevector"));
    assert_eq!(Op::FMUL.row().name, "fmul");
    assert_eq!(Op::UNREACHABLE.row().name, "unreachable");
    assert!(Op::ADD.row().commutes && !Op::SUB.row().commutes);
}

#[test]
fn assembly_with_several_results() {
    let module = build(Type::I32, &[("x", Type::I32), ("y", Type::I64)], |b, args| {
        let ty = Type::structure(&[Type::I32, Type::I32, Type::I64]);
        let constraints = "=r,=r,=r,0,r,~{memory}";
        let made = b.inline_asm(Asm::effect("# $0 $1 $2 $4", constraints), ty, &args[..2]).expect("three");
        let parts = b.parts(made);
        assert_eq!(parts.len(), 3);
        let wide = b.resize_unsigned(parts[2], Type::I32);
        let sum = b.add(parts[0], parts[1]);
        let sum = b.add(sum, wide);
        b.ret(Some(sum));
    });
    body(
        &module,
        expect![[r##"
            define i32 @f(i32 %x, i64 %y) {
            bb0:
              %0 = call { i32, i32, i64 } asm sideeffect "# $0 $1 $2 $4", "=r,=r,=r,0,r,~{memory}"(i32 %x, i64 %y)
              %1 = extractvalue { i32, i32, i64 } %0, 0
              %2 = extractvalue { i32, i32, i64 } %0, 1
              %3 = extractvalue { i32, i32, i64 } %0, 2
              %4 = trunc i64 %3 to i32
              %5 = add i32 %1, %2
              %6 = add i32 %4, %5
              ret i32 %6
            }
        "##]],
    );
}

#[test]
fn structures_of_few_parts_have_one_form() {
    assert_eq!(Type::structure(&[Type::F32; 2]), Type::F32.twice());
    assert_eq!(Type::structure(&[Type::I8, Type::I1]), Type::I8.flagged());
    assert_eq!(Type::structure(&[Type::F32]), Type::F32);
    assert_eq!(Type::structure(&[]), Type::VOID);
    let four = Type::structure(&[Type::F32; 4]);
    assert_eq!(four, Type::structure(&[Type::F32; 4]));
    assert_ne!(four, Type::structure(&[Type::F32; 3]));
    assert_eq!((four.part_count(), four.part(3), four.part(4)), (4, Some(Type::F32), None));
    assert!(!four.is_float() && !four.is_void());
}

#[test]
fn constraints_must_count_results_and_operands() {
    for (constraints, ret) in [("=r,r,r", Type::I32), ("=r,r", Type::I32.twice()), ("=r,1", Type::I32)] {
        let mut module = Module::new("test");
        let id = module.add_function("f", Type::VOID, vec![param("x", Type::I32)]);
        let mut b = FunctionBuilder::new(&mut module, id);
        let x = b.param(0);
        b.inline_asm(Asm::effect("", constraints), ret, &[x]);
        b.ret(None);
        b.finish();
        let errors = verify(&module).expect_err("wrong constraints");
        assert_eq!(errors.len(), 1, "{errors:?}");
    }
}

#[test]
fn kernels_address_spaces_and_places() {
    let mut module = Module::new("test");
    module.print_locations = true;
    let file = module.add_file("/home/a kernel.py");
    let other = module.add_file("library.py");
    assert_eq!(module.add_file("library.py"), other);
    module.add_memory(Global {
        name: "shared".into(),
        element: Type::I8,
        kind: GlobalKind::External(0),
        space: 3,
        align: 16,
    });
    let mut params = vec![param("x", Type::pointer(1)), param("map", Type::PTR)];
    params[1].attributes.by_value = 128;
    params[1].attributes.align = 64;
    let id = module.add_function("f", Type::VOID, params);
    let function = module.function_mut(id).expect("it was added");
    function.kernel = Some(Kernel { convention: "spir_kernel".into(), ..Kernel::default() });
    function.location = Some(Location { file, line: 3, column: 1 });
    let mut b = FunctionBuilder::new(&mut module, id);
    b.set_loc(Some(Location { file, line: 4, column: 5 }));
    let shared = b.symbol_in("shared", 3);
    let value = b.load(Type::F32, shared, 4);
    b.set_loc(Some(Location { file: other, line: 9, column: 70_000 }));
    let x = b.param(0);
    b.store(value, x, 4);
    let generic = b.space_cast(x, 0);
    b.set_loc(None);
    b.store(value, generic, 4);
    b.intrinsic_void(&intrinsics::TRAP, &[]);
    b.ret(None);
    b.finish();
    accepted(&module);
    let text = module.to_string();
    for line in [
        "@shared = external addrspace(3) global [0 x i8], align 16",
        "define spir_kernel void @f(ptr addrspace(1) noalias %x, ptr noalias align 64 byval([128 x i8]) %map) !dbg !7 {",
        "  %0 = load float, ptr addrspace(3) @shared, align 4, !dbg !8",
        "  store float %0, ptr addrspace(1) %x, align 4, !dbg !10",
        "  %1 = addrspacecast ptr addrspace(1) %x to ptr, !dbg !10",
        "  store float %0, ptr %1, align 4",
        "  call void @llvm.trap(), !dbg !11",
        "!10 = !DILocation(line: 9, column: 0, scope: !9)",
    ] {
        assert!(text.lines().any(|found| found == line), "no line {line}\n{text}");
    }
    module.print_locations = false;
    assert!(!module.to_string().contains("!dbg"));
    accepted(&module);
}
