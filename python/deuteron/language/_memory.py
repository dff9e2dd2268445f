"""Loads, stores, atomics, descriptors and hints about addresses: signatures and documentation."""

from ._builtin import builtin

_SEM = """sem: ``"relaxed"``, ``"acquire"``, ``"release"`` or ``"acq_rel"`` (the default unless said otherwise).
        scope: ``"gpu"`` (default), ``"cta"`` or ``"sys"``: who sees the order."""


@builtin
def load(pointer, mask=None, other=None, boundary_check=(), padding_option="", cache_modifier="", eviction_policy="",
         volatile=False):
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


@builtin
def store(pointer, value, mask=None, boundary_check=(), cache_modifier="", eviction_policy="") -> None:
    """Writes `value` at `pointer`.

    Args:
        pointer: a pointer, a block of pointers, or a block pointer; not one to ``tl.const``.
        value: is broadcast to the pointers' shape and cast to their element type.
        mask: where it is false nothing is written.
        boundary_check: for a block pointer, the dimensions in which nothing outside the tensor is written.
        cache_modifier: ``""``, ``".wb"``, ``".cg"``, ``".cs"`` or ``".wt"``; a hint.
        eviction_policy: as in `load`.
    """


@builtin
def make_block_ptr(base, shape, strides, offsets, block_shape, order):
    """A pointer to a block of a tensor, checked against the tensor's edges by ``boundary_check`` of `load` and
    `store`. Releases of the language before 3.9 had it; it works here as it did there.

    Args:
        base: the pointer to the tensor's first element.
        shape, strides: of the whole tensor, in elements.
        offsets: where the block begins, in 32 bits.
        block_shape: constexpr powers of two.
        order: dimensions from the fastest to the slowest; a hint.
    """


@builtin
def advance(base, offsets):
    """The block pointer `base` moved by `offsets` elements in each dimension."""


@builtin
def make_tensor_descriptor(base, shape, strides, block_shape, padding_option="zero") -> "tensor_descriptor":
    """Describes a tensor of 1 to 5 dimensions for `load_tensor_descriptor` and `store_tensor_descriptor`.

    Args:
        base: its first element, aligned to 16 bytes.
        shape, strides: in elements; the last stride is 1, the others are multiples of 16 bytes.
        block_shape: constexpr powers of two; a row of a block has 16 bytes at least.
        padding_option: ``"zero"`` or ``"nan"``, what loads give outside the tensor.
    """


@builtin
def load_tensor_descriptor(desc, offsets):
    """The block of the descriptor that begins at `offsets`; elements outside the tensor are its padding."""


@builtin
def store_tensor_descriptor(desc, offsets, value) -> None:
    """Writes `value` as the block that begins at `offsets`; elements outside the tensor are left out."""


@builtin
def _experimental_make_tensor_descriptor(base, shape, strides, block_shape, padding_option="zero") -> "tensor_descriptor":
    """`make_tensor_descriptor` by its name in older releases."""


@builtin
def _experimental_descriptor_load(desc, offsets, shape=None, dtype=None):
    """`load_tensor_descriptor` by its name in older releases; shape and type are those of the descriptor, or of one at an address."""


@builtin
def _experimental_descriptor_store(desc, value, offsets) -> None:
    """`store_tensor_descriptor` by its name in older releases."""


@builtin
def _experimental_reinterpret_tensor_descriptor(desc, block_shape, dtype) -> "tensor_descriptor":
    """The descriptor that lies at an address, as `tl.extra.cuda.experimental_device_tensormap_create2d` writes it; or the descriptor itself."""


@builtin
def atomic_load(pointer, mask=None, sem=None, scope=None):
    """Reads atomically; `sem` is ``"acquire"`` by default."""


@builtin
def atomic_store(pointer, val, mask=None, sem=None, scope=None) -> None:
    """Writes atomically; `sem` is ``"release"`` by default."""


@builtin
def atomic_poll(pointer, expected_value, sem=None, scope=None, timeout_ns=None):
    """Waits until the value at `pointer` is `expected_value`; returns int1, false when `timeout_ns` went by first.

    Args:
        pointer: to an integer of 16, 32 or 64 bits, or a block of such pointers; the result has its shape.
        timeout_ns: nanoseconds of the device's clock for all elements; on a target without one each look at memory
            counts as 100, and each element has the time for itself.
    """


@builtin
def atomic_cas(pointer, cmp, val, sem=None, scope=None):
    """Where the value at `pointer` equals `cmp`, puts `val` there; returns what was there before.

    Args:
        pointer: to values of 16, 32 or 64 bits.
        cmp, val: are broadcast and cast to the element type.
        {sem}
    """


def _atomic(fn):
    """Puts the arguments that all read-modify-write operations share under their first sentence."""
    fn.__doc__ += f"""

    Args:
        pointer: a pointer or a block of pointers.
        val: is broadcast to the pointers' shape and cast to their element type.
        mask: where it is false nothing happens, and the result is undefined.
        {_SEM}

    Returns:
        What was there before.
    """
    return builtin(fn)


@_atomic
def atomic_xchg(pointer, val, mask=None, sem=None, scope=None):
    """Puts `val` there, atomically; elements of 16, 32 or 64 bits."""


@_atomic
def atomic_add(pointer, val, mask=None, sem=None, scope=None):
    """Adds `val` to what is there, atomically; integers of 32 or 64 bits, fp16, bf16, fp32, fp64."""


@_atomic
def atomic_max(pointer, val, mask=None, sem=None, scope=None):
    """Keeps the larger of `val` and what is there, atomically; integers and floats of 32 or 64 bits."""


@_atomic
def atomic_min(pointer, val, mask=None, sem=None, scope=None):
    """Keeps the smaller of `val` and what is there, atomically; integers and floats of 32 or 64 bits."""


@_atomic
def atomic_and(pointer, val, mask=None, sem=None, scope=None):
    """Bitwise *and* with `val`, atomically; integers of 32 or 64 bits, and the bits of fp32 and fp64."""


@_atomic
def atomic_or(pointer, val, mask=None, sem=None, scope=None):
    """Bitwise *or* with `val`, atomically; integers of 32 or 64 bits, and the bits of fp32 and fp64."""


@_atomic
def atomic_xor(pointer, val, mask=None, sem=None, scope=None):
    """Bitwise *exclusive or* with `val`, atomically; integers of 32 or 64 bits, and the bits of fp32 and fp64."""


atomic_cas.__doc__ = atomic_cas.__doc__.replace("{sem}", _SEM)


@builtin
def multiple_of(input, values):
    """Tells the compiler that the first value of each run of `input` is a multiple of `values` (one constexpr a
    dimension). A promise: a wrong one gives wrong results."""


@builtin
def max_contiguous(input, values):
    """Tells the compiler that `input` counts up by one in runs of `values` elements. A promise."""


@builtin
def max_constancy(input, values):
    """Tells the compiler that `input` stays the same in runs of `values` elements. A promise."""


@builtin
def assume(cond) -> None:
    """Tells the compiler that the scalar `cond` holds. A promise."""


@builtin
def debug_barrier() -> None:
    """Makes all lanes of the program wait for each other."""
