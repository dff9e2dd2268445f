"""What Python functions see that kernels call while they are compiled.

Constexpr functions get plain values. Functions of other packages that are marked by ``__triton_builtin__`` get constants as
``tl.constexpr``. In the place of a run-time value both get an object of `RunTimeValue`, which knows the value's type, and which they may
return.
"""

import dis
import functools
import math
from types import SimpleNamespace

from ._constexpr import constexpr, constexpr_type, tuple_type
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


class Values(tuple):
    """A tuple among the arguments of a constexpr function: one of Python, and for ``isinstance`` a ``tl.tuple`` as well."""

    @property
    def values(self):
        """Its elements."""
        return list(self)

    @property
    def type(self):
        """The types of its elements."""
        return tuple_type([getattr(value, "type", None) or constexpr_type(value) for value in self])

    def __getitem__(self, index):
        found = super().__getitem__(index)
        return Values(found) if isinstance(index, slice) else found

    def __add__(self, other):
        return Values((*self, *other))


def seen(value):
    """The value as a constexpr function takes it."""
    return Values(map(seen, value)) if type(value) is tuple else value


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


#: What of a compile functions of other packages may ask for, as ``_semantic.builder.options``.
OPTIONS = ("backend_name", "arch", "warp_size", "num_warps", "num_stages", "num_ctas", "debug", "sanitize_overflow")


class Semantic:
    """What a marked function gets as ``_semantic``: ``_semantic.builder.options`` says what is compiled, and for what.

    Bodies that Python runs are compiled for nothing: their architecture is an empty text.
    """

    def __init__(self, values=("", "", 1, 4, 3, 1, False, True)):
        self.options = SimpleNamespace(**dict(zip(OPTIONS, values)))
        if self.options.backend_name == "cuda":
            self.options.arch = f"sm{self.options.arch}"
        self.builder = self


def asks_for_options(fn):
    """Whether a function reads ``_semantic.builder.options``: it cannot be inlined, as Python alone can answer."""
    steps = [(step.opname, step.argval) for step in dis.get_instructions(fn)]
    return any(loaded[0].startswith("LOAD_FAST") and (loaded[1], builder[1], options[1]) == ("_semantic", "builder", "options")
               for loaded, builder, options in zip(steps, steps[1:], steps[2:]))


def run_by_python(fn):
    """A function that is marked and that compiles call, rather than inline it."""

    @functools.wraps(fn)
    def marked(*args, _semantic=None, **kwargs):
        return fn(*args, _semantic=_semantic or Semantic(), **kwargs)

    marked.__triton_builtin__ = True
    return marked


def wrapped(value):
    """The value as a function that is marked takes it."""
    return value if isinstance(value, (RunTimeValue, constexpr)) else constexpr(value)
