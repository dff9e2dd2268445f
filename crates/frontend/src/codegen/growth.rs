//! How far code may grow: calls and unrolled loops repeat theirs, and a few nested ones would take all memory.

use crate::codegen::{Ctx, Res, Stop};

/// Calls, unrolled iterations and elements of comprehensions of a kernel, all together.
const MAX_REPEATS: usize = 1 << 20;
/// Operations of a kernel before anything is made of them.
const MAX_OPERATIONS: usize = 1 << 22;

const TOO_LARGE: &str = "the code of this kernel is too large";

impl Ctx<'_> {
    /// Counts a call, an unrolled iteration or an element of a comprehension.
    pub(crate) fn repeat_code(&mut self) -> Res<()> {
        self.repeats += 1;
        if self.repeats <= MAX_REPEATS && self.module.num_ops() <= MAX_OPERATIONS {
            return Ok(());
        }
        // What is around it goes on and comes here again.
        if self.diagnostics.iter().any(|known| known.message.starts_with(TOO_LARGE)) {
            return Err(Stop);
        }
        Err(self.error_help(
            format!(
                "{TOO_LARGE}: {} calls and unrolled iterations so far, of at most {MAX_REPEATS}, and {} operations, of at most \
                 {MAX_OPERATIONS}",
                self.repeats,
                self.module.num_ops()
            ),
            "use `range` in place of `tl.static_range`, and keep the result of a function in place of calling it again",
        ))
    }
}
