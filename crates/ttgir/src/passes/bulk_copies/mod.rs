//! Loads by descriptors that no loop has begun ahead become bulk copies, and descriptors say how their blocks lie in
//! shared memory.
//!
//! ```text
//! %x = tt.descriptor_load %d[%i, %j]          %m = ttg.local_alloc ; %b = ttg.local_alloc ; ttng.init_barrier %b, 1
//!                                       =>    ttng.barrier_expect %b, 8192, %true
//!                                             ttng.async_tma_copy_global_to_local %d[%i, %j] %m, %b, %true
//!                                             ttng.wait_barrier %b, 0 ; ttng.inval_barrier %b
//!                                             %x = ttg.local_load %m
//! ```
//!
//! Stores become `ttng.async_tma_copy_local_to_global` of a block that was put into shared memory ([`stores`]).
//!
//! A block that a user wants in shared memory stays there. A descriptor whose blocks lie in two ways becomes two. One
//! that the kernel makes is written to memory where it is made ([`made`]).

mod build;
mod kernel_maps;
mod parts;
mod stores;

pub(crate) use build::{
    BulkTile, barrier_at, bytes_of, end_barriers, expect, load, make_barriers, make_barriers_for, shared_for,
    wait,
};

pub use parts::staged_bytes;

use kernel_maps::Written;

use crate::SharedEncoding;
use crate::infer;
use crate::ops::bulk::{BulkLoadOp, BulkWriteOp};
use crate::ops::group_dot::WARP_GROUP_DOT_WAIT;
use crate::ops::shared::{AllocOp, MemdescTransOp, allocate, load_from};
use crate::types::{memdesc, memdesc_type};
use ir::pass::PassRow;
use ir::{Attr, Block, Builder, Def, Diagnostic, Module, Op, Place, Type, TypeParam, Value};
use rustc_hash::FxHashMap;
use ttir::ops::constant::CONSTANT;
use ttir::ops::descriptor::{self, DescriptorAccessOp};
use ttir::ops::func::{FuncOp, kernels};
use ttir::types::{TENSORDESC, elem, shape};

/// Makes bulk copies of loads by descriptors.
pub static BULK_COPIES: PassRow = PassRow {
    name: "bulk-copies",
    doc: "Makes bulk copies of the loads by descriptors that are left, and says how blocks of descriptors lie in shared memory.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    for function in kernels(module).map(|func| func.op).collect::<Vec<_>>() {
        for op in module.walk(function) {
            if DescriptorAccessOp::load(module, op).is_some() {
                copy_at_once(module, op);
            }
        }
        stores::copy_all(module, function);
        let entry = FuncOp::new(module, function).entry();
        give_encodings(module, function, entry);
    }
    Ok(())
}

/// Begins the copy where the load stands, and waits for it.
fn copy_at_once(module: &mut Module, op: Op) {
    let Some(encoding) = shared_for(module, op) else { return };
    let of = DescriptorAccessOp::new(module, op);
    let (desc, corner, value) = (of.desc(), of.indices().to_vec(), of.block());
    let (ty, bytes) = (module.ty(value), bytes_of(module, op));
    let mut builder = Builder { loc: module.loc(op), place: Place::Before(op), module };
    let memory = memdesc_type(shape(ty), elem(ty), &encoding, true);
    let target = allocate(&mut builder, memory);
    let ring = make_barriers(&mut builder, 1);
    let zero = build::number(&mut builder, 0);
    let barrier = barrier_at(&mut builder, ring, zero);
    let yes = builder.build_as(&CONSTANT, &[], &[Some(Attr::Bool(true))], Type::int(1));
    expect(&mut builder, barrier, bytes, yes);
    load(&mut builder, &BulkTile { desc, corner: &corner, target }, barrier, yes);
    wait(&mut builder, barrier, zero);
    end_barriers(&mut builder, ring, 1);
    give_to_users(&mut builder, value, target);
    module.erase(op);
}

/// Lets users of a block that want it in shared memory have it there, and the others load it.
fn give_to_users(builder: &mut Builder<'_>, value: Value, memory: Value) {
    let users: Vec<Op> = builder.module.uses(value).iter().map(|use_| use_.0).collect();
    for user in users {
        if AllocOp::is(builder.module, user) && lies_as(builder.module, user, memory) {
            let old = builder.module.result(user, 0);
            replace_memory(builder.module, old, memory);
            builder.module.erase(user);
        }
    }
    if builder.module.is_unused(value) {
        return;
    }
    let ty = builder.module.ty(value);
    let loaded = load_from(builder, memory, None, ty);
    builder.module.replace_uses(value, loaded);
}

