//! Element types of the language: one table row each, and pointers to them.
//!
//! Signedness lives here, not in the IR, whose integers are signless. `int1` counts as unsigned. Names are the
//! reference's short names (`fp32`, `int8`, `bf16`), the public names are those of the module (`float32`).

use std::fmt;

/// What an element type is made of; the order is the order of promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `int1`.
    Boolean,
    /// Integers wider than a bit.
    Integral,
    /// Floating point.
    Floating,
}

/// An element type of a block or scalar; see [`DType::facts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The rows of FACTS describe each.
pub enum DType {
    Int1,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Fp8E5,
    Fp8E5B16,
    Fp8E4Nv,
    Fp8E4B8,
    Fp8E4B15,
    Fp16,
    Bf16,
    Fp32,
    Fp64,
    Void,
}

/// The facts about one element type.
#[derive(Debug)]
pub struct DTypeFacts {
    /// The type this row is about.
    pub dtype: DType,
    /// Its short name, as in signatures of compiled kernels: `fp32`.
    pub name: &'static str,
    /// Its name in the module: `float32`.
    pub public: &'static str,
    /// How signatures abbreviate it: `i32`, `u8`, `fp32`.
    pub short: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Bits of one element.
    pub bits: u32,
    /// Whether it is a signed integer.
    pub signed: bool,
    /// Bits of the mantissa; 0 for integers.
    pub mantissa: u32,
    /// What the bits of the exponent are above it; 0 for integers.
    pub bias: u32,
}

const fn int(dtype: DType, name: &'static str, short: &'static str, bits: u32, signed: bool) -> DTypeFacts {
    DTypeFacts { dtype, name, public: name, short, kind: Kind::Integral, bits, signed, mantissa: 0, bias: 0 }
}

const fn float(
    dtype: DType,
    name: &'static str,
    public: &'static str,
    bits: u32,
    [mantissa, bias]: [u32; 2],
) -> DTypeFacts {
    DTypeFacts { dtype, name, public, short: name, kind: Kind::Floating, bits, signed: false, mantissa, bias }
}

/// One row for each element type, in the order of [`DType`].
pub static FACTS: [DTypeFacts; 19] = [
    DTypeFacts {
        dtype: DType::Int1,
        name: "int1",
        public: "int1",
        short: "u1",
        kind: Kind::Boolean,
        bits: 1,
        signed: false,
        mantissa: 0,
        bias: 0,
    },
    int(DType::Int8, "int8", "i8", 8, true),
    int(DType::Int16, "int16", "i16", 16, true),
    int(DType::Int32, "int32", "i32", 32, true),
    int(DType::Int64, "int64", "i64", 64, true),
    int(DType::UInt8, "uint8", "u8", 8, false),
    int(DType::UInt16, "uint16", "u16", 16, false),
    int(DType::UInt32, "uint32", "u32", 32, false),
    int(DType::UInt64, "uint64", "u64", 64, false),
    float(DType::Fp8E5, "fp8e5", "float8e5", 8, [2, 15]),
    float(DType::Fp8E5B16, "fp8e5b16", "float8e5b16", 8, [2, 16]),
    float(DType::Fp8E4Nv, "fp8e4nv", "float8e4nv", 8, [3, 7]),
    float(DType::Fp8E4B8, "fp8e4b8", "float8e4b8", 8, [3, 8]),
    float(DType::Fp8E4B15, "fp8e4b15", "float8e4b15", 8, [3, 15]),
    float(DType::Fp16, "fp16", "float16", 16, [10, 15]),
    float(DType::Bf16, "bf16", "bfloat16", 16, [7, 127]),
    float(DType::Fp32, "fp32", "float32", 32, [23, 127]),
    float(DType::Fp64, "fp64", "float64", 64, [52, 1023]),
    DTypeFacts {
        dtype: DType::Void,
        name: "void",
        public: "void",
        short: "void",
        kind: Kind::Boolean,
        bits: 0,
        signed: false,
        mantissa: 0,
        bias: 0,
    },
];

