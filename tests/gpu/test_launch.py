"""Launching: arguments, streams, graphs, devices, errors, and what a kernel tells about itself."""

import math

import pytest
import torch

import deuteron as triton
import deuteron.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


@triton.jit
def spin(out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    value = tl.load(out_ptr + offsets)
    for _ in range(n):
        value = value * 1.0001 + 1.0
    tl.store(out_ptr + offsets, value)


def launch(x, y, out, **options):
    n = math.prod(out.shape)
    return add[(triton.cdiv(n, 256), )](x, y, out, n, BLOCK=256, **options)


@pytest.mark.parametrize("n", [1, 31, 256, 1000, 100_003])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.int8])
def test_sums_of_every_size_and_type(n, dtype, rng):
    make = torch.rand if dtype.is_floating_point else lambda *a, **k: torch.randint(0, 50, *[(v, ) for v in a], **k)
    x, y = (make(n, generator=rng, device="cuda").to(dtype) for _ in range(2))
    out = torch.full((n + 5, ), 7, device="cuda", dtype=dtype)
    launch(x, y, out[:n])
    assert torch.equal(out[:n], x + y)
    assert torch.equal(out[n:], torch.full((5, ), 7, device="cuda", dtype=dtype)), "what lies beyond is kept"


@pytest.mark.parametrize("num_warps", [1, 2, 4, 8, 16])
def test_any_number_of_warps(num_warps, rng):
    x, y = (torch.rand(5000, generator=rng, device="cuda") for _ in range(2))
    out = torch.empty_like(x)
    kernel = launch(x, y, out, num_warps=num_warps)
    assert torch.equal(out, x + y) and kernel.metadata.num_warps == num_warps


def test_what_a_kernel_tells_about_itself(rng):
    x = torch.rand(1000, generator=rng, device="cuda")
    kernel = launch(x, x, torch.empty_like(x))
    target = triton.runtime.driver.active.get_current_target()
    capability = torch.cuda.get_device_capability()
    assert (target.backend, target.arch, target.warp_size) == ("cuda", 10 * capability[0] + capability[1], 32)
    assert kernel.metadata.target == target
    assert 0 < kernel.n_regs < 256 and kernel.n_spills == 0 and kernel.n_max_threads >= 128
    for stage in ("ttir", "ttgir", "llir", "ptx"):
        assert "add" in kernel.asm[stage]
    assert kernel.asm["cubin"].startswith(b"\x7fELF") and kernel.function > 0
    properties = triton.runtime.driver.active.utils.get_device_properties(0)
    assert properties["multiprocessor_count"] == torch.cuda.get_device_properties(0).multi_processor_count
    assert properties["warpSize"] == 32 and properties["max_shared_mem"] > 48 << 10


