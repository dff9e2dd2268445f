//! Loads by descriptors that no loop has begun ahead become bulk copies ([`loads`]), and descriptors say how their
//! blocks lie in shared memory.
//!
//! ```text
//! %x = tt.descriptor_load %d[%i, %j]          %m = ttg.local_alloc ; %b = ttg.local_alloc ; ttng.init_barrier %b, 1
//! use(%x)                               =>    ttng.barrier_expect %b, 8192, %true
//!                                             ttng.async_tma_copy_global_to_local %d[%i, %j] %m, %b, %true
//!                                             ttng.wait_barrier %b, 0 ; ttng.inval_barrier %b
//!                                             %x = ttg.local_load %m ; use(%x)
//! ```
//!
//! Stores become `ttng.async_tma_copy_local_to_global` of a block that was put into shared memory ([`stores`]).
//!
//! A block that a user wants in shared memory stays there. A descriptor whose blocks lie in two ways becomes two. One
//! that the kernel makes is written to memory where it is made ([`kernel_maps`]).

mod build;
mod kernel_maps;
mod loads;
mod parts;
mod stores;

pub(crate) use build::{
    BulkTile, barrier_at, bytes_of, end_barriers, expect, load, make_barriers, make_barriers_for, shared_for,
    wait,
};

pub use parts::staged_bytes;

use kernel_maps::Written;

use crate::SharedEncoding;
use crate::ops::bulk::{BulkLoadOp, BulkWriteOp};
use crate::types::memdesc;
use ir::pass::PassRow;
use ir::{Attr, Block, Def, Diagnostic, Module, Op, Type, TypeParam, Value};
use rustc_hash::FxHashMap;
use ttir::ops::descriptor;
use ttir::ops::func::{FuncOp, kernels};
use ttir::types::{TENSORDESC, shape};

/// Makes bulk copies of loads by descriptors.
pub static BULK_COPIES: PassRow = PassRow {
    name: "bulk-copies",
    doc: "Makes bulk copies of the loads by descriptors that are left, and says how blocks of descriptors lie in shared memory.",
    run,
};

fn run(module: &mut Module) -> Result<(), Diagnostic> {
    for function in kernels(module).map(|func| func.op).collect::<Vec<_>>() {
        loads::copy_all(module, function);
        stores::copy_all(module, function);
        let entry = FuncOp::new(module, function).entry();
        give_encodings(module, function, entry);
    }
    Ok(())
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
