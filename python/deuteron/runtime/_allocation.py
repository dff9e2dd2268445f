"""Who provides the scratch memory that some kernels need on the device."""

from contextvars import ContextVar


class Buffer:
    """What an allocator returns: an object with ``data_ptr()``."""

    def data_ptr(self):
        """The address of its first byte."""
        raise NotImplementedError


class NullAllocator:
    """Stands in until `set_allocator` is called."""

    def __call__(self, size, alignment, stream):
        raise RuntimeError(
            "the kernel needs scratch memory on the device, and no allocator is set: call "
            "`triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8))` first")


_NULL_ALLOCATOR = NullAllocator()
_allocator = ContextVar("_allocator", default=_NULL_ALLOCATOR)


def set_allocator(allocator):
    """Sets what provides scratch memory: called with size, alignment and stream, it returns an object with
    ``data_ptr()``."""
    _allocator.set(allocator)


def has_allocator():
    """Whether `set_allocator` was called in this context."""
    return _allocator.get() is not _NULL_ALLOCATOR


def allocate(size, alignment, stream):
    """A buffer of the allocator that is set, aligned as asked."""
    buffer = _allocator.get()(size, alignment, stream)
    if buffer.data_ptr() % max(alignment, 1):
        raise RuntimeError(f"the allocator gave memory at {buffer.data_ptr():#x}, which is not a multiple of {alignment}")
    return buffer
