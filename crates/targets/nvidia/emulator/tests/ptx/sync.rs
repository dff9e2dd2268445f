//! Barriers, and what the checks find where they are missing.

use crate::common::{clean, entry, launch, put_words, words};
use emulator::{FaultKind, Finding, FindingKind, Memory};

/// Kinds and lines of what is found in a body for two warps.
fn found(body: &str) -> Vec<Finding> {
    let text = entry(
        ".param .u64 p",
        &format!(
            ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .shared .align 16 .b8 s[1024];
             ld.param.u64 %rd1, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 4, %r1;
             xor.b32 %r3, %r0, 32; mad.lo.u32 %r3, %r3, 4, %r1; xor.b32 %r4, %r0, 1; mad.lo.u32 %r4, %r4, 4, %r1;
             mad.wide.u32 %rd2, %r0, 4, %rd1; {body}"
        ),
    );
    let mut memory = Memory::new();
    let p = memory.allocate(256);
    let report =
        launch(&text, 64, vec![p.into()], &mut memory).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    report.findings
}

fn kinds(body: &str) -> Vec<FindingKind> {
    found(body).iter().map(|finding| finding.kind).collect()
}

#[test]
fn accesses_of_two_warps_need_a_barrier() {
    let store = "st.shared.b32 [%r2], %r0;";
    let load = "ld.shared.b32 %r5, [%r3]; st.global.b32 [%rd2], %r5;";
    assert_eq!(kinds(&format!("{store} bar.sync 0; {load}")), []);
    assert!(kinds(&format!("{store} {load}")).contains(&FindingKind::Race));
    // Reading must end before the next round writes.
    let again = "add.s32 %r0, %r0, 1; st.shared.b32 [%r2], %r0;";
    let findings = kinds(&format!("{store} bar.sync 0; {load} {again}"));
    assert!(findings.contains(&FindingKind::Race) && findings.iter().all(|kind| *kind == FindingKind::Race));
    assert_eq!(kinds(&format!("{store} bar.sync 0; {load} bar.sync 0; {again}")), []);
    let finding = &found(&format!("{store}\n{load}"))[0];
    assert!(finding.other.is_some() && finding.message.contains("nothing orders"), "{finding}");
}

#[test]
fn lanes_of_a_warp_need_a_barrier_of_the_warp() {
    let store = "st.shared.b32 [%r2], %r0;";
    let load = "ld.shared.b32 %r5, [%r4]; st.global.b32 [%rd2], %r5;";
    assert_eq!(kinds(&format!("{store} bar.warp.sync -1; {load}")), []);
    assert_eq!(kinds(&format!("{store} {load}")), [FindingKind::Race]);
}

#[test]
fn different_values_collide_equal_ones_do_not() {
    assert_eq!(kinds("mov.b32 %r5, 7; st.shared.b32 [%r1], %r5;"), []);
    assert_eq!(kinds("st.shared.b32 [%r1], %r0;"), [FindingKind::Race]);
}

#[test]
fn named_barriers_order_only_those_who_arrive() {
    // Warp 0 produces and arrives, warp 1 waits and consumes.
    let body = |arrive: &str| {
        format!(
            "setp.lt.u32 %p0, %r0, 32; @!%p0 bra consume; st.shared.b32 [%r2], %r0; {arrive} bra end;
             consume: bar.sync 1, 64; ld.shared.b32 %r5, [%r3]; st.global.b32 [%rd2], %r5; end:"
        )
    };
    assert_eq!(kinds(&body("bar.arrive 1, 64;")), []);
    assert!(
        kinds(&body("bar.arrive 1, 64; add.s32 %r0, %r0, 1; st.shared.b32 [%r2], %r0;"))
            .contains(&FindingKind::Race)
    );
}

#[test]
fn what_nobody_wrote_is_found_when_it_is_used() {
    assert_eq!(kinds("st.global.b32 [%rd2], %r6;"), [FindingKind::Uninitialised]);
    assert_eq!(kinds("ld.shared.b32 %r5, [%r2]; st.global.b32 [%rd2], %r5;"), [FindingKind::Uninitialised]);
    // Computing with it is not yet a use, and a choice may leave it out.
    assert_eq!(
        kinds(
            "add.s32 %r5, %r6, 1; setp.eq.s32 %p0, 0, 0; selp.b32 %r5, 1, %r5, %p0; st.global.b32 [%rd2], %r5;"
        ),
        []
    );
    let half = "setp.lt.u32 %p0, %r0, 8; @%p0 mov.b32 %r5, 1; st.global.b32 [%rd2], %r5;";
    let findings = found(half);
    assert_eq!((findings.len(), findings[0].lane), (1, 8));
    assert_eq!(kinds("@%p3 bra end; end:"), [FindingKind::Uninitialised]);
    assert_eq!(
        kinds("st.shared.b32 [%r2], %r6; ld.shared.b32 %r5, [%r2]; st.global.b32 [%rd2], %r5;"),
        [FindingKind::Uninitialised]
    );
}

