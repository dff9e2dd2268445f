"""What ``torch.accelerator``, ``torch.Event`` and ``torch.Stream`` answer where "cuda" is the CPU (`_cuda_as_cpu`)."""

import contextlib


def _kind(plain, make):
    """The class `plain` of torch, where a call of it is one of `make`. Classes that derive from it make their own objects. Those of `make`
    are no instances of it: ``torch._dynamo`` would look for the streams of a GPU."""

    class Kind(type(plain)):

        def __instancecheck__(cls, value):
            return isinstance(value, plain) if cls is Answer else super().__instancecheck__(value)

        def __call__(cls, *args, **kwargs):
            return make(*args, **kwargs) if cls is Answer else super().__call__(*args, **kwargs)

    class Answer(plain, metaclass=Kind):
        __doc__ = plain.__doc__

    Answer.__module__, Answer.__name__, Answer.__qualname__ = plain.__module__, plain.__name__, plain.__qualname__
    return Answer


def replaced(torch, event, stream, memory):
    """What is put in place of functions and classes of torch, as triples of an owner, a name and a value. `event` and `stream` are the
    classes of ``torch.cuda``, and `memory` tells how much is free and how much there is."""
    answers = {
        "current_stream": lambda device=None: stream(),
        "set_stream": lambda stream: None,
        "device_index": lambda device: contextlib.nullcontext(),
        "get_memory_info": lambda device=None: memory(),
    }
    answers = [(torch.accelerator, name, answer) for name, answer in answers.items() if hasattr(torch.accelerator, name)]
    make_event = lambda device=None, *, enable_timing=False, blocking=False, interprocess=False: event(enable_timing)
    make_stream = lambda device=None, *, priority=0, **kwargs: stream(device, priority)
    return answers + [(torch, "Event", _kind(torch.Event, make_event)),
                      (torch, "Stream", _kind(torch.Stream, make_stream))]
