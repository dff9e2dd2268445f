"""Kernels that give layouts themselves, by the import path of the reference."""

from . import GluonASTSource, GluonJITFunction, constexpr_function, jit

__all__ = ["GluonASTSource", "GluonJITFunction", "constexpr_function", "jit"]
