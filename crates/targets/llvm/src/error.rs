//! What can go wrong with LLVM.

use std::fmt;
use std::path::PathBuf;

/// An error of finding or using LLVM. Its text says what happened and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LlvmError {
    /// No library was found.
    Missing(String),
    /// The text is not valid LLVM IR; the message is LLVM's.
    Parse(String),
    /// The processor, a feature list or a triple is unknown.
    Target(String),
    /// A pass or the code generator refused.
    Compile(String),
    /// LLVM met something it stops the process for. It was kept from that, and some memory is lost.
    Fatal(String),
}

impl LlvmError {
    /// Says what was searched.
    pub(crate) fn missing(tried: &[(PathBuf, String)]) -> LlvmError {
        let mut text = String::from("no shared library of LLVM 17 to 22 was found.\n");
        text.push_str(match tried {
            [] => "No candidate exists",
            _ => "These were tried:\n",
        });
        for (path, reason) in tried {
            text.push_str(&format!("  {}: {reason}\n", path.display()));
        }
        text.push_str(
            "\nGet one of: the system's package (`apt install libllvm19`, `dnf install llvm-libs`), a Rust toolchain \
             (rustup's carries LLVM), or any libLLVM named by the environment variable DEUTERON_LLVM_PATH (a file, or \
             a folder that holds one).",
        );
        LlvmError::Missing(text)
    }
}

impl fmt::Display for LlvmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LlvmError::Missing(text) | LlvmError::Target(text) => f.write_str(text),
            LlvmError::Parse(text) => write!(f, "LLVM does not accept this text: {text}"),
            LlvmError::Compile(text) | LlvmError::Fatal(text) => write!(f, "LLVM failed: {text}"),
        }
    }
}

impl std::error::Error for LlvmError {}
