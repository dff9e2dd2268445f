# Made from the signatures of the package by tests/python/stubs.py; do not edit.
import builtins
from collections.abc import Iterator
from enum import Enum
from typing import Any

from . import core as core, extra as extra, math as math, random as random, standard as standard
from . import semantic as semantic, target_info as target_info
from ._aggregate import aggregate_replace as aggregate_replace
from ._dtypes import (
    bfloat16 as bfloat16,
    block_type as block_type,
    dtype as dtype,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    float8e4b15 as float8e4b15,
    float8e4b8 as float8e4b8,
    float8e4nv as float8e4nv,
    float8e5 as float8e5,
    float8e5b16 as float8e5b16,
    int1 as int1,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    int8 as int8,
    nv_tma_desc_type as nv_tma_desc_type,
    pi32_t as pi32_t,
    pointer_type as pointer_type,
    str_to_ty as str_to_ty,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    uint8 as uint8,
    void as void,
)

TRITON_MAX_TENSOR_NUMEL: builtins.int
CONSTEXPR_0: constexpr

class PropagateNan(Enum):
    """What `minimum`, `maximum` and `clamp` do with a NaN.

    ``NONE``: the operand that is no NaN is the result. ``ALL``: any NaN gives NaN.
    """
    NONE = 0
    ALL = 0xFFFF

class constexpr:
    """A value that is known while a kernel is compiled.

    As an annotation (``BLOCK: tl.constexpr``) it makes a parameter part of what is compiled: each value gives its own
    kernel. In Python it wraps a value, and arithmetic on it gives a constexpr again::

        BLOCK = tl.constexpr(128)
        HALF = BLOCK // 2          # constexpr[64]
    """
    value: Any
    type: constexpr_type
    def __init__(self, value: Any) -> None: ...
    def __index__(self) -> builtins.int: ...
    def __bool__(self) -> builtins.bool: ...
    def __getitem__(self, *args: Any) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def logical_and(self, other: Any) -> constexpr: ...
    def logical_or(self, other: Any) -> constexpr: ...
    def __not__(self) -> constexpr: ...
    def __hash__(self) -> builtins.int: ...
    def __add__(self, other: Any) -> constexpr: ...
    def __radd__(self, other: Any) -> constexpr: ...
    def __sub__(self, other: Any) -> constexpr: ...
    def __rsub__(self, other: Any) -> constexpr: ...
    def __mul__(self, other: Any) -> constexpr: ...
    def __rmul__(self, other: Any) -> constexpr: ...
    def __truediv__(self, other: Any) -> constexpr: ...
    def __rtruediv__(self, other: Any) -> constexpr: ...
    def __floordiv__(self, other: Any) -> constexpr: ...
    def __rfloordiv__(self, other: Any) -> constexpr: ...
    def __mod__(self, other: Any) -> constexpr: ...
    def __rmod__(self, other: Any) -> constexpr: ...
    def __and__(self, other: Any) -> constexpr: ...
    def __rand__(self, other: Any) -> constexpr: ...
    def __or__(self, other: Any) -> constexpr: ...
    def __ror__(self, other: Any) -> constexpr: ...
    def __xor__(self, other: Any) -> constexpr: ...
    def __rxor__(self, other: Any) -> constexpr: ...
    def __lshift__(self, other: Any) -> constexpr: ...
    def __rlshift__(self, other: Any) -> constexpr: ...
    def __rshift__(self, other: Any) -> constexpr: ...
    def __rrshift__(self, other: Any) -> constexpr: ...
    def __pow__(self, other: Any) -> constexpr: ...
    def __rpow__(self, other: Any) -> constexpr: ...
    def __lt__(self, other: Any) -> constexpr: ...
    def __le__(self, other: Any) -> constexpr: ...
    def __gt__(self, other: Any) -> constexpr: ...
    def __ge__(self, other: Any) -> constexpr: ...
    def __eq__(self, other: Any) -> constexpr: ...  # type: ignore[override]
    def __ne__(self, other: Any) -> constexpr: ...  # type: ignore[override]
    def __neg__(self) -> constexpr: ...
    def __pos__(self) -> constexpr: ...
    def __invert__(self) -> constexpr: ...

class constexpr_type:
    """The type of a constexpr: it differs from value to value."""
    def __init__(self, value: Any) -> None: ...
    value: Any
    def mangle(self) -> builtins.str: ...

class tuple_type:
    """The type of a tuple: the types of its values, and the names of its fields if they have any."""
    def __init__(self, types: Any, fields: Any = None) -> None: ...
    types: builtins.list[Any]
    fields: Any
    name: builtins.str
    def __iter__(self) -> Iterator[Any]: ...
    def __getitem__(self, index: int) -> Any: ...
    def mangle(self) -> builtins.str: ...

class const:
    """Annotation of a pointer parameter that the kernel only reads: ``x_ptr: tl.const``."""

