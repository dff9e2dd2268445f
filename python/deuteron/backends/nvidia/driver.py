"""The driver of NVIDIA GPUs under the names of the reference."""

import sys

from ... import _core
from ...runtime.driver import DeviceDriver, Utils
from ..compiler import GPUTarget

__all__ = ["CudaDriver", "CudaUtils", "make_tensordesc_arg", "ty_to_cpp"]

CudaUtils = Utils


class CudaDriver(DeviceDriver):
    """The driver of NVIDIA GPUs; ``triton.runtime.driver.active`` is one where there is such a GPU."""

    backend_name = "cuda"

    def __init__(self):
        super().__init__("cuda")

    @classmethod
    def is_active(cls):
        """Whether there is such a GPU. torch knows of it even where CUDA does not work: in a process that was forked after its
        parent had used it, as torch's compile workers are."""
        if _core.arrays() == "cuda":
            return _core.device_count() > 0
        torch = sys.modules.get("torch")
        return torch is not None and torch.version.hip is None and torch.cuda.is_available()

    def get_current_target(self):
        if _core.current_target()[0] == self.backend_name:
            return super().get_current_target()
        import torch

        major, minor = torch.cuda.get_device_capability()
        return GPUTarget(self.backend_name, major * 10 + minor, 32)


def make_tensordesc_arg(arg, metadata=None, descriptor_type=None):
    """The values that a kernel of this compiler takes in place of a tensor descriptor: its address, sizes and strides."""
    return [arg.base.data_ptr(), *arg.shape, *arg.strides]


def ty_to_cpp(ty):
    """The C type of a signature string, as a launcher in C would have it."""
    if ty.startswith("*"):
        return "CUdeviceptr"
    return CudaDriver.map_python_to_cpp_type(None, ty)
