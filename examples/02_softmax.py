"""Softmax of rows in four ways: three passes, online, fused, and fused in persistent programs."""

import common
import numpy as np
import triton
import triton.language as tl
from triton.runtime import driver


@triton.jit
def softmax_kernel_naive(in_ptr, output_ptr, row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)

    in_max = -float('inf')
    for offset in range(0, n_cols, BLOCK_SIZE):
        col_range = tl.arange(0, BLOCK_SIZE)
        col_mask = col_range + offset < n_cols
        in_data = tl.load(in_ptr + pid * row_stride + col_range + offset, mask=col_mask, other=-float('inf'))
        in_max = tl.maximum(in_max, tl.max(in_data, axis=-1))
    
    in_exp_sum = 0.0
    for offset in range(0, n_cols, BLOCK_SIZE):
        col_range = tl.arange(0, BLOCK_SIZE)
        col_mask = col_range + offset < n_cols
        in_data = tl.load(in_ptr + pid * row_stride + col_range + offset, mask=col_mask, other=-float('inf'))
        in_exp_sum = in_exp_sum + tl.sum(tl.exp(in_data - in_max), axis=-1)
    
    for offset in range(0, n_cols, BLOCK_SIZE):
        col_range = tl.arange(0, BLOCK_SIZE)
        col_mask = col_range + offset < n_cols
        in_data = tl.load(in_ptr + pid * row_stride + col_range + offset, mask=col_mask)
        in_exp = tl.exp(in_data - in_max)
        tl.store(output_ptr + pid * row_stride + col_range + offset, in_exp / in_exp_sum, mask=col_mask)


@triton.jit
def softmax_kernel_v1(in_ptr, output_ptr, row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)

    in_max = -float('inf')
    in_exp_sum = 0.0
    for offset in range(0, n_cols, BLOCK_SIZE):
        col_range = tl.arange(0, BLOCK_SIZE)
        col_mask = col_range + offset < n_cols
        in_data = tl.load(in_ptr + pid * row_stride + col_range + offset, mask=col_mask, other=-float('inf'))
        in_max_new = tl.maximum(in_max, tl.max(in_data, axis=-1))
        in_exp_sum = in_exp_sum * tl.exp(in_max - in_max_new) + tl.sum(tl.exp(in_data - in_max_new), axis=-1)
        in_max = in_max_new
    
    for offset in range(0, n_cols, BLOCK_SIZE):
        col_range = tl.arange(0, BLOCK_SIZE)
        col_mask = col_range + offset < n_cols
        in_data = tl.load(in_ptr + pid * row_stride + col_range + offset, mask=col_mask)
        in_exp = tl.exp(in_data - in_max)
        tl.store(output_ptr + pid * row_stride + col_range + offset, in_exp / in_exp_sum, mask=col_mask)


