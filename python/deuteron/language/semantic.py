"""Import path of the reference's type rules. Deuteron's are in its compiler, not in Python."""

from ..errors import IncompatibleTypeErrorImpl

__all__ = ["IncompatibleTypeErrorImpl", "TritonSemantic"]


class TritonSemantic:
    """Present for ``isinstance`` checks of libraries only; there are no instances."""
