# test kernel=shapes signature="*fp32, i32"
# Shapes and constants.
import triton
import triton.language as tl


@triton.jit
def same(a):
    return a


@triton.jit
def shapes(placeholder_ptr, n):
    placeholder = tl.zeros([1], dtype=tl.float32)
    first = placeholder[0]  # error: unsupported tensor index: constexpr[0]
    grid = tl.arange(0, 10)  # error: arange's range must be a power of 2
    grid = tl.arange(0, n)  # error: arange's arguments must be of type tl.constexpr
    grid = tl.arange(4, 4)  # error: arange's end argument must be greater than the start argument
    zero = tl.zeros((3, 4), tl.float32)  # error: Shape element 0 must be a power of 2
    big = tl.zeros((1024, 2048), tl.float32)  # error: more elements than a block may have
    a = tl.arange(0, 8)
    b = a.reshape(4, 4)  # error: reshape() cannot change total number of elements in tensor
    c = tl.broadcast_to(a[:, None], (8, 4, 2))  # error: Cannot broadcast, rank mismatch: [8, 1], [8, 4, 2]
    d = tl.trans(a)  # error: tl.trans invoked with a 0- or 1-dimensional tensor
    e = tl.reduce(a, 1, None)  # error: invalid axis 1. Expected -1 <= axis < 1
    f = tl.program_id(3)  # error: program_id axis must be 0, 1, or 2 but got 3
    g = tl.full([4], 1.5, tl.int32)  # error: cannot convert 1.5 to int32
    h, i, j = tl.split(a.reshape(4, 2))  # error: not enough values to unpack (expected 3, got 2)
    k = (1, 2)[2]  # error: tuple index 2 out of range for 2 elements
    o = tl.map_elementwise(same, n)  # error: map_elementwise needs a block, found scalars
    tl.store(placeholder_ptr, first)
