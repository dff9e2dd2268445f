"""Times of single runs on the device in use: events in its stream, or a clock of the host."""

import sys
import time

#: Runs in a stream from which the time of one is estimated.
_ESTIMATES = 5


class Clock:
    """Takes times of single runs, with the last-level cache emptied before each.

    Args:
        active: the driver in use.
    """

    def __init__(self, active):
        from ..runtime.driver import works_on_host

        self.active = active
        self.device = active.get_device_interface()
        self.on_host = works_on_host(active)
        self._cache = active.get_empty_cache_for_benchmark()

    def synchronize(self):
        """Waits for everything launched so far, also on a device of torch's that is not the one in use."""
        for wait in self._waits():
            wait()

    def _waits(self):
        """What a timed run on the host must wait for: nothing, where launches are finished when they return."""
        from ..runtime.driver import HostInterface

        waits = [] if self.device is HostInterface else [self.device.synchronize]
        # Tensors may live on a GPU although kernels run on the host.
        cuda = getattr(sys.modules.get("torch"), "cuda", None)
        if self.on_host and cuda is not None and cuda.is_initialized():
            waits.append(cuda.synchronize)
        return waits

    def flush(self):
        """Empties the last-level cache."""
        self.active.clear_cache(self._cache)

    def times(self, fn, count, before=None, after=None):
        """Milliseconds of `count` runs of `fn`; `before` and `after` run around each and are not timed."""
        take = self._on_host if self.on_host else self._on_device
        return take(fn, count, before or _nothing, after or _nothing)

    def estimate(self, fn):
        """About how many milliseconds a run takes, with what comes before it."""
        if self.on_host:
            return max(min(self._whole_on_host(fn) for _ in range(3)), 1e-6)
        start, end = (self.device.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(_ESTIMATES):
            self.flush()
            fn()
        end.record()
        self.device.synchronize()
        return max(start.elapsed_time(end) / _ESTIMATES, 1e-6)

    def _whole_on_host(self, fn):
        start = time.perf_counter_ns()
        self.flush()
        fn()
        self.synchronize()
        return (time.perf_counter_ns() - start) * 1e-6

    def _on_host(self, fn, count, before, after):
        times, waits = [], self._waits()
        for _ in range(count):
            before()
            self.flush()
            start = time.perf_counter_ns()
            fn()
            for wait in waits:
                wait()
            times.append((time.perf_counter_ns() - start) * 1e-6)
            after()
        return times

    def _on_device(self, fn, count, before, after):
        """Nothing waits until all runs are in the stream."""
        events = [[self.device.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
        for start, end in events:
            before()
            self.flush()
            start.record()
            fn()
            end.record()
            after()
        self.device.synchronize()
        return [start.elapsed_time(end) for start, end in events]


def _nothing():
    pass
