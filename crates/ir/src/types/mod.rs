//! Types. A [`Type`] is a `Copy` handle to data that is interned for the life of the process.
//!
//! Interning is global and leaks by intent: there are only as many types as programs spell, a few hundred bytes each,
//! and equal types are the same handle, so comparing and hashing cost nothing. Nothing may depend on the order in
//! which types were interned. Integers, floats and functions are built in; everything else (tensors, pointers, …) is a
//! [`TypeRow`] that a dialect declares.

pub(crate) mod attr;

use crate::text::{ParseError, Parser, Printer};
use attr::Attr;
use rustc_hash::FxHashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{OnceLock, RwLock};

/// A floating-point format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum FloatKind {
    /// 8 bits: 5 exponent, 2 mantissa, IEEE-like.
    F8E5M2,
    /// 8 bits: 4 exponent, 3 mantissa, no infinity.
    F8E4M3FN,
    /// 8 bits: 5 exponent, 2 mantissa, one NaN, no negative zero.
    F8E5M2FNUZ,
    /// 8 bits: 4 exponent, 3 mantissa, one NaN, no negative zero.
    F8E4M3FNUZ,
    /// IEEE binary16.
    F16,
    /// bfloat16.
    BF16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

impl FloatKind {
    /// Every format with its name in the text form and its width in bits.
    pub const TABLE: [(FloatKind, &'static str, u32); 8] = [
        (FloatKind::F8E5M2, "f8E5M2", 8),
        (FloatKind::F8E4M3FN, "f8E4M3FN", 8),
        (FloatKind::F8E5M2FNUZ, "f8E5M2FNUZ", 8),
        (FloatKind::F8E4M3FNUZ, "f8E4M3FNUZ", 8),
        (FloatKind::F16, "f16", 16),
        (FloatKind::BF16, "bf16", 16),
        (FloatKind::F32, "f32", 32),
        (FloatKind::F64, "f64", 64),
    ];

    /// Width in bits.
    pub const fn bits(self) -> u32 {
        Self::TABLE[self as usize].2
    }

    /// Name in the text form.
    pub fn name(self) -> &'static str {
        Self::TABLE[self as usize].1
    }
}

/// How a dialect's type is written, read and checked. Its parameters are [`TypeParam`]s.
#[derive(Debug)]
pub struct TypeRow {
    /// Its name: `tt.ptr` is written `!tt.ptr<…>`; a name without a dot, such as `tensor`, is written bare.
    pub name: &'static str,
    /// Writes what follows the name.
    pub print: fn(&[TypeParam], &mut Printer<'_>),
    /// Reads what follows the name.
    pub parse: fn(&mut Parser<'_>) -> Result<Vec<TypeParam>, ParseError>,
    /// Says what is wrong with the parameters, if anything is.
    pub verify: fn(&[TypeParam]) -> Result<(), String>,
}

/// A parameter of a dialect's type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TypeParam {
    /// A number.
    Int(i64),
    /// Several numbers, such as a shape.
    Ints(Vec<i64>),
    /// A type.
    Type(Type),
    /// An attribute, such as an encoding.
    Attr(Attr),
}

/// What a type is.
#[derive(Debug)]
pub enum TypeKind {
    /// A signless integer of so many bits, 1 to 128.
    Int(u32),
    /// A float.
    Float(FloatKind),
    /// The type of sizes and positions.
    Index,
    /// No value.
    None,
    /// A function type.
    Function {
        /// Types of the parameters.
        params: Vec<Type>,
        /// Types of the results.
        results: Vec<Type>,
    },
    /// A type that a dialect declares.
    Dialect {
        /// The declaration.
        row: &'static TypeRow,
        /// The parameters.
        params: Vec<TypeParam>,
    },
}

impl PartialEq for TypeKind {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (TypeKind::Int(a), TypeKind::Int(b)) => a == b,
            (TypeKind::Float(a), TypeKind::Float(b)) => a == b,
            (TypeKind::Index, TypeKind::Index) | (TypeKind::None, TypeKind::None) => true,
            (TypeKind::Function { params: p, results: r }, TypeKind::Function { params: q, results: s }) => {
                p == q && r == s
            }
            (TypeKind::Dialect { row: a, params: p }, TypeKind::Dialect { row: b, params: q }) => {
                a.name == b.name && p == q
            }
            _ => false,
        }
    }
}

