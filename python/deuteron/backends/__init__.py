"""The targets of this build: ``backends`` maps the reference's names of them to a compiler and a driver."""

from .compiler import BaseBackend
from .driver import DriverBase

__all__ = ["Backend", "BaseBackend", "DriverBase", "backends"]


class Backend:
    """A compiler class and a driver class."""

    def __init__(self, compiler, driver):
        self.compiler = compiler
        self.driver = driver


def __getattr__(name):
    """``backends`` is made when somebody first looks: drivers need modules that need this one."""
    if name != "backends":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .amd.compiler import HIPBackend
    from .amd.driver import HIPDriver
    from .cpu.compiler import CPUBackend
    from .cpu.driver import CPUDriver
    from .nvidia.compiler import CUDABackend
    from .nvidia.driver import CudaDriver

    made = {"cpu": Backend(CPUBackend, CPUDriver), "nvidia": Backend(CUDABackend, CudaDriver),
            "amd": Backend(HIPBackend, HIPDriver)}
    return globals().setdefault("backends", made)
