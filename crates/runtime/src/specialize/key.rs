//! The launch key: a few 64-bit words that say what a kernel is compiled for.

use super::TensorArgument;
use frontend::{ArgSpec, DType, DescriptorSpec, Known, Pointer, PyValue, Scalar, TupleValue};
use smallvec::SmallVec;
use std::sync::Arc;

/// The low byte of a word says what it is; the rest, or the word after it, holds the value.
mod tag {
    pub(super) const RUNTIME: u64 = 1;
    pub(super) const NONE: u64 = 2;
    pub(super) const BOOL: u64 = 3;
    pub(super) const INT: u64 = 4;
    pub(super) const FLOAT: u64 = 5;
    pub(super) const DTYPE: u64 = 6;
    pub(super) const OBJECT: u64 = 7;
    pub(super) const TUPLE: u64 = 8;
    pub(super) const CONST_TUPLE: u64 = 9;
    pub(super) const OPTION: u64 = 10;
    pub(super) const DESCRIPTOR: u64 = 11;
}

const POINTER: u64 = 1 << 16;
const CONSTANT: u64 = 1 << 17;
const DIVISIBLE: u64 = 1 << 18;
const PADS_NAN: u64 = 1 << 19;
const ROUNDS_TO_TF32: u64 = 1 << 20;
const NEAR: u64 = 1 << 21;
const ONE: u64 = 1 << 22;
/// Where the logarithm of what a run-time value is a multiple of stands.
const DIVISOR_AT: u32 = 24;
const DIVISOR: u64 = 0x7;
/// Where the number of dimensions of a descriptor stands; from the next place on the logarithms of its block's sizes.
const RANK_AT: u32 = 24;
const LOGARITHMS_AT: u32 = 32;
const LOGARITHM_BITS: u32 = 6;

/// What a kernel is compiled for, in a form that is quick to build, hash and compare.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LaunchKey(SmallVec<[u64; 48]>);

/// The word of a pointer of which is said besides that its memory is less than 2 GiB.
#[inline]
pub(crate) const fn near_word(word: u64) -> u64 {
    word | NEAR
}

impl LaunchKey {
    /// A key without words.
    #[inline]
    pub fn new() -> LaunchKey {
        LaunchKey::default()
    }

