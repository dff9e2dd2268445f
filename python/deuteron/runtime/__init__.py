"""Launching, tuning, caching, and the driver of the device."""

from .autotuner import Autotuner, Config, Heuristics, autotune, heuristics
from .cache import RedisRemoteCacheBackend, RemoteCacheBackend
from .driver import driver
from .errors import InterpreterError, OutOfResources
from .jit import JITFunction, KernelInterface, MockTensor, TensorWrapper, reinterpret

__all__ = [
    "autotune",
    "Autotuner",
    "Config",
    "driver",
    "Heuristics",
    "heuristics",
    "InterpreterError",
    "JITFunction",
    "KernelInterface",
    "MockTensor",
    "OutOfResources",
    "RedisRemoteCacheBackend",
    "reinterpret",
    "RemoteCacheBackend",
    "TensorWrapper",
]


def __getattr__(name):
    """The interpreter, which is imported where it is asked for."""
    if name == "interpreter":
        import importlib

        return importlib.import_module(".interpreter", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