class tensor:
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
    shape: builtins.tuple[Any, ...]
    dtype: dtype
    type: Any
    numel: constexpr
    def __init__(self, handle: Any, type: Any) -> None: ...
    @property
    def T(self) -> tensor:
        """The transposed block, as `permute` with the last two dimensions swapped."""
    def __add__(self, other: Any) -> tensor: ...
    def __radd__(self, other: Any) -> tensor: ...
    def __sub__(self, other: Any) -> tensor: ...
    def __rsub__(self, other: Any) -> tensor: ...
    def __mul__(self, other: Any) -> tensor: ...
    def __rmul__(self, other: Any) -> tensor: ...
    def __truediv__(self, other: Any) -> tensor: ...
    def __rtruediv__(self, other: Any) -> tensor: ...
    def __floordiv__(self, other: Any) -> tensor: ...
    def __rfloordiv__(self, other: Any) -> tensor: ...
    def __mod__(self, other: Any) -> tensor: ...
    def __rmod__(self, other: Any) -> tensor: ...
    def __and__(self, other: Any) -> tensor: ...
    def __rand__(self, other: Any) -> tensor: ...
    def __or__(self, other: Any) -> tensor: ...
    def __ror__(self, other: Any) -> tensor: ...
    def __xor__(self, other: Any) -> tensor: ...
    def __rxor__(self, other: Any) -> tensor: ...
    def __lshift__(self, other: Any) -> tensor: ...
    def __rlshift__(self, other: Any) -> tensor: ...
    def __rshift__(self, other: Any) -> tensor: ...
    def __rrshift__(self, other: Any) -> tensor: ...
    def __lt__(self, other: Any) -> tensor: ...
    def __le__(self, other: Any) -> tensor: ...
    def __gt__(self, other: Any) -> tensor: ...
    def __ge__(self, other: Any) -> tensor: ...
    def __eq__(self, other: Any) -> tensor: ...  # type: ignore[override]
    def __ne__(self, other: Any) -> tensor: ...  # type: ignore[override]
    def __neg__(self) -> tensor: ...
    def __pos__(self) -> tensor: ...
    def __invert__(self) -> tensor: ...
    def __getitem__(self, index: Any) -> tensor: ...
    def __index__(self) -> builtins.int: ...
    def __bool__(self) -> builtins.bool: ...
    def abs(self) -> tensor:
        """The absolute value of `x`, element by element: any float or integer type; unsigned values stay."""
    def advance(self, offsets: Any) -> tensor:
        """A block pointer moved by so many elements in each dimension."""
    def argmax(self, axis: Any, tie_break_left: Any = True, keep_dims: Any = False) -> tensor:
        """The int32 index of the largest element along `axis`; of equal ones the first when `tie_break_left`."""
    def argmin(self, axis: Any, tie_break_left: Any = True, keep_dims: Any = False) -> tensor:
        """The int32 index of the smallest element along `axis`; of equal ones the first when `tie_break_left`."""
    def argsort(self, dim: Any = None, descending: Any = ...) -> tensor:
        """The positions of the elements in order along the last dimension; equal ones stay in their order, and NaN is the largest."""
    def associative_scan(self, axis: Any, combine_fn: Any, reverse: Any = False) -> Any:
        """Every prefix along `axis`, combined.

        Args:
            input: a block, or a tuple of blocks of one shape.
            axis: a constexpr.
            combine_fn: as in `reduce`; it need not commute.
            reverse: combine from the end.
        """
    def atomic_add(self, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> tensor:
        """Adds `val` to what is there, atomically; integers of 32 or 64 bits, fp16, bf16, fp32, fp64.

        Args:
            pointer: a pointer or a block of pointers.
            val: is broadcast to the pointers' shape and cast to their element type.
            mask: where it is false nothing happens, and the result is undefined.
            sem: ``"relaxed"``, ``"acquire"``, ``"release"`` or ``"acq_rel"`` (the default unless said otherwise).
            scope: ``"gpu"`` (default), ``"cta"`` or ``"sys"``: who sees the order.

        Returns:
            What was there before.
        """
    def atomic_and(self, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> tensor:
        """Bitwise *and* with `val`, atomically; integers of 32 or 64 bits, and the bits of fp32 and fp64.

        Args:
            pointer: a pointer or a block of pointers.
            val: is broadcast to the pointers' shape and cast to their element type.
            mask: where it is false nothing happens, and the result is undefined.
            sem: ``"relaxed"``, ``"acquire"``, ``"release"`` or ``"acq_rel"`` (the default unless said otherwise).
            scope: ``"gpu"`` (default), ``"cta"`` or ``"sys"``: who sees the order.

        Returns:
            What was there before.
        """
    def atomic_cas(self, cmp: Any, val: Any, sem: Any = None, scope: Any = None) -> tensor:
        """Where the value at `pointer` equals `cmp`, puts `val` there; returns what was there before.

        Args:
            pointer: to values of 16, 32 or 64 bits.
            cmp, val: are broadcast and cast to the element type.
            sem: ``"relaxed"``, ``"acquire"``, ``"release"`` or ``"acq_rel"`` (the default unless said otherwise).
            scope: ``"gpu"`` (default), ``"cta"`` or ``"sys"``: who sees the order.
        """
    def atomic_load(self, mask: Any = None, sem: Any = None, scope: Any = None) -> tensor:
        """Reads atomically; `sem` is ``"acquire"`` by default."""
    def atomic_max(self, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> tensor:
        """Keeps the larger of `val` and what is there, atomically; integers and floats of 32 or 64 bits.

        Args:
            pointer: a pointer or a block of pointers.
            val: is broadcast to the pointers' shape and cast to their element type.
            mask: where it is false nothing happens, and the result is undefined.
            sem: ``"relaxed"``, ``"acquire"``, ``"release"`` or ``"acq_rel"`` (the default unless said otherwise).
            scope: ``"gpu"`` (default), ``"cta"`` or ``"sys"``: who sees the order.

        Returns:
            What was there before.
        """
    def atomic_min(self, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> tensor:
        """Keeps the smaller of `val` and what is there, atomically; integers and floats of 32 or 64 bits.

        Args:
            pointer: a pointer or a block of pointers.
            val: is broadcast to the pointers' shape and cast to their element type.
            mask: where it is false nothing happens, and the result is undefined.
            sem: ``"relaxed"``, ``"acquire"``, ``"release"`` or ``"acq_rel"`` (the default unless said otherwise).
            scope: ``"gpu"`` (default), ``"cta"`` or ``"sys"``: who sees the order.

        Returns:
            What was there before.
        """
    def atomic_or(self, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> tensor:
        """Bitwise *or* with `val`, atomically; integers of 32 or 64 bits, and the bits of fp32 and fp64.

        Args:
            pointer: a pointer or a block of pointers.
            val: is broadcast to the pointers' shape and cast to their element type.
            mask: where it is false nothing happens, and the result is undefined.
            sem: ``"relaxed"``, ``"acquire"``, ``"release"`` or ``"acq_rel"`` (the default unless said otherwise).
            scope: ``"gpu"`` (default), ``"cta"`` or ``"sys"``: who sees the order.

        Returns:
            What was there before.
        """
    def atomic_poll(self, expected_value: Any, sem: Any = None, scope: Any = None, timeout_ns: Any = None) -> tensor:
        """Waits until the value at `pointer` is `expected_value`; returns int1, false when `timeout_ns` went by first.

        Args:
            pointer: to an integer of 16, 32 or 64 bits, or a block of such pointers; the result has its shape.
            timeout_ns: nanoseconds of the device's clock for all elements; on a target without one each look at memory
                counts as 100, and each element has the time for itself.
        """
    def atomic_store(self, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> None:
        """Writes atomically; `sem` is ``"release"`` by default."""
    def atomic_xchg(self, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> tensor:
        """Puts `val` there, atomically; elements of 16, 32 or 64 bits.

        Args:
            pointer: a pointer or a block of pointers.
            val: is broadcast to the pointers' shape and cast to their element type.
            mask: where it is false nothing happens, and the result is undefined.
            sem: ``"relaxed"``, ``"acquire"``, ``"release"`` or ``"acq_rel"`` (the default unless said otherwise).
            scope: ``"gpu"`` (default), ``"cta"`` or ``"sys"``: who sees the order.

        Returns:
            What was there before.
        """
    def atomic_xor(self, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> tensor:
        """Bitwise *exclusive or* with `val`, atomically; integers of 32 or 64 bits, and the bits of fp32 and fp64.

        Args:
            pointer: a pointer or a block of pointers.
            val: is broadcast to the pointers' shape and cast to their element type.
            mask: where it is false nothing happens, and the result is undefined.
            sem: ``"relaxed"``, ``"acquire"``, ``"release"`` or ``"acq_rel"`` (the default unless said otherwise).
            scope: ``"gpu"`` (default), ``"cta"`` or ``"sys"``: who sees the order.

        Returns:
            What was there before.
        """
    def broadcast_to(self, *shape: Any) -> tensor:
        """`input` repeated to `shape`.

        Args:
            input: a block of the same rank, each size equal to the target's or 1; or a scalar.
            shape: constexprs, or one tuple of them.
        """
    def cast(self, dtype: Any, fp_downcast_rounding: Any = None, bitcast: Any = False) -> tensor:
        """`input` as another element type.

        Args:
            dtype: the element type of the result.
            fp_downcast_rounding: ``"rtne"`` (nearest even, the default) or ``"rtz"`` (towards zero), for a conversion to
                a narrower float only.
            bitcast: keep the bits instead of the value; widths must be equal.

        A float becomes an integer by truncation; anything becomes int1 by ``!= 0``. What does not fit becomes the nearest end
        of the type; of 8-bit types it is the low half of what 16 bits would hold (200.0 is -56 as int8), as with Triton on
        NVIDIA GPUs. NaN gives any integer.
        """
    def cdiv(self, div: Any) -> Any:
        """``(x + div - 1) // div``: how many pieces of `div` cover `x`. On constexprs the result is one."""
    def ceil(self) -> tensor:
        """The smallest whole number not below `x`, element by element.

        Args:
            x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

        Errors:
            Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
        """
    def clamp(self, min: Any, max: Any, propagate_nan: Any = PropagateNan.NONE) -> tensor:
        """`x` kept between `min` and `max`, element by element; undefined where ``min > max``.

        Args:
            x, min, max: floats.
            propagate_nan: ``ALL``: a NaN in `x` stays one; ``NONE``: it becomes one of the bounds.
        """
    def cos(self) -> tensor:
        """The cosine of `x` (in radians), element by element.

        Args:
            x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

        Errors:
            Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
        """
    def cumprod(self, axis: Any = 0, reverse: Any = False, dtype: Any = None) -> tensor:
        """Running products along `axis`; arguments as of `cumsum`."""
    def cumsum(self, axis: Any = 0, reverse: Any = False, dtype: Any = None) -> tensor:
        """Running sums along `axis`.

        Args:
            reverse: from the end.
            dtype: the type to add in; as in `sum`.
        """
    def erf(self) -> tensor:
        """The error function of `x`, element by element.

        Args:
            x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

        Errors:
            Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
        """
    def exp(self) -> tensor:
        """*e* to the power of `x`, element by element.

        Args:
            x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

        Errors:
            Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
        """
    def exp2(self) -> tensor:
        """2 to the power of `x`, element by element.

        Args:
            x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

        Errors:
            Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
        """
    def expand_dims(self, axis: Any) -> tensor:
        """`input` with dimensions of size 1 inserted.

        Args:
            axis: an int or a tuple of them, positions in the result; negative ones count from its end.
        """
    def flip(self, dim: Any = None) -> tensor:
        """The elements in reverse along `dim`; the last dimension when it is not given."""
    def floor(self) -> tensor:
        """The largest whole number not above `x`, element by element.

        Args:
            x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

        Errors:
            Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
        """
    def gather(self, index: Any, axis: Any) -> tensor:
        """Elements of `src` picked along `axis`: ``out[i, j] = src[index[i, j], j]`` for axis 0.

        Args:
            src: a block.
            index: a block of integers of the same rank; equal sizes except along `axis`.
            axis: a constexpr.
        """
    def histogram(self, num_bins: Any, mask: Any = None) -> tensor:
        """How often each of ``0 … num_bins - 1`` occurs.

        Args:
            input: a block of rank 1 of integers; values outside the bins are not counted.
            num_bins: a constexpr power of two.
            mask: elements where it is false are not counted.

        Returns:
            An int32 block of `num_bins` elements.
        """
    def item(self) -> tensor:
        """The only element of a block of one element, as a run-time scalar."""
    def join(self, b: Any) -> tensor:
        """Two blocks (broadcast to one shape) side by side in a new last dimension of size 2."""
    def load(self, mask: Any = None, other: Any = None, boundary_check: Any = (), padding_option: Any = '', cache_modifier: Any = '', eviction_policy: Any = '', volatile: Any = False) -> tensor:
        """Reads the values at `pointer`.

        Args:
            pointer: a pointer, a block of pointers, or a block pointer.
            mask: an int1 block that broadcasts to the pointers; where it is false nothing is read.
            other: the result there, cast to the element type. Without it those elements are undefined.
            boundary_check: for a block pointer, the dimensions in which nothing outside the tensor is read.
            padding_option: ``"zero"`` or ``"nan"``, what a block pointer gives there; undefined without it.
            cache_modifier: ``""``, ``".ca"``, ``".cg"`` or ``".cv"``; a hint.
            eviction_policy: ``""``, ``"evict_first"`` or ``"evict_last"``; a hint.
            volatile: do not merge or drop this load.

        Returns:
            A block of the pointers' shape; ``int1`` is stored as a byte.

        Errors:
            A mask for a scalar pointer that is a block, or a `pointer` that is none.
        """
    def log(self) -> tensor:
        """The natural logarithm of `x`, element by element.

        Args:
            x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

        Errors:
            Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
        """
    def log2(self) -> tensor:
        """The logarithm of `x` to the base 2, element by element.

        Args:
            x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

        Errors:
            Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
        """
    def logical_and(self, other: Any) -> tensor:
        """Element-wise *and* of two blocks of ``int1``."""
    def logical_or(self, other: Any) -> tensor:
        """Element-wise *or* of two blocks of ``int1``."""
    def max(self, axis: Any = None, return_indices: Any = False, return_indices_tie_break_left: Any = True, keep_dims: Any = False) -> Any:
        """The largest element along `axis`, or of all.

        Args:
            input: a block; narrow types are compared as int32 or fp32.
            axis: a constexpr, or None for all dimensions.
            return_indices: return ``(values, indices)``.
            return_indices_tie_break_left: of equal elements take the first index.
            keep_dims: keep `axis` with size 1.
        """
    def maximum(self, y: Any, propagate_nan: Any = PropagateNan.NONE) -> tensor:
        """The larger of both, element by element; `propagate_nan` as in `minimum`."""
    def min(self, axis: Any = None, return_indices: Any = False, return_indices_tie_break_left: Any = True, keep_dims: Any = False) -> Any:
        """The smallest element along `axis`, or of all; arguments as of `max`."""
    def minimum(self, y: Any, propagate_nan: Any = PropagateNan.NONE) -> tensor:
        """The smaller of both, element by element.

        Args:
            propagate_nan: ``NONE``: of a number and a NaN the number is the result; ``ALL``: the NaN is.
        """
    def permute(self, *dims: Any) -> tensor:
        """`input` with its dimensions in another order.

        Args:
            dims: every dimension once, as arguments or as one tuple.
        """
    def ravel(self, can_reorder: Any = False) -> tensor:
        """All elements of `x` in one dimension, in row-major order."""
    def reduce(self, axis: Any, combine_fn: Any, keep_dims: Any = False) -> Any:
        """Combines all elements along `axis`.

        Args:
            input: a block, or a tuple of blocks of one shape that are combined together.
            axis: a constexpr, or None for all dimensions.
            combine_fn: a @jit function of two elements (of twice as many for a tuple) that is associative; the order of
                its use is not specified.
            keep_dims: keep `axis` with size 1.
        """
    def reduce_or(self, axis: Any, keep_dims: Any = False) -> tensor:
        """The bitwise or of all elements along `axis`; integers."""
    def reshape(self, *shape: Any, can_reorder: Any = False) -> tensor:
        """The same elements in row-major order under another shape.

        Args:
            shape: constexpr powers of two with the same product, as arguments or one tuple.
            can_reorder: deprecated; lets the compiler choose the order of elements.
        """
    def rsqrt(self) -> tensor:
        """1 over the square root of `x`, element by element.

        Args:
            x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

        Errors:
            Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
        """
    def sigmoid(self) -> tensor:
        """``1 / (1 + exp(-x))``, element by element; fp32 or fp64."""
    def sin(self) -> tensor:
        """The sine of `x` (in radians), element by element.

        Args:
            x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

        Errors:
            Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
        """
    def softmax(self, dim: Any = None, *, keep_dims: Any = None, ieee_rounding: Any = False) -> tensor:
        """``exp(x - max(x)) / sum(exp(x - max(x)))`` along `dim`.

        Args:
            x: a block of floats.
            dim: the dimension; 0 when it is not given.
            keep_dims: deprecated, without effect on the shape of the result.
            ieee_rounding: divide with IEEE rounding.
        """
    def sort(self, dim: Any = None, descending: Any = ..., return_indices: Any = False) -> tensor:
        """The elements in order along the last dimension.

        Args:
            x: a block.
            dim: the last dimension (the default); no other is possible.
            descending: the largest first.
            return_indices: also give where the elements were; equal ones stay in their order, and NaN is the largest.
        """
    def split(self) -> builtins.tuple[tensor, tensor]:
        """The two halves of a block whose last dimension has size 2; the inverse of `join`."""
    def sqrt(self) -> tensor:
        """The square root of `x`, element by element; it may be approximate.

        Args:
            x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

        Errors:
            Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
        """
    def sqrt_rn(self) -> tensor:
        """The square root of `x`, rounded to the nearest as IEEE 754 asks, element by element.

        Args:
            x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

        Errors:
            Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
        """
    def squeeze(self, dim: Any) -> tensor:
        """`x` without the dimension `dim`, which has size 1."""
    def store(self, value: Any, mask: Any = None, boundary_check: Any = (), cache_modifier: Any = '', eviction_policy: Any = '') -> None:
        """Writes `value` at `pointer`.

        Args:
            pointer: a pointer, a block of pointers, or a block pointer; not one to ``tl.const``.
            value: is broadcast to the pointers' shape and cast to their element type.
            mask: where it is false nothing is written.
            boundary_check: for a block pointer, the dimensions in which nothing outside the tensor is written.
            cache_modifier: ``""``, ``".wb"``, ``".cg"``, ``".cs"`` or ``".wt"``; a hint.
            eviction_policy: as in `load`.
        """
    def sum(self, axis: Any = None, keep_dims: Any = False, dtype: Any = None) -> tensor:
        """The sum along `axis`, or of all elements.

        Args:
            input: a block.
            axis: a constexpr, or None for all dimensions.
            keep_dims: keep `axis` with size 1.
            dtype: the type to add in; by default integers narrower than 32 bits become int32 or uint32, floats stay.
        """
    def tanh(self) -> tensor:
        """The hyperbolic tangent of `x`, element by element.

        Args:
            x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

        Errors:
            Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
        """
    def to(self, dtype: Any, fp_downcast_rounding: Any = None, bitcast: Any = False) -> tensor:
        """The same values as `dtype`; see `cast`."""
    def trans(self, *dims: Any) -> tensor:
        """The transposed block: `dims` as in `permute`; without them, the last two dimensions swap."""
    def unsqueeze(self, dim: Any) -> tensor:
        """`x` with a dimension of size 1 at `dim`."""
    def view(self, *shape: Any, _semantic: Any = None) -> tensor:
        """Deprecated: `reshape` that may reorder elements."""
    def where(self, x: Any, y: Any) -> tensor:
        """`x` where `condition` holds, else `y`, element by element.

        Args:
            condition: int1 (other types compare with 0; deprecated).
            x, y: of a common type; both are computed in any case, so loads that must not happen need their own mask.
        """
    def xor_sum(self, axis: Any = None, keep_dims: Any = False) -> tensor:
        """The exclusive or of all elements along `axis`; integers."""

class tuple:
    """Several values in one; it has ``len``, constant indices and ``+``, and names of fields when made of a named tuple."""
    def __init__(self, args: Any, type: Any = None) -> None: ...
    values: builtins.list[Any]
    def __len__(self) -> builtins.int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getitem__(self, index: Any) -> Any: ...
    def __getattr__(self, name: builtins.str) -> Any: ...
    def __add__(self, other: Any) -> tuple: ...
    def __eq__(self, other: Any) -> builtins.bool: ...
    def __hash__(self) -> builtins.int: ...

class slice:
    """The ``:`` of a subscript."""
    def __init__(self, start: Any, stop: Any, step: Any) -> None: ...
    start: Any
    stop: Any
    step: Any

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
    def __init__(self, arg1: Any, arg2: Any = None, step: Any = None, num_stages: Any = None, loop_unroll_factor: Any = None, disallow_acc_multi_buffer: Any = False, flatten: Any = False, warp_specialize: Any = False, disable_licm: Any = False) -> None: ...
    start: Any
    end: Any
    step: Any
    num_stages: Any
    loop_unroll_factor: Any
    disallow_acc_multi_buffer: Any
    flatten: Any
    warp_specialize: Any
    disable_licm: Any
    def __iter__(self) -> Iterator[tensor]: ...

class static_range:
    """A loop that is unrolled while compiling: its bounds and its step are constexprs, and so is the index."""
    def __init__(self, arg1: Any, arg2: Any = None, step: Any = None) -> None: ...
    start: Any
    end: Any
    step: Any
    def __iter__(self) -> Iterator[builtins.int]: ...

class condition:
    """The condition of a ``while`` loop with hints: ``while tl.condition(i < n, disable_licm=True)``."""
    def __init__(self, arg1: Any, disable_licm: Any = False) -> None: ...
    condition: Any
    disable_licm: builtins.bool
    def __bool__(self) -> builtins.bool: ...

class tensor_descriptor:
    """A whole tensor in memory: base, shape, strides and the shape of the blocks that are moved.

    Made by `make_tensor_descriptor` in a kernel or by ``triton.tools.tensor_descriptor.TensorDescriptor`` outside.

    Attributes (in kernels):
        shape, strides: tuples of run-time values.
        block_shape: a tuple of constexprs.
        dtype: the element type.
    """
    def __init__(self, handle: Any, shape: Any, strides: Any, block_type: Any) -> None: ...
    shape: Any
    strides: Any
    block_shape: Any
    dtype: dtype
    def atomic_add(self, offsets: Any, value: Any) -> None:
        """Adds `value` to what is in the block that begins at `offsets`; each element is changed at once."""
    def atomic_and(self, offsets: Any, value: Any) -> None:
        """Bitwise *and* of `value` and what is in the block that begins at `offsets`; each element is changed at once."""
    def atomic_max(self, offsets: Any, value: Any) -> None:
        """Keeps the larger of `value` and what is in the block that begins at `offsets`; each element is changed at once."""
    def atomic_min(self, offsets: Any, value: Any) -> None:
        """Keeps the smaller of `value` and what is in the block that begins at `offsets`; each element is changed at once."""
    def atomic_or(self, offsets: Any, value: Any) -> None:
        """Bitwise *or* of `value` and what is in the block that begins at `offsets`; each element is changed at once."""
    def atomic_xor(self, offsets: Any, value: Any) -> None:
        """Bitwise *exclusive or* of `value` and what is in the block that begins at `offsets`; each element is changed at once."""
    def gather(self, x_offsets: Any, y_offset: Any) -> tensor:
        """Rows of a tensor of two dimensions: those of the block `x_offsets`, from the column `y_offset` on. Blocks of the
        descriptor have one row.
        """
    def load(self, offsets: Any) -> tensor:
        """The block that begins at `offsets`; elements outside the tensor are its padding."""
    def scatter(self, value: Any, x_offsets: Any, y_offset: Any) -> None:
        """Writes the rows of `value` to the rows `x_offsets`, from the column `y_offset` on."""
    def store(self, offsets: Any, value: Any) -> None:
        """Writes `value` as the block that begins at `offsets`; elements outside the tensor are left out."""

_experimental_tensor_descriptor = tensor_descriptor

def _experimental_descriptor_load(desc: Any, offsets: Any, shape: Any = None, dtype: Any = None) -> tensor:
    """The block that begins at `offsets`. A descriptor of ``tools.experimental_descriptor``, or one that
    ``tl.extra.cuda.experimental_device_tensormap_create2d`` has written to the address `desc`, moves blocks of this
    shape and dtype; a `tensor_descriptor` has its own.
    """

def _experimental_descriptor_store(desc: Any, value: Any, offsets: Any, store_reduce: Any = '') -> None:
    """Writes `value` as the block that begins at `offsets`, or combines it with what is there: ``"add"``, ``"min"``,
    ``"max"``, ``"and"``, ``"or"``, ``"xor"``. Descriptors are those of `_experimental_descriptor_load`.
    """

def _experimental_make_tensor_descriptor(base: Any, shape: Any, strides: Any, block_shape: Any, padding_option: Any = 'zero') -> tensor_descriptor:
    """`make_tensor_descriptor` by its name in older releases."""

def _experimental_reinterpret_tensor_descriptor(desc: Any, block_shape: Any, dtype: Any) -> tensor_descriptor:
    """The descriptor of blocks of this shape and dtype that was written to the address `desc`; a `tensor_descriptor` is
    itself.
    """

def abs(x: Any) -> tensor:
    """The absolute value of `x`, element by element: any float or integer type; unsigned values stay."""

def add(x: Any, y: Any, sanitize_overflow: Any = True) -> tensor:
    """``x + y``, element by element.

    Args:
        x, y: blocks or scalars that broadcast; a pointer plus an integer moves by elements.
        sanitize_overflow: under ``debug=True``, fail when an integer result does not fit.
    """

def advance(base: Any, offsets: Any) -> tensor:
    """The block pointer `base` moved by `offsets` elements in each dimension."""

def arange(start: Any, end: Any) -> tensor:
    """The block ``[start, start + 1, …, end - 1]`` of int32.

    Args:
        start, end: constexprs with ``end > start`` that fit int32; ``end - start`` must be a power of two.

    Errors:
        ``arange's range must be a power of 2``, and a bound that is not known at compile time.
    """

def argmax(input: Any, axis: Any, tie_break_left: Any = True, keep_dims: Any = False) -> tensor:
    """The int32 index of the largest element along `axis`; of equal ones the first when `tie_break_left`."""

def argmin(input: Any, axis: Any, tie_break_left: Any = True, keep_dims: Any = False) -> tensor:
    """The int32 index of the smallest element along `axis`; of equal ones the first when `tie_break_left`."""

def argsort(x: Any, dim: Any = None, descending: Any = ...) -> tensor:
    """The positions of the elements in order along the last dimension; equal ones stay in their order, and NaN is the largest."""

def associative_scan(input: Any, axis: Any, combine_fn: Any, reverse: Any = False) -> Any:
    """Every prefix along `axis`, combined.

    Args:
        input: a block, or a tuple of blocks of one shape.
        axis: a constexpr.
        combine_fn: as in `reduce`; it need not commute.
        reverse: combine from the end.
    """

def assume(cond: Any) -> None:
    """Tells the compiler that the scalar `cond` holds. A promise."""

def atomic_add(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> tensor:
    """Adds `val` to what is there, atomically; integers of 32 or 64 bits, fp16, bf16, fp32, fp64.

    Args:
        pointer: a pointer or a block of pointers.
        val: is broadcast to the pointers' shape and cast to their element type.
        mask: where it is false nothing happens, and the result is undefined.
        sem: ``"relaxed"``, ``"acquire"``, ``"release"`` or ``"acq_rel"`` (the default unless said otherwise).
        scope: ``"gpu"`` (default), ``"cta"`` or ``"sys"``: who sees the order.

    Returns:
        What was there before.
    """

def atomic_and(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> tensor:
    """Bitwise *and* with `val`, atomically; integers of 32 or 64 bits, and the bits of fp32 and fp64.

    Args:
        pointer: a pointer or a block of pointers.
        val: is broadcast to the pointers' shape and cast to their element type.
        mask: where it is false nothing happens, and the result is undefined.
        sem: ``"relaxed"``, ``"acquire"``, ``"release"`` or ``"acq_rel"`` (the default unless said otherwise).
        scope: ``"gpu"`` (default), ``"cta"`` or ``"sys"``: who sees the order.

    Returns:
        What was there before.
    """

def atomic_cas(pointer: Any, cmp: Any, val: Any, sem: Any = None, scope: Any = None) -> tensor:
    """Where the value at `pointer` equals `cmp`, puts `val` there; returns what was there before.

    Args:
        pointer: to values of 16, 32 or 64 bits.
        cmp, val: are broadcast and cast to the element type.
        sem: ``"relaxed"``, ``"acquire"``, ``"release"`` or ``"acq_rel"`` (the default unless said otherwise).
        scope: ``"gpu"`` (default), ``"cta"`` or ``"sys"``: who sees the order.
    """

def atomic_load(pointer: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> tensor:
    """Reads atomically; `sem` is ``"acquire"`` by default."""

def atomic_max(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> tensor:
    """Keeps the larger of `val` and what is there, atomically; integers and floats of 32 or 64 bits.

    Args:
        pointer: a pointer or a block of pointers.
        val: is broadcast to the pointers' shape and cast to their element type.
        mask: where it is false nothing happens, and the result is undefined.
        sem: ``"relaxed"``, ``"acquire"``, ``"release"`` or ``"acq_rel"`` (the default unless said otherwise).
        scope: ``"gpu"`` (default), ``"cta"`` or ``"sys"``: who sees the order.

    Returns:
        What was there before.
    """

def atomic_min(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> tensor:
    """Keeps the smaller of `val` and what is there, atomically; integers and floats of 32 or 64 bits.

    Args:
        pointer: a pointer or a block of pointers.
        val: is broadcast to the pointers' shape and cast to their element type.
        mask: where it is false nothing happens, and the result is undefined.
        sem: ``"relaxed"``, ``"acquire"``, ``"release"`` or ``"acq_rel"`` (the default unless said otherwise).
        scope: ``"gpu"`` (default), ``"cta"`` or ``"sys"``: who sees the order.

    Returns:
        What was there before.
    """

def atomic_or(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> tensor:
    """Bitwise *or* with `val`, atomically; integers of 32 or 64 bits, and the bits of fp32 and fp64.

    Args:
        pointer: a pointer or a block of pointers.
        val: is broadcast to the pointers' shape and cast to their element type.
        mask: where it is false nothing happens, and the result is undefined.
        sem: ``"relaxed"``, ``"acquire"``, ``"release"`` or ``"acq_rel"`` (the default unless said otherwise).
        scope: ``"gpu"`` (default), ``"cta"`` or ``"sys"``: who sees the order.

    Returns:
        What was there before.
    """

def atomic_poll(pointer: Any, expected_value: Any, sem: Any = None, scope: Any = None, timeout_ns: Any = None) -> tensor:
    """Waits until the value at `pointer` is `expected_value`; returns int1, false when `timeout_ns` went by first.

    Args:
        pointer: to an integer of 16, 32 or 64 bits, or a block of such pointers; the result has its shape.
        timeout_ns: nanoseconds of the device's clock for all elements; on a target without one each look at memory
            counts as 100, and each element has the time for itself.
    """

def atomic_store(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> None:
    """Writes atomically; `sem` is ``"release"`` by default."""

def atomic_xchg(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> tensor:
    """Puts `val` there, atomically; elements of 16, 32 or 64 bits.

    Args:
        pointer: a pointer or a block of pointers.
        val: is broadcast to the pointers' shape and cast to their element type.
        mask: where it is false nothing happens, and the result is undefined.
        sem: ``"relaxed"``, ``"acquire"``, ``"release"`` or ``"acq_rel"`` (the default unless said otherwise).
        scope: ``"gpu"`` (default), ``"cta"`` or ``"sys"``: who sees the order.

    Returns:
        What was there before.
    """

def atomic_xor(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> tensor:
    """Bitwise *exclusive or* with `val`, atomically; integers of 32 or 64 bits, and the bits of fp32 and fp64.

    Args:
        pointer: a pointer or a block of pointers.
        val: is broadcast to the pointers' shape and cast to their element type.
        mask: where it is false nothing happens, and the result is undefined.
        sem: ``"relaxed"``, ``"acquire"``, ``"release"`` or ``"acq_rel"`` (the default unless said otherwise).
        scope: ``"gpu"`` (default), ``"cta"`` or ``"sys"``: who sees the order.

    Returns:
        What was there before.
    """

def bitonic_merge(x: Any, dim: Any = None, descending: Any = ...) -> tensor:
    """Puts a bitonic sequence (one that rises, then falls) along the last dimension in order."""

def broadcast(input: Any, other: Any) -> builtins.tuple[tensor, tensor]:
    """Both blocks with their common shape: dimensions of size 1 are repeated, missing leading ones are inserted.

    Errors:
        Sizes that differ where neither is 1.
    """

def broadcast_to(input: Any, *shape: Any) -> tensor:
    """`input` repeated to `shape`.

    Args:
        input: a block of the same rank, each size equal to the target's or 1; or a scalar.
        shape: constexprs, or one tuple of them.
    """

def cast(input: Any, dtype: Any, fp_downcast_rounding: Any = None, bitcast: Any = False) -> tensor:
    """`input` as another element type.

    Args:
        dtype: the element type of the result.
        fp_downcast_rounding: ``"rtne"`` (nearest even, the default) or ``"rtz"`` (towards zero), for a conversion to
            a narrower float only.
        bitcast: keep the bits instead of the value; widths must be equal.

    A float becomes an integer by truncation; anything becomes int1 by ``!= 0``. What does not fit becomes the nearest end
    of the type; of 8-bit types it is the low half of what 16 bits would hold (200.0 is -56 as int8), as with Triton on
    NVIDIA GPUs. NaN gives any integer.
    """

def cat(input: Any, other: Any, can_reorder: Any = False, dim: Any = 0) -> tensor:
    """Two blocks of the same shape and element type one after the other.

    Args:
        dim: the dimension that grows.
        can_reorder: deprecated; lets elements come in any order.
    """

def cdiv(x: Any, div: Any) -> Any:
    """``(x + div - 1) // div``: how many pieces of `div` cover `x`. On constexprs the result is one."""

def ceil(x: Any) -> tensor:
    """The smallest whole number not below `x`, element by element.

    Args:
        x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

    Errors:
        Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
    """

def clamp(x: Any, min: Any, max: Any, propagate_nan: Any = PropagateNan.NONE) -> tensor:
    """`x` kept between `min` and `max`, element by element; undefined where ``min > max``.

    Args:
        x, min, max: floats.
        propagate_nan: ``ALL``: a NaN in `x` stays one; ``NONE``: it becomes one of the bounds.
    """

def cos(x: Any) -> tensor:
    """The cosine of `x` (in radians), element by element.

    Args:
        x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

    Errors:
        Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
    """

def cumprod(input: Any, axis: Any = 0, reverse: Any = False, dtype: Any = None) -> tensor:
    """Running products along `axis`; arguments as of `cumsum`."""

def cumsum(input: Any, axis: Any = 0, reverse: Any = False, dtype: Any = None) -> tensor:
    """Running sums along `axis`.

    Args:
        reverse: from the end.
        dtype: the type to add in; as in `sum`.
    """

def debug_barrier() -> None:
    """Makes all lanes of the program wait for each other."""

def device_assert(cond: Any, msg: Any = '', mask: Any = None) -> None:
    """Fails the launch when an element of `cond` is false (and `mask`, if given, is true there).

    It does something only under ``debug=True`` or ``TRITON_DEBUG=1``.
    """

def device_print(prefix: Any, *args: Any, hex: Any = False) -> None:
    """Prints values while the kernel runs, a line an element:
    ``pid (x, y, z) idx (i, j) <prefix>: <value>``.

    Args:
        prefix: a text.
        args: scalars and blocks; pointers print as addresses.
        hex: integers in hexadecimal.
    """

def div_rn(x: Any, y: Any) -> tensor:
    """``x / y`` of fp32, rounded to the nearest as IEEE 754 asks, element by element."""

def dot(input: Any, other: Any, acc: Any = None, input_precision: Any = None, allow_tf32: Any = None, max_num_imprecise_acc: Any = None, out_dtype: Any = None) -> tensor:
    """The matrix product of two blocks.

    Args:
        input: ``[…, M, K]`` of int8, uint8, an fp8 type, fp16, bf16, fp32 or fp64.
        other: ``[…, K, N]`` of the same type (two fp8 types may differ). Leading dimensions must be equal.
        acc: is added, of the result's type and shape.
        input_precision: how fp32 operands are rounded: ``"tf32"``, ``"tf32x3"``, ``"ieee"``, ``"bf16x3"`` or
            ``"bf16x6"``, as far as the target has them.
        allow_tf32: deprecated; `input_precision` says more.
        max_num_imprecise_acc: how many fp8 products may be added in less than fp32.
        out_dtype: the result's type: fp32 by default, int32 for integers.

    The order of additions along K is not specified.

    Errors:
        Inner dimensions that differ, a K below 16 (8 for fp32 on some targets), operand types that differ.
    """

def dot_scaled(lhs: Any, lhs_scale: Any, lhs_format: Any, rhs: Any, rhs_scale: Any, rhs_format: Any, acc: Any = None, fast_math: Any = False, lhs_k_pack: Any = True, rhs_k_pack: Any = True, out_dtype: Any = float32) -> tensor:
    """The matrix product of two blocks in a microscaling format.

    Args:
        lhs, rhs: ``[M, K]`` and ``[K, N]``; two ``"e2m1"`` values share a byte, along K unless `lhs_k_pack` or
            `rhs_k_pack` is false.
        lhs_scale, rhs_scale: e8m0 exponents as uint8, or floats of 8 or 16 bits, one for each 32 (or 16) elements along
            K; None for no scale.
        lhs_format, rhs_format: ``"e2m1"``, ``"e4m3"``, ``"e5m2"``, ``"bf16"`` or ``"fp16"``.
        acc: is added.
        fast_math: leave NaN scales unchecked.
        out_dtype: the result's type.
    """

def erf(x: Any) -> tensor:
    """The error function of `x`, element by element.

    Args:
        x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

    Errors:
        Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
    """

def exp(x: Any) -> tensor:
    """*e* to the power of `x`, element by element.

    Args:
        x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

    Errors:
        Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
    """

def exp2(x: Any) -> tensor:
    """2 to the power of `x`, element by element.

    Args:
        x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

    Errors:
        Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
    """

def expand_dims(input: Any, axis: Any) -> tensor:
    """`input` with dimensions of size 1 inserted.

    Args:
        axis: an int or a tuple of them, positions in the result; negative ones count from its end.
    """

def expect_zero(x: Any, mask: Any) -> tensor:
    """`x`, which is expected to be 0 where `mask` is true, as values that have underflowed are. Debug builds assert it."""

def extern_elementwise(lib_name: Any, lib_path: Any, args: Any, arg_type_symbol_dict: Any, is_pure: Any) -> Any:
    """Calls a function of libdevice by its symbol, as CUDA's library (``__nv_expf``) or ROCm's (``__ocml_exp_f32``) has it.

    `libdevice.exp` and its kin say the same without symbols.

    Args:
        lib_name: the name of the library; it is not linked.
        lib_path: where it is; it is not read.
        args: blocks that broadcast.
        arg_type_symbol_dict: for each tuple of operand types the symbol and the result's type, written in the call.
        is_pure: whether the call may be dropped, merged or moved.
    """

def fdiv(x: Any, y: Any, ieee_rounding: Any = False, approx: Any = False) -> tensor:
    """``x / y`` of floats, element by element.

    Args:
        ieee_rounding: round to the nearest as IEEE 754 asks.
        approx: a faster division with a larger error, where the target has one.
    """

def flip(x: Any, dim: Any = None) -> tensor:
    """The elements in reverse along `dim`; the last dimension when it is not given."""

def floor(x: Any) -> tensor:
    """The largest whole number not above `x`, element by element.

    Args:
        x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

    Errors:
        Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
    """

def fma(x: Any, y: Any, z: Any) -> tensor:
    """``x * y + z`` with one rounding, element by element; all three of one float type after promotion."""

def full(shape: Any, value: Any, dtype: Any) -> tensor:
    """A block of one value.

    Args:
        shape: a tuple of constexpr powers of two, 2**20 elements at most.
        value: a number or a scalar of the kernel; it is cast to `dtype`. Of an integer that is too large the low bits count.
        dtype: the element type.
    """

def gather(src: Any, index: Any, axis: Any) -> tensor:
    """Elements of `src` picked along `axis`: ``out[i, j] = src[index[i, j], j]`` for axis 0.

    Args:
        src: a block.
        index: a block of integers of the same rank; equal sizes except along `axis`.
        axis: a constexpr.
    """

def histogram(input: Any, num_bins: Any, mask: Any = None) -> tensor:
    """How often each of ``0 … num_bins - 1`` occurs.

    Args:
        input: a block of rank 1 of integers; values outside the bins are not counted.
        num_bins: a constexpr power of two.
        mask: elements where it is false are not counted.

    Returns:
        An int32 block of `num_bins` elements.
    """

def inline_asm_elementwise(asm: Any, constraints: Any, args: Any, dtype: Any, is_pure: Any, pack: Any) -> Any:
    """Runs assembly of the target on each `pack` elements.

    Args:
        asm: the text; ``$0``, ``$1``, … are results, then arguments.
        constraints: in LLVM's spelling, results first (``"=r,r"``).
        args: blocks that broadcast.
        dtype: the result's element type, or a tuple of them for several results.
        is_pure: whether it may be dropped, merged or moved.
        pack: how many elements one copy of the text handles, neighbours along the last dimension; those of fewer than
            32 bits share registers, the first in the lowest bits.
    """

def interleave(a: Any, b: Any) -> tensor:
    """The elements of two blocks in turn along the last dimension, which doubles."""

def join(a: Any, b: Any) -> tensor:
    """Two blocks (broadcast to one shape) side by side in a new last dimension of size 2."""

def load(pointer: Any, mask: Any = None, other: Any = None, boundary_check: Any = (), padding_option: Any = '', cache_modifier: Any = '', eviction_policy: Any = '', volatile: Any = False) -> tensor:
    """Reads the values at `pointer`.

    Args:
        pointer: a pointer, a block of pointers, or a block pointer.
        mask: an int1 block that broadcasts to the pointers; where it is false nothing is read.
        other: the result there, cast to the element type. Without it those elements are undefined.
        boundary_check: for a block pointer, the dimensions in which nothing outside the tensor is read.
        padding_option: ``"zero"`` or ``"nan"``, what a block pointer gives there; undefined without it.
        cache_modifier: ``""``, ``".ca"``, ``".cg"`` or ``".cv"``; a hint.
        eviction_policy: ``""``, ``"evict_first"`` or ``"evict_last"``; a hint.
        volatile: do not merge or drop this load.

    Returns:
        A block of the pointers' shape; ``int1`` is stored as a byte.

    Errors:
        A mask for a scalar pointer that is a block, or a `pointer` that is none.
    """

def load_tensor_descriptor(desc: Any, offsets: Any) -> tensor:
    """The block of the descriptor that begins at `offsets`; elements outside the tensor are its padding."""

def log(x: Any) -> tensor:
    """The natural logarithm of `x`, element by element.

    Args:
        x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

    Errors:
        Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
    """

def log2(x: Any) -> tensor:
    """The logarithm of `x` to the base 2, element by element.

    Args:
        x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

    Errors:
        Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
    """

def make_block_ptr(base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any) -> tensor:
    """A pointer to a block of a tensor, checked against the tensor's edges by ``boundary_check`` of `load` and
    `store`. Releases of the language before 3.9 had it; it works here as it did there.

    Args:
        base: the pointer to the tensor's first element.
        shape, strides: of the whole tensor, in elements.
        offsets: where the block begins, in 32 bits.
        block_shape: constexpr powers of two.
        order: dimensions from the fastest to the slowest; a hint.
    """

def make_tensor_descriptor(base: Any, shape: Any, strides: Any, block_shape: Any, padding_option: Any = 'zero') -> tensor_descriptor:
    """Describes a tensor of 1 to 5 dimensions for `load_tensor_descriptor` and `store_tensor_descriptor`.

    Args:
        base: its first element, aligned to 16 bytes.
        shape, strides: in elements; the last stride is 1, the others are multiples of 16 bytes.
        block_shape: constexpr powers of two; a row of a block has 16 bytes at least.
        padding_option: ``"zero"`` or ``"nan"``, what loads give outside the tensor.
    """

def map_elementwise(scalar_fn: Any, *args: Any, pack: Any = 1) -> Any:
    """Calls a @jit function on the scalars of each element; control flow inside may differ from element to element.

    Args:
        scalar_fn: takes ``pack`` scalars of each argument in turn and returns as many results.
        args: blocks that broadcast.
        pack: elements per call.

    The result is a tuple of blocks where `scalar_fn` returns a tuple, also one of a single block.
    """

def max(input: Any, axis: Any = None, return_indices: Any = False, return_indices_tie_break_left: Any = True, keep_dims: Any = False) -> Any:
    """The largest element along `axis`, or of all.

    Args:
        input: a block; narrow types are compared as int32 or fp32.
        axis: a constexpr, or None for all dimensions.
        return_indices: return ``(values, indices)``.
        return_indices_tie_break_left: of equal elements take the first index.
        keep_dims: keep `axis` with size 1.
    """

def max_constancy(input: Any, values: Any) -> tensor:
    """Tells the compiler that `input` stays the same in runs of `values` elements. A promise."""

def max_contiguous(input: Any, values: Any) -> tensor:
    """Tells the compiler that `input` counts up by one in runs of `values` elements. A promise."""

def maximum(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> tensor:
    """The larger of both, element by element; `propagate_nan` as in `minimum`."""

def min(input: Any, axis: Any = None, return_indices: Any = False, return_indices_tie_break_left: Any = True, keep_dims: Any = False) -> Any:
    """The smallest element along `axis`, or of all; arguments as of `max`."""

def minimum(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> tensor:
    """The smaller of both, element by element.

    Args:
        propagate_nan: ``NONE``: of a number and a NaN the number is the result; ``ALL``: the NaN is.
    """

def mul(x: Any, y: Any, sanitize_overflow: Any = True) -> tensor:
    """``x * y``, element by element; `sanitize_overflow` as in `add`."""

def multiple_of(input: Any, values: Any) -> tensor:
    """Tells the compiler that the first value of each run of `input` is a multiple of `values` (one constexpr a
    dimension). A promise: a wrong one gives wrong results.
    """

def num_programs(axis: Any) -> tensor:
    """How many programs the launch has along `axis` (0, 1 or 2), an int32 scalar."""

def pair_uniform_to_normal(u1: Any, u2: Any) -> builtins.tuple[tensor, tensor]:
    """Two uniform blocks to two normal ones (Box and Muller)."""

def permute(input: Any, *dims: Any) -> tensor:
    """`input` with its dimensions in another order.

    Args:
        dims: every dimension once, as arguments or as one tuple.
    """

def philox(seed: Any, c0: Any, c1: Any, c2: Any, c3: Any, n_rounds: Any = ...) -> builtins.tuple[tensor, tensor, tensor, tensor]:
    """Four blocks of random bits for a seed and four counters; 32-bit counters give uint32, 64-bit ones uint64."""

def philox_impl(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, n_rounds: Any = ...) -> builtins.tuple[tensor, tensor, tensor, tensor]:
    """`n_rounds` rounds of Philox on four counters and two keys of uint32 or uint64; returns four blocks."""

def program_id(axis: Any) -> tensor:
    """The number of the running program along `axis`.

    Args:
        axis: 0, 1 or 2, a constexpr.

    Returns:
        An int32 scalar from 0 to ``num_programs(axis) - 1``.
    """

def rand(seed: Any, offset: Any, n_rounds: Any = ...) -> tensor:
    """fp32 numbers of the uniform distribution over [0, 1); arguments as of `randint`."""

def rand4x(seed: Any, offsets: Any, n_rounds: Any = ...) -> builtins.tuple[tensor, tensor, tensor, tensor]:
    """Four blocks as of `rand`."""

def randint(seed: Any, offset: Any, n_rounds: Any = ...) -> tensor:
    """Random uint32, one for each offset.

    Args:
        seed: a scalar.
        offset: a block of int32 or int64 counters.
        n_rounds: rounds of Philox.
    """

def randint4x(seed: Any, offset: Any, n_rounds: Any = ...) -> builtins.tuple[tensor, tensor, tensor, tensor]:
    """Four blocks of random uint32, the cheapest way to get many numbers; arguments as of `randint`."""

def randn(seed: Any, offset: Any, n_rounds: Any = ...) -> tensor:
    """fp32 numbers of the standard normal distribution; arguments as of `randint`."""

def randn4x(seed: Any, offset: Any, n_rounds: Any = ...) -> builtins.tuple[tensor, tensor, tensor, tensor]:
    """Four blocks as of `randn`."""

def ravel(x: Any, can_reorder: Any = False) -> tensor:
    """All elements of `x` in one dimension, in row-major order."""

def reduce(input: Any, axis: Any, combine_fn: Any, keep_dims: Any = False) -> Any:
    """Combines all elements along `axis`.

    Args:
        input: a block, or a tuple of blocks of one shape that are combined together.
        axis: a constexpr, or None for all dimensions.
        combine_fn: a @jit function of two elements (of twice as many for a tuple) that is associative; the order of
            its use is not specified.
        keep_dims: keep `axis` with size 1.
    """

def reduce_or(input: Any, axis: Any, keep_dims: Any = False) -> tensor:
    """The bitwise or of all elements along `axis`; integers."""

def reshape(input: Any, *shape: Any, can_reorder: Any = False) -> tensor:
    """The same elements in row-major order under another shape.

    Args:
        shape: constexpr powers of two with the same product, as arguments or one tuple.
        can_reorder: deprecated; lets the compiler choose the order of elements.
    """

def rsqrt(x: Any) -> tensor:
    """1 over the square root of `x`, element by element.

    Args:
        x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

    Errors:
        Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
    """

def sigmoid(x: Any) -> tensor:
    """``1 / (1 + exp(-x))``, element by element; fp32 or fp64."""

def sin(x: Any) -> tensor:
    """The sine of `x` (in radians), element by element.

    Args:
        x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

    Errors:
        Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
    """

def softmax(x: Any, dim: Any = None, *, keep_dims: Any = None, ieee_rounding: Any = False) -> tensor:
    """``exp(x - max(x)) / sum(exp(x - max(x)))`` along `dim`.

    Args:
        x: a block of floats.
        dim: the dimension; 0 when it is not given.
        keep_dims: deprecated, without effect on the shape of the result.
        ieee_rounding: divide with IEEE rounding.
    """

def sort(x: Any, dim: Any = None, descending: Any = ..., return_indices: Any = False) -> tensor:
    """The elements in order along the last dimension.

    Args:
        x: a block.
        dim: the last dimension (the default); no other is possible.
        descending: the largest first.
        return_indices: also give where the elements were; equal ones stay in their order, and NaN is the largest.
    """

def split(a: Any) -> builtins.tuple[tensor, tensor]:
    """The two halves of a block whose last dimension has size 2; the inverse of `join`."""

def sqrt(x: Any) -> tensor:
    """The square root of `x`, element by element; it may be approximate.

    Args:
        x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

    Errors:
        Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
    """

def sqrt_rn(x: Any) -> tensor:
    """The square root of `x`, rounded to the nearest as IEEE 754 asks, element by element.

    Args:
        x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

    Errors:
        Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
    """

def squeeze(x: Any, dim: Any) -> tensor:
    """`x` without the dimension `dim`, which has size 1."""

def static_assert(cond: Any, msg: Any = '') -> None:
    """Fails the compile when the constexpr `cond` is false, with `msg`."""

def static_print(*values: Any, sep: Any = ' ', end: Any = '\n', file: Any = None, flush: Any = False) -> None:
    """Prints while the kernel is compiled; arguments as of Python's ``print``."""

def store(pointer: Any, value: Any, mask: Any = None, boundary_check: Any = (), cache_modifier: Any = '', eviction_policy: Any = '') -> None:
    """Writes `value` at `pointer`.

    Args:
        pointer: a pointer, a block of pointers, or a block pointer; not one to ``tl.const``.
        value: is broadcast to the pointers' shape and cast to their element type.
        mask: where it is false nothing is written.
        boundary_check: for a block pointer, the dimensions in which nothing outside the tensor is written.
        cache_modifier: ``""``, ``".wb"``, ``".cg"``, ``".cs"`` or ``".wt"``; a hint.
        eviction_policy: as in `load`.
    """

def store_tensor_descriptor(desc: Any, offsets: Any, value: Any) -> None:
    """Writes `value` as the block that begins at `offsets`; elements outside the tensor are left out."""

def sub(x: Any, y: Any, sanitize_overflow: Any = True) -> tensor:
    """``x - y``, element by element; `sanitize_overflow` as in `add`."""

def sum(input: Any, axis: Any = None, keep_dims: Any = False, dtype: Any = None) -> tensor:
    """The sum along `axis`, or of all elements.

    Args:
        input: a block.
        axis: a constexpr, or None for all dimensions.
        keep_dims: keep `axis` with size 1.
        dtype: the type to add in; by default integers narrower than 32 bits become int32 or uint32, floats stay.
    """

def swizzle2d(i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> builtins.tuple[tensor, tensor]:
    """Reorders the positions of a ``size_i`` by ``size_j`` grid so that groups of `size_g` rows are walked column by
    column.

    Returns:
        The new ``(i, j)``.
    """

def tanh(x: Any) -> tensor:
    """The hyperbolic tangent of `x`, element by element.

    Args:
        x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

    Errors:
        Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
    """

def to_tensor(x: Any) -> tensor:
    """A constexpr or Python number as a run-time scalar: bool gives int1; an int the first of int32, uint32, int64 and
    uint64 that holds it; a float fp32 where it fits its range, else fp64.
    """

def topk(x: Any, k: Any, dim: Any = None, descending: Any = True, return_indices: Any = False) -> tensor:
    """The `k` largest elements (or the smallest, when not `descending`) along the last dimension, in order; `k` is a
    constexpr power of two. With `return_indices` also where they were. Of integers and floats of fewer than 32 bits fewer
    than all come as int32 and fp32, as `tl.max` gives them, without `return_indices`.
    """

def trans(input: Any, *dims: Any) -> tensor:
    """The transposed block: `dims` as in `permute`; without them, the last two dimensions swap."""

def uint_to_uniform_float(x: Any) -> tensor:
    """Random bits to fp32 in [0, 1)."""

def umulhi(x: Any, y: Any) -> tensor:
    """The upper half of the unsigned product of 32-bit or 64-bit integers, element by element."""

def unsqueeze(x: Any, dim: Any) -> tensor:
    """`x` with a dimension of size 1 at `dim`."""

def view(input: Any, *shape: Any, _semantic: Any = None) -> tensor:
    """Deprecated: `reshape` that may reorder elements."""

def where(condition: Any, x: Any, y: Any) -> tensor:
    """`x` where `condition` holds, else `y`, element by element.

    Args:
        condition: int1 (other types compare with 0; deprecated).
        x, y: of a common type; both are computed in any case, so loads that must not happen need their own mask.
    """

def xor_sum(input: Any, axis: Any = None, keep_dims: Any = False) -> tensor:
    """The exclusive or of all elements along `axis`; integers."""

def zeros(shape: Any, dtype: Any) -> tensor:
    """A block of zeros: `shape` a tuple of constexpr powers of two, `dtype` the element type."""

def zeros_like(input: Any) -> tensor:
    """Zeros of the shape and element type of `input`."""
