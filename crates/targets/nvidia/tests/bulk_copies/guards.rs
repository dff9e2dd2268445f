//! What launches must be for bulk copies by pointers: a launch that is not, in exactly one way, takes the plain version
//! and is right, and would not be right without the one condition.

use crate::boxes::{Ends, Shape, Sizes, text};
use crate::kernel::{Args, How, Kernel, Slot};
use target::Condition;
use ttir::testing::Random;

const SHAPE: Shape = Shape {
    ends: Ends::Masked,
    carried: false,
    turned: false,
    long: false,
    started: true,
    says: "",
    around: None,
    loops: 1,
    branch: false,
    stages: 3,
};

/// A launch that a kernel takes: two iterations over matrices in one tile.
fn sizes(shape: Shape) -> Sizes {
    let [m, n, k] = if shape.ends == Ends::None { [64; 3] } else { [50, 40, 60] };
    Sizes {
        m,
        n,
        k,
        strides: [64, 64, 64],
        rounds: 2,
        start: 0,
        tiles: 1,
        programs: 1,
        begin: 0,
        before: [0; 3],
        behind: [64 * 64, 64 * 64, 64 * 64],
    }
}

/// A launch that is wrong in one way.
struct Wrong {
    what: &'static str,
    shape: Shape,
    sizes: Sizes,
    /// Where `c` is, in elements of `a` or `b`, if it is in one of them.
    alias: Option<(usize, i64)>,
    /// Whether bulk copies would do as well: more is asked than is needed.
    needless: bool,
}

fn wrong(what: &'static str, shape: Shape, change: impl FnOnce(&mut Sizes)) -> Wrong {
    let mut sizes = sizes(shape);
    change(&mut sizes);
    Wrong { what, shape, sizes, alias: None, needless: false }
}

/// A launch that bulk copies would serve as well.
fn needless(what: &'static str, shape: Shape, change: impl FnOnce(&mut Sizes)) -> Wrong {
    Wrong { needless: true, ..wrong(what, shape, change) }
}

fn all_wrong() -> Vec<Wrong> {
    let long = Shape { long: true, ..SHAPE };
    let turned = Shape { turned: true, ..SHAPE };
    let even = Shape { ends: Ends::None, ..SHAPE };
    let persistent = Shape { around: Some("tt.flatten"), started: false, ..SHAPE };
    vec![
        wrong("rows begin in front of the matrix", SHAPE, |sizes| {
            (sizes.start, sizes.before) = (-3, [3 * 64, 0, 3 * 64]);
        }),
        wrong("iterations begin in front of the matrix", SHAPE, |sizes| {
            (sizes.begin, sizes.rounds, sizes.before) = (-1, 1, [32, 32 * 64, 0]);
            (sizes.n, sizes.k) = (64, 64);
        }),
        needless("a matrix without rows", SHAPE, |sizes| {
            (sizes.m, sizes.k, sizes.strides[0]) = (0, 60, 16);
        }),
        needless("a matrix of fewer rows than none", SHAPE, |sizes| {
            (sizes.m, sizes.k, sizes.strides[0]) = (-2, 60, 16)
        }),
        needless("matrices without columns", SHAPE, |sizes| (sizes.n, sizes.strides[1]) = (0, 16)),
        needless("matrices without a sum", SHAPE, |sizes| (sizes.k, sizes.n, sizes.strides[1]) = (0, 40, 16)),
        wrong("rows that go backwards", SHAPE, |sizes| {
            (sizes.m, sizes.strides[0], sizes.before[0]) = (3, -16, 64);
        }),
        needless("rows that are all the same", SHAPE, |sizes| sizes.strides[0] = 0),
        wrong("rows of the other that go backwards", turned, |sizes| {
            (sizes.n, sizes.strides[1], sizes.before[1]) = (3, -16, 64);
        }),
        needless("rows of the other that are all the same", turned, |sizes| sizes.strides[1] = 0),
        wrong("a stride that no map holds", long, |sizes| (sizes.m, sizes.strides[0]) = (1, 1 << 39)),
        wrong("a stride of the other that no map holds", Shape { turned: true, ..long }, |sizes| {
            (sizes.n, sizes.strides[1]) = (1, 1 << 39);
        }),
        wrong("offsets that overflow", even, |sizes| {
            (sizes.start, sizes.m) = (1 << 26, 1 << 27);
        }),
        wrong("offsets of masked rows that overflow", SHAPE, |sizes| {
            (sizes.start, sizes.m) = (1 << 26, 1 << 27)
        }),
        Wrong {
            alias: Some((0, 64 * 4)),
            ..wrong("the result lies in a matrix", persistent, |sizes| {
                (sizes.tiles, sizes.n, sizes.strides[1], sizes.strides[2]) = (2, 128, 128, 128);
                sizes.behind = [64 * 64 + 64 * 256, 64 * 128, 0];
            })
        },
        Wrong {
            alias: Some((1, 64 * 8)),
            ..wrong("the result lies in the other matrix", persistent, |sizes| {
                (sizes.tiles, sizes.n, sizes.strides[1], sizes.strides[2]) = (2, 128, 128, 128);
                sizes.behind = [64 * 64, 64 * 128 + 64 * 256, 0];
            })
        },
    ]
}

