//! What the next launch of a function is expected to be: like the last one.
//!
//! Most launches of a kernel come from one line of a program: as many arguments, arrays of the same element types. A
//! [`Prediction`] holds what such a launch looked like. A launch that fits it reads the addresses and numbers of its
//! arguments and goes to the device: it sorts nothing, builds no key and asks no map, so that little code has to come
//! back into the caches that the driver has just filled. All others go the long way, which alone decides what a launch
//! means.

use super::Slots;
use super::prepared::{Prepared, is_near};
use crate::specialize::{Argument, LaunchKey, ParamRules, near_word};
use frontend::{DType, Scalar};
use target::Extent;

/// A value of a call, as an interface holds it.
pub trait Value {
    /// What is kept of a value that has to come again.
    type Object;

    /// Whether this is the value that was kept.
    fn is(&self, object: &Self::Object) -> bool;

    /// The value of a plain integer.
    fn int(&self) -> Option<i64>;

    /// The value of a plain float.
    fn float(&self) -> Option<f64>;

    /// Elements and address of memory that the device reaches, where they can be had at once.
    fn memory(&self) -> Option<(DType, u64)>;

    /// How far such memory goes, where that is known. Only asked where a kernel is compiled for it.
    fn extent(&self) -> Option<Extent>;
}

/// What an argument must be for the same kernel to take it.
#[derive(Debug)]
pub enum Expected<O> {
    /// Not in the call: a default, with its slot.
    Default(Option<u64>),
    /// This very value, which cannot change, with its slot.
    Object(O, Option<u64>),
    /// Memory with this word in the key.
    Memory(ParamRules, u64),
    /// An integer with this word in the key.
    Int(ParamRules, u64),
    /// A float.
    Float,
}

/// An argument of a launch, as an interface saw it.
pub enum Seen<O> {
    /// A constexpr that its own value identifies.
    Constant(O),
    /// Memory.
    Memory {
        /// What it holds.
        dtype: DType,
        /// Where.
        address: u64,
        /// How far it goes, where kernels are compiled for that.
        extent: Option<Extent>,
    },
    /// A number or `None`, and the value itself.
    Number(Argument, O),
}

/// What a float is, whether its annotation says so or there is none.
const SINGLE: Scalar = Scalar::Number(DType::Fp32);

/// A place in the call with what must be there.
pub type Part<O> = (usize, Expected<O>);

/// What a launch looked like, for the next one that is like it.
#[derive(Debug)]
pub struct Prediction<O> {
    /// How many values there are.
    count: usize,
    /// As [`super::Prepared::finest`] of the launch.
    finest: u32,
    /// Whether it matters how far the memory of arguments goes.
    looks_at_extents: bool,
    /// By parameter, then the options.
    parts: Vec<Part<O>>,
}

impl<O> Prediction<O> {
    /// A prediction of calls with so many values, like one that was prepared.
    pub fn new(count: usize, prepared: &Prepared) -> Prediction<O> {
        let (finest, looks_at_extents) = (prepared.finest(), prepared.looks_at_extents());
        Prediction { count, finest, looks_at_extents, parts: Vec::new() }
    }

    /// How many values there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Adds an argument by its place in the call, or a default. False where such an argument cannot be predicted.
    pub fn argument(&mut self, place: Option<usize>, seen: Seen<O>, rules: &ParamRules) -> bool {
        let number = match &seen {
            Seen::Number(argument, _) => Some(*argument),
            _ => None,
        };
        let Some(expected) = self.expect(seen, rules) else { return false };
        self.parts.push(match (place, expected) {
            (Some(place), expected) => (place, expected),
            (None, Expected::Object(_, slot)) => (0, Expected::Default(slot)),
            (None, _) => {
                let slot = number.map(|number| rules.apply(number, self.finest, &mut LaunchKey::new()));
                let Some(Ok(slot)) = slot else { return false };
                (0, Expected::Default(slot))
            }
        });
        true
    }

    /// Adds a value that must come again, such as an option.
    pub fn object(&mut self, place: usize, object: O) {
        self.parts.push((place, Expected::Object(object, None)));
    }

    /// What an argument leads one to expect of the next one in its place.
    fn expect(&self, seen: Seen<O>, rules: &ParamRules) -> Option<Expected<O>> {
        match seen {
            Seen::Constant(object) => Some(Expected::Object(object, None)),
            Seen::Memory { dtype, address, extent } if rules.fixed.is_none() => {
                Some(Expected::Memory(*rules, self.memory_word(rules, (dtype, address), || extent)))
            }
            Seen::Memory { .. } => None,
            Seen::Number(Argument::Float(_), _) if matches!(rules.fixed, None | Some(SINGLE)) => {
                Some(Expected::Float)
            }
            Seen::Number(argument, object) => {
                if let (Argument::Int(int), None) = (argument, rules.fixed)
                    && let Some(word) = rules.int_word(int, self.finest)
                {
                    return Some(Expected::Int(*rules, word));
                }
                // What is left has few values, or a type that the annotation fixes: the same value is the same slot.
                let slot = rules.apply(argument, self.finest, &mut LaunchKey::new()).ok()?;
                Some(Expected::Object(object, slot))
            }
        }
    }

    /// The word of memory in the key.
    #[inline]
    fn memory_word(
        &self,
        rules: &ParamRules,
        (dtype, address): (DType, u64),
        extent: impl FnOnce() -> Option<Extent>,
    ) -> u64 {
        let word = rules.pointer_word(dtype, address);
        let is_near = self.looks_at_extents
            && rules.specialize
            && extent().is_some_and(|extent| is_near(&extent, address));
        if is_near { near_word(word) } else { word }
    }

    /// Fills in the slots; false where something is not as expected.
    #[inline]
    pub fn read<V: Value<Object = O>>(&self, value: impl Fn(usize) -> Option<V>, slots: &mut Slots) -> bool {
        for (place, expected) in &self.parts {
            if let Expected::Default(slot) = expected {
                slots.extend(*slot);
                continue;
            }
            let Some(value) = value(*place) else { return false };
            let slot = match expected {
                Expected::Object(object, slot) => {
                    if !value.is(object) {
                        return false;
                    }
                    slots.extend(*slot);
                    continue;
                }
                Expected::Memory(rules, word) => value
                    .memory()
                    .filter(|memory| self.memory_word(rules, *memory, || value.extent()) == *word)
                    .map(|(_, address)| address),
                Expected::Int(rules, word) => value
                    .int()
                    .filter(|int| rules.int_word(*int, self.finest) == Some(*word))
                    .map(i64::cast_unsigned),
                _ => value.float().map(float_slot),
            };
            let Some(slot) = slot else { return false };
            slots.push(slot);
        }
        true
    }
}

/// The slot of a float whose type no annotation fixes.
#[inline]
pub(super) fn float_slot(value: f64) -> u64 {
    u64::from((value as f32).to_bits())
}
