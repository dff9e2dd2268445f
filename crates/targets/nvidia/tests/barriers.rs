//! Shared memory: where barriers stand, which buffers share bytes, and what is said when there is too little.

use ir::text::{ParseOptions, parse};
use lanes::Options;
use nvidia::lower::Lanes;
use nvidia::ptx;
use ptx_isa::Arch;

const HEAD: &str =
    "#b = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#c = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {\"ttg.num-ctas\" = 1 : i32, \"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:90\", \
                    \"ttg.threads-per-warp\" = 32 : i32} {
tt.func public @f(%p: !tt.ptr<f32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #b>
  %q = tt.splat %p : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #b>
  %a = tt.addptr %q, %r : tensor<512x!tt.ptr<f32>, #b>, tensor<512xi32, #b>
  %x = tt.load %a : tensor<512x!tt.ptr<f32>, #b>
";
const M: &str = "!ttg.memdesc<512xf32, #s, #smem, mutable>";
const T: &str = "tensor<512xf32, #b>";

/// Bytes of memory and barriers in all and in loops, of a kernel with a body.
fn lowered(body: &str) -> Result<(u32, usize, usize), String> {
    let (bytes, text) = assembly(body)?;
    let barriers = |text: &str| text.matches("bar.sync").count();
    let looped = text.split_once("$L__BB0_1:").map_or("", |parts| parts.1);
    let looped = looped.split_once("$L__BB0_2:").map_or("", |parts| parts.0);
    Ok((bytes, barriers(&text), barriers(looped)))
}

/// Bytes of memory and PTX of a kernel with a body.
fn assembly(body: &str) -> Result<(u32, String), String> {
    assembly_of(HEAD, body)
}

fn assembly_of(head: &str, body: &str) -> Result<(u32, String), String> {
    let text = format!("{head}{body}  tt.return\n}}\n}}\n").replace("$M", M).replace("$T", T);
    let module = parse(&text, ttgir::registry(), ParseOptions { file: Some("f") })
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    ir::verify(&module).unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]));
    let target = Lanes::new(90, nvidia::machine::machine(90).expect("a machine"));
    let lowered =
        lanes::lower(&module, &target, &Options::default()).map_err(|errors| errors[0].to_string())?;
    let arch = Arch::of_capability(90).expect("an architecture");
    let emitted =
        ptx::emit(&lowered.module, &ptx::Options::new(arch)).map_err(|errors| errors[0].to_string())?;
    Ok((lowered.kernels[0].shared_bytes, emitted.text))
}

fn a_loop(body: &str) -> String {
    format!(
        "  %e = scf.for %i = %zero to %n step %one iter_args(%y = %x) -> ($T) : i32 {{\n{body}    scf.yield %z : $T\n  }}\n  \
         tt.store %a, %e : tensor<512x!tt.ptr<f32>, #b>\n"
    )
}

fn reduce(name: &str, from: &str) -> String {
    format!(
        "%{name} = \"tt.reduce\"({from}) <{{axis = 0 : i32}}> ({{
  ^bb0(%u: f32, %v: f32):
    %w = arith.addf %u, %v : f32
    tt.reduce.return %w : f32
  }}) : ($T) -> f32
  %{name}s = tt.splat %{name} : f32 -> $T
"
    )
}

#[test]
fn a_load_waits_for_the_store_before_it() {
    let body = "  %m = ttg.local_alloc %x : ($T) -> $M
  %y = ttg.local_load %m : $M -> tensor<512xf32, #c>
  %z = ttg.convert_layout %y : tensor<512xf32, #c> -> $T
  ttg.local_store %z, %m : $T -> $M
  %w = ttg.local_load %m : $M -> $T
  tt.store %a, %w : tensor<512x!tt.ptr<f32>, #b>
";
    // After the allocation, in the conversion, and behind the second store; that the store overwrites what was loaded
    // is covered by the conversion's barrier.
    assert_eq!(lowered(body), Ok((4096, 3, 0)));
}

