//! Loads and stores of whole blocks whose elements are all defined: without a look at each element where addresses lie
//! by coordinates and nothing is masked off, and with little more than a check of its bounds elsewhere.
//!
//! What is not plain (an element that is misaligned, or in another allocation than the first one, or in none) is left
//! to the accesses by element, which say what is wrong.

use super::affine::Affine;
use super::data::{Data, Side, WordSide};
use super::memory::{Allocation, Memory};

/// The elements of a block that an operation accesses; all of them are defined.
pub(crate) struct BlockAccess<'a> {
    /// How many there are, and the bytes of one.
    pub(crate) count: usize,
    pub(crate) size: u64,
    pub(crate) addresses: &'a Data,
    pub(crate) mask: Option<&'a Data>,
}

/// A mask as it is asked.
#[derive(Clone, Copy)]
struct Mask<'a>(Option<Side<'a>>);

impl Mask<'_> {
    #[inline]
    fn holds(self, index: usize) -> bool {
        self.0.is_none_or(|mask| mask.at(index) & 1 != 0)
    }
}

/// A number in memory.
trait Word: Copy {
    /// Of elements of so many bytes.
    const SIZE: u64;
    fn low(bits: u64) -> Self;
}

macro_rules! words {
    ($($ty:ty),*) => {$(
        impl Word for $ty {
            const SIZE: u64 = size_of::<$ty>() as u64;
            fn low(bits: u64) -> $ty {
                bits as $ty
            }
        }
    )*};
}
words!(u8, u16, u32, u64);

impl<'a> BlockAccess<'a> {
    fn mask(&self) -> Mask<'a> {
        match self.mask.map(Data::side) {
            Some(Side::Uniform(bits)) if bits & 1 != 0 => Mask(None),
            mask => Mask(mask),
        }
    }

    /// The addresses by coordinates, where nothing is masked off.
    fn rows(&self) -> Option<&'a Affine> {
        self.addresses.as_affine().filter(|_| self.mask().0.is_none())
    }
}

/// Whether all of a block lies in an allocation, aligned; where its first address is in that.
fn covers(allocation: &Allocation, affine: &Affine, size: u64) -> Option<()> {
    let [least, greatest] = affine.bounds()?;
    allocation.offset(least as u64, size)?;
    allocation.offset(greatest as u64, size)?;
    affine.steps.iter().all(|step| step & (size - 1) == 0).then_some(())
}

/// The elements of a block that an allocation covers, by their offsets there.
#[inline]
fn read_rows<R>(
    allocation: &Allocation,
    affine: &Affine,
    size: u64,
    read: impl Fn(usize) -> R,
) -> Option<Vec<R>> {
    let mut elements = Vec::with_capacity(affine.numel());
    let (rows, length, step) = affine.rows();
    for row in rows {
        let offset = allocation.offset(row, size)?;
        if step == size {
            elements.extend((0..length).map(|at| read(offset + at * size as usize)));
        } else {
            elements.extend((0..length).map(|at| read(offset.wrapping_add(at.wrapping_mul(step as usize)))));
        }
    }
    Some(elements)
}

impl Memory {
    /// Reads the elements at these addresses where the mask holds, and takes others where it does not; `None` where
    /// that is not plain.
    pub(crate) fn read_block(&self, access: &BlockAccess<'_>, others: Option<&Data>) -> Option<Data> {
        match access.size {
            1 => self.read_words::<u8>(access, others),
            2 => self.read_words::<u16>(access, others),
            4 => self.read_words::<u32>(access, others),
            _ => self.read_wide(access, others),
        }
    }

    fn read_words<T: Word + Into<u32>>(
        &self,
        access: &BlockAccess<'_>,
        others: Option<&Data>,
    ) -> Option<Data> {
        let others = others.map_or(WordSide::Uniform(0), Data::word_side);
        self.read_as::<T, u32>(access, T::into, |index| others.at(index)).map(Data::words)
    }

