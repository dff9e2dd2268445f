"""What the values of a kernel look like: `tensor`, `tuple`, ranges, descriptors. None can be made outside a kernel."""

import builtins
import operator
from enum import Enum

from .. import _core
from ._builtin import builtin_class, show
from ._constexpr import constexpr
from ._run_time import RunTimeValue, Values


@show
class PropagateNan(Enum):
    """What `minimum`, `maximum` and `clamp` do with a NaN.

    ``NONE``: the operand that is no NaN is the result. ``ALL``: any NaN gives NaN.
    """

    NONE = 0
    ALL = 0xFFFF


PropagateNan.__deuteron_builtin__ = "PropagateNan"


class _KernelClass(type):
    """Classes of which values of running kernels are instances."""

    def __instancecheck__(cls, instance):
        if isinstance(instance, (_core.KernelValue, RunTimeValue)):
            return instance.kernel_class in (cls.__name__, *(derived.__name__ for derived in cls.__subclasses__()))
        return type.__instancecheck__(cls, instance)


def _refuse(name):
    raise RuntimeError(f"tl.{name} is a value of a kernel: it exists only while a @triton.jit function is compiled")


@builtin_class
class tensor(metaclass=_KernelClass):
    """A block of values inside a kernel, or a single run-time value (a block of rank 0).

    Attributes (in kernels):
        shape: a tuple of constexprs, each a power of two.
        dtype: the element type.
        type: the block type.
        numel: the number of elements, a constexpr.

    Arithmetic, comparison, ``&``, ``|``, ``^``, ``<<``, ``>>`` and ``~`` work element by element and broadcast. ``/``
    of integers gives fp32; ``//`` and ``%`` truncate towards zero as in C. ``x[:, None]`` inserts a dimension; no
    other subscript of a block exists. Nearly every function of the language that takes a block first is a method too.
    """

    def __init__(self, handle, type):
        _refuse("tensor")

    def logical_and(self, other):
        """Element-wise *and* of two blocks of ``int1``."""
        _refuse("tensor.logical_and")

    def logical_or(self, other):
        """Element-wise *or* of two blocks of ``int1``."""
        _refuse("tensor.logical_or")

    @property
    def T(self):
        """The transposed block, as `permute` with the last two dimensions swapped."""
        return _refuse("tensor.T")

    def to(self, dtype, fp_downcast_rounding=None, bitcast=False):
        """The same values as `dtype`; see `cast`."""
        _refuse("tensor.to")

    def item(self):
        """The only element of a block of one element, as a run-time scalar."""
        _refuse("tensor.item")

    def advance(self, offsets):
        """A block pointer moved by so many elements in each dimension."""
        _refuse("tensor.advance")


class _AnyTuple(type):

    def __instancecheck__(cls, instance):
        return type.__instancecheck__(cls, instance) or isinstance(instance, Values)


@builtin_class
class tuple(metaclass=_AnyTuple):
    """Several values in one; it has ``len``, constant indices and ``+``, and names of fields when made of a named tuple."""

    def __init__(self, args, type=None):
        self.values = list(args)
        self._fields = getattr(args, "_fields", None) or getattr(type, "fields", None)

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return iter(self.values)

    def __getitem__(self, index):
        found = self.values[getattr(index, "value", index)]
        return tuple(found) if isinstance(found, list) else found

    def __getattr__(self, name):
        fields = self.__dict__.get("_fields") or ()
        if name in fields:
            return self.values[list(fields).index(name)]
        raise AttributeError(f"a tuple of {len(self.__dict__.get('values', ()))} values has no field '{name}'")

    def __add__(self, other):
        return tuple([*self.values, *other])

    def __eq__(self, other):
        return len(self) == len(other) and all(bool(a == b) for a, b in zip(self, other))

    def __hash__(self):
        return hash(len(self.values))

    def __repr__(self):
        return f"({', '.join(map(repr, self.values))})"


class _AnyValue(type):

    def __instancecheck__(cls, instance):
        return isinstance(instance, (_core.KernelValue, RunTimeValue, constexpr, tuple))


class base_value(metaclass=_AnyValue):
    """Whatever a kernel computes with: every value of one is an instance, and constants and tuples are."""


@builtin_class
class slice:
    """The ``:`` of a subscript."""

    def __init__(self, start, stop, step):
        self.start = start
        self.stop = stop
        self.step = step


