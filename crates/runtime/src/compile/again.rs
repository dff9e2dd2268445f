//! A kernel once more, compiled in another way for some of its launches.

use super::given::TTIR;
use super::{Kernel, compile_given};
use crate::error::RuntimeError;
use crate::knobs::Settings;
use crate::options::IR_OVERRIDE;
use std::sync::Arc;
use target::{CompileOptions, GivenStage};

/// Compiles a kernel from its ttir with other options.
pub(super) fn compile_again(
    kernel: &Kernel,
    mut options: CompileOptions,
) -> Result<Arc<Kernel>, RuntimeError> {
    let bytes = kernel.stage(TTIR)?.bytes.clone();
    let file = format!("{}.{TTIR}", kernel.function);
    let given = GivenStage { name: TTIR.to_owned(), file, bytes };
    // A file in place of a later stage is what the launch is refused for.
    options.extra.remove(IR_OVERRIDE);
    let again = compile_given(&given, kernel.target(), &options, &Settings::current())?;
    let is_alike = again.scratch() == kernel.scratch() && again.artifact.params == kernel.artifact.params;
    if is_alike { Ok(again) } else { Err(another(kernel)) }
}

pub(super) fn another(kernel: &Kernel) -> RuntimeError {
    let name = &kernel.artifact.name;
    RuntimeError::Internal(format!("`{name}` with another way to be launched is another kernel"))
}
