//! Bulk copies and ordinary accesses of the same memory in one program, or of programs that wait for each other: each
//! sees what comes before it, and what orders them is missed when it is left out.

use crate::case::half;
use crate::kernel::{Args, How, Kernel};
use ttir::testing::Random;

/// A block of 64 × 64 of `%x` and of `%y` (both f16) and of `%out` (f32), by pointers and by descriptors.
pub(crate) const HEAD: &str = r"
tt.func public @order(%x: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %y: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %out: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %flag: !tt.ptr<i32>, %n: i32) {
  %none = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %side = arith.constant 64 : i32
  %stride = arith.constant 64 : i64
  %unit = arith.constant 1 : i64
  %yes = arith.constant true
  %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %r = tt.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %w = arith.constant dense<64> : tensor<64x1xi32>
  %s = arith.muli %r, %w : tensor<64x1xi32>
  %j = tt.expand_dims %i {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %sb = tt.broadcast %s : tensor<64x1xi32> -> tensor<64x64xi32>
  %jb = tt.broadcast %j : tensor<1x64xi32> -> tensor<64x64xi32>
  %o = arith.addi %sb, %jb : tensor<64x64xi32>
  %xb = tt.splat %x : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
  %xs = tt.addptr %xb, %o : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
  %yb = tt.splat %y : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
  %ys = tt.addptr %yb, %o : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
  %ob = tt.splat %out : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %os = tt.addptr %ob, %o : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  %xd = tt.make_tensor_descriptor %x, [%side, %side], [%stride, %unit] : <f16>, <64x64xf16>
  %yd = tt.make_tensor_descriptor %y, [%side, %side], [%stride, %unit] : <f16>, <64x64xf16>
  %od = tt.make_tensor_descriptor %out, [%side, %side], [%stride, %unit] : <f32>, <64x64xf32>
";
pub(crate) const TAIL: &str = "  tt.return\n}\n";
pub(crate) const LOADS: &str = "
  %b = tt.descriptor_load %yd[%zero, %zero] : !tt.tensordesc<64x64xf16> -> tensor<64x64xf16>
  %a = tt.descriptor_load %xd[%zero, %zero] : !tt.tensordesc<64x64xf16> -> tensor<64x64xf16>
  %d = tt.dot %a, %b, %none : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
";
const STORE: &str = "  tt.store %os, %d : tensor<64x64x!tt.ptr<f32>>\n";
pub(crate) const BULK_STORE: &str =
    "  tt.descriptor_store %od[%zero, %zero], %d : !tt.tensordesc<64x64xf32>, tensor<64x64xf32>\n";
/// `x = y + y`, by the lanes of another layout than a bulk copy's.
const DOUBLED: &str = "
  %v = tt.load %ys : tensor<64x64x!tt.ptr<f16>>
  %twice = arith.addf %v, %v : tensor<64x64xf16>
  tt.store %xs, %twice : tensor<64x64x!tt.ptr<f16>>
";

/// A product of small whole numbers has bits left for another one.
pub(crate) fn args(random: &mut Random, n: i64) -> Args {
    let mut block = || -> Vec<u8> {
        let number =
            |_| half(i32::from(random.below(12) == 0) - i32::from(random.below(12) == 0)).to_le_bytes();
        (0..64 * 64).flat_map(number).collect()
    };
    let (x, y) = (block(), block());
    Args::of(vec![x, y, vec![0x5a; 64 * 64 * 4], vec![0; 4]], &[n])
}

fn kernel(body: &str, num_warps: u32) -> Kernel {
    let text = format!("{HEAD}{body}{TAIL}");
    Kernel::of(&text, How { stages: 3, num_warps, change: &|_| () })
}

const FENCE: &str = "fence.proxy.async.global";

/// Checks a kernel, and that each of its lines with one of these words is missed.
fn check(body: &str, words: &[&str], what: &str) -> Kernel {
    let mut random = Random::new(41);
    for num_warps in [4, 8] {
        let kernel = kernel(body, num_warps);
        for n in [3, 0, 1] {
            let args = args(&mut random, n);
            kernel.check(([1; 3], &args), 6, &format!("{what}, {num_warps} warps, {n}"));
        }
    }
    let kernel = kernel(body, 4);
    let args = args(&mut random, 3);
    let expected = kernel.interpret(([1; 3], &args));
    let lines: Vec<&str> = kernel.bulk.ptx.lines().collect();
    for word in words {
        assert!(kernel.bulk.ptx.contains(word), "{what}: no `{word}`\n{}", kernel.bulk.ptx);
    }
    for (at, line) in
        lines.iter().enumerate().filter(|(_, line)| words.iter().any(|word| line.contains(word)))
    {
        let mut left = lines.clone();
        left[at] = "";
        let missed = !kernel.misses_nothing(&kernel.bulk, &left.join("\n"), ([1; 3], &args), &expected);
        assert!(missed, "{what}: nobody misses line {}, `{line}`\n{}", at + 1, kernel.bulk.ptx);
    }
    kernel
}

#[test]
fn what_lanes_store_is_loaded_in_bulk() {
    let kernel = check(&format!("{DOUBLED}{LOADS}{STORE}"), &[FENCE], "stored, then loaded");
    assert_eq!(kernel.bulk.ptx.matches(FENCE).count(), 1, "{}", kernel.bulk.ptx);
    let branch = format!("  scf.if %yes {{{DOUBLED}}}\n{LOADS}{STORE}");
    check(&branch, &[FENCE], "stored under a condition, then loaded");
}

#[test]
fn what_an_iteration_stores_the_next_one_loads_in_bulk() {
    let body = format!(
        "  scf.for %k = %zero to %n step %one : i32 {{{LOADS}{STORE}
    %t = arith.truncf %d : tensor<64x64xf32> to tensor<64x64xf16>
    tt.store %xs, %t : tensor<64x64x!tt.ptr<f16>>
  }} {{tt.num_stages = 3 : i32}}\n"
    );
    check(&body, &[FENCE], "stored in one iteration, loaded in the next");
    // What is stored is in front of the loop alone: so is the fence.
    let body = format!(
        "{DOUBLED}  %sum = scf.for %k = %zero to %n step %one iter_args(%none_yet = %none) -> (tensor<64x64xf32>) : i32 {{{LOADS}
    %more = arith.addf %d, %none_yet : tensor<64x64xf32>
    scf.yield %more : tensor<64x64xf32>
  }} {{tt.num_stages = 3 : i32}}\n  tt.store %os, %sum : tensor<64x64x!tt.ptr<f32>>\n"
    );
    let kernel = check(&body, &[FENCE], "stored in front of a loop");
    assert_eq!(kernel.bulk.ptx.matches(FENCE).count(), 1, "{}", kernel.bulk.ptx);
}

