//! Attributes: constants that an operation carries.
//!
//! An operation's own attributes live in typed slots that its row declares ([`crate::AttrSpec`]). Attributes that
//! anyone may add (hints, options) are keyed by an [`AttrKey`] that is declared once.

use super::Type;
use crate::attr_data::{AttrData, DialectAttr};
use std::sync::Arc;

/// The cases of an enumeration attribute, such as the predicate of a comparison.
#[derive(Debug)]
pub struct EnumRow {
    /// Its name, for error messages.
    pub name: &'static str,
    /// Keyword and number of each case.
    pub cases: &'static [(&'static str, u32)],
}

impl EnumRow {
    /// The number of a keyword.
    pub fn value(&self, keyword: &str) -> Option<u32> {
        self.cases.iter().find(|case| case.0 == keyword).map(|case| case.1)
    }

    /// The keyword of a number.
    pub fn keyword(&self, value: u32) -> Option<&'static str> {
        self.cases.iter().find(|case| case.1 == value).map(|case| case.0)
    }
}

/// A name under which anyone may attach an attribute to any operation, block argument or module.
///
/// Keys that no crate declares still parse and print: see [`AttrKey::unknown`].
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct AttrKey(Arc<str>);

impl AttrKey {
    /// A key met in text that nobody in this build declares.
    pub fn unknown(name: &str) -> AttrKey {
        AttrKey(Arc::from(name))
    }

    /// The name in the text form.
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// A declared key: `static DIVISIBILITY: DeclaredKey = DeclaredKey::new("tt.divisibility", "…");`.
#[derive(Debug)]
pub struct DeclaredKey {
    /// The name in the text form.
    pub name: &'static str,
    /// What it means.
    pub doc: &'static str,
}

impl DeclaredKey {
    /// Declares a key.
    pub const fn new(name: &'static str, doc: &'static str) -> DeclaredKey {
        DeclaredKey { name, doc }
    }

    /// The key itself.
    pub fn key(&self) -> AttrKey {
        AttrKey(Arc::from(self.name))
    }
}

/// The elements of a constant tensor, each as raw bits of the element type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Elements {
    /// All the same.
    Splat(u64),
    /// One each, in row-major order.
    List(Arc<[u64]>),
}

/// A constant that an operation carries.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Attr {
    /// Present, without a value.
    Unit,
    /// `true` or `false`.
    Bool(bool),
    /// An integer; the value is sign-extended from the width of its type.
    Int {
        /// The value.
        value: i64,
        /// An integer type or `index`.
        ty: Type,
    },
    /// A float, as raw bits in the format of its type.
    Float {
        /// The bits.
        bits: u64,
        /// A float type.
        ty: Type,
    },
    /// A text.
    Str(Arc<str>),
    /// A type.
    Type(Type),
    /// `[…]`.
    Array(Arc<[Attr]>),
    /// `array<i32: …>`.
    DenseArray {
        /// The type of the elements.
        elem: Type,
        /// The elements.
        values: Arc<[i64]>,
    },
    /// `dense<…> : type`.
    Dense {
        /// A shaped type.
        ty: Type,
        /// The elements.
        elements: Elements,
    },
    /// `@name`.
    Symbol(Arc<str>),
    /// A case of an enumeration.
    Enum {
        /// The enumeration.
        row: &'static EnumRow,
        /// The case.
        value: u32,
    },
    /// `{name = value, …}`.
    Dict(Arc<[(AttrKey, Attr)]>),
    /// `#dialect.name<…>` that a dialect of this build declares.
    Own(DialectAttr),
    /// `#dialect.name<body>` that no crate of this build interprets; kept as written.
    Dialect {
        /// `dialect.name`.
        name: Arc<str>,
        /// What stands between the angle brackets.
        body: Arc<str>,
    },
}

impl PartialEq for EnumRow {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for EnumRow {}

impl std::hash::Hash for EnumRow {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl Attr {
    /// An attribute of a dialect that holds this.
    pub fn own(data: impl AttrData) -> Attr {
        Attr::Own(DialectAttr::new(data))
    }

    /// The data of a dialect's attribute, if it is one that holds this Rust type.
    pub fn data<T: AttrData>(&self) -> Option<&T> {
        if let Attr::Own(own) = self { own.data() } else { None }
    }

    /// An `i32`.
    pub fn i32(value: i32) -> Attr {
        Attr::Int { value: i64::from(value), ty: Type::int(32) }
    }

    /// An integer of a type; the value is cut to its width and sign-extended.
    pub fn int(value: i64, ty: Type) -> Attr {
        let bits = ty.scalar_bits().expect("an integer has a type of so many bits").min(64);
        let shift = 64 - bits;
        Attr::Int { value: (value << shift) >> shift, ty }
    }

    /// A text.
    pub fn str(text: &str) -> Attr {
        Attr::Str(Arc::from(text))
    }

    /// 32-bit integers.
    pub fn ints(values: &[i64]) -> Attr {
        Attr::DenseArray { elem: Type::int(32), values: values.into() }
    }

    /// The integers, if it is an array of them.
    pub fn as_ints(&self) -> Option<&[i64]> {
        if let Attr::DenseArray { values, .. } = self { Some(values) } else { None }
    }

    /// The integer, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        if let Attr::Int { value, .. } = self { Some(*value) } else { None }
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Attr::Bool(value) = self { Some(*value) } else { None }
    }

    /// The text of a string or symbol, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Attr::Str(text) | Attr::Symbol(text) => Some(text),
            _ => None,
        }
    }

    /// The case, if it is of this enumeration.
    pub fn as_enum(&self, of: &'static EnumRow) -> Option<u32> {
        match self {
            Attr::Enum { row, value } if *row == of => Some(*value),
            _ => None,
        }
    }
}
