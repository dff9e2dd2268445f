"""What `pip install 'deuteron[cpu]'` gives on a machine that has neither Rust, compilers, CUDA nor torch."""

import shutil
import subprocess
import sys
import textwrap
import zipfile

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
    """A folder with the wheel that `make setup` built, and with the LLVM of this machine's Rust toolchain as one."""
    built = sorted((ROOT / ".venv/wheels").glob("deuteron-*.whl"), key=lambda file: file.stat().st_mtime)
    assert built, "make setup builds a wheel"
    folder = tmp_path_factory.mktemp("dist")
    shutil.copy(built[-1], folder)
    llvm_wheel.build(llvm_wheel.toolchain_of_path(), folder, 1)
    return folder


@pytest.fixture(scope="module")
def installed(wheels, tmp_path_factory):
    """An environment with `deuteron[cpu]` alone: a function that runs its Python with nothing else on the path."""
    folder = tmp_path_factory.mktemp("empty")
    home = tmp_path_factory.mktemp("home")
    environment = {"HOME": str(home), "PATH": f"{folder}/bin", "LANG": "C.UTF-8"}

    def run(*arguments):
        return subprocess.run([folder / "bin/python", *arguments], env=environment, cwd=home, capture_output=True,
                              text=True, check=False, timeout=300)

    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = run("-m", "pip", "install", "--quiet", "--no-index", "--find-links", str(wheels), "deuteron[cpu]")
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
    assert "deuteron_llvm/lib/libLLVM" in info.stdout, info.stdout


@pytest.mark.parametrize("target, stage", [("cuda:90", "ptx"), ("hip:gfx942", "amdgcn"), ("cpu", "asm")])
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


def test_the_extension_needs_little_beside_the_c_library(wheels, tmp_path):
    with zipfile.ZipFile(next(wheels.glob("deuteron-*.whl"))) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".so"))
        extension = Elf.read(archive.extract(name, tmp_path))
    needed = {name.split(".so")[0] for name in extension.needed}
    assert needed <= {"libc", "libm", "libgcc_s", "libpthread", "libdl", "librt", "ld-linux-x86-64", "ld-linux-aarch64"}
    assert "PyInit__core" in extension.defined


@pytest.mark.parametrize("name", ["libLLVM.so.22.1-rust-1.95.0-stable", "libLLVM-19.so.1"])
def test_a_toolchain_without_a_library_is_refused(tmp_path, name):
    (tmp_path / "lib").mkdir()
    with pytest.raises(llvm_wheel.Refused, match="no shared LLVM"):
        llvm_wheel.library_in(tmp_path)
    (tmp_path / "lib" / name).write_bytes(b"INPUT(-l)")
    with pytest.raises(llvm_wheel.Refused, match="no shared LLVM"):
        llvm_wheel.library_in(tmp_path)
