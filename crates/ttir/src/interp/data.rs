//! The value of a block or scalar while it is interpreted: raw bits of its elements, and which of them are undefined.
//!
//! A block whose elements are all equal may be kept as one element, so that constants, splats and scalars cost no
//! memory; offsets may be kept by their [`Affine`], elements of at most 32 bits as such. [`Data::at`] and
//! [`Data::side`] hide the difference: whoever does not know a representation gets the elements, which are computed
//! once. Equal data may thus have several representations: compare elements, not `Data`.

use super::affine::Affine;
use super::positions::element_name;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

#[derive(Clone, Debug)]
enum Bits {
    Uniform(u64),
    Affine(Arc<Affine>),
    Words(Arc<Words>),
    Each(Arc<[u64]>),
}

/// Elements of at most 32 bits.
#[derive(Debug)]
struct Words {
    words: Vec<u32>,
    /// The same in 64 bits, once somebody has asked for them.
    each: OnceLock<Arc<[u64]>>,
}

impl Words {
    fn each(&self) -> &Arc<[u64]> {
        self.each.get_or_init(|| self.words.iter().map(|&word| u64::from(word)).collect())
    }
}

/// How elements of at most 32 bits are kept, for loops over them.
pub(crate) enum WordSide<'a> {
    /// All are equal.
    Uniform(u32),
    /// One by one.
    Each(Cow<'a, [u32]>),
}

impl WordSide<'_> {
    /// One element.
    #[inline]
    pub(crate) fn at(&self, index: usize) -> u32 {
        match self {
            WordSide::Uniform(word) => *word,
            WordSide::Each(each) => each[index],
        }
    }
}

/// An operation that could not define an element of its result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it does, and with that when it is not defined.
    pub(crate) doc: &'static str,
    /// Where it stands in the source.
    pub(crate) place: Option<String>,
    /// The shape of its result.
    pub(crate) shape: &'static [i64],
}

/// Which elements have no defined value, and the operation that could not define them.
#[derive(Clone, Debug)]
pub(crate) struct Undefined {
    /// One flag for each element, or one for all.
    pub(crate) flags: Arc<[bool]>,
    /// Where the first of them came from.
    pub(crate) origin: Arc<Origin>,
    /// The element of the origin's result.
    pub(crate) element: usize,
}

impl Undefined {
    fn at(&self, index: usize) -> bool {
        self.flags[if self.flags.len() == 1 { 0 } else { index }]
    }

    /// Where the first of them came from, as a sentence without its end.
    pub(crate) fn explain(&self) -> String {
        let Origin { name, doc, place, shape } = &*self.origin;
        let place = place.as_ref().map(|place| format!(" at {place}")).unwrap_or_default();
        let element = match *shape {
            [] => String::new(),
            dims => format!(" of element {}", element_name(dims, self.element)),
        };
        format!("it comes from {name}{element}{place}: {doc}")
    }

    /// The same origin with other flags.
    pub(crate) fn with_flags(&self, flags: Arc<[bool]>) -> Arc<Undefined> {
        Arc::new(Undefined { flags, origin: Arc::clone(&self.origin), element: self.element })
    }
}

/// How the elements of a value are kept, for loops over them.
#[derive(Clone, Copy)]
pub(crate) enum Side<'a> {
    /// All are equal.
    Uniform(u64),
    /// One by one.
    Each(&'a [u64]),
}

impl Side<'_> {
    /// The bits of one element.
    #[inline]
    pub(crate) fn at(self, index: usize) -> u64 {
        match self {
            Side::Uniform(bits) => bits,
            Side::Each(each) => each[index],
        }
    }
}

/// The elements of a value, in row-major order.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    bits: Bits,
    undefined: Option<Arc<Undefined>>,
}

impl Data {
    /// A scalar, or a block filled with it.
    pub(crate) fn uniform(bits: u64) -> Data {
        Data { bits: Bits::Uniform(bits), undefined: None }
    }

