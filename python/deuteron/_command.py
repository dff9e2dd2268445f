"""The `deuteron` command of the package: the native one, which learns in which Python it runs."""

import os
import signal
import sys


def verbs():
    """The verbs of the command."""
    from . import _core

    return _core.command_verbs()


def run(arguments, program="deuteron"):
    """Runs a command line; returns its exit code."""
    from . import _core

    os.environ.setdefault("DEUTERON_PYTHON", sys.executable)
    # What Python has printed stands in front of what the command prints.
    sys.stdout.flush()
    sys.stderr.flush()
    # The command does not run Python code, which alone would notice Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.run_command([program, *arguments])


def main():
    """The console script."""
    sys.exit(run(sys.argv[1:]))
