"""The workshop's vector add, plain and autotuned. Its text is not to be touched."""

# ruff: noqa
import torch
import triton
import triton.language as tl

# ============================================================
# Version 1: Basic Vector-Add kernel (no autotune, fixed BLOCK_SIZE)
# ============================================================

@triton.jit
def add_kernel_basic(x_ptr,  # *Pointer* to first input vector.
                     y_ptr,  # *Pointer* to second input vector.
                     output_ptr,  # *Pointer* to output vector.
                     n_elements,  # Size of the vector.
                     BLOCK_SIZE: tl.constexpr,  # Number of elements each program should process.
                     ):
    # There are multiple 'programs' processing different data. We identify which program we are here:
    pid = tl.program_id(axis=0)  # We use a 1D launch grid so axis is 0.
    # This program will process inputs that are offset from the initial data.
    # For instance, if you had a vector of length 256 and block_size of 64, the programs
    # would each access the elements [0:64, 64:128, 128:192, 192:256].
    # Note that offsets is a list of pointers:
    
    # Each program handles a contiguous range of elements.
    block_start = pid * BLOCK_SIZE
    offsets = block_start + tl.arange(0, BLOCK_SIZE)


    # Create a mask to guard memory operations against out-of-bounds accesses.
    mask = offsets < n_elements

    # Load x and y from DRAM, masking out any extra elements in case the input is not a multiple of BLOCK_SIZE.
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)

    # Compute output = x + y
    output = x + y

    # Write the results back to DRAM.
    tl.store(output_ptr + offsets, output, mask=mask)

# ============================================================
# Version 2: Autotuned Vector-Add kernel
# ============================================================

@triton.autotune(
    configs=[
        triton.Config({"BLOCK_SIZE": 4}, num_stages=3, num_warps=8),
        triton.Config({"BLOCK_SIZE": 4}, num_stages=4, num_warps=4),
        triton.Config({"BLOCK_SIZE": 2}, num_stages=3, num_warps=8),
        triton.Config({"BLOCK_SIZE": 2}, num_stages=4, num_warps=4),
    ],
    key=['SIZE_CATEGORY'],
)
@triton.jit
def add_kernel_autotune(x_ptr,  # *Pointer* to first input vector.
                        y_ptr,  # *Pointer* to second input vector.
                        output_ptr,  # *Pointer* to output vector.
                        n_elements,  # Size of the vector.
                        SIZE_CATEGORY: tl.constexpr, # Category of the problem. 
                        BLOCK_SIZE: tl.constexpr,  # Number of elements each program should process.
                        ):
    # Identify the program ID along the 1D grid.
    pid = tl.program_id(axis=0)

    # Compute start offset for this program.
    block_start = pid * BLOCK_SIZE
    offsets = block_start + tl.arange(0, BLOCK_SIZE)

    # Create a mask for safe memory operations.
    mask = offsets < n_elements

    # Load inputs from memory.
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)

    # Perform vector addition.
    output = x + y

    # Store the results.
    tl.store(output_ptr + offsets, output, mask=mask)

# ============================================================
# Wrapper function to launch either basic or autotuned kernel
# ============================================================
# We can now use the below function to compute the element-wise sum of two `torch.tensor` objects and test its correctness:

USE_AUTOTUNE = False #  User control switch: False and True to enable or disable autotuning

def add(x: torch.Tensor, y: torch.Tensor):
    # Allocate output tensor
    output = torch.empty_like(x)
    assert x.device == DEVICE and y.device == DEVICE and output.device == DEVICE
    n_elements = output.numel()
    # The SPMD launch grid denotes the number of kernel instances that run in parallel.
    # It can be either Tuple[int], or Callable(metaparameters) -> Tuple[int].
    # In this case, we use a 1D grid where the size is the number of blocks:
    grid = lambda meta: (triton.cdiv(n_elements, meta['BLOCK_SIZE']), )
    # NOTE:
    #  - Each torch.tensor object is implicitly converted into a pointer to its first element.
    #  - `triton.jit`'ed functions can be indexed with a launch grid to obtain a callable GPU kernel.
    #  - Don't forget to pass meta-parameters as keywords arguments.
    # add_kernel[grid](x, y, output, n_elements, BLOCK_SIZE=1024)
    if USE_AUTOTUNE:
        print("[INFO] Using autotuned kernel...")
        size_category = triton.next_power_of_2(n_elements)
        add_kernel_autotune[grid](x, y, output, n_elements,size_category)
    else:
        print("[INFO] Using basic kernel (no autotune)...")
        add_kernel_basic[grid](x, y, output, n_elements, BLOCK_SIZE=1024)

    # Return the output tensor.
    return output

# ============================================================
# Test section
# ============================================================
if __name__ == "__main__":
    torch.manual_seed(0)
    DEVICE = triton.runtime.driver.active.get_active_torch_device()
    size = 98432
    x = torch.rand(size, device=DEVICE)
    y = torch.rand(size, device=DEVICE)

    # Compute with PyTorch for reference
    output_torch = x + y

    # Compute with Triton
    output_triton = add(x, y)

    print(output_torch)
    print(output_triton)

    # Compare results
    diff = torch.max(torch.abs(output_torch - output_triton))
    print(f"The maximum difference between torch and triton is {diff}")

    assert torch.allclose(output_torch, output_triton, atol=1e-3, rtol=1e-3), \
        f"Accuracy mismatch! Max diff = {diff}"

    print("✅ Triton kernel vector-add verification success!")

## 3. Kernel Development Hands-on (Online-Softmax)
