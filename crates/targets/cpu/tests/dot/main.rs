//! The dot kernels and packing functions against plain loops, on random operands.

mod few_rows;
mod groups;
#[path = "../native/mod.rs"]
mod native;
mod panels;

use cpu::dot::{self, DotKernel, DotSpec, Operands, Transpose, VectorUnit, amx};
use cpu::host::Processor;
use cpu::loader::LoadedObject;
use llvm::{Llvm, Output};
use native::{Isa, Random};
use std::collections::BTreeMap;

fn machine(isa: &Isa) -> VectorUnit {
    VectorUnit {
        vector_bytes: isa.vectors.0,
        vector_registers: isa.vectors.1,
        has_fma: isa.has_fma,
        x86: cfg!(target_arch = "x86_64"),
        has_bf16_pairs: [BF16, AMX].contains(&isa.name),
        has_byte_quads: [BF16, AMX].contains(&isa.name),
        has_amx_bf16: isa.name == AMX,
        has_amx_fp16: isa.name == AMX && Processor::host().has("amx-fp16"),
        has_amx_int8: isa.name == AMX,
    }
}

/// The names of the instruction sets with pairs of bf16 and with tile registers.
const BF16: &str = "avx512bf16";
const AMX: &str = "amx";

/// The instruction sets of this machine, and those two where it has them: where it does not, that is said.
fn isas() -> Vec<Isa> {
    let mut isas = native::isas();
    let widest = isas.last().expect("there is one").clone();
    let mut more = |name: &'static str, features: &str| {
        let features = format!("{},{features}", widest.spec.features);
        isas.push(Isa {
            name,
            spec: native::spec(&widest.spec.triple, "x86-64", &features),
            ..widest.clone()
        });
    };
    let host = Processor::host();
    if host.has("avx512bf16") {
        more(BF16, "+avx512bf16,+avx512vnni");
    } else {
        println!("NOT RUN: pairs of bf16, for this processor has no AVX-512 BF16");
    }
    if ["amx-tile", "amx-bf16", "amx-int8", "avx512bf16"].iter().all(|name| host.has(name)) {
        let fp16 = if host.has("amx-fp16") { ",+amx-fp16" } else { "" };
        more(AMX, &format!("+avx512bf16,+avx512vnni,+amx-tile,+amx-bf16,+amx-int8{fp16}"));
    } else {
        println!("NOT RUN: AMX, which this processor lacks or this process may not use");
    }
    isas
}

/// Compiles and loads kernels, and configures the tile registers of this thread where there are any.
fn load_kernels(kernels: impl Iterator<Item = Vec<dot::Definition>>, isa: &Isa) -> LoadedObject {
    if isa.name != AMX {
        return native::load(&module(kernels.flatten()), isa);
    }
    let object = native::load(&module(kernels.flatten().chain(amx::begin())), isa);
    let address = object.symbol(amx::BEGIN).expect("it is defined");
    // SAFETY: the symbol is a function of this type; this process may use tile registers.
    let begin = unsafe { std::mem::transmute::<usize, extern "C" fn()>(address) };
    begin();
    object
}

/// Makes the functions of a module visible to the loader.
fn module(definitions: impl IntoIterator<Item = cpu::dot::Definition>) -> String {
    let texts: BTreeMap<String, String> =
        definitions.into_iter().map(|definition| (definition.symbol, definition.text)).collect();
    texts.values().map(|text| text.replace("define internal", "define")).collect()
}

/// Every shape has something of its own: one row or column, rows that do not divide evenly, narrow and wide panels.
const SHAPES: &[[u32; 3]] = &[
    [1, 1, 1],
    [1, 1, 64],
    [2, 1, 4],
    [64, 1, 64],
    [16, 1, 2],
    [1, 16, 16],
    [2, 2, 2],
    [4, 4, 4],
    [8, 8, 8],
    [16, 16, 16],
    [32, 32, 32],
    [64, 64, 32],
    [128, 64, 16],
    [64, 128, 8],
    [16, 4, 32],
    [32, 2, 16],
    [128, 128, 32],
    [16, 16, 128],
    [64, 32, 256],
    [16, 64, 64],
    [32, 16, 64],
    [1, 128, 1],
    [16, 8, 64],
    [256, 16, 2],
    [4, 32, 1],
];

