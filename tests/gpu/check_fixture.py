"""Checks the calls of one fixture in a process of its own, of which the output is part of what is checked.

``python check_fixture.py FIXTURE OUTPUT``: what the process prints goes to the file OUTPUT; the result is the exit status, and what
went wrong stands on the standard error stream of before.
"""

import os
import sys
from pathlib import Path

from deuteron import _core


def main(fixture, output):
    errors = os.dup(2)
    file = os.open(output, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    calls, failures = _core.check_fixture(Path(fixture).read_text(), output=output)
    os.write(errors, "\n".join(failures).encode())
    # The device may be beyond use, and so is what would be cleaned up.
    os._exit(0 if calls == 1 and not failures else 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
