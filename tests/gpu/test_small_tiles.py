"""Products in tiles too small for a warp group, whose operands bulk copies load: the lanes of many programs read a buffer
while the next copy into it is about to begin."""

import pytest
import torch

import deuteron as triton
import deuteron.language as tl
from deuteron.tools.tensor_descriptor import TensorDescriptor

SIZE, DEPTH = 8192, 1024


@triton.jit
def by_descriptors(a_desc, b_desc, c_ptr, n, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, col = tl.program_id(0) * M, tl.program_id(1) * N
    acc = tl.zeros((M, N), dtype=tl.float32)
    for k in range(0, tl.cdiv(depth, K)):
        acc = tl.dot(a_desc.load([row, k * K]), b_desc.load([k * K, col]), acc)
    tl.store(c_ptr + (row + tl.arange(0, M))[:, None] * n + col + tl.arange(0, N)[None, :], acc.to(tl.float16))


@triton.jit
def by_pointers(a_ptr, b_ptr, c_ptr, m, n, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, cols = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    acc = tl.zeros((M, N), dtype=tl.float32)
    for k in range(0, tl.cdiv(depth, K)):
        at = k * K + tl.arange(0, K)
        a = tl.load(a_ptr + rows[:, None] * depth + at[None, :], mask=(rows[:, None] < m) & (at[None, :] < depth), other=0.0)
        b = tl.load(b_ptr + at[:, None] * n + cols[None, :], mask=(at[:, None] < depth) & (cols[None, :] < n), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * n + cols[None, :], acc.to(tl.float16))


@pytest.fixture(scope="module")
def product():
    """Two matrices and what their product is within: half a unit of fp16, and the rounding of sums of 32 bits."""
    generator = torch.Generator("cuda").manual_seed(torch.seed() % 2**31)
    a = torch.randn(SIZE, DEPTH, generator=generator, device="cuda", dtype=torch.float16)
    b = torch.randn(DEPTH, SIZE, generator=generator, device="cuda", dtype=torch.float16)
    exact = a.double() @ b.double()
    return a, b, exact, 2**-10 * exact.abs() + 1e-3


@pytest.mark.parametrize("tile, warps, stages", [((32, 64, 64), 8, 3), ((32, 32, 32), 8, 2), ((32, 32, 32), 4, 4),
                                                 ((16, 64, 64), 4, 3), ((32, 128, 64), 4, 2)])
@pytest.mark.parametrize("kind", ["descriptors", "pointers"])
def test_buffers_are_read_before_they_are_filled_again(product, kind, tile, warps, stages):
    a, b, exact, tolerance = product
    m, n, k = tile
    c = torch.empty(SIZE, SIZE, device="cuda", dtype=torch.float16)
    grid = (SIZE // m, SIZE // n)
    for _ in range(3):
        c.fill_(float("nan"))
        if kind == "descriptors":
            descs = TensorDescriptor.from_tensor(a, [m, k]), TensorDescriptor.from_tensor(b, [k, n])
            by_descriptors[grid](*descs, c, SIZE, DEPTH, M=m, N=n, K=k, num_warps=warps, num_stages=stages)
        else:
            by_pointers[grid](a, b, c, SIZE, SIZE, DEPTH, M=m, N=n, K=k, num_warps=warps, num_stages=stages)
        wrong = ~((c.double() - exact).abs() <= tolerance)
        assert not wrong.any(), f"{int(wrong.sum())} elements are wrong, the first at {wrong.nonzero()[0].tolist()}"
