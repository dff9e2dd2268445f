//! Every check fires where it must, says where, and is silent where all is well.

use crate::common::{Setup, kernel, on};
use amd_emulator::{Arch, Checks, FaultKind, FindingKind, Launch, Memory};

/// Two warps: each lane stores to LDS, and reads what the lane of the other warp stored.
fn exchange(between: &str) -> String {
    kernel(
        "",
        &format!(
            "  %m = getelementptr i32, ptr addrspace(3) @lds, i32 %t
  store i32 %t, ptr addrspace(3) %m, align 4
{between}
  %o = xor i32 %t, 64
  %n = getelementptr i32, ptr addrspace(3) @lds, i32 %o
  %v = load i32, ptr addrspace(3) %n, align 4
  store i32 %v, ptr addrspace(1) %a, align 4
  ret void"
        ),
    )
}

const BARRIER: &str = "  fence syncscope(\"workgroup\") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope(\"workgroup\") acquire";

fn two() -> Setup {
    Setup { warps: 2, lds: 512, ..Setup::default() }
}

#[test]
fn a_barrier_between_fences_orders() {
    let mut words = vec![0; 128];
    two().clean(&exchange(BARRIER), &mut words);
    assert!(words.iter().enumerate().all(|(lane, word)| *word == lane as u32 ^ 64));
}

#[test]
fn fences_of_each_memory_by_itself_order_lds() {
    let barrier = BARRIER.replace("workgroup", "workgroup-one-as");
    two().clean(&exchange(&barrier), &mut vec![0; 128]);
}

#[test]
fn a_missing_barrier_is_a_race_or_a_read_too_early() {
    let report = two().run(&exchange(""), &mut vec![0; 128]).expect("it ends");
    let kinds: Vec<FindingKind> = report.findings.iter().map(|finding| finding.kind).collect();
    assert!(kinds.contains(&FindingKind::Race), "{:?}", report.findings);
}

#[test]
fn a_barrier_without_fences_orders_nothing() {
    let message = two().finds(&exchange("  call void @llvm.amdgcn.s.barrier()"), FindingKind::Race);
    assert!(message.starts_with("llir line 16 (load): reads a byte that another lane writes"), "{message}");
    assert!(message.contains("the other access: llir line 12 (store)"), "{message}");
}

#[test]
fn fences_without_a_barrier_order_nothing() {
    let fences = "  fence syncscope(\"workgroup\") release\n  fence syncscope(\"workgroup\") acquire";
    let report = two().run(&exchange(fences), &mut vec![0; 128]).expect("it ends");
    assert!(report.findings.iter().any(|finding| finding.kind == FindingKind::Race));
}

#[test]
fn lanes_of_one_warp_need_an_order_too() {
    let swap = |between: &str| {
        kernel(
            "declare void @llvm.amdgcn.wave.barrier()",
            &format!(
                "  %m = getelementptr i32, ptr addrspace(3) @lds, i32 %t
  store i32 %t, ptr addrspace(3) %m, align 4
{between}
  %o = xor i32 %t, 1
  %n = getelementptr i32, ptr addrspace(3) @lds, i32 %o
  %v = load i32, ptr addrspace(3) %n, align 4
  store i32 %v, ptr addrspace(1) %a, align 4
  ret void"
            ),
        )
    };
    let setup = Setup { lds: 256, ..Setup::default() };
    setup.finds(&swap(""), FindingKind::Race);
    setup.clean(&swap("  call void @llvm.amdgcn.wave.barrier()"), &mut vec![0; 64]);
}

