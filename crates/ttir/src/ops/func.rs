//! Files, functions, calls.

use crate::types::elem;
use ir::text::{Arg, ParseError, Parser, Printer, RegionStyle};
use ir::view::{Str, Symbol, TypeAttr};
use ir::{
    ANY, Attr, Block, DeclaredKey, Effect, FloatKind, Format, Infer, Module, Op, OpInit, OpRow, Traits, Type,
    TypeKind, Value,
};
use smallvec::SmallVec;

/// Rows of this file.
pub(super) const ROWS: &[&OpRow] = &[&MODULE, &FUNC, &RETURN, &CALL];

/// Attribute of a parameter: the value is a multiple of this (an address: in bytes).
pub static DIVISIBILITY: DeclaredKey =
    DeclaredKey::new("tt.divisibility", "The value is a multiple of this; an address, in bytes.");
/// Attribute of a value: so many neighbouring elements count up by one.
pub static CONTIGUITY: DeclaredKey =
    DeclaredKey::new("tt.contiguity", "So many neighbouring elements count up by one.");
/// Attribute of a value: so many neighbouring elements are equal.
pub static CONSTANCY: DeclaredKey =
    DeclaredKey::new("tt.constancy", "So many neighbouring elements are equal.");
/// Attribute of a pointer parameter: offsets fit so many bits.
pub static POINTER_RANGE: DeclaredKey = DeclaredKey::new("tt.pointer_range", "Offsets fit so many bits.");

/// Attribute of a tensor descriptor that is a parameter: outside the tensor it reads NaN.
pub static PADS_NAN: DeclaredKey = DeclaredKey::new("tt.pads_nan", "Outside the tensor it reads NaN.");
/// Attribute of a tensor descriptor that is a parameter: what it reads is rounded to ten bits of mantissa.
pub static ROUNDS_TO_TF32: DeclaredKey =
    DeclaredKey::new("tt.rounds_to_tf32", "What it reads is rounded to ten bits of mantissa.");

/// A file.
pub static MODULE: OpRow = OpRow {
    name: "builtin.module",
    doc: "A file of functions.",
    regions: Some(1),
    traits: Traits::ISOLATED,
    format: Format::Custom { print: print_module, parse: parse_module },
    ..OpRow::BASE
};

/// Slots of [`FUNC`]'s attributes.
mod func_attr {
    /// `sym_name`.
    pub(super) const NAME: usize = 0;
    /// `function_type`.
    pub(super) const TYPE: usize = 1;
    /// `sym_visibility`: `public` for kernels, `private` for the others.
    pub(super) const VISIBILITY: usize = 2;
}

ir::op_view! {
    FuncOp of FUNC {
        attrs {
            name "sym_name": Symbol,
            ty / set_ty "function_type": TypeAttr,
            visibility / set_visibility "sym_visibility": Option<Str>,
            noinline: Option<bool>,
        }
    }
}

/// A function.
pub static FUNC: OpRow = OpRow {
    name: "tt.func",
    doc: "A function; a public one is a kernel.",
    regions: Some(1),
    traits: Traits::ISOLATED.and(Traits::SYMBOL),
    format: Format::Custom { print: print_func, parse: parse_func },
    verify: Some(verify_func),
    ..FuncOp::ROW
};

impl FuncOp<'_> {
    /// Makes a function's type that of the arguments that its body takes.
    pub fn follow_arguments(module: &mut Module, op: Op) {
        let func = FuncOp::new(module, op);
        let params = func.params().iter().map(|&param| module.ty(param)).collect();
        let ty = Type::function(params, func.result_types().to_vec());
        FuncOp::set_ty(module, op, ty);
    }
}

fn verify_func(module: &Module, op: Op) -> Result<(), String> {
    let func = FuncOp::new(module, op);
    let TypeKind::Function { params, results } = func.ty().kind() else {
        return Err(format!("{} is not a function type", func.ty()));
    };
    if func.visibility().is_some_and(|word| !VISIBILITIES.contains(&word)) {
        return Err(format!("`sym_visibility` must be one of {VISIBILITIES:?}"));
    }
    check_rounding(module, func)?;
    let types = |values: &[Value]| values.iter().map(|&value| module.ty(value)).collect::<Vec<_>>();
    let args = types(func.params());
    if args != *params {
        return Err(format!("the body takes {args:?}, the type says {params:?}"));
    }
    let last = module.last_op(func.entry()).and_then(|last| ReturnOp::of(module, last));
    let found = types(last.ok_or("the body must end in tt.return")?.srcs());
    if found == *results { Ok(()) } else { Err(format!("returns {found:?}, the type says {results:?}")) }
}

/// Rounding to ten bits of mantissa is there for binary32 alone.
fn check_rounding(module: &Module, func: FuncOp<'_>) -> Result<(), String> {
    for (index, &param) in func.params().iter().enumerate() {
        let mut attrs = module.arg_attrs(func.entry(), index).iter();
        let rounds =
            attrs.any(|(key, attr)| key.name() == ROUNDS_TO_TF32.name && attr.as_bool() == Some(true));
        let ty = module.ty(param);
        if rounds && elem(ty).as_float() != Some(FloatKind::F32) {
            let name = ROUNDS_TO_TF32.name;
            return Err(format!("`{name}` is there for descriptors of f32, and parameter {index} is {ty}"));
        }
    }
    Ok(())
}

/// Who may call a function.
pub const VISIBILITIES: [&str; 3] = ["public", "private", "nested"];

impl<'m> FuncOp<'m> {
    /// The block that is the function's body.
    pub fn entry(self) -> Block {
        self.module.entry_of(self.op)
    }

