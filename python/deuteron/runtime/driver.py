"""``triton.runtime.driver.active``: what Python may ask about the device that kernels run on."""

import os
import sys

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
    """``driver.active.utils``: properties of devices, and loading what was compiled before."""

    def get_device_properties(self, device=None):
        """Numbers by the reference's names: ``multiprocessor_count``, ``max_shared_mem``, ``max_num_regs``,
        ``warpSize``, ``sm_clock_rate``, ``mem_clock_rate``, ``mem_bus_width``, …."""
        return _core.device_properties(0 if device is None else int(device))

    def load_binary(self, name, kernel, shared, device):
        """Loads a compiled kernel: ``(module, function, n_regs, n_spills, n_max_threads)``.

        Args:
            name: the kernel's symbol.
            kernel: the bytes that the device loads.
            shared: bytes of memory that the lanes of a program share.
            device: the number of the device.
        """
        return _core.load_binary(name, bytes(kernel), shared, device)

    def fill_1d_tma_descriptor(self, ptr, dim, block_dim, element_size, desc):
        """Writes a tensor descriptor of Triton 3.2 to memory of the host."""
        from ..tools.experimental_descriptor import write

        write(desc, ptr, dim)

    def fill_2d_tma_descriptor(self, ptr, dim1, dim0, block_dim1, block_dim0, element_size, desc):
        """Writes a tensor descriptor of Triton 3.2 to memory of the host."""
        from ..tools.experimental_descriptor import write

        write(desc, ptr, dim1, dim0)

    def unload_module(self, module):
        """Does nothing: a captured graph may still refer to the module."""


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
    """The driver of targets that work in the memory of the host."""

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
        """``(major, minor)`` of devices that have a compute capability, emulated ones included; else ``(0, 0)``."""
        properties = self.utils.get_device_properties(device)
        return properties.get("compute_capability_major", 0), properties.get("compute_capability_minor", 0)

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
        properties = self.utils.get_device_properties()
        size = int(properties.get("last_level_cache_bytes") or properties.get("l2_cache_size") or 0)
        return _core.Flush(min(max(2 * size, 64 << 20), 512 << 20))

    def clear_cache(self, cache):
        """Writes the memory of `get_empty_cache_for_benchmark`, so that the caches hold nothing else."""
        cache.zero_()

    @property
    def launcher_cls(self):
        """Launches are native; there is no launcher class to call."""
        raise AttributeError("launches are native here: call kernel[grid](*args) instead of a launcher")


class CPUDriver(Driver):
    """The driver of this machine's cores, which can be made active where there is a GPU as well."""

    backend_name = "cpu"

    @classmethod
    def is_active(cls):
        """Whether kernels run on the cores of this machine."""
        return _core.current_target()[0] == cls.backend_name and super().is_active()

    def get_current_target(self):
        if _core.current_target()[0] == self.backend_name:
            return super().get_current_target()
        facts = _core.default_options((self.backend_name, None, None))
        return GPUTarget(self.backend_name, facts["arch"], facts["warp_size"])

    def get_device_capability(self, device=None):
        return (0, 0)


class NativeInterface:
    """``torch.cuda`` for devices of their own where torch is not there."""

    class Event:
        """A point in a stream."""

        def __init__(self, enable_timing=True, **_):
            self._event = None

        def record(self, stream=None):
            """Marks the point that the stream has reached."""
            self._event = _core.Event(_core.current_device(), stream or 0)

        def synchronize(self):
            """Waits for it."""
            self._event.elapsed_time(self._event)

        def elapsed_time(self, end):
            """Milliseconds until another event, after waiting for that one."""
            return self._event.elapsed_time(end._event)

    @staticmethod
    def synchronize(device=None):
        """Waits for everything launched so far."""
        _core.synchronize(_core.current_device() if device is None else device)

    @staticmethod
    def current_device():
        """The number of the current device."""
        return _core.current_device()

    @staticmethod
    def set_device(device):
        """Makes a device the current one."""
        _core.set_current_device(device)

    @staticmethod
    def device_count():
        """How many there are."""
        return _core.device_count()


