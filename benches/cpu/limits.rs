//! What a processor can do at most: loops that copy memory, and loops that multiply and add in registers.
//!
//! `limits.py` compiles this file by itself (`rustc --crate-type cdylib`) and calls it by `ctypes`. Each probe starts
//! one pinned thread per processor, lets them begin together, and answers the seconds from there until all have ended.
//! What is measured here does not depend on any code of Deuteron.

use std::sync::Barrier;
use std::time::Instant;

/// The processors that this process may use.
fn processors() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or("0").trim().to_owned();
    let number = |text: &str| text.parse::<usize>().unwrap_or(0);
    list.split(',')
        .flat_map(|part| match part.split_once('-') {
            Some((first, last)) => number(first)..number(last) + 1,
            None => number(part)..number(part) + 1,
        })
        .collect()
}

unsafe extern "C" {
    fn sched_setaffinity(pid: i32, bytes: usize, mask: *const u64) -> i32;
}

fn pin(cpu: usize) {
    let mut mask = [0u64; 16];
    mask[(cpu / 64).min(15)] = 1 << (cpu % 64);
    // SAFETY: a mask of the size given; 0 is the calling thread. A refusal is no harm.
    unsafe { sched_setaffinity(0, size_of_val(&mask), mask.as_ptr()) };
}

/// Runs `work(thread, threads)` on so many pinned threads at once; answers the seconds from the first start to the last
/// end.
fn together(threads: usize, work: impl Fn(usize, usize) + Sync) -> f64 {
    let cpus = processors();
    let threads = threads.clamp(1, cpus.len());
    let begin = Barrier::new(threads);
    let times: Vec<(Instant, Instant)> = std::thread::scope(|scope| {
        let run = |thread: usize| {
            let (begin, work, cpu) = (&begin, &work, cpus[thread]);
            scope.spawn(move || {
                pin(cpu);
                begin.wait();
                let start = Instant::now();
                work(thread, threads);
                (start, Instant::now())
            })
        };
        let running: Vec<_> = (0..threads).map(run).collect();
        running.into_iter().map(|thread| thread.join().expect("probes do not panic")).collect()
    });
    let first = times.iter().map(|(start, _)| *start).min().expect("at least one thread");
    let last = times.iter().map(|(_, end)| *end).max().expect("at least one thread");
    (last - first).as_secs_f64()
}

/// How memory is moved.
#[derive(Clone, Copy, PartialEq)]
enum Move {
    /// `out = a`.
    Copy,
    /// `out = a + b`.
    Add,
    /// Reads `a`.
    Read,
}

/// One part of memory: addresses and a number of bytes that is a multiple of 256.
#[derive(Clone, Copy)]
struct Part {
    out: *mut u8,
    a: *const u8,
    b: *const u8,
    bytes: usize,
}

#[cfg(target_arch = "x86_64")]
mod machine {
    use super::{Move, Part};
    use std::arch::x86_64::*;

    /// Moves memory, in vectors of 32 bytes, which saturate it as well as wider ones.
    ///
    /// # Safety
    /// AVX2; the addresses are aligned to 32 bytes and hold that many.
    #[target_feature(enable = "avx2")]
    unsafe fn move_vectors<const PAST_CACHES: bool, const PREFETCH: bool>(part: Part, how: Move) -> f32 {
        let mut sum = [_mm256_setzero_ps(); 4];
        let mut at = 0;
        while at < part.bytes {
            for line in (0..256).step_by(64) {
                if PREFETCH {
                    _mm_prefetch::<_MM_HINT_T0>(part.a.wrapping_add(at + line + 1024).cast());
                    if how == Move::Add {
                        _mm_prefetch::<_MM_HINT_T0>(part.b.wrapping_add(at + line + 1024).cast());
                    }
                }
                for half in [0, 32] {
                    let place = at + line + half;
                    // SAFETY: `place` is below `bytes`, and aligned.
                    unsafe {
                        let mut value = _mm256_load_ps(part.a.add(place).cast());
                        match how {
                            Move::Read => {
                                let number = (line / 64) & 3;
                                sum[number] = _mm256_max_ps(sum[number], value);
                                continue;
                            }
                            Move::Add => value = _mm256_add_ps(value, _mm256_load_ps(part.b.add(place).cast())),
                            Move::Copy => {}
                        }
                        if PAST_CACHES {
                            _mm256_stream_ps(part.out.add(place).cast(), value);
                        } else {
                            _mm256_store_ps(part.out.add(place).cast(), value);
                        }
                    }
                }
            }
            at += 256;
        }
        _mm_sfence();
        let all = _mm256_max_ps(_mm256_max_ps(sum[0], sum[1]), _mm256_max_ps(sum[2], sum[3]));
        _mm256_cvtss_f32(all)
    }

