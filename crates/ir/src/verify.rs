//! Checks the rules of the IR and those of each row; reports all violations that it can.

use crate::diagnostic::Diagnostic;
use crate::entity::{Block, Op, Value};
use crate::module::Module;
use crate::module::row::{Arity, AttrKind, AttrSpec, Infer, InferArgs, Presence, ValueSpec};
use crate::module::traits::Traits;
use crate::types::attr::Attr;
use crate::types::{Type, TypeKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// Checks a program.
///
/// # Errors
/// Everything found wrong, in the order of the program.
pub fn verify(module: &Module) -> Result<(), Vec<Diagnostic>> {
    check(module, Depth::Rules)
}

/// Checks the structure of a program alone, which is what code that reads it relies on: how many operands, results,
/// regions and attributes each operation has, that values are defined before they are used, that blocks end, and that
/// use lists are exact. Types, the kinds of attributes and the rules of rows are left out.
///
/// # Errors
/// Everything found wrong, in the order of the program.
pub fn verify_structure(module: &Module) -> Result<(), Vec<Diagnostic>> {
    check(module, Depth::Structure)
}

/// How much is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Structure,
    Rules,
}

fn check(module: &Module, depth: Depth) -> Result<(), Vec<Diagnostic>> {
    let values = module.num_values();
    let mut verifier = Verifier {
        module,
        depth,
        errors: Vec::new(),
        visible: vec![false; values],
        counted: vec![0; values],
        valid_types: FxHashSet::default(),
    };
    verifier.op(module.top());
    if depth == Depth::Rules {
        verifier.symbols();
    }
    verifier.use_lists();
    if verifier.errors.is_empty() { Ok(()) } else { Err(verifier.errors) }
}

struct Verifier<'m> {
    module: &'m Module,
    depth: Depth,
    errors: Vec<Diagnostic>,
    /// Whether a value may be used at the place that is looked at, by its index.
    visible: Vec<bool>,
    /// How often a value was met as an operand, by its index.
    counted: Vec<usize>,
    /// Types whose parameters were checked and found right.
    valid_types: FxHashSet<Type>,
}

