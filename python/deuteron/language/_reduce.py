"""Reductions and scans with any combining function, and what helps to debug a kernel: signatures, documentation."""

from ._builtin import builtin


@builtin
def reduce(input, axis, combine_fn, keep_dims=False) -> "Any":
    """Combines all elements along `axis`.

    Args:
        input: a block, or a tuple of blocks of one shape that are combined together.
        axis: a constexpr, or None for all dimensions.
        combine_fn: a @jit function of two elements (of twice as many for a tuple) that is associative; the order of
            its use is not specified.
        keep_dims: keep `axis` with size 1.
    """


@builtin
def associative_scan(input, axis, combine_fn, reverse=False) -> "Any":
    """Every prefix along `axis`, combined.

    Args:
        input: a block, or a tuple of blocks of one shape.
        axis: a constexpr.
        combine_fn: as in `reduce`; it need not commute.
        reverse: combine from the end.
    """


@builtin
def static_print(*values, sep=" ", end="\n", file=None, flush=False) -> None:
    """Prints while the kernel is compiled; arguments as of Python's ``print``."""


@builtin
def static_assert(cond, msg="") -> None:
    """Fails the compile when the constexpr `cond` is false, with `msg`."""


@builtin
def device_print(prefix, *args, hex=False) -> None:
    """Prints values while the kernel runs, a line an element:
    ``pid (x, y, z) idx (i, j) <prefix>: <value>``.

    Args:
        prefix: a text.
        args: scalars and blocks; pointers print as addresses.
        hex: integers in hexadecimal.
    """


@builtin
def device_assert(cond, msg="", mask=None) -> None:
    """Fails the launch when an element of `cond` is false (and `mask`, if given, is true there).

    It does something only under ``debug=True`` or ``TRITON_DEBUG=1``.
    """
