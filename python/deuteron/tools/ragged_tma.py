"""Tensor descriptors of tensors whose rows belong to slices of different lengths: access ends where the slice ends.

A descriptor checks its bounds at multiples of nothing but the tensor's shape. Here it gets two more dimensions, whose strides cancel each
other: rows are counted from the far end of a dimension of 2**30 of them, so that what is behind the slice is behind the tensor.
"""

import deuteron as triton
import deuteron.language as tl

from .tensor_descriptor import TensorDescriptor

__all__ = ["atomic_add_ragged", "create_ragged_descriptor", "load_ragged", "store_ragged", "to_ragged_indices"]

#: Rows of the dimension that is counted from its end. Kernels below have it as a literal.
_ROWS = 1 << 30
#: Size of the two dimensions in front.
_FRONT = 0x7FFF0000


def create_ragged_descriptor(T, block_shape, ragged_dim=0):
    """A descriptor for `load_ragged`, `store_ragged` and `atomic_add_ragged`.

    Args:
        T: a tensor of two or three dimensions.
        block_shape: of the blocks that are moved.
        ragged_dim: the dimension that is made of slices; not the last one.
    """
    shape, strides = list(T.shape), [T.stride(dim) for dim in range(len(T.shape))]
    ragged_dim += len(shape) if ragged_dim < 0 else 0
    if not 0 <= ragged_dim < len(shape) - 1:
        raise AssertionError("last dimension cannot be ragged")
    if len(shape) > 3:
        raise AssertionError("read-write ragged descriptors must have at most 3 dimensions")
    if len(block_shape) != len(shape):
        raise AssertionError("block shape must have same length as tensor shape")
    if shape[ragged_dim] > _ROWS:
        raise AssertionError("number of rows may not exceed 2**30")
    step = strides[ragged_dim]
    shape[ragged_dim] = _ROWS
    # An index of 2**30 times the first stride moves by 2**64, which is nothing, less 2**30 rows.
    return TensorDescriptor(T, [_FRONT, _FRONT, *shape], [2**34 - step, step, *strides], [1, 1, *block_shape])


@triton.jit
def to_ragged_indices(slice_off, slice_size, row):
    """The two indices in front, and the one of the ragged dimension."""
    return 0x40000000, slice_off + slice_size, 0x40000000 - slice_size + row


@triton.jit
def load_ragged(TMA, slice_off, slice_size, coords, ragged_dim: tl.constexpr = 0):
    """A block of the slice that begins at row `slice_off` and has `slice_size` rows; zeros outside of it."""
    tl.static_assert(len(TMA.shape) == len(coords) + 2, "TMA must be a read-write ragged descriptor")
    c0, c1, c2 = to_ragged_indices(slice_off, slice_size, coords[ragged_dim])
    data = TMA.load([c0, c1] + coords[:ragged_dim] + [c2] + coords[ragged_dim + 1:])
    return tl.reshape(data, data.shape[2:])


@triton.jit
def store_ragged(TMA, slice_off, slice_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Stores a block into such a slice; what is outside of it is left out."""
    c0, c1, c2 = to_ragged_indices(slice_off, slice_size, coords[ragged_dim])
    block = tl.reshape(data, [1, 1] + data.shape)
    TMA.store([c0, c1] + coords[:ragged_dim] + [c2] + coords[ragged_dim + 1:], block)


@triton.jit
def atomic_add_ragged(TMA, slice_off, slice_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Adds a block to such a slice atomically; what is outside of it is left out."""
    c0, c1, c2 = to_ragged_indices(slice_off, slice_size, coords[ragged_dim])
    block = tl.reshape(data, [1, 1] + data.shape)
    TMA.atomic_add([c0, c1] + coords[:ragged_dim] + [c2] + coords[ragged_dim + 1:], block)
