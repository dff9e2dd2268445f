"""Deuteron: the Triton language for every machine.

``import deuteron as triton`` and ``import deuteron.language as tl`` is all that a script needs to change; ``python -m
deuteron script.py`` changes nothing at all, and `install` does the same from code.
"""

import sys as _sys

if "t" in getattr(_sys, "abiflags", ""):
    raise ImportError("deuteron does not run on a free-threaded Python: launches rely on the global interpreter lock. "
                      "Install it in an ordinary build of Python (`python3.13` instead of `python3.13t`)")

from . import _core
from .compiler import CompilationError, compile
from .errors import TritonError
from .runtime import (Config, InterpreterError, JITFunction, KernelInterface, MockTensor, OutOfResources,
                      TensorWrapper, autotune, heuristics, reinterpret)
from .runtime._allocation import set_allocator
from .runtime._async_compile import AsyncCompileMode, FutureKernel
from .runtime.jit import constexpr_function, jit

# The submodules come after the names that they use.
from . import knobs, language, runtime  # isort: skip
from ._redirect import install

#: The version of the language and of the interface, which libraries compare.
__version__ = "3.9.0"
#: The version of this implementation.
__deuteron_version__ = _core.version()

__all__ = [
    "AsyncCompileMode",
    "CompilationError",
    "Config",
    "FutureKernel",
    "InterpreterError",
    "JITFunction",
    "KernelInterface",
    "MockTensor",
    "OutOfResources",
    "TensorWrapper",
    "TritonError",
    "aggregate",
    "autotune",
    "cdiv",
    "compile",
    "constexpr_function",
    "heuristics",
    "install",
    "jit",
    "knobs",
    "language",
    "must_use_result",
    "next_power_of_2",
    "reinterpret",
    "runtime",
    "set_allocator",
    "testing",
    "tools",
]

must_use_result = language.core.must_use_result
aggregate = language.core._aggregate


@constexpr_function
def cdiv(x, y):
    """``(x + y - 1) // y``: how many pieces of `y` cover `x`."""
    return (x + y - 1) // y


@constexpr_function
def next_power_of_2(n):
    """The smallest power of two that is `n` or more."""
    n -= 1
    for shift in (1, 2, 4, 8, 16, 32):
        n |= n >> shift
    return n + 1


def __getattr__(name):
    """Modules that most scripts do without are imported when they are first used."""
    if name in ("_C", "_filecheck", "_internal_testing", "backends", "compiler", "experimental", "profiler", "testing", "tools"):
        import importlib

        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
