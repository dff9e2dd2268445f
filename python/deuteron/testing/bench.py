"""`do_bench`: how long a function takes, with the caches emptied before each run."""

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

    The last-level cache is emptied before each run; only `fn` itself is timed, on a clock that never goes back.

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

    device = driver.active.get_device_interface()
    cache = driver.active.get_empty_cache_for_benchmark()
    fn()
    device.synchronize()

    def run(times):
        """Milliseconds of one timed run, and of everything around it."""
        whole = [device.Event(enable_timing=True) for _ in range(2)]
        part = [device.Event(enable_timing=True) for _ in range(2)]
        whole[0].record()
        for tensor in grad_to_none or ():
            tensor.grad = None
        driver.active.clear_cache(cache)
        part[0].record()
        fn()
        part[1].record()
        whole[1].record()
        device.synchronize()
        times.append(part[0].elapsed_time(part[1]))
        return whole[0].elapsed_time(whole[1])

    estimate = max(min(run([]) for _ in range(3)), 1e-6)
    for _ in range(int(warmup / estimate)):
        run([])
    times = []
    for _ in range(max(_MIN_REPETITIONS, int(rep / estimate))):
        run(times)
    return _summarize_statistics(times, quantiles, return_mode)


def _needs_graphs(name):
    def refuse(*args, **kwargs):
        from ..runtime.driver import driver

        raise RuntimeError(f"triton.testing.{name} needs a device that records launches in graphs; the current target "
                           f"is {driver.active.get_current_target()}. Use triton.testing.do_bench")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Refuses on devices that record no graphs of launches; use `do_bench`."
    return refuse


do_bench_cudagraph = _needs_graphs("do_bench_cudagraph")
do_bench_cudagraph_proton = _needs_graphs("do_bench_cudagraph_proton")
do_bench_proton = _needs_graphs("do_bench_proton")
cuda_graph_without_gc = _needs_graphs("cuda_graph_without_gc")
