"""`tl.extra.cuda`: what only that kind of target has. On any other, using a name is a compile error."""

from ..._builtin import builtin
from . import libdevice

__all__ = ["libdevice", "globaltimer", "num_threads", "num_warps", "smid", "convert_custom_float8_sm70",
           "convert_custom_float8_sm80", "experimental_device_tensormap_create1d",
           "experimental_device_tensormap_create2d", "experimental_tensormap_fenceproxy_acquire",
           "gdc_launch_dependents", "gdc_wait"]


@builtin
def globaltimer():
    """A clock of the device in nanoseconds, int64."""


@builtin
def smid():
    """The number of the multiprocessor that runs the program, int32."""


@builtin
def num_threads() -> "constexpr":
    """Threads of a program, a constexpr."""


@builtin
def num_warps() -> "constexpr":
    """Warps of a program, a constexpr."""


@builtin
def convert_custom_float8_sm70(arg, dst_ty, fp_downcast_rounding=None):
    """Converts between fp8e4b15 and fp16 or fp32 on old devices."""


@builtin
def convert_custom_float8_sm80(arg, dst_ty, fp_downcast_rounding=None):
    """Converts between fp8e4b15 and fp16 or fp32."""


@builtin
def gdc_wait() -> None:
    """Waits for the kernel before this one, under a programmatic dependent launch."""


@builtin
def experimental_device_tensormap_create1d(desc_ptr, global_address, load_size, global_size, element_ty) -> None:
    """Writes the descriptor of a row of `global_size` elements to 128 bytes at `desc_ptr`; see
    `tl._experimental_descriptor_load`."""


@builtin
def experimental_device_tensormap_create2d(desc_ptr, global_address, load_size, global_size, element_ty) -> None:
    """Writes the descriptor of a matrix to 128 bytes at `desc_ptr`; see `tl._experimental_descriptor_load`. Its rows lie
    side by side: `global_size` is their number and their length, the block shape `load_size` is not looked at."""


@builtin
def experimental_tensormap_fenceproxy_acquire(desc_ptr) -> None:
    """From here on the descriptor at `desc_ptr` is what was written there, by this program or another one."""


@builtin
def gdc_launch_dependents() -> None:
    """Lets the kernel after this one begin, under a programmatic dependent launch."""


from . import gdc, utils  # noqa: E402,F401 (they take the names from here)