#[test]
fn loads_do_not_wait_for_loads() {
    let body = "  %m = ttg.local_alloc %x : ($T) -> $M
  %y = ttg.local_load %m : $M -> $T
  %z = ttg.local_load %m : $M -> $T
  %w = arith.addf %y, %z : $T
  tt.store %a, %w : tensor<512x!tt.ptr<f32>, #b>
";
    assert_eq!(lowered(body), Ok((2048, 1, 0)));
}

#[test]
fn a_reduction_in_a_loop_has_two_barriers_and_two_have_two() {
    let one = format!(
        "{}%z = arith.addf %y, %as : $T\n",
        reduce("a", "%y").replace("%a ", "%a1 ").replace("%a :", "%a1 :")
    );
    assert_eq!(lowered(&a_loop(&one)), Ok((16, 2, 2)));
    let two = format!("{}{}%z = arith.addf %y, %gs : $T\n", reduce("f", "%y"), reduce("g", "%fs"));
    assert_eq!(lowered(&a_loop(&two)), Ok((32, 2, 2)));
}

#[test]
fn a_buffer_made_in_front_of_a_loop_lives_through_it() {
    let body = "    %l = ttg.local_load %m : $M -> tensor<512xf32, #c>
    %z = ttg.convert_layout %l : tensor<512xf32, #c> -> $T
";
    let body = format!("  %m = ttg.local_alloc %x : ($T) -> $M\n{}", a_loop(body));
    // The conversion must not reuse the bytes of the buffer. Its own bytes are written again in the next turn. The
    // store is waited for once.
    assert_eq!(lowered(&body), Ok((4096, 3, 2)));
}

#[test]
fn buffers_that_are_never_alive_together_share_bytes() {
    let one = |name: &str| {
        format!(
            "  %{name} = ttg.local_alloc %x : ($T) -> $M\n  %{name}l = ttg.local_load %{name} : $M -> $T\n  tt.store %a, %{name}l : tensor<512x!tt.ptr<f32>, #b>\n"
        )
    };
    let body = one("k") + &one("l");
    assert_eq!(lowered(&body), Ok((2048, 3, 0)));
}

/// A buffer that a copy fills, and a wait behind which so many groups of copies still go on.
fn copied(name: &str, pending: u32) -> String {
    format!(
        "  %{name} = ttg.local_alloc : () -> $M
  %{name}t = ttg.async_copy_global_to_local %a, %{name} : tensor<512x!tt.ptr<f32>, #b> -> <512xf32, #s, #smem, mutable>
  %{name}g = ttg.async_commit_group tokens %{name}t
  %{name}w = ttg.async_wait {{num = {pending} : i32}}
  %{name}l = ttg.local_load %{name} : $M -> $T
  tt.store %a, %{name}l : tensor<512x!tt.ptr<f32>, #b>
"
    )
}

#[test]
fn buffers_whose_copies_have_landed_share_bytes() {
    // A barrier each for what was copied, and one for the bytes that are written again.
    assert_eq!(lowered(&(copied("k", 0) + &copied("l", 0))), Ok((2048, 3, 0)));
    // Where nobody waited for the first copy its bytes stay its own until somebody does.
    let three = copied("k", 1) + &copied("l", 0) + &copied("o", 0);
    assert_eq!(lowered(&three).map(|found| found.0), Ok(4096));
    // A wait that may be left out ends nothing.
    let maybe = copied("k", 1)
        + "  %c = arith.cmpi slt, %zero, %n : i32\n  scf.if %c {\n    %v = ttg.async_wait {num = 0 : i32}\n  }\n"
        + &copied("l", 0);
    assert_eq!(lowered(&maybe).map(|found| found.0), Ok(4096));
}

