"""Kernels in the interpreter: the same results as native code, and accesses, assertions and promises that are checked."""

import contextlib
import inspect
import textwrap

import numpy as np
import pytest
import torch
from conftest import ROOT

import deuteron as triton
import deuteron.language as tl
from deuteron import knobs

INTERPRETED = {"TRITON_INTERPRET": "1"}


@contextlib.contextmanager
def interpreted(on=True):
    """The knob is set within, and restored behind."""
    with knobs.runtime.scope():
        knobs.runtime.interpret = on
        yield


def line_of(function, text):
    """The line of this file in which a kernel has this text."""
    lines, start = inspect.getsourcelines(function.fn)
    return start + next(at for at, line in enumerate(lines) if text in line)


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask) + tl.load(y_ptr + offsets, mask), mask)


@triton.jit
def softmax(out_ptr, in_ptr, stride, n, BLOCK: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(in_ptr + row * stride + columns, columns < n, -float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out_ptr + row * stride + columns, powers / tl.sum(powers, 0), columns < n)


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        down, across = k + tl.arange(0, BLOCK)[:, None], k + tl.arange(0, BLOCK)[None, :]
        a = tl.load(a_ptr + rows * K + across, (rows < M) & (across < K), 0.0)
        b = tl.load(b_ptr + down * N + columns, (down < K) & (columns < N), 0.0)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows * N + columns, total, (rows < M) & (columns < N))


def both(launch, like):
    """What a launch writes natively, in the interpreter, and natively again."""
    results = []
    for on in (False, True, False):
        out = np.full_like(like, -7)
        with interpreted(on):
            kernel = launch(out)
        assert ("interpreted" in kernel.metadata._asdict()) == on
        assert ("llir" not in kernel.asm) == on
        results.append(out)
    return results


def test_vector_add_is_the_same_and_off_is_native_again(arrays, rng):
    n = 1003
    x, y = rng.standard_normal((2, n)).astype(np.float32)
    made = arrays.make(x), arrays.make(y)
    native, same, again = both(lambda out: add[(triton.cdiv(n, 128), )](*made, out, n, BLOCK=128), x)
    np.testing.assert_array_equal(native, x + y)
    np.testing.assert_array_equal(same, x + y)
    np.testing.assert_array_equal(again, x + y)


