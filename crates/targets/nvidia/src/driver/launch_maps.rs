//! The tensor maps of a launch: made of its arguments, and kept while those that they are made of stay as they are. The
//! driver takes a microsecond for each, so those of a few launches before are kept as well.

use super::Cuda;
use super::tensor_map::TensorMap;
use super::zeros::WRITTEN_FROM;
use crate::maps;
use crate::maps::Copied;
use crate::tensor_layout::TensorLayout;
use smallvec::SmallVec;
use std::sync::Mutex;
use target::{AlignedCopies, DeviceFacts, MapRecipe, TargetError};

/// Maps that are kept of each recipe.
const KEPT: usize = 16;

/// The maps of one launch.
pub(super) type Made = SmallVec<[TensorMap; 4]>;

/// The arguments that maps are made of.
type Arguments = SmallVec<[u64; 8]>;

/// The maps that a kernel takes.
#[derive(Debug, Default)]
pub(super) struct Maps {
    recipes: Vec<MapRecipe>,
    /// The numbers of the arguments that each is made of.
    slots: Vec<Vec<usize>>,
    last: Mutex<Last>,
}

/// What launches before made.
#[derive(Debug, Default)]
struct Last {
    /// Of what the last one made its maps: arguments, and where copies of tensors are.
    words: SmallVec<[u64; 32]>,
    copies: Option<AlignedCopies>,
    made: Made,
    /// By recipe, and by a hash of what each is made of.
    kept: Vec<[Option<(Arguments, TensorMap)>; KEPT]>,
}

impl Maps {
    /// Those that a kernel asks for.
    pub(super) fn of(facts: &DeviceFacts) -> Maps {
        let recipes = facts.maps.clone();
        let slots = recipes.iter().map(MapRecipe::args).collect();
        Maps { recipes, slots, last: Mutex::default() }
    }

    /// The maps for the arguments of a launch, which brings memory with copies of tensors where some maps are of these.
    #[inline]
    pub(super) fn make(
        &self,
        gpu: &Cuda,
        args: &[u64],
        copies: Option<AlignedCopies>,
    ) -> Result<Made, TargetError> {
        if self.recipes.is_empty() {
            return Ok(Made::new());
        }
        // Where another thread launches the same kernel, each makes its own.
        if let Ok(mut last) = self.last.try_lock() {
            return self.made(gpu, (args, copies), &mut last);
        }
        let copied = self.copied(args, copies)?;
        self.recipes.iter().map(|recipe| encoded(gpu, recipe, args, copied.as_ref())).collect()
    }

    fn copied(&self, args: &[u64], copies: Option<AlignedCopies>) -> Result<Option<Copied>, TargetError> {
        maps::copied(&self.recipes, args, copies).map_err(|text| TargetError::Launch(text.into()))
    }

    fn made(
        &self,
        gpu: &Cuda,
        (args, copies): (&[u64], Option<AlignedCopies>),
        last: &mut Last,
    ) -> Result<Made, TargetError> {
        let now = self.slots.iter().flatten().map(|&slot| args.get(slot));
        if !last.made.is_empty() && last.copies == copies && last.words.iter().map(Some).eq(now) {
            return Ok(last.made.clone());
        }
        let copied = self.copied(args, copies)?;
        last.kept.resize_with(self.recipes.len(), Default::default);
        let mut made = Made::new();
        for ((recipe, slots), kept) in self.recipes.iter().zip(&self.slots).zip(&mut last.kept) {
            let mut words = arguments(slots, args).ok_or_else(missing)?;
            if let Some((_, memory)) = copied.as_ref().filter(|_| recipe.is_copied) {
                words.push(memory.address);
            }
            let place = &mut kept[place(&words)];
            let known = place.as_ref().filter(|known| known.0 == words).map(|known| known.1);
            made.push(match known {
                Some(map) => map,
                None => place.insert((words, encoded(gpu, recipe, args, copied.as_ref())?)).1,
            });
        }
        last.words = self.slots.iter().flatten().map_while(|&slot| args.get(slot).copied()).collect();
        (last.copies, last.made) = (copies, made.clone());
        Ok(made)
    }
}

/// The arguments of these numbers; none where one of them is missing.
fn arguments(slots: &[usize], args: &[u64]) -> Option<Arguments> {
    slots.iter().map(|&slot| args.get(slot).copied()).collect()
}

fn missing() -> TargetError {
    TargetError::Launch("a tensor map has no arguments".into())
}

/// Where a map is kept: addresses of different memory differ in high bits alone.
fn place(words: &[u64]) -> usize {
    let mixed = words
        .iter()
        .fold(0u64, |mixed, word| (mixed.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (mixed >> 60) as usize % KEPT
}

/// The map for the arguments of a launch.
fn encoded(
    gpu: &Cuda,
    recipe: &MapRecipe,
    args: &[u64],
    copied: Option<&Copied>,
) -> Result<TensorMap, TargetError> {
    let layout = maps::layout(recipe, args, copied);
    let layout = layout.ok_or_else(missing)?;
    let layout = if layout.shape.contains(&0) { of_nothing(gpu, layout, recipe.is_written)? } else { layout };
    gpu.encode(&layout)
}

/// A tensor without elements, of which the driver makes no map, reads as one with a single zero.
fn of_nothing(gpu: &Cuda, layout: TensorLayout, is_written: bool) -> Result<TensorLayout, TargetError> {
    let rank = layout.shape.len();
    let mut strides = vec![16; rank];
    strides[rank - 1] = 1;
    // What is written there is read by nobody.
    let base = gpu.zeros()? + if is_written { WRITTEN_FROM } else { 0 };
    Ok(TensorLayout { base, shape: vec![1; rank], strides, ..layout })
}

#[cfg(test)]
mod tests {
    use super::arguments;

    #[test]
    fn a_missing_argument_is_none_of_zero() {
        assert_eq!(arguments(&[0, 2], &[7, 8, 0]).as_deref(), Some(&[7, 0][..]));
        assert_eq!(arguments(&[0, 2], &[7, 8]), None);
    }
}
