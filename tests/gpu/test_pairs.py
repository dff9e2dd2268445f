"""Programs in pairs, each of which copies half of what both read, on a GPU with clusters."""

import pytest
import torch
from pair_kernels import pairs, product_kernel

import deuteron as triton

MOST = [(4, 64, 64, 3), (8, 128, 64, 4), (8, 256, 64, 3)]


@pytest.fixture(autouse=True)
def clusters(tmp_path):
    """A GPU with clusters, every stage of every compile in a folder."""
    if torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("NOT RUN: programs are in pairs on sm_90 alone")
    with triton.knobs.cache.scope(), triton.knobs.compilation.scope(), triton.knobs.nvidia.scope():
        triton.knobs.cache.dir = str(tmp_path / "cache")
        triton.knobs.cache.dump_dir = str(tmp_path / "dump")
        triton.knobs.compilation.dump_ir = True
        yield


def launch(a, b, tile=(256, 128, 64), num_warps=8, num_stages=4):
    """The product of two matrices, and what the launch gave."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.full((m, n), float("nan"), dtype=a.dtype, device="cuda")
    grid = (triton.cdiv(m, tile[0]) * triton.cdiv(n, tile[1]), )
    kernel = product_kernel()[grid](a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(0), 8, *tile,
                                             num_warps=num_warps, num_stages=num_stages)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-2, atol=0.1)
    return c, kernel


def matrices(rng, m, n, k):
    matrix = lambda *shape: torch.randn(shape, generator=rng, device="cuda", dtype=torch.float16)
    return matrix(m, k), matrix(k, n)


def test_rows_off_lines_are_read_by_pairs(rng, tmp_path):
    launch(*matrices(rng, 2048, 2048, 1024))
    assert pairs(tmp_path) == 0
    launch(*matrices(rng, 2048, 2056, 1032))
    assert pairs(tmp_path) == 1


@pytest.mark.parametrize("num_warps, columns, depth, num_stages", MOST)
@pytest.mark.parametrize("shape", [(1024, 1032, 520), (1000, 4104, 72), (512, 264, 4040), (1100, 136, 8)])
def test_pairs_leave_the_same_bits(rng, tmp_path, shape, num_warps, columns, depth, num_stages):
    a, b = matrices(rng, *shape)
    found = []
    for in_pairs in (True, False):
        triton.knobs.nvidia.pairs, triton.knobs.nvidia.persistence = in_pairs, False
        for _ in range(3):
            found.append(launch(a, b, (128, columns, depth), num_warps, num_stages)[0])
    assert all(torch.equal(found[0], other) for other in found[1:])
    assert pairs(tmp_path) == int(columns > 64 and -(-shape[0] // 128) % 8 % 2 == 0)
