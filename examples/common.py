"""What the examples share: arrays with or without torch, checking, measuring, tables."""

import importlib.util
import os
import sys
import time

if importlib.util.find_spec("triton") is None:
    # `python -m deuteron examples/x.py` has done this already; `python examples/x.py` comes here.
    import deuteron

    deuteron.install()

import numpy as np

try:
    if os.environ.get("EXAMPLES_ARRAYS") == "numpy":
        raise ImportError("torch is left out by request")
    import torch
except ImportError:
    torch = None


def on_cpu():
    """Whether kernels run on a processor: compiled for one, or interpreted."""
    import triton

    # An interpreter needs no driver, and without a GPU the reference has none.
    return os.environ.get("TRITON_INTERPRET") == "1" or \
        triton.runtime.driver.active.get_current_target().backend == "cpu"


class Check:
    """How far a result is from its reference, and how far it may be."""

    def __init__(self, label, difference, allowed):
        self.label = label
        self.difference = difference
        self.allowed = allowed

    @property
    def passed(self):
        """NaN passes no check."""
        return bool(self.difference <= self.allowed)


class Measurement:
    """One job done by several providers.

    Attributes:
        label: what is measured.
        amount: bytes or operations of one run.
        unit: ``"GB/s"`` or ``"GFLOP/s"``.
        providers: from ``"deuteron"``, ``"numpy"`` and ``"torch"`` to a function without arguments.
    """

    def __init__(self, label, amount, unit, **providers):
        self.label = label
        self.amount = amount
        self.unit = unit
        self.providers = {name: run for name, run in providers.items() if run is not None}

    def rates(self, budget=0.6):
        """Units a second by provider: the median of runs. Providers take turns, so that noise hits all alike, and each
        turn begins when the threads of the one before have gone to sleep."""
        times = {name: [] for name in self.providers}
        for run in self.providers.values():
            run()
        until = time.perf_counter() + budget * len(self.providers)
        while True:
            for name, run in self.providers.items():
                times[name] += turn(run)
            if time.perf_counter() > until and len(times["deuteron"]) >= 3:
                break
        return {name: self.amount / sorted(all_times)[len(all_times) // 2] / 1e9 for name, all_times in times.items()}


def settle(longest=0.5):
    """Waits until no thread of this process runs any more but this one: thread pools go on looking for work after a call,
    OpenBLAS's for about 30 ms, on a processor that the next provider needs. Those of Deuteron stop after 40 us."""
    quiet, until = 0, time.perf_counter() + longest
    while quiet < 2 and time.perf_counter() < until:
        busy, began = time.process_time(), time.perf_counter()
        time.sleep(0.005)
        is_quiet = time.process_time() - busy < 0.1 * (time.perf_counter() - began)
        quiet = quiet + 1 if is_quiet else 0


def turn(run, warm=0.004, seconds=0.012, runs=3, longest=0.1):
    """The times of one provider's turn. Short runs are repeated, and the first do not count: threads wake, and the caches
    are full of what the last provider left there. Runs as long as a turn count at once."""
    settle()
    times = []
    began = now = time.perf_counter()
    while now < began + (longest if len(times) < runs else seconds):
        start = now
        run()
        now = time.perf_counter()
        if start > began + warm or now - start > longest / 2:
            times.append(now - start)
    return times


def randn(*shape, dtype="float32", seed=0):
    """Normal random numbers: a torch tensor where torch is installed, else a NumPy array."""
    return array(np.random.default_rng(seed).standard_normal(shape, dtype=np.float32), dtype)


def array(values, dtype=None):
    """A NumPy array as what the examples work with."""
    values = np.ascontiguousarray(values)
    if dtype is not None and (torch is None or dtype != "bfloat16"):
        values = values.astype(dtype)
    if torch is None:
        return values
    tensor = torch.from_numpy(values)
    return tensor.to(getattr(torch, dtype)) if dtype is not None else tensor


def poisoned(*shape, dtype="float32"):
    """An output full of NaN, so that what a kernel leaves out is seen."""
    return array(np.full(shape, np.nan, dtype=np.float32), dtype)


def zeros(*shape, dtype="float32"):
    """Zeros."""
    return array(np.zeros(shape, dtype="float32" if dtype == "bfloat16" else dtype), dtype)


def stride(tensor, dim):
    """The stride of a dimension in elements."""
    return tensor.stride(dim) if torch is not None else tensor.strides[dim] // tensor.itemsize


def to_numpy(tensor, dtype=np.float64):
    """The values as a NumPy array of `dtype`; None keeps a NumPy dtype."""
    if torch is not None and isinstance(tensor, torch.Tensor):
        tensor = tensor.float() if tensor.dtype == torch.bfloat16 else tensor
        tensor = tensor.numpy()
    return tensor if dtype is None else tensor.astype(dtype)


def max_difference(result, reference):
    """The largest absolute difference; infinite where one is NaN and the other is not."""
    result = to_numpy(result)
    difference = np.abs(result - reference)
    difference[np.isnan(result) & np.isnan(reference)] = 0
    difference[result == reference] = 0
    return float(np.nan_to_num(difference, nan=np.inf).max(initial=0))


def steps(count, expected, dtype="float32"):
    """So many steps of `dtype` at the largest of the expected values: what rounding may cost, and no more."""
    step = {"float32": 2.0**-23, "float16": 2.0**-10}[dtype]
    return count * step * float(np.nanmax(np.abs(expected)))


def print_checks(checks):
    """Prints a line for each check; returns whether all passed."""
    passed = True
    for check in checks:
        passed &= check.passed
        mark = "ok  " if check.passed else "FAIL"
        print(f"  {mark} {check.label:<58} max difference {check.difference:.2e} (allowed {check.allowed:.1e})",
              flush=True)
    return passed


def print_measurements(measurements, budget=0.6):
    """Prints a table of rates; returns its rows."""
    rows = []
    for measurement in measurements:
        rates = measurement.rates(budget)
        rows.append((measurement, rates))
        cells = "  ".join(f"{name} {rate:8.2f}" for name, rate in rates.items())
        print(f"       {measurement.label:<58} {cells}  {measurement.unit}", flush=True)
    return rows


def run(module_name):
    """What `python -m deuteron examples/x.py` does: check, measure, exit with 1 when a check failed."""
    module = sys.modules[module_name]
    print(module.__doc__.splitlines()[0])
    passed = print_checks(module.checks())
    print_measurements(module.measurements())
    sys.exit(0 if passed else 1)