#[test]
fn too_much_memory_is_refused_with_the_largest() {
    let body = "  %m = ttg.local_alloc : () -> !ttg.memdesc<200x512xf32, #s, #smem, mutable>
  %k = ttg.memdesc_index %m[%n] : !ttg.memdesc<200x512xf32, #s, #smem, mutable> -> $M
  ttg.local_store %x, %k : $T -> $M
";
    let error = lowered(body).expect_err("400 KiB are too much");
    for part in [
        "the kernel needs 409600 bytes of shared memory, and there are 232448",
        "409600 bytes for `ttg.local_alloc` at f:13:8",
    ] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn integers_of_all_lanes_are_combined_at_once() {
    let body = "  %i = tt.bitcast %x : $T -> tensor<512xi32, #b>
  %s = \"tt.reduce\"(%i) <{axis = 0 : i32}> ({
  ^bb0(%u: i32, %v: i32):
    %w = arith.maxsi %u, %v : i32
    tt.reduce.return %w : i32
  }) : (tensor<512xi32, #b>) -> i32
  %o = tt.bitcast %p : !tt.ptr<f32> -> !tt.ptr<i32>
  tt.store %o, %s : !tt.ptr<i32>
";
    let (bytes, text) = assembly(body).expect("the kernel is lowered");
    assert_eq!(bytes, 16);
    let count = |what: &str| text.matches(what).count();
    assert_eq!([count("redux.sync.max.s32"), count("shfl.sync.bfly")], [1, 0], "{text}");
}

/// Pointers through `%p` in another layout, and something to store there.
const ELSEWHERE: &str = "  %rc = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #c>
  %qc = tt.splat %p : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #c>
  %ac = tt.addptr %qc, %rc : tensor<512x!tt.ptr<f32>, #c>, tensor<512xi32, #c>
  %five = arith.constant dense<5.0> : tensor<512xf32, #c>
";

#[test]
fn a_store_waits_for_other_lanes_loads_of_the_same_memory() {
    let body = format!("{ELSEWHERE}  tt.store %ac, %five : tensor<512x!tt.ptr<f32>, #c>\n");
    assert_eq!(lowered(&body), Ok((0, 1, 0)));
    // A barrier that stands between for another reason is enough.
    let body = format!(
        "  %y = ttg.convert_layout %x : $T -> tensor<512xf32, #c>\n{}",
        body.replace("%five :", "%y :")
    );
    assert_eq!(lowered(&body), Ok((2048, 1, 0)));
}

#[test]
fn each_lane_changes_its_own_elements_without_waiting() {
    let body = "  %y = arith.addf %x, %x : $T
  tt.store %a, %y : tensor<512x!tt.ptr<f32>, #b>
  %z = tt.load %a : tensor<512x!tt.ptr<f32>, #b>
  tt.store %a, %z : tensor<512x!tt.ptr<f32>, #b>
";
    assert_eq!(lowered(body), Ok((0, 0, 0)));
}

#[test]
fn what_one_lane_stores_others_load_behind_a_barrier() {
    let body = "  %s = tt.load %p : !tt.ptr<f32>
  tt.store %p, %s : !tt.ptr<f32>
  tt.store %p, %s : !tt.ptr<f32>
  %t = tt.load %p : !tt.ptr<f32>
  %u = tt.splat %t : f32 -> $T
  tt.store %a, %u : tensor<512x!tt.ptr<f32>, #b>
";
    // In front of the first store and behind the second; all lanes load `%t`, and some of the block's stores are of its
    // element.
    assert_eq!(lowered(body), Ok((0, 3, 0)));
}

/// A loop that changes a block in place and moves on by so many elements.
fn moved_by(elements: u32) -> String {
    format!(
        "  %by = arith.constant {elements} : i32
  scf.for %i = %zero to %n step %by : i32 {{
    %at = tt.splat %i : i32 -> tensor<512xi32, #b>
    %b = tt.addptr %a, %at : tensor<512x!tt.ptr<f32>, #b>, tensor<512xi32, #b>
    %y = tt.load %b : tensor<512x!tt.ptr<f32>, #b>
    %z = arith.addf %y, %y : $T
    tt.store %b, %z : tensor<512x!tt.ptr<f32>, #b>
  }}
"
    )
}