#[test]
fn barriers_vote() {
    let text = entry(
        ".param .u64 p",
        ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>; ld.param.u64 %rd1, [p]; mov.u32 %r0, %tid.x;
         setp.lt.u32 %p0, %r0, 40; bar.red.popc.u32 %r1, 0, %p0; bar.red.or.pred %p1, 0, %p0;
         barrier.cta.red.and.pred %p2, 1, 96, !%p0; selp.b32 %r2, 1, 0, %p1; selp.b32 %r3, 1, 0, %p2;
         mad.wide.u32 %rd2, %r0, 16, %rd1; st.global.v4.b32 [%rd2], {%r1, %r2, %r3, %r0};",
    );
    let mut memory = Memory::new();
    let p = memory.allocate(96 * 16);
    clean(&text, 96, vec![p.into()], &mut memory);
    for (thread, row) in words(&mut memory, p, 96 * 4).chunks(4).enumerate() {
        assert_eq!(row, [40, 1, 0, thread as u32]);
    }
}

#[test]
fn warps_that_end_are_not_waited_for() {
    let text = entry(
        "",
        ".reg .pred %p; .reg .b32 %r; mov.u32 %r, %tid.x; setp.gt.u32 %p, %r, 31; @%p exit; bar.sync 0;",
    );
    clean(&text, 128, Vec::new(), &mut Memory::new());
}

#[test]
fn a_barrier_that_some_never_reach_is_a_deadlock() {
    let text = entry(
        "",
        ".reg .pred %p; .reg .b32 %r; mov.u32 %r, %tid.x; setp.gt.u32 %p, %r, 31; @%p bar.sync 1, 128;",
    );
    let fault = launch(&text, 64, Vec::new(), &mut Memory::new()).expect_err("64 threads are missing");
    assert_eq!((fault.kind, fault.warp), (FaultKind::Deadlock, 1));
    assert!(fault.message.contains("barrier 1, at which 32 of 128 threads stand"), "{fault}");
}

#[test]
fn clusters_share_memory_by_rank() {
    let text = entry(
        ".param .u64 p",
        ".reg .b32 %r<8>; .reg .b64 %rd<4>; .shared .align 4 .b8 s[4]; ld.param.u64 %rd1, [p];
         mov.u32 %r0, %cluster_ctarank; add.s32 %r1, %r0, 70; st.shared.b32 [s], %r1;
         barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; xor.b32 %r2, %r0, 1; mov.u32 %r3, s;
         mapa.shared::cluster.u32 %r4, %r3, %r2; ld.shared::cluster.b32 %r5, [%r4]; mov.u32 %r6, %ctaid.x;
         mad.wide.u32 %rd2, %r6, 4, %rd1; st.global.b32 [%rd2], %r5;
         barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
    );
    let mut memory = Memory::new();
    let p = put_words(&mut memory, &[0; 6]);
    let launch = emulator::Launch {
        grid: [6, 1, 1],
        cluster: [2, 1, 1],
        arguments: vec![p.into()],
        ..emulator::Launch::default()
    };
    let program = crate::common::parse(&text);
    let report = program.launch("k", &launch, &mut memory, emulator::Checks::default()).expect("it runs");
    assert!(report.findings.is_empty(), "{}", report.findings[0]);
    assert_eq!(words(&mut memory, p, 6), [71, 70, 71, 70, 71, 70]);
}

/// The fault of a cluster of two programs, each of which reads a word of the other's memory.
fn fault_of_reading(before: &str, after: &str) -> emulator::Fault {
    let text = entry(
        "",
        &format!(
            ".reg .b32 %r<8>; .reg .pred %p; .shared .align 4 .b8 s[4]; mov.u32 %r0, %cluster_ctarank;
             setp.eq.u32 %p, %r0, 0; st.shared.b32 [s], %r0; {before} xor.b32 %r2, %r0, 1; mov.u32 %r3, s;
             mapa.shared::cluster.u32 %r4, %r3, %r2; ld.shared::cluster.b32 %r5, [%r4]; {after}"
        ),
    );
    let launch = emulator::Launch { grid: [2, 1, 1], cluster: [2, 1, 1], ..emulator::Launch::default() };
    let program = crate::common::parse(&text);
    let ran = program.launch("k", &launch, &mut Memory::new(), emulator::Checks::default());
    *ran.expect_err("it may not")
}

const MEET: &str = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";

#[test]
fn memory_of_programs_that_have_not_begun_is_not_read() {
    let fault = fault_of_reading("", MEET);
    assert_eq!(fault.kind, FaultKind::Misuse);
    assert!(fault.message.contains("may not have begun"), "{fault}");
}

#[test]
fn memory_of_programs_that_have_ended_is_not_read() {
    let spin = "mov.u32 %r6, 0; spin: add.u32 %r6, %r6, 1; setp.lt.u32 %p, %r6, 100000; @%p bra spin;";
    let fault = fault_of_reading(&format!("{MEET} @%p ret; {spin}"), "");
    assert_eq!(fault.kind, FaultKind::Misuse);
    assert!(fault.message.contains("has ended"), "{fault}");
}
