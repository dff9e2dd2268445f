//! What went wrong, where, and what to do about it.
//!
//! A [`Diagnostic`] is plain data; [`Diagnostic::render`] draws it with the source line and a caret. Spans are clamped
//! to the text they are drawn in, so that drawing never fails.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::fmt;

/// The reference's exception class that a diagnostic becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `triton.compiler.errors.CompilationError`: a type, value or name error in the kernel.
    Compilation,
    /// `UnsupportedLanguageConstruct`: Python that the language does not have.
    Unsupported,
    /// `CompileTimeAssertionFailure`: a `tl.static_assert` failed.
    StaticAssert,
    /// Not an error.
    Warning,
}

impl Kind {
    /// The name of the exception class.
    pub fn class_name(self) -> &'static str {
        match self {
            Kind::Compilation => "CompilationError",
            Kind::Unsupported => "UnsupportedLanguageConstruct",
            Kind::StaticAssert => "CompileTimeAssertionFailure",
            Kind::Warning => "UserWarning",
        }
    }
}

/// What Python raises for an error, which programs find as the `__cause__` of the exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// What a rule of the language asserts does not hold.
    Assertion,
    /// A value has no such attribute.
    Attribute,
    /// An index beyond the elements.
    Index,
    /// A key that is not there.
    Key,
    /// A name that means nothing.
    Name,
    /// Something that the language may have one day.
    NotImplemented,
    /// A number that is too large.
    Overflow,
    /// A statement that the language does not know, or anything else.
    Runtime,
    /// A value of a wrong type, or arguments that fit no parameters.
    Type,
    /// A wrong value.
    Value,
    /// A division by zero.
    ZeroDivision,
    /// Operands whose types have no common one: `triton.language.semantic.IncompatibleTypeErrorImpl`.
    IncompatibleTypes,
}

impl Cause {
    /// The name of the class in Python.
    pub fn class_name(self) -> &'static str {
        match self {
            Cause::Assertion => "AssertionError",
            Cause::Attribute => "AttributeError",
            Cause::Index => "IndexError",
            Cause::Key => "KeyError",
            Cause::Name => "NameError",
            Cause::NotImplemented => "NotImplementedError",
            Cause::Overflow => "OverflowError",
            Cause::Runtime => "RuntimeError",
            Cause::Type => "TypeError",
            Cause::Value => "ValueError",
            Cause::ZeroDivision => "ZeroDivisionError",
            Cause::IncompatibleTypes => "IncompatibleTypeErrorImpl",
        }
    }

    /// The cause that has a class of this name.
    pub fn of_class(name: &str) -> Option<Cause> {
        use Cause::{
            Assertion, Attribute, Index, Key, Name, NotImplemented, Overflow, Runtime, Type, Value,
            ZeroDivision,
        };
        let all = [
            Assertion,
            Attribute,
            Index,
            Key,
            Name,
            NotImplemented,
            Overflow,
            Runtime,
            Type,
            Value,
            ZeroDivision,
        ];
        all.into_iter().find(|cause| cause.class_name() == name)
    }

    /// A fault with this cause.
    pub fn says(self, message: impl Into<String>) -> Fault {
        Fault { cause: self, message: message.into() }
    }
}

/// What a rule finds wrong, without a place. What stands behind the first line of its message helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What Python raises for it.
    pub cause: Cause,
    /// What was found and what was expected.
    pub message: String,
}

impl From<String> for Fault {
    fn from(message: String) -> Fault {
        Cause::Value.says(message)
    }
}

impl From<&str> for Fault {
    fn from(message: &str) -> Fault {
        Cause::Value.says(message)
    }
}

