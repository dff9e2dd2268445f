//! Atomics: which instruction, how many elements at once and in which order, given to the assembler and run by the
//! emulator.

#[path = "support/assembler.rs"]
mod assembler;
mod emulated;
mod support;

use assembler::assembler;
use emulated::Emulated;
use ir::text::{ParseOptions, parse};
use nvidia::assemble::{AssembleOptions, Assembler};
use nvidia::ptx;
use ptx_isa::Arch;
use support::encode::Spread;
use support::ways::{Way, lowered};
use ttir::testing::{Argument, Engine, Interpreter, Random};

/// The operation, order and scope of an atomic, and its element type.
#[derive(Clone, Copy, Debug)]
struct Case {
    kind: &'static str,
    order: &'static str,
    element: &'static str,
}

impl Case {
    /// A kernel that does it on 256 elements, those below `n`, and then `rest`.
    fn kernel(self, rest: &str) -> ir::Module {
        let Case { kind, order, element } = self;
        let pointer = format!("!tt.ptr<{element}>");
        let (addresses, values) = (format!("tensor<256x{pointer}>"), format!("tensor<256x{element}>"));
        let aligned = "{tt.divisibility = 16 : i32}";
        let at = |name: &str| {
            format!(
                "%{name}s = tt.splat %{name} : {pointer} -> {addresses}
                 %{name}a = tt.addptr %{name}s, %i : {addresses}, tensor<256xi32>"
            )
        };
        let rest = rest.replace("$A", &addresses).replace("$V", &values);
        let text = format!(
            "tt.func public @k(%p: {pointer} {aligned}, %x: {pointer} {aligned}, %o: {pointer} {aligned}, %n: i32 {aligned}) {{
               %i = tt.make_range {{end = 256 : i32, start = 0 : i32}} : tensor<256xi32>
               %ns = tt.splat %n : i32 -> tensor<256xi32>
               %m = arith.cmpi slt, %i, %ns : tensor<256xi32>
               {}
               {}
               {}
               %v = tt.load %xa : {addresses}
               %old = tt.atomic_rmw {kind}, {order}, gpu, %pa, %v, %m : ({addresses}, {values}, tensor<256xi1>) -> {values}
               {rest}
               tt.return
             }}",
            at("p"),
            at("x"),
            at("o"),
        );
        parse(&text, ttir::registry(), ParseOptions::default())
            .unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
    }

    /// Whole numbers up to 8, whose sums are exact.
    fn numbers(self, random: &mut Random) -> Argument {
        let narrow = |bias: u32, mantissa: u32, number: u32| match number {
            0 => 0,
            _ => {
                let exponent = number.ilog2();
                (bias + exponent) << mantissa | (number << mantissa >> exponent) & ((1 << mantissa) - 1)
            }
        };
        let bytes = |number: u32| match self.element {
            "f16" => (narrow(15, 10, number) as u16).to_le_bytes().to_vec(),
            "bf16" => (narrow(127, 7, number) as u16).to_le_bytes().to_vec(),
            "f32" => (number as f32).to_le_bytes().to_vec(),
            "f64" => f64::from(number).to_le_bytes().to_vec(),
            "i64" => u64::from(number).to_le_bytes().to_vec(),
            _ => number.to_le_bytes().to_vec(),
        };
        Argument::Buffer((0..256).flat_map(|_| bytes(random.below(9) as u32)).collect())
    }
}

/// The PTX of a kernel that one warp runs, which the assembler takes.
fn text(module: &ir::Module, capability: u32) -> String {
    let lowered =
        lowered(module, "k", capability, Way::Passes(1, 1)).unwrap_or_else(|error| panic!("{error}"));
    let arch = Arch::of_capability(capability as u16).expect("an architecture");
    let text = ptx::emit(&lowered.module, &ptx::Options::new(arch)).expect("it has a form in PTX").text;
    assembler()
        .assemble(&text, &AssembleOptions::new(arch))
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    text
}

