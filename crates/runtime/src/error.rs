//! The one error of the runtime. Each variant is one exception class of the reference, so that the Python glue
//! maps and decides nothing.

use std::fmt;

/// What went wrong, sorted by the exception class that a Python caller sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuntimeError {
    /// The kernel's source cannot be compiled: `CompilationError`.
    Compilation(CompilationFailure),
    /// More of something is needed than the device has: `OutOfResources`.
    OutOfResources {
        /// What: `shared memory`, `threads`, ….
        name: String,
        /// How much is needed.
        required: u64,
        /// How much there is.
        limit: u64,
    },
    /// An argument has the wrong type: `TypeError`.
    Type(String),
    /// An argument has the wrong value: `ValueError`.
    Value(String),
    /// An option has a value that no compile takes: `OptionError`, a `ValueError` and an `AssertionError`.
    Option(String),
    /// A keyword, stage or name that is not known: `KeyError`.
    Key(String),
    /// A library or tool is missing: `MissingTool`.
    Missing(String),
    /// Everything else that a user can meet: `RuntimeError`.
    Runtime(String),
    /// An invariant of ours is broken.
    Internal(String),
}

/// Which of the reference's classes a failed compile is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompilationKind {
    /// `CompilationError`.
    Error,
    /// `CompileTimeAssertionFailure`: a `static_assert` that does not hold.
    StaticAssert,
    /// `UnsupportedLanguageConstruct`: Python that the language does not have.
    Unsupported,
}

/// A failed compile with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompilationFailure {
    /// Which class.
    pub kind: CompilationKind,
    /// What Python raises for it, where it has a place.
    pub cause: frontend::Cause,
    /// The whole report: every error with file, line, source line and caret.
    pub report: String,
    /// The text of the first error alone.
    pub message: String,
    /// Where the first error is, if that is known.
    pub place: Option<Box<frontend::Place>>,
    /// The calls that led there, the innermost first.
    pub calls: Vec<frontend::Call>,
}

impl CompilationFailure {
    /// The failure that some diagnostics, at least one of them an error, mean.
    pub fn from_diagnostics(diagnostics: &[frontend::Diagnostic]) -> CompilationFailure {
        let first = diagnostics.iter().find(|diagnostic| diagnostic.kind != frontend::Kind::Warning);
        CompilationFailure {
            kind: match first.map(|diagnostic| diagnostic.kind) {
                Some(frontend::Kind::StaticAssert) => CompilationKind::StaticAssert,
                Some(frontend::Kind::Unsupported) => CompilationKind::Unsupported,
                _ => CompilationKind::Error,
            },
            cause: first.map_or(frontend::Cause::Value, |diagnostic| diagnostic.cause),
            report: frontend::render_all(diagnostics),
            message: first.map(|diagnostic| diagnostic.message.clone()).unwrap_or_default(),
            place: first.and_then(|diagnostic| diagnostic.place.clone()).map(Box::new),
            calls: first.map(|diagnostic| diagnostic.calls.clone()).unwrap_or_default(),
        }
    }
}

impl fmt::Display for RuntimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuntimeError::Compilation(failure) => f.write_str(&failure.report),
            RuntimeError::OutOfResources { name, required, limit } => write!(
                f,
                "out of resource: {name}, Required: {required}, Hardware limit: {limit}. Reducing block sizes or \
                 `num_stages` may help."
            ),
            RuntimeError::Type(text)
            | RuntimeError::Value(text)
            | RuntimeError::Option(text)
            | RuntimeError::Key(text)
            | RuntimeError::Missing(text)
            | RuntimeError::Runtime(text) => f.write_str(text),
            RuntimeError::Internal(text) => write!(f, "internal error (please report it): {text}"),
        }
    }
}

impl std::error::Error for RuntimeError {}

impl From<target::TargetError> for RuntimeError {
    fn from(error: target::TargetError) -> RuntimeError {
        match error {
            target::TargetError::OutOfResources { name, required, limit } => {
                RuntimeError::OutOfResources { name, required, limit }
            }
            target::TargetError::Compile { .. } => RuntimeError::Compilation(CompilationFailure {
                kind: CompilationKind::Error,
                cause: frontend::Cause::Runtime,
                report: error.to_string(),
                message: error.to_string(),
                place: None,
                calls: Vec::new(),
            }),
            target::TargetError::Missing(text) => RuntimeError::Missing(text),
            target::TargetError::Launch(text) | target::TargetError::Load(text) => {
                RuntimeError::Runtime(text)
            }
            target::TargetError::Internal(text) => RuntimeError::Internal(text),
        }
    }
}
