"""The command of those who have the Python package: `python -m deuteron VERB`."""

import os
import sys

import pytest

KERNEL = """
import array
import deuteron as triton, deuteron.language as tl

class Memory:
    dtype = tl.int32
    def __init__(self, size): self.values = array.array("i", [0] * size)
    def data_ptr(self): return self.values.buffer_info()[0]

@triton.jit
def stored(out_ptr, VALUE: tl.constexpr):
    tl.store(out_ptr, VALUE)

@triton.jit
def other(out_ptr):
    tl.store(out_ptr, 1)

for value in (1, 2):
    stored[(1, )](Memory(4), value)
other[(1, )](Memory(4))
"""

MARKS = """
import sys
import triton

def measured(size, provider, factor=1):
    return float(size * factor * {"one": 1, "two": 2}[provider])

def marks(name, **options):
    return triton.testing.Benchmark(x_names=["size"], x_vals=[128, 256, 512], line_arg="provider", line_vals=["one", "two"],
                                    line_names=["One", "Two"], ylabel="GB/s", plot_name=name, args={}, **options)

first = triton.testing.perf_report(marks("first-plot"))(measured)

@triton.testing.perf_report([marks("second-a"), marks("second-b", x_log=True)])
def second(size, provider):
    return 3 * measured(size, provider), measured(size, provider), 4 * measured(size, provider)

print("argument", sys.argv[1:], file=sys.stderr)
first.run(print_data=True, show_plots=True)
df = second.run(return_df=True)
if __name__ == "__main__":
    raise SystemExit("the script itself is not to run")
"""


@pytest.fixture
def command(tmp_path, python):
    """Runs the command; returns the finished process."""

    def run(*args, check=True, **env):
        return python("-m", "deuteron", *args, check=check, cwd=tmp_path,
                      env={"TRITON_CACHE_DIR": str(tmp_path / "cache"), **env})

    return run


@pytest.fixture
def filled(tmp_path, python):
    """A cache with three kernels."""
    (tmp_path / "kernels.py").write_text(KERNEL)
    python(tmp_path / "kernels.py", env={"TRITON_CACHE_DIR": str(tmp_path / "cache")})
    return tmp_path / "cache"


def test_a_kernel_of_the_cache_is_inspected(command, filled, tmp_path):
    listed = [line.split() for line in command("cache", "list").stdout.splitlines()[1:]]
    digits = [line[-1] for line in listed if line[0] == "other"]
    (entry,) = [path for path in filled.rglob("*.kernel") if path.name.startswith(digits[0])]
    by_hash = command("inspect", digits[0], "--html", "page.html").stdout
    assert by_hash.startswith("other for cpu")
    assert command("inspect", entry).stdout.startswith("other for cpu")
    page = (tmp_path / "page.html").read_text()
    assert 'data-stage="asm"' in page and 'data-stage="kernels.py"' in page and 'id="missing"' not in page
    (tmp_path / "kernels.py").rename(tmp_path / "moved.py")
    command("inspect", digits[0][:8], "--html", "page.html")
    assert "<b>source</b>: " in (tmp_path / "page.html").read_text(), "what is not shown is said"

    def refused(*args):
        failed = command("inspect", *args, check=False)
        assert failed.returncode == 1 and failed.stdout == ""
        return failed.stderr

    assert "names 3 kernels" in refused(filled) and "(stored)" in refused(filled)
    assert "`deuteron cache list` lists them" in refused("0123456789abcdef")
    assert "leave --target out" in refused(digits[0], "--target", "cpu")
    entry.write_bytes(entry.read_bytes()[:-1] + b"x")
    assert "digest" in refused(entry)
    (tmp_path / "only").mkdir(mode=0o700)
    other = next(path for path in filled.rglob("*.kernel") if path != entry)
    other.rename(tmp_path / "only" / other.name)
    assert command("inspect", "only").stdout.startswith("stored for cpu")


def test_what_cannot_be_made_is_said_on_the_page(command, tmp_path):
    (tmp_path / "k.py").write_text("import triton, triton.language as tl\n@triton.jit\ndef k(p):\n    tl.store(p, 1)\n")
    # A program that is named is the only one that is tried. A library may still assemble; then nothing shows what it made.
    env = {f"TRITON_{tool.upper()}_PATH": f"/nowhere/{tool}" for tool in ("ptxas", "nvdisasm", "cuobjdump")}
    command("inspect", "k.py", "-s", "*i32", "--target", "cuda:90", "--html", "page.html", **env)
    page = (tmp_path / "page.html").read_text()
    reason = page.split("<b>sass</b>: ")[1].split("</")[0]
    assert "/nowhere/ptxas" in reason or "neither nvdisasm nor cuobjdump was found" in reason, reason
    assert 'data-stage="ptx"' in page and 'data-stage="sass"' not in page


