//! Types: scalars, fixed vectors of them, and structures, which instructions with several results give.
//!
//! A [`Type`] is a small `Copy` value. Left out: arrays and named structs; addresses are computed in bytes, and
//! tables are globals.

mod structure;

use std::fmt;
use structure::Parts;

/// A type of one lane.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scalar {
    /// No value: the result of a store.
    Void,
    /// An integer of so many bits, 1 to 128.
    Int(u16),
    /// IEEE binary16.
    Half,
    /// bfloat16.
    BFloat,
    /// IEEE binary32.
    Float,
    /// IEEE binary64.
    Double,
    /// An address in an address space; 0 is the usual one.
    Ptr(u8),
}

impl Scalar {
    /// Width in bits. Void counts as 0, addresses as 64, but for those of the spaces that a group of lanes (3) and
    /// one lane (5) have for themselves, which count as 32.
    pub fn bits(self) -> u32 {
        match self {
            Scalar::Void => 0,
            Scalar::Int(bits) => u32::from(bits),
            Scalar::Half | Scalar::BFloat => 16,
            Scalar::Float | Scalar::Ptr(3 | 5 | 7) => 32,
            Scalar::Double | Scalar::Ptr(_) => 64,
        }
    }

    /// The part of an intrinsic's name that stands for this type.
    fn mangled(self) -> String {
        match self {
            Scalar::Void => "isVoid".into(),
            Scalar::Int(bits) => format!("i{bits}"),
            Scalar::Half => "f16".into(),
            Scalar::BFloat => "bf16".into(),
            Scalar::Float => "f32".into(),
            Scalar::Double => "f64".into(),
            Scalar::Ptr(space) => format!("p{space}"),
        }
    }
}

impl Scalar {
    /// LLVM's word, where it has no number that varies.
    fn word(self) -> Option<&'static str> {
        Some(match self {
            Scalar::Void => "void",
            Scalar::Int(1) => "i1",
            Scalar::Int(8) => "i8",
            Scalar::Int(16) => "i16",
            Scalar::Int(32) => "i32",
            Scalar::Int(64) => "i64",
            Scalar::Half => "half",
            Scalar::BFloat => "bfloat",
            Scalar::Float => "float",
            Scalar::Double => "double",
            Scalar::Ptr(0) => "ptr",
            Scalar::Ptr(1) => "ptr addrspace(1)",
            Scalar::Ptr(3) => "ptr addrspace(3)",
            Scalar::Int(_) | Scalar::Ptr(_) => return None,
        })
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.word(), self) {
            (Some(word), _) => f.write_str(word),
            (None, Scalar::Int(bits)) => write!(f, "i{bits}"),
            (None, Scalar::Ptr(space)) => write!(f, "ptr addrspace({space})"),
            (None, _) => Ok(()),
        }
    }
}

/// Whether a type is one value or the several that some instructions give.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Shape {
    One,
    /// `{ T, i1 }` with the lanes of `T`: `cmpxchg`, `llvm.*.with.overflow`.
    Flagged,
    /// `{ T, T, … }`, at least two: functions with two results, the sums of matrix instructions.
    Like(u32),
    /// `{ T, U, … }`: assembly with several results.
    Many(Parts),
}

/// A scalar, a fixed vector, or a structure of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Type {
    scalar: Scalar,
    /// 0 for a scalar: `<1 x float>` is not `float`.
    lanes: u32,
    shape: Shape,
}

impl Type {
    /// No value.
    pub const VOID: Type = Type::scalar(Scalar::Void);
    /// A truth value.
    pub const I1: Type = Type::int(1);
    /// 8 bits.
    pub const I8: Type = Type::int(8);
    /// 16 bits.
    pub const I16: Type = Type::int(16);
    /// 32 bits.
    pub const I32: Type = Type::int(32);
    /// 64 bits.
    pub const I64: Type = Type::int(64);
    /// `half`.
    pub const F16: Type = Type::scalar(Scalar::Half);
    /// `bfloat`.
    pub const BF16: Type = Type::scalar(Scalar::BFloat);
    /// `float`.
    pub const F32: Type = Type::scalar(Scalar::Float);
    /// `double`.
    pub const F64: Type = Type::scalar(Scalar::Double);
    /// An address.
    pub const PTR: Type = Type::scalar(Scalar::Ptr(0));

    /// An address in an address space.
    pub const fn pointer(space: u8) -> Type {
        Type::scalar(Scalar::Ptr(space))
    }

    /// A type of one scalar.
    pub const fn scalar(scalar: Scalar) -> Type {
        Type { scalar, lanes: 0, shape: Shape::One }
    }

    /// An integer of so many bits.
    pub const fn int(bits: u16) -> Type {
        Type::scalar(Scalar::Int(bits))
    }

    /// `<lanes x Self>`, `<1 x Self>` included. The lanes that `self` had are forgotten.
    #[must_use]
    pub const fn vector(self, lanes: u32) -> Type {
        Type { lanes, ..self }
    }

    /// The same lane type with so many lanes; one lane gives the scalar.
    #[must_use]
    pub const fn with_lanes(self, lanes: u32) -> Type {
        Type { lanes: if lanes == 1 { 0 } else { lanes }, ..self }
    }

    /// The same lanes with another lane type.
    #[must_use]
    pub const fn with_scalar(self, other: Type) -> Type {
        Type { scalar: other.scalar, ..self }
    }

    /// `{ Self, i1 }`, what `cmpxchg` and the overflow intrinsics give.
    #[must_use]
    pub const fn flagged(self) -> Type {
        Type { shape: Shape::Flagged, ..self }
    }

