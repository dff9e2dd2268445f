//! Whole small kernels.

use crate::support::{ARCHS, arch, instructions, kernel, ptx, ptx_for};
use expect_test::{Expect, expect};
use llir::{Asm, Flags, FloatCompare, IntCompare, Type, Value};

fn thread(b: &mut llir::FunctionBuilder<'_>) -> Value {
    b.call_symbol("llvm.nvvm.read.ptx.sreg.tid.x", Type::I32, &[], llir::Purity::Pure).expect("a number")
}

fn vector_add() -> llir::Module {
    let global = Type::pointer(1);
    kernel(&[global, global, global, Type::I32], |b, args| {
        let block = b
            .call_symbol("llvm.nvvm.read.ptx.sreg.ctaid.x", Type::I32, &[], llir::Purity::Pure)
            .expect("a number");
        let tid = thread(b);
        let size = b.i32(512);
        let start = b.mul(block, size);
        let four = b.i32(4);
        let mine = b.mul(tid, four);
        let first = b.add(start, mine);
        let inside = b.icmp(IntCompare::Slt, first, args[3]);
        let vector = Type::F32.vector(4);
        let condition = b.begin_if(inside);
        let at = |b: &mut llir::FunctionBuilder<'_>, base: Value| b.gep(Type::F32, base, first);
        let (x, y, z) = (at(b, args[0]), at(b, args[1]), at(b, args[2]));
        let (x, y) = (b.load(vector, x, 16), b.load(vector, y, 16));
        let sum = b.fadd(x, y);
        b.store(sum, z, 16);
        b.end_if(condition, &[]);
    })
}

/// The body of a kernel.
fn body(ptx: &str, expected: Expect) {
    let from = ptx.find("\t.reg").expect("registers");
    expected.assert_eq(ptx[from..].trim_end());
}

#[test]
fn a_vector_add_for_every_architecture() {
    let module = vector_add();
    for name in ARCHS {
        ptx_for(&module, arch(name));
    }
    body(
        &ptx(&module),
        expect![[r#"
        	.reg .pred %p<2>;
        	.reg .b32 %r<18>;
        	.reg .b64 %rd<7>;

        	ld.param.b64 %rd1, [k_param_0];
        	ld.param.b64 %rd2, [k_param_1];
        	ld.param.b64 %rd3, [k_param_2];
        	ld.param.b32 %r1, [k_param_3];
        	mov.b32 %r2, %ctaid.x;
        	mov.b32 %r3, %tid.x;
        	mul.lo.s32 %r4, %r3, 4;
        	mad.lo.s32 %r5, %r2, 512, %r4;
        	setp.lt.s32 %p1, %r5, %r1;
        	@!%p1 bra $L__BB0_2;
        	mad.wide.s32 %rd4, %r5, 4, %rd1;
        	mad.wide.s32 %rd5, %r5, 4, %rd2;
        	mad.wide.s32 %rd6, %r5, 4, %rd3;
        	ld.global.v4.b32 {%r6, %r7, %r8, %r9}, [%rd4];
        	ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd5];
        	add.rn.f32 %r14, %r6, %r10;
        	add.rn.f32 %r15, %r7, %r11;
        	add.rn.f32 %r16, %r8, %r12;
        	add.rn.f32 %r17, %r9, %r13;
        	st.global.v4.b32 [%rd6], {%r14, %r15, %r16, %r17};
        $L__BB0_2:
        	ret;
        }"#]],
    );
}

#[test]
fn accumulators_of_a_loop_are_not_moved() {
    let module = kernel(&[Type::I64, Type::I64, Type::I32, Type::pointer(1)], |b, args| {
        let start: Vec<Value> = (0..16).map(|_| b.float(Type::F32, 0.0)).collect();
        let (zero, one) = (b.i32(0), b.i32(1));
        let sums = b.for_loop(zero, args[2], one, &start, |b, iv, carried| {
            b.inline_asm(Asm::effect("wgmma.fence.sync.aligned;", "~{memory}"), Type::VOID, &[]);
            let results: Vec<String> = (0..16).map(|index| format!("${index}")).collect();
            let text = format!(
                "{{\n.reg .pred p;\nsetp.ne.b32 p, $34, 0;\nwgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 \
                 {{{}}}, $32, $33, p, 1, 1, 0, 0;\n}}",
                results.join(", ")
            );
            let ties: Vec<String> = (0..16).map(|index| index.to_string()).collect();
            let constraints = format!("{}{},l,l,r", "=f,".repeat(16), ties.join(","));
            let ty = Type::structure(&[Type::F32; 16]);
            let mut operands = carried.to_vec();
            operands.extend([args[0], args[1], iv]);
            // Operands are numbered with the tied ones first, so 32, 33 and 34 are those after.
            let made = b.inline_asm(Asm::effect(&text, &constraints), ty, &operands).expect("results");
            let parts = b.parts(made);
            b.inline_asm(Asm::effect("wgmma.commit_group.sync.aligned;", "~{memory}"), Type::VOID, &[]);
            let constraints = format!("{}{},~{{memory}}", "=f,".repeat(16), ties.join(","));
            let wait = Asm::effect("wgmma.wait_group.sync.aligned 0;", &constraints);
            let waited = b.inline_asm(wait, ty, &parts).expect("results");
            b.parts(waited)
        });
        let scale = b.float(Type::F32, 2.0);
        for (index, sum) in sums.iter().enumerate() {
            let at = b.i32(index as i32);
            let at = b.gep(Type::F32, args[3], at);
            let scaled = b.fmul(*sum, scale);
            b.store(scaled, at, 4);
        }
    });
    let text = ptx(&module);
    let moves =
        instructions(&text).into_iter().filter(|line| line.starts_with("mov.b32") && line.contains(", %r"));
    assert_eq!(moves.count(), 0, "{text}");
    assert_eq!(text.matches("mov.b32").count(), 17, "{text}");
}