impl From<Fault> for String {
    fn from(fault: Fault) -> String {
        fault.message
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The column in characters, counted from 1.
    pub column: u32,
    /// How many characters are marked, at least 1.
    pub width: u32,
    /// The text of the line.
    pub text: String,
    /// Line and column within the function, as the reference counts them: from 1 at its `def`, and from 0 where that
    /// begins. Zeros outside a function.
    pub in_function: (u32, u32),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// One step of the calls that led to a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function that was called.
    pub callee: String,
    /// Where the call stands.
    pub place: Place,
}

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The class it becomes.
    pub kind: Kind,
    /// What Python raises for it; of errors of [`Kind::Compilation`] alone.
    pub cause: Cause,
    /// What was found and what was expected.
    pub message: String,
    /// Where; absent when the fault lies in the request.
    pub place: Option<Place>,
    /// What to try.
    pub help: Vec<String>,
    /// The calls that led there, the innermost first.
    pub calls: Vec<Call>,
}

impl Diagnostic {
    /// A diagnostic about the request as a whole.
    pub fn without_place(kind: Kind, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            kind,
            cause: Cause::Value,
            message: message.into(),
            place: None,
            help: Vec::new(),
            calls: Vec::new(),
        }
    }

    /// The text to show: message, source line with a caret, calls and help. Without colours.
    pub fn render(&self) -> String {
        let level = if self.kind == Kind::Warning { Level::WARNING } else { Level::ERROR };
        let mut group = Group::with_title(level.primary_title(self.message.as_str()));
        if let Some(place) = &self.place {
            group = group.element(snippet(place).annotation(AnnotationKind::Primary.span(span(place))));
        }
        let labels: Vec<String> =
            self.calls.iter().map(|call| format!("in this call to `{}`", call.callee)).collect();
        for (call, label) in self.calls.iter().zip(&labels) {
            let mark = AnnotationKind::Context.span(span(&call.place)).label(label.as_str());
            group = group.element(snippet(&call.place).annotation(mark));
        }
        for help in &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        Renderer::plain().render(&[group])
    }
}

/// Draws several diagnostics, one after another.
pub fn render_all(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(Diagnostic::render).collect::<Vec<_>>().join("\n\n")
}

fn snippet<'a, T: Clone>(place: &'a Place) -> Snippet<'a, T> {
    Snippet::source(place.text.as_str()).line_start(place.line.max(1) as usize).path(place.file.as_str())
}

/// The marked bytes of the line, within it.
fn span(place: &Place) -> std::ops::Range<usize> {
    let byte_of = |character: usize| {
        place.text.char_indices().nth(character).map_or(place.text.len(), |(offset, _)| offset)
    };
    let start = place.column.max(1) as usize - 1;
    let begin = byte_of(start);
    begin..byte_of(start + place.width.max(1) as usize).max(begin)
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render())
    }
}

impl std::error::Error for Diagnostic {}

#[cfg(test)]
mod tests {
    use super::{Call, Diagnostic, Kind, Place};

    fn place(text: &str, column: u32, width: u32) -> Place {
        Place { file: "k.py".into(), line: 7, column, width, text: text.into(), in_function: (0, 0) }
    }

    #[test]
    fn caret_stands_under_the_expression() {
        let mut diagnostic = Diagnostic::without_place(Kind::Compilation, "`y` is not defined");
        diagnostic.place = Some(place("    x = y + 1", 9, 1));
        diagnostic.help.push("define it first".into());
        diagnostic.calls.push(Call { callee: "f".into(), place: place("    f(1)", 5, 4) });
        let text = diagnostic.render();
        assert!(text.contains("error: `y` is not defined"), "{text}");
        assert!(text.contains("k.py:7:9"), "{text}");
        assert!(text.contains("in this call to `f`"), "{text}");
        assert!(text.contains("help: define it first"), "{text}");
    }

    #[test]
    fn spans_outside_the_line_are_clamped() {
        for (column, width) in [(0, 0), (1, 9999), (500, 3), (u32::MAX, u32::MAX)] {
            let mut diagnostic = Diagnostic::without_place(Kind::Compilation, "wrong");
            diagnostic.place = Some(place("é = ü", column, width));
            assert!(diagnostic.render().contains("wrong"));
        }
    }
}
