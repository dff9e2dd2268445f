"""Limits of the current device, as far as it tells them."""


def _properties(device):
    from ..runtime.driver import driver

    return driver.active.utils.get_device_properties(driver.active.get_current_device() if device is None else device)


def _target():
    from ..runtime.driver import driver

    return driver.active.get_current_target()


def _bits(dtype):
    """Bits of an element, of a dtype of torch, NumPy or tl."""
    bits = getattr(dtype, "primitive_bitwidth", None)
    if bits is not None:
        return bits
    if isinstance(dtype, type):
        # NumPy's classes of numbers, `numpy.float32` for one, say it of their values alone.
        dtype = dtype() if hasattr(dtype, "itemsize") else dtype
    size = getattr(dtype, "itemsize", None)
    if not isinstance(size, int):
        raise TypeError(f"{dtype!r} is no dtype")
    return 8 * size


def get_dram_gbps(device=None):
    """The bandwidth of the device's memory in GB/s: of a GPU from its clock and the width of its bus; of the host, which does
    not tell them, as measured once by reading."""
    if _target().backend == "cpu":
        from .. import _core

        return _core.host_bandwidth() * 1e-9
    properties = _properties(device)
    clock, width = properties.get("mem_clock_rate", 0), properties.get("mem_bus_width", 0)
    if not clock or not width:
        raise RuntimeError(f"the memory clock of {_target()} is not known: measure the bandwidth with a copy instead")
    return clock * width * 2 / 1e6 / 8


#: By compute capability: lanes of 32-bit arithmetic in a multiprocessor, and fused multiply-adds on 16-bit elements that its
#: matrix units do in one clock (dense, with sums in fp32).
_RATES = {
    (8, 0): (64, 1024),
    (8, 6): (128, 512),
    (8, 7): (128, 1024),
    (8, 9): (128, 512),
    (9, 0): (128, 2048),
    (10, 0): (128, 4096),
    (10, 3): (128, 4096),
    (12, 0): (128, 512),
}


def _rates(properties, dtype):
    capability = properties.get("compute_capability_major"), properties.get("compute_capability_minor")
    rates = _RATES.get(capability)
    if rates is None:
        raise RuntimeError(f"the peak of {_target()} for {dtype} is not known")
    return rates


def get_max_simd_tflops(dtype, clock_rate, device=None):
    """TFLOP/s of fused multiply-adds of `dtype` at `clock_rate` kHz, without matrix units. On the host: two vector units a
    core, over all cores."""
    properties, bits = _properties(device), _bits(dtype)
    if _target().backend == "cpu":
        lanes = 8 * (properties.get("vector_bytes") or 16) // max(bits, 32)
        return properties["multiprocessor_count"] * 2 * 2 * lanes * clock_rate * 1e-9
    lanes, _ = _rates(properties, dtype)
    if bits not in (16, 32):
        raise RuntimeError(f"the peak of {_target()} for {dtype} is not known: 16 and 32 bits are")
    # Packed 16-bit arithmetic does two at once.
    return properties["multiprocessor_count"] * lanes * 2 * (32 // bits) * clock_rate * 1e-9


def get_max_tensorcore_tflops(dtype, clock_rate, device=None):
    """TFLOP/s of the device's matrix units at `clock_rate` kHz; a device without them answers as `get_max_simd_tflops`."""
    if _target().backend == "cpu":
        return get_max_simd_tflops(dtype, clock_rate, device)
    properties, bits = _properties(device), _bits(dtype)
    _, rate = _rates(properties, dtype)
    if bits not in (8, 16, 32):
        raise RuntimeError(f"the peak of {_target()} for {dtype} is not known: 8, 16 and 32 bits are")
    return properties["multiprocessor_count"] * rate * 16 / bits * 2 * clock_rate * 1e-9


def _vendor_only(name, what):
    def refuse(*args, **kwargs):
        raise RuntimeError(f"triton.testing.{name} {what}; the current target is {_target()}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Refuses: it {what}."
    return refuse


def nvsmi(attrs):
    """What the management tool of the GPU's driver says: a number for each attribute, ``["clocks.max.sm"]`` for example."""
    import shutil
    import subprocess

    tool = shutil.which("nvidia-smi")
    if tool is None:
        raise RuntimeError("triton.testing.nvsmi asks nvidia-smi, which is not on the PATH; the current target is "
                           f"{_target()}")
    command = [tool, "-i", "0", "--query-gpu=" + ",".join(attrs), "--format=csv,noheader,nounits"]
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode:
        raise RuntimeError(f"nvidia-smi: {(finished.stderr or finished.stdout).strip()}")
    return [int(float(value)) for value in finished.stdout.splitlines()[0].split(",")]


set_gpu_clock = _vendor_only("set_gpu_clock", "sets the clock with one vendor's management tool")
cublas = _vendor_only("cublas", "needs one vendor's library")


def cuda_memcheck(**target_kwargs):
    """Decorates a test that may be run under a vendor's memory checker; here the test simply runs."""
    return lambda test: test
