//! Architectures and PTX versions: how they are written, which of them knows the other.

use std::fmt;
use std::str::FromStr;

/// A version of the PTX language.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Version {
    /// The number before the dot.
    pub major: u8,
    /// The number after the dot.
    pub minor: u8,
}

impl Version {
    /// A version by its two numbers.
    pub const fn new(major: u8, minor: u8) -> Version {
        Version { major, minor }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// An architecture: `sm_80`, or `sm_90a` with the instructions that no other one has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Arch {
    /// Ten times the compute capability.
    pub number: u16,
    /// Whether the instructions may be used that only this one has (the suffix `a`).
    pub specific: bool,
}

/// Architectures with the first PTX version that names them, without and with the suffix `a` where there is one.
const KNOWN: &[(u16, Version, Option<Version>)] = &[
    (70, Version::new(6, 0), None),
    (72, Version::new(6, 1), None),
    (75, Version::new(6, 3), None),
    (80, Version::new(7, 0), None),
    (86, Version::new(7, 1), None),
    (87, Version::new(7, 4), None),
    (89, Version::new(7, 8), None),
    (90, Version::new(7, 8), Some(Version::new(8, 0))),
    (100, Version::new(8, 6), Some(Version::new(8, 6))),
    (101, Version::new(8, 6), Some(Version::new(8, 6))),
    (103, Version::new(8, 8), Some(Version::new(8, 8))),
    (110, Version::new(9, 0), Some(Version::new(9, 0))),
    (120, Version::new(8, 7), Some(Version::new(8, 7))),
    (121, Version::new(8, 8), Some(Version::new(8, 8))),
];

impl Arch {
    /// An architecture that later ones are compatible with.
    pub const fn new(number: u16) -> Arch {
        Arch { number, specific: false }
    }

    /// The architecture that code for a device of this compute capability is compiled for: with the suffix `a` where
    /// there is one.
    pub fn of_capability(number: u16) -> Option<Arch> {
        let row = KNOWN.iter().find(|row| row.0 == number)?;
        Some(Arch { number, specific: row.2.is_some() })
    }

    /// The first PTX version that names this architecture; that of the newest older one where it is not known.
    pub fn first_version(self) -> Version {
        let known = KNOWN.iter().rfind(|row| row.0 <= self.number);
        known.map_or(Version::new(6, 0), |row| if self.specific { row.2.unwrap_or(row.1) } else { row.1 })
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.number, if self.specific { "a" } else { "" })
    }
}

/// What was written is no architecture known here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownArch(pub String);

impl fmt::Display for UnknownArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not an architecture known here; known are", self.0)?;
        for (index, (number, _, specific)) in KNOWN.iter().enumerate() {
            let suffix = if specific.is_some() { "a" } else { "" };
            write!(f, "{} sm_{number}{suffix}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownArch {}

impl FromStr for Arch {
    type Err = UnknownArch;

    /// Reads `sm_90a`, `90a` or `90`.
    fn from_str(text: &str) -> Result<Arch, UnknownArch> {
        let unknown = || UnknownArch(text.into());
        let digits = text.strip_prefix("sm_").unwrap_or(text);
        let (digits, specific) = digits.strip_suffix('a').map_or((digits, false), |digits| (digits, true));
        let number: u16 = digits.parse().map_err(|_| unknown())?;
        let row = KNOWN.iter().find(|row| row.0 == number).ok_or_else(unknown)?;
        if specific && row.2.is_none() {
            return Err(unknown());
        }
        Ok(Arch { number, specific })
    }
}

#[cfg(test)]
mod tests {
    use super::{Arch, Version};

    #[test]
    fn architectures_read_and_print() {
        for text in ["sm_80", "sm_90a", "sm_90", "sm_120a"] {
            assert_eq!(text.parse::<Arch>().map(|arch| arch.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "sm_", "sm_80a", "sm_1", "gfx90a", "sm_99999999"] {
            let error = text.parse::<Arch>().expect_err(text);
            assert!(error.to_string().contains("sm_90a"), "{error}");
        }
        assert_eq!("90a".parse::<Arch>().map(Arch::first_version), Ok(Version::new(8, 0)));
        assert_eq!(Arch::of_capability(89), Some(Arch::new(89)));
        assert_eq!(Arch::of_capability(90), Some(Arch { number: 90, specific: true }));
    }
}
