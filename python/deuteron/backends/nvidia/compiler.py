"""The compiler for NVIDIA GPUs under the names of the reference."""

from ..compiler import Backend, Options

__all__ = ["CUDABackend", "CUDAOptions"]

CUDAOptions = Options


class CUDABackend(Backend):
    """Compiles for NVIDIA GPUs."""

    backend_name = "cuda"
    binary_ext = "cubin"
