"""Errors of compiles are caused by the class that Python raises for them, as the reference's are."""

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl
from deuteron.language.semantic import IncompatibleTypeErrorImpl

THRESHOLD = 5


@triton.jit
def one_arm(out_ptr, n):
    if n > 0:
        only = 1.0
    tl.store(out_ptr, only)


@triton.jit
def plain_global(out_ptr, n):
    tl.store(out_ptr, THRESHOLD)


@triton.jit
def calls_a_number(out_ptr, n):
    n(1)


@triton.jit
def two_parameters(a, b):
    return a + b


@triton.jit
def too_many(out_ptr, n):
    two_parameters(1, 2, 3)


@triton.jit
def unknown_keyword(out_ptr, n):
    tl.load(out_ptr, foo=1)


@triton.jit
def pointer_times_two(out_ptr, n):
    out_ptr * 2


@triton.jit
def float_and_one(out_ptr, n):
    n.to(tl.float32) & 1


@triton.jit
def two_pointers(out_ptr, n):
    out_ptr + out_ptr


@triton.jit
def unary_minus(out_ptr, n):
    -out_ptr


@triton.jit
def range_of_a_float(out_ptr, n):
    for _ in range(1.5, n):
        pass


@triton.jit
def length_of_a_block(out_ptr, n):
    len(tl.arange(0, 8))


@triton.jit
def ranges_end_before(out_ptr, n):
    tl.arange(16, 0)


@triton.jit
def exp_of_an_integer(out_ptr, n):
    tl.exp(n)


@triton.jit
def dims_differ(out_ptr, n):
    tl.dot(tl.zeros((16, 32), tl.float16), tl.zeros((16, 32), tl.float16))


@triton.jit
def dtypes_differ(out_ptr, n):
    tl.dot(tl.zeros((16, 16), tl.float16), tl.zeros((16, 16), tl.float32))


@triton.jit
def loop_changes_type(out_ptr, n):
    a = 1
    for _ in range(n):
        a = a + 1.0
    tl.store(out_ptr, a)


@triton.jit
def arms_of_two_types(out_ptr, n):
    if n > 0:
        a = 1
    else:
        a = 1.0
    tl.store(out_ptr, a)


@triton.jit
def returns_two_shapes(n):
    if n > 0:
        return tl.arange(0, 4)
    return tl.arange(0, 8)


@triton.jit
def calls_two_shapes(out_ptr, n):
    returns_two_shapes(n)


@triton.jit
def pointer_to_float(out_ptr, n):
    out_ptr.to(tl.float32)


@triton.jit
def by_zero(out_ptr, n):
    tl.store(out_ptr, 16 // 0)


@triton.jit
def behind_the_end(out_ptr, n):
    (1, 2)[5]


@triton.jit
def sets_an_element(out_ptr, n):
    a = tl.zeros((4, ), tl.float32)
    a[0] = 1.0


@triton.jit
def no_attribute(out_ptr, n):
    n.thirded()


@triton.jit
def asserts_a_value(out_ptr, n):
    tl.static_assert(n == 3)


@triton.constexpr_function
def raises(n):
    raise FileNotFoundError(n) if n == 1 else KeyError(n)


@triton.jit
def calls_what_raises(out_ptr, n):
    tl.arange(0, raises(2))


CASES = [
    (one_arm, NameError, "only is not defined"),
    (plain_global, NameError, "Cannot access global variable THRESHOLD"),
    (calls_a_number, TypeError, "'tensor' object is not callable"),
    (too_many, TypeError, "two_parameters"),
    (unknown_keyword, TypeError, "got an unexpected keyword argument 'foo'"),
    (pointer_times_two, IncompatibleTypeErrorImpl, "invalid operands of type pointer<int32> and int32"),
    (float_and_one, IncompatibleTypeErrorImpl, "invalid operands of type"),
    (two_pointers, TypeError, "cannot add pointers together"),
    (unary_minus, ValueError, "wrong type argument to unary minus"),
    (range_of_a_float, TypeError, "For loop bounds and step must all be ints"),
    (length_of_a_block, TypeError, "object of type 'tensor' has no len()"),
    (ranges_end_before, ValueError, "end argument must be greater than the start"),
    (exp_of_an_integer, ValueError, "but got int32"),
    (dims_differ, AssertionError, "32"),
    (dtypes_differ, AssertionError, "Both operands must be same dtype. Got fp16 and fp32"),
    (loop_changes_type, AssertionError, "Loop-carried variable a has initial type int32 but is re-assigned to fp32"),
    (arms_of_two_types, AssertionError, "Mismatched type for a between then block"),
    (calls_two_shapes, TypeError, "Return type mismatch"),
    (pointer_to_float, AssertionError, "cannot cast"),
    (by_zero, ZeroDivisionError, "integer division or modulo by zero"),
    (behind_the_end, IndexError, "out of range"),
    (sets_an_element, NotImplementedError, "__setitem__ is not supported"),
    (no_attribute, AttributeError, "has no attribute 'thirded'"),
    (asserts_a_value, NotImplementedError, "could not be determined at compile-time"),
    (calls_what_raises, KeyError, "2"),
]


@pytest.mark.parametrize("kernel, cause, words", CASES, ids=lambda case: getattr(case, "__name__", None))
def test_the_cause_is_of_pythons_class(kernel, cause, words):
    with pytest.raises(triton.CompilationError) as failure:
        kernel[(1, )](np.zeros(4, np.int32), 9)
    error = failure.value
    innermost = error.__cause__
    while isinstance(innermost, triton.CompilationError):
        innermost = innermost.__cause__
    assert type(innermost) is cause and words in str(innermost), repr(innermost)
    assert words in str(error) and f"{cause.__name__}(" in str(error), "the reference's text names the class"


@triton.jit
def a_message_of_a_value(out_ptr, n, N: tl.constexpr):
    tl.static_assert(N == 16, f"n is {n}")
    tl.store(out_ptr, N)


def test_the_message_of_a_static_assertion_that_holds_is_not_made():
    out = np.zeros(4, np.int32)
    a_message_of_a_value[(1, )](out, 3, 16)
    assert out[0] == 16
    failure = triton.compiler.errors.CompileTimeAssertionFailure
    with pytest.raises(failure, match="failed to evaluate assertion message"):
        a_message_of_a_value[(1, )](out, 3, 8)


@pytest.mark.parametrize("operation, cause", [(lambda: tl.arange(0, 4), ValueError), (lambda: tl.sum(3, 0), RuntimeError)])
def test_operations_outside_of_a_kernel(operation, cause):
    with pytest.raises(cause, match="Did you forget to add @triton.jit"):
        operation()
