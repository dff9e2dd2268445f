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
