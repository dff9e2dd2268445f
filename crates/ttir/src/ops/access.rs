//! A view of every access by addresses: what loads, stores and atomics have in common.

use super::atomic::{
    ATOMIC_CAS, ATOMIC_LOAD, ATOMIC_RMW, ATOMIC_STORE, AtomicCasOp, AtomicLoadOp, AtomicRmwOp, AtomicStoreOp,
};
use super::memory::{LOAD, LoadOp, STORE, StoreOp};
use crate::types::PTR_LIKE;
use ir::Value;

ir::op_view! {
    /// Of accesses by addresses,
    AccessOp of LOAD, STORE, ATOMIC_RMW, ATOMIC_CAS, ATOMIC_LOAD, ATOMIC_STORE {
        operands { ptr: One PTR_LIKE }
    }
}

impl AccessOp<'_> {
    /// Where it takes place; everywhere without one.
    pub fn mask(self) -> Option<Value> {
        let (module, op) = (self.module, self.op);
        if let Some(op) = LoadOp::of(module, op) {
            op.mask()
        } else if let Some(op) = StoreOp::of(module, op) {
            op.mask()
        } else if let Some(op) = AtomicRmwOp::of(module, op) {
            op.mask()
        } else if let Some(op) = AtomicLoadOp::of(module, op) {
            op.mask()
        } else {
            AtomicStoreOp::of(module, op)?.mask()
        }
    }

    /// What is written, or combined into memory.
    pub fn value(self) -> Option<Value> {
        let (module, op) = (self.module, self.op);
        if let Some(op) = StoreOp::of(module, op) {
            Some(op.value())
        } else if let Some(op) = AtomicRmwOp::of(module, op) {
            Some(op.value())
        } else if let Some(op) = AtomicCasOp::of(module, op) {
            Some(op.value())
        } else {
            Some(AtomicStoreOp::of(module, op)?.value())
        }
    }

    /// What a load gives where its mask does not hold.
    pub fn other(self) -> Option<Value> {
        LoadOp::of(self.module, self.op)?.other()
    }

    /// Whether it must take place as it is written.
    pub fn volatile(self) -> bool {
        LoadOp::of(self.module, self.op).is_some_and(LoadOp::volatile)
    }
}
