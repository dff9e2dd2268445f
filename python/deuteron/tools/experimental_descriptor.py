"""Descriptors as Triton 3.2 and 3.3 had them: 128 bytes that describe a row or a matrix, without its type.

They name the shape of the tensor and the size of its elements; block shape and dtype stand where a kernel loads or
stores. New code uses ``TensorDescriptor`` of ``tools.tensor_descriptor``.
"""

import ctypes
import struct

from ..language import uint8

__all__ = ["TmaDescKernelParam", "create_1d_tma_descriptor", "create_2d_tma_descriptor"]

_SIZE = 128
# The record that `language/descriptors.py` of the front end reads and writes: a mark, the address of the tensor, its
# rows and its columns. Only the host reads the mark: kernels that write records leave it as it is.
_RECORD = struct.Struct("<8sQqq")
_MARK = b"deuteron"

# What bulk copies demand: bytes that addresses, rows and blocks are multiples of, and the most elements of a dimension.
_UNIT = 16
_MOST = 2**31 - 1


def fill(ptr, dims, block_dims, element_size, address):
    """Writes the descriptor of the tensor at `ptr` to 128 bytes of the host.

    Args:
        address: of these bytes, or an array or tensor that has them.
        dims, block_dims: in elements, one or two of each, the fastest one last.
        element_size: in bytes.

    Raises:
        RuntimeError: if bulk copies could not move such blocks.
    """
    reason = _refused(ptr, dims, block_dims, element_size)
    if reason:
        error = RuntimeError("Triton Error [CUDA]: invalid argument")
        error.__notes__ = [f"a descriptor of {dims} elements of {element_size} bytes at {ptr:#x}, blocks of {block_dims}: {reason}"]
        raise error
    rows, columns = dims if len(dims) == 2 else (*dims, 1)
    record = _RECORD.pack(_MARK, ptr, rows, columns).ljust(_SIZE, b"\0")
    ctypes.memmove(_address_of(address), record, _SIZE)


def _address_of(memory):
    if isinstance(memory, int):
        return memory
    if hasattr(memory, "data_ptr"):
        return memory.data_ptr()
    view = memoryview(memory).cast("B")
    if view.nbytes < _SIZE:
        raise ValueError(f"a descriptor has {_SIZE} bytes, and {view.nbytes} were given for it")
    return ctypes.addressof(ctypes.c_char.from_buffer(view))


def _refused(ptr, dims, block_dims, element_size):
    if element_size not in (1, 2, 4, 8):
        return "elements have 1, 2, 4 or 8 bytes"
    if ptr % _UNIT:
        return f"its address is no multiple of {_UNIT} bytes"
    if not all(0 < dim <= _MOST for dim in dims):
        return f"each dimension has 1 to {_MOST} elements"
    if len(dims) == 2 and dims[1] * element_size % _UNIT:
        return f"rows are no multiples of {_UNIT} bytes"
    if block_dims[-1] * element_size % _UNIT:
        return f"rows of a block are no multiples of {_UNIT} bytes"
    if not all(dim > 0 for dim in block_dims):
        return "blocks have elements along each dimension"
    return None


class _Memory:
    """An address, as an argument of a launch."""

    dtype = uint8

    def __init__(self, address):
        self._address = address

    def data_ptr(self):
        """The address."""
        return self._address


def parts(param):
    """What a kernel gets for an object whose ``tma_desc_cpu_ptr()`` is the address of a descriptor: the tensor, rows and columns.

    A single None where none was written yet: kernels may have a parameter that they do not use. `_described` in
    `language/descriptors.py` of the front end refuses to load by it.
    """
    mark, ptr, rows, columns = _RECORD.unpack(ctypes.string_at(param.tma_desc_cpu_ptr(), _RECORD.size))
    return (_Memory(ptr), rows, columns) if mark == _MARK else (None, )


class TmaDescKernelParam:
    """A descriptor as an argument of a launch.

    Args:
        ptr: the address of the tensor, a multiple of 16.
        dims, block_dims: in elements, one or two of each, the fastest one last.
        element_size: in bytes.
    """

    TMA_DESC_SIZE = _SIZE

    def __init__(self, ptr, dims, block_dims, element_size):
        if not 1 <= len(dims) <= 2 or len(block_dims) != len(dims):
            raise ValueError(f"a descriptor has one or two dimensions, and blocks of as many, not {len(dims)} and {len(block_dims)}")
        self.desc = (ctypes.c_uint8 * _SIZE)()
        fill(ptr, list(dims), list(block_dims), element_size, self.tma_desc_cpu_ptr())

    def tma_desc_cpu_ptr(self):
        """The address of the descriptor in the memory of the host."""
        return ctypes.addressof(self.desc)


def create_1d_tma_descriptor(ptr, dim, block_dim, element_size):
    """The descriptor of a row of `dim` elements, moved in blocks of `block_dim`."""
    return TmaDescKernelParam(ptr, [dim], [block_dim], element_size)


def create_2d_tma_descriptor(ptr, dim1, dim0, block_dim1, block_dim0, element_size):
    """The descriptor of `dim1` rows of `dim0` elements, side by side, moved in blocks of `block_dim1` rows of `block_dim0`."""
    return TmaDescKernelParam(ptr, [dim1, dim0], [block_dim1, block_dim0], element_size)
