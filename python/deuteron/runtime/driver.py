"""``triton.runtime.driver.active``: what Python may ask about the device that kernels run on."""

import os

from .. import _core
from ..backends.compiler import GPUTarget
from ..backends.driver import DriverBase


class Device:
    """Stands in for ``torch.device`` where torch is not installed: type and index, comparable."""

    def __init__(self, type, index=None):
        self.type = type
        self.index = index

    def __eq__(self, other):
        return (getattr(other, "type", other), getattr(other, "index", None)) == (self.type, self.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __repr__(self):
        return f"device(type={self.type!r})" if self.index is None else f"device(type={self.type!r}, index={self.index})"

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"


class Utils:
    """``driver.active.utils``: properties of devices."""

    def get_device_properties(self, device=None):
        """Numbers by the reference's names: ``multiprocessor_count``, ``max_shared_mem``, ``max_num_regs``,
        ``warpSize``, ``sm_clock_rate``, ``mem_clock_rate``, ``mem_bus_width``, …."""
        return _core.device_properties(0 if device is None else int(device))


class HostInterface:
    """``torch.cuda`` of the CPU: launches are finished when they return, so there is nothing to wait for."""

    class Event:
        """A point in time."""

        def __init__(self, enable_timing=True, **_):
            self._at = None

        def record(self, stream=None):
            """Takes the time."""
            import time

            self._at = time.perf_counter_ns()

        def synchronize(self):
            """Returns at once."""

        def query(self):
            """Whether it has happened."""
            return self._at is not None

        def elapsed_time(self, end):
            """Milliseconds until another event."""
            return (end._at - self._at) * 1e-6

    @staticmethod
    def synchronize(device=None):
        """Waits for everything launched so far."""
        _core.synchronize(0)

    @staticmethod
    def current_device():
        """The number of the current device."""
        return 0

    @staticmethod
    def set_device(device):
        """Makes a device the current one; there is one."""

    @staticmethod
    def device_count():
        """How many there are."""
        return _core.device_count()


class Driver(DriverBase):
    """The driver of the native targets."""

    def __init__(self):
        self.utils = Utils()

    @classmethod
    def is_active(cls):
        """Whether there is a device."""
        return _core.device_count() > 0

    def get_current_target(self):
        """The target of the current device, a `GPUTarget`."""
        return GPUTarget(*_core.current_target())

    def get_current_device(self):
        """The number of the current device."""
        return 0

    def set_current_device(self, device):
        """Makes a device the current one."""
        if device not in (0, None):
            raise ValueError(f"there is no device {device}; there is {_core.device_count()} of this target")

    def get_current_stream(self, device=None):
        """The stream that launches go to; 0 is the default stream."""
        return 0

    def get_device_capability(self, device=None):
        """``(major, minor)`` of devices that have a compute capability; ``(0, 0)`` here."""
        return (0, 0)

    def get_active_torch_device(self):
        """The torch device that tensors should live on (a stand-in where torch is not installed)."""
        try:
            import torch
        except ImportError:
            return Device("cpu")
        return torch.device("cpu")

    def get_device_interface(self):
        """Synchronisation and events by the names of ``torch.cuda``."""
        return HostInterface

    def get_benchmarker(self):
        """``triton.testing.do_bench``."""
        from ..testing import do_bench

        return do_bench

    def get_empty_cache_for_benchmark(self):
        """Memory larger than the last-level cache, to be written between timings."""
        size = int(self.utils.get_device_properties().get("l2_cache_size") or 0)
        return bytearray(max(2 * size, 64 << 20))

    def clear_cache(self, cache):
        """Writes the memory of `get_empty_cache_for_benchmark`, so that the caches hold nothing else."""
        import ctypes

        ctypes.memset((ctypes.c_char * len(cache)).from_buffer(cache), 0, len(cache))

    @property
    def launcher_cls(self):
        """Launches are native; there is no launcher class to call."""
        raise AttributeError("launches are native here: call kernel[grid](*args) instead of a launcher")


class DriverConfig:
    """Which driver is active: the native one, until `set_active` says otherwise."""

    def __init__(self):
        self._default = None
        self._active = None

    @property
    def default(self):
        """The native driver."""
        if self._default is None:
            selected = os.environ.get("TRITON_DEFAULT_BACKEND")
            if selected and selected not in _core.backends():
                raise RuntimeError(
                    f"Unknown backend device '{selected}'. Available backends: {list(_core.backends())}")
            self._default = Driver()
        return self._default

    @property
    def active(self):
        """The driver in use."""
        return self.default if self._active is None else self._active

    def set_active(self, driver):
        """Replaces it."""
        self._active = driver

    def reset_active(self):
        """Goes back to the native one."""
        self._active = None


driver = DriverConfig()
