"""Import path of the reference's type rules. Deuteron's are in its compiler, not in Python."""


class TritonSemantic:
    """Present for ``isinstance`` checks of libraries only; there are no instances."""


class IncompatibleTypeErrorImpl(TypeError):
    """Two types have no common one."""
