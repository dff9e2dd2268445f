"""Kernels for processors as shared libraries, which packages of AOTInductor load: they are called here as torch calls them."""

import ctypes
import shutil
import textwrap

import pytest
import torch

import deuteron
from deuteron import language as tl

pytestmark = pytest.mark.skipif(not shutil.which("g++") and not shutil.which("clang++"), reason="no compiler of C++")


@deuteron.jit
def scaled_kernel(x_ptr, WIDTH: tl.constexpr, n, y_ptr, factor, shift, negate, BLOCK: tl.constexpr):
    at = (tl.program_id(0) + tl.num_programs(0) * (tl.program_id(1) + tl.num_programs(1) * tl.program_id(2))) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, at < n, 0.0)
    y = x * factor + shift + WIDTH
    tl.store(y_ptr + at, tl.where(negate, -y, y), at < n)


@deuteron.jit
def turned_kernel(x_ptr, y_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    x = tl.sort(tl.load(x_ptr + rows[:, None] * COLUMNS + columns[None, :]))
    tl.store(y_ptr + columns[:, None] * ROWS + rows[None, :], tl.cumsum(x, 1).trans())


@deuteron.jit
def again_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    """Reads twice what it may have written in between."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at) + 1)
    tl.store(out_ptr + at, tl.load(x_ptr + at) * 2)


@deuteron.jit
def half_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at).to(tl.float64).to(tl.float16).to(tl.float32))


@deuteron.jit
def positive_kernel(x_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.device_assert(tl.load(x_ptr + at) > 0, "not positive")


@deuteron.jit
def printing_kernel(x_ptr):
    tl.device_print("x", tl.load(x_ptr))


@deuteron.jit
def described_kernel(descriptor, y_ptr):
    tl.store(y_ptr + tl.arange(0, 16), descriptor.load([0]))


def compiled(kernel, signature, constants):
    """A kernel for this machine's processors."""
    return deuteron.compile(deuteron.compiler.ASTSource(kernel, signature, constants), target=("cpu", deuteron.runtime.driver.active.get_current_target().arch, 1))


def loaded(kernel, folder):
    """A function of a grid and an argument for each parameter: tensors, numbers of ctypes, None for constants."""
    for name in ("so", "launcher.so"):
        (folder / name).write_bytes(kernel.asm[name])
    code, launcher = ctypes.CDLL(folder / "so"), ctypes.CDLL(folder / "launcher.so")
    entry = ctypes.cast(getattr(code, kernel.metadata.name), ctypes.c_void_p)

    def call(grid, *args):
        places = [arg.data_ptr() if isinstance(arg, torch.Tensor) else None if arg is None else ctypes.addressof(arg) for arg in args]
        launcher.run_from_nativert(*map(ctypes.c_uint32, grid), 1, (ctypes.c_void_p * len(places))(*places), entry)

    return call


def test_every_kind_of_parameter_is_passed(tmp_path):
    signature = {"x_ptr": "*fp32", "WIDTH": "constexpr", "n": "i32", "y_ptr": "*fp32", "factor": "fp32", "shift": "i64", "negate": "i1", "BLOCK": "constexpr"}
    kernel = compiled(scaled_kernel, signature, {"WIDTH": 7, "BLOCK": 32})
    assert "so" in kernel.asm and "launcher.so" in kernel.asm and "so" not in list(kernel.asm)
    call = loaded(kernel, tmp_path)
    x, y = torch.randn(700), torch.full((800, ), 99.0)
    for negate in (False, True):
        # Wrappers keep integers in 64 bits, whatever their type.
        call((4, 3, 2), x, None, ctypes.c_int64(700), y, ctypes.c_float(1.5), ctypes.c_int64(-3), ctypes.c_bool(negate), None)
        torch.testing.assert_close(y[:700], (x * 1.5 + 4) * (-1 if negate else 1))
        assert (y[700:] == 99).all()
    y.fill_(99)
    call((0, 3, 2), x, None, ctypes.c_int64(700), y, ctypes.c_float(1.5), ctypes.c_int64(-3), ctypes.c_bool(False), None)
    assert (y == 99).all()


def test_programs_have_scratch_memory(tmp_path):
    kernel = compiled(turned_kernel, {"x_ptr": "*fp32", "y_ptr": "*fp32", "ROWS": "constexpr", "COLUMNS": "constexpr"}, {"ROWS": 32, "COLUMNS": 64})
    assert kernel.metadata.shared > 0
    x, y = torch.randn(32, 64), torch.full((64, 32), float("nan"))
    loaded(kernel, tmp_path)((1, 1, 1), x, y, None, None)
    values = x.double().sort().values
    # Sums of up to 64 terms, in any order: 63 roundings of sums that are at most those of the absolute values.
    assert ((y.t() - values.cumsum(1)).abs() <= 63 * 2.0**-24 * values.abs().cumsum(1)).all()


def test_arguments_may_be_the_same_memory(tmp_path):
    kernel = compiled(again_kernel, {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "BLOCK": "constexpr"}, {"BLOCK": 64})
    assert kernel.metadata.launch_guards, "this kernel expects arguments of their own"
    x, out = torch.randn(65), torch.full((64, ), 99.0)
    expected = torch.cat([x[:1], x[:64] + 1])
    loaded(kernel, tmp_path)((1, 1, 1), x, x[1:], out, None)
    assert torch.equal(x, expected) and torch.equal(out, expected[:64] * 2)


def test_code_for_old_processors_brings_its_conversions(tmp_path):
    """Without instructions for them, conversions are functions of the compiler that links the library."""
    kernel = deuteron.compile(deuteron.compiler.ASTSource(half_kernel, {"x_ptr": "*fp32", "y_ptr": "*fp32", "BLOCK": "constexpr"}, {"BLOCK": 64}),
                              target=deuteron.runtime.driver.active.get_current_target(), options={"arch": "x86-64"})
    x, y = torch.randn(64), torch.empty(64)
    loaded(kernel, tmp_path)((1, 1, 1), x, y, None)
    torch.testing.assert_close(y, x.half().float())


def test_an_assertion_ends_the_launch(python, tmp_path):
    code = """
        import sys
        sys.path.insert(0, {folder!r})
        import pathlib, torch
        from test_libraries import compiled, loaded, positive_kernel
        call = loaded(compiled(positive_kernel, {{"x_ptr": "*fp32", "BLOCK": "constexpr"}}, {{"BLOCK": 16}}), pathlib.Path({path!r}))
        x = torch.ones(64)
        call((4, 1, 1), x, None)
        print("passed", flush=True)
        x[40] = -1
        call((4, 1, 1), x, None)
        print("not reached")
    """
    import os

    code = textwrap.dedent(code).format(folder=os.path.dirname(__file__), path=str(tmp_path))
    done = python("-c", code, env={"TRITON_DEBUG": "1"}, check=False)
    assert done.stdout == "passed\n" and "device-side assert in program (2, 0, 0): " in done.stderr and "not positive" in done.stderr


def test_what_a_library_cannot_do_is_said():
    kernel = compiled(printing_kernel, {"x_ptr": "*fp32"}, {})
    assert kernel.asm["so"][:4] == b"\x7fELF"
    with pytest.raises(NotImplementedError, match="`printing_kernel` prints"):
        kernel.asm["launcher.so"]
    kernel = compiled(described_kernel, {"descriptor": "tensordesc<fp32[16]>", "y_ptr": "*fp32"}, {})
    with pytest.raises(NotImplementedError, match="takes a tensor descriptor"):
        kernel.asm["launcher.so"]


def test_kernels_for_gpus_have_no_such_libraries():
    kernel = deuteron.compile(deuteron.compiler.ASTSource(half_kernel, {"x_ptr": "*fp32", "y_ptr": "*fp32", "BLOCK": "constexpr"}, {"BLOCK": 64}), target=("cuda", 90, 32))
    assert "so" not in kernel.asm and kernel.asm.get("launcher.so") is None