fn specs(operands: Operands, machine: VectorUnit) -> Vec<DotSpec> {
    let mut specs = Vec::new();
    for &[m, n, k] in SHAPES {
        if !operands.is_supported(&machine, [m, n, k]) {
            continue;
        }
        let steps = k / operands.group();
        for padding in [0, 3] {
            specs.push(DotSpec {
                m,
                n,
                k,
                operands,
                a_row_stride: steps + padding,
                b_row_stride: n + padding,
                c_row_stride: n + 2 * padding,
                used: [m, n, k],
                machine,
            });
        }
    }
    specs
}

fn load(specs: &[DotSpec], isa: &Isa) -> LoadedObject {
    let plans = specs.iter().map(|spec| DotKernel::choose(spec).expect("a legal shape"));
    load_kernels(plans.map(|plan| plan.definitions()), isa)
}

fn call<A, C>(object: &LoadedObject, spec: &DotSpec, a: &[A], b: &[A], c: &mut [C]) {
    let plan = DotKernel::choose(spec).expect("a legal shape");
    let address = object.symbol(&plan.symbol()).expect("it is defined");
    type Kernel = extern "C" fn(*const u8, *const u8, *mut u8);
    // SAFETY: the symbol is a kernel of this type, and the slices hold all rows with their strides.
    let kernel = unsafe { std::mem::transmute::<usize, Kernel>(address) };
    kernel(a.as_ptr().cast(), b.as_ptr().cast(), c.as_mut_ptr().cast());
}

/// The elements of a tile that the kernel may touch; what follows the last one is cut off to catch wild accesses by
/// value.
fn extent(rows: u32, columns: u32, stride: u32) -> usize {
    ((rows - 1) * stride + columns) as usize
}

/// Plain loops in doubles: the value and the sum of magnitudes that bounds its error.
fn reference(spec: &DotSpec, a: &[f64], b: &[f64], c: &[f64], at: (u32, u32)) -> (f64, f64) {
    let (row, column) = at;
    let start = c[(row * spec.c_row_stride + column) as usize];
    (0..spec.k).fold((start, start.abs()), |(sum, size), step| {
        let product =
            a[(row * spec.a_row_stride + step) as usize] * b[(step * spec.b_row_stride + column) as usize];
        (sum + product, size + product.abs())
    })
}

fn check_floats(spec: &DotSpec, object: &LoadedObject, random: &mut Random) {
    let mut tile = |rows, columns, stride| -> Vec<f64> {
        (0..extent(rows, columns, stride))
            .map(|_| {
                let value = random.between(-2.0, 2.0);
                if spec.operands == Operands::F32 { f64::from(value as f32) } else { value }
            })
            .collect()
    };
    let mut a = tile(spec.m, spec.k, spec.a_row_stride);
    let mut b = tile(spec.k, spec.n, spec.b_row_stride);
    let c = tile(spec.m, spec.n, spec.c_row_stride);
    let [rows, columns, depth] = spec.used;
    for step in depth..spec.k {
        (0..spec.m).for_each(|row| a[(row * spec.a_row_stride + step) as usize] = 0.0);
        (0..spec.n).for_each(|column| b[(step * spec.b_row_stride + column) as usize] = 0.0);
    }
    let (got, epsilon): (Vec<f64>, f64) = if spec.operands == Operands::F32 {
        let narrow = |values: &[f64]| values.iter().map(|&value| value as f32).collect::<Vec<f32>>();
        let mut got = narrow(&c);
        call(object, spec, &narrow(&a), &narrow(&b), &mut got);
        (got.into_iter().map(f64::from).collect(), f64::from(f32::EPSILON))
    } else {
        let mut got = c.clone();
        call(object, spec, &a, &b, &mut got);
        (got, f64::EPSILON)
    };
    for (index, &got) in got.iter().enumerate() {
        let (row, column) = (index as u32 / spec.c_row_stride, index as u32 % spec.c_row_stride);
        if column >= spec.n {
            assert!(got.to_bits() == c[index].to_bits(), "{spec:?}: padding of C was written");
            continue;
        }
        if row >= rows || column >= columns {
            continue;
        }
        let (want, size) = reference(spec, &a, &b, &c, (row, column));
        let bound = size * epsilon * f64::from(spec.k.max(2));
        assert!((got - want).abs() <= bound, "{spec:?} at {row}, {column}: {got} instead of {want}");
    }
}

