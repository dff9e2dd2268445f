//! Copies of tensors whose rows begin where descriptors cannot: a launch makes them in memory that it brings, with rows
//! that begin at multiples of a line, and makes its descriptors of these.
//!
//! ```text
//! tensor   4001 rows of 4041 halves, 8082 bytes apart       copy   the same rows, 8192 bytes apart
//! ```

use crate::{ArgExpr, Extent, MapRecipe};
use std::fmt;

/// What rows of a copy begin at multiples of, in bytes: a line of the cache.
const LINE: u64 = 128;

/// The most bytes of the copies of one launch.
const MOST_BYTES: u64 = 1 << 30;

/// A tensor that a kernel could load by descriptors if its rows were copied to where these can begin.
///
/// Its text is `%0[%1:i32,%2:i32][%3:i64] 2 128xall %4`: as of a [`MapRecipe`], of elements of two bytes, of which each
/// program reads 128 rows, from end to end; the kernel writes to memory of argument 4.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Unaligned {
    /// The number of the argument that is its address.
    pub base: usize,
    /// Elements along each axis, the slowest first.
    pub sizes: Vec<ArgExpr>,
    /// Elements from one to the next along each axis but the last, where it is one.
    pub strides: Vec<ArgExpr>,
    /// Bytes of an element.
    pub bytes: u64,
    /// Elements that a program reads along each axis; none for all.
    pub reads: Vec<Option<u64>>,
    /// The numbers of the arguments whose memory the kernel writes to.
    pub apart: Vec<usize>,
}

impl Unaligned {
    /// The numbers of the arguments that it is made of.
    pub fn args(&self) -> Vec<usize> {
        let mut found = vec![self.base];
        self.sizes.iter().chain(&self.strides).for_each(|part| part.args(&mut found));
        found.extend(&self.apart);
        found
    }

    /// Whether all of it is memory of a launch, and none that the kernel writes to.
    fn may_be_copied(&self, args: &[u64], extents: &[Extent]) -> bool {
        let Some(own) = self.rows(args).and_then(|rows| rows.within(extents)) else { return false };
        let is_apart = |&slot: &usize| {
            let address = args.get(slot).copied();
            let written = address.and_then(|address| extents.iter().find(|extent| extent.holds(address)));
            // Pieces of one allocation may be named twice.
            written.is_some_and(|written| !own.meets(written))
        };
        self.apart.iter().all(is_apart)
    }

    /// The rows of a launch with these slots.
    fn rows(&self, args: &[u64]) -> Option<Rows> {
        Rows::of(args, self.base, &self.sizes, &self.strides, self.bytes)
    }

    /// Bytes that a program of such a launch reads.
    fn read(&self, args: &[u64]) -> Option<u64> {
        let along = self.sizes.iter().zip(&self.reads).map(|(size, reads)| match reads {
            Some(reads) => Some(*reads),
            None => size.value(args).and_then(|size| u64::try_from(size).ok()),
        });
        along.into_iter().try_fold(self.bytes, |all, along| all.checked_mul(along?))
    }
}

impl fmt::Display for Unaligned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |parts: &[ArgExpr]| parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        write!(f, "%{}[{}][{}] {} ", self.base, list(&self.sizes), list(&self.strides), self.bytes)?;
        let reads =
            self.reads.iter().map(|reads| reads.map_or_else(|| "all".into(), |count| count.to_string()));
        let apart: Vec<String> = self.apart.iter().map(|slot| format!("%{slot}")).collect();
        write!(f, "{} {}", reads.collect::<Vec<_>>().join("x"), apart.join(","))
    }
}

/// The memory that a launch brings for copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlignedCopies {
    /// Where it begins, at a multiple of [`AlignedCopies::ALIGNMENT`].
    pub address: u64,
    /// Its bytes.
    pub bytes: u64,
}

impl AlignedCopies {
    /// What the address is a multiple of: copies begin at lines of the cache.
    pub const ALIGNMENT: u64 = LINE;
}

/// Rows of a tensor in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rows {
    from: u64,
    rows: u64,
    /// Bytes of a row.
    length: u64,
    /// Bytes from one row to the next.
    distance: u64,
    /// Bytes of an element.
    element: u64,
}

