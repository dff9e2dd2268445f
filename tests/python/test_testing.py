"""`deuteron.testing`: timing of plain functions, reports, plots, comparisons."""

import csv
import os
import sys
import time
import xml.etree.ElementTree

import numpy as np
import pytest
import torch

import deuteron as triton
from deuteron.testing.svg import Line, line_chart


def test_the_runtime_is_there_by_its_other_path():
    assert triton.testing.runtime is triton.runtime


def test_do_bench_times_a_function():
    ms = triton.testing.do_bench(lambda: time.sleep(0.01), warmup=1, rep=30)
    assert 9.5 < ms < 40
    low, middle, high = triton.testing.do_bench(lambda: time.sleep(0.002), warmup=1, rep=20,
                                                quantiles=[0.0, 0.5, 1.0])
    assert 1.9 < low <= middle <= high
    assert len(triton.testing.do_bench(lambda: None, warmup=1, rep=1, return_mode="all")) >= 5
    with pytest.raises(ValueError, match="return_mode"):
        triton.testing.do_bench(lambda: None, return_mode="average")


def test_do_bench_drops_gradients():
    x = torch.ones(3, requires_grad=True)
    triton.testing.do_bench(lambda: (x * 2).sum().backward(), warmup=1, rep=1, grad_to_none=[x])
    assert x.grad.tolist() == [2, 2, 2]


def test_statistics():
    from deuteron.testing import _quantile, _summarize_statistics

    assert _quantile([3, 1, 2], [0, 0.5, 1]) == [1, 2, 3]
    assert _quantile([1, 2], [0.25]) == [1.25]
    assert _summarize_statistics([1, 2, 6], None, "mean") == 3
    assert _summarize_statistics([1, 2, 6], [0.5], "mean") == 2


def report():
    @triton.testing.perf_report(
        triton.testing.Benchmark(x_names=["N"], x_vals=[1, 10, 100], line_arg="provider", line_vals=["a", "b"],
                                 line_names=["Line A", "Line <B>"], ylabel="GB/s", plot_name="a-plot",
                                 args={"M": 2}))
    def benchmark(M, N, provider, extra=0):
        return (N * M + extra, N, N * 3) if provider == "a" else float(N)

    return benchmark


def test_reports_print_and_write_files(tmp_path, capsys):
    table = report().run(print_data=True, save_path=str(tmp_path), return_df=True, extra=1)
    printed = capsys.readouterr().out
    assert printed.startswith("a-plot:") and "Line A (GB/s)" in printed and "100.0" in printed
    with open(tmp_path / "a-plot.csv") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["N", "Line A (GB/s)", "Line <B> (GB/s)"] and rows[3] == ["100", "201", "100.000000"]
    assert (tmp_path / "a-plot.svg").exists() or (tmp_path / "a-plot.png").exists()
    assert len(table) == 3


def test_reports_refuse_values_that_do_not_fit():
    benchmark = report()
    benchmark.benchmarks.x_vals = [(1, 2)]
    with pytest.raises(ValueError, match="Expected 1 values"):
        benchmark.run()
    for name, given in [("line_names", ["A"]), ("line_names", ["A", "B", "C"]), ("styles", [("red", "-")])]:
        benchmark = report()
        setattr(benchmark.benchmarks, name, given)
        benchmark.fn = None
        with pytest.raises(ValueError, match="a-plot"):
            benchmark.run()


def test_benchmarks_of_one_name_have_files_of_their_own(tmp_path, monkeypatch, capsys):
    from deuteron.testing.report import file_names

    def marks(*names):
        return [triton.testing.Benchmark(x_names=["x"], x_vals=[1, 2], line_arg="line", line_vals=[number],
                                         line_names=[f"line {number}"], plot_name=name, args={})
                for number, name in enumerate(names)]

    assert file_names(marks("a", "b", "a", "a")) == ["a", "b", "a-2", "a-3"]
    assert file_names(marks("a", "a", "a-2", "a-2", "")) == ["a", "a-3", "a-2", "a-2-2", ""]
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    mark = triton.testing.perf_report(marks("one & all", "one & all", "other"))(lambda x, line: x * line)
    mark.run(save_path=str(tmp_path))
    written = [f"{name}.{kind}" for name in ("one & all", "one & all-2", "other") for kind in ("csv", "svg")]
    assert mark.written == written and sorted(os.listdir(tmp_path)) == sorted([*written, "results.html"])
    assert capsys.readouterr().out.count("its files are called one & all-2") == 1
    for number, name in enumerate(["one & all", "one & all-2", "other"]):
        assert (tmp_path / f"{name}.csv").read_text().splitlines()[0] == f"x,line {number}"
        assert f"line {number}" in (tmp_path / f"{name}.svg").read_text()
    page = xml.etree.ElementTree.fromstring((tmp_path / "results.html").read_text())
    from urllib.parse import unquote

    assert [unquote(image.get("src")) for image in page.iter("img")] == written[1::2]


