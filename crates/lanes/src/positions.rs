//! Which register of lane 0 of warp 0 holds which element of a matrix.
//!
//! A matrix instruction names its operands by position, a tensor's layout says which register holds which element. Both
//! are asked about lane 0 of warp 0 alone: layouts are linear, so what fits there fits in every lane.

use layout::{Dim, LinearLayout};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// An element of a tensor: batch, row, column; batch is 0 where the tensor has two dimensions.
pub type Element = [u32; 3];

/// The elements that lane 0 of warp 0 holds, and in which registers.
pub struct Positions {
    registers: FxHashMap<Element, u32>,
    elements: Vec<Element>,
    sizes: Element,
}

impl Positions {
    /// Of the layout of a tensor of two or three dimensions.
    pub fn of(layout: &LinearLayout) -> Positions {
        let rank = layout.outs().iter().count();
        let place = |values: &dyn Fn(usize) -> u32| {
            if rank == 3 { [values(0), values(1), values(2)] } else { [0, values(0), values(1)] }
        };
        let sizes = place(&|dim| 1 << layout.outs().bits(Dim::block(dim)));
        let sizes = if rank == 3 { sizes } else { [1, sizes[1], sizes[2]] };
        let mut registers = FxHashMap::default();
        let mut elements = Vec::new();
        for (register, word) in (0..).zip(layout.along(Dim::REGISTER)) {
            let at = layout.outs().unpack(word);
            let along =
                |dim: usize| at.iter().find(|(out, _)| *out == Dim::block(dim)).map_or(0, |(_, at)| *at);
            let element = place(&along);
            registers.entry(element).or_insert(register);
            elements.push(element);
        }
        Positions { registers, elements, sizes }
    }

    /// The element of each register.
    pub fn elements(&self) -> &[Element] {
        &self.elements
    }

    /// Elements of the tensor along each axis.
    pub fn sizes(&self) -> Element {
        self.sizes
    }

    /// The register that holds an element; `None` where lane 0 does not hold it. Positions outside the tensor are those
    /// of the copies that a layout larger than the tensor holds.
    pub fn register(&self, element: Element) -> Option<u32> {
        let inside = |axis: usize| element[axis] & (self.sizes[axis] - 1);
        self.registers.get(&[inside(0), inside(1), inside(2)]).copied()
    }

    /// The registers of a fragment whose corner is at `corner`: `offsets` are (row, column) from there.
    pub fn fragment(&self, corner: Element, offsets: &[(u32, u32)]) -> Option<SmallVec<[u32; 16]>> {
        offsets
            .iter()
            .map(|(row, column)| self.register([corner[0], corner[1] + row, corner[2] + column]))
            .collect()
    }

    /// Gives registers that hold the same element the value of the first of them.
    pub fn copy_repeated<T: Copy>(&self, registers: &mut [T]) {
        for (at, element) in self.elements.iter().enumerate() {
            if let Some(first) = self.register(*element) {
                registers[at] = registers[first as usize];
            }
        }
    }

    /// The corners of the tiles of so many rows and columns that the warp holds, in the order of the registers.
    pub fn corners(&self, rows: u32, columns: u32) -> Vec<Element> {
        let mut seen = FxHashSet::default();
        let corner =
            |element: &Element| [element[0], element[1] / rows * rows, element[2] / columns * columns];
        self.elements.iter().map(corner).filter(|corner| seen.insert(*corner)).collect()
    }

    /// The multiples of `step` that an axis (0 batch, 1 rows, 2 columns) takes, in order.
    pub fn steps(&self, axis: usize, step: u32) -> Vec<u32> {
        let mut values: Vec<u32> = self.elements.iter().map(|element| element[axis] / step * step).collect();
        values.sort_unstable();
        values.dedup();
        values
    }
}

#[cfg(test)]
mod tests {
    use super::Positions;
    use layout::{Dim, LinearLayout};

    /// The result of an instruction of 16 rows and 8 columns, two of them along the columns.
    fn accumulator() -> LinearLayout {
        let (row, column) = (Dim::block(0), Dim::block(1));
        LinearLayout::new(
            &[
                (Dim::REGISTER, &[&[(column, 1)], &[(row, 8)], &[(column, 8)]]),
                (Dim::LANE, &[&[(column, 2)], &[(column, 4)], &[(row, 1)], &[(row, 2)], &[(row, 4)]]),
            ],
            &[(row, 4), (column, 4)],
        )
        .expect("bases lie inside 16x16")
    }

    #[test]
    fn fragments_are_registers_in_order() {
        let positions = Positions::of(&accumulator());
        let offsets = [(0, 0), (0, 1), (8, 0), (8, 1)];
        assert_eq!(positions.corners(16, 8), [[0, 0, 0], [0, 0, 8]]);
        assert_eq!(positions.fragment([0, 0, 0], &offsets).expect("held").as_slice(), [0, 1, 2, 3]);
        assert_eq!(positions.fragment([0, 0, 8], &offsets).expect("held").as_slice(), [4, 5, 6, 7]);
        assert_eq!(positions.steps(2, 8), [0, 8]);
        assert!(positions.register([0, 1, 0]).is_none());
        assert_eq!(positions.register([0, 16, 0]), Some(0));
    }
}