impl DType {
    /// The facts about this type.
    pub fn facts(self) -> &'static DTypeFacts {
        &FACTS[self as usize]
    }

    /// The type of that short, public or signature name.
    pub fn from_name(name: &str) -> Option<DType> {
        FACTS
            .iter()
            .find(|row| row.name == name || row.public == name || row.short == name)
            .map(|row| row.dtype)
            .or(match name {
                "i1" | "uint1" => Some(DType::Int1),
                _ => None,
            })
    }

    /// The integer type of that width and signedness.
    pub fn int(bits: u32, signed: bool) -> Option<DType> {
        FACTS
            .iter()
            .find(|row| row.kind == Kind::Integral && row.bits == bits && row.signed == signed)
            .map(|row| row.dtype)
            .or((bits == 1).then_some(DType::Int1))
    }

    /// Its short name.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Bits of one element.
    pub fn bits(self) -> u32 {
        self.facts().bits
    }

    /// Its kind.
    pub fn kind(self) -> Kind {
        self.facts().kind
    }

    /// Whether it is any floating-point type.
    pub fn is_floating(self) -> bool {
        self.kind() == Kind::Floating
    }

    /// Whether it is fp16, bf16, fp32 or fp64.
    pub fn is_standard_floating(self) -> bool {
        self.is_floating() && self.bits() >= 16
    }

    /// Whether it is an 8-bit float.
    pub fn is_fp8(self) -> bool {
        self.is_floating() && self.bits() == 8
    }

    /// Whether it is an integer, `int1` included.
    pub fn is_int(self) -> bool {
        !self.is_floating() && self != DType::Void
    }

    /// Whether it is `int1`.
    pub fn is_bool(self) -> bool {
        self == DType::Int1
    }

    /// Whether it is a signed integer.
    pub fn is_int_signed(self) -> bool {
        self.facts().signed
    }

    /// Whether it is an unsigned integer, `int1` included.
    pub fn is_int_unsigned(self) -> bool {
        self.is_int() && !self.facts().signed
    }

    /// The smallest and largest value of an integer type.
    pub fn int_range(self) -> (i128, i128) {
        let bits = self.bits();
        if self.is_int_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A pointer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pointer {
    /// What it points to.
    pub pointee: DType,
    /// Whether stores through it are errors.
    pub constant: bool,
}

/// The type of one element: a number or a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// A number.
    Number(DType),
    /// A pointer.
    Pointer(Pointer),
}

impl Scalar {
    /// The number type, unless this is a pointer.
    pub fn dtype(self) -> Option<DType> {
        match self {
            Scalar::Number(dtype) => Some(dtype),
            Scalar::Pointer(_) => None,
        }
    }

    /// The pointer type, if this is one.
    pub fn pointer(self) -> Option<Pointer> {
        match self {
            Scalar::Number(_) => None,
            Scalar::Pointer(pointer) => Some(pointer),
        }
    }

    /// Whether it is a number type for which `test` holds.
    pub fn is_number(self, test: impl Fn(DType) -> bool) -> bool {
        self.dtype().is_some_and(test)
    }

    /// Bits of one element.
    pub fn bits(self) -> u32 {
        self.dtype().map_or(64, DType::bits)
    }
}

impl From<DType> for Scalar {
    fn from(dtype: DType) -> Self {
        Scalar::Number(dtype)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Number(dtype) => dtype.fmt(f),
            Scalar::Pointer(Pointer { pointee, constant: false }) => write!(f, "pointer<{pointee}>"),
            Scalar::Pointer(Pointer { pointee, constant: true }) => write!(f, "const_pointer<{pointee}>"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DType, FACTS};

    #[test]
    fn rows_stand_in_the_order_of_the_enum() {
        for (index, row) in FACTS.iter().enumerate() {
            assert_eq!(row.dtype as usize, index);
            assert_eq!(DType::from_name(row.name), Some(row.dtype));
            assert_eq!(DType::from_name(row.public), Some(row.dtype));
            assert_eq!(DType::from_name(row.short), Some(row.dtype));
        }
    }

    #[test]
    fn integer_ranges() {
        assert_eq!(DType::Int8.int_range(), (-128, 127));
        assert_eq!(DType::UInt64.int_range(), (0, u64::MAX as i128));
        assert_eq!(DType::Int1.int_range(), (0, 1));
        assert_eq!(DType::int(16, false), Some(DType::UInt16));
        assert_eq!(DType::int(24, false), None);
    }
}
