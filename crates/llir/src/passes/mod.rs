//! Passes over functions, for targets that make code without LLVM.
//!
//! A pipeline is a flat list of [`Pass`] rows. Each keeps the rules that [`crate::verify`] checks. Left out: whatever
//! an assembler behind the target does as well, such as scheduling.

mod code;
mod congruent;
mod flow;
mod hoist;
mod interleave;
mod loops;
mod merge_params;
mod range;
mod reduce_strength;
mod regroup;
mod rewrite;
mod share_steps;
mod short_comparisons;
mod short_divisions;
mod simplify;
mod sink;

pub use interleave::{Group, Groups, Mark, MarkCall, interleave};

use crate::function::{FuncId, Function};
use crate::module::Module;
use std::time::{Duration, Instant};

/// What is known of the integer that a function gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// It is less than this number, and not negative.
    Below(u64),
    /// It is what some lane has in this operand.
    Operand(usize),
}

/// What passes may know beyond the function.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The module, without the bodies.
    pub module: &'a Module,
    /// Functions whose result is known to be bounded, each with how.
    pub bounds: &'a [(FuncId, Bound)],
}

/// One pass.
#[derive(Debug)]
pub struct Pass {
    /// A verb.
    pub name: &'static str,
    /// Changes a function.
    pub run: fn(&Context<'_>, &mut Function),
}

/// The usual passes in order.
pub static PIPELINE: &[Pass] = &[
    Pass { name: "straighten", run: flow::straighten },
    Pass { name: "simplify", run: simplify::simplify },
    Pass { name: "merge_params", run: merge_params::merge_params },
    Pass { name: "short_comparisons", run: short_comparisons::short_comparisons },
    Pass { name: "hoist", run: hoist::hoist },
    Pass { name: "reduce_strength", run: reduce_strength::reduce_strength },
    Pass { name: "share_steps", run: share_steps::share_steps },
    Pass { name: "simplify", run: simplify::simplify },
    Pass { name: "straighten", run: flow::straighten },
    Pass { name: "short_divisions", run: short_divisions::short_divisions },
    Pass { name: "remove_unused", run: remove_unused },
    Pass { name: "sink", run: sink::sink },
];

/// Follows passes as they run.
pub trait Watch {
    /// Whether [`Watch::before`] is to be called: making the text takes time.
    fn wants_text(&self) -> bool {
        false
    }
    /// The module in front of a pass.
    fn before(&mut self, pass: &'static str, text: &str) {
        let _ = (pass, text);
    }
    /// A pass took so long.
    fn after(&mut self, pass: &'static str, elapsed: Duration);
}

impl<F: FnMut(&'static str, Duration)> Watch for F {
    fn after(&mut self, pass: &'static str, elapsed: Duration) {
        self(pass, elapsed);
    }
}

/// Runs the usual passes on every function; `watch` hears how long each took.
pub fn optimize(module: &mut Module, bounds: &[(FuncId, Bound)], watch: &mut dyn Watch) {
    run(module, PIPELINE, bounds, watch);
}

/// Runs passes on every function.
pub fn run(module: &mut Module, passes: &[Pass], bounds: &[(FuncId, Bound)], watch: &mut dyn Watch) {
    let ids: Vec<FuncId> = module.bodies.keys().copied().collect();
    for id in ids {
        let Some(mut function) = module.bodies.remove(&id) else { continue };
        for pass in passes {
            if watch.wants_text() {
                let mut whole = module.clone();
                whole.bodies.insert(id, function.clone());
                watch.before(pass.name, &whole.to_string());
            }
            let start = Instant::now();
            (pass.run)(&Context { module, bounds }, &mut function);
            watch.after(pass.name, start.elapsed());
        }
        module.bodies.insert(id, function);
    }
}

fn remove_unused(cx: &Context<'_>, function: &mut Function) {
    crate::unused::remove_in(cx.module, function);
}
