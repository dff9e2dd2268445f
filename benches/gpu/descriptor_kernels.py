"""Products by tensor descriptors, for `descriptors.py`: the same text for either compiler."""

import triton
import triton.language as tl


@triton.jit
def matmul_tiles(a_desc, b_desc, c_desc, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                 GROUP: tl.constexpr):
    """``c = a @ b.T``, one tile a program."""
    tile = tl.program_id(0)
    num_pid_m, num_pid_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    in_group = GROUP * num_pid_n
    first = (tile // in_group) * GROUP
    size = min(num_pid_m - first, GROUP)
    row = (first + (tile % in_group) % size) * BLOCK_M
    column = ((tile % in_group) // size) * BLOCK_N
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(tl.cdiv(K, BLOCK_K)):
        a = a_desc.load([row, step * BLOCK_K])
        b = b_desc.load([column, step * BLOCK_K])
        accumulator = tl.dot(a, b.T, accumulator)
    c_desc.store([row, column], accumulator.to(tl.float16))


@triton.jit
def matmul_persistent(a_desc, b_desc, c_desc, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                      BLOCK_K: tl.constexpr, GROUP: tl.constexpr, PROGRAMS: tl.constexpr):
    """``c = a @ b.T``, tile after tile in each program."""
    num_pid_m, num_pid_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    in_group = GROUP * num_pid_n
    for tile in tl.range(tl.program_id(0), num_pid_m * num_pid_n, PROGRAMS, flatten=True):
        first = (tile // in_group) * GROUP
        size = min(num_pid_m - first, GROUP)
        row = (first + (tile % in_group) % size) * BLOCK_M
        column = ((tile % in_group) // size) * BLOCK_N
        accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(tl.cdiv(K, BLOCK_K)):
            a = a_desc.load([row, step * BLOCK_K])
            b = b_desc.load([column, step * BLOCK_K])
            accumulator = tl.dot(a, b.T, accumulator)
        c_desc.store([row, column], accumulator.to(tl.float16))
