//! The tensor maps of a launch: made of its arguments, and kept while those that they are made of stay as they are. The
//! driver takes a microsecond for each, so those of a few launches before are kept as well.

use super::Cuda;
use super::tensor_map::TensorMap;
use super::zeros::WRITTEN_FROM;
use crate::maps;
use crate::tensor_layout::TensorLayout;
use smallvec::SmallVec;
use std::sync::Mutex;
use target::{DeviceFacts, MapRecipe, TargetError};

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
    /// Of what the last one made its maps.
    words: SmallVec<[u64; 32]>,
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

    /// The maps for the arguments of a launch.
    #[inline]
    pub(super) fn make(&self, gpu: &Cuda, args: &[u64]) -> Result<Made, TargetError> {
        if self.recipes.is_empty() {
            return Ok(Made::new());
        }
        // Where another thread launches the same kernel, each makes its own.
        match self.last.try_lock() {
            Ok(mut last) => self.made(gpu, args, &mut last),
            Err(_) => self.recipes.iter().map(|recipe| encoded(gpu, recipe, args)).collect(),
        }
    }

    fn made(&self, gpu: &Cuda, args: &[u64], last: &mut Last) -> Result<Made, TargetError> {
        let now = self.slots.iter().flatten().map(|&slot| args.get(slot));
        if !last.made.is_empty() && last.words.iter().map(Some).eq(now) {
            return Ok(last.made.clone());
        }
        last.kept.resize_with(self.recipes.len(), Default::default);
        let mut made = Made::new();
        for ((recipe, slots), kept) in self.recipes.iter().zip(&self.slots).zip(&mut last.kept) {
            let words = arguments(slots, args).ok_or_else(missing)?;
            let place = &mut kept[place(&words)];
            let known = place.as_ref().filter(|known| known.0 == words).map(|known| known.1);
            made.push(match known {
                Some(map) => map,
                None => place.insert((words, encoded(gpu, recipe, args)?)).1,
            });
        }
        last.words = self.slots.iter().flatten().map_while(|&slot| args.get(slot).copied()).collect();
        last.made = made.clone();
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
fn encoded(gpu: &Cuda, recipe: &MapRecipe, args: &[u64]) -> Result<TensorMap, TargetError> {
    let layout = maps::layout(recipe, args);
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
