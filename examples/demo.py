"""All examples in a row: correctness, a table against NumPy and torch, and one plot in ``demo-out/``.

Run it by ``make demo``, or ``python -m deuteron examples/demo.py [--quick]``.
"""

import importlib
import os
import platform
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import common  # noqa: E402
import triton  # noqa: E402

EXAMPLES = ("01_vector_add", "02_softmax", "03_matmul", "04_layer_norm", "05_dropout", "06_attention")
COLUMNS = (256, 512, 781, 1024, 2048, 4096, 6000, 8192)
OUT = "demo-out"


class Progress:
    """A line at the bottom that says what is going on; plain lines where the output is no terminal."""

    def __init__(self, steps):
        self.steps = steps
        self.done = 0
        self.began = time.perf_counter()

    def step(self, what):
        """The next step begins."""
        self.done += 1
        filled = 24 * self.done // self.steps
        bar = "#" * filled + "." * (24 - filled)
        print(f"\n[{bar}] {self.done}/{self.steps}  {time.perf_counter() - self.began:5.1f} s  {what}", flush=True)


def plot_softmax(budget):
    """Bandwidth of the fused softmax over the number of columns, as SVG, and as PNG with matplotlib."""
    from triton.testing.svg import Line, line_chart

    softmax = importlib.import_module("02_softmax")
    series = {}
    for n_cols in COLUMNS:
        rates = softmax.measurement(2048, n_cols, "fused").rates(budget)
        print(f"       {n_cols:6} columns   " + "  ".join(f"{name} {rate:7.2f}" for name, rate in rates.items()) +
              "  GB/s", flush=True)
        for name, rate in rates.items():
            series.setdefault(name, []).append(rate)
    lines = [Line(name, COLUMNS, rates) for name, rates in series.items()]
    os.makedirs(OUT, exist_ok=True)
    svg = os.path.join(OUT, "softmax.svg")
    with open(svg, "w") as file:
        file.write(line_chart(lines, title="Softmax of 2048 rows, fp32", xlabel="columns", ylabel="GB/s", x_log=True,
                              x_ticks=COLUMNS))
    return [svg, *plot_png(lines)]


def plot_png(lines):
    """The same with matplotlib, where it is installed."""
    try:
        import matplotlib
    except ImportError:
        return []
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    for line in lines:
        axes.plot(line.xs, line.ys, marker="o", label=line.name)
    axes.set(title="Softmax of 2048 rows, fp32", xlabel="columns", ylabel="GB/s", ylim=(0, None), xscale="log")
    axes.set_xticks(COLUMNS, COLUMNS)
    axes.legend()
    path = os.path.join(OUT, "softmax.png")
    figure.savefig(path)
    return [path]


def print_table(rows):
    """The rates of all measurements, and how Deuteron compares."""
    print(f"\n{'':<40} {'deuteron':>10} {'numpy':>10} {'torch':>10}  {'unit':<8} {'x numpy':>8} {'x torch':>8}")
    for measurement, rates in rows:
        cells = [f"{rates[name]:.2f}" if name in rates else "-" for name in ("deuteron", "numpy", "torch")]
        ratios = [f"{rates['deuteron'] / rates[name]:.2f}" if name in rates else "-" for name in ("numpy", "torch")]
        print(f"{measurement.label:<40} {cells[0]:>10} {cells[1]:>10} {cells[2]:>10}  {measurement.unit:<8} "
              f"{ratios[0]:>8} {ratios[1]:>8}")


def main(quick=False):
    """Runs everything, on smaller matrices when `quick`; returns whether all checks passed."""
    budget = 0.6
    if quick:
        budget = 0.05
        importlib.import_module("02_softmax").SIZES = ((1024, 1024), (1823, 781))
    target = triton.runtime.driver.active.get_current_target()
    arrays = f"torch {common.torch.__version__}" if common.torch else "NumPy arrays (torch is not installed)"
    print(f"Deuteron on {target.backend} {target.arch} ({os.cpu_count()} CPUs), Python {platform.python_version()}, "
          f"NumPy {common.np.__version__}, {arrays}")
    progress = Progress(len(EXAMPLES) + 1)
    passed, rows = True, []
    for name in EXAMPLES:
        progress.step(name.replace("_", " "))
        module = importlib.import_module(name)
        passed &= common.print_checks(module.checks())
        rows += common.print_measurements(module.measurements(), budget)
    progress.step("softmax over columns")
    files = plot_softmax(budget)
    print_table(rows)
    print(f"\nplot: {', '.join(files)}")
    print("All results agree with their references." if passed else "SOME RESULTS DIFFER from their references.")
    return passed


if __name__ == "__main__":
    sys.exit(0 if main(quick="--quick" in sys.argv[1:]) else 1)
