"""Import path of the reference's interpreter, for ``isinstance`` checks of libraries.

Deuteron's interpreter is native: it runs the kernel's ttir, not its Python. ``TRITON_INTERPRET=1`` or
``deuteron.knobs.runtime.interpret = True`` turn it on.
"""


class InterpretedFunction:
    """No @jit function is an instance: interpreted or compiled, they are all `JITFunction`."""
