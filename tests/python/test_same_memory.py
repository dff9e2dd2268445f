"""Kernels whose output is their input: what they read in other places than they write is what was there before."""

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl


@triton.jit
def rotate(x_ptr, out_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows, cols = tl.arange(0, ROWS)[:, None], tl.arange(0, COLS)[None, :]
    x = tl.load(x_ptr + rows * COLS + cols)
    turned = tl.load(x_ptr + rows * COLS + (cols + COLS // 2) % COLS)
    tl.store(out_ptr + rows * COLS + cols, x + 2 * turned)


@triton.jit
def double(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.load(x_ptr + at) * 2)


@pytest.mark.parametrize("interpret", [False, True])
def test_rotation_in_place(arrays, rng, interpret):
    values = rng.standard_normal((64, 64)).astype(np.float32)
    expected = values + 2 * np.roll(values, -32, axis=1)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.interpret = interpret
        for _ in range(2):
            x, out = arrays.make(values), arrays.make(np.zeros_like(values))
            rotate[(1, )](x, out, ROWS=64, COLS=64)
            assert np.array_equal(arrays.numpy(out), expected)
            rotate[(1, )](x, x, ROWS=64, COLS=64)
            assert np.array_equal(arrays.numpy(x), expected)


@triton.jit
def later(x_ptr, out_ptr, after_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.full((N, ), 5, tl.float32))
    tl.store(after_ptr + at, x)


@triton.jit
def gather(x_ptr, out_ptr, order_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.load(x_ptr + tl.load(order_ptr + at)) * 2)


@triton.jit
def rows(x_ptr, out_ptr, n, stride, ROWS: tl.constexpr, COLS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * stride + tl.arange(0, COLS)[None, :]
    mask = tl.arange(0, COLS)[None, :] < n
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    tl.store(out_ptr + at, x - tl.max(x, axis=1, keep_dims=True), mask=mask)


@triton.jit
def running(x_ptr, out_ptr, n, B: tl.constexpr):
    total = tl.full((B, ), 0, tl.float32)
    first = tl.load(x_ptr + tl.arange(0, B))
    for start in range(0, n, B):
        at = start + tl.arange(0, B)
        total += tl.load(x_ptr + at, mask=at < n, other=0.0)
        tl.store(out_ptr + at, total + first, mask=at < n)


def doubled(before, x, out, n):
    before[out:out + n] = before[x:x + n] * 2


def ran_rows(before, x, out, n, stride):
    starts = [row * stride for row in range(4)]
    loaded = [before[x + start:x + start + n].copy() for start in starts]
    for start, row in zip(starts, loaded):
        before[out + start:out + start + n] = row - max(row.max(), 0)


def ran_running(before, x, out, n, block):
    total, first = np.zeros(block, np.float32), before[x:x + block].copy()
    for start in range(0, n, block):
        size = min(block, n - start)
        total[:size] += before[x + start:x + start + size]
        before[out + start:out + start + size] = (total + first)[:size]


def distances(rng):
    return [0, 1, -1, *rng.integers(-300, 300, 12)]


@pytest.mark.parametrize("interpret", [False, True])
def test_views_of_one_array(arrays, rng, interpret):
    values = rng.integers(0, 100, 2000).astype(np.float32)
    order = rng.permutation(256).astype(np.int32)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.interpret = interpret
        for distance in distances(rng):
            x, out = 500, 500 + int(distance)

            def check(run, expect):
                array, expected = arrays.make(values), values.copy()
                run(array[x:], array[out:])
                expect(expected)
                assert np.array_equal(arrays.numpy(array), expected), distance

            check(lambda a, b: double[(1, )](a, b, N=256), lambda e: doubled(e, x, out, 256))
            n, stride = int(rng.integers(20, 64)), int(rng.integers(64, 90))
            check(lambda a, b: rows[(1, )](a, b, n, stride, ROWS=4, COLS=64),
                  lambda e: ran_rows(e, x, out, n, stride))
            length = int(rng.integers(33, 200))
            check(lambda a, b: running[(1, )](a, b, length, B=32), lambda e: ran_running(e, x, out, length, 32))

            def gathered(expected):
                expected[out:out + 256] = expected[x:x + 256][order] * 2

            check(lambda a, b: gather[(1, )](a, b, arrays.make(order), N=256), gathered)
            array, after = arrays.make(values), arrays.make(np.zeros(256, np.float32))
            later[(1, )](array[x:], array[out:], after, N=256)
            assert np.array_equal(arrays.numpy(after), values[x:x + 256]), distance


def test_two_owners_of_one_piece_of_memory(rng):
    memory = bytearray(rng.integers(0, 100, 1000).astype(np.float32).tobytes())
    expected = np.frombuffer(memory, np.float32).copy()
    doubled(expected, 0, 17, 256)
    kernel = double[(1, )]
    kernel(np.zeros(256, np.float32), np.zeros(256, np.float32), N=256)
    kernel(np.frombuffer(memory, np.float32), np.frombuffer(memory, np.float32, offset=68), N=256)
    assert np.array_equal(np.frombuffer(memory, np.float32), expected)


def test_a_launch_looks_only_where_it_matters():
    x = np.ones(64, np.float32)
    compiled = double[(1, )](x, x, N=64)
    assert compiled.metadata.launch_guards == " | %0 clear %1 same by 256" and (x == 2).all()
    kernel = rotate[(1, )](np.zeros((4, 16), np.float32), np.zeros((4, 16), np.float32), ROWS=4, COLS=16)
    assert kernel.metadata.launch_guards == " | %0 clear %1"


@triton.jit
def sums(x_ptr, y_ptr, product_ptr, sum_ptr, scaled_ptr, n, N: tl.constexpr):
    at = tl.arange(0, N)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    y = tl.load(y_ptr + at, mask=mask, other=0.0)
    both = x + y
    scaled = y * tl.sum(both)
    tl.store(product_ptr + at, both * scaled, mask=mask)
    tl.store(sum_ptr + at, both, mask=mask)
    tl.store(scaled_ptr + at, scaled, mask=mask)


@pytest.mark.parametrize("targets", [(2, 0, 1), (2, 1, 0), (0, 2, 1), (1, 0, 2), (1, 2, 0), (0, 1, 2), (2, 3, 4)])
@pytest.mark.parametrize("interpret", [False, True])
def test_what_two_passes_load_is_overwritten_behind_both(arrays, rng, targets, interpret):
    values = rng.integers(-5, 5, (5, 100)).astype(np.float32)
    x, y = values[:2]
    both = x + y
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.interpret = interpret
        tensors = [arrays.make(row) for row in values]
        sums[(1, )](*tensors[:2], *[tensors[target] for target in targets], 100, N=128)
    scaled = y * both.sum()
    for target, expected in zip(targets, (both * scaled, both, scaled)):
        assert np.array_equal(arrays.numpy(tensors[target]), expected)


@triton.jit
def before(x_ptr, out_ptr, last_ptr, n, N: tl.constexpr):
    at = tl.arange(0, N)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    first = x + tl.sum(x)
    second = x + tl.sum(tl.where(mask, first, 0.0))
    third = second + tl.sum(tl.where(mask, second, 0.0))
    tl.store(x_ptr + at, third, mask=mask)
    tl.store(out_ptr + at, x, mask=mask)
    tl.store(last_ptr + at, tl.sum(third - third) - second, mask=mask)


@pytest.mark.parametrize("interpret", [False, True])
def test_what_was_loaded_stays_what_it_was(arrays, rng, interpret):
    values = rng.integers(-5, 5, 100).astype(np.float32)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.interpret = interpret
        x, out, last = (arrays.make(values) for _ in range(3))
        before[(1, )](x, out, last, 100, N=128)
    second = values + (values + values.sum()).sum()
    assert np.array_equal(arrays.numpy(out), values)
    assert np.array_equal(arrays.numpy(x), second + second.sum())
    assert np.array_equal(arrays.numpy(last), -second)
