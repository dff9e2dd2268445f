"""The compiler for NVIDIA GPUs under the names of the reference."""

import functools

from ... import knobs
from ...errors import PTXASError
from ..compiler import Backend, BaseBackend, GPUTarget, Language, Options

__all__ = ["BaseBackend", "CUDABackend", "CUDAOptions", "GPUTarget", "Language", "PTXASError", "get_features",
           "get_ptx_version_from_options", "get_ptxas", "get_ptxas_version", "min_dot_size", "ptx_get_version",
           "sm_arch_from_capability"]

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


def ptx_get_version(cuda_version):
    """The newest PTX that a release of CUDA reads, times ten: 84 for ``"12.4"``."""
    major, minor = map(int, cuda_version.split("."))
    first = {10: 63, 11: 70, 12: 80}.get(major, 90 + 10 * (major - 13))
    if major < 10:
        raise RuntimeError(f"kernels for NVIDIA GPUs need CUDA 10.0 or newer, and this is {cuda_version}")
    # CUDA 12.5 and 12.6 read the same.
    return first + minor - (major == 12 and minor > 5)


def get_ptx_version_from_options(options, arch):
    """The version of PTX that is written for an architecture, times ten: what the options say, else what its assembler reads."""
    given = options.ptx_version
    return ptx_get_version(get_ptxas(arch).version) if given is None else given


def get_features(options, arch):
    """The version of PTX as LLVM names it: ``"+ptx86"``; LLVM knows none behind 9.0. Kernels are written without LLVM here."""
    return f"+ptx{min(90, get_ptx_version_from_options(options, arch))}"


def sm_arch_from_capability(capability):
    """The name of an architecture: ``"sm_80"``, ``"sm_90a"``."""
    return f"sm_{capability}{'a' if capability >= 90 else ''}"


class CUDABackend(Backend):
    """Compiles for NVIDIA GPUs."""

    backend_name = "cuda"
    binary_ext = "cubin"
