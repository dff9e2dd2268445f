"""The compiler for NVIDIA GPUs under the names of the reference."""

import functools

from ... import knobs
from ...errors import PTXASError
from ..compiler import Backend, BaseBackend, GPUTarget, Language, Options

__all__ = ["BaseBackend", "CUDABackend", "CUDAOptions", "GPUTarget", "Language", "PTXASError", "get_ptxas", "get_ptxas_version",
           "min_dot_size", "sm_arch_from_capability"]

CUDAOptions = Options


def min_dot_size(target):
    """A function of the types of a dot's operands: the smallest sizes (m, n, k) that fill a matrix instruction's k. Smaller
    dots are computed too."""

    def smallest(lhs_type, rhs_type):
        bits = lhs_type.scalar.primitive_bitwidth
        assert bits == rhs_type.scalar.primitive_bitwidth, "the operands of a dot have types of one width"
        return 1, 1, {64: 4, 32: 8, 8: 32}.get(bits, 16)

    return smallest


def get_ptxas(arch):
    """The assembler for an architecture, such as 90."""
    return knobs.nvidia.ptxas if arch < 90 else knobs.nvidia.ptxas_blackwell


@functools.lru_cache
def get_ptxas_version(arch=80):
    """What the assembler for an architecture prints of its version."""
    import subprocess

    if knobs.nvidia.mock_ptx_version is not None:
        return knobs.nvidia.mock_ptx_version
    return subprocess.check_output([get_ptxas(arch).path, "--version"], text=True)


def sm_arch_from_capability(capability):
    """The name of an architecture: ``"sm_80"``, ``"sm_90a"``."""
    return f"sm_{capability}{'a' if capability >= 90 else ''}"


class CUDABackend(Backend):
    """Compiles for NVIDIA GPUs."""

    backend_name = "cuda"
    binary_ext = "cubin"
