"""Memory on AMD GPUs: copies to LDS that pass by the registers, atomics through buffers, narrowing and registers of the device; run on
emulated devices, and looked at in the assembly where there is an LLVM."""

import re

import numpy
import pytest

import deuteron as triton
import deuteron.language as tl
from deuteron.backends.compiler import GPUTarget
from deuteron.compiler import ASTSource

#: Architectures with the lanes of a wave.
ARCHITECTURES = {"gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1100": 32, "gfx1200": 32}
COPY = "call void @llvm.amdgcn.raw.ptr.buffer.load.lds"


@triton.jit
def matmul_of_rows(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Rows of one matrix by rows of the other: both lie along the sums."""
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    a = a_ptr + (m % M)[:, None] * K + k[None, :]
    b = b_ptr + (n % N)[None, :] * K + k[:, None]
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_K)):
        x = tl.load(a, mask=k[None, :] < K - step * BLOCK_K, other=0.0)
        y = tl.load(b, mask=k[:, None] < K - step * BLOCK_K, other=0.0)
        total = tl.dot(x, y, total)
        a += BLOCK_K
        b += BLOCK_K
    tl.store(c_ptr + m[:, None] * N + n[None, :], total, mask=(m < M)[:, None] & (n < N)[None, :])


@triton.jit
def add_at(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr + at % 32, tl.load(x_ptr + at, mask=at < n), mask=at < n)


@triton.jit
def narrow(x_ptr, out_ptr, BLOCK: tl.constexpr, TYPE: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at).to(TYPE).to(tl.int8, bitcast=True))


@triton.jit
def clocks(out_ptr):
    begin = tl.extra.hip.memrealtime()
    unit = tl.extra.hip.smid()
    tl.store(out_ptr, tl.extra.hip.memrealtime() - begin)
    tl.store(out_ptr + 1, unit.to(tl.int64))


@triton.jit
def turned(x_ptr, BLOCK: tl.constexpr):
    """Turns a block around in its place: what a lane loads another one has stored."""
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at) * 2)
    tl.store(x_ptr + at, tl.load(x_ptr + BLOCK - 1 - at) + 1)


@triton.jit
def sums(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.sum(tl.load(x_ptr + at), 0) + at)


@pytest.fixture(name="device")
def emulated_device():
    """Makes an emulated device the one that kernels run on."""
    with triton.knobs.runtime.scope(), triton.knobs.amd.scope():

        def use(arch, **settings):
            triton.knobs.runtime.emulate = f"hip:{arch}"
            for name, value in settings.items():
                setattr(triton.knobs.amd, name, value)
            for function in (matmul_of_rows, add_at, narrow, clocks, turned, sums):
                function.clear_cache()

        yield use


def assembly(function, arch, types, constants, **options):
    """The assembly for arrays of less than 2 GiB and multiples of 16."""
    signature = {name: "constexpr" if name in constants else types[name] for name in function.arg_names}
    attributes = {}
    for at, name in enumerate(function.arg_names):
        if name in types:
            near = [["tt.pointer_range", 32]] if types[name].startswith("*") else []
            attributes[(at,)] = [["tt.divisibility", 16], *near]
    source = ASTSource(function, signature, constants, attributes)
    compiled = triton.compile(source, target=GPUTarget("hip", arch, ARCHITECTURES[arch]), options=options)
    return compiled.asm["amdgcn"]


def product(m, n, k, tile, **options):
    """The kernel, what it makes, and what NumPy makes."""
    random = numpy.random.default_rng(m * n + k)
    a, b = (random.standard_normal(shape).astype(numpy.float16) for shape in ((m, k), (n, k)))
    c = numpy.zeros((m, n), numpy.float32)
    kernel = matmul_of_rows[(triton.cdiv(m, tile[0]), triton.cdiv(n, tile[1]))](a, b, c, m, n, k, *tile, **options)
    return kernel, c, a.astype(numpy.float32) @ b.astype(numpy.float32).T


@pytest.mark.parametrize("stages", [3, 4])
@pytest.mark.parametrize("size, tile, warps", [
    ((128, 64, 256), (64, 64, 64), 4),
    ((64, 64, 64), (64, 64, 64), 4),
    ((96, 80, 208), (64, 64, 32), 4),
    ((64, 64, 320), (64, 32, 64), 2),
])
def test_copies_that_pass_by_the_registers_are_right(device, stages, size, tile, warps):
    device("gfx950")
    kernel, found, expected = product(*size, tile, num_stages=stages, num_warps=warps)
    assert kernel.asm["llir"].count(COPY) > 0
    numpy.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_the_setting_says_which_loops_copy(device):
    counts = []
    for setting, stages in ((None, 2), (True, 2), (False, 3), (None, 3)):
        device("gfx950", use_async_copy=setting)
        kernel, found, expected = product(64, 64, 128, (64, 64, 64), num_stages=stages)
        numpy.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
        counts.append(kernel.asm["llir"].count(COPY) > 0)
    assert counts == [False, True, False, True]


def test_a_loop_waits_for_the_copies_of_its_iteration_alone():
    types = {**dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*fp16"), **dict.fromkeys("MNK", "i32")}
    constants = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}
    text = assembly(matmul_of_rows, "gfx950", types, constants, num_stages=3, num_warps=4)
    loops = re.findall(r"^(\.LBB\w+):(.*?)s_cbranch_\w+ \1$", text, re.MULTILINE | re.DOTALL)
    body = max((body for _, body in loops), key=lambda body: body.count("v_mfma"))
    assert body.count("v_mfma") > 0
    # Eight copies an iteration: those of the next one go on.
    assert len(re.findall(r"buffer_load_dwordx4 .* lds", body)) == 8
    assert re.findall(r"vmcnt\(\d+\)", body) == ["vmcnt(8)"]
    assert body.count("s_barrier") == 1 and "ds_write" not in body
    assert set(re.findall(r"ds_read\w*", body)) == {"ds_read_b128"}


@pytest.mark.parametrize("arch, empties", [("gfx1100", "buffer_gl0_inv"), ("gfx1200", "global_inv")])
def test_barriers_order_device_memory_where_that_is_needed(device, arch, empties):
    types = {"x_ptr": "*i32", "out_ptr": "*i32"}
    constants = {"BLOCK": 512}
    assert empties in assembly(turned, arch, types, constants, num_warps=4)
    text = assembly(sums, arch, types, constants, num_warps=4)
    assert "s_barrier" in text and empties not in text
    device(arch)
    x = numpy.arange(512, dtype=numpy.int32)
    out = numpy.zeros_like(x)
    sums[(1,)](x, out, 512, num_warps=4)
    numpy.testing.assert_array_equal(out, x.sum() + numpy.arange(512))
    turned[(1,)](x, 512, num_warps=4)
    numpy.testing.assert_array_equal(x, 2 * numpy.arange(512)[::-1] + 1)


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float16"])
@pytest.mark.parametrize("buffers", [True, False])
def test_atomics_of_masked_blocks(device, arch, dtype, buffers):
    device(arch, use_buffer_atomics=buffers)
    x = numpy.random.default_rng(1).integers(-9, 9, 300).astype(dtype)
    out = numpy.zeros(32, dtype)
    kernel = add_at[(3,)](x, out, 300, 128)
    expected = numpy.zeros(32, dtype)
    numpy.add.at(expected, numpy.arange(300) % 32, x)
    numpy.testing.assert_array_equal(out, expected)
    if dtype != "float16":
        assert ("raw.ptr.buffer.atomic" in kernel.asm["llir"]) == buffers


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_atomics_are_instructions_on_buffers(arch):
    text = assembly(add_at, arch, {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}, {"BLOCK": 128})
    assert re.search(r"buffer_atomic_(pk_)?add_f32", text) and not re.search(r"(global|flat)_atomic", text)


@pytest.mark.parametrize("arch, dtype, name", [
    ("gfx942", tl.float8e4b8, "fp8"), ("gfx942", tl.float8e5b16, "bf8"),
    ("gfx950", tl.float8e4nv, "fp8"), ("gfx1200", tl.float8e5, "bf8"),
])
def test_two_numbers_are_narrowed_at_a_time(arch, dtype, name):
    text = assembly(narrow, arch, {"x_ptr": "*fp32", "out_ptr": "*i8"}, {"BLOCK": 2048, "TYPE": dtype}, num_warps=4)
    each = 2048 // (4 * ARCHITECTURES[arch])
    assert len(re.findall(rf"v_cvt_pk_{name}_f32", text)) == each // 2


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_the_clock_and_the_compute_unit(device, arch):
    text = assembly(clocks, arch, {"out_ptr": "*i64"}, {})
    assert len(re.findall(r"s_memrealtime|s_sendmsg_rtn_b64", text)) == 2 and "s_getreg_b32" in text
    device(arch)
    out = numpy.full(2, -1)
    clocks[(1,)](out)
    assert out[0] > 0 and out[1] >= 0


def test_the_clock_is_that_of_one_kind_of_device():
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = "cuda:90"
        clocks.clear_cache()
        with pytest.raises(triton.CompilationError, match="is_hip"):
            clocks[(1,)](numpy.zeros(2, numpy.int64))
