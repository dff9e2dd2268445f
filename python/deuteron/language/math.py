"""`tl.math`: element-wise functions. Signatures and documentation."""

from ._builtin import builtin


def _floats_only(fn):
    """Says which types a function takes: fp32 and fp64 alone, as on every target."""
    fn.__doc__ += """

    Args:
        x: a block or scalar of fp32 or fp64. Cast fp16 and bf16 first: ``x.to(tl.float32)``.

    Errors:
        Any other element type: ``Expected dtype ['fp32', 'fp64'] but got …``.
    """
    return builtin(fn)


@_floats_only
def exp(x):
    """*e* to the power of `x`, element by element."""


@_floats_only
def exp2(x):
    """2 to the power of `x`, element by element."""


@_floats_only
def log(x):
    """The natural logarithm of `x`, element by element."""


@_floats_only
def log2(x):
    """The logarithm of `x` to the base 2, element by element."""


@_floats_only
def cos(x):
    """The cosine of `x` (in radians), element by element."""


@_floats_only
def sin(x):
    """The sine of `x` (in radians), element by element."""


@_floats_only
def sqrt(x):
    """The square root of `x`, element by element; it may be approximate."""


@_floats_only
def sqrt_rn(x):
    """The square root of `x`, rounded to the nearest as IEEE 754 asks, element by element."""


@_floats_only
def rsqrt(x):
    """1 over the square root of `x`, element by element."""


@_floats_only
def erf(x):
    """The error function of `x`, element by element."""


@_floats_only
def tanh(x):
    """The hyperbolic tangent of `x`, element by element."""


@_floats_only
def floor(x):
    """The largest whole number not above `x`, element by element."""


@_floats_only
def ceil(x):
    """The smallest whole number not below `x`, element by element."""


@builtin
def abs(x):
    """The absolute value of `x`, element by element: any float or integer type; unsigned values stay."""


@builtin
def fdiv(x, y, ieee_rounding=False, approx=False):
    """``x / y`` of floats, element by element.

    Args:
        ieee_rounding: round to the nearest as IEEE 754 asks.
        approx: a faster division with a larger error, where the target has one.
    """


@builtin
def div_rn(x, y):
    """``x / y`` of fp32, rounded to the nearest as IEEE 754 asks, element by element."""


@builtin
def fma(x, y, z):
    """``x * y + z`` with one rounding, element by element; all three of one float type after promotion."""


@builtin
def umulhi(x, y):
    """The upper half of the unsigned product of 32-bit or 64-bit integers, element by element."""
