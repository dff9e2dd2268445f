"""Products of one matrix or several over planes of tiles, and heads of batches, on a GPU."""

import pytest
import torch
from stacked_kernels import heads, products, products_of_known_sizes

import deuteron as triton


def stack(rng, *shape, behind=8):
    """Random numbers in matrices with NaN behind each row."""
    memory = torch.full((*shape[:-1], shape[-1] + behind), float("nan"), device="cuda", dtype=torch.float16)
    inner = memory[..., :shape[-1]]
    inner.copy_(torch.randn(inner.shape, generator=rng, device="cuda"))
    return inner


@pytest.mark.parametrize("kernel", [products, products_of_known_sizes])
@pytest.mark.parametrize("rows", ["mask", "remainder"])
@pytest.mark.parametrize("blocks, num_warps, num_stages", [((128, 256, 64), 8, 3), ((128, 128, 64), 4, 4), ((64, 64, 32), 4, 3)])
@pytest.mark.parametrize("shape", [(1, 3000, 2056, 264), (1, 200, 9000, 520), (7, 1000, 1032, 200), (40, 136, 520, 72)])
def test_products_over_planes(rng, shape, blocks, num_warps, num_stages, rows, kernel):
    count, m, n, k = shape
    a, b = stack(rng, count, m, k), stack(rng, count, k, n)
    c = torch.full((count, m, n), float("nan"), device="cuda")
    grid = (triton.cdiv(m, blocks[0]), triton.cdiv(n, blocks[1]), count)
    strides = (a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1))
    compiled = kernel[grid](a, b, c, m, n, k, *strides, *blocks, rows, False, num_warps=num_warps, num_stages=num_stages)
    if torch.cuda.get_device_capability()[0] == 9:
        assert compiled.metadata.tensor_maps.count(";") == 1, "two operands are bulk copies"
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("options", [{}, {"num_warps": 8}, {"num_stages": 2}])
@pytest.mark.parametrize(("n", "d", "group"), [(1000, 40, 1), (2001, 64, 2), (130, 24, 4)])
def test_heads_of_batches(rng, n, d, group, options):
    q, out = stack(rng, 3, 8, n, d), torch.full((3, 8, n, d), float("nan"), device="cuda")
    k, v = (stack(rng, 3, 8 // group, n, d) for _ in range(2))
    strides = (*q.stride()[:3], *k.stride()[:3], *out.stride()[:3])
    heads[(triton.cdiv(n, 64), 24)](q, k, v, out, n, d, 8, *strides, 64, 32, 64, group, **options)
    k, v = (x.double().repeat_interleave(group, 1) for x in (k, v))
    scores = (q.double() @ k.mT) * 0.1
    torch.testing.assert_close(out.double(), scores @ v, rtol=1e-2, atol=2e-3 * n**0.5)