@triton.jit
def fused_softmax_kernel(input_ptr, output_ptr, input_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    # The rows of the softmax are independent, so we parallelize across those
    row_idx = tl.program_id(axis=0)

    # The stride represents how much we need to increase the pointer to next row
    row_start_ptr = input_ptr + row_idx * input_row_stride

    col_offsets = tl.arange(0, BLOCK_SIZE)
    row_input_ptr = row_start_ptr + col_offsets

    # Load the row into SRAM, using a mask to handle boundary conditions
    row_input = tl.load(row_input_ptr, mask=col_offsets < n_cols, other=-float("inf"))

    row_minus_max = row_input - tl.max(row_input, axis=0)
    numerator = tl.exp(row_minus_max)
    denominator = tl.sum(numerator, axis=0)
    softmax_output = numerator / denominator

    # Write back output to DRAM
    output_row_start_ptr = output_ptr + row_idx * input_row_stride
    output_ptrs = output_row_start_ptr + col_offsets
    tl.store(output_ptrs, softmax_output, mask=col_offsets < n_cols)


@triton.jit
def softmax_kernel(output_ptr, input_ptr, input_row_stride, output_row_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr,
                   num_stages: tl.constexpr):
    # starting row of the program
    row_start = tl.program_id(0)
    row_step = tl.num_programs(0)
    for row_idx in tl.range(row_start, n_rows, row_step, num_stages=num_stages):
        # The stride represents how much we need to increase the pointer to advance 1 row
        row_start_ptr = input_ptr + row_idx * input_row_stride
        # The block size is the next power of two greater than n_cols, so we can fit each
        # row in a single block
        col_offsets = tl.arange(0, BLOCK_SIZE)
        input_ptrs = row_start_ptr + col_offsets
        # Load the row into SRAM, using a mask since BLOCK_SIZE may be > than n_cols
        mask = col_offsets < n_cols
        row = tl.load(input_ptrs, mask=mask, other=-float('inf'))
        # Subtract maximum for numerical stability
        row_minus_max = row - tl.max(row, axis=0)
        # Note that exponentiation in Triton is fast but approximate (i.e., think __expf in CUDA)
        numerator = tl.exp(row_minus_max)
        denominator = tl.sum(numerator, axis=0)
        softmax_output = numerator / denominator
        # Write back output to DRAM
        output_row_start_ptr = output_ptr + row_idx * output_row_stride
        output_ptrs = output_row_start_ptr + col_offsets
        tl.store(output_ptrs, softmax_output, mask=mask)


def naive(x, output):
    """Three passes over each row: maximum, sum, quotient."""
    n_rows, n_cols = x.shape
    softmax_kernel_naive[(n_rows, )](x, output, common.stride(x, 0), n_cols, 256)


def online(x, output):
    """Two passes: maximum and sum in one."""
    n_rows, n_cols = x.shape
    softmax_kernel_v1[(n_rows, )](x, output, common.stride(x, 0), n_cols, 256)


def fused(x, output):
    """One program a row, which holds the whole row."""
    n_rows, n_cols = x.shape
    block_size = triton.next_power_of_2(n_cols)
    num_warps = 4 if block_size < 2048 else 8 if block_size < 4096 else 16
    fused_softmax_kernel[(n_rows, )](x, output, common.stride(x, 0), n_cols, BLOCK_SIZE=block_size,
                                     num_warps=num_warps)


def persistent(x, output):
    """As many programs as the device runs at once, each of which walks over rows."""
    n_rows, n_cols = x.shape
    properties = driver.active.utils.get_device_properties(driver.active.get_active_torch_device().index)
    block_size = triton.next_power_of_2(n_cols)
    num_warps = 8
    num_stages = 4 if properties["max_shared_mem"] > 200000 else 2
    strides = common.stride(x, 0), common.stride(output, 0)
    kernel = softmax_kernel.warmup(output, x, *strides, n_rows, n_cols, BLOCK_SIZE=block_size, num_stages=num_stages,
                                   num_warps=num_warps, grid=(1, ))
    kernel._init_handles()
    occupancy = properties["max_num_regs"] // (kernel.n_regs * properties["warpSize"] * num_warps)
    occupancy = min(occupancy, properties["max_shared_mem"] // kernel.metadata.shared)
    num_programs = min(properties["multiprocessor_count"] * occupancy, n_rows)
    kernel[(num_programs, 1, 1)](output, x, *strides, n_rows, n_cols, block_size, num_stages)


VARIANTS = {"naive": naive, "online": online, "fused": fused, "persistent": persistent}
SIZES = ((8192, 8192), (1823, 781), (127, 1000))


def reference(x):
    """In float64, row by row so that no second matrix of that size is needed."""
    with np.errstate(invalid="ignore", over="ignore"):
        shifted = x - x.max(axis=1, keepdims=True)
        np.exp(shifted, out=shifted)
        return shifted / shifted.sum(axis=1, keepdims=True)


def numpy_softmax(x, out):
    """What a NumPy user writes, with the temporaries reused."""
    np.subtract(x, x.max(axis=1, keepdims=True), out=out)
    np.exp(out, out=out)
    np.divide(out, out.sum(axis=1, keepdims=True), out=out)


def checks():
    """Every variant on whole blocks, on odd sizes, and with infinities and NaN in the data."""
    for n_rows, n_cols in SIZES:
        x = common.randn(n_rows, n_cols, seed=3)
        expected = reference(common.to_numpy(x))
        for name, variant in VARIANTS.items():
            output = common.poisoned(n_rows, n_cols)
            variant(x, output)
            label = f"softmax {name}, {n_rows}x{n_cols}"
            yield common.Check(label, common.max_difference(output, expected),
                               common.steps(6, expected))
    x = common.randn(64, 777, seed=4)
    x[3, 5], x[9, :], x[11, 700] = -np.inf, -np.inf, np.nan
    expected = reference(common.to_numpy(x))
    for name in ("fused", "persistent"):
        output = common.poisoned(64, 777)
        VARIANTS[name](x, output)
        regular = np.delete(common.to_numpy(output), (9, 11), axis=0)
        wanted = np.delete(expected, (9, 11), axis=0)
        yield common.Check(f"softmax {name} with infinities, 64x777", common.max_difference(regular, wanted),
                           common.steps(6, wanted))


def measurement(n_rows, n_cols, name):
    """Bandwidth of one variant: the matrix read once and written once, whatever a variant really moves."""
    x, output = common.randn(n_rows, n_cols, seed=3), common.zeros(n_rows, n_cols)
    values, result = common.to_numpy(x, None), np.empty((n_rows, n_cols), np.float32)
    return common.Measurement(
        f"softmax {name}, {n_rows}x{n_cols}", 2 * 4 * n_rows * n_cols, "GB/s",
        deuteron=lambda: VARIANTS[name](x, output), numpy=lambda: numpy_softmax(values, result),
        torch=common.torch and (lambda: common.torch.softmax(x, dim=-1, out=output)))


def measurements():
    """Every variant on the large size and on the odd one."""
    for n_rows, n_cols in SIZES[:2]:
        for name in VARIANTS:
            yield measurement(n_rows, n_cols, name)


def main():
    """Checks and measures."""
    common.run(__name__)


if __name__ == "__main__":
    main()
