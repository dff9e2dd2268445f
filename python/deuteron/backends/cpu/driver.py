"""The driver of this machine's cores."""

from ...runtime.driver import CPUDriver

__all__ = ["CPUDriver"]
