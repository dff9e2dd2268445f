//! Op rows: the one declaration of an operation.
//!
//! Builder, printer, parser, verifier, folder, interpreter and reference documentation read the row; nothing else lists
//! operations. A row is a `static`, so that two operations are of the same kind exactly if their rows are the same
//! address: see [`OpRow::is`].
//!
//! ```ignore
//! pub static ADDF: OpRow = OpRow {
//!     name: "arith.addf",
//!     doc: "Sum of two floats.",
//!     operands: &[one("lhs", &FLOAT_LIKE), one("rhs", &FLOAT_LIKE)],
//!     results: &[one("result", &FLOAT_LIKE)],
//!     infer: Infer::SameAs(0),
//!     traits: Traits::PURE.and(Traits::ELEMENTWISE).and(Traits::COMMUTATIVE),
//!     format: Format::Text("$lhs, $rhs attr-dict : type($result)"),
//!     eval: Some(|_, x| Some(...)),
//!     ..OpRow::BASE
//! };
//! ```

mod effect;

use super::Module;
use crate::attr_data::AttrRow;
use crate::entity::{Op, Value};
use crate::facts::{AccessWidth, CostClass, LayoutRule, Rates};
use crate::module::traits::Traits;
use crate::text::{ParseError, Parser, Printer};
use crate::types::attr::{Attr, EnumRow};
use crate::types::{Type, TypeRow};
use smallvec::SmallVec;

pub use effect::Effect;

/// What a type must be.
#[derive(Debug)]
pub struct TypeConstraint {
    /// In words, for messages: "a float or a tensor of floats".
    pub name: &'static str,
    /// Whether a type meets it.
    pub check: fn(Type) -> bool,
}

/// Any type at all.
pub static ANY: TypeConstraint = TypeConstraint { name: "any type", check: |_| true };

/// How many values stand for one declared operand or result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arity {
    /// Exactly one.
    One,
    /// None or one. Several optional operands are filled from the left.
    Optional,
    /// Any number. Several variadic operands share what there is in equal parts.
    Variadic,
}

/// A declared operand or result.
#[derive(Debug)]
pub struct ValueSpec {
    /// Its name.
    pub name: &'static str,
    /// What its type must be.
    pub constraint: &'static TypeConstraint,
    /// How many values.
    pub arity: Arity,
    /// What becomes of the memory that it stands for.
    pub effect: Effect,
}

/// Exactly one value.
pub const fn one(name: &'static str, constraint: &'static TypeConstraint) -> ValueSpec {
    ValueSpec { name, constraint, arity: Arity::One, effect: Effect::Unknown }
}

/// None or one value.
pub const fn optional(name: &'static str, constraint: &'static TypeConstraint) -> ValueSpec {
    ValueSpec { name, constraint, arity: Arity::Optional, effect: Effect::Unknown }
}

/// Any number of values.
pub const fn variadic(name: &'static str, constraint: &'static TypeConstraint) -> ValueSpec {
    ValueSpec { name, constraint, arity: Arity::Variadic, effect: Effect::Unknown }
}

/// What may stand in an attribute slot, and so how it is written where the format names it.
#[derive(Clone, Copy, Debug)]
pub enum AttrKind {
    /// Present or not.
    Unit,
    /// `true`, `false`.
    Bool,
    /// An integer of so many bits; written `4 : i32` in a dictionary, `4` where the format names it.
    Int(u32),
    /// A text.
    Str,
    /// A type.
    Type,
    /// `@name`.
    Symbol,
    /// A bare keyword where the format names it, its number otherwise.
    Enum(&'static EnumRow),
    /// `array<iN: …>`; where the format names it, the numbers with commas between them.
    DenseArray(u32),
    /// Any attribute.
    Any,
}

/// What holds when an attribute is not given.
#[derive(Clone, Copy, Debug)]
pub enum Presence {
    /// It must be given.
    Required,
    /// The slot may stay empty.
    Optional,
    /// The slot is filled with this, and this is not written.
    Bool(bool),
    /// The slot is filled with this, and this is not written.
    Int(i64),
    /// The slot is filled with this, and this is not written.
    Enum(u32),
    /// The slot is filled with this, and this is not written.
    Str(&'static str),
}

/// An attribute slot.
#[derive(Debug)]
pub struct AttrSpec {
    /// Its name.
    pub name: &'static str,
    /// What may stand there.
    pub kind: AttrKind,
    /// What holds when it is not given.
    pub presence: Presence,
    /// Whether a number that stands there must not be negative.
    pub non_negative: bool,
}

impl AttrSpec {
    /// A slot that must be filled.
    pub const fn required(name: &'static str, kind: AttrKind) -> AttrSpec {
        AttrSpec { name, kind, presence: Presence::Required, non_negative: false }
    }

