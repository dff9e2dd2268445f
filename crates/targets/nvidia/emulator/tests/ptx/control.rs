//! Branches, functions, scopes, variables, output and ends.

use crate::common::{clean, each, entry, launch, parse, put_words, words};
use emulator::{Argument, Checks, FaultKind, Launch, Memory};

#[test]
fn lanes_that_part_meet_again() {
    let cells: Vec<u64> = (0..64).collect();
    // The Collatz sequence takes another path in every lane.
    let body = "mov.b32 %d, 0; add.s32 %r0, %a0, 1;
        loop: setp.eq.s32 %p0, %r0, 1; @%p0 bra done;
        and.b32 %r1, %r0, 1; setp.eq.s32 %p1, %r1, 0; @%p1 bra even;
        mad.lo.s32 %r0, %r0, 3, 1; bra next;
        even: shr.u32 %r0, %r0, 1;
        next: add.s32 %d, %d, 1; bra.uni loop;
        done: bar.warp.sync -1;";
    let got = each(&[("b32", &cells)], "b32", body);
    for (cell, got) in cells.iter().zip(got) {
        let (mut n, mut steps) = (cell + 1, 0);
        while n != 1 {
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        assert_eq!(got, steps);
    }
}

#[test]
fn branches_by_number() {
    let cells: Vec<u64> = (0..32).map(|lane| lane % 3).collect();
    let body = "targets: .branchtargets a, b, c; brx.idx %a0, targets;
        a: mov.b32 %d, 10; bra end; b: mov.b32 %d, 20; bra end; c: mov.b32 %d, 30; end:";
    assert_eq!(
        each(&[("b32", &cells)], "b32", body),
        cells.iter().map(|cell| 10 + 10 * cell).collect::<Vec<_>>()
    );
}

#[test]
fn scopes_have_names_of_their_own() {
    let cells: Vec<u64> = (0..32).collect();
    let body = "mov.b32 %d, 0;
        { .reg .b32 t; .reg .pred again; mov.b32 t, 3; wait: add.s32 %d, %d, 1; sub.s32 t, t, 1;
          setp.ne.s32 again, t, 0; @again bra wait; }
        { .reg .b64 t; .reg .pred again; mov.b64 t, 2; wait: add.s32 %d, %d, 10; sub.s64 t, t, 1;
          setp.ne.s64 again, t, 0; @again bra wait; }";
    assert_eq!(each(&[("b32", &cells)], "b32", body), vec![23; 32]);
}

#[test]
fn functions_are_called() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64
        .func (.param .b32 out) square(.param .b32 x) {
            .reg .b32 %r<2>; .reg .pred %p; ld.param.b32 %r0, [x]; setp.gt.s32 %p, %r0, 9;
            @%p bra big; mul.lo.s32 %r1, %r0, %r0; st.param.b32 [out], %r1; ret;
            big: mov.b32 %r1, -1; st.param.b32 [out], %r1; ret; }
        .func (.param .b32 out) fourth(.param .b32 x) {
            .reg .b32 %r<2>; .param .b32 a; .param .b32 b; ld.param.b32 %r0, [x]; st.param.b32 [a], %r0;
            call (b), square, (a); ld.param.b32 %r0, [b]; st.param.b32 [a], %r0;
            call (b), square, (a); ld.param.b32 %r1, [b]; st.param.b32 [out], %r1; ret; }
        .visible .entry k(.param .u64 p) {
            .reg .b32 %r<4>; .reg .b64 %rd<3>; ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x;
            { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call.uni (y), fourth, (x); ld.param.b32 %r2, [y]; }
            mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.b32 [%rd2], %r2; ret; }";
    let mut memory = Memory::new();
    let out = memory.allocate(128);
    clean(text, 32, vec![out.into()], &mut memory);
    let square = |x: i32| if x > 9 { -1 } else { x * x };
    let want: Vec<u32> = (0..32).map(|x| square(square(x)) as u32).collect();
    assert_eq!(words(&mut memory, out, 32), want);
}

#[test]
fn a_function_that_calls_itself_is_refused() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.func f() {\ncall f, ();\nret; }\n.entry k() { call f, (); ret; }";
    let error = emulator::Program::parse(text).err().expect("it cannot be run");
    assert_eq!(error.line, 5);
    assert!(error.message.contains("calls itself"), "{error}");
}