    /// A block of these elements.
    ///
    /// A single element becomes uniform: a scalar may be splatted to any size by keeping its data.
    pub(crate) fn each(bits: impl Into<Arc<[u64]>>) -> Data {
        let bits = bits.into();
        let bits = if let [only] = *bits { Bits::Uniform(only) } else { Bits::Each(bits) };
        Data { bits, undefined: None }
    }

    /// A block of elements of at most 32 bits.
    pub(crate) fn words(words: Vec<u32>) -> Data {
        let bits = match words[..] {
            [only] => Bits::Uniform(u64::from(only)),
            _ => Bits::Words(Arc::new(Words { words, each: OnceLock::new() })),
        };
        Data { bits, undefined: None }
    }

    /// A block of numbers by coordinates.
    pub(crate) fn affine(affine: Affine) -> Data {
        match affine.as_uniform() {
            Some(bits) => Data::uniform(bits),
            None => Data { bits: Bits::Affine(Arc::new(affine)), undefined: None },
        }
    }

    /// A block of `count` elements by position.
    pub(crate) fn from_fn(count: usize, element: impl FnMut(usize) -> u64) -> Data {
        Data::each((0..count).map(element).collect::<Arc<[u64]>>())
    }

    /// The same elements, some of them undefined.
    pub(crate) fn with_undefined(mut self, undefined: Option<Arc<Undefined>>) -> Data {
        self.undefined = undefined;
        self
    }

    /// The bits of one element.
    pub(crate) fn at(&self, index: usize) -> u64 {
        match &self.bits {
            Bits::Uniform(bits) => *bits,
            Bits::Affine(affine) => affine.each()[index],
            Bits::Words(words) => u64::from(words.words[index]),
            Bits::Each(each) => each[index],
        }
    }

    /// The element at a position, for which no others are computed.
    pub(crate) fn first_or(&self, index: usize) -> u64 {
        match &self.bits {
            Bits::Affine(affine) if index == 0 => affine.base,
            _ => self.at(index),
        }
    }

