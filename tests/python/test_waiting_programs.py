"""Programs that wait for others of their launch: in turn where they run at the same time, one inside the other where Python runs them."""

import contextlib
import inspect

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl
from deuteron import knobs

ENGINES = ["interpreter", "cpu", "cuda:90", "hip:gfx942"]


@contextlib.contextmanager
def on(engine):
    with knobs.runtime.scope():
        if engine == "interpreter":
            knobs.runtime.interpret = True
        elif engine != "cpu":
            knobs.runtime.emulate = engine
        yield


@triton.jit
def in_reverse(turn_ptr, order_ptr):
    me = tl.program_id(0)
    before = tl.num_programs(0) - 1 - me
    while tl.atomic_add(turn_ptr, 0) != before:
        pass
    tl.store(order_ptr + before, me)
    tl.atomic_add(turn_ptr, 1)


@triton.jit
def first_sums_up(parts_ptr, flags_ptr, out_ptr, BLOCK: tl.constexpr):
    """As the first tile of stream-K does: the other programs' parts are added once each has said that it is there."""
    me = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    part = tl.load(parts_ptr + me * BLOCK + at)
    if me == 0:
        for other in range(1, tl.num_programs(0)):
            while tl.load(flags_ptr + other, volatile=True) == 0:
                pass
            tl.debug_barrier()
            # Acquires what the other program has released.
            tl.atomic_cas(flags_ptr + other, 1, 2)
            part += tl.load(parts_ptr + other * BLOCK + at)
        tl.store(out_ptr + at, part)
    else:
        tl.store(parts_ptr + me * BLOCK + at, part * 2)
        tl.debug_barrier()
        tl.atomic_xchg(flags_ptr + me, 1)


@triton.jit
def all_arrive(count_ptr, out_ptr):
    me = tl.program_id(0)
    tl.atomic_add(count_ptr, 1)
    while tl.atomic_cas(count_ptr, -1, -1) < tl.num_programs(0):
        pass
    tl.store(out_ptr + me, tl.load(count_ptr, volatile=True))


@triton.jit
def by_poll(turn_ptr):
    before = tl.num_programs(0) - 1 - tl.program_id(0)
    tl.atomic_poll(turn_ptr, before)
    tl.atomic_add(turn_ptr, 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_programs_take_turns_from_the_last(engine):
    turn, order = np.zeros(1, np.int32), np.full(6, -1, np.int32)
    with on(engine):
        in_reverse[(6, )](turn, order)
    assert turn[0] == 6
    np.testing.assert_array_equal(order, np.arange(6)[::-1])


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_program_waits_for_all_others(engine, rng):
    parts = rng.integers(-9, 9, (5, 64)).astype(np.float32)
    expected = parts[0] + 2 * parts[1:].sum(axis=0)
    flags, out = np.zeros(5, np.int32), np.zeros(64, np.float32)
    with on(engine):
        first_sums_up[(5, )](parts, flags, out, BLOCK=64)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(flags, [0, 2, 2, 2, 2])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_barrier_of_the_grid(engine):
    count, out = np.zeros(1, np.int32), np.zeros(9, np.int32)
    with on(engine):
        all_arrive[(9, )](count, out)
    np.testing.assert_array_equal(out, np.full(9, 9))


@pytest.mark.parametrize("engine", ENGINES)
def test_polls_wait_for_later_programs(engine):
    turn = np.zeros(1, np.int32)
    with on(engine):
        by_poll[(5, )](turn)
    assert turn[0] == 5


def line_of(kernel, text):
    lines, first = inspect.getsourcelines(kernel.fn)
    return first + next(number for number, line in enumerate(lines) if text in line)


@triton.jit
def too_many(count_ptr):
    tl.atomic_add(count_ptr, 1)
    while tl.atomic_add(count_ptr, 0) <= tl.num_programs(0):
        pass


def test_a_program_that_waits_for_ever_is_named_with_its_line():
    with on("interpreter"), pytest.raises(triton.InterpreterError) as caught:
        too_many[(3, )](np.zeros(1, np.int32))
    text = str(caught.value)
    assert f"{__file__}:{line_of(too_many, 'while')}:" in text, text
    assert "the program waits: " in text and "in program (2, 0, 0)" in text, text
    # Those that wait in the middle of each other are all said.
    notes = [f"in program ({program}, 0, 0) of kernel too_many" for program in (2, 1, 0)]
    assert [note for note in caught.value.__notes__ if note.startswith("in program")] == notes


def test_a_poll_for_what_nobody_writes_is_an_error():
    with on("interpreter"), pytest.raises(triton.InterpreterError) as caught:
        by_poll[(2, )](np.full(1, 7, np.int32))
    text = str(caught.value)
    assert "waits for 0 and memory holds 7" in text and f":{line_of(by_poll, 'atomic_poll')}:" in text, text


def test_a_single_program_is_told_that_it_waits():
    with on("interpreter"):
        knobs.runtime.interpret_program = "0"
        with pytest.raises(triton.InterpreterError, match="the program waits"):
            all_arrive[(3, )](np.zeros(1, np.int32), np.zeros(3, np.int32))


@triton.jit
def fruitless(p, out_ptr):
    for _ in range(150_000):
        tl.atomic_max(p, 0)
    tl.store(out_ptr + tl.program_id(0), 1)


def test_many_fruitless_atomics_are_no_error():
    out = np.zeros(3, np.int32)
    with on("interpreter"):
        fruitless[(3, )](np.full(1, 5, np.int32), out)
    assert out.all()
