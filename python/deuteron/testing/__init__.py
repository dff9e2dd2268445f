"""Timing, comparing and plotting: the parts of `triton.testing` that have a meaning on the current device."""

from .. import runtime
from .bench import (_quantile, _summarize_statistics, cuda_graph_without_gc, do_bench, do_bench_cudagraph,
                    do_bench_cudagraph_proton, do_bench_proton)
from .compare import assert_close
from .device import (cublas, cuda_memcheck, get_dram_gbps, get_max_simd_tflops, get_max_tensorcore_tflops, nvsmi,
                     set_gpu_clock)
from .report import Benchmark, Mark, perf_report

__all__ = [
    "Benchmark",
    "Mark",
    "assert_close",
    "cublas",
    "cuda_graph_without_gc",
    "cuda_memcheck",
    "do_bench",
    "do_bench_cudagraph",
    "do_bench_cudagraph_proton",
    "do_bench_proton",
    "get_dram_gbps",
    "get_max_simd_tflops",
    "get_max_tensorcore_tflops",
    "nvsmi",
    "perf_report",
    "runtime",
    "set_gpu_clock",
]
