"""What a kernel for NVIDIA GPUs tells the assembler, so that it keeps few registers."""

import re

import pytest
import torch

import deuteron as triton
import deuteron.language as tl
from deuteron.runtime.jit import MockTensor


@pytest.fixture(autouse=True)
def gpu():
    """An emulated GPU."""
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        yield


@triton.jit
def rms_norm(x_ptr, out_ptr, w_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    rstd = tl.rsqrt(tl.sum(x * x, axis=0) / n + eps)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * stride + cols, (x * rstd * w).to(tl.float16), mask=mask)


@triton.jit
def softmax(x_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols, mask=cols < n, other=-float("inf"))
    power = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + cols, power / tl.sum(power, axis=0), mask=cols < n)


@pytest.mark.parametrize("columns", [8192, 15872])
def test_norms_of_many_warps_are_assembled_for_few_registers(columns):
    x, out, w = (MockTensor(torch.float16) for _ in range(3))
    block = triton.next_power_of_2(columns)
    kernel = rms_norm.warmup(x, out, w, columns, columns, 1e-5, BLOCK=block, num_warps=16, grid=(1, ))
    assert kernel.metadata.ptxas_level == 3


def test_a_softmax_keeps_its_order():
    x, out = (MockTensor(torch.float32) for _ in range(2))
    kernel = softmax.warmup(x, out, 8192, 8192, BLOCK=8192, num_warps=8, grid=(1, ))
    assert kernel.metadata.ptxas_level == 1


@triton.jit(debug=True)
def checked(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.device_assert(x < 100, "too large")
    tl.store(out_ptr + at, x)


def test_a_failing_assertion_ends_the_kernel():
    x, out = torch.arange(64, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    kernel = checked[(1, )](x, out, BLOCK=64)
    assert (out == x).all()
    assert re.search(r"__assertfail[^}]*}\s*exit;", kernel.asm["ptx"]), "nothing is kept over the call"
    with pytest.raises(Exception, match="too large"):
        checked[(1, )](x + 60, out, BLOCK=64)


@triton.jit
def weighted(q_ptr, k_ptr, m_ptr, out_ptr, n, ROWS: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    rows, width = tl.arange(0, ROWS), tl.arange(0, WIDTH)
    at = rows[:, None] * WIDTH + width[None, :]
    q = tl.load(q_ptr + at)
    total = tl.zeros((ROWS, WIDTH), tl.float32)
    for start in range(0, n, BLOCK):
        keys = start + tl.arange(0, BLOCK)
        k = tl.load(k_ptr + keys[None, :] * WIDTH + width[:, None])
        m = tl.load(m_ptr + keys)
        p = tl.exp2(tl.dot(q, k) - m[None, :])
        v = tl.load(k_ptr + keys[:, None] * WIDTH + width[None, :])
        total = tl.dot(p.to(tl.float16), v, total)
    tl.store(out_ptr + at, total)


def test_numbers_of_columns_are_loaded_as_a_product_lies():
    torch.manual_seed(0)
    q, k = torch.randn(64, 64, dtype=torch.float16) / 8, torch.randn(96, 64, dtype=torch.float16)
    m, out = torch.rand(96), torch.zeros(64, 64)
    kernel = weighted[(1, )](q, k, m, out, 96, ROWS=64, WIDTH=64, BLOCK=32, num_stages=3)
    p = torch.exp2(q.float() @ k.float().T - m).half().float()
    torch.testing.assert_close(out, p @ k.float(), atol=2e-2, rtol=2e-3)
    body = kernel.asm["ttgir"].split("scf.for")[1].split("scf.yield")[0]
    assert "ttg.local_load" in body and not re.search(r"convert_layout[^\n]*tensor<(1x)?32xf32", body)
    assert "shfl.sync.idx" not in kernel.asm["ptx"].split("nounroll")[1]


@triton.jit
def latent_attention(q_ptr, kv_ptr, out_ptr, n, D: tl.constexpr, BLOCK: tl.constexpr):
    rows, cols = tl.arange(0, 16), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + cols[None, :])
    most = tl.full([16], -float("inf"), tl.float32)
    weight = tl.zeros([16], tl.float32)
    acc = tl.zeros([16, D], tl.float32)
    for start in tl.range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        kv = tl.load(kv_ptr + at[:, None] * D + cols[None, :], mask=at[:, None] < n, other=0.0)
        score = tl.where(at[None, :] < n, tl.dot(q, tl.trans(kv)) * D**-0.5, -float("inf"))
        new = tl.maximum(most, tl.max(score, axis=1))
        p = tl.exp(score - new[:, None])
        weight = weight * tl.exp(most - new) + tl.sum(p, axis=1)
        acc = acc * tl.exp(most - new)[:, None] + tl.dot(p.to(kv.dtype), kv)
        most = new
    tl.store(out_ptr + rows[:, None] * D + cols[None, :], acc / weight[:, None])


def test_an_operand_of_many_registers_is_read_by_each_iteration():
    torch.manual_seed(0)
    q, kv = (torch.randn(rows, 512).bfloat16() for rows in (16, 150))
    out = torch.empty(16, 512)
    kernel = latent_attention[(1, )](q, kv, out, 150, 512, 64, num_warps=8, num_stages=2)
    scores = q.double() @ kv.double().T * 512**-0.5
    assert (out - scores.softmax(1) @ kv.double()).abs().max() < 0.02
    loop = kernel.asm["ttgir"].partition("scf.for")[2].partition("scf.yield")[0]
    assert re.search(r"ttg\.local_load .*tensor<16x512xbf16, #ttg\.dot_op<\{opIdx = 0", loop)
