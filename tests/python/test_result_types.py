"""Types that operations give, and what they hold, where both are easily mistaken."""

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl
from deuteron.language.extra import libdevice

ENGINES = ["cpu", "interpreter", "sm_90", "gfx942"]


@triton.jit
def counts(out, x, LEADING: tl.constexpr, SET: tl.constexpr, FIRST: tl.constexpr):
    lanes = tl.arange(0, 8)
    block = tl.load(x + lanes)
    leading, ones, first = LEADING(block), SET(block), FIRST(block)
    tl.static_assert(leading.dtype == tl.int32 and ones.dtype == tl.int32 and first.dtype == tl.int32)
    tl.store(out + lanes, leading)
    tl.store(out + 8 + lanes, ones)
    tl.store(out + 16 + lanes, first)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_bits_are_counted_as_int32(engine, dtype):
    x = np.array([0, 1, -1, 6, 1 << 20, -(1 << 30), np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    width = x.itemsize * 8
    out = np.full(24, -1, np.int32)
    counts[(1, )](out, x, libdevice.clz, libdevice.popc, libdevice.ffs)
    words = [format(int(value) % (1 << width), f"0{width}b") for value in x]
    leading = [len(word) - len(word.lstrip("0")) for word in words]
    first = [word[::-1].find("1") + 1 for word in words]
    assert out.tolist() == leading + [word.count("1") for word in words] + first


@triton.jit
def wrapped(out):
    lanes = tl.arange(0, 4)
    tl.store(out + lanes, tl.full([4], 300, tl.int8))
    tl.store(out + 4 + lanes, tl.full([4], -129, tl.int8))
    tl.store(out + 8 + lanes, tl.full([4], 70000, tl.uint16))
    tl.store(out + 12 + lanes, tl.full([4], 1 << 31, tl.int32))
    tl.store(out + 16 + lanes, tl.full([4], 0.5, tl.int1))
    tl.store(out + 20 + lanes, tl.full([4], float("nan"), tl.int1))
    tl.store(out + 24 + lanes, tl.full([4], -0.0, tl.int1))
    tl.store(out + 28 + lanes, tl.full([4], 300, tl.int1))


def test_full_keeps_the_low_bits(engine):
    out = np.full(32, 77, np.int64)
    wrapped[(1, )](out)
    assert out.reshape(8, 4).tolist() == [[value] * 4 for value in (44, 127, 4464, -(1 << 31), 1, 1, 0, 1)]


@triton.jit
def too_large(out):
    tl.store(out, tl.sum(tl.full([4], 1 << 63, tl.int32)))


@triton.jit
def negative(out):
    tl.store(out, tl.sum(tl.full([4], -1, tl.uint32)))


@pytest.mark.parametrize("kernel", [too_large, negative])
def test_full_refuses_what_has_no_such_bits(kernel):
    with pytest.raises(triton.CompilationError):
        kernel[(1, )](np.zeros(1, np.int32))


@triton.jit
def two_signs(out, x, y):
    lanes = tl.arange(0, 4)
    signed, unsigned = tl.load(x + lanes), tl.load(y + lanes)
    pairs, chain = tl.join(signed, unsigned), tl.interleave(unsigned, signed)
    behind = tl.cat(signed, unsigned, can_reorder=True)
    tl.static_assert(pairs.dtype == tl.int8 and chain.dtype == tl.uint8 and behind.dtype == tl.int8)
    tl.store(out + lanes[:, None] * 2 + tl.arange(0, 2), pairs)
    tl.store(out + 8 + tl.arange(0, 8), chain)
    tl.store(out + 16, tl.sum(behind.to(tl.int32)))


def test_blocks_that_differ_in_sign_are_joined(engine):
    out = np.zeros(17, np.int32)
    x, y = np.array([-1, 2, -3, 4], np.int8), np.array([200, 5, 255, 0], np.uint8)
    two_signs[(1, )](out, x, y)
    pairs = np.stack([x, y.astype(np.int8)], 1)
    chain = np.stack([y, x.astype(np.uint8)], 1)
    assert out.tolist() == [*pairs.ravel(), *chain.ravel(), pairs.astype(np.int32).sum()]


@triton.jit
def two_widths(out, x, y):
    block = tl.cat(tl.load(x + tl.arange(0, 4)), tl.load(y + tl.arange(0, 4)), can_reorder=True)
    tl.store(out + tl.arange(0, 8), block)


def test_blocks_of_two_widths_are_not():
    with pytest.raises(triton.CompilationError, match="tl.cat needs equal types, got int8 and int16"):
        two_widths[(1, )](np.zeros(8, np.int32), np.zeros(4, np.int8), np.zeros(4, np.int16))


@triton.jit
def largest(out, x, K: tl.constexpr, KIND: tl.constexpr):
    found = tl.topk(tl.load(x + tl.arange(0, 16)), K)
    tl.static_assert(found.dtype == KIND)
    tl.store(out + tl.arange(0, K), found)


@pytest.mark.parametrize("k", [1, 4, 16])
@pytest.mark.parametrize("dtype, kind", [("int8", tl.int32), ("uint16", tl.int32), ("float16", tl.float32), ("int64", tl.int64)])
def test_topk_gives_what_maxima_give(engine, dtype, kind, k):
    random = np.random.default_rng()
    x = random.integers(0, 100, 16).astype(dtype)
    out = np.zeros(k, np.float64)
    kind = {"int8": tl.int8, "uint16": tl.uint16, "float16": tl.float16}.get(dtype, kind) if k == 16 else kind
    largest[(1, )](out, x, k, kind)
    assert out.tolist() == np.sort(x)[::-1][:k].tolist()


@triton.jit
def bits_of_floats(x, old):
    lanes = tl.arange(0, 4)
    tl.store(old + lanes, tl.atomic_and(x + lanes, 1.75))
    tl.store(old + 4 + lanes, tl.atomic_or(x + 4 + lanes, 1.5, mask=lanes < 3))
    tl.store(old + 8, tl.atomic_xor(x + 8, -0.0))


@pytest.mark.parametrize("dtype, word", [(np.float32, np.uint32), (np.float64, np.uint64)])
def test_atomics_on_the_bits_of_floats(engine, dtype, word):
    x = np.array([1.5, 3.0, -1.0, 0.0, 1.0, 2.0, 1.25, 7.0, 5.0], dtype)
    before, bits = x.copy(), x.view(word).copy()
    old = np.full(9, 77, dtype)
    bits_of_floats[(1, )](x, old)
    value = lambda number: np.array(number, dtype).view(word)
    bits[:4] &= value(1.75)
    bits[4:7] |= value(1.5)
    bits[8] ^= value(-0.0)
    assert x.view(word).tolist() == bits.tolist()
    assert np.delete(old, 7).tolist() == np.delete(before, 7).tolist()


@triton.jit
def hints_by_position(x, out):
    lanes = tl.arange(0, 8)
    value = tl.load(x + lanes, lanes < 6, -1.0, ".ca", "evict_last", True)
    value += tl.load(x + lanes, lanes < 6, -1.0, "", eviction_policy="evict_first")
    tl.store(out + lanes, value, lanes < 7, ".cs", "evict_first")
    (out + 8 + lanes).store(tl.load(x + lanes, None, None, ".cg"), lanes < 3, ".wb")


def test_hints_are_taken_by_position(engine):
    x, out = np.arange(8, dtype=np.float32) + 1, np.full(16, 77, np.float32)
    hints_by_position[(1, )](x, out)
    assert out.tolist() == [2, 4, 6, 8, 10, 12, -2, 77, 1, 2, 3, 77, 77, 77, 77, 77]


@triton.jit
def too_many_by_position(x):
    tl.store(x, tl.load(x, True, 0.0, ".ca", "evict_last", True, 1))


def test_more_by_position_are_refused():
    with pytest.raises(triton.CompilationError):
        too_many_by_position[(1, )](np.zeros(1, np.float32))


@triton.jit
def doubled_pair(first, second):
    return first * 2, second * 2


@triton.jit
def doubled_alone(value):
    return value * 2,


@triton.jit
def mapped(out, x):
    lanes = tl.arange(0, 8)
    block = tl.load(x + lanes)
    pairs, alone = tl.map_elementwise(doubled_pair, block, pack=2), tl.map_elementwise(doubled_alone, block)
    tl.static_assert(len(pairs) == 1 and len(alone) == 1)
    tl.store(out + lanes, pairs[0])
    tl.store(out + 8 + lanes, alone[0])


def test_functions_that_return_tuples_map_to_tuples(engine):
    x, out = np.arange(8, dtype=np.int32), np.full(16, -1, np.int32)
    mapped[(1, )](out, x)
    np.testing.assert_array_equal(out, np.tile(2 * x, 2))