#[test]
fn what_lanes_have_begun_to_read_is_not_overwritten() {
    let body = format!(
        "  %sum = scf.for %k = %zero to %n step %one iter_args(%none_yet = %none) -> (tensor<64x64xf32>) : i32 {{{LOADS}
    %more = arith.addf %d, %none_yet : tensor<64x64xf32>
    scf.yield %more : tensor<64x64xf32>
  }} {{tt.num_stages = 3 : i32}}\n  tt.store %os, %sum : tensor<64x64x!tt.ptr<f32>>\n"
    );
    // Two warps are no warp group: lanes read the operands.
    let kernel = kernel(&body, 2);
    let args = args(&mut Random::new(43), 7);
    let launch = ([1; 3], &args);
    kernel.check(launch, 6, "read by lanes");
    let (expected, ptx) = (kernel.interpret(launch), &kernel.bulk.ptx);
    let fence = "fence.proxy.async.shared::cta;";
    let read = ptx.find("ldmatrix").expect("lanes read");
    let at = read + ptx[read..].find(fence).expect("and fence what they have read");
    let without = format!("{}{}", &ptx[..at], &ptx[at + fence.len()..]);
    assert!(!kernel.misses_nothing(&kernel.bulk, &without, launch, &expected), "{without}");
}

#[test]
fn loops_that_load_what_they_store_by_addresses_are_right() {
    let body = format!(
        "  scf.for %k = %zero to %n step %one : i32 {{
    %a = tt.load %xs : tensor<64x64x!tt.ptr<f16>>
    %b = tt.load %ys : tensor<64x64x!tt.ptr<f16>>
    %d = tt.dot %a, %b, %none : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
{STORE}
    %t = arith.truncf %d : tensor<64x64xf32> to tensor<64x64xf16>
    tt.store %xs, %t : tensor<64x64x!tt.ptr<f16>>
  }} {{tt.num_stages = 3 : i32}}\n"
    );
    check(&body, &[], "loaded and stored by addresses");
}

