//! Tables of layouts that were made before: passes ask for the same few again and again.

use super::{Encoding, SharedEncoding, shared_layout, tensor_layout};
use layout::LinearLayout;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::hash::Hash;
use std::sync::{LazyLock, RwLock};

/// The layouts of an encoding by shapes, of which there are few.
type Shapes = SmallVec<[(SmallVec<[i64; 4]>, LinearLayout); 1]>;
type Table<E> = LazyLock<RwLock<FxHashMap<E, Shapes>>>;

/// A compile asks for a few dozen layouts; a table that has grown past this starts over...
const LIMIT: usize = 1024;
/// ...and so do the shapes of one encoding.
const MOST_SHAPES: usize = 32;

static TENSOR: Table<Encoding> = LazyLock::new(RwLock::default);
static SHARED: Table<SharedEncoding> = LazyLock::new(RwLock::default);

/// The layout of a tensor.
pub(super) fn tensor(encoding: &Encoding, shape: &[i64]) -> LinearLayout {
    known(&TENSOR, encoding, shape, tensor_layout::linear)
}

/// The layout of shared memory.
pub(super) fn shared(encoding: &SharedEncoding, shape: &[i64]) -> LinearLayout {
    known(&SHARED, encoding, shape, shared_layout::linear)
}

fn known<E: Clone + Eq + Hash>(
    table: &Table<E>,
    encoding: &E,
    shape: &[i64],
    make: fn(&E, &[i64]) -> LinearLayout,
) -> LinearLayout {
    let read = table.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    let found = read.get(encoding).and_then(|shapes| shapes.iter().find(|(known, _)| known[..] == *shape));
    if let Some((_, layout)) = found {
        return layout.clone();
    }
    drop(read);
    let layout = make(encoding, shape);
    let mut table = table.write().unwrap_or_else(std::sync::PoisonError::into_inner);
    if table.len() >= LIMIT {
        table.clear();
    }
    let shapes = table.entry(encoding.clone()).or_default();
    if shapes.len() >= MOST_SHAPES {
        shapes.clear();
    }
    shapes.push((SmallVec::from_slice(shape), layout.clone()));
    layout
}
