"""What stands in the target of a loop behind the loop is the same on every engine, and what Python has there."""

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl


@triton.jit
def targets(out_ptr, start, stop, step, count):
    i = 77
    for i in range(start, stop, step):
        tl.store(out_ptr, i)
    tl.store(out_ptr + 1, i)
    for j in range(stop, start - 1, -2):
        tl.store(out_ptr + 2, j)
    tl.store(out_ptr + 3, j)
    total = 0
    k = 5
    for _ in range(count):
        total += k
        for k in range(3):
            total += 100
    tl.store(out_ptr + 4, total)
    unseen = 0
    for _ in range(count):
        for unseen in range(2):
            total += unseen
    tl.store(out_ptr + 5, total)


@triton.jit(extensions=["loop_exits"])
def search(x_ptr, out_ptr, n):
    for i in range(n):
        if tl.load(x_ptr + i) == 0:
            break
    tl.store(out_ptr, i)


def expected(start, stop, step, count):
    i = 77
    for i in range(start, stop, step):
        pass
    for j in range(stop, start - 1, -2):
        pass
    total, k = 0, 5
    for _ in range(count):
        total += k
        for k in range(3):
            total += 100
    return [i, j, total, total + count]


@pytest.fixture(params=["interpreter", "cpu", "cuda:90", "hip:gfx942"])
def engine(request):
    with triton.knobs.runtime.scope():
        if ":" in request.param:
            triton.knobs.runtime.emulate = request.param
        triton.knobs.runtime.interpret = request.param == "interpreter"
        yield request.param


@pytest.mark.parametrize("arguments", [(0, 10, 3, 2), (3, 4, 5, 1), (5, 5, 1, 0), (0, 9, 3, 3)])
def test_the_target_of_a_loop_keeps_its_last_value(engine, arguments):
    out = np.full(6, -1, dtype=np.int32)
    triton.jit(targets.fn)[(1, )](out, *arguments)
    last, down, total, more = expected(*arguments)
    assert [out[1], out[3], out[4], out[5]] == [last, down, total, more]


@pytest.mark.parametrize("x, found", [([4, 0, 3], 1), ([4, 5, 3], 2), ([0, 0, 0], 0)])
def test_the_target_of_a_loop_that_ends_early(engine, x, found):
    out = np.zeros(1, dtype=np.int32)
    triton.jit(search.fn, extensions=["loop_exits"])[(1, )](np.array(x, dtype=np.int32), out, 3)
    assert out[0] == found
