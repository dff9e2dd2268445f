"""Kernels that give layouts, barriers and copies themselves. They can be imported and decorated, and not be compiled: launching one, or using
a name of its language outside of one, raises `NotImplementedError` with that name.

Kernels of the ordinary language, layouts included in what ``asm["ttgir"]`` shows, are what this compiler takes.
"""

import inspect

from ...language.core import _aggregate as aggregate
from ...language.core import must_use_result
from ...runtime.jit import KernelInterface, constexpr_function
from ._missing import REASON, register

__all__ = ["GluonASTSource", "GluonJITFunction", "aggregate", "constexpr_function", "jit", "must_use_result"]


class GluonJITFunction(KernelInterface):
    """A kernel that gives layouts itself."""

    def __init__(self, fn, **options):
        self.fn = fn
        self.options = options
        self.__name__ = fn.__name__
        self.__doc__ = fn.__doc__
        self.__module__ = fn.__module__
        self.signature = inspect.signature(fn)
        self.arg_names = list(self.signature.parameters)

    def is_gluon(self):
        """Whether the kernel gives layouts itself."""
        return True

    def run(self, *args, **kwargs):
        """Refuses: such kernels are not compiled."""
        raise NotImplementedError(f"the kernel {self.__name__} cannot be launched: {REASON}")

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")


class GluonASTSource:
    """A kernel that gives layouts itself, to be compiled ahead of time; refused."""

    def __init__(self, fn, signature, constexprs=None, attrs=None):
        raise NotImplementedError(f"the kernel {fn.__name__} cannot be compiled: {REASON}")


def jit(fn=None, **options):
    """Marks a kernel that gives layouts itself; see `triton.jit` for the options."""
    return (lambda function: GluonJITFunction(function, **options)) if fn is None else GluonJITFunction(fn, **options)


register(__name__)
