"""Kernels of users inside functions that ``torch.compile`` compiles."""

import torch
import triton
import triton.language as tl
from torch._inductor.runtime import triton_helpers
from triton.language.core import PropagateNan, get_int_dtype
from triton.language.extra.libdevice import fast_dividef
from triton.language.standard import _is_power_of_two, _log2
from triton.language.target_info import is_hip

QUARTER: tl.constexpr = 4


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask) + tl.load(y_ptr + at, mask), mask)


@triton.jit
def scale_in_place_kernel(x_ptr, unused_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for _ in range(2):
        value = tl.load(x_ptr + at, at < n)
        tl.store(x_ptr + at, value * factor, at < n)


@triton.autotune([triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 256}, num_warps=4)], key=["n"])
@triton.jit
def tuned_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, at < n) * 3, at < n)


@triton.jit
def helper(value, flag: tl.constexpr):
    return tl.where(value > 0, value, 0) if flag else value


@triton.jit
def sum_kernel(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr, FLAG: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK, ), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += helper(tl.load(x_ptr + row * stride + at, at < n, 0.0), FLAG)
    if row >= 0:
        tl.atomic_add(out_ptr + row, tl.sum(total))


def add(x, y):
    """A kernel with a result of its own."""
    out = torch.empty_like(x)
    n = out.numel()
    add_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]), )](x, y, out, n, BLOCK=128)
    return out.sin()


def with_options_of_many_targets(x, y):
    """A launch that names options of several vendors, as kernels for all of them do."""
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 128), )](x, y, out, x.numel(), BLOCK=128, num_warps=2, waves_per_eu=2,
                                                maxnreg=128, launch_pdl=False)
    return out.cos()


def scale_in_place(x, y):
    """A kernel that changes an argument: `y` is read after it, and must not be taken for changed."""
    z = x.clone()
    scale_in_place_kernel[(triton.cdiv(z.numel(), 128), )](z, y, z.numel(), 1.5, BLOCK=128)
    return z + y


def tuned(x, y):
    """A kernel with an autotuner."""
    out = torch.empty_like(x)
    tuned_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]), )](x, out, x.numel())
    return out + y


def with_a_loop_and_atomics(x, y):
    """Loops, calls and atomics."""
    out = torch.zeros(x.shape[0], device=x.device)
    sum_kernel[(x.shape[0], )](x, out, x.shape[1], x.stride(0), BLOCK=32, FLAG=True)
    return out + y.sum()


@torch.library.triton_op("deuteron_tests::doubled", mutates_args={})
def doubled(x: torch.Tensor) -> torch.Tensor:
    """An operator made of a kernel."""
    out = torch.empty_like(x)
    torch.library.wrap_triton(add_kernel)[(triton.cdiv(x.numel(), 128), )](x, x, out, x.numel(), 128)
    return out


def as_an_operator(x, y):
    """``torch.library.triton_op``."""
    return doubled(x) + y


@triton.jit
def quarters_kernel(x_ptr, out_ptr, n, DTYPE: tl.constexpr, BLOCK: tl.constexpr):
    """Calls a function that was imported by its own name, and reads an annotated global and an element type."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, fast_dividef(tl.load(x_ptr + at, at < n), QUARTER + 0.0).to(DTYPE), at < n)


def with_imported_names(x, y):
    """Quarters in half precision, beside y."""
    out = torch.empty_like(x, dtype=torch.bfloat16)
    quarters_kernel[(triton.cdiv(x.numel(), 64), )](x, out, x.numel(), tl.bfloat16, 64)
    return out.float() + y


int_type = triton.constexpr_function(tl.core.get_int_dtype)


@triton.jit
def bits(value):
    """The bits of a number, as an integer that is as wide."""
    return value.to(int_type(value.dtype.primitive_bitwidth, True), bitcast=True)


@triton.jit
def bits_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Calls a function of the library when it is compiled: Inductor copies its text."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, bits(tl.load(x_ptr + at, at < n)), at < n)


def with_a_function_of_the_library(x, y):
    """The bits of x beside y."""
    out = torch.empty_like(x, dtype=torch.int32)
    bits_kernel[(triton.cdiv(x.numel(), 64), )](x, out, x.numel(), 64)
    return out // 65536 + y


@triton.jit
def inner_names_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Calls, by their own names, what modules below the language have: Inductor imports functions and copies constexpr ones."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.maximum(tl.load(x_ptr + at, at < n), 0.0, propagate_nan=PropagateNan.ALL)
    size: tl.constexpr = _log2(BLOCK) if _is_power_of_two(BLOCK) and not is_hip() else 0
    tl.store(out_ptr + at, (x * 100).to(get_int_dtype(32, True)) + size, at < n)


def with_names_of_inner_modules(x, y):
    """Whole numbers made of x, beside y."""
    out = torch.empty_like(x)
    inner_names_kernel[(triton.cdiv(x.numel(), 64), )](x, out, x.numel(), 64)
    return out + y


#: Functions and what they compute.
USER_KERNELS = {
    "add": (add, lambda x, y: (x + y).sin()),
    "with_options_of_many_targets": (with_options_of_many_targets, lambda x, y: (x + y).cos()),
    "scale_in_place": (scale_in_place, lambda x, y: x * 2.25 + y),
    "tuned": (tuned, lambda x, y: x * 3 + y),
    "with_a_loop_and_atomics": (with_a_loop_and_atomics, lambda x, y: x.relu().sum(1) + y.sum()),
    "with_imported_names": (with_imported_names, lambda x, y: (x / 4).bfloat16().float() + y),
    "with_a_function_of_the_library": (with_a_function_of_the_library, lambda x, y: x.view(torch.int32) // 65536 + y),
    "with_names_of_inner_modules": (with_names_of_inner_modules, lambda x, y: (x.relu() * 100).int() + 6 + y),
    "as_an_operator": (as_an_operator, lambda x, y: 2 * x + y),
}


def check_user_kernel(name, device):
    """Compiles one of them and compares."""
    function, meaning = USER_KERNELS[name]
    torch.manual_seed(3)
    x, y = torch.randn(33, 70, device=device), torch.randn(33, 70, device=device)
    found = torch.compile(function, fullgraph=True)(x, y)
    torch.testing.assert_close(found, meaning(x, y), rtol=1e-5, atol=1e-4)


@triton.jit
def packing_kernel(x_ptr, out_ptr, flag_ptr, BLOCK: tl.constexpr):
    """What Inductor's scans over several programs do with a value and a flag."""
    from_helpers: tl.constexpr = tl.uint32
    at = tl.arange(0, BLOCK)
    value = tl.load(x_ptr + at)
    packed = triton_helpers.pack_value_flag(value, (at % 3).to(tl.uint32), from_helpers, tl.uint64)
    tl.store(out_ptr + at, triton_helpers.unpack_value(packed, value.dtype, from_helpers))
    tl.store(flag_ptr + at, triton_helpers.unpack_flag(packed, from_helpers).to(tl.int32))


@triton.jit
def marked_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, MASKED: tl.constexpr):
    """What Inductor calls in kernels of cooperative reductions: Python functions that run while the kernel is compiled."""
    at = tl.arange(0, triton_helpers.constexpr_next_power_of_2(BLOCK))
    mask = at < n if MASKED else None
    value = tl.load(x_ptr + at, mask, other=triton_helpers.if_mask(mask, 5.0))
    tl.store(out_ptr + at, triton_helpers.if_mask(mask, value) if MASKED else value)
