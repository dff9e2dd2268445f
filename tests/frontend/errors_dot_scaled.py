# test kernel=wrong signature="*u8, *i8"
# What cannot be a scaled operand, and what cannot scale it.
import triton
import triton.language as tl


@triton.jit
def wrong(byte_ptr, signed_ptr):
    at = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    b = tl.load(byte_ptr + at)
    s = tl.load(signed_ptr + at)
    tl.dot_scaled(b, None, "e9m9", b, None, "e4m3")  # error: Invalid float format: lhs_format is 'e9m9'
    tl.dot_scaled(b, None, "e4m3", s, None, "e4m3")  # error: Unexpected dtype for e4m3: rhs must hold fp8e4nv or uint8. Got int8
    tl.dot_scaled(b, None, "e2m1", b, None, "e4m3")  # error: Reduction dimension should pack the same number of elements
    tl.dot_scaled(b, b, "e4m3", b, None, "e4m3")  # error: lhs_scale must be a tensor of shape
    tl.dot_scaled(b, s.to(tl.int16), "e4m3", b, None, "e4m3")  # error: lhs_scale must hold 8 bits (e8m0), or floats of 8 or 16 bits. Got int16
    tl.dot_scaled(b, s.to(tl.float32), "e4m3", b, None, "e4m3")  # error: lhs_scale must hold 8 bits (e8m0), or floats of 8 or 16 bits. Got fp32
    tl.dot_scaled(b, None, "e4m3", b, None, "e4m3", lhs_k_pack=False)  # error: only mxfp4 inputs can be packed along a dimension different than K
    tl.dot_scaled(b, None, "e4m3", b, None, "e4m3", out_dtype=tl.int32)  # error: out_dtype must be float32, float16 or bfloat16. Got int32
