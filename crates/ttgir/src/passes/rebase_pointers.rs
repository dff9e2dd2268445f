//! Addresses in memory that 32-bit offsets reach become a parameter plus one offset.
//!
//! ```text
//! %q = tt.addptr (tt.splat %p), %i                  %b = tt.splat %p
//! scf.for … iter_args(%a = %q) {                    scf.for … iter_args(%o = %i) {
//!   tt.load %a                                =>      tt.load (tt.addptr %b, %o)
//!   scf.yield (tt.addptr %a, %s)                      scf.yield (arith.addi %o, %s)
//! }                                                 }
//! ```
//!
//! The parameter says so by `tt.pointer_range = 32`. Offsets are added modulo 2^32, which loses nothing of those that
//! an access really takes place at. Loops carry offsets in place of addresses, which other passes then drop. Left out:
//! scalars, atomics, addresses that come out of branches or of loops whose condition is computed.

use super::carried::{carry, yield_as};
use ir::pass::PassRow;
use ir::{Attr, Builder, Diagnostic, Module, Op, Traits, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use ttir::ops::access::AccessOp;
use ttir::ops::arith_cast::{EXTSI, TRUNCI};
use ttir::ops::arith_int::ADDI;
use ttir::ops::constant;
use ttir::ops::control::{FOR, ForOp};
use ttir::ops::forms::UnaryOp;
use ttir::ops::func::{FuncOp, POINTER_RANGE, kernels};
use ttir::ops::memory::{ADDPTR, AddPtrOp};
use ttir::ops::shape::SPLAT;
use ttir::types::{elem, is_tensor, with_elem};

/// Addresses in memory that 32-bit offsets reach become a parameter plus one offset.
pub static REBASE_POINTERS: PassRow = PassRow {
    name: "rebase-pointers",
    doc: "Addresses in memory that 32-bit offsets reach become a parameter plus one offset.",
    run,
};

/// From an address to the parameter that it is an offset from.
type Roots = FxHashMap<Value, Value>;

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let all: Vec<Op> = kernels(module).map(|kernel| kernel.op).collect();
    for kernel in all {
        let roots = roots(module, kernel);
        if !roots.is_empty() {
            Rebase { module, roots, offsets: FxHashMap::default() }.run(kernel);
        }
    }
    Ok(())
}

/// The parameter of each address that has one. What a loop carries is taken to have that of its first value until it is
/// found otherwise.
fn roots(module: &Module, kernel: Op) -> Roots {
    let mut mixed = FxHashSet::default();
    loop {
        let roots = spread(module, kernel, &mixed);
        let before = mixed.len();
        for op in module.walk(kernel).into_iter().filter(|&op| module.is(op, &FOR)) {
            let of = ForOp::new(module, op);
            let carried = of.carried().iter().zip(of.yielded());
            mixed.extend(
                carried.filter(|(arg, next)| roots.get(*arg) != roots.get(*next)).map(|(arg, _)| *arg),
            );
        }
        if mixed.len() == before {
            return roots;
        }
    }
}

fn spread(module: &Module, kernel: Op, mixed: &FxHashSet<Value>) -> Roots {
    let mut roots = Roots::default();
    let is_near = |attrs: &[(ir::AttrKey, Attr)]| {
        attrs.iter().any(|(key, attr)| key.name() == POINTER_RANGE.name && attr.as_int() == Some(32))
    };
    let entry = module.entry_of(kernel);
    for (index, &param) in FuncOp::new(module, kernel).params().iter().enumerate() {
        if is_near(module.arg_attrs(entry, index)) {
            roots.insert(param, param);
        }
    }
    if roots.is_empty() {
        return roots;
    }
    for op in module.walk(kernel) {
        if module.is(op, &FOR) {
            let of = ForOp::new(module, op);
            let carried = of.carried().iter().zip(of.inits()).zip(of.results());
            for ((&arg, init), &result) in carried {
                if let Some(&root) = roots.get(init).filter(|_| !mixed.contains(&arg)) {
                    roots.extend([(arg, root), (result, root)]);
                }
            }
        } else if let Some(&root) = source(module, op).and_then(|source| roots.get(&source)) {
            roots.insert(UnaryOp::new(module, op).result(), root);
        }
    }
    roots
}

/// The address that an operation moves or lays out otherwise.
fn source(module: &Module, op: Op) -> Option<Value> {
    if let Some(add) = AddPtrOp::of(module, op) {
        return Some(add.ptr());
    }
    module.row(op).traits.has(Traits::MOVES).then(|| UnaryOp::new(module, op).src())
}

