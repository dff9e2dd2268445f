"""What a compile remarks to the author of a kernel, shown as a warning; not while a tuner tries configurations, of which most are not kept."""

import contextlib
import threading
import warnings

_here = threading.local()


@contextlib.contextmanager
def quiet():
    """What this thread compiles meanwhile is not remarked on."""
    before, _here.quiet = getattr(_here, "quiet", False), True
    try:
        yield
    finally:
        _here.quiet = before


def remark(text):
    """Shows a remark of a compile where the kernel is called."""
    if not getattr(_here, "quiet", False):
        warnings.warn(text, stacklevel=2)
