"""Settings that compiles obey: LLVM's optimisation, lines of the source, the assembler."""

import numpy as np
import pytest
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
import triton.language as tl

from deuteron import knobs

SCRIPT = """
import sys
import numpy as np, triton, triton.language as tl
@triton.jit
def summed(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], tl.float32)
    for k in range(0, n, BLOCK):
        acc += tl.exp(tl.load(x_ptr + k + i, mask=k + i < n, other=float("-inf")))
    tl.store(out_ptr, tl.sum(acc, axis=0))
x = np.linspace(-1, 1, 1000, dtype=np.float32)
out = np.zeros(1, np.float32)
kernel = summed[(1, )](x, out, 1000, BLOCK=128)
assert np.isclose(out[0], np.exp(x).sum(), rtol=1e-5), out
print(kernel.hash, len(kernel.asm["obj" if "obj" in kernel.asm else "ptx"]))
"""


@pytest.fixture
def run(tmp_path, python):
    """Runs the script in a process of its own; returns it."""
    (tmp_path / "script.py").write_text(SCRIPT)

    def run(check=True, **env):
        return python("-m", "deuteron", tmp_path / "script.py", check=check,
                      env={"TRITON_CACHE_DIR": str(tmp_path / "cache"), **env})

    return run


@pytest.mark.parametrize("target", [{"DEUTERON_TARGET": "cpu"}, {"DEUTERON_EMULATE": "cuda:90"}], ids=["cpu", "gpu"])
def test_nothing_is_optimised_when_llvm_is_not_to(run, target):
    usual, usual_size = run(**target).stdout.split()
    plain, plain_size = run(DISABLE_LLVM_OPT="1", **target).stdout.split()
    assert plain != usual, "another kernel of the cache"
    assert int(plain_size) > int(usual_size) * (1.05 if "DEUTERON_TARGET" in target else 1)
    assert run(DISABLE_LLVM_OPT="0", **target).stdout.split() == [usual, usual_size]


def test_flags_of_llvm(run):
    usual, _ = run(DEUTERON_TARGET="cpu").stdout.split()
    listed = run(DEUTERON_TARGET="cpu", DISABLE_LLVM_OPT="disable-cgp,disable-machine-licm,disable-lsr")
    assert listed.stdout.split()[0] != usual and listed.stderr == ""
    wrong = run(DEUTERON_TARGET="cpu", DISABLE_LLVM_OPT="disable-everything", check=False).stderr
    assert "DISABLE_LLVM_OPT=disable-everything: `disable-everything` is no flag" in wrong and "disable-cgp" in wrong
    ignored = run(DEUTERON_EMULATE="cuda:90", DISABLE_LLVM_OPT="disable-lsr").stderr
    assert "lists flags of LLVM, which takes no part in a compile for target" in ignored


def test_flags_are_taken_once(python, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + "\ntriton.knobs.compilation.disable_llvm_opt = 'disable-cgp'\n"
                      "summed[(1, )](x, out, 999, BLOCK=256)\n")
    env = {"DEUTERON_TARGET": "cpu", "TRITON_ALWAYS_COMPILE": "1"}
    error = python("-m", "deuteron", script, check=False, env=env).stderr.strip().splitlines()[-1]
    assert "this process has started it with none, not with `disable-cgp`: set them before the first compile" in error, error


@triton.jit
def scaled(x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i) * 2)


def compiled():
    source = ASTSource(fn=scaled, signature={"x_ptr": "*fp32", "BLOCK": "constexpr"}, constexprs={"BLOCK": 256})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32))


def test_lines_are_left_out():
    assert ".loc" in compiled().asm["ptx"] and "!dbg" in compiled().asm["llir"]
    with knobs.compilation.scope():
        knobs.compilation.disable_line_info = True
        assert ".loc" not in compiled().asm["ptx"] and "!dbg" not in compiled().asm["llir"]


def test_ptx_is_printed_also_from_the_cache(capfd):
    compiled()
    with knobs.nvidia.scope():
        knobs.nvidia.dump_nvptx = True
        text = compiled().asm["ptx"]
    printed = capfd.readouterr().out
    assert printed.startswith("// -----// NVPTX Dump //----- //\n") and text.strip() in printed


