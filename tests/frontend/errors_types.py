# test kernel=types signature="*fp32, *fp16, i32, u32, *i64"
# Type rules.
import triton
import triton.language as tl


@triton.jit
def types(ptr, half_ptr, n, u, wide_ptr):
    x = tl.load(ptr + tl.arange(0, 8))
    h = tl.load(half_ptr)
    tl.store(ptr, x)  # error: Value argument cannot be block type if pointer argument is not a block
    tl.store(ptr + tl.arange(0, 4), x)  # error: Cannot make_shape_compatible: incompatible dimensions at index 0: 4 and 8
    tl.store(ptr, tl.exp(h))  # error: Expected dtype ['fp32', 'fp64'] but got fp16
    tl.store(ptr, n // u)  # error: Cannot use /, //, or % with int32 and uint32
    tl.store(ptr, u + -1)  # error: negative scalar
    tl.store(ptr, n.to(tl.int8) + 300)  # error: Scalar 300 is out of range for type int8
    tl.store(ptr, ptr + half_ptr)  # error: invalid operands of type pointer<fp32> and pointer<fp16>
    tl.store(ptr, ptr + ptr)  # error: cannot add pointers together
    tl.store(ptr, ptr + 1.5)  # error: invalid operands of type pointer<fp32> and fp32
    tl.store(ptr, x & 1.0)  # error: invalid operands of type fp32 and fp32 for the operator `&`
    tl.store(ptr, ~x)  # error: wrong type argument to unary invert (fp32)
    tl.store(ptr, x**2)  # error: the operator `**` is not supported on tensors
    tl.store(n, 1)  # error: Unsupported ptr type int32 in `tl.store`
    tl.store(ptr, tl.load(ptr, other=0.0))  # error: `other` cannot be provided without `mask`
    tl.store(ptr, tl.load(ptr, mask=n))  # error: Mask must have boolean scalar type, not int32
    tl.store(ptr, h.to(tl.float8e5b16))  # error: type fp8e5b16 not supported in this architecture
    tl.store(ptr, x.to(tl.int16, bitcast=True))  # error: Cannot bitcast data-type of size 32 to data-type of size 16
    tl.store(ptr, tl.dot(x[:, None], x[:, None]))  # error: not compatible for matmul
    tl.atomic_add(wide_ptr.to(tl.pointer_type(tl.int16)), 1)  # error: atomic_add does not support int16
    tl.load(ptr, cache_modifier=".xx")  # error: Cache modifier .xx not supported
