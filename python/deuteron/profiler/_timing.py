"""Times between two points of a program: events in the current stream of a device, or the clock of the host."""

import time


class _HostMoment:
    """A moment on the host, where a launch has finished when it returns."""

    __slots__ = ("at", )

    def __init__(self):
        self.at = time.perf_counter_ns()

    def until(self, end):
        """Nanoseconds until a later one."""
        return end.at - self.at


class _DeviceMoment:
    """A moment in a stream."""

    __slots__ = ("event", )

    def __init__(self, interface):
        self.event = interface.Event(enable_timing=True)
        self.event.record()

    def until(self, end):
        """Nanoseconds until a later one, after waiting for it."""
        end.event.synchronize()
        return round(self.event.elapsed_time(end.event) * 1e6)


def now():
    """This moment."""
    from ..runtime.driver import driver, works_on_host

    active = driver.active
    return _HostMoment() if works_on_host(active) else _DeviceMoment(active.get_device_interface())


def device():
    """``(kind, number, facts)`` of the device in use, as files of profiles name it."""
    from ..runtime.driver import driver

    active = driver.active
    number = active.get_current_device()
    target, found = active.get_current_target(), active.utils.get_device_properties(number)
    facts = {"arch": str(target.arch), "num_sms": found.get("multiprocessor_count", 0),
             "clock_rate": found.get("sm_clock_rate", 0), "memory_clock_rate": found.get("mem_clock_rate", 0),
             "bus_width": found.get("mem_bus_width", 0)}
    return target.backend.upper(), str(number), facts
