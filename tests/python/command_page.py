"""`docs/command.md`: what the command says of itself."""

import subprocess
import sys

from deuteron import _core

HEAD = """<!-- Made from the command's own help by tests/python/command_page.py; do not edit. -->
# The command

The Python package brings the command `deuteron`; `python -m deuteron VERB` is the same one. [Looking into compiles](debugging.md) shows it in use.

"""


def help_of(*verb):
    """The help of a verb."""
    done = subprocess.run([sys.executable, "-m", "deuteron", *verb, "--help"], capture_output=True, text=True, check=True)
    return done.stdout.strip().replace("python -m deuteron", "deuteron")


def page():
    """The page."""
    verbs = [verb for verb in _core.command_verbs() if verb != "help"]
    return HEAD + "\n\n".join(f"## `deuteron {verb}`\n\n```text\n{help_of(verb)}\n```" for verb in verbs) + "\n"
