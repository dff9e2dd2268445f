"""What a launch, a compile and a start cost, from Python: run by `make bench`.

Every figure is the median of many; a busy machine makes them larger, never smaller.
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import triton
import triton.language as tl

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "python"))


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


def compiles():
    """Source to native code, caches off, in a warm process."""
    import seed_kernels as seeds

    matrix = np.zeros((4, 1024), np.float32)
    jobs = {
        "vector add": lambda: seeds.add_kernel.warmup(matrix, matrix, matrix, 4096, BLOCK_SIZE=1024, grid=(4, )),
        "softmax naive": lambda: seeds.softmax_kernel_naive.warmup(matrix, matrix, 1024, 1000, 256, grid=(4, )),
        "softmax online": lambda: seeds.softmax_kernel_v1.warmup(matrix, matrix, 1024, 1000, 256, grid=(4, )),
        "softmax fused": lambda: seeds.fused_softmax_kernel.warmup(matrix, matrix, 1024, 1000, 1024, grid=(4, )),
        "softmax persistent": lambda: seeds.softmax_kernel.warmup(matrix, matrix, 1024, 1024, 4, 1000, 1024, 4,
                                                                  grid=(4, )),
    }
    with triton.knobs.compilation.scope():
        triton.knobs.compilation.always_compile = True
        for name, compile_it in jobs.items():
            times = []
            for _ in range(15):
                for kernel in vars(seeds).values():
                    if isinstance(kernel, triton.JITFunction):
                        kernel.clear_cache()
                times.append(median_us(compile_it, 1))
            print(f"compile {name:20}           {statistics.median(times) / 1e3:8.2f} ms   (aim: 40)")


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
    code = START.format(tests=str(HERE.parents[1] / "tests" / "python"))
    runs = [tuple(map(float, subprocess.check_output([sys.executable, "-c", code], text=True).split()))
            for _ in range(12)][1:]
    print(f"import deuteron                        {statistics.median(run[0] for run in runs):8.2f} ms   (aim: 60)")
    print(f"first launch, kernel in the cache      {statistics.median(run[1] for run in runs):8.2f} ms   (aim: 30)")


if __name__ == "__main__":
    launches()
    compiles()
    starts()