#[test]
fn float_kernels_agree_with_plain_loops() {
    let mut random = Random::fresh();
    for isa in native::isas() {
        for operands in [Operands::F32, Operands::F64] {
            let mut specs = specs(operands, machine(&isa));
            let part = |spec: &DotSpec| {
                let used = [spec.m - spec.m / 3, spec.n - spec.n / 3, spec.k - spec.k / 3];
                DotSpec { used, ..*spec }
            };
            let parts: Vec<DotSpec> =
                specs.iter().filter(|spec| spec.m * spec.n * spec.k > 1).map(part).collect();
            specs.extend(parts.into_iter().filter(|part| part.used != [part.m, part.n, part.k]));
            let object = load(&specs, &isa);
            for spec in &specs {
                check_floats(spec, &object, &mut random);
            }
        }
    }
}

#[test]
fn a_nan_stays_in_its_row_and_column() {
    for isa in native::isas() {
        let spec = DotSpec {
            m: 16,
            n: 16,
            k: 8,
            operands: Operands::F32,
            a_row_stride: 8,
            b_row_stride: 16,
            c_row_stride: 16,
            used: [16, 16, 8],
            machine: machine(&isa),
        };
        let object = load(&[spec], &isa);
        let (mut a, mut b, mut c) = (vec![1f32; 128], vec![1f32; 128], vec![0f32; 256]);
        a[5 * 8 + 3] = f32::NAN;
        b[2 * 16 + 9] = f32::INFINITY;
        call(&object, &spec, &a, &b, &mut c);
        for (index, &value) in c.iter().enumerate() {
            match (index / 16, index % 16) {
                (5, _) => assert!(value.is_nan()),
                (_, 9) => assert_eq!(value, f32::INFINITY),
                _ => assert_eq!(value, 8.0),
            }
        }
    }
}

#[test]
fn integer_kernels_wrap_around() {
    let mut random = Random::fresh();
    for isa in native::isas() {
        let specs = specs(Operands::I32, machine(&isa));
        let object = load(&specs, &isa);
        for spec in &specs {
            let mut tile = |rows, columns, stride| -> Vec<i32> {
                (0..extent(rows, columns, stride)).map(|_| random.bits() as i32).collect()
            };
            let a = tile(spec.m, spec.k, spec.a_row_stride);
            let b = tile(spec.k, spec.n, spec.b_row_stride);
            let c = tile(spec.m, spec.n, spec.c_row_stride);
            let mut got = c.clone();
            call(&object, spec, &a, &b, &mut got);
            for row in 0..spec.m {
                for column in 0..spec.n {
                    let at = (row * spec.c_row_stride + column) as usize;
                    let want = (0..spec.k).fold(c[at], |sum, step| {
                        let left = a[(row * spec.a_row_stride + step) as usize];
                        sum.wrapping_add(left.wrapping_mul(b[(step * spec.b_row_stride + column) as usize]))
                    });
                    assert_eq!(got[at], want, "{spec:?} at {row}, {column}");
                }
            }
        }
    }
}

#[test]
fn a_kernel_begins_at_zero_or_with_sums() {
    let mut random = Random::fresh();
    for isa in native::isas() {
        let plans: Vec<(DotSpec, DotKernel)> = [Operands::I32, Operands::F32]
            .into_iter()
            .flat_map(|operands| specs(operands, machine(&isa)))
            .filter_map(|spec| Some((spec, DotKernel::choose(&spec).expect("a legal shape").from_either()?)))
            .collect();
        assert!(plans.iter().any(|(spec, _)| spec.n == 128));
        let object = load_kernels(plans.iter().map(|(_, plan)| plan.definitions()), &isa);
        for (spec, plan) in &plans {
            // Small integers, which singles hold exactly.
            let mut tile = |rows, columns, stride| -> Vec<i32> {
                (0..extent(rows, columns, stride)).map(|_| random.bits() as i32 % 100).collect()
            };
            let a = tile(spec.m, spec.k, spec.a_row_stride);
            let b = tile(spec.k, spec.n, spec.b_row_stride);
            let c = tile(spec.m, spec.n, spec.c_row_stride);
            let encode = |values: &[i32]| -> Vec<u32> {
                let bits = |&value: &i32| match spec.operands {
                    Operands::F32 => (value as f32).to_bits(),
                    _ => value as u32,
                };
                values.iter().map(bits).collect()
            };
            let address = object.symbol(&plan.symbol()).expect("it is defined");
            type Kernel = extern "C" fn(*const u32, *const u32, *mut u32, bool);
            // SAFETY: the symbol is a kernel of this type, and the slices hold all rows with their strides.
            let kernel = unsafe { std::mem::transmute::<usize, Kernel>(address) };
            for from_zero in [false, true] {
                let mut got = encode(&c);
                kernel(encode(&a).as_ptr(), encode(&b).as_ptr(), got.as_mut_ptr(), from_zero);
                let want: Vec<i32> = (0..c.len() as u32)
                    .map(|index| {
                        let (row, column) = (index / spec.c_row_stride, index % spec.c_row_stride);
                        let is_sum = column < spec.n;
                        let start = if from_zero && is_sum { 0 } else { c[index as usize] };
                        (0..if is_sum { spec.k } else { 0 }).fold(start, |sum, step| {
                            let (left, right) =
                                (row * spec.a_row_stride + step, step * spec.b_row_stride + column);
                            sum + a[left as usize] * b[right as usize]
                        })
                    })
                    .collect();
                assert_eq!(got, encode(&want), "{spec:?}, from zero: {from_zero}");
            }
        }
    }
}

