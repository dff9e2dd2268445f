//! Neighbours along `k` that are multiplied at once: pairs of 16 bits, fours of bytes.

use super::native::{self, Random};
use super::{call, dot, extent, isas, load, load_kernels, machine, module, specs};
use cpu::dot::{DotKernel, DotSpec, Operands};

#[test]
fn pairs_of_bytes_are_multiplied_after_interleaving() {
    let mut random = Random::fresh();
    for isa in native::isas() {
        let specs = specs(Operands::I16Pairs, machine(&isa));
        let plans = specs.iter().map(|spec| DotKernel::choose(spec).expect("a legal shape"));
        let interleave = |spec: &DotSpec| {
            dot::interleave_pairs(spec.k, spec.n, spec.b_row_stride, isa.vectors.0).expect("a legal shape")
        };
        let definitions = plans.flat_map(|plan| plan.definitions()).chain(specs.iter().map(interleave));
        let object = native::load(&module(definitions), &isa);
        for spec in &specs {
            // Both signed and unsigned bytes; rows of A hold pairs, so its stride counts two.
            let mut byte = || (random.bits() % 511) as i16 - 255;
            let a_stride = 2 * spec.a_row_stride as usize;
            let a: Vec<i16> = (0..spec.m as usize * a_stride).map(|_| byte()).collect();
            let b: Vec<i16> = (0..spec.k * spec.n).map(|_| byte()).collect();
            let c: Vec<i32> =
                (0..extent(spec.m, spec.n, spec.c_row_stride)).map(|_| random.bits() as i32).collect();

            let mut pairs = vec![0i16; (spec.k * spec.b_row_stride) as usize];
            let address = object.symbol(&interleave(spec).symbol).expect("it is defined");
            type Pack = extern "C" fn(*const i16, i64, *mut i16);
            // SAFETY: the symbol is a packing function of this type, and both arrays hold all its rows.
            let pack = unsafe { std::mem::transmute::<usize, Pack>(address) };
            pack(b.as_ptr(), i64::from(spec.n), pairs.as_mut_ptr());

            let mut got = c.clone();
            call(&object, spec, &a, &pairs, &mut got);
            for row in 0..spec.m {
                for column in 0..spec.n {
                    let at = (row * spec.c_row_stride + column) as usize;
                    let want = (0..spec.k).fold(c[at], |sum, step| {
                        let left = i32::from(a[row as usize * a_stride + step as usize]);
                        sum.wrapping_add(left * i32::from(b[(step * spec.n + column) as usize]))
                    });
                    assert_eq!(got[at], want, "{spec:?} at {row}, {column}");
                }
            }
        }
    }
}

/// Pairs of 16-bit numbers are multiplied and added to singles.
fn check_pairs<T: Copy + Into<f64>>(operands: Operands, from: impl Fn(f64) -> T) {
    let mut random = Random::fresh();
    for isa in isas().into_iter().filter(|isa| operands.is_supported(&machine(isa), [64, 64, 64])) {
        let specs = specs(operands, machine(&isa));
        let object = load(&specs, &isa);
        for spec in &specs {
            // Numbers of all magnitudes, so that operands are denormal as well where their type has few exponents.
            let mut number = || from(random.between(-2.0, 2.0) * 2f64.powi(-((random.bits() % 24) as i32)));
            // Rows of A hold pairs, so its stride counts two.
            let (a_stride, b_stride) = (2 * spec.a_row_stride as usize, spec.b_row_stride as usize);
            let a: Vec<T> = (0..spec.m as usize * a_stride).map(|_| number()).collect();
            let b: Vec<T> = (0..spec.k as usize * b_stride).map(|_| number()).collect();
            let start: Vec<f32> =
                (0..extent(spec.m, spec.n, spec.c_row_stride)).map(|_| number().into() as f32).collect();
            let mut got = start.clone();
            call(&object, spec, &a, &b, &mut got);
            for (index, (&got, &start)) in got.iter().zip(&start).enumerate() {
                let (row, column) = (index / spec.c_row_stride as usize, index % spec.c_row_stride as usize);
                let steps = if column < spec.n as usize { spec.k as usize } else { 0 };
                let terms = (0..steps).map(|step| {
                    let right = b[(step / 2 * b_stride + column) * 2 + step % 2];
                    a[row * a_stride + step].into() * right.into()
                });
                let (want, size) = terms
                    .fold((f64::from(start), f64::from(start).abs()), |(sum, size), term| {
                        (sum + term, size + term.abs())
                    });
                let bound = size * f64::from(f32::EPSILON) * f64::from(spec.k.max(2));
                assert!(
                    (f64::from(got) - want).abs() <= bound,
                    "{spec:?} at {row}, {column}: {got}, not {want}"
                );
            }
        }
    }
}

