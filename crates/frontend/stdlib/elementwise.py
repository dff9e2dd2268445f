"""Functions on single elements and on launch grids that are written in the language itself."""


@jit
def cdiv(x, div):
    """`x / div`, rounded up; for positive numbers."""
    return (x + (div - 1)) // div


@jit
def sigmoid(x):
    """The logistic function, `1 / (1 + exp(-x))`."""
    return 1 / (1 + tl.exp(-x))


@jit
def softmax(x, dim=None, *, keep_dims=None, ieee_rounding=False):
    """`exp(x)` over its sum along `dim` (by default dimension 0), computed without overflow."""
    along: tl.constexpr = 0 if dim is None else dim
    shifted = x - tl.max(x, along, keep_dims=True)
    numerator = tl.exp(shifted)
    denominator = tl.sum(numerator, along, keep_dims=True)
    return tl.fdiv(numerator, denominator, ieee_rounding)


@jit
def swizzle2d(i, j, size_i, size_j, size_g):
    """Renumbers the cells of a row-major grid so that groups of `size_g` rows are walked column by column."""
    linear = i * size_j + j
    cells = size_g * size_j
    group = linear // cells
    first_row = group * size_g
    rows = tl.minimum(size_i - first_row, size_g)
    within = linear % cells
    return first_row + within % rows, within // rows
