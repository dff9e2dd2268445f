//! The list of all targets in this build. The one place outside `targets/<vendor>/` that names them.

mod elsewhere;

use std::sync::Arc;
use target::knobs::KnobRow;

/// Every target of this build, the preferred default first.
pub fn all() -> Vec<Arc<dyn target::Target>> {
    vec![nvidia::target(), amd::target(), cpu::target()]
}

/// Knobs of what this build does not have: another vendor's target, a profiler. Each says so.
pub fn other_knobs() -> &'static [KnobRow] {
    elsewhere::ROWS
}

/// The machine that a program with layouts names as its target: `cuda:90`. `None` where no target of this build has it.
pub fn machine(name: &str) -> Option<&'static ttgir::Machine> {
    nvidia::machine::named(name).or_else(|| amd::machine::named(name))
}

/// What a kernel says in the assembly of another target becomes operations, where it has a meaning that every target
/// knows. `backend` is the target that the kernel is compiled for; none for the interpreter.
pub fn operations_for_assembly(module: &mut ir::Module, backend: Option<&str>) {
    if backend != Some("cuda") {
        nvidia::portable::operations_for_assembly(module);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn machines_are_found_by_name() {
        assert_eq!(super::machine("cuda:90").map(|machine| machine.name), Some("cuda:90"));
        // A newer one of the same family has the facts of the nearest.
        assert_eq!(super::machine("cuda:121").map(|machine| machine.name), Some("cuda:120"));
        for name in ["cuda:75", "cuda:", "cuda:90a", "abacus:3", ""] {
            assert!(super::machine(name).is_none(), "{name}");
        }
    }
}