    /// A slot that may stay empty.
    pub const fn optional(name: &'static str, kind: AttrKind) -> AttrSpec {
        AttrSpec { name, kind, presence: Presence::Optional, non_negative: false }
    }

    /// The default, if there is one.
    pub fn default_attr(&self) -> Option<Attr> {
        match (self.presence, self.kind) {
            (Presence::Bool(value), _) => Some(Attr::Bool(value)),
            (Presence::Int(value), AttrKind::Int(bits)) => Some(Attr::int(value, Type::int(bits))),
            (Presence::Enum(value), AttrKind::Enum(row)) => Some(Attr::Enum { row, value }),
            (Presence::Str(value), _) => Some(Attr::str(value)),
            _ => None,
        }
    }
}

/// How the types of the results follow.
#[derive(Clone, Copy)]
pub enum Infer {
    /// They must be given.
    Explicit,
    /// There are none.
    Nothing,
    /// All results have the type of this operand.
    SameAs(usize),
    /// A rule; the error says why there is no result type.
    Rule(fn(&InferArgs<'_>) -> Result<SmallVec<[Type; 2]>, String>),
}

/// What a rule of [`Infer`] may look at.
pub struct InferArgs<'a> {
    /// The module, for the types of values.
    pub module: &'a Module,
    /// All operands.
    pub operands: &'a [Value],
    /// The attribute slots.
    pub attrs: &'a [Option<Attr>],
}

impl InferArgs<'_> {
    /// The type of an operand.
    pub fn ty(&self, index: usize) -> Type {
        self.module.ty(self.operands[index])
    }
}

/// How an operation is written behind its name.
#[derive(Clone, Copy)]
pub enum Format {
    /// `"name"(%a, %b) <{attrs}> ({regions}) : (types) -> types`.
    Generic,
    /// Directives in order, each separated by a space except around brackets and before commas: `$name` (an operand
    /// group or an attribute; one without a value is written by the words around it alone), literal words and
    /// punctuation (`,` `:` `->` `to` `[` `]` `(` `)` `*` `=`), `type($name)`, `short-type($name)` (a dialect's type
    /// without its name: `<f32>`), `types(operands)`, `functional-type` (`(operand types) -> result types`),
    /// `attr-dict` (all attributes not named elsewhere), and `( … )?` around a part that is written when its first
    /// `$name` is present (for an attribute: differs from its default).
    Text(&'static str),
    /// Hand-written.
    Custom {
        /// Writes what follows the name.
        print: fn(&mut Printer<'_>, Op),
        /// Reads what follows the name and appends the operation to the open block. The `results` names were read
        /// before; the parser binds them.
        parse: fn(&mut Parser<'_>) -> Result<Op, ParseError>,
    },
}

/// The context of [`OpRow::eval`].
pub struct EvalArgs<'a> {
    /// The attribute slots.
    pub attrs: &'a [Option<Attr>],
    /// Element types of the operands.
    pub operand_types: &'a [Type],
    /// Element type of the result.
    pub result_type: Type,
}

/// What an operation folds to.
#[derive(Clone, Debug, PartialEq)]
pub enum Fold {
    /// An existing value.
    Value(Value),
    /// A constant of the result's type.
    Attr(Attr),
}

/// Says what does not hold.
pub type VerifyRule = fn(&Module, Op) -> Result<(), String>;

/// The result on one element, on raw bits; `None` is poison.
pub type EvalRule = fn(&EvalArgs<'_>, &[u64]) -> Option<u64>;

/// How far engines may be from the exact result on binary32.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Accuracy {
    /// The least and the greatest argument for which that holds.
    pub range: [f64; 2],
    /// Units in the last place.
    pub ulp: u64,
}

/// The declaration of an operation.
pub struct OpRow {
    /// `dialect.name`.
    pub name: &'static str,
    /// What it does, for people.
    pub doc: &'static str,
    /// Its operands.
    pub operands: &'static [ValueSpec],
    /// Its attribute slots.
    pub attrs: &'static [AttrSpec],
    /// Its results.
    pub results: &'static [ValueSpec],
    /// How the types of its results follow.
    pub infer: Infer,
    /// Number of regions; `None` for any number.
    pub regions: Option<usize>,
    /// Its properties.
    pub traits: Traits,
    /// What it does to memory that no operand stands for. `Write` is also another effect that must be kept, in order.
    pub effect: Effect,
    /// An access by a block of addresses, its operand `ptr`: how much of it one instruction may cover.
    pub access: Option<AccessWidth>,
    /// What an element takes.
    pub cost: CostClass,
    /// How tools count it.
    pub rates: Rates,
    /// How the layout of its result follows.
    pub layout: LayoutRule,
    /// The raw bits of the element that changes nothing when this combines another with it.
    pub neutral: Option<fn(Type) -> Option<u64>>,
    /// How it is written.
    pub format: Format,
    /// What else must hold; the error says what does not.
    pub verify: Option<VerifyRule>,
    /// How far engines may be from `eval`; exact without it.
    pub accuracy: Option<Accuracy>,
    /// Its meaning on one element, on raw bits. `None` is poison: no defined result.
    pub eval: Option<EvalRule>,
    /// What it folds to, beyond evaluating constants.
    pub fold: Option<fn(&Module, Op) -> Option<Fold>>,
    /// Rewrites of this operation into better ones; true if something changed.
    pub patterns: &'static [fn(&mut Module, Op) -> bool],
}

impl OpRow {
    /// The defaults of a row.
    pub const BASE: OpRow = OpRow {
        name: "",
        doc: "",
        operands: &[],
        attrs: &[],
        results: &[],
        infer: Infer::Nothing,
        regions: Some(0),
        traits: Traits::NONE,
        effect: Effect::Unknown,
        access: None,
        cost: CostClass::Simple,
        rates: Rates::NONE,
        layout: LayoutRule::Free,
        neutral: None,
        format: Format::Generic,
        verify: None,
        accuracy: None,
        eval: None,
        fold: None,
        patterns: &[],
    };

    /// The row, with more properties.
    #[must_use]
    pub const fn and(self, traits: Traits) -> OpRow {
        OpRow { traits: self.traits.and(traits), ..self }
    }

    /// The row, with what an element takes as tools count it.
    #[must_use]
    pub const fn with_rates(self, own: f64, special: f64) -> OpRow {
        OpRow { rates: Rates::new(own, special), ..self }
    }

    /// The row, with how far engines may be from the exact result for arguments in a range.
    #[must_use]
    pub const fn within(self, ulp: u64, range: [f64; 2]) -> OpRow {
        OpRow { accuracy: Some(Accuracy { range, ulp }), ..self }
    }

    /// The row, with the element that changes nothing.
    #[must_use]
    pub const fn with_neutral(self, neutral: fn(Type) -> Option<u64>) -> OpRow {
        OpRow { neutral: Some(neutral), ..self }
    }

    /// The row with rewrites of its operation.
    pub const fn with_patterns(self, patterns: &'static [fn(&mut Module, Op) -> bool]) -> OpRow {
        OpRow { patterns, ..self }
    }

    /// Whether this is that row.
    pub fn is(&self, other: &OpRow) -> bool {
        std::ptr::eq(self, other)
    }

    /// The slot of an attribute.
    pub fn attr_slot(&self, name: &str) -> Option<usize> {
        self.attrs.iter().position(|attr| attr.name == name)
    }

    /// How many values each declared operand has, given how many there are in all. `None` if that cannot be.
    pub fn operand_groups(&self, count: usize) -> Option<SmallVec<[usize; 4]>> {
        group_sizes(self.operands, count)
    }

    /// How many values each declared result has, given how many there are in all. `None` if that cannot be.
    pub fn result_groups(&self, count: usize) -> Option<SmallVec<[usize; 4]>> {
        group_sizes(self.results, count)
    }
}

fn group_sizes(specs: &[ValueSpec], count: usize) -> Option<SmallVec<[usize; 4]>> {
    // As many as are declared: one in each group.
    if count == specs.len() {
        return Some(SmallVec::from_elem(1, count));
    }
    let singles = specs.iter().filter(|spec| spec.arity == Arity::One).count();
    let variadics = specs.iter().filter(|spec| spec.arity == Arity::Variadic).count();
    let mut rest = count.checked_sub(singles)?;
    let mut sizes = SmallVec::new();
    let mut optional_used = 0;
    for spec in specs {
        if spec.arity == Arity::Optional && rest > optional_used {
            optional_used += 1;
        }
    }
    rest -= optional_used;
    let share = rest.checked_div(variadics).unwrap_or(0);
    if share * variadics != rest {
        return None;
    }
    for spec in specs {
        sizes.push(match spec.arity {
            Arity::One => 1,
            Arity::Variadic => share,
            Arity::Optional if optional_used > 0 => {
                optional_used -= 1;
                1
            }
            Arity::Optional => 0,
        });
    }
    Some(sizes)
}

impl std::fmt::Debug for OpRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// A family of operations and types that belong together.
pub struct Dialect {
    /// The prefix of its names.
    pub name: &'static str,
    /// Its operations, by family.
    pub families: &'static [&'static [&'static OpRow]],
    /// Its types.
    pub types: &'static [&'static TypeRow],
    /// Its attributes.
    pub attrs: &'static [&'static AttrRow],
}

/// All dialects that a parser knows.
pub struct Registry {
    ops: rustc_hash::FxHashMap<&'static str, &'static OpRow>,
    types: rustc_hash::FxHashMap<&'static str, &'static TypeRow>,
    attrs: rustc_hash::FxHashMap<&'static str, &'static AttrRow>,
    dialects: Vec<&'static str>,
    constant: &'static OpRow,
    module: &'static OpRow,
    rules: ConstantRules,
    rule: Option<VerifyRule>,
    structure: Option<crate::text::Structure>,
}

/// How constants of dialect types are made of raw bits: what generic folding must know.
#[derive(Clone, Copy)]
pub struct ConstantRules {
    /// The element type of a type; a scalar is its own.
    pub elem: fn(Type) -> Type,
    /// The raw bits of the element of a constant whose elements are all equal.
    pub to_bits: fn(&Attr) -> Option<u64>,
    /// A constant of a type, filled with an element given by its raw bits.
    pub to_attr: fn(Type, u64) -> Option<Attr>,
}

impl ConstantRules {
    /// See the field.
    pub fn elem(&self, ty: Type) -> Type {
        (self.elem)(ty)
    }