/// The rewriting of a kernel.
struct Rebase<'m> {
    module: &'m mut Module,
    roots: Roots,
    /// Of addresses that have a parameter, 32-bit integers of the same shape; `None` for zero.
    offsets: FxHashMap<Value, Option<Value>>,
}

impl Rebase<'_> {
    fn run(mut self, kernel: Op) {
        let all = self.module.walk(kernel);
        let mut carried = Vec::new();
        for op in all {
            if self.module.is(op, &FOR) {
                self.carry(op, &mut carried);
            } else if AccessOp::of(self.module, op).is_some_and(|access| !access.is_atomic()) {
                self.access(op);
            } else if let Some(from) = source(self.module, op)
                && self.roots.contains_key(&from)
            {
                self.follow(op, from);
            }
        }
        for (op, arg, next) in carried {
            let body = ForOp::new(self.module, op).body();
            let last = ForOp::new(self.module, op).terminator();
            let next = self.offset_or_zero(next, last);
            yield_as(self.module, body, arg, next);
        }
    }

    fn offset(&self, pointer: Value) -> Option<Value> {
        self.offsets.get(&pointer).copied().flatten()
    }

    fn offset_or_zero(&mut self, pointer: Value, before: Op) -> Value {
        self.offset(pointer).unwrap_or_else(|| {
            let ty = offset_type(self.module.ty(pointer));
            constant::int(&mut Builder::before(self.module, before), ty, 0)
        })
    }

    /// Loops carry offsets besides addresses.
    fn carry(&mut self, op: Op, carried: &mut Vec<(Op, Value, Value)>) {
        let of = ForOp::new(self.module, op);
        let args = of.carried().to_vec();
        let (inits, nexts, results) = (of.inits().to_vec(), of.yielded().to_vec(), of.results().to_vec());
        let body = of.body();
        for (number, pointer) in args.into_iter().enumerate() {
            if !self.roots.contains_key(&pointer) {
                continue;
            }
            let init = self.offset_or_zero(inits[number], op);
            let arg = carry(self.module, op, body, init);
            let result = *self.module.results(op).last().expect("it was added");
            self.offsets.extend([(pointer, Some(arg)), (results[number], Some(result))]);
            carried.push((op, arg, nexts[number]));
        }
    }

    /// The offset of what an operation makes of an address.
    fn follow(&mut self, op: Op, from: Value) {
        let result = UnaryOp::new(self.module, op).result();
        let ty = offset_type(self.module.ty(result));
        let old = self.offset(from);
        let new = match AddPtrOp::of(self.module, op).map(AddPtrOp::offset) {
            Some(by) => {
                let by = self.narrow(by, op);
                let mut builder = Builder::before(self.module, op);
                Some(old.map_or(by, |old| builder.build(&ADDI, &[old, by], &[])))
            }
            None => old.map(|old| {
                let (row, attrs) = (self.module.row(op), self.module.attrs(op).to_vec());
                Builder::before(self.module, op).build_as(row, &[old], &attrs, ty)
            }),
        };
        self.offsets.insert(result, new);
    }

    /// An offset with 32 bits.
    fn narrow(&mut self, offset: Value, before: Op) -> Value {
        let ty = self.module.ty(offset);
        let row = match elem(ty).as_int() {
            Some(32) => return offset,
            Some(bits) if bits > 32 => &TRUNCI,
            _ => &EXTSI,
        };
        Builder::before(self.module, before).build_as(row, &[offset], &[], offset_type(ty))
    }

    /// Lets an access of a block say parameter and offset.
    fn access(&mut self, op: Op) {
        let of = AccessOp::new(self.module, op);
        let (pointer, value, mask, other) = (of.ptr(), of.value(), of.mask(), of.other());
        let ty = self.module.ty(pointer);
        let (Some(&root), Some(offset)) = (self.roots.get(&pointer), self.offset(pointer)) else { return };
        if !is_tensor(ty) {
            return;
        }
        // What the author says of addresses.
        let hints = AddPtrOp::def(self.module, pointer).map(|add| self.module.extra(add.op).to_vec());
        let mut builder = Builder::before(self.module, op);
        let base = builder.build_as(&SPLAT, &[root], &[], ty);
        let rebased = builder.build_as(&ADDPTR, &[base, offset], &[], ty);
        let add = AddPtrOp::def(self.module, rebased).expect("it was made").op;
        for (key, attr) in hints.into_iter().flatten() {
            self.module.set_extra(add, key, Some(attr));
        }
        let operands: Vec<Value> = [Some(rebased), value, mask, other].into_iter().flatten().collect();
        self.module.set_operands(op, &operands);
    }
}

fn offset_type(ty: Type) -> Type {
    with_elem(ty, Type::int(32))
}
