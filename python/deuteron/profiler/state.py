"""States: a name below which all kernels of a part of a program are put, whatever the scopes around them."""

import functools

from . import _session

COMPUTE_METADATA_SCOPE_NAME = "__proton_launch_metadata"
COMPUTE_METADATA_SCOPE_PREFIX = f"{COMPUTE_METADATA_SCOPE_NAME}:"


def enter_state(name):
    """From here on kernels of this thread are in a state."""
    if not hasattr(_session._local, "states"):
        _session._local.states = []
    _session._local.states.append(name)


def exit_state():
    """The state of `enter_state` ends."""
    _session._local.states.pop()


class state:
    """``with state("name"):``, or a decorator."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        enter_state(self.name)
        return self

    def __exit__(self, kind, value, traceback):
        exit_state()

    def __call__(self, func):

        @functools.wraps(func)
        def stated(*args, **kwargs):
            with self:
                return func(*args, **kwargs)

        return stated


def get_metadata_state_name(kernel_name=None):
    """The state of kernels that are launched to compute what is known of another launch."""
    return COMPUTE_METADATA_SCOPE_NAME if kernel_name is None else f"{COMPUTE_METADATA_SCOPE_PREFIX}{kernel_name}"


class metadata_state(state):
    """The state of kernels that are launched to compute what is known of another launch; `viewer` leaves them out."""

    def __init__(self, kernel_name=None):
        super().__init__(get_metadata_state_name(kernel_name))
