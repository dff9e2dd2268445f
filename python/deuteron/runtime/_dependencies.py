"""What a compile of a function depends on besides its arguments: its text, the functions that it calls, the globals
that it reads."""

import ast
import builtins
import functools
import hashlib
import inspect
import re
import textwrap
import types

from .. import _core

__all__ = ["key_of"]

#: Modules of which functions stay what they are.
_FIXED = frozenset(("copy", "math", "builtins"))

#: What modules of the language begin with, by what they say that they are of (`language._builtin.show`).
_LANGUAGE = ("deuteron.language", "triton.language")

#: Plain values, of which what `repr` shows is all.
_PLAIN = (bool, int, float, str, bytes, tuple, list, dict, frozenset, type(None))


def key_of(function):
    """A hash of all that a compile of a ``@jit`` or ``@constexpr_function`` function depends on.

    Raises:
        RuntimeError: a ``@constexpr_function`` calls a function of Python, of which nobody knows what it depends on.
    """
    return _key(function, ())


def _key(function, above):
    digest = hashlib.sha256(function._text_key.encode())
    digest.update(b"noinline" if getattr(function, "noinline", False) else b"")
    for name in _names(function.src):
        # A @jit function has what its Python function has, also where that was taken away to pickle it.
        value = _found(function.fn or function, name)
        if value is not None:
            digest.update(f"\n{name}: {_part(function, value, (*above, function))}".encode())
    return digest.hexdigest()


def _part(function, value, above):
    """What a name stands for, as a text that changes with it."""
    from ..language.core import constexpr
    from .jit import ConstexprFunction

    compiled = _core.JITFunction, ConstexprFunction
    while not isinstance(value, compiled) and hasattr(value, "fn") and hasattr(value, "run"):
        # A tuner, heuristics.
        value = value.fn
    if isinstance(value, compiled):
        if any(value is other for other in above):
            return "itself"
        return _key(value, above)
    if isinstance(value, (*_PLAIN, constexpr)) or hasattr(value, "__deuteron_dtype__"):
        return repr(value)
    if getattr(value, "__triton_builtin__", False) or hasattr(value, "__deuteron_builtin__"):
        return ""
    if not callable(value) or isinstance(value, (type, types.ModuleType)):
        return ""
    module = getattr(value, "__module__", None) or ""
    if isinstance(function, ConstexprFunction) and module not in _FIXED and not module.startswith(_LANGUAGE):
        raise RuntimeError(f"Unsupported function referenced: {value}")
    return module


def _found(function, name):
    """The value of a name outside of a function, through modules; None where there is none."""
    root, *rest = name.split(".")
    nonlocals = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    try:
        value = nonlocals[root].cell_contents if root in nonlocals else function.__globals__[root]
    except (KeyError, ValueError):
        return None
    for part in rest:
        if not isinstance(value, types.ModuleType):
            break
        value = getattr(value, part, None)
    return value


@functools.lru_cache(maxsize=4096)
def _names(source):
    """The names that a text may read from outside, with the attributes behind them, sorted."""
    found = set()

    def visit(node):
        chain, inner = [], node
        while isinstance(inner, ast.Attribute):
            chain.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            if isinstance(inner.ctx, ast.Load) and not hasattr(builtins, inner.id):
                found.add(".".join([inner.id, *reversed(chain)]))
            return
        for child in ast.iter_child_nodes(node):
            visit(child)

    definition = ast.parse(source).body[0]
    for statement in definition.body:
        visit(statement)
    parameters = definition.args
    own = {parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs)}
    return sorted(name for name in found if name.split(".")[0] not in own)


def source_of(function):
    """The text of a Python function from ``def`` on, without indentation and decorators."""
    source = textwrap.dedent(inspect.getsource(function))
    return source[re.search(r"^def\s", source, re.MULTILINE).start():]
