"""A launch on the CPU ends soon after a signal whose handler raises, in programs that spin as well."""

import signal
import subprocess
import sys
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


@triton.jit
def lock(flag, programs):
    while tl.atomic_cas(flag, 0, 1) == 1:
        pass


@triton.jit
def volatile(flag, programs):
    while tl.load(flag, volatile=True) != 7:
        pass


@triton.jit
def nested(flag, programs):
    for _ in range(3):
        if tl.program_id(0) == programs - 1:
            seen = 0
            while seen < 1000:
                for _ in range(2):
                    seen = tl.atomic_add(flag, 0)


@triton.jit
def blocks(flag, programs):
    places = flag + tl.arange(0, 64) * 0
    while tl.max(tl.atomic_or(places, 0)) == 1:
        pass


@triton.jit(extensions=["loop_exits"])
def broken_off(flag, programs):
    for _ in range(2_000_000_000):
        if tl.atomic_xchg(flag, 1) == 0:
            break


@triton.jit
def barrier(flag, programs):
    tl.atomic_add(flag, 1)
    while tl.atomic_add(flag, 0) < 3 * programs:
        pass


@triton.jit
def polls(flag, programs):
    tl.atomic_poll(flag, 7)


def spin(name, programs, cooperative):
    """Runs in a process of its own, as what is tested is that it ends."""
    flag = np.ones(1, dtype=np.int32)
    options = {"launch_cooperative_grid": True} if cooperative == "together" else {}
    globals()[name].warmup(flag, int(programs), grid=(int(programs),), **options)
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    start = time.perf_counter()
    with pytest.raises(Alarm):
        globals()[name][(int(programs),)](flag, int(programs), **options)
    print("ended after", time.perf_counter() - start)


@pytest.mark.parametrize("how", ["alone", "together"])
@pytest.mark.parametrize("programs", [1, 2, 40])
@pytest.mark.parametrize("name", ["lock", "volatile", "nested", "blocks", "broken_off", "barrier", "polls"])
def test_a_signal_ends_programs_that_spin(name, programs, how):
    command = [sys.executable, __file__, name, str(programs), how]
    child = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert child.returncode == 0, child.stderr
    # 0.1 s behind the signal, and what a busy machine adds.
    assert 0.25 < float(child.stdout.split()[-1]) < 2.0


if __name__ == "__main__":
    spin(*sys.argv[1:])