#[test]
fn blocks_that_iterations_share_are_changed_in_order() {
    let apart = lowered(&moved_by(512)).expect("lowered");
    let overlapping = lowered(&moved_by(511)).expect("lowered");
    assert_eq!((apart.1, apart.2), (1, 0), "one in front of the loop, for the load there");
    assert_eq!(overlapping.2, 1, "{overlapping:?}");
}

#[test]
fn other_parameters_are_other_memory() {
    let head = HEAD.replace("%n: i32", "%n: i32, %o: !tt.ptr<f32>");
    assert_ne!(head, HEAD);
    let body = ELSEWHERE.replace("tt.splat %p", "tt.splat %o");
    let body = format!("{body}  tt.store %ac, %five : tensor<512x!tt.ptr<f32>, #c>\n");
    let (_, text) = assembly_of(&head, &body).expect("lowered");
    assert_eq!(text.matches("bar.sync").count(), 0);
}

/// What a program stores to a block and to another one further on, which the scalar `%n` moves as well.
fn stored_twice(distance: u32) -> String {
    format!(
        "  %s = tt.splat %n : i32 -> tensor<512xi32, #b>
  %k = arith.constant dense<{distance}> : tensor<512xi32, #b>
  %o = arith.addi %s, %r : tensor<512xi32, #b>
  %f = arith.addi %o, %k : tensor<512xi32, #b>
  %a1 = tt.addptr %q, %o : tensor<512x!tt.ptr<f32>, #b>, tensor<512xi32, #b>
  %a2 = tt.addptr %q, %f : tensor<512x!tt.ptr<f32>, #b>, tensor<512xi32, #b>
  tt.store %a1, %x : tensor<512x!tt.ptr<f32>, #b>
  tt.store %a2, %x : tensor<512x!tt.ptr<f32>, #b>
"
    )
}

#[test]
fn blocks_that_do_not_reach_each_other_need_no_barrier() {
    // The load of the head may be of either: one barrier is in front of the first store.
    assert_eq!(lowered(&stored_twice(512)).map(|found| found.1), Ok(1));
    assert_eq!(lowered(&stored_twice(511)).map(|found| found.1), Ok(2), "the blocks share an element");
}

#[test]
fn blocks_of_different_iterations_may_reach_each_other() {
    let body = stored_twice(512).replace("%n : i32", "%i : i32");
    let twice = format!("{body}    %z = arith.addf %x, %y : $T\n");
    let (_, _, looped) = lowered(&a_loop(&twice)).expect("lowered");
    assert!(looped > 0, "the second block of an iteration is what the first of a later one may be");
}

/// Barriers of a loop that reads buffer `i % 3` of three and then fills another one, which it counts through from the
/// one behind `first`, beginning again at `end`.
fn ring(first: &str, end: u32) -> Result<usize, String> {
    let ring = "!ttg.memdesc<3x512xf32, #s, #smem, mutable>";
    let body = format!(
        "  %last = arith.constant -1 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %end = arith.constant {end} : i32
  %m = ttg.local_alloc : () -> {ring}
  %before = ttg.memdesc_index %m[%zero] : {ring} -> $M
  %bt = ttg.async_copy_global_to_local %a, %before : tensor<512x!tt.ptr<f32>, #b> -> <512xf32, #s, #smem, mutable>
  %bc = ttg.async_commit_group tokens %bt
  %e:3 = scf.for %i = %zero to %n step %one iter_args(%y = %x, %g = %last, %f = {first}) -> ($T, i32, i32) : i32 {{
    %g1 = arith.addi %g, %one : i32
    %go = arith.cmpi sge, %g1, %three : i32
    %gn = arith.select %go, %zero, %g1 : i32
    %f1 = arith.addi %f, %one : i32
    %fo = arith.cmpi sge, %f1, %end : i32
    %fn = arith.select %fo, %zero, %f1 : i32
    %w = ttg.async_wait {{num = 1 : i32}}
    %v = ttg.memdesc_index %m[%gn] : {ring} -> $M
    %l = ttg.local_load %v token %w : $M -> $T
    %z = arith.addf %y, %l : $T
    %u = ttg.memdesc_index %m[%fn] : {ring} -> $M
    %t = ttg.async_copy_global_to_local %a, %u : tensor<512x!tt.ptr<f32>, #b> -> <512xf32, #s, #smem, mutable>
    %c = ttg.async_commit_group tokens %t
    scf.yield %z, %gn, %fn : $T, i32, i32
  }}
  tt.store %a, %e#0 : tensor<512x!tt.ptr<f32>, #b>
"
    );
    lowered(&body).map(|found| found.2)
}

