"""What a launch, a compile and a start cost, from Python: run by `make bench`.

Every figure is the median of many, of compiles also the least; a busy machine makes them larger, never smaller.
"""

import importlib
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import triton
import triton.language as tl

HERE = Path(__file__).resolve().parent
TESTS = HERE.parents[1] / "tests" / "python"
sys.path.insert(0, str(HERE.parents[1] / "examples"))


@triton.jit
def five_arguments(x_ptr, y_ptr, z_ptr, n, alpha, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(z_ptr + offsets, x * alpha + tl.load(y_ptr + offsets, mask=mask), mask=mask)


def median_us(function, repetitions):
    """Median microseconds of single calls."""
    times = []
    for _ in range(repetitions):
        began = time.perf_counter_ns()
        function()
        times.append(time.perf_counter_ns() - began)
    return statistics.median(times) / 1e3


def launches():
    """A kernel that does next to nothing, with NumPy arrays and with torch tensors."""
    kinds = {"numpy": [np.ones(64, np.float32) for _ in range(3)]}
    try:
        import torch

        kinds["torch"] = [torch.ones(64) for _ in range(3)]
    except ImportError:
        pass
    for kind, arrays in kinds.items():
        us = median_us(lambda: five_arguments[(1, )](*arrays, 64, 2.0, BLOCK=64), 20000)
        print(f"launch of 5 arguments ({kind:5})       {us:8.2f} us   (aim: 5)")


def example_launches():
    """Launches every kernel of the examples, small."""
    add, softmax, matmul, norm, dropout, attention = map(importlib.import_module, (
        "01_vector_add", "02_softmax", "03_matmul", "04_layer_norm", "05_dropout", "06_attention"))
    import common

    modules = add, softmax, matmul, norm, dropout, attention
    kernels = [kernel for module in modules for kernel in vars(module).values() if isinstance(kernel, triton.JITFunction)]
    row, matrix, out = common.zeros(4096), common.zeros(16, 4096), common.zeros(16, 4096)
    a, b, c = (common.zeros(64, 64) for _ in range(3))
    stats = common.zeros(16), common.zeros(16)
    q, k, v, result = (common.zeros(1, 128, 64) for _ in range(4))

    def launch():
        add.add(row, row)
        for variant in softmax.VARIANTS.values():
            variant(matrix, out)
        matmul.matmul(a, b, c, "leaky_relu")
        norm.forward(matrix, row, row, out, *stats)
        norm.backward(matrix, matrix, row, *stats)
        dropout.dropout(row, 0.5, 3)
        attention.attention(q, k, v, result, True)

    return kernels, launch


def compiles(rounds=15):
    """Source to ttir and source to native code, caches off, in a warm process."""
    kernels, launch = example_launches()
    ttir, native, processor = {}, {}, {}
    last = 0.0

    def listener(metadata, times, **_):
        nonlocal last
        # All that was done since the last compile ended: this one, and a launch of some microseconds.
        spent, last = time.process_time() - last, time.process_time()
        processor.setdefault(metadata["name"], []).append(spent * 1e3)
        front = times.ir_initialization + dict(times.lowering_stages)["ttir"]
        ttir.setdefault(metadata["name"], []).append(front / 1e3)
        native.setdefault(metadata["name"], []).append(times.total / 1e3)

    with triton.knobs.compilation.scope():
        triton.knobs.compilation.always_compile = True
        triton.knobs.compilation.listener = listener
        for _ in range(rounds + 1):
            for kernel in kernels:
                kernel.clear_cache()
            last = time.process_time()
            launch()
    print(f"{'compile (ms, of ' + str(rounds) + ' times)':<28} {'to ttir: least':>15} {'median':>7}   {'to code: least':>15} "
          f"{'median':>7} {'processor':>10}   (aims: 1 ms, 40 ms)")
    for name in native:
        # The first compile of a process loads LLVM.
        front, code = sorted(ttir[name][1:]), sorted(native[name][1:])
        print(f"{name:<28} {front[0]:15.2f} {statistics.median(front):7.2f}   {code[0]:15.1f} {statistics.median(code):7.1f} "
              f"{min(processor[name][1:]):10.1f}")


START = """
import time; begin = time.perf_counter()
import deuteron; imported = time.perf_counter()
import sys; sys.path.insert(0, {tests!r})
import numpy as np, seed_kernels
x = np.ones(1000, np.float32); y = np.empty_like(x)
launch = time.perf_counter(); seed_kernels.add_kernel[(1, )](x, x, y, 1000, BLOCK_SIZE=1024)
print((imported - begin) * 1e3, (time.perf_counter() - launch) * 1e3)
"""


def starts():
    """A new process: the import, and the first launch with the kernel in the cache."""
    code = START.format(tests=str(TESTS))
    runs = [tuple(map(float, subprocess.check_output([sys.executable, "-c", code], text=True).split()))
            for _ in range(12)][1:]
    print(f"import deuteron                        {statistics.median(run[0] for run in runs):8.2f} ms   (aim: 60)")
    print(f"first launch, kernel in the cache      {statistics.median(run[1] for run in runs):8.2f} ms   (aim: 30)")


if __name__ == "__main__":
    launches()
    compiles()
    starts()
