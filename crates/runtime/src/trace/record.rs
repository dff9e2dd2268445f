//! Writing down what a compile asks.

use super::encode::{Identity, Known};
use super::{Answered, Origin, Plain, Question};
use frontend::{ArgSpec, FunctionRef, Globals, ObjectRef, PyValue};
use rustc_hash::FxHashSet;
use std::cell::RefCell;

/// [`Globals`] that pass every question on and write it down.
pub(crate) struct Recorder<'a> {
    inner: &'a dyn Globals,
    log: RefCell<Log>,
}

struct Log {
    known: Known,
    steps: Vec<Answered>,
    asked: FxHashSet<(Origin, String)>,
    methods: FxHashSet<String>,
    sound: bool,
}

impl<'a> Recorder<'a> {
    /// Records a compile of `kernel` with `args`.
    pub(crate) fn new(inner: &'a dyn Globals, kernel: &FunctionRef, args: &[ArgSpec]) -> Recorder<'a> {
        let log = Log {
            known: Known::new(kernel, args),
            steps: Vec::new(),
            asked: FxHashSet::default(),
            methods: FxHashSet::default(),
            sound: true,
        };
        Recorder { inner, log: RefCell::new(log) }
    }

    /// What was asked; `None` where it cannot be asked again.
    pub(crate) fn finish(self) -> Option<Vec<Answered>> {
        let log = self.log.into_inner();
        log.sound.then_some(log.steps)
    }
}

impl Log {
    /// A function cannot change its mind within a compile, so each name is written down once.
    fn ask(
        &mut self,
        subject: &Identity,
        name: &str,
        question: fn(Origin, String) -> Question,
        value: Option<&PyValue>,
    ) {
        let Some(origin) = self.known.origin(subject) else {
            // A function of the language's own library is not from outside, and nobody outside has an answer for it.
            self.sound &= value.is_none();
            return;
        };
        if self.asked.insert((origin, name.to_owned())) {
            let answer = self.known.answer(value);
            self.steps.push(Answered { question: question(origin, name.to_owned()), answer });
        }
    }

    fn ask_call(
        &mut self,
        callee: &ObjectRef,
        args: &[PyValue],
        kwargs: &[(String, PyValue)],
        result: &PyValue,
    ) {
        let known = &self.known;
        let question = || {
            Some(Question::Call {
                callee: known.origin(&Identity::Object(callee.0.id))?,
                args: args.iter().map(|arg| Plain::of(arg, known)).collect::<Option<_>>()?,
                kwargs: kwargs
                    .iter()
                    .map(|(name, value)| Some((name.clone(), Plain::of(value, known)?)))
                    .collect::<Option<_>>()?,
            })
        };
        match question() {
            Some(question) => {
                let answer = self.known.answer(Some(result));
                self.steps.push(Answered { question, answer });
            }
            None => self.sound = false,
        }
    }
}

impl Globals for Recorder<'_> {
    fn lookup(&self, function: &FunctionRef, name: &str) -> Option<PyValue> {
        let value = self.inner.lookup(function, name);
        let ask = |function, name| Question::Lookup { function, name };
        self.log.borrow_mut().ask(&Identity::of_function(function), name, ask, value.as_ref());
        value
    }

    fn attribute(&self, object: &ObjectRef, name: &str) -> Option<PyValue> {
        let value = self.inner.attribute(object, name);
        let ask = |object, name| Question::Attribute { object, name };
        self.log.borrow_mut().ask(&Identity::Object(object.0.id), name, ask, value.as_ref());
        value
    }

    fn call(
        &self,
        callee: &ObjectRef,
        args: &[PyValue],
        kwargs: &[(String, PyValue)],
    ) -> Result<PyValue, frontend::Fault> {
        // A call that fails ends the compile, and nothing is kept of it.
        let result = self.inner.call(callee, args, kwargs)?;
        self.log.borrow_mut().ask_call(callee, args, kwargs, &result);
        Ok(result)
    }

    fn block_method(&self, name: &str) -> Option<PyValue> {
        let value = self.inner.block_method(name);
        let mut log = self.log.borrow_mut();
        if log.methods.insert(name.to_owned()) {
            let answer = log.known.answer(value.as_ref());
            log.steps.push(Answered { question: Question::BlockMethod { name: name.to_owned() }, answer });
        }
        value
    }

    fn must_use(&self, function: &FunctionRef) -> Option<String> {
        self.inner.must_use(function)
    }

    fn is_builtin(&self, function: &FunctionRef) -> bool {
        self.inner.is_builtin(function)
    }

    fn allows_non_constexpr_globals(&self) -> bool {
        self.inner.allows_non_constexpr_globals()
    }
}
