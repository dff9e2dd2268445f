//! Descriptors of matrices in shared memory, as warp-group instructions read them.
//!
//! The tile is stored as columns of blocks: `span` bytes of the contiguous dimension by all of the other, one row of
//! `span` bytes after the other, 16-byte pieces exchanged within every 8 rows (the swizzle). The 64-bit descriptor is
//! that of the PTX ISA, "Matrix-descriptor format": bits 0–13 address / 16, 16–29 leading offset / 16, 32–45 stride
//! offset / 16, 62–63 swizzle. Assumed: the tile begins at a multiple of 8 × `span` bytes.

/// Which dimension of an operand is contiguous in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Major {
    /// The one that is summed over.
    K,
    /// The other: rows of `a`, columns of `b`.
    Outer,
}

/// A tile in shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tile {
    /// Bytes of a row of a block: 128, 64 or 32.
    pub(crate) span: u32,
    /// Bytes of an element.
    pub(crate) element: u32,
    /// Elements of the whole tile along the dimension that is not contiguous.
    pub(crate) rows: u32,
    /// Which dimension is contiguous.
    pub(crate) major: Major,
}

impl Tile {
    /// The descriptor without its address.
    pub(crate) fn descriptor(&self) -> u64 {
        let swizzle = match self.span {
            128 => 1u64,
            64 => 2,
            32 => 3,
            span => unreachable!("rows of blocks have 32, 64 or 128 bytes, not {span}"),
        };
        // From 8 rows to the next 8, and from one block of columns to the next; an operand that is contiguous along K
        // never crosses blocks within an instruction, and the field is ignored.
        let stride = u64::from(8 * self.span / 16);
        let leading = match self.major {
            Major::K => 1,
            Major::Outer => u64::from(self.rows * self.span / 16),
        };
        swizzle << 62 | stride << 32 | (leading & 0x3fff) << 16
    }

    /// Bytes from the begin of the tile to the element at (`outer`, `k`), both multiples of an instruction's shape.
    pub(crate) fn offset(&self, outer: u32, k: u32) -> u32 {
        let (contiguous, row) = match self.major {
            Major::K => (k, outer),
            Major::Outer => (outer, k),
        };
        let bytes = contiguous * self.element;
        bytes / self.span * (self.rows * self.span) + row * self.span + bytes % self.span
    }
}

#[cfg(test)]
mod tests {
    use super::{Major, Tile};

    #[test]
    fn an_operand_contiguous_along_k() {
        let tile = Tile { span: 128, element: 2, rows: 128, major: Major::K };
        assert_eq!(tile.descriptor(), 1 << 62 | 64 << 32 | 1 << 16);
        assert_eq!(tile.offset(0, 16), 32);
        assert_eq!(tile.offset(64, 0), 64 * 128);
        assert_eq!(tile.offset(0, 64), 128 * 128);
    }

    #[test]
    fn an_operand_contiguous_along_its_columns() {
        let tile = Tile { span: 128, element: 2, rows: 64, major: Major::Outer };
        assert_eq!(tile.descriptor(), 1 << 62 | 64 << 32 | 512 << 16);
        assert_eq!(tile.offset(0, 16), 16 * 128);
        assert_eq!(tile.offset(64, 0), 64 * 128);
    }
}