#[test]
fn lds_that_nobody_wrote_is_found_when_it_is_used() {
    let text = kernel(
        "",
        "  %m = getelementptr i32, ptr addrspace(3) @lds, i32 %t
  %v = load i32, ptr addrspace(3) %m, align 4
  %w = add i32 %v, 1
  store i32 %w, ptr addrspace(1) %a, align 4
  ret void",
    );
    let setup = Setup { lds: 256, ..Setup::default() };
    let message = setup.finds(&text, FindingKind::Uninitialised);
    assert!(message.contains("(store): a value is used that was never written"), "{message}");
    assert!(message.ends_with("program (0, 0, 0), warp 0, lane 0"), "{message}");
    // Loading it is no mistake where nobody looks.
    let unused = text.replace("i32 %w, ptr addrspace(1)", "i32 %t, ptr addrspace(1)");
    setup.clean(&unused, &mut vec![0; 64]);
}

#[test]
fn anything_as_a_value_is_found_when_it_steers() {
    let stored = kernel("", "  store i32 poison, ptr addrspace(1) %a, align 4\n  ret void");
    Setup::default().finds(&stored, FindingKind::Uninitialised);
    let branch = kernel("", "  br i1 undef, label %bb1, label %bb2\nbb1:\n  br label %bb2\nbb2:\n  ret void");
    Setup::default().finds(&branch, FindingKind::Uninitialised);
    let chosen = kernel(
        "",
        "  %c = icmp ult i32 %t, 100
  %v = select i1 %c, i32 %t, i32 poison
  store i32 %v, ptr addrspace(1) %a, align 4
  ret void",
    );
    Setup::default().clean(&chosen, &mut vec![0; 64]);
    // Shifting by more than there is gives anything.
    let shifted = kernel(
        "",
        "  %v = shl i32 %t, 32
  store i32 %v, ptr addrspace(1) %a, align 4
  ret void",
    );
    Setup::default().finds(&shifted, FindingKind::Uninitialised);
}

#[test]
fn lds_has_an_end() {
    let text = kernel(
        "",
        "  %m = getelementptr i32, ptr addrspace(3) @lds, i32 %t
  store i32 %t, ptr addrspace(3) %m, align 4
  ret void",
    );
    Setup { lds: 256, ..Setup::default() }.clean(&text, &mut [0; 64]);
    let fault = Setup { lds: 252, ..Setup::default() }.faults(&text);
    assert_eq!((fault.kind, fault.lane, fault.address), (FaultKind::OutOfBounds, Some(63), Some(252)));
    assert!(fault.to_string().contains("lie outside LDS (0 to 0xfc)"), "{fault}");
}

#[test]
fn device_memory_has_ends_and_words_stand_at_multiples() {
    let load = |index: i32, align: u32| {
        kernel(
            "",
            &format!(
                "  %b = getelementptr i8, ptr addrspace(1) %a, i32 {index}
  %v = load i32, ptr addrspace(1) %b, align {align}
  store i32 %v, ptr addrspace(1) %a, align 4
  ret void"
            ),
        )
    };
    Setup::default().clean(&load(4, 4), &mut vec![0; 65]);
    let fault = Setup::default().run(&load(4, 4), &mut vec![0; 64]).expect_err("it leaves the array");
    assert_eq!((fault.kind, fault.lane), (FaultKind::OutOfBounds, Some(63)));
    assert!(fault.to_string().contains("which ends at"), "{fault}");
    let fault = Setup::default().faults(&load(2, 4));
    assert_eq!(fault.kind, FaultKind::Misaligned);
    Setup::default().clean(&load(2, 2), &mut vec![0; 65]);
}

#[test]
fn a_barrier_that_some_lanes_skip_is_a_fault() {
    let text = kernel(
        "",
        "  %c = icmp ult i32 %t, 7
  br i1 %c, label %bb1, label %bb2
bb1:
  call void @llvm.amdgcn.s.barrier()
  br label %bb2
bb2:
  ret void",
    );
    let fault = Setup::default().faults(&text);
    assert_eq!(fault.kind, FaultKind::Misuse);
    assert!(fault.message.contains("by the lanes 0x7f only"), "{fault}");
}

