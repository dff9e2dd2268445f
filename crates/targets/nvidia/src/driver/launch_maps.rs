//! The tensor maps of a launch: made of its arguments, and kept while those that they are made of stay as they are.

use super::Cuda;
use super::tensor_map::TensorMap;
use super::zeros::WRITTEN_FROM;
use crate::maps;
use crate::tensor_layout::TensorLayout;
use smallvec::SmallVec;
use std::sync::Mutex;
use target::{DeviceFacts, MapRecipe, TargetError};

/// The maps of one launch.
pub(super) type Made = SmallVec<[TensorMap; 4]>;

/// The maps that a kernel takes.
#[derive(Debug, Default)]
pub(super) struct Maps {
    recipes: Vec<MapRecipe>,
    /// The numbers of the arguments that they are made of.
    slots: Vec<usize>,
    /// What the last launch made, and of what.
    last: Mutex<(SmallVec<[u64; 32]>, Made)>,
}

impl Maps {
    /// Those that a kernel asks for.
    pub(super) fn of(facts: &DeviceFacts) -> Maps {
        let recipes = facts.maps.clone();
        let slots = recipes.iter().flat_map(MapRecipe::args).collect();
        Maps { recipes, slots, last: Mutex::default() }
    }

    /// The maps for the arguments of a launch.
    #[inline]
    pub(super) fn make(&self, gpu: &Cuda, args: &[u64]) -> Result<Made, TargetError> {
        if self.recipes.is_empty() {
            return Ok(Made::new());
        }
        self.made(gpu, args)
    }

    fn made(&self, gpu: &Cuda, args: &[u64]) -> Result<Made, TargetError> {
        // Slots that are missing are found where maps are made of them.
        let read = || self.slots.iter().filter_map(|&slot| args.get(slot).copied());
        // Where another thread launches the same kernel, each makes its own.
        let mut last = self.last.try_lock().ok();
        if let Some(last) = &last
            && !last.1.is_empty()
            && last.0.iter().copied().eq(read())
        {
            return Ok(last.1.clone());
        }
        let mut made = Made::new();
        for recipe in &self.recipes {
            let layout = maps::layout(recipe, args);
            let layout = layout.ok_or_else(|| TargetError::Launch("a tensor map has no arguments".into()))?;
            let layout =
                if layout.shape.contains(&0) { of_nothing(gpu, layout, recipe.is_written)? } else { layout };
            made.push(gpu.encode(&layout)?);
        }
        if let Some(last) = &mut last {
            last.0 = read().collect();
            last.1 = made.clone();
        }
        Ok(made)
    }
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
