//! Steps that were built, by what they were built for.

use super::Setting;
use frontend::eager::{Action, Form, Step};
use frontend::{Diagnostic, Extensions, Facts, Function, FunctionRef, Globals, Options, PyValue, Request};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;
use ttir::interp::{BlockData, Hooks, Memory, RunError, Standing, run_function};

/// How many steps are kept; more than any program has, unless it makes ever new ones.
const MOST: usize = 1 << 15;

/// An operation with the forms of its operands.
pub struct Question {
    /// The operation.
    pub action: Action,
    /// Its operands.
    pub args: Vec<Form>,
    /// Those that are given by name.
    pub keywords: Vec<(String, Form)>,
    /// What the function that asks uses beyond the language.
    pub extensions: Extensions,
}

impl Question {
    /// Whether the answer may depend on what the program has: functions that it defines, objects.
    pub fn depends_on_objects(&self) -> bool {
        let called = match &self.action {
            Action::Call(callee) => is_of_program(callee),
            _ => false,
        };
        let named = self.keywords.iter().map(|(_, form)| form);
        called || self.args.iter().chain(named).any(form_is_of_program)
    }
}

fn form_is_of_program(form: &Form) -> bool {
    match form.kind() {
        frontend::eager::FormKind::Const(value) => is_of_program(&value),
        frontend::eager::FormKind::Tuple(items, _) => items.iter().any(form_is_of_program),
        _ => false,
    }
}

fn is_of_program(value: &PyValue) -> bool {
    match value {
        PyValue::JitFunction(function) => !frontend::language::owns(function),
        PyValue::ConstexprFunction(_) | PyValue::Object(_) => true,
        PyValue::Constexpr(inner) => is_of_program(inner),
        PyValue::Tuple(tuple) => tuple.items.iter().any(is_of_program),
        _ => false,
    }
}

/// What a step gives, as whoever runs programs needs it.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Known without running anything.
    Const(PyValue),
    /// A value of the form of this number, with so many run-time parts.
    Value(u32, usize),
    /// Several, with the names of their fields if they have some.
    Tuple(Vec<Shape>, Option<Vec<Arc<str>>>),
    /// The attribute that was read is a method.
    Method,
}

/// A step that can be run.
pub struct Ready {
    step: Step,
    /// What it gives.
    pub shape: Shape,
    /// Whether there is nothing to run.
    is_idle: bool,
}

impl Ready {
    pub(super) fn new(step: Step, shape: Shape) -> Ready {
        let entry = step.module.entry_of(step.function);
        let is_idle = step.module.ops(entry).count() == 1;
        Ready { step, shape, is_idle }
    }

    /// Deprecations and the like, rendered.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.step.warnings.iter().map(Diagnostic::render)
    }

    pub(super) fn run(
        &self,
        parts: &[BlockData],
        standing: Standing,
        memory: &mut Memory,
        hooks: &mut dyn Hooks,
    ) -> Result<Vec<BlockData>, RunError> {
        if self.is_idle && self.step.result.parts() == 0 {
            return Ok(Vec::new());
        }
        let args = self.step.params.iter().map(|part| parts[*part].clone()).collect();
        run_function(&self.step.module, self.step.function, args, standing, memory, hooks)
    }
}

/// Builds a step.
pub(super) fn build(
    facts: &Facts,
    options: &Options,
    question: &Question,
    globals: &dyn Globals,
    print: &dyn Fn(&str),
) -> Result<Step, Vec<Diagnostic>> {
    let function = FunctionRef(Arc::new(nothing(question.extensions)));
    let request = Request {
        globals,
        function,
        symbol: None,
        args: Vec::new(),
        facts: facts.clone(),
        options: options.clone(),
        print,
    };
    let mut step = frontend::eager::build(&request, &question.action, &question.args, &question.keywords)?;
    targets::operations_for_assembly(&mut step.module, None);
    Ok(step)
}

/// No function: a step has none around it, but for the extensions of the one that asks.
fn nothing(extensions: Extensions) -> Function {
    Function {
        id: 0,
        name: String::new(),
        module: String::new(),
        file: String::new(),
        first_line: 1,
        source: String::new(),
        noinline: false,
        extensions,
    }
}

/// Steps by their keys.
#[derive(Default)]
pub(super) struct Steps {
    setting: Option<Setting>,
    /// Those of the language alone.
    lasting: FxHashMap<Box<[u8]>, Rc<Ready>>,
    /// Those that depend on objects of the program.
    passing: FxHashMap<Box<[u8]>, Rc<Ready>>,
}

impl Steps {
    /// Forgets what may not hold for a launch.
    pub(super) fn begin(&mut self, setting: &Setting) {
        self.passing.clear();
        if self.setting.as_ref() != Some(setting) {
            self.lasting.clear();
            self.setting = Some(setting.clone());
        }
    }

    pub(super) fn find(&self, key: &[u8]) -> Option<Rc<Ready>> {
        self.lasting.get(key).or_else(|| self.passing.get(key)).cloned()
    }

    pub(super) fn keep(&mut self, key: &[u8], ready: &Rc<Ready>, passes: bool) {
        let steps = if passes { &mut self.passing } else { &mut self.lasting };
        if steps.len() >= MOST {
            steps.clear();
        }
        steps.insert(key.into(), Rc::clone(ready));
    }
}
