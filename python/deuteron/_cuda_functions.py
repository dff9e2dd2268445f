"""Functions of torch that take tensors on "cuda" and none on the CPU, for `_cuda_as_cpu`."""


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
