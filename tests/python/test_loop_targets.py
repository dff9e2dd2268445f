"""What stands in the target of a loop behind the loop is the same on every engine, and what Python has there."""

import numpy as np
import pytest
import torch

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


@triton.jit
def counts(out_ptr, FIRST: tl.constexpr, LAST: tl.constexpr, STEP: tl.constexpr):
    count, last = 0, tl.full((), 0, tl.int64)
    for i in range(FIRST, LAST, STEP):
        count += 1
        last = i.to(tl.int64)
    tl.store(out_ptr, count.to(tl.int64))
    tl.store(out_ptr + 1, last)


BOUNDS = [(0, 3, 2**31), (0, 3, 2**32 - 1), (0, 3, 2**40), (3, 0, -2**31), (3, 0, -2**32 + 1), (0, 2**32 - 1, 2**31),
          (2**31 - 2, 2**31 + 2, 1), (2**31 + 1, 2**31 - 3, -1), (2**32 - 2, 2**32 + 2, 2), (-2**31 - 2, -2**31 + 1, 1)]


@pytest.mark.parametrize("emulate", ["", "interpreter", "cuda:90", "hip:gfx942"])
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_bounds_past_31_bits(emulate, bounds):
    out = torch.full((2, ), -1, dtype=torch.int64)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.interpret = emulate == "interpreter"
        triton.knobs.runtime.emulate = emulate.removeprefix("interpreter")
        triton.jit(counts.fn)[(1, )](out, *bounds)
    assert out.tolist() == [len(range(*bounds)), list(range(*bounds))[-1]]


@pytest.mark.parametrize("bounds", [(0, 3, 2**63), (0, 2**63, 2**62)], ids=str)
def test_bounds_past_63_bits_are_refused(bounds):
    with pytest.raises(triton.CompilationError, match=rf"is {2**63}, and loops count to {2**63 - 1}"):
        triton.jit(counts.fn)[(1, )](torch.zeros(2, dtype=torch.int64), *bounds)


@triton.jit
def unrolled(out_ptr, FIRST: tl.constexpr, LAST: tl.constexpr, STEP: tl.constexpr):
    for i in tl.static_range(FIRST, LAST, STEP):
        tl.atomic_add(out_ptr, i - FIRST + 1)


@triton.jit
def hinted(out_ptr, STAGES: tl.constexpr, FACTOR: tl.constexpr):
    for i in tl.range(3, num_stages=STAGES, loop_unroll_factor=FACTOR):
        tl.atomic_add(out_ptr, 1)


def test_numbers_of_loops_at_their_edges():
    out = torch.zeros(1, dtype=torch.int64)
    for bounds, expected in (((2**100, 2**100 + 2, 1), 3), ((2**126, -2**126, 1), 0)):
        out.zero_()
        triton.jit(unrolled.fn)[(1, )](out, *bounds)
        assert out.item() == expected
    with pytest.raises(triton.CompilationError, match="would be unrolled"):
        triton.jit(unrolled.fn)[(1, )](out, -2**127, 2**127 - 1, 1)
    for numbers in ((2**32 + 3, 1), (1, 2**32 + 2)):
        with pytest.raises(triton.CompilationError, match="fits no 32 bits"):
            triton.jit(hinted.fn)[(1, )](out, *numbers)


@triton.jit
def packed(out_ptr, PACK: tl.constexpr):
    x = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [tl.arange(0, 4)], dtype=tl.int32, is_pure=True, pack=PACK)
    tl.store(out_ptr + tl.arange(0, 4), x)


@pytest.mark.parametrize("pack", [0, -1, 2**31, 2**64 + 1, -2**100])
def test_packs_of_assembly_that_make_no_sense(pack):
    with pytest.raises(triton.CompilationError, match="pack is .* from 1 to 1024"):
        triton.jit(packed.fn)[(1, )](torch.zeros(4, dtype=torch.int32), pack)
