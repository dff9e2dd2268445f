"""Tensor descriptors in memory, as kernels and hosts of Triton 3.2 write them: on the CPU, in the interpreter and on emulated GPUs."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl
from deuteron._addresses import note
from deuteron.tools.experimental_descriptor import create_1d_tma_descriptor, create_2d_tma_descriptor
from deuteron.tools.tensor_descriptor import TensorDescriptor

ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]


def address(tensor):
    """Where a tensor lies, which emulated devices are told, as `--cuda-as-cpu` does."""
    note(tensor)
    return tensor.data_ptr()


@triton.jit
def product(workspace, a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr):
    """Descriptors that each program writes for itself."""
    dtype: tl.constexpr = a_ptr.dtype.element_ty
    a, b, c = workspace, workspace + 128, workspace + 256
    program = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    a += program * 384
    b += program * 384
    c += program * 384
    tl.extra.cuda.experimental_device_tensormap_create2d(desc_ptr=a, global_address=a_ptr, load_size=[BLOCK, BLOCK], global_size=[M, K],
                                                         element_ty=dtype)
    tl.extra.cuda.experimental_device_tensormap_create2d(desc_ptr=b, global_address=b_ptr, load_size=[BLOCK, BLOCK], global_size=[N, K],
                                                         element_ty=dtype)
    tl.extra.cuda.experimental_device_tensormap_create2d(desc_ptr=c, global_address=c_ptr, load_size=[BLOCK, BLOCK], global_size=[M, N],
                                                         element_ty=c_ptr.dtype.element_ty)
    tl.extra.cuda.experimental_tensormap_fenceproxy_acquire(a)
    tl.extra.cuda.experimental_tensormap_fenceproxy_acquire(b)
    row, column = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    total = tl.zeros([BLOCK, BLOCK], tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK)):
        x = tl._experimental_descriptor_load(a, [row, k * BLOCK], [BLOCK, BLOCK], dtype)
        y = tl._experimental_descriptor_load(b, [column, k * BLOCK], [BLOCK, BLOCK], dtype)
        total = tl.dot(x, y.T, total)
    tl._experimental_descriptor_store(c, total.to(c_ptr.dtype.element_ty), [row, column])


def test_descriptors_that_kernels_write(engine):
    m, n, k, block = 70, 48, 104, 32
    generator = torch.Generator().manual_seed(1)
    a = torch.randn(m, k, dtype=torch.float16, generator=generator)
    b = torch.randn(n, k, dtype=torch.float16, generator=generator)
    c = torch.full((m, n), float("nan"))
    grid = triton.cdiv(m, block), triton.cdiv(n, block)
    product[grid](torch.empty(grid[0] * grid[1] * 384, dtype=torch.uint8), a, b, c, m, n, k, BLOCK=block)
    torch.testing.assert_close(c, a.float() @ b.float().T, atol=1e-3, rtol=1e-3)


@triton.jit
def ends(workspace, x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.extra.cuda.experimental_device_tensormap_create1d(workspace, x_ptr, [BLOCK], [n], x_ptr.dtype.element_ty)
    x = tl._experimental_descriptor_load(workspace, [BLOCK], [BLOCK], x_ptr.dtype.element_ty)
    tl.store(y_ptr + tl.arange(0, BLOCK), x)


def test_elements_behind_the_end_are_zero(engine):
    x, y = torch.arange(1, 33, dtype=torch.int32), torch.full((16, ), -1, dtype=torch.int32)
    ends[(1, )](torch.empty(128, dtype=torch.int8), x, y, 20, BLOCK=16)
    assert y.tolist() == [17, 18, 19, 20] + [0] * 12


@triton.jit
def doubled(x, y, row, DTYPE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    block = tl._experimental_descriptor_load(x, [row, 0], [ROWS, COLUMNS], DTYPE)
    tl._experimental_descriptor_store(y, block + block, [row, 0])


@pytest.mark.parametrize("filled", [False, True])
def test_descriptors_that_the_host_writes(engine, filled):
    x, y = torch.randn(10, 24), torch.full((10, 24), float("nan"))

    def described(tensor):
        if not filled:
            return create_2d_tma_descriptor(address(tensor), 10, 24, 8, 32, 4)
        desc = np.empty(128, np.int8)
        triton.runtime.driver.active.utils.fill_2d_tma_descriptor(address(tensor), 10, 24, 8, 32, 4, desc)
        return torch.from_numpy(desc)

    for row in (0, 8):
        doubled[(1, )](described(x), described(y), row, DTYPE=tl.float32, ROWS=8, COLUMNS=32)
    assert torch.equal(y, 2 * x)


@triton.jit
def copied(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK
    tl._experimental_descriptor_store(y, tl._experimental_descriptor_load(x, [at], [BLOCK], tl.float16), [at])


def test_descriptors_of_one_dimension(engine):
    x, y = torch.randn(100).half(), torch.zeros(100).half()
    copied[(2, )](create_1d_tma_descriptor(address(x), 100, 64, 2), create_1d_tma_descriptor(address(y), 100, 64, 2), 100, BLOCK=64)
    assert torch.equal(x, y)


@triton.jit
def given(desc, BLOCK: tl.constexpr):
    desc = tl._experimental_reinterpret_tensor_descriptor(desc, [BLOCK], tl.float32)
    tl._experimental_descriptor_store(desc, tl._experimental_descriptor_load(desc, [0], [BLOCK], tl.float32) + 1, [0])


def test_what_is_a_descriptor_is_used_as_it_is(engine):
    x = torch.zeros(16)
    given[(1, )](TensorDescriptor.from_tensor(x, [16]), BLOCK=16)
    assert torch.equal(x, torch.ones(16))