#[test]
fn other_memory_needs_no_fence() {
    let kernel = kernel(&format!("  tt.store %os, %none : tensor<64x64x!tt.ptr<f32>>\n{LOADS}{STORE}"), 4);
    assert!(!kernel.bulk.ptx.contains(FENCE), "{}", kernel.bulk.ptx);
}

#[test]
fn what_is_stored_in_bulk_is_loaded_and_stored_by_lanes() {
    let again = "  %e = tt.load %os : tensor<64x64x!tt.ptr<f32>>
  %f = arith.addf %e, %e : tensor<64x64xf32>
  tt.store %os, %f : tensor<64x64x!tt.ptr<f32>>\n";
    check(
        &format!("{LOADS}{BULK_STORE}{again}"),
        &["cp.async.bulk.wait_group"],
        "stored in bulk, then loaded",
    );
    let over = "  tt.store %os, %none : tensor<64x64x!tt.ptr<f32>>\n";
    check(
        &format!("{LOADS}{BULK_STORE}{over}"),
        &["cp.async.bulk.wait_group"],
        "stored in bulk, then by lanes",
    );
    let added = "  %old = tt.atomic_rmw fadd, relaxed, gpu, %os, %d : (tensor<64x64x!tt.ptr<f32>>, tensor<64x64xf32>) -> tensor<64x64xf32>\n";
    check(
        &format!("{LOADS}{BULK_STORE}{added}"),
        &["cp.async.bulk.wait_group"],
        "stored in bulk, then added to",
    );
}

#[test]
fn what_lanes_touched_is_stored_in_bulk() {
    let before = "  %e = tt.load %os : tensor<64x64x!tt.ptr<f32>>\n  tt.store %os, %none : tensor<64x64x!tt.ptr<f32>>\n";
    check(&format!("{before}{LOADS}{BULK_STORE}"), &[FENCE], "stored by lanes, then in bulk");
    // The lanes that load are not those of the store.
    let loaded = "  %e = tt.load %os : tensor<64x64x!tt.ptr<f32>>
  %turned = tt.trans %e {order = array<i32: 1, 0>} : tensor<64x64xf32> -> tensor<64x64xf32>\n";
    let sum = "  %sum = arith.addf %d, %turned : tensor<64x64xf32>\n";
    let body = format!("{loaded}{LOADS}{sum}{}", BULK_STORE.replace("%d :", "%sum :"));
    check(&body, &[FENCE], "loaded by lanes, then stored in bulk");
}

#[test]
fn what_is_stored_twice_in_bulk_is_the_last() {
    let twice = "  %more = arith.addf %d, %d : tensor<64x64xf32>\n";
    let second = BULK_STORE.replace("%d :", "%more :");
    check(&format!("{LOADS}{BULK_STORE}{twice}{second}"), &[], "stored twice in bulk");
    let body = format!(
        "{LOADS}  %last = scf.for %k = %zero to %n step %one iter_args(%old = %d) -> (tensor<64x64xf32>) : i32 {{
    %more = arith.addf %old, %old : tensor<64x64xf32>
{second}    scf.yield %more : tensor<64x64xf32>
  }}\n"
    );
    check(&body, &[], "stored in bulk in each iteration");
}

/// Rows of `%x` that are read, and those 16 further on that the double of them is stored to, by descriptors that are
/// made of `FROM` and `TO`, in two iterations.
const CHAINED: &str = r"
    %reads = tt.make_tensor_descriptor FROM, [%rows, %side], [%stride, %unit] : <f16>, <16x64xf16>
    %writes = tt.make_tensor_descriptor TO, [%rows, %side], [%stride, %unit] : <f16>, <16x64xf16>
    %part = scf.for %t = %zero to %two step %one iter_args(%old = %sum) -> (tensor<16x64xf32>) : i32 {
      %at = arith.muli %t, %sixteen : i32
      %v = tt.descriptor_load %reads[%at, %zero] : !tt.tensordesc<16x64xf16> -> tensor<16x64xf16>
      %next = tt.dot %v, %b, %old : tensor<16x64xf16> * tensor<64x64xf16> -> tensor<16x64xf32>
      %double = arith.addf %v, %v : tensor<16x64xf16>
      tt.descriptor_store %writes[%at, %zero], %double : !tt.tensordesc<16x64xf16>, tensor<16x64xf16>
      scf.yield %next : tensor<16x64xf32>
    }
";

