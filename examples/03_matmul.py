"""Matrix product in tiles: programs in groups that share operands, and an activation on the way out."""

import os

import common
import numpy as np
import triton
import triton.language as tl


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def matmul_kernel(
        # Pointers to matrices
        a_ptr, b_ptr, c_ptr,
        # Matrix dimensions
        M, N, K,
        # Elements from one row, and from one column, to the next
        stride_am, stride_ak,
        stride_bk, stride_bn,
        stride_cm, stride_cn,
        # Meta-parameters
        BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr,
        GROUP_SIZE_M: tl.constexpr, ACTIVATION: tl.constexpr,
):
    pid = tl.program_id(axis=0)
    # number of program ids along the M / N axis
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    # number of program in group
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    # id of the group which related to this program
    group_id = pid // num_pid_in_group
    # row-id of the first program in the group
    first_pid_m = group_id * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m

    # `a_ptrs` is a block of [BLOCK_SIZE_M, BLOCK_SIZE_K] pointers
    # `b_ptrs` is a block of [BLOCK_SIZE_K, BLOCK_SIZE_N] pointers
    offs_am = (pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)) % M
    offs_bn = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % N
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)

    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        # Load the next block of A and B, generate a mask by checking the K dimension.
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0)
        # We accumulate along the K dimension.
        accumulator += tl.dot(a, b)
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk
    if ACTIVATION == "leaky_relu":
        accumulator = leaky_relu(accumulator)

    offs_cm = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    c_mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
    tl.store(c_ptrs, accumulator.to(c_ptr.dtype.element_ty), mask=c_mask)


def tiles(M, N, K):
    """Rows, columns and depth of a tile, and how many tiles below each other make a group. On a GPU a tile lives in
    registers; on a CPU in the caches, and what a program has packed of ``b`` serves the one below it: tiles are wide, and
    whole columns of them are groups, as long as there are some for every processor."""
    if not common.on_cpu():
        return 128, 64, 32, 8
    rows, columns = 64, min(512, max(64, triton.next_power_of_2(N)))
    while columns > 64 and triton.cdiv(M, rows) * triton.cdiv(N, columns) < 4 * os.cpu_count():
        columns //= 2
    return rows, columns, min(128, max(32, triton.next_power_of_2(K))), 1024


def matmul(a, b, c, activation=""):
    """``c = activation(a @ b)``."""
    (M, K), N = a.shape, b.shape[1]
    rows, columns, depth, group = tiles(M, N, K)

    def grid(META):
        return (triton.cdiv(M, META["BLOCK_SIZE_M"]) * triton.cdiv(N, META["BLOCK_SIZE_N"]), )

    matmul_kernel[grid](
        a, b, c, M, N, K,
        common.stride(a, 0), common.stride(a, 1),
        common.stride(b, 0), common.stride(b, 1),
        common.stride(c, 0), common.stride(c, 1),
        BLOCK_SIZE_M=rows, BLOCK_SIZE_N=columns, BLOCK_SIZE_K=depth, GROUP_SIZE_M=group, ACTIVATION=activation)
    return c


SIZES = ((512, 512, 512), (127, 61, 33), (200, 131, 77))


def checks():
    """fp16 and fp32, with and without activation, on whole tiles and on odd sizes."""
    for dtype in ("float32", "float16"):
        for M, N, K in SIZES:
            a, b = common.randn(M, K, dtype=dtype, seed=5), common.randn(K, N, dtype=dtype, seed=6)
            product = common.to_numpy(a) @ common.to_numpy(b)
            # Rounding adds up along K in fp32; an fp16 result is rounded once, by half a step.
            allowed = common.steps(K**0.5 if dtype == "float32" else 0.6, product, dtype)
            for activation in ("", "leaky_relu"):
                expected = np.where(product >= 0, product, 0.01 * product) if activation else product
                c = matmul(a, b, common.poisoned(M, N, dtype=dtype), activation)
                label = f"matmul {dtype} {activation or 'plain'}, {M}x{N}x{K}"
                yield common.Check(label, common.max_difference(c, expected), allowed)


def measurements():
    """Arithmetic rate; NumPy has no fp16 product of its own and is left out there."""
    size = 1024
    for dtype in ("float32", "float16"):
        a, b = common.randn(size, size, dtype=dtype, seed=5), common.randn(size, size, dtype=dtype, seed=6)
        c, product = common.zeros(size, size, dtype=dtype), np.empty((size, size), np.float32)
        left, right = common.to_numpy(a, None), common.to_numpy(b, None)
        yield common.Measurement(
            f"matmul {dtype}, {size}x{size}x{size}", 2 * size**3, "GFLOP/s",
            deuteron=lambda: matmul(a, b, c),
            numpy=(lambda: np.matmul(left, right, out=product)) if dtype == "float32" else None,
            torch=common.torch and (lambda: common.torch.matmul(a, b, out=c)))


def main():
    """Checks and measures."""
    common.run(__name__)


if __name__ == "__main__":
    main()
