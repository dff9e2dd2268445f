"""Small kernels that `smoke.py` runs as machine code, each with arrays and what NumPy makes of them."""

import numpy

import deuteron as triton
import deuteron.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def functions(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=1.0)
    result = tl.exp(value) + tl.log(tl.abs(value) + 1.0) * tl.sqrt(tl.abs(value)) + tl.sin(value) / (value * value + 1.0)
    tl.store(out + at, result, mask=at < n)


@triton.jit
def integers(x, y, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(out + at, (a // b) * 3 + (a % b) + (a >> 3) * (b << 2) + tl.umulhi(a.to(tl.uint32), b.to(tl.uint32)).to(tl.int32))


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < columns
    value = tl.load(x + row * columns + at, mask=mask, other=-float("inf"))
    top = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * columns + at, top / tl.sum(top, 0), mask=mask)


@triton.jit
def layer_norm(x, weight, out, columns, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < columns
    value = tl.load(x + row * columns + at, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(value, 0) / columns
    rest = tl.where(mask, value - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(rest * rest, 0) / columns + eps)
    tl.store(out + row * columns + at, rest * scale * tl.load(weight + at, mask=mask), mask=mask)


@triton.jit
def transpose(x, out, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m, n = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N)
    value = tl.load(x + m[:, None] * BLOCK_N + n[None, :])
    tl.store(out + n[:, None] * BLOCK_M + m[None, :], tl.trans(value))


@triton.jit
def column_sums(x, out, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m, n = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N)
    tl.store(out + n, tl.sum(tl.load(x + m[:, None] * BLOCK_N + n[None, :]), 0))


@triton.jit
def prefix_sums(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.cumsum(tl.load(x + at), 0))


@triton.jit
def first_maximum(x, out, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m, n = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N)
    tl.store(out + m, tl.argmax(tl.load(x + m[:, None] * BLOCK_N + n[None, :]), 1))


@triton.jit
def sort(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.sort(tl.load(x + at)))


@triton.jit
def histogram(x, out, BLOCK: tl.constexpr, BINS: tl.constexpr):
    tl.store(out + tl.arange(0, BINS), tl.histogram(tl.load(x + tl.arange(0, BLOCK)), BINS))


@triton.jit
def atomic_sums(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + (at % 64), tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def programs(out, COUNT: tl.constexpr):
    tl.store(out + tl.program_id(0) * tl.num_programs(1) + tl.program_id(1), tl.num_programs(0) * 10 + COUNT)


@triton.jit
def gather(x, y, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.gather(tl.load(x + at), tl.load(y + at), 0))


@triton.jit
def matmul(a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        left = tl.load(a + m[:, None] * K + (start + k)[None, :], mask=(m < M)[:, None] & (start + k < K)[None, :], other=0.0)
        right = tl.load(b + (start + k)[:, None] * N + n[None, :], mask=(start + k < K)[:, None] & (n < N)[None, :], other=0.0)
        total = tl.dot(left, right, total)
    tl.store(c + m[:, None] * N + n[None, :], total.to(c.dtype.element_ty), mask=(m < M)[:, None] & (n < N)[None, :])


@triton.jit
def integer_matmul(a, b, c, SIZE: tl.constexpr, DEPTH: tl.constexpr):
    m, k = tl.arange(0, SIZE), tl.arange(0, DEPTH)
    left, right = tl.load(a + m[:, None] * DEPTH + k[None, :]), tl.load(b + k[:, None] * SIZE + m[None, :])
    tl.store(c + m[:, None] * SIZE + m[None, :], tl.dot(left, right))


class Case:
    """A kernel with its constants, its grid, its arguments (arrays or numbers) and what its last array becomes.

    `tolerance` is relative and absolute; 0 is equal.
    """

    def __init__(self, kernel, args, expected, constants=None, grid=(1, 1, 1), tolerance=0.0, **options):
        self.kernel, self.args, self.expected, self.grid = kernel, args, expected, grid
        self.constants, self.tolerance, self.options = constants or {}, tolerance, {"num_warps": 4, **options}


def product(m, n, k, tile, tolerance=1e-2, **options):
    """Of random halves."""
    random = numpy.random.default_rng(m + n + k)
    a, b = (random.standard_normal(shape).astype(numpy.float16) for shape in ((m, k), (k, n)))
    expected = (a.astype(numpy.float32) @ b.astype(numpy.float32)).astype(numpy.float16)
    grid = (-(-m // tile[0]), -(-n // tile[1]), 1)
    constants = dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), tile))
    return Case(matmul, [a, b, numpy.zeros((m, n), numpy.float16), m, n, k], expected, constants, grid, tolerance, **options)


def cases():
    """From name to case."""
    random = numpy.random.default_rng(0)
    floats = random.standard_normal(1000).astype(numpy.float32)
    others = random.standard_normal(1000).astype(numpy.float32)
    odd = floats.copy()
    odd[:4] = numpy.inf, -numpy.inf, numpy.nan, -0.0
    whole = random.integers(-1000, 1000, 256).astype(numpy.int32)
    divisors = random.integers(1, 50, 256).astype(numpy.int32)
    high = (whole.view(numpy.uint32).astype(numpy.uint64) * divisors.astype(numpy.uint64) >> numpy.uint64(32)).astype(numpy.int32)
    quotient = numpy.trunc(whole / divisors).astype(numpy.int32)
    arithmetic = quotient * 3 + (whole - quotient * divisors) + (whole >> 3) * (divisors << 2) + high
    wide = floats.astype(numpy.float64)
    rows = random.standard_normal((3, 781)).astype(numpy.float32)
    top = numpy.exp(rows.astype(numpy.float64) - rows.max(1, keepdims=True))
    weight = random.standard_normal(781).astype(numpy.float32)
    centred = rows.astype(numpy.float64) - rows.astype(numpy.float64).mean(1, keepdims=True)
    normal = centred / numpy.sqrt((centred ** 2).mean(1, keepdims=True) + 1e-5) * weight
    block = random.standard_normal((64, 32)).astype(numpy.float32)
    bins = random.integers(0, 32, 512).astype(numpy.int32)
    counts = numpy.bincount(bins, minlength=32).astype(numpy.int32)
    sums = numpy.zeros(64, numpy.int32)
    numbers = random.integers(-100, 100, 1000).astype(numpy.int32)
    numpy.add.at(sums, numpy.arange(1000) % 64, numbers)
    order = random.permutation(256).astype(numpy.int32)
    left, right = (random.integers(-8, 8, shape).astype(numpy.int8) for shape in ((32, 64), (64, 32)))

    def like(array):
        return numpy.zeros_like(array)

    with numpy.errstate(all="ignore"):
        added = odd + others
    return {
        "add, odd size": Case(add, [odd, others, like(odd), 1000], added, {"BLOCK": 256}, (4, 1, 1)),
        "elementary functions": Case(
            functions, [floats, like(floats), 1000],
            numpy.exp(wide) + numpy.log(abs(wide) + 1) * numpy.sqrt(abs(wide)) + numpy.sin(wide) / (wide * wide + 1),
            {"BLOCK": 1024}, tolerance=1e-5),
        "integers": Case(integers, [whole, divisors, like(whole)], arithmetic, {"BLOCK": 256}),
        "softmax, 781 columns": Case(softmax, [rows, like(rows), 781], top / top.sum(1, keepdims=True), {"BLOCK": 1024}, (3, 1, 1), 1e-5),
        "layer norm, 781 columns": Case(layer_norm, [rows, weight, like(rows), 781, 1e-5], normal, {"BLOCK": 1024}, (3, 1, 1), 1e-4),
        "transpose": Case(transpose, [block, like(block.T.copy())], block.T, {"BLOCK_M": 64, "BLOCK_N": 32}),
        "sums of columns": Case(column_sums, [block, numpy.zeros(32, numpy.float32)], block.astype(numpy.float64).sum(0),
                                {"BLOCK_M": 64, "BLOCK_N": 32}, tolerance=1e-4),
        "prefix sums": Case(prefix_sums, [whole, like(whole)], whole.cumsum(dtype=numpy.int32), {"BLOCK": 256}),
        "first maximum": Case(first_maximum, [block, numpy.zeros(64, numpy.int32)], block.argmax(1), {"BLOCK_M": 64, "BLOCK_N": 32}),
        "sort": Case(sort, [whole, like(whole)], numpy.sort(whole), {"BLOCK": 256}),
        "histogram": Case(histogram, [bins, counts * 0], counts, {"BLOCK": 512, "BINS": 32}),
        "atomic sums": Case(atomic_sums, [numbers, sums * 0, 1000], sums, {"BLOCK": 256}, (4, 1, 1)),
        "programs": Case(programs, [numpy.zeros(6, numpy.int32)], numpy.full(6, 34), {"COUNT": 4}, (3, 2, 1)),
        "gather": Case(gather, [whole, order, like(whole)], whole[order], {"BLOCK": 256}),
        "matmul 32x32x32": product(32, 32, 32, (32, 32, 32)),
        "matmul 64x64x32, 16x16": product(64, 64, 64, (64, 64, 32), matrix_instr_nonkdim=16),
        "matmul 64x64x32, odd sizes": product(100, 72, 90, (64, 64, 32)),
        "matmul 128x128x64": product(128, 128, 128, (128, 128, 64)),
        "matmul of int8": Case(integer_matmul, [left, right, numpy.zeros((32, 32), numpy.int32)],
                               left.astype(numpy.int32) @ right.astype(numpy.int32), {"SIZE": 32, "DEPTH": 64}),
    }
