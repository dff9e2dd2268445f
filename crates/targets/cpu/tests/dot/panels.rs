//! Kernels on packed operands against plain loops.

use super::native::{self, Random};
use super::{isas, load_kernels, machine};
use cpu::dot::{Operands, PanelPlan, PanelSpec};

/// Rows, columns, step of `k`, steps.
const SHAPES: &[[u32; 4]] = &[
    [1, 16, 1, 5],
    [2, 16, 2, 32],
    [16, 32, 8, 3],
    [64, 64, 32, 2],
    [128, 16, 64, 1],
    [32, 128, 4, 16],
    [8, 256, 16, 1],
];

fn spec([m, n, step, steps]: [u32; 4], operands: Operands, machine: cpu::dot::VectorUnit) -> PanelSpec {
    let depth = (step * steps).next_power_of_two();
    let (a_row_stride, c_row_stride, used) = (depth + 3, n + 5, [m, n]);
    PanelSpec { m, n, step, depth, operands, a_row_stride, c_row_stride, used, machine }
}

/// One element as the kernels see it.
trait Element: Copy + Default {
    /// What products of it are added up in.
    type Sum: Element;

    fn random(random: &mut Random) -> Self;
    fn wide(self) -> f64;
}

impl Element for f32 {
    type Sum = f32;

    fn random(random: &mut Random) -> f32 {
        random.between(-2.0, 2.0) as f32
    }

    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl Element for f64 {
    type Sum = f64;

    fn random(random: &mut Random) -> f64 {
        random.between(-2.0, 2.0)
    }

    fn wide(self) -> f64 {
        self
    }
}

impl Element for i16 {
    type Sum = i32;

