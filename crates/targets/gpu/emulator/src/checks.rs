//! What a launch is given: bytes of arguments, and what to watch.

/// The value of a parameter: its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument(pub Vec<u8>);

/// An argument from a number.
macro_rules! argument_from {
    ($($ty:ty),*) => {$(
        impl From<$ty> for Argument {
            fn from(value: $ty) -> Argument { Argument(value.to_le_bytes().to_vec()) }
        }
    )*};
}

argument_from!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

impl From<Vec<u8>> for Argument {
    fn from(bytes: Vec<u8>) -> Argument {
        Argument(bytes)
    }
}

/// What to watch; watching costs time.
#[derive(Debug, Clone, Copy)]
pub struct Checks {
    /// Find accesses of shared memory that nothing orders.
    pub races: bool,
    /// Find uses of values that were never written.
    pub uninitialised: bool,
    /// Count executions, sectors and bank conflicts of each instruction.
    pub counters: bool,
    /// The launch faults after so many instructions of warps.
    pub max_instructions: u64,
    /// Whether the launch is to be given up: asked now and then, on the thread that launches.
    pub interrupt: Option<fn() -> bool>,
}

impl Default for Checks {
    fn default() -> Checks {
        Checks {
            races: true,
            uninitialised: true,
            counters: true,
            max_instructions: 1 << 40,
            interrupt: None,
        }
    }
}

impl Checks {
    /// Watches nothing, for speed. Faults are still faults.
    pub fn none() -> Checks {
        Checks { races: false, uninitialised: false, counters: false, ..Checks::default() }
    }
}
