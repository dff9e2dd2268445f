"""Tensors that a program puts on ``"cuda"`` are put on the CPU: for programs that name the device, where there is none.

Nothing turns this on but the user, by ``python -m deuteron --cuda-as-cpu script.py`` or `enter`. It concerns where tensors are
made and moved; ``torch.cuda`` itself (events, streams) is not imitated.
"""

_NAME = "cuda"


def _is_named(value):
    kind = getattr(value, "type", value)
    return isinstance(kind, str) and kind.split(":")[0] == _NAME and (value is kind or hasattr(value, "index"))


def _mapped(value):
    """A device that is meant, or the value itself."""
    return "cpu" if _is_named(value) else value


def enter():
    """From now on, in this thread; returns a context manager, which ends it on exit."""
    import torch
    from torch.overrides import TorchFunctionMode

    class CudaAsCpu(TorchFunctionMode):
        """Changes the devices among the arguments of torch's functions."""

        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func is torch.Tensor.cuda:
                return args[0]
            kwargs = kwargs or {}
            if "device" in kwargs:
                kwargs = {**kwargs, "device": _mapped(kwargs["device"])}
            if func is torch.Tensor.to:
                args = (args[0], *(_mapped(value) for value in args[1:]))
            return func(*args, **kwargs)

    mode = CudaAsCpu()
    mode.__enter__()
    return mode
