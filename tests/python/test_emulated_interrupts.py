"""Signals that come while a launch runs on an emulated device end it, as they end anything else in Python."""

import signal
import time

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl


@triton.jit
def counts(out_ptr, n):
    total = tl.program_id(0)
    for step in range(n):
        total = total * 3 + step
    tl.store(out_ptr + tl.program_id(0), total)


@triton.jit
def waits(flag_ptr):
    while tl.atomic_add(flag_ptr, 0) == 0:
        pass


@pytest.fixture(params=["cuda:90", "hip:gfx942"], autouse=True)
def emulated(request):
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = request.param
        yield


@pytest.fixture
def alarm():
    """An exception after a third of a second."""

    def stop(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        yield lambda: signal.setitimer(signal.ITIMER_REAL, 0.3)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("programs", [1, 2, 400])
def test_an_alarm_ends_a_launch(alarm, programs):
    out = np.zeros(programs, np.int32)
    counts[(programs, )](out, 3)
    assert out[0] == 5
    alarm()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        counts[(programs, )](out, 1 << 30)
    assert time.monotonic() - start < 10
    counts[(programs, )](out, 2)
    assert out[0] == 1


def test_an_alarm_ends_programs_that_wait(alarm):
    waits[(2, )](np.ones(1, np.int32))
    alarm()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        waits[(2, )](np.zeros(1, np.int32))
    assert time.monotonic() - start < 10
