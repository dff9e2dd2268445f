"""Linear layouts by the reference's import path."""

from ...tools.linear_layout import LinearLayout

__all__ = ["LinearLayout"]
