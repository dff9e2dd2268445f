"""The targets of this build: ``backends`` maps their names to a compiler and a driver."""

from .compiler import Backend as _NativeBackend
from .driver import DriverBase

__all__ = ["Backend", "DriverBase", "backends"]


class Backend:
    """A compiler class and a driver class."""

    def __init__(self, compiler, driver):
        self.compiler = compiler
        self.driver = driver


class _Backends(dict):
    """Asks the native module once, when somebody first looks."""

    def _fill(self):
        if not dict.__len__(self):
            from .. import _core
            from ..runtime.driver import Driver

            for name in _core.backends():
                dict.__setitem__(self, name, Backend(_NativeBackend, Driver))
        return self

    def __contains__(self, name):
        return dict.__contains__(self._fill(), name)

    def __getitem__(self, name):
        return dict.__getitem__(self._fill(), name)

    def __iter__(self):
        return dict.__iter__(self._fill())

    def __len__(self):
        return dict.__len__(self._fill())

    def keys(self):
        return dict.keys(self._fill())

    def values(self):
        return dict.values(self._fill())

    def items(self):
        return dict.items(self._fill())


backends = _Backends()
