"""`do_bench`: how long a function takes, with the caches emptied before each run."""

import contextlib
import gc
import math
import statistics

#: At least so many timed runs, however long one takes.
_MIN_REPETITIONS = 5


def _quantile(values, quantiles):
    """Quantiles by linear interpolation between neighbours."""
    values = sorted(values)

    def one(quantile):
        if not 0 <= quantile <= 1:
            raise ValueError("Quantiles must be in the range [0, 1]")
        point = quantile * (len(values) - 1)
        lower, upper = math.floor(point), math.ceil(point)
        share = point - lower
        return (1 - share) * values[lower] + share * values[upper]

    return [one(quantile) for quantile in quantiles]


def _summarize_statistics(times, quantiles, return_mode):
    """The quantiles of `times` where they are asked for (a single one bare), else what `return_mode` names."""
    if quantiles is not None:
        found = _quantile(times, quantiles)
        return found[0] if len(found) == 1 else found
    if return_mode == "all":
        return times
    return {"min": min, "max": max, "mean": statistics.mean, "median": statistics.median}[return_mode](times)


def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean"):
    """Times a function.

    The last-level cache is emptied before each run; only `fn` itself is timed: by events in the stream on a GPU, by a clock
    that never goes back on the host.

    Args:
        fn: is called without arguments.
        warmup: milliseconds of calls before the timed ones.
        rep: milliseconds of timed calls, emptying the cache included; there are at least five.
        grad_to_none: tensors whose ``grad`` is dropped before each run.
        quantiles: return these quantiles instead, ``[0.5, 0.2, 0.8]`` for example.
        return_mode: ``"min"``, ``"max"``, ``"mean"``, ``"median"`` or ``"all"``.

    Returns:
        Milliseconds: one number, or a list for several quantiles or ``"all"``.
    """
    if return_mode not in ("min", "max", "mean", "median", "all"):
        raise ValueError(f"return_mode is {return_mode!r}; it can be min, max, mean, median or all")
    from ..runtime.driver import driver
    from .clock import Clock

    clock = Clock(driver.active)

    def drop_gradients():
        for tensor in grad_to_none or ():
            tensor.grad = None

    fn()
    clock.synchronize()
    estimate = clock.estimate(fn)
    for _ in range(max(1, int(warmup / estimate))):
        fn()
    times = clock.times(fn, max(_MIN_REPETITIONS, int(rep / estimate)), before=drop_gradients)
    return _summarize_statistics(times, quantiles, return_mode)


#: How often a graph of calls is replayed.
_REPLAYS = 10


def _estimate(fn, device):
    """About how many milliseconds a call takes where calls follow each other."""
    start, end = device.Event(enable_timing=True), device.Event(enable_timing=True)
    start.record()
    for _ in range(_MIN_REPETITIONS):
        fn()
    end.record()
    device.synchronize()
    return max(start.elapsed_time(end) / _MIN_REPETITIONS, 1e-6)


def do_bench_cudagraph(fn, rep=20, grad_to_none=None, quantiles=None, return_mode="mean"):
    """Times a function by a graph of many calls of it, so that the time of launching does not count.

    Args:
        fn: is called without arguments.
        rep: milliseconds of calls in the graph.
        grad_to_none: tensors whose ``grad`` is dropped before each call.
        quantiles, return_mode: as in `do_bench`.
    """
    if return_mode not in ("min", "max", "mean", "median", "all"):
        raise ValueError(f"return_mode is {return_mode!r}; it can be min, max, mean, median or all")
    _, device = _graphs("do_bench_cudagraph")
    with device.stream(device.Stream()):
        fn()
        for tensor in grad_to_none or ():
            tensor.detach_()
            tensor.requires_grad_(True)
            tensor.grad = None
        calls = max(1, int(rep / _estimate(fn, device)))
        graph = device.CUDAGraph()
        with device.graph(graph):
            for _ in range(calls):
                for tensor in grad_to_none or ():
                    tensor.grad = None
                fn()
        device.synchronize()
        times = []
        for _ in range(_REPLAYS):
            start, end = device.Event(enable_timing=True), device.Event(enable_timing=True)
            start.record()
            graph.replay()
            end.record()
            device.synchronize()
            times.append(start.elapsed_time(end) / calls)
    return _summarize_statistics(times, quantiles, return_mode)


def _graphs(name):
    """torch and its interface to devices that record launches in graphs."""
    from ..runtime.driver import driver

    device = driver.active.get_device_interface()
    if not hasattr(device, "CUDAGraph"):
        raise RuntimeError(f"triton.testing.{name} needs torch and a device that records launches in graphs; the current "
                           f"target is {driver.active.get_current_target()}. Use triton.testing.do_bench")
    import torch

    return torch, device


@contextlib.contextmanager
def cuda_graph_without_gc(*args, **kwargs):
    """Captures a graph while Python collects no garbage, which could free device memory in the middle."""
    _, device = _graphs("cuda_graph_without_gc")
    was = gc.isenabled()
    gc.disable()
    try:
        with device.graph(*args, **kwargs) as graph:
            yield graph
    finally:
        if was:
            gc.enable()


def _needs_profiler(name):
    def refuse(*args, **kwargs):
        raise RuntimeError(f"triton.testing.{name} needs a profiler that is not part of this package. Use "
                           "triton.testing.do_bench or triton.testing.do_bench_cudagraph")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Refuses: it needs a profiler that is not part of this package; use `do_bench`."
    return refuse


do_bench_cudagraph_proton = _needs_profiler("do_bench_cudagraph_proton")
do_bench_proton = _needs_profiler("do_bench_proton")
