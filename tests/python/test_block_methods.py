"""Functions of other packages become methods of blocks by `_tensor_member_fn`, compiled and interpreted."""

import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def times_plus(x, factor, term: tl.constexpr = 1):
    return x * factor + term


@tl.core.builtin
def halved(x, _semantic=None):
    return x / 2


@pytest.fixture(autouse=True)
def added():
    for function in (times_plus, halved):
        tl.core._tensor_member_fn(function)
    yield
    for function in (times_plus, halved):
        delattr(tl.tensor, function.__name__)


def body(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    if hasattr(x, "halved"):
        x = x.halved()
    tl.store(out_ptr + at, x.times_plus(3.0) + x.times_plus(tl.sum(x), term=2).sum())


compiled = triton.jit(body)
interpreted = triton.jit(body, interpret=True)


@pytest.mark.parametrize("kernel", [compiled, interpreted])
def test_methods_that_were_added(kernel):
    x, out = torch.arange(16, dtype=torch.float32), torch.empty(16)
    kernel[(1,)](x, out, N=16)
    half = x / 2
    assert torch.equal(out, half * 3 + 1 + (half * half.sum() + 2).sum())


@pytest.mark.parametrize("interpret", [False, True])
def test_methods_that_were_not_added(interpret):
    @triton.jit(interpret=interpret)
    def kernel(x_ptr):
        tl.load(x_ptr).thirded()

    with pytest.raises((triton.compiler.errors.CompilationError, AttributeError), match="has no attribute 'thirded'"):
        kernel[(1,)](torch.zeros(1))