#[test]
fn pairs_are_multiplied() {
    check_pairs(Operands::Bf16Pairs, half::bf16::from_f64);
    check_pairs(Operands::F16Pairs, half::f16::from_f64);
}

#[test]
fn quads_of_bytes_are_multiplied_after_interleaving() {
    let mut random = Random::fresh();
    for isa in isas().into_iter().filter(|isa| machine(isa).has_byte_quads) {
        let specs = specs(Operands::I8Quads, machine(&isa));
        assert!(!specs.is_empty());
        let interleave =
            |spec: &DotSpec| dot::interleave_quads(spec.k, spec.n, spec.b_row_stride).expect("a legal shape");
        let kernel = |spec: &DotSpec| DotKernel::choose(spec).expect("a legal shape");
        // Of vector registers one kernel does both, as a last argument says, which the others do not look at.
        let either = |spec: &DotSpec| kernel(spec).from_either();
        let zeroing = |spec: &DotSpec| either(spec).or(kernel(spec).from_zero()).expect("of one of both");
        let definitions = |spec: &DotSpec| {
            let mut all = kernel(spec).definitions();
            all.extend(zeroing(spec).definitions());
            all.push(interleave(spec));
            all
        };
        let object = load_kernels(specs.iter().map(definitions), &isa);
        for spec in &specs {
            let mut bytes = |count: u32| -> Vec<i8> { (0..count).map(|_| random.bits() as i8).collect() };
            let a_stride = 4 * spec.a_row_stride;
            let (a, b) = (bytes(spec.m * a_stride), bytes(spec.k * spec.n));
            let c: Vec<i32> =
                (0..extent(spec.m, spec.n, spec.c_row_stride)).map(|_| random.bits() as i32).collect();
            let mut quads = vec![0i8; (spec.k * spec.b_row_stride) as usize];
            type Pack = extern "C" fn(*const i8, i64, *mut i8);
            let address = object.symbol(&interleave(spec).symbol).expect("it is defined");
            // SAFETY: the symbol is a packing function of this type, and both arrays hold all its rows.
            let pack = unsafe { std::mem::transmute::<usize, Pack>(address) };
            pack(b.as_ptr(), i64::from(spec.n), quads.as_mut_ptr());
            let adding = either(spec).map(|plan| (plan, true));
            for (plan, keeps) in [(kernel(spec), true), (zeroing(spec), false)].into_iter().chain(adding) {
                let mut got = c.clone();
                type Kernel = extern "C" fn(*const u8, *const u8, *mut u8, bool);
                let address = object.symbol(&plan.symbol()).expect("it is defined");
                // SAFETY: the symbol is a kernel of this type, and the slices hold all rows with their strides.
                let multiply = unsafe { std::mem::transmute::<usize, Kernel>(address) };
                multiply(a.as_ptr().cast(), quads.as_ptr().cast(), got.as_mut_ptr().cast(), !keeps);
                for (index, &got) in got.iter().enumerate() {
                    let (row, column) = (index as u32 / spec.c_row_stride, index as u32 % spec.c_row_stride);
                    let is_sum = column < spec.n;
                    let start = if keeps || !is_sum { c[index] } else { 0 };
                    let want = (0..if is_sum { spec.k } else { 0 }).fold(start, |sum, step| {
                        let left = i32::from(a[(row * a_stride + step) as usize]);
                        sum.wrapping_add(left * i32::from(b[(step * spec.n + column) as usize]))
                    });
                    assert_eq!(got, want, "{spec:?} at {row}, {column}");
                }
            }
        }
    }
}