    /// The parameters, in the body.
    pub fn params(self) -> &'m [Value] {
        self.module.args(self.entry())
    }

    /// The types of what it returns.
    pub fn result_types(self) -> &'static [Type] {
        match self.ty().kind() {
            TypeKind::Function { results, .. } => results,
            other => unreachable!("verified: a function has a function type, not {other:?}"),
        }
    }

    /// Whether it is launched, not only called.
    pub fn is_kernel(self) -> bool {
        self.visibility() != Some("private")
    }
}

/// All functions of a module.
pub fn functions(module: &Module) -> impl Iterator<Item = FuncOp<'_>> {
    module.ops(module.body()).filter_map(|op| FuncOp::of(module, op))
}

/// What can be launched: several where a file was written by hand.
pub fn kernels(module: &Module) -> impl Iterator<Item = FuncOp<'_>> {
    functions(module).filter(|func| func.is_kernel())
}

/// The kernel of a module that is compiled.
///
/// # Errors
/// When the module has none or several.
pub fn kernel_of(module: &Module) -> Result<FuncOp<'_>, String> {
    let mut all = kernels(module);
    match (all.next(), all.next()) {
        (Some(kernel), None) => Ok(kernel),
        (None, _) => Err("the module has no kernel: no function that is not private".into()),
        (Some(one), Some(other)) => {
            Err(format!("the module has several kernels: @{} and @{}", one.name(), other.name()))
        }
    }
}

ir::op_view! {
    ReturnOp of RETURN {
        operands { srcs: Variadic ANY }
    }
}

/// Ends a function.
pub static RETURN: OpRow = OpRow {
    name: "tt.return",
    doc: "Ends a function with its results.",
    traits: Traits::TERMINATOR.and(Traits::PURE),
    format: Format::Text("attr-dict ($srcs : type($srcs))?"),
    ..ReturnOp::ROW
};

ir::op_view! {
    CallOp of CALL {
        operands { operands: Variadic ANY }
        attrs { callee: Symbol }
        results { results: Variadic ANY }
    }
}

/// A call.
pub static CALL: OpRow = OpRow {
    name: "tt.call",
    doc: "Calls a function of the same file.",
    infer: Infer::Explicit,
    traits: Traits::CALL,
    effect: Effect::Atomic,
    format: Format::Text("$callee ( $operands ) attr-dict : functional-type"),
    ..CallOp::ROW
};

/// `attributes {…} { … }`.
fn print_module(printer: &mut Printer<'_>, op: Op) {
    printer.attr_dict_with_keyword(op, &[]);
    printer.text(" ");
    printer.region(printer.module().region(op, 0), RegionStyle::BODY);
}

fn parse_module(parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    if parser.peek("@") {
        parser.parse_symbol()?;
    }
    let attrs = if parser.accept("attributes") { parser.parse_dict()? } else { Vec::new() };
    let op = parser.append(&MODULE, OpInit { regions: 1, ..OpInit::default() });
    parser.set_attrs(op, attrs)?;
    let region = parser.module.region(op, 0);
    parser.region(region, &[])?;
    Ok(op)
}

/// `public @name(%a: type {…}, …) -> type attributes {…} { … }`.
fn print_func(printer: &mut Printer<'_>, op: Op) {
    let module = printer.module();
    printer.text(" ");
    if let Some(Attr::Str(visibility)) = module.attr(op, func_attr::VISIBILITY) {
        printer.text(visibility);
        printer.text(" ");
    }
    let name = module.attr(op, func_attr::NAME).and_then(Attr::as_str).unwrap_or_default();
    printer.symbol(name);
    let region = module.region(op, 0);
    let entry = module.entry(region);
    printer.text("(");
    printer.list(0..module.args(entry).len(), |printer, index| printer.arg(entry, index));
    printer.text(")");
    if let Some(TypeKind::Function { results, .. }) = function_type(module.attr(op, func_attr::TYPE))
        && !results.is_empty()
    {
        printer.text(" -> ");
        printer.result_types(results);
    }
    printer.attr_dict_with_keyword(op, &[func_attr::NAME, func_attr::TYPE, func_attr::VISIBILITY]);
    printer.text(" ");
    printer.region(region, RegionStyle::BODY);
}

fn function_type(attr: Option<&Attr>) -> Option<&'static TypeKind> {
    match attr {
        Some(Attr::Type(ty)) => Some(ty.kind()),
        _ => None,
    }
}

fn parse_func(parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    let visibility = ["public", "private", "nested"].into_iter().find(|word| parser.accept(word));
    let name = parser.parse_symbol()?;
    parser.expect("(")?;
    let args: Vec<Arg<'_>> = parser.list(")", Parser::arg)?;
    let results = if parser.accept("->") { parse_results(parser)? } else { Vec::new() };
    let attrs = if parser.accept("attributes") { parser.parse_dict()? } else { Vec::new() };
    let ty = Type::function(args.iter().map(|arg| arg.ty).collect(), results);
    let slots = [Some(Attr::Symbol(name)), Some(Attr::Type(ty)), visibility.map(Attr::str)];
    let init = OpInit { attrs: SmallVec::from_iter(slots), regions: 1, ..OpInit::default() };
    let op = parser.append(&FUNC, init);
    parser.set_attrs(op, attrs)?;
    let region = parser.module.region(op, 0);
    parser.region(region, &args)?;
    Ok(op)
}

/// One type, or several in parentheses, each with attributes that are not kept.
fn parse_results(parser: &mut Parser<'_>) -> Result<Vec<Type>, ParseError> {
    if !parser.accept("(") {
        return Ok(vec![parser.parse_type()?]);
    }
    parser.list(")", |parser| {
        let ty = parser.parse_type()?;
        parser.optional_attr_dict()?;
        Ok(ty)
    })
}
