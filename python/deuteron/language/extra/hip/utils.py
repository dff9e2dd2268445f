"""`tl.extra.hip`'s functions by the reference's import path."""

from . import memrealtime, num_threads, num_warps, smid

__all__ = ["memrealtime", "num_threads", "num_warps", "smid"]
