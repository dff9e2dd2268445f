//! Rows of knobs: settings of a process, from the environment or from code.
//!
//! The runtime has the store of values and the rows that concern every target; a target has the rows that concern it
//! alone ([`crate::Target::knobs`]). A row says what is done about its knob, also where that is nothing
//! ([`KnobStanding`]): no setting is passed over in silence. Left out: reading values.

/// The type of a knob's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobKind {
    /// True or false.
    Flag,
    /// True, false or nothing said.
    OptFlag,
    /// True, nothing, or a text that says what of it.
    FlagOrText,
    /// A whole number.
    Number,
    /// A text.
    Text,
    /// A text or nothing.
    OptText,
    /// A path.
    Path,
    /// The path of a program, which is searched for where none is named.
    Tool,
    /// A Python object, which lives in Python.
    Object,
}

/// The value that a knob has when nobody says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobDefault {
    /// A flag.
    Bool(bool),
    /// A number.
    Int(i64),
    /// A text.
    Text(&'static str),
    /// `None`.
    Nothing,
    /// A folder under `cache.home_dir`.
    Home(&'static str),
    /// The cache's own folder.
    CacheDir,
}

/// What is done about a knob. A text says what to do instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnobStanding {
    /// What its line says.
    Works,
    /// The same; it is read from the environment alone, before the first use.
    Environment,
    /// A compile obeys it: where it is set it is among [`crate::CompileOptions::extra`], under its name, and so part of
    /// the name of the kernel in the cache.
    Compiles,
    /// The same; and what it asks for is seen in a compile alone, so that kernels which the cache has are compiled
    /// again.
    Shows,
    /// This stage of every kernel is printed under this headline.
    Prints(&'static str, &'static str),
    /// What it asks for is so in any case.
    Moot,
    /// Nothing reads it. Setting it gives one warning.
    Idle(&'static str),
    /// What it asks for is not there. Setting it in code is an error; setting it in the environment gives one warning.
    Missing(&'static str),
    /// The same; in the environment it is an error of every compile, as results would not be what was asked for.
    Refused(&'static str),
}

impl KnobStanding {
    /// Why a knob is not obeyed and what to do instead; `None` for one that is.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            KnobStanding::Idle(text) | KnobStanding::Missing(text) | KnobStanding::Refused(text) => {
                Some(text)
            }
            _ => None,
        }
    }
}

/// One knob.
#[derive(Debug)]
pub struct KnobRow {
    /// `cache` in `knobs.cache.dir`.
    pub group: &'static str,
    /// `dir` in `knobs.cache.dir`.
    pub name: &'static str,
    /// The environment variables it is read from, the first that is set wins.
    pub env: &'static [&'static str],
    /// The type of its value.
    pub kind: KnobKind,
    /// Its value when nobody says otherwise.
    pub default: KnobDefault,
    /// What is done about it.
    pub standing: KnobStanding,
    /// One line for people.
    pub doc: &'static str,
}

impl KnobRow {
    /// A row of the commonest sort: nothing is said of it until somebody says it, and it works.
    pub const fn new(
        group: &'static str,
        name: &'static str,
        env: &'static [&'static str],
        kind: KnobKind,
        doc: &'static str,
    ) -> KnobRow {
        let default = match kind {
            KnobKind::Flag => KnobDefault::Bool(false),
            KnobKind::Number => KnobDefault::Int(0),
            KnobKind::Text => KnobDefault::Text(""),
            _ => KnobDefault::Nothing,
        };
        KnobRow { group, name, env, kind, default, standing: KnobStanding::Works, doc }
    }

    /// The same row with another default.
    #[must_use]
    pub const fn or(self, default: KnobDefault) -> KnobRow {
        KnobRow { default, ..self }
    }

    /// The same row with another standing.
    #[must_use]
    pub const fn but(self, standing: KnobStanding) -> KnobRow {
        KnobRow { standing, ..self }
    }
}

/// A program that a knob of the kind [`KnobKind::Tool`] names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundTool {
    /// Where it is.
    pub path: String,
    /// Its release, such as `12.8`.
    pub version: String,
}

#[cfg(test)]
mod tests {
    use super::{KnobDefault, KnobKind, KnobRow, KnobStanding};

    #[test]
    fn rows_are_built_in_steps() {
        let row = KnobRow::new("a", "b", &["A_B"], KnobKind::Flag, "C.");
        assert_eq!(
            (row.default, row.standing, row.standing.reason()),
            (KnobDefault::Bool(false), KnobStanding::Works, None)
        );
        let row = row.or(KnobDefault::Bool(true)).but(KnobStanding::Idle("say d"));
        assert_eq!((row.default, row.standing.reason()), (KnobDefault::Bool(true), Some("say d")));
    }
}
