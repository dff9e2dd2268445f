"""Programs in pairs, each of which copies half of what both read, on the emulated sm_90.

Every product is computed twice, in pairs and by programs for themselves (`pairs`), to the same bits, and is right.
"""

import numpy as np
import pytest
import torch
from pair_kernels import pairs, product_kernel

import deuteron as triton

ROWS, COLUMNS, DEPTH = 64, 128, 64


@pytest.fixture(autouse=True)
def emulated(tmp_path):
    """The emulated sm_90, from nothing, with pairs where they can be and every stage of every compile in a folder."""
    with (triton.knobs.runtime.scope(), triton.knobs.cache.scope(), triton.knobs.compilation.scope(),
          triton.knobs.nvidia.scope()):
        triton.knobs.runtime.emulate = "cuda:90"
        triton.knobs.cache.dir = str(tmp_path / "cache")
        triton.knobs.cache.dump_dir = str(tmp_path / "dump")
        triton.knobs.compilation.dump_ir = True
        triton.knobs.nvidia.pairs = True
        triton.knobs.nvidia.persistence = False
        yield


def launch(kernel, a, b, c, group=2, depth=DEPTH):
    (m, k), n = a.shape, b.shape[1]
    grid = (triton.cdiv(m, ROWS) * triton.cdiv(n, COLUMNS),)
    return kernel[grid](a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(0), group, ROWS, COLUMNS, depth, num_stages=3)


def alone(*args, **ways):
    """The same by programs for themselves."""
    with triton.knobs.nvidia.scope():
        triton.knobs.nvidia.pairs = False
        return launch(product_kernel(), *args, **ways)


def matrix(rng, rows, columns, pitch=None):
    """Random halves, in rows so far apart, with NaN between them."""
    pitch = pitch or columns
    whole = np.full((rows, pitch), np.nan, dtype=np.float16)
    whole[:, :columns] = rng.standard_normal((rows, columns))
    return torch.from_numpy(whole)[:, :columns]


def poisoned(rows, columns):
    return torch.full((rows, columns), float("nan"), dtype=torch.float16)


@pytest.mark.parametrize("shape", [(128, 264, 136), (256, 136, 64), (200, 392, 24), (65, 8, 200)])
def test_neighbours_share_columns(rng, tmp_path, shape):
    m, n, k = shape
    a, b, c, other = matrix(rng, m, k), matrix(rng, k, n), poisoned(m, n), poisoned(m, n)
    kernel = launch(product_kernel(), a, b, c)
    assert pairs(tmp_path) == 1 and not kernel.metadata.paired
    assert "%1 if" in kernel.metadata.pairs and "alike" in kernel.metadata.pairs
    assert not alone(a, b, other).metadata.pairs
    assert pairs(tmp_path) == 1
    assert torch.equal(c, other)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-2, atol=5e-2)


@pytest.mark.parametrize("columns, gains", [(264, True), (256, False)])
def test_rows_off_lines_gain(rng, tmp_path, columns, gains):
    """Of these programs an SM runs several."""
    triton.knobs.nvidia.pairs = None
    a, b, c = matrix(rng, 128, 136), matrix(rng, 136, columns), poisoned(128, columns)
    launch(product_kernel(), a, b, c)
    assert pairs(tmp_path) == gains
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-2, atol=5e-2)


def test_launches_that_cannot(rng, tmp_path):
    kernel = product_kernel()
    for m, n, pitch, group in [
        (192, 264, 264, 2),  # The last row of tiles is a group of its own, so neighbours have other columns.
        (64, 136, 136, 1),  # Neighbours have other columns.
        (192, 8, 136, 3),  # A program has no neighbour.
    ]:
        a, b, c = matrix(rng, m, 72), matrix(rng, 72, n, pitch), poisoned(m, n)
        launch(kernel, a, b, c, group=group)
        torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-2, atol=5e-2)
    assert pairs(tmp_path) == 0
    a, b, c = matrix(rng, 128, 72), matrix(rng, 72, 264), poisoned(128, 264)
    launch(kernel, a, b, c)
    assert pairs(tmp_path) == 1
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-2, atol=5e-2)


def test_a_kernel_from_the_cache_has_pairs(rng, tmp_path):
    a, b = matrix(rng, 128, 136), matrix(rng, 136, 264)
    kernel, c = product_kernel(), poisoned(128, 264)
    for _ in range(2):
        launch(kernel, a, b, c)
        kernel.device_caches.clear()
        torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-2, atol=5e-2)
        c.fill_(float("nan"))
    assert pairs(tmp_path) == 1
