//! Sums of neighbouring halves in memory: two at once where layout, alignment and mask allow it, with the same results.

mod emulated;
mod support;

use emulated::Emulated;
use ir::text::{ParseOptions, parse};
use support::encode::Spread;
use support::ways::{Way, lowered};
use ttir::testing::{Argument, Engine, Interpreter, Random};

/// Adds `x` to `p` where the number of the element is less than `n`, and stores what was there before.
fn kernel(element: &str, n: &str) -> ir::Module {
    let pointer = format!("!tt.ptr<{element}>");
    let (addresses, values) = (format!("tensor<256x{pointer}>"), format!("tensor<256x{element}>"));
    let aligned = "{tt.divisibility = 16 : i32}";
    let at = |name: &str| {
        format!(
            "%{name}s = tt.splat %{name} : {pointer} -> {addresses}
             %{name}a = tt.addptr %{name}s, %i : {addresses}, tensor<256xi32>"
        )
    };
    let text = format!(
        "tt.func public @sums(%p: {pointer} {aligned}, %x: {pointer} {aligned}, %o: {pointer} {aligned}, %n: i32 {n}) {{
           %i = tt.make_range {{end = 256 : i32, start = 0 : i32}} : tensor<256xi32>
           %ns = tt.splat %n : i32 -> tensor<256xi32>
           %m = arith.cmpi slt, %i, %ns : tensor<256xi32>
           {}
           {}
           {}
           %v = tt.load %xa : {addresses}
           %old = tt.atomic_rmw fadd, acq_rel, gpu, %pa, %v, %m : ({addresses}, {values}, tensor<256xi1>) -> {values}
           tt.store %oa, %old, %m : {addresses}
           tt.return
         }}",
        at("p"),
        at("x"),
        at("o"),
    );
    parse(&text, ttir::registry(), ParseOptions::default())
        .unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
}

/// Whole numbers up to 8, whose sums are exact: in formats with the given bits of the exponent's bias and mantissa.
fn numbers(random: &mut Random, bias: u16, mantissa: u16) -> Vec<u8> {
    let encode = |number: u16| match number {
        0 => 0,
        number => {
            let exponent = number.ilog2() as u16;
            (bias + exponent) << mantissa | (number << mantissa >> exponent) & ((1 << mantissa) - 1)
        }
    };
    (0..256).flat_map(|_| encode(random.below(9) as u16).to_le_bytes()).collect()
}

#[test]
fn two_halves_at_once_where_they_may() {
    let mut random = Random::new(5);
    let aligned = "{tt.divisibility = 16 : i32}";
    for (element, bias, mantissa, capability, n, mask, packed) in [
        ("f16", 15, 10, 80, 256, aligned, true),
        ("f16", 15, 10, 90, 48, aligned, true),
        ("f16", 15, 10, 90, 77, "", false),
        ("bf16", 127, 7, 90, 96, aligned, true),
        ("bf16", 127, 7, 80, 96, aligned, false),
    ] {
        let module = kernel(element, mask);
        let way = Way::Passes(1, 1);
        let text = lowered(&module, "sums", capability, way).unwrap().module.to_string();
        assert_eq!(
            text.contains(&format!("add.noftz.{element}x2")),
            packed,
            "{element} on {capability}\n{text}"
        );
        let [p, x] = [0; 2].map(|_| Argument::Buffer(numbers(&mut random, bias, mantissa)));
        let args = [p, x, Argument::Buffer(vec![0; 512]), Argument::Bits(n)];
        let expected = Interpreter.run(&module, "sums", [1, 1, 1], &args).unwrap().buffers;
        let spread = Way::Spread(Spread { num_warps: 1, vector: 2, column_major: false, num_ctas: 1 });
        for way in [way, Way::Passes(4, 1), spread] {
            let mut engine = Emulated::new(capability, way);
            let found =
                engine.run(&module, "sums", [1, 1, 1], &args).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(found.buffers, expected, "{element}, {way:?} on {capability}");
        }
    }
}
