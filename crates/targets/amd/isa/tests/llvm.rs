//! Every row is given to LLVM for every architecture: it assembles where the row says so and is refused elsewhere.

use amdgcn_isa::{Arch, Call, Row, rows};
use llvm::{Llvm, LlvmError, Output, TargetSpec};
use std::fmt::Write as _;
use std::process::Command;

const TRIPLE: &str = "amdgcn-amd-amdhsa";

/// The LLVM of this machine, if it makes code for these architectures.
fn llvm() -> Option<&'static Llvm> {
    let llvm = Llvm::load().ok().filter(|llvm| llvm.has_target(TRIPLE));
    if llvm.is_none() {
        eprintln!("no LLVM with AMDGPU was found: nothing is assembled");
    }
    llvm
}

/// Constants that are right where any constant will not do.
fn constant(call: Call, index: usize) -> &'static str {
    match (call.row.name, index) {
        // 4 bytes a lane.
        ("llvm.amdgcn.raw.ptr.buffer.load.lds" | "llvm.amdgcn.global.load.lds", 2) => "4",
        ("llvm.amdgcn.s.barrier.signal" | "llvm.amdgcn.s.barrier.wait", 0) => "-1",
        ("llvm.amdgcn.s.sendmsg.rtn", 0) => "131",
        // Four bits from the first register.
        ("llvm.amdgcn.s.getreg", 0) => "6145",
        ("llvm.amdgcn.sched.group.barrier", 0) => "8",
        ("llvm.amdgcn.mov.dpp", 2 | 3) | ("llvm.amdgcn.update.dpp", 3 | 4) => "15",
        // Of patterns, one that every architecture and width has: the first lane of each row of 16 on all.
        ("llvm.amdgcn.mov.dpp", 1) => "273",
        ("llvm.amdgcn.update.dpp", 2) if call.name().ends_with("64") => "336",
        ("llvm.amdgcn.update.dpp", 2) => "273",
        _ => "0",
    }
}

/// A kernel that calls it, with operands from memory and its result stored.
fn kernel(call: Call, index: usize) -> String {
    let (name, signature) = (call.name(), call.signature());
    let mut text = format!("define amdgpu_kernel void @k{index}(ptr addrspace(1) %in) {{\n");
    let mut operands = Vec::new();
    for (number, (ty, is_constant)) in signature.operands.iter().enumerate() {
        if *is_constant {
            let value = constant(call, number);
            let value = if *ty == llir::Type::I1 { "false" } else { value };
            operands.push(format!("{ty} {value}"));
        } else {
            writeln!(text, "  %a{number} = load volatile {ty}, ptr addrspace(1) %in").expect("a string");
            operands.push(format!("{ty} %a{number}"));
        }
    }
    let operands = operands.join(", ");
    if signature.result.is_void() {
        writeln!(text, "  call void @{name}({operands})").expect("a string");
    } else {
        let result = &signature.result;
        writeln!(text, "  %r = call {result} @{name}({operands})").expect("a string");
        writeln!(text, "  store {result} %r, ptr addrspace(1) %in").expect("a string");
    }
    text.push_str("  ret void\n}\n");
    text
}

fn declaration(call: Call) -> String {
    let signature = call.signature();
    let types: Vec<String> = signature.operands.iter().map(|operand| operand.0.to_string()).collect();
    format!("declare {} @{}({})\n", signature.result, call.name(), types.join(", "))
}

fn compile(llvm: &'static Llvm, text: &str, arch: Arch) -> Result<(), LlvmError> {
    let spec = TargetSpec { triple: TRIPLE.into(), cpu: arch.name().into(), ..TargetSpec::default() };
    llvm.compile(text, &spec, "", Output::default()).map(|_| ())
}

/// What LLVM takes although the hardware has nothing like it.
const TAKEN: &[(Arch, &str)] = &[(Arch::Gfx1200, "llvm.amdgcn.s.waitcnt")];

/// What one process is to try: an architecture, and the first of the calls.
const TASK: &str = "AMDGCN_ISA_TASK";

/// Tries calls one after the other and prints each with its outcome. LLVM may end the process on one that cannot be
/// selected, so this runs in a process of its own.
#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let (arch, start) = task.split_once(' ').expect("two words");
    let (arch, start) = (Arch::named(arch).expect("an architecture"), start.parse().expect("a number"));
    let llvm = llvm().expect("the parent has found it");
    for (index, call) in rows().flat_map(Row::calls).enumerate().skip(start) {
        println!("try {index}");
        let outcome = compile(llvm, &(declaration(call) + &kernel(call, 0)), arch);
        println!(
            "{} {}",
            if outcome.is_ok() { "ok" } else { "no" },
            outcome.err().map_or(String::new(), |error| error.to_string().replace('\n', " "))
        );
    }
}

/// Whether LLVM takes each of the calls on an architecture, or why not.
fn outcomes(arch: Arch) -> Vec<Result<(), String>> {
    let count = rows().flat_map(Row::calls).count();
    let mut outcomes = Vec::new();
    while outcomes.len() < count {
        let output = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "child", "--nocapture"])
            .env(TASK, format!("{arch} {}", outcomes.len()))
            .output()
            .expect("this test runs again");
        let before = outcomes.len();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            match line.split_once(' ') {
                Some(("ok", _)) => outcomes.push(Ok(())),
                Some(("no", reason)) => outcomes.push(Err(reason.to_owned())),
                _ => {}
            }
        }
        if outcomes.len() < count {
            outcomes.push(Err(format!("it ended the process: {}", output.status)));
        }
        assert!(outcomes.len() > before, "{}", String::from_utf8_lossy(&output.stderr));
    }
    outcomes
}

/// A row says where an intrinsic is: there LLVM takes it, and nowhere else.
fn check(arch: Arch) {
    if llvm().is_none() {
        return;
    }
    let calls = rows().flat_map(Row::calls);
    let wrong: Vec<String> = calls
        .zip(outcomes(arch))
        .filter_map(|(call, outcome)| match outcome {
            Ok(()) if !call.row.is_on(arch) && !TAKEN.contains(&(arch, call.row.name)) => {
                Some(format!("{arch} has {}", call.name()))
            }
            Err(reason) if call.row.is_on(arch) => Some(format!("{arch} lacks {}: {reason}", call.name())),
            _ => None,
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn gfx90a_has_what_its_rows_say() {
    check(Arch::Gfx90a);
}

#[test]
fn gfx942_has_what_its_rows_say() {
    check(Arch::Gfx942);
}

#[test]
fn gfx950_has_what_its_rows_say() {
    check(Arch::Gfx950);
}

#[test]
fn gfx1100_has_what_its_rows_say() {
    check(Arch::Gfx1100);
}

#[test]
fn gfx1200_has_what_its_rows_say() {
    check(Arch::Gfx1200);
}
