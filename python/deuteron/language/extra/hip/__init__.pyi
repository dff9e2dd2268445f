# Made from the signatures of the package by tests/python/stubs.py; do not edit.
from typing import Any

from ... import constexpr, tensor
from . import libdevice as libdevice

__all__ = [
    "libdevice",
    "memrealtime",
    "num_threads",
    "num_warps",
    "smid",
]

def memrealtime() -> tensor:
    """A clock of the device that runs at 100 MHz, int64."""

def num_threads() -> constexpr:
    """Threads of a program, a constexpr."""

def num_warps() -> constexpr:
    """Warps of a program, a constexpr."""

def smid() -> tensor:
    """The number of the compute unit that runs the program, int32."""
