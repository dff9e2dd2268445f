"""The workshop's benchmark of the online softmax, as it stands there. Its text is not to be touched."""

# ruff: noqa
import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()

# === Teaching mode flag ===
BEGINNER_MODE = False # True

# === Triton kernel ===
@triton.jit
def online_softmax_kernel(in_ptr, output_ptr, row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    placeholder = tl.zeros([1], dtype=tl.float32) #for quiz only
    
    # === YOUR CODE HERE 1️⃣ ===: set up the program ID
    # [TODO] Replace placeholder[0] with your expression for 'pid'.
    pid = tl.program_id(0)
    
    in_max = -float('inf')
    in_exp_sum = 0.0

    # --- Step 1: Compute global max (Algorithm 3, Line 4) ---
    for col_idx in range(0, n_cols, BLOCK_SIZE):
        offsets = col_idx + tl.arange(0, BLOCK_SIZE)
        
        # === YOUR CODE HERE 2️⃣ ===: set up the mask to make program only access elements with offsets less than n_cols 
        # [TODO] Replace placeholder[0] with your expression for 'mask'.
        mask = offsets < n_cols

        # === YOUR CODE HERE 3️⃣ ===: use tl.load() to load input data from global memory
        # [TODO] Replace placeholder[0] with your expression for 'in_data'. It's combination 
        # of rows offset (pid*row_stride) and cols offset (offsets).
        in_data = tl.load(in_ptr + pid * row_stride + offsets, mask=mask, other=-float('inf'))
        
        # === YOUR CODE HERE 4️⃣ ===:  Calculate the max value (use tl.max() api) of current block data
        # according to Line 4 in Algorithm 3, get the new global max value by comparing with the
        # previous global max value in_max (use tl.maximum() api).
        # [TODO] Replace placeholder[0] with your expression for 'in_max_new'.
        in_max_new = tl.maximum(in_max, tl.max(in_data, axis=0))
        
        # === YOUR CODE HERE 5️⃣️ ===: # Calculate the sum of exponentials (use tl.exp() and tl.sum() apis)
        # of current block data according to Line 5 in Algorithm 3, and update the global sum of
        # exponentials in_exp_sum according to Line 5 in Algorithm 3
        # [TODO] Replace placeholder[0] with your expression for 'in_exp_sum'.
        in_exp_sum = in_exp_sum * tl.exp(in_max - in_max_new) + tl.sum(tl.exp(in_data - in_max_new), axis=0)

        in_max = in_max_new

    # --- Step 2: Normalize and write output ---
    for col_idx in range(0, n_cols, BLOCK_SIZE):
        offsets = col_idx + tl.arange(0, BLOCK_SIZE)
        mask = offsets < n_cols
        in_data = tl.load(in_ptr + pid * row_stride + offsets, mask=mask)
        in_exp = tl.exp(in_data - in_max)
        tl.store(output_ptr + pid * row_stride + offsets, in_exp / in_exp_sum, mask=mask)

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
import matplotlib.pyplot as plt

DEVICE = triton.runtime.driver.active.get_active_torch_device()


# --- PyTorch Online Softmax ---
def softmax_torch(x: torch.Tensor, dim=-1):
    """
    Compute softmax using PyTorch built-in function.
    Output is the same shape as input.
    """
    output = F.softmax(x, dim=dim)
    return output
    

# --- Helper to run Triton Autotune ---
def softmax_triton(x: torch.Tensor):
    n_rows, n_cols = x.shape
    output = torch.empty_like(x)
    online_softmax_kernel[(n_rows,)](
        x,
        output,
        x.stride(0),
        n_cols,
        BLOCK_SIZE=256
    )
    # print("triton output:", output)
    return output

# --- Triton Benchmark ---
@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=['N'],  # argument names to use as an x-axis for the plot
        x_vals=[128 * i for i in range(60, 100)],  # different possible values for `x_name`
        line_arg='provider',  # argument name whose value corresponds to a different line in the plot
        line_vals=['triton', 'torch'],  # possible values for `line_arg`
        line_names=["Triton Online-Softmax", "Torch"],  # label name for the lines
        styles=[('blue', 'solid'), ('orange', 'dashdot')],  # line styles
        ylabel="GB/s",  # label name for the y-axis
        plot_name="Online-Softmax Performance Benchamrk",  # name for the plot. Used also as a file name for saving the plot.
        args={'M': 4096},  # values for function arguments not in `x_names` and `y_name`
    ))
def benchmark(M, N, provider):
    x = torch.randn(M, N, device=DEVICE, dtype=torch.float32)
    
    quantiles = [0.5, 0.2, 0.8]
    
    if provider == 'torch':
        ms, min_ms, max_ms = triton.testing.do_bench(
            lambda: torch.softmax(x, dim=-1), rep=10, quantiles=quantiles
        )
    elif provider == 'triton':
        ms, min_ms, max_ms = triton.testing.do_bench(
            lambda: softmax_triton(x), rep=10, quantiles=quantiles
        )
    
    # Calculate bandwidth: 2 * (read + write) * size / time
    gbps = lambda ms: 2 * x.numel() * x.element_size() * 1e-9 / (ms * 1e-3)
    return gbps(ms)

# --- Run benchmark ---
benchmark.run(show_plots=True, print_data=True)
