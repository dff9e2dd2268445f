"""Targets as Python names them."""

from abc import ABCMeta, abstractmethod
from collections import namedtuple
from enum import Enum


class GPUTarget(namedtuple("GPUTarget", ("backend", "arch", "warp_size"))):
    """What kernels are compiled for.

    Attributes:
        backend: ``"cpu"``, ….
        arch: the architecture, a name or a number.
        warp_size: lanes that go together; 1 on a CPU.
    """

    __slots__ = ()


class Language(Enum):
    """What a kernel was written in."""

    TRITON = 0
    GLUON = 1


class BaseBackend(metaclass=ABCMeta):
    """A compiler for one kind of target. Deuteron's are native; `Backend` shows them through this interface."""

    def __init__(self, target):
        self.target = target

    @staticmethod
    @abstractmethod
    def supports_target(target):
        """Whether it compiles for `target`."""

    @abstractmethod
    def hash(self):
        """What changes whenever its code or its tools do."""

    @abstractmethod
    def parse_options(self, options):
        """Options as the compiler will see them, defaults filled in."""


class Options(dict):
    """The options of a compile; each is an attribute too."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def hash(self):
        """A digest of all of them."""
        import hashlib

        return hashlib.sha256(repr(sorted(self.items(), key=lambda item: item[0])).encode()).hexdigest()


class Backend(BaseBackend):
    """A native target."""

    @staticmethod
    def supports_target(target):
        """Whether this build compiles for `target`."""
        from .. import _core

        return target.backend in _core.backends()

    def hash(self):
        """What changes whenever the compiler or the target's facts do."""
        from .. import _core

        return f"{_core.compiler_key()}-{self.target}"

    def parse_options(self, options):
        """Options with their defaults; an unknown one is a KeyError."""
        from .. import _core

        return Options(_core.default_options(self.target, dict(options)))
