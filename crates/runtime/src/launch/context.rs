//! A target as launches need it: what is asked of it at every launch is asked once.

use crate::{knobs, options};
use std::sync::{Arc, Mutex, PoisonError};
use target::Target;

/// A target with what launches ask of it.
pub struct Context {
    /// The target itself.
    pub target: Arc<dyn Target>,
    /// Whether launches must say how far the memory of their arguments goes.
    pub checks_memory: bool,
    /// Whether kernels are interpreted.
    pub interprets: bool,
    /// Whether launches look at the powers of two that integers are multiples of, below 16.
    pub needs_alignment: bool,
    /// Whether launches look at how far the memory of their arguments goes, to compile for less than 2 GiB.
    pub looks_at_extents: bool,
    /// The names of its options, by their numbers.
    pub options: Vec<&'static str>,
    number: u32,
    generation: u64,
}

impl Context {
    /// A target as launches need it.
    pub fn new(target: Arc<dyn Target>) -> Context {
        Context {
            checks_memory: target.checks_memory(),
            interprets: crate::interpreter::is_interpreter(target.as_ref()),
            needs_alignment: target.needs_alignment(),
            looks_at_extents: target.looks_at_extents(),
            options: options::names(target.as_ref()),
            number: number_of(target.as_ref()),
            generation: knobs::generation(),
            target,
        }
    }

    /// A number that tells targets apart in the keys of kernels: by what they compile for, and whether the interpreter
    /// runs in their place.
    #[inline]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Whether no knob was set since.
    #[inline]
    pub fn is_current(&self) -> bool {
        self.generation == knobs::generation()
    }

    /// The name of an option.
    pub fn option_name(&self, number: u16) -> &'static str {
        self.options.get(usize::from(number)).expect("the number was found by a name of the options")
    }
}

/// The number of what a target compiles for.
fn number_of(target: &dyn Target) -> u32 {
    static KNOWN: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let name = format!("{:?} {}", target.facts(), target.machine());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let at = known.iter().position(|other| *other == name).unwrap_or_else(|| {
        known.push(name);
        known.len() - 1
    });
    at as u32
}
