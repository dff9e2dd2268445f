"""Many launches, many compiles, many threads, in one process."""

import gc
import importlib.util
import os
import resource
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl


@triton.jit
def tiny(x_ptr, y_ptr, n, alpha, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * alpha, mask=mask)


@triton.jit
def sized(y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.program_id(0).to(tl.float32), mask=offsets < n)


def resident():
    """Bytes of memory in use."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_a_hundred_thousand_launches_leak_nothing():
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    launch = tiny[(1, )]
    for _ in range(5000):
        launch(x, y, 64, 2.0, BLOCK=64)
    growth = []
    # Other threads of a process may take memory meanwhile; what leaks does so every time.
    for _ in range(3):
        gc.collect()
        before, references = resident(), len(gc.get_objects())
        for index in range(100_000):
            tiny[(1, )](x, y, 64, float(index % 7), BLOCK=64)
        gc.collect()
        assert np.array_equal(y, x * (99_999 % 7))
        assert len(gc.get_objects()) - references < 200
        growth.append(resident() - before)
    assert min(growth) < 4 << 20


def a_function(x_ptr, n, BLOCK: tl.constexpr):
    """Nothing: only its making is of interest."""


def test_a_collection_while_kernels_are_made():
    """The garbage collector may come at every allocation, also at those that make a kernel or a launcher."""
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        kernels = [triton.jit(a_function, do_not_specialize=["n"]) for _ in range(300)]
        launchers = [kernel[(1, )] for kernel in kernels]
        compiled = tiny.warmup(tl.float32, tl.float32, 5, 1.0, BLOCK=16, grid=(1, ))
        bound = [compiled[(1, )] for _ in range(300)]
    finally:
        gc.set_threshold(*before)
    assert len(kernels) == len(launchers) == len(bound)


@pytest.fixture
def few_objects():
    """Collections that look at none of the objects of other tests: there are a million of them late in a run."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def test_launchers_go_away_in_any_order(few_objects):
    """The memory of one serves the next: those alive keep their own function and grid, and nothing is counted wrong."""
    x, y = np.arange(64, dtype=np.float32), np.zeros((3, 64), np.float32)

    def grid(meta):
        # A launcher is made and dropped while another is in use.
        sized[(meta["n"] // meta["BLOCK"], )](y[2], meta["n"], BLOCK=meta["BLOCK"])
        return (meta["n"] // meta["BLOCK"], )

    counts = set()
    for _ in range(100):
        y.fill(np.nan)
        first, second, third = tiny[(4, )], sized[lambda meta: (8, )], tiny[grid]
        del second
        fourth = sized[(2, )]
        gc.collect()
        first(x, y[0], 64, 2.0, BLOCK=16)
        fourth(y[1], 64, BLOCK=32)
        third(x, x.copy(), 64, 3.0, BLOCK=8)
        del third, first, fourth
        assert np.array_equal(y[0], x * 2)
        assert np.array_equal(y[1], np.repeat([0.0, 1.0], 32))
        assert np.array_equal(y[2], np.repeat(np.arange(8.0), 8))
        counts.add((sys.getrefcount(tiny), sys.getrefcount(sized)))
    assert len(counts) == 1


def test_kernels_that_nobody_needs_are_collected():
    import weakref

    def make():
        def inner(x_ptr, n):
            return kernel

        kernel = triton.jit(inner)
        return weakref.ref(kernel)

    gone = [make() for _ in range(50)]
    gc.collect()
    assert [reference() for reference in gone] == [None] * 50


SOURCE = """
import deuteron as triton
import deuteron.language as tl

@triton.jit
def kernel(out_ptr, VALUE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, offsets + VALUE)
"""


def test_a_thousand_kernels_in_one_process(tmp_path):
    path = tmp_path / "many.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("many", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    out = np.zeros(16, np.int32)
    hashes = set()
    sizes = []
    for value in range(1000):
        hashes.add(module.kernel[(1, )](out, value, BLOCK=16).hash)
        assert out[0] == value and out[15] == value + 15
        if value % 250 == 249:
            gc.collect()
            sizes.append(resident())
    assert len(hashes) == 1000
    # A kernel of this size may keep its code, its text and its key: 100 KiB are ample.
    assert sizes[-1] - sizes[0] < 750 * (100 << 10)


def test_threads_launch_and_compile_at_once(tmp_path):
    path = tmp_path / "threads.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("threads_module", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    barrier = threading.Barrier(8)

    def work(thread):
        out = np.zeros(16, np.int32)
        barrier.wait()
        for step in range(40):
            # Half of the values are compiled by several threads at once.
            value = step if thread % 2 else 1000 * thread + step
            module.kernel[(1, )](out, value, BLOCK=16)
            if not np.array_equal(out, np.arange(16) + value):
                return (thread, value, out.tolist())
        return None

    with ThreadPoolExecutor(8) as pool:
        assert [wrong for wrong in pool.map(work, range(8)) if wrong] == []


def test_large_launches_from_several_threads():
    x = np.random.default_rng(0).standard_normal(1 << 20).astype(np.float32)

    def work(alpha):
        y = np.full_like(x, np.nan)
        for _ in range(10):
            tiny[(triton.cdiv(len(x), 1024), )](x, y, len(x), alpha, BLOCK=1024)
        return np.array_equal(y, x * np.float32(alpha))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, [1.5, 2.5, 3.5, 4.5]))


def test_results_do_not_depend_on_the_number_of_threads(python):
    code = """
import numpy as np, sys
sys.path.insert(0, {tests!r})
import seed_kernels
x = np.random.default_rng(1).standard_normal((300, 1000)).astype(np.float32)
y = np.zeros_like(x)
seed_kernels.softmax_kernel_naive[(300, )](x, y, 1000, 1000, BLOCK_SIZE=256)
import hashlib; print(hashlib.sha256(y.tobytes()).hexdigest())
""".format(tests=os.path.dirname(__file__))
    digests = {python("-c", code, env={"OMP_NUM_THREADS": count}).stdout for count in ("1", "2")}
    assert len(digests) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_child_launches_too():
    x, y = np.arange(4096, dtype=np.float32), np.zeros(4096, np.float32)
    tiny[(4, )](x, y, 4096, 2.0, BLOCK=1024)
    child = os.fork()
    if child == 0:
        y[:] = 0
        tiny[(4, )](x, y, 4096, 3.0, BLOCK=1024)
        os._exit(0 if np.array_equal(y, x * 3) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    tiny[(4, )](x, y, 4096, 4.0, BLOCK=1024)
    assert np.array_equal(y, x * 4)
