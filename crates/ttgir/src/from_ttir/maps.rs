//! Descriptors that a kernel takes as arguments stay descriptors where bulk copies can serve the accesses by them.
//!
//! ```text
//! %d = tt.make_tensor_descriptor %p, [%m, %n], [%s, 1]        one more parameter: %p.map: !tt.tensordesc<…> {tt.map_of = 0 : i32}
//! %x = tt.descriptor_load %d[%i, %j]                    =>    %x = tt.descriptor_load %p.map[%i, %j]
//! ```
//!
//! `tt.map_of` is the number of the parameter that is the tensor's address; its sizes and strides stand behind it. Whoever launches
//! makes the new parameter of these. Only loads that feed dots, and stores of kernels with dots
//! where the machine says so: what goes through registers anyway is loaded and
//! stored by the lanes.
//! Left out, and written as addresses and masks later: padding with NaN, machines without bulk copies, clusters.

use crate::encoding::{SharedEncoding, box_of};
use crate::passes::{Context, feeds_dot, is_dot};
use ir::pass::PassRow;
use ir::{Attr, Block, DeclaredKey, Def, Diagnostic, Module, Op, Type, Value};
use ttir::ops::constant::splat_bits;
use ttir::ops::descriptor::{DescriptorLoadOp, DescriptorStoreOp, MAKE, MakeDescriptorOp, Padding};
use ttir::ops::func::{FuncOp, kernels};
use ttir::types::shape;

/// Attribute of a tensor descriptor that is a parameter: who launches makes it of the parameters from this one on.
pub static MAP_OF: DeclaredKey = DeclaredKey::new(
    "tt.map_of",
    "Made at the launch of the parameters from this number on: an address, sizes, strides.",
);

/// Attribute of the same: the kernel writes by it.
pub static MAP_WRITTEN: DeclaredKey = DeclaredKey::new("tt.map_written", "The kernel writes by it.");

/// Keeps descriptors for bulk copies.
pub(crate) static KEEP_DESCRIPTORS: PassRow = PassRow {
    name: "keep-descriptors",
    doc: "Keeps descriptors of loads that bulk copies can serve, as parameters that launches make.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    let context = Context::of(module)?;
    if !context.machine.bulk_copy || context.config.num_ctas != 1 {
        return Ok(());
    }
    for function in kernels(module).map(|func| func.op).collect::<Vec<_>>() {
        let entry = FuncOp::new(module, function).entry();
        let inside = module.walk(function);
        let stores = context.machine.bulk_store && inside.iter().any(|&op| is_dot(module, op));
        for op in inside {
            if module.is(op, &MAKE) {
                keep(module, entry, op, stores);
            }
        }
        let func = FuncOp::new(module, function);
        let (params, results) = (func.params().to_vec(), func.result_types().to_vec());
        let params = params.into_iter().map(|param| module.ty(param)).collect();
        FuncOp::set_ty(module, function, Type::function(params, results));
    }
    Ok(())
}

/// Lets the accesses by a descriptor that bulk copies can serve use a parameter in its place, one for loads and one for stores.
fn keep(module: &mut Module, entry: Block, make: Op, keeps_stores: bool) {
    let made = MakeDescriptorOp::new(module, make);
    let (result, pads_zero) = (made.result(), made.padding() == Padding::Zero);
    let Some(slot) = launch_slot(module, entry, made) else { return };
    let users = || module.uses(result).iter().map(|use_| use_.0);
    let is_load = |&user: &Op| {
        DescriptorLoadOp::of(module, user).is_some_and(|load| is_box(module, load.desc(), load.result()))
            && feeds_dot(module, None, user)
    };
    let is_store = |&user: &Op| {
        DescriptorStoreOp::of(module, user).is_some_and(|store| is_box(module, store.desc(), store.src()))
    };
    let loads: Vec<Op> = users().filter(is_load).filter(|_| pads_zero).collect();
    let stores: Vec<Op> = users().filter(is_store).filter(|_| keeps_stores).collect();
    for (accesses, is_written) in [(loads, false), (stores, true)] {
        if !accesses.is_empty() {
            let map = add_map(module, entry, slot, module.ty(result), is_written);
            module.replace_uses_if(result, map, |_, user, _| accesses.contains(&user));
        }
    }
}

/// One more parameter, a descriptor of the tensor whose address is the parameter of a number.
fn add_map(module: &mut Module, entry: Block, slot: usize, ty: Type, is_written: bool) -> Value {
    let map = module.add_arg(entry, ty);
    let ending = if is_written { "out" } else { "map" };
    let name = module.name(module.args(entry)[slot]).map(|name| format!("{name}.{ending}"));
    if let Some(name) = name {
        module.set_name(map, &name);
    }
    let at = module.args(entry).len() - 1;
    module.set_arg_attr(entry, at, MAP_OF.key(), Some(Attr::int(slot as i64, Type::int(32))));
    if is_written {
        module.set_arg_attr(entry, at, MAP_WRITTEN.key(), Some(Attr::Bool(true)));
    }
    map
}

/// The number of the parameter that is the address of a descriptor, if sizes and strides stand behind it as launches pass them.
fn launch_slot(module: &Module, entry: Block, made: MakeDescriptorOp<'_>) -> Option<usize> {
    let number = |value: Value| match module.def(value) {
        Def::Arg(block, index) if block == entry => Some(index as usize),
        _ => None,
    };
    let slot = number(made.base())?;
    let (sizes, strides) = (made.shape(), made.strides());
    let (&last, outer) = strides.split_last()?;
    let rank = sizes.len();
    let follows = sizes.iter().enumerate().all(|(dim, &size)| number(size) == Some(slot + 1 + dim))
        && outer.iter().enumerate().all(|(dim, &stride)| number(stride) == Some(slot + 1 + rank + dim));
    let is_one = module.constant(last).and_then(splat_bits) == Some(1);
    (follows && is_one).then_some(slot)
}

/// Whether bulk copies can move a block by a descriptor.
fn is_box(module: &Module, desc: Value, block: Value) -> bool {
    let ty = module.ty(desc);
    let same = shape(ty) == shape(module.ty(block));
    same && SharedEncoding::of_box(ty).is_some_and(|encoding| box_of(&encoding, shape(ty)).is_some())
}
