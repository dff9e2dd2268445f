"""Descriptors that a loop over dots makes anew in each iteration: on the CPU, in the interpreter and on emulated GPUs."""

import pytest
import torch

import deuteron as triton
import deuteron.language as tl
from deuteron._addresses import note

ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]
BLOCK = 32


@triton.jit
def product(a_ptr, b_ptr, addresses, c_ptr, M, K, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """The sum of ``x @ x.T`` over tiles of one matrix, or of one and then the other in turn."""
    total = tl.zeros([BLOCK, BLOCK], tl.float32)
    described = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BLOCK, BLOCK])
    for k in range(0, tl.cdiv(K, BLOCK)):
        if HOW == "moved":
            x = tl.make_tensor_descriptor(a_ptr + k * BLOCK, [M, K - k * BLOCK], [K, 1], [BLOCK, BLOCK]).load([0, 0])
        elif HOW == "loaded":
            base = tl.load(addresses + k % 2).to(tl.pointer_type(tl.float16))
            x = tl.make_tensor_descriptor(base, [M, K], [K, 1], [BLOCK, BLOCK]).load([0, k * BLOCK])
        elif HOW == "chosen":
            if k % 2 == 0:
                described = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BLOCK, BLOCK])
            else:
                described = tl.make_tensor_descriptor(b_ptr, [M, K], [K, 1], [BLOCK, BLOCK])
            x = described.load([0, k * BLOCK])
        else:
            x = described.load([0, 0])
            described = tl.make_tensor_descriptor(a_ptr + (k + 1) * BLOCK, [M, K - (k + 1) * BLOCK], [K, 1], [BLOCK, BLOCK])
        total = tl.dot(x, x.T, total)
    at = tl.arange(0, BLOCK)
    tl.store(c_ptr + at[:, None] * BLOCK + at[None, :], total)


@pytest.mark.parametrize("how", ["moved", "loaded", "chosen", "carried"])
def test_loops_make_descriptors(engine, how):
    generator = torch.Generator().manual_seed(1)
    m, k = 27, 4 * BLOCK + 8
    a, b = (torch.randn(m, k, generator=generator).half() for _ in range(2))
    note(a), note(b)
    c = torch.full((BLOCK, BLOCK), float("nan"))
    product[(1, )](a, b, torch.tensor([a.data_ptr(), b.data_ptr()]), c, m, k, HOW=how, BLOCK=BLOCK)
    x = a.double()
    if how in ("loaded", "chosen"):
        x = torch.where((torch.arange(k) // BLOCK % 2 == 0), a, b).double()
    expected = torch.zeros(BLOCK, BLOCK, dtype=torch.float64)
    expected[:m, :m] = x @ x.T
    torch.testing.assert_close(c.double(), expected, atol=1e-3, rtol=1e-3)
