"""Stages that a person gives: the folder of overrides, `ir_override`, files that a compile begins with."""

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl
from deuteron import knobs
from deuteron.compiler import ASTSource
from deuteron.backends.compiler import GPUTarget

CPU, GPU = {"DEUTERON_TARGET": "cpu"}, {"DEUTERON_EMULATE": "cuda:90"}

SCRIPT = """
import sys
import numpy as np
import triton, triton.language as tl

@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n) + 1000003, mask=i < n)

x = np.zeros(64, np.int32)
options = {"ir_override": sys.argv[1]} if len(sys.argv) > 1 else {}
compiled = kernel[(1, )](x, 50, BLOCK=64, **options)
assert not x[50:].any()
print(x[0], set(x[:50]) == {x[0]})
"""


@pytest.fixture
def bench(tmp_path, python):
    """Runs the script; `dump` gives the files of its stages."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    class Bench:
        folder = tmp_path / "override"

        @staticmethod
        def run(target, *args, check=True, **env):
            env = {"TRITON_CACHE_DIR": str(tmp_path / "cache"), "TRITON_DUMP_DIR": str(tmp_path / "dump"),
                   "TRITON_OVERRIDE_DIR": str(Bench.folder), **target, **env}
            return python("-m", "deuteron", script, *args, env=env, check=check)

        @staticmethod
        def value(target, *args, **env):
            value, same = Bench.run(target, *args, **env).stdout.split()
            assert same == "True"
            return int(value)

        @staticmethod
        def dump(target):
            assert Bench.value(target, TRITON_KERNEL_DUMP="1") == 1000003
            (folder,) = (tmp_path / "dump").iterdir()
            return {path.suffix[1:]: path for path in folder.iterdir()}

    return Bench


STAGES = [(CPU, "ttir"), (CPU, "llir"), (CPU, "asm"), (GPU, "ttir"), (GPU, "ttgir"), (GPU, "llir"), (GPU, "ptx")]
NAMES = [f"{'cpu' if target is CPU else 'gpu'}-{stage}" for target, stage in STAGES]


@pytest.mark.parametrize("target, stage", STAGES, ids=NAMES)
def test_a_file_stands_for_a_stage(bench, target, stage):
    files = bench.dump(target)
    source = files[stage]
    folder = bench.folder / source.parent.name
    folder.mkdir(parents=True)
    copy = folder / source.name
    copy.write_text(source.read_text())
    finished = bench.run(target, TRITON_KERNEL_OVERRIDE="1")
    assert finished.stdout.split()[0] == "1000003" and f"Overriding kernel with file {copy}" in finished.stderr
    copy.write_text(source.read_text().replace("1000003", "1000005"))
    assert bench.value(target, TRITON_KERNEL_OVERRIDE="1") == 1000005
    # Again, now from the cache; and the kernel itself is what it was.
    assert bench.value(target, TRITON_KERNEL_OVERRIDE="1") == 1000005
    assert bench.value(target) == 1000003
    copy.write_text(source.read_text().replace("1000003", "1000007"))
    assert bench.value(target, TRITON_KERNEL_OVERRIDE="1") == 1000007


@pytest.mark.parametrize("target, stage", STAGES, ids=NAMES)
def test_a_launch_names_a_file(bench, target, stage, tmp_path):
    text = bench.dump(target)[stage].read_text()
    mine = tmp_path / f"mine.{stage}"
    mine.write_text(text.replace("1000003", "1000011"))
    assert bench.value(target, mine) == 1000011
    assert bench.value(target) == 1000003


DAMAGE = {"ttir": ("arith.addi", "arith.nothing"), "ttgir": ("arith.addi", "arith.nothing"), "llir": (" add ", " nonsense "),
          "ptx": ("add.s32", "nonsense.s32"), "asm": ("ret", "nonsense")}


@pytest.mark.parametrize("target, stage", STAGES, ids=NAMES)
def test_damage_is_told_with_its_place(bench, target, stage, tmp_path):
    text = bench.dump(target)[stage].read_text()
    right, wrong = DAMAGE[stage]
    assert right in text
    mine = tmp_path / f"mine.{stage}"
    mine.write_text(text.replace(right, wrong, 1))
    line = next(number for number, line in enumerate(mine.read_text().splitlines(), 1) if wrong in line)
    finished = bench.run(target, mine, check=False)
    assert finished.returncode == 1
    assert "CompilationError" in finished.stderr and f"{mine}:{line}" in finished.stderr, finished.stderr
    assert bench.value(target) == 1000003


def test_files_that_are_no_stage(bench, tmp_path):
    bench.dump(CPU)
    for name, message in [("kernel.ttgir", "has no stage `ttgir`; it has ttir, llir, asm, obj"),
                          ("kernel", "has no stage ``"), ("missing.ttir", "cannot read")]:
        if "missing" not in name:
            (tmp_path / name).write_text("")
        finished = bench.run(CPU, tmp_path / name, check=False)
        assert finished.returncode == 1 and message in finished.stderr, finished.stderr
    finished = bench.run(CPU, "", check=False)
    assert finished.returncode == 0


def test_a_file_of_the_kernels_name_directly_in_the_folder(bench):
    text = bench.dump(CPU)["ttir"].read_text()
    bench.folder.mkdir()
    (bench.folder / "kernel.ttir").write_text(text.replace("1000003", "1000013"))
    (bench.folder / "other.ttir").write_text("not read")
    assert bench.value(CPU, TRITON_KERNEL_OVERRIDE="1") == 1000013


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


SIGNATURE = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}


def compiled(target, **options):
    """The kernel for a target, without a device."""
    return triton.compile(ASTSource(add, SIGNATURE, {"BLOCK": 256}), target=target, options=options)


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "ptx"])
def test_a_compile_begins_with_a_file(stage, tmp_path, rng):
    gpu = GPUTarget("cuda", 90, 32)
    whole = compiled(gpu, num_warps=8)
    path = tmp_path / f"add.{stage}"
    path.write_text(whole.asm[stage])
    options = {"num_warps": 8} if stage == "ttir" else None
    again = triton.compile(str(path), target=gpu, options=options)
    assert again.asm["ptx"] == whole.asm["ptx"]
    assert again.metadata.num_warps == 8 and again.metadata.name == "add" and again.name == "add"
    assert stage == "ptx" or again.asm["ttgir"] == whole.asm["ttgir"]
    with knobs.runtime.scope():
        knobs.runtime.emulate = "cuda:90"
        here = triton.compile(str(path), options=options)
        x, y = rng.standard_normal((2, 1000), dtype=np.float32)
        out = np.zeros_like(x)
        here[(4, 1, 1)](x, y, out, 1000)
        assert np.array_equal(out, x + y)


def test_a_compile_for_the_processor_begins_with_ttir_alone(tmp_path, rng):
    cpu = GPUTarget("cpu", None, 1)
    whole = compiled(cpu)
    path = tmp_path / "add.ttir"
    path.write_text(whole.asm["ttir"])
    again = triton.compile(str(path), target=cpu)
    assert again.asm["llir"] == whole.asm["llir"]
    x, y = rng.standard_normal((2, 700), dtype=np.float32)
    out = np.zeros_like(x)
    again[(3, 1, 1)](x, y, out, 700)
    assert np.array_equal(out, x + y)
    for stage in ("llir", "ttgir"):
        path = tmp_path / f"add.{stage}"
        path.write_text("")
        with pytest.raises(triton.CompilationError, match=f"cannot begin with a .{stage} file"):
            triton.compile(str(path), target=cpu)


@pytest.mark.parametrize("stage", ["ttir", "ttgir"])
def test_a_damaged_file_is_told_with_its_place(stage, tmp_path):
    path = tmp_path / f"add.{stage}"
    path.write_text(compiled(GPUTarget("cuda", 90, 32)).asm[stage].replace("arith.addf", "arith.nothing"))
    line = next(number for number, text in enumerate(path.read_text().splitlines(), 1) if "nothing" in text)
    with pytest.raises(triton.CompilationError, match=f"add.{stage}:{line}"):
        triton.compile(str(path), target=GPUTarget("cuda", 90, 32))


def test_ptx_with_shared_memory_says_what_it_needs(tmp_path):
    gpu = GPUTarget("cuda", 90, 32)
    whole = triton.compile(ASTSource(summed, {"x_ptr": "*fp32", "BLOCK": "constexpr"}, {"BLOCK": 1024}), target=gpu)
    path = tmp_path / "summed.ptx"
    path.write_text(whole.asm["ptx"])
    with pytest.raises(triton.CompilationError, match="min_shared_mem=BYTES"):
        triton.compile(str(path), target=gpu)
    again = triton.compile(str(path), target=gpu, options={"min_shared_mem": whole.metadata.shared})
    assert again.metadata.shared == whole.metadata.shared


@triton.jit
def summed(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, BLOCK))))


def test_a_configuration_names_a_file(tmp_path, rng):
    @triton.autotune([triton.Config({"BLOCK": 256}, ir_override=str(tmp_path / "add.ttir"))], key=["n"])
    @triton.jit
    def tuned(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)

    text = compiled(GPUTarget("cpu", None, 1)).asm["ttir"]
    (tmp_path / "add.ttir").write_text(text.replace("arith.addf", "arith.subf"))
    x, y = rng.standard_normal((2, 500), dtype=np.float32)
    out = np.zeros_like(x)
    tuned[(2, )](x, y, out, 500)
    assert np.array_equal(out, x - y)
    (tmp_path / "add.ttir").write_text(text)
    tuned[(2, )](x, y, out, 500)
    assert np.array_equal(out, x + y), "an edited file counts from the next launch on"
