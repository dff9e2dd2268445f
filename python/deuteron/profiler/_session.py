"""Sessions: which are there, which are active, and what they hear of launches and scopes."""

import itertools
import json
import sys
import threading

from .. import knobs
from . import _timing
from ._tree import Frame

#: Times that wait for the device at most, so that a long run does not keep its events to the end.
_PENDING = 4096

_local = threading.local()


def stack():
    """The scopes that are open on this thread, outermost first."""
    if not hasattr(_local, "stack"):
        _local.stack = []
    return _local.stack


class Open:
    """A scope that is open.

    Attributes:
        name: of the scope.
        has_kernels: whether a kernel was launched in it.
    """

    def __init__(self, name):
        self.name = name
        self.has_kernels = False


def python_frames():
    """The Python functions that lead to here, outermost first, without those of this package and of Python's own starting code."""
    frames, frame = [], sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        module = frame.f_globals.get("__name__", "")
        if module.split(".")[0] != __package__.split(".")[0] and not code.co_filename.startswith("<frozen"):
            frames.append(f"{code.co_filename}:{frame.f_lineno}@{code.co_name}")
        frame = frame.f_back
    return frames[::-1]


class Session:
    """What one ``start`` records.

    Attributes:
        number: what ``start`` returned.
        path: the file without its ending.
        is_active: whether it records.
    """

    def __init__(self, number, path, by_python, with_metadata):
        self.number, self.path = number, path
        self.by_python, self.with_metadata = by_python, with_metadata
        self.is_active = True
        self.phase = 0
        self.root = Frame("ROOT")
        self.devices = {}
        self._pending = []

    def place(self):
        """The path of names that leads to here."""
        scopes = [scope.name for scope in stack()]
        return [*python_frames(), *scopes] if self.by_python else scopes

    def add(self, path, metrics):
        """Adds metrics to a frame."""
        self.root.at(path).add(metrics)

    def add_time(self, path, begin, end, metrics):
        """The same with the time between two moments, once it is known."""
        self.root.at(path)
        self._pending.append((path, begin, end, metrics))
        if len(self._pending) > _PENDING:
            self.flush()

    def flush(self):
        """Waits for all times."""
        pending, self._pending = self._pending, []
        for path, begin, end, metrics in pending:
            self.add(path, {"time (ns)": begin.until(end), **metrics})

    def of_device(self):
        """The metrics that name the device in use."""
        kind, number, facts = _timing.device()
        self.devices.setdefault(kind, {})[number] = facts
        return {"device_type": kind, "device_id": number}

    def literal(self):
        """Everything so far, as hatchet reads it."""
        self.flush()
        self.root.metrics = {"count": 0, "time (ns)": 0}
        return [self.root.literal(), self.devices]

    def clear(self):
        """Forgets everything so far."""
        self.flush()
        self.root.clear()

    def write(self):
        """Writes the file; returns its path."""
        path = f"{self.path}.hatchet"
        with open(path, "w") as file:
            json.dump(self.literal(), file)
        return path


class _Launches:
    """Hears of launches and tells the active sessions."""

    def __init__(self):
        self._begun = threading.local()

    def enter(self, metadata):
        """A launch begins."""
        known = metadata.get()
        for scope in stack():
            scope.has_kernels = True
        states = getattr(_local, "states", None)
        names = [states[-1]] if states else []
        begun = [(session, session.place() + names) for session in active()]
        self._begun.launch = (known, begun, _timing.now())

    def exit(self, metadata):
        """It has been handed to the device."""
        launch, self._begun.launch = getattr(self._begun, "launch", None), None
        if launch is None:
            return
        known, begun, start = launch
        end = _timing.now()
        for session, place in begun:
            metrics = {"count": 1, **session.of_device()}
            if session.with_metadata:
                metrics.update(_counted(known))
            session.add_time([*place, str(known["name"])], start, end, metrics)


def _counted(known):
    """What ``launch_metadata`` of a kernel says of its work."""
    return {name: value for name, value in known.items()
            if name not in ("name", "function", "stream") and isinstance(value, (int, float)) and not isinstance(value, bool)}


_launches = _Launches()
_sessions = {}
_numbers = itertools.count()
_hooked = False


def _watch():
    """Listens to launches while a session is active."""
    global _hooked
    wanted = bool(active())
    if wanted == _hooked:
        return
    _hooked = wanted
    for chain, hook in ((knobs.runtime.launch_enter_hook, _launches.enter),
                        (knobs.runtime.launch_exit_hook, _launches.exit)):
        (chain.add if wanted else chain.remove)(hook)


def begin(path, by_python, with_metadata):
    """A new session, active; returns it."""
    if not _sessions:
        global _numbers
        _numbers = itertools.count()
    session = Session(next(_numbers), path, by_python, with_metadata)
    _sessions[session.number] = session
    _watch()
    return session


def chosen(number):
    """The sessions that a number stands for: all of them for None."""
    if number is None:
        return list(_sessions.values())
    if number not in _sessions:
        raise ValueError(f"there is no session {number}; there are {sorted(_sessions)}")
    return [_sessions[number]]


def active():
    """The sessions that record."""
    return [session for session in _sessions.values() if session.is_active]


def switch(number, on):
    """Makes sessions record, or not."""
    for session in chosen(number):
        session.is_active = on
    _watch()


def end(number):
    """Ends sessions and returns them."""
    ended = chosen(number)
    for session in ended:
        session.flush()
        session.is_active = False
        del _sessions[session.number]
    _watch()
    return ended
