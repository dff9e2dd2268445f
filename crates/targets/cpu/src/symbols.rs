//! The outside functions that compiled code may call: those that LLVM's code generator asks for by itself.
//!
//! Anything else, chiefly the mathematics of a C library, is refused when a kernel is loaded: kernels bring their own,
//! so that results do not depend on what is installed.

/// The address of an outside function.
pub(crate) fn resolve(name: &str) -> Option<usize> {
    let found = SYMBOLS.iter().find(|(known, _)| *known == name);
    found.map(|(_, symbol)| symbol.0 as usize)
}

/// An address in a table.
struct Symbol(*const ());

// SAFETY: the address of a function, never written through.
unsafe impl Sync for Symbol {}

static SYMBOLS: [(&str, Symbol); 25] = [
    ("memcpy", Symbol(libc::memcpy as *const ())),
    ("memmove", Symbol(libc::memmove as *const ())),
    ("memset", Symbol(libc::memset as *const ())),
    ("ceil", Symbol(ceil as *const ())),
    ("ceilf", Symbol(ceilf as *const ())),
    ("floor", Symbol(floor as *const ())),
    ("floorf", Symbol(floorf as *const ())),
    ("trunc", Symbol(trunc as *const ())),
    ("truncf", Symbol(truncf as *const ())),
    ("rint", Symbol(rint as *const ())),
    ("rintf", Symbol(rintf as *const ())),
    ("fmax", Symbol(fmax as *const ())),
    ("fmaxf", Symbol(fmaxf as *const ())),
    ("fmin", Symbol(fmin as *const ())),
    ("fminf", Symbol(fminf as *const ())),
    ("fma", Symbol(fma as *const ())),
    ("fmaf", Symbol(fmaf as *const ())),
    ("fmod", Symbol(fmod as *const ())),
    ("fmodf", Symbol(fmodf as *const ())),
    ("__extendhfsf2", Symbol(half_to_float as *const ())),
    ("__truncsfhf2", Symbol(float_to_half as *const ())),
    ("__truncdfhf2", Symbol(double_to_half as *const ())),
    ("__truncsfbf2", Symbol(float_to_bfloat as *const ())),
    ("__truncdfbf2", Symbol(double_to_bfloat as *const ())),
    ("__extendhfdf2", Symbol(half_to_double as *const ())),
];

extern "C" fn ceil(x: f64) -> f64 {
    x.ceil()
}

extern "C" fn ceilf(x: f32) -> f32 {
    x.ceil()
}

extern "C" fn floor(x: f64) -> f64 {
    x.floor()
}

extern "C" fn floorf(x: f32) -> f32 {
    x.floor()
}

extern "C" fn trunc(x: f64) -> f64 {
    x.trunc()
}

extern "C" fn truncf(x: f32) -> f32 {
    x.trunc()
}

extern "C" fn rint(x: f64) -> f64 {
    x.round_ties_even()
}

extern "C" fn rintf(x: f32) -> f32 {
    x.round_ties_even()
}

extern "C" fn fmax(x: f64, y: f64) -> f64 {
    x.max(y)
}

extern "C" fn fmaxf(x: f32, y: f32) -> f32 {
    x.max(y)
}

extern "C" fn fmin(x: f64, y: f64) -> f64 {
    x.min(y)
}

extern "C" fn fminf(x: f32, y: f32) -> f32 {
    x.min(y)
}

extern "C" fn fma(x: f64, y: f64, z: f64) -> f64 {
    x.mul_add(y, z)
}

extern "C" fn fmaf(x: f32, y: f32, z: f32) -> f32 {
    x.mul_add(y, z)
}

extern "C" fn fmod(x: f64, y: f64) -> f64 {
    x % y
}

extern "C" fn fmodf(x: f32, y: f32) -> f32 {
    x % y
}

/// The float next to `x` towards zero, its last bit set when it is not exact: rounding it once more to a format that is
/// at least two bits shorter gives what rounding `x` itself gives.
fn round_to_odd(x: f64) -> f32 {
    let near = x as f32;
    if x.is_nan() || f64::from(near) == x {
        return near;
    }
    let away = f64::from(near).abs() > x.abs();
    f32::from_bits((near.to_bits() - u32::from(away)) | 1)
}

/// A 16-bit float travels in the low bits of a float's register.
fn carry(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits))
}

extern "C" fn half_to_float(x: f32) -> f32 {
    half::f16::from_bits(x.to_bits() as u16).to_f32()
}

extern "C" fn half_to_double(x: f32) -> f64 {
    half::f16::from_bits(x.to_bits() as u16).to_f64()
}

extern "C" fn float_to_half(x: f32) -> f32 {
    carry(half::f16::from_f32(x).to_bits())
}

extern "C" fn double_to_half(x: f64) -> f32 {
    float_to_half(round_to_odd(x))
}

extern "C" fn float_to_bfloat(x: f32) -> f32 {
    carry(half::bf16::from_f32(x).to_bits())
}

extern "C" fn double_to_bfloat(x: f64) -> f32 {
    float_to_bfloat(round_to_odd(x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Processor;
    use crate::loader::LoadedObject;
    use llvm::{Llvm, Output};

    /// Code for a processor without conversions calls ours, and gets what the numbers are.
    #[test]
    fn conversions_that_the_processor_lacks_are_called() {
        let text = "define float @kernel(double %x) {\n  %h = fptrunc double %x to half\n  \
            %f = fpext half %h to float\n  %m = frem float %f, 7.0\n  ret float %m\n}";
        let llvm = Llvm::load().expect("this test needs an LLVM");
        let machine = match Processor::host().arch.as_str() {
            "x86_64" => Processor::named("x86-64").unwrap(),
            _ => Processor::host().clone(),
        };
        let object = llvm.compile(text, &machine.spec(llvm), "", Output::default()).unwrap().object;
        let loaded = LoadedObject::load(&object, &resolve).unwrap();
        // SAFETY: the function has this type.
        let kernel: extern "C" fn(f64) -> f32 =
            unsafe { std::mem::transmute(loaded.symbol("kernel").unwrap()) };
        for (x, expected) in [(1.5, 1.5), (2049.0, 2048.0 % 7.0), (-8.25, -1.25), (0.1, 0.099_975_586)] {
            assert_eq!(kernel(x), expected, "{x}");
        }
        // Just above a tie, by less than a float can tell.
        let above = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
        assert_eq!(kernel(above), 1.0 + 2f32.powi(-10));
        assert_eq!(kernel(-above), -1.0 - 2f32.powi(-10));
        assert!(kernel(1e6).is_nan() && kernel(f64::NAN).is_nan());
        assert_eq!(resolve("expf"), None);
    }
}
