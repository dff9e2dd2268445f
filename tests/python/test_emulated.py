"""Kernels on an emulated GPU: compiled for it, and run from what was compiled, lane by lane, every access checked."""

import importlib
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl
import seed_kernels as seeds
from deuteron import _core

ARCHITECTURES = ["cuda:80", "cuda:90", "cuda:120", "hip:gfx942", "hip:gfx1100"]

matmul_example = importlib.import_module("03_matmul")
layer_norm_example = importlib.import_module("04_layer_norm")
attention_example = importlib.import_module("06_attention")


@pytest.fixture(params=ARCHITECTURES)
def emulated(request):
    """Each architecture in turn."""
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = request.param
        yield request.param


@triton.jit
def out_of_bounds(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)


@triton.jit
def column_sums(x_ptr, out_ptr, n_rows, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows, cols = tl.arange(0, ROWS), tl.arange(0, COLS)
    x = tl.load(x_ptr + rows[:, None] * COLS + cols[None, :], mask=rows[:, None] < n_rows, other=0.0)
    tl.store(out_ptr + cols, tl.sum(x, axis=0))
    tl.store(out_ptr + COLS + cols, tl.cumsum(tl.max(x, axis=0), axis=0))


@triton.jit
def exponentials(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr + tl.arange(0, N), tl.exp2(x))
    tl.store(out_ptr + N + tl.arange(0, N), tl.exp(x))


def rows_of(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("n", [1, 100, 1025])
def test_vector_add(emulated, arrays, n, rng):
    x, y = arrays.make(rows_of(rng, n)), arrays.make(rows_of(rng, n))
    out = arrays.make(np.full(n + 3, 7, np.float32))
    kernel = seeds.add_kernel[(triton.cdiv(n, 256), )](x, y, out, n, BLOCK_SIZE=256)
    assert np.array_equal(arrays.numpy(out)[:n], arrays.numpy(x) + arrays.numpy(y))
    assert (arrays.numpy(out)[n:] == 7).all()
    backend, arch = emulated.split(":")
    code = ".entry add_kernel" in kernel.asm["ptx"] if backend == "cuda" else "@add_kernel(" in kernel.asm["llir"]
    assert str(kernel.metadata.target.arch) == arch and code


@pytest.mark.parametrize("shape", [(1, 1), (3, 300), (2, 1024)])
def test_softmax(emulated, shape, rng):
    rows, cols = shape
    x = torch.from_numpy(5 * rows_of(rng, *shape))
    if cols > 100:
        x[0, 3], x[1, 5] = -math.inf, math.nan
    expected = torch.softmax(x.double(), 1)
    block = triton.next_power_of_2(cols)
    launches = [
        lambda out: seeds.fused_softmax_kernel[(rows, )](x, out, cols, cols, BLOCK_SIZE=block),
        lambda out: seeds.softmax_kernel_naive[(rows, )](x, out, cols, cols, 128),
        lambda out: seeds.softmax_kernel_v1[(rows, )](x, out, cols, cols, 128, num_warps=2),
        lambda out: seeds.softmax_kernel[(2, )](out, x, cols, cols, rows, cols, BLOCK_SIZE=block, num_stages=3),
    ]
    for launch in launches:
        out = torch.full_like(x, 9)
        launch(out)
        torch.testing.assert_close(out.double(), expected, atol=1e-6, rtol=1e-5, equal_nan=True)


def test_reductions_and_scans(emulated, rng):
    x = rows_of(rng, 13, 32)
    out = np.empty(64, np.float32)
    column_sums[(1, )](x, out, 13, ROWS=16, COLS=32)
    np.testing.assert_allclose(out[:32], x.sum(0), atol=1e-5)
    np.testing.assert_allclose(out[32:], np.maximum(x.max(0), 0).cumsum(), rtol=1e-5)


@pytest.mark.parametrize("configuration", [(32, 32, 32, 2, 2), (64, 64, 32, 4, 3)])
@pytest.mark.parametrize("shape", [(64, 64, 64), (70, 40, 50)])
def test_matmul(emulated, shape, configuration, rng):
    (m, n, k), (bm, bn, bk, warps, stages) = shape, configuration
    a, b = (torch.from_numpy(rows_of(rng, *size)).half() for size in ((m, k), (k, n)))
    c = torch.empty(m, n, dtype=torch.float16)
    matmul_example.matmul_kernel[(triton.cdiv(m, bm) * triton.cdiv(n, bn), )](
        a, b, c, m, n, k, k, 1, n, 1, n, 1, BLOCK_SIZE_M=bm, BLOCK_SIZE_N=bn, BLOCK_SIZE_K=bk, GROUP_SIZE_M=8,
        ACTIVATION="leaky_relu", num_warps=warps, num_stages=stages)
    expected = torch.nn.functional.leaky_relu(a.double() @ b.double(), 0.01)
    torch.testing.assert_close(c.double(), expected, atol=2e-2, rtol=2e-3)


def test_layer_norm(emulated, rng):
    x = torch.from_numpy(rows_of(rng, 2, 300)).half()
    w, b = (torch.from_numpy(rows_of(rng, 300)).half() for _ in range(2))
    out, mean, rstd = torch.empty_like(x), torch.empty(2), torch.empty(2)
    layer_norm_example.layer_norm_forward[(2, )](x, out, w, b, mean, rstd, 300, 300, 1e-5, BLOCK_SIZE=256, num_warps=4)
    expected = torch.nn.functional.layer_norm(x.double(), (300, ), w.double(), b.double(), 1e-5)
    torch.testing.assert_close(out.double(), expected, atol=4e-3, rtol=2e-3)


def test_an_access_beyond_an_array_has_a_place(emulated):
    x = np.zeros(10, np.float32)
    with pytest.raises(RuntimeError, match=r"out_of_bounds.*test_emulated\.py:\d+") as error:
        out_of_bounds[(1, )](x, BLOCK=16)
    assert "in no allocation" in str(error.value)
    out_of_bounds[(1, )](np.zeros(16, np.float32), BLOCK=16)


def test_what_is_emulated_is_told():
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        driver = triton.runtime.driver.active
        assert tuple(driver.get_current_target()) == ("cuda", 90, 32)
        assert driver.get_active_torch_device().type == "cpu"
        assert driver.utils.get_device_properties(0)["max_shared_mem"] == 227 << 10
        triton.knobs.runtime.emulate = "cuda:12"
        with pytest.raises(Exception, match="sm_80"):
            driver.get_current_target()
        triton.knobs.runtime.emulate = "cpu"
        with pytest.raises(ValueError, match="no emulator"):
            driver.get_current_target()


def test_exponentials_keep_denormals_where_a_launch_asks_for_it(arrays):
    numbers = np.array([-127.0, -130.5, -149.0, -100.0, -90.0, -200.0, -np.inf, 3.0], np.float32)
    exact = np.concatenate([np.exp2(numbers.astype(np.float64)), np.exp(numbers.astype(np.float64))])
    normal = np.abs(exact) >= np.finfo(np.float32).tiny
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        for flushes in (True, False):
            x, out = arrays.make(numbers), arrays.make(np.full(16, 7, np.float32))
            kernel = exponentials[(1, )](x, out, N=8, num_warps=1, enable_reflect_ftz=flushes)
            assert ("ex2.approx.ftz.f32" in kernel.asm["ptx"]) == flushes
            assert ("ex2.approx.f32" in kernel.asm["ptx"]) != flushes
            expected = np.where(normal | (not flushes), exact, 0)
            # Two units in the last place; denormal numbers are multiples of the least one.
            close = np.abs(arrays.numpy(out) - expected) <= np.maximum(np.abs(expected) * 2**-22, 2**-148)
            assert close.all(), (flushes, arrays.numpy(out), expected)


@pytest.mark.parametrize("arch", [80, 90, 120])
def test_compiling_for_a_gpu_that_is_not_here(arch):
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    source = ASTSource(column_sums, {"x_ptr": "*fp32", "out_ptr": "*fp32", "n_rows": "i32", "ROWS": "constexpr",
                                     "COLS": "constexpr"}, {"ROWS": 16, "COLS": 32}, {(0, ): [["tt.divisibility", 16]]})
    kernel = triton.compile(source, target=GPUTarget("cuda", arch, 32), options={"num_warps": 2, "maxnreg": 128})
    assert kernel.metadata.target == GPUTarget("cuda", arch, 32) and kernel.metadata.num_warps == 2
    assert kernel.metadata.cluster_dims == (1, 1, 1) and kernel.metadata.global_scratch_size == 0
    assert f".target sm_{arch}" in kernel.asm["ptx"] and ".maxnreg 128" in kernel.asm["ptx"]
    assert "#blocked" in kernel.asm["ttgir"] and len(set(kernel.asm.keys())) == len(kernel.asm.keys())
    with pytest.raises(RuntimeError, match="no such device"):
        kernel._init_handles()


def test_what_a_gpu_has_too_little_of_is_told():
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    names = matmul_example.matmul_kernel.arg_names
    # One stage of the loop takes 512 KiB, so that fewer stages do not help.
    constants = {"BLOCK_SIZE_M": 256, "BLOCK_SIZE_N": 256, "BLOCK_SIZE_K": 512, "GROUP_SIZE_M": 8, "ACTIVATION": "",
                 "stride_ak": 1, "stride_bn": 1, "stride_cn": 1}
    signature = {name: "constexpr" if name in constants else "*fp16" if name.endswith("ptr") else "i32" for name in names}
    attrs = {(at, ): [["tt.divisibility", 16]] for at, name in enumerate(names) if name not in constants}
    source = ASTSource(matmul_example.matmul_kernel, signature, constants, attrs)
    with pytest.raises(triton.OutOfResources, match="shared memory.*Required: .*Hardware limit: 232448") as error:
        triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 8, "num_stages": 4})
    assert error.value.required > error.value.limit


