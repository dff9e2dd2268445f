//! Writing results. A reader that goes away (`| head`) ends the output and is no error.

use crate::Failure;
use std::io::{ErrorKind, Write};

/// Writes to the standard output.
pub(crate) fn write(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure(format!("cannot write the output: {error}")))
        }
        _ => Ok(()),
    }
}
