"""What other packages read of ``amd`` of the reference's native module: ``amd.hipblas.HipblasLt``, products that kernels are measured beside,
and ``amd.supports_tdm``, which torch's compiler asks about.
"""

import types

from ._blas import Products


class HipblasLt(Products):
    """Products by hipBLASLt."""

    library = "hipBLASLt"
    dtypes = ("float8_e4m3fn", "float8_e4m3fnuz", "float16", "bfloat16", "float32")
    unscaled = "is not there: torch is asked for products without scales alone"


def supports_tdm(arch):
    """Whether an architecture copies boxes of tensors by descriptor: none that kernels are compiled for does.

    Args:
        arch: its name, such as ``"gfx942"``.
    """
    if not isinstance(arch, str):
        raise TypeError(f"an architecture is a text such as 'gfx942', not {arch!r}")
    return False


hipblas = types.SimpleNamespace(HipblasLt=HipblasLt)
