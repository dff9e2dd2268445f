"""The driver of NVIDIA GPUs under the names of the reference."""

import functools
import glob
import importlib.util
import os
import subprocess

from ... import _core, knobs
from ...runtime.driver import DeviceDriver, Utils
from ..compiler import GPUTarget

__all__ = ["CudaDriver", "CudaUtils", "TMA_DTYPE_DEVICE_TO_HOST", "TMA_TF32", "include_dirs", "library_dirs", "libcuda_dirs", "make_tensordesc_arg", "ty_to_cpp"]

CudaUtils = Utils

# Element types of tensor maps: the numbers that PTX has for them (`tensormap.replace`), and those of the driver (`CUtensorMapDataType`).
TMA_DTYPE_DEVICE_TO_HOST = {number: number for number in range(16)} | {8: 10, 9: 8, 10: 9}
TMA_TF32 = 11


def _header_dirs():
    """Folders that hold the driver's header: of a toolkit, or of a wheel. Nothing here needs them; programs in C do."""
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    found = importlib.util.find_spec("nvidia")
    for place in found.submodule_search_locations if found else ():
        roots += sorted(glob.glob(os.path.join(place, "*")))
    folders = [os.path.join(root, "include") for root in roots if root]
    return [folder for folder in folders if os.path.exists(os.path.join(folder, "cuda.h"))]


include_dirs = _header_dirs()


@functools.lru_cache
def libcuda_dirs():
    """Folders that hold the driver's library."""
    if knobs.nvidia.libcuda_path:
        return [knobs.nvidia.libcuda_path]
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    paths = [line.split()[-1] for line in listed.splitlines() if "libcuda.so" in line]
    return list(dict.fromkeys(map(os.path.dirname, paths)))


def library_dirs():
    """Folders that programs in C which launch kernels are linked with."""
    return libcuda_dirs()


class CudaDriver(DeviceDriver):
    """The driver of NVIDIA GPUs; ``triton.runtime.driver.active`` is one where there is such a GPU."""

    backend_name = "cuda"

    def __init__(self):
        super().__init__("cuda")

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
