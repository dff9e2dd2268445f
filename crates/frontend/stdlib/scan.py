"""Running sums and products along one axis."""


@jit
def _scan_add(a, b):
    return a + b


@jit
def _prod_combine(a, b):
    return a * b


@jit
def cumsum(input, axis=0, reverse=False, dtype: tl.constexpr = None):
    """The sum of all elements up to each, along an axis; from the end where `reverse`."""
    return tl.associative_scan(input.to(tl._scan_dtype(input.dtype, dtype)), axis, _scan_add, reverse)


@jit
def cumprod(input, axis=0, reverse=False, dtype: tl.constexpr = None):
    """The product of all elements up to each, along an axis; from the end where `reverse`."""
    return tl.associative_scan(input.to(tl._scan_dtype(input.dtype, dtype)), axis, _prod_combine, reverse)
