//! Typed views of operations: what a row declares, read by name.
//!
//! [`op_view!`](crate::op_view) declares operands, attributes and results once: it makes the lists of the row and the
//! accessors of the view. A view is an [`Op`](crate::Op) and its module. Where a value stands is computed at compile
//! time, so an accessor is a load and, behind an optional or variadic operand, a subtraction. Views read verified
//! operations: what is required and missing is a bug and panics.
//!
//! ```ignore
//! ir::op_view! {
//!     LoadOp of LOAD {
//!         operands { ptr: One PTR_LIKE, mask: Optional BOOL_LIKE }
//!         attrs { cache / set_cache "cacheModifier": CacheModifier = Enum(CacheModifier::None as u32) }
//!         results { result: One VALUE_LIKE }
//!     }
//! }
//! pub static LOAD: OpRow = OpRow { name: "tt.load", access: Some(AccessWidth::Any), ..LoadOp::ROW };
//!
//! let load = LoadOp::new(module, op);
//! let (ptr, mask, cache) = (load.ptr(), load.mask(), load.cache());
//! ```
//!
//! An attribute's type is a number, `bool`, [`Str`], [`Symbol`], [`Ints`], [`TypeAttr`], [`AnyAttr`], [`Flag`], an
//! enumeration of [`enum_attr!`](crate::enum_attr), or an `Option` of one of these; behind `=` stands the [`Presence`]
//! that is its default. A view without `of` reads every operation that has what it declares in these places. Behind the
//! constraint of an operand may stand what becomes of the memory that it stands for: `ptr: One PTR_LIKE => Read`,
//! `src: One MEMORY => ReadUntil(WAIT)`; see [`Effect`](crate::Effect).

use crate::entity::Value;
use crate::module::row::{Arity, AttrKind, AttrSpec, Effect, EvalArgs, Presence, ValueSpec};
use crate::types::Type;
use crate::types::attr::{Attr, EnumRow};

/// Where the values of a declared operand or result stand among all values: what precedes it, and what there is in all.
#[derive(Clone, Copy)]
pub struct GroupSlot {
    singles: usize,
    optionals: usize,
    variadics: usize,
    singles_before: usize,
    optionals_before: usize,
    variadics_before: usize,
}

impl GroupSlot {
    /// The slot of this name.
    pub const fn of(specs: &[ValueSpec], name: &str) -> GroupSlot {
        let (mut slot, mut at, mut found) = (GroupSlot::none(), 0, false);
        while at < specs.len() {
            if same_text(specs[at].name, name) {
                slot.singles_before = slot.singles;
                slot.optionals_before = slot.optionals;
                slot.variadics_before = slot.variadics;
                found = true;
            }
            match specs[at].arity {
                Arity::One => slot.singles += 1,
                Arity::Optional => slot.optionals += 1,
                Arity::Variadic => slot.variadics += 1,
            }
            at += 1;
        }
        assert!(found, "nothing of this name is declared");
        slot
    }

    const fn none() -> GroupSlot {
        let [singles, optionals, variadics] = [0; 3];
        let [singles_before, optionals_before, variadics_before] = [0; 3];
        GroupSlot { singles, optionals, variadics, singles_before, optionals_before, variadics_before }
    }

    /// How many optional values are there, and how many values each variadic group has.
    const fn shares(self, count: usize) -> (usize, usize) {
        let rest = count.saturating_sub(self.singles);
        let given = if rest < self.optionals { rest } else { self.optionals };
        let share = match (rest - given).checked_div(self.variadics) {
            Some(share) => share,
            None => 0,
        };
        (given, share)
    }

    #[inline]
    fn start(self, count: usize) -> usize {
        if self.optionals_before + self.variadics_before == 0 {
            return self.singles_before;
        }
        let (given, share) = self.shares(count);
        self.singles_before + self.optionals_before.min(given) + self.variadics_before * share
    }
}

