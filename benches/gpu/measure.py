"""Timing on a GPU: events around single launches, the last cache emptied before each, candidates in turns."""

import statistics
import time

import torch

#: Bytes that are written before each timed launch.
FLUSH_BYTES = 256 << 20
#: The fewest and the most timed launches of a candidate.
FEWEST, MOST = 11, 60


def short(error):
    """An error in one line."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= 300 else text[:297] + "..."


class Flush:
    """Empties the last cache."""

    def __init__(self):
        self._memory = torch.empty(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")

    def __call__(self):
        self._memory.zero_()


def once(run, flush):
    """Events around one launch."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    flush()
    start.record()
    run()
    end.record()
    return start, end


def race(candidates, budget_s=2.0):
    """Median milliseconds of each candidate, all of them run in turns.

    Args:
        candidates: from name to a function that launches.
        budget_s: about how long all of it may take.
    """
    flush = Flush()
    for run in candidates.values():
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for run in candidates.values():
        once(run, flush)
    torch.cuda.synchronize()
    rounds = int(budget_s / max(time.perf_counter() - begin, 1e-6))
    events = {name: [] for name in candidates}
    for _ in range(min(max(rounds, FEWEST), MOST)):
        for name, run in candidates.items():
            events[name].append(once(run, flush))
    torch.cuda.synchronize()
    return {name: statistics.median(start.elapsed_time(end) for start, end in pairs) for name, pairs in events.items()}


def host_us(calls, batch=200, rounds=101):
    """Median microseconds that calls keep the host busy, by name, with an empty queue at the begin of each batch.

    Batches of all of them go in turns: cores that are shared with others change their speed from second to second.
    """
    for call in calls.values():
        for _ in range(100):
            call()
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(batch):
                call()
            times[name].append((time.perf_counter() - begin) / batch * 1e6)
    torch.cuda.synchronize()
    return {name: statistics.median(samples) for name, samples in times.items()}
