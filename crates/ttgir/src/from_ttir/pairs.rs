//! Kernels whose programs could be in pairs, that are a cluster and share copies: of one loop over a dot, where two
//! programs side by side read the same boxes of a tensor. Each then copies half of them, to both.
//!
//! ```text
//! tt.func @f(…) { … scf.for %k … { tt.descriptor_load %b.map[%k, %n] } }
//!     =>   attributes {tt.pairs = "%1 if 8; program 0; … div32 9 8 | 0 alike; 10 alike"}
//! ```
//!
//! `tt.pairs` names such tensors by the parameter that is their address, and says what a launch must be: which box a
//! program reads depends on its position, and only a launch knows how many there are. Who compiles for such launches
//! asks for one of the tensors ([`Pairs::Of`]); its descriptor gets the attribute `tt.halved`, and the module
//! `ttg.paired`. Left out: loops that are not as long in every program, those whose warps have no roles, and tensors
//! that are read elsewhere by the same descriptor.

use super::map_parts::map_parts;
use super::persist::{is_alike, loop_over_dot};
use crate::encoding::{SharedEncoding, boxes};
use crate::machine::{Pairs, Roles};
use crate::module::pair;
use crate::passes::Context;
use ir::pass::PassRow;
use ir::{Attr, DeclaredKey, Def, Diagnostic, Module, Op, Type, Value};
use ttir::ops::control::ForOp;
use ttir::ops::descriptor::DescriptorAccessOp;
use ttir::ops::func::{FuncOp, kernels};
use ttir::types::shape;

/// Attribute of a kernel: of which tensors two programs read the same, and what a launch must be for that.
pub static PAIRS: DeclaredKey =
    DeclaredKey::new("tt.pairs", "Of which tensors two programs side by side read the same, by launch.");

/// Attribute of a descriptor that launches make: each program of a pair copies half of its boxes to both.
pub static HALVED: DeclaredKey =
    DeclaredKey::new("tt.halved", "Each program of a pair copies half of its boxes, to both.");

/// Between the tensors of a text.
const OR: &str = " or ";

/// Kernels say which programs could be in pairs, or are compiled for it.
pub(crate) static PAIR: PassRow = PassRow {
    name: "pair",
    doc: "Kernels say which launches could have their programs in pairs that share copies, or are made for that.",
    run,
};

/// The tensors of which two programs read the same, each with what a launch must be for that.
pub fn pairs(module: &Module, kernel: Op) -> impl Iterator<Item = &str> {
    let text = module.extra_attr(kernel, PAIRS.name).and_then(Attr::as_str);
    text.into_iter().flat_map(|text| text.split(OR))
}

/// Whether each program of a pair copies half of the boxes that a descriptor describes.
pub(crate) fn is_halved(module: &Module, desc: Value) -> bool {
    let Def::Arg(entry, at) = module.def(desc) else { return false };
    module.arg_attrs(entry, at as usize).iter().any(|(key, _)| key.name() == HALVED.name)
}

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let context = Context::of(module)?;
    let pairs = context.machine.pairs;
    if pairs == Pairs::Never || context.machine.roles == Roles::None || context.config.num_ctas != 1 {
        return Ok(());
    }
    for kernel in kernels(module).map(|func| func.op).collect::<Vec<_>>() {
        let found = halves(module, kernel);
        let Pairs::Of(base) = pairs else {
            let texts = found.iter().map(|half| format!("%{} if {}", half.base, half.guards));
            let text = texts.collect::<Vec<_>>().join(OR);
            module.set_extra(kernel, PAIRS.key(), (!text.is_empty()).then(|| Attr::str(&text)));
            continue;
        };
        let Some(half) = found.into_iter().find(|half| half.base == base) else { continue };
        let entry = FuncOp::new(module, kernel).entry();
        for desc in half.descriptors {
            let at = module.args(entry).iter().position(|&arg| arg == desc).expect("launches make it");
            module.set_arg_attr(entry, at, HALVED.key(), Some(Attr::Unit));
        }
        pair(module);
    }
    Ok(())
}

/// A tensor of which two programs may read the same.
struct Half {
    base: usize,
    descriptors: Vec<Value>,
    guards: String,
}

fn halves(module: &Module, kernel: Op) -> Vec<Half> {
    let entry = FuncOp::new(module, kernel).entry();
    let Some(dots) = loop_over_dot(module, kernel, entry, &module.walk(kernel)) else { return Vec::new() };
    let loads: Vec<DescriptorAccessOp<'_>> =
        module.walk(dots).into_iter().filter_map(|op| DescriptorAccessOp::load(module, op)).collect();
    let base = |load: &DescriptorAccessOp<'_>| map_parts(module, load.desc()).map(|parts| parts.base);
    let mut bases: Vec<usize> = loads.iter().filter_map(base).collect();
    bases.sort_unstable();
    bases.dedup();
    let half = |of: usize| {
        let own = || loads.iter().filter(|load| base(load) == Some(of));
        let in_loop = |desc: Value| module.uses(desc).iter().all(|use_| module.is_inside(use_.0, dots));
        if !own().all(|load| in_loop(load.desc()) && has_halves(module.ty(load.desc()))) {
            return None;
        }
        let scalars: Vec<Value> = own().flat_map(|load| load.indices().to_vec()).collect();
        let counter = ForOp::new(module, dots).counter();
        let is_same = |value: Value| match module.def(value) {
            Def::Arg(block, _) => block == entry || value == counter,
            Def::Result(op, _) => module.parent_op(op) == Some(kernel) && is_alike(module, value),
        };
        let guards = ttir::boxes::alike(module, kernel, &scalars, is_same)?.to_string();
        Some(Half { base: of, descriptors: own().map(|load| load.desc()).collect(), guards })
    };
    bases.into_iter().filter_map(half).collect()
}

/// Whether a block of a descriptor is an even number of boxes.
fn has_halves(desc: Type) -> bool {
    let boxes = SharedEncoding::of_box(desc).and_then(|encoding| boxes(&encoding, shape(desc)));
    boxes.is_some_and(|boxes| boxes.len().is_multiple_of(2))
}
