# test kernel=warnings signature="*fp32, i32"
# Deprecations do not stop a compile.
import triton
import triton.language as tl


@triton.jit
def warnings(ptr, n):
    i = tl.arange(0, 4)
    both = i > 1 and i < 3  # warning: Logical operators 'and' and 'or' are deprecated for non-scalar tensors
    x = tl.where(i, 1.0, 2.0)  # warning: tl.where with a non-boolean condition is deprecated
    y = n << 40  # warning: Value 40 exceeds the maximum bitwidth (32) for type 'int32'
    tl.store(ptr + i, x + y, mask=both)
