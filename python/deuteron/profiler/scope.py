"""Scopes: parts of a program under a name, with metrics of the user's own."""

import functools
import time

from . import _session, _timing

__all__ = ["cpu_timed_scope", "enter_scope", "exit_scope", "scope"]


def _value(value):
    """A metric as a number or a list of them; tensors are read."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return list(value) if isinstance(value, tuple) else value


class scope:
    """A part of a program: ``with scope("forward", {"flops": n}):``, or a decorator.

    Args:
        name: of the frame.
        metrics: numbers (or tensors with one) that are added to the frame.
    """

    def __init__(self, name, metrics=None):
        self.name = name
        self.metrics = metrics
        self._entered = []

    def _enter_scope(self):
        opened = _session.Open(self.name)
        _session.stack().append(opened)
        sessions = [(session, session.place()) for session in _session.active()]
        self._entered.append((opened, sessions, _timing.now() if sessions else None))

    def _exit_scope(self):
        opened, sessions, begin = self._entered.pop()
        stack = _session.stack()
        if opened in stack:
            del stack[stack.index(opened):]
        if not sessions:
            return
        end = _timing.now()
        metrics = {name: _value(value) for name, value in (self.metrics or {}).items()}
        for session, path in sessions:
            session.add(path, metrics)
            if not opened.has_kernels and not session.root.at(path).children:
                session.add_time(path, begin, end, {"count": 1, **session.of_device()})

    def __enter__(self):
        self._enter_scope()
        return self

    def __exit__(self, kind, value, traceback):
        self._exit_scope()

    def __call__(self, func):

        @functools.wraps(func)
        def scoped(*args, **kwargs):
            with type(self)(self.name, self.metrics):
                return func(*args, **kwargs)

        return scoped


class cpu_timed_scope(scope):
    """A scope that has the time of the host as a metric, ``cpu_time (ns)``."""

    def __init__(self, name, metrics=None):
        super().__init__(name, dict(metrics or {}))
        if "cpu_time" in self.metrics or "cpu_time (ns)" in self.metrics:
            raise ValueError("The metric name 'cpu_time' is reserved.")

    def _enter_scope(self):
        super()._enter_scope()
        self._begin = time.perf_counter_ns()

    def _exit_scope(self):
        self.metrics = {**self.metrics, "cpu_time (ns)": time.perf_counter_ns() - self._begin}
        super()._exit_scope()


#: Scopes of `enter_scope` that are open on any thread, by their `Open`.
_opened = {}


def enter_scope(name, *, metrics=None):
    """Opens a scope; returns a number, or None where no session records."""
    opened = scope(name, metrics)
    opened._enter_scope()
    _opened[id(_session.stack()[-1])] = opened
    return id(_session.stack()[-1]) if _session.active() else None


def exit_scope(name=None, *, metrics=None):
    """Closes the innermost scope that `enter_scope` opened.

    Args:
        name: of the scope that is meant, if given; another one is an error.
        metrics: further ones.
    """
    stack = _session.stack()
    if not stack or id(stack[-1]) not in _opened:
        raise ValueError("there is no open scope of enter_scope to be closed")
    if name is not None and stack[-1].name != name:
        raise ValueError(f"Scope name mismatch: {name} is to be closed, and {stack[-1].name} is the innermost one")
    opened = _opened.pop(id(stack[-1]))
    opened.metrics = {**(opened.metrics or {}), **(metrics or {})}
    opened._exit_scope()
