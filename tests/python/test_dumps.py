"""What a person sees of compiles: files of every stage, programs in front of passes, times."""

import os

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl
from deuteron import knobs

TARGETS = {"cpu": {"DEUTERON_TARGET": "cpu"}, "gpu": {"DEUTERON_EMULATE": "cuda:90"}}

SCRIPT = """
import sys
import numpy as np
import triton, triton.language as tl

@triton.jit
def shown(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for k in range(3):
        x = tl.load(x_ptr + i, mask=i < n, other=0)
        tl.store(x_ptr + i, x + k, mask=i < n)

x = np.zeros(64, np.int32)
shown[(1, )](x, 50, BLOCK=64)
assert list(x) == [3] * 50 + [0] * 14, x
"""


@pytest.fixture(params=TARGETS)
def target(request):
    """The environment of a target."""
    return TARGETS[request.param]


@pytest.fixture
def run(tmp_path, python, target):
    """Runs the script in a process of its own; returns what it wrote to the standard error stream."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    def run(**env):
        env = {"TRITON_CACHE_DIR": str(tmp_path / "cache"), "TRITON_HOME": str(tmp_path), **target, **env}
        return python("-m", "deuteron", script, env=env).stderr

    return run


def stages(folder):
    """The files of the one folder below a folder, by their endings."""
    (below,) = folder.iterdir()
    return {path.suffix[1:]: path for path in below.iterdir()}


def test_every_stage_is_a_file(run, tmp_path, target):
    folder = tmp_path / ".triton" / "dump"
    run(TRITON_KERNEL_DUMP="1")
    files = stages(folder)
    expected = {"ttir", "llir", "asm", "obj"} if "DEUTERON_TARGET" in target else {"ttir", "ttgir", "llir", "ptx"}
    assert set(files) >= expected
    assert {path.stem for path in files.values()} == {"shown"}
    assert "tt.func public @shown" in files["ttir"].read_text()
    first = {ending: path.read_bytes() for ending, path in files.items()}
    for path in files.values():
        path.unlink()
    # A kernel that comes from the cache is shown as well, in the same folder.
    run(TRITON_KERNEL_DUMP="1")
    assert {ending: path.read_bytes() for ending, path in stages(folder).items()} == first


def test_the_folder_is_a_setting(run, tmp_path):
    run(TRITON_KERNEL_DUMP="1", TRITON_DUMP_DIR=str(tmp_path / "elsewhere"))
    assert "ttir" in stages(tmp_path / "elsewhere")
    assert not (tmp_path / ".triton").exists()


def test_programs_in_front_of_passes(run, target):
    assert "IR Dump" not in run()
    for value in ("1", "shown"):
        shown = run(MLIR_ENABLE_DUMP=value)
        assert "// -----// IR Dump Before inline-calls (ttir of kernel shown) //----- //" in shown
        assert "IR Dump Before symbol_dce (ttir" in shown.replace("symbol-dce", "symbol_dce")
        assert ("IR Dump Before assign_layouts (ttgir of kernel shown)" in shown.replace("-layouts", "_layouts")) == (
            "DEUTERON_EMULATE" in target)
        assert "scf.for" in shown and "(llir of" not in shown
        assert ("ttg.shared = 0 : i32" in shown) == ("DEUTERON_EMULATE" in target)
    for value in ("0", "other", ""):
        assert "IR Dump" not in run(MLIR_ENABLE_DUMP=value)


def test_programs_in_front_of_passes_over_llir(run):
    shown = run(LLVM_IR_ENABLE_DUMP="1")
    assert shown.count("(llir of kernel shown)") >= 2 and "(ttir of" not in shown
    assert "define" in shown


def test_programs_in_a_file(run, tmp_path):
    path = tmp_path / "programs.mlir"
    assert "IR Dump" not in run(MLIR_ENABLE_DUMP="1", MLIR_DUMP_PATH=str(path))
    once = path.read_text()
    assert "IR Dump Before inline" in once
    run(MLIR_ENABLE_DUMP="1", MLIR_DUMP_PATH=str(path))
    assert path.read_text() == once * 2
    missing = run(MLIR_ENABLE_DUMP="1", MLIR_DUMP_PATH=str(tmp_path / "none" / "file"))
    assert "cannot write" in missing and "IR Dump Before inline" in missing


@pytest.mark.parametrize("variable", ["MLIR_ENABLE_TIMING", "LLVM_ENABLE_TIMING"])
def test_times_of_steps(run, variable):
    run()
    shown = run(**{variable: "1"})
    lines = [line.split() for line in shown.splitlines()]
    assert "shown: times of the compile" in shown
    names = [" ".join(line[2:]) for line in lines if len(line) > 2]
    for name in ("front end", "ttir", "inline-calls", "llir", "total"):
        assert name in names, shown
    total = next(float(line[0]) for line in lines if line[2:] == ["total"])
    assert total > 0


def test_a_folder_that_cannot_be_written_is_said(run, tmp_path):
    (tmp_path / "file").write_text("")
    shown = run(TRITON_KERNEL_DUMP="1", TRITON_DUMP_DIR=str(tmp_path / "file"))
    assert "cannot write the dump" in shown


@triton.jit
def assigned(out_ptr, VALUE: tl.constexpr):
    tl.store(out_ptr, VALUE)


def test_settings_of_code_count_as_well(tmp_path, capfd):
    out = np.zeros(1, np.int32)
    with knobs.compilation.scope(), knobs.cache.scope():
        knobs.cache.dump_dir = tmp_path
        knobs.compilation.dump_ir = True
        knobs.compilation.dump_passes = "assigned"
        knobs.compilation.time_passes = True
        assigned[(1, )](out, int.from_bytes(os.urandom(3), "little"))
    shown = capfd.readouterr().err
    assert "assigned: times of the compile" in shown and "IR Dump Before" in shown
    assert "ttir" in stages(tmp_path)
    assigned[(1, )](out, int.from_bytes(os.urandom(3), "little"))
    assert not capfd.readouterr().err


def test_the_assembly_for_amd_gpus_is_printed(python, tmp_path):
    (tmp_path / "kernel.py").write_text("""
import deuteron as triton
import deuteron.language as tl
from deuteron.backends.compiler import GPUTarget
from deuteron.compiler import ASTSource


@triton.jit
def put(ptr, VALUE: tl.constexpr):
    tl.store(ptr, VALUE)


triton.compile(ASTSource(put, {"ptr": "*fp32"}, {"VALUE": 3}), target=GPUTarget("hip", "gfx942", 64))
""")
    shown = python(tmp_path / "kernel.py", env={"AMDGCN_ENABLE_DUMP": "1", "TRITON_ALWAYS_COMPILE": "1"})
    assert "AMDGCN Dump" in shown.stdout + shown.stderr and "global_store_dword" in shown.stdout + shown.stderr


def test_a_compile_is_repeated_from_its_file(run, tmp_path, python, target):
    """The kernel comes from the cache the second time, and the file is written nevertheless."""
    binary = "llir" if "DEUTERON_TARGET" in target else "ptx"
    run()
    run(TRITON_REPRODUCER_PATH=str(tmp_path / "again"), TRITON_KERNEL_DUMP="1")
    dumped = stages(tmp_path / ".triton" / "dump")[binary].read_text()
    file = tmp_path / "again.make_ttir.repro.mlir"
    assert 'pipeline: "builtin.module(' in file.read_text()
    again = python("-m", "deuteron", "compile", file, "--emit", binary, env={"TRITON_CACHE_DIR": str(tmp_path / "cache")})
    assert again.stdout.strip() == dumped.strip()
