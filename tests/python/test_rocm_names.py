"""What torch's ROCm build and other packages ask of the backend for AMD GPUs, with a torch that says it is one: no AMD GPU is here."""

import types

import pytest
import torch

import deuteron as triton
from deuteron.backends import backends
from deuteron.backends.amd.compiler import HIPBackend
from deuteron.backends.amd.driver import HIPDriver
from deuteron.backends.compiler import GPUTarget
from deuteron.backends.nvidia.driver import CudaDriver


@pytest.fixture
def rocm(monkeypatch):
    """torch as its ROCm build answers on a gfx942."""
    if torch.cuda.is_available():
        pytest.skip("there is a GPU of another vendor")
    monkeypatch.setattr(torch.version, "hip", "6.2.41133")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: types.SimpleNamespace(gcnArchName="gfx942:sramecc+:xnack-"))


def test_which_driver_is_active(rocm, monkeypatch):
    assert HIPDriver.is_active() and not CudaDriver.is_active()
    assert HIPDriver().get_current_target() == GPUTarget("hip", "gfx942", 64)
    assert HIPDriver().get_device_capability() == (9, 4)
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: (9, 0))
    assert CudaDriver.is_active() and not HIPDriver.is_active()


def test_torchs_compiler_finds_the_backend(rocm, monkeypatch):
    from torch._dynamo.device_interface import CudaInterface

    monkeypatch.setattr(CudaInterface, "is_triton_capable", staticmethod(lambda device=None: True))
    CudaInterface.raise_if_triton_unavailable()
    assert backends["amd"].compiler is HIPBackend and backends["amd"].driver is HIPDriver


@pytest.mark.parametrize("arch, warp_size, capability", [("gfx90a", 64, (9, 0)), ("gfx942", 64, (9, 4)), ("gfx950", 64, (9, 5)),
                                                         ("gfx1100", 32, (11, 0)), ("gfx1200", 32, (12, 0))])
def test_capabilities(monkeypatch, arch, warp_size, capability):
    driver = HIPDriver()
    monkeypatch.setattr(driver, "get_current_target", lambda: GPUTarget("hip", arch, warp_size))
    assert driver.get_device_capability() == capability
    assert HIPBackend.supports_target(GPUTarget("hip", arch, warp_size))
    options = HIPBackend(GPUTarget("hip", arch, warp_size)).parse_options({"num_warps": 8, "waves_per_eu": 2, "no_such_option": 1})
    assert options.num_warps == 8 and options.waves_per_eu == 2 and options.num_stages == 2


def test_marks_of_tensors():
    x = torch.zeros(64, dtype=torch.float32)
    assert HIPBackend.get_arg_specialization(x, "tensor", align=True) == ("DS" if x.data_ptr() % 16 == 0 else "S")
    assert HIPBackend.parse_attr("DS") == [["tt.divisibility", 16], ["tt.pointer_range", 32]] and HIPBackend.parse_attr("") == []
    assert HIPBackend.get_arg_specialization(32, "int", align=True) == "D"
    with triton.knobs.amd.scope():
        triton.knobs.amd.use_buffer_ops = False
        assert "S" not in HIPBackend.get_arg_specialization(x, "tensor", align=True)
    assert not HIPBackend.is_within_2gb(torch.empty(2**29 + 1, dtype=torch.float32, device="meta"))
