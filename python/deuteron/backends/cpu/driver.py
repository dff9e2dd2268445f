"""The driver of this machine's processors."""

from ...runtime.driver import CPUDriver

__all__ = ["CPUDriver"]
