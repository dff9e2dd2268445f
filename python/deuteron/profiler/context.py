"""Where a thread is."""

from . import _session


def depth(session=0):
    """How many frames lead to here; None for None."""
    if session is None:
        return None
    return len(_session.chosen(session)[0].place())
