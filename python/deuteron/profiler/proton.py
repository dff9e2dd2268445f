"""The command: ``python -m deuteron.profiler.proton [options] script.py [arguments]`` records a whole program."""

import argparse
import os
import runpy
import sys

from .flags import flags
from .profile import DEFAULT_PROFILE_NAME, finalize, start

__all__ = ["main"]


def _arguments():
    parser = argparse.ArgumentParser(prog="proton", description="Records where the time of a program goes, kernel by kernel.")
    parser.add_argument("-n", "--name", default=DEFAULT_PROFILE_NAME, help="the file without its ending .hatchet")
    parser.add_argument("-b", "--backend", choices=["cupti", "roctracer"], help="who takes the times")
    parser.add_argument("-c", "--context", default="shadow", choices=["shadow", "python"], help="which frames there are")
    parser.add_argument("-m", "--mode", help="has to be left out")
    parser.add_argument("-d", "--data", default="tree", help="tree")
    parser.add_argument("-k", "--hook", choices=["triton"], help="record what kernels say of their work")
    parser.add_argument("target", nargs=argparse.REMAINDER, help="a script, or pytest, with its arguments")
    return parser


def main():
    """The command."""
    parser = _arguments()
    args = parser.parse_args()
    if not args.target:
        parser.error("a script or pytest has to be named")
    from .. import install

    install()
    flags.command_line = True
    start(args.name, context=args.context, data=args.data, backend=args.backend, mode=args.mode, hook=args.hook)
    program, sys.argv = args.target[0], list(args.target)
    try:
        if os.path.basename(program) in ("pytest", "py.test"):
            runpy.run_module("pytest", run_name="__main__")
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(program)))
            runpy.run_path(program, run_name="__main__")
    finally:
        finalize()


if __name__ == "__main__":
    main()
