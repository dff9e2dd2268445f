//! How long a program has found memory as it is: by that the interpreter tells that it waits.

use super::error::{RunError, RunErrorKind};

/// After so many fruitless atomics in a row others run.
const PATIENCE: u32 = 256;
/// After so many nobody is expected to change anything any more. A program that does not wait may have many, where a
/// maximum was found early.
const LIMIT: u32 = 1_000_000;

/// Atomics and volatile loads of the program that runs since memory was last written.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Idle {
    atomics: u32,
    is_due: bool,
}

impl Idle {
    /// An atomic or a volatile load left memory as it was.
    pub(super) fn found_unchanged(&mut self) {
        self.atomics = self.atomics.saturating_add(1);
        self.is_due |= self.atomics.is_multiple_of(PATIENCE);
    }

    /// Whether others should run now; asked once each time.
    pub(super) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.is_due)
    }

    /// The error of a program that waits, where nobody else can run.
    pub(super) fn waits_for_ever(self, program: [u32; 3]) -> Option<RunError> {
        (self.atomics >= LIMIT).then(|| RunError {
            kind: RunErrorKind::Waits,
            message: format!(
                "the program waits: its last {LIMIT} atomics and volatile loads left memory as it is, and no program is left here \
                 that could change it"
            ),
            place: None,
            program: Some(program),
            notes: vec![
                "a program that waits is interrupted for those behind it, which run to their end; programs that wait for each \
                 other in turn need to be compiled"
                    .to_owned(),
            ],
        })
    }
}
