"""Runs the example kernels once each, small: what ``compute-sanitizer`` watches."""

import importlib
import math
import sys
from pathlib import Path

import torch

import deuteron as triton

triton.install()
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tests" / "python")]

seeds = importlib.import_module("seed_kernels")
matmul = importlib.import_module("03_matmul")
layer_norm = importlib.import_module("04_layer_norm")
attention = importlib.import_module("06_attention")


def memory_bound():
    """Vector add, softmax in four ways, layer norm."""
    x, y = torch.rand(5000, device="cuda"), torch.rand(5000, device="cuda")
    seeds.add_kernel[(5, )](x, y, torch.empty_like(x), 5000, BLOCK_SIZE=1024)
    rows = torch.randn(33, 1000, device="cuda")
    out = torch.empty_like(rows)
    seeds.fused_softmax_kernel[(33, )](rows, out, 1000, 1000, BLOCK_SIZE=1024)
    seeds.softmax_kernel_naive[(33, )](rows, out, 1000, 1000, 256)
    seeds.softmax_kernel_v1[(33, )](rows, out, 1000, 1000, 256)
    seeds.softmax_kernel[(5, )](out, rows, 1000, 1000, 33, 1000, BLOCK_SIZE=1024, num_stages=3)
    w = torch.rand(1000, device="cuda")
    mean, rstd = torch.empty(33, device="cuda"), torch.empty(33, device="cuda")
    layer_norm.layer_norm_forward[(33, )](rows, out, w, w, mean, rstd, 1000, 1000, 1e-5, BLOCK_SIZE=1024, num_warps=8)


def matrix():
    """Matrix product and attention."""
    a, b = (torch.randn(200, 200, device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.empty_like(a)
    for m, n, k, warps, stages in ((128, 128, 64, 4, 4), (64, 64, 32, 4, 3)):
        grid = (triton.cdiv(200, m) * triton.cdiv(200, n), )
        matmul.matmul_kernel[grid](a, b, c, 200, 200, 200, 200, 1, 200, 1, 200, 1, BLOCK_SIZE_M=m, BLOCK_SIZE_N=n,
                                   BLOCK_SIZE_K=k, GROUP_SIZE_M=8, ACTIVATION="", num_warps=warps, num_stages=stages)
    q = torch.randn(2, 200, 64, device="cuda", dtype=torch.float16)
    out = torch.empty_like(q)
    attention.attention_forward[(4, 2)](q, q, q, out, 1 / math.sqrt(64), q.stride(0), q.stride(1), 200, BLOCK_M=64, BLOCK_N=64,
                                        HEAD_DIM=64, CAUSAL=True, num_warps=4, num_stages=3)


memory_bound()
matrix()
torch.cuda.synchronize()
print("done")
