"""Arguments of minima and maxima: of equal values the first place, of NaN what the language says, on every engine. What a
lane holds in order is combined without comparing places."""

import re

import numpy as np
import pytest
import torch

import deuteron as triton
import deuteron.language as tl
from deuteron.backends.compiler import GPUTarget
from deuteron.compiler import ASTSource

TARGETS = ["", "cuda:90", "hip:gfx942"]


@triton.jit
def places(x_ptr, at_ptr, best_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, MOST: tl.constexpr, LEFT: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + m[:, None] * N + n[None, :])
    if MOST:
        best, at = tl.max(x, AXIS, return_indices=True, return_indices_tie_break_left=LEFT)
    else:
        best, at = tl.min(x, AXIS, return_indices=True, return_indices_tie_break_left=LEFT)
    k = n if AXIS == 0 else m
    tl.store(at_ptr + k, at)
    tl.store(best_ptr + k, best)


@pytest.mark.parametrize("emulate", TARGETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.uint8])
@pytest.mark.parametrize("m, n, axis", [(4, 512, 1), (1, 1024, 1), (256, 8, 0), (16, 64, 1), (2, 32, 0)])
@pytest.mark.parametrize("most", [True, False])
def test_the_first_of_equal_values(rng, emulate, dtype, m, n, axis, most):
    # Few different values, so that nearly every comparison is of equal ones somewhere.
    x = torch.from_numpy(rng.integers(0, 3, (m, n))).to(dtype)
    size = n if axis == 0 else m
    at, best = torch.full((size, ), -1, dtype=torch.int32), torch.zeros(size, dtype=dtype)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = emulate
        triton.jit(places.fn)[(1, )](x, at, best, m, n, axis, most, True)
    values = x.to(torch.int64).numpy()
    expected = values.argmax(axis) if most else values.argmin(axis)
    assert np.array_equal(at.numpy(), expected)
    assert np.array_equal(best.to(torch.int64).numpy(), values.max(axis) if most else values.min(axis))


@pytest.mark.parametrize("emulate", TARGETS)
@pytest.mark.parametrize("most", [True, False])
def test_any_of_equal_values_where_that_is_enough(rng, emulate, most):
    m, n = 4, 256
    x = torch.from_numpy(rng.integers(0, 4, (m, n)).astype(np.float32))
    at, best = torch.full((m, ), -1, dtype=torch.int32), torch.zeros(m)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = emulate
        triton.jit(places.fn)[(1, )](x, at, best, m, n, 1, most, False)
    assert torch.equal(best, x.amax(1) if most else x.amin(1))
    assert torch.equal(x[torch.arange(m), at.long()], best)


@pytest.mark.parametrize("kind", ["fp32", "bf16", "i32"])
def test_one_comparison_for_two_values_of_a_lane(kind):
    signature = {"x_ptr": f"*{kind}", "at_ptr": "*i32", "best_ptr": f"*{kind}"}
    constants = {(3, ): 8, (4, ): 4096, (5, ): 1, (6, ): True, (7, ): True}
    names = [*signature, "M", "N", "AXIS", "MOST", "LEFT"]
    source = ASTSource(places, {name: signature.get(name, "constexpr") for name in names}, constants)
    text = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4}).asm["ptx"]
    held, exchanged = 8 * 4096 // 128, 8 * 7
    assert len(re.findall(r"\bsetp", text)) < held + 4 * exchanged


@triton.jit
def first_below(a, i, b, j):
    first = (a > b) | ((a == b) & (i.to(tl.uint32) < j.to(tl.uint32)))
    return tl.where(first, a, b), tl.where(first, i, j)


@triton.jit
def last_above(a, i, b, j):
    last = (a > b) | ((a == b) & (j < i))
    return tl.where(last, a, b), tl.where(last, i, j)


@triton.jit
def places_from(x_ptr, first_ptr, last_ptr, FROM: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + m[:, None] * N + n[None, :])
    numbers = tl.broadcast_to(tl.arange(FROM, FROM + N)[None, :], (M, N))
    _, first = tl.reduce((x, numbers), 1, first_below)
    _, last = tl.reduce((x, numbers.to(tl.uint32)), 1, last_above)
    tl.store(first_ptr + m, first)
    tl.store(last_ptr + m, last.to(tl.int32))


@pytest.mark.parametrize("emulate", ["interpreter", *TARGETS])
@pytest.mark.parametrize("start", [0, 5, -3, -60, -64])
def test_places_below_zero_are_the_last_of_unsigned_numbers(rng, emulate, start):
    m, n = 8, 64
    x = rng.integers(0, 3, (m, n)).astype(np.int32)
    first, last = (torch.full((m, ), -99, dtype=torch.int32) for _ in "12")
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.interpret = emulate == "interpreter"
        triton.knobs.runtime.emulate = emulate.removeprefix("interpreter")
        triton.jit(places_from.fn)[(1, )](torch.from_numpy(x), first, last, start, m, n)
    numbers = (np.arange(n) + start) % 2**32
    for found, pick in ((first, np.argmin), (last, np.argmax)):
        where = [pick(np.where(row == row.max(), numbers, -1 if pick is np.argmax else 2**33)) for row in x]
        assert np.array_equal(found.numpy(), np.array(where) + start)
