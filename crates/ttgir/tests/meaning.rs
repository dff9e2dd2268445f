//! Layouts change nothing in what programs compute: fixtures with a call and its result, random programs, and kernels
//! with loops, on several machines, with few and many warps.

mod support;

use ir::FloatKind;
use ir::text::{ParseOptions, PrintOptions, parse, print};
use std::path::Path;
use support::engine::WithLayouts;
use support::machines::{GROUP, RUNS, WARP, WIDE};
use ttir::testing::{
    Argument, Engine, Interpreter, Profile, Random, Tolerance, check_file, difference, generate, values_of,
};

fn engines() -> [WithLayouts; 5] {
    [
        WithLayouts { machine: &ttgir::Machine::BASE, warps: 4, stages: 1 },
        WithLayouts { machine: &WARP, warps: 1, stages: 3 },
        WithLayouts { machine: &GROUP, warps: 8, stages: 4 },
        WithLayouts { machine: &WIDE, warps: 2, stages: 2 },
        WithLayouts { machine: &RUNS, warps: 4, stages: 2 },
    ]
}

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(name)
}

#[test]
fn fixtures_keep_their_results() {
    let mut files: Vec<_> =
        std::fs::read_dir(folder("run")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut failures = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        for engine in &mut engines() {
            let outcome = check_file(&text, engine);
            let name = format!("{} on {}", path.display(), engine.machine.name);
            // What no machine here does is refused, with a reason.
            let wrong =
                outcome.failures.iter().filter(|failure| !failure.contains("not supported on this target"));
            failures.extend(wrong.map(|failure| format!("{name}: {failure}")));
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures\n{}",
        failures.len(),
        failures[..failures.len().min(5)].join("\n")
    );
}

#[test]
fn random_programs_keep_their_results() {
    let count = std::env::var("PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(60);
    for seed in 0..count {
        let program = generate(seed, if seed % 4 == 0 { Profile::PLAIN } else { Profile::ALL });
        let expected =
            Interpreter.run(&program.module, program.kernel, program.grid, &program.args).unwrap().buffers;
        let engine = &mut engines()[seed as usize % 5];
        let found = engine.run(&program.module, program.kernel, program.grid, &program.args);
        let found = found.unwrap_or_else(|error| {
            panic!("seed {seed}: {error}\n{}", print(&program.module, PrintOptions::PLAIN))
        });
        for output in &program.outputs {
            let [old, new] =
                [&expected, &found.buffers].map(|buffers| values_of(&buffers[output.buffer], output.ty));
            if let Some(difference) = difference(&old, &new, output.ty, Tolerance::default()) {
                panic!("seed {seed}: {difference}\n{}", print(&program.module, PrintOptions::PLAIN));
            }
        }
    }
}

/// The bytes of random small whole numbers in a float format; sums of their products are exact.
fn floats(random: &mut Random, kind: FloatKind, count: usize) -> Argument {
    let bytes = kind.bits() as usize / 8;
    let number = |random: &mut Random| ir::scalar::float_bits(kind, random.below(9) as f64 - 4.0);
    Argument::Buffer((0..count).flat_map(|_| number(random).to_le_bytes().into_iter().take(bytes)).collect())
}

/// The bytes of half-precision numbers, of which each so many is -1, 0 or 1 and all others are 0.
fn signs(random: &mut Random, count: usize, every: usize) -> Argument {
    let number = |at: usize| if at.is_multiple_of(every) { random.below(3) as f64 - 1.0 } else { 0.0 };
    let bits = (0..count).map(number).map(|number| ir::scalar::float_bits(FloatKind::F16, number));
    Argument::Buffer(bits.flat_map(|bits| bits.to_le_bytes().into_iter().take(2)).collect())
}

fn words(numbers: &[u32]) -> Argument {
    Argument::Buffer(numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
}

/// A kernel does on every machine what it does without layouts, to the last bit.
fn check_kernel(name: &str, grid: [u32; 3], args: &[Argument]) {
    check_kernel_with(name, grid, args, &|found, expected| found == expected);
}

/// Two buffers of single-precision numbers, of which all are almost the same.
fn are_close(found: &[u8], expected: &[u8]) -> bool {
    let numbers = |bytes: &[u8]| -> Vec<f32> {
        bytes.as_chunks::<4>().0.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect()
    };
    numbers(found).iter().zip(numbers(expected)).all(|(a, b)| {
        a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-5 * b.abs()
    })
}

fn check_kernel_with(name: &str, grid: [u32; 3], args: &[Argument], same: &dyn Fn(&[u8], &[u8]) -> bool) {
    let text = std::fs::read_to_string(folder("ttgir/kernels").join(format!("{name}.ttir"))).unwrap();
    let mut module = parse(&text, ttir::registry(), ParseOptions::default()).unwrap();
    ir::verify(&module).unwrap();
    let kernel = module.ops(module.body()).next().unwrap();
    let kernel = module.attr_named(kernel, "sym_name").and_then(ir::Attr::as_str).unwrap().to_owned();
    // Sums that start elsewhere are other sums: so in both.
    ir::pass::run(&mut module, ttir::passes::pipeline(), ir::pass::Verify::Never, &mut ()).unwrap();
    let expected =
        Interpreter.run(&module, &kernel, grid, args).unwrap_or_else(|error| panic!("{name}: {error}"));
    for stages in [1, 2, 4] {
        for warps in [4, 8] {
            for machine in [&ttgir::Machine::BASE, &WARP, &GROUP, &RUNS] {
                let mut engine = WithLayouts { machine, warps, stages };
                let found = engine.run(&module, &kernel, grid, args);
                let found = found.unwrap_or_else(|error| panic!("{name} on {}: {error}", machine.name));
                let mut pairs = found.buffers.iter().zip(&expected.buffers);
                assert!(
                    pairs.all(|(found, expected)| same(found, expected)),
                    "{name} with {stages} stages on {} with {warps} warps",
                    machine.name
                );
            }
        }
    }
}

#[test]
fn products_keep_their_results() {
    let mut random = Random::new(1);
    for (m, k) in [(70, 80), (64, 32), (33, 16), (1, 96)] {
        let (n, blocks) = (80, m as u32 / 64 + 1);
        let [a, b] = [m * k, k * n].map(|count| floats(&mut random, FloatKind::F16, count));
        let c = Argument::Buffer(vec![0; m * n * 2]);
        let sizes = [m, n, k].map(|size| Argument::Bits(size as u64));
        let args: Vec<Argument> = [a, b, c].into_iter().chain(sizes).collect();
        check_kernel("matmul", [blocks, 2, 1], &args);
        check_kernel("matmul_transposed", [blocks, 3, 1], &args);
    }
}

#[test]
fn attention_keeps_its_results() {
    let mut random = Random::new(2);
    for n in [64, 100, 17] {
        // Sums of powers of two that are near each other are exact, in whichever order they are made.
        let [q, k] = [4, 1].map(|every| signs(&mut random, n * 32, every));
        let mut args = vec![q, k, floats(&mut random, FloatKind::F16, n * 32)];
        args.push(Argument::Buffer(vec![0; n * 32 * 2]));
        args.push(Argument::Bits(n as u64));
        check_kernel("attention", [n as u32 / 64 + 1, 1, 1], &args);
    }
}

#[test]
fn loops_without_products_keep_their_results() {
    let mut random = Random::new(3);
    for (rows, columns) in [(5, 64), (7, 48), (1, 16), (0, 32)] {
        let x = floats(&mut random, FloatKind::F32, rows * columns);
        let y = Argument::Buffer(vec![0; rows * columns * 4]);
        let args = [x, y, Argument::Bits(rows as u64), Argument::Bits(columns as u64)];
        check_kernel("rows", [2, 1, 1], &args);
    }
}

#[test]
fn addresses_that_are_loaded_keep_their_results() {
    let mut random = Random::new(4);
    let [a, b] = [0, 1].map(|_| floats(&mut random, FloatKind::F16, 4 * 64 * 64));
    let c = Argument::Buffer(vec![0; 64 * 64 * 4]);
    check_kernel("paged", [1, 1, 1], &[a, b, words(&[2, 0, 3]), c, Argument::Bits(3)]);
}

#[test]
fn operands_that_are_widened_keep_their_results() {
    let mut random = Random::new(5);
    let a = floats(&mut random, FloatKind::F16, 64 * 96);
    let b = floats(&mut random, FloatKind::F8E5M2, 96 * 64);
    let c = Argument::Buffer(vec![0; 64 * 64 * 4]);
    check_kernel("widened", [1, 1, 1], &[a, b, c, Argument::Bits(96)]);
}

#[test]
fn carried_reductions_keep_their_results() {
    let mut random = Random::new(6);
    let y = |count: usize| Argument::Buffer(vec![0; count * 4]);
    for (rows, columns) in [(3, 200), (2, 64), (1, 1), (2, 0), (4, 65)] {
        let Argument::Buffer(mut x) = floats(&mut random, FloatKind::F32, rows * columns) else { continue };
        if rows == 4 {
            // Infinities of both signs, a row of nothing but -inf, and NaN.
            x[..4].copy_from_slice(&f32::INFINITY.to_le_bytes());
            for number in x[columns * 4..columns * 8].as_chunks_mut::<4>().0 {
                *number = f32::NEG_INFINITY.to_le_bytes();
            }
            x[columns * 8..columns * 8 + 4].copy_from_slice(&f32::NEG_INFINITY.to_le_bytes());
            x[columns * 12..columns * 12 + 4].copy_from_slice(&f32::NAN.to_le_bytes());
        }
        let args = [Argument::Buffer(x), y(rows * 2), Argument::Bits(columns as u64)];
        check_kernel_with("online", [rows as u32, 1, 1], &args, &are_close);
    }
    for (rows, columns) in [(8, 100), (5, 32), (1, 0)] {
        let x = floats(&mut random, FloatKind::F32, rows * columns);
        let numbers: Vec<u32> = (0..columns).map(|_| random.below(200) as u32).collect();
        let sizes = [rows, columns].map(|size| Argument::Bits(size as u64));
        let args: Vec<Argument> = [x, words(&numbers), y(10)].into_iter().chain(sizes).collect();
        check_kernel("sums", [1, 1, 1], &args);
    }
}

#[test]
fn several_iterations_at_once_keep_their_results() {
    let mut random = Random::new(7);
    for iterations in [0, 1, 2, 7, 8, 9, 16, 26] {
        for (lower, missing) in [(0, 0), (0, 5), (3, 1)] {
            let n = (lower + iterations * 64_usize).saturating_sub(missing);
            let Argument::Buffer(mut x) = floats(&mut random, FloatKind::F32, n + 64) else { continue };
            for (place, special) in [(0, f32::NAN), (64, f32::INFINITY), (129, f32::NEG_INFINITY)] {
                if let Some(bytes) = x.get_mut(place * 4..place * 4 + 4) {
                    bytes.copy_from_slice(&special.to_le_bytes());
                }
            }
            let y = Argument::Buffer(vec![0; 64 * 4]);
            let bounds = [lower, n].map(|bound| Argument::Bits(bound as u64));
            let args: Vec<Argument> = [Argument::Buffer(x), y].into_iter().chain(bounds).collect();
            check_kernel("filtered", [1, 1, 1], &args);
        }
    }
    // A loop that would end below where it begins.
    let [x, y] = [0; 2].map(|_| floats(&mut random, FloatKind::F32, 64));
    check_kernel("filtered", [1, 1, 1], &[x, y, Argument::Bits(5), Argument::Bits(-9_i64 as u64)]);
}

#[test]
fn stores_over_later_loads_keep_their_results() {
    let mut random = Random::new(8);
    for (iterations, shifts) in [
        (26_usize, [0_i64, 1, 63, 64, 65, 500, 511, 512, 513, 1700]),
        (9, [0, -1, -63, -64, -65, -511, -512, -513, 2, 100]),
        (1, [0; 10]),
    ] {
        for shift in shifts {
            let n = iterations * 64 - 7;
            let x = floats(&mut random, FloatKind::F32, 600 + n + 1800);
            // Stores may begin in front of the loads.
            let bounds = [shift as u64, 600, 600 + n as u64];
            let args: Vec<Argument> = [x].into_iter().chain(bounds.map(Argument::Bits)).collect();
            check_kernel("shifted", [1, 1, 1], &args);
        }
    }
}
