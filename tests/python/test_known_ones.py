"""Integers whose annotation fixes their type and that are 1: the code knows it, and the type stays."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl


@triton.jit
def columns(x_ptr, out_ptr, row: tl.int64, column: tl.int64, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.static_assert(column.dtype == tl.int64)
    tl.store(out_ptr + m * N + n, tl.load(x_ptr + m * row + n * column))


@triton.jit(do_not_specialize=["column"])
def unspecialized(x_ptr, out_ptr, row: tl.int64, column: tl.int64, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.store(out_ptr + m * N + n, tl.load(x_ptr + m * row + n * column))


@triton.jit
def kinds(out_ptr, small: tl.int8, large: tl.uint64, flag: tl.int1, pair):
    tl.static_assert(small.dtype == tl.int8 and large.dtype == tl.uint64)
    tl.store(out_ptr, small + 126)
    tl.store(out_ptr + 1, (large << 63 >> 60).to(tl.int32))
    tl.store(out_ptr + 2, flag.to(tl.int32) + pair[0] + pair[1])


@pytest.fixture
def emulate(request):
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = request.param
        yield request.param


@pytest.mark.parametrize("emulate", ["", "cuda:90", "hip:gfx942"], indirect=True)
def test_each_stride_is_right(rng, emulate):
    x = torch.from_numpy(rng.standard_normal((64, 64)).astype(np.float32))
    for row, column in [(64, 1), (1, 1), (1, 64), (64, 2), (64, 1), (3, 1)]:
        out = torch.full((16, 32), float("nan"))
        columns[(1, )](x, out, row, column, M=16, N=32)
        m, n = torch.arange(16)[:, None], torch.arange(32)[None]
        assert torch.equal(out, x.flatten()[m * row + n * column])


@pytest.mark.parametrize("emulate", ["cuda:90"], indirect=True)
def test_rows_are_loaded_whole(emulate):
    """As where no annotation keeps the stride from being a constant."""
    x, out = torch.zeros(64, 64), torch.zeros(16, 32)
    calls = [(columns, 1), (columns, 2), (unspecialized, 1)]
    kernels = [kernel[(1, )](x, out, 64, column, M=16, N=32) for kernel, column in calls]
    assert ["ld.global.v4" in kernel.asm["ptx"] for kernel in kernels] == [True, False, False]


@pytest.mark.parametrize("emulate", ["", "cuda:90"], indirect=True)
def test_types_stay(emulate):
    out = torch.zeros(3, dtype=torch.int32)
    kinds[(1, )](out, 1, 1, True, (1, 1))
    assert out.tolist() == [127, 8, 3]


def test_code_for_one_is_launched_with_one():
    x, out = torch.arange(4096, dtype=torch.float32).view(64, 64), torch.zeros(16, 32)
    kernel = columns[(1, )](x, out, 64, 1, M=16, N=32)
    out.zero_()
    kernel[(1, 1, 1)](x, out, 64, 1, 16, 32)
    assert torch.equal(out, x[:16, :32])
    with pytest.raises(ValueError, match="2 is given where the kernel was compiled for 1"):
        kernel[(1, 1, 1)](x, out, 64, 2, 16, 32)


def test_what_is_known_goes_into_a_source_and_back():
    target = triton.backends.compiler.GPUTarget("cuda", 90, 32)
    types = {"x_ptr": "*fp32", "out_ptr": "*fp32", "row": "i64", "column": "i64", "M": "constexpr", "N": "constexpr"}
    aligned = {(place, ): [["tt.divisibility", 16]] for place in range(3)}
    texts = []
    for attrs in ({**aligned, (3, ): [["tt.is_one", 1]]}, aligned):
        source = triton.compiler.ASTSource(columns, types, constexprs={"M": 16, "N": 32}, attrs=attrs)
        texts.append(triton.compile(source, target=target).asm["ptx"])
    assert ["ld.global.v4" in text for text in texts] == [True, False]
    x, out = torch.zeros(64, 64), torch.zeros(16, 32)
    launched = columns[(1, )](x, out, 64, 1, M=16, N=32)
    assert launched.src.attrs[(3, )] == [["tt.is_one", 1]]