    /// All words.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.0
    }

    /// The word of an argument that is passed at run time.
    #[inline]
    pub(super) fn word(&mut self, word: u64) {
        self.0.push(word);
    }

    /// An argument that is passed at run time, with the logarithm of what it is known to be a multiple of.
    #[inline]
    pub fn runtime(&mut self, ty: Scalar, divisor: u32) {
        self.0.push(runtime_word(ty, divisor));
    }

    /// An integer that is passed at run time and known to be 1.
    #[inline]
    pub fn one(&mut self, dtype: DType) {
        self.0.push(runtime_word(Scalar::Number(dtype), 0) | ONE);
    }

    /// Says of the pointer whose word is the last one that its memory is less than 2 GiB.
    #[inline]
    pub fn set_near(&mut self) {
        if let Some(word) =
            self.0.last_mut().filter(|word| **word & 0xff == tag::RUNTIME && **word & POINTER != 0)
        {
            *word = near_word(*word);
        }
    }

    /// Whether a word is that of an integer that is a multiple of 2, 4 or 8 and not of 16.
    #[inline]
    pub fn is_fine(&self, at: usize) -> bool {
        self.0.get(at).is_some_and(|word| matches!(divisor_of(*word), 1..=3) && word & 0xff == tag::RUNTIME)
    }

    /// Takes back what such an integer is a multiple of, but for a power of two of this logarithm.
    #[inline]
    pub fn coarsen(&mut self, at: usize, finest: u32) {
        let divisor = divisor_of(self.0[at]).min(finest);
        self.0[at] = self.0[at] & !(DIVISOR << DIVISOR_AT) | u64::from(divisor) << DIVISOR_AT;
    }

    /// A tensor descriptor that keeps the rules.
    #[inline]
    pub fn descriptor(&mut self, tensor: &TensorArgument, divisible_by_16: bool) {
        let flag = |on: bool, bit: u64| if on { bit } else { 0 };
        let mut word = tag::DESCRIPTOR | scalar_bits(Scalar::Number(tensor.dtype));
        word |= flag(divisible_by_16, DIVISIBLE) | flag(tensor.pads_nan, PADS_NAN);
        word |= flag(tensor.rounds_to_tf32, ROUNDS_TO_TF32) | (tensor.block.len() as u64) << RANK_AT;
        let mut at = LOGARITHMS_AT;
        for dim in &tensor.block {
            word |= u64::from(dim.trailing_zeros()) << at;
            at += LOGARITHM_BITS;
        }
        self.0.push(word);
    }

    /// The constexpr `None`.
    #[inline]
    pub fn none(&mut self) {
        self.0.push(tag::NONE);
    }

    /// A constexpr bool.
    #[inline]
    pub fn bool(&mut self, value: bool) {
        self.0.push(tag::BOOL | u64::from(value) << 8);
    }

    /// A constexpr integer.
    #[inline]
    pub fn int(&mut self, value: i64) {
        self.0.push(tag::INT);
        self.0.push(value.cast_unsigned());
    }

    /// A constexpr float, by its bits: `0.0` and `-0.0` are different kernels.
    #[inline]
    pub fn float(&mut self, value: f64) {
        self.0.push(tag::FLOAT);
        self.0.push(value.to_bits());
    }

    /// A constexpr element type.
    #[inline]
    pub fn dtype(&mut self, ty: Scalar) {
        self.0.push(tag::DTYPE | scalar_bits(ty));
    }

    /// Any other constexpr, by the number that the caller has given it.
    #[inline]
    pub fn object(&mut self, number: u32) {
        self.0.push(tag::OBJECT | u64::from(number) << 8);
    }

    /// A tuple of run-time and other arguments; the words of its `len` elements follow. A `namedtuple` gives the number
    /// of the object (a tuple of strings) that holds the names of its fields.
    #[inline]
    pub fn tuple(&mut self, len: u32, fields: Option<u32>) {
        self.push_tuple(tag::TUPLE, len, fields);
    }

    /// A tuple of constexprs; the words of its `len` elements follow.
    #[inline]
    pub fn const_tuple(&mut self, len: u32, fields: Option<u32>) {
        self.push_tuple(tag::CONST_TUPLE, len, fields);
    }

    fn push_tuple(&mut self, tag: u64, len: u32, fields: Option<u32>) {
        self.0.push(tag | u64::from(len) << 8);
        self.0.push(fields.map_or(0, |number| u64::from(number) + 1));
    }

    /// An option of the launch, by the number of its name and a word for its value.
    #[inline]
    pub fn option(&mut self, number: u16, value: u64) {
        self.0.push(tag::OPTION | u64::from(number) << 8);
        self.0.push(value);
    }
}

/// Lets a map be asked with a key that still stands on the stack.
impl std::borrow::Borrow<[u64]> for LaunchKey {
    fn borrow(&self) -> &[u64] {
        &self.0
    }
}

/// The word of an argument that is passed at run time.
#[inline]
pub(super) fn runtime_word(ty: Scalar, divisor: u32) -> u64 {
    tag::RUNTIME | scalar_bits(ty) | u64::from(divisor) << DIVISOR_AT
}

#[inline]
fn divisor_of(word: u64) -> u32 {
    (word >> DIVISOR_AT & DIVISOR) as u32
}

#[inline]
fn scalar_bits(ty: Scalar) -> u64 {
    match ty {
        Scalar::Number(dtype) => (dtype as u64) << 8,
        Scalar::Pointer(pointer) => {
            (pointer.pointee as u64) << 8 | POINTER | if pointer.constant { CONSTANT } else { 0 }
        }
    }
}

