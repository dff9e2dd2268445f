"""Limits of the current device, as far as it tells them."""


def _properties(device):
    from ..runtime.driver import driver

    return driver.active.utils.get_device_properties(device)


def _target():
    from ..runtime.driver import driver

    return driver.active.get_current_target()


def get_dram_gbps(device=None):
    """The bandwidth of the device's memory in GB/s, from its clock and the width of its bus."""
    properties = _properties(device)
    clock, width = properties.get("mem_clock_rate", 0), properties.get("mem_bus_width", 0)
    if not clock or not width:
        raise RuntimeError(f"the memory clock of {_target()} is not known: measure the bandwidth with a copy instead")
    return clock * width * 2 / 1e6 / 8


def _simd_bits(properties):
    return properties.get("vector_bits") or 128


def get_max_simd_tflops(dtype, clock_rate, device=None):
    """TFLOP/s of fused multiply-adds of `dtype` at `clock_rate` kHz, over all cores (two vector units a core)."""
    properties = _properties(device)
    if _target().backend != "cpu":
        # A GPU has 128 lanes of 32-bit arithmetic in a multiprocessor; packed 16-bit arithmetic does two at once.
        pairs = 2 if dtype.primitive_bitwidth == 16 else 1
        return properties["multiprocessor_count"] * 128 * 2 * pairs * clock_rate * 1e-9
    lanes = _simd_bits(properties) // max(dtype.primitive_bitwidth, 32)
    return properties["multiprocessor_count"] * 2 * 2 * lanes * clock_rate * 1e-9


#: Fused multiply-adds on 16-bit elements that the matrix units of a multiprocessor do in one clock, by the first number of
#: the compute capability.
_MATRIX_RATE = {8: 1024, 9: 2048, 10: 4096, 12: 1024}


def get_max_tensorcore_tflops(dtype, clock_rate, device=None):
    """TFLOP/s of the device's matrix units; a device without them answers as `get_max_simd_tflops`."""
    if _target().backend == "cpu":
        return get_max_simd_tflops(dtype, clock_rate, device)
    properties = _properties(device)
    rate = _MATRIX_RATE.get(properties["compute_capability_major"])
    if rate is None or dtype.primitive_bitwidth > 32:
        raise RuntimeError(f"the peak of {_target()} for {dtype} is not known")
    return properties["multiprocessor_count"] * rate * 16 / dtype.primitive_bitwidth * 2 * clock_rate * 1e-9


def _vendor_only(name, what):
    def refuse(*args, **kwargs):
        raise RuntimeError(f"triton.testing.{name} {what}; the current target is {_target()}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Refuses: it {what}."
    return refuse


nvsmi = _vendor_only("nvsmi", "asks one vendor's management tool")
set_gpu_clock = _vendor_only("set_gpu_clock", "sets the clock with one vendor's management tool")
cublas = _vendor_only("cublas", "needs one vendor's library")


def cuda_memcheck(**target_kwargs):
    """Decorates a test that may be run under a vendor's memory checker; here the test simply runs."""
    return lambda test: test
