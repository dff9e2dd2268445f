//! The remainder of a division that truncates: `fmod`, always exact.
//!
//! As long as the quotient has no more bits than a double, one fused (or split) multiplication gives the remainder. Lanes with a larger
//! quotient, or with numbers so small that a product loses bits, are done one by one in integers.

use super::Elem;
use super::record::Rare;
use super::text::{TextBuilder, Value};

/// `fmod(x, y)`: the sign is that of `x`; NaN for an infinite `x` or a zero `y`.
pub(super) fn fmod(b: &mut TextBuilder, arguments: &[Value]) -> Value {
    if b.elem() == Elem::F32 {
        return b.in_doubles(arguments, fmod);
    }
    let sign = b.sign_bit(arguments[0]);
    let (x, y) = (b.fabs(arguments[0]), b.fabs(arguments[1]));
    let (zero, infinity, nan) = (b.float(0.0), b.float(f64::INFINITY), b.float(f64::NAN));

    let quotient = b.fdiv(x, y);
    let q = truncate(b, quotient);
    let (product, lost) = b.two_product(q, y);
    let rest = b.fsub(x, product);
    let rest = b.fsub(rest, lost);
    // The quotient may have been rounded up to the next integer.
    let raised = b.fadd(rest, y);
    let negative = b.fcmp("olt", rest, zero);
    let rest = b.select(negative, raised, rest);

    let largest = b.float(4_503_599_627_370_496.0);
    let smallest = b.float(2f64.powi(-900));
    let long = b.fcmp("oge", quotient, largest);
    let small = b.fcmp("olt", x, smallest);
    let small_divisor = b.fcmp("olt", y, smallest);
    let rare = b.ior(long, small);
    let rare = b.ior(rare, small_divisor);
    let reaches = b.fcmp("oge", x, y);
    let rare = b.both(rare, reaches);
    let x_finite = b.fcmp("olt", x, infinity);
    let y_positive = b.fcmp("ogt", y, zero);
    let defined = b.both(x_finite, y_positive);
    let rare = b.both(rare, defined);
    let symbol = declare_lanes(b);
    let rest = b.call_if_any(rare, (Rare::Remainder, &symbol), &[x, y], &[rest])[0];

    let below = b.fcmp("olt", x, y);
    let result = b.select(below, x, rest);
    let result = b.select(defined, result, nan);
    b.flip_sign(result, sign)
}

/// The integer part of a quotient below 2^52; larger ones are not used.
fn truncate(b: &mut TextBuilder, quotient: Value) -> Value {
    let (magic, one) = (b.float(4_503_599_627_370_496.0), b.float(1.0));
    let sum = b.fadd(quotient, magic);
    let rounded = b.fsub(sum, magic);
    let less = b.fsub(rounded, one);
    let above = b.fcmp("ogt", rounded, quotient);
    b.select(above, less, rounded)
}

fn declare_lanes(b: &mut TextBuilder) -> String {
    let lanes = b.lanes();
    b.declare("llvm.ctlz.i64", "declare i64 @llvm.ctlz.i64(i64, i1)\n".to_owned());
    b.declare("dn.math.fmod_one", FMOD_ONE.to_owned());
    let symbol = format!("dn.math.fmod_lanes.{lanes}");
    let text = format!(
        "define internal void @{symbol}(ptr %x, ptr %y, ptr %to) noinline cold nounwind {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %tail ]
  %px = getelementptr inbounds double, ptr %x, i64 %i
  %py = getelementptr inbounds double, ptr %y, i64 %i
  %a = load double, ptr %px
  %b = load double, ptr %py
  %reaches = fcmp oge double %a, %b
  %finite = fcmp olt double %a, 0x7FF0000000000000
  %positive = fcmp ogt double %b, 0.0
  %defined = and i1 %finite, %positive
  %work.it = and i1 %defined, %reaches
  br i1 %work.it, label %work, label %tail
work:
  %r = call double @dn.math.fmod_one(double %a, double %b)
  %pt = getelementptr inbounds double, ptr %to, i64 %i
  store double %r, ptr %pt
  br label %tail
tail:
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, {lanes}
  br i1 %done, label %exit, label %head
exit:
  ret void
}}
"
    );
    b.declare(&symbol, text);
    symbol
}

/// Long division bit by bit, for finite `x >= y > 0`. Subnormals are normalised first, with exponents below one.
const FMOD_ONE: &str = "\
define internal double @dn.math.fmod_one(double %x, double %y) noinline cold nounwind {
entry:
  %x.bits = bitcast double %x to i64
  %y.bits = bitcast double %y to i64
  %x.field = lshr i64 %x.bits, 52
  %y.field = lshr i64 %y.bits, 52
  %x.fraction = and i64 %x.bits, 4503599627370495
  %y.fraction = and i64 %y.bits, 4503599627370495
  %x.tiny = icmp eq i64 %x.field, 0
  %y.tiny = icmp eq i64 %y.field, 0
  %x.full = or i64 %x.fraction, 4503599627370496
  %y.full = or i64 %y.fraction, 4503599627370496
  %x.zeros = call i64 @llvm.ctlz.i64(i64 %x.fraction, i1 false)
  %y.zeros = call i64 @llvm.ctlz.i64(i64 %y.fraction, i1 false)
  %x.lift.all = sub i64 %x.zeros, 11
  %y.lift.all = sub i64 %y.zeros, 11
  %x.lift = and i64 %x.lift.all, 63
  %y.lift = and i64 %y.lift.all, 63
  %x.lifted = shl i64 %x.fraction, %x.lift
  %y.lifted = shl i64 %y.fraction, %y.lift
  %x.low = sub i64 1, %x.lift
  %y.low = sub i64 1, %y.lift
  %m.x = select i1 %x.tiny, i64 %x.lifted, i64 %x.full
  %m.y = select i1 %y.tiny, i64 %y.lifted, i64 %y.full
  %e.x = select i1 %x.tiny, i64 %x.low, i64 %x.field
  %e.y = select i1 %y.tiny, i64 %y.low, i64 %y.field
  br label %head
head:
  %m = phi i64 [ %m.x, %entry ], [ %m.next, %step ]
  %e = phi i64 [ %e.x, %entry ], [ %e.next, %step ]
  %fits = icmp uge i64 %m, %m.y
  %less = sub i64 %m, %m.y
  %rest = select i1 %fits, i64 %less, i64 %m
  %more = icmp sgt i64 %e, %e.y
  br i1 %more, label %step, label %end
step:
  %m.next = shl i64 %rest, 1
  %e.next = sub i64 %e, 1
  br label %head
end:
  %is.zero = icmp eq i64 %rest, 0
  %zeros = call i64 @llvm.ctlz.i64(i64 %rest, i1 false)
  %lift.all = sub i64 %zeros, 11
  %lift = and i64 %lift.all, 63
  %lifted = shl i64 %rest, %lift
  %e.result = sub i64 %e.y, %lift
  %normal = icmp sgt i64 %e.result, 0
  %fraction = sub i64 %lifted, 4503599627370496
  %field = shl i64 %e.result, 52
  %bits.normal = add i64 %fraction, %field
  %down.all = sub i64 1, %e.result
  %down = and i64 %down.all, 63
  %bits.tiny = lshr i64 %lifted, %down
  %bits.some = select i1 %normal, i64 %bits.normal, i64 %bits.tiny
  %bits = select i1 %is.zero, i64 0, i64 %bits.some
  %result = bitcast i64 %bits to double
  ret double %result
}
";