#[test]
fn a_warp_that_waits_for_nobody_who_comes_is_a_deadlock() {
    // One warp signals and never waits, so that the other waits for a second phase alone.
    let text = kernel(
        "declare void @llvm.amdgcn.s.barrier.signal(i32)\ndeclare void @llvm.amdgcn.s.barrier.wait(i16)",
        "  call void @llvm.amdgcn.s.barrier.signal(i32 -1)
  call void @llvm.amdgcn.s.barrier.wait(i16 -1)
  %c = icmp ult i32 %t, 32
  br i1 %c, label %bb1, label %bb2
bb1:
  call void @llvm.amdgcn.s.barrier()
  br label %bb3
bb2:
  br label %bb2
bb3:
  ret void",
    );
    let setup = Setup { warps: 2, ..on(Arch::Gfx1200) };
    let program = setup.parse(&text);
    let mut memory = Memory::new();
    let address = memory.allocate(4);
    let launch = Launch { warps: 2, arguments: vec![address.into()], ..Launch::default() };
    let checks = Checks { max_instructions: 10_000, ..Checks::default() };
    let fault = program.launch("k", &launch, &mut memory, checks).expect_err("it does not end");
    assert_eq!(fault.kind, FaultKind::TooLong);
}

/// A copy to LDS of a word a lane, with what stands between it and the read.
fn copied(between: &str) -> String {
    kernel(
        "declare void @llvm.amdgcn.global.load.lds(ptr addrspace(1), ptr addrspace(3), i32, i32, i32)
declare void @llvm.amdgcn.s.waitcnt(i32)",
        &format!(
            "  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %a, ptr addrspace(3) @lds, i32 4, i32 0, i32 0)
{between}
  %m = getelementptr i32, ptr addrspace(3) @lds, i32 %t
  %v = load i32, ptr addrspace(3) %m, align 4
  %w = add i32 %v, 1
  store i32 %w, ptr addrspace(1) %a, align 4
  ret void"
        ),
    )
}

#[test]
fn a_copy_is_read_after_a_sufficient_wait_only() {
    let setup = Setup { lds: 256, ..Setup::default() };
    let wait = |count: u32| format!("  call void @llvm.amdgcn.s.waitcnt(i32 {})", 0x3f70 | count);
    let mut words: Vec<u32> = (0..64).map(|lane| lane * 3).collect();
    setup.clean(&copied(&wait(0)), &mut words);
    assert!(words.iter().enumerate().all(|(lane, word)| *word == lane as u32 * 3 + 1));
    for too_little in [String::new(), wait(1)] {
        let report = setup.run(&copied(&too_little), &mut vec![0; 64]).expect("it ends");
        let kinds: Vec<FindingKind> = report.findings.iter().map(|finding| finding.kind).collect();
        assert!(kinds.contains(&FindingKind::AsyncRace), "{:?}", report.findings);
        assert!(kinds.contains(&FindingKind::Unfinished), "{:?}", report.findings);
        let early = report.findings.iter().find(|finding| finding.kind == FindingKind::AsyncRace);
        let text = early.expect("it is there").to_string();
        assert!(text.contains("nothing waited for the copy; the other access: llir line 12"), "{text}");
    }
}

#[test]
fn another_warps_copy_needs_its_wait_and_a_barrier() {
    let text = |between: &str| {
        copied(&format!("  call void @llvm.amdgcn.s.waitcnt(i32 16240)\n{between}"))
            .replace("ptr addrspace(3) @lds, i32 4", "ptr addrspace(3) %l, i32 4")
            .replace("  call void @llvm.amdgcn.global", "  %w0 = and i32 %t, 64\n  %w1 = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %w0)\n  %l = getelementptr i32, ptr addrspace(3) @lds, i32 %w1\n  call void @llvm.amdgcn.global")
            .replace("@lds, i32 %t", "@lds, i32 %o")
            .replace("  %m = ", "  %o = xor i32 %t, 64\n  %m = ")
            .replace("declare void @llvm.amdgcn.s.waitcnt", "declare i32 @llvm.amdgcn.readfirstlane.i32(i32)\ndeclare void @llvm.amdgcn.s.waitcnt")
    };
    two().clean(&text(BARRIER), &mut (0..128).collect::<Vec<u32>>());
    let report = two().run(&text(""), &mut vec![0; 128]).expect("it ends");
    assert!(!report.findings.is_empty());
}

