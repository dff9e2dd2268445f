"""Who provides the scratch memory that some kernels need on the device."""

import ctypes
import sys
from contextvars import ContextVar


class Buffer:
    """What an allocator returns: an object with ``data_ptr()``."""

    def data_ptr(self):
        """The address of its first byte."""
        raise NotImplementedError


class Allocator:
    """What `set_allocator` takes: called with a size, an alignment and a stream, it returns a `Buffer`."""

    def __call__(self, size, alignment, stream):
        raise NotImplementedError


class _HostBuffer(Buffer):
    """Memory of the host, for devices that are emulated."""

    def __init__(self, size, alignment):
        self._memory = bytearray(size + alignment)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._address = address + -address % alignment

    def data_ptr(self):
        return self._address


def _of_torch(torch, size, stream):
    """Memory of torch's on the current device, which the stream of a launch gives back in order: the call may name another than torch's."""
    if stream == torch.cuda.current_stream().cuda_stream:
        return torch.empty(size, dtype=torch.int8, device="cuda")
    with torch.cuda.stream(torch.cuda.ExternalStream(stream) if stream else torch.cuda.default_stream()):
        return torch.empty(size, dtype=torch.int8, device="cuda")


class NullAllocator:
    """Stands in until `set_allocator` is called: memory of torch's on the current device, which its stream gives back in order, or of the
    host where kernels work there."""

    def __call__(self, size, alignment, stream):
        from .driver import driver, works_on_host

        if works_on_host(driver.active):
            return _HostBuffer(size, alignment)
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_available():
            return _of_torch(torch, size, stream)
        raise RuntimeError(
            "the kernel needs scratch memory on the device, and no allocator is set: call "
            "`triton.set_allocator(allocator)` first, with a function of size, alignment and stream that returns an object "
            "with `data_ptr()`")


_NULL_ALLOCATOR = NullAllocator()
_allocator = ContextVar("_allocator", default=_NULL_ALLOCATOR)


def set_allocator(allocator):
    """Sets what provides scratch memory: called with size, alignment and stream, it returns an object with
    ``data_ptr()``."""
    _allocator.set(allocator)


class _AllocatorWrapper:
    """Holds an allocator that can be replaced, and is one itself."""

    def __init__(self, allocator):
        self._allocator = ContextVar("_allocator_of_wrapper", default=allocator)

    def get(self):
        """The allocator that is held."""
        return self._allocator.get()

    def set(self, allocator):
        """Replaces it."""
        self._allocator.set(allocator)

    def __call__(self, size, alignment, stream):
        return self.get()(size, alignment, stream)


_profile_allocator = _AllocatorWrapper(_NULL_ALLOCATOR)


def set_profile_allocator(allocator):
    """Sets what provides memory for the records of a profiler; None takes that back."""
    _profile_allocator.set(_NULL_ALLOCATOR if allocator is None else allocator)


def has_profile_allocator():
    """Whether `set_profile_allocator` was called in this context."""
    return _profile_allocator.get() is not _NULL_ALLOCATOR


def has_allocator():
    """Whether `set_allocator` was called in this context."""
    return _allocator.get() is not _NULL_ALLOCATOR


class _Aligned(Buffer):
    """Memory of an allocator from its first byte with an alignment on: that of a host is aligned less than kernels ask, whichever device
    the allocator names (``--cuda-as-cpu``)."""

    def __init__(self, memory, alignment):
        self._memory = memory
        self._alignment = alignment

    def data_ptr(self):
        address = self._memory.data_ptr()
        return address + -address % self._alignment


#: What memory of torch's on a device is aligned to at least.
_TORCH_ALIGNMENT = 512


def allocate_on(arrays, size, alignment, stream):
    """A buffer for a launch on devices of this name: as `allocate` gives it, with fewer questions where torch gives it anyway."""
    torch = sys.modules.get("torch")
    plain = arrays == "cuda" and torch is not None and torch.cuda.is_initialized() and alignment <= _TORCH_ALIGNMENT
    if plain and _allocator.get() is _NULL_ALLOCATOR:
        return _of_torch(torch, size, stream)
    return allocate(size, alignment, stream)


def allocate(size, alignment, stream):
    """A buffer of the allocator that is set, aligned as asked: one that gives less is asked for more."""
    allocator = _allocator.get()
    buffer = allocator(size, alignment, stream)
    if buffer.data_ptr() % max(alignment, 1):
        return _Aligned(allocator(size + alignment, alignment, stream), alignment)
    return buffer
