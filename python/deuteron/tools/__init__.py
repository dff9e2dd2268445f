"""Tools for people who look at compiled kernels."""

from .linear_layout import LinearLayout

__all__ = ["LinearLayout"]
