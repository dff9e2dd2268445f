//! Flags of instructions: what may be assumed of integers, how freely floats may be rearranged.

use std::fmt;
use std::ops::BitOr;

/// A set of instruction flags. A row says which of them an instruction may carry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Flags(u16);

/// Every flag with the word LLVM has for it, in the order they are printed.
const WORDS: [(Flags, &str); 12] = [
    (Flags::INBOUNDS, "inbounds"),
    (Flags::NUW, "nuw"),
    (Flags::NSW, "nsw"),
    (Flags::EXACT, "exact"),
    (Flags::REASSOC, "reassoc"),
    (Flags::NNAN, "nnan"),
    (Flags::NINF, "ninf"),
    (Flags::NSZ, "nsz"),
    (Flags::ARCP, "arcp"),
    (Flags::CONTRACT, "contract"),
    (Flags::AFN, "afn"),
    (Flags::VOLATILE, "volatile"),
];

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// No unsigned wrap.
    pub const NUW: Flags = Flags(1);
    /// No signed wrap.
    pub const NSW: Flags = Flags(2);
    /// A division or right shift leaves no rest.
    pub const EXACT: Flags = Flags(4);
    /// No NaN is read or made.
    pub const NNAN: Flags = Flags(8);
    /// No infinity is read or made.
    pub const NINF: Flags = Flags(16);
    /// The sign of a zero does not matter.
    pub const NSZ: Flags = Flags(32);
    /// A division may become a multiplication by the reciprocal.
    pub const ARCP: Flags = Flags(64);
    /// Multiply and add may be fused.
    pub const CONTRACT: Flags = Flags(128);
    /// Approximate functions may be used.
    pub const AFN: Flags = Flags(256);
    /// The order of operations may change.
    pub const REASSOC: Flags = Flags(512);
    /// An address stays inside its object.
    pub const INBOUNDS: Flags = Flags(1024);
    /// A memory access that must happen as written.
    pub const VOLATILE: Flags = Flags(2048);

    /// All flags of float arithmetic.
    pub const FLOAT: Flags = Flags(8 | 16 | 32 | 64 | 128 | 256 | 512);
    /// Both integer wrap flags.
    pub const WRAP: Flags = Flags(3);

    /// The flag that LLVM has a word for; `fast` is all of float arithmetic.
    pub(crate) fn of_word(word: &str) -> Option<Flags> {
        if word == "fast" {
            return Some(Flags::FLOAT);
        }
        WORDS.iter().find(|(_, known)| *known == word).map(|(flag, _)| *flag)
    }

    /// The words of all of them.
    pub(crate) fn words(self) -> impl Iterator<Item = &'static str> {
        WORDS.into_iter().filter(move |(flag, _)| self.contains(*flag)).map(|(_, word)| word)
    }

    /// Whether all of `other` is in here.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The flags in both.
    #[must_use]
    pub const fn and(self, other: Flags) -> Flags {
        Flags(self.0 & other.0)
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl fmt::Display for Flags {
    /// Each flag followed by a space.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.words().try_for_each(|word| write!(f, "{word} "))
    }
}