    fn read_wide(&self, access: &BlockAccess<'_>, others: Option<&Data>) -> Option<Data> {
        let others = others.map_or(Side::Uniform(0), Data::side);
        self.read_as::<u64, u64>(access, |word| word, |index| others.at(index)).map(Data::each)
    }

    fn read_as<T: Word, R: Clone>(
        &self,
        access: &BlockAccess<'_>,
        convert: impl Fn(T) -> R,
        other: impl Fn(usize) -> R,
    ) -> Option<Vec<R>> {
        let mask = access.mask();
        let Some(first) = (0..access.count).find(|&index| mask.holds(index)) else {
            return Some((0..access.count).map(other).collect());
        };
        let first = access.addresses.first_or(first);
        let allocation = &self.allocations[self.find(first, T::SIZE).ok()?];
        let start = allocation.start();
        // SAFETY: (of each call) the offset was checked to be one of an element that lies in the allocation: in the
        // vector, or in memory that `map_foreign` promises to be readable.
        let read = |offset: usize| convert(unsafe { start.add(offset).cast::<T>().read_unaligned() });
        if let Some(affine) = access.rows() {
            covers(allocation, affine, T::SIZE)?;
            return read_rows(allocation, affine, T::SIZE, read);
        }
        let addresses = access.addresses.side();
        if let (Side::Uniform(_), None) = (addresses, mask.0) {
            return Some(vec![read(allocation.offset(first, T::SIZE)?); access.count]);
        }
        let mut elements = Vec::with_capacity(access.count);
        for index in 0..access.count {
            elements.push(match mask.holds(index) {
                true => read(allocation.offset(addresses.at(index), T::SIZE)?),
                false => other(index),
            });
        }
        Some(elements)
    }

    /// Writes elements to these addresses where the mask holds, in order; whether that was plain. If it was not, the
    /// elements in front may be written.
    pub(crate) fn write_block(&mut self, access: &BlockAccess<'_>, values: &Data) -> bool {
        let done = match access.size {
            1 => self.write_words::<u8>(access, values),
            2 => self.write_words::<u16>(access, values),
            4 => self.write_words::<u32>(access, values),
            _ => {
                let values = values.side();
                self.write_as::<u64>(access, |index| values.at(index))
            }
        };
        done.is_some()
    }

    fn write_words<T: Word>(&mut self, access: &BlockAccess<'_>, values: &Data) -> Option<()> {
        let values = values.word_side();
        self.write_as::<T>(access, |index| T::low(u64::from(values.at(index))))
    }

    fn write_as<T: Word>(&mut self, access: &BlockAccess<'_>, value: impl Fn(usize) -> T) -> Option<()> {
        let mask = access.mask();
        let Some(first) = (0..access.count).find(|&index| mask.holds(index)) else { return Some(()) };
        let found = self.find(access.addresses.first_or(first), T::SIZE).ok()?;
        let allocation = &mut self.allocations[found];
        let start = allocation.start_mut()?;
        // SAFETY: (of each call) the offset was checked to be one of an element that lies in the allocation: in the
        // vector, or in memory that `map_foreign` promises to be writable.
        let write =
            |offset: usize, index| unsafe { start.add(offset).cast::<T>().write_unaligned(value(index)) };
        if let Some(affine) = access.rows() {
            covers(allocation, affine, T::SIZE)?;
            let (rows, length, step) = affine.rows();
            for (number, row) in rows.into_iter().enumerate() {
                let offset = allocation.offset(row, T::SIZE)?;
                for at in 0..length {
                    write(offset.wrapping_add(at.wrapping_mul(step as usize)), number * length + at);
                }
            }
            return Some(());
        }
        let addresses = access.addresses.side();
        for index in (0..access.count).filter(|&index| mask.holds(index)) {
            write(allocation.offset(addresses.at(index), T::SIZE)?, index);
        }
        Some(())
    }
}
