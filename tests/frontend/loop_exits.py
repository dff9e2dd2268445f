# test kernel=scan signature="*i32, i32"
# What follows a `break` or `continue` goes under the `else` of its condition, and flags end the loop.
import triton
import triton.language as tl


@triton.jit(extensions=["loop_exits"])
def scan(ptr, n):
    total = 0
    for i in range(n):
        x = tl.load(ptr + i)
        if x == 0:
            continue
        if x < 0:
            break
        total += x
    tl.store(ptr, total)
