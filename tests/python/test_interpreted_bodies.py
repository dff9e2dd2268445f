"""Kernels whose bodies Python runs: what only Python can do works inside, and results are those of compiled kernels."""

import collections
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from test_interpreter import interpreted

import deuteron as triton
import deuteron.language as tl
from deuteron import knobs
from deuteron.language.core import constexpr_type

LOG = []


def note(*values):
    """Ordinary Python, which kernels call."""
    LOG.append(values)


@triton.jit
def scaled(values, FACTOR: tl.constexpr):
    note("scaled", FACTOR)
    return values * FACTOR


@triton.jit
def talkative(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    print("x is", x)
    seen = {"pid": int(pid), "sum": float(tl.sum(x, 0))}
    note(seen, x.numpy(), f"{pid:03d}", isinstance(x, tl.tensor), x.shape, x.dtype)
    try:
        raise KeyError(pid)
    except KeyError:
        y = scaled(x, 3)
    for k in [1, 2, 3, 4]:
        if k == 2:
            continue
        if k == 4:
            break
        y += k
    tl.store(out_ptr + offsets, y, mask=offsets < n)


def test_python_works_inside(capsys):
    LOG.clear()
    x, out = np.arange(6, dtype=np.float32), np.zeros(6, np.float32)
    with interpreted():
        talkative[(2, )](x, out, 6, BLOCK=4)
    np.testing.assert_array_equal(out, x * 3 + 4)
    first, inner, second, _ = LOG
    assert first[0] == {"pid": 0, "sum": 6.0} and second[0] == {"pid": 1, "sum": 9.0}
    np.testing.assert_array_equal(first[1], [0, 1, 2, 3])
    assert first[1].dtype == np.float32 and first[2:] == ("000", True, (4, ), tl.float32)
    assert inner == ("scaled", 3)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "x is tensor([0.0, 1.0, 2.0, 3.0], shape=[4], dtype=fp32)"


@triton.jit
def faulty(x_ptr, LIMIT: tl.constexpr):
    pid = tl.program_id(0)
    value = tl.load(x_ptr + pid)
    assert value < LIMIT, "too large"


def test_exceptions_are_those_of_python_and_tell_the_program():
    with interpreted(), pytest.raises(AssertionError, match="too large") as caught:
        faulty[(4, )](np.array([1, 2, 30, 4]), LIMIT=9)
    assert caught.value.__notes__ == ["in program (2, 0, 0) of kernel faulty"]
    assert caught.traceback[-1].path.name == os.path.basename(__file__)
    assert "assert value < LIMIT" in str(caught.traceback[-1].statement)
    with interpreted():
        faulty[(4, )](np.array([1, 2, 3, 4]), LIMIT=9)


@triton.jit
def mistaken(x_ptr):
    values = tl.load(x_ptr + tl.arange(0, 4))
    tl.store(x_ptr, values[2])


def test_what_the_language_refuses_names_the_line():
    with interpreted(), pytest.raises(triton.CompilationError) as caught:
        mistaken[(1, )](np.zeros(4, np.float32))
    assert "unsupported tensor index" in str(caught.value) and "tl.store(x_ptr, values[2])" in str(caught.value)
    # Triton's interpreter raises an error of its own.
    assert isinstance(caught.value, triton.InterpreterError) and "unsupported" in str(caught.value.__cause__)


def test_one_program_is_run_alone():
    for text, ran in (("1", [4, 5]), ("0,0,0", [0, 1, 2, 3])):
        LOG.clear()
        out = np.full(6, -1, np.float32)
        with interpreted():
            knobs.runtime.interpret_program = text
            talkative[(2, )](np.arange(6, dtype=np.float32), out, 6, BLOCK=4)
        assert [at for at in range(6) if out[at] != -1] == ran
    with interpreted(), pytest.raises(ValueError, match="no program of the grid"):
        knobs.runtime.interpret_program = "7"
        talkative[(2, )](np.zeros(6, np.float32), out, 6, BLOCK=4)


@triton.jit
def splits(out_ptr, length, parts):
    size = length // parts
    if size > 0:
        tl.store(out_ptr, size)


def test_a_branch_on_no_value_says_where_that_comes_from():
    out = np.zeros(1, np.int32)
    place = rf"arith.divsi at .*:{splits.starting_line_number + 2}:.*zero divisor"
    with interpreted(), pytest.raises(ValueError, match=f"no defined value: it comes from {place}"):
        splits[(1, )](out, 7, 0)


@triton.jit
def numbers(out_ptr, h_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    half = tl.load(h_ptr + at)
    total, third = 0.1, 1 / 3
    for i in range(0, n):
        total += tl.max(half, 0) * i
    third *= 3
    low, high = min(n, 5), max(n, 5)
    inside = 2 < at < 6
    kept = (at > 1 and at < 7) or not (at != 0)
    EXACT: tl.constexpr = 0.1
    tl.static_assert(BLOCK.value == 8 and EXACT.type == EXACT.type)
    tl.static_assert((BLOCK, "a", None).type == (constexpr_type(8), constexpr_type("a"), constexpr_type(None)))
    tl.static_assert(half.shape == [BLOCK] and half.shape != [BLOCK, 1])
    tl.store(out_ptr + at, half * total)
    tl.store(out_ptr + BLOCK + at, half * third)
    tl.store(out_ptr + 2 * BLOCK + at, half * EXACT)
    tl.store(out_ptr + 3 * BLOCK + at, tl.where(inside, low, high) + tl.where(kept, 10, 20))
    tl.store(out_ptr + 4 * BLOCK + at, (-7 // n) + (-7 % n) * at)


def both(kernel, shape, *args, grid=(1, ), dtype=np.float32, **kwargs):
    """What a compiled and an interpreted launch write."""
    results = []
    for on in (False, True):
        out = np.full(shape, -7, dtype)
        with interpreted(on):
            kernel[grid](out, *args, **kwargs)
        results.append(out)
    return results


def test_numbers_have_the_types_of_compiled_kernels(rng):
    half = rng.standard_normal(8).astype(np.float16)
    native, same = both(numbers, (5, 8), half, 3, BLOCK=8)
    np.testing.assert_array_equal(same, native)


Pair = collections.namedtuple("Pair", "first second")


@triton.aggregate
class Window:
    base: tl.tensor
    size: tl.constexpr

    @triton.jit
    def read(self, at):
        return tl.load(self.base + at, mask=at < self.size, other=-1.0)


@triton.jit
def larger(a, b):
    return tl.where(a > b, a, b)


@triton.jit
def features(out_ptr, x_ptr, pair, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    block = tl.load(x_ptr + at[:, None] * SIZE + at[None, :])
    window = Window(x_ptr, 5)
    tl.store(out_ptr + at, window.read(at))
    tl.store(out_ptr + SIZE + at, tl.reduce(block, 1, larger))
    product = tl.dot(block, tl.trans(block))
    tl.store(out_ptr + 2 * SIZE + at, tl.sum(product, 0) + pair.first)
    tl.store(out_ptr + 3 * SIZE + at, tl.cumsum(tl.max(block, 0), 0) * pair[1])
    left, right = tl.split(tl.reshape(block, (SIZE // 2 * SIZE, 2)))
    tl.store(out_ptr + 4 * SIZE + at, tl.sum(tl.reshape(left - right, (SIZE, SIZE // 2)), 1))
    descriptor = tl.make_tensor_descriptor(x_ptr, [SIZE, SIZE], [SIZE, 1], [2, SIZE])
    tl.store(out_ptr + 5 * SIZE + at, tl.sum(descriptor.load([3, 0]), 0))
    pointer = tl.make_block_ptr(x_ptr, (SIZE, SIZE), (SIZE, 1), (0, 0), (2, SIZE), (1, 0))
    pointer = tl.advance(pointer, (4, 0))
    tl.store(out_ptr + 6 * SIZE + at, tl.max(tl.load(pointer, boundary_check=(0, )), 0))
    count = 0
    while count < 4:
        count += 1
    tl.store(out_ptr + 7 * SIZE + at, tl.sort(tl.load(x_ptr + at)) + count)
    tl.atomic_add(out_ptr + 7 * SIZE, 1.0)


@triton.jit
def unpacked(out_ptr, shape: tl.constexpr, n):
    rows: tl.constexpr
    columns: tl.constexpr
    rows, columns = shape
    size: tl.constexpr
    size, total, (twice, half) = rows * columns, 0.1, (n * 2, 0.5)
    block = tl.reshape(tl.full((rows, columns), half, tl.float32), (size, ))
    tl.store(out_ptr + tl.arange(0, size), block * total + twice)


def test_constants_among_the_targets_of_an_assignment():
    native, same = both(unpacked, 8, (2, 4), 3)
    np.testing.assert_array_equal(same, native)
    np.testing.assert_array_equal(same, np.full(8, np.float32(0.5) * np.float32(0.1) + np.float32(6)))


def greatest():
    return 2**40


@triton.jit
def given_constants(out_ptr, half_ptr, n, BLOCK: tl.constexpr):
    last, places, ratio = np.iinfo(np.int64).max, greatest(), math.log2(BLOCK * 3.0)
    small = math.sqrt(2.0) * 0.1
    for at in range(n):
        last = tl.where(at > 1, at + n, last)
    block = tl.load(half_ptr + tl.arange(0, BLOCK)) * small
    tl.static_assert(block.dtype == tl.float32)
    tl.store(out_ptr, last)
    tl.store(out_ptr + 1, places + (ratio * 1000).to(tl.int64))
    tl.store(out_ptr + 2, (tl.sum(block, 0) * 1e6).to(tl.int64))


@triton.jit
def timed(out_ptr):
    began = time.perf_counter()
    tl.store(out_ptr, 1)
    note(time.perf_counter() - began)


def test_what_python_gives_of_constants_is_assigned_as_a_number_of_a_kernel(rng):
    half = rng.standard_normal(8).astype(np.float16)
    native, same = both(given_constants, 3, half, 4, BLOCK=8, dtype=np.int64)
    np.testing.assert_array_equal(same[:2], native[:2])
    # Eight products and their sum round in any order, and the integer drops what is below one millionth.
    terms = half.astype(np.float64) * np.float64(np.float32(math.sqrt(2.0) * 0.1)) * 1e6
    within = 1 + 10 * np.spacing(np.float32(1)) * np.abs(terms).sum()
    np.testing.assert_allclose([native[2], same[2]], terms.sum(), rtol=0, atol=within)


def test_a_clock_stays_one_of_python():
    LOG.clear()
    with interpreted():
        timed[(1, )](np.zeros(1, np.int32))
    assert type(LOG[-1][0]) is float


@triton.jit
def bound_once(out_ptr, FLAG: tl.constexpr):
    value: tl.constexpr
    if FLAG:
        value = 0.1
    else:
        value = 0.3
    tl.static_assert(value == 0.1)
    value = 0.2
    tl.static_assert(value.dtype == tl.float32)
    tl.store(out_ptr, value)


def test_an_annotation_holds_for_the_next_assignment_alone():
    native, same = both(bound_once, 1, True)
    np.testing.assert_array_equal(same, native)
    np.testing.assert_array_equal(same, np.float32([0.2]))


def test_the_language_gives_what_compiled_kernels_give(rng):
    x = rng.standard_normal((16, 16)).astype(np.float32)
    native, same = both(features, (8, 16), x, Pair(0.5, 3), SIZE=16)
    np.testing.assert_allclose(same, native, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(same[1], x.max(1))


@triton.jit
def described(out_ptr, descriptor, SIZE: tl.constexpr):
    block = descriptor.load([tl.program_id(0) * 2, 4])
    at = tl.arange(0, 2)[:, None] * 8 + tl.arange(0, 8)[None, :]
    tl.store(out_ptr + tl.program_id(0) * 16 + at, block + SIZE)


def test_descriptors_are_arguments(rng):
    torch = pytest.importorskip("torch")
    from deuteron.tools.tensor_descriptor import TensorDescriptor

    x = torch.from_numpy(rng.standard_normal((5, 12)).astype(np.float32))
    native, same = both(described, (3, 2, 8), TensorDescriptor.from_tensor(x, [2, 8]), grid=(3, ), SIZE=1)
    np.testing.assert_array_equal(same, native)
    np.testing.assert_array_equal(same[2, 1], 1)


def test_values_outlive_their_program_and_stay_in_their_thread():
    LOG.clear()

    @triton.jit
    def keep(x_ptr):
        note(tl.load(x_ptr + tl.arange(0, 2)))

    with interpreted():
        keep[(1, )](np.array([1.5, 2.5]))
    value, = LOG.pop()
    assert repr(value) == "tensor([1.5, 2.5], shape=[2], dtype=fp64)" and value.tolist() == [1.5, 2.5]
    with pytest.raises(RuntimeError, match="outside a kernel"):
        value + 1
    failures = []

    def elsewhere():
        try:
            repr(value)
        except RuntimeError as error:
            failures.append(str(error))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert "another thread" in failures[0]


def test_long_blocks_are_abridged(capsys):

    @triton.jit
    def show():
        print(tl.arange(0, 1024)[:, None] + tl.arange(0, 512)[None, :])

    with interpreted():
        show[(1, )]()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "tensor([[0, 1, 2, ..., 509, 510, 511],"
    assert lines[3].strip() == "...," and lines[-1].endswith("shape=[1024, 512], dtype=int32)") and len(lines) == 7


def run(text, tmp_path, **kwargs):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(text))
    env = {**os.environ, "TRITON_INTERPRET": "1"}
    return subprocess.run([sys.executable, "-m", "deuteron", script], env=env, capture_output=True, text=True, **kwargs)


ADD = """\
    import numpy as np
    import triton, triton.language as tl

    @triton.jit
    def add(x_ptr, n, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n)
        {inside}
        tl.store(x_ptr + at, x + 1, mask=at < n)

    x = np.arange(5, dtype=np.float32)
    add[(1, )](x, 5, BLOCK=8)
    print(x.tolist())
    """


def test_breakpoints_stop_in_the_kernel(tmp_path):
    done = run(ADD.format(inside="breakpoint()"), tmp_path, input="p x\nn\np at.shape, x.dtype\nc\n")
    assert done.returncode == 0, done.stderr
    assert "tl.store(x_ptr + at, x + 1, mask=at < n)" in done.stdout
    assert "tensor([0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0], shape=[8], dtype=fp32)" in done.stdout
    assert "((8,), triton.language.float32)" in done.stdout
    assert "[1.0, 2.0, 3.0, 4.0, 5.0]" in done.stdout


def test_breakpoints_by_line_stop_in_the_kernel(tmp_path):
    code = ADD.format(inside="pass").replace("    add[", "    import pdb; debugger = pdb.Pdb(); debugger.set_break(__file__, 9)\n"
                                                        "    debugger.runcall(lambda: add[").replace("BLOCK=8)", "BLOCK=8))")
    done = run(code, tmp_path, input="c\np x\nc\n")
    assert "tensor([0.0, 1.0" in done.stdout, done.stdout + done.stderr


def test_kernels_without_a_text_run(tmp_path):
    # Read from the standard input, as at a prompt, Python keeps no text.
    code = textwrap.dedent(ADD.format(inside="pass")).replace("triton", "deuteron")
    env = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-"], env=env, capture_output=True, text=True, input=code)
    assert "[1.0, 2.0, 3.0, 4.0, 5.0]" in done.stdout, done.stderr


def test_kernels_of_exec_run():
    namespace = {"triton": triton, "tl": tl}
    text = textwrap.dedent("""
        @triton.jit
        def twice(x_ptr, BLOCK: tl.constexpr):
            at = tl.arange(0, BLOCK)
            tl.store(x_ptr + at, tl.load(x_ptr + at) * 2)
        """)
    exec(text, namespace)
    x = np.arange(4, dtype=np.float32)
    with interpreted():
        namespace["twice"][(1, )](x, BLOCK=4)
    np.testing.assert_array_equal(x, [0, 2, 4, 6])


def test_an_interrupt_ends_a_launch():

    @triton.jit
    def endless(x_ptr):
        while tl.load(x_ptr) == 0:
            pass

    def stop(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        start = time.monotonic()
        with interpreted(), pytest.raises(KeyboardInterrupt):
            endless[(1, )](np.zeros(1, np.int32))
        assert time.monotonic() - start < 5
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@triton.jit
def chooses(x_ptr, out_ptr, n, WIDE: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 8)) + (-3 if n > 4 else 5)
    y = (300 if n > 4 else -300) + tl.zeros((8, ), tl.int8)
    tl.static_assert((4 if WIDE else 2) == 4)
    tl.store(out_ptr + tl.arange(0, 8), x.to(tl.int64) + y)


@pytest.mark.parametrize("n", [3, 7])
def test_a_number_that_a_condition_chooses_is_a_run_time_value(n):
    """An unsigned block and a negative literal cannot be added, nor an int8 and 300; an int32 of that value can."""
    x = np.arange(8, dtype=np.uint32) + 2**31
    compiled, out = np.zeros(8, np.int64), np.zeros(8, np.int64)
    chooses[(1, )](x, compiled, n, True)
    with interpreted():
        chooses[(1, )](x, out, n, True)
    np.testing.assert_array_equal(out, compiled)
    np.testing.assert_array_equal(out, x.astype(np.int64) + (-3 + 300 if n > 4 else 5 - 300))


@triton.jit
def doubled_down(values, N: tl.constexpr):
    if N == 0:
        return values
    else:
        return doubled_down(values * 2 + N, N - 1)


def test_functions_call_themselves():
    @triton.jit
    def summed_down(values, N: tl.constexpr):
        return values if N == 0 else summed_down(values + N, N - 1)

    @triton.jit
    def calls(out_ptr):
        offsets = tl.arange(0, 4)
        tl.store(out_ptr + offsets, doubled_down(offsets, 4) + 1000 * summed_down(offsets, 3))

    expected = [16 * i + 49 + 1000 * (i + 6) for i in range(4)]
    compiled, out = np.zeros(4, np.int32), np.zeros(4, np.int32)
    calls[(1, )](compiled)
    with interpreted():
        calls[(1, )](out)
    assert compiled.tolist() == out.tolist() == expected


def test_handles_are_arrays_with_a_type():
    from deuteron.runtime.interpreter import TensorHandle, _get_np_dtype

    handle = TensorHandle(np.arange(4, dtype=np.int32), tl.int32)
    copy = handle.clone()
    copy.data[0] = 7
    handle.set_attr("tt.divisibility", 16)
    assert not handle and copy and handle.data[0] == 0 and handle.attr == {"tt.divisibility": 16} and not copy.attr
    assert TensorHandle(np.zeros(1, np.uint64), tl.pointer_type(tl.float16)).get_element_ty() == tl.float16
    with pytest.raises(ValueError, match="64 bits, those of int32 have 32"):
        TensorHandle(np.arange(4), tl.int32)
    types = {tl.int1: "bool", tl.int8: "int8", tl.uint16: "uint16", tl.float16: "float16", tl.float32: "float32", tl.bfloat16: "uint16",
             tl.float8e5: "uint8", tl.pointer_type(tl.int8): "uint64", tl.block_type(tl.float64, [4]): "float64"}
    assert {ty: _get_np_dtype(ty).name for ty in types} == types

    seen = []

    @triton.jit(interpret=True)
    def looks(x_ptr):
        block = tl.load(x_ptr + tl.arange(0, 4))
        seen.append((isinstance(block.handle, TensorHandle), isinstance(tl.float32, TensorHandle), block.handle.data.sum(), block.handle.dtype))

    looks[(1, )](np.arange(4, dtype=np.float32))
    assert seen == [(True, False, 6.0, tl.float32)]
