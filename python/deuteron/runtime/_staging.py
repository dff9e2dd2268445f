"""Arguments of interpreted kernels that lie in the memory of a device: they are copied to the host, and back after the launch.

A storage is copied once, however many tensors look at it, so that views stay views of one memory. Arrays of other
packages, which say by ``__cuda_array_interface__`` where they lie, are seen as tensors; two of them that overlap are
refused, as nothing says what memory they share.
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
    if getattr(value, "__cuda_array_interface__", None) is not None:
        import torch

        return _on_host(torch.as_tensor(value, device="cuda"), copies)
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
    host = sys.modules["torch"].empty(0, dtype=tensor.dtype, device="cpu")
    here = _copy(tensor.untyped_storage(), copies)
    return host.set_(here, tensor.storage_offset(), tensor.size(), tensor.stride())


def _copy(storage, copies):
    place = begin, end = storage.data_ptr(), storage.data_ptr() + storage.nbytes()
    if place not in copies:
        if any(begin < known_end and known_begin < end for known_begin, known_end in copies):
            raise ValueError("two arrays in the memory of a device overlap: an interpreted kernel works on copies of them")
        copies[place] = storage, storage.cpu()
    return copies[place][1]
