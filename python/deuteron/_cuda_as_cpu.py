"""What a program puts on ``"cuda"`` is put on the CPU: for programs that name the device, where there is none.

Nothing turns this on but the user: ``python -m deuteron --cuda-as-cpu script.py``, ``deuteron bench --cuda-as-cpu script.py``, the variable
``DEUTERON_CUDA_AS_CPU`` for both, or `enter`. Functions that make and move tensors see the other device (`_mode`); functions of ``torch.cuda``
that scripts call around kernels answer for the CPU (`_ANSWERS`); automatic casts for "cuda" are made on the CPU (`_autocast`), and operators
that a program registers for it run there (`_cuda_library`); kernels are compiled for the CPU. What a CPU has not (graphs, several devices)
still raises. Other threads than the one that enters make their tensors where torch puts them.
"""

import collections
import contextlib
import functools
import os
import sys
import time

from . import _accelerator, _cuda_library

_NAME = "cuda"

#: Said once, as results are not those of a GPU.
_SAID = ('deuteron: --cuda-as-cpu: tensors that this program puts on "cuda" are on the CPU, torch.cuda answers for it, '
         "and kernels run on target {}\n")


def _is_named(value):
    kind = getattr(value, "type", value)
    return isinstance(kind, str) and kind.split(":")[0] == _NAME and (value is kind or hasattr(value, "index"))


def _mapped(value):
    """A device that is meant, or the value itself."""
    return "cpu" if _is_named(value) else value


def _mapped_device(value):
    """As `_mapped`, where a number is a device, too."""
    return "cpu" if type(value) is int else _mapped(value)


def _pinned(tensor):
    """Says of a tensor's memory that it is pinned, for `_is_pinned`: all memory of a CPU is alike."""
    with contextlib.suppress(NotImplementedError):  # Sparse tensors and wrappers have no storage.
        tensor.untyped_storage()._is_said_to_be_pinned = True
    return tensor


def _is_pinned(tensor):
    with contextlib.suppress(NotImplementedError):
        return hasattr(tensor.untyped_storage(), "_is_said_to_be_pinned")
    return False


def _mode(torch):
    from torch.overrides import TorchFunctionMode

    from ._addresses import note
    from ._cuda_functions import histc, product

    is_cuda = torch.Tensor.is_cuda.__get__
    histograms = (torch.histc, torch.Tensor.histc)
    operators = (torch._ops.OpOverload, torch._ops.OpOverloadPacket)

    class CudaAsCpu(TorchFunctionMode):
        """Changes the devices among the arguments of torch's functions."""

        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func is torch.Tensor.cuda:
                return args[0]
            if func is torch.Tensor.is_pinned:
                return _is_pinned(args[0])
            if func is torch.Tensor.pin_memory:
                return args[0] if _is_pinned(args[0]) else _pinned(args[0].clone())
            if func == is_cuda:
                return args[0].device.type == "cpu"
            if func == torch.Tensor.data_ptr and not torch.compiler.is_dynamo_compiling():
                note(args[0])
            kwargs = kwargs or {}
            if func in histograms and args and not args[0].is_floating_point():
                return histc(torch, *args, **kwargs)
            wider = product(torch, func, args, kwargs)
            if wider is not None:
                return func(*wider[0], **wider[1])
            if "device" in kwargs:
                kwargs = {**kwargs, "device": _mapped_device(kwargs["device"])}
            if kwargs.get("pin_memory"):
                return _pinned(self.__torch_function__(func, types, args, {**kwargs, "pin_memory": False}))
            if func is torch.Tensor.to:
                args = (args[0], *map(_mapped_device, args[1:2]), *map(_mapped, args[2:]))
            elif func is torch.device and args and (_is_named(args[0]) or isinstance(args[0], int)):
                args, kwargs = ("cpu", ), {}
            elif func is torch.set_default_device:
                args = tuple(map(_mapped, args))
            elif isinstance(func, operators):
                args = tuple(_mapped(value) if isinstance(value, torch.device) else value for value in args)
            return func(*args, **kwargs)

    return CudaAsCpu()


