"""Launches that write more than the last cache holds, on the CPU: the same results as small ones, bit for bit."""

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def tanh_of(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, libdevice.tanh(tl.load(x_ptr + at, mask=at < n)), mask=at < n)


@triton.jit
def exp_of(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.exp(tl.load(x_ptr + at, mask=at < n)), mask=at < n)


@triton.jit
def erf_of(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.erf(tl.load(x_ptr + at, mask=at < n)), mask=at < n)


@triton.jit
def log_of_two(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    both = tl.load(x_ptr + at, mask=at < n) * tl.load(w_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.log(both * both + 1), mask=at < n)


@triton.jit
def twice(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


# Bytes that no last cache holds.
LARGE = 1 << 30


@pytest.mark.parametrize("kernel, asks", [
    (tanh_of, True),
    (exp_of, True),
    (erf_of, True),
    # Of two arrays it would be slower; without a function there is nothing to compute meanwhile.
    (log_of_two, False),
    (twice, False),
])
def test_large_launch(kernel, asks):
    block, most = 2048, 3 * 2048
    rng = np.random.default_rng()
    for shift in (0, 1, 3, 16):
        for n in (1, 127, 2048, 2049, most - 1, most):
            # Nothing lies behind the arrays: what is asked for need not exist.
            x, w = (rng.standard_normal(n + shift).astype(np.float32)[shift:] for _ in range(2))
            small, large = (np.full(most + 64, np.nan, np.float32) for _ in range(2))
            kernel[(3, )](x, w, small[shift:], n, block)
            # Most programs are all masked off.
            compiled = kernel[(LARGE // (4 * block), )](x, w, large[shift:], n, block)
            np.testing.assert_array_equal(small.view(np.uint32), large.view(np.uint32))
            assert not np.isnan(large[shift:shift + n]).any()
            assert np.isnan(large[:shift]).all() and np.isnan(large[shift + n:]).all()
    assert ("call void @llvm.prefetch" in compiled.asm["llir"]) == asks