/// Runs a kernel where 208 of its elements act, and compares with the interpreter.
fn agrees(case: Case, module: &ir::Module, capability: u32, random: &mut Random) {
    let [p, x] = [0; 2].map(|_| case.numbers(random));
    let Argument::Buffer(bytes) = &p else { return };
    let zeros = Argument::Buffer(vec![0; bytes.len()]);
    let args = [p.clone(), x, zeros, Argument::Bits(208)];
    let expected = Interpreter.run(module, "k", [1, 1, 1], &args).expect("interpreted").buffers;
    let spread = Way::Spread(Spread { num_warps: 1, vector: 4, column_major: false, num_ctas: 1 });
    for way in [Way::Passes(1, 1), Way::Passes(4, 1), spread] {
        let mut engine = Emulated::new(capability, way);
        let found =
            engine.run(module, "k", [1, 1, 1], &args).unwrap_or_else(|error| panic!("{case:?} {error}"));
        assert_eq!(found.buffers, expected, "{case:?}, {way:?} on {capability}");
    }
}

#[test]
fn nobody_asks_so_neighbours_are_reduced_at_once() {
    let mut random = Random::new(7);
    for (kind, order, element, capability, expected, count) in [
        ("fadd", "relaxed", "f32", 90, "red.relaxed.gpu.global.add.v4.f32", 2),
        ("fadd", "acq_rel", "f32", 90, "red.relaxed.gpu.global.add.v4.f32", 2),
        ("fadd", "relaxed", "f16", 90, "red.relaxed.gpu.global.add.noftz.v4.f16x2", 1),
        ("fadd", "release", "bf16", 90, "red.release.gpu.global.add.noftz.v4.bf16x2", 1),
        ("fadd", "acquire", "f64", 90, "red.relaxed.gpu.global.add.f64", 8),
        ("fadd", "relaxed", "f32", 80, "red.relaxed.gpu.global.add.f32", 8),
        ("fadd", "relaxed", "f16", 80, "red.relaxed.gpu.global.add.noftz.f16x2", 4),
        ("add", "release", "i32", 90, "red.relaxed.gpu.global.add.u32", 8),
        ("add", "relaxed", "i64", 90, "red.relaxed.gpu.global.add.u64", 8),
        ("max", "relaxed", "i32", 90, "red.relaxed.gpu.global.max.s32", 8),
        ("umin", "relaxed", "i64", 80, "red.relaxed.gpu.global.min.u64", 8),
        ("xor", "relaxed", "i32", 80, "red.relaxed.gpu.global.xor.b32", 8),
        ("exch", "relaxed", "i32", 90, "atom.global.gpu.relaxed.exch.b32", 8),
    ] {
        let case = Case { kind, order, element };
        let module = case.kernel("");
        let text = text(&module, capability);
        assert_eq!(text.matches(expected).count(), count, "{case:?} on {capability}\n{text}");
        assert_eq!(text.matches("atom.").count() == 0, kind != "exch", "{text}");
        // One fence for all, in front, unless the one instruction releases by itself.
        let fences = usize::from(["release", "acq_rel"].contains(&order) && count > 1);
        assert_eq!(text.matches("fence.acq_rel.gpu").count(), fences, "{case:?}\n{text}");
        agrees(case, &module, capability, &mut random);
    }
}

#[test]
fn what_follows_stays_behind_a_fence() {
    let case = Case { kind: "fadd", order: "acq_rel", element: "f32" };
    let module = case.kernel("%w = tt.load %pa : $A\n tt.store %oa, %w : $A");
    let text = text(&module, 90);
    assert_eq!(text.matches("fence.acq_rel.gpu").count(), 2, "{text}");
    agrees(case, &module, 90, &mut Random::new(8));
    let relaxed = Case { order: "relaxed", ..case };
    let module = relaxed.kernel("%w = tt.load %xa : $A\n tt.store %oa, %w : $A");
    assert!(!self::text(&module, 90).contains("fence."), "nothing was asked for");
}

#[test]
fn what_was_there_before_comes_in_the_order_that_was_asked_for() {
    for order in ["relaxed", "acquire", "release", "acq_rel"] {
        let case = Case { kind: "fadd", order, element: "f32" };
        let module = case.kernel("tt.store %oa, %old, %m : $A");
        let text = text(&module, 90);
        assert_eq!(text.matches(&format!("atom.global.gpu.{order}.add.f32")).count(), 8, "{text}");
        agrees(case, &module, 90, &mut Random::new(9));
        let swap = format!(
            "%s = tt.atomic_cas {order}, sys, %pa, %old, %v : ($A, $V, $V) -> $V\n tt.store %oa, %s : $A"
        );
        let module = Case { kind: "exch", order, element: "i32" }.kernel(&swap);
        let text = self::text(&module, 90);
        assert_eq!(text.matches(&format!("atom.global.{order}.sys.cas.b32")).count(), 8, "{text}");
    }
}
