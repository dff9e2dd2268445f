"""Where the time of a program goes, kernel by kernel: ``start``, run, ``finalize``, and look at the file with `viewer`.

Kernels launched through this package are timed by events in their stream, and by the clock on the CPU. Work of other libraries has the
time of the innermost `scope` around it, if no kernel of ours runs in that scope.
"""

from . import context, data, mode, specs
from .profile import DEFAULT_PROFILE_NAME, activate, deactivate, finalize, profile, start
from .scope import cpu_timed_scope, enter_scope, exit_scope, scope
from .state import enter_state, exit_state, metadata_state, state

__all__ = [
    "DEFAULT_PROFILE_NAME",
    "activate",
    "context",
    "cpu_timed_scope",
    "data",
    "deactivate",
    "enter_scope",
    "enter_state",
    "exit_scope",
    "exit_state",
    "finalize",
    "metadata_state",
    "mode",
    "profile",
    "scope",
    "specs",
    "start",
    "state",
]
