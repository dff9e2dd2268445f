"""Import path of the reference's interpreter, for ``isinstance`` checks of libraries.

Deuteron's interpreter is native: ``TRITON_INTERPRET=1`` and the command ``deuteron run`` reach it.
"""


class InterpretedFunction:
    """No @jit function is an instance: interpreted or compiled, they are all `JITFunction`."""
