# test kernel=constants signature="*fp32, *i64"
# Constants that operations refuse.
import triton
import triton.language as tl


@triton.jit
def constants(ptr, wide_ptr):
    tl.atomic_poll(wide_ptr, 1, timeout_ns=-1)  # error: atomic_poll timeout_ns must be non-negative
    tl.store(ptr, min(1.0, -0.0))  # error: min of constants does not support -0.0
    tl.store(ptr, max(float("nan"), 1.0))  # error: max of constants does not support nan
