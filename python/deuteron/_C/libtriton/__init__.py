"""The part of the reference's native module that other packages use: ``ir`` for walking kernels, the specialisation of arguments, and
``nvidia.cublas`` and ``amd.hipblas``, which kernels are measured beside, and ``linear_layout``; of ``gluon_ir`` the names alone.

What drives the reference's passes (``passes``, ``llvm``, the rest of ``amd``) is not there: this compiler has passes of its own, which
``deuteron opt`` runs. ``passes`` and ``llvm`` can be imported, as public code does beside its kernels, and have no names.
"""

from ...runtime.jit import native_specialize_impl

__all__ = ["amd", "get_cache_invalidating_env_vars", "gluon_ir", "ir", "linear_layout", "llvm", "native_specialize_impl", "nvidia",
           "passes"]

#: Modules that are there without imports of their own.
_MODULES = ("amd", "gluon_ir", "ir", "linear_layout", "llvm", "nvidia", "passes")


def get_cache_invalidating_env_vars():
    """Variables that change what a compile yields, with their values. The key of a kernel has the knobs that they set, so there are
    none to be looked at."""
    return {}


def __getattr__(name):
    """The modules of this one."""
    if name in _MODULES:
        import importlib

        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}: Deuteron has `ir`, `native_specialize_impl`, `linear_layout`, "
                         "`nvidia.cublas`, `amd.hipblas` and `amd.supports_tdm` of it")
