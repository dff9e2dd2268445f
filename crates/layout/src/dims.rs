//! Named dimensions of power-of-two sizes, packed into one word of bits.

use smallvec::SmallVec;
use std::fmt;

/// The name of a dimension: at most eight bytes, in one word, the first in the highest byte. Names are compared all the
/// time, and ordered as their texts are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dim(u64);

impl Dim {
    /// Registers of a lane.
    pub const REGISTER: Dim = Dim::named("register");
    /// Lanes of a warp.
    pub const LANE: Dim = Dim::named("lane");
    /// Warps of a thread block.
    pub const WARP: Dim = Dim::named("warp");
    /// Thread blocks of a cluster.
    pub const BLOCK: Dim = Dim::named("block");
    /// Positions in shared memory, in elements.
    pub const OFFSET: Dim = Dim::named("offset");

    /// A dimension of this name.
    ///
    /// # Panics
    /// When the name has more than eight bytes.
    pub const fn named(name: &str) -> Dim {
        let bytes = name.as_bytes();
        assert!(bytes.len() <= 8, "names of dimensions have at most eight bytes");
        let mut word = [0; 8];
        let mut at = 0;
        while at < bytes.len() {
            word[at] = bytes[at];
            at += 1;
        }
        Dim(u64::from_be_bytes(word))
    }

    /// How many dimensions a block may have: one of 2^20 elements, split into halves again and again as sorting does,
    /// has 20.
    pub const MOST: usize = 32;

    /// Dimension `index` of a block.
    ///
    /// # Panics
    /// From [`Dim::MOST`] on.
    pub fn block(index: usize) -> Dim {
        const DIMS: [Dim; Dim::MOST] = Dim::blocks();
        DIMS[index]
    }

    /// `dim0`, `dim1` and so on.
    const fn blocks() -> [Dim; Dim::MOST] {
        let mut dims = [Dim(0); Dim::MOST];
        let mut index = 0;
        while index < dims.len() {
            let (tens, ones) = ((index / 10) as u8, (index % 10) as u8);
            let word = if tens == 0 {
                [b'd', b'i', b'm', b'0' + ones, 0, 0, 0, 0]
            } else {
                [b'd', b'i', b'm', b'0' + tens, b'0' + ones, 0, 0, 0]
            };
            dims[index] = Dim(u64::from_be_bytes(word));
            index += 1;
        }
        dims
    }

    /// The name.
    pub fn name(self) -> String {
        let bytes = self.0.to_be_bytes();
        String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
    }
}

impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// Dimensions in order, the fastest first, each with the number of its bits. The first has the lowest bits of the word.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Dims(SmallVec<[(Dim, u32); 4]>);

impl Dims {
    /// Dimensions with their sizes in bits.
    pub fn new(dims: &[(Dim, u32)]) -> Dims {
        Dims(SmallVec::from_slice(dims))
    }

    /// The dimensions in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Dim, u32)> + '_ {
        self.0.iter().copied()
    }

    /// Bits in all.
    pub fn total_bits(&self) -> u32 {
        self.0.iter().map(|dim| dim.1).sum()
    }

    /// The bits of a dimension; 0 for one that is not there.
    pub fn bits(&self, dim: Dim) -> u32 {
        self.0.iter().find(|own| own.0 == dim).map_or(0, |own| own.1)
    }

    /// Whether a dimension is there.
    pub fn has(&self, dim: Dim) -> bool {
        self.0.iter().any(|own| own.0 == dim)
    }

    /// The lowest bit of a dimension in the word; the end of the word for one that is not there.
    pub fn shift(&self, dim: Dim) -> u32 {
        self.0.iter().take_while(|own| own.0 != dim).map(|own| own.1).sum()
    }

    /// The word of a position; dimensions that are not given are at 0.
    pub fn pack(&self, position: &[(Dim, u32)]) -> u64 {
        position.iter().map(|&(dim, at)| self.place(dim, u64::from(at))).fold(0, |word, part| word | part)
    }

    fn place(&self, dim: Dim, at: u64) -> u64 {
        let mut shift = 0;
        for &(own, bits) in &self.0 {
            if own == dim {
                return if bits == 0 { 0 } else { (at & mask(bits)) << shift };
            }
            shift += bits;
        }
        0
    }

    /// The position of a word.
    pub fn unpack(&self, word: u64) -> SmallVec<[(Dim, u32); 4]> {
        let mut rest = word;
        let part = |&(dim, bits): &(Dim, u32)| {
            let at = (rest & mask(bits)) as u32;
            rest = rest.checked_shr(bits).unwrap_or(0);
            (dim, at)
        };
        self.0.iter().map(part).collect()
    }

    /// A word of these dimensions as a word of `other`, which has the same names with at least as many bits.
    pub(crate) fn rebase(&self, word: u64, other: &Dims) -> u64 {
        let (mut rest, mut packed) = (word, 0);
        for &(dim, bits) in &self.0 {
            packed |= other.place(dim, rest & mask(bits));
            rest = rest.checked_shr(bits).unwrap_or(0);
        }
        packed
    }

    /// These dimensions followed by those of `other`; a dimension in both has the bits of both, ours lowest.
    pub(crate) fn sum(&self, other: &Dims) -> Dims {
        let mut all = self.clone();
        for (dim, bits) in other.iter() {
            match all.0.iter_mut().find(|own| own.0 == dim) {
                Some(own) => own.1 += bits,
                None => all.0.push((dim, bits)),
            }
        }
        all
    }
}

/// So many low bits.
pub(crate) fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}