fn scalar_of(word: u64) -> Scalar {
    let dtype = frontend::FACTS.get((word >> 8 & 0xff) as usize).map_or(DType::Void, |row| row.dtype);
    if word & POINTER == 0 {
        Scalar::Number(dtype)
    } else {
        Scalar::Pointer(Pointer { pointee: dtype, constant: word & CONSTANT != 0 })
    }
}

fn descriptor_of(word: u64) -> DescriptorSpec {
    let element = match scalar_of(word & !POINTER) {
        Scalar::Number(dtype) => dtype,
        Scalar::Pointer(pointer) => pointer.pointee,
    };
    let rank = (word >> RANK_AT & 0xf) as u32;
    let logarithm = |dim: u32| word >> (LOGARITHMS_AT + dim * LOGARITHM_BITS) & ((1 << LOGARITHM_BITS) - 1);
    DescriptorSpec {
        element,
        block: (0..rank).map(|dim| 1 << logarithm(dim)).collect(),
        pads_nan: word & PADS_NAN != 0,
        rounds_to_tf32: word & ROUNDS_TO_TF32 != 0,
        divisible_by_16: word & DIVISIBLE != 0,
    }
}

/// The arguments that the first words of a key stand for, up to its options. `object` gives back numbered objects.
pub fn decode(words: &[u64], object: &dyn Fn(u32) -> PyValue) -> Vec<ArgSpec> {
    let mut reader = Reader { words, at: 0, object };
    let mut args = Vec::new();
    while let Some(arg) = reader.arg() {
        args.push(arg);
    }
    args
}

struct Reader<'a> {
    words: &'a [u64],
    at: usize,
    object: &'a dyn Fn(u32) -> PyValue,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<u64> {
        let word = self.words.get(self.at).copied()?;
        self.at += 1;
        Some(word)
    }

    /// The next argument; `None` at the end or at the options.
    fn arg(&mut self) -> Option<ArgSpec> {
        let word = *self.words.get(self.at)?;
        match word & 0xff {
            tag::RUNTIME => {
                self.at += 1;
                let (near, one) = (word & NEAR != 0, word & ONE != 0);
                let known = Known { divisibility: 1 << divisor_of(word), near, one };
                Some(ArgSpec::Runtime { ty: scalar_of(word), known })
            }
            tag::DESCRIPTOR => {
                self.at += 1;
                Some(ArgSpec::Descriptor(descriptor_of(word)))
            }
            tag::TUPLE => {
                self.at += 1;
                let fields = self.fields();
                let items = (0..word >> 8).map_while(|_| self.arg()).collect();
                Some(ArgSpec::Tuple { items, fields })
            }
            tag::OPTION => None,
            _ => self.value().map(ArgSpec::Constexpr),
        }
    }

    fn value(&mut self) -> Option<PyValue> {
        let word = self.next()?;
        Some(match word & 0xff {
            tag::BOOL => PyValue::Bool(word >> 8 != 0),
            tag::INT => PyValue::Int(i128::from(self.next()?.cast_signed())),
            tag::FLOAT => PyValue::Float(f64::from_bits(self.next()?)),
            tag::DTYPE => PyValue::DType(scalar_of(word)),
            tag::OBJECT => (self.object)((word >> 8) as u32),
            tag::CONST_TUPLE => {
                let fields =
                    self.fields().map(|names| names.iter().map(|name| Arc::from(name.as_str())).collect());
                let items = (0..word >> 8).map_while(|_| self.value()).collect();
                PyValue::Tuple(Arc::new(TupleValue { items, fields }))
            }
            _ => PyValue::None,
        })
    }

    /// The names of a tuple's fields.
    fn fields(&mut self) -> Option<Vec<String>> {
        let number = self.next()?.checked_sub(1)?;
        let PyValue::Tuple(names) = (self.object)(number as u32) else { return None };
        let text = |value: &PyValue| match value {
            PyValue::Str(text) => text.to_string(),
            other => other.type_name().to_owned(),
        };
        Some(names.items.iter().map(text).collect())
    }
}
