//! What an argument becomes: a constexpr or a run-time value of a type.

use super::key::runtime_word;
use super::{LaunchKey, float_slot, int_slot};
use crate::error::RuntimeError;
use frontend::{DType, Pointer, Scalar};

/// What a parameter says about its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamRules {
    /// Annotated as `tl.constexpr`.
    pub constexpr: bool,
    /// Annotated as `tl.const`: a pointer that is not stored through.
    pub constant: bool,
    /// Whether values are looked at: off by `do_not_specialize`.
    pub specialize: bool,
    /// Whether divisibility by 16 is looked at: off by `do_not_specialize_on_alignment`.
    pub align: bool,
    /// The type that the annotation fixes.
    pub fixed: Option<Scalar>,
}

impl Default for ParamRules {
    fn default() -> Self {
        ParamRules { constexpr: false, constant: false, specialize: true, align: true, fixed: None }
    }
}

/// An argument of a run-time parameter, as far as the rules look at it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument {
    /// `None`.
    None,
    /// A bool.
    Bool(bool),
    /// An integer that fits.
    Int(i64),
    /// An integer beyond that.
    BigInt(u64),
    /// A float.
    Float(f64),
    /// Memory.
    Pointer {
        /// What it holds.
        dtype: DType,
        /// Where.
        address: u64,
    },
}

impl ParamRules {
    /// Writes the words of an argument into the key. The slot to pass, or `None` where the argument became a constexpr.
    ///
    /// # Errors
    /// When the argument does not fit the type that the annotation fixes; the text leaves out the name of the parameter.
    #[inline]
    pub fn apply(&self, argument: Argument, key: &mut LaunchKey) -> Result<Option<u64>, RuntimeError> {
        if self.fixed.is_some() {
            return self.apply_fixed(argument, key).map(Some);
        }
        Ok(match argument {
            Argument::None => {
                key.none();
                None
            }
            Argument::Int(value) => match self.int_word(value) {
                Some(word) => {
                    key.word(word);
                    Some(value.cast_unsigned())
                }
                None => {
                    key.int(value);
                    None
                }
            },
            Argument::BigInt(value) => {
                key.runtime(Scalar::Number(DType::UInt64), self.divides(value));
                Some(value)
            }
            Argument::Bool(value) => {
                key.runtime(Scalar::Number(DType::Int1), false);
                Some(u64::from(value))
            }
            Argument::Float(value) => {
                key.runtime(Scalar::Number(DType::Fp32), false);
                Some(u64::from((value as f32).to_bits()))
            }
            Argument::Pointer { dtype, address } => {
                self.pointer(dtype, address, key);
                Some(address)
            }
        })
    }

    /// Writes the word of a pointer into the key; for parameters whose annotation fixes no type.
    #[inline]
    pub fn pointer(&self, pointee: DType, address: u64, key: &mut LaunchKey) {
        key.word(self.pointer_word(pointee, address));
    }

    /// The word that [`ParamRules::pointer`] writes.
    #[inline]
    pub fn pointer_word(&self, pointee: DType, address: u64) -> u64 {
        runtime_word(Scalar::Pointer(Pointer { pointee, constant: self.constant }), self.divides(address))
    }

    /// The word of an integer that stays one at run time, for parameters whose annotation fixes no type; `None` for a constexpr.
    #[inline]
    pub fn int_word(&self, value: i64) -> Option<u64> {
        if value == 1 && self.specialize {
            return None;
        }
        let ty = if i32::try_from(value).is_ok() { DType::Int32 } else { DType::Int64 };
        Some(runtime_word(Scalar::Number(ty), self.divides(value.cast_unsigned())))
    }

    #[inline]
    fn divides(&self, value: u64) -> bool {
        self.specialize && self.align && value.is_multiple_of(16)
    }

    fn apply_fixed(&self, argument: Argument, key: &mut LaunchKey) -> Result<u64, RuntimeError> {
        let ty = self.fixed.unwrap_or(Scalar::Number(DType::Void));
        let slot = match (ty, argument) {
            (Scalar::Pointer(_), Argument::Pointer { address, .. }) => address,
            (Scalar::Pointer(_), Argument::None) => 0,
            (Scalar::Pointer(_), Argument::Int(value)) => value.cast_unsigned(),
            (Scalar::Pointer(_), Argument::BigInt(value)) => value,
            (Scalar::Number(dtype), Argument::Bool(value)) => number_slot(dtype, i128::from(value))?,
            (Scalar::Number(dtype), Argument::Int(value)) => number_slot(dtype, i128::from(value))?,
            (Scalar::Number(dtype), Argument::BigInt(value)) => number_slot(dtype, i128::from(value))?,
            (Scalar::Number(dtype), Argument::Float(value)) if dtype.is_floating() => {
                float_slot(dtype, value)?
            }
            (ty, argument) => {
                return Err(RuntimeError::Type(format!(
                    "is annotated as {} and cannot take {}",
                    frontend::signature::type_text(ty),
                    name_of(argument)
                )));
            }
        };
        let whole =
            matches!(ty, Scalar::Pointer(_)) || ty.is_number(|dtype| dtype.is_int() && !dtype.is_bool());
        key.runtime(ty, whole && self.divides(slot));
        Ok(slot)
    }
}

fn number_slot(dtype: DType, value: i128) -> Result<u64, RuntimeError> {
    if dtype.is_floating() { float_slot(dtype, value as f64) } else { int_slot(dtype, value) }
}

fn name_of(argument: Argument) -> &'static str {
    match argument {
        Argument::None => "None",
        Argument::Bool(_) => "a bool",
        Argument::Int(_) | Argument::BigInt(_) => "an integer",
        Argument::Float(_) => "a float",
        Argument::Pointer { .. } => "an array",
    }
}
