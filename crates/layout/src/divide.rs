//! Division: taking a factor out of a layout. It finds out whether an instruction fits: a layout that is the tile of an
//! instruction times something is covered by repeating that instruction.

use crate::dims::{Dim, Dims};
use crate::linear::LinearLayout;
use smallvec::SmallVec;

impl LinearLayout {
    /// The layout `q` with `tile.product(q)` equal to this, if there is one.
    ///
    /// The low bits of each dimension must act as `tile` does, and the others must neither touch nor need the tile's
    /// outputs.
    pub fn divide_left(&self, tile: &LinearLayout) -> Option<LinearLayout> {
        let fits = tile.ins.iter().all(|(dim, bits)| self.ins.bits(dim) >= bits)
            && tile.outs.iter().all(|(dim, bits)| self.outs.bits(dim) >= bits);
        if !fits {
            return None;
        }
        let ins = rest(&self.ins, &tile.ins);
        let outs = rest(&self.outs, &tile.outs);
        let mut columns = SmallVec::new();
        for (dim, bits) in self.ins.iter() {
            let start = self.ins.shift(dim);
            let of_tile = tile.ins.bits(dim);
            for bit in 0..bits {
                let column = self.columns[(start + bit) as usize];
                if bit < of_tile {
                    let expected = tile.columns[(tile.ins.shift(dim) + bit) as usize];
                    if column != tile.outs.rebase(expected, &self.outs) {
                        return None;
                    }
                } else {
                    columns.push(self.above(column, tile, &outs)?);
                }
            }
        }
        Some(LinearLayout { ins, outs, columns })
    }

    /// An output word with the bits of the tile, which must be 0, taken out below.
    fn above(&self, column: u64, tile: &LinearLayout, outs: &Dims) -> Option<u64> {
        let mut position: SmallVec<[(Dim, u32); 4]> = SmallVec::new();
        for (dim, at) in self.outs.unpack(column) {
            let bits = tile.outs.bits(dim);
            if u64::from(at) & crate::dims::mask(bits) != 0 {
                return None;
            }
            position.push((dim, at.checked_shr(bits).unwrap_or(0)));
        }
        Some(outs.pack(&position))
    }
}

fn rest(all: &Dims, tile: &Dims) -> Dims {
    let dims: SmallVec<[(Dim, u32); 4]> =
        all.iter().map(|(dim, bits)| (dim, bits - tile.bits(dim))).collect();
    Dims::new(&dims)
}
