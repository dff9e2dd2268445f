"""``nvidia.cublas.CublasLt`` of the reference's native module: products by cuBLAS, which kernels are measured beside."""

import types

from ._blas import Products


class CublasLt(Products):
    """Products by cuBLAS."""

    library = "cuBLAS"
    dtypes = ("float8_e4m3fn", "float16", "bfloat16", "float32")
    unscaled = "needs scales of blocks in cuBLAS, which no architecture before sm_100 has"


cublas = types.SimpleNamespace(CublasLt=CublasLt)
