"""What a session has recorded so far."""

from . import _session


def get(session=0, phase=0):
    """The tree and the devices, as hatchet reads them; None for None."""
    return None if session is None else _session.chosen(session)[0].literal()


def get_msgpack(session=0, phase=0):
    """The same in MessagePack; needs the package ``msgpack``."""
    if session is None:
        return None
    try:
        import msgpack
    except ImportError as error:
        raise ImportError("profiler.data.get_msgpack needs the package msgpack; profiler.data.get returns lists and "
                          "dictionaries") from error
    return msgpack.packb(get(session, phase))


def advance_phase(session=0):
    """Begins a new phase; returns its number. Phases are counted, and recorded in one tree."""
    if session is None:
        return None
    one = _session.chosen(session)[0]
    one.phase += 1
    return one.phase


def is_phase_complete(session=0, phase=0):
    """Whether all times of an earlier phase are known."""
    if session is None:
        return False
    one = _session.chosen(session)[0]
    one.flush()
    return phase < one.phase


def clear(session=0, phase=0, clear_up_to_phase=False):
    """Forgets what was recorded."""
    if session is not None:
        _session.chosen(session)[0].clear()
