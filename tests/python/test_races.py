"""Races between programs of one launch in the interpreter: what is one is reported with both places, what is none is not."""

import contextlib
import inspect
import re

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl
from deuteron import knobs


@contextlib.contextmanager
def interpreted():
    with knobs.runtime.scope():
        knobs.runtime.interpret = True
        yield


def line_of(function, text):
    """The line of this file in which a kernel has this text."""
    lines, start = inspect.getsourcelines(function.fn)
    return start + next(at for at, line in enumerate(lines) if text in line)


def found(kernel, grid, *args, **kwargs):
    """The text of the races of a launch; none is an error of the test."""
    with interpreted(), pytest.raises(triton.InterpreterError) as caught:
        kernel[grid](*args, **kwargs)
    return str(caught.value)


def silent(kernel, grid, *args, **kwargs):
    """Launches what has no races."""
    with interpreted():
        kernel[grid](*args, **kwargs)


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


@triton.jit
def everybody_stores(out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + 2 + offsets, tl.program_id(0) + offsets)


def test_two_stores_are_named_with_lines_programs_and_element():
    out = zeros(16, dtype=np.int32)
    text = found(everybody_stores, (3, ), out, BLOCK=8)
    line = f"{__file__}:{line_of(everybody_stores, 'tl.store')}"
    assert text.startswith(f"{line}: error: race between programs: program (1, 0, 0) writes i32")
    assert "element 2 of `out_ptr` (element (0) of its block)" in text
    assert f"where program (0, 0, 0) writes i32 at {line}" in text
    assert "16 elements clash at these two places" in text
    # Every program has run.
    np.testing.assert_array_equal(out[2:10], 2 + np.arange(8))


@triton.jit
def neighbours(x_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    right = tl.load(x_ptr + offsets + 1)
    tl.store(x_ptr + offsets, right)


@triton.jit
def left_neighbours(x_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x_ptr + offsets - 1, offsets > 0, other=0.0)
    tl.store(x_ptr + offsets, left)


@pytest.mark.parametrize("kernel, second, first", [
    (neighbours, "program (1, 0, 0) writes f32", "program (0, 0, 0) reads f32"),
    (left_neighbours, "program (1, 0, 0) reads f32", "program (0, 0, 0) writes f32"),
])
def test_a_load_and_a_store_race_in_either_order(kernel, second, first):
    text = found(kernel, (4, ), zeros(65), BLOCK=16)
    assert second in text and first in text
    assert text.count("race between programs") == 1
    assert {int(line) for line in re.findall(r"test_races\.py:(\d+)", text)} == {
        line_of(kernel, "tl.load"), line_of(kernel, "tl.store")}


@triton.jit
def atomic_and_plain(total_ptr, out_ptr):
    tl.atomic_add(total_ptr, 1)
    tl.store(out_ptr + tl.program_id(0), tl.load(total_ptr))


@triton.jit
def relaxed_and_plain(total_ptr, out_ptr):
    tl.atomic_add(total_ptr, 1, sem="relaxed")
    tl.store(out_ptr + tl.program_id(0), tl.load(total_ptr))


@triton.jit
def local_scope(total_ptr):
    tl.atomic_add(total_ptr, 1, scope="cta")


def test_a_plain_access_races_with_atomics():
    total, out = zeros(1, dtype=np.int32), zeros(4, dtype=np.int32)
    text = found(relaxed_and_plain, (4, ), total, out)
    assert "program (0, 0, 0) reads i32" in text and "program (1, 0, 0) updates i32" in text and "atomically" in text
    text = found(atomic_and_plain, (4, ), total, out)
    assert "program (1, 0, 0) updates i32 atomically at element 0 of `total_ptr`" in text


def test_atomics_of_a_smaller_scope_race_with_each_other():
    assert "program (1, 0, 0) writes i32" in found(local_scope, (4, ), zeros(1, dtype=np.int32))


@triton.jit
def bytes_of_numbers(numbers_ptr, bytes_ptr):
    if tl.program_id(0) == 0:
        tl.store(numbers_ptr + 1, 5)
    else:
        tl.store(bytes_ptr + 6, 7)


def test_bytes_count_and_not_elements():
    numbers = zeros(4, dtype=np.int32)
    text = found(bytes_of_numbers, (2, ), numbers, numbers.view(np.uint8))
    assert "program (1, 0, 0) writes i8 at element 6 of `" in text and "program (0, 0, 0) writes i32" in text
    apart = zeros(4, dtype=np.int32)
    silent(bytes_of_numbers, (2, ), apart, np.zeros(8, np.uint8))
    np.testing.assert_array_equal(apart, [0, 5, 0, 0])


@triton.jit
def shifted_copy(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets) + 1)


