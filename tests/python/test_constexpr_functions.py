"""Python functions that kernels call while they are compiled, and what these see of run-time values."""

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl
from deuteron.language.core import base_type, base_value, extern

ENGINES = ["cpu", "interpreter", "sm_90"]


@triton.constexpr_function
def element_of(where):
    if isinstance(where, tl.core.tensor_descriptor_base):
        return where.dtype
    assert isinstance(where, tl.tensor) and isinstance(where, base_value) and not isinstance(where, tl.constexpr)
    return where.dtype.element_ty if where.dtype.is_ptr() else where.dtype


@triton.constexpr_function
def rank(block, *, unused=None):
    assert isinstance(block.type, base_type)
    return len(block.shape) if block.shape == block.type.shape and block.numel == 32 else -1


@triton.constexpr_function
def second(pair):
    return pair[1]


@tl.constexpr_function
def leaves(values):
    # As in Triton 3.9: tuples are those of the language, and what is in them are plain numbers and values.
    if isinstance(values, tl.tuple):
        assert len(values.values) == len(values.type.types) == len(values)
        return sum(map(leaves, values)) + 0 * len(values[1:] + (1, 2))
    assert isinstance(values, (int, tl.tensor)) and not isinstance(values, tl.constexpr)
    return 1


@tl.core.constexpr_function
def turned(values):
    assert isinstance(values[::-1], tl.tuple) and values[0] != 3
    return values[::-1]


@triton.jit
def described(x, y, ints, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + at)
    tl.static_assert(element_of(x) == tl.float32)
    tl.static_assert(element_of(ints) == tl.int64)
    tl.static_assert(element_of(values) == tl.float32)
    tl.static_assert(element_of(tl.program_id(0)) == tl.int32)
    descriptor = tl.make_tensor_descriptor(x, [BLOCK], [1], [BLOCK])
    tl.static_assert(element_of(descriptor) == tl.float32)
    KIND: tl.constexpr = element_of(ints)
    RANK: tl.constexpr = rank(values[None, :], unused=x)
    tl.store(y + at, second((values, values + RANK)) + tl.full([BLOCK], 1, KIND).to(tl.float32))


def test_constexpr_functions_see_types_of_run_time_values(engine):
    x, y = np.arange(32, dtype=np.float32), np.full(32, np.nan, np.float32)
    described[(1, )](x, y, np.zeros(1, np.int64), BLOCK=32)
    np.testing.assert_array_equal(y, x + 3)


@triton.jit
def tupled(out, n, PAIR: tl.constexpr):
    LITERAL: tl.constexpr = leaves((1, (2, 3), [4]))
    TYPES: tl.constexpr = leaves((out, (n, 7))) * leaves(tl.arange(0, 8).shape)
    a, b = turned(PAIR)
    c, d = turned((n, 5))
    tl.store(out + tl.arange(0, 8), LITERAL * 1000 + TYPES * 100 + a * 10 + b + (c - d) * n)


def test_tuples_of_constexpr_functions_are_those_of_the_language():
    out = np.zeros(8, np.int32)
    tupled[(1, )](out, 20, PAIR=(2, 6))
    assert (out == 4000 + 300 + 60 + 2 + (5 - 20) * 20).all()


@triton.constexpr_function
def decide(block):
    return 1 if block else 2


@triton.jit
def deciding(x):
    tl.store(x, decide(tl.load(x)))


def test_a_run_time_value_has_no_truth_while_a_kernel_is_compiled():
    with pytest.raises(triton.CompilationError, match="neither true nor false"):
        deciding[(1, )](np.zeros(1, np.float32))


@tl.core.builtin
def lanes_of(most, _semantic=None):
    options = _semantic.builder.options
    digits = "".join(letter for letter in options.arch[2:] if letter.isdigit())
    if options.arch.startswith("sm") and int(digits) > most.value:
        raise ValueError(f"{options.arch} is newer than {most.value}")
    return tl.constexpr(options.num_warps * options.warp_size)


@triton.jit
def asking(out, MOST: tl.constexpr):
    tl.store(out, lanes_of(MOST))


def test_functions_of_users_ask_for_the_options_of_the_compile(engine):
    out = np.zeros(1, np.int32)
    asking[(1, )](out, 90, num_warps=2)
    assert out[0] == {"cpu": 2, "interpreter": 4, "sm_90": 64}[engine]
    if engine == "sm_90":
        with pytest.raises(triton.CompilationError, match="sm90 is newer than 89"):
            asking[(1, )](out, 89)


def test_an_old_name_of_builtin():
    assert extern is tl.core.builtin


@triton.jit
def called(out, one: tl.constexpr, two: tl.constexpr, three: tl.constexpr):
    x = tl.arange(0, 8).to(tl.float32)
    tl.store(out + tl.arange(0, 8), three(two(one(x), x)))


@pytest.mark.parametrize("functions, expected", [
    ((tl.sigmoid, tl.maximum, tl.exp), lambda x: np.exp(np.maximum(1 / (1 + np.exp(-x)), x))),
    ((tl.flip, tl.minimum, tl.cumsum), lambda x: np.cumsum(np.minimum(x[::-1], x))),
])
def test_functions_of_the_language_are_arguments(engine, functions, expected):
    out = torch.full((8,), float("nan"))
    called[(1,)](out, *functions)
    x = np.arange(8, dtype=np.float64)
    np.testing.assert_allclose(out, expected(x), rtol=1e-5)


@triton.jit
def ask(out, what: tl.constexpr):
    tl.store(out + tl.program_id(0), what())


@pytest.mark.parametrize("engine", ["sm_90"], indirect=True)
@pytest.mark.parametrize("what", ["smid", "num_threads", "globaltimer"])
def test_what_one_kind_of_target_has_is_an_argument(engine, what):
    out = torch.full((4,), -1, dtype=torch.int64)
    ask[(4,)](out, what=getattr(tl.extra.cuda, what), num_warps=2)
    assert (out == 64).all() if what == "num_threads" else (out >= 0).all()
