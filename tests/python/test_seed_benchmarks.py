"""The benchmarks of public tutorials and workshops, from unchanged source: their tables, their files, their plots.

A `Benchmark` keeps three of its sizes and few rows here, so that the tests take seconds; plotting is left to the library where
it is installed.
"""

import builtins
import csv
import types
import xml.etree.ElementTree
from pathlib import Path

import numpy as np
import pytest
import torch

import deuteron as triton
from deuteron._cuda_as_cpu import enter

FOLDER = Path(__file__).with_name("seed_benchmarks")


def without_matplotlib(name, *rest):
    """``import matplotlib.pyplot`` in a source gives an empty module where the library is not installed."""
    if name.split(".")[0] == "matplotlib":
        try:
            return builtins.__import__(name, *rest)
        except ImportError:
            module = types.ModuleType("matplotlib")
            module.pyplot = types.ModuleType("matplotlib.pyplot")
            return module
    return builtins.__import__(name, *rest)


def run(name, change=lambda source: source):
    """Runs a file; returns its names."""
    path = FOLDER / name
    names = {"__name__": "__main__", "__file__": str(path),
             "__builtins__": {**vars(builtins), "__import__": without_matplotlib}}
    exec(compile(change(path.read_text()), str(path), "exec"), names)
    return names


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Three sizes and few rows; files go to a folder of the test."""
    original = triton.testing.Benchmark.__init__

    def init(self, *args, **kwargs):
        original(self, *args, **kwargs)
        self.x_vals = [self.x_vals[0], self.x_vals[len(self.x_vals) // 2], self.x_vals[-1]]
        self.args = {"M": 32}

    monkeypatch.setattr(triton.testing.Benchmark, "__init__", init)
    real = triton.testing.do_bench
    monkeypatch.setattr(triton.testing, "do_bench", lambda fn, **options: real(fn, **{**options, "warmup": 1, "rep": 1}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def columns(printed, title):
    """The rows of a printed table, as numbers."""
    lines = printed[printed.index(title + ":"):].splitlines()
    return [[float(cell) for cell in line.split()[1:]] for line in lines[2:5]]


def test_autotuned_vector_add(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    names = run("vector_add.py", lambda source: source.replace("USE_AUTOTUNE = False", "USE_AUTOTUNE = True"))
    printed = capsys.readouterr().out
    assert "[INFO] Using autotuned kernel..." in printed and "vector-add verification success!" in printed
    assert names["add_kernel_autotune"].best_config in names["add_kernel_autotune"].configs
    run("vector_add.py")
    assert "[INFO] Using basic kernel" in capsys.readouterr().out


@pytest.mark.parametrize("name, title, lines", [
    ("online_softmax.py", "Online-Softmax Performance Benchamrk", 2),
    ("fused_softmax.py", "Fused-Softmax Performance Benchamrk", 2),
])
def test_workshop_benchmarks(small, capsys, name, title, lines):
    names = run(name)
    rows = columns(capsys.readouterr().out, title)
    assert [row[0] for row in rows] == [7680, 10240, 12672]
    assert all(len(row) == 1 + lines and min(row) > 0 for row in rows)
    x = torch.randn(16, 300)
    if name == "online_softmax.py":
        torch.testing.assert_close(names["softmax_triton"](x), torch.softmax(x, -1))


def test_the_tutorials_three_providers(small, capsys):
    mode = enter()
    try:
        names = run("three_providers.py")
    finally:
        mode.__exit__(None, None, None)
    rows = columns(capsys.readouterr().out, "softmax-performance")
    assert [row[0] for row in rows] == [256, 6528, 12672] and all(len(row) == 4 and min(row) > 0 for row in rows)
    x = torch.randn(16, 300)
    torch.testing.assert_close(names["softmax"](x), names["naive_softmax"](x))
    folder = small / "softmax-performance"
    with open(folder / "softmax-performance.csv") as file:
        table = list(csv.reader(file))
    assert table[0] == ["N", "Triton (GB/s)", "Torch (native) (GB/s)", "Torch (jit) (GB/s)"]
    np.testing.assert_allclose([[float(cell) for cell in row] for row in table[1:]], rows, rtol=1e-4)
    plots = [path for path in folder.iterdir() if path.suffix in (".svg", ".png")]
    assert len(plots) == 1 and plots[0].stem == "softmax-performance"
    assert plots[0].name in (folder / "results.html").read_text()
    if plots[0].suffix == ".svg":
        root = xml.etree.ElementTree.parse(plots[0]).getroot()
        kinds = [element.tag.split("}")[1] for element in root.iter()]
        assert kinds.count("polyline") == 3 and kinds.count("polygon") == 3, "three lines with their bands"


def test_tensors_go_to_the_cpu_only_when_asked(python, tmp_path):
    script = tmp_path / "where.py"
    script.write_text("import torch\nx = torch.ones(3, device='cuda').to(torch.device('cuda', 0)).cuda() + 1\n"
                      "print(x.device, torch.zeros(2, device='cuda:0').device, torch.ones(2, dtype=torch.int8).to('cuda').dtype)")
    assert python("-m", "deuteron", "--cuda-as-cpu", script).stdout.strip() == "cpu cpu torch.int8"
    assert python("-m", "deuteron", script, check=False).returncode != 0 or torch.cuda.is_available()
