//! Block-level IR with layouts: ttir plus, for every tensor, which lane holds which element.

pub mod encoding;
pub mod infer;
pub mod machine;
pub mod module;
pub mod ops;
pub mod types;

pub use machine::{Machine, MatrixKind, MatrixRow, Number};
pub use module::Config;

pub use encoding::{
    BasisList, Encoding, Facts, SharedEncoding, num_registers, replace_encoding, same_layout, shape_per_block,
};

/// All rows of block-level code with layouts: those of ttir and these.
pub fn registry() -> &'static ir::Registry {
    static REGISTRY: std::sync::OnceLock<ir::Registry> = std::sync::OnceLock::new();
    REGISTRY.get_or_init(|| {
        ir::Registry::new(
            &[&ttir::ops::DIALECT, &ops::DIALECT],
            &ttir::ops::constant::CONSTANT,
            &ttir::ops::func::MODULE,
            ttir::constant_rules(),
        )
        .with_rule(infer::check)
    })
}
