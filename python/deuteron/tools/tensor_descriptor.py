"""Tensor descriptors made outside a kernel and passed as arguments."""


class TensorDescriptor:
    """A tensor in memory and the shape of the blocks that a kernel moves.

    Args:
        base: the tensor; its first element is aligned to 16 bytes.
        shape, strides: in elements; the last stride is 1, the others are multiples of 16 bytes.
        block_shape: powers of two.
        padding: ``"zero"`` or ``"nan"``, what loads give outside the tensor.
        round_f32_to_tf32: round fp32 values as they are loaded.
    """

    def __init__(self, base, shape, strides, block_shape, padding="zero", round_f32_to_tf32=False):
        self.base = base
        self.shape = list(shape)
        self.strides = list(strides)
        self.block_shape = list(block_shape)
        self.padding = padding
        self.round_f32_to_tf32 = round_f32_to_tf32
        self.__post_init__()

    def __post_init__(self):
        rank = len(self.shape)
        if not len(self.strides) == len(self.block_shape) == rank:
            raise ValueError(f"rank mismatch: shape {self.shape}, strides {self.strides}, "
                             f"block_shape {self.block_shape}")
        if not 1 <= rank <= 5:
            raise ValueError(f"a descriptor has 1 to 5 dimensions, not {rank}")
        if self.strides[-1] != 1:
            raise ValueError(f"Last dimension must be contiguous; its stride is {self.strides[-1]}")
        bits = getattr(self.base.dtype, "primitive_bitwidth", None)
        itemsize = self.base.dtype.itemsize if bits is None else bits // 8
        for stride in self.strides[:-1]:
            if stride * itemsize % 16 != 0:
                raise ValueError(f"strides must be 16-byte aligned; {stride} elements of {itemsize} bytes are not")
        if self.padding not in ("zero", "nan"):
            raise ValueError(f"padding is {self.padding!r}; it can be 'zero' or 'nan'")

    @staticmethod
    def from_tensor(tensor, block_shape, padding="zero", round_f32_to_tf32=False):
        """A descriptor of a whole torch tensor or NumPy array."""
        strides = tensor.stride() if callable(getattr(tensor, "stride", None)) else tuple(
            step // tensor.itemsize for step in tensor.strides)
        return TensorDescriptor(tensor, tensor.shape, strides, block_shape, padding, round_f32_to_tf32)
