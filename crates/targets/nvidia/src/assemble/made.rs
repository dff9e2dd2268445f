//! What a run of the command comes to, however it was started.

/// How the file with the text is called, for those who read complaints.
pub(super) const INPUT: &str = "kernel.ptx";

/// What the command made of a text.
#[derive(Debug)]
pub(super) struct Made {
    /// The machine code.
    pub(super) bytes: Vec<u8>,
    /// What was said besides.
    pub(super) log: String,
}

/// Why one that was started ahead made nothing.
#[derive(Debug)]
pub(super) enum NotMade {
    /// There was none, or none that still waits.
    NoneWaits,
    /// It ended by itself before it got a text.
    EndedEarly,
    /// It got the text and did not answer well.
    Failed,
}