def _in_mode(mode, function):
    """The function, which the mode sees into: it is off within a function of torch that it was asked about, as `backward`, which calls
    what the program wrote."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        with mode:
            return function(*args, **kwargs)

    return run


def _apart(answer):
    """A function of its own that does the same; a class as it is."""
    return answer if isinstance(answer, type) else lambda *args, **kwargs: answer(*args, **kwargs)


class _Event:
    """A moment: all work is done when a launch returns, so the clock of the host is right."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        self._at = None

    def record(self, stream=None):
        """Marks now."""
        self._at = time.perf_counter()

    def elapsed_time(self, end):
        """Milliseconds from here to another one."""
        if self._at is None or end._at is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end._at - self._at) * 1e3

    def query(self):
        """Whether it has passed."""
        return True

    def synchronize(self):
        """Waits for it."""

    def wait(self, stream=None):
        """Makes a stream wait for it."""


class _Stream:
    """The one stream of a CPU."""

    cuda_stream = 0
    stream_id = 0
    device_index = 0

    def __init__(self, device=None, priority=0, **kwargs):
        self.priority = priority

    def synchronize(self):
        """Waits for everything."""

    def query(self):
        """Whether everything is done."""
        return True

    def record_event(self, event=None):
        """Marks now."""
        event = event or _Event()
        event.record()
        return event

    def wait_event(self, event):
        """Waits for an event."""

    def wait_stream(self, stream):
        """Waits for a stream."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def __eq__(self, other):
        return isinstance(other, _Stream)

    def __hash__(self):
        return 0


class _Properties:
    """What is asked of a device: of the processor, or of the device that is emulated."""

    def __init__(self, name):
        facts = _facts()
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
        self.name, (self.major, self.minor) = name, _capability()
        # In torch for NVIDIA GPUs this is the name.
        last = facts["name"].split()[-1]
        self.gcnArchName = last if last.startswith("gfx") else name
        self.multi_processor_count = facts.get("multiprocessor_count", len(os.sched_getaffinity(0)))
        self.total_memory = pages * size
        self.warp_size = facts.get("warpSize", 1)
        self.shared_memory_per_block = self.shared_memory_per_block_optin = facts["max_shared_mem"]
        self.shared_memory_per_multiprocessor = facts["max_shared_mem"]
        self.regs_per_multiprocessor = facts["max_num_regs"]
        self.L2_cache_size = facts.get("l2_bytes", facts.get("l2_cache_size", 0))
        self.clock_rate, self.memory_clock_rate = facts["sm_clock_rate"], facts["mem_clock_rate"]
        self.memory_bus_width = facts["mem_bus_width"]
        self.is_integrated = self.is_multi_gpu_board = 0

    def __repr__(self):
        return f"{type(self).__name__}({vars(self)})"


def _facts():
    """What is known of the device in use."""
    from . import _core

    return _core.device_properties(0)


#: What programs may expect that ask for a capability: every dtype, but no code for one generation of GPUs.
_LIKE = (8, 9)


def _capability(device=None):
    """That of the device that is emulated. A processor answers with one that stands for what it can do."""
    facts = _facts()
    return facts.get("compute_capability_major", _LIKE[0]), facts.get("compute_capability_minor", _LIKE[1])


def _processor():
    """What the processor calls itself."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    import platform

    return platform.processor() or platform.machine()


def _free_and_all():
    pages = os.sysconf("SC_AVPHYS_PAGES"), os.sysconf("SC_PHYS_PAGES")
    return tuple(count * os.sysconf("SC_PAGE_SIZE") for count in pages)


def _constant(value):
    """A new function that answers with `value`. Each name gets one of its own: `torch._dynamo` tells functions of torch apart by identity."""

    def answer(*args, **kwargs):
        return value

    return answer