    /// See the field.
    pub fn to_bits(&self, attr: &Attr) -> Option<u64> {
        (self.to_bits)(attr)
    }

    /// See the field.
    pub fn to_attr(&self, ty: Type, bits: u64) -> Option<Attr> {
        (self.to_attr)(ty, bits)
    }
}

impl Registry {
    /// Collects dialects. `constant` is the operation that holds a constant, `module` the one that a file's outermost
    /// braces stand for.
    pub fn new(
        dialects: &[&'static Dialect],
        constant: &'static OpRow,
        module: &'static OpRow,
        rules: ConstantRules,
    ) -> Registry {
        let rows = || dialects.iter().flat_map(|d| d.families.iter().copied().flatten().copied());
        if cfg!(debug_assertions) {
            rows().for_each(crate::text::check_format);
        }
        let ops = rows().map(|row| (row.name, row)).collect();
        let types = dialects.iter().flat_map(|d| d.types.iter().map(|row| (row.name, *row))).collect();
        let attrs = dialects.iter().flat_map(|d| d.attrs.iter().map(|row| (row.name, *row))).collect();
        let dialects = dialects.iter().map(|dialect| dialect.name).collect();
        Registry { ops, types, attrs, dialects, constant, module, rules, rule: None, structure: None }
    }

    /// With a rule that every operation must meet besides that of its row.
    #[must_use]
    pub fn with_rule(mut self, rule: VerifyRule) -> Registry {
        self.rule = Some(rule);
        self
    }

    /// With what makes structured control flow of branches between blocks, which texts may have.
    #[must_use]
    pub fn with_structure(mut self, structure: crate::text::Structure) -> Registry {
        self.structure = Some(structure);
        self
    }

    /// What makes structured control flow of branches.
    pub fn structure(&self) -> Option<crate::text::Structure> {
        self.structure
    }

    /// The rule that every operation must meet.
    pub fn rule(&self) -> Option<VerifyRule> {
        self.rule
    }

    /// The prefixes of the dialects' names.
    pub fn dialects(&self) -> &[&'static str] {
        &self.dialects
    }

    /// The operation of this name.
    pub fn op(&self, name: &str) -> Option<&'static OpRow> {
        self.ops.get(name).copied()
    }

    /// The type of this name.
    pub fn ty(&self, name: &str) -> Option<&'static TypeRow> {
        self.types.get(name).copied()
    }

    /// The attribute of this name.
    pub fn attr(&self, name: &str) -> Option<&'static AttrRow> {
        self.attrs.get(name).copied()
    }

    /// All types that dialects declare, by name.
    pub fn types(&self) -> Vec<&'static TypeRow> {
        let mut rows: Vec<_> = self.types.values().copied().collect();
        rows.sort_by_key(|row| row.name);
        rows
    }

    /// The operation that holds a constant.
    pub fn constant(&self) -> &'static OpRow {
        self.constant
    }

    /// How constants are made of raw bits.
    pub fn rules(&self) -> &ConstantRules {
        &self.rules
    }

    /// The operation that holds a file.
    pub fn module(&self) -> &'static OpRow {
        self.module
    }

    /// All operations, by name.
    pub fn ops(&self) -> Vec<&'static OpRow> {
        let mut rows: Vec<_> = self.ops.values().copied().collect();
        rows.sort_by_key(|row| row.name);
        rows
    }
}