/// A kernel around [`CHAINED`], whose body begins `FROM` and `TO` so many elements from `%x`, in a loop.
fn chained(body: &str) -> String {
    let body = body.replace("FROM", "%from").replace("TO", "%to");
    format!(
        "  %two = arith.constant 2 : i32
  %sixteen = arith.constant 16 : i32
  %rows = arith.constant 32 : i32
  %block = arith.constant 1024 : i32
  %first = arith.constant dense<0.000000e+00> : tensor<16x64xf32>
  %ri = tt.make_range {{end = 16 : i32, start = 0 : i32}} : tensor<16xi32>
  %rr = tt.expand_dims %ri {{axis = 1 : i32}} : tensor<16xi32> -> tensor<16x1xi32>
  %rw = arith.constant dense<64> : tensor<16x1xi32>
  %rs = arith.muli %rr, %rw : tensor<16x1xi32>
  %rb = tt.broadcast %rs : tensor<16x1xi32> -> tensor<16x64xi32>
  %rj = tt.broadcast %j : tensor<1x64xi32> -> tensor<16x64xi32>
  %ro = arith.addi %rb, %rj : tensor<16x64xi32>
  %rp = tt.splat %out : !tt.ptr<f32> -> tensor<16x64x!tt.ptr<f32>>
  %ra = tt.addptr %rp, %ro : tensor<16x64x!tt.ptr<f32>>, tensor<16x64xi32>
  %b = tt.descriptor_load %yd[%zero, %zero] : !tt.tensordesc<64x64xf16> -> tensor<64x64xf16>
  %all = scf.for %g = %zero to %n step %one iter_args(%sum = %first) -> (tensor<16x64xf32>) : i32 {{
    %odd = arith.andi %g, %one : i32
    %by = arith.muli %odd, %block : i32
    %from = tt.addptr %x, %by : !tt.ptr<f16>, i32
    %to = tt.addptr %from, %block : !tt.ptr<f16>, i32
{body}    scf.yield %part : tensor<16x64xf32>
  }}
  tt.store %ra, %all : tensor<16x64x!tt.ptr<f32>>
"
    )
}

/// Lines of a chain that wait until everything is written: those that nobody misses, and the others.
fn waits_of(body: &str) -> (Kernel, [Vec<usize>; 2]) {
    let kernel = check(&chained(body), &[], "descriptors that a loop makes");
    let args = args(&mut Random::new(42), 3);
    let expected = kernel.interpret(([1; 3], &args));
    let lines: Vec<&str> = kernel.bulk.ptx.lines().collect();
    let mut found = [Vec::new(), Vec::new()];
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| line.contains("cp.async.bulk.wait_group 0")) {
        let mut left = lines.clone();
        left[at] = "";
        let is_missed = !kernel.misses_nothing(&kernel.bulk, &left.join("\n"), ([1; 3], &args), &expected);
        found[usize::from(is_missed)].push(at);
    }
    (kernel, found)
}

#[test]
fn descriptors_that_are_made_anew_load_what_was_stored_before() {
    let first_copy = |kernel: &Kernel| {
        let copy = |line: &str| line.contains("cp.async.bulk.tensor.2d.global");
        kernel.bulk.ptx.lines().position(copy).expect("it stores in bulk")
    };
    // Where the two overlap, each store is waited for behind it, under that condition.
    let (kernel, [_, missed]) = waits_of(CHAINED);
    assert!(missed.iter().any(|&at| at > first_copy(&kernel)), "{missed:?}\n{}", kernel.bulk.ptx);
    // Where one overlaps what the other of the next iteration is, who makes that waits: the block that was stored last
    // is loaded first.
    let apart = CHAINED.replace("TO", "%there").replace("%reads[%at,", "%reads[%back,");
    let apart = apart.replace("%v = ", "%back = arith.subi %sixteen, %at : i32\n      %v = ");
    let apart = format!(
        "    %half = arith.constant 2048 : i32
    %turned = arith.xori %odd, %one : i32
    %here = arith.muli %odd, %half : i32
    %behind = arith.muli %turned, %half : i32
    %read = tt.addptr %x, %here : !tt.ptr<f16>, i32
    %there = tt.addptr %x, %behind : !tt.ptr<f16>, i32
{}",
        apart.replace("FROM", "%read")
    );
    let (kernel, [_, missed]) = waits_of(&apart);
    assert!(missed.iter().any(|&at| at < first_copy(&kernel)), "{missed:?}\n{}", kernel.bulk.ptx);
    // What lanes read outside of the inner loop is waited for behind that, not behind each store.
    let seen = apart.replace("iter_args(%old = %sum)", "iter_args(%old = %more)");
    let seen = format!(
        "    %element = arith.constant 4000 : i32
    %place = tt.addptr %x, %element : !tt.ptr<f16>, i32
    %seen = tt.load %place : !tt.ptr<f16>
    %wide = arith.extf %seen : f16 to f32
    %seens = tt.splat %wide : f32 -> tensor<16x64xf32>
    %more = arith.addf %sum, %seens : tensor<16x64xf32>
{seen}"
    );
    let (kernel, [_, missed]) = waits_of(&seen);
    assert!(missed.iter().any(|&at| at > first_copy(&kernel)), "{missed:?}\n{}", kernel.bulk.ptx);
}

