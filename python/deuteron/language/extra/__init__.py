"""`tl.extra`: functions beyond the core, and those of one kind of target."""

from . import cuda, hip, libdevice

__all__ = ["cuda", "hip", "libdevice"]
