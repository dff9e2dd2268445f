"""What Python functions of other packages see that kernels call while they are compiled.

Such a function is marked by ``__triton_builtin__``. It gets constants as ``tl.constexpr``, and objects of `RunTimeValue` in the place of
run-time values, of which it may return one.
"""

from ._constexpr import constexpr


class RunTimeValue:
    """Stands for a value that is known when the kernel runs."""

    __deuteron_builtin__ = "_run_time"

    def __init__(self, number):
        self._name_ = number


def __getattr__(name):
    """``tl._run_time.0``, …: how the compiler names them."""
    if name.isdecimal():
        return RunTimeValue(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def wrapped(value):
    """The value as such a function takes it."""
    return value if isinstance(value, (RunTimeValue, constexpr)) else constexpr(value)
