"""The compiler for processors under the names of the reference's fork for CPUs."""

from ..compiler import Backend

__all__ = ["CPUBackend"]


class CPUBackend(Backend):
    """Compiles for the processor."""

    backend_name = "cpu"
    binary_ext = "so"
