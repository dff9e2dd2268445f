//! Block-level tensors: op rows, target-independent passes, axis analysis and the reference interpreter.
//!
//! Rules that the verifier checks, besides those of each row: a block has at most 2^20 elements, with its dimensions
//! rounded up to powers of two; elementwise operations take operands of one shape; regions yield the types that their
//! operation carries. Blocks may have any sizes here. The pass `pad-blocks` makes powers of two of them, and lowerings
//! take nothing else.

pub mod axis;
pub mod boxes;
pub mod distinct;
pub mod interp;
pub mod interval;
pub mod ops;
pub mod order;
pub mod passes;
pub mod testing;
pub mod types;

/// All rows of block-level code.
pub fn registry() -> &'static ir::Registry {
    static REGISTRY: std::sync::OnceLock<ir::Registry> = std::sync::OnceLock::new();
    REGISTRY.get_or_init(|| {
        ir::Registry::new(&[&ops::DIALECT], &ops::constant::CONSTANT, &ops::func::MODULE, constant_rules())
            .with_structure(ops::structure_branches::structure_branches)
    })
}

/// How constants of tensors are made of raw bits.
pub fn constant_rules() -> ir::ConstantRules {
    ir::ConstantRules {
        elem: types::elem,
        to_bits: ops::constant::splat_bits,
        to_attr: ops::constant::attr_from_bits,
    }
}

/// An empty program of block-level code.
pub fn new_module() -> ir::Module {
    ir::Module::new(registry())
}