#: What functions of ``torch.cuda`` answer.
_ANSWERS = {
    "is_available": lambda: True,
    "is_initialized": lambda: True,
    "is_bf16_supported": lambda including_emulation=True: True,
    "device_count": lambda: 1,
    "current_device": _constant(0),
    "get_device_name": lambda device=None: _processor(),
    "get_device_capability": _capability,
    "get_device_properties": lambda device=None: _Properties(_processor()),
    "get_arch_list": lambda: [],
    "mem_get_info": lambda device=None: _free_and_all(),
    "current_stream": lambda device=None: _Stream(),
    "default_stream": lambda device=None: _Stream(),
    "stream": lambda stream: contextlib.nullcontext(stream),
    "device": lambda device: contextlib.nullcontext(device),
    "device_of": lambda obj: contextlib.nullcontext(obj),
    "Event": _Event,
    "Stream": _Stream,
    "is_current_stream_capturing": _constant(False),
    **{name: _constant(None) for name in ("init", "synchronize", "set_device", "set_stream", "empty_cache", "ipc_collect",
                                          "reset_peak_memory_stats", "reset_max_memory_allocated")},
    # What `with torch.cuda._DeviceGuard(0):` calls.
    "_exchange_device": _constant(0),
    "_maybe_exchange_device": _constant(0),
    **{name: _constant(0) for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")},
    # By names such as "active_bytes.all.peak".
    "memory_stats": lambda device=None: collections.defaultdict(int),
}

#: What functions of ``torch._C`` answer: code that inductor wrote imports the first, and launchers call the others, as they are faster.
_OF_C = {
    "_cuda_getCurrentRawStream": 0,
    "_cuda_getDevice": 0,
    "_cuda_exchangeDevice": 0,
    "_cuda_maybeExchangeDevice": 0,
    "_cuda_getDeviceCount": 1,
    "_cuda_isCurrentStreamCapturing": False,
    **dict.fromkeys(("_cuda_setDevice", "_cuda_synchronize", "_cuda_emptyCache")),
}


def _generator_kind(torch):
    """``torch.Generator``, where one for "cuda" is one for the CPU. Generators of torch's own are instances of it, and so are those
    that it makes."""
    plain = torch.Generator

    class Kind(type(plain)):

        def __instancecheck__(cls, value):
            return isinstance(value, plain) if cls is Generator else super().__instancecheck__(value)

        def __call__(cls, device="cpu"):
            device = _mapped_device(device)
            return plain(device=device) if cls is Generator else super().__call__(device=device)

    class Generator(plain, metaclass=Kind):
        __doc__ = plain.__doc__

    Generator.__module__, Generator.__qualname__ = plain.__module__, plain.__qualname__
    return Generator


#: Those that ``torch.cpu`` gets as well, where it has none of its own.
_OF_CPU = ("set_stream", "device", "Event", "get_device_name", "get_device_properties", "get_device_capability", "empty_cache", "mem_get_info",
           "memory_allocated", "max_memory_allocated", "reset_peak_memory_stats", "manual_seed", "manual_seed_all", "initial_seed",
           "get_rng_state", "set_rng_state")


def _random(torch):
    """Functions for random numbers. They ask the generator itself, as torch's own functions call these."""
    generator = torch.default_generator
    return {
        "manual_seed": lambda seed: generator.manual_seed(int(seed)) and None,
        "manual_seed_all": _constant(None),
        "seed": lambda: generator.seed() and None,
        "seed_all": _constant(None),
        "initial_seed": generator.initial_seed,
        "get_rng_state": lambda device=None: generator.get_state(),
        "set_rng_state": lambda state, device=None: generator.set_state(state) and None,
    }


class _Generator:
    """The generator of random numbers of the device, as kernels of libraries ask it for a seed and an offset."""

    def __init__(self, torch):
        self._torch, self._offset, self.device = torch, 0, torch.device("cpu")

    def get_state(self):
        """The seed and the offset, as the 16 bytes that a GPU's generator has."""
        torch = self._torch
        seed = torch.default_generator.initial_seed()
        seed -= (seed >> 63) << 64
        return torch.tensor([seed, self._offset], dtype=torch.int64).view(torch.uint8)

    def set_state(self, state):
        """Takes such bytes."""
        seed, offset = state.view(self._torch.int64).tolist()
        if seed != self.get_state().view(self._torch.int64)[0].item():
            self._torch.default_generator.manual_seed(seed)
        self._offset = offset

    def initial_seed(self):
        """The seed."""
        return self._torch.default_generator.initial_seed()

    def manual_seed(self, seed):
        """Begins anew."""
        self._torch.default_generator.manual_seed(seed)
        self._offset = 0
        return self

    def seed(self):
        """Begins anew with another seed."""
        self._offset = 0
        return self._torch.default_generator.seed()


#: How often it was entered and not left.
_depth = 0


def entered():
    """Whether this process puts on the CPU what is meant for ``"cuda"``."""
    return _depth > 0


def _autocast(torch):
    """Functions of torch that are asked about automatic casts on "cuda", with where they are: products on the CPU are cast instead."""
    autocast = torch.amp.autocast_mode.autocast
    start, is_enabled, dtype_of = autocast.__init__, torch.is_autocast_enabled, torch.get_autocast_dtype

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if _is_named(device_type):
            device_type, dtype = "cpu", dtype_of(_NAME) if dtype is None else dtype
        start(self, device_type, dtype, enabled, cache_enabled)

    def is_autocast_enabled(device_type=_NAME):
        return is_enabled(_mapped(device_type))

    def get_autocast_dtype(device_type):
        return dtype_of(_mapped(device_type))

    return ((autocast, "__init__", __init__), (torch, "is_autocast_enabled", is_autocast_enabled),
            (torch, "get_autocast_dtype", get_autocast_dtype))


class _Entered:
    """Ends everything on exit."""

    def __init__(self, mode, undo):
        global _depth
        _depth += 1
        self._mode, self._undo = mode, undo

    def __enter__(self):
        return self

    def __exit__(self, *error):
        global _depth
        _depth -= 1
        self._mode.__exit__(*error)
        self._undo()


def _use_the_cpu():
    """Kernels are compiled for the CPU, unless another target for arrays of the host is named; returns what puts that back."""
    from . import _core
    from .knobs import runtime

    if runtime.emulate:
        return _constant(None), f"{runtime.emulate}, emulated"
    named = runtime.target or ""
    chosen = named if named.split(":")[0] == "cpu" else "cpu"
    overrides = _core.knob_overrides("runtime")
    _core.knob_set("runtime", "target", chosen)

    def undo():
        if "target" in overrides:
            _core.knob_set("runtime", "target", overrides["target"])
        else:
            _core.knob_reset("runtime", "target")

    return undo, chosen


def enter(is_child=False):
    """From now on, in this thread; says so, unless the process that started this one did, and returns a context manager, which ends
    it on exit."""
    import torch

    undo_target, target = _use_the_cpu()
    mode = _mode(torch)
    answers = {**_ANSWERS, **_random(torch)}
    replaced = [(torch.cuda, name, answer) for name, answer in answers.items() if hasattr(torch.cuda, name)]
    replaced += _autocast(torch)
    replaced += _cuda_library.replaced(torch, functools.partial(_in_mode, mode))
    replaced.append((torch.cuda, "default_generators", (_Generator(torch), )))
    replaced.append((torch, "Generator", _generator_kind(torch)))
    if hasattr(torch.autograd, "_engine_run_backward"):
        replaced.append((torch.autograd, "_engine_run_backward", _in_mode(mode, torch.autograd._engine_run_backward)))
    # `torch._dynamo` takes values of this type for constants.
    replaced.append((torch.cuda, "_CudaDeviceProperties", _Properties))
    # Launches wait for nothing that is still to run, so no stream has to keep memory.
    replaced.append((torch.Tensor, "record_stream", _constant(None)))
    replaced += [(torch._C, name, _constant(value)) for name, value in _OF_C.items() if hasattr(torch._C, name)]
    # torch asks this in front of streams of its own, which the CPU has not.
    replaced.append((torch.accelerator, "is_available", _constant(False)))
    of_accelerator = {"synchronize": None, "current_device_index": 0, "set_device_index": None}
    replaced += [(torch.accelerator, name, _constant(value)) for name, value in of_accelerator.items()
                 if hasattr(torch.accelerator, name)]
    replaced += _accelerator.replaced(torch, _Event, _Stream, _free_and_all)
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in replaced]
    for owner, name, answer in replaced:
        setattr(owner, name, answer)
    # Programs that ask a driver for its device find the functions of torch by that one's name.
    added = [name for name in _OF_CPU if not hasattr(torch.cpu, name)]
    for name in added:
        setattr(torch.cpu, name, _apart(answers[name]))

    def undo():
        for name in added:
            delattr(torch.cpu, name)
        for owner, name, value in before:
            setattr(owner, name, value)
        undo_target()

    mode.__enter__()
    if not is_child:
        sys.stderr.write(_SAID.format(target))
        sys.stderr.flush()
    return _Entered(mode, undo)
