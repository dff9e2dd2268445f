"""Tuning and timing on a GPU."""

import importlib
import statistics

import pytest
import torch

import deuteron as triton
import deuteron.language as tl

CONFIGS = [triton.Config({"BLOCK": block}, num_warps=warps) for block in (256, 1024, 4096) for warps in (1, 4)]


@triton.jit
def accumulate(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, tl.load(y_ptr + offsets, mask=mask) + tl.load(x_ptr + offsets, mask=mask), mask=mask)


def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]), )


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache folder of its own."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


@pytest.mark.parametrize("declared", ["restore_value", "reset_to_zero"])
def test_data_is_restored(rng, declared):
    n = 100_003
    x = torch.randn(n, device="cuda", generator=rng)
    y = torch.zeros(n, device="cuda") if declared == "reset_to_zero" else torch.randn(n, device="cuda", generator=rng)
    expected = x + y
    kernel = triton.autotune(CONFIGS, key=["n"], **{declared: ["y_ptr"]})(accumulate)
    kernel[grid](x, y, n)
    assert torch.equal(y, expected) and kernel.best_config in CONFIGS and len(kernel.configs_timings) == len(CONFIGS)
    again = triton.autotune(CONFIGS, key=["n"], **{declared: ["y_ptr"]})(accumulate)
    again[grid](x, y, n)
    assert torch.equal(y, expected + x) and again.bench_time is None and again.best_config == kernel.best_config


def test_what_needs_too_much_is_listed(rng):
    def config(m, n, k, stages):
        return triton.Config({"BLOCK_SIZE_M": m, "BLOCK_SIZE_N": n, "BLOCK_SIZE_K": k, "GROUP_SIZE_M": 8}, num_stages=stages)

    # The last does not fit with one stage either: 512 KiB.
    configs = [config(64, 64, 32, 3), config(128, 64, 32, 3), config(256, 256, 512, 4)]
    a, b = (torch.randn(512, 512, device="cuda", generator=rng).half() for _ in range(2))
    c = torch.empty_like(a)
    kernel = triton.autotune(configs, key=["M", "N", "K"])(importlib.import_module("03_matmul").matmul_kernel)
    kernel[lambda meta: (triton.cdiv(512, meta["BLOCK_SIZE_M"]) * triton.cdiv(512, meta["BLOCK_SIZE_N"]), )](
        a, b, c, 512, 512, 512, 512, 1, 512, 1, 512, 1, ACTIVATION="")
    torch.testing.assert_close(c.float(), a.float() @ b.float(), atol=0.1, rtol=1e-2)
    assert list(kernel.failed_configs) == configs[2:] and "shared memory" in kernel.failed_configs[configs[2]]
    assert kernel.best_config in configs[:2] and kernel.configs_timings[configs[2]] == [float("inf")] * 3


def test_timing_goes_to_the_current_stream(rng):
    n = 1 << 20
    x, y = torch.randn(n, device="cuda", generator=rng), torch.zeros(n, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        kernel = triton.autotune(CONFIGS, key=["n"], reset_to_zero=["y_ptr"])(accumulate)
        kernel[grid](x, y, n)
    stream.synchronize()
    assert torch.equal(x, y)


@pytest.mark.filterwarnings("ignore:autotune:DeprecationWarning")
def test_tuning_by_graphs(rng):
    """Launches are timed within a CUDA graph, and what the kernel adds to is put back before each."""
    n = 100_003
    x, y = torch.randn(n, device="cuda", generator=rng), torch.randn(n, device="cuda", generator=rng)
    expected = x + y
    kernel = triton.autotune(CONFIGS, key=["n"], restore_value=["y_ptr"], use_cuda_graph=True)(accumulate)
    kernel[grid](x, y, n)
    assert torch.equal(y, expected) and kernel.best_config in CONFIGS
    assert len(kernel.configs_timings) == len(CONFIGS)
    assert all(0 < time < 100 for times in kernel.configs_timings.values() for time in times)


def test_benchmarks_agree_with_each_other(rng):
    n = 1 << 24
    x, y = torch.randn(n, device="cuda", generator=rng), torch.zeros(n, device="cuda")

    def run():
        accumulate[(n // 1024, )](x, y, n, BLOCK=1024)

    by_events = triton.testing.do_bench(run, return_mode="median")
    by_graph = triton.testing.do_bench_cudagraph(run, return_mode="median")
    assert 0 < by_graph < 3 * by_events and by_events < 3 * by_graph
    times = triton.testing.do_bench(run, return_mode="all")
    low, middle, high = triton.testing.do_bench(run, quantiles=[0.2, 0.5, 0.8])
    assert len(times) >= 5 and low <= middle <= high and statistics.median(times) > 0
    assert triton.testing.do_bench_cudagraph(run, quantiles=[0.5]) > 0


def test_limits_of_the_device():
    assert 100 < triton.testing.get_dram_gbps() < 20_000
    clock = triton.runtime.driver.active.utils.get_device_properties(0)["sm_clock_rate"]
    simd = triton.testing.get_max_simd_tflops(torch.float32, clock)
    matrix = triton.testing.get_max_tensorcore_tflops(torch.float16, clock)
    assert 1 < simd < matrix < 20_000
    assert triton.testing.get_max_tensorcore_tflops(tl.float8e5, clock) == 2 * matrix
