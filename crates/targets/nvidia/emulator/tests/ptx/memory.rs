//! Loads, stores, atomics, and addresses that lead nowhere.

use crate::common::{Random, clean, each, entry, launch, parse, put_words, words};
use emulator::{Checks, Fault, FaultKind, Launch, Memory};
use half::f16;

#[test]
fn vectors_and_small_types() {
    let mut random = Random::fresh();
    let numbers: Vec<u32> = (0..128).map(|_| random.next() as u32).collect();
    let text = entry(
        ".param .u64 a, .param .u64 b",
        ".reg .b16 %h<3>; .reg .b32 %r<8>; .reg .b64 %rd<4>; ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
         mov.u32 %r0, %tid.x; mul.wide.u32 %rd3, %r0, 16; add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3;
         ld.global.L1::evict_first.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];
         ld.global.s8 %r5, [%rd1]; ld.global.u16 %h1, [%rd1+2]; cvt.u32.u16 %r6, %h1;
         add.s32 %r1, %r5, %r6; st.global.v2.b32 [%rd2], {%r4, %r1}; st.global.b8 [%rd2+8], %r3;
         st.global.b16 [%rd2+10], %h1;",
    );
    let mut memory = Memory::new();
    let (a, b) = (put_words(&mut memory, &numbers), put_words(&mut memory, &[0; 128]));
    clean(&text, 32, vec![a.into(), b.into()], &mut memory);
    for (row, from) in words(&mut memory, b, 128).chunks(4).zip(numbers.chunks(4)) {
        let sum = (from[0] as i8 as i32).wrapping_add((from[0] >> 16) as i32) as u32;
        assert_eq!(row, [from[3], sum, from[2] & 0xff | from[0] & 0xffff_0000, 0]);
    }
}

fn fault_of(body: &str) -> Box<Fault> {
    let text = entry(
        ".param .u64 p",
        &format!(
            ".reg .b32 %r<4>; .reg .b64 %rd<4>; .shared .align 4 .b8 s[64];\nld.param.u64 %rd1, [p];\nmov.u32 %r0, %tid.x;\n{body}"
        ),
    );
    let mut memory = Memory::new();
    let p = put_words(&mut memory, &[0; 40]);
    launch(&text, 64, vec![p.into()], &mut memory).expect_err(body)
}

#[test]
fn addresses_outside_are_faults_of_their_lane() {
    let fault = fault_of("mad.wide.u32 %rd2, %r0, 4, %rd1; ld.global.b32 %r1, [%rd2];");
    assert_eq!((fault.kind, fault.warp, fault.lane), (FaultKind::OutOfBounds, 1, Some(8)));
    assert!(fault.message.contains("at byte 160 of one of 160 bytes"), "{fault}");
    assert_eq!(fault.place.as_ref().map(|place| place.line), Some(9));
    let fault = fault_of("add.s64 %rd1, %rd1, 2; ld.global.b32 %r1, [%rd1];");
    assert_eq!(fault.kind, FaultKind::Misaligned);
    let fault = fault_of("st.global.v2.b32 [%rd1+4], {%r0, %r0};");
    assert_eq!(fault.kind, FaultKind::Misaligned);
    let fault = fault_of("mov.b64 %rd1, 0; atom.global.add.u32 %r1, [%rd1], 1;");
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
    let fault = fault_of("mov.b32 %r1, s; mad.lo.u32 %r1, %r0, 4, %r1; st.shared.b32 [%r1], %r0;");
    assert_eq!((fault.kind, fault.lane), (FaultKind::OutOfBounds, Some(16)));
    let fault = fault_of("mov.b32 %r1, 0; ld.shared.b32 %r1, [%r1];");
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
}

#[test]
fn generic_addresses_find_their_space() {
    let cells: Vec<u64> = (0..32).collect();
    let body = ".shared .align 4 .b8 s[128]; .local .align 4 .b8 l[8]; mov.u64 %q0, s; cvta.shared.u64 %q0, %q0;
        mad.wide.u32 %q0, %t1, 4, %q0; st.b32 [%q0], %a0; cvta.to.shared.u64 %q1, %q0; ld.shared.b32 %r0, [%q1];
        mov.u64 %q2, l; cvta.local.u64 %q2, %q2; st.b32 [%q2+4], %r0; ld.local.b32 %d, [l+4];
        isspacep.shared %p0, %q0; isspacep.local %p1, %q0; selp.b32 %r1, 100, 0, %p0; add.s32 %d, %d, %r1;
        selp.b32 %r1, 1000, 0, %p1; add.s32 %d, %d, %r1;";
    assert_eq!(each(&[("b32", &cells)], "b32", body), (100..132).collect::<Vec<_>>());
}