#[test]
fn what_another_program_stored_is_loaded_in_bulk_behind_its_flag() {
    let body = format!(
        "  %pid = tt.get_program_id x : i32
  %first = arith.cmpi eq, %pid, %zero : i32
  scf.if %first {{{DOUBLED}    %before = tt.atomic_rmw exch, release, gpu, %flag, %one : (!tt.ptr<i32>, i32) -> i32
  }}
  scf.while : () -> () {{
    %seen = tt.atomic_rmw or, acquire, gpu, %flag, %zero : (!tt.ptr<i32>, i32) -> i32
    %waits = arith.cmpi eq, %seen, %zero : i32
    scf.condition(%waits)
  }} do {{
    scf.yield
  }}
{LOADS}  %size = arith.constant 4096 : i32
  %at = arith.muli %pid, %size : i32
  %ats = tt.splat %at : i32 -> tensor<64x64xi32>
  %own = tt.addptr %os, %ats : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  tt.store %own, %d : tensor<64x64x!tt.ptr<f32>>\n"
    );
    let mut random = Random::new(43);
    let kernel = kernel(&body, 4);
    let mut args = args(&mut random, 1);
    args.buffers[2] = vec![0x5a; 3 * 64 * 64 * 4];
    let launch = ([3, 1, 1], &args);
    let expected = kernel.interpret_unwatched(launch);
    for schedule in 0..6 {
        let found = kernel.run(&kernel.bulk, &kernel.bulk.ptx, launch, schedule);
        assert!(found.unwrap_or_else(|error| panic!("{error}\n{}", kernel.bulk.ptx)) == expected);
    }
    assert_eq!(kernel.bulk.ptx.matches(FENCE).count(), 1, "{}", kernel.bulk.ptx);
    let without = kernel.bulk.ptx.replace(FENCE, "fence.proxy.async.shared::cta");
    let found = kernel.run(&kernel.bulk, &without, launch, 0).expect_err("nothing is fenced");
    assert!(found.contains("no fence of the proxies"), "{found}");
}

#[test]
fn stores_of_one_iteration_that_lie_apart_go_on_together() {
    let second = |column: &str| {
        format!(
            "  %more = arith.addf %d, %d : tensor<64x64xf32>
  tt.descriptor_store %od[%zero, {column}], %more : !tt.tensordesc<64x64xf32>, tensor<64x64xf32>\n"
        )
    };
    let wide = |text: &str| {
        let text = text.replace("%out, [%side, %side], [%stride,", "%out, [%side, %wide], [%pitch,");
        let wide = "  %wide = arith.constant 128 : i32\n  %pitch = arith.constant 128 : i64\n  %half = arith.constant 32 : i32\n";
        text.replacen("  %yes", &format!("{wide}  %yes"), 1)
    };
    let mut random = Random::new(44);
    for (column, waits) in [("%side", 1), ("%half", 0)] {
        let body = format!(
            "  scf.for %k = %zero to %n step %one : i32 {{{LOADS}{BULK_STORE}{}  }} {{tt.flatten, tt.num_stages = 3 : i32}}\n",
            second(column)
        );
        let text = wide(&format!("{HEAD}{body}{TAIL}"));
        let kernel = Kernel::of(&text, How { stages: 3, num_warps: 4, change: &|_| () });
        let mut args = args(&mut random, 3);
        args.buffers[2] = vec![0x5a; 64 * 128 * 4];
        kernel.check(([1; 3], &args), 6, column);
        let wait = format!("cp.async.bulk.wait_group {waits};");
        assert!(kernel.bulk.ptx.contains(&wait), "{wait}\n{}", kernel.bulk.ptx);
    }
}