class DeviceDriver(Driver):
    """The driver of targets whose devices have memory of their own, which torch reaches as ``torch.<arrays>``."""

    #: Which kind of device it is, for drivers of one kind.
    backend_name = None
    #: Bytes that are written between timings: more than the last cache of any device holds.
    _CACHE_BYTES = 256 << 20

    def __init__(self, arrays):
        super().__init__()
        self._arrays = arrays

    @classmethod
    def is_active(cls):
        """Whether there is such a device. torch knows of it even where its driver does not work: in a process that was forked after
        its parent had used it, as torch's compile workers are."""
        if cls.backend_name is None:
            return super().is_active()
        if _core.arrays() == "cuda":
            # torch calls the devices of both vendors so.
            return _core.current_target()[0] == cls.backend_name and super().is_active()
        torch = sys.modules.get("torch")
        if torch is None or not torch.cuda.is_available():
            return False
        return (torch.version.hip is not None) == (cls.backend_name == "hip")

    def _torch(self):
        """``torch.<arrays>``, if torch is there and was built for such devices; else None."""
        try:
            import torch
        except ImportError:
            return None
        interface = getattr(torch, self._arrays, None)
        return interface if interface is not None and interface.is_available() else None

    def get_current_device(self):
        interface = self._torch()
        return _core.current_device() if interface is None else interface.current_device()

    def set_current_device(self, device):
        interface = self._torch()
        _core.set_current_device(device) if interface is None else interface.set_device(device)

    def get_current_stream(self, device=None):
        return _core.current_stream(self.get_current_device() if device is None else device)

    def get_device_capability(self, device=None):
        properties = self.utils.get_device_properties(self.get_current_device() if device is None else device)
        return properties["compute_capability_major"], properties["compute_capability_minor"]

    def get_active_torch_device(self):
        if self._torch() is None:
            return Device(self._arrays, self.get_current_device())
        import torch

        return torch.device(self._arrays, self.get_current_device())

    def get_device_interface(self):
        return self._torch() or NativeInterface

    def get_empty_cache_for_benchmark(self):
        if self._torch() is None:
            return _core.Buffer(_core.current_device(), self._CACHE_BYTES)
        import torch

        return torch.empty(self._CACHE_BYTES // 4, dtype=torch.int32, device=self._arrays)

    def clear_cache(self, cache):
        cache.zero_()


def works_on_host(active):
    """Whether a driver's kernels work in the memory of the host. The one here that does is known: torch, whose import takes seconds,
    is asked for the device of others alone."""
    return type(active) in (Driver, CPUDriver) or active.get_active_torch_device().type == "cpu"


def _new_driver(arrays, backend):
    """The driver of a target by what array libraries call its devices."""
    if arrays == "cpu":
        # A device that is emulated works in the memory of the host.
        return CPUDriver() if backend == CPUDriver.backend_name else Driver()
    from ..backends import backends

    for known in backends.values():
        if known.driver.backend_name == backend:
            return known.driver()
    return DeviceDriver(arrays)


def _check_backend(selected):
    """Refuses what names no back end, as the reference has them (``nvidia``) or as targets are called (``cuda:90``)."""
    from ..backends import backends

    if selected.split(":")[0] not in (*backends, *_core.backends()):
        raise RuntimeError(f"Unknown backend device '{selected}'. Available backends: {list(backends)}")


class DriverConfig:
    """Which driver is active: the native one of the target in use, until `set_active` says otherwise."""

    def __init__(self):
        self._drivers = {}
        self._default = None
        self._active = None

    @property
    def default(self):
        """The native driver."""
        selected = os.environ.get("TRITON_DEFAULT_BACKEND")
        if selected:
            _check_backend(selected)
        kind = _core.arrays(), _core.current_target()[0]
        if kind not in self._drivers:
            self._drivers[kind] = _new_driver(*kind)
        self._default = self._drivers[kind]
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