/// Parameters that overlap are kept in order among the lanes of one warp alone.
fn kernel(wrong: &Wrong) -> Kernel {
    let num_warps = if wrong.alias.is_some() { 1 } else { 4 };
    Kernel::of(&text(wrong.shape), How { stages: 3, num_warps, change: &|_| () })
}

fn args(wrong: &Wrong) -> Args {
    let mut args = wrong.sizes.args(&mut Random::new(51), wrong.shape);
    if let Some((buffer, elements)) = wrong.alias {
        args.slots[2] = Slot::Pointer(buffer, elements * 2);
    }
    args
}

#[test]
fn each_condition_keeps_a_wrong_launch_away() {
    let mut seen = Vec::new();
    let mut unnoticed = Vec::new();
    for wrong in all_wrong() {
        let kernel = kernel(&wrong);
        // In a loop over tiles the result is stored by bulk copies as well.
        let stored = usize::from(wrong.shape.around.is_some());
        assert_eq!(kernel.bulk.maps.len(), 2 + stored, "{}", wrong.what);
        kernel.check(([1; 3], &sizes(wrong.shape).args(&mut Random::new(52), wrong.shape)), 1, wrong.what);
        let args = args(&wrong);
        let launch = ([1; 3], &args);
        let violated = kernel.violated(launch);
        assert!(!kernel.takes_bulk(launch), "{}", wrong.what);
        // The plain version is right.
        kernel.check(launch, 4, wrong.what);
        let [at] = violated[..] else {
            panic!("{}: not one condition, but {violated:?} of {}", wrong.what, kernel.bulk.guards)
        };
        let expected = kernel.interpret(launch);
        let does = kernel.misses_nothing(&kernel.bulk, &kernel.bulk.ptx, launch, &expected);
        if does != wrong.needless {
            unnoticed.push((wrong.what, does));
        }
        seen.push(kernel.bulk.guards.conditions[at].clone());
    }
    assert!(unnoticed.is_empty(), "whether bulk copies would do as well: {unnoticed:#?}");
    assert!(seen.iter().any(|condition| matches!(condition, Condition::Apart(_))));
}

#[test]
fn what_is_not_known_to_be_a_multiple_of_16_bytes_is_loaded_by_lanes() {
    let known = text(SHAPE);
    for (param, left) in [("%a: !tt.ptr<f16>", 1), ("%b: !tt.ptr<f16>", 1), ("%sa: i32", 1), ("%sb: i32", 1)]
    {
        let text = known.replacen(&format!("{param} {{tt.divisibility = 16 : i32}}"), param, 1);
        assert_ne!(text, known);
        let kernel = Kernel::of(&text, How { stages: 3, num_warps: 4, change: &|_| () });
        assert_eq!(kernel.bulk.maps.len(), left, "{param}");
        kernel.check(([1; 3], &sizes(SHAPE).args(&mut Random::new(53), SHAPE)), 2, param);
    }
}
