"""The part of the reference's native module that other packages use: ``ir`` for walking kernels, and the specialisation of arguments.

What drives the reference's passes (``passes``, ``llvm``, ``nvidia``, ``amd``) is not there: this compiler has passes of its own, which
``deuteron opt`` runs.
"""

from ...runtime.jit import native_specialize_impl

__all__ = ["get_cache_invalidating_env_vars", "ir", "native_specialize_impl"]


def get_cache_invalidating_env_vars():
    """Variables that change what a compile yields, with their values. The key of a kernel has the knobs that they set, so there are
    none to be looked at."""
    return {}


def __getattr__(name):
    """``ir`` is there without an import of its own."""
    if name == "ir":
        import importlib

        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}: Deuteron has `ir` and `native_specialize_impl` of it")
