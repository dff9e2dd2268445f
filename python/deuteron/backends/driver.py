"""What a driver of devices offers to Python, and how launchers written in C see arguments."""

import re
from abc import ABCMeta, abstractmethod


def _is_descriptor(kind):
    return isinstance(kind, str) and kind.startswith("tensordesc")


def decompose_descriptor(arg):
    """A tensor descriptor as the values that a launcher passes in its place: pointer, sizes, strides, padding and rounding, then sizes
    and strides again."""
    sizes = [*arg.shape, *arg.strides]
    return [arg.base, *sizes, arg.padding == "nan", arg.round_f32_to_tf32, *sizes]


def _rank(kind):
    """The element type of a descriptor's text, and how many dimensions its tensor has."""
    found = re.match(r"tensordesc(?:_im2col)?<([^\[>]*)\[([^\]]*)\]", kind)
    if found is None:
        raise AssertionError(f"Malformed tensor descriptor type: {kind}")
    rank = re.search(r",input_rank=(\d+)", kind)
    return found[1], int(rank[1]) if rank else found[2].count(",") + 1


def _expand_descriptor(kind, descriptor_type):
    element, rank = _rank(kind)
    first = [descriptor_type] if descriptor_type else [f"*{element}", *["i64"] * (2 * rank), "i1", "i1"]
    return [*first, *["i32"] * rank, *["i64"] * rank]


def expand_signature(signature, tensordesc_meta, descriptor_type):
    """The types of what is passed in the place of tensor descriptors.

    Args:
        signature: types, of which some are tuples.
        tensordesc_meta: what a compile says of each descriptor; empty where pointers are passed in place of descriptors.
        descriptor_type: the type of a descriptor that is passed as one.
    """
    found = []
    for kind in signature:
        if isinstance(kind, tuple):
            found.append(tuple(expand_signature(kind, tensordesc_meta, descriptor_type)))
        elif _is_descriptor(kind):
            found += _expand_descriptor(kind, descriptor_type if tensordesc_meta else None)
        else:
            found.append(kind)
    return found


def _has_descriptor(kinds):
    return any(_has_descriptor(kind) if isinstance(kind, tuple) else _is_descriptor(kind) for kind in kinds)


def wrap_handle_tensordesc_impl(launcher, signature, tensordesc_meta, make_tensordesc_arg):
    """A launcher whose last argument may hold tensor descriptors, which `make_tensordesc_arg` turns into what `launcher` takes.

    Args:
        make_tensordesc_arg: called with a descriptor, what a compile says of it, and the arguments in front of the last one.
    """
    kinds = tuple(signature.values())
    if not _has_descriptor(kinds):
        return launcher

    def expanded(kinds, args, metas, front):
        for kind, arg in zip(kinds, args):
            if isinstance(kind, tuple):
                yield tuple(expanded(kind, arg, metas, front)) if _has_descriptor(kind) else arg
            elif _is_descriptor(kind):
                yield from make_tensordesc_arg(arg, next(metas, None), front)
            else:
                yield arg

    def launch(*args):
        front, last = args[:-1], args[-1]
        return launcher(*front, list(expanded(kinds, last, iter(tensordesc_meta or ()), front)))

    return launch


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

    def allocate_default_profile_scratch(self, size, alignment, stream):
        """Memory for the records of a profiler, where `set_profile_allocator` was not called."""
        raise NotImplementedError

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

    def assemble_tensormap_to_arg(self, tensormaps_info, args):
        """The arguments as they are: descriptors need nothing added."""
        return args

    def allocate_default_profile_scratch(self, size, alignment, stream):
        """Zeros on the device, in the stream of a launch: None for the current one, 0 for the default one."""
        import torch

        device, interface = self.get_active_torch_device(), self.get_device_interface()

        def zeros():
            return torch.zeros(size, dtype=torch.int8, device=device)

        if stream is None:
            return zeros()
        if stream == 0:
            with interface.stream(interface.default_stream(device)):
                return zeros()
        launched = interface.ExternalStream(stream, device=device)
        with interface.stream(launched):
            memory = zeros()
        memory.record_stream(launched)
        return memory