#[test]
fn panels_are_interleaved_in_place() {
    let shapes = [[2, 4, 1, 4], [8, 16, 3, 64], [32, 64, 2, 1040], [2, 8, 2, 8]];
    let mut random = Random::fresh();
    for isa in native::isas() {
        let definitions = shapes.map(|[rows, width, panels, stride]| {
            dot::interleave_panels(rows, width, panels, stride).expect("a legal shape")
        });
        let object = native::load(&module(definitions.clone()), &isa);
        for ([rows, width, panels, stride], definition) in shapes.into_iter().zip(definitions) {
            let [rows, width, panels, stride] = [rows, width, panels, stride].map(|size| size as usize);
            let before: Vec<u16> = (0..panels * stride * 2).map(|_| random.bits() as u16).collect();
            let mut got = before.clone();
            let address = object.symbol(&definition.symbol).expect("it is defined");
            type Pack = extern "C" fn(*mut u16);
            // SAFETY: the symbol is a packing function of this type, and the array holds all panels.
            let pack = unsafe { std::mem::transmute::<usize, Pack>(address) };
            pack(got.as_mut_ptr());
            for (index, &got) in got.iter().enumerate() {
                let (panel, rest) = (index / (2 * stride), index % (2 * stride));
                let (pair, column, odd) = (rest / 2 / width, rest / 2 % width, rest % 2);
                let from = if pair < rows / 2 { (2 * pair + odd) * width + column } else { rest };
                assert_eq!(got, before[panel * 2 * stride + from], "{}: {index}", definition.symbol);
            }
        }
    }
    assert!(dot::interleave_panels(1, 8, 1, 8).is_err());
    assert!(dot::interleave_panels(8, 8, 1, 31).is_err());
}

fn check_transpose<T: Copy + PartialEq + std::fmt::Debug + Default>(
    transpose: &Transpose,
    object: &LoadedObject,
    mut value: impl FnMut() -> T,
) {
    let (rows, columns) = (transpose.rows as usize, transpose.columns as usize);
    let from_stride = columns + 3;
    let to_stride = transpose.to_row_stride as usize;
    let from: Vec<T> = (0..rows * from_stride).map(|_| value()).collect();
    let mut to = vec![T::default(); columns * to_stride];
    let address = object.symbol(&transpose.symbol()).expect("it is defined");
    type Pack = extern "C" fn(*const u8, i64, *mut u8);
    // SAFETY: the symbol is a packing function of this type, and both arrays hold all its rows.
    let pack = unsafe { std::mem::transmute::<usize, Pack>(address) };
    pack(from.as_ptr().cast(), from_stride as i64, to.as_mut_ptr().cast());
    for (index, &got) in to.iter().enumerate() {
        let (row, column) = (index / to_stride, index % to_stride);
        let want = if column < rows { from[column * from_stride + row] } else { T::default() };
        assert_eq!(got, want, "{transpose:?} at {row}, {column}");
    }
}

#[test]
fn transposing_moves_every_element() {
    let mut random = Random::fresh();
    let sizes =
        [[1, 1], [1, 8], [8, 1], [2, 2], [4, 4], [8, 8], [16, 16], [64, 32], [32, 128], [2, 64], [16, 4]];
    for isa in native::isas() {
        let mut all = Vec::new();
        for [rows, columns] in sizes {
            for element_bytes in [4, 8] {
                for padding in [0, 5] {
                    let to_row_stride = rows + padding;
                    let vector_bytes = isa.vectors.0;
                    all.push(Transpose { rows, columns, element_bytes, to_row_stride, vector_bytes });
                }
            }
        }
        let definitions = all.iter().map(|transpose| transpose.definition().expect("a legal shape"));
        let object = native::load(&module(definitions), &isa);
        for transpose in &all {
            if transpose.element_bytes == 4 {
                check_transpose(transpose, &object, || random.bits() as u32);
            } else {
                check_transpose(transpose, &object, || random.bits());
            }
        }
    }
}

