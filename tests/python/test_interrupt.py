"""A launch on the CPU ends soon after a signal whose handler raises."""

import signal
import time

import numpy as np
import pytest

import deuteron as triton
import deuteron.language as tl


@triton.jit
def slow(out, rounds):
    total = 0.0
    for i in range(rounds):
        total = total * 0.999 + i
    tl.store(out + tl.program_id(0) % 8, total)


class Alarm(Exception):
    pass


def ring(number, frame):
    raise Alarm


def test_a_signal_ends_a_launch():
    out = np.zeros(8, dtype=np.float32)
    # About 50 microseconds a program, and a grid that takes minutes.
    slow[(8,)](out, 50_000)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        start = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Alarm):
            slow[(10_000_000,)](out, 50_000)
        taken = time.perf_counter() - start
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    # 0.1 s behind the signal, and what a busy machine adds.
    assert taken < 2.0
    # The next launch is an ordinary one.
    slow[(8,)](out, 10)
    assert (out == out[0]).all()
