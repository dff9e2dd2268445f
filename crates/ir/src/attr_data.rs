//! Attributes that a dialect declares: plain Rust data behind an attribute, printed and read by the dialect.
//!
//! An encoding of a tensor type is one. The data keeps its Rust type, so passes ask `attr.data::<Encoding>()` and get
//! the value itself, not a text to be read again.

use crate::text::{ParseError, Parser, Printer};
use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// How a dialect's attribute is named and read. What it holds is an [`AttrData`].
pub struct AttrRow {
    /// Its name: `ttg.blocked` is written `#ttg.blocked<…>`.
    pub name: &'static str,
    /// Reads what follows the name.
    pub parse: fn(&mut Parser<'_>) -> Result<DialectAttr, ParseError>,
}

/// The data of a dialect's attribute.
pub trait AttrData: Any + fmt::Debug + Eq + Hash + Send + Sync {
    /// Its name, `dialect.name`.
    fn name(&self) -> &'static str;
    /// The word that its short names begin with (`#blocked`, `#blocked1`); without one it is written where it stands.
    fn alias(&self) -> Option<&'static str>;
    /// Writes what follows the name.
    fn print(&self, printer: &mut Printer<'_>);
}

trait Erased: Any + fmt::Debug + Send + Sync {
    fn name(&self) -> &'static str;
    fn alias(&self) -> Option<&'static str>;
    fn print(&self, printer: &mut Printer<'_>);
    fn equals(&self, other: &dyn Erased) -> bool;
    fn hash_into(&self, state: &mut dyn Hasher);
    fn any(&self) -> &dyn Any;
}

impl<T: AttrData> Erased for T {
    fn name(&self) -> &'static str {
        AttrData::name(self)
    }

    fn alias(&self) -> Option<&'static str> {
        AttrData::alias(self)
    }

    fn print(&self, printer: &mut Printer<'_>) {
        AttrData::print(self, printer);
    }

    fn equals(&self, other: &dyn Erased) -> bool {
        other.any().downcast_ref::<T>() == Some(self)
    }

    fn hash_into(&self, mut state: &mut dyn Hasher) {
        self.hash(&mut state);
    }

    fn any(&self) -> &dyn Any {
        self
    }
}

/// An attribute of a dialect with its data.
#[derive(Clone)]
pub struct DialectAttr(Arc<dyn Erased>);

impl DialectAttr {
    /// An attribute that holds this.
    pub fn new(data: impl AttrData) -> DialectAttr {
        DialectAttr(Arc::new(data))
    }

    /// The data, if it is of this Rust type.
    pub fn data<T: AttrData>(&self) -> Option<&T> {
        self.0.any().downcast_ref()
    }

    /// Its name, `dialect.name`.
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    /// The word that its short names begin with.
    pub fn alias(&self) -> Option<&'static str> {
        self.0.alias()
    }

    /// Writes what follows the name.
    pub(crate) fn print(&self, printer: &mut Printer<'_>) {
        self.0.print(printer);
    }
}

impl PartialEq for DialectAttr {
    fn eq(&self, other: &DialectAttr) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.equals(&*other.0)
    }
}

impl Eq for DialectAttr {}

impl Hash for DialectAttr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name().hash(state);
        self.0.hash_into(state);
    }
}

impl fmt::Debug for DialectAttr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
