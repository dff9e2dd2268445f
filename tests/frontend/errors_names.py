# test kernel=names signature="*fp32, i32, 16"
# Several faults are found at once; what follows from one is not reported again.
import triton
import triton.language as tl

plain = 3


@triton.jit
def names(ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(ptr + offset)  # error: offset is not defined
    y = x + 1
    z = tl.laod(ptr + y)  # error: module 'tl' has no attribute 'laod'
    w = n + plain  # error: Cannot access global variable plain
    if n > 3:
        inside = n
    tl.store(ptr, inside)  # error: inside is not defined: only one arm of the `if`
    for i in range(n):
        last = i
    tl.store(ptr, last)  # error: last is not defined: only the loop on line
    tl.store(ptr + z, w)
