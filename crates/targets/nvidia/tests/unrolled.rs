//! Loops that load several iterations at once give the same compiled as interpreted, for any number of iterations.

mod emulated;
mod support;

use emulated::Emulated;
use ir::text::{ParseOptions, parse};
use std::path::Path;
use support::encode::Spread;
use support::ways::Way;
use ttir::testing::{Argument, Engine, Interpreter, Random};

fn check(name: &str, capability: u32, args: &[Argument]) {
    let path = format!("../../../tests/ttgir/kernels/{name}.ttir");
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let module = parse(&text, ttir::registry(), ParseOptions::default()).unwrap();
    let expected = Interpreter.run(&module, name, [1, 1, 1], args).unwrap().buffers;
    let plain = Way::Spread(Spread { num_warps: 1, vector: 1, column_major: false, num_ctas: 1 });
    for way in [Way::Passes(1, 1), Way::Passes(4, 1), plain] {
        let mut engine = Emulated::new(capability, way);
        let found =
            engine.run(&module, name, [1, 1, 1], args).unwrap_or_else(|error| panic!("{error}")).buffers;
        let mut pairs = expected.iter().zip(&found);
        let same = |(a, b): (&Vec<u8>, &Vec<u8>)| numbers(a).zip(numbers(b)).all(|(a, b)| same(a, b));
        assert!(pairs.all(same), "{name}, {way:?} on {capability}");
    }
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks::<4>().0.iter().map(|chunk| f32::from_le_bytes(*chunk))
}

fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn floats(random: &mut Random, count: usize) -> Vec<u8> {
    (0..count).flat_map(|_| (random.below(9) as f32 - 4.0).to_le_bytes()).collect()
}

#[test]
fn loads_in_front_of_several_iterations() {
    let mut random = Random::new(1);
    for (iterations, missing) in [(0, 0), (1, 3), (2, 0), (3, 1), (7, 60), (8, 0), (9, 5), (26, 1)] {
        let n = iterations * 64 - missing;
        let mut x = floats(&mut random, n + 64);
        for (place, special) in [(0, f32::NAN), (65, f32::INFINITY), (130, f32::NEG_INFINITY)] {
            if place < n {
                x[place * 4..place * 4 + 4].copy_from_slice(&special.to_le_bytes());
            }
        }
        let [x, y] = [x, vec![0; 64 * 4]].map(Argument::Buffer);
        let [lower, upper] = [0, n as u64].map(Argument::Bits);
        check("filtered", [80, 90][iterations % 2], &[x, y, lower, upper]);
    }
}

#[test]
fn stores_far_from_loads_and_in_their_place() {
    let mut random = Random::new(2);
    // No two lanes use one place in different iterations: their order would be open.
    for (iterations, shift) in [(9, 0), (26, 0), (9, 640), (8, -580_i64), (1, 0), (17, 1100)] {
        let n = iterations * 64 - 9;
        let x = Argument::Buffer(floats(&mut random, 600 + n + 1200));
        let bounds = [shift as u64, 600, 600 + n as u64].map(Argument::Bits);
        let args: Vec<Argument> = [x].into_iter().chain(bounds).collect();
        check("shifted", 90, &args);
    }
    // A lane's own stores of earlier iterations are what it loads.
    for (iterations, shift) in [(9, 64), (26, 128), (9, -64_i64), (17, 512)] {
        let n = iterations * 64 - 9;
        let x = Argument::Buffer(floats(&mut random, 600 + n + 1200));
        let bounds = [shift as u64, 600, 600 + n as u64].map(Argument::Bits);
        let args: Vec<Argument> = [x].into_iter().chain(bounds).collect();
        check("shifted", 80, &args);
    }
}