def test_the_folder_of_the_cache_may_be_relative_or_empty(command, filled, python, tmp_path):
    home = str(tmp_path / "home")
    usual = os.path.join(home, "deuteron")
    (tmp_path / "elsewhere").mkdir()
    program = (tmp_path / "kernels.py").read_text()
    (tmp_path / "moving.py").write_text("import os\n" + program.replace("for value in", "print(triton.knobs.cache.dir)\nfor value in")
                                        .replace("other[(1", "os.chdir('elsewhere')\nother[(1"))
    for given, folder in [("", usual), ("below", str(tmp_path / "below")), ("./a/../kept here", str(tmp_path / "a/../kept here"))]:
        env = {"TRITON_CACHE_DIR": given, "XDG_CACHE_HOME": home}
        assert command("cache", "path", **env).stdout.strip() == folder
        assert f"cache: {folder}\n" in command("info", **env).stdout
        told = next(line for line in command("env", **env).stdout.splitlines() if line.startswith("dir = "))
        assert told.startswith(f'dir = "{folder}"  ({"from TRITON_CACHE_DIR" if given else "default"}'), told
        done = python(tmp_path / "moving.py", cwd=tmp_path, env=env)
        assert done.stdout.strip() == folder and "not kept" not in done.stderr
        assert "3 kernels" in command("cache", "size", **env).stdout
    assert not any((tmp_path / "elsewhere").iterdir())
    # The first of the two variables that says something counts.
    assert command("cache", "path", DEUTERON_CACHE_DIR="").stdout.strip() == str(filled)


def test_the_cache_is_listed_and_measured(command, filled):
    assert command("cache", "path").stdout.strip() == str(filled)
    assert "3 kernels" in command("cache", "size").stdout
    assert command("cache").stdout == command("cache", "size").stdout
    lines = command("cache", "list").stdout.splitlines()
    assert lines[0].split() == ["name", "target", "size", "used", "entry"]
    assert sorted(line.split()[0] for line in lines[1:]) == ["other", "stored", "stored"]
    assert all(line.split()[1].startswith("cpu:") for line in lines[1:])
    assert "removed" in command("cache", "clear").stdout
    assert command("cache", "list").stdout.splitlines() == ["name  target       size      used  entry"]


