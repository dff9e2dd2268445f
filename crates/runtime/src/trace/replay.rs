//! Asking again.

use super::encode::{Known, RequestPart};
use super::{Answered, Question};
use frontend::{ArgSpec, FunctionRef, Globals, PyValue};

/// Whether every question has the answer that it had when the list was written.
pub(crate) fn replay(
    steps: &[Answered],
    globals: &dyn Globals,
    kernel: &FunctionRef,
    args: &[ArgSpec],
) -> bool {
    let mut known = Known::new(kernel, args);
    steps.iter().all(|step| {
        let Some(value) = ask(&step.question, globals, &known) else { return false };
        known.answer(value.as_ref()) == step.answer
    })
}

/// The live answer; the outer `None` means that the question makes no sense here.
fn ask(question: &Question, globals: &dyn Globals, known: &Known) -> Option<Option<PyValue>> {
    match question {
        Question::Lookup { function, name } => match known.part(*function)? {
            RequestPart::Function(function) => Some(globals.lookup(function, name)),
            RequestPart::Object(_) => None,
        },
        Question::Attribute { object, name } => match known.part(*object)? {
            RequestPart::Object(object) => Some(globals.attribute(object, name)),
            RequestPart::Function(_) => None,
        },
        Question::Call { callee, args, kwargs } => {
            let RequestPart::Object(callee) = known.part(*callee)? else { return None };
            let args: Vec<PyValue> = args.iter().map(|arg| arg.live(known)).collect::<Option<_>>()?;
            let kwargs: Vec<(String, PyValue)> = kwargs
                .iter()
                .map(|(name, value)| Some((name.clone(), value.live(known)?)))
                .collect::<Option<_>>()?;
            globals.call(callee, &args, &kwargs).ok().map(Some)
        }
        Question::BlockMethod { name } => Some(globals.block_method(name)),
    }
}
