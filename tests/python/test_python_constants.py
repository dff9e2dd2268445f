"""What Python does with constants in kernels: formats, methods of operators, `else` of loops that are unrolled."""

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl


@triton.jit
def formats(out_ptr, N: tl.constexpr):
    tl.static_print("%d" % N, "%05.1f|%%" % 3.25, "%x" % (N * 16 - 1), "%-4s|" % "ab", "%s" % tl.float16)
    tl.static_print("%d of %s" % (N, "x"))
    tl.static_print("{}-{:>4}-{:.2f}-{1!r}".format(N, 3, 1.0) if N == 3 else "{}-{:>4}-{:.2f}".format(N, 3, 1.0))
    tl.static_assert("%d" % N == "16", "%d is not 16" % N)
    tl.store(out_ptr, N)


def test_texts_are_formatted_as_python_does(capfd):
    out = np.zeros(1, np.int32)
    formats[(1, )](out, 16)
    assert out[0] == 16
    assert capfd.readouterr().out == "16 003.2|% ff ab  | fp16\n16 of x\n16-   3-1.00\n"
    with pytest.raises(triton.compiler.errors.CompileTimeAssertionFailure, match="8 is not 16"):
        formats[(1, )](out, 8)


@triton.jit
def too_few_values(N: tl.constexpr):
    tl.static_print("%d %d" % N)


def test_a_format_that_lacks_a_value_is_a_type_error():
    with pytest.raises(triton.CompilationError, match="not enough arguments for format string") as failure:
        too_few_values[(1, )](16)
    assert isinstance(failure.value.__cause__, TypeError)


@triton.jit
def operator_methods(out_ptr, n, N: tl.constexpr):
    pair = (n, 4)
    tl.store(out_ptr, pair.__getitem__(0) + pair.__len__())
    tl.store(out_ptr + 1, N.__add__(3) + N.__floordiv__(5) + N.__pow__(2))
    tl.store(out_ptr + 2, "abc".__len__())
    block = tl.arange(0, 4)
    tl.store(out_ptr + 4 + block, tl.sum(block.__getitem__(None), 0))


def test_methods_of_operators():
    out = np.zeros(8, np.int32)
    operator_methods[(1, )](out, 7, 16)
    assert out.tolist() == [9, 16 + 3 + 3 + 256, 3, 0, 0, 1, 2, 3]


@triton.jit
def an_else_of_a_loop(out_ptr, n):
    for i in tl.static_range(3):
        tl.store(out_ptr + i, i)
    else:
        tl.store(out_ptr + 3, n)


def test_the_else_of_an_unrolled_loop_runs_behind_it():
    out = np.zeros(4, np.int32)
    an_else_of_a_loop[(1, )](out, 9)
    assert out.tolist() == [0, 1, 2, 9]


@triton.jit
def returns_a_constant(out_ptr):
    tl.store(out_ptr, 1)
    return 5


def test_a_kernel_may_return_a_constant():
    out = np.zeros(1, np.int32)
    returns_a_constant[(1, )](out)
    assert out[0] == 1