def test_damage_is_found_and_removed(command, filled, python, tmp_path):
    assert "0 damaged" in command("cache", "verify").stdout
    entries = sorted(path for path in filled.rglob("*") if path.is_file())
    damaged = [entries[0], entries[-1]]
    with open(damaged[0], "r+b") as file:
        file.truncate(50)
    with open(damaged[1], "r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))
    told = command("cache", "verify", check=False)
    assert told.returncode == 1 and "2 damaged" in told.stdout and "--fix" in told.stderr
    assert "it is cut off" in told.stdout and "does not have its digest" in told.stdout
    fixed = command("cache", "verify", "--fix")
    assert all(f"{path}" in fixed.stdout and not path.exists() for path in damaged)
    assert "0 damaged" in command("cache", "verify").stdout
    python(tmp_path / "kernels.py", env={"TRITON_CACHE_DIR": str(filled)})
    assert "3 kernels" in command("cache", "size").stdout


def test_settings_are_listed_with_their_meaning(command, tmp_path):
    text = command("env", TRITON_PRINT_AUTOTUNING="1", DEUTERON_CACHE_LIMIT="many").stdout
    assert "print = true  (from TRITON_PRINT_AUTOTUNING)" in text
    assert f'dir = "{tmp_path / "cache"}"  (from TRITON_CACHE_DIR)' in text
    assert "limit = unreadable: Unable to use DEUTERON_CACHE_LIMIT=many" in text
    assert "set DEUTERON_DUMP_PASSES or MLIR_ENABLE_DUMP" in text


def test_what_is_here_is_told(command):
    text = command("info").stdout
    assert "target cpu (" in text and "LLVM" in text and "ptxas" in text
    assert "LLVM         not found: no shared library" in command("info", DEUTERON_LLVM_PATH="/nowhere").stdout


def test_stages_and_times_of_a_compile(command, tmp_path):
    (tmp_path / "kernels.py").write_text(KERNEL.split("for value")[0])
    done = command("compile", "kernels.py", "--kernel", "stored", "--signature", "*i32, 7", "--time")
    assert "tt.func public @stored" in done.stdout
    for name in ("front end", "ttir", "  canonicalize", "llir", "obj", "  codegen", "total", "everything else"):
        assert any(line.endswith(f"%  {name}") for line in done.stderr.splitlines()), done.stderr
    gpu = command("compile", "kernels.py", "--kernel", "stored", "--signature", "*i32, 7", "--target", "cuda:80", "--time",
                  "--emit", "ptx")
    assert ".visible .entry stored" in gpu.stdout
    for name in ("ttgir", "llir", "  lower to lanes", "ptx"):
        assert any(line.endswith(f"%  {name}") for line in gpu.stderr.splitlines()), gpu.stderr


def test_benchmarks_of_a_script(command, tmp_path):
    (tmp_path / "marks.py").write_text(MARKS)
    listed = command("bench", "marks.py", "--list")
    assert listed.stdout.splitlines() == ["measured: first-plot (3 x 2)", "second: second-a (3 x 2)",
                                          "second: second-b (3 x 2)"]
    done = command("bench", "marks.py", "--out", "results", "--", "--size", "7")
    assert "argument ['--size', '7']" in done.stderr
    for name in ("first-plot", "second-a", "second-b"):
        assert done.stdout.count(f"{name}:") == 1
        rows = (tmp_path / "results" / f"{name}.csv").read_text().splitlines()
        assert len(rows) == 4 and rows[0].startswith("size,One")
        assert any((tmp_path / "results" / f"{name}.{kind}").exists() for kind in ("png", "svg"))
    page = (tmp_path / "results" / "results.html").read_text()
    assert all(f'"{name}.' in page for name in ("first-plot", "second-a", "second-b"))
    assert "[2/3] second-a: 6 measurements in" in done.stderr
    assert not done.stderr.count("\033")


def test_benchmarks_of_one_name_are_all_there(command, tmp_path):
    text = MARKS.replace('marks("first-plot")', 'marks("plot")').replace('marks("second-b", x_log=True)', 'marks("plot")')
    (tmp_path / "marks.py").write_text(text)
    listed = [line.split()[1] for line in command("bench", "marks.py", "--list").stdout.splitlines()]
    assert listed == ["plot", "second-a", "plot-2"]
    done = command("bench", "marks.py", "--out", "results")
    assert done.stdout.count("its files are called plot-2") == 1 and "[3/3] plot-2: 6 measurements" in done.stderr
    rows = [(tmp_path / "results" / f"{name}.csv").read_text().splitlines()[1] for name in ("plot", "plot-2")]
    assert rows == ["128,128.000000,256.000000", "128,384.000000,768.000000"]
    page = (tmp_path / "results" / "results.html").read_text()
    assert all(page.count(f'"{name}.') == 1 for name in ("plot", "second-a", "plot-2"))
    kept = (tmp_path / "results" / "plot.csv").read_text()
    # Alone it has the files that it has among the others.
    command("bench", "marks.py", "--out", "results", "-k", "second")
    assert (tmp_path / "results" / "plot.csv").read_text() == kept
    command("bench", "marks.py", "--out", "alone", "-k", "plot-2")
    assert {path.stem for path in (tmp_path / "alone").iterdir()} == {"plot-2", "results"}


@pytest.mark.parametrize("pattern, plots", [("first", ["first-plot"]), ("measured", ["first-plot"]), ("second-b", ["second-b"]),
                                            ("second*", ["second-a", "second-b"]), ("*plot", ["first-plot"])])
def test_benchmarks_are_chosen_by_name(command, tmp_path, pattern, plots):
    (tmp_path / "marks.py").write_text(MARKS)
    listed = command("bench", "marks.py", "--list", "-k", pattern).stdout.splitlines()
    assert [line.split(": ")[1].split()[0] for line in listed] == plots


def test_benchmarks_that_fail_do_not_hide_the_others(command, tmp_path):
    (tmp_path / "marks.py").write_text(MARKS.replace("return 3 *", "if size == 512: raise ArithmeticError('too large')\n"
                                                     "    return 3 *"))
    done = command("bench", "marks.py", check=False)
    assert done.returncode == 1 and "first-plot:" in done.stdout
    assert "failed at measurement 5 of 6" in done.stderr and "ArithmeticError: too large" in done.stderr
    assert "_bench.py" not in done.stderr and "marks.py" in done.stderr


def test_scripts_without_benchmarks(command, tmp_path):
    (tmp_path / "none.py").write_text("import triton\n")
    (tmp_path / "broken.py").write_text("import triton\nundefined\n")
    (tmp_path / "marks.py").write_text(MARKS)
    for args, message in [(["none.py"], "makes no benchmark"), (["broken.py"], "NameError: name 'undefined'"),
                          (["nowhere.py"], "there is no script"), (["marks.py", "-k", "third"], "no benchmark is called third"),
                          (["marks.py", "--python", "/nowhere/python"], "cannot start /nowhere/python")]:
        done = command("bench", *args, check=False)
        assert done.returncode == 1 and message in done.stderr, done.stderr


def test_a_python_without_the_package_is_told(command, tmp_path):
    (tmp_path / "marks.py").write_text(MARKS)
    bare = tmp_path / "bare"
    bare.write_text(f"#!/bin/sh\nexec {sys.executable} -I -S \"$@\"\n")
    bare.chmod(0o755)
    done = command("bench", "marks.py", "--python", bare, check=False)
    assert done.returncode == 1 and "pip install deuteron" in done.stderr and "Traceback" not in done.stderr


def test_marks_made_by_the_main_part_are_found(command, tmp_path):
    body = MARKS.split("first = ")[0]
    (tmp_path / "late.py").write_text(body + "if __name__ == '__main__':\n    triton.testing.perf_report(marks('late'))("
                                      "measured).run(print_data=True)\n")
    assert command("bench", "late.py").stdout.count("late:") == 1


def test_usage_is_told(command):
    assert "bench" in command("--help").stdout
    assert command("bench", check=False).returncode == 2
    assert "Usage: " in command("cache", "--help").stdout