def test_softmax_is_the_same(rng):
    values = rng.standard_normal((5, 77)).astype(np.float32)
    native, same, _ = both(lambda out: softmax[(5, )](out, values, 77, 77, BLOCK=128), values)
    np.testing.assert_allclose(same, native, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(same.sum(1), 1, rtol=1e-5)


def test_matmul_is_the_same(rng):
    a = rng.standard_normal((33, 21)).astype(np.float32)
    b = rng.standard_normal((21, 19)).astype(np.float32)
    like = np.zeros((33, 19), np.float32)
    native, same, _ = both(lambda out: matmul[(3, 2)](a, b, out, 33, 19, 21, BLOCK=16), like)
    np.testing.assert_allclose(same, native, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(same, a @ b, rtol=1e-4, atol=1e-5)


@triton.jit
def copy(in_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(in_ptr + offsets)
    tl.store(out_ptr + offsets, values)


@pytest.mark.parametrize("size_in, size_out, name, access",
                         [(60, 64, "in_ptr", "tl.load"), (64, 60, "out_ptr", "tl.store")])
def test_an_access_out_of_bounds_names_tensor_offset_program_and_line(arrays, size_in, size_out, name, access):
    values, out = arrays.make(np.ones(size_in, np.float32)), arrays.make(np.zeros(size_out, np.float32))
    with interpreted(), pytest.raises(triton.InterpreterError) as caught:
        copy[(4, )](values, out, BLOCK=16)
    text = str(caught.value)
    assert f"byte 240 of `{name}`, which has 240 bytes" in text
    assert "program (3, 0, 0)" in text
    assert f"test_interpreter.py:{line_of(copy, access)}" in text
    assert isinstance(caught.value, RuntimeError)
    # What came before the error has happened.
    np.testing.assert_array_equal(arrays.numpy(out)[:48], 1)


def test_a_view_may_be_used_as_far_as_its_memory_goes():
    memory = np.arange(64, dtype=np.float32)
    out = np.zeros(64, np.float32)
    with interpreted():
        copy[(2, )](memory[16:20], out, BLOCK=16)
        np.testing.assert_array_equal(out[:32], memory[16:48])
        with pytest.raises(triton.InterpreterError, match="byte 256 of `in_ptr`, which has 256 bytes"):
            copy[(4, )](memory[16:20], out, BLOCK=16)
        copy[(4, )](memory[::-1][63:], out, BLOCK=16)
    np.testing.assert_array_equal(out, memory)


def test_what_is_read_only_is_not_written():
    out = np.zeros(16, np.float32)
    out.flags.writeable = False
    with interpreted(), pytest.raises(triton.InterpreterError, match="`out_ptr`, which is read-only"):
        copy[(1, )](np.ones(16, np.float32), out, BLOCK=16)
    assert not out.any()


class Bare:
    """A pointer that does not tell how far its memory goes."""

    dtype = tl.float32

    def __init__(self, array):
        self.array = array

    def data_ptr(self):
        """Where the first element is."""
        return self.array.ctypes.data


class Interface:
    """An array by `__array_interface__` alone."""

    def __init__(self, array):
        self.array = array

    @property
    def __array_interface__(self):
        return self.array.__array_interface__


def test_extents_of_other_arrays(rng):
    values = rng.standard_normal(16).astype(np.float32)
    for kind in (Bare, Interface):
        out = np.zeros(16, np.float32)
        with interpreted():
            copy[(1, )](kind(values), kind(out), BLOCK=16)
        np.testing.assert_array_equal(out, values)
    with interpreted(), pytest.raises(triton.InterpreterError, match="byte 64 of `in_ptr`"):
        copy[(2, )](Interface(values), np.zeros(32, np.float32), BLOCK=16)


def test_an_empty_array_has_no_bytes():
    with interpreted(), pytest.raises(triton.InterpreterError, match="byte 0 of `in_ptr`, which has 0 bytes"):
        copy[(1, )](torch.empty(0), torch.empty(16), BLOCK=16)


def test_a_compiled_kernel_stays_what_it_is():
    values, out = np.ones(16, np.float32), np.zeros(8, np.float32)
    with interpreted():
        kernel = copy.warmup(values, out, BLOCK=16, grid=(1, ))
    with pytest.raises(triton.InterpreterError, match="byte 32 of `out_ptr`, which has 32 bytes"):
        kernel[(1, 1, 1)](values, out)


@triton.jit
def assume(x_ptr, n):
    tl.assume(n > 5)
    tl.store(x_ptr, n)


@triton.jit
def undefined(x_ptr, n):
    tl.store(x_ptr, 100 // n)


def test_broken_promises_and_undefined_values_are_errors():
    out = np.zeros(1, np.int32)
    with interpreted():
        with pytest.raises(triton.InterpreterError, match="assumes what does not hold"):
            assume[(1, )](out, 3)
        with pytest.raises(triton.InterpreterError, match=f"test_interpreter.py:{line_of(undefined, 'store')}"):
            undefined[(1, )](out, 0)
        undefined[(1, )](out, 7)
    assert out[0] == 14


@triton.jit
def talk(x_ptr, LIMIT: tl.constexpr):
    values = tl.load(x_ptr + tl.arange(0, 4))
    tl.device_print("value:", values)
    tl.device_assert(values < LIMIT, "too large")


def test_device_print_is_what_native_code_prints(capfd):
    printed = []
    for on in (False, True):
        with interpreted(on):
            talk[(2, )](np.array([1, 2, 3, 4], np.int32), LIMIT=9)
        printed.append(sorted(capfd.readouterr().out.splitlines()))
    assert printed[0] == printed[1]
    assert len(printed[1]) == 8 and all("value:" in line for line in printed[1])


def test_a_failed_device_assert_is_an_error_with_its_line():
    with interpreted(), pytest.raises(RuntimeError) as caught:
        talk[(2, )](np.array([1, 2, 30, 4], np.int32), LIMIT=9, debug=True)
    assert "too large" in str(caught.value) and "program (0, 0, 0)" in str(caught.value)
    assert f"test_interpreter.py:{line_of(talk, 'device_assert')}" in str(caught.value)


def test_the_tests_of_kernels_and_arguments_pass_interpreted(python):
    """What differs is left out: the interpreter refuses misaligned accesses, has no code to show, and runs programs one
    after the other, so that none may wait for a later one."""
    tests = [ROOT / "tests" / "python" / name
             for name in ("test_seed_kernels.py", "test_arguments.py", "test_launch.py")]
    left_out = "not not_aligned and not what_a_compiled_kernel_tells and not wait_for and not waits_for"
    done = python("-m", "pytest", "-q", "-x", *tests, "-k", left_out, env=INTERPRETED, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "passed" in done.stdout


def test_no_llvm_is_needed(python, tmp_path):
    code = "import seed_kernels as s, numpy as np; y = np.zeros(9, np.float32); " \
        "s.add_kernel[(1, )](y + 1, y + 2, y, 9, BLOCK_SIZE=16); print(y.sum())"
    env = {**INTERPRETED, "DEUTERON_LLVM_PATH": str(tmp_path / "none.so"), "TRITON_CACHE_DIR": str(tmp_path)}
    assert python("-c", code, env=env, cwd=ROOT / "tests" / "python").stdout == "27.0\n"


def test_an_access_outside_its_array_names_the_line(python, tmp_path):
    script = tmp_path / "outside.py"
    script.write_text(textwrap.dedent("""\
        import numpy as np
        import triton, triton.language as tl

        @triton.jit
        def fill(out_ptr, n, BLOCK: tl.constexpr):
            offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(out_ptr + offsets, 1.0, mask=offsets < n)

        out = np.zeros(20, np.float32)
        try:
            fill[(2, )](out, 25, BLOCK=16)
        except RuntimeError as error:
            print(error)
        fill[(2, )](out, 20, BLOCK=16)
        print(out.sum())
        """))
    lines = python("-m", "deuteron", script, env=INTERPRETED).stdout.splitlines()
    assert lines[0].startswith(f"{script}:7:") and "out of bounds" in lines[0] and "80 bytes" in lines[0]
    assert "program (1, 0, 0)" in lines[1] and lines[-1] == "20.0"