const fn same_text(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// Where a name stands in a list.
pub const fn position(names: &[&str], name: &str) -> usize {
    let mut at = 0;
    while !same_text(names[at], name) {
        at += 1;
    }
    at
}

/// How the values of a declared operand or result are read, by its [`Arity`].
pub trait ValueGroup<'m> {
    /// What is read.
    type Out;
    /// Picks them out of all values.
    fn take(values: &'m [Value], slot: GroupSlot) -> Self::Out;
}

/// See [`Arity::One`].
pub struct One;
/// See [`Arity::Optional`].
pub struct Optional;
/// See [`Arity::Variadic`].
pub struct Variadic;

impl<'m> ValueGroup<'m> for One {
    type Out = Value;
    #[inline]
    fn take(values: &'m [Value], slot: GroupSlot) -> Value {
        values[slot.start(values.len())]
    }
}

impl<'m> ValueGroup<'m> for Optional {
    type Out = Option<Value>;
    #[inline]
    fn take(values: &'m [Value], slot: GroupSlot) -> Option<Value> {
        let is_given = slot.optionals_before < slot.shares(values.len()).0;
        is_given.then(|| values[slot.start(values.len())])
    }
}

impl<'m> ValueGroup<'m> for Variadic {
    type Out = &'m [Value];
    #[inline]
    fn take(values: &'m [Value], slot: GroupSlot) -> &'m [Value] {
        let start = slot.start(values.len());
        &values[start..start + slot.shares(values.len()).1]
    }
}

/// How an attribute is declared, read and written, by its Rust type.
pub trait AttrField<'m> {
    /// What may stand in the slot.
    const KIND: AttrKind;
    /// What holds when nothing is given.
    const PRESENCE: Presence = Presence::Required;
    /// Whether a number must not be negative.
    const NON_NEGATIVE: bool = false;
    /// What is read.
    type Out;
    /// Reads the slot; `None` if what must be there is not.
    fn read(attr: Option<&'m Attr>) -> Option<Self::Out>;
    /// What stands in the slot for a value.
    fn write(value: Self::Out) -> Option<Attr>;
}

/// A text.
pub struct Str;
/// `@name`.
pub struct Symbol;
/// `array<i32: …>`.
pub struct Ints;
/// A type.
pub struct TypeAttr;
/// Any attribute.
pub struct AnyAttr;
/// Present or not.
pub struct Flag;

macro_rules! attr_fields {
    ($($ty:ty => $out:ty, $kind:expr, $read:expr, $write:expr;)*) => {
        $(impl<'m> AttrField<'m> for $ty {
            const KIND: AttrKind = $kind;
            type Out = $out;
            #[inline]
            fn read(attr: Option<&'m Attr>) -> Option<$out> {
                attr.and_then($read)
            }
            fn write(value: $out) -> Option<Attr> {
                Some($write(value))
            }
        })*
    };
}

attr_fields! {
    bool => bool, AttrKind::Bool, Attr::as_bool, Attr::Bool;
    i32 => i32, AttrKind::Int(32), |attr| i32::try_from(attr.as_int()?).ok(), Attr::i32;
    Str => &'m str, AttrKind::Str, Attr::as_str, Attr::str;
    Symbol => &'m str, AttrKind::Symbol, Attr::as_str, |name: &str| Attr::Symbol(name.into());
    Ints => &'m [i64], AttrKind::DenseArray(32), Attr::as_ints, Attr::ints;
    TypeAttr => Type, AttrKind::Type, |attr| if let Attr::Type(ty) = attr { Some(*ty) } else { None }, Attr::Type;
    AnyAttr => &'m Attr, AttrKind::Any, Some, Attr::clone;
}

macro_rules! counts {
    ($($ty:ty),*) => {
        $(impl<'m> AttrField<'m> for $ty {
            const KIND: AttrKind = AttrKind::Int(32);
            const NON_NEGATIVE: bool = true;
            type Out = $ty;
            #[inline]
            fn read(attr: Option<&'m Attr>) -> Option<$ty> {
                <$ty>::try_from(attr?.as_int()?).ok()
            }
            fn write(value: $ty) -> Option<Attr> {
                Some(Attr::int(value as i64, Type::int(32)))
            }
        })*
    };
}

counts!(u32, usize);

impl<'m> AttrField<'m> for Flag {
    const KIND: AttrKind = AttrKind::Unit;
    const PRESENCE: Presence = Presence::Optional;
    type Out = bool;
    #[inline]
    fn read(attr: Option<&'m Attr>) -> Option<bool> {
        Some(attr.is_some())
    }
    fn write(value: bool) -> Option<Attr> {
        value.then_some(Attr::Unit)
    }
}

impl<'m, T: AttrField<'m>> AttrField<'m> for Option<T> {
    const KIND: AttrKind = T::KIND;
    const PRESENCE: Presence = Presence::Optional;
    const NON_NEGATIVE: bool = T::NON_NEGATIVE;
    type Out = Option<T::Out>;
    #[inline]
    fn read(attr: Option<&'m Attr>) -> Option<Option<T::Out>> {
        match attr {
            Some(_) => T::read(attr).map(Some),
            None => Some(None),
        }
    }
    fn write(value: Option<T::Out>) -> Option<Attr> {
        value.and_then(T::write)
    }
}

/// A Rust enumeration whose cases are those of an [`EnumRow`]; [`enum_attr!`](crate::enum_attr) makes both.
pub trait EnumAttr: Copy + 'static {
    /// Keywords and numbers.
    const ROW: &'static EnumRow;
    /// The case of a number.
    fn from_number(number: u32) -> Option<Self>;
    /// The number of a case.
    fn number(self) -> u32;

    /// The case of a keyword.
    fn from_keyword(keyword: &str) -> Option<Self> {
        Self::ROW.value(keyword).and_then(Self::from_number)
    }

    /// The keyword of a case.
    fn keyword(self) -> &'static str {
        Self::ROW.keyword(self.number()).expect("every case has a keyword")
    }

    /// The attribute that holds a case.
    fn attr(self) -> Attr {
        Attr::Enum { row: Self::ROW, value: self.number() }
    }
}