#[test]
fn variables_start_from_their_initialisers() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64
        .global .align 4 .b32 table[4] = {7, -1, 0x10, 9};
        .const .align 4 .f32 one = 0f3F800000;
        .global .align 8 .u64 link = table + 8;
        .global .align 1 .b8 bytes[3] = {65, 66, 67};
        .visible .entry k(.param .u64 p) {
            .reg .b32 %r<6>; .reg .b64 %rd<6>;
            ld.param.u64 %rd1, [p]; ld.global.b32 %r1, [table+12]; st.global.b32 [%rd1], %r1;
            ld.const.b32 %r2, [one]; st.global.b32 [%rd1+4], %r2;
            ld.global.u64 %rd2, [link]; ld.b32 %r3, [%rd2]; st.global.b32 [%rd1+8], %r3;
            mov.u64 %rd3, bytes; cvta.global.u64 %rd3, %rd3; ld.u8 %r4, [%rd3+2]; st.global.b32 [%rd1+12], %r4;
            mov.b32 %r5, 1234; st.global.b32 [table], %r5; ret; }";
    let mut memory = Memory::new();
    let out = memory.allocate(16);
    for _ in 0..2 {
        clean(text, 1, vec![out.into()], &mut memory);
        assert_eq!(words(&mut memory, out, 4), [9, 0x3f80_0000, 16, 67]);
    }
}

#[test]
fn special_registers_say_who_a_lane_is() {
    let text = entry(
        ".param .u64 p",
        ".reg .b32 %r<12>; .reg .b64 %rd<3>; ld.param.u64 %rd1, [p];
         mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ctaid.y; mov.u32 %r4, %ntid.x;
         mov.u32 %r5, %nctaid.x; mov.u32 %r6, %laneid; mov.u32 %r7, %warpid; mov.u32 %r8, %lanemask_lt;
         mov.u32 %r9, %ctaid.x; mad.lo.s32 %r9, %r3, %r5, %r9; mad.lo.s32 %r10, %r2, %r4, %r1;
         mad.lo.s32 %r9, %r9, 48, %r10; mad.wide.u32 %rd2, %r9, 16, %rd1;
         st.global.v4.b32 [%rd2], {%r10, %r6, %r7, %r8};",
    );
    let mut memory = Memory::new();
    let out = memory.allocate(6 * 48 * 16);
    let launch =
        Launch { grid: [2, 3, 1], block: [12, 4, 1], arguments: vec![out.into()], ..Launch::default() };
    parse(&text).launch("k", &launch, &mut memory, Checks::default()).expect("it runs");
    for (index, row) in words(&mut memory, out, 6 * 48 * 4).chunks(4).enumerate() {
        let thread = index as u32 % 48;
        assert_eq!(row, [thread, thread % 32, thread / 32, (1 << (thread % 32)) - 1]);
    }
}

#[test]
fn printf_formats_as_c_does() {
    let format = "%d|%5u|%-4x|%s|%c|%%|%.3f|%e|%g|%lld|%05d\n\0";
    let bytes: Vec<String> = format.bytes().map(|byte| byte.to_string()).collect();
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64
        .extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
        .global .align 1 .b8 format[{}] = {{{}}};
        .global .align 1 .b8 name[4] = {{97, 98, 99, 0}};
        .visible .entry k() {{
            .local .align 8 .b8 depot[80]; .reg .b64 %rd<8>; .reg .b32 %r<4>;
            mov.b32 %r0, -5; st.local.b32 [depot], %r0; mov.b32 %r0, 42; st.local.b32 [depot+4], %r0;
            mov.b32 %r0, 255; st.local.b32 [depot+8], %r0;
            mov.u64 %rd0, name; cvta.global.u64 %rd0, %rd0; st.local.b64 [depot+16], %rd0;
            mov.b32 %r0, 122; st.local.b32 [depot+24], %r0;
            mov.b64 %rd1, 0d400921FB54442D18; st.local.b64 [depot+32], %rd1; st.local.b64 [depot+40], %rd1;
            mov.b64 %rd1, 0d3EE4F8B588E368F1; st.local.b64 [depot+48], %rd1;
            mov.b64 %rd1, -9000000000; st.local.b64 [depot+56], %rd1;
            mov.b32 %r0, -42; st.local.b32 [depot+64], %r0;
            mov.u64 %rd2, format; cvta.global.u64 %rd2, %rd2; mov.u64 %rd3, depot; cvta.local.u64 %rd3, %rd3;
            {{ .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %rd2; st.param.b64 [b], %rd3;
               call.uni (c), vprintf, (a, b); ld.param.b32 %r1, [c]; }}
            ret; }}",
        bytes.len(),
        bytes.join(", ")
    );
    let report = clean(&text, 1, Vec::new(), &mut Memory::new());
    assert_eq!(report.output, "-5|   42|ff  |abc|z|%|3.142|3.141593e+00|1e-05|-9000000000|-0042\n");
}