#[test]
fn kernels_for_other_machines_keep_their_tile_in_registers() {
    let llvm = Llvm::load().expect("an LLVM is needed");
    let machines = [
        ("x86_64-unknown-linux-gnu", "x86-64", "+avx2,+fma", (32, 16), true),
        ("x86_64-unknown-linux-gnu", "skylake-avx512", "", (64, 32), true),
        ("aarch64-unknown-linux-gnu", "generic", "+neon", (16, 32), false),
    ];
    for (triple, cpu, features, (vector_bytes, vector_registers), x86) in machines {
        if !llvm.has_target(triple) {
            println!("this LLVM makes no code for {triple}");
            continue;
        }
        let machine = VectorUnit {
            vector_bytes,
            vector_registers,
            has_fma: true,
            x86,
            has_bf16_pairs: false,
            has_byte_quads: false,
            has_amx_bf16: false,
            has_amx_fp16: false,
            has_amx_int8: false,
        };
        let sizes = DotSpec {
            m: 64,
            n: 64,
            k: 32,
            operands: Operands::F32,
            a_row_stride: 32,
            b_row_stride: 64,
            c_row_stride: 64,
            used: [64, 64, 32],
            machine,
        };
        let text = module(DotKernel::choose(&sizes).expect("a legal shape").definitions());
        let spec = native::spec(triple, cpu, features);
        let output = Output { assembly: true, ..Output::default() };
        let compiled = llvm.compile(&text, &spec, native::PASSES, output).expect("it compiles");
        let assembly = compiled.assembly.expect("it was asked for");
        if vector_bytes == 64 {
            assert!(assembly.contains("zmm"), "whole vectors are used");
        }
        let spills = assembly
            .lines()
            .filter(|line| {
                line.contains("16-byte Spill")
                    || line.contains("32-byte Spill")
                    || line.contains("64-byte Spill")
            })
            .filter(|line| line.contains("mm") || line.contains("str\tq"))
            .count();
        assert_eq!(spills, 0, "{triple}: {assembly}");
    }
}

#[test]
fn impossible_shapes_are_refused() {
    let machine = VectorUnit {
        vector_bytes: 32,
        vector_registers: 16,
        has_fma: true,
        x86: true,
        has_bf16_pairs: false,
        has_byte_quads: false,
        has_amx_bf16: false,
        has_amx_fp16: false,
        has_amx_int8: false,
    };
    let good = DotSpec {
        m: 16,
        n: 16,
        k: 16,
        operands: Operands::F32,
        a_row_stride: 16,
        b_row_stride: 16,
        c_row_stride: 16,
        used: [16; 3],
        machine,
    };
    assert!(DotKernel::choose(&good).is_ok());
    let refused = [
        (DotSpec { m: 12, ..good }, "m is 12"),
        (DotSpec { k: 0, ..good }, "k is 0"),
        (DotSpec { b_row_stride: 8, ..good }, "rows of B overlap"),
        (DotSpec { used: [17, 16, 16], ..good }, "17 of m = 16 are used"),
        (
            DotSpec { k: 1, used: [16, 16, 1], operands: Operands::I16Pairs, ..good },
            "no instruction for I16Pairs",
        ),
        (DotSpec { operands: Operands::Bf16Pairs, ..good }, "no instruction for Bf16Pairs"),
        (DotSpec { machine: VectorUnit { vector_bytes: 24, ..machine }, ..good }, "no known machine"),
    ];
    for (spec, message) in refused {
        let error = DotKernel::choose(&spec).expect_err("it is refused").to_string();
        assert!(error.contains(message), "{error}");
    }
    assert!(dot::interleave_pairs(1, 8, 8, 32).is_err());
}

#[test]
fn rows_four_kilobytes_apart_are_padded() {
    assert_eq!(dot::padded_stride(64, Operands::F32), 64);
    assert_eq!(dot::padded_stride(1024, Operands::F32), 1040);
    assert_eq!(dot::padded_stride(256, Operands::F64), 264);
}
