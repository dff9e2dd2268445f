"""What `pip install 'deuteron[cpu]'` gives on a machine that has neither Rust, compilers, CUDA nor torch."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "packaging"))
import llvm_wheel  # noqa: E402
from elf import Elf  # noqa: E402

KERNEL = textwrap.dedent("""
    import array
    import deuteron as triton
    import deuteron.language as tl

    @triton.jit
    def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(out_ptr + offsets, 3 * tl.load(x_ptr + offsets, mask=mask), mask=mask)

    x = array.array("f", range(1000))
    out = array.array("f", [-1.0] * 1001)
    class Memory:
        def __init__(self, values):
            self.values, self.dtype = values, "float32"
        def data_ptr(self):
            return self.values.buffer_info()[0]
    scale[(8,)](Memory(x), Memory(out), 1000, BLOCK=128)
    assert list(out) == [3.0 * value for value in range(1000)] + [-1.0], out[:8]
""")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The wheel that `make setup` built, and an LLVM wheel of this machine's Rust toolchain."""
    built = sorted((ROOT / ".venv/wheels").glob("deuteron-*.whl"), key=lambda file: file.stat().st_mtime)
    assert built, "make setup builds a wheel"
    out = tmp_path_factory.mktemp("dist")
    return built[-1], llvm_wheel.build(llvm_wheel.toolchain_of_path(), out, 1)


@pytest.fixture(scope="module")
def installed(wheels, tmp_path_factory):
    """An environment with both wheels alone: a function that runs its Python on nothing but the system's folders."""
    folder = tmp_path_factory.mktemp("empty")
    home = tmp_path_factory.mktemp("home")
    environment = {"HOME": str(home), "PATH": f"{folder}/bin", "LANG": "C.UTF-8"}

    def run(*arguments, **more):
        return subprocess.run([folder / "bin/python", *arguments], env=environment, cwd=home, capture_output=True,
                              text=True, check=False, timeout=300, **more)

    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = run("-m", "pip", "install", "--quiet", "--no-index", "--no-deps", *map(str, wheels))
    assert pip.returncode == 0, pip.stderr
    return run, folder, home


def test_a_kernel_runs_by_the_llvm_that_was_installed(installed):
    run, folder, home = installed
    script = home / "kernel.py"
    script.write_text(KERNEL)
    done = run(str(script))
    assert done.returncode == 0, done.stderr
    info = run("-m", "deuteron", "info")
    assert info.returncode == 0, info.stderr
    llvm = next(line for line in info.stdout.splitlines() if "LLVM" in line)
    assert str(folder) in os.path.realpath(llvm.split()[-1]) or "deuteron_llvm" in llvm, info.stdout


@pytest.mark.parametrize("target, stage", [("cuda:90", "ptx"), ("cpu", "asm")])
def test_kernels_are_compiled_for_other_machines(installed, target, stage):
    run, _, home = installed
    script = home / "compiled.py"
    script.write_text(KERNEL[:KERNEL.index("x = array")])
    done = run("-m", "deuteron", "compile", str(script), "--kernel", "scale", "--signature", "*fp32,*fp32,i32,128", "--target", target,
               "--emit", stage)
    assert done.returncode == 0, done.stderr
    assert "scale" in done.stdout


def test_nothing_is_left_but_the_cache(installed):
    run, folder, home = installed
    before = {path.relative_to(folder) for path in folder.rglob("*deuteron*")}
    assert before
    done = run("-m", "pip", "uninstall", "--yes", "--quiet", "deuteron", "deuteron-llvm")
    assert done.returncode == 0, done.stderr
    assert not [path for path in folder.rglob("*deuteron*") if path.is_file()]
    strange = [path for path in home.rglob("*") if path.is_file() and path.suffix != ".py" and ".cache" not in path.parts]
    assert not strange


def test_what_the_library_of_the_wheel_needs(wheels):
    """The extension needs the C library alone; its version is looked at when released wheels are built."""
    import zipfile

    with zipfile.ZipFile(wheels[0]) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".so"))
        extension = Elf.read(archive.extract(name, pathlib.Path(wheels[1]).parent))
    needed = {name.split(".so")[0] for name in extension.needed}
    assert needed <= {"libc", "libm", "libgcc_s", "libpthread", "libdl", "librt", "ld-linux-x86-64", "ld-linux-aarch64"}
    assert "PyInit__core" in extension.defined


@pytest.mark.parametrize("name, version", [("libLLVM.so.22.1-rust-1.95.0-stable", "22.1"), ("libLLVM-19.so.1", "19")])
def test_a_toolchain_without_a_library_is_refused(tmp_path, name, version):
    (tmp_path / "lib").mkdir()
    with pytest.raises(llvm_wheel.Refused, match="no shared LLVM"):
        llvm_wheel.library_in(tmp_path)
    (tmp_path / "lib" / name).write_bytes(b"INPUT(-l)")
    with pytest.raises(llvm_wheel.Refused, match="no shared LLVM"):
        llvm_wheel.library_in(tmp_path)