    /// Moves memory in one of the ways that there are.
    pub(super) fn move_memory(part: Part, how: Move, way: u32) -> f32 {
        assert!(is_x86_feature_detected!("avx2"), "the probes need AVX2");
        // SAFETY: asserted; `limits.py` hands over aligned arrays.
        unsafe {
            match way {
                0 => move_vectors::<false, false>(part, how),
                1 => move_vectors::<true, false>(part, how),
                2 => move_vectors::<false, true>(part, how),
                _ => move_vectors::<true, true>(part, how),
            }
        }
    }

    pub(super) const WAYS: u32 = 4;

    macro_rules! multiply_loop {
        ($name:ident, $feature:literal, $vector:ty, $set:expr, $step:expr) => {
            /// Independent chains of multiplications with addition.
            #[target_feature(enable = $feature)]
            unsafe fn $name(count: u64) -> f32 {
                let x = $set(0.999_f32);
                let mut sums: [$vector; 12] = [$set(1.0); 12];
                for _ in 0..count {
                    for sum in &mut sums {
                        *sum = $step(*sum, x);
                    }
                }
                let sums: [f32; 12 * size_of::<$vector>() / 4] = unsafe { std::mem::transmute(sums) };
                sums.iter().sum()
            }
        };
    }
    multiply_loop!(fma256, "avx2,fma", __m256, |x| _mm256_set1_ps(x), |sum, x| _mm256_fmadd_ps(sum, x, x));
    multiply_loop!(fma512, "avx512f", __m512, |x| _mm512_set1_ps(x), |sum, x| _mm512_fmadd_ps(sum, x, x));
    multiply_loop!(
        bf16_512,
        "avx512f,avx512bf16",
        __m512,
        |x| _mm512_set1_ps(x),
        |sum, x| unsafe { _mm512_dpbf16_ps(sum, std::mem::transmute::<__m512, __m512bh>(x), std::mem::transmute::<__m512, __m512bh>(x)) }
    );

    /// Whether the processor multiplies tiles of bfloat16 (AMX) and the system lets this process do so.
    fn has_amx() -> bool {
        const TILE_AND_BF16: u32 = 1 << 24 | 1 << 22;
        if __cpuid_count(7, 0).edx & TILE_AND_BF16 != TILE_AND_BF16 || cfg!(not(target_os = "linux")) {
            return false;
        }
        let (request, tile_data) = (0x1023_u64, 18_u64);
        let mut answer: u64 = 158;
        // SAFETY: `arch_prctl` with two numbers touches no memory.
        unsafe {
            std::arch::asm!("syscall", inout("rax") answer, in("rdi") request, in("rsi") tile_data,
                out("rcx") _, out("r11") _, options(nostack));
        }
        answer == 0
    }

    /// Four tiles of sums that are added to in turn; answers the operations of a turn.
    fn amx(count: u64) -> u64 {
        #[repr(align(64))]
        struct Shape([u8; 64]);
        let mut shape = Shape([0; 64]);
        shape.0[0] = 1;
        for tile in 0..8 {
            (shape.0[16 + 2 * tile], shape.0[48 + tile]) = (64, 16);
        }
        // SAFETY: the caller has seen that the tiles are there; they are given back.
        unsafe {
            std::arch::asm!("ldtilecfg [{}]", in(reg) shape.0.as_ptr(), options(nostack));
            std::arch::asm!(
                "2:", "tdpbf16ps tmm0, tmm4, tmm6", "tdpbf16ps tmm1, tmm4, tmm7", "tdpbf16ps tmm2, tmm5, tmm6",
                "tdpbf16ps tmm3, tmm5, tmm7", "dec {}", "jnz 2b", inout(reg) count => _, options(nostack));
            std::arch::asm!("tilerelease", options(nostack));
        }
        4 * 2 * 16 * 16 * 32
    }

