"""How the profiler was started."""


class ProfilerFlags:
    """Whether times are recorded, and whether the command line began that."""

    command_line = False
    instrumentation_on = False

    @property
    def profiling_on(self):
        """Whether a session records."""
        from . import _session

        return bool(_session.active())


flags = ProfilerFlags()
