//! What cannot be run is refused with its line, and what an architecture lacks is never guessed.

use crate::common::kernel;
use amd_emulator::{Arch, Argument, Checks, FaultKind, Launch, Memory, Program};

fn refusal(text: &str, arch: Arch) -> String {
    match Program::parse(text, arch) {
        Ok(_) => panic!("it is accepted\n{text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn unknown_and_missing_intrinsics() {
    let text = kernel(
        "declare i32 @llvm.amdgcn.no.such.thing(i32)",
        "  %r = call i32 @llvm.amdgcn.no.such.thing(i32 %t)\n  ret void",
    );
    assert_eq!(refusal(&text, Arch::Gfx942), "llir line 11: `llvm.amdgcn.no.such.thing` is not known");
    let text = kernel(
        "declare { i32, i32 } @llvm.amdgcn.permlane32.swap(i32, i32, i1, i1)",
        "  %r = call { i32, i32 } @llvm.amdgcn.permlane32.swap(i32 %t, i32 %t, i1 false, i1 false)\n  ret void",
    );
    assert!(Program::parse(&text, Arch::Gfx950).is_ok());
    assert_eq!(refusal(&text, Arch::Gfx942), "llir line 11: gfx942 has no `llvm.amdgcn.permlane32.swap`");
}

#[test]
fn controls_that_an_architecture_lacks() {
    let text = |control: u32| {
        kernel(
            "declare i32 @llvm.amdgcn.mov.dpp.i32(i32, i32, i32, i32, i1)",
            &format!(
                "  %r = call i32 @llvm.amdgcn.mov.dpp.i32(i32 %t, i32 {control}, i32 15, i32 15, i1 true)\n  ret void"
            ),
        )
    };
    assert!(refusal(&text(0x161), Arch::Gfx942).contains("gfx942 has no data-parallel control 0x161"));
    assert!(refusal(&text(0x142), Arch::Gfx1100).contains("gfx1100 has no data-parallel control 0x142"));
}

#[test]
fn assembly_recursion_and_wide_integers() {
    let text = kernel("", "  call void asm sideeffect \"s_nop 0\", \"\"()\n  ret void");
    assert!(refusal(&text, Arch::Gfx942).contains("assembly cannot be run"));
    let text = kernel("", "  %w = zext i32 %t to i128\n  ret void");
    assert!(refusal(&text, Arch::Gfx942).contains("integers of 128 bits"));
    let text = kernel(
        "",
        "  call void @again()\n  ret void\n}\ndefine internal void @again() {\nbb0:\n  call void @again()\n  ret void",
    );
    assert!(refusal(&text, Arch::Gfx942).contains("@again calls itself"));
}

#[test]
fn launches_that_do_not_fit() {
    let program = Program::parse(&kernel("", "  ret void"), Arch::Gfx942).expect("it can be run");
    let mut memory = Memory::new();
    let mut launch = |launch: &Launch| {
        let fault = program.launch("k", launch, &mut memory, Checks::default()).expect_err("it does not fit");
        assert_eq!(fault.kind, FaultKind::Launch);
        fault.to_string()
    };
    let arguments = vec![Argument::from(0u64)];
    assert_eq!(launch(&Launch::default()), "`k` has 1 parameters, the launch gives 0");
    let narrow = Launch { arguments: vec![Argument::from(0u32)], ..Launch::default() };
    assert_eq!(launch(&narrow), "the parameter `p` has 8 bytes, its argument 4");
    let long = Launch { arguments: arguments.clone(), dynamic_lds: 70_000, ..Launch::default() };
    assert_eq!(launch(&long), "a program needs 70000 bytes of LDS; gfx942 has 65536");
    let wide = Launch { arguments, warps: 17, ..Launch::default() };
    assert_eq!(launch(&wide), "a program of 1088 lanes: 1 to 1024 are possible");
}
