"""Tensor descriptors made outside a kernel and passed as arguments."""

from .. import _core


class TensorDescriptor:
    """A tensor in memory and the shape of the blocks that a kernel moves: ``kernel[grid](TensorDescriptor.from_tensor(x, [64, 64]))``.

    In the kernel it has ``load``, ``store``, ``gather``, ``scatter``, ``atomic_add`` and the other atomics, and ``shape``, ``strides``,
    ``block_shape`` and ``dtype``. Everything may be changed between launches, as a ``pre_hook`` of a configuration does with
    ``block_shape``; a launch checks the rules again.

    Args:
        base: the tensor; its first element is aligned to 16 bytes.
        shape, strides: in elements, 1 to 5 of them; the last stride is 1, the others are multiples of 16 bytes.
        block_shape: powers of two.
        padding: ``"zero"`` or ``"nan"``, what loads give outside the tensor.
        round_f32_to_tf32: round fp32 values to ten bits of mantissa as they are loaded.
    """

    __deuteron_descriptor__ = True

    def __init__(self, base, shape, strides, block_shape, padding="zero", round_f32_to_tf32=False):
        self.base = base
        self.shape = shape
        self.strides = strides
        self.block_shape = block_shape
        self.padding = padding
        self.round_f32_to_tf32 = round_f32_to_tf32
        self.__post_init__()

    def __post_init__(self):
        _core.check_descriptor(self.base, self.shape, self.strides, self.block_shape, self.padding,
                               self.round_f32_to_tf32)

    def __repr__(self):
        return (f"TensorDescriptor(base={self.base!r}, shape={self.shape!r}, strides={self.strides!r}, "
                f"block_shape={self.block_shape!r}, padding={self.padding!r}, "
                f"round_f32_to_tf32={self.round_f32_to_tf32!r})")

    @property
    def dtype(self):
        """What the tensor holds."""
        return self.base.dtype

    @staticmethod
    def from_tensor(tensor, block_shape, padding="zero", round_f32_to_tf32=False):
        """A descriptor of a whole torch tensor or NumPy array."""
        strides = tensor.stride() if callable(getattr(tensor, "stride", None)) else tuple(
            step // tensor.itemsize for step in tensor.strides)
        return TensorDescriptor(tensor, tensor.shape, strides, block_shape, padding, round_f32_to_tf32)