impl Rows {
    fn of(args: &[u64], base: usize, sizes: &[ArgExpr], strides: &[ArgExpr], element: u64) -> Option<Rows> {
        let number = |part: &ArgExpr| part.value(args).and_then(|value| u64::try_from(value).ok());
        let (rows, columns, stride) = match (sizes, strides) {
            ([columns], []) => (1, number(columns)?, 0),
            ([rows, columns], [stride]) => (number(rows)?, number(columns)?, number(stride)?),
            _ => return None,
        };
        let bytes = |elements: u64| elements.checked_mul(element);
        let found =
            Rows { from: *args.get(base)?, rows, length: bytes(columns)?, distance: bytes(stride)?, element };
        (rows > 0 && columns > 0).then_some(found)
    }

    /// The first of these pieces of memory in which all of it is.
    fn within<'a>(&self, extents: &'a [Extent]) -> Option<&'a Extent> {
        let last = (self.rows - 1).checked_mul(self.distance)?.checked_add(self.length)?;
        let end = self.from.checked_add(last)?;
        let holds = |extent: &&Extent| {
            extent.base <= self.from && extent.base.checked_add(extent.len).is_some_and(|last| end <= last)
        };
        extents.iter().find(holds)
    }

    fn pitch(&self) -> u64 {
        self.length.next_multiple_of(LINE)
    }

    fn copied_bytes(&self) -> Option<u64> {
        self.pitch().checked_mul(self.rows)
    }
}

/// One copy of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlignedCopy {
    rows: Rows,
    /// Where it begins in the memory for copies.
    offset: u64,
}

impl AlignedCopy {
    /// Where it begins, in memory that the launch brings.
    pub fn address(&self, copies: AlignedCopies) -> u64 {
        copies.address.wrapping_add(self.offset)
    }

    /// Elements from one of its rows to the next.
    pub fn stride(&self) -> u64 {
        self.rows.pitch() / self.rows.element
    }

    /// Bytes of an element.
    pub fn element_bytes(&self) -> u64 {
        self.rows.element
    }

    /// What is copied: its address, rows, elements of a row, and elements from one row to the next.
    pub fn source(&self) -> [u64; 4] {
        let Rows { from, rows, length, distance, element } = self.rows;
        [from, rows, length / element, distance / element]
    }
}

/// The copies of a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyPlan {
    /// Each tensor once.
    pub copies: Vec<AlignedCopy>,
    /// Bytes of memory for them.
    pub bytes: u64,
}

impl CopyPlan {
    /// The copies that descriptors are made of, in a launch with these slots; none where they cannot be made, or would
    /// take more than a GiB.
    pub fn of_maps(maps: &[MapRecipe], args: &[u64]) -> Option<CopyPlan> {
        let rows = maps.iter().filter(|map| map.is_copied).map(|map| CopyPlan::rows_of(map, args));
        CopyPlan::of(rows)
    }

    fn rows_of(map: &MapRecipe, args: &[u64]) -> Option<Rows> {
        Rows::of(args, map.base, &map.sizes, &map.strides, u64::from(map.element.bits()) / 8)
    }

    /// The copies that descriptors would be made of.
    pub fn of_tensors(tensors: &[Unaligned], args: &[u64]) -> Option<CopyPlan> {
        CopyPlan::of(tensors.iter().map(|tensor| tensor.rows(args)))
    }

    fn of(all: impl Iterator<Item = Option<Rows>>) -> Option<CopyPlan> {
        let mut plan = CopyPlan::default();
        for rows in all {
            let rows = rows?;
            if !plan.copies.iter().any(|copy| copy.rows == rows) {
                plan.copies.push(AlignedCopy { rows, offset: plan.bytes });
                plan.bytes =
                    plan.bytes.checked_add(rows.copied_bytes()?).filter(|&bytes| bytes <= MOST_BYTES)?;
            }
        }
        Some(plan)
    }

    /// The copy that a descriptor is made of.
    pub fn of_map(&self, map: &MapRecipe, args: &[u64]) -> Option<AlignedCopy> {
        let rows = CopyPlan::rows_of(map, args)?;
        self.copies.iter().copied().find(|copy| copy.rows == rows)
    }

    /// Whether tensors may be copied in front of a launch whose arguments are of these pieces of memory: all of them
    /// lies there, and apart from what the kernel writes.
    pub fn is_allowed(tensors: &[Unaligned], args: &[u64], extents: &[Extent]) -> bool {
        tensors.iter().all(|tensor| tensor.may_be_copied(args, extents))
    }

