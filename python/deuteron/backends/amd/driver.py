"""The driver of AMD GPUs under the names of the reference."""

from ... import _core
from ...runtime.driver import DeviceDriver, Utils
from ..compiler import GPUTarget

__all__ = ["HIPDriver", "HIPUtils", "ty_to_cpp"]

HIPUtils = Utils


def _capability(arch):
    """Major and minor number of an architecture as torch's ROCm build has them: ``gfx942`` is (9, 4)."""
    digits = arch.split(":")[0].removeprefix("gfx")
    return int(digits[:-2]), int(digits[-2], 16)


class HIPDriver(DeviceDriver):
    """The driver of AMD GPUs; ``triton.runtime.driver.active`` is one where there is such a GPU."""

    backend_name = "hip"

    def __init__(self):
        # torch's ROCm build calls these devices "cuda", too.
        super().__init__("cuda")

    def get_current_target(self):
        if _core.current_target()[0] == self.backend_name:
            return super().get_current_target()
        import torch

        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        arch = properties.gcnArchName.split(":")[0]
        facts = _core.default_options((self.backend_name, arch, None))
        return GPUTarget(self.backend_name, arch, facts["warp_size"])

    def get_device_capability(self, device=None):
        """``(major, minor)`` as torch's ROCm build says: (9, 4) for gfx942."""
        return _capability(self.get_current_target().arch)


def ty_to_cpp(ty):
    """The C type of a signature string, as a launcher in C would have it."""
    if ty.startswith("*"):
        return "hipDeviceptr_t"
    return HIPDriver.map_python_to_cpp_type(None, ty)
