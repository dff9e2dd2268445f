"""Finds the source text of a Python function for the native module. Imported at the first compile only."""

import inspect
import textwrap


def function_source(fn):
    """The text of `fn` from its first decorator or `def` on.

    Returns:
        ``(text, file name, first line, columns removed)``: the text has its common indentation removed, lines count
        from 1.

    Raises:
        ValueError: `fn` was typed into a prompt or made by ``exec``, so that there is no text to compile.
    """
    try:
        lines, first_line = inspect.getsourcelines(fn)
    except (OSError, TypeError) as error:
        raise ValueError(
            f"the source text of `{fn.__qualname__}` cannot be found ({error}): @jit functions must be defined in a "
            "file (or a notebook cell), since they are compiled from their text") from error
    raw = "".join(lines)
    text = textwrap.dedent(raw)
    removed = len(lines[0]) - len(lines[0].lstrip()) if text != raw else 0
    return text, inspect.getsourcefile(fn) or fn.__code__.co_filename, first_line, removed
