//! The types and state spaces of PTX, one row each.

/// What a type's bits mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Bits,
    Unsigned,
    Signed,
    Float,
    /// The upper half of a single (8 bits of exponent).
    Brain,
    /// A single with 10 bits of fraction.
    Tensor32,
    E4M3,
    E5M2,
    E2M1,
    E2M3,
    E3M2,
    /// A power of two, by 8 bits of exponent.
    E8M0,
    Predicate,
}

impl Kind {
    /// Whether numbers have an exponent.
    pub(crate) fn is_float(self) -> bool {
        !matches!(self, Kind::Bits | Kind::Unsigned | Kind::Signed | Kind::Predicate)
    }
}

/// A type: its meaning, the bits of one element, and how many elements it packs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Type {
    pub(crate) kind: Kind,
    /// Bits of one element.
    pub(crate) bits: u32,
    /// Elements packed (`f16x2`: 2).
    pub(crate) lanes: u32,
}

const fn ty(kind: Kind, bits: u32, lanes: u32) -> Type {
    Type { kind, bits, lanes }
}

/// Every type name, without its dot.
const TYPES: &[(&str, Type)] = &[
    ("b8", ty(Kind::Bits, 8, 1)),
    ("b16", ty(Kind::Bits, 16, 1)),
    ("b32", ty(Kind::Bits, 32, 1)),
    ("b64", ty(Kind::Bits, 64, 1)),
    ("b128", ty(Kind::Bits, 128, 1)),
    ("u8", ty(Kind::Unsigned, 8, 1)),
    ("u16", ty(Kind::Unsigned, 16, 1)),
    ("u32", ty(Kind::Unsigned, 32, 1)),
    ("u64", ty(Kind::Unsigned, 64, 1)),
    ("s8", ty(Kind::Signed, 8, 1)),
    ("s16", ty(Kind::Signed, 16, 1)),
    ("s32", ty(Kind::Signed, 32, 1)),
    ("s64", ty(Kind::Signed, 64, 1)),
    ("u16x2", ty(Kind::Unsigned, 16, 2)),
    ("s16x2", ty(Kind::Signed, 16, 2)),
    ("f16", ty(Kind::Float, 16, 1)),
    ("f16x2", ty(Kind::Float, 16, 2)),
    ("bf16", ty(Kind::Brain, 16, 1)),
    ("bf16x2", ty(Kind::Brain, 16, 2)),
    ("tf32", ty(Kind::Tensor32, 32, 1)),
    ("f32", ty(Kind::Float, 32, 1)),
    ("f32x2", ty(Kind::Float, 32, 2)),
    ("f64", ty(Kind::Float, 64, 1)),
    ("e4m3", ty(Kind::E4M3, 8, 1)),
    ("e5m2", ty(Kind::E5M2, 8, 1)),
    ("e4m3x2", ty(Kind::E4M3, 8, 2)),
    ("e5m2x2", ty(Kind::E5M2, 8, 2)),
    ("e2m1x2", ty(Kind::E2M1, 4, 2)),
    // Six bits in the lower part of a byte.
    ("e2m3x2", ty(Kind::E2M3, 8, 2)),
    ("e3m2x2", ty(Kind::E3M2, 8, 2)),
    ("ue8m0x2", ty(Kind::E8M0, 8, 2)),
    ("pred", ty(Kind::Predicate, 1, 1)),
];

impl Type {
    pub(crate) const PRED: Type = ty(Kind::Predicate, 1, 1);
    pub(crate) const B8: Type = ty(Kind::Bits, 8, 1);
    pub(crate) const B16: Type = ty(Kind::Bits, 16, 1);
    pub(crate) const B32: Type = ty(Kind::Bits, 32, 1);
    pub(crate) const B64: Type = ty(Kind::Bits, 64, 1);
    pub(crate) const U32: Type = ty(Kind::Unsigned, 32, 1);
    pub(crate) const S32: Type = ty(Kind::Signed, 32, 1);

    /// The type of a name such as `f16x2`.
    pub(crate) fn named(name: &str) -> Option<Type> {
        TYPES.iter().find(|(own, _)| *own == name).map(|(_, ty)| *ty)
    }

    /// Its name, without a dot.
    pub(crate) fn name(self) -> &'static str {
        TYPES.iter().find(|(_, ty)| *ty == self).map_or("?", |(name, _)| name)
    }

    /// Bits of a whole value.
    pub(crate) fn width(self) -> u32 {
        self.bits * self.lanes
    }

    /// Bytes of a whole value in memory.
    pub(crate) fn bytes(self) -> usize {
        (self.width() as usize).div_ceil(8)
    }

    pub(crate) fn is_signed(self) -> bool {
        self.kind == Kind::Signed
    }

    /// A mask of the value's bits, at most 64.
    pub(crate) fn mask(self) -> u64 {
        mask(self.width())
    }
}

/// The lowest `bits` bits set.
pub(crate) fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// A state space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Generic,
    Global,
    /// Of this program or, by a mapped address, of another of the cluster.
    Shared,
    Local,
    Const,
    Param,
}

/// Every space a modifier names.
const SPACES: &[(&str, Space)] = &[
    ("global", Space::Global),
    ("shared", Space::Shared),
    ("shared::cta", Space::Shared),
    ("shared::cluster", Space::Shared),
    ("local", Space::Local),
    ("const", Space::Const),
    ("param", Space::Param),
    ("param::entry", Space::Param),
    ("param::func", Space::Param),
];

impl Space {
    /// The space of a modifier.
    pub(crate) fn named(name: &str) -> Option<Space> {
        SPACES.iter().find(|(own, _)| *own == name).map(|(_, space)| *space)
    }

    /// A word for messages.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Space::Generic => "generic",
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Const => "constant",
            Space::Param => "parameter",
        }
    }
}
