//! Checks the rules of the IR and those of each row; reports all violations that it can.

use crate::attr::Attr;
use crate::diagnostic::Diagnostic;
use crate::entity::{Block, Op, Value};
use crate::module::Module;
use crate::row::{Arity, AttrKind, AttrSpec, Infer, InferArgs, Presence, Traits, ValueSpec};
use crate::types::TypeKind;
use rustc_hash::FxHashSet;

/// Checks a program.
///
/// # Errors
/// Everything found wrong, in the order of the program.
pub fn verify(module: &Module) -> Result<(), Vec<Diagnostic>> {
    let mut verifier = Verifier { module, errors: Vec::new(), visible: FxHashSet::default() };
    verifier.op(module.top());
    verifier.symbols();
    if verifier.errors.is_empty() { Ok(()) } else { Err(verifier.errors) }
}

struct Verifier<'m> {
    module: &'m Module,
    errors: Vec<Diagnostic>,
    visible: FxHashSet<Value>,
}

impl Verifier<'_> {
    fn error(&mut self, op: Op, message: &str) {
        let text = format!("'{}' {message}", self.module.row(op).name);
        self.errors.push(Diagnostic::new(text).at(self.module.locs.describe(self.module.loc(op))));
    }

    fn op(&mut self, op: Op) {
        let before = self.errors.len();
        self.uses(op);
        self.shape(op);
        if self.errors.len() == before {
            self.attributes(op);
            self.regions(op);
        }
        // A row's own rule may count on all of the above.
        if self.errors.len() == before {
            if let Some(Err(message)) = self.module.row(op).verify.map(|rule| rule(self.module, op)) {
                self.error(op, &format!(": {message}"));
            }
            self.result_types(op);
        }
        self.visible.extend(self.module.results(op).iter().copied());
    }

    fn uses(&mut self, op: Op) {
        for (index, &value) in self.module.operands(op).iter().enumerate() {
            if !self.visible.contains(&value) {
                self.error(op, &format!("uses as operand {index} a value that is not defined before it"));
            }
            if !self.module.uses(value).contains(&(op, index as u32)) {
                self.error(op, &format!("is missing from the use list of its operand {index}"));
            }
        }
    }

    fn shape(&mut self, op: Op) {
        let (module, row) = (self.module, self.module.row(op));
        let operands = row.operand_groups(module.operands(op).len());
        let results = row.result_groups(module.results(op).len());
        match operands {
            Some(sizes) => self.constraints(op, "operand", row.operands, &sizes, module.operands(op)),
            None => self.error(op, &format!("cannot have {} operands", module.operands(op).len())),
        }
        match results {
            Some(sizes) => self.constraints(op, "result", row.results, &sizes, module.results(op)),
            None => self.error(op, &format!("cannot have {} results", module.results(op).len())),
        }
        for &value in module.results(op) {
            if let TypeKind::Dialect { row, params } = module.ty(value).kind()
                && let Err(message) = (row.verify)(params)
            {
                self.error(op, &format!("has a result of an invalid type: {message}"));
            }
        }
        if row.regions.is_some_and(|count| count != module.regions(op).len()) {
            self.error(op, &format!("cannot have {} regions", module.regions(op).len()));
        }
        if module.attrs(op).len() != row.attrs.len() {
            self.error(op, "has not as many attribute slots as it declares");
        }
    }

    fn constraints(&mut self, op: Op, what: &str, specs: &[ValueSpec], sizes: &[usize], values: &[Value]) {
        let mut rest = values.iter();
        for (spec, &size) in specs.iter().zip(sizes) {
            for &value in rest.by_ref().take(size) {
                let ty = self.module.ty(value);
                if !(spec.constraint.check)(ty) {
                    let message = format!("{what} `{}` must be {}, found {ty}", spec.name, spec.constraint.name);
                    self.error(op, &message);
                }
            }
        }
        debug_assert!(specs.iter().any(|spec| spec.arity != Arity::One) || rest.next().is_none());
    }

    fn attributes(&mut self, op: Op) {
        for (spec, attr) in self.module.row(op).attrs.iter().zip(self.module.attrs(op)) {
            match attr {
                Some(attr) if fits(spec, attr) => {}
                Some(_) => self.error(op, &format!("attribute `{}` is of the wrong kind", spec.name)),
                None if matches!(spec.presence, Presence::Required) => {
                    self.error(op, &format!("attribute `{}` is missing", spec.name));
                }
                None => {}
            }
        }
    }

    fn regions(&mut self, op: Op) {
        let hidden =
            self.module.has(op, Traits::ISOLATED).then(|| std::mem::take(&mut self.visible));
        for &region in self.module.regions(op) {
            for &block in self.module.blocks(region) {
                self.block(op, block);
            }
        }
        if let Some(hidden) = hidden {
            self.visible = hidden;
        }
    }

    fn block(&mut self, owner: Op, block: Block) {
        let args = self.module.args(block).to_vec();
        self.visible.extend(args.iter().copied());
        let ops: Vec<Op> = self.module.ops(block).collect();
        for &op in &ops {
            self.op(op);
            if self.module.has(op, Traits::TERMINATOR) && self.module.next(op).is_some() {
                self.error(op, "must be the last operation of its block");
            }
        }
        let ends = ops.last().is_some_and(|&op| self.module.has(op, Traits::TERMINATOR));
        if !ends && owner != self.module.top() {
            self.error(owner, "has a block that does not end in a terminator");
        }
        for op in ops {
            for result in self.module.results(op) {
                self.visible.remove(result);
            }
        }
        for arg in args {
            self.visible.remove(&arg);
        }
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
                if let Err(message) = rule(&args) {
                    self.error(op, &format!(": {message}"));
                }
            }
            Infer::Explicit | Infer::Nothing => {}
        }
    }

    fn symbols(&mut self) {
        let mut seen = FxHashSet::default();
        for op in self.module.ops(self.module.body()).collect::<Vec<_>>() {
            let name = self.module.attr_named(op, "sym_name").and_then(Attr::as_str).map(str::to_owned);
            if let Some(name) = name
                && !seen.insert(name.clone())
            {
                self.error(op, &format!("defines @{name} a second time"));
            }
        }
    }
}

fn fits(spec: &AttrSpec, attr: &Attr) -> bool {
    match (spec.kind, attr) {
        (AttrKind::Unit, Attr::Unit)
        | (AttrKind::Bool, Attr::Bool(_))
        | (AttrKind::Str, Attr::Str(_))
        | (AttrKind::Type, Attr::Type(_))
        | (AttrKind::Symbol, Attr::Symbol(_) | Attr::Str(_))
        | (AttrKind::DenseArray(_), Attr::DenseArray { .. })
        | (AttrKind::Any, _) => true,
        (AttrKind::Int(bits), Attr::Int { ty, .. }) => ty.as_int() == Some(bits),
        (AttrKind::Enum(row), Attr::Enum { row: own, value }) => row == *own && row.keyword(*value).is_some(),
        _ => false,
    }
}
