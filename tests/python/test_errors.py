"""Wrong input gets an error of its own, with a place and a way out, and the process lives on."""

import re

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl

THIS_FILE = __file__.rsplit("/", 1)[-1]


@triton.jit
def quiz(in_ptr, output_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    placeholder = tl.zeros([1], dtype=tl.float32)
    pid = placeholder[0]
    tl.store(output_ptr + pid, n_cols)


@triton.jit
def unknown_name(out_ptr):
    tl.store(out_ptr, no_such_name)  # noqa: F821


@triton.jit
def unknown_operation(out_ptr):
    tl.store(out_ptr, tl.no_such_operation(1))


@triton.jit
def a_lambda(out_ptr):
    f = lambda x: x  # noqa: E731
    tl.store(out_ptr, f(1))


@triton.jit
def a_break(out_ptr, n):
    for i in range(n):
        if i > 3:
            break
    tl.store(out_ptr, 1)


@triton.jit
def a_try(out_ptr):
    try:
        tl.store(out_ptr, 1)
    except ValueError:
        pass


@triton.jit
def an_import(out_ptr):
    import math
    tl.store(out_ptr, math.pi)


@triton.jit
def shapes_differ(out_ptr):
    tl.store(out_ptr + tl.arange(0, 8), tl.arange(0, 8) + tl.arange(0, 16))


@triton.jit
def types_differ(out_ptr, n):
    x = 1
    if n > 3:
        x = 2.5
    tl.store(out_ptr, x)


@triton.jit
def loop_changes_type(out_ptr, n):
    x = 0
    for _ in range(n):
        x = x + 1.5
    tl.store(out_ptr, x)


@triton.jit
def no_power_of_two(out_ptr):
    tl.store(out_ptr + tl.arange(0, 100), 1)


@triton.jit
def range_at_run_time(out_ptr, n):
    tl.store(out_ptr + tl.arange(0, n), 1)


@triton.jit
def store_to_a_number(out_ptr, n):
    tl.store(n, 1)


@triton.jit
def too_few_arguments(out_ptr):
    tl.store(out_ptr)


@triton.jit
def half_of_exp(out_ptr):
    tl.store(out_ptr, tl.exp(tl.zeros([1], dtype=tl.float16)))


@triton.jit
def out_of_range(out_ptr):
    x = tl.zeros([4], dtype=tl.int8) + 300
    tl.store(out_ptr + tl.arange(0, 4), x)


@triton.jit
def dims_of_dot_differ(out_ptr):
    a = tl.zeros([16, 32], dtype=tl.float32)
    b = tl.zeros([16, 32], dtype=tl.float32)
    tl.store(out_ptr, tl.sum(tl.dot(a, b)))


THRESHOLD = 4


@triton.jit
def plain_global(out_ptr):
    tl.store(out_ptr, THRESHOLD)


@triton.jit
def asserts_statically(out_ptr, N: tl.constexpr):
    tl.static_assert(N > 10, "N is too small")
    tl.store(out_ptr, N)


def caret(message, source_line, under):
    """Whether the diagnostic shows a line of the source with a caret under a piece of it."""
    lines = message.splitlines()
    for line, below in zip(lines, lines[1:]):
        at = line.find(source_line)
        if at >= 0 and "^" in below:
            first, last = below.index("^"), below.rindex("^")
            begin = at + source_line.index(under)
            return first <= begin + len(under) - 1 and last >= begin
    return False


# kernel, extra arguments, words of the message, the line, the piece of it with the caret
CASES = [
    (quiz, (4, 16), r"index|subscript", "pid = placeholder[0]", "placeholder[0]"),
    (unknown_name, (), r"no_such_name", "tl.store(out_ptr, no_such_name)", "no_such_name"),
    (unknown_operation, (), r"no_such_operation", "tl.store(out_ptr, tl.no_such_operation(1))", "tl.no_such_operation"),
    (a_lambda, (), r"(?i)unsupported.*lambda", "f = lambda x: x", "lambda x: x"),
    (a_break, (9, ), r"(?i)break", "break", "break"),
    (a_try, (), r"(?i)try", "try:", "try:"),
    (an_import, (), r"(?i)unsupported.*import", "import math", "import math"),
    (shapes_differ, (), r"8.*16", "tl.arange(0, 8) + tl.arange(0, 16)", "tl.arange(0, 8) + tl.arange(0, 16)"),
    (types_differ, (5, ), r"(?i)int32.*fp32|fp32.*int32|i32.*f32", None, None),
    (loop_changes_type, (5, ), r"(?i)int32.*fp32|fp32.*int32|i32.*f32", None, None),
    (no_power_of_two, (), r"power of (2|two)", "tl.arange(0, 100)", "tl.arange(0, 100)"),
    (range_at_run_time, (7, ), r"constexpr", "tl.arange(0, n)", "tl.arange(0, n)"),
    (store_to_a_number, (7, ), r"(?i)pointer|ptr", "tl.store(n, 1)", "tl.store(n, 1)"),
    (too_few_arguments, (), r"value", "tl.store(out_ptr)", "tl.store(out_ptr)"),
    (half_of_exp, (), r"fp32.*fp64.*fp16", "tl.exp(tl.zeros([1], dtype=tl.float16))", "tl.exp"),
    (out_of_range, (), r"300.*out of range", "tl.zeros([4], dtype=tl.int8) + 300", "300"),
    (dims_of_dot_differ, (), r"32.*16|16.*32", "tl.dot(a, b)", "tl.dot(a, b)"),
    (plain_global, (), r"THRESHOLD.*constexpr|constexpr.*THRESHOLD", "tl.store(out_ptr, THRESHOLD)", "THRESHOLD"),
    (asserts_statically, (3, ), r"N is too small", "tl.static_assert", "tl.static_assert"),
]


@pytest.mark.parametrize("kernel, arguments, words, line, under", CASES, ids=lambda case: getattr(case, "__name__", None))
def test_compile_errors_have_a_place_and_words(kernel, arguments, words, line, under):
    out = np.zeros(64, np.int32)
    arrays = (out, out) if kernel is quiz else (out, )
    with pytest.raises(triton.CompilationError) as failure:
        kernel[(1, )](*arrays, *arguments)
    error, message = failure.value, str(failure.value)
    assert THIS_FILE in message and error.filename.endswith(THIS_FILE)
    first = kernel.fn.__code__.co_firstlineno
    assert first < error.lineno < first + 12 and error.col >= 1
    assert re.search(rf"{re.escape(THIS_FILE)}:{error.lineno}", message)
    assert re.search(words, message, re.S), message
    if line is not None:
        assert caret(message, line, under), message
    assert not out.any()
    # The same error comes again, and another kernel still works.
    with pytest.raises(triton.CompilationError):
        kernel[(1, )](*arrays, *arguments)
    works[(1, )](out, 5)
    assert out[0] == 5


@triton.jit
def works(out_ptr, n):
    tl.store(out_ptr, n)


def test_the_kinds_of_compile_errors():
    out = np.zeros(4, np.int32)
    with pytest.raises(triton.compiler.errors.CompileTimeAssertionFailure):
        asserts_statically[(1, )](out, 3)
    asserts_statically[(1, )](out, 30)
    with pytest.raises(triton.compiler.errors.UnsupportedLanguageConstruct):
        a_lambda[(1, )](out)


@triton.jit
def helper(x):
    return x + undefined_in_helper  # noqa: F821


@triton.jit
def calls_helper(out_ptr):
    tl.store(out_ptr, helper(1))


def test_an_error_in_a_called_function_is_shown_there():
    with pytest.raises(triton.CompilationError) as failure:
        calls_helper[(1, )](np.zeros(1, np.int32))
    message = str(failure.value)
    assert "undefined_in_helper" in message and caret(message, "return x + undefined_in_helper", "undefined_in_helper")
    assert "helper(1)" in message, "the call is shown as well"


@triton.jit
def two_shapes(n):
    if n == 0:
        return tl.arange(0, 4)
    return tl.arange(0, 8)


@triton.jit
def calls_two_shapes(out_ptr, n):
    two_shapes(n)


def test_returns_of_two_types_are_an_error_of_the_function():
    with pytest.raises(triton.CompilationError) as failure:
        calls_two_shapes[(1, )](np.zeros(1, np.int32), 2)
    assert "at 2:4:" in str(failure.value) and "at 1:0:" in str(failure.value.__cause__)
    assert caret(str(failure.value), "def two_shapes(n):", "def two_shapes")


def test_a_global_that_changed_is_noticed():
    namespace = globals()
    namespace["LATE"] = tl.constexpr(3)
    try:
        out = np.zeros(1, np.int32)
        reads_late[(1, )](out)
        assert out[0] == 3
        namespace["LATE"] = tl.constexpr(4)
        with pytest.raises(RuntimeError, match="LATE"):
            reads_late[(1, )](out)
    finally:
        del namespace["LATE"]


@triton.jit
def reads_late(out_ptr):
    tl.store(out_ptr, LATE)  # noqa: F821


def test_a_function_without_source_is_refused():
    namespace = {"tl": tl}
    exec("def typed(out_ptr):\n    tl.store(out_ptr, 1)\n", namespace)
    with pytest.raises((ValueError, OSError, triton.TritonError), match="typed"):
        triton.jit(namespace["typed"])[(1, )](np.zeros(1, np.int32))


@triton.jit
def checks_on_device(x_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.device_assert(x < n, "x is too large")


def test_a_block_that_is_too_large_for_its_lanes_is_named():
    @triton.jit
    def square(out_ptr, x_ptr):
        offsets = tl.arange(0, 1024)[:, None] * 1024 + tl.arange(0, 1024)[None, :]
        x = tl.load(x_ptr + offsets)
        tl.store(out_ptr + offsets, x * x + 1)

    source = triton.compiler.ASTSource(square, {"out_ptr": "*fp32", "x_ptr": "*fp32"})
    target = triton.backends.compiler.GPUTarget("cuda", 90, 32)
    with pytest.raises(triton.CompilationError, match="the kernel is too large: .*32768 of them.*1024x1024.*more warps"):
        triton.compile(source, target=target, options={"num_warps": 1})
    assert triton.compile(source, target=target, options={"num_warps": 16}).asm["ptx"]


def test_a_failed_assert_on_the_device_is_an_error_of_the_launch():
    x = np.arange(16, dtype=np.int32)
    checks_on_device[(2, )](x, 10, BLOCK=16)
    with pytest.raises(RuntimeError, match="x is too large") as failure:
        checks_on_device[(2, )](x, 10, BLOCK=16, debug=True)
    assert THIS_FILE in str(failure.value)
    checks_on_device[(2, )](x, 100, BLOCK=16, debug=True)


def test_a_missing_llvm_says_what_was_searched(python, tmp_path):
    source = tmp_path / "k.py"
    source.write_text("""
import deuteron as triton, deuteron.language as tl, array
class Memory:
    dtype = tl.int32
    def __init__(self): self.values = array.array("i", [0])
    def data_ptr(self): return self.values.buffer_info()[0]
@triton.jit
def kernel(out_ptr, n):
    tl.store(out_ptr, n)
try:
    kernel[(1, )](Memory(), 5)
except triton.TritonError as error:
    print(type(error).__name__)
    print(error)
""")
    missing = tmp_path / "no_llvm_here.so"
    done = python(source, env={"DEUTERON_LLVM_PATH": str(missing), "TRITON_CACHE_DIR": str(tmp_path / "cache")})
    kind, message = done.stdout.split("\n", 1)
    assert kind == "MissingTool"
    assert str(missing) in message and "DEUTERON_LLVM_PATH" in message and "install" in message