def test_overlapping_views_are_one_memory():
    array = zeros(40)
    text = found(shifted_copy, (4, ), array[8:], array, BLOCK=8)
    assert "element 0 of `x_ptr`, which is element 8 of `y_ptr`" in text
    silent(shifted_copy, (4, ), array, array, BLOCK=8)


@triton.jit
def flags(flag_ptr, x_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(flag_ptr, 1, tl.max(tl.load(x_ptr + offsets), 0) > 0)


def test_several_programs_may_write_the_same_value():
    found_any = zeros(1, dtype=np.int32)
    silent(flags, (4, ), found_any, np.ones(32, np.float32), BLOCK=8)
    assert found_any[0] == 1


@triton.jit
def two_pairs(x_ptr, y_ptr):
    pid = tl.program_id(0)
    tl.store(x_ptr, pid)
    tl.store(y_ptr, pid)


def test_each_pair_of_lines_is_reported_once():
    text = found(two_pairs, (5, ), zeros(1, dtype=np.int32), zeros(1, dtype=np.int32))
    assert text.count("race between programs") == 2
    assert f"note: {__file__}:{line_of(two_pairs, 'store(y_ptr')}" in text
    assert text.count("4 elements clash") == 2


def test_the_knob_and_a_single_program_are_ways_out():
    out = zeros(16, dtype=np.int32)
    with knobs.runtime.scope():
        knobs.runtime.interpret_races = False
        silent(everybody_stores, (3, ), out, BLOCK=8)
    with knobs.runtime.scope():
        knobs.runtime.interpret_program = "2"
        silent(everybody_stores, (3, ), out, BLOCK=8)
    silent(everybody_stores, (1, ), out, BLOCK=8)


@triton.jit
def fails_behind_a_race(out_ptr):
    tl.store(out_ptr, tl.program_id(0))
    if tl.program_id(0) == 2:
        raise KeyError("mine")


def test_another_exception_has_the_races_as_a_note():
    with interpreted(), pytest.raises(KeyError) as caught:
        fails_behind_a_race[(3, )](zeros(1, dtype=np.int32))
    assert any("race between programs" in note for note in caught.value.__notes__)


@triton.jit
def split_k(x_ptr, out_ptr, lock_ptr, count_ptr, BLOCK: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x_ptr + (row * tl.num_programs(1) + part) * BLOCK + offsets)
    while tl.atomic_cas(lock_ptr + row, 0, 1) == 1:
        pass
    count = tl.load(count_ptr + row)
    if count == 0:
        tl.store(count_ptr + row, 1)
    else:
        values += tl.load(out_ptr + row * BLOCK + offsets)
    tl.store(out_ptr + row * BLOCK + offsets, values)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr + row, 0)


@triton.jit
def split_k_without_a_lock(x_ptr, out_ptr, lock_ptr, count_ptr, BLOCK: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x_ptr + (row * tl.num_programs(1) + part) * BLOCK + offsets)
    tl.store(out_ptr + row * BLOCK + offsets, values + tl.load(out_ptr + row * BLOCK + offsets))


def test_a_lock_orders_what_it_guards():
    x = np.arange(3 * 4 * 8, dtype=np.float32)
    out, lock, count = zeros(24), zeros(3, dtype=np.int32), zeros(3, dtype=np.int32)
    silent(split_k, (3, 4), x, out, lock, count, BLOCK=8)
    np.testing.assert_array_equal(out.reshape(3, 8), x.reshape(3, 4, 8).sum(1))
    text = found(split_k_without_a_lock, (3, 4), x, out, lock, count, BLOCK=8)
    assert "program (0, 1, 0) reads f32 at element 0 of `out_ptr`" in text
    assert text.count("race between programs") == 2


