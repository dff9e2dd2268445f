"""Programs of several blocks (``num_ctas``), on an emulated GPU: what each block has is checked by every access."""

import importlib
import math

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl
import seed_kernels as seeds

matmul_example = importlib.import_module("03_matmul")
layer_norm_example = importlib.import_module("04_layer_norm")
attention_example = importlib.import_module("06_attention")


@pytest.fixture
def cluster(monkeypatch):
    """An emulated GPU that has clusters."""
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        yield


@triton.jit
def everything(x_ptr, out_ptr, counts_ptr, total_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    pid = tl.program_id(0)
    rows, cols = tl.arange(0, ROWS), tl.arange(0, COLS)
    at = rows[:, None] * COLS + cols[None, :]
    x = tl.load(x_ptr + pid * ROWS * COLS + at)
    sums, best = tl.sum(x, axis=1), tl.argmax(x, axis=0)
    y = tl.cumsum(x, axis=0) + sums[:, None] + best[None, :].to(tl.float32)
    y = tl.gather(y, (COLS - 1 - cols)[None, :].broadcast_to(ROWS, COLS), axis=1)
    out = out_ptr + pid * 2 * ROWS * COLS
    tl.store(out + at, y)
    tl.store(out + ROWS * COLS + cols[:, None] * ROWS + rows[None, :], tl.trans(x))
    bins = tl.histogram((tl.reshape(x, (ROWS * COLS, )).abs() * 4).to(tl.int32), 16)
    tl.store(counts_ptr + pid * 16 + tl.arange(0, 16), bins)
    # Each program adds once, and all of its blocks know what was there before.
    before = tl.atomic_add(total_ptr, 1)
    tl.atomic_max(total_ptr + 1, before)
    tl.atomic_add(total_ptr + 2 + cols, tl.sum((x > 0).to(tl.int32), axis=0))


@pytest.mark.parametrize("num_ctas, num_warps", [(2, 4), (4, 1), (8, 2), (16, 1)])
def test_blocks_work_together(cluster, num_ctas, num_warps, rng):
    rows, cols = 32, 16
    x = rng.integers(-8, 8, (3, rows, cols)).astype(np.float32) / 2
    out, counts = np.zeros((3, 2, rows * cols), np.float32), np.zeros((3, 16), np.int32)
    total = np.zeros(2 + cols, np.int32)
    kernel = everything[(3, )](x, out, counts, total, ROWS=rows, COLS=cols, num_ctas=num_ctas, num_warps=num_warps)
    y = x.cumsum(1) + x.sum(2, keepdims=True) + x.argmax(1)[:, None, :]
    np.testing.assert_array_equal(out[:, 0].reshape(x.shape), y[:, :, ::-1])
    np.testing.assert_array_equal(out[:, 1].reshape(3, cols, rows), x.transpose(0, 2, 1))
    values = (np.abs(x) * 4).astype(np.int32).reshape(3, -1)
    np.testing.assert_array_equal(counts, [np.bincount(row, minlength=99)[:16] for row in values])
    assert total[0] == 3 and total[1] == 2
    np.testing.assert_array_equal(total[2:], (x > 0).sum((0, 1)))
    assert kernel.metadata.num_ctas == num_ctas and tuple(kernel.metadata.cluster_dims) == (num_ctas, 1, 1)
    assert f".reqnctapercluster {num_ctas}" in kernel.asm["ptx"] and f'"ttg.num-ctas" = {num_ctas}' in kernel.asm["ttgir"]


@pytest.mark.parametrize("num_ctas", [2, 4])
def test_vector_add(cluster, num_ctas, rng):
    x, y = (rng.standard_normal(1000).astype(np.float32) for _ in range(2))
    out = np.full(1003, 7, np.float32)
    seeds.add_kernel[(4, )](x, y, out, 1000, BLOCK_SIZE=256, num_ctas=num_ctas)
    assert np.array_equal(out[:1000], x + y) and (out[1000:] == 7).all()


@pytest.mark.parametrize("num_ctas", [2, 4])
def test_softmax(cluster, num_ctas, rng):
    x = torch.from_numpy(5 * rng.standard_normal((2, 300)).astype(np.float32))
    x[0, 3], x[1, 5] = -math.inf, math.nan
    expected = torch.softmax(x.double(), 1)
    options = {"num_ctas": num_ctas, "num_warps": 2}
    launches = [
        lambda out: seeds.fused_softmax_kernel[(2, )](x, out, 300, 300, BLOCK_SIZE=512, **options),
        lambda out: seeds.softmax_kernel_naive[(2, )](x, out, 300, 300, 128, **options),
        lambda out: seeds.softmax_kernel_v1[(2, )](x, out, 300, 300, 128, **options),
        lambda out: seeds.softmax_kernel[(1, )](out, x, 300, 300, 2, 300, BLOCK_SIZE=512, num_stages=3, **options),
    ]
    for launch in launches:
        out = torch.full_like(x, 9)
        launch(out)
        torch.testing.assert_close(out.double(), expected, atol=1e-6, rtol=1e-5, equal_nan=True)


@pytest.mark.parametrize("configuration", [(128, 64, 32, 4, 3), (64, 64, 32, 4, 2), (32, 32, 32, 1, 2)])
@pytest.mark.parametrize("num_ctas", [2, 4])
def test_matmul(cluster, num_ctas, configuration, rng):
    bm, bn, bk, warps, stages = configuration
    m, n, k = 70, 90, 80
    a, b = (torch.from_numpy(rng.standard_normal(size).astype(np.float16)) for size in ((m, k), (k, n)))
    c = torch.empty(m, n, dtype=torch.float16)
    kernel = matmul_example.matmul_kernel[(triton.cdiv(m, bm) * triton.cdiv(n, bn), )](
        a, b, c, m, n, k, k, 1, n, 1, n, 1, BLOCK_SIZE_M=bm, BLOCK_SIZE_N=bn, BLOCK_SIZE_K=bk, GROUP_SIZE_M=8,
        ACTIVATION="leaky_relu", num_warps=warps, num_stages=stages, num_ctas=num_ctas)
    expected = torch.nn.functional.leaky_relu(a.double() @ b.double(), 0.01)
    torch.testing.assert_close(c.double(), expected, atol=2e-2, rtol=2e-3)
    # Blocks load what they multiply; nothing is left to trade.
    assert "mapa" not in kernel.asm["ptx"]


@pytest.mark.parametrize("num_ctas", [2, 4])
def test_attention(cluster, num_ctas, rng):
    q, k, v = (torch.from_numpy(rng.standard_normal((1, 150, 32)).astype(np.float16)) for _ in range(3))
    out = torch.empty_like(q)
    kernel = attention_example.attention_forward[(2, 1)](
        q, k, v, out, 1 / math.sqrt(32), q.stride(0), q.stride(1), 150, BLOCK_M=128, BLOCK_N=64, HEAD_DIM=32, CAUSAL=True,
        num_warps=4, num_stages=2, num_ctas=num_ctas)
    expected = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=True)
    torch.testing.assert_close(out.double(), expected, atol=3e-3, rtol=5e-3)
    assert "mapa" not in kernel.asm["ptx"]