#[test]
fn results_do_not_depend_on_threads() {
    let text = kernel(
        "",
        "  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %i = mul i32 %g, 64
  %b = getelementptr i32, ptr addrspace(1) %a, i32 %i
  %m = getelementptr i32, ptr addrspace(3) @lds, i32 %g
  %v = load i32, ptr addrspace(3) %m, align 4
  store i32 %v, ptr addrspace(1) %b, align 4
  ret void",
    );
    let run = |threads: usize| {
        let setup = Setup { grid: 16, lds: 64, threads, ..Setup::default() };
        let report = setup.run(&text, &mut vec![0; 1024]).expect("it ends");
        format!("{:?} {}", report.findings, report.warp_instructions)
    };
    assert_eq!(run(1), run(7));
    // Of several programs that fault the first is told.
    let fault = |threads: usize| Setup { grid: 16, lds: 12, threads, ..Setup::default() }.faults(&text);
    assert_eq!((fault(1).block, fault(8).block), ([3, 0, 0], [3, 0, 0]));
}

#[test]
fn places_name_the_line_of_the_source() {
    let text = "define amdgpu_kernel void @k(ptr addrspace(1) %p) !dbg !4 {
bb0:
  %v = load i32, ptr addrspace(1) %p, align 4
  store i32 poison, ptr addrspace(1) %p, align 4, !dbg !5
  ret void
}
!2 = distinct !DICompileUnit(language: DW_LANG_C, file: !3)
!3 = !DIFile(filename: \"kernel.py\", directory: \".\")
!4 = distinct !DISubprogram(name: \"k\", file: !3, line: 1, unit: !2)
!5 = !DILocation(line: 12, column: 5, scope: !4)
";
    let message = Setup::default().finds(text, FindingKind::Uninitialised);
    assert!(message.starts_with("llir line 4 (store), kernel.py:12:5: "), "{message}");
}

/// Two warps half a step apart: the second one waits at a barrier first, the first one at another one last. What the
/// first stores in front of the barrier that both pass, the second loads in front of it.
fn half_a_step_apart(first: &str, last: &str) -> String {
    kernel(
        "",
        &format!(
            "  %m = getelementptr i32, ptr addrspace(3) @lds, i32 %t
  %s = icmp uge i32 %t, 64
  br i1 %s, label %bb1, label %bb2
bb1:
{first}
  %n = getelementptr i8, ptr addrspace(3) %m, i32 -256
  %v = load i32, ptr addrspace(3) %n, align 4
  store i32 %v, ptr addrspace(1) %a, align 4
  br label %bb3
bb2:
  store i32 %t, ptr addrspace(3) %m, align 4
  br label %bb3
bb3:
{BARRIER}
  br i1 %s, label %bb5, label %bb4
bb4:
{last}
  br label %bb5
bb5:
  ret void"
        ),
    )
}

#[test]
fn warps_meet_at_different_barriers() {
    let mut words = vec![7; 128];
    two().clean(&half_a_step_apart(BARRIER, BARRIER), &mut words);
    assert!(words[64..].iter().enumerate().all(|(lane, word)| *word == lane as u32));
    let kinds = |text: &str| -> Vec<FindingKind> {
        let report = two().run(text, &mut vec![0; 128]).expect("it ends");
        report.findings.iter().map(|finding| finding.kind).collect()
    };
    assert!(kinds(&half_a_step_apart("", BARRIER)).contains(&FindingKind::Race));
    let message = two().finds(&half_a_step_apart(BARRIER, ""), FindingKind::Unfinished);
    assert!(message.contains("comes to 2 barriers, and others of its program to 1"), "{message}");
    assert_eq!(kinds(&half_a_step_apart("", "")), [FindingKind::Race]);
}
