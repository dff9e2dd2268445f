"""Functions of torch that take what they are given on "cuda" and not on the CPU, for `_cuda_as_cpu`."""

import functools


def histc(torch, input, bins=100, min=0, max=0, *, out=None):
    """``torch.histc`` of integers: counts are integers, and bins are found by integer division, as on a GPU."""
    low, high = int(min), int(max)
    if low == high and input.numel():
        low, high = int(input.min()), int(input.max())
    if low == high:
        low, high = low - 1, high + 1
    values = input.reshape(-1).to(torch.int64)
    values = values[(values >= low) & (values <= high)]
    places = ((values - low) * bins // (high - low)).clamp(max=bins - 1)
    counts = torch.bincount(places, minlength=bins).to(input.dtype)
    return counts if out is None else out.copy_(counts)


@functools.cache
def _operands(torch):
    """Products of torch that take ``out_dtype``, with the number of tensors in front of it."""
    return {torch.mm: 2, torch.bmm: 2, torch.addmm: 3, torch.baddbmm: 3}


def product(torch, func, args, kwargs):
    """The arguments for a product with ``out_dtype``, on a CPU, which has none: numbers of that type, whose sums are not rounded before.
    None for any other function."""
    count = _operands(torch).get(func)
    if count is None:
        return None
    dtype = args[count] if len(args) > count else kwargs.get("out_dtype")
    if not isinstance(dtype, torch.dtype):
        return None
    tensors = ("input", "self", "mat1", "mat2", "batch1", "batch2")
    named = {name: value.to(dtype) if name in tensors else value for name, value in kwargs.items() if name != "out_dtype"}
    return tuple(arg.to(dtype) for arg in args[:count]) + args[count + 1:], named
