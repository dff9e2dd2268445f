"""Tensor descriptors that the host writes to 128 bytes of memory, as in Triton 3.2: kernels read them by `tl._experimental_descriptor_load`.

They hold the address of the tensor and its sizes. The size of blocks and the type of elements are those that a kernel asks for.
"""

import ctypes
import struct

__all__ = ["create_1d_tma_descriptor", "create_2d_tma_descriptor", "enable_in_pytorch"]

_SIZE = 128


def create_1d_tma_descriptor(ptr, dim, block_dim, element_size):
    """A descriptor of a tensor of one dimension, as bytes on the device: an argument of kernels.

    Args:
        ptr: the address of the tensor.
        dim: its elements.
        block_dim, element_size: not needed.
    """
    return _on_device(_packed(ptr, dim))


def create_2d_tma_descriptor(ptr, dim1, dim0, block_dim1, block_dim0, element_size):
    """A descriptor of a tensor of rows that follow each other, as bytes on the device: an argument of kernels.

    Args:
        ptr: the address of the tensor.
        dim1, dim0: its rows and its columns.
        block_dim1, block_dim0, element_size: not needed.
    """
    return _on_device(_packed(ptr, dim1, dim0))


def enable_in_pytorch():
    """Whether torch.compile writes such descriptors: it has those of `tools.tensor_descriptor`."""
    return False


def write(desc, ptr, *sizes):
    """Writes a descriptor to an address of the host, or to an array of 128 bytes."""
    data = _packed(ptr, *sizes)
    if not isinstance(desc, int):
        desc = desc.data_ptr() if hasattr(desc, "data_ptr") else desc.__array_interface__["data"][0]
    ctypes.memmove(desc, data, len(data))


def _packed(ptr, *sizes):
    return struct.pack(f"<Q{len(sizes)}q", ptr, *sizes)


def _on_device(data):
    from ..runtime.driver import driver

    data = bytearray(data.ljust(_SIZE, b"\0"))
    try:
        import torch
    except ImportError:
        import numpy

        return numpy.frombuffer(data, numpy.uint8)
    return torch.frombuffer(data, dtype=torch.uint8).to(driver.active.get_active_torch_device())