@builtin_class
class range:
    """A counted loop: ``for i in tl.range(start, end, step, num_stages=…)``.

    Like Python's ``range``, with hints that never change the result.

    Args:
        arg1: the end, or the start when `arg2` is given.
        arg2: the end.
        step: what is added each time; 1 by default, and positive.
        num_stages: how many iterations' loads may be in flight at once.
        loop_unroll_factor: copies of the body per iteration.
        disallow_acc_multi_buffer: keep a single copy of a dot's accumulator.
        flatten: merge this loop with the one around it.
        warp_specialize: give loads and arithmetic their own warps, where a target can.
        disable_licm: leave loop-invariant code inside the loop.
    """

    def __init__(self, arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None,
                 disallow_acc_multi_buffer=False, flatten=False, warp_specialize=False, disable_licm=False):
        self.start, self.end = (0, arg1) if arg2 is None else (arg1, arg2)
        self.step = 1 if step is None else step
        self.num_stages = num_stages
        self.loop_unroll_factor = loop_unroll_factor
        self.disallow_acc_multi_buffer = disallow_acc_multi_buffer
        self.flatten = flatten
        self.warp_specialize = warp_specialize
        self.disable_licm = disable_licm

    def __iter__(self):
        if not _core.eager_is_running():
            _refuse("range")
        from ..runtime._body import counted

        return counted(self.start, self.end, self.step)


@builtin_class
class static_range:
    """A loop that is unrolled while compiling: its bounds and its step are constexprs, and so is the index."""

    def __init__(self, arg1, arg2=None, step=None):
        self.start, self.end = (0, arg1) if arg2 is None else (arg1, arg2)
        self.step = 1 if step is None else step

    def __iter__(self):
        if not _core.eager_is_running():
            _refuse("static_range")
        return iter(builtins.range(*map(operator.index, (self.start, self.end, self.step))))


@builtin_class
class condition:
    """The condition of a ``while`` loop with hints: ``while tl.condition(i < n, disable_licm=True)``."""

    def __init__(self, arg1, disable_licm=False):
        self.condition = arg1
        self.disable_licm = disable_licm

    def __bool__(self):
        return bool(self.condition)


@builtin_class
class tensor_descriptor_base(metaclass=_KernelClass):
    """What any descriptor of a tensor is in a kernel: ``isinstance(x, tl.core.tensor_descriptor_base)``."""

    def __init__(self, handle, block_type):
        _refuse("core.tensor_descriptor_base")


@builtin_class
class tensor_descriptor(tensor_descriptor_base):
    """A whole tensor in memory: base, shape, strides and the shape of the blocks that are moved.

    Made by `make_tensor_descriptor` in a kernel or by ``triton.tools.tensor_descriptor.TensorDescriptor`` outside.

    Attributes (in kernels):
        shape, strides: tuples of run-time values.
        block_shape: a tuple of constexprs.
        dtype: the element type.
    """

    def __init__(self, handle, shape, strides, block_type):
        _refuse("tensor_descriptor")

    def load(self, offsets):
        """The block that begins at `offsets`; elements outside the tensor are its padding."""
        _refuse("tensor_descriptor.load")

    def store(self, offsets, value) -> None:
        """Writes `value` as the block that begins at `offsets`; elements outside the tensor are left out."""
        _refuse("tensor_descriptor.store")

    def gather(self, x_offsets, y_offset):
        """Rows of a tensor of two dimensions: those of the block `x_offsets`, from the column `y_offset` on. Blocks of the
        descriptor have one row."""
        _refuse("tensor_descriptor.gather")

    def scatter(self, value, x_offsets, y_offset) -> None:
        """Writes the rows of `value` to the rows `x_offsets`, from the column `y_offset` on."""
        _refuse("tensor_descriptor.scatter")


def _reduction(name, what):
    """A method that combines a block with what is in memory, element by element."""

    def method(self, offsets, value) -> None:
        _refuse(f"tensor_descriptor.atomic_{name}")

    method.__name__, method.__qualname__ = f"atomic_{name}", f"tensor_descriptor.atomic_{name}"
    method.__doc__ = f"{what} what is in the block that begins at `offsets`; each element is changed at once."
    return method


for _name, _what in (("add", "Adds `value` to"), ("min", "Keeps the smaller of `value` and"),
                     ("max", "Keeps the larger of `value` and"), ("and", "Bitwise *and* of `value` and"),
                     ("or", "Bitwise *or* of `value` and"), ("xor", "Bitwise *exclusive or* of `value` and")):
    setattr(tensor_descriptor, f"atomic_{_name}", _reduction(_name, _what))
del _name, _what