#[test]
fn products_and_sums_are_fused_only_where_both_allow_it() {
    let global = Type::pointer(1);
    let module = kernel(&[global, Type::F32, Type::F32], |b, args| {
        let c = b.load(Type::F32, args[0], 4);
        b.set_float_flags(Flags::CONTRACT);
        let product = b.fmul(args[1], args[2]);
        let fused = b.fadd(product, c);
        b.set_float_flags(Flags::NONE);
        let product = b.fmul(fused, args[2]);
        let apart = b.fsub(product, c);
        b.store(apart, args[0], 4);
    });
    let text = ptx(&module);
    for (word, count) in [("fma.rn.f32", 1), ("mul.rn.f32", 1), ("sub.rn.f32", 1)] {
        assert_eq!(text.matches(word).count(), count, "{word}\n{text}");
    }
}

#[test]
fn half_pairs_stay_packed() {
    let global = Type::pointer(1);
    let module = kernel(&[global, Type::F32, Type::F32], |b, args| {
        let pair = Type::F16.vector(2);
        let x = b.load(Type::F16.vector(8), args[0], 16);
        let low = b.slice(x, 2, 2);
        let doubled = b.fadd(low, low);
        let (a, c) =
            (b.cast(llir::Op::FPTRUNC, args[1], Type::F16), b.cast(llir::Op::FPTRUNC, args[2], Type::F16));
        let other = b.vector(&[a, c]);
        let product = b.fmul(doubled, other);
        let first = b.extract(product, 0);
        let second = b.extract(x, 7);
        let sum = b.fadd(first, second);
        let sums = b.splat(sum, 2);
        assert_eq!(b.ty(sums), pair);
        b.store(sums, args[0], 4);
    });
    let text = ptx(&module);
    body(
        &text,
        expect![[r#"
        	.reg .b16 %rs<4>;
        	.reg .b32 %r<11>;
        	.reg .b64 %rd<2>;

        	ld.param.b64 %rd1, [k_param_0];
        	ld.param.b32 %r1, [k_param_1];
        	ld.param.b32 %r2, [k_param_2];
        	ld.global.v4.b32 {%r3, %r4, %r5, %r6}, [%rd1];
        	mov.b32 {_, %rs1}, %r6;
        	add.rn.f16x2 %r7, %r4, %r4;
        	cvt.rn.f16x2.f32 %r8, %r2, %r1;
        	mul.rn.f16x2 %r9, %r7, %r8;
        	mov.b32 {%rs2, _}, %r9;
        	add.rn.f16 %rs3, %rs2, %rs1;
        	mov.b32 %r10, {%rs3, %rs3};
        	st.global.b32 [%rd1], %r10;
        	ret;
        }"#]],
    );
}

#[test]
fn whiles_switches_and_choices() {
    let global = Type::pointer(1);
    let module = kernel(&[global, Type::I32, Type::F64], |b, args| {
        let loop_ = b.begin_while(&[args[1], args[2]]);
        let (n, x) = (loop_.carried[0], loop_.carried[1]);
        let zero = b.i32(0);
        let more = b.icmp(IntCompare::Ne, n, zero);
        b.do_while(&loop_, more, &[x, n]);
        let half = b.float(Type::F64, 0.5);
        let smaller = b.fmul(x, half);
        let tiny = b.fcmp(FloatCompare::Ult, smaller, half);
        let next = b.select(tiny, x, smaller);
        let one = b.i32(1);
        let left = b.sub(n, one);
        let after = b.end_while(loop_, &[left, next]);
        let (a, c, d) = (b.create_block(), b.create_block(), b.create_block());
        let at = b.cast(llir::Op::FPTOSI, after[0], Type::I32);
        b.switch(at, d, &[(1, a), (-7, c)]);
        for (block, value) in [(a, 10), (c, 20)] {
            b.switch_to(block);
            let value = b.i32(value);
            b.store(value, args[0], 4);
            b.br(d, &[]);
        }
        b.switch_to(d);
        b.ret(None);
    });
    for name in ARCHS {
        ptx_for(&module, arch(name));
    }
}
