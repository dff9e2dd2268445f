"""`tl.extra.hip`: what only that kind of target has. On any other, using a name is a compile error."""

from ..._builtin import builtin
from . import libdevice

__all__ = ["libdevice", "memrealtime", "num_threads", "num_warps", "smid"]


@builtin
def memrealtime():
    """A clock of the device that runs at 100 MHz, int64."""


@builtin
def smid():
    """The number of the compute unit that runs the program, int32."""


@builtin
def num_threads() -> "constexpr":
    """Threads of a program, a constexpr."""


@builtin
def num_warps() -> "constexpr":
    """Warps of a program, a constexpr."""


from . import utils  # noqa: E402,F401 (it takes the names from here)
