//! Blocks that bulk copies store in parts which share a buffer, as a module asks with `ttg.store-bytes`: what is
//! stored, and that each wait for the buffer is needed.

use crate::case::Compiled;
use crate::kernel::{How, Kernel};
use crate::order::{BULK_STORE, HEAD, LOADS, TAIL, args};
use ttir::testing::Random;

/// A kernel whose bulk stores may take so many bytes.
pub(crate) fn in_bytes(text: &str, bytes: u64) -> String {
    format!("module attributes {{\"ttg.store-bytes\" = {bytes} : i64}} {{\n{text}\n}}\n")
}

/// Stores two blocks of 64 × 64 beside each other, 16 KB each, in each of `%n` iterations, each time others.
fn two_blocks() -> String {
    let second = "  %more = arith.addf %own, %own : tensor<64x64xf32>
  tt.descriptor_store %od[%zero, %side], %more : !tt.tensordesc<64x64xf32>, tensor<64x64xf32>\n";
    let first = "    %number = arith.sitofp %k : i32 to f32
    %numbers = tt.splat %number : f32 -> tensor<64x64xf32>
    %own = arith.addf %d, %numbers : tensor<64x64xf32>\n";
    let body = format!(
        "  scf.for %k = %zero to %n step %one : i32 {{{LOADS}{first}{}{second}  }} {{tt.flatten, tt.num_stages = 3 : i32}}\n",
        BULK_STORE.replace("%d :", "%own :")
    );
    let wide = "  %wide = arith.constant 128 : i32\n  %pitch = arith.constant 128 : i64\n";
    format!("{HEAD}{body}{TAIL}")
        .replace("%out, [%side, %side], [%stride,", "%out, [%side, %wide], [%pitch,")
        .replacen("  %yes", &format!("{wide}  %yes"), 1)
}

/// Groups of copies to the device's memory.
fn groups(compiled: &Compiled) -> usize {
    compiled.ptx.matches("bulk.commit_group").count()
}

#[test]
fn parts_of_a_loop_share_a_buffer() {
    let mut random = Random::new(51);
    let how = |num_warps| How { stages: 3, num_warps, change: &|_| () };
    let own = Kernel::of(&two_blocks(), how(4));
    assert_eq!(groups(&own.bulk), 2, "{}", own.bulk.ptx);
    // A part has at least one of the boxes of its block, which are 32 columns wide. Half of 8 warps have the columns of
    // a half of a block: such a block stays whole.
    for (bytes, num_warps, count, buffer) in
        [(16 << 10, 4, 2, 16 << 10), (8 << 10, 4, 4, 8 << 10), (1, 4, 4, 8 << 10), (8 << 10, 8, 2, 16 << 10)]
    {
        let kernel = Kernel::of(&in_bytes(&two_blocks(), bytes), how(num_warps));
        assert_eq!(groups(&kernel.bulk), count, "{}", kernel.bulk.ptx);
        assert_eq!(
            own.bulk.shared - kernel.bulk.shared,
            (32 << 10) - buffer,
            "{bytes} bytes, {num_warps} warps"
        );
        for n in [3, 0, 1] {
            let mut args = args(&mut random, n);
            args.buffers[2] = vec![0x5a; 64 * 128 * 4];
            kernel.check(([1; 3], &args), 6, &format!("{bytes} bytes, {num_warps} warps, {n}"));
        }
    }
}

#[test]
fn no_wait_for_a_shared_buffer_may_be_missing() {
    let kernel =
        Kernel::of(&in_bytes(&two_blocks(), 8 << 10), How { stages: 3, num_warps: 4, change: &|_| () });
    let mut args = args(&mut Random::new(52), 3);
    args.buffers[2] = vec![0x5a; 64 * 128 * 4];
    let expected = kernel.interpret(([1; 3], &args));
    let lines: Vec<&str> = kernel.bulk.ptx.lines().collect();
    let all = |wait: &str| (0..lines.len()).filter(|&at| lines[at].contains(wait)).collect::<Vec<_>>();
    // In front of each of four parts, of which the first is also behind what was written before, and behind the loop.
    let reads = all("bulk.wait_group.read 0");
    assert_eq!(reads.len(), 4, "{}", kernel.bulk.ptx);
    let written = all("bulk.wait_group 0").into_iter().rfind(|&at| at < reads[0]).expect("a wait");
    let waits: Vec<usize> = reads.into_iter().chain([written]).collect();
    for at in waits {
        let mut left = lines.clone();
        left[at] = "";
        let missed = !kernel.misses_nothing(&kernel.bulk, &left.join("\n"), ([1; 3], &args), &expected);
        assert!(missed, "nobody misses line {}, `{}`\n{}", at + 1, lines[at], kernel.bulk.ptx);
    }
}
