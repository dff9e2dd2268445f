//! What the next launch of a function is expected to be: like the last one.
//!
//! Most launches of a kernel come from one line of a program: as many arguments, the same names and options, arrays of the same
//! element types. A [`Prediction`] holds what such a launch looked like. A launch that fits it reads the addresses and numbers of its
//! arguments and goes to the device: it sorts nothing, builds no key and asks no map, so that little code has to come back into the
//! caches that the driver has just filled. All others go the long way (`launch::run`), which alone decides what a launch means.

use super::variant::Variant;
use crate::arguments::kind::{Kind, kind_of};
use crate::arguments::number::{number, plain_float, plain_int};
use crate::arguments::tensor::plain_tensor;
use crate::devices::active::Active;
use crate::devices::torch;
use pyo3::ffi;
use pyo3::prelude::{Borrowed, Py, PyAny, Python};
use pyo3::types::{PyAnyMethods, PyString, PyTuple, PyTupleMethods};
use runtime::specialize::{Argument, LaunchKey, ParamRules};
use smallvec::SmallVec;
use std::sync::Arc;

/// Slots of the arguments.
pub(crate) type Slots = SmallVec<[u64; 32]>;

/// What an argument must be for the same kernel to take it.
pub(crate) enum Expected {
    /// Not in the call: a default, with its slot.
    Default(Option<u64>),
    /// This very object, which cannot change, with its slot.
    Object(Py<PyAny>, Option<u64>),
    /// An array of torch with this word in the key.
    Tensor(ParamRules, u64),
    /// An integer with this word in the key.
    Int(ParamRules, u64),
    /// A float.
    Float,
}

/// What a launch looked like, for the next one that is like it.
pub(crate) struct Prediction {
    pub(crate) active: Arc<Active>,
    pub(crate) variant: Arc<Variant>,
    /// The tuple of names.
    pub(crate) names: Option<Py<PyAny>>,
    /// How many arguments there are, by position and by name.
    pub(crate) count: usize,
    /// Places in the call with what must be there: by parameter, then the options.
    pub(crate) parts: Vec<(usize, Expected)>,
}

impl Prediction {
    /// Whether the arguments by name have the same names in the same order. A line that passes on a dictionary makes a new tuple
    /// of them each time.
    ///
    /// # Safety
    /// `names` is null or a tuple.
    #[inline]
    pub(crate) unsafe fn has_names(&self, py: Python<'_>, names: *mut ffi::PyObject) -> bool {
        let Some(known) = &self.names else { return names.is_null() };
        if known.as_ptr() == names {
            return true;
        }
        // SAFETY: as promised; the pointer is looked at first.
        let Some(names) = (unsafe { Borrowed::<PyAny>::from_ptr_or_opt(py, names) }) else { return false };
        // SAFETY: both are tuples.
        let (known, names) = unsafe {
            (known.bind_borrowed(py).cast_unchecked::<PyTuple>(), names.cast_unchecked::<PyTuple>())
        };
        known.len() == names.len() && known.iter_borrowed().zip(names.iter_borrowed()).all(|(a, b)| a.is(b))
    }

    /// Fills in the slots; false where something is not as expected.
    ///
    /// # Safety
    /// The values are pointers to live objects.
    #[inline]
    pub(crate) unsafe fn read(
        &self,
        py: Python<'_>,
        values: &[*mut ffi::PyObject],
        slots: &mut Slots,
    ) -> bool {
        for (place, expected) in &self.parts {
            if let Expected::Default(slot) = expected {
                slots.extend(*slot);
                continue;
            }
            let Some(&value) = values.get(*place) else { return false };
            // SAFETY: as promised.
            let value = unsafe { Borrowed::<PyAny>::from_ptr(py, value) };
            let slot = match expected {
                Expected::Object(object, slot) => {
                    if !value.is(object) {
                        return false;
                    }
                    slots.extend(*slot);
                    continue;
                }
                Expected::Tensor(rules, word) => self.tensor(value, rules, *word),
                Expected::Int(rules, word) => {
                    plain_int(value).filter(|int| rules.int_word(*int) == Some(*word)).map(i64::cast_unsigned)
                }
                _ => plain_float(value).map(float_slot),
            };
            let Some(slot) = slot else { return false };
            slots.push(slot);
        }
        true
    }

