//! Texts that cannot be run are refused with their line.

use crate::common::entry;
use emulator::Program;

/// The message for a body whose second line is wrong.
fn refused(line: &str) -> String {
    let text = entry(
        ".param .u64 p",
        &format!(".reg .b32 %r<4>; .reg .b16 %h; .reg .b64 %rd; .reg .pred %p;\n{line}"),
    );
    let error = Program::parse(&text).err().unwrap_or_else(|| panic!("`{line}` was taken"));
    assert_eq!(error.line, 7, "{line}: {error}");
    error.message
}

#[test]
fn errors_say_what_is_wrong() {
    let cases = [
        ("add.s32 %r0, %r1;", "2 operands"),
        ("add.s32 %r0, %r1, %x;", "`%x` is not declared"),
        ("add.s32 %r0, %h, %r1;", "`%h` has 16 bits, not 32"),
        ("add.s64 %r0, %rd, %rd;", "`%r0` has 32 bits, the result 64"),
        ("add.odd.s32 %r0, %r1, %r2;", "the modifier `.odd` is unknown here"),
        ("frobnicate.s32 %r0, %r1;", "the instruction is unknown"),
        ("atom.global.cas.b8 %h, [%rd], %h, %h;", "PTX has no such instruction"),
        ("atom.global.add.s64 %rd, [%rd], %rd;", "PTX has no such instruction"),
        ("atom.global.add.f16 %h, [%rd], %h;", "PTX has no such instruction"),
        ("setp.lt.b32 %p, %r0, %r1;", "PTX has no such instruction"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 %r0, [%r1];", "operand 1 must be in braces"),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r0], %r1;", "operand 2 must be in braces"),
        ("bra nowhere;", "`nowhere` is not a label"),
        ("setp.s32 %p, %r0, %r1;", "a comparison"),
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0}, {%r1}, {%r2}, {%r3};",
            "registers where 4 are expected",
        ),
        ("shfl.bfly.b32 %r0, %r1, 1, 31;", "`.sync` is missing"),
        ("add.s32 %r0, %r1, %r2", "expected `,` or `;`"),
        ("cp.async.ca.shared.global [%r0], [%rd], 12;", "12 bytes"),
        ("{ add.s32 %r0, %r1, %r2; ", "expected an instruction"),
        // The assembler takes no floats of 16 bits, nor pairs of them, but from registers.
        ("sub.rn.f16x2 %r0, %r1, 1677747200;", "cannot be used as `.f16x2`"),
        ("fma.rn.bf16x2 %r0, %r1, %r2, 5;", "cannot be used as `.bf16x2`"),
        ("add.rn.f16 %h, %h, 5;", "cannot be used as `.f16`"),
    ];
    for (line, message) in cases {
        if line.ends_with("; ") || !line.ends_with(';') {
            let text = entry("", &format!(".reg .b32 %r<4>;\n{line}"));
            let error = Program::parse(&text).err().expect("it is wrong");
            assert!(error.message.contains(message), "{line}: {error}");
            continue;
        }
        let found = refused(line);
        assert!(found.contains(message), "{line}: {found}");
    }
}

#[test]
fn no_text_makes_the_parser_panic() {
    let good = entry(
        ".param .u64 p, .param .align 4 .b8 q[12]",
        ".reg .b32 %r<4>; .reg .b64 %rd<2>; .loc 1 2 3\nld.param.u64 %rd0, [p+0]; { mov.b32 %r0, {%r1, 0x10}; }
         mad.lo.s32 %r1, %r0, -3, 0f3F800000; @!%p1 st.global.v2.b32 [%rd0+-8], {%r0, %r1}; l: bra l;",
    );
    for end in 0..good.len() {
        let _ = Program::parse(&good[..end]);
        let mut cut = good.clone();
        cut.remove(end);
        let _ = Program::parse(&cut);
        let mut doubled = good.clone();
        doubled.insert(end, good.as_bytes()[end] as char);
        let _ = Program::parse(&doubled);
        for mark in ["{", "}", ";", "[", "-", "%", "9999999999999999999", "\"", "/*"] {
            let mut more = good.clone();
            more.insert_str(end, mark);
            let _ = Program::parse(&more);
        }
    }
}