    /// Floating-point operations of `count` turns, after they ran. `kind` is 0 for binary32, 1 for bfloat16.
    pub(super) fn multiply(kind: u32, count: u64) -> (f64, f32) {
        if kind == 1 && has_amx() {
            // A turn takes ten times as long as one of vectors.
            let turns = (count / 10).max(1);
            return ((turns * amx(turns)) as f64, 0.0);
        }
        let per_turn = |lanes: u64, each: u64| (count * 12 * lanes * each) as f64;
        // SAFETY: each only where the processor has it.
        unsafe {
            if kind == 1 && is_x86_feature_detected!("avx512bf16") {
                return (per_turn(16, 4), bf16_512(count));
            }
            if is_x86_feature_detected!("avx512f") {
                return (per_turn(16, 2), fma512(count));
            }
            assert!(is_x86_feature_detected!("fma"), "the probes need FMA");
            (per_turn(8, 2), fma256(count))
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod machine {
    use super::{Move, Part};
    use std::arch::aarch64::*;

    pub(super) const WAYS: u32 = 1;

    pub(super) fn move_memory(part: Part, how: Move, _way: u32) -> f32 {
        let count = part.bytes / 4;
        // SAFETY: `limits.py` hands over arrays of that size.
        let (a, b) = unsafe {
            (std::slice::from_raw_parts(part.a.cast::<f32>(), count), std::slice::from_raw_parts(part.b.cast::<f32>(), count))
        };
        if how == Move::Read {
            return a.iter().fold(0.0, |most, &x| if x > most { x } else { most });
        }
        // SAFETY: the same.
        let out = unsafe { std::slice::from_raw_parts_mut(part.out.cast::<f32>(), count) };
        match how {
            Move::Add => out.iter_mut().zip(a).zip(b).for_each(|((out, a), b)| *out = a + b),
            _ => out.copy_from_slice(a),
        }
        out[0]
    }

    /// Floating-point operations of `count` turns, after they ran.
    pub(super) fn multiply(_kind: u32, count: u64) -> (f64, f32) {
        // SAFETY: NEON is part of every AArch64.
        unsafe {
            let x = vdupq_n_f32(0.999);
            let mut sums = [vdupq_n_f32(1.0); 16];
            for _ in 0..count {
                for sum in &mut sums {
                    *sum = vfmaq_f32(*sum, *sum, x);
                }
            }
            ((count * 16 * 4 * 2) as f64, sums.iter().map(|&sum| vaddvq_f32(sum)).sum())
        }
    }
}

/// How many ways of moving memory there are.
#[unsafe(no_mangle)]
pub extern "C" fn move_ways() -> u32 {
    machine::WAYS
}

/// Seconds of one pass over `bytes` bytes each. `what` is 0 to copy, 1 to add, 2 to read.
///
/// # Safety
/// Arrays of that size, aligned to 64 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn move_seconds(
    what: u32,
    way: u32,
    threads: usize,
    passes: u32,
    out: usize,
    a: usize,
    b: usize,
    bytes: usize,
) -> f64 {
    let how = [Move::Copy, Move::Add, Move::Read][what as usize];
    let seconds = together(threads, |thread, threads| {
        let share = (bytes / threads) & !255;
        let first = thread * share;
        let last = if thread + 1 == threads { bytes & !255 } else { first + share };
        for _ in 0..passes {
            let part = Part {
                out: (out + first) as *mut u8,
                a: (a + first) as *const u8,
                b: (b + first) as *const u8,
                bytes: last - first,
            };
            std::hint::black_box(machine::move_memory(part, how, way));
        }
    });
    seconds / f64::from(passes)
}

/// Floating-point operations a second of loops in registers. `kind` is 0 for binary32, 1 for bfloat16.
#[unsafe(no_mangle)]
pub extern "C" fn multiply_rate(kind: u32, threads: usize, turns: u64) -> f64 {
    let total = std::sync::Mutex::new(0.0);
    let seconds = together(threads, |_, _| {
        let (operations, value) = machine::multiply(kind, turns);
        std::hint::black_box(value);
        *total.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += operations;
    });
    total.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) / seconds
}
