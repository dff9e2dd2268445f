"""What other packages read of ``nvidia`` of the reference's native module: ``cublas.CublasLt``, products that kernels are measured beside,
and memory of the device in use for programs without an array library.
"""

import types

from ... import _core
from ._blas import Products

# What `device_malloc` gave and nobody has freed, by its address.
_buffers = {}


class CublasLt(Products):
    """Products by cuBLAS."""

    library = "cuBLAS"
    dtypes = ("float8_e4m3fn", "float16", "bfloat16", "float32")
    unscaled = "needs scales of blocks in cuBLAS, which no architecture before sm_100 has"


def device_malloc(size):
    """Memory of the current device.

    Args:
        size: how many bytes.

    Returns:
        its address, for `device_free`.
    """
    buffer = _core.Buffer(_core.current_device(), size)
    _buffers[buffer.data_ptr()] = buffer
    return buffer.data_ptr()


def device_free(address):
    """Frees what `device_malloc` gave, after everything that uses it.

    Args:
        address: where it begins.
    """
    if address not in _buffers:
        raise ValueError(f"device_malloc gave no memory that begins at {address:#x}, or it is freed already")
    synchronize()
    del _buffers[address]


def copy_host_to_device(address, data):
    """Copies bytes into memory that `device_malloc` gave.

    Args:
        address: where they go.
        data: the bytes.
    """
    buffer, at = _buffer_of(address)
    buffer.write(data, at)


def copy_device_to_host(address, size):
    """Bytes of memory that `device_malloc` gave, after what was launched in the default stream.

    Args:
        address: where they begin.
        size: how many.
    """
    buffer, at = _buffer_of(address)
    return buffer.read(at, size)


def synchronize():
    """Waits for everything that the current device was given."""
    _core.synchronize(_core.current_device())


def _buffer_of(address):
    """The buffer around an address, and how far into it that is."""
    for first, buffer in _buffers.items():
        if first <= address < first + len(buffer):
            return buffer, address - first
    raise ValueError(f"{address:#x} lies in no memory that device_malloc gave")


cublas = types.SimpleNamespace(CublasLt=CublasLt)
