//! Kernels whose bodies somebody else runs, one operation of the language after another: `TRITON_INTERPRET=1`.
//!
//! The body of a kernel is a program of its own, in Python, and each operation that it calls is a step here: the front
//! end builds a module of that operation alone ([`frontend::eager`]), which [`ttir::interp`] runs at once. Rules of
//! types and the meaning of operations are thus those of compiled kernels. A step is kept by what it was built for, so
//! that a second one like it is only run.
//!
//! The values of programs are [`Value`]s: a number that names their form, and the elements of their run-time parts.

mod element;
mod memory;
mod steps;

pub use element::{Element, element};
pub use frontend::eager::Step;
pub use memory::memory;
pub use steps::{Question, Ready, Shape};

use crate::compile::front_end_request;
use crate::error::{CompilationFailure, RuntimeError};
use frontend::eager::{Form, FormKind};
use frontend::typing::Ty;
use frontend::{Extensions, Facts, Globals, Options, Place};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;
use steps::Steps;
use target::{CompileOptions, Target};
use ttir::interp::{BlockData, Hooks, Memory, RunError, Standing};

/// The elements of the run-time parts of a value.
pub type Parts = SmallVec<[BlockData; 1]>;

/// A value of a program: which form it has, and its elements.
#[derive(Clone, Debug)]
pub struct Value {
    /// The number of its form, in the [`Session`] that it belongs to.
    pub form: u32,
    /// Its run-time parts.
    pub parts: Parts,
}

/// What operations depend on besides their operands.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    facts: Facts,
    options: Options,
}

impl Setting {
    /// What operations depend on when kernels are launched for a target with these options.
    ///
    /// # Errors
    /// When a knob asks for what the target does not have.
    pub fn new(target: &dyn Target, options: &CompileOptions) -> Result<Setting, RuntimeError> {
        let (facts, options) = front_end_request(target, options)?;
        Ok(Setting { facts, options })
    }
}

/// Builds a step. `place` says where in the program the operation stands.
///
/// # Errors
/// What is wrong with the operation.
pub fn build(
    setting: &Setting,
    question: &Question,
    globals: &dyn Globals,
    print: &dyn Fn(&str),
    place: &dyn Fn() -> Option<Place>,
) -> Result<Step, RuntimeError> {
    let built = steps::build(&setting.facts, &setting.options, question, globals, print);
    built.map_err(|mut diagnostics| {
        for diagnostic in diagnostics.iter_mut().filter(|diagnostic| diagnostic.place.is_none()) {
            diagnostic.place = place();
        }
        RuntimeError::Compilation(CompilationFailure::from_diagnostics(&diagnostics))
    })
}

/// A launch whose programs run.
pub struct Running {
    /// What its operations depend on.
    pub setting: Setting,
    /// What it may touch.
    pub memory: Memory,
    /// The grid, and the program that runs.
    pub standing: Standing,
    /// What the function that runs uses beyond the language, as far as operations depend on it.
    pub extensions: Extensions,
}

/// What one thread knows of forms and steps.
#[derive(Default)]
pub struct Session {
    forms: Vec<Form>,
    numbers: FxHashMap<String, u32>,
    steps: Steps,
    /// The launches that run, each inside the one before it.
    running: Vec<Running>,
}

impl Session {
    /// Begins a launch. Steps that depend on objects of the program are forgotten, as those may have changed since.
    pub fn begin(&mut self, running: Running) {
        self.steps.begin(&running.setting);
        self.running.push(running);
    }

    /// Ends the launch that began last, and gives it back.
    pub fn end(&mut self) -> Option<Running> {
        let ended = self.running.pop();
        if let Some(outer) = self.running.last() {
            self.steps.begin(&outer.setting);
        }
        ended
    }

    /// Whether a launch runs.
    pub fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// The launch that runs.
    pub fn running(&mut self) -> Option<&mut Running> {
        self.running.last_mut()
    }

    /// The number of a form.
    pub fn number(&mut self, form: &Form) -> u32 {
        let key = form.key();
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = u32::try_from(self.forms.len()).expect("fewer forms than memory has room for");
        self.forms.push(form.clone());
        self.numbers.insert(key, number);
        number
    }

    /// The form of a number.
    pub fn form(&self, number: u32) -> &Form {
        &self.forms[number as usize]
    }

    /// The type of a value that is one block or scalar.
    pub fn type_of(&self, number: u32) -> Option<Ty> {
        match self.form(number).kind() {
            FormKind::Tensor(ty) => Some(ty),
            _ => None,
        }
    }

    /// A step that was built for this key.
    pub fn find(&self, key: &[u8]) -> Option<Rc<Ready>> {
        self.steps.find(key)
    }

    /// Keeps a step that was built for a key.
    pub fn keep(&mut self, key: &[u8], question: &Question, step: Step) -> Rc<Ready> {
        let shape = self.shape(&step.result);
        let ready = Rc::new(Ready::new(step, shape));
        self.steps.keep(key, &ready, question.depends_on_objects());
        ready
    }

    fn shape(&mut self, form: &Form) -> Shape {
        match form.kind() {
            FormKind::Const(value) => Shape::Const(value),
            FormKind::Tuple(items, fields) => {
                Shape::Tuple(items.iter().map(|item| self.shape(item)).collect(), fields)
            }
            FormKind::Method => Shape::Method,
            FormKind::Tensor(_) | FormKind::Other(_) => Shape::Value(self.number(form), form.parts()),
        }
    }

    /// Runs a step on the run-time parts of its operands.
    ///
    /// # Errors
    /// When it does something undefined.
    pub fn run(
        &mut self,
        ready: &Ready,
        parts: &[BlockData],
        hooks: &mut dyn Hooks,
    ) -> Result<Vec<BlockData>, RunError> {
        let running = self.running.last_mut().expect("a step was found or built for a launch");
        ready.run(parts, running.standing, &mut running.memory, hooks)
    }
}
