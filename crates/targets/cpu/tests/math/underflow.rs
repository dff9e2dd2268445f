//! No function underflows on its way to a result that is not subnormal itself: where an operation takes or gives a
//! subnormal, some processors take a hundred times as long. The processor's own flags tell, for whatever it really
//! computed.

use super::{Compiled, EDGES, compile, native, native_lanes, rows, run, takes};
use maths::{Elem, MathFn};

/// An operand was subnormal; a result was too small to be exact.
const SUBNORMAL: u32 = 0b01_0010;

/// The flags of floating-point operations that a function raises.
fn flags(function: impl FnOnce()) -> u32 {
    let (clear, mut after) = (0x1F80u32, 0u32);
    // SAFETY: all exceptions are masked, as they are in every thread; only the flags change.
    unsafe {
        std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const clear);
        function();
        std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut after);
    }
    after & SUBNORMAL
}

/// Magnitudes from a smallest one on, in steps that meet no pattern, and where formulas change.
fn arguments(smallest: i32, largest: f64, range: f64) -> Vec<f64> {
    let mut all = vec![0.0, f64::INFINITY, f64::NAN];
    all.extend(EDGES.iter().filter(|edge| **edge >= 2f64.powi(smallest) && **edge <= largest));
    let mut size = 2f64.powi(smallest);
    while size < largest {
        all.push(size);
        size *= 1.93;
    }
    all.extend((0..400).map(|step| f64::from(step) * range / 400.0));
    all.iter().flat_map(|&size| [size, -size]).collect()
}

/// What the second argument of a function of two is.
const SECOND: [f64; 8] = [0.5, 2.0, -3.0, 100.0, -1000.0, 1e-3, 1e30, -1e30];

/// A float of one of both formats.
trait Float: Copy + Default {
    const ELEM: Elem;
    fn of(value: f64) -> Self;
    fn is_tiny(self) -> bool;
    fn is_zero(self) -> bool;
    fn is_number(self) -> bool;
}

impl Float for f32 {
    const ELEM: Elem = Elem::F32;
    fn of(value: f64) -> f32 {
        value as f32
    }
    fn is_tiny(self) -> bool {
        self.is_subnormal()
    }
    fn is_zero(self) -> bool {
        self == 0.0
    }
    fn is_number(self) -> bool {
        !self.is_nan()
    }
}

impl Float for f64 {
    const ELEM: Elem = Elem::F64;
    fn of(value: f64) -> f64 {
        value
    }
    fn is_tiny(self) -> bool {
        self.is_subnormal()
    }
    fn is_zero(self) -> bool {
        self == 0.0
    }
    fn is_number(self) -> bool {
        !self.is_nan()
    }
}

/// Whether a power of two, `e` or ten is within a factor of three of the smallest subnormal: whether it is zero shows
/// when it is rounded.
fn rounds_to_zero<T: Float>(name: &str, x: f64) -> bool {
    let exponent = match name.trim_end_matches("_nonpositive") {
        "exp" => x * std::f64::consts::LOG2_E,
        "exp2" => x,
        "exp10" => x * std::f64::consts::LOG2_10,
        _ => return false,
    };
    let smallest = if T::ELEM == Elem::F32 { -149.0 } else { -1074.0 };
    (smallest - 1.5..smallest).contains(&exponent)
}

fn check<T: Float>(compiled: &Compiled, row: &MathFn, x: f64, y: f64, failures: &mut Vec<String>) {
    if !takes(row.name, x) {
        return;
    }
    let (own, other) = (T::of(x), T::of(y));
    let mut result = T::default();
    let raised = flags(|| result = run(compiled, row.name, T::ELEM, &[own], &[other])[0]);
    // Of two arguments one may be too small to count beside the other.
    let is_excused = result.is_tiny() || (row.arity == 2 && !result.is_zero());
    if raised != 0 && result.is_number() && !is_excused && !rounds_to_zero::<T>(row.name, x) {
        failures.push(format!("{} {}({x:e}, {y:e}) {}", compiled.name, row.name, T::ELEM.suffix()));
    }
}

#[test]
fn no_subnormal_is_met_where_the_result_is_none() {
    let mut failures = Vec::new();
    for isa in native::isas() {
        let compiled = compile(&isa, native_lanes(&isa));
        for row in rows().filter(|row| row.name != "nextafter") {
            let second = if row.arity == 2 { &SECOND[..] } else { &SECOND[..1] };
            for &y in second {
                for x in arguments(-30, 3e38, 160.0) {
                    check::<f32>(&compiled, row, x, y, &mut failures);
                }
                for x in arguments(-30, 1e308, 1100.0) {
                    check::<f64>(&compiled, row, x, y, &mut failures);
                }
            }
        }
    }
    let some: Vec<&String> = failures.iter().step_by(failures.len() / 60 + 1).collect();
    assert!(failures.is_empty(), "{}: {some:#?}", failures.len());
}