def test_the_current_stream_is_used(rng):
    """A slow kernel on another stream, then one that depends on it: only the right stream gives the right values."""
    stream = torch.cuda.Stream()
    value = torch.zeros(1024, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        assert triton.runtime.driver.active.get_current_stream() == stream.cuda_stream
        spin[(1, )](value, 300_000, BLOCK=1024)
        done = value + 0
    stream.synchronize()
    assert torch.equal(done, value) and value[0].item() > 0


def test_a_stream_can_be_named(rng):
    x = torch.rand(1000, generator=rng, device="cuda")
    out = torch.empty_like(x)
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    kernel = add.warmup(x, x, out, 1000, BLOCK=256, grid=(4, ))
    kernel[(4, 1, 1)](x, x, out, 1000, 256, stream=stream.cuda_stream)
    stream.synchronize()
    assert torch.equal(out, x + x)


def test_launches_can_be_captured_in_a_graph(rng):
    x, y = (torch.rand(1000, generator=rng, device="cuda") for _ in range(2))
    out = torch.empty_like(x)
    launch(x, y, out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch(x, y, out)
    x.fill_(3.0)
    y.fill_(4.0)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, torch.full_like(out, 7.0))


def test_pinned_memory_is_reachable_and_other_memory_of_the_host_is_not(rng):
    x = torch.rand(1000, generator=rng, device="cuda")
    pinned = torch.zeros(1000).pin_memory()
    launch(x, x, pinned)
    torch.cuda.synchronize()
    assert torch.equal(pinned, (x + x).cpu())
    with pytest.raises(ValueError, match=r"`out_ptr`.*cannot be accessed from Triton \(cpu tensor\?\)"):
        launch(x, x, torch.zeros(1000))
    with pytest.raises(ValueError, match="cpu tensor"):
        launch(x, x, torch.zeros(1000).numpy())


def test_tensors_without_elements_may_be_anywhere(rng):
    x = torch.rand(1000, generator=rng, device="cuda")
    out = torch.full_like(x, float("nan"))
    launch(x, x, out)
    add[(4, )](torch.empty(0), torch.empty([0]).pin_memory(), out, 0, BLOCK=256)
    torch.cuda.synchronize()
    assert torch.equal(out, x + x)


def test_arrays_of_other_libraries():
    cupy = pytest.importorskip("cupy")
    x = cupy.random.rand(1000, dtype=cupy.float32)
    out = cupy.empty_like(x)
    add[(4, )](x, x, out, 1000, BLOCK=256)
    torch.cuda.synchronize()
    assert bool((out == x + x).all())


def test_too_much_of_something_is_said(rng):
    x = torch.rand(1000, generator=rng, device="cuda")
    with pytest.raises(Exception, match="grid"):
        add[(1, 70_000)](x, x, x, 1000, BLOCK=256)
        torch.cuda.synchronize()


def test_hooks_hear_of_launches(rng):
    heard = []
    x = torch.rand(1000, generator=rng, device="cuda")
    hook = lambda metadata: heard.append(metadata.get())  # noqa: E731
    triton.knobs.runtime.launch_enter_hook.add(hook)
    try:
        launch(x, x, torch.empty_like(x))
    finally:
        triton.knobs.runtime.launch_enter_hook.remove(hook)
    assert heard[0]["name"] == "add" and heard[0]["stream"] == torch.cuda.current_stream().cuda_stream


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="NOT RUN: there is one GPU here")
def test_several_devices():
    for number in (1, 0, 1):
        with torch.cuda.device(number):
            x = torch.rand(1000, device="cuda")
            out = torch.empty_like(x)
            launch(x, x, out)
            assert torch.equal(out, x + x)
            assert triton.runtime.driver.active.get_current_device() == number


def test_an_illegal_address_names_the_kernel(python, tmp_path):
    script = tmp_path / "illegal.py"
    script.write_text("""
import torch, deuteron as triton, deuteron.language as tl

@triton.jit
def wild(x_ptr, n, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK) + n, 1.0)

x = torch.zeros(16, device="cuda")
wild[(1, )](x, 1 << 44, BLOCK=16)
try:
    triton.runtime.driver.active.get_device_interface()
    import deuteron._core as core
    core.synchronize(0)
except RuntimeError as error:
    print("TOLD", error)
""")
    told = python(script).stdout
    assert "TOLD" in told and "`wild`" in told and "check the masks" in told


def test_do_bench_times_the_device(rng):
    x = torch.rand(1 << 24, generator=rng, device="cuda")
    out = torch.empty_like(x)
    ms = triton.testing.do_bench(lambda: launch(x, x, out))
    # 128 MB are moved: between 10 GB/s and 20 TB/s.
    assert 0.006 < ms < 13
    assert triton.testing.do_bench_cudagraph(lambda: launch(x, x, out)) < 2 * ms
    assert triton.testing.get_dram_gbps() > 100


@triton.jit(interpret=True)
def shifted(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_interpreted_kernels_take_tensors_of_the_device(dtype, rng):
    both = torch.randint(0, 50, (2 * 301, ), generator=rng, device="cuda").to(dtype)
    expected = torch.cat([both[301:] + 1, both[301:]])
    shifted[(triton.cdiv(301, 64), )](both[301:], both[:301], 301, BLOCK=64)
    assert torch.equal(both, expected)
