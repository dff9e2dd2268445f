//! The key and the slots of a call, as its arguments are read one after the other.

use super::Context;
use crate::error::RuntimeError;
use crate::specialize::{Argument, FINEST, LaunchKey, ParamRules, TensorArgument};
use crate::{compile, knobs, options};
use frontend::DType;
use smallvec::SmallVec;
use target::{Extent, OptionValue};

/// Slots of the arguments.
pub type Slots = SmallVec<[u64; 32]>;

/// The number of the option word that every key has: the target, and whether the kernel is compiled for debugging.
const ALWAYS: u16 = u16::MAX;

/// Whether code may use signed 32-bit offsets from an address of some memory: it is less than 2 GiB, and less than half
/// of that lies before the address.
#[inline]
pub(super) fn is_near(extent: &Extent, address: u64) -> bool {
    let before = address.checked_sub(extent.base);
    extent.len < 1 << 31 && before.is_some_and(|before| before < 1 << 29)
}

/// What a launch collects on its way.
#[derive(Debug, Default)]
pub struct Prepared {
    /// What the kernel is compiled for.
    pub key: LaunchKey,
    /// What is passed to it.
    pub slots: Slots,
    /// Whether integers are looked at more closely than for multiples of 16.
    is_fine: bool,
    /// Whether it matters how far the memory of arguments goes.
    looks_at_extents: bool,
    /// Where in the key integers stand that are multiples of 2, 4 or 8 and not of 16.
    fine: SmallVec<[u32; 16]>,
    /// Bytes of the smallest elements that the arguments hold; 0 where they hold none.
    smallest: u32,
}

impl Prepared {
    /// Nothing yet, for a target.
    #[inline]
    pub fn new(context: &Context) -> Prepared {
        let (is_fine, looks_at_extents) = (context.needs_alignment, context.looks_at_extents);
        Prepared { is_fine, looks_at_extents, ..Prepared::default() }
    }

    /// An argument of a run-time parameter.
    ///
    /// # Errors
    /// As [`ParamRules::apply`].
    #[inline]
    pub fn argument(&mut self, rules: &ParamRules, argument: Argument) -> Result<(), RuntimeError> {
        if let Argument::Pointer { dtype, .. } = argument {
            self.note_element(dtype);
        }
        let at = self.key.words().len();
        let finest = if self.is_fine { FINEST } else { 0 };
        if let Some(slot) = rules.apply(argument, finest, &mut self.key)? {
            self.slots.push(slot);
        }
        if self.is_fine && self.key.is_fine(at) {
            self.fine.push(at as u32);
        }
        Ok(())
    }

    /// Memory for a parameter whose annotation fixes no type.
    #[inline]
    pub fn pointer(&mut self, rules: &ParamRules, dtype: DType, address: u64) {
        self.note_element(dtype);
        rules.pointer(dtype, address, &mut self.key);
        self.slots.push(address);
    }

    /// How far the memory goes of the argument that came last, where that is memory.
    #[inline]
    pub fn extent(&mut self, extent: &Extent) {
        if !self.looks_at_extents {
            return;
        }
        if self.slots.last().is_some_and(|address| is_near(extent, *address)) {
            self.key.set_near();
        }
    }

    /// Whether it matters how far the memory of arguments goes.
    #[inline]
    pub(super) fn looks_at_extents(&self) -> bool {
        self.looks_at_extents
    }

    /// A tensor descriptor.
    ///
    /// # Errors
    /// As [`ParamRules::describe`].
    #[inline]
    pub fn descriptor(&mut self, rules: &ParamRules, tensor: &TensorArgument) -> Result<(), RuntimeError> {
        self.note_element(tensor.dtype);
        rules.describe(tensor, &mut self.key)?;
        self.slots.extend(tensor.slots());
        Ok(())
    }

    #[inline]
    fn note_element(&mut self, dtype: DType) {
        if self.is_fine {
            let bytes = dtype.facts().bits.div_ceil(8);
            self.smallest = if self.smallest == 0 { bytes } else { self.smallest.min(bytes) };
        }
    }

    /// Ends the arguments: what integers are multiples of counts only as far as it makes an access wider, up to 16
    /// bytes of the smallest elements. Then come the words that every key has.
    #[inline]
    pub fn end_arguments(&mut self, context: &Context, debug: bool) {
        let finest = self.finest();
        for &at in &self.fine {
            self.key.coarsen(at as usize, finest);
        }
        let debug = u64::from(debug || knobs::debug());
        self.key.option(ALWAYS, debug | u64::from(context.number()) << 1);
    }

    /// The logarithm of the largest power of two below 16 that matters of an integer; 0 where none does.
    #[inline]
    pub fn finest(&self) -> u32 {
        match self.smallest {
            0 => 0,
            bytes => (16 / bytes).max(1).trailing_zeros().min(FINEST),
        }
    }

    /// An option of the launch, by its number. `text` writes the words of a text.
    ///
    /// # Errors
    /// Those of `text`.
    pub fn option<E>(
        &mut self,
        context: &Context,
        number: u16,
        value: &OptionValue,
        text: impl FnOnce(&str, &mut LaunchKey) -> Result<(), E>,
    ) -> Result<(), E> {
        match value {
            OptionValue::None => self.key.option(number, 0),
            OptionValue::Bool(flag) => self.key.option(number | 1 << 12, u64::from(*flag)),
            OptionValue::Int(value) => self.key.option(number | 2 << 12, value.cast_unsigned()),
            OptionValue::Str(value) => {
                let is_file = context.option_name(number) == options::IR_OVERRIDE;
                let state = if is_file { compile::state_of_file(value) } else { 0 };
                self.key.option(number | 3 << 12, state);
                text(value, &mut self.key)?;
            }
        }
        Ok(())
    }
}