#[test]
fn what_compilers_write_around_is_skipped() {
    let text = "//\n.version 8.7\n.target sm_90a, debug\n.address_size 64\n\t.file\t1 \"a b.py\"\n
        .extern .func  (.param .b32 func_retval0) vprintf ( .param .b64 a, .param .b64 b ) ;
        .visible .entry k( .param .u64 .ptr .global .align 16 k_param_0, .param .align 64 .b8 map[128] )\n.reqntid 128\n.maxnreg 64
        {\n.pragma \"nounroll\";\n.reg .b64 \t%rd<2>;\n\t.loc\t1 3 4, function_name $L__info, inlined_at 1 9 2\n$L__tmp0:
        ld.param.b64 %rd1, [k_param_0]; // comment\n ret; /* more */ }
        .section .debug_abbrev\n{\n.b8 1\n.b32 2\n}\n.section .debug_macinfo { }\n";
    let program = Program::parse(text).expect("it is a text as compilers write it");
    assert_eq!((program.version(), program.target()), ((8, 7), "sm_90a"));
    assert_eq!(program.entry("k").expect("it is there").params[1].offset, 64);
}

/// Opcodes with a `TYPE`, whose operands are registers.
const OPCODES: &[&str] = &[
    "add.TYPE",
    "sub.cc.TYPE",
    "addc.TYPE",
    "mul.wide.TYPE",
    "mul.hi.TYPE",
    "mul.rz.TYPE",
    "mad.lo.TYPE",
    "mad.wide.TYPE",
    "mad24.hi.TYPE",
    "div.TYPE",
    "div.rp.TYPE",
    "rem.TYPE",
    "abs.TYPE",
    "neg.TYPE",
    "min.TYPE",
    "max.NaN.TYPE",
    "sad.TYPE",
    "dp4a.TYPE.TYPE",
    "and.TYPE",
    "not.TYPE",
    "cnot.TYPE",
    "shl.TYPE",
    "shr.TYPE",
    "shf.l.clamp.TYPE",
    "popc.TYPE",
    "clz.TYPE",
    "bfind.TYPE",
    "bfind.shiftamt.TYPE",
    "fns.TYPE",
    "brev.TYPE",
    "bfe.TYPE",
    "bfi.TYPE",
    "bmsk.wrap.TYPE",
    "szext.clamp.TYPE",
    "prmt.TYPE",
    "prmt.TYPE.b4e",
    "fma.rn.TYPE",
    "fma.rm.TYPE",
    "rcp.approx.TYPE",
    "sqrt.rz.TYPE",
    "rsqrt.approx.TYPE",
    "ex2.approx.TYPE",
    "lg2.approx.TYPE",
    "tanh.approx.TYPE",
    "copysign.TYPE",
    "testp.normal.TYPE",
    "setp.lt.TYPE",
    "setp.geu.TYPE",
    "set.eq.u32.TYPE",
    "set.eq.TYPE.f32",
    "selp.TYPE",
    "slct.TYPE.s32",
    "slct.b32.TYPE",
    "cvt.TYPE.f32",
    "cvt.f32.TYPE",
    "cvt.rni.sat.TYPE.f64",
    "cvt.sat.TYPE.s64",
    "cvt.rn.satfinite.TYPE.f32",
    "cvt.rn.relu.TYPE.f32",
    "cvt.u16.TYPE",
    "cvt.pack.sat.TYPE.s32",
    "mov.TYPE",
    "vote.sync.any.TYPE",
    "match.any.sync.TYPE",
    "redux.sync.add.TYPE",
    "redux.sync.min.TYPE",
    "shfl.sync.up.TYPE",
    "mma.sync.aligned.m16n8k8.row.col.TYPE.TYPE.TYPE.TYPE",
];

const TYPES: &[&str] = &[
    "pred", "b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "u16x2",
    "s16x2", "f16", "f16x2", "bf16", "bf16x2", "tf32", "f32", "f32x2", "f64", "e4m3", "e5m2", "e4m3x2",
    "e5m2x2",
];

#[test]
fn no_instruction_panics() {
    let mut random = crate::common::Random::fresh();
    let mut taken = 0;
    for opcode in OPCODES {
        for ty in TYPES {
            // Registers of every width, in random places, in random numbers.
            for _ in 0..40 {
                let registers =
                    ["%p1", "%h1", "%r1", "%q1", "%b1", "7", "-1", "%p2", "%h2", "%r2", "%q2", "%b2"];
                let own = match ty.trim_start_matches(|c: char| !c.is_ascii_digit()) {
                    "16" => 1,
                    "32" | "16x2" => 2,
                    "64" | "32x2" => 3,
                    "128" => 4,
                    _ => random.below(5) as usize,
                };
                let count = 2 + random.below(4);
                let operands: Vec<&str> = (0..count)
                    .map(|_| {
                        registers[if random.below(4) == 0 {
                            random.below(12) as usize
                        } else {
                            own + 7 * (random.below(8) / 7) as usize
                        }]
                    })
                    .collect();
                let line = format!("{} {};", opcode.replace("TYPE", ty), operands.join(", "));
                let body = format!(
                    ".reg .pred %p<3>; .reg .b16 %h<3>; .reg .b32 %r<3>; .reg .b64 %q<3>; .reg .b128 %b<3>;
                     mov.b32 %r1, {}; mov.b32 %r2, %laneid; mov.b64 %q1, {}; mov.b64 %q2, {}; mov.b16 %h1, {};\n{line}",
                    random.bits() as u32,
                    random.bits(),
                    random.bits(),
                    random.bits() as u16
                );
                if let Ok(program) = Program::parse(&entry("", &body)) {
                    taken += 1;
                    let launch = emulator::Launch::default();
                    let _ = program.launch(
                        "k",
                        &launch,
                        &mut emulator::Memory::new(),
                        emulator::Checks::default(),
                    );
                }
            }
        }
    }
    assert!(taken > 1000, "only {taken} of them could be run");
}

#[test]
fn sizes_have_bounds() {
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    let bodies = [
        ".global .b8 huge[1000000000000];\n.entry k() { ret; }",
        ".entry k() { .local .b8 huge[100000000]; ret; }",
        ".entry k() { .reg .b32 %r<1000000>; ret; }",
    ];
    for body in bodies {
        assert!(Program::parse(&format!("{head}{body}")).is_err(), "{body}");
    }
    let deep = format!("{head}.entry k() {{ mov.b32 %r, {}1{}; }}", "{".repeat(100_000), "}".repeat(100_000));
    assert!(Program::parse(&deep).is_err());
    let deep = format!("{head}.global .b32 x = {}1;", "{".repeat(100_000));
    assert!(Program::parse(&deep).is_err());
}

#[test]
fn a_literal_has_no_128_bits() {
    let body = ".reg .b128 %b<2>; mov.b128 %b1, 7;";
    let error = Program::parse(&entry("", body)).err().expect("refused");
    assert!(error.message.contains("only read from a register"), "{}", error.message);
}