    /// Bytes that programs read of tensors, so many programs; none where that cannot be known.
    pub fn read(tensors: &[Unaligned], args: &[u64], programs: u64) -> Option<u64> {
        tensors
            .iter()
            .try_fold(0u64, |all, tensor| all.checked_add(tensor.read(args)?.checked_mul(programs)?))
    }
}

#[cfg(test)]
mod tests {
    use super::{AlignedCopies, CopyPlan, Unaligned};
    use crate::{ArgExpr, Extent, MapElement, MapRecipe};

    fn arg(slot: usize) -> ArgExpr {
        ArgExpr::Arg { slot, bits: 32 }
    }

    fn map(base: usize, is_copied: bool) -> MapRecipe {
        MapRecipe {
            base,
            sizes: vec![arg(2), arg(3)],
            strides: vec![arg(4)],
            element: MapElement::Float(16),
            swizzle: 128,
            sides: vec![128, 64],
            is_written: false,
            is_copied,
        }
    }

    #[test]
    fn each_tensor_is_copied_once() {
        let maps = [map(0, true), map(1, false), map(0, true), map(1, true)];
        let args = [0x1002, 0x9000, 5, 101, 131];
        let plan = CopyPlan::of_maps(&maps, &args).expect("sizes are known");
        assert_eq!(plan.copies.len(), 2);
        // Rows of 202 bytes are 256 apart.
        assert_eq!(plan.bytes, 2 * 5 * 256);
        let memory = AlignedCopies { address: 0x10000, bytes: plan.bytes };
        let second = plan.of_map(&maps[3], &args).expect("it is copied");
        assert_eq!(second.address(memory), 0x10000 + 5 * 256);
        assert_eq!((second.source(), second.stride()), ([0x9000, 5, 101, 131], 128));
    }

    fn tensor() -> Unaligned {
        Unaligned {
            base: 0,
            sizes: vec![arg(2), arg(3)],
            strides: vec![arg(4)],
            bytes: 2,
            reads: vec![Some(128), None],
            apart: vec![1],
        }
    }

    #[test]
    fn what_is_copied_is_memory_of_the_launch_and_not_written() {
        let args = [0x1002, 0x8000, 5, 101, 131];
        let extent = |base: u64, end: u64| Extent { base, len: end - base, writable: false };
        let end = 0x1002 + 4 * 262 + 202;
        let is_allowed = |args: [u64; 5], own: Extent| {
            let extents = [extent(0, 0x1000), own, extent(0x8000, 0x8010)];
            CopyPlan::is_allowed(&[tensor()], &args, &extents)
        };
        assert!(is_allowed(args, extent(0x1000, end)));
        assert!(!is_allowed(args, extent(0x1000, end - 1)), "rows go on behind it");
        assert!(!is_allowed(args, extent(0x1003, end)));
        assert!(!is_allowed(args, extent(0x1000, 0x8001)), "the kernel writes there");
        for written in [0x1000, end - 1] {
            assert!(!is_allowed([0x1002, written, 5, 101, 131], extent(0x1000, end)));
        }
        assert!(!is_allowed([0x1002, 0x9000, 5, 101, 131], extent(0x1000, end)), "nothing is known of it");
        assert!(!CopyPlan::is_allowed(&[tensor()], &args, &[]));
    }

    #[test]
    fn no_tensor_without_elements_and_none_beyond_all_memory() {
        let maps = [map(0, true)];
        for [rows, columns, stride] in [[0, 101, 131], [5, 0, 131], [5, 101, u64::MAX], [1 << 30, 101, 131]] {
            assert_eq!(CopyPlan::of_maps(&maps, &[0x1000, 0, rows, columns, stride]), None);
        }
        assert_eq!(CopyPlan::of_maps(&maps, &[0x1000]), None);
    }

    #[test]
    fn programs_read_blocks_or_rows_from_end_to_end() {
        let tensor = tensor();
        assert_eq!(tensor.to_string(), "%0[%2:i32,%3:i32][%4:i32] 2 128xall %1");
        assert_eq!(tensor.args(), [0, 2, 3, 4, 1]);
        let args = [0, 0, 5, 101, 131];
        assert_eq!(CopyPlan::read(std::slice::from_ref(&tensor), &args, 10), Some(10 * 128 * 101 * 2));
        assert_eq!(CopyPlan::read(&[tensor], &args, u64::MAX), None);
    }
}