#[test]
fn ends_name_their_place() {
    let text = entry(
        ".param .u64 p",
        ".reg .pred %p; .reg .b32 %r;\nmov.u32 %r, %tid.x;\nsetp.eq.u32 %p, %r, 37;\n.loc 1 12 3\n@%p trap;",
    );
    let text = format!("{text}.file 1 \"kernel.py\"\n");
    let fault = launch(&text, 64, vec![0u64.into()], &mut Memory::new()).expect_err("it traps");
    assert_eq!((fault.kind, fault.warp, fault.lane), (FaultKind::Trap, 1, Some(5)));
    let place = fault.place.clone().expect("an instruction");
    assert_eq!((place.line, place.source), (10, Some(("kernel.py".to_owned(), 12, 3))));
    assert!(fault.to_string().contains("kernel.py:12:3"), "{fault}");
}

#[test]
fn launches_must_fit_their_entry() {
    let text =
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u32 n)\n.reqntid 64\n{ ret; }";
    let program = parse(text);
    let entry = program.entry("k").expect("it is there");
    assert_eq!((entry.reqntid, entry.params[0].bytes), (Some([64, 1, 1]), 4));
    let run = |launch: Launch| program.launch("k", &launch, &mut Memory::new(), Checks::default());
    let good = Launch { block: [64, 1, 1], arguments: vec![1u32.into()], ..Launch::default() };
    assert!(run(good.clone()).is_ok());
    let wrong = [
        Launch { block: [32, 1, 1], ..good.clone() },
        Launch { arguments: vec![1u64.into()], ..good.clone() },
        Launch { arguments: Vec::new(), ..good.clone() },
        Launch { dynamic_shared: 1 << 20, ..good.clone() },
        Launch { cluster: [2, 1, 1], ..good.clone() },
    ];
    for launch in wrong {
        assert_eq!(run(launch).expect_err("it does not fit").kind, FaultKind::Launch);
    }
    let missing = program.launch("other", &good, &mut Memory::new(), Checks::default());
    assert!(missing.expect_err("no such entry").message.contains("there is: k"));
}

#[test]
fn endless_loops_end() {
    let text = entry("", "again: bra again;");
    let checks = Checks { max_instructions: 10_000, ..Checks::default() };
    let launch = Launch::default();
    let fault = parse(&text).launch("k", &launch, &mut Memory::new(), checks).expect_err("it is endless");
    assert_eq!(fault.kind, FaultKind::TooLong);
}

#[test]
fn programs_that_wait_for_later_ones_go_on() {
    // Program 0 waits until the last program has written.
    let text = entry(
        ".param .u64 p",
        ".reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; mov.u32 %r1, %ctaid.x;
         setp.eq.u32 %p0, %r1, 0; @%p0 bra wait; atom.global.add.u32 %r2, [%rd1], 1; bra end;
         wait: ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.ne.u32 %p1, %r3, 31; @%p1 bra wait; end:",
    );
    let mut memory = Memory::new();
    let counter = put_words(&mut memory, &[0]);
    let launch = Launch {
        grid: [2, 1, 1],
        block: [31, 1, 1],
        arguments: vec![Argument::from(counter)],
        ..Launch::default()
    };
    parse(&text).launch("k", &launch, &mut memory, Checks::default()).expect("both end");
}

#[test]
fn a_lane_that_holds_a_lock_goes_on_while_others_spin() {
    let text = entry(
        ".param .u64 p",
        ".reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [p];
         spin: atom.global.acquire.gpu.cas.b32 %r1, [%rd1], 0, 1; setp.ne.s32 %p0, %r1, 0; @%p0 bra spin;
         ld.global.b32 %r2, [%rd1+4]; add.s32 %r2, %r2, 1; st.global.b32 [%rd1+4], %r2;
         atom.global.release.gpu.exch.b32 %r3, [%rd1], 0;",
    );
    let mut memory = Memory::new();
    let p = put_words(&mut memory, &[0, 0]);
    clean(&text, 8, vec![p.into()], &mut memory);
    assert_eq!(words(&mut memory, p, 2), [0, 8]);
}