@pytest.mark.parametrize("num_warps", [1, 4])
def test_fixtures_random_programs_and_functions_agree(num_warps):
    folder = Path(__file__).parents[1] / "run"
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        for name in ("arith_int", "dot_scaled", "shape"):
            calls, failures = _core.check_fixture((folder / f"{name}.ttir").read_text(), num_warps)
            assert calls > 0 and not failures, failures
        assert not any(_core.check_random_program(seed, num_warps) for seed in range(4))
        assert not _core.check_functions(num_warps)


@triton.jit
def scaled(a_ptr, b_ptr, a_scale_ptr, out_ptr, K: tl.constexpr):
    i, k = tl.arange(0, 16), tl.arange(0, K)
    a = tl.load(a_ptr + i[:, None] * (K // 2) + tl.arange(0, K // 2)[None, :])
    b = tl.load(b_ptr + k[:, None] * 16 + i[None, :])
    scale = tl.load(a_scale_ptr + i[:, None] * (K // 32) + tl.arange(0, K // 32)[None, :])
    tl.store(out_ptr + i[:, None] * 16 + i[None, :], tl.dot_scaled(a, scale, "e2m1", b, None, "bf16"))


def reference_of_scaled(a, b, scale):
    """The product in NumPy."""
    values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    nibbles = np.stack([a & 15, a >> 4], axis=-1).reshape(a.shape[0], -1)
    numbers = values[nibbles & 7] * np.where(nibbles & 8, -1, 1)
    return (numbers * np.repeat(2.0**(scale.astype(int) - 127), 32, axis=1)) @ b.astype(np.float64)


@pytest.mark.parametrize("target", ["cpu", "cuda:80", "cuda:90"])
def test_scaled_products(target):
    rng = np.random.default_rng()
    a, scale = rng.integers(0, 256, (16, 32), dtype=np.uint8), rng.integers(120, 132, (16, 2), dtype=np.uint8)
    b = torch.from_numpy(rng.standard_normal((64, 16)).astype(np.float32)).to(torch.bfloat16)
    out = np.zeros((16, 16), np.float32)
    with triton.knobs.runtime.scope():
        if target != "cpu":
            triton.knobs.runtime.emulate = target
        scaled[(1, )](a, b, scale, out, K=64)
    np.testing.assert_allclose(out, reference_of_scaled(a, b.float().numpy(), scale), rtol=1e-4, atol=1e-3)


@triton.jit
def sorted_rows(x_ptr, out_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    tl.store(out_ptr + at, tl.sort(tl.load(x_ptr + at), dim=1))


@triton.jit
def expanded(x_ptr, AXES: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 4))
    for _ in tl.static_range(AXES - 1):
        x = tl.expand_dims(x, 0)
    tl.store(x_ptr + tl.arange(0, 4), tl.reshape(x + 1, (4, )))


@pytest.mark.parametrize("columns", [64, 512])
def test_sort_splits_rows_into_many_axes(emulated, arrays, columns, rng):
    data = rows_of(rng, 4, columns)
    x, out = arrays.make(data), arrays.make(np.full((4, columns), np.nan, np.float32))
    sorted_rows[(1, )](x, out, 4, columns)
    np.testing.assert_array_equal(arrays.numpy(out), np.sort(data, axis=1))


def test_blocks_have_no_more_axes_than_layouts(emulated, arrays):
    x = arrays.make(np.zeros(4, np.float32))
    expanded[(1, )](x, 32)
    np.testing.assert_array_equal(arrays.numpy(x), 1)
    with pytest.raises(triton.CompilationError, match="33 axes"):
        expanded[(1, )](x, 33)


@triton.jit
def two_products(a_ptr, b_ptr, out_ptr, K, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    rows, cols = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    for part in tl.static_range(2):
        total = tl.zeros((BLOCK, BLOCK), tl.float32)
        for k in tl.range(0, K, BLOCK, num_stages=STAGES):
            a = tl.load(a_ptr + rows[:, None] * K + (k + cols)[None, :])
            b = tl.load(b_ptr + (k + rows)[:, None] * BLOCK + cols[None, :])
            total = tl.dot(a, b, total)
        tl.atomic_add(out_ptr + rows[:, None] * BLOCK + cols[None, :], total * (part + 1))


@pytest.mark.parametrize("stages", [2, 8])
def test_stages_give_way_to_shared_memory(stages, rng):
    a = rng.integers(-4, 5, (64, 256)).astype(np.float32)
    b = rng.integers(-4, 5, (256, 64)).astype(np.float32)
    out = np.zeros((64, 64), np.float32)
    with triton.knobs.runtime.scope(), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        triton.knobs.runtime.emulate = "cuda:90"
        kernel = two_products[(1, )](a, b, out, 256, BLOCK=64, STAGES=stages)
    assert np.array_equal(out, 3 * (a @ b))
    # Eight stages of 32 KB are too many. The two loops share their memory.
    fewer = [str(one.message) for one in said if "in place of 8" in str(one.message)]
    assert len(fewer) == (2 if stages == 8 else 0) and all("test_emulated.py:" in text for text in fewer)
    assert kernel.metadata.shared <= 232448
    assert "red.relaxed.gpu.global.add.v" in kernel.asm["ptx"]


def test_tuning_does_not_remark_on_what_it_tries(rng):
    a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((64, 256), (256, 64)))
    out = np.zeros((64, 64), np.float32)

    def once(call, quantiles):
        call()
        return [1.0] * 3

    configs = [triton.Config({"STAGES": stages}) for stages in (7, 8)]
    tuned = triton.autotune(configs, key=[], do_bench=once)(two_products)
    with triton.knobs.runtime.scope(), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        triton.knobs.runtime.emulate = "cuda:90"
        tuned[(1, )](a, b, out, 256, BLOCK=64)
    assert not [one for one in said if "in place of" in str(one.message)]


@triton.jit
def one_product(a_ptr, b_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FORMAT: tl.constexpr):
    rows, cols, along = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + rows[:, None] * K + along[None, :])
    b = tl.load(b_ptr + along[:, None] * N + cols[None, :])
    if FORMAT is not None:
        a, b = a.to(FORMAT, bitcast=True), b.to(FORMAT, bitcast=True)
    tl.store(out_ptr + rows[:, None] * N + cols[None, :], tl.dot(a, b))


@pytest.mark.parametrize("shape, dtype, form, name", [
    ((64, 8, 16), np.float16, None, "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"),
    ((32, 64, 64), np.int8, None, "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32"),
    ((1, 2, 32), np.uint8, tl.float8e5, "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32"),
])
def test_dots_of_unusual_shapes_and_types(shape, dtype, form, name, rng):
    m, n, k = shape
    a, b = rng.integers(-8, 9, (m, k)), rng.integers(-8, 9, (k, n))
    given = [a.astype(dtype), b.astype(dtype)]
    if form is not None:
        a, b = (np.asarray(torch.tensor(x, dtype=torch.float32).to(torch.float8_e5m2).float()) for x in (a, b))
        given = [torch.tensor(x).to(torch.float8_e5m2).view(torch.uint8).numpy() for x in (a, b)]
    out = np.full((m, n), 7, np.int32 if dtype == np.int8 else np.float32)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        kernel = one_product[(1, )](*given, out, m, n, k, form)
    assert np.array_equal(out, np.asarray(a, np.float64) @ np.asarray(b, np.float64))
    assert name in kernel.asm["ptx"]


@triton.jit
def products_in_halves(a_ptr, b_ptr, out_ptr, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, cols, along = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float16)
    for at in range(0, n, K):
        a = tl.load(a_ptr + rows[:, None] * n + at + along[None, :])
        b = tl.load(b_ptr + (at + along[:, None]) * N + cols[None, :])
        total = tl.dot(a, b, total, out_dtype=tl.float16)
    tl.store(out_ptr + rows[:, None] * N + cols[None, :], total)


@pytest.mark.parametrize("m, warps", [(128, 4), (256, 8)])
def test_sums_of_16_bits_in_several_tiles_are_there_before_the_fence(m, warps, rng):
    n, length = 32, 96
    a, b = (rng.integers(-3, 4, size).astype(np.float16) for size in ((m, length), (length, n)))
    out = np.empty((m, n), np.float16)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        kernel = products_in_halves[(1, )](a, b, out, length, m, n, 32, num_warps=warps)
    assert np.array_equal(out, a.astype(np.float64) @ b.astype(np.float64))
    assert "wgmma.mma_async.sync.aligned.m64n32k16.f16.f16.f16" in kernel.asm["ptx"]


SMALL_FLOATS = {
    tl.float8e4nv: torch.float8_e4m3fn, tl.float8e5: torch.float8_e5m2, tl.float8e4b8: torch.float8_e4m3fnuz,
    tl.float8e5b16: torch.float8_e5m2fnuz,
}


@triton.jit
def through_bytes(bytes_ptr, x_ptr, wide_ptr, half_ptr, small_ptr, FORMAT: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, 256)
    number = tl.load(bytes_ptr + at).to(FORMAT, bitcast=True)
    tl.store(wide_ptr + at, number.to(tl.float32))
    tl.store(half_ptr + at, number.to(tl.float16))
    at = tl.arange(0, N)
    tl.store(small_ptr + at, tl.load(x_ptr + at).to(FORMAT).to(tl.uint8, bitcast=True))


@pytest.mark.parametrize("form", SMALL_FLOATS, ids=str)
def test_every_8_bit_float_converts_everywhere(emulated, form, rng):
    theirs = SMALL_FLOATS[form]
    every = torch.arange(256, dtype=torch.uint8)
    largest = torch.finfo(theirs).max
    x = torch.tensor(rng.uniform(-largest, largest, 1024) * 2.0**rng.integers(-24, 1, 1024), dtype=torch.float32)
    wide, half, small = torch.zeros(256), torch.zeros(256, dtype=torch.float16), torch.zeros(1024, dtype=torch.uint8)
    through_bytes[(1, )](every, x, wide, half, small, form, 1024)
    exact = every.view(theirs).float()
    assert torch.equal(wide.nan_to_num(nan=-1e9), exact.nan_to_num(nan=-1e9))
    assert torch.equal(half.float().nan_to_num(nan=-1e9), exact.nan_to_num(nan=-1e9))
    assert torch.equal(small, x.to(theirs).view(torch.uint8))


@pytest.mark.parametrize("form", [tl.float8e4nv, tl.float8e5], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_8_bit_floats_end_at_the_greatest(emulated, form, dtype):
    """As `cvt.rn.satfinite` has it on sm_90; torch gives infinity or NaN."""
    theirs = SMALL_FLOATS[form]
    largest = torch.finfo(theirs).max
    beyond = torch.tensor([65472.0, 2.0**16, 2.0**100, torch.inf], dtype=torch.float64).to(dtype)
    x = torch.cat([beyond, -beyond]).repeat(128)
    wide, half, small = torch.zeros(256), torch.zeros(256, dtype=torch.float16), torch.zeros(1024, dtype=torch.uint8)
    through_bytes[(1, )](torch.arange(256, dtype=torch.uint8), x, wide, half, small, form, 1024)
    assert torch.equal(small.view(theirs).double(), x.sign().double() * largest)


@pytest.mark.parametrize("form", SMALL_FLOATS, ids=str)
def test_every_8_bit_float_is_multiplied_everywhere(emulated, form, rng):
    bits = [torch.tensor(rng.integers(-8, 9, size), dtype=torch.float32).to(SMALL_FLOATS[form]) for size in ((64, 32), (32, 16))]
    out = torch.full((64, 16), float("nan"))
    one_product[(1, )](*(x.view(torch.uint8) for x in bits), out, 64, 16, 32, form)
    assert torch.equal(out.double(), bits[0].double() @ bits[1].double())


@triton.jit
def fp8_matmul(a_ptr, b_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr, K, MOST: tl.constexpr, KEEPS: tl.constexpr):
    rows, cols, along = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK_K)
    total = tl.full((M, N), 3.0, tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + rows[:, None] * K + k + along[None, :])
        b = tl.load(b_ptr + (k + along)[:, None] + cols[None, :] * K)
        if KEEPS:
            total = tl.dot(a, b, total, max_num_imprecise_acc=MOST)
        else:
            total += tl.dot(a, b, max_num_imprecise_acc=MOST) * 2.0
    tl.store(out_ptr + rows[:, None] * N + cols[None, :], total)


@pytest.mark.parametrize("shape, warps", [((64, 32, 64), 4), ((128, 128, 128), 8)])
@pytest.mark.parametrize("most", [None, 0, 32, 64, 48])
def test_sums_of_fp8_products_leave_the_matrix_units(shape, warps, most, rng):
    m, n, block = shape
    k = 2 * block
    a, b = (torch.tensor(rng.integers(-4, 5, size), dtype=torch.float32) for size in ((m, k), (n, k)))
    bits = [x.to(torch.float8_e4m3fn) for x in (a, b)]
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        for keeps in (True, False):
            out = torch.full((m, n), float("nan"))
            kernel = fp8_matmul[(1, )](*bits, out, m, n, block, k, most, keeps, num_warps=warps)
            expected = 3 + (1 if keeps else 2) * (a.double() @ b.double().T)
            assert torch.equal(out.double(), expected)
            assert "wgmma.mma_async" in kernel.asm["ptx"]
            taken_out = 0 if most is None else block // max(most // 32, 1) // 32
            if keeps:
                assert kernel.asm["ptx"].count("add.f32") == m * n // (32 * warps) * taken_out


@pytest.mark.parametrize("causal", [False, True], ids=["whole", "causal"])
@pytest.mark.parametrize("target", ["hip:gfx1100", "hip:gfx1200", "hip:gfx942"])
def test_attention_that_fills_the_registers(target, causal):
    queries, keys, values = (attention_example.common.randn(1, 200, 128, dtype="float16", seed=seed) for seed in (1, 2, 3))
    out = torch.full_like(torch.as_tensor(np.asarray(queries)), math.nan)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = target
        kernel = attention_example.attention_forward
        kernel[(2, 1)](queries, keys, values, out, 128**-0.5, 200 * 128, 128, 200, BLOCK_M=128, BLOCK_N=64, HEAD_DIM=128,
                       CAUSAL=causal, num_warps=4)
    whole = [np.asarray(each).astype(np.float64) for each in (queries, keys, values)]
    np.testing.assert_allclose(np.asarray(out), attention_example.reference(*whole, causal), atol=2e-3, rtol=2e-3)


@triton.jit
def sums_that_begin_alike(a_ptr, b_ptr, out_ptr):
    m, n, k = tl.arange(0, 128), tl.arange(0, 16), tl.arange(0, 64)
    a = tl.load(a_ptr + m[:, None] * 64 + k[None, :])
    b = tl.load(b_ptr + k[:, None] * 16 + n[None, :])
    rows = tl.sum(a.to(tl.float32), axis=1)
    tl.store(out_ptr + m[:, None] * 16 + n[None, :], tl.dot(a, b) + rows[:, None])


def test_sums_of_several_tiles_are_copied_before_the_fence(rng):
    """Sums of a row begin in one register; the emulator says where one is copied behind the fence of its instructions."""
    a, b = (torch.from_numpy(rng.integers(-4, 5, shape)).half() for shape in ((128, 64), (64, 16)))
    out = torch.zeros(128, 16)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        kernel = sums_that_begin_alike[(1, )](a, b, out, num_warps=4)
    assert "wgmma.mma_async" in kernel.asm["ptx"]
    assert torch.equal(out, a.float() @ b.float() + a.float().sum(1, keepdim=True))


@triton.jit
def fp32_product(x, out, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.dot(tl.load(x + at), tl.load(x + at)))


def test_a_launch_says_how_precise_dots_are(rng):
    """`default_dot_input_precision` is for dots that give none; the usual one is no other kernel."""
    x = torch.from_numpy(rng.standard_normal((16, 16)).astype(np.float32))
    out = torch.full((16, 16), torch.nan)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "cuda:80"
        exact = fp32_product[(1, )](x, out, 16, default_dot_input_precision="ieee")
        np.testing.assert_allclose(out, x.double() @ x.double(), rtol=1e-5, atol=1e-5)
        usual, named = fp32_product[(1, )](x, out, 16), fp32_product[(1, )](x, out, 16, default_dot_input_precision="tf32")
        with pytest.raises(triton.CompilationError, match="input_precision must be one of .*Got tf16"):
            fp32_product[(1, )](x, out, 16, default_dot_input_precision="tf16")
        with pytest.raises(TypeError, match="default_dot_input_precision must be a text, and is "):
            fp32_product[(1, )](x, out, 16, default_dot_input_precision=3)
    assert "mma.sync" not in exact.asm["ptx"] and "mma.sync" in usual.asm["ptx"]
    assert usual.hash == named.hash != exact.hash