#[test]
fn atomics_count_every_lane() {
    let text = entry(
        ".param .u64 p",
        ".reg .pred %q; .reg .b32 %r<8>; .reg .b64 %rd<4>; .shared .align 4 .b8 s[4]; ld.param.u64 %rd1, [p];
         mov.u32 %r0, %tid.x; setp.eq.u32 %q, %r0, 0; mov.b32 %r1, 0; @%q st.shared.b32 [s], %r1; bar.sync 0;
         atom.shared.add.u32 %r1, [s], 3; red.global.max.s32 [%rd1], %r1; red.global.add.f32 [%rd1+4], 0f3F000000;
         atom.global.inc.u32 %r2, [%rd1+8], 9; atom.global.cas.b32 %r3, [%rd1+12], 0, 77;
         atom.global.exch.b32 %r4, [%rd1+16], 5; atom.global.and.b32 %r5, [%rd1+20], 0xf0; bar.sync 0;
         ld.shared.b32 %r6, [s]; st.global.b32 [%rd1+24], %r6;
         mov.b32 %r7, 0x3c004000; red.relaxed.gpu.global.add.noftz.f16x2 [%rd1+28], %r7;",
    );
    let mut memory = Memory::new();
    let p = put_words(&mut memory, &[0, 0, 0, 0, 0, 0xff, 0, 0]);
    clean(&text, 96, vec![p.into()], &mut memory);
    let got = words(&mut memory, p, 8);
    assert_eq!(got[..7], [95 * 3, 48f32.to_bits(), 96 % 10, 77, 5, 0xf0, 288]);
    assert_eq!(f16::from_bits(got[7] as u16).to_f32(), 192.0);
    assert_eq!(f16::from_bits((got[7] >> 16) as u16).to_f32(), 96.0);
}

#[test]
fn sixteen_bytes_swap_at_once() {
    let text = entry(
        ".param .u64 p",
        ".reg .b64 %rd<8>; .reg .b128 %b<4>; ld.param.u64 %rd1, [p]; mov.b64 %rd2, 1; mov.b64 %rd3, 2;
         mov.b128 %b0, {%rd2, %rd3}; mov.b64 %rd4, 10; mov.b128 %b1, {%rd4, %rd2};
         atom.global.cas.b128 %b2, [%rd1], %b0, %b1; mov.b128 {%rd5, %rd6}, %b2; st.global.v2.b64 [%rd1+16], {%rd5, %rd6};
         atom.global.exch.b128 %b3, [%rd1+32], %b0;",
    );
    let mut memory = Memory::new();
    let p = put_words(&mut memory, &[1, 0, 2, 0, 0, 0, 0, 0, 8, 0, 8, 0]);
    clean(&text, 1, vec![p.into()], &mut memory);
    assert_eq!(words(&mut memory, p, 12), [10, 0, 1, 0, 1, 0, 2, 0, 1, 0, 2, 0]);
}

#[test]
fn counters_see_sectors_and_banks() {
    let text = entry(
        ".param .u64 p",
        ".reg .b32 %r<4>; .reg .b64 %rd<4>; .shared .align 4 .b8 s[8192]; ld.param.u64 %rd1, [p]; mov.u32 %r0, %tid.x;
         mad.wide.u32 %rd2, %r0, 64, %rd1;\nld.global.b32 %r1, [%rd2];\nmov.b32 %r2, s; mad.lo.u32 %r2, %r0, 128, %r2;
         st.shared.b32 [%r2], %r1;",
    );
    let mut memory = Memory::new();
    let p = memory.allocate(64 * 64);
    let report = clean(&text, 64, vec![p.into()], &mut memory);
    let counter = |opcode: &str| {
        let found = report.counters.iter().find(|counter| counter.place.instruction == opcode);
        found.unwrap_or_else(|| panic!("{opcode} was executed")).clone()
    };
    let load = counter("ld.global.b32");
    assert_eq!((load.warps, load.lanes, load.sectors, load.ideal_sectors), (2, 64, 64, 8));
    let store = counter("st.shared.b32");
    assert_eq!((store.wavefronts, store.ideal_wavefronts), (64, 2));
    assert_eq!(report.bank_conflicts(), 62);
    assert_eq!(report.mix().iter().find(|(name, _)| name == "mov.u32").map(|(_, times)| *times), Some(2));
}

#[test]
fn buffers_of_the_caller_are_used_in_place() {
    let mut numbers = vec![1u32; 32];
    let mut memory = Memory::new();
    // SAFETY: the vector outlives the launch, and nothing else touches it meanwhile.
    let p = unsafe { memory.register(numbers.as_mut_ptr().cast(), 128) };
    let text = entry(
        ".param .u64 p",
        ".reg .b32 %r<3>; .reg .b64 %rd<3>; ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd2, %r1, 4, %rd1;
         ld.global.b32 %r2, [%rd2]; add.s32 %r2, %r2, %r1; st.global.b32 [%rd2], %r2;",
    );
    clean(&text, 32, vec![p.into()], &mut memory);
    assert!(memory.release(p));
    let launch = Launch { arguments: vec![p.into()], ..Launch::default() };
    let fault = parse(&text).launch("k", &launch, &mut memory, Checks::none()).expect_err("it was released");
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
    assert_eq!(numbers, (1..33).collect::<Vec<u32>>());
}
