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
    /// Whether integers take part in addresses or masks, so that smaller powers of two are looked at as well.
    pub addresses: bool,
    /// The type that the annotation fixes.
    pub fixed: Option<Scalar>,
}

impl Default for ParamRules {
    fn default() -> Self {
        ParamRules {
            constexpr: false,
            constant: false,
            specialize: true,
            align: true,
            addresses: false,
            fixed: None,
        }
    }
}

impl ParamRules {
    /// What the text of an annotation says.
    pub fn of_annotation(text: &str) -> ParamRules {
        let mut rules = ParamRules::default();
        let text = text.trim().trim_matches(['"', '\'']);
        if text.contains("constexpr") {
            rules.constexpr = true;
            return rules;
        }
        // Python's integers have any size, and one that is 1 is worth knowing: generated kernels write strides so.
        if text == "int" {
            return rules;
        }
        let name = signature_name(text);
        let ty = frontend::signature::parse_type(&name);
        rules.fixed = ty.filter(|ty| *ty != Scalar::Number(DType::Void));
        rules.constant = name == "const" || name.starts_with("*k");
        rules
    }
}

/// How signatures write the type of an annotation: `float` is `fp32`, `const int32_t*` is `*ki32`.
fn signature_name(text: &str) -> String {
    let text = text.trim();
    if let Some(pointer) = text.strip_prefix("const ") {
        let name = signature_name(pointer);
        return name.strip_prefix('*').map_or(name.clone(), |pointee| format!("*k{pointee}"));
    }
    if let Some(pointee) = text.strip_suffix('*') {
        return format!("*{}", signature_name(pointee));
    }
    for prefix in ["*k", "*"] {
        if let Some(pointee) = text.strip_prefix(prefix) {
            return format!("{prefix}{}", signature_name(pointee));
        }
    }
    let name = text.rsplit('.').next().unwrap_or(text);
    let name = name.strip_suffix("_t").unwrap_or(name);
    PYTHON_AND_C.iter().find(|row| row.0 == name).map_or(name, |row| row.1).to_owned()
}

/// Types that Python and C have names of their own for.
const PYTHON_AND_C: [(&str, &str); 5] =
    [("bool", "u1"), ("int", "i32"), ("float", "fp32"), ("half", "fp16"), ("double", "fp64")];

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

/// The logarithm of the largest power of two below 16 that is looked at.
pub const FINEST: u32 = 3;
/// The logarithm of 16.
const ALIGNED: u32 = 4;

impl ParamRules {
    /// Writes the words of an argument into the key. The slot to pass, or `None` where the argument became a constexpr.
    /// `finest` is the logarithm of the largest power of two below 16 that matters of an integer, 0 where none does.
    ///
    /// # Errors
    /// When the argument does not fit the type that the annotation fixes; the text leaves out the name of the
    /// parameter.
    #[inline]
    pub fn apply(
        &self,
        argument: Argument,
        finest: u32,
        key: &mut LaunchKey,
    ) -> Result<Option<u64>, RuntimeError> {
        if self.fixed.is_some() {
            return self.apply_fixed(argument, finest, key).map(Some);
        }
        Ok(match argument {
            Argument::None => {
                key.none();
                None
            }
            Argument::Int(value) => match self.int_word(value, finest) {
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
                key.runtime(Scalar::Number(DType::UInt64), self.int_divisor(value, finest));
                Some(value)
            }
            Argument::Bool(value) => {
                key.runtime(Scalar::Number(DType::Int1), 0);
                Some(u64::from(value))
            }
            Argument::Float(value) => {
                key.runtime(Scalar::Number(DType::Fp32), 0);
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
        runtime_word(Scalar::Pointer(Pointer { pointee, constant: self.constant }), self.divisor(address))
    }

    /// The word of an integer that stays one at run time, for parameters whose annotation fixes no type; `None` for a
    /// constexpr. `finest` as in [`ParamRules::apply`].
    #[inline]
    pub fn int_word(&self, value: i64, finest: u32) -> Option<u64> {
        if value == 1 && self.specialize {
            return None;
        }
        let ty = if i32::try_from(value).is_ok() { DType::Int32 } else { DType::Int64 };
        Some(runtime_word(Scalar::Number(ty), self.int_divisor(value.cast_unsigned(), finest)))
    }

    /// The logarithm of what an address is known to be a multiple of: 16 or nothing.
    #[inline]
    fn divisor(&self, value: u64) -> u32 {
        if self.specialize && self.align && value.is_multiple_of(16) { ALIGNED } else { 0 }
    }

    /// The same of an integer, which may be a multiple of a smaller power of two.
    #[inline]
    fn int_divisor(&self, value: u64, finest: u32) -> u32 {
        if self.addresses && self.specialize && self.align && !value.is_multiple_of(16) {
            return value.trailing_zeros().min(finest);
        }
        self.divisor(value)
    }

    fn apply_fixed(&self, argument: Argument, finest: u32, key: &mut LaunchKey) -> Result<u64, RuntimeError> {
        let ty = self.fixed.expect("only called where the annotation fixes a type");
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
        if let Scalar::Number(dtype) = ty
            && dtype.is_int()
            && !dtype.is_bool()
            && slot == 1
            && self.specialize
        {
            key.one(dtype);
            return Ok(slot);
        }
        let divisor = match ty {
            Scalar::Pointer(_) => self.divisor(slot),
            Scalar::Number(dtype) if dtype.is_int() && !dtype.is_bool() => self.int_divisor(slot, finest),
            Scalar::Number(_) => 0,
        };
        key.runtime(ty, divisor);
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
