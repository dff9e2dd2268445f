"""The driver of NVIDIA GPUs under the names of the reference."""

from ... import _core
from ...runtime.driver import DeviceDriver, Utils

__all__ = ["CudaDriver", "CudaUtils", "ty_to_cpp"]

CudaUtils = Utils


class CudaDriver(DeviceDriver):
    """The driver of NVIDIA GPUs; ``triton.runtime.driver.active`` is one where there is such a GPU."""

    def __init__(self):
        super().__init__("cuda")

    @classmethod
    def is_active(cls):
        """Whether kernels run on such a GPU here."""
        return _core.arrays() == "cuda" and _core.device_count() > 0


def ty_to_cpp(ty):
    """The C type of a signature string, as a launcher in C would have it."""
    if ty.startswith("*"):
        return "CUdeviceptr"
    return CudaDriver.map_python_to_cpp_type(None, ty)
