"""Memory of a device for programs without an array library: ``_C.libtriton.nvidia.device_malloc`` and what goes with it."""

import struct

import pytest

import triton
import triton.language as tl
from triton._C.libtriton import nvidia


class Pointer:
    """What a kernel takes for a pointer: anything with an address and a type."""

    def __init__(self, address, dtype):
        self.address, self.dtype = address, dtype

    def data_ptr(self):
        return self.address


@triton.jit
def doubled(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, 2 * tl.load(x_ptr + at))


@pytest.fixture(params=["", "cuda:90", "hip:gfx942"])
def device(request):
    """The device in use, and emulated ones."""
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.emulate = request.param
        yield request.param


def test_a_kernel_works_on_memory_that_was_allocated_by_hand(device):
    x, out = nvidia.device_malloc(32), nvidia.device_malloc(32)
    nvidia.copy_host_to_device(x, struct.pack("8i", *range(8)))
    nvidia.copy_host_to_device(x + 4, struct.pack("i", 100))
    doubled[(1, )](Pointer(x, tl.int32), Pointer(out, tl.int32), BLOCK=8)
    nvidia.synchronize()
    assert struct.unpack("8i", nvidia.copy_device_to_host(out, 32)) == (0, 200, 4, 6, 8, 10, 12, 14)
    assert struct.unpack("2i", nvidia.copy_device_to_host(out + 8, 8)) == (4, 6)
    nvidia.device_free(x)
    nvidia.device_free(out)


def test_what_lies_outside_is_refused():
    memory = nvidia.device_malloc(16)
    with pytest.raises(BufferError, match="8 bytes at 12 do not fit a buffer of 16"):
        nvidia.copy_host_to_device(memory + 12, bytes(8))
    with pytest.raises(BufferError, match="17 bytes at 0"):
        nvidia.copy_device_to_host(memory, 17)
    with pytest.raises(ValueError, match="lies in no memory"):
        nvidia.copy_device_to_host(memory + 16, 1)
    with pytest.raises(ValueError, match="begins at"):
        nvidia.device_free(memory + 4)
    nvidia.device_free(memory)
    with pytest.raises(ValueError, match="freed already"):
        nvidia.device_free(memory)
