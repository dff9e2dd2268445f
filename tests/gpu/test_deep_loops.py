"""Loops over dots that get more stages than they ask for, in launches with few programs for an SM."""

import pytest
import torch
from pair_kernels import product_kernel

import deuteron as triton


@pytest.fixture(autouse=True)
def dumped(tmp_path):
    """Every stage of every compile in a folder."""
    with triton.knobs.cache.scope(), triton.knobs.compilation.scope(), triton.knobs.nvidia.scope():
        triton.knobs.cache.dir = str(tmp_path / "cache")
        triton.knobs.cache.dump_dir = str(tmp_path / "dump")
        triton.knobs.compilation.dump_ir = True
        yield


def compiles(tmp_path):
    return len(list((tmp_path / "dump").rglob("*.ttgir")))


def launch(kernel, a, b, tile, stages=3):
    (m, k), n = a.shape, b.shape[1]
    c = torch.full((m, n), float("nan"), dtype=a.dtype, device="cuda")
    grid = (triton.cdiv(m, tile[0]) * triton.cdiv(n, tile[1]), )
    found = kernel[grid](a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(0), 8, *tile, num_stages=stages)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-2, atol=0.1)
    return c, found


def matrices(rng, m, n, k):
    matrix = lambda *shape: torch.randn(shape, generator=rng, device="cuda", dtype=torch.float16)
    return matrix(m, k), matrix(k, n)


def test_few_programs_have_deeper_loops(rng, tmp_path):
    kernel, tile = product_kernel(), (64, 64, 64)
    sms = torch.cuda.get_device_properties().multi_processor_count
    triton.knobs.nvidia.persistence = triton.knobs.nvidia.pairs = False
    _, found = launch(kernel, *matrices(rng, 64 * (4 * sms + 1), 64, 512), tile)
    assert found.metadata.spare_stages and compiles(tmp_path) == 1
    # Of 48 KB for three stages an SM has room for four programs already, and for less if there are more stages.
    for rows, columns in ((4 * sms, 1), (sms, 3)):
        launch(kernel, *matrices(rng, 64 * rows, 64 * columns, 512), tile)
    for rows, known in ((2 * sms, 4), (sms, 5), (2, 5)):
        launch(kernel, *matrices(rng, 64 * rows, 64, 512), tile)
        assert compiles(tmp_path) == known


@pytest.mark.parametrize("tile", [(64, 64, 64), (128, 128, 64), (32, 64, 32), (64, 128, 32)])
@pytest.mark.parametrize("shape", [(256, 256, 2048), (200, 136, 1032), (129, 264, 40)])
def test_deeper_loops_leave_the_same_bits(rng, shape, tile):
    a, b = matrices(rng, *shape)
    found = []
    for deep in (True, False, None):
        triton.knobs.nvidia.deep_loops = deep
        found.extend(launch(product_kernel(), a, b, tile)[0] for _ in range(3))
    assert all(torch.equal(found[0], other) for other in found[1:])
