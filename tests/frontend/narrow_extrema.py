# test kernel=kernel signature="*bf16, *bf16, *fp32"
# Minimum and maximum of bf16 are fp32, and bf16 again where only that fits.
import triton
import triton.language as tl


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr):
    at = tl.arange(0, 16)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    tl.static_print(tl.maximum(x, y).dtype, tl.minimum(x, 1.0).dtype, tl.clamp(x, 0.0, y).dtype, tl.cumsum(x).dtype,
                    tl.cumprod(x).dtype, tl.cumsum(x, dtype=tl.bfloat16).dtype, tl.sum(x).dtype)
    tl.static_print(tl.reduce(x, 0, larger).dtype)
    best = x
    for i in range(4):
        best = tl.maximum(best, tl.load(y_ptr + i * 16 + at))
    tl.store(x_ptr + at, best)