    fn random(random: &mut Random) -> i16 {
        (random.bits() % 255) as i16 - 127
    }

    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl Element for i8 {
    type Sum = i32;

    fn random(random: &mut Random) -> i8 {
        random.bits() as i8
    }

    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl Element for half::bf16 {
    type Sum = f32;

    fn random(random: &mut Random) -> half::bf16 {
        half::bf16::from_f64(random.between(-2.0, 2.0))
    }

    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl Element for half::f16 {
    type Sum = f32;

    fn random(random: &mut Random) -> half::f16 {
        half::f16::from_f64(random.between(-2.0, 2.0))
    }

    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl Element for i32 {
    type Sum = i32;

    fn random(random: &mut Random) -> i32 {
        (random.bits() % 255) as i32 - 127
    }

    fn wide(self) -> f64 {
        f64::from(self)
    }
}

fn check<T: Element>(operands: Operands, epsilon: f64) {
    let mut random = Random::fresh();
    let group = operands.group();
    for isa in isas() {
        let machine = machine(&isa);
        if !operands.is_supported(&machine, [16, 16, 64]) {
            continue;
        }
        let mut specs: Vec<(PanelSpec, u32)> =
            SHAPES.iter().map(|&shape| (spec(shape, operands, machine), shape[2] * shape[3])).collect();
        specs.retain(|(spec, _)| operands.is_supported(&machine, [spec.m, spec.n, group * spec.step]));
        let part = |(spec, k): &(PanelSpec, u32)| {
            (PanelSpec { used: [spec.m - spec.m / 3, spec.n - spec.n / 3], ..*spec }, *k)
        };
        let parts: Vec<(PanelSpec, u32)> = specs.iter().map(part).collect();
        specs.extend(parts);
        let plans: Vec<PanelPlan> =
            specs.iter().map(|(spec, _)| PanelPlan::choose(spec).expect("a legal shape")).collect();
        let definitions = plans.iter().map(|plan| {
            let mut all = plan.definitions();
            all.extend(plan.of_a_part().definitions());
            all.extend(plan.from_either().into_iter().flat_map(|plan| plan.definitions()));
            all
        });
        let object = load_kernels(definitions, &isa);
        for ((spec, k), plan) in specs.iter().zip(&plans) {
            let mut some = |count: u32| -> Vec<T> { (0..count).map(|_| T::random(&mut random)).collect() };
            let (a, b) = (some(group * spec.m * spec.a_row_stride), some(group * k * spec.n));
            let before: Vec<T::Sum> =
                (0..spec.m * spec.c_row_stride).map(|_| T::Sum::random(&mut random)).collect();
            let (width, stride) = (plan.panel_width(), plan.panel_stride());
            let mut panels = vec![T::default(); (group * (spec.n / width) * stride) as usize];
            for (index, &value) in b.iter().enumerate() {
                let (row, column) = (index as u32 / spec.n, index as u32 % spec.n);
                let place = column / width * stride + row / group * width + column % width;
                panels[(place * group + row % group) as usize] = value;
            }
            type Kernel = extern "C" fn(*const u8, *const u8, *mut u8, u64, bool);
            let address = object.symbol(&plan.symbol()).expect("it is defined");
            // SAFETY: the symbol is a kernel of this type, or of one without the last argument, and the slices hold
            // what it reads and writes.
            let kernel = unsafe { std::mem::transmute::<usize, Kernel>(address) };
            let multiply = |by_rows: bool| {
                let mut c = before.clone();
                kernel(
                    a.as_ptr().cast(),
                    panels.as_ptr().cast(),
                    c.as_mut_ptr().cast(),
                    u64::from(*k),
                    by_rows,
                );
                c
            };
            let c = multiply(false);
            if plan.has_orders() {
                let is_same = multiply(true).iter().zip(&c).all(|(one, other)| one.wide() == other.wide());
                assert!(is_same, "{}: {spec:?} by rows", isa.name);
            }
            let address = |plan: PanelPlan| object.symbol(&plan.symbol()).expect("it is defined");
            if let Some(either) = plan.from_either() {
                // SAFETY: as above.
                let kernel = unsafe { std::mem::transmute::<usize, Kernel>(address(either)) };
                let (a, b, k) = (a.as_ptr().cast(), panels.as_ptr().cast(), u64::from(*k));
                let run = |c: &mut [T::Sum], from_zero| kernel(a, b, c.as_mut_ptr().cast(), k, from_zero);
                check_starts(run, (&c, &before), spec);
            }
            if plan.stops_early() {
                // SAFETY: as above, with rows and columns.
                let kernel = unsafe { std::mem::transmute::<usize, PartKernel>(address(plan.of_a_part())) };
                let (a, b, k) = (a.as_ptr().cast(), panels.as_ptr().cast(), u64::from(*k));
                for part in [[1, 1], spec.used.map(|all| all / 2 + 1), spec.used] {
                    let mut some = before.clone();
                    let [rows, columns] = part.map(u64::from);
                    kernel(a, b, some.as_mut_ptr().cast(), k, rows, columns);
                    check_part(&some, (&c, &before), part, (spec, width));
                }
            }
            for (index, (&got, &start)) in c.iter().zip(&before).enumerate() {
                let (row, column) = (index as u32 / spec.c_row_stride, index as u32 % spec.c_row_stride);
                if row >= spec.used[0] || (spec.used[1]..spec.n).contains(&column) {
                    continue;
                }
                let terms = (0..if column < spec.n { group * *k } else { 0 }).map(|step| {
                    a[(group * row * spec.a_row_stride + step) as usize].wide()
                        * b[(step * spec.n + column) as usize].wide()
                });
                let (want, size) = terms.fold((start.wide(), start.wide().abs()), |(sum, size), term| {
                    (sum + term, size + term.abs())
                });
                let bound = size * epsilon * f64::from((group * *k).max(2));
                assert!((got.wide() - want).abs() <= bound, "{}: {spec:?} at {row}, {column}", isa.name);
            }
        }
    }
}

/// A kernel that begins at zero makes of anything what it makes of zeros, and else what the plain one makes; between
/// rows it writes nothing.
fn check_starts<T: Element>(run: impl Fn(&mut [T], bool), (all, before): (&[T], &[T]), spec: &PanelSpec) {
    let made = |mut sums: Vec<T>, from_zero: bool| {
        run(&mut sums, from_zero);
        sums
    };
    let zeroed = (made(before.to_vec(), true), made(vec![T::default(); before.len()], false));
    let added = (made(before.to_vec(), false), all.to_vec());
    for (got, want) in [zeroed, added] {
        for (index, (got, want)) in got.iter().zip(&want).enumerate() {
            let (row, column) = (index as u32 / spec.c_row_stride, index as u32 % spec.c_row_stride);
            let want = if column >= spec.n { &before[index] } else { want };
            let has_meaning = row < spec.used[0] && column < spec.used[1] || column >= spec.n;
            assert!(!has_meaning || got.wide() == want.wide(), "{spec:?} at {row}, {column}");
        }
    }
}

type PartKernel = extern "C" fn(*const u8, *const u8, *mut u8, u64, u64, u64);

/// The most rows of a register tile.
const MOST_ROWS: u32 = 16;

/// What is asked for is what the whole kernel makes; what lies further behind than a register tile is not touched.
fn check_part<T: Element>(
    some: &[T],
    (all, before): (&[T], &[T]),
    [rows, columns]: [u32; 2],
    (spec, width): (&PanelSpec, u32),
) {
    for (index, got) in some.iter().enumerate() {
        let (row, column) = (index as u32 / spec.c_row_stride, index as u32 % spec.c_row_stride);
        let want = match () {
            () if row < rows && column < columns => all[index],
            () if row >= rows + MOST_ROWS || column >= columns.next_multiple_of(width) => before[index],
            () => continue,
        };
        assert!(got.wide() == want.wide(), "{rows} rows, {columns} columns of {spec:?} at {row}, {column}");
    }
}

#[test]
fn panel_kernels_agree_with_plain_loops() {
    check::<f32>(Operands::F32, f64::from(f32::EPSILON));
    check::<f64>(Operands::F64, f64::EPSILON);
    check::<i32>(Operands::I32, 0.0);
    check::<i16>(Operands::I16Pairs, 0.0);
    check::<i8>(Operands::I8Quads, 0.0);
    check::<half::bf16>(Operands::Bf16Pairs, f64::from(f32::EPSILON));
    check::<half::f16>(Operands::F16Pairs, f64::from(f32::EPSILON));
}

#[test]
fn panels_that_cannot_be_are_refused() {
    let machine = machine(&native::isas()[0]);
    let good = spec([16, 16, 8, 4], Operands::F32, machine);
    assert!(PanelPlan::choose(&good).is_ok());
    assert!(PanelPlan::choose(&PanelSpec { depth: 12, ..good }).is_err());
    assert!(PanelPlan::choose(&PanelSpec { a_row_stride: 4, ..good }).is_err());
    assert!(PanelPlan::choose(&PanelSpec { n: 48, ..good }).is_err());
    assert_eq!(PanelSpec::width([16, 2, 8], Operands::F32, machine), None);
    for cache in [1 << 10, 32 << 10, 48 << 10, 1 << 40] {
        let depth = PanelSpec::depth([16, 256, 8], Operands::F32, machine, cache).expect("it fills a vector");
        assert!(depth.is_power_of_two() && (64..=512).contains(&depth), "{depth}");
    }
}