#[test]
fn other_buffers_of_a_ring_are_other_memory() {
    // What was copied is waited for.
    assert_eq!(ring("%zero", 3), Ok(1), "the buffer of the next iteration");
    assert_eq!(ring("%one", 3), Ok(1), "that of the iteration before: all have waited since");
    assert_eq!(ring("%two", 3), Ok(2), "the same buffer");
    assert_eq!(ring("%last", 3), Ok(2), "the same buffer");
    assert_eq!(ring("%one", 4), Ok(2), "it begins again elsewhere: they meet at some time");
    assert_eq!(ring("%n", 3), Ok(2), "nobody knows where it begins");
}

/// Of a kernel whose lanes read a buffer and wait for each other, and of which one then begins a bulk copy into it: the
/// lines that fence or wait, and the copy's. `between` stands in front of the copy.
fn overwritten_in_bulk(between: &str) -> Result<Vec<String>, String> {
    let memory = "!ttg.memdesc<64x64xf16, #n, #smem, mutable>";
    let counted = "!ttg.memdesc<1xi64, #s, #smem, mutable>";
    let head = HEAD
        .replace("#smem = ", "#n = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>\n#w = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>\n#smem = ")
        .replace("%n: i32)", "%d: !tt.tensordesc<64x64xf16, #n>)");
    let body = format!(
        "  %yes = arith.constant true
  %m = ttg.local_alloc : () -> {memory}
  %k = ttg.local_alloc : () -> {counted}
  ttng.init_barrier %k, 1 : {counted}
  %l = ttg.local_load %m : {memory} -> tensor<64x64xf16, #w>
  ttg.barrier local
{between}  ttng.async_tma_copy_global_to_local %d[%zero, %zero] %m, %k, %yes : !tt.tensordesc<64x64xf16, #n>, {counted} -> {memory}
  ttng.wait_barrier %k, %zero : {counted}
  %f = arith.extf %l : tensor<64x64xf16, #w> to tensor<64x64xf32, #w>
  %o = tt.splat %p : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>, #w>
  tt.store %o, %f : tensor<64x64x!tt.ptr<f32>, #w>
"
    )
    .replace("$K", counted);
    let (_, text) = assembly_of(&head, &body)?;
    let words = ["fence.proxy.async.shared", "bar.sync", "mbarrier.arrive", "cp.async.bulk"];
    let first_word =
        |line: &str| words.iter().find(|word| line.contains(**word)).map(|word| (*word).to_owned());
    Ok(text.lines().filter_map(first_word).collect())
}

#[test]
fn what_is_fenced_is_waited_for_in_front_of_a_bulk_copy() {
    let found = |between: &str| overwritten_in_bulk(between).expect("lowered").join(" ");
    assert_eq!(found(""), "bar.sync fence.proxy.async.shared bar.sync cp.async.bulk");
    // The fence stands in front of the arrival: of other lanes nobody knows that they are past theirs.
    let arrives = found("  ttng.arrive_barrier %k, 1 : $K\n");
    assert_eq!(arrives, "bar.sync fence.proxy.async.shared mbarrier.arrive bar.sync cp.async.bulk");
}
