"""Every vector function over its whole range: what an element costs must not depend on what it is.

Functions run on data that stays in the second cache, on one thread. A range is the same kind of number in every element:
results that are zero, denormal or infinite, arguments that are, masked-off lanes of a softmax (minus infinity), NaN.
"""

import statistics
import time

import common
import kernels
import numpy as np
import triton.language as tl
from triton.language.extra import libdevice

# An element may cost so many times as much as where arguments are about one.
MOST = 1.5
ELEMENTS = 1 << 15

RANGES = {
    "about 1": lambda random: random.uniform(0.5, 1.5, ELEMENTS),
    "-10 to 10": lambda random: random.uniform(-10, 10, ELEMENTS),
    "large": lambda random: random.uniform(1e4, 1e6, ELEMENTS),
    "huge": lambda random: random.uniform(1e30, 3e38, ELEMENTS),
    "tiny": lambda random: random.uniform(1e-37, 1e-30, ELEMENTS),
    "denormal": lambda random: random.uniform(1e-44, 1e-38, ELEMENTS),
    "-95 (denormal exp)": lambda random: random.uniform(-103, -88, ELEMENTS),
    "-200": lambda random: np.full(ELEMENTS, -200.0),
    "zero": lambda random: np.zeros(ELEMENTS),
    "-inf": lambda random: np.full(ELEMENTS, -np.inf),
    "inf": lambda random: np.full(ELEMENTS, np.inf),
    "NaN": lambda random: np.full(ELEMENTS, np.nan),
}

LANGUAGE = ("exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "rsqrt", "erf", "floor", "ceil")
LIBDEVICE = ("exp10", "expm1", "sinh", "cosh", "tanh", "log10", "log1p", "tan", "asin", "acos", "atan", "asinh", "acosh",
             "atanh", "erfc", "erfinv", "cbrt", "lgamma", "tgamma", "j0", "y0", "normcdf", "rint", "trunc", "round")


def functions():
    """By name, the functions of one argument."""
    for module, names in ((tl, LANGUAGE), (libdevice, LIBDEVICE)):
        for name in names:
            yield name, getattr(module, name)


def best(run, repeats=15):
    """The fastest of some runs."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def costs(function, inputs, out, rounds):
    """Nanoseconds an element by range, on one thread: the medians of rounds in which all ranges take turns."""
    times, kernel = {name: [] for name in inputs}, kernels.mapped(function)
    for _ in range(rounds):
        for name, x in inputs.items():
            run = lambda: kernel[(1, )](x, out, ELEMENTS, ELEMENTS)  # noqa: B023, E731
            times[name].append(best(run) / ELEMENTS * 1e9)
    return {name: statistics.median(all_times) for name, all_times in times.items()}


def sweep(rounds, words=()):
    """Prints a line for each function: what an element costs about one, the dearest range, and what is too dear."""
    random = np.random.default_rng(17)
    inputs = {name: common.array(make(random).astype(np.float32)) for name, make in RANGES.items()}
    out = common.zeros(ELEMENTS)
    print(f"\n| function | ns an element about 1 | dearest range | times as much | |\n|{'---|' * 5}", flush=True)
    for name, function in functions():
        if words and name not in words:
            continue
        cost = costs(function, inputs, out, rounds)
        usual = cost["about 1"]
        dearest = max(cost, key=cost.get)
        ratio = cost[dearest] / usual
        fault = f"more than {MOST}" if ratio > MOST else ""
        print(f"| {name} | {usual:.3f} | {dearest} | {ratio:.2f} | {fault} |", flush=True)
