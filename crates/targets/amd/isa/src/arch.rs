//! The architectures, and sets of them.

use std::fmt;

/// How many lanes a wave has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Wave {
    /// 32.
    W32,
    /// 64.
    W64,
}

impl Wave {
    /// The number.
    pub const fn lanes(self) -> u32 {
        match self {
            Wave::W32 => 32,
            Wave::W64 => 64,
        }
    }
}

/// An architecture.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Arch {
    /// CDNA2: MI200.
    Gfx90a,
    /// CDNA3: MI300.
    Gfx942,
    /// CDNA4: MI350.
    Gfx950,
    /// RDNA3: Radeon RX 7900.
    Gfx1100,
    /// RDNA4: Radeon RX 9000.
    Gfx1200,
}

/// All of them, older ones first.
pub const ARCHS: [Arch; 5] = [Arch::Gfx90a, Arch::Gfx942, Arch::Gfx950, Arch::Gfx1100, Arch::Gfx1200];

impl Arch {
    /// LLVM's name: `gfx942`.
    pub const fn name(self) -> &'static str {
        match self {
            Arch::Gfx90a => "gfx90a",
            Arch::Gfx942 => "gfx942",
            Arch::Gfx950 => "gfx950",
            Arch::Gfx1100 => "gfx1100",
            Arch::Gfx1200 => "gfx1200",
        }
    }

    /// The architecture of a name.
    pub fn named(name: &str) -> Option<Arch> {
        ARCHS.into_iter().find(|arch| arch.name() == name)
    }

    /// How many lanes a wave of compiled code has.
    pub const fn wave(self) -> Wave {
        if GFX9.has(self) { Wave::W64 } else { Wave::W32 }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of architectures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Archs(u8);

impl Archs {
    /// A set of these.
    pub const fn of(archs: &[Arch]) -> Archs {
        let (mut bits, mut index) = (0, 0);
        while index < archs.len() {
            bits |= 1 << archs[index] as u8;
            index += 1;
        }
        Archs(bits)
    }

    /// Whether it is in the set.
    pub const fn has(self, arch: Arch) -> bool {
        self.0 >> arch as u8 & 1 == 1
    }
}

/// Every architecture.
pub const EVERY: Archs = Archs::of(&ARCHS);
/// Those with waves of 64 lanes.
pub const GFX9: Archs = Archs::of(&[Arch::Gfx90a, Arch::Gfx942, Arch::Gfx950]);
/// Those for computing, with `mfma`.
pub const CDNA: Archs = GFX9;
/// Those for graphics, with `wmma`.
pub const RDNA: Archs = Archs::of(&[Arch::Gfx1100, Arch::Gfx1200]);

#[cfg(test)]
mod tests {
    use super::{ARCHS, Arch, CDNA, RDNA, Wave};

    #[test]
    fn every_architecture_is_of_one_family() {
        for arch in ARCHS {
            assert_eq!(Arch::named(arch.name()), Some(arch));
            assert!(CDNA.has(arch) != RDNA.has(arch));
            assert_eq!(arch.wave() == Wave::W64, CDNA.has(arch));
        }
        assert_eq!(Arch::named("gfx900"), None);
    }
}
