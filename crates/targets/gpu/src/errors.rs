//! Errors of the stages, in the words of a target.

use target::TargetError;
use ttgir::Machine;

/// Why lowering stopped. Too little shared memory is an error of its own: callers look for it, and try a smaller
/// configuration.
pub fn not_lowered(errors: &[lanes::Error]) -> TargetError {
    let need = |error: &lanes::Error| match error {
        lanes::Error::SharedMemory(need) => Some(out_of_shared(need.required, need.limit)),
        lanes::Error::Refused(_) => None,
    };
    errors.iter().find_map(need).unwrap_or_else(|| refused(errors.iter().map(lanes::Error::diagnostic)))
}

/// The first of some errors, with its place; the others below it.
pub fn refused<'a>(errors: impl IntoIterator<Item = &'a ir::Diagnostic>) -> TargetError {
    let mut errors = errors.into_iter().peekable();
    let location = errors.peek().and_then(|error| error.place.clone());
    let mut messages = errors.map(|error| {
        error.notes.iter().fold(error.message.clone(), |text, note| format!("{text}\n  {note}"))
    });
    let first = messages.next().unwrap_or_else(|| "the kernel cannot be compiled".into());
    let rest: Vec<String> = messages.collect();
    let message = if rest.is_empty() { first } else { format!("{first}\n{}", rest.join("\n")) };
    TargetError::Compile { message, location }
}

/// Says before the assembler or the driver does that a program needs more than there is.
///
/// # Errors
/// How much it needs, and how much there is.
pub fn check_shared(required: u64, machine: &Machine) -> Result<(), TargetError> {
    let limit = u64::from(machine.shared_bytes);
    if required <= limit { Ok(()) } else { Err(out_of_shared(required, limit)) }
}

/// That a program needs more shared memory than there is.
pub fn out_of_shared(required: u64, limit: u64) -> TargetError {
    TargetError::OutOfResources { name: "shared memory".into(), required, limit }
}

#[cfg(test)]
mod tests {
    use super::{not_lowered, out_of_shared, refused};
    use ir::Diagnostic;
    use lanes::{Error, SharedMemoryNeed};

    #[test]
    fn too_little_shared_memory_is_an_error_of_its_own() {
        let need = SharedMemoryNeed { required: 9, limit: 8, diagnostic: Diagnostic::new("much") };
        let other = Error::Refused(Box::new(Diagnostic::new("other")));
        assert_eq!(not_lowered(&[other.clone(), Error::SharedMemory(Box::new(need))]), out_of_shared(9, 8));
        assert_eq!(not_lowered(&[other]).to_string(), "other");
    }

    #[test]
    fn the_first_error_has_the_place() {
        let one = Diagnostic::new("one").at(Some("k.py:3:1".to_owned())).note("more");
        let error = refused(&[one, Diagnostic::new("two")]);
        assert_eq!(error.to_string(), "k.py:3:1: one\n  more\ntwo");
    }
}
