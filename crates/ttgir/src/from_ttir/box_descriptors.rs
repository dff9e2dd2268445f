//! Loads of boxes as loads by descriptors, whoever makes these.

use ir::{Builder, Module, Type, Value};
use ttir::boxes::BoxLoad;
use ttir::ops::access::AccessOp;
use ttir::ops::descriptor::{self, DescriptorLoadOp};
use ttir::ops::shape::{TRANS, TransOp};
use ttir::types::{elem, tensordesc};

/// The axes of a block, the fastest one last.
pub(super) fn order(load: &BoxLoad) -> Vec<usize> {
    let others = (0..load.axes.len()).filter(|&at| at != load.fastest);
    others.chain([load.fastest]).collect()
}

pub(super) fn desc_type(module: &Module, load: &BoxLoad) -> Type {
    let sides: Vec<i64> = order(load).iter().map(|&at| load.axes[at].size).collect();
    tensordesc(&sides, elem(module.ty(module.result(load.load, 0))))
}

/// Loads a box by a descriptor in place of addresses.
pub(super) fn as_descriptor(module: &mut Module, load: &BoxLoad, desc: Value) {
    let of = AccessOp::new(module, load.load);
    let attrs = DescriptorLoadOp::attrs(of.cache(), of.evict());
    let order = order(load);
    let mut builder = Builder::before(module, load.load);
    let corner: Vec<Value> = order.iter().map(|&at| load.axes[at].start.build(&mut builder)).collect();
    let operands: Vec<Value> = std::iter::once(desc).chain(corner).collect();
    let mut block = builder.build(&descriptor::LOAD, &operands, &attrs);
    if order.iter().enumerate().any(|(at, &axis)| at != axis) {
        let back: Vec<i64> = (0..order.len())
            .map(|axis| order.iter().position(|&at| at == axis).expect("every axis has a place") as i64)
            .collect();
        block = builder.build(&TRANS, &[block], &TransOp::attrs(&back));
    }
    let old = module.result(load.load, 0);
    module.replace_uses(old, block);
    module.erase(load.load);
}
