"""Marks inside kernels. They are not recorded, and using one says so."""

__all__ = ["disable_semantic", "enable_semantic", "enter_scope", "exit_scope", "scope"]

_REASON = ("what happens inside a kernel is not recorded: put triton.profiler.scope around the launch, or look at the kernel with "
           "`deuteron inspect`")


def enable_semantic(semantic_name):
    """Refuses: marks inside kernels are not recorded."""
    raise NotImplementedError(_REASON)


disable_semantic = enable_semantic


def enter_scope(name, _semantic=None):
    """Refuses: marks inside kernels are not recorded."""
    raise NotImplementedError(_REASON)


exit_scope = enter_scope


class scope:
    """Refuses: marks inside kernels are not recorded."""

    def __init__(self, name, _semantic=None):
        raise NotImplementedError(_REASON)
