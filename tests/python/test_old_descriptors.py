"""Descriptors as Triton 3.2 had them, made by the host or by the kernel in memory, on every engine against NumPy."""

import ctypes

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl
from deuteron.runtime.driver import driver
from deuteron.tools.experimental_descriptor import create_1d_tma_descriptor, create_2d_tma_descriptor

ENGINES = ["cpu", "interpreter", "sm_80", "sm_90", "gfx942"]


@triton.jit
def product_of_given(a_desc, b_desc, c_desc, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr,
                     dtype: tl.constexpr, memory=None):
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    acc = tl.zeros((M, N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl._experimental_descriptor_load(a_desc, [m, k], [M, BLOCK_K], dtype)
        b = tl._experimental_descriptor_load(b_desc, [n, k], [N, BLOCK_K], dtype)
        acc = tl.dot(a, b.T, acc)
    tl._experimental_descriptor_store(c_desc, acc.to(dtype), [m, n])


@triton.jit
def product_of_written(work_ptr, a_ptr, b_ptr, c_ptr, rows, cols, K, M: tl.constexpr, N: tl.constexpr,
                       BLOCK_K: tl.constexpr, again: tl.constexpr):
    dtype = c_ptr.dtype.element_ty
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    a_desc = work_ptr + (tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)) * 384
    b_desc, c_desc = a_desc + 128, a_desc + 256
    tl.extra.cuda.experimental_device_tensormap_create2d(desc_ptr=a_desc, global_address=a_ptr,
                                                         load_size=[M, BLOCK_K], global_size=[rows, K],
                                                         element_ty=dtype)
    tl.extra.cuda.experimental_device_tensormap_create2d(desc_ptr=b_desc, global_address=b_ptr,
                                                         load_size=[N, BLOCK_K], global_size=[cols, K],
                                                         element_ty=dtype)
    tl.extra.cuda.experimental_device_tensormap_create2d(desc_ptr=c_desc, global_address=c_ptr, load_size=[M, N],
                                                         global_size=[rows, cols], element_ty=dtype)
    tl.extra.cuda.experimental_tensormap_fenceproxy_acquire(a_desc)
    tl.extra.cuda.experimental_tensormap_fenceproxy_acquire(b_desc)
    tl.extra.cuda.experimental_tensormap_fenceproxy_acquire(c_desc)
    acc = tl.zeros((M, N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        if again:
            # From here on B is read where A lies, and the other way round in the next iteration.
            first, second = tl.where(k % (2 * BLOCK_K) == 0, a_ptr.to(tl.int64), b_ptr.to(tl.int64)), tl.where(
                k % (2 * BLOCK_K) == 0, b_ptr.to(tl.int64), a_ptr.to(tl.int64))
            tl.extra.cuda.experimental_device_tensormap_create2d(a_desc, first.to(a_ptr.dtype), [M, BLOCK_K],
                                                                 [rows, K], dtype)
            tl.extra.cuda.experimental_device_tensormap_create2d(b_desc, second.to(a_ptr.dtype), [N, BLOCK_K],
                                                                 [cols, K], dtype)
            tl.extra.cuda.experimental_tensormap_fenceproxy_acquire(a_desc)
        a = tl._experimental_descriptor_load(a_desc, [m, k], [M, BLOCK_K], dtype)
        b = tl._experimental_descriptor_load(b_desc, [n, k], [N, BLOCK_K], dtype)
        acc = tl.dot(a, b.T, acc)
    tl._experimental_descriptor_store(c_desc, acc.to(dtype), [m, n])


@triton.jit
def row_sums(in_desc, out_desc, add_desc, N: tl.constexpr):
    at = tl.program_id(0) * N
    x = tl._experimental_descriptor_load(in_desc, [at], [N], tl.float32)
    tl._experimental_descriptor_store(out_desc, x, [at])
    y = tl._experimental_reinterpret_tensor_descriptor(in_desc, [N], tl.float32).load([at])
    tl._experimental_descriptor_store(add_desc, y, [at], store_reduce="add")


@triton.jit
def row_of_written(work_ptr, x_ptr, out_ptr, size, N: tl.constexpr):
    tl.extra.cuda.experimental_device_tensormap_create1d(work_ptr, x_ptr, N, size, tl.float32)
    tl.extra.cuda.experimental_tensormap_fenceproxy_acquire(work_ptr)
    x = tl._experimental_descriptor_load(work_ptr, [16], [N], tl.float32)
    tl.store(out_ptr + tl.arange(0, N), x)


@triton.jit
def doubled(x_ptr, size, N: tl.constexpr):
    desc = x_ptr
    if not isinstance(desc, tl._experimental_tensor_descriptor):
        desc = tl._experimental_make_tensor_descriptor(desc, [size], [1], [N])
    tl.static_assert(isinstance(desc, tl._experimental_tensor_descriptor))
    desc.store([0], desc.load([0]) * 2)


def matrices(rng, rows, cols, depth):
    a, b = (rng.standard_normal((size, depth)).astype(np.float16) for size in (rows, cols))
    return a, b, np.full((rows + 1, cols), np.nan, np.float16)


def check(c, a, b, rows):
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    scale = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64).T
    assert (np.abs(c[:rows] - exact) <= 2**-10 * np.abs(exact) + 2**-20 * scale + 2**-24).all()
    assert np.isnan(c[rows:]).all()


@pytest.mark.parametrize("rows, cols, depth", [(100, 72, 136), (64, 64, 32), (33, 200, 8)])
def test_the_host_describes_matrices(engine, rng, rows, cols, depth):
    a, b, c = matrices(rng, rows, cols, depth)
    descs = [create_2d_tma_descriptor(x.ctypes.data, *shape, *block, 2)
             for x, shape, block in ((a, a.shape, (64, 32)), (b, b.shape, (64, 32)), (c, (rows, cols), (64, 64)))]
    grid = (triton.cdiv(rows, 64), triton.cdiv(cols, 64))
    compiled = product_of_given[grid](*descs, depth, M=64, N=64, BLOCK_K=32, dtype=tl.float16)
    check(c, a, b, rows)
    if engine == "sm_90":
        # Launches make what bulk copies need, as for a `TensorDescriptor`.
        assert compiled.asm["ttgir"].count("tt.map_of") == 3


@pytest.mark.parametrize("again", [False, True])
def test_a_kernel_describes_matrices_in_memory(engine, rng, again):
    rows = cols = 72
    a, b, c = matrices(rng, rows, cols, 136)
    work = np.full(4 * 384, 255, np.uint8)
    product_of_written[(2, 2)](work, a, b, c, rows, cols, 136, M=64, N=64, BLOCK_K=32, again=again)
    if again:
        swapped = np.arange(136) // 32 % 2 == 1
        a[:, swapped], b[:, swapped] = b[:, swapped], a[:, swapped].copy()
    check(c, a, b, rows)


def test_rows(engine, rng):
    x = rng.standard_normal(100).astype(np.float32)
    out, sums = np.full(104, np.nan, np.float32), np.ones(104, np.float32)
    descs = [create_1d_tma_descriptor(y.ctypes.data, 100, 32, 4) for y in (x, out, sums)]
    row_sums[(4, )](*descs, N=32)
    np.testing.assert_array_equal(out[:100], x)
    assert np.isnan(out[100:]).all()
    np.testing.assert_array_equal(sums, np.concatenate([1 + x, np.ones(4, np.float32)]))
    work, part = np.zeros(128, np.int8), np.full(128, np.nan, np.float32)
    row_of_written[(1, )](work, x, part, 100, N=128)
    np.testing.assert_array_equal(part, np.concatenate([x[16:], np.zeros(44, np.float32)]))


def test_the_class_has_its_old_name(engine, rng):
    x = rng.standard_normal(100).astype(np.float32)
    expected = 2 * x
    doubled[(1, )](x, 100, N=128)
    np.testing.assert_array_equal(x, expected)


class Wrapped:
    """A descriptor that its user keeps: anything that says where its bytes are."""

    def __init__(self):
        self.bytes = (ctypes.c_uint8 * 128)()

    def tma_desc_cpu_ptr(self):
        return ctypes.addressof(self.bytes)


def test_descriptors_are_filled_into_the_user_s_memory(engine, rng):
    a, b, c = matrices(rng, 64, 64, 64)
    descs = [Wrapped() for _ in range(3)]
    for desc, x in zip(descs, (a, b, c)):
        driver.active.utils.fill_2d_tma_descriptor(x.ctypes.data, 64, 64, 64, 64, 2, desc.tma_desc_cpu_ptr())
    product_of_given[(1, 1)](*descs, 64, M=64, N=64, BLOCK_K=32, dtype=tl.float16)
    check(c, a, b, 64)
    # As releases before 3.2 did it: an array takes the bytes.
    array = np.zeros(128, np.int8)
    driver.active.utils.fill_2d_tma_descriptor(a.ctypes.data, 64, 64, 64, 64, 2, array)
    assert array.tobytes() == bytes(descs[0].bytes)
    with pytest.raises(ValueError, match="a descriptor has 128 bytes, and 64 were given"):
        driver.active.utils.fill_2d_tma_descriptor(a.ctypes.data, 64, 64, 64, 64, 2, array[:64])
    # The same bytes in the memory of the device. Engines that check accesses know the memory of arguments alone.
    records = [np.frombuffer(desc.bytes, np.uint8) for desc in descs]
    c[:] = np.nan
    product_of_given[(1, 1)](*records, 64, M=64, N=64, BLOCK_K=32, dtype=tl.float16, memory=(a, b, c))
    check(c, a, b, 64)
    with pytest.raises(triton.CompilationError, match="no descriptor was written where the argument"):
        product_of_given[(1, 1)](*descs[:2], Wrapped(), 64, M=64, N=64, BLOCK_K=32, dtype=tl.float16)


@triton.jit
def copy_of_given(in_desc, out_desc, spare_desc, N: tl.constexpr, adds_spare: tl.constexpr):
    x = tl._experimental_descriptor_load(in_desc, [0], [N], tl.float32)
    if adds_spare:
        x += tl._experimental_descriptor_load(spare_desc, [0], [N], tl.float32)
    tl._experimental_descriptor_store(out_desc, x, [0])


def test_the_function_of_a_grid_fills_descriptors(engine, rng):
    # Tuners do so: the blocks that a descriptor is written for are those of the configuration.
    x, out = rng.standard_normal(100).astype(np.float32), np.full(104, np.nan, np.float32)
    descs = [Wrapped() for _ in range(3)]

    def grid(meta):
        for desc, memory in zip(descs, (x, out)):
            driver.active.utils.fill_1d_tma_descriptor(memory.ctypes.data, 100, meta["N"], 4, desc.tma_desc_cpu_ptr())
        return (1, )

    # The third is never written: the kernel does not use it.
    copy_of_given[grid](*descs, N=128, adds_spare=False)
    np.testing.assert_array_equal(out[:100], x)
    assert np.isnan(out[100:]).all()
    # The next launch reads what its own grid has written, not what the one before left there.
    x, out = rng.standard_normal(100).astype(np.float32), np.full(104, np.nan, np.float32)
    copy_of_given[grid](*descs, N=128, adds_spare=False)
    np.testing.assert_array_equal(out[:100], x)
    with pytest.raises(triton.CompilationError, match="no descriptor was written where the argument"):
        copy_of_given[grid](*descs, N=128, adds_spare=True)


@pytest.mark.parametrize("dims, block, size, reason", [
    ((128, ), (31, ), 4, "rows of a block are no multiples of 16 bytes"),
    ((128, 127), (128, 32), 2, "rows are no multiples of 16 bytes"),
    ((128, 128), (33, 30), 2, "rows of a block are no multiples of 16 bytes"),
    ((0, 128), (32, 32), 2, "each dimension has 1 to 2147483647 elements"),
    ((128, 128), (32, 0), 2, "blocks have elements along each dimension"),
    ((128, ), (32, ), 3, "elements have 1, 2, 4 or 8 bytes"),
])
def test_what_bulk_copies_cannot_move_is_refused(dims, block, size, reason):
    create = create_1d_tma_descriptor if len(dims) == 1 else create_2d_tma_descriptor
    with pytest.raises(RuntimeError) as error:
        create(1 << 20, *dims, *block, size)
    assert error.value.args == ("Triton Error [CUDA]: invalid argument", )
    assert reason in error.value.__notes__[0]
    with pytest.raises(RuntimeError):
        create_1d_tma_descriptor((1 << 20) + 8, 128, 32, 4)


def test_a_load_names_what_is_missing(rng):
    @triton.jit
    def load(desc):
        tl._experimental_descriptor_load(desc, [0])

    desc = create_1d_tma_descriptor(rng.standard_normal(128).ctypes.data, 128, 32, 8)
    with pytest.raises(triton.CompilationError, match="no block shape and no dtype of its own"):
        load[(1, )](desc)


@pytest.mark.parametrize("interpret", [False, True])
def test_a_descriptor_is_an_address_of_64_bits(interpret):
    def load(desc):
        tl._experimental_descriptor_load(desc, [0], [16], tl.float32)

    with pytest.raises(Exception, match="or their address as an integer of 64 bits"):
        triton.jit(load, interpret=interpret)[(1, )](12345)


def test_the_names_are_there():
    assert "nv_tma_desc_type" in dir(tl)
    assert issubclass(tl.nv_tma_desc_type, tl.pointer_type)
