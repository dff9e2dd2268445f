"""What functions were compiled to in this process, as Python sees it."""

import collections.abc

__all__ = ["DeviceCaches", "KernelCache"]


class KernelCache(collections.abc.Mapping):
    """The compiled kernels of a function, by the key that the hooks of a compile are given: those of now."""

    def __init__(self, function):
        self._function = function

    def _now(self):
        """The kernels, and what stands for those that an executor is to compile."""
        return {**self._function.__dict__.get("_pending", {}), **self._function._kernels()}

    def __getitem__(self, key):
        return self._now()[key]

    def __iter__(self):
        return iter(self._now())

    def __len__(self):
        return len(self._now())

    def clear(self):
        """Forgets them, so that the next launch looks on the disk or compiles."""
        self._function.__dict__.pop("_pending", None)
        self._function.clear_cache()


class DeviceCaches(collections.abc.Mapping):
    """From a device to its `KernelCache`, a dictionary for `compute_cache_key`, the target, its backend, and a function that binds
    arguments, as `JITFunction.create_binder` makes them. Kernels are kept for all devices together, so these are the same for each; a
    device is a number, or `"cpu"`, as torch calls it."""

    def __init__(self, function):
        self._function = function
        self._kernels = KernelCache(function)
        self._known = None

    def __getitem__(self, device):
        if device != "cpu" and not isinstance(device, int):
            raise KeyError(device)
        from .driver import driver

        target = driver.active.get_current_target()
        if self._known is None or self._known[2] != target:
            self._known = (self._kernels, *self._function.create_binder()[1:])
        return self._known

    def __iter__(self):
        return iter((0, ))

    def __len__(self):
        return 1

    def clear(self):
        """Forgets all kernels."""
        self._kernels.clear()
