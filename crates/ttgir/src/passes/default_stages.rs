//! How many iterations of a loop are in flight where the loop does not say.

use ir::{Attr, Module, Type};
use ttir::ops::control::{FOR, NUM_STAGES};
use ttir::ops::dot::is_dot;

/// Lets loops with dots that do not name `tt.num_stages` name this number.
pub fn set_default_stages(module: &mut Module, stages: u32) {
    for op in module.walk(module.top()) {
        let silent = module.is(op, &FOR) && module.extra_attr(op, NUM_STAGES.name).is_none();
        if silent && module.walk(op).into_iter().any(|inner| is_dot(module, inner)) {
            module.set_extra(op, NUM_STAGES.key(), Some(Attr::int(i64::from(stages), Type::int(32))));
        }
    }
}
