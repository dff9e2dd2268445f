"""``python -m deuteron script.py``: runs a script, a module or a piece of code with every ``import triton`` redirected.

``python -m deuteron bench script.py`` (and every other verb) is the command ``deuteron``.

What runs is ``__main__`` as under plain Python: arguments, ``sys.path``, tracebacks and exit codes are the same.
"""

import os
import sys
import types

USAGE = """usage: python -m deuteron [script.py | -m module | -c code | verb] [arguments]

Runs unchanged Triton programs on Deuteron: every `import triton` means deuteron.

  script.py     a script (or a folder or zip file with a __main__.py)
  -m module     a module, for example: python -m deuteron -m pytest tests
  -c code       a piece of code
  --cuda-as-cpu in front of these: tensors that the program puts on "cuda" are put on the CPU, and torch.cuda
                answers for it (also: DEUTERON_CUDA_AS_CPU=1)
  verb          what the command `deuteron` does: {verbs}
                (for a script of such a name write ./name; `python -m deuteron verb --help` says more)
  --version     the versions of Deuteron and of the interface it has
  -h, --help    this text"""


def _usage():
    from deuteron import _command

    return USAGE.format(verbs=", ".join(_command.verbs()))


# Python 3.10 has no such flag.
_SAFE_PATH = getattr(sys.flags, "safe_path", False)


def _fresh_main():
    """A new, empty ``__main__``."""
    main = types.ModuleType("__main__")
    main.__builtins__ = sys.modules["builtins"]
    sys.modules["__main__"] = main
    return main


def _run_code(argv):
    if len(argv) < 2:
        sys.exit("Argument expected for the -c option\n" + _usage())
    sys.argv[:] = ["-c", *argv[2:]]
    if not _SAFE_PATH:
        sys.path[0] = ""
    exec(compile(argv[1], "<string>", "exec"), _fresh_main().__dict__)


def _run_module(argv):
    import runpy

    if len(argv) < 2:
        sys.exit("Argument expected for the -m option\n" + _usage())
    if argv[1] == "pytest":
        # Where the package is not installed, pytest does not know of its plugin.
        plugins = os.environ.get("PYTEST_PLUGINS")
        os.environ["PYTEST_PLUGINS"] = f"{plugins},deuteron._pytest" if plugins else "deuteron._pytest"
    sys.argv[:] = ["-m", *argv[2:]]
    _fresh_main()
    runpy._run_module_as_main(argv[1])


def _run_path(argv):
    path = os.path.abspath(argv[0])
    sys.argv[:] = argv
    if os.path.isdir(path) or path.endswith((".zip", ".pyz", ".egg")):
        import runpy

        sys.path[0:0 if _SAFE_PATH else 1] = [path]
        _fresh_main()
        runpy._run_module_as_main("__main__", False)
        return
    try:
        import io

        with io.open_code(path) as file:
            source = file.read()
    except OSError as error:
        sys.stderr.write(f"{sys.executable}: can't open file {path!r}: [Errno {error.errno}] "
                         f"{error.strerror}\n")
        sys.exit(2)
    if not _SAFE_PATH:
        sys.path[0] = os.path.dirname(path)
    main = _fresh_main()
    from importlib.machinery import SourceFileLoader

    main.__file__ = path
    main.__cached__ = None
    main.__loader__ = SourceFileLoader("__main__", path)
    exec(compile(source, path, "exec", dont_inherit=True), main.__dict__)


def _without_our_frames(traceback):
    """The traceback from the first frame of the user's program on."""
    kept = traceback
    while kept is not None:
        name = kept.tb_frame.f_code.co_filename
        if name != __file__ and not name.startswith("<frozen runpy") and os.path.basename(name) != "runpy.py":
            return kept
        kept = kept.tb_next
    return None


def _hide_our_frames():
    """Leaves our frames out of the traceback that the interpreter prints at the end."""
    shown = sys.excepthook

    def excepthook(kind, value, traceback):
        kept = _without_our_frames(traceback)
        shown(kind, value.with_traceback(kept), kept)

    sys.excepthook = excepthook


def main(argv):
    """Runs what the arguments say."""
    import deuteron
    from deuteron import _command

    if not argv or argv[0] in ("-h", "--help"):
        print(_usage())
        sys.exit(0 if argv else 2)
    if argv[0] in _command.verbs():
        sys.exit(_command.run(argv, "python -m deuteron"))

    if argv[0] == "--version":
        print(f"deuteron {deuteron.__deuteron_version__} (triton {deuteron.__version__})")
        return
    deuteron.install()
    from ._processes import watch_children

    watch_children()
    if argv[0] == "--cuda-as-cpu" or deuteron.knobs.runtime.cuda_as_cpu:
        from ._cuda_as_cpu import enter

        enter()
        # The processes that this one starts do the same.
        os.environ["DEUTERON_CUDA_AS_CPU"] = "1"
        argv = argv[argv[0] == "--cuda-as-cpu":] or sys.exit(_usage())
    run = {"-c": _run_code, "-m": _run_module}.get(argv[0], _run_path)
    if run is _run_path and argv[0].startswith("-"):
        sys.exit(f"unknown option {argv[0]}\n{_usage()}")
    try:
        run(argv)
    except SystemExit:
        raise
    except BaseException:
        _hide_our_frames()
        raise


if __name__ == "__main__":
    main(sys.argv[1:])
