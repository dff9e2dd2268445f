//! Kernels for a few rows on operands where they lie, against plain loops.

use super::native::Random;
use super::{isas, load_kernels, machine};
use cpu::dot::{Along, Element, FewRows, VectorUnit};

/// Rows, columns, step of `k`, steps.
const SHAPES: &[[u32; 4]] =
    &[[1, 16, 1, 3], [1, 128, 64, 2], [2, 64, 32, 1], [4, 32, 16, 5], [8, 16, 128, 1], [16, 128, 64, 4]];

type Kernel = extern "C" fn(*const u8, *const *const u8, *mut f32, u64, u64);

fn specs(element: Element, machine: VectorUnit) -> Vec<(FewRows, u32)> {
    let of = |along: Along| {
        SHAPES.iter().map(move |&[m, n, step, steps]| {
            let (a_row_stride, c_row_stride) = (step * steps + 3, n + 5);
            (FewRows { m, n, step, along, element, a_row_stride, c_row_stride, machine }, steps)
        })
    };
    of(Along::Columns).chain(of(Along::Depth)).filter(|(spec, _)| spec.exists()).collect()
}

/// Numbers of a type, as bytes and as what they are.
fn some(random: &mut Random, element: Element, count: u32) -> (Vec<u8>, Vec<f64>) {
    let numbers: Vec<f64> = (0..count).map(|_| random.between(-2.0, 2.0)).collect();
    match element {
        Element::F32 => {
            let all: Vec<f32> = numbers.iter().map(|&number| number as f32).collect();
            let bytes = all.iter().flat_map(|number| number.to_ne_bytes()).collect();
            (bytes, all.into_iter().map(f64::from).collect())
        }
        Element::Bf16 | Element::Bf16Pairs => {
            let all: Vec<half::bf16> = numbers.into_iter().map(half::bf16::from_f64).collect();
            let bytes = all.iter().flat_map(|number| number.to_ne_bytes()).collect();
            (bytes, all.into_iter().map(f64::from).collect())
        }
        Element::F16 => {
            let all: Vec<half::f16> = numbers.into_iter().map(half::f16::from_f64).collect();
            let bytes = all.iter().flat_map(|number| number.to_ne_bytes()).collect();
            (bytes, all.into_iter().map(f64::from).collect())
        }
    }
}

#[test]
fn few_rows_agree_with_plain_loops() {
    let mut random = Random::fresh();
    for isa in isas() {
        let machine = machine(&isa);
        let has_f16 = isa.spec.features.contains("f16c");
        for element in [Element::F32, Element::Bf16, Element::F16, Element::Bf16Pairs] {
            if element == Element::F16 && !has_f16 {
                continue;
            }
            if element == Element::Bf16Pairs && !machine.has_bf16_pairs {
                println!("NOT RUN: {} has no pairs of bf16", isa.name);
                continue;
            }
            let specs = specs(element, machine);
            let object = load_kernels(specs.iter().map(|(spec, _)| spec.definitions()), &isa);
            for (spec, steps) in &specs {
                let address = object.symbol(&spec.symbol()).expect("it is defined");
                // SAFETY: the symbol is a kernel of this type; the slices and the table hold what it reads and writes.
                let kernel = unsafe { std::mem::transmute::<usize, Kernel>(address) };
                check(kernel, (spec, *steps), &mut random, isa.name);
            }
        }
    }
}

fn check(kernel: Kernel, (spec, steps): (&FewRows, u32), random: &mut Random, isa: &str) {
    let FewRows { m, n, along, element, a_row_stride, c_row_stride, .. } = *spec;
    let (step, a_row) = (spec.step * spec.group(), a_row_stride * spec.group());
    let (k, bytes) = (step * steps, if element == Element::F32 { 4 } else { 2 });
    let (memory, b) = some(random, element, k * n);
    let of_a = if element == Element::Bf16Pairs { element } else { Element::F32 };
    let (a_memory, a) = some(random, of_a, m * a_row);
    let before: Vec<f32> = (0..m * c_row_stride).map(|_| random.between(-2.0, 2.0) as f32).collect();
    // Row by row, or column by column, in parts of `step`.
    let at = |step_of_k: u32, column: u32| match along {
        Along::Columns => step_of_k * n + column,
        Along::Depth => column * k + step_of_k,
    };
    let row = |index: u32| memory[(index * bytes) as usize..].as_ptr();
    let table: Vec<*const u8> = match along {
        Along::Columns => (0..k).map(|of| row(at(of, 0))).collect(),
        Along::Depth => (0..steps).flat_map(|part| (0..n).map(move |of| row(at(part * step, of)))).collect(),
    };
    let count = if along == Along::Columns { k / spec.group() } else { steps };
    for rows in [1, m / 2 + 1, m].into_iter().filter(|&rows| rows <= m) {
        let mut c = before.clone();
        kernel(a_memory.as_ptr(), table.as_ptr(), c.as_mut_ptr(), u64::from(count), u64::from(rows));
        for (index, (&got, &start)) in (0..).zip(c.iter().zip(&before)) {
            let (row, column) = (index / c_row_stride, index % c_row_stride);
            if column >= n {
                assert!(got == start, "{isa}: {spec:?} wrote at {row}, {column}");
            } else if row < rows {
                let terms = (0..k).map(|of| a[(row * a_row + of) as usize] * b[at(of, column) as usize]);
                let (want, size) = terms
                    .fold((f64::from(start), f64::from(start).abs()), |(sum, size), term| {
                        (sum + term, size + term.abs())
                    });
                let bound = size * f64::from(f32::EPSILON) * f64::from(k.max(2));
                assert!((f64::from(got) - want).abs() <= bound, "{isa}: {spec:?} at {row}, {column}");
            }
        }
    }
}
