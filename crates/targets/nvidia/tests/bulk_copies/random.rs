//! Random kernels of [`boxes`](crate::boxes) on the emulator, under schedules, compared with the interpreter.

use crate::boxes::{Ends, Shape, Sizes, random_shape, random_sizes, text};
use crate::case::without_each;
use crate::kernel::{How, Kernel};
use crate::parts::in_bytes;
use crate::roles::{ordering, with_line};
use ttgir::Roles;
use ttir::testing::Random;

/// A number that somebody may choose.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn compiled(shape: Shape, seed: u64) -> Kernel {
    // The kernels store 16 KB each.
    let text = if seed % 4 < 2 { text(shape) } else { in_bytes(&text(shape), 8 << 10) };
    let roles = [Roles::Asked, Roles::Paying, Roles::All][seed as usize % 3];
    let num_warps = [4, 8, 4, 2][seed as usize % 4];
    let how = How { stages: shape.stages, num_warps, change: &|machine| machine.roles = roles };
    Kernel::of(&text, how)
}

/// `BOXES=…` says how many, `FIRST=…` from which on.
#[test]
fn random_loops_over_boxes_agree_with_the_interpreter() {
    let first = number("FIRST", 0);
    let (mut bulk, mut roles) = (0, 0);
    let count = number("BOXES", 24);
    for seed in first..first + count {
        let mut random = Random::new(seed);
        let shape = random_shape(&mut random);
        let kernel = compiled(shape, seed);
        bulk += u64::from(!kernel.bulk.maps.is_empty());
        roles += u64::from(kernel.bulk.threads > kernel.plain.threads);
        for _ in 0..3 {
            let sizes = random_sizes(&mut random, shape);
            let args = sizes.args(&mut random, shape);
            let launch = ([sizes.programs, 1, 1], &args);
            kernel.check(launch, 5, &format!("seed {seed}: {shape:?}, {sizes:?}"));
        }
    }
    assert!(bulk * 2 > count && roles > 0, "{bulk} of {count} copy in bulk, {roles} have roles");
}

#[test]
fn random_loops_over_programs_agree_with_the_interpreter() {
    let (mut stored, mut ran) = (0, 0);
    for seed in number("FIRST", 0)..number("FIRST", 0) + number("BOXES", 24) {
        let mut random = Random::new(seed);
        let shape = Shape { around: None, loops: 1, branch: false, ..random_shape(&mut random) };
        let kernel = compiled(shape, seed);
        assert!(kernel.persistent.persistent.is_some() || kernel.bulk.maps.len() < 2, "{shape:?}");
        stored += u64::from(kernel.persistent.maps.iter().any(|map| map.is_written));
        for _ in 0..2 {
            let sizes = random_sizes(&mut random, shape);
            let args = sizes.args(&mut random, shape);
            let launch = ([sizes.programs, 1, 1], &args);
            ran += u64::from(kernel.takes_persistent(launch));
            kernel.check(launch, 4, &format!("seed {seed}: {shape:?}, {sizes:?}"));
        }
    }
    assert!(stored > 0 && ran > 0, "{stored} kernels store in bulk, {ran} launches loop over their programs");
}

/// Loops that follow each other, the last one under a condition; loops in a loop.
const SEQUENCE: Shape = Shape {
    ends: Ends::Masked,
    carried: true,
    turned: false,
    long: false,
    started: false,
    says: "",
    around: None,
    loops: 3,
    branch: true,
    stages: 3,
};
const NESTED: Shape =
    Shape { around: Some("tt.flatten"), loops: 1, branch: false, carried: false, ..SEQUENCE };

/// More iterations than buffers.
fn long(shape: Shape) -> Sizes {
    let tiles = if shape.around.is_some() { 2 } else { 1 };
    Sizes {
        m: 64,
        n: 64 * tiles,
        k: 32 * 5,
        strides: [32 * 5, 64 * tiles, 64 * tiles],
        rounds: 5,
        start: 0,
        tiles,
        programs: 1,
        begin: 0,
        before: [0; 3],
        behind: [64 * 32 * 5, 64 * 32 * 5 * tiles, 64 * 64 * tiles],
    }
}

/// That a kernel without one of the lines is noticed, whichever it is.
fn check_that_each_is_missed(shape: Shape, kernel: &Kernel, texts: Vec<(String, String)>) {
    let args = long(shape).args(&mut Random::new(61), shape);
    let launch = ([1; 3], &args);
    assert!(kernel.takes_bulk(launch));
    kernel.check(launch, 4, "as it is");
    let expected = kernel.interpret(launch);
    assert!(texts.len() >= 10, "{} of\n{}", texts.len(), kernel.bulk.ptx);
    let unnoticed: Vec<String> = texts
        .into_iter()
        .filter(|(_, text)| kernel.misses_nothing(&kernel.bulk, text, launch, &expected))
        .map(|(what, _)| what)
        .collect();
    assert!(unnoticed.is_empty(), "{shape:?}: {unnoticed:#?}\n{}", kernel.bulk.ptx);
}

#[test]
fn nothing_that_orders_roles_around_boxes_may_be_missing() {
    for shape in
        [SEQUENCE, Shape { loops: 2, branch: false, ..SEQUENCE }, NESTED, Shape { loops: 2, ..NESTED }]
    {
        let how = How { stages: 3, num_warps: 4, change: &|machine| machine.roles = Roles::All };
        let kernel = Kernel::of(&text(shape), how);
        assert!(kernel.bulk.threads > kernel.plain.threads, "{shape:?} has no roles");
        let lines: Vec<&str> = kernel.bulk.ptx.lines().collect();
        let over =
            |at: usize| if lines[at].contains("try_wait") { "\tsetp.eq.u32 complete, 0, 0;" } else { "" };
        let without = |at: usize| {
            (format!("line {}: {}", at + 1, lines[at].trim()), with_line(&kernel.bulk.ptx, at, over(at)))
        };
        check_that_each_is_missed(
            shape,
            &kernel,
            ordering(&kernel.bulk.ptx).into_iter().map(without).collect(),
        );
    }
}

#[test]
fn nothing_that_orders_copies_of_boxes_may_be_missing() {
    for shape in [NESTED, Shape { around: Some(""), ..NESTED }, Shape { around: None, ..NESTED }] {
        let how = How { stages: 3, num_warps: 4, change: &|machine| machine.roles = Roles::Asked };
        let kernel = Kernel::of(&text(shape), how);
        assert_eq!(kernel.bulk.threads, 128);
        // Behind the loop that begins copies barriers order the store, twice where the loop has run at all.
        let text = &kernel.bulk.ptx;
        let last = text.lines().rfind(|line| line.contains("cp.async.bulk.tensor")).expect("copies");
        let (head, tail) = text.rsplit_once(last).expect("it is there");
        let cases =
            without_each(text).into_iter().filter(|(_, left)| left.trim_end().ends_with(tail.trim_end()));
        let cases: Vec<_> = cases.collect();
        assert!(head.contains("wgmma"), "{text}");
        check_that_each_is_missed(shape, &kernel, cases);
    }
}
