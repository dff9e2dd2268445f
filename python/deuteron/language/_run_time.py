"""What Python functions see that kernels call while they are compiled.

Constexpr functions get plain values. Functions of other packages that are marked by ``__triton_builtin__`` get constants as
``tl.constexpr``. In the place of a run-time value both get an object of `RunTimeValue`, which knows the value's type, and which they may
return.
"""

import math

from ._constexpr import constexpr
from ._dtypes import block_type, str_to_ty


class RunTimeValue:
    """Stands for a value that is known when the kernel runs: ``isinstance`` says that it is a `tensor` or a `tensor_descriptor`."""

    __deuteron_builtin__ = "_run_time"

    def __init__(self, name, kernel_class, type):
        self._name_ = name
        self.kernel_class = kernel_class
        self.type = type
        self.dtype = type.scalar
        shape = tuple(map(constexpr, type.shape)) if type.is_block() else ()
        if kernel_class == "tensor":
            self.shape = shape
            self.numel = constexpr(math.prod(size.value for size in shape))
        else:
            self.block_type, self.block_shape = type, shape

    def __bool__(self):
        raise TypeError("a value that is known when the kernel runs is neither true nor false while it is compiled")

    def __repr__(self):
        return f"{self.kernel_class}[{self.type}]"


def __getattr__(name):
    """``tl._run_time.0:tensor:fp32:32x8``, …: how the compiler names them, by their numbers, classes and types."""
    parts = name.split(":")
    if len(parts) != 4:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _, kernel_class, element, sizes = parts
    type = str_to_ty(element)
    if sizes:
        type = block_type(type, [int(size) for size in sizes.split("x")])
    return type if kernel_class == "block_type" else RunTimeValue(name, kernel_class, type)


def wrapped(value):
    """The value as a function that is marked takes it."""
    return value if isinstance(value, (RunTimeValue, constexpr)) else constexpr(value)
