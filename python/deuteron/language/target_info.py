"""What kernels may ask at compile time about the target they are compiled for."""

from ..runtime.driver import driver
from ..runtime.jit import constexpr_function
from ._builtin import show

__all__ = ["current_target"]


@show
def current_target():
    """The target of the active driver, or None."""
    try:
        return driver.active.get_current_target()
    except RuntimeError:
        return None


@show
def _backend_is(name):
    target = current_target()
    return target is not None and target.backend == name


@constexpr_function
def is_cuda():
    """Whether the target is a `cuda` device."""
    return _backend_is("cuda")


@constexpr_function
def cuda_capability_geq(major, minor=0):
    """Whether the target is a `cuda` device of at least that compute capability."""
    return _backend_is("cuda") and current_target().arch >= major * 10 + minor


@constexpr_function
def is_hip():
    """Whether the target is a `hip` device."""
    return _backend_is("hip")


@show
def _hip_arch_is(prefix):
    return _backend_is("hip") and current_target().arch.startswith(prefix)


@constexpr_function
def is_hip_cdna3():
    """Whether the target is a `hip` device of the architecture `gfx942`."""
    return _hip_arch_is("gfx942")


@constexpr_function
def is_hip_cdna4():
    """Whether the target is a `hip` device of the architecture `gfx950`."""
    return _hip_arch_is("gfx950")


@constexpr_function
def is_hip_gfx1250():
    """Whether the target is a `hip` device of the architecture `gfx1250`."""
    return _hip_arch_is("gfx1250")


current_target.__deuteron_builtin__ = "target_info.current_target"