def test_names_with_slashes_are_folders(tmp_path):
    benchmark = report()
    benchmark.benchmarks.plot_name = "softmax/a-plot"
    benchmark.run(save_path=str(tmp_path / "out"))
    assert (tmp_path / "out" / "softmax" / "a-plot.csv").exists()


def plotted(folder, monkeypatch, returned, **options):
    """The SVG of a benchmark, drawn without the plotting library."""
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    given = {"x_names": ["x"], "x_vals": [1, 2, 4], "line_arg": "line", "line_vals": ["a", "b"], "line_names": ["A", "B"],
             "plot_name": "plot", "args": {}, **options}
    frame = triton.testing.perf_report(triton.testing.Benchmark(**given))(returned).run(save_path=str(folder), return_df=True)
    root = xml.etree.ElementTree.parse(folder / "plot.svg").getroot()
    return frame, [(element.tag.split("}")[1], element) for element in root.iter()]


@pytest.mark.parametrize("x_vals", [np.array([1000, 2000, 4000]), [np.int64(1000), np.float32(2000), 4000.0]])
def test_numbers_of_arrays_are_numbers(tmp_path, monkeypatch, x_vals):
    _, elements = plotted(tmp_path, monkeypatch, lambda x, line: torch.tensor(x * 2.0), x_vals=x_vals)
    texts = [element.text for kind, element in elements if kind == "text"]
    assert {"1000", "2000", "4000"} <= set(texts), "x values, not numbers of rows"
    with open(tmp_path / "plot.csv") as file:
        assert list(csv.reader(file))[1][1:] == ["2000.000000"] * 2


def test_points_that_are_no_numbers_have_their_names(tmp_path, monkeypatch):
    _, elements = plotted(tmp_path, monkeypatch, lambda x, line: len(str(x)), x_vals=["fp16", torch.float32], x_log=True)
    assert {"fp16", "torch.float32"} <= {element.text for kind, element in elements if kind == "text"}
    assert sum(kind == "circle" for kind, _ in elements) == 4


def test_a_band_may_have_gaps(tmp_path, monkeypatch):
    def returned(x, line):
        return np.array([x, x * 0.5, x * 2.0]) if line == "a" and x < 4 else x

    _, elements = plotted(tmp_path, monkeypatch, returned)
    bands = [element.get("points") for kind, element in elements if kind == "polygon"]
    assert [len(band.split()) for band in bands] == [4], "two points, above and below"


def test_colours_may_be_shares(tmp_path, monkeypatch):
    styles = [((1.0, 0.5, 0.0), "-"), ("tab:red", ":")]
    _, elements = plotted(tmp_path, monkeypatch, lambda x, line: x, styles=styles)
    assert [element.get("stroke") for kind, element in elements if kind == "polyline"] == ["#ff8000", "#d62728"]


@pytest.mark.parametrize("x_log, y_log", [(False, False), (True, True)])
def test_plots_are_svg_whatever_the_values(x_log, y_log):
    lines = [Line("one & two", (1, 10, 100), (1.0, float("nan"), 3.0)), Line("flat", (1, 10, 100), (2.0, 2.0, 2.0)),
             Line("gap", (1, 10, 100), (None, float("inf"), 0.0))]
    root = xml.etree.ElementTree.fromstring(line_chart(lines, "a <title>", "x", "y", x_log, y_log))
    assert root.tag.endswith("svg")
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert {"a <title>", "one & two", "x", "y"} <= set(texts)
    empty = line_chart([Line("none", (1, ), (float("nan"), ))])
    assert xml.etree.ElementTree.fromstring(empty) is not None


