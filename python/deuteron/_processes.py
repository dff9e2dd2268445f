"""Processes that a redirected program starts are redirected as well.

They learn it from the environment: ``DEUTERON_REDIRECT`` says so, and ``PYTHONPATH`` names the folder `_children`, whose
``sitecustomize`` Python runs at its start. What cannot work is said on the standard error stream: a Python that is asked to
ignore its environment or to run no ``sitecustomize``, or an environment that leaves these variables out.
"""

import os
import sys

#: Tells a process that its parent redirects: the folder that holds the package.
VARIABLE = "DEUTERON_REDIRECT"

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_children")

#: Options of Python with which it does not look at the variables.
_ISOLATING = frozenset("IES")

#: Options of Python that take the next argument, or after which come the program's own.
_WITH_VALUE = frozenset("WX")
_LAST = frozenset("cm")

_watching = False


def redirect_children():
    """Makes the processes that this one starts from now on redirect ``import triton``, unless it is turned off."""
    os.environ[VARIABLE] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if _FOLDER not in entries:
        os.environ["PYTHONPATH"] = os.pathsep.join([_FOLDER, *filter(None, entries)])
    # torch makes the PYTHONPATH of its compile workers from this list. The first entry is the program's own folder.
    if _FOLDER not in sys.path:
        sys.path.insert(1, _FOLDER)


def watch_children():
    """Says so where this process starts a Python that cannot know of the redirection."""
    global _watching
    if not _watching:
        _watching = True
        sys.addaudithook(_audit)


def _audit(event, args):
    if event == "subprocess.Popen":
        executable, arguments, _, environment = args
    elif event in ("os.exec", "os.posix_spawn"):
        executable, arguments, environment = args
    else:
        return
    try:
        reason = _reason(executable, arguments, environment)
    except (TypeError, ValueError):
        return
    if reason is not None:
        sys.stderr.write(f"deuteron: `import triton` is NOT redirected in a process that is being started: {reason}\n")


def _reason(executable, arguments, environment):
    """Why a process that is about to start is not redirected; None if it is, or is no Python."""
    if isinstance(arguments, (str, bytes, os.PathLike)):
        arguments = os.fsdecode(arguments).split()
    arguments = [os.fsdecode(argument) for argument in arguments]
    program = os.path.basename(os.fsdecode(executable or arguments[0]))
    if not program.startswith("python"):
        return None
    for option in _options(arguments[1:]):
        if option in _ISOLATING:
            return f"{program} ignores its environment with -{option}"
    if environment is None:
        return None
    given = {os.fsdecode(name): os.fsdecode(value) for name, value in dict(environment).items()}
    if not given.get(VARIABLE):
        return f"its environment has no {VARIABLE}"
    if _FOLDER not in given.get("PYTHONPATH", "").split(os.pathsep):
        return f"its PYTHONPATH does not have {_FOLDER}"
    return None


def _options(arguments):
    """The one-letter options of Python in front of the program."""
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-") or argument == "-" or argument.startswith("--"):
            return
        for letter in argument[1:]:
            yield letter
            if letter in _LAST:
                return
            if letter in _WITH_VALUE:
                if argument.endswith(letter):
                    next(rest, None)
                break
