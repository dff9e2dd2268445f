//! A view of every access by addresses: what loads, stores and atomics have in common.
//!
//! An access is what says in its row how much of a block one instruction may cover (`OpRow::access`). Its other
//! operands and its attributes go by their names: `mask`, `value`, `other`, `sem`, `cacheModifier`, ….

use super::atomic::{Rmw, Scope, Sem};
use super::memory::{CacheModifier, EvictionPolicy};
use crate::types::PTR_LIKE;
use ir::view::{AttrField, EnumAttr};
use ir::{Effect, Module, Op, OpRow, Value};

fn is_access(row: &OpRow) -> bool {
    row.access.is_some()
}

/// Whether operations of a row are loads, and not atomic.
pub fn is_load(row: &OpRow) -> bool {
    is_access(row) && matches!(effect(row), Effect::Read)
}

/// What becomes of the memory behind the addresses of an access.
fn effect(row: &OpRow) -> Effect {
    row.operands[0].effect
}

ir::op_view! {
    /// An access by addresses.
    AccessOp where is_access {
        operands { ptr: One PTR_LIKE }
    }
}

impl<'m> AccessOp<'m> {
    /// Reads an operation if it is a load, and not atomic.
    pub fn load(module: &'m Module, op: Op) -> Option<AccessOp<'m>> {
        AccessOp::of(module, op).filter(|_| is_load(module.row(op)))
    }

    /// Reads an operation if it is a store, and not atomic.
    pub fn store(module: &'m Module, op: Op) -> Option<AccessOp<'m>> {
        AccessOp::of(module, op).filter(|_| matches!(effect(module.row(op)), Effect::Write))
    }

    /// Whether it is atomic.
    pub fn is_atomic(self) -> bool {
        matches!(effect(self.module.row(self.op)), Effect::Atomic)
    }

    fn named(self, name: &str) -> Option<Value> {
        self.module.operand_named(self.op, name)
    }

    /// Where it takes place; everywhere without one.
    pub fn mask(self) -> Option<Value> {
        super::memory::mask(self.module, self.op)
    }

    /// What is written, or combined into memory.
    pub fn value(self) -> Option<Value> {
        self.named("value")
    }

    /// What is compared with memory.
    pub fn expected(self) -> Option<Value> {
        self.named("expected")
    }

    /// What a load gives where its mask does not hold.
    pub fn other(self) -> Option<Value> {
        self.named("other")
    }

    /// What is read, or was there before.
    pub fn result(self) -> Option<Value> {
        self.module.results(self.op).first().copied()
    }

    /// Whether it must take place as it is written.
    pub fn volatile(self) -> bool {
        self.module.is_volatile(self.op)
    }

    fn keyword<T: AttrField<'m, Out = T>>(self, name: &str) -> Option<T> {
        T::read(Some(self.module.attr_named(self.op, name)?))
    }

    /// Where it stands in the caches.
    pub fn cache(self) -> CacheModifier {
        self.keyword("cacheModifier").unwrap_or(CacheModifier::None)
    }

    /// Says where a load or a store stands in the caches.
    pub fn set_cache(module: &mut Module, op: Op, cache: CacheModifier) {
        let slot = module.row(op).attr_slot("cacheModifier").expect("loads and stores stand in the caches");
        module.set_attr(op, slot, Some(cache.attr()));
    }

    /// What the caches should drop first.
    pub fn evict(self) -> EvictionPolicy {
        self.keyword("evictionPolicy").unwrap_or(EvictionPolicy::Normal)
    }

    /// How an atomic combines a value into memory, if it does.
    pub fn rmw(self) -> Option<Rmw> {
        self.keyword("atomic_rmw_op")
    }

    /// How an atomic orders the accesses around it; `None` for what is no atomic.
    pub fn sem(self) -> Option<Sem> {
        self.keyword("sem")
    }

    /// Among whom an atomic is atomic; `None` for what is no atomic.
    pub fn scope(self) -> Option<Scope> {
        self.keyword("scope")
    }
}
