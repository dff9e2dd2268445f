//! Arguments made up on the command line: `random:f32:1024`, `zeros:i64:10`, `17`, `fp64:0.5`, `const:64`.

use crate::Failure;
use frontend::{DType, DTypeKind};
use half::{bf16, f16};
use ir::FloatKind;
use ir::scalar::float_bits;

/// A block of memory aligned as code likes it best.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// An array.
#[derive(Clone)]
pub(crate) struct Array {
    /// Its elements.
    pub(crate) dtype: DType,
    /// How many.
    pub(crate) len: usize,
    lines: Vec<Line>,
}

impl Array {
    fn new(dtype: DType, len: usize) -> Array {
        let bytes = len * element_bytes(dtype);
        Array { dtype, len, lines: vec![Line([0; 64]); bytes.div_ceil(64).max(1)] }
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        let all = self.lines.as_flattened_bytes();
        &all[..self.len * element_bytes(self.dtype)]
    }

    /// Its bytes.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let used = self.len * element_bytes(self.dtype);
        // SAFETY: a line is plain bytes without padding, and the slice covers lines that this vector owns.
        let all = unsafe {
            std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast::<u8>(), self.lines.len() * 64)
        };
        &mut all[..used]
    }

    /// An element as a number.
    pub(crate) fn value(&self, index: usize) -> f64 {
        let size = element_bytes(self.dtype);
        decode(self.dtype, &self.bytes()[index * size..(index + 1) * size])
    }

    /// An element as text.
    pub(crate) fn text(&self, index: usize) -> String {
        let size = element_bytes(self.dtype);
        let bytes = &self.bytes()[index * size..(index + 1) * size];
        match self.dtype.kind() {
            DTypeKind::Floating => format!("{:?}", self.value(index)),
            _ => integer(self.dtype, bytes).to_string(),
        }
    }
}

trait Flatten {
    fn as_flattened_bytes(&self) -> &[u8];
}

impl Flatten for Vec<Line> {
    fn as_flattened_bytes(&self) -> &[u8] {
        // SAFETY: a line is plain bytes without padding, and the slice covers exactly the lines.
        unsafe { std::slice::from_raw_parts(self.as_ptr().cast::<u8>(), self.len() * 64) }
    }
}

fn element_bytes(dtype: DType) -> usize {
    dtype.bits().div_ceil(8) as usize
}

