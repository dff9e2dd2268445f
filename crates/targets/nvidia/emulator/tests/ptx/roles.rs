//! Warps with roles: who has how many registers, and schedules that a seed decides.

use crate::common::{entry, launch, parse, words};
use emulator::{Checks, FaultKind, Launch, Memory};

/// A body for three groups of four warps whose lanes begin with 168 registers; `%p0` holds in the first, `%p1` in the
/// second.
fn with_registers(body: &str) -> String {
    let body = format!(
        ".reg .pred %p<4>; .reg .b32 %r<8>; mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 128;
         setp.ge.u32 %p1, %r0, 128; @%p1 setp.lt.u32 %p1, %r0, 256; {body}"
    );
    entry("", &body).replace("k()", "k()\n.reqntid 384\n.maxnreg 168")
}

fn kind_of(body: &str) -> Result<(), (FaultKind, String)> {
    let report = launch(&with_registers(body), 384, Vec::new(), &mut Memory::new());
    report.map(drop).map_err(|fault| (fault.kind, fault.message.clone()))
}

const TAKE: &str = "setmaxnreg.inc.sync.aligned.u32 240;";

#[test]
fn registers_go_from_one_group_to_others() {
    let give = "setmaxnreg.dec.sync.aligned.u32 24;";
    assert_eq!(kind_of(&format!("@%p0 bra give; {TAKE} bra end; give: {give} end:")), Ok(()));
    // Whoever takes waits until others have given.
    let late =
        format!("@%p0 bra give; {TAKE} bar.sync 2, 256; bra end; give: nanosleep.u32 100; {give} end:");
    assert_eq!(kind_of(&late), Ok(()));
}

#[test]
fn registers_that_nobody_gives_are_a_deadlock() {
    let (kind, message) = kind_of(&format!("@%p0 bra end; {TAKE} end:")).expect_err("nobody gives");
    assert_eq!(kind, FaultKind::Deadlock);
    assert!(message.contains("240 registers for each lane in place of 168"), "{message}");
    // 40 leave 128 for two groups that want 72 each.
    let give = "setmaxnreg.dec.sync.aligned.u32 40;";
    let (kind, _) =
        kind_of(&format!("@%p0 bra give; {TAKE} bra end; give: {give} end:")).expect_err("too few are given");
    assert_eq!(kind, FaultKind::Deadlock);
}

#[test]
fn all_warps_of_a_group_change_together() {
    let some = "setp.lt.u32 %p2, %r0, 96; @!%p2 bra end; setmaxnreg.dec.sync.aligned.u32 24; end:";
    let (kind, message) = kind_of(some).expect_err("a warp is missing");
    assert_eq!(kind, FaultKind::Deadlock);
    assert!(message.contains("3 of 4"), "{message}");
}

#[test]
fn more_is_more_and_less_is_less() {
    for (body, word) in
        [("setmaxnreg.inc.sync.aligned.u32 160;", "fewer"), ("setmaxnreg.dec.sync.aligned.u32 176;", "more")]
    {
        let (kind, message) = kind_of(body).expect_err("it goes the wrong way");
        assert_eq!(kind, FaultKind::Misuse);
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn what_the_assembler_refuses_is_refused() {
    let refused = |text: &str| emulator::Program::parse(text).err().expect("it is wrong").message;
    for count in [20, 25, 264] {
        let text = with_registers(&format!("setmaxnreg.dec.sync.aligned.u32 {count};"));
        assert!(refused(&text).contains("multiple of 8"), "{count}");
    }
    let text = with_registers("setmaxnreg.dec.sync.aligned.u32 24;").replace(".maxnreg 168", "");
    assert!(refused(&text).contains(".maxnreg"));
}

/// One warp fills a ring of two words eight times, another adds up what it finds; `WAIT` is how the first waits.
fn ring(wait_for_empty: &str, arrive_at_empty: &str) -> String {
    let body = format!(
        ".reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<2>; .shared .align 8 .b8 s[64]; ld.param.u64 %rd0, [p];
         mov.u32 %r0, %tid.x; mov.u32 %r1, s; setp.eq.u32 %p0, %r0, 0;
         @%p0 mbarrier.init.shared::cta.b64 [s], 1; @%p0 mbarrier.init.shared::cta.b64 [s+8], 1;
         @%p0 mbarrier.init.shared::cta.b64 [s+16], 1; @%p0 mbarrier.init.shared::cta.b64 [s+24], 1;
         bar.sync 0; mov.u32 %r2, 0; mov.u32 %r6, 0; setp.lt.u32 %p1, %r0, 32; @%p1 bra consume;
         setp.eq.u32 %p0, %r0, 32;
         produce: and.b32 %r3, %r2, 1; shl.b32 %r4, %r3, 3; add.u32 %r4, %r4, %r1;
         shr.u32 %r5, %r2, 1; and.b32 %r5, %r5, 1; xor.b32 %r5, %r5, 1; {wait_for_empty}
         @%p0 st.shared.b32 [%r4+32], %r2; bar.warp.sync -1; @%p0 mbarrier.arrive.shared::cta.b64 _, [%r4];
         add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 8; @%p3 bra produce; bra end;
         consume: and.b32 %r3, %r2, 1; shl.b32 %r4, %r3, 3; add.u32 %r4, %r4, %r1;
         shr.u32 %r5, %r2, 1; and.b32 %r5, %r5, 1;
         full: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], %r5; @!%p2 bra full;
         ld.shared.b32 %r7, [%r4+32]; mad.lo.u32 %r6, %r6, 3, %r7; bar.warp.sync -1;
         {arrive_at_empty}
         add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 8; @%p3 bra consume;
         @%p0 st.global.b32 [%rd0], %r6; end:"
    );
    entry(".param .u64 p", &body)
}

const WAIT: &str = "empty: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4+16], %r5; @!%p2 bra empty;";
const ARRIVE: &str = "@%p0 mbarrier.arrive.shared::cta.b64 _, [%r4+16];";

/// The result under a schedule, and whether anything was found.
fn under(text: &str, schedule: u64) -> Result<(u32, bool), FaultKind> {
    let mut memory = Memory::new();
    let p = memory.allocate(4);
    let launch = Launch { block: [64, 1, 1], arguments: vec![p.into()], schedule, ..Launch::default() };
    let report =
        parse(text).launch("k", &launch, &mut memory, Checks::default()).map_err(|fault| fault.kind)?;
    Ok((words(&mut memory, p, 1)[0], !report.findings.is_empty()))
}

#[test]
fn a_ring_is_the_same_under_every_schedule() {
    let sum = (0..8).fold(0, |sum, number| 3 * sum + number);
    for schedule in 0..64 {
        assert_eq!(under(&ring(WAIT, ARRIVE), schedule), Ok((sum, false)), "schedule {schedule}");
    }
}

#[test]
fn a_ring_without_a_wait_or_an_arrival_is_found() {
    let sum = (0..8).fold(0, |sum, number| 3 * sum + number);
    let results: Vec<_> = (0..32).map(|schedule| under(&ring("", ARRIVE), schedule)).collect();
    assert!(results.iter().all(|result| *result != Ok((sum, false))), "{results:?}");
    // Schedules reach what one order does not: at least one of them loses a number.
    assert!(results.iter().any(|result| !matches!(result, Ok((found, _)) if *found == sum)), "{results:?}");
    for schedule in 0..8 {
        assert_eq!(under(&ring(WAIT, ""), schedule), Err(FaultKind::Deadlock));
    }
}
