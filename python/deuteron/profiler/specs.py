"""What devices reach at most, for the metric ``util``."""

#: Operations on 8-bit elements that the matrix units of an SM, or of what stands for one, do in a clock; a fused multiply-add is two.
_PER_CLOCK = {"80": 4096, "89": 1024, "90": 8192, "100": 16384}
_PER_CLOCK_NAMED = {"gfx90a": 1024, "gfx942": 4096, "gfx950": 8192}
_BYTES_PER_SECOND = {"gfx90a": 3.2e12, "gfx942": 5.3e12, "gfx950": 8.0e12}


def max_flops(device_type, arch, width, num_sms, clock_rate):
    """Operations in a second on elements of `width` bits by matrix units, at `clock_rate` kHz."""
    if device_type not in ("CUDA", "HIP"):
        raise ValueError(f"Unsupported device type: {device_type}")
    known = _PER_CLOCK if device_type == "CUDA" else _PER_CLOCK_NAMED
    if str(arch) not in known:
        raise ValueError(f"Unsupported architecture: {arch}")
    return known[str(arch)] * num_sms * clock_rate * 1e3 / (width / 8)


def max_bps(device_type, arch, bus_width, memory_clock_rate):
    """Bytes in a second between device and memory, by the width of the bus in bits and its clock in kHz."""
    if device_type == "CUDA":
        return 2 * bus_width * memory_clock_rate * 1e3 / 8
    if device_type == "HIP" and arch in _BYTES_PER_SECOND:
        return _BYTES_PER_SECOND[arch]
    raise ValueError(f"Unsupported device type: {device_type}" if device_type != "HIP" else
                     f"Unsupported architecture: {arch}")