impl EvalArgs<'_> {
    /// The attribute that is a case of this enumeration, if one is given.
    pub fn case<E: EnumAttr>(&self) -> Option<E> {
        self.attrs.iter().flatten().find_map(|attr| attr.as_enum(E::ROW)).and_then(E::from_number)
    }
}

/// Declares an enumeration attribute: a Rust enumeration and its [`EnumRow`].
///
/// ```ignore
/// ir::enum_attr! {
///     /// Among whom an atomic is atomic.
///     Scope, SCOPE "scope" { Gpu "gpu" = 1, Cta "cta" = 2, Sys "sys" = 3 }
/// }
/// ```
#[macro_export]
macro_rules! enum_attr {
    (
        $(#[$doc:meta])*
        $name:ident, $row:ident $text:literal { $($case:ident $keyword:literal = $number:literal),+ $(,)? }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u32)]
        pub enum $name {
            $(#[doc = concat!("`", $keyword, "`.")] $case = $number),+
        }

        $(#[$doc])*
        pub static $row: $crate::EnumRow =
            $crate::EnumRow { name: $text, cases: &[$(($keyword, $number)),+] };

        impl $crate::view::EnumAttr for $name {
            const ROW: &'static $crate::EnumRow = &$row;
            #[inline]
            fn from_number(number: u32) -> Option<$name> {
                match number {
                    $($number => Some($name::$case),)+
                    _ => None,
                }
            }
            #[inline]
            fn number(self) -> u32 {
                self as u32
            }
        }

        impl<'m> $crate::view::AttrField<'m> for $name {
            const KIND: $crate::AttrKind = $crate::AttrKind::Enum(&$row);
            type Out = $name;
            #[inline]
            fn read(attr: Option<&'m $crate::Attr>) -> Option<$name> {
                match attr {
                    Some($crate::Attr::Enum { value, .. }) => $crate::view::EnumAttr::from_number(*value),
                    _ => None,
                }
            }
            fn write(value: $name) -> Option<$crate::Attr> {
                Some($crate::view::EnumAttr::attr(value))
            }
        }
    };
}

/// Declares operands, attributes and results of a row, and a view that reads them by name: see [`crate::view`].
#[macro_export]
macro_rules! op_view {
    (
        $(#[$doc:meta])*
        $view:ident $(of $($row:path),+)? $(where $fits:path)? {
            $(operands { $($operand:ident: $arity:ident $constraint:path $(=> $effect:ident $(($until:path))?)?),* $(,)? })?
            $(attrs { $($attr:ident $(/ $set:ident)? $($text:literal)?: $ty:ty $(= $case:ident($default:expr))?),* $(,)? })?
            $(results { $($result:ident: $result_arity:ident $result_constraint:path),* $(,)? })?
        }
    ) => {
        $(#[$doc])*
        $(#[doc = concat!("Reads ", $("[`", stringify!($row), "`] ",)+ "by name.")])?
        #[derive(Clone, Copy)]
        pub struct $view<'m> {
            /// The module.
            pub module: &'m $crate::Module,
            /// The operation.
            pub op: $crate::Op,
        }

        #[allow(dead_code, missing_docs, reason = "what a view offers is what its row declares")]
        impl<'m> $view<'m> {
            /// The row as far as the view declares it.
            pub const ROW: $crate::OpRow = $crate::OpRow {
                operands: &[$($($crate::ValueSpec {
                    $(effect: $crate::Effect::$effect $((&$until))?,)?
                    ..$crate::view::value_spec(stringify!($operand), &$constraint, $crate::Arity::$arity)
                }),*)?],
                attrs: &[$($($crate::op_view!(@attr $crate::op_view!(@text $attr $($text)?), $ty $(, $case($default))?)),*)?],
                results: &[$($($crate::view::value_spec(stringify!($result), &$result_constraint, $crate::Arity::$result_arity)),*)?],
                ..$crate::OpRow::BASE
            };

            /// The accessors of the attributes, in the order of their slots.
            const ATTRS: &'static [&'static str] = &[$($(stringify!($attr)),*)?];

            /// Reads an operation of this kind.
            #[inline]
            pub fn new(module: &'m $crate::Module, op: $crate::Op) -> $view<'m> {
                $(debug_assert!(false $(|| module.is(op, &$row))+, "a view of another operation: {:?}", module.row(op));)?
                $(debug_assert!($fits(module.row(op)), "a view of another operation: {:?}", module.row(op));)?
                $view { module, op }
            }

            $($(
                #[inline]
                pub fn $operand(self) -> <$crate::view::$arity as $crate::view::ValueGroup<'m>>::Out {
                    let slot = const { $crate::view::GroupSlot::of(Self::ROW.operands, stringify!($operand)) };
                    <$crate::view::$arity as $crate::view::ValueGroup<'m>>::take(self.module.operands(self.op), slot)
                }
            )*)?

            $($(
                #[inline]
                pub fn $result(self) -> <$crate::view::$result_arity as $crate::view::ValueGroup<'m>>::Out {
                    let slot = const { $crate::view::GroupSlot::of(Self::ROW.results, stringify!($result)) };
                    <$crate::view::$result_arity as $crate::view::ValueGroup<'m>>::take(self.module.results(self.op), slot)
                }
            )*)?

            $($(
                #[inline]
                pub fn $attr(self) -> <$ty as $crate::view::AttrField<'m>>::Out {
                    let slot = const { $crate::view::position(Self::ATTRS, stringify!($attr)) };
                    <$ty as $crate::view::AttrField<'m>>::read(self.module.attr(self.op, slot))
                        .expect(concat!("verified: `", stringify!($attr), "` is given"))
                }

                $(pub fn $set(module: &mut $crate::Module, op: $crate::Op, value: <$ty as $crate::view::AttrField<'m>>::Out) {
                    let slot = const { $crate::view::position(Self::ATTRS, stringify!($attr)) };
                    module.set_attr(op, slot, <$ty as $crate::view::AttrField<'m>>::write(value));
                })?
            )*

            /// The attribute slots that hold these values.
            #[allow(clippy::too_many_arguments, reason = "one for each slot")]
            pub fn attrs(
                $($attr: <$ty as $crate::view::AttrField<'m>>::Out),*
            ) -> [Option<$crate::Attr>; <$view<'static>>::ROW.attrs.len()] {
                [$(<$ty as $crate::view::AttrField<'m>>::write($attr)),*]
            })?
        }

        $($crate::op_view!(@of $view, row => false $(|| row.is(&$row))+);)?
        $($crate::op_view!(@of $view, row => $fits(row));)?
    };
    (@of $view:ident, $row:ident => $fits:expr) => {
        #[allow(dead_code, reason = "what a view offers is what its row declares")]
        impl<'m> $view<'m> {
            #[inline]
            fn fits($row: &'static $crate::OpRow) -> bool {
                $fits
            }

            /// Reads an operation if it is of this kind.
            #[inline]
            pub fn of(module: &'m $crate::Module, op: $crate::Op) -> Option<$view<'m>> {
                Self::fits(module.row(op)).then(|| $view { module, op })
            }

            /// Reads the operation that a value is a result of, if it is of this kind.
            #[inline]
            pub fn def(module: &'m $crate::Module, value: $crate::Value) -> Option<$view<'m>> {
                Self::of(module, module.def_op(value)?)
            }
        }
    };
    (@text $attr:ident) => { stringify!($attr) };
    (@text $attr:ident $text:literal) => { $text };
    (@attr $text:expr, $ty:ty) => { $crate::view::attr_spec::<$ty>($text) };
    (@attr $text:expr, $ty:ty, $case:ident($default:expr)) => {
        $crate::AttrSpec { presence: $crate::Presence::$case($default), ..$crate::view::attr_spec::<$ty>($text) }
    };
}

/// A declared operand or result.
pub const fn value_spec(
    name: &'static str,
    constraint: &'static crate::module::row::TypeConstraint,
    arity: Arity,
) -> ValueSpec {
    ValueSpec { name, constraint, arity, effect: Effect::Unknown }
}

/// The declared slot of an attribute.
pub const fn attr_spec<T: AttrField<'static>>(name: &'static str) -> AttrSpec {
    AttrSpec { name, kind: T::KIND, presence: T::PRESENCE, non_negative: T::NON_NEGATIVE }
}
