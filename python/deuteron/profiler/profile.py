"""Beginning and ending the recording of times."""

import functools
import warnings

from .. import knobs
from . import _session

DEFAULT_PROFILE_NAME = "proton"


def start(name=None, *, context="shadow", data="tree", backend=None, mode=None, hook=None):
    """Begins a session and makes it record.

    Args:
        name: of the file that `finalize` writes, without its ending.
        context: ``"shadow"`` for frames by scopes alone, ``"python"`` for the Python functions around them as well.
        data: ``"tree"``.
        backend: who takes the times. They are taken by events in the stream; where another way is named, a warning says so.
        mode: has to be None: what happens inside a kernel is not recorded.
        hook: ``"triton"`` records what a kernel's ``launch_metadata`` says of its work: ``flops16``, ``bytes``, ….

    Returns:
        The number of the session; None where ``knobs.proton.disable`` is set.
    """
    if knobs.proton.disable:
        return None
    if context not in ("shadow", "python"):
        raise ValueError(f"context is {context!r}; it can be shadow or python")
    if data != "tree":
        raise NotImplementedError(f"profiles with data={data!r} are not supported: data=\"tree\" is")
    if backend == "instrumentation" or mode:
        raise NotImplementedError("what happens inside a kernel is not recorded: leave backend and mode out")
    if hook not in (None, "triton"):
        raise NotImplementedError(f"hook={hook!r} is not supported: hook=\"triton\" is")
    if backend is not None:
        warnings.warn(f"times are taken by events in the stream, not by {backend}: kernels of other libraries are not seen",
                      UserWarning, stacklevel=2)
    return _session.begin(name or DEFAULT_PROFILE_NAME, context == "python", hook == "triton").number


def activate(session=None):
    """Makes a session record; all of them without a number."""
    if not knobs.proton.disable:
        _session.switch(session, True)


def deactivate(session=None, flushing=False):
    """Makes a session, or all of them, stop recording until `activate`; with `flushing`, waits for all times."""
    if knobs.proton.disable:
        return
    _session.switch(session, False)
    if flushing:
        for one in _session.chosen(session):
            one.flush()


def finalize(session=None, output_format=""):
    """Ends a session, or all of them, and writes ``<name>.hatchet``."""
    if output_format not in ("", "hatchet"):
        raise NotImplementedError(f"output_format={output_format!r} is not supported: \"hatchet\" is")
    if not knobs.proton.disable:
        for ended in _session.end(session):
            ended.write()


def profile(func=None, *, name=None, context="shadow", data="tree", backend=None, mode=None, hook=None):
    """Records a function: ``@profile`` or ``@profile(name=…)``. Arguments are those of `start`."""

    def decorator(function):

        @functools.wraps(function)
        def profiled(*args, **kwargs):
            session = start(name, context=context, data=data, backend=backend, mode=mode, hook=hook)
            try:
                return function(*args, **kwargs)
            finally:
                if session is not None:
                    finalize(session)

        return profiled

    return decorator if func is None else decorator(func)
