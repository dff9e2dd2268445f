"""Lines of prose in pages that are made."""

import re
import textwrap


def wrapped(page):
    """A page whose prose ends at column 120; code, tables and headings stay as they are."""
    lines, paragraph = [], []
    is_code = False
    for line in page.split("\n"):
        is_code ^= line.startswith("```")
        is_prose = not is_code and line and not line.startswith(("```", "|", "#", "<"))
        if not is_prose or line.startswith("- "):
            lines.extend(broken(paragraph))
            paragraph = []
        (paragraph if is_prose else lines).append(line)
    return "\n".join(lines + broken(paragraph))


def broken(paragraph):
    """The lines of a paragraph, broken anew outside of code if one of them is too long."""
    if all(len(line) <= 120 for line in paragraph):
        return paragraph
    glued = re.sub(r"`[^`]+`", lambda code: code[0].replace(" ", "\0"), " ".join(line.strip() for line in paragraph))
    rest = "  " if glued.startswith("- ") else ""
    lines = textwrap.wrap(glued, 120, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]
