"""Products of blocks with fewer rows than bulk copies swizzle, on the emulated sm_90 and the CPU: bulk copies bring them
to the places where the products look for them."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl

SIZES = [(1, 64, 64), (2, 64, 32), (4, 64, 64), (4, 128, 128), (1, 256, 64), (4, 8, 16), (16, 64, 4), (2, 512, 16)]


@triton.jit
def by_descriptors(a_ptr, b_ptr, c_ptr, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [BM, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, [K, BN], [BN, 1], [BK, BN])
    c = tl.make_tensor_descriptor(c_ptr, [BM, BN], [BN, 1], [BM, BN])
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, num_stages=STAGES):
        total = tl.dot(a.load([0, k]), b.load([k, 0]), total)
    c.store([0, 0], total)


@triton.jit
def by_pointers(a_ptr, b_ptr, c_ptr, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr):
    m, n, at = tl.arange(0, BM)[:, None], tl.arange(0, BN)[None, :], tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, num_stages=STAGES):
        a = tl.load(a_ptr + m * K + (k + at)[None, :], mask=(k + at)[None, :] < K, other=0.0)
        b = tl.load(b_ptr + (k + at)[:, None] * BN + n, mask=(k + at)[:, None] < K, other=0.0)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + m * BN + n, total)


@pytest.mark.parametrize("emulate", ["", "cuda:90"])
@pytest.mark.parametrize("kernel", [by_descriptors, by_pointers], ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float8_e5m2])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
def test_products_of_few_rows(rng, emulate, kernel, dtype, size):
    m, n, block = size
    if min(n, block) * dtype.itemsize < 16:
        pytest.skip("a row of a descriptor's block has 16 bytes")
    k = 5 * block
    a, b = (torch.from_numpy(rng.integers(-3, 4, shape).astype(np.float32)) for shape in ((m, k), (k, n)))
    c = torch.full((m, n), float("nan"))
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = emulate
        compiled = triton.jit(kernel.fn)[(1, )](a.to(dtype), b.to(dtype), c, k, *size, 3)
    assert torch.equal(c, a @ b)
    if emulate and kernel is by_descriptors:
        assert "async_tma_copy_global_to_local" in compiled.asm["ttgir"]
