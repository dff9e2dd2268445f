"""Vector addition: the first kernel of every tutorial.

Shows programs, blocks, masks and a grid that depends on a meta-parameter.
"""

import common
import numpy as np
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr,  # *Pointer* to first input vector.
               y_ptr,  # *Pointer* to second input vector.
               output_ptr,  # *Pointer* to output vector.
               n_elements,  # Size of the vector.
               BLOCK_SIZE: tl.constexpr,  # Number of elements each program should process.
               # NOTE: `constexpr` so it can be used as a shape value.
               ):
    # There are multiple 'programs' processing different data. We identify which program
    # we are here:
    pid = tl.program_id(axis=0)  # We use a 1D launch grid so axis is 0.
    # This program will process inputs that are offset from the initial data.
    # For instance, if you had a vector of length 256 and block_size of 64, the programs
    # would each access the elements [0:64, 64:128, 128:192, 192:256].
    # Note that offsets is a list of pointers:
    block_start = pid * BLOCK_SIZE
    offsets = block_start + tl.arange(0, BLOCK_SIZE)
    # Create a mask to guard memory operations against out-of-bounds accesses.
    mask = offsets < n_elements
    # Load x and y from DRAM, masking out any extra elements in case the input is not a
    # multiple of the block size.
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    output = x + y
    # Write x + y back to DRAM.
    tl.store(output_ptr + offsets, output, mask=mask)


def add(x, y):
    """``x + y`` of two vectors."""
    output = common.poisoned(len(x))
    n_elements = len(x)

    def grid(meta):
        return (triton.cdiv(n_elements, meta["BLOCK_SIZE"]), )

    add_kernel[grid](x, y, output, n_elements, BLOCK_SIZE=1024)
    return output


SIZES = (98432, 98432 + 1, 1, 1023)


def checks():
    """Sizes that fill the last block and sizes that do not."""
    for size in SIZES:
        x, y = common.randn(size, seed=1), common.randn(size, seed=2)
        reference = common.to_numpy(x, np.float32) + common.to_numpy(y, np.float32)
        yield common.Check(f"vector add, {size} elements", common.max_difference(add(x, y), reference), 0.0)


def measurements():
    """Bandwidth: two arrays read, one written."""
    for size in (98432, 1 << 24):
        x, y, output = common.randn(size, seed=1), common.randn(size, seed=2), common.zeros(size)
        left, right = common.to_numpy(x, None), common.to_numpy(y, None)
        # Each provider writes an array of its own: one that other threads have written is not in this core's cache.
        result, torch_output = np.zeros(size, np.float32), common.zeros(size)
        grid = (triton.cdiv(size, 1024), )
        yield common.Measurement(
            f"vector add, {size} elements", 3 * 4 * size, "GB/s",
            deuteron=lambda: add_kernel[grid](x, y, output, size, BLOCK_SIZE=1024),
            numpy=lambda: np.add(left, right, out=result),
            torch=common.torch and (lambda: common.torch.add(x, y, out=torch_output)))


def main():
    """Checks and measures."""
    common.run(__name__)


if __name__ == "__main__":
    main()