impl Verifier<'_> {
    fn error(&mut self, op: Op, message: &str) {
        let text = format!("'{}' {message}", self.module.row(op).name);
        self.errors.push(Diagnostic::new(text).at(self.module.locs.describe(self.module.loc(op))));
    }

    fn op(&mut self, op: Op) {
        let before = self.errors.len();
        let rules = self.depth == Depth::Rules;
        self.uses(op);
        self.counts(op);
        if rules {
            self.types(op);
        }
        if self.errors.len() == before {
            self.attributes(op);
            self.regions(op);
        }
        // A row's own rule may count on all of the above.
        if rules && self.errors.len() == before {
            if let Some(Err(message)) = self.module.row(op).verify.map(|rule| rule(self.module, op)) {
                self.error(op, &format!(": {message}"));
            }
            let holds = self.errors.len() == before;
            let rule = self.module.registry().rule().filter(|_| holds);
            if let Some(Err(message)) = rule.map(|rule| rule(self.module, op)) {
                self.error(op, &format!(": {message}"));
            }
            self.result_types(op);
        }
        self.show(self.module.results(op), true);
    }

    /// From here on, values may be used or not.
    fn show(&mut self, values: &[Value], visible: bool) {
        for value in values {
            self.visible[value.as_u32() as usize] = visible;
        }
    }

    fn uses(&mut self, op: Op) {
        for (index, &value) in self.module.operands(op).iter().enumerate() {
            let at = value.as_u32() as usize;
            if !self.visible[at] {
                self.error(op, &format!("uses as operand {index} a value that is not defined before it"));
            }
            self.counted[at] += 1;
        }
    }

    fn counts(&mut self, op: Op) {
        let (module, row) = (self.module, self.module.row(op));
        let (operands, results) = (module.operands(op).len(), module.results(op).len());
        if row.operand_groups(operands).is_none() {
            self.error(op, &format!("cannot have {operands} operands"));
        }
        if row.result_groups(results).is_none() {
            self.error(op, &format!("cannot have {results} results"));
        }
        if row.regions.is_some_and(|count| count != module.regions(op).len()) {
            self.error(op, &format!("cannot have {} regions", module.regions(op).len()));
        }
        if module.attrs(op).len() != row.attrs.len() {
            self.error(op, "has not as many attribute slots as it declares");
        }
    }

    /// Types of operands and results, of which there are as many as declared.
    fn types(&mut self, op: Op) {
        let (module, row) = (self.module, self.module.row(op));
        if let Some(sizes) = row.operand_groups(module.operands(op).len()) {
            self.constraints(op, "operand", row.operands, &sizes, module.operands(op));
        }
        if let Some(sizes) = row.result_groups(module.results(op).len()) {
            self.constraints(op, "result", row.results, &sizes, module.results(op));
        }
        for &value in module.results(op) {
            self.check_type(op, module.ty(value));
        }
    }

    fn check_type(&mut self, op: Op, ty: Type) {
        let TypeKind::Dialect { row, params } = ty.kind() else { return };
        if self.valid_types.contains(&ty) {
            return;
        }
        match (row.verify)(params) {
            Ok(()) => _ = self.valid_types.insert(ty),
            Err(message) => self.error(op, &format!("has a value of an invalid type: {message}")),
        }
    }

    fn constraints(&mut self, op: Op, what: &str, specs: &[ValueSpec], sizes: &[usize], values: &[Value]) {
        let mut rest = values.iter();
        for (spec, &size) in specs.iter().zip(sizes) {
            for &value in rest.by_ref().take(size) {
                let ty = self.module.ty(value);
                if !(spec.constraint.check)(ty) {
                    let message =
                        format!("{what} `{}` must be {}, found {ty}", spec.name, spec.constraint.name);
                    self.error(op, &message);
                }
            }
        }
        debug_assert!(specs.iter().any(|spec| spec.arity != Arity::One) || rest.next().is_none());
    }

    fn attributes(&mut self, op: Op) {
        for (spec, attr) in self.module.row(op).attrs.iter().zip(self.module.attrs(op)) {
            match attr {
                Some(attr) if self.depth == Depth::Rules && !fits(spec, attr) => {
                    self.error(op, &format!("attribute `{}` is of the wrong kind", spec.name));
                }
                Some(attr) if spec.non_negative && attr.as_int().is_some_and(|value| value < 0) => {
                    self.error(op, &format!("attribute `{}` is negative", spec.name));
                }
                None if !matches!(spec.presence, Presence::Optional) => {
                    self.error(op, &format!("attribute `{}` is missing", spec.name));
                }
                Some(_) | None => {}
            }
        }
    }

    fn regions(&mut self, op: Op) {
        let hidden = self.module.has(op, Traits::ISOLATED).then(|| {
            let nothing = vec![false; self.visible.len()];
            std::mem::replace(&mut self.visible, nothing)
        });
        for (index, &region) in self.module.regions(op).iter().enumerate() {
            match self.module.blocks(region) {
                // Only a later region may be left out, such as an `else`.
                [] if index > 0 => {}
                [block] => self.block(op, *block),
                blocks => {
                    self.error(op, &format!("must have one block in region {index}, not {}", blocks.len()))
                }
            }
        }
        if let Some(hidden) = hidden {
            self.visible = hidden;
        }
    }

    fn block(&mut self, owner: Op, block: Block) {
        let module = self.module;
        let args = module.args(block);
        self.show(args, true);
        if self.depth == Depth::Rules {
            for &arg in args {
                self.check_type(owner, module.ty(arg));
            }
        }
        for op in module.ops(block) {
            self.op(op);
            if module.has(op, Traits::TERMINATOR) && module.next(op).is_some() {
                self.error(op, "must be the last operation of its block");
            }
        }
        let ends = module.last_op(block).is_some_and(|op| module.has(op, Traits::TERMINATOR));
        if !ends && owner != module.top() {
            self.error(owner, "has a block that does not end in a terminator");
        }
        for op in module.ops(block) {
            self.show(module.results(op), false);
        }
        self.show(args, false);
    }

    fn result_types(&mut self, op: Op) {
        let (module, row) = (self.module, self.module.row(op));
        match row.infer {
            Infer::SameAs(index) => {
                let expected = module.operands(op).get(index).map(|&value| module.ty(value));
                if module.results(op).iter().any(|&value| Some(module.ty(value)) != expected) {
                    self.error(op, "must have results of the type of its operand");
                }
            }
            Infer::Rule(rule) => {
                let args = InferArgs { module, operands: module.operands(op), attrs: module.attrs(op) };
                let found = module.results(op).iter().map(|&value| module.ty(value));
                match rule(&args) {
                    Err(message) => self.error(op, &format!(": {message}")),
                    Ok(expected)
                        if expected.len() != found.len()
                            || !expected.iter().zip(found.clone()).all(|(&a, b)| alike(a, b)) =>
                    {
                        let found: Vec<Type> = found.collect();
                        self.error(op, &format!("must have results of types {expected:?}, has {found:?}"));
                    }
                    Ok(_) => {}
                }
            }
            Infer::Explicit | Infer::Nothing => {}
        }
    }

    /// Functions have names of their own and stand at the top; calls fit what they call.
    fn symbols(&mut self) {
        let module = self.module;
        let mut known: FxHashMap<&str, Op> = FxHashMap::default();
        for op in module.ops(module.body()) {
            match module.symbol_name(op) {
                None => self.error(op, "cannot stand outside a function"),
                Some(name) if known.insert(name, op).is_some() => {
                    self.error(op, &format!("defines @{name} a second time"));
                }
                Some(_) => {}
            }
        }
        for op in module.walk(module.top()) {
            if module.has(op, Traits::SYMBOL) && module.block_of(op) != Some(module.body()) {
                self.error(op, "must stand at the top");
            }
            if module.has(op, Traits::CALL) {
                self.call(op, &known);
            }
        }
    }

    fn call(&mut self, op: Op, known: &FxHashMap<&str, Op>) {
        let module = self.module;
        // The check of attributes says where none is given.
        let Some(name) = module.callee(op) else { return };
        let Some(&callee) = known.get(name) else {
            return self.error(op, &format!("calls @{name}, which is not there"));
        };
        let Some(ty) = module.function_type(callee) else { return };
        let TypeKind::Function { params, results } = ty.kind() else { return };
        let types = |values: &[Value]| values.iter().map(|&value| module.ty(value)).collect::<Vec<Type>>();
        if types(module.operands(op)) != *params || types(module.results(op)) != *results {
            self.error(op, &format!("does not fit @{name}, which is of type {ty}"));
        }
    }

    /// The use list of a value holds exactly the operands that are it.
    fn use_lists(&mut self) {
        let module = self.module;
        for (index, &count) in self.counted.iter().enumerate().filter(|(_, count)| **count > 0) {
            let value = Value::from_u32(index as u32);
            let listed = module.uses(value);
            let true_uses =
                listed.iter().all(|&(op, index)| module.operands(op).get(index as usize) == Some(&value));
            if listed.len() != count || !true_uses {
                let what =
                    format!("a value's list of uses is wrong: {count} uses, {} are listed", listed.len());
                self.errors.push(Diagnostic::new(what));
            }
        }
    }
}

/// Whether two types are the same but for where the elements live, which inference leaves open.
fn alike(a: Type, b: Type) -> bool {
    let row = |ty: Type| if let TypeKind::Dialect { row, .. } = ty.kind() { Some(row.name) } else { None };
    a == b
        || (row(a) == row(b)
            && a.shape_and_element().is_some()
            && a.shape_and_element() == b.shape_and_element())
}

fn fits(spec: &AttrSpec, attr: &Attr) -> bool {
    match (spec.kind, attr) {
        (AttrKind::Unit, Attr::Unit)
        | (AttrKind::Bool, Attr::Bool(_))
        | (AttrKind::Str, Attr::Str(_))
        | (AttrKind::Type, Attr::Type(_))
        | (AttrKind::Symbol, Attr::Symbol(_))
        | (AttrKind::Any, _) => true,
        (AttrKind::Int(bits), Attr::Int { ty, .. }) => ty.as_int() == Some(bits),
        (AttrKind::DenseArray(bits), Attr::DenseArray { elem, .. }) => elem.as_int() == Some(bits),
        (AttrKind::Enum(row), Attr::Enum { row: own, value }) => row == *own && row.keyword(*value).is_some(),
        _ => false,
    }
}