def test_layer_norm(cluster, rng):
    x = torch.from_numpy(rng.standard_normal((2, 300)).astype(np.float16))
    w, b = (torch.from_numpy(rng.standard_normal(300).astype(np.float16)) for _ in range(2))
    out, mean, rstd = torch.empty_like(x), torch.empty(2), torch.empty(2)
    layer_norm_example.layer_norm_forward[(2, )](x, out, w, b, mean, rstd, 300, 300, 1e-5, BLOCK_SIZE=256, num_warps=2,
                                                 num_ctas=2)
    expected = torch.nn.functional.layer_norm(x.double(), (300, ), w.double(), b.double(), 1e-5)
    torch.testing.assert_close(out.double(), expected, atol=4e-3, rtol=2e-3)


NO_CLUSTERS = r"num_ctas is 2: num_ctas > 1 requires NVIDIA SM90\+ \(Hopper\), .* sm_80 has none"


@pytest.mark.parametrize("gpu, num_ctas, error, says",
                         [("cuda:80", 2, ValueError, NO_CLUSTERS),
                          ("cuda:90", 32, ValueError, "num_ctas is 32: clusters of sm_90a have at most 16 blocks"),
                          ("cuda:90", 3, triton.CompilationError, "power of two"),
                          ("hip:gfx942", 2, ValueError, "num_ctas > 1 not supported, as gfx942 has no clusters")])
def test_what_is_no_cluster_is_told(gpu, num_ctas, error, says):
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = gpu
        x = np.zeros(256, np.float32)
        with pytest.raises(error, match=says):
            seeds.add_kernel[(1, )](x, x, x, 256, BLOCK_SIZE=256, num_ctas=num_ctas)


def test_the_architecture_that_is_asked_for_decides():
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate, triton.knobs.runtime.override_arch = "cuda:90", "sm80"
        x = np.zeros(256, np.float32)
        with pytest.raises(ValueError, match=NO_CLUSTERS):
            seeds.add_kernel.warmup(x, x, x, 256, BLOCK_SIZE=256, num_ctas=2, grid=(1, ))
