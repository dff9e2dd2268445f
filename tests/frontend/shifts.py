# test kernel=kernel signature="*i32, *u32, *i8, *u64"
# A signed value is shifted arithmetically, whatever the type of the amount.
import triton
import triton.language as tl


@triton.jit
def kernel(i_ptr, u_ptr, b_ptr, w_ptr):
    i, u, b, w = tl.load(i_ptr), tl.load(u_ptr), tl.load(b_ptr), tl.load(w_ptr)
    tl.store(i_ptr, i >> u)
    tl.store(i_ptr + 1, u >> i)
    tl.store(i_ptr + 2, b >> u)
    tl.store(i_ptr + 3, i >> w)
    tl.store(i_ptr + 4, i >> 3)
    tl.store(i_ptr + 5, u >> 3)
    tl.store(i_ptr + 6, 8 >> i)
    for j in range(0, 8, step=4):
        tl.store(i_ptr + j, j)