    /// `{ Self, Self }`.
    #[must_use]
    pub const fn twice(self) -> Type {
        self.times(2)
    }

    /// `{ Self, Self, … }`, so many of them; once is the type itself, no times void.
    #[must_use]
    pub const fn times(self, count: u32) -> Type {
        match count {
            0 => Type::VOID,
            1 => self,
            _ => Type { shape: Shape::Like(count), ..self },
        }
    }

    /// `{ T, U, … }`; of one type that type itself, of none void.
    #[must_use]
    pub fn structure(parts: &[Type]) -> Type {
        match parts {
            [] => Type::VOID,
            [first, rest @ ..] if rest.iter().all(|part| part == first) => first.times(parts.len() as u32),
            [a, b] if *b == a.as_mask() => a.flagged(),
            _ => Type { shape: Shape::Many(Parts::of(parts)), ..Type::VOID },
        }
    }

    /// How many parts a structure has; 1 for one value, 0 for void.
    pub fn part_count(self) -> u32 {
        match self.shape {
            Shape::One => u32::from(!self.is_void()),
            Shape::Flagged => 2,
            Shape::Like(count) => count,
            Shape::Many(parts) => parts.types().len() as u32,
        }
    }

    /// The type of one part of a structure; `None` where there is no such part.
    pub fn part(self, index: u32) -> Option<Type> {
        let one = Type { shape: Shape::One, ..self };
        match (self.shape, index) {
            (Shape::Many(parts), index) => parts.types().get(index as usize).copied(),
            (Shape::Like(count), index) => (index < count).then_some(one),
            (Shape::Flagged, 0) => Some(one),
            (Shape::Flagged, 1) => Some(one.with_scalar(Type::I1)),
            _ => None,
        }
    }

    /// The type of one lane, as a scalar kind.
    pub const fn kind(self) -> Scalar {
        self.scalar
    }

    /// The type of one lane.
    #[must_use]
    pub const fn lane(self) -> Type {
        Type::scalar(self.scalar)
    }

    /// Number of lanes; 1 for a scalar.
    pub const fn lanes(self) -> u32 {
        if self.lanes == 0 { 1 } else { self.lanes }
    }

    /// Whether it is a vector (of one lane, perhaps).
    pub const fn is_vector(self) -> bool {
        self.lanes != 0
    }

    /// Whether it is void.
    pub fn is_void(self) -> bool {
        self.scalar == Scalar::Void && self.shape == Shape::One
    }

    /// The part and its number, of a structure of like parts; one value is its own only part.
    pub fn like_parts(self) -> Option<(Type, u32)> {
        match self.shape {
            Shape::One => Some((self, self.part_count())),
            Shape::Like(count) => Some((Type { shape: Shape::One, ..self }, count)),
            Shape::Flagged | Shape::Many(_) => None,
        }
    }

    /// The same for structures of many parts: such types have a name in the text, `%f32.x128`, which the module
    /// defines.
    pub(crate) fn named_structure(self) -> Option<(Type, u32)> {
        const FEW: u32 = 8;
        self.like_parts().filter(|(_, count)| *count > FEW)
    }

    /// Whether it is a structure.
    pub fn is_structure(self) -> bool {
        self.shape != Shape::One
    }

    /// Whether its lanes are integers.
    pub fn is_int(self) -> bool {
        matches!(self.scalar, Scalar::Int(_)) && !self.is_structure()
    }

    /// Whether its lanes are floats.
    pub fn is_float(self) -> bool {
        matches!(self.scalar, Scalar::Half | Scalar::BFloat | Scalar::Float | Scalar::Double)
            && !self.is_structure()
    }

    /// Whether its lanes are addresses.
    pub fn is_ptr(self) -> bool {
        matches!(self.scalar, Scalar::Ptr(_)) && !self.is_structure()
    }

    /// Bits of one lane.
    pub fn lane_bits(self) -> u32 {
        self.scalar.bits()
    }

    /// Bytes of one lane in memory.
    pub fn lane_bytes(self) -> u32 {
        self.lane_bits().div_ceil(8).next_power_of_two()
    }

    /// The same lanes, each an `i1`: the type of a mask or a comparison.
    #[must_use]
    pub const fn as_mask(self) -> Type {
        self.with_scalar(Type::I1)
    }

    /// The same lanes, each an integer of the same width.
    #[must_use]
    pub fn as_int(self) -> Type {
        self.with_scalar(Type::int(self.lane_bits() as u16))
    }

    /// LLVM's word for a scalar, where it has no number that varies: printers need no formatting then.
    pub(crate) fn word(self) -> Option<&'static str> {
        if self.is_vector() || self.is_structure() { None } else { self.scalar.word() }
    }

    /// The part of an intrinsic's name that stands for this type: `v8f32`, `i64`, `p0`.
    pub fn mangled(self) -> String {
        let lane = self.scalar.mangled();
        if self.lanes == 0 { lane } else { format!("v{}{lane}", self.lanes) }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((part, count)) = self.named_structure() {
            return write!(f, "%{}.x{count}", part.mangled());
        }
        if self.is_structure() {
            for (index, part) in (0..self.part_count()).filter_map(|index| self.part(index)).enumerate() {
                write!(f, "{}{part}", if index == 0 { "{ " } else { ", " })?;
            }
            return f.write_str(" }");
        }
        match self.lanes {
            0 => write!(f, "{}", self.scalar),
            lanes => write!(f, "<{lanes} x {}>", self.scalar),
        }
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
