"""Counter-based random numbers (Philox): the same seed and offset give the same number on every target."""

from ._builtin import builtin
from ._constexpr import constexpr

N_ROUNDS_DEFAULT = constexpr(10)


@builtin
def philox_impl(c0, c1, c2, c3, k0, k1, n_rounds=N_ROUNDS_DEFAULT) -> "tuple[tensor, tensor, tensor, tensor]":
    """`n_rounds` rounds of Philox on four counters and two keys of uint32 or uint64; returns four blocks."""


@builtin
def philox(seed, c0, c1, c2, c3, n_rounds=N_ROUNDS_DEFAULT) -> "tuple[tensor, tensor, tensor, tensor]":
    """Four blocks of random bits for a seed and four counters; 32-bit counters give uint32, 64-bit ones uint64."""


@builtin
def randint(seed, offset, n_rounds=N_ROUNDS_DEFAULT):
    """Random uint32, one for each offset.

    Args:
        seed: a scalar.
        offset: a block of int32 or int64 counters.
        n_rounds: rounds of Philox.
    """


@builtin
def randint4x(seed, offset, n_rounds=N_ROUNDS_DEFAULT) -> "tuple[tensor, tensor, tensor, tensor]":
    """Four blocks of random uint32, the cheapest way to get many numbers; arguments as of `randint`."""


@builtin
def uint_to_uniform_float(x):
    """Random bits to fp32 in [0, 1)."""


@builtin
def rand(seed, offset, n_rounds=N_ROUNDS_DEFAULT):
    """fp32 numbers of the uniform distribution over [0, 1); arguments as of `randint`."""


@builtin
def rand4x(seed, offsets, n_rounds=N_ROUNDS_DEFAULT) -> "tuple[tensor, tensor, tensor, tensor]":
    """Four blocks as of `rand`."""


@builtin
def pair_uniform_to_normal(u1, u2) -> "tuple[tensor, tensor]":
    """Two uniform blocks to two normal ones (Box and Muller)."""


@builtin
def randn(seed, offset, n_rounds=N_ROUNDS_DEFAULT):
    """fp32 numbers of the standard normal distribution; arguments as of `randint`."""


@builtin
def randn4x(seed, offset, n_rounds=N_ROUNDS_DEFAULT) -> "tuple[tensor, tensor, tensor, tensor]":
    """Four blocks as of `randn`."""
