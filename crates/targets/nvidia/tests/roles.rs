//! Warps with roles, written by hand: what partitions capture, barriers of one role, registers, on the emulator under
//! several schedules, and each text by the assembler.

#[path = "support/assembler.rs"]
mod assembler;

use assembler::assembler;
use emulator::{Argument, Checks, Launch, Memory, Program};
use ir::text::{ParseOptions, parse};
use lanes::{Lowered, Options};
use nvidia::assemble::{AssembleOptions, Assembler};
use nvidia::lower::Lanes;
use nvidia::{machine, ptx};
use ptx_isa::Arch;

/// Partitions write what they have captured, and the program's warps add it up once their barrier says so. `PARTITIONS`
/// is theirs.
const TEXT: &str = r#"
#in = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [WARPS, 1], order = [1, 0]}>
#out = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, WARPS], order = [0, 1]}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = WARPS : i32} {
  tt.func public @k(%n: i32, %x: f32, %p: !tt.ptr<i32>, %q: !tt.ptr<f32>) {
    %zero = arith.constant 0 : i32
    %m = arith.addi %n, %n : i32
    %y = arith.mulf %x, %x : f32
    %less = arith.cmpi slt, %zero, %m : i32
    %to = tt.addptr %p, %n : !tt.ptr<i32>, i32
    %full = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
    %empty = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttng.init_barrier %full, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttng.init_barrier %empty, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    %r = ttg.warp_specialize(%full, %empty, %m, %y, %less, %to, %q) REGISTERS
    default {
      %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #in}>>
      %j = tt.expand_dims %i {axis = 0 : i32} : tensor<64xi32, #ttg.slice<{dim = 0, parent = #in}>> -> tensor<1x64xi32, #in>
      %k = tt.broadcast %j : tensor<1x64xi32, #in> -> tensor<64x64xi32, #in>
      %turned = ttg.convert_layout %k : tensor<64x64xi32, #in> -> tensor<64x64xi32, #out>
      %sums = "tt.reduce"(%turned) <{axis = 1 : i32}> ({
      ^bb0(%a: i32, %b: i32):
        %c = arith.addi %a, %b : i32
        tt.reduce.return %c : i32
      }) : (tensor<64x64xi32, #out>) -> tensor<64xi32, #ttg.slice<{dim = 1, parent = #out}>>
      %sum = "tt.reduce"(%sums) <{axis = 0 : i32}> ({
      ^bb0(%a: i32, %b: i32):
        %c = arith.maxsi %a, %b : i32
        tt.reduce.return %c : i32
      }) : (tensor<64xi32, #ttg.slice<{dim = 1, parent = #out}>>) -> i32
      ttng.wait_barrier %full, %zero : !ttg.memdesc<1xi64, #bar, #smem, mutable>
      %v = tt.load %to : !tt.ptr<i32>
      %w = arith.addi %v, %sum : i32
      ttng.arrive_barrier %empty, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
      ttg.warp_yield %w : i32
    }
PARTITIONS : (!ttg.memdesc<1xi64, #bar, #smem, mutable>, !ttg.memdesc<1xi64, #bar, #smem, mutable>, i32, f32, i1, !tt.ptr<i32>, !tt.ptr<f32>) -> i32
    tt.store %p, %r : !tt.ptr<i32>
    tt.return
  }
}
"#;

/// A partition of so many warps.
fn partition(number: usize, warps: u32) -> String {
    let tells = "ttng.arrive_barrier %f, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>";
    let (body, tells) = if number == 0 { (FIRST, tells) } else { (SECOND, "") };
    let args = "%f: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %e: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %a: i32, %b: f32, %c: i1, %d: !tt.ptr<i32>, %g: !tt.ptr<f32>";
    format!(
        "    partition{number}({args}) num_warps({warps}) {{\n{body}\n      {tells}\n      ttg.warp_return\n    }}"
    )
}

const FIRST: &str = "      %o = arith.constant 7 : i32
      %s = arith.select %c, %a, %o : i32
      tt.store %d, %s : !tt.ptr<i32>";
const SECOND: &str = "      %o = arith.constant 0 : i32
      tt.store %g, %b : !tt.ptr<f32>
      ttng.wait_barrier %e, %o : !ttg.memdesc<1xi64, #bar, #smem, mutable>";

/// A kernel whose partitions have these numbers of warps.
fn text(warps: u32, partitions: &[u32], registers: Option<u32>) -> String {
    let parts: Vec<String> =
        partitions.iter().enumerate().map(|(number, &warps)| partition(number, warps)).collect();
    let list = vec![registers.unwrap_or_default().to_string(); partitions.len()].join(", ");
    let asked = registers
        .map_or_else(String::new, |_| format!("attributes {{requestedRegisters = array<i32: {list}>}}"));
    TEXT.replace("WARPS", &warps.to_string())
        .replace("REGISTERS", &asked)
        .replace("PARTITIONS", &parts.join("\n"))
}

fn lower(text: &str) -> Result<Lowered, String> {
    let module =
        parse(text, ttgir::registry(), ParseOptions::default()).map_err(|error| error.to_string())?;
    ir::verify(&module).map_err(|errors| errors[0].to_string())?;
    let target = Lanes::new(90, machine::machine(90).expect("known"));
    lanes::lower(&module, &target, &Options::default()).map_err(|errors| errors[0].to_string())
}

/// The text for the machine, and its threads and shared memory.
fn compile(text: &str) -> (String, u32, u32) {
    let mut lowered = lower(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    llir::verify(&lowered.module).unwrap_or_else(|errors| panic!("{}\n{}", errors[0], lowered.module));
    ptx::optimize(&mut lowered.module, &mut |_, _| {});
    let emitted = ptx::emit(&lowered.module, &ptx::Options::new(Arch::of_capability(90).expect("known")));
    let facts = &lowered.kernels[0];
    let ptx = emitted.unwrap_or_else(|errors| panic!("{}", errors[0])).text;
    (ptx, facts.total_warps * facts.lanes, facts.shared_bytes)
}

/// What a kernel leaves in `p` and `q` under a schedule.
fn run((ptx, threads, shared): &(String, u32, u32), schedule: u64) -> Result<([i32; 4], f32), String> {
    let program = Program::parse(ptx).map_err(|error| error.to_string())?;
    let mut memory = Memory::new();
    let (p, q) = (memory.allocate_with(&[0; 16]), memory.allocate_with(&[0; 16]));
    let arguments: Vec<Argument> =
        vec![3i32.into(), 1.5f32.into(), p.into(), q.into(), 0u64.into(), 0u64.into()];
    let launch = Launch {
        block: [*threads, 1, 1],
        dynamic_shared: *shared as usize,
        arguments,
        schedule,
        ..Launch::default()
    };
    let report =
        program.launch("k", &launch, &mut memory, Checks::default()).map_err(|fault| fault.to_string())?;
    if let Some(finding) = report.findings.first() {
        return Err(finding.to_string());
    }
    let (mut integers, mut float) = ([0; 16], [0; 4]);
    memory.read(p, &mut integers).map_err(|error| error.to_string())?;
    memory.read(q, &mut float).map_err(|error| error.to_string())?;
    let integers =
        std::array::from_fn(|at| i32::from_le_bytes(integers[4 * at..][..4].try_into().expect("four")));
    Ok((integers, f32::from_le_bytes(float)))
}

/// Numbers of warps: of the program and of its partitions, and the registers that they ask for.
const SHAPES: &[(u32, &[u32], Option<u32>)] = &[
    (4, &[1], None),
    (4, &[4], None),
    (8, &[4], Some(24)),
    (8, &[4], Some(40)),
    (8, &[1], Some(24)),
    (8, &[4, 1], Some(24)),
    (4, &[4, 4], Some(24)),
    (4, &[1, 4], None),
    (2, &[2, 1], None),
    (1, &[1], None),
    (4, &[2, 1], Some(24)),
];

#[test]
fn partitions_see_what_they_capture() {
    for &(warps, partitions, registers) in SHAPES {
        let text = text(warps, partitions, registers);
        let compiled = compile(&text);
        let written = if partitions.len() > 1 { 2.25 } else { 0.0 };
        for schedule in 0..32 {
            let found = run(&compiled, schedule).unwrap_or_else(|error| {
                panic!("{warps} and {partitions:?} warps, schedule {schedule}: {error}\n{}", compiled.0)
            });
            assert_eq!(found, ([2022, 0, 0, 6], written), "{warps}, {partitions:?}, schedule {schedule}");
        }
    }
}

#[test]
fn registers_are_divided_among_whole_groups_of_warps() {
    let counts = |warps, partitions: &[u32], registers| {
        let (ptx, ..) = compile(&text(warps, partitions, registers));
        let number = |line: &str| line.trim_end_matches(';').rsplit(' ').next().map(str::to_owned);
        let lines = ptx.lines().filter(|line| line.contains("setmaxnreg") || line.contains(".maxnreg"));
        lines.filter_map(number).collect::<Vec<String>>()
    };
    assert_eq!(counts(8, &[4], Some(24)), ["168", "240", "24"]);
    assert_eq!(counts(8, &[4], Some(40)), ["168", "232", "40"]);
    assert_eq!(counts(4, &[4, 4], Some(24)), ["168", "256", "24", "24"]);
    // Groups are whole, whatever partitions there are.
    assert_eq!(counts(8, &[1], Some(24)), ["168", "240", "24"]);
    assert_eq!(counts(4, &[2, 1], Some(24)), ["256", "24"]);
    assert_eq!(counts(2, &[2, 1], Some(24)), [""; 0]);
    assert_eq!(counts(8, &[4], None), [""; 0]);
}

#[test]
fn barriers_are_of_one_role() {
    let (ptx, ..) = compile(&text(8, &[4], None));
    let barriers: Vec<&str> = ptx.lines().filter(|line| line.contains("bar.sync")).map(str::trim).collect();
    assert!(
        barriers
            .iter()
            .all(|line| ["bar.sync 0, 256;", "bar.sync 1, 384;", "bar.sync 2, 128;"].contains(line))
    );
    assert_eq!(barriers.iter().filter(|line| line.starts_with("bar.sync 1,")).count(), 4, "{ptx}");
    assert!(barriers.contains(&"bar.sync 0, 256;"), "{ptx}");
}

#[test]
fn nothing_that_orders_roles_may_be_missing() {
    let compiled = compile(&text(4, &[4, 1], None));
    let lines: Vec<&str> = compiled.0.lines().collect();
    let words = ["mbarrier.init", "mbarrier.arrive", "bar.sync 1", "mbarrier.try_wait"];
    let mut count = 0;
    for (at, line) in
        lines.iter().enumerate().filter(|(_, line)| words.iter().any(|word| line.contains(word)))
    {
        let mut left = lines.clone();
        left[at] = if line.contains("try_wait") { "setp.eq.u32 complete, 0, 0;" } else { "" };
        let changed = (left.join("\n"), compiled.1, compiled.2);
        let noticed = (0..32).any(|schedule| run(&changed, schedule) != Ok(([2022, 0, 0, 6], 2.25)));
        assert!(noticed, "nobody misses line {}, `{line}`\n{}", at + 1, compiled.0);
        count += 1;
    }
    assert!(count >= 8, "{}", compiled.0);
}

#[test]
fn the_assembler_takes_all_of_it() {
    let options = AssembleOptions::new(Arch::of_capability(90).expect("known"));
    for &(warps, partitions, registers) in SHAPES {
        let (ptx, ..) = compile(&text(warps, partitions, registers));
        let assembled = assembler().assemble(&ptx, &options).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
        // The assembler says that it ignores what it does not carry out.
        assert!(!assembled.log.contains("C75"), "{}\n{ptx}", assembled.log);
    }
}

#[test]
fn roles_that_cannot_be_lowered_are_refused() {
    let whole = text(4, &[1], None);
    let tensor = whole.replace(
        "%o = arith.constant 7 : i32",
        "%o = arith.constant 7 : i32\n      %t = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>>",
    );
    assert!(lower(&whole).is_ok());
    let outside = whole.replace("arith.select %c, %a, %o", "arith.select %c, %m, %o");
    for (text, word) in [
        (outside, "that is none of its arguments"),
        (tensor, "partitions have scalars and memory alone"),
        (text(32, &[4], None), "36 warps in all, the machine runs at most 32"),
    ] {
        let error = lower(&text).map(drop).expect_err("it cannot be lowered");
        assert!(error.contains(word), "{error}");
    }
}
