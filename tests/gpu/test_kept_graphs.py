"""Kernels that are launched often are launched by graphs that are kept for them: results, order and what others see stay the same."""

import os
import random
import subprocess
import sys
import threading

import pytest
import torch

import deuteron as triton
import deuteron.language as tl

#: More launches than a kernel needs to get a graph.
MANY = 100
#: Products are taken modulo this, so that they are exact.
MODULUS = 1_000_003


@triton.jit
def put(out_ptr, at, value, K: tl.constexpr):
    tl.store(out_ptr + at + tl.program_id(0), value * K + tl.program_id(0))


@triton.jit
def step(x_ptr, factor, n, BLOCK: tl.constexpr, KIND: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(x_ptr + offsets, (x * factor + KIND) % 1000003, mask=mask)


@triton.jit
def wait_and_put(out_ptr, n, value):
    x = 0.0
    for i in range(n):
        x = x * 0.5 + i
    tl.store(out_ptr, value + (x < 0).to(tl.int32))


def test_every_launch_has_its_own_arguments_and_grid():
    seed = random.randrange(1 << 30)
    choice = random.Random(seed)
    kinds, count = 7, 4000
    out = torch.full((8 * count, ), -1, device="cuda", dtype=torch.int64)
    expected = torch.full((8 * count, ), -1, dtype=torch.int64)
    kind = 0
    for at in range(count):
        # Long runs of one kernel, which then has a graph, and changes between kernels.
        if choice.random() < (0.02 if at < count // 2 else 0.5):
            kind = choice.randrange(kinds)
        grid, value = choice.randint(1, 8), choice.randrange(1 << 20)
        put[(grid, )](out, 8 * at, value, K=kind)
        expected[8 * at:8 * at + grid] = torch.arange(grid) + value * kind
    assert torch.equal(out.cpu(), expected), f"seed {seed}"


def test_launches_stay_in_order_with_all_else(rng):
    n = 1000
    x = torch.randint(0, MODULUS, (n, ), generator=rng, device="cuda")
    other = torch.cuda.Stream()
    expected = x.cpu()
    choice = random.Random(int(expected[0]))
    for _ in range(40):
        stream = choice.choice([torch.cuda.current_stream(), other])
        stream.wait_stream(other if stream != other else torch.cuda.default_stream())
        with torch.cuda.stream(stream):
            for _ in range(choice.randint(1, 30)):
                kind, factor = choice.randrange(3), choice.randint(2, 900)
                if kind == 2:
                    x.mul_(factor).remainder_(MODULUS)
                    expected = expected * factor % MODULUS
                else:
                    step[(triton.cdiv(n, 256), )](x, factor, n, BLOCK=256, KIND=kind)
                    expected = (expected * factor + kind) % MODULUS
        torch.cuda.default_stream().wait_stream(other)
    assert torch.equal(x.cpu(), expected)


def test_more_launches_than_the_queue_holds():
    out = torch.full((3000, ), -1, device="cuda", dtype=torch.int32)
    wait_and_put[(1, )](out, 3_000_000, 5)
    for at in range(1, 3000):
        wait_and_put[(1, )](out[at:], 0, at)
    out[0] -= 5
    assert torch.equal(out.cpu(), torch.arange(3000, dtype=torch.int32))


def test_kernels_with_graphs_are_captured_as_launches():
    x = torch.ones(1000, device="cuda", dtype=torch.int64)

    def launches():
        step[(4, )](x, 2, 1000, BLOCK=256, KIND=1)

    for _ in range(MANY):
        launches()
    x.fill_(1)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launches()
        launches()
    assert x[0].item() == 1, "capturing runs nothing"
    graph.replay()
    launches()
    graph.replay()
    value = 1
    for _ in range(5):
        value = (2 * value + 1) % MODULUS
    assert torch.equal(x, torch.full_like(x, value))


def test_threads_with_streams_of_their_own():
    failures = []

    def work(number):
        try:
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                out = torch.full((500, ), -1, device="cuda", dtype=torch.int64)
                for at in range(500):
                    put[(1, )](out, at, at + number, K=3)
            stream.synchronize()
            expected = 3 * (torch.arange(500) + number)
            if not torch.equal(out.cpu(), expected):
                failures.append(number)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number, )) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_capture_elsewhere_is_not_disturbed():
    """Another thread captures in the strict mode while kernels here get graphs."""
    x = torch.zeros(10, device="cuda")
    out = torch.full((MANY, ), -1, device="cuda", dtype=torch.int64)
    put[(1, )](out, 0, 0, K=11)
    torch.cuda.synchronize()
    captured, launched, failures = threading.Event(), threading.Event(), []
    graph = torch.cuda.CUDAGraph()

    def capture():
        try:
            with torch.cuda.graph(graph, stream=torch.cuda.Stream(), capture_error_mode="global"):
                x.add_(1)
                captured.set()
                launched.wait(60)
                x.add_(1)
        except Exception as error:
            failures.append(error)
        captured.set()

    thread = threading.Thread(target=capture)
    thread.start()
    captured.wait(60)
    mine = torch.cuda.Stream()
    for at in range(MANY):
        put.run(out, at, at, K=11, grid=(1, ), warmup=False, stream=mine.cuda_stream)
    launched.set()
    thread.join()
    assert not failures
    graph.replay()
    torch.cuda.synchronize()
    assert x.tolist() == [2.0] * 10
    assert torch.equal(out.cpu(), 11 * torch.arange(MANY))


def test_the_profiler_sees_every_launch_by_its_name():
    out = torch.full((MANY, ), -1, device="cuda", dtype=torch.int64)
    for at in range(MANY):
        put[(1, )](out, at, at, K=5)
    torch.cuda.synchronize()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        for at in range(20):
            put[(1, )](out, at, at, K=5)
        torch.cuda.synchronize()
    names = [event.name for event in profile.events()]
    if not any(event.device_type == torch.autograd.DeviceType.CUDA for event in profile.events()):
        pytest.skip("NOT RUN: torch's profiler records nothing of this GPU")
    assert names.count("put") == 20
    assert not any("GraphLaunch" in name for name in names)


def test_graphs_can_be_turned_off():
    code = ("import torch, deuteron as triton, deuteron.language as tl; from test_kept_graphs import put\n"
            "out = torch.zeros(100, device='cuda', dtype=torch.int64)\n"
            "for at in range(100): put[(1, )](out, at, at, K=2)\n"
            "assert torch.equal(out.cpu(), 2 * torch.arange(100))")
    environment = {**os.environ, "DEUTERON_PLAIN_LAUNCHES": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([os.path.dirname(__file__), environment.get("PYTHONPATH", "")])
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
