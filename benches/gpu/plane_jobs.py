"""Jobs over planes and lines of tiles, and over heads of batches by masks."""

import math

import torch
from job import Job, near

TILES = [(128, 256, 64, 8, 3), (128, 128, 64, 4, 4), (64, 64, 64, 4, 3)]


def planes():
    """All of them."""
    yield from plane(8192, 8192, 2048)
    yield from plane(16384, 2048, 2048)
    yield from plane(1024, 1024, 1024, 32)
    yield from plane(384, 384, 384, 64)
    yield from line(2048, 32768, 2048)
    for causal in (False, True):
        yield from attention(4, 16, 2048, 128, causal)
    yield from attention(4, 16, 2000, 80, False)


def plane(m, n, k, count=1):
    """Products in fp16 over a grid of an axis for rows, one for columns and one for matrices."""
    def grid(tile_m, tile_n):
        return -(-m // tile_m), -(-n // tile_n), count

    label = (f"{count}x({m}x{n}x{k})" if count > 1 else f"{m}x{n}x{k}") + " fp16"
    yield product(f"matmul over a {'plane' if count == 1 else 'grid'}", label, (m, n, k, count), "plane_matmul", grid)


def line(m, n, k):
    """A product in fp16 line by line."""
    yield product("matmul by lines", f"{m}x{n}x{k} fp16", (m, n, k, 1), "line_matmul", lambda tile_m, tile_n: (-(-m // tile_m) * -(-n // tile_n), ))


def product(family, label, sizes, name, grid):
    m, n, k, count = sizes
    a = torch.randn(count, m, k, device="cuda", dtype=torch.float16)
    b = torch.randn(count, k, n, device="cuda", dtype=torch.float16)
    c = torch.empty(count, m, n, device="cuda", dtype=torch.float16)
    some = torch.arange(0, m, 37, device="cuda")
    expected = a[:, some].double() @ b.double()

    def make(module, configuration):
        tile_m, tile_n, tile_k, warps, stages = configuration
        return lambda: getattr(module, name)[grid(tile_m, tile_n)](a, b, c, m, n, k, M=tile_m, N=tile_n, K=tile_k, num_warps=warps,
                                                                   num_stages=stages)

    def check():
        near(c[:, some], expected, 1e-3 * math.sqrt(k), 2e-3)
        c.fill_(float("nan"))

    return Job(family, label, "planes", "TFLOP/s", 2 * m * n * k * count, TILES, make, check, lambda: torch.matmul(a, b, out=c))


def attention(batches, heads, length, size, causal):
    """Attention in fp16 whose blocks have a power of two of columns, and masks for the rest."""
    q, k, v = (torch.randn(batches, heads, length, size, device="cuda", dtype=torch.float16) for _ in range(3))
    out = torch.empty_like(q)
    scores = q[0].double() @ k[0].double().mT / math.sqrt(size)
    if causal:
        scores.masked_fill_(torch.ones(length, length, device="cuda", dtype=torch.bool).triu(1), -math.inf)
    expected = scores.softmax(-1) @ v[0].double()
    del scores
    columns = 1 << (size - 1).bit_length()

    def make(module, configuration):
        rows, keys, warps, stages = configuration
        grid = (-(-length // rows), batches * heads)
        return lambda: module.masked_attention[grid](q, k, v, out, length, size, math.log2(math.e) / math.sqrt(size), heads, *q.stride()[:3],
                                                     M=rows, N=keys, D=columns, CAUSAL=causal, num_warps=warps, num_stages=stages)

    def check():
        near(out[0], expected, 2e-3, 1e-2)
        out.fill_(float("nan"))

    def library():
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    amount = 4 * batches * heads * length * length * size // (2 if causal else 1)
    yield Job(f"masked attention{' causal' if causal else ''}", f"{batches}x{heads}x{length}x{size} fp16", "planes", "TFLOP/s", amount,
              [(128, 128, 8, 3), (128, 64, 8, 2), (64, 64, 4, 3)], make, check, library)
