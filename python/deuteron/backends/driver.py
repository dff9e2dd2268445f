"""What a driver of devices offers to Python."""

from abc import ABCMeta, abstractmethod


class DriverBase(metaclass=ABCMeta):
    """Queries about devices; ``triton.runtime.driver.active`` is one."""

    @classmethod
    @abstractmethod
    def is_active(cls):
        """Whether its devices can be used on this machine."""

    @abstractmethod
    def get_current_target(self):
        """The target of the current device."""

    @abstractmethod
    def get_active_torch_device(self):
        """The torch device that tensors should live on."""

    @abstractmethod
    def get_benchmarker(self):
        """A function like ``triton.testing.do_bench``."""

    def map_python_to_cpp_type(self, ty):
        """The C type of a signature string."""
        names = {"i1": "int8_t", "u1": "uint8_t", "fp16": "double", "bf16": "double", "fp32": "double",
                 "f32": "double", "fp64": "double"}
        if ty.startswith("*"):
            return "void*"
        if ty in names:
            return names[ty]
        return f"{'u' if ty[0] == 'u' else ''}int{ty[1:]}_t"


class GPUDriver(DriverBase):
    """A driver whose devices torch reaches through ``torch.cuda``; kept for subclasses of other packages."""

    def __init__(self):
        import torch

        self.get_device_capability = torch.cuda.get_device_capability
        self.get_current_stream = lambda idx: torch.cuda.current_stream(idx).cuda_stream
        self.get_current_device = torch.cuda.current_device
        self.set_current_device = torch.cuda.set_device
