"""A shared LLVM for Deuteron's CPU and AMD targets. Deuteron finds it by its place beside the package `deuteron`."""

import pathlib


def folder():
    """The folder that holds the library."""
    return pathlib.Path(__file__).resolve().parent / "lib"
