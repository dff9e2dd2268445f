"""What sizes and strides are multiples of, below 16: wide accesses on targets that need to know, and few variants."""

import importlib
import re

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl
from deuteron.backends.compiler import GPUTarget
from deuteron.compiler import ASTSource
from deuteron.runtime.jit import MockTensor

matmul_example = importlib.import_module("03_matmul")


@pytest.fixture
def gpu():
    """An emulated GPU on which lanes load, also what bulk copies could."""
    with triton.knobs.runtime.scope(), triton.knobs.nvidia.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        triton.knobs.nvidia.disable_bulk_loads = True
        yield


@pytest.fixture
def matmul():
    """The kernel of the example, with no variants yet."""
    kernel = matmul_example.matmul_kernel
    kernel.clear_cache()
    yield kernel
    kernel.clear_cache()


OPTIONS = dict(BLOCK_SIZE_M=128, BLOCK_SIZE_N=128, BLOCK_SIZE_K=64, GROUP_SIZE_M=8, ACTIVATION="", num_warps=8)


def compiled(kernel, M, N, K, dtype=torch.float16):
    a, b, c = (MockTensor(dtype) for _ in range(3))
    return kernel.warmup(a, b, c, M, N, K, K, 1, N, 1, N, 1, grid=(1, ), **OPTIONS)


def widths(ptx):
    """Bytes of the asynchronous copies."""
    return {int(size) for size in re.findall(r"cp\.async\.c[ag]\.shared\.global[^\n]*?\], *(\d+)", ptx)}


def variants(kernel):
    return len(kernel.device_caches[0][0])


@pytest.mark.parametrize("shape, bytes_, divisor", [((4096, 4096, 4096), 16, 16), ((4000, 4104, 4040), 16, 8),
                                                    ((4004, 4100, 4044), 8, 4), ((4002, 4102, 4042), 4, 2)])
def test_copies_are_as_wide_as_rows_allow(gpu, matmul, shape, bytes_, divisor):
    kernel = compiled(matmul, *shape)
    assert widths(kernel.asm["ptx"]) == {bytes_}
    assert f"%N: i32 {{tt.divisibility = {divisor} : i32}}" in kernel.asm["ttir"]
    assert kernel.src.attrs[(4, )] == [["tt.divisibility", divisor]]


@pytest.mark.parametrize("shape, is_bulk", [((4096, 4096, 4096), True), ((4000, 4104, 4040), True), ((4004, 4100, 4044), False)])
def test_bulk_copies_need_rows_of_16_bytes(gpu, matmul, shape, is_bulk):
    triton.knobs.nvidia.disable_bulk_loads = False
    kernel = compiled(matmul, *shape)
    assert ("cp.async.bulk.tensor" in kernel.asm["ptx"]) == is_bulk and (not widths(kernel.asm["ptx"])) == is_bulk


def test_strides_of_odd_rows_are_known_to_be_nothing(gpu, matmul):
    kernel = compiled(matmul, 4001, 4103, 4041)
    assert widths(kernel.asm["ptx"]) == set() and (4, ) not in kernel.src.attrs


def test_more_is_recorded_only_where_it_makes_accesses_wider(gpu, matmul):
    for step in range(2, 34):
        compiled(matmul, *[128 * step] * 3)
    assert variants(matmul) == 1
    compiled(matmul, 4040, 4040, 4040)
    compiled(matmul, 4104, 4104, 4104)
    assert variants(matmul) == 2
    # Of elements of four bytes, four are 16 bytes.
    compiled(matmul, 4040, 4040, 4040, torch.float32)
    compiled(matmul, 4036, 4036, 4036, torch.float32)
    assert variants(matmul) == 3


def test_the_cpu_needs_no_such_variants(matmul):
    for size in (4040, 4041, 4042, 4044):
        compiled(matmul, size, size, size, torch.float32)
    assert variants(matmul) == 1


@triton.jit
def noisy(x_ptr, n, seed, count, fixed: tl.int32, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    for _ in range(count):
        x += tl.rand(seed, offsets)
    tl.store(x_ptr + offsets + fixed, x, mask=offsets < n)


def test_what_reaches_no_address_makes_no_variants(gpu):
    def warm(n, seed, count, fixed):
        return noisy.warmup(MockTensor(torch.float32), n, seed, count, fixed, BLOCK=128, grid=(1, ))

    noisy.clear_cache()
    for number in (3, 2, 4, 8):
        warm(1024, number, number, 16)
    assert variants(noisy) == 1
    warm(1020, 3, 3, 4)
    assert variants(noisy) == 2
    assert "%fixed: i32 {tt.divisibility = 4 : i32}" in warm(1020, 3, 3, 4).asm["ttir"]
    unspecialized = triton.jit(noisy.fn, do_not_specialize_on_alignment=["n", "fixed"])
    kernel = unspecialized.warmup(MockTensor(torch.float32), 1020, 3, 3, 4, BLOCK=128, grid=(1, ))
    assert kernel.asm["ttir"].count("tt.divisibility") == 1


def test_signatures_say_it_ahead_of_time():
    names = matmul_example.matmul_kernel.arg_names
    kinds = ["*fp16"] * 3 + ["i32"] * 9 + ["constexpr"] * 5
    values = {"stride_ak": 1, "stride_bn": 1, "stride_cn": 1, **{name: OPTIONS[name] for name in names[12:]}}
    signature = {name: "constexpr" if name in values else kind for name, kind in zip(names, kinds)}
    attrs = {(at, ): [["tt.divisibility", 16 if at < 3 else 8]] for at, name in enumerate(names) if name not in values}
    source = ASTSource(matmul_example.matmul_kernel, signature, values, attrs)
    kernel = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 8})
    assert widths(kernel.asm["ptx"]) == {16}
    assert kernel.asm["ttir"].count("tt.divisibility = 8 : i32") == 6


@triton.jit
def scaled(x_ptr, y_ptr, rows, columns, stride, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    mask = (column < columns) & (row < rows)
    x = tl.load(x_ptr + row * stride + column, mask=mask, other=0.0)
    tl.store(y_ptr + row * stride + column, x * 2, mask=mask)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
def test_rows_of_every_length_are_right(gpu, dtype, rng):
    scaled.clear_cache()
    seen = set()
    for columns in (40, 36, 34, 33, 48, 40, 33, 1, 2, 8):
        stride = columns + rng.choice([0, 8, 4, 2, 1]).item()
        x = rng.integers(-50, 50, (5, stride)).astype(dtype)
        y = np.full_like(x, 7)
        expected = y.copy()
        expected[:, :columns] = x[:, :columns] * 2
        scaled[(5, )](x, y, 5, columns, stride, BLOCK=64)
        np.testing.assert_array_equal(y, expected, err_msg=f"{columns} {stride}")
        seen.add((columns, stride))
    assert variants(scaled) <= len(seen)
