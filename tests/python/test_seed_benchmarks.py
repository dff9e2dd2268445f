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
    done = python("-m", "deuteron", "--cuda-as-cpu", script)
    assert done.stdout.strip() == "cpu cpu torch.int8"
    assert done.stderr.splitlines() == ['deuteron: --cuda-as-cpu: tensors that this program puts on "cuda" are on the CPU, torch.cuda '
                                        "answers for it, and kernels run on target cpu"]
    assert python("-m", "deuteron", script, env={"DEUTERON_CUDA_AS_CPU": "1"}).stdout == done.stdout
    assert python("-m", "deuteron", script, check=False).returncode != 0 or torch.cuda.is_available()


FOR_A_GPU = """
import torch, triton, triton.language as tl

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
assert torch.cuda.device_count() == 1 and torch.cuda.current_device() == 0 and torch.cuda.get_device_name(0)
properties = torch.cuda.get_device_properties(DEVICE)
assert properties.multi_processor_count >= 1 and properties.total_memory > 0

@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) + tl.load(y_ptr + i, mask=i < n), mask=i < n)

def add(x, y):
    out = torch.empty_like(x, device="cuda")
    assert x.is_cuda and y.is_cuda and out.is_cuda and x.device == DEVICE and out.device == torch.device("cuda:0")
    add_kernel[(triton.cdiv(out.numel(), 256), )](x, y, out, out.numel(), BLOCK=256)
    return out

torch.manual_seed(0)
torch.cuda.manual_seed(1)
torch.cuda.set_device(0)
x = torch.randn(1000, device="cuda", pin_memory=False)
y = torch.rand(1000).cuda().to(DEVICE, torch.float32, non_blocking=True)
linear = torch.nn.Linear(1000, 3).cuda().to("cuda")
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
start.record()
with torch.cuda.device(0), torch.cuda.stream(torch.cuda.Stream()):
    out = add(x, y)
end.record()
torch.cuda.synchronize()
assert start.elapsed_time(end) >= 0 and linear(out).shape == (3, )
triton.testing.assert_close(out, x + y)
torch.testing.assert_close(torch.arange(3, device=DEVICE), torch.tensor([0, 1, 2], device="cuda"))
torch.cuda.empty_cache()
assert torch.cuda.memory_allocated() == 0 and torch.cuda.current_stream().cuda_stream == 0

@triton.testing.perf_report(triton.testing.Benchmark(
    x_names=["size"], x_vals=[512, 1024], line_arg="provider", line_vals=["triton", "torch"], line_names=["Triton", "Torch"],
    ylabel="GB/s", plot_name="vector-add", args={}))
def benchmark(size, provider):
    x, y = torch.rand(size, device="cuda"), torch.rand(size, device=DEVICE)
    run = (lambda: add(x, y)) if provider == "triton" else (lambda: x + y)
    ms, low, high = triton.testing.do_bench(run, quantiles=[0.5, 0.2, 0.8], warmup=1, rep=2)
    return 12 * size * 1e-6 / ms, 12 * size * 1e-6 / high, 12 * size * 1e-6 / low

print("through")
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU, and the program runs on it")
def test_a_program_for_a_gpu_runs_unchanged(python, tmp_path):
    (tmp_path / "script.py").write_text(FOR_A_GPU)
    done = python("-m", "deuteron", "--cuda-as-cpu", tmp_path / "script.py")
    assert done.stdout == "through\n" and len(done.stderr.splitlines()) == 1
    done = python("-m", "deuteron", "bench", "--cuda-as-cpu", tmp_path / "script.py", "--out", tmp_path / "plots")
    assert "vector-add:" in done.stdout and "Triton (GB/s)" in done.stdout and (tmp_path / "plots" / "vector-add.csv").exists()
    assert "are on the CPU" in done.stderr


def test_everything_is_put_back():
    before = torch.cuda.is_available, torch.cuda.Event, triton.knobs.runtime.target
    with enter():
        assert torch.cuda.is_available() and torch.zeros(1, device="cuda").is_cuda and triton.knobs.runtime.target == "cpu"
    assert (torch.cuda.is_available, torch.cuda.Event, triton.knobs.runtime.target) == before
    assert not torch.zeros(1).is_cuda
