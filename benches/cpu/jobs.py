"""What is measured: each job with its limit, its rivals, and what the result must be."""

import importlib
import math
import os

import common
import kernels
import limits
import numpy as np
import triton

try:
    import jax
except ImportError:
    jax = None

torch = common.torch
THREADS = len(os.sched_getaffinity(0))


class Job:
    """One row of the table.

    Attributes:
        label: what is measured.
        amount: bytes or operations of one run.
        unit: ``"GB/s"`` or ``"GFLOP/s"``.
        bar: the share of the limit that is expected; 0 where none is.
        limit: answers the seconds that the work takes at the limit of the machine; None where that is not probed.
        ours: runs it.
        rivals: by name, functions that do the same.
        check: answers whether our result is right.
    """

    def __init__(self, label, amount, unit, bar, *, limit, ours, check, **rivals):
        self.label = label
        self.amount = amount
        self.unit = unit
        self.bar = bar
        self.limit = limit
        self.ours = ours
        self.check = check
        self.rivals = {name: run for name, run in rivals.items() if run is not None}


def block(*shape, dtype="float32", seed=None):
    """A tensor that begins at a cache line, in large pages where the system has them: of normal random numbers, or of
    zeros without a seed."""
    size = math.prod(shape)
    width = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
    room = np.zeros(size * width + 64, np.uint8)
    start = -room.ctypes.data % 64
    tensor = torch.from_numpy(room[start:start + size * width]).view(getattr(torch, dtype)).reshape(shape)
    if seed is not None:
        tensor.copy_(common.randn(*shape, seed=seed).to(tensor.dtype))
    return tensor


def compiled(function, *inputs):
    """`function` by torch.compile, run once; None where it cannot be (no C++ compiler)."""
    try:
        made = torch.compile(function)
        made(*inputs)
    except Exception as error:
        print(f"  torch.compile: {str(error).splitlines()[0]}", flush=True)
        return None
    return lambda: made(*inputs)


def by_jax(function, *inputs):
    """`function` over jax.numpy, compiled; None where JAX is not installed."""
    if jax is None:
        return None
    arrays = [jax.numpy.asarray(tensor.numpy()) for tensor in inputs]
    made = jax.jit(function)
    made(*arrays).block_until_ready()
    return lambda: made(*arrays).block_until_ready()


def close(result, expected, allowed):
    """Whether a result is as near to what is expected as rounding lets it be."""
    return lambda: common.max_difference(result, expected()) <= allowed


def matmul_limit(dtype, operations):
    """Answers the seconds that so many multiplications and additions of a type take at least."""
    return limits.multiply_probe(limits.kinds_for(dtype), THREADS, operations)


