"""`tl.extra.cuda`'s functions by the reference's import path."""

from . import convert_custom_float8_sm70, convert_custom_float8_sm80, globaltimer, num_threads, num_warps, smid

__all__ = ["convert_custom_float8_sm70", "convert_custom_float8_sm80", "globaltimer", "num_threads", "num_warps", "smid"]