/// Whether memory lies as an allocation asks.
pub(crate) fn lies_as(module: &Module, alloc: Op, memory: Value) -> bool {
    let encoding = |value: Value| memdesc(module.ty(value)).map(|desc| desc.encoding);
    encoding(module.result(alloc, 0)) == encoding(memory)
}

/// Lets users of memory use other memory; what is the same memory further on changes its type with it.
pub(crate) fn replace_memory(module: &mut Module, old: Value, new: Value) {
    module.replace_uses(old, new);
    retype(module, new);
}

/// Gives views of memory, and what a wait for dots hands on of it, the types that follow from its own.
fn retype(module: &mut Module, memory: Value) {
    let own = module.ty(memory);
    for (user, slot) in module.uses(memory).to_vec() {
        let follows = if let Some(view) = MemdescTransOp::of(module, user) {
            infer::memdesc_trans(own, view.order()).ok().map(|ty| (view.result(), ty))
        } else if module.is(user, &WARP_GROUP_DOT_WAIT) {
            Some((module.result(user, slot as usize), own))
        } else {
            None
        };
        if let Some((result, ty)) = follows.filter(|&(result, ty)| module.ty(result) != ty) {
            module.set_ty(result, ty);
            retype(module, result);
        }
    }
}

/// Writes into the types of descriptors how their blocks lie in shared memory.
fn give_encodings(module: &mut Module, function: Op, entry: Block) {
    let mut known: FxHashMap<(Value, Type), Written> = FxHashMap::default();
    for op in module.walk(function) {
        let Some((desc, memory)) = moved(module, op) else { continue };
        let made = module.def_op(desc).filter(|&made| module.is(made, &descriptor::MAKE));
        if made.is_none() && !matches!(module.def(desc), Def::Arg(block, _) if block == entry) {
            continue;
        }
        let Some(memory) = memdesc(module.ty(memory)) else { continue };
        let ty = encoded(module.ty(desc), memory.encoding);
        let of_type = *known.entry((desc, ty)).or_insert_with(|| match made {
            Some(made) => kernel_maps::write(module, made, ty),
            None => Written { desc: with_type(module, entry, desc, ty), is_empty: None },
        });
        module.replace_uses_if(desc, of_type.desc, |_, user, _| user == op);
        if let Some(is_empty) = of_type.is_empty {
            kernel_maps::outside_if_empty(module, op, is_empty);
        }
    }
    for op in module.walk(function) {
        if module.is(op, &descriptor::MAKE) && module.is_unused(module.result(op, 0)) {
            module.erase(op);
        }
    }
    FuncOp::follow_arguments(module, function);
}

/// The descriptor and the memory of a bulk copy.
fn moved(module: &Module, op: Op) -> Option<(Value, Value)> {
    if let Some(load) = BulkLoadOp::of(module, op) {
        return Some((load.desc(), load.dst()));
    }
    let write = BulkWriteOp::of(module, op)?;
    Some((write.desc(), write.src()))
}

/// The type of a descriptor with an encoding of its blocks.
fn encoded(desc: Type, encoding: &Attr) -> Type {
    let params = desc.params_of(&TENSORDESC).expect("verified: it is a descriptor");
    let own = SharedEncoding::from_attr(encoding).and_then(|memory| memory.with_rank(shape(desc).len()));
    let encoding = own.map_or_else(|| encoding.clone(), |own| own.attr());
    let plain = params.iter().filter(|param| !matches!(param, TypeParam::Attr(_))).cloned();
    Type::dialect(&TENSORDESC, plain.chain([TypeParam::Attr(encoding)]).collect())
}

/// A parameter that is the same descriptor with a type: the one there is if it has no encoding yet, else one more.
fn with_type(module: &mut Module, entry: Block, desc: Value, ty: Type) -> Value {
    let of = module.ty(desc);
    let is_open = of
        .params_of(&TENSORDESC)
        .is_some_and(|params| !params.iter().any(|param| matches!(param, TypeParam::Attr(_))));
    if is_open || of == ty {
        module.set_ty(desc, ty);
        return desc;
    }
    let at = module.args(entry).iter().position(|&arg| arg == desc).expect("a parameter");
    let attrs = module.arg_attrs(entry, at).to_vec();
    let name = module.name(desc).map(|name| format!("{name}.{}", module.args(entry).len()));
    let made = module.add_arg(entry, ty);
    if let Some(name) = name {
        module.set_name(made, &name);
    }
    let at = module.args(entry).len() - 1;
    for (key, attr) in attrs {
        module.set_arg_attr(entry, at, key, Some(attr));
    }
    made
}