    #[inline]
    fn tensor(&self, value: Borrowed<'_, '_, PyAny>, rules: &ParamRules, word: u64) -> Option<u64> {
        // SAFETY: the object is alive, and reading its type has no other condition.
        if !torch::is_plain(unsafe { ffi::Py_TYPE(value.as_ptr()) }) {
            return None;
        }
        let (dtype, address) = plain_tensor(value, &self.active.place)?;
        (rules.pointer_word(dtype, address) == word).then_some(address)
    }
}

/// What an argument leads one to expect of the next one in its place.
pub(crate) fn expect(value: Borrowed<'_, '_, PyAny>, rules: &ParamRules) -> Option<Expected> {
    let kind = kind_of(value).ok()?;
    let object = |slot| Some(Expected::Object(value.to_owned().unbind(), slot));
    if rules.constexpr {
        let is_number = matches!(kind, Kind::Int | Kind::Float | Kind::Bool | Kind::None);
        return if is_number || value.is_exact_instance_of::<PyString>() { object(None) } else { None };
    }
    match kind {
        Kind::PlainTensor if rules.fixed.is_none() => {
            let tensor = torch::read(value)?;
            Some(Expected::Tensor(*rules, rules.pointer_word(tensor.dtype, tensor.address)))
        }
        Kind::Float if rules.fixed.is_none() => Some(Expected::Float),
        Kind::Int | Kind::Float | Kind::Bool | Kind::None => {
            let int = plain_int(value).filter(|_| rules.fixed.is_none());
            if let Some(word) = int.and_then(|int| rules.int_word(int)) {
                return Some(Expected::Int(*rules, word));
            }
            // What is left has few values, or a type that the annotation fixes: the same object is the same slot.
            let given = number(value, kind).ok()?;
            object(rules.apply(given.unwrap_or(Argument::None), &mut LaunchKey::new()).ok()?)
        }
        _ => None,
    }
}

/// The slot of a number that a default gives.
pub(crate) fn slot_of(expected: &Expected, value: Borrowed<'_, '_, PyAny>) -> Option<u64> {
    match expected {
        Expected::Int(..) => plain_int(value).map(i64::cast_unsigned),
        Expected::Float => plain_float(value).map(float_slot),
        _ => None,
    }
}

#[inline]
fn float_slot(value: f64) -> u64 {
    u64::from((value as f32).to_bits())
}

#[cfg(test)]
mod tests {
    use super::float_slot;
    use runtime::specialize::{Argument, LaunchKey, ParamRules};

    #[test]
    fn words_and_slots_are_those_of_the_rules() {
        let all = [true, false].map(|specialize| ParamRules { specialize, ..ParamRules::default() });
        for rules in all {
            for value in [0, 1, 2, 16, 17, -1, -16, 1 << 31, (1 << 31) - 1, i64::MIN, i64::MAX, 1 << 40] {
                let mut key = LaunchKey::new();
                let slot = rules.apply(Argument::Int(value), &mut key).expect("an integer");
                match rules.int_word(value) {
                    Some(word) => assert_eq!((key.words(), slot), (&[word][..], Some(value.cast_unsigned()))),
                    None => assert_eq!((value, slot), (1, None)),
                }
            }
        }
        for value in [0.0, -0.0, 0.1, 1e300, f64::NAN, f64::INFINITY] {
            let slot = ParamRules::default().apply(Argument::Float(value), &mut LaunchKey::new());
            assert_eq!(slot.expect("a float"), Some(float_slot(value)));
        }
    }
}
