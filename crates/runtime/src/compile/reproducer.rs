//! Files that repeat a compile: the program in front of all passes, with the target and the options behind it.
//!
//! They are laid out as MLIR's: the program, and behind it a dictionary between `{-#` and `#-}`, which the parser
//! skips. What `deuteron compile` needs stands there as JSON. Left out: settings that the front end alone reads, as it
//! has run.

use crate::error::RuntimeError;
use crate::machine::{emulated, target_named};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use target::{CompileOptions, Target};

/// In front of our entry.
const ENTRY: &str = "\n    deuteron: ";

/// What a program is compiled for.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Reproducer {
    target: String,
    emulated: bool,
    /// The options of the compile, those that settings made included.
    pub options: CompileOptions,
}

impl Reproducer {
    pub(super) fn new(target: &dyn Target, options: &CompileOptions) -> Reproducer {
        let facts = target.facts();
        Reproducer {
            target: format!("{}:{}", facts.backend, facts.arch),
            emulated: target.checks_memory(),
            options: options.clone(),
        }
    }

    /// What stands at the end of a file; `None` where nothing does.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(text: &str) -> Result<Option<Reproducer>, RuntimeError> {
        let Some((_, entry)) = text.split_once("\n{-#").and_then(|(_, end)| end.split_once(ENTRY)) else {
            return Ok(None);
        };
        let mut values = serde_json::Deserializer::from_str(entry).into_iter();
        values.next().transpose().map_err(|error| {
            RuntimeError::Value(format!(
                "the target and the options behind the program cannot be read: {error}"
            ))
        })
    }

    /// The target.
    ///
    /// # Errors
    /// When this build has none of that name.
    pub fn target(&self) -> Result<Arc<dyn Target>, RuntimeError> {
        if self.emulated { emulated(&self.target) } else { target_named(&self.target) }
    }

    /// The file of a program.
    fn text(&self, source: &str) -> String {
        let passes: Vec<&str> = ttir::passes::pipeline().iter().map(|pass| pass.name).collect();
        let entry = serde_json::to_string_pretty(self).expect("names, numbers and texts");
        format!(
            "{}\n\n{{-#\n  external_resources: {{\n    mlir_reproducer: {{\n      pipeline: \"builtin.module({})\",\n      \
             disable_threading: true,\n      verify_each: false\n    }},{ENTRY}{}\n  }}\n#-}}\n",
            source.trim_end(),
            passes.join(", "),
            entry.replace('\n', "\n    ")
        )
    }

    /// Writes the file of a program, under the name that the reference gives it.
    ///
    /// # Errors
    /// Why it cannot be written.
    pub(super) fn write(&self, prefix: &Path, source: &str) -> Result<(), String> {
        let mut path = prefix.as_os_str().to_owned();
        path.push(".make_ttir.repro.mlir");
        let path = PathBuf::from(path);
        std::fs::write(&path, self.text(source))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::Reproducer;
    use target::{CompileOptions, OptionValue};

    #[test]
    fn what_is_written_is_read() {
        let text = OptionValue::Str("{-# #-}\n    deuteron: \"".into());
        let options =
            CompileOptions { num_warps: 8, extra: [("own".into(), text)].into(), ..Default::default() };
        let written = Reproducer { target: "cpu".into(), emulated: false, options };
        assert_eq!(Reproducer::read(&written.text("module {\n}\n")).expect("it is whole"), Some(written));
        assert_eq!(Reproducer::read("module {\n}\n").expect("there is none"), None);
        let half = "module {\n}\n{-#\n    deuteron: {\n      \"target\"";
        assert!(Reproducer::read(half).expect_err("it is cut off").to_string().contains("EOF"));
    }
}
