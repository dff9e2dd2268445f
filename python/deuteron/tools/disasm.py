"""Machine code as assembly with what its control codes say, by the vendor's own disassembler, where that is found."""

import re
import subprocess

from .. import knobs

__all__ = ["extract", "get_sass", "path_to_cuobjdump"]

_NAME = re.compile(r"^\s*Function\s*:\s*(\S+)")
_FIRST = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?;?)\s*/\*\s*(0x[0-9a-f]{16})\s*\*/")
_SECOND = re.compile(r"^\s*/\*\s*(0x[0-9a-f]{16})\s*\*/")
_BRANCH = re.compile(r"(.*\bBRA(?:\.\w+)*\s+)(.*?)(0x[0-9a-f]+);")


def path_to_cuobjdump():
    """The program that is used: ``knobs.nvidia.cuobjdump``."""
    return knobs.nvidia.cuobjdump.path


def _control(word):
    """The control codes of an instruction: barriers to wait for, the one read, the one written, yield, cycles to stall."""
    code = int(word, 16) >> 41
    waits, read, write = code >> 11 & 0x3F, code >> 8 & 7, code >> 5 & 7
    parts = ["--" if not waits else f"{waits:02x}", "-" if read == 7 else str(read), "-" if write == 7 else str(write),
             "-" if code >> 4 & 1 else "Y", str(code & 15)]
    return ":".join(parts)


def _instructions(lines):
    """``(address, text, control codes)`` of the instructions in some lines, each of which has two."""
    first = None
    for line in lines:
        found = _FIRST.match(line)
        if found is not None:
            first = found
            continue
        second = _SECOND.match(line)
        if second is not None and first is not None:
            yield int(first[1], 16), first[2], _control(second[1])
            first = None


def _function(name, lines):
    """The text of a function, with labels where branches go."""
    instructions = list(_instructions(lines))
    targets = sorted({int(found[3], 16) for _, text, _ in instructions if (found := _BRANCH.match(text))})
    labels = {address: f"LBB{number}" for number, address in enumerate(targets)}
    text = [f"Function:{name}"]
    for address, instruction, control in instructions:
        if address in labels:
            text.append(f"{labels[address]}:")
        found = _BRANCH.match(instruction)
        if found is not None:
            instruction = f"{found[1]}{found[2]}`({labels[int(found[3], 16)]});"
        text.append(f"{control}\t{instruction}")
    return "\n".join(text) + "\n\n"


def extract(file_path, fun):
    """The assembly of a file of machine code: of all functions, or of the one named `fun`."""
    command = [path_to_cuobjdump(), "-sass", *(["-fun", fun] if fun is not None else []), file_path]
    output = subprocess.check_output(command).decode()
    functions, lines = [], None
    for line in output.splitlines():
        found = _NAME.match(line)
        if found is not None:
            lines = []
            functions.append((found[1], lines))
        elif lines is not None:
            lines.append(line)
    return "".join(_function(name, lines) for name, lines in functions)


def get_sass(cubin, fun=None):
    """The assembly of machine code, given as bytes."""
    import os
    import tempfile

    handle, path = tempfile.mkstemp(suffix=".cubin")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(cubin)
        return extract(path, fun)
    finally:
        os.unlink(path)
