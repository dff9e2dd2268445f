# test kernel=kernel signature="*fp32, *u8"
# fp8e4b15 is held in eight bits and converted by way of fp16.
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, byte_ptr):
    x = tl.load(x_ptr).to(tl.float8e4b15)
    tl.store(byte_ptr, x.to(tl.uint8, bitcast=True))
    tl.store(x_ptr, tl.load(byte_ptr).to(tl.float8e4b15, bitcast=True).to(tl.float32))
    tl.static_print(tl.full([4], 1.0, tl.float8e4b15).dtype)