impl Eq for TypeKind {}

impl Hash for TypeKind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            TypeKind::Int(bits) => bits.hash(state),
            TypeKind::Float(kind) => kind.hash(state),
            TypeKind::Index | TypeKind::None => {}
            TypeKind::Function { params, results } => (params, results).hash(state),
            TypeKind::Dialect { row, params } => (row.name, params).hash(state),
        }
    }
}

/// A type.
#[derive(Clone, Copy)]
pub struct Type(&'static TypeKind);

impl PartialEq for Type {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Type {}

impl Hash for Type {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.0).hash(state);
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::text::type_to_string(*self))
    }
}

static INTERNED: OnceLock<RwLock<FxHashSet<&'static TypeKind>>> = OnceLock::new();

impl Type {
    /// Interns a type.
    pub fn new(kind: TypeKind) -> Type {
        let table = INTERNED.get_or_init(Default::default);
        let poisoned = "the table is only ever inserted into, so a panic elsewhere leaves it whole";
        if let Some(known) = table.read().expect(poisoned).get(&kind) {
            return Type(known);
        }
        let mut table = table.write().expect(poisoned);
        if let Some(known) = table.get(&kind) {
            return Type(known);
        }
        let kind: &'static TypeKind = Box::leak(Box::new(kind));
        table.insert(kind);
        Type(kind)
    }

    /// What it is.
    pub fn kind(self) -> &'static TypeKind {
        self.0
    }

    /// A signless integer.
    pub fn int(bits: u32) -> Type {
        Type::new(TypeKind::Int(bits))
    }

    /// A float.
    pub fn float(kind: FloatKind) -> Type {
        Type::new(TypeKind::Float(kind))
    }

    /// The type of sizes and positions.
    pub fn index() -> Type {
        Type::new(TypeKind::Index)
    }

    /// No value.
    pub fn none() -> Type {
        Type::new(TypeKind::None)
    }

    /// A function type.
    pub fn function(params: Vec<Type>, results: Vec<Type>) -> Type {
        Type::new(TypeKind::Function { params, results })
    }

    /// A dialect's type.
    pub fn dialect(row: &'static TypeRow, params: Vec<TypeParam>) -> Type {
        Type::new(TypeKind::Dialect { row, params })
    }

    /// The parameters, if this is a type that `row` declares.
    pub fn params_of(self, row: &'static TypeRow) -> Option<&'static [TypeParam]> {
        match self.kind() {
            TypeKind::Dialect { row: own, params } if std::ptr::eq(*own, row) => Some(params),
            _ => None,
        }
    }

    /// Whether an attribute is among its parameters, however deep.
    pub fn has_attribute(self) -> bool {
        match self.kind() {
            TypeKind::Dialect { params, .. } => params.iter().any(|param| match param {
                TypeParam::Attr(_) => true,
                TypeParam::Type(ty) => ty.has_attribute(),
                TypeParam::Int(_) | TypeParam::Ints(_) => false,
            }),
            TypeKind::Function { params, results } => {
                params.iter().chain(results).any(|ty| ty.has_attribute())
            }
            _ => false,
        }
    }

    /// Shape and type of the elements of a shaped type: one whose parameters begin with a shape and a type.
    pub fn shape_and_element(self) -> Option<(&'static [i64], Type)> {
        match self.kind() {
            TypeKind::Dialect { params, .. } => match params.as_slice() {
                [TypeParam::Ints(shape), TypeParam::Type(elem), ..] => Some((shape, *elem)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Bits, if this is an integer.
    pub fn as_int(self) -> Option<u32> {
        if let TypeKind::Int(bits) = self.kind() { Some(*bits) } else { None }
    }

    /// The format, if this is a float.
    pub fn as_float(self) -> Option<FloatKind> {
        if let TypeKind::Float(kind) = self.kind() { Some(*kind) } else { None }
    }

    /// Bits of a number of this type: integers, floats; 64 for `index`.
    pub fn scalar_bits(self) -> Option<u32> {
        match self.kind() {
            TypeKind::Int(bits) => Some(*bits),
            TypeKind::Float(kind) => Some(kind.bits()),
            TypeKind::Index => Some(64),
            _ => None,
        }
    }
}