    /// How the elements are kept.
    pub(crate) fn side(&self) -> Side<'_> {
        match &self.bits {
            Bits::Uniform(bits) => Side::Uniform(*bits),
            Bits::Affine(affine) => Side::Each(affine.each()),
            Bits::Words(words) => Side::Each(words.each()),
            Bits::Each(each) => Side::Each(each),
        }
    }

    /// How the elements are kept, where they have at most 32 bits.
    pub(crate) fn word_side(&self) -> WordSide<'_> {
        match &self.bits {
            Bits::Uniform(bits) => WordSide::Uniform(*bits as u32),
            Bits::Words(words) => WordSide::Each(Cow::Borrowed(&words.words)),
            Bits::Affine(affine) => WordSide::Each(affine.each().iter().map(|&bits| bits as u32).collect()),
            Bits::Each(each) => WordSide::Each(each.iter().map(|&bits| bits as u32).collect()),
        }
    }

    /// Whether elements are kept in 32 bits.
    pub(crate) fn is_words(&self) -> bool {
        matches!(self.bits, Bits::Words(_))
    }

    /// Where the lowest bit of the condition is set the elements of one block, elsewhere those of the other; they have
    /// at most 32 bits.
    pub(crate) fn choose(condition: &Data, yes: &Data, no: &Data, count: usize) -> Data {
        let (condition, yes, no) = (condition.word_side(), yes.word_side(), no.word_side());
        let choose = |index| if condition.at(index) & 1 != 0 { yes.at(index) } else { no.at(index) };
        Data::words((0..count).map(choose).collect())
    }

    /// The same elements, all of them with whatever value they have.
    pub(crate) fn defined(&self) -> Data {
        Data { bits: self.bits.clone(), undefined: None }
    }

    /// The same elements, kept one by one.
    pub(crate) fn by_element(&self) -> Data {
        let bits = match &self.bits {
            Bits::Affine(affine) => Bits::Each(Arc::clone(affine.each())),
            other => other.clone(),
        };
        Data { bits, undefined: self.undefined.clone() }
    }

    /// The numbers by coordinates, if they are kept so.
    pub(crate) fn as_affine(&self) -> Option<&Affine> {
        if let Bits::Affine(affine) = &self.bits { Some(affine) } else { None }
    }

    /// The bits of a scalar.
    pub(crate) fn scalar(&self) -> u64 {
        self.at(0)
    }

    /// The element that all share, if it is kept as one.
    pub(crate) fn as_uniform(&self) -> Option<u64> {
        if let Bits::Uniform(bits) = self.bits { Some(bits) } else { None }
    }

    /// How many elements are kept: 1 where all are equal by construction.
    pub(crate) fn kept(&self) -> usize {
        match &self.bits {
            Bits::Uniform(_) => 1,
            Bits::Affine(affine) => affine.numel(),
            Bits::Words(words) => words.words.len(),
            Bits::Each(each) => each.len(),
        }
    }

    /// Which elements are undefined, if any may be.
    pub(crate) fn undefined(&self) -> Option<&Arc<Undefined>> {
        self.undefined.as_ref()
    }

    /// Whether an element has no defined value.
    pub(crate) fn is_undefined(&self, index: usize) -> bool {
        self.undefined.as_ref().is_some_and(|undefined| undefined.at(index))
    }

    /// A block of `count` elements, each taken from the position of this one that `from` gives.
    pub(crate) fn permute(&self, count: usize, from: impl Fn(usize) -> usize) -> Data {
        let bits = match &self.bits {
            Bits::Uniform(bits) => Bits::Uniform(*bits),
            _ if count == 1 => Bits::Uniform(self.at(from(0))),
            Bits::Words(words) => {
                let words = (0..count).map(|index| words.words[from(index)]).collect();
                Bits::Words(Arc::new(Words { words, each: OnceLock::new() }))
            }
            Bits::Affine(affine) => {
                let each = affine.each();
                Bits::Each((0..count).map(|index| each[from(index)]).collect())
            }
            Bits::Each(each) => Bits::Each((0..count).map(|index| each[from(index)]).collect()),
        };
        let undefined = self.undefined.as_ref().map(|undefined| {
            let flags = (0..count).map(|index| undefined.at(from(index))).collect();
            undefined.with_flags(flags)
        });
        Data { bits, undefined }
    }

    /// The elements at even or odd positions.
    pub(crate) fn every_second(&self, count: usize, first: usize) -> Data {
        match &self.bits {
            Bits::Words(words) if self.undefined.is_none() => {
                Data::words(words.words.chunks_exact(2).map(|pair| pair[first]).collect())
            }
            _ => self.permute(count, |pair| 2 * pair + first),
        }
    }

    /// A block of `count` elements, each taken from one of several blocks: which one, and at which position.
    pub(crate) fn pick(parts: &[&Data], count: usize, from: impl Fn(usize) -> (usize, usize)) -> Data {
        let bits = (0..count).map(|index| {
            let (part, at) = from(index);
            parts[part].at(at)
        });
        let data = Data::each(bits.collect::<Arc<[u64]>>());
        let Some(first) = parts.iter().find_map(|part| part.undefined()) else { return data };
        let flags = (0..count).map(|index| {
            let (part, at) = from(index);
            parts[part].is_undefined(at)
        });
        data.with_undefined(Some(first.with_flags(flags.collect())))
    }
}

#[cfg(test)]
mod tests {
    use super::Data;

    #[test]
    fn a_single_element_stands_for_a_block_of_any_size() {
        let scalar = Data::from_fn(1, |_| 7);
        assert_eq!((scalar.at(0), scalar.at(5), scalar.as_uniform()), (7, 7, Some(7)));
        assert_eq!(Data::each(vec![1, 2]).at(1), 2);
    }
}
