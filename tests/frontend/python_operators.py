# test kernel=divide signature="*i32, i32, i32"
# Run-time values are divided as Python does it, and pointers have a difference.
import triton
import triton.language as tl


@triton.jit(extensions=["floor_division", "pointer_difference"])
def divide(ptr, a, b):
    tl.store(ptr + a // b, a % b)
    tl.store(ptr, ((ptr + a) - ptr).to(tl.int32))