fn integer(dtype: DType, bytes: &[u8]) -> i128 {
    let mut wide = [0u8; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    let value = i128::from_le_bytes(wide);
    let bits = bytes.len() as u32 * 8;
    if dtype.is_int_signed() { value << (128 - bits) >> (128 - bits) } else { value }
}

fn decode(dtype: DType, bytes: &[u8]) -> f64 {
    let half = || u16::from_le_bytes([bytes[0], bytes[1]]);
    match dtype {
        DType::Fp16 => f16::from_bits(half()).to_f64(),
        DType::Bf16 => bf16::from_bits(half()).to_f64(),
        DType::Fp32 => f64::from(f32::from_bits(integer(dtype, bytes) as u32)),
        DType::Fp64 => f64::from_bits(integer(dtype, bytes) as u64),
        _ => integer(dtype, bytes) as f64,
    }
}

fn encode(dtype: DType, value: f64, bytes: &mut [u8]) {
    let bits = match dtype {
        DType::Fp16 => float_bits(FloatKind::F16, value),
        DType::Bf16 => float_bits(FloatKind::BF16, value),
        DType::Fp32 => float_bits(FloatKind::F32, value),
        DType::Fp64 => value.to_bits(),
        _ => (value as i64).cast_unsigned(),
    };
    bytes.copy_from_slice(&bits.to_le_bytes()[..bytes.len()]);
}

/// An argument.
#[derive(Clone)]
pub(crate) enum Value {
    /// Memory.
    Array(Array),
    /// An integer, with the type that was asked for.
    Int(i128, Option<DType>),
    /// A float, with the type that was asked for.
    Float(f64, Option<DType>),
    /// A constexpr, as it stands in a signature.
    Const(String),
}

/// Reads an argument. `random` draws from `seed`, which moves on.
///
/// # Errors
/// Says what an argument may be.
pub(crate) fn parse(text: &str, seed: &mut u64) -> Result<Value, Failure> {
    let wrong = || {
        Failure(format!(
            "argument `{text}` is neither an array (random:f32:1024; also zeros, ones and iota), nor a number (17, 0.5, \
             i64:17, fp64:0.5), nor a constexpr (const:64)"
        ))
    };
    if let Some(literal) = text.strip_prefix("const:") {
        return Ok(Value::Const(literal.to_owned()));
    }
    let parts: Vec<&str> = text.split(':').collect();
    match parts.as_slice() {
        [fill, ty, len] => {
            let dtype = dtype(ty).ok_or_else(wrong)?;
            let len = len.parse().map_err(|_| wrong())?;
            array(fill, dtype, len, seed).map(Value::Array).ok_or_else(wrong)
        }
        [ty, number] => {
            let dtype = dtype(ty).ok_or_else(wrong)?;
            if dtype.is_floating() {
                number.parse().map(|value| Value::Float(value, Some(dtype))).map_err(|_| wrong())
            } else {
                number.parse().map(|value| Value::Int(value, Some(dtype))).map_err(|_| wrong())
            }
        }
        [number] => match number.parse() {
            Ok(value) => Ok(Value::Int(value, None)),
            Err(_) => number.parse().map(|value| Value::Float(value, None)).map_err(|_| wrong()),
        },
        _ => Err(wrong()),
    }
}

fn dtype(name: &str) -> Option<DType> {
    let name = match name {
        "f16" => "fp16",
        "f32" => "fp32",
        "f64" => "fp64",
        other => other,
    };
    DType::from_name(name).filter(|dtype| *dtype != DType::Void)
}

fn array(fill: &str, dtype: DType, len: usize, seed: &mut u64) -> Option<Array> {
    let mut array = Array::new(dtype, len);
    let size = element_bytes(dtype);
    for (index, bytes) in array.bytes_mut().chunks_exact_mut(size).enumerate() {
        let value = match fill {
            "zeros" => 0.0,
            "ones" => 1.0,
            "iota" => index as f64,
            "random" => random(dtype, seed),
            _ => return None,
        };
        encode(dtype, value, bytes);
    }
    Some(array)
}

/// Floats from -1 to 1, integers from -100 to 100, without a sign from 0 to 100.
fn random(dtype: DType, seed: &mut u64) -> f64 {
    // The splitmix64 generator.
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut bits = *seed;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    let unit = (bits >> 11) as f64 / (1u64 << 53) as f64;
    match dtype.kind() {
        DTypeKind::Floating => unit * 2.0 - 1.0,
        DTypeKind::Boolean => f64::from(unit < 0.5),
        DTypeKind::Integral if dtype.is_int_signed() => (unit * 201.0).floor() - 100.0,
        DTypeKind::Integral => (unit * 101.0).floor(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Value, parse};

    fn array(text: &str) -> super::Array {
        match parse(text, &mut 1) {
            Ok(Value::Array(array)) => array,
            _ => panic!("{text} is no array"),
        }
    }

    #[test]
    fn arrays_are_filled() {
        let iota = array("iota:bf16:300");
        assert_eq!((iota.value(255), iota.len, iota.bytes().len()), (255.0, 300, 600));
        assert_eq!(iota.bytes().as_ptr() as usize % 64, 0);
        assert_eq!(array("ones:i64:3").text(2), "1");
        assert_eq!(array("iota:i8:200").text(130), "-126");
        let random = array("random:f32:1000");
        assert!((0..1000).all(|index| (-1.0..1.0).contains(&random.value(index))));
        assert_ne!(random.value(0), random.value(1));
        assert_eq!(array("zeros:f32:0").bytes().len(), 0);
    }

    #[test]
    fn numbers_and_nonsense() {
        assert!(matches!(parse("17", &mut 0), Ok(Value::Int(17, None))));
        assert!(matches!(parse("fp64:0.5", &mut 0), Ok(Value::Float(0.5, Some(_)))));
        assert!(matches!(parse("const:True", &mut 0), Ok(Value::Const(text)) if text == "True"));
        for wrong in ["", "what", "random:f32", "random:f33:4", "ones:f32:-1", "a:b:c:d", "i32:1.5"] {
            assert!(
                parse(wrong, &mut 0).is_err_and(|error| error.to_string().contains("random:f32:1024")),
                "{wrong}"
            );
        }
    }
}
