"""Kernels that do next to nothing, to measure what a launch costs."""

import triton
import triton.language as tl


@triton.jit
def five(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


@triton.jit
def sixteen(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(p15 + offsets, tl.load(p0 + offsets) + tl.load(p7 + offsets))