def vector_add(rivals):
    n = 1 << 24
    add = importlib.import_module("01_vector_add")
    a, b, out, other = block(n, seed=1), block(n, seed=2), block(n), block(n)
    return Job("vector add 2^24", 3 * a.nbytes, "GB/s", 0.95, limit=limits.move_probe(THREADS, other, a, b),
               ours=lambda: add.add_kernel[(n // 1024, )](a, b, out, n, 1024), check=close(out, lambda: a.numpy() + b.numpy(), 0),
               numpy=lambda: np.add(a.numpy(), b.numpy(), out=other.numpy()), torch=lambda: torch.add(a, b, out=other),
               compiled=rivals and compiled(lambda a, b, o: o.copy_(a + b), a, b, other),
               jax=by_jax(lambda a, b: a + b, a, b))


def gelu(rivals):
    n = 1 << 24
    x, out, other = block(n, seed=3), block(n), block(n)
    function = torch.nn.functional.gelu

    def expected():
        values = x[:1 << 16].double()
        return function(values, approximate="tanh").numpy()

    return Job("gelu 2^24", 2 * x.nbytes, "GB/s", 0.95, limit=limits.move_probe(THREADS, other, x),
               ours=lambda: kernels.gelu_kernel[(n // 4096, )](x, out, n, 4096),
               check=close(out[:1 << 16], expected, 1e-5), torch=lambda: function(x, approximate="tanh"),
               compiled=rivals and compiled(lambda x, o: o.copy_(function(x, approximate="tanh")), x, other),
               jax=by_jax(lambda x: jax.nn.gelu(x, approximate=True), x))


def softmax(rows, columns, variant, bar, rivals):
    example = importlib.import_module("02_softmax")
    x, out, other = block(rows, columns, seed=3), block(rows, columns), block(rows, columns)
    part = slice(0, 64)
    return Job(f"softmax {variant} {rows}x{columns}", 2 * x.nbytes, "GB/s", bar,
               limit=limits.move_probe(THREADS, other, x), ours=lambda: example.VARIANTS[variant](x, out),
               check=close(out[part], lambda: example.reference(x[part].double().numpy()), 1e-6),
               numpy=lambda: example.numpy_softmax(x.numpy(), other.numpy()),
               torch=lambda: torch.softmax(x, dim=-1, out=other),
               compiled=rivals and compiled(lambda x, o: o.copy_(torch.softmax(x, dim=-1)), x, other),
               jax=by_jax(lambda x: jax.nn.softmax(x, axis=-1), x))


def layer_norm(rivals):
    rows, columns = 4096, 4096
    example = importlib.import_module("04_layer_norm")
    x, out, other = block(rows, columns, seed=7), block(rows, columns), block(rows, columns)
    w, b, mean, rstd = block(columns, seed=8), block(columns, seed=9), block(rows), block(rows)
    function = torch.nn.functional.layer_norm
    part = slice(0, 64)

    def expected():
        values, weight, bias = (t.double().numpy() for t in (x[part], w, b))
        return example.reference(values, weight, bias, values)[0]

    return Job("layer norm 4096x4096", 2 * x.nbytes, "GB/s", 0.85, limit=limits.move_probe(THREADS, other, x),
               ours=lambda: example.forward(x, w, b, out, mean, rstd), check=close(out[part], expected, 1e-4),
               torch=lambda: function(x, (columns, ), w, b, example.EPS),
               compiled=rivals and compiled(
                   lambda x, w, b, o: o.copy_(function(x, (columns, ), w, b, example.EPS)), x, w, b, other))


def matmul(size, tile, bar, rivals, dtype="float32"):
    a, b = block(size, size, dtype=dtype, seed=5), block(size, size, dtype=dtype, seed=6)
    out, other = block(size, size), block(size, size, dtype=dtype)
    rows, columns, depth = tile
    grid = (triton.cdiv(size, columns), triton.cdiv(size, rows))

    def ours():
        kernels.matmul_kernel[grid](a, b, out, size, size, size, size, size, size, rows, columns, depth)

    def numpy_matmul():
        np.matmul(a.numpy(), b.numpy(), out=other.numpy())

    single = dtype == "float32"
    return Job(f"matmul {dtype} {size}^3, {rows}x{columns}x{depth}", 2 * size**3, "GFLOP/s", bar,
               limit=matmul_limit(dtype, 2 * size**3), ours=ours,
               check=close(out, lambda: a.double().numpy() @ b.double().numpy(), 1e-3),
               numpy=numpy_matmul if single else None, torch=lambda: torch.matmul(a, b, out=other),
               jax=by_jax(lambda a, b: a @ b, a, b) if single and rivals else None)


def attention(causal, rivals, dtype="float32"):
    shape = (8, 1024, 64)
    example = importlib.import_module("06_attention")
    q, k, v = (block(*shape, dtype=dtype, seed=seed) for seed in (12, 13, 14))
    out = block(*shape)
    operations = 4 * shape[0] * shape[1]**2 * shape[2] // (2 if causal else 1)
    function = torch.nn.functional.scaled_dot_product_attention
    expected = lambda: example.reference(*(t.double().numpy() for t in (q, k, v)), causal)  # noqa: E731
    run = lambda q, k, v: function(q[None], k[None], v[None], is_causal=causal)  # noqa: E731
    return Job(f"attention {dtype} {'causal' if causal else 'full'} 8x1024x64", operations, "GFLOP/s", 0.75,
               limit=matmul_limit(dtype, operations), ours=lambda: example.attention(q, k, v, out, causal),
               check=close(out, expected, 1e-5 if dtype == "float32" else 1e-2),
               torch=lambda: run(q, k, v), compiled=rivals and compiled(run, q, k, v))


def argmax(rivals):
    rows, columns = 4096, 4096
    x, out = block(rows, columns, seed=15), block(rows, dtype="int32")
    other = block(rows, dtype="int64")
    return Job("argmax 4096x4096", x.nbytes, "GB/s", 0.80, limit=limits.move_probe(THREADS, None, x),
               ours=lambda: kernels.argmax_kernel[(rows, )](x, out, columns, columns, columns),
               check=close(out, lambda: x.numpy().argmax(axis=1), 0), numpy=lambda: np.argmax(x.numpy(), axis=1),
               torch=lambda: torch.argmax(x, dim=1, out=other),
               compiled=rivals and compiled(lambda x, o: o.copy_(torch.argmax(x, dim=1)), x, other))


def cumsum(rivals):
    rows, columns = 4096, 4096
    x, out, other = block(rows, columns, seed=16), block(rows, columns), block(rows, columns)
    part = slice(0, 64)
    return Job("cumsum 1-D 4096x4096", 2 * x.nbytes, "GB/s", 0.80, limit=limits.move_probe(THREADS, other, x),
               ours=lambda: kernels.cumsum_kernel[(rows, )](x, out, columns, columns, columns),
               check=close(out[part], lambda: x[part].double().numpy().cumsum(axis=1), 1e-3),
               numpy=lambda: np.cumsum(x.numpy(), axis=1, out=other.numpy()),
               torch=lambda: torch.cumsum(x, dim=1, out=other),
               compiled=rivals and compiled(lambda x, o: o.copy_(torch.cumsum(x, dim=1)), x, other))


TILES = ((32, 32, 32), (64, 64, 32), (128, 64, 32), (128, 128, 32), (128, 256, 64))

# What each row is called, and how it is made: only those that are asked for take memory and time.
ROWS = [
    ("vector add", vector_add),
    ("gelu", gelu),
    *[(f"softmax fused {rows}x{columns}",
       lambda rivals, rows=rows, columns=columns: softmax(rows, columns, "fused", 0.80, rivals))
      for rows, columns in ((4096, 4096), (8192, 1024), (16384, 781), (2048, 6000))],
    ("softmax online 4096x4096", lambda rivals: softmax(4096, 4096, "online", 0.60, rivals)),
    ("softmax naive 4096x4096", lambda rivals: softmax(4096, 4096, "naive", 0.60, rivals)),
    ("layer norm", layer_norm),
    *[(f"matmul float32 {size}^3 {'x'.join(map(str, tile))}",
       lambda rivals, size=size, tile=tile: matmul(size, tile, 0.88 if tile == (128, 128, 32) else 0.80, rivals))
      for size, tiles in ((1024, TILES), (2048, TILES[3:])) for tile in tiles],
    ("matmul bfloat16", lambda rivals: matmul(1024, (128, 128, 32), 0.88, rivals, "bfloat16")),
    *[(f"attention {dtype} {'causal' if causal else 'full'}",
       lambda rivals, dtype=dtype, causal=causal: attention(causal, rivals, dtype))
      for dtype in ("float32", "bfloat16") for causal in (False, True)],
    ("argmax", argmax),
    ("cumsum", cumsum),
]