def test_assert_close():
    triton.testing.assert_close(torch.ones(4), np.ones(4) + 1e-3)
    triton.testing.assert_close(torch.tensor([float("nan")]), np.array([np.nan]))
    triton.testing.assert_close(torch.ones(4, dtype=torch.bfloat16), np.ones(4))
    with pytest.raises(AssertionError):
        triton.testing.assert_close(torch.ones(4), np.ones(4) * 2)
    with pytest.raises(AssertionError, match="here"):
        triton.testing.assert_close(1.0, 2.0, err_msg="here")


def test_limits_of_the_device_are_known_or_refused():
    import deuteron.language as tl

    peak = triton.testing.get_max_simd_tflops(tl.float32, 3e6)
    assert peak > 0.01
    for dtype in (torch.float32, np.float32, np.dtype("float32")):
        assert triton.testing.get_max_simd_tflops(dtype, 3e6) == peak
    for dtype in ("float32", int, None):
        with pytest.raises(TypeError, match="no dtype"):
            triton.testing.get_max_simd_tflops(dtype, 3e6)
    with pytest.raises(RuntimeError):
        triton.testing.nvsmi(["clocks.sm"])
    with pytest.raises(RuntimeError, match="do_bench"):
        triton.testing.do_bench_cudagraph(lambda: None)


def test_tensor_descriptors_are_checked():
    from deuteron.tools.tensor_descriptor import TensorDescriptor

    array = np.zeros((8, 32), np.float32)
    descriptor = TensorDescriptor.from_tensor(array, [4, 8])
    assert (descriptor.shape, descriptor.strides) == ((8, 32), (32, 1))
    assert TensorDescriptor.from_tensor(torch.zeros(8, 32), [4, 8]).strides == (32, 1)
    with pytest.raises(AssertionError, match="16-byte"):
        TensorDescriptor.from_tensor(np.zeros((8, 31), np.float32), [4, 8])
    with pytest.raises(AssertionError, match="contiguous"):
        TensorDescriptor.from_tensor(array.T, [4, 8])


def without_matplotlib(monkeypatch):
    """An import of it fails, as where it is not installed."""
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)


def test_a_plot_that_cannot_be_shown_is_written_and_said(monkeypatch, capsys, tmp_path):
    without_matplotlib(monkeypatch)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    report().run(show_plots=True)
    printed = capsys.readouterr().out
    assert printed.startswith("a-plot: no window opens, as matplotlib is not installed; the plot is in ")
    path = printed.split("the plot is in ")[1].strip()
    assert path.startswith(str(tmp_path)) and xml.etree.ElementTree.parse(path).getroot().tag.endswith("svg")
    report().run(show_plots=True, save_path=str(tmp_path / "kept"))
    assert capsys.readouterr().out.strip().endswith(str(tmp_path / "kept" / "a-plot.svg"))
    report().run(save_path=str(tmp_path / "kept"))
    report().run()
    assert capsys.readouterr().out == ""


class FakePyplot:
    """What a report uses of the library, without a display."""

    def __init__(self, backend):
        self.backend, self.shown = backend, 0

    def get_backend(self):
        return self.backend

    def subplots(self):
        return self, self

    def plot(self, *args, **kwargs):
        return (self, )

    def savefig(self, path):
        with open(path, "w") as file:
            file.write("png")

    def show(self):
        self.shown += 1

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


@pytest.mark.parametrize("backend, shown", [("agg", 0), ("TkAgg", 1)])
def test_a_window_opens_where_there_is_a_display(monkeypatch, capsys, tmp_path, backend, shown):
    import sys
    import types

    pyplot = FakePyplot(backend)
    monkeypatch.setitem(sys.modules, "matplotlib", types.SimpleNamespace(pyplot=pyplot))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", pyplot)
    report().run(show_plots=True, save_path=str(tmp_path))
    printed = capsys.readouterr().out
    assert pyplot.shown == shown and (tmp_path / "a-plot.png").read_text() == "png"
    assert ("no display here (its back end is agg); the plot is in" in printed) == (shown == 0)
