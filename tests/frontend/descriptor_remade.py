# test kernel=branches signature="*fp32, *fp32, i32, i32"
# test kernel=loops signature="*fp32, *fp32, i32, i32"
# A descriptor that a branch or a loop makes anew.
import triton
import triton.language as tl


@triton.jit
def branches(a, b, n, which):
    d = tl.make_tensor_descriptor(a, [n], [1], [16])
    if which > 0:
        d = tl.make_tensor_descriptor(b, [n], [1], [16])
    d.store([0], d.load([16]))


@triton.jit
def loops(a, b, n, k):
    d = tl._experimental_make_tensor_descriptor(a, [n], [1], [16])
    for i in range(k):
        x = d.load([0])
        d = tl.make_tensor_descriptor(b + i * 16, [n], [1], [16])
        d.store([0], x)
    tl.store_tensor_descriptor(d, [0], d.load([0]))
