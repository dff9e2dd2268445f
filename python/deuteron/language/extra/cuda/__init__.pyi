# Made from the signatures of the package by tests/python/stubs.py; do not edit.
from typing import Any

from ... import constexpr, tensor
from . import libdevice as libdevice

__all__ = [
    "libdevice",
    "globaltimer",
    "num_threads",
    "num_warps",
    "smid",
    "convert_custom_float8_sm70",
    "convert_custom_float8_sm80",
    "experimental_device_tensormap_create1d",
    "experimental_device_tensormap_create2d",
    "experimental_tensormap_fenceproxy_acquire",
    "gdc_launch_dependents",
    "gdc_wait",
]

def globaltimer() -> tensor:
    """A clock of the device in nanoseconds, int64."""

def num_threads() -> constexpr:
    """Threads of a program, a constexpr."""

def num_warps() -> constexpr:
    """Warps of a program, a constexpr."""

def smid() -> tensor:
    """The number of the multiprocessor that runs the program, int32."""

def convert_custom_float8_sm70(arg: Any, dst_ty: Any, fp_downcast_rounding: Any = None) -> tensor:
    """Converts between fp8e4b15 and fp16 or fp32 on old devices."""

def convert_custom_float8_sm80(arg: Any, dst_ty: Any, fp_downcast_rounding: Any = None) -> tensor:
    """Converts between fp8e4b15 and fp16 or fp32."""

def experimental_device_tensormap_create1d(desc_ptr: Any, global_address: Any, load_size: Any, global_size: Any, element_ty: Any) -> None:
    """Writes the descriptor of a row of `global_size` elements to 128 bytes at `desc_ptr`; see
    `tl._experimental_descriptor_load`.
    """

def experimental_device_tensormap_create2d(desc_ptr: Any, global_address: Any, load_size: Any, global_size: Any, element_ty: Any) -> None:
    """Writes the descriptor of a matrix to 128 bytes at `desc_ptr`; see `tl._experimental_descriptor_load`. Its rows lie
    side by side: `global_size` is their number and their length, the block shape `load_size` is not looked at.
    """

def experimental_tensormap_fenceproxy_acquire(desc_ptr: Any) -> None:
    """From here on the descriptor at `desc_ptr` is what was written there, by this program or another one."""

def gdc_launch_dependents() -> None:
    """Lets the kernel after this one begin, under a programmatic dependent launch."""

def gdc_wait() -> None:
    """Waits for the kernel before this one, under a programmatic dependent launch."""
