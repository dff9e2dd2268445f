"""Every exception that Deuteron raises. The native module raises these same classes."""

import builtins

__all__ = [
    "AutotunerError",
    "CompilationError",
    "CompileTimeAssertionFailure",
    "InterpretedCompilationError",
    "InterpreterError",
    "MissingTool",
    "OptionError",
    "OutOfResources",
    "OutsideKernelError",
    "PTXASError",
    "TritonError",
    "UnsupportedLanguageConstruct",
]


class TritonError(Exception):
    """The base of all errors of the language and its runtime."""


class IncompatibleTypeErrorImpl(TypeError):
    """Two types have no common one."""


class CompilationError(TritonError):
    """A kernel could not be compiled.

    ``str()`` is the whole diagnostic: file, line, column, the source line with a caret, what was found, what was
    expected and what to try. Its parts are attributes.

    Attributes:
        message: the bare sentence without the place.
        filename, lineno, col: where in the source; lines and columns count from 1, and 0 means unknown.
        source_line: the text of that line.
    """

    source_line_count_max_in_message = 12

    def __init__(self, src=None, node=None, error_message=None, *, message=None, filename="", lineno=0, col=0,
                 source_line="", at=None, calls=(), cause="ValueError"):
        if node is None and error_message is None:
            rendered = src or message or ""
            if at is not None:
                line, column = calls[-1][0] if calls else at
                plain = _plain_cause(type(self), message, cause)
                rendered += f"\nat {line}:{column}:\n{message if plain is None else repr(plain)}"
                self.__cause__ = _cause(type(self), plain, at, source_line, message, calls)
        else:
            lineno = getattr(node, "lineno", lineno)
            col = getattr(node, "col_offset", col)
            rendered = _excerpt(src, lineno, col, self.source_line_count_max_in_message)
            if error_message:
                rendered += "\n" + error_message
        super().__init__(rendered)
        self.src = src
        self.node = node
        self.error_message = error_message if error_message is not None else message
        self.message = message if message is not None else rendered
        self.filename = filename
        self.lineno = lineno
        self.col = col
        self.source_line = source_line

    def __reduce__(self):
        return _restore, (type(self), str(self), dict(self.__dict__, node=None))


def _plain_cause(kind, message, name):
    """What Python raises for an error, unless its own class says it already."""
    if kind not in (CompilationError, InterpretedCompilationError):
        return None
    return getattr(builtins, name, IncompatibleTypeErrorImpl)(message)


def _cause(kind, cause, at, source_line, message, calls):
    """What the reference chains below an error: one error a call, and below the innermost what Python raises."""
    if not calls:
        return cause
    places = [(at, source_line, message), *((at, text, "") for at, text in calls[:-1])]
    for (line, column), text, words in places:
        error = kind(f"at {line}:{column}:\n{text}" + (f"\n{words}" if words else ""))
        error.__cause__ = cause
        cause = error
    return cause


def _restore(kind, rendered, state):
    error = kind(rendered)
    error.__dict__.update(state)
    return error


def _excerpt(src, lineno, col, limit):
    """The last lines up to `lineno` with a caret below, as the reference prints them."""
    if src is None:
        return " <source unavailable>"
    if not lineno:
        return src
    lines = src.split("\n")[:lineno][-limit:]
    return "\n".join([f"at {lineno}:{col}:", *lines, " " * col + "^"])


class CompileTimeAssertionFailure(CompilationError):
    """A ``tl.static_assert`` does not hold."""


class UnsupportedLanguageConstruct(CompilationError):
    """A piece of Python that kernels may not use."""


class InterpreterError(TritonError, RuntimeError):
    """A kernel failed in the interpreter: what happened, in which line, in which program."""

    def __init__(self, error_message=None):
        super().__init__(error_message or "")
        self.error_message = error_message


class InterpretedCompilationError(CompilationError, InterpreterError):
    """An operation that cannot be compiled, called by a kernel whose body Python runs: an error of the interpreter there, and what any
    other launch of the kernel raises."""


class OutsideKernelError(TritonError, RuntimeError, ValueError):
    """An operation of the language was called where no kernel runs. Triton raises a ``ValueError`` for operations, and a
    ``RuntimeError`` for functions of the library."""


class OptionError(TritonError, ValueError, AssertionError):
    """An option of a compile has a value that none takes. Triton asserts this, so it is an ``AssertionError`` as well."""


class OutOfResources(TritonError):
    """A kernel needs more of something than the device has.

    Attributes:
        required, limit: how much is needed, and how much there is.
        name: of what: ``shared memory``, ``threads``, ``registers``, ….
    """

    def __init__(self, required, limit, name):
        super().__init__(required, limit, name)
        self.required = required
        self.limit = limit
        self.name = name

    def __str__(self):
        return (f"out of resource: {self.name}, Required: {self.required}, Hardware limit: {self.limit}. "
                "Reducing block sizes or `num_stages` may help.")


class PTXASError(TritonError):
    """The assembler of a target refused what it was given."""

    def __init__(self, error_message=None):
        super().__init__(error_message or "")
        self.error_message = error_message

    def __str__(self):
        return f"PTXAS error: {self.error_message or ''}"


class AutotunerError(TritonError):
    """No configuration of an autotuned kernel can run."""

    def __init__(self, error_message=None):
        super().__init__(error_message or "")
        self.error_message = error_message

    def __str__(self):
        return f"Autotuner error: {self.error_message or ''}"


class MissingTool(TritonError, RuntimeError):
    """A library or tool is missing; the text says where it was searched and how to get it."""
