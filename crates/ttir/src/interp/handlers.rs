//! Which function runs which operation. Elementwise operations are not here: their row says what they mean.

use super::machine::{Machine, Step};
use super::{access, atomic, combine, control, debug, descriptor, dot, external, shape};
use crate::ops;
use ir::OpRow;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// Runs one operation: reads its operands, sets its results.
pub(crate) type Handler = fn(&mut Machine<'_>, ir::Op) -> Step<()>;

static HANDLERS: &[(&OpRow, Handler)] = &[
    (&ops::constant::CONSTANT, shape::constant),
    (&ops::constant::POISON, shape::poison),
    (&ops::compare::SELECT, shape::select),
    (&ops::shape::MAKE_RANGE, shape::make_range),
    (&ops::shape::SPLAT, shape::splat),
    (&ops::shape::UNSPLAT, shape::same_elements),
    (&ops::shape::EXPAND_DIMS, shape::same_elements),
    (&ops::shape::RESHAPE, shape::same_elements),
    (&ops::shape::BROADCAST, shape::broadcast),
    (&ops::shape::TRANS, shape::trans),
    (&ops::shape::JOIN, shape::join),
    (&ops::shape::SPLIT, shape::split),
    (&ops::shape::CAT, shape::cat),
    (&ops::shape::GATHER, shape::gather),
    (&ops::memory::LOAD, access::load),
    (&ops::memory::STORE, access::store),
    (&ops::memory::BARRIER, debug::nothing),
    (&ops::atomic::ATOMIC_RMW, atomic::rmw),
    (&ops::atomic::ATOMIC_CAS, atomic::cas),
    (&ops::atomic::ATOMIC_LOAD, access::load),
    (&ops::atomic::ATOMIC_STORE, access::store),
    (&ops::program::GET_PROGRAM_ID, control::program_id),
    (&ops::program::GET_NUM_PROGRAMS, control::num_programs),
    (&ops::program::ASSUME, debug::assume),
    (&ops::program::GRID_DEPENDENCY_WAIT, debug::nothing),
    (&ops::program::GRID_DEPENDENCY_LAUNCH_DEPENDENTS, debug::nothing),
    (&ops::dot::DOT, dot::dot),
    (&ops::dot::DOT_SCALED, dot::dot_scaled),
    (&ops::reduce::REDUCE, combine::reduce),
    (&ops::reduce::SCAN, combine::scan),
    (&ops::reduce::MAP_ELEMENTWISE, combine::map_elementwise),
    (&ops::reduce::HISTOGRAM, combine::histogram),
    (&ops::debug::PRINT, debug::print),
    (&ops::debug::ASSERT, debug::assert),
    (&ops::extern_call::EXTERN_ELEMENTWISE, external::extern_elementwise),
    (&ops::descriptor::MAKE, descriptor::make),
    (&ops::descriptor::LOAD, descriptor::load),
    (&ops::descriptor::STORE, descriptor::store),
    (&ops::descriptor::GATHER, descriptor::gather),
    (&ops::descriptor::SCATTER, descriptor::scatter),
    (&ops::descriptor::REDUCE, descriptor::reduce),
    (&ops::control::FOR, control::run_for),
    (&ops::control::IF, control::run_if),
    (&ops::control::WHILE, control::run_while),
    (&ops::func::CALL, control::run_call),
];

/// The function that runs operations of this row, unless its meaning is the row's own.
pub(crate) fn handler(row: &'static OpRow) -> Option<Handler> {
    static TABLE: OnceLock<FxHashMap<usize, Handler>> = OnceLock::new();
    let key = |row: &'static OpRow| std::ptr::from_ref(row) as usize;
    let table = TABLE.get_or_init(|| HANDLERS.iter().map(|&(row, handler)| (key(row), handler)).collect());
    table.get(&key(row)).copied()
}

#[cfg(test)]
mod tests {
    use ir::Traits;

    #[test]
    fn every_row_can_be_run() {
        // Terminators are read by the operation around them; functions and files are not run but called; instructions
        // of a target cannot be run.
        let exempt = ["tt.func", "builtin.module", "tt.elementwise_inline_asm"];
        for row in crate::registry().ops() {
            let elementwise = row.traits.has(Traits::ELEMENTWISE) && row.eval.is_some();
            let fine = super::handler(row).is_some() || elementwise || row.traits.has(Traits::TERMINATOR);
            assert!(fine || exempt.contains(&row.name), "{} cannot be run", row.name);
        }
    }
}