FAKE = """#!/bin/sh
[ "$1" = --version ] && { echo "Cuda compilation tools, release 12.9, V12.9.1"; exit; }
echo "$@" >> LOG
for word; do last=$before; before=$word; done
echo "ptxas info    : Used 42 registers" >&2
echo cubin > "$before"
"""


@pytest.fixture
def assembler(tmp_path, monkeypatch):
    """A program in the place of the assembler; returns what it was called with."""
    log, program = tmp_path / "log", tmp_path / "ptxas"
    program.write_text(FAKE.replace("LOG", str(log)))
    program.chmod(0o755)
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(program))
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")

    def words():
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines[-1].split() if lines else []

    return words


def test_the_assembler_is_told(assembler, capfd):
    level = compiled().metadata.ptxas_level
    usual = assembler()
    # The kernel moves more than it computes.
    assert level == 1 and "-O1" in usual and "-lineinfo" in usual
    with knobs.nvidia.scope(), knobs.compilation.scope():
        knobs.nvidia.disable_ptxas_opt = True
        knobs.nvidia.ptxas_options = "--warn-on-spills --def-load-cache ca"
        knobs.nvidia.dump_ptxas_log = True
        knobs.compilation.disable_line_info = True
        kernel = compiled()
        words = assembler()
        assert "-O0" in words and "-lineinfo" not in words and "--warn-on-spills" in words and "ca" in words
        assert kernel.asm["cubin"] == b"cubin\n"
    assert "Used 42 registers" in capfd.readouterr().out


def test_code_for_emulated_devices_is_assembled_where_that_is_asked_for(assembler, tmp_path, monkeypatch):
    x = np.ones(256, np.float32)
    with knobs.runtime.scope(), knobs.nvidia.scope():
        knobs.runtime.emulate = "cuda:90"
        knobs.nvidia.assemble_emulated = False
        triton.jit(scaled.fn)[(1, )](x, BLOCK=256)
        assert (x == 2).all() and assembler() == []
        knobs.nvidia.assemble_emulated = True
        triton.jit(scaled.fn)[(1, )](x, BLOCK=256)
        words = assembler()
        assert (x == 4).all() and "-O0" in words and "--gpu-name=sm_90a" in words and "-lineinfo" not in words
        refusing = tmp_path / "refusing"
        refusing.write_text('#!/bin/sh\n[ "$1" = --version ] && { echo "release 12.9, V12.9.1"; exit; }\necho no >&2; exit 1\n')
        refusing.chmod(0o755)
        monkeypatch.setenv("TRITON_PTXAS_PATH", str(refusing))
        with pytest.raises(Exception, match="the assembler refuses the PTX"):
            triton.jit(scaled.fn)[(1, )](x, BLOCK=256)
        monkeypatch.setenv("TRITON_PTXAS_PATH", str(tmp_path / "nowhere"))
        with pytest.raises(Exception, match="there is no assembler for PTX here"):
            triton.jit(scaled.fn)[(1, )](x, BLOCK=256)
        assert (x == 4).all()


@triton.jit(interpret=True)
def looked_at(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i) + 1)


def test_one_kernel_is_interpreted():
    x = np.zeros(64, np.float32)
    kernel = looked_at[(1, )](x, 64, BLOCK=64)
    assert (x == 1).all() and kernel.metadata.interpreted is True and looked_at.interpret
    with pytest.raises(triton.InterpreterError, match="x_ptr"):
        looked_at[(1, )](x[:32].copy(), 64, BLOCK=64)
    y = np.ones(256, np.float32)
    compiled_one = scaled[(1, )](y, BLOCK=256)
    assert (y == 2).all() and not scaled.interpret and not hasattr(compiled_one.metadata, "interpreted")


@pytest.mark.parametrize("arch, lanes", [("avx2", 8), ("avx512", 16), ("znver3", 8)])
def test_processors_as_targets(arch, lanes):
    source = ASTSource(scaled, {"x_ptr": "*fp32", "BLOCK": "constexpr"}, {"BLOCK": 256})
    target = GPUTarget("cpu", arch, 1)
    llir = triton.compile(source, target=target).asm["llir"]
    assert f"<{lanes} x float>" in llir and f"<{2 * lanes} x float>" not in llir
    with pytest.raises(triton.CompilationError, match="unknown processor `abacus`; known are: native, .*avx2"):
        triton.compile(source, target=GPUTarget("cpu", "abacus", 1))
