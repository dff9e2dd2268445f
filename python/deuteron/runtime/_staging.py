"""Arguments of interpreted kernels that lie in the memory of a device: they are copied to the host, and back after the launch.

A storage is copied once, however many tensors look at it, so that views stay views of one memory.
"""

import copy
import sys

__all__ = ["stage"]


def stage(values):
    """The values with copies on the host in place of what lies elsewhere, and a function that copies back; None if nothing does."""
    copies = {}
    staged = [_staged(value, copies) for value in values]
    if not copies:
        return None

    def copy_back():
        for there, here in copies.values():
            there.copy_(here)

    return staged, copy_back


def _staged(value, copies):
    if isinstance(value, tuple):
        items = [_staged(item, copies) for item in value]
        if all(new is old for new, old in zip(items, value)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if hasattr(value, "untyped_storage"):
        kind = getattr(value.device, "type", "cpu")
        return value if kind in ("cpu", "meta") else _on_host(value, copies)
    # Descriptors, and tensors that are seen as ones of another dtype.
    base = getattr(value, "base", None)
    if base is None or isinstance(base, type(value)):
        return value
    new = _staged(base, copies)
    if new is base:
        return value
    value = copy.copy(value)
    value.base = new
    if hasattr(value, "device"):
        value.device = new.device
    return value


def _on_host(tensor, copies):
    storage = tensor.untyped_storage()
    if storage.data_ptr() not in copies:
        copies[storage.data_ptr()] = storage, storage.cpu()
    _, here = copies[storage.data_ptr()]
    host = sys.modules["torch"].empty(0, dtype=tensor.dtype, device="cpu")
    return host.set_(here, tensor.storage_offset(), tensor.size(), tensor.stride())