@triton.jit
def last_sums(x_ptr, parts_ptr, count_ptr, out_ptr, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr, SEM: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(parts_ptr + pid, tl.sum(tl.load(x_ptr + pid * BLOCK + tl.arange(0, BLOCK)), 0))
    if tl.atomic_add(count_ptr, 1, sem=SEM) == PROGRAMS - 1:
        tl.store(out_ptr, tl.sum(tl.load(parts_ptr + tl.arange(0, PROGRAMS)), 0))


def test_the_last_program_sums_up():
    x, args = np.arange(64, dtype=np.float32), lambda: (zeros(8), zeros(1, dtype=np.int32), zeros(1))
    for sem in ("acq_rel", ):
        parts, count, out = args()
        silent(last_sums, (8, ), x, parts, count, out, BLOCK=8, PROGRAMS=8, SEM=sem)
        assert out[0] == x.sum()
    for sem in ("relaxed", "acquire", "release"):
        text = found(last_sums, (8, ), x, *args(), BLOCK=8, PROGRAMS=8, SEM=sem)
        assert "program (7, 0, 0) reads f32 at element 0 of `parts_ptr`" in text and "7 elements clash" in text


@triton.jit
def histogram(x_ptr, counts_ptr, BLOCK: tl.constexpr, SEM: tl.constexpr):
    values = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(counts_ptr + values, 1, sem=SEM)


@pytest.mark.parametrize("sem", ["relaxed", "acq_rel"])
def test_a_histogram_by_atomics_is_silent(sem):
    x = np.random.default_rng(3).integers(0, 32, 512).astype(np.int32)
    counts = zeros(32, dtype=np.int32)
    silent(histogram, (16, ), x, counts, BLOCK=32, SEM=sem)
    np.testing.assert_array_equal(counts, np.bincount(x, minlength=32))


@triton.jit
def in_place(x_ptr, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, offsets < n)
        tl.store(x_ptr + offsets, x * 2, offsets < n)


def test_a_loop_over_own_rows_in_place_is_silent():
    x = np.arange(1001, dtype=np.float32)
    silent(in_place, (7, ), x, 1001, BLOCK=32)
    np.testing.assert_array_equal(x, 2 * np.arange(1001))


@triton.jit
def by_descriptor(out_desc, OVERLAP: tl.constexpr):
    start = tl.program_id(0) * (8 - OVERLAP)
    out_desc.store([start, 0], tl.full((8, 8), tl.program_id(0), tl.float32))


def test_descriptors_are_watched():
    from deuteron.tools.tensor_descriptor import TensorDescriptor

    out = zeros(32, 8)
    silent(by_descriptor, (4, ), TensorDescriptor.from_tensor(out, [8, 8]), OVERLAP=0)
    text = found(by_descriptor, (4, ), TensorDescriptor.from_tensor(out, [8, 8]), OVERLAP=1)
    assert "program (1, 0, 0) writes f32 at element 56 of `out_desc` (element (0, 0) of its block)" in text
    assert "24 elements clash" in text


@triton.jit
def waits(flag_ptr, x_ptr, VOLATILE: tl.constexpr):
    if tl.program_id(0) == 0:
        tl.store(x_ptr, 7)
        tl.atomic_xchg(flag_ptr, 1, sem="release")
    elif VOLATILE:
        while tl.load(flag_ptr, volatile=True) == 0:
            pass
    else:
        while tl.atomic_add(flag_ptr, 0, sem="acquire") == 0:
            pass
        tl.store(x_ptr + tl.program_id(0), tl.load(x_ptr))


def test_waiting_for_a_flag():
    x = zeros(3, dtype=np.int32)
    silent(waits, (3, ), zeros(1, dtype=np.int32), x, VOLATILE=False)
    np.testing.assert_array_equal(x, 7)
    silent(waits, (3, ), zeros(1, dtype=np.int32), x, VOLATILE=True)
