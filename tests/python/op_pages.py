"""The pages of `docs/ops/`: the language's names by family, and the operations of the compiler's IRs by dialect."""

import inspect
import re
import subprocess
import sys

import language_reference as reference
from conftest import ROOT
from op_families import DIALECTS, FAMILIES

MADE = "<!-- Made from the declarations by tests/python/op_pages.py; do not edit. -->\n"
OPS = ROOT / "docs" / "ops"
EXAMPLE = re.compile(r"^# %% (\S+)\n", re.MULTILINE)
PRELUDE = """import numpy as np

import deuteron as triton
import deuteron.language as tl
"""


def path_of(name):
    """The path of a name in the table of the language."""
    return name if name.startswith("descriptor.") else f"tl.{name}"


def examples_of(page):
    """The examples of a page: name to source text."""
    file = OPS / "examples" / f"{page}.py"
    if not file.exists():
        return {}
    _, *parts = EXAMPLE.split(file.read_text())
    return {name: source.strip() for name, source in zip(parts[::2], parts[1::2])}


def marked(text):
    """A docstring's inline marks as Markdown's."""
    return re.sub(r"``(.+?)``", r"`\1`", text, flags=re.DOTALL)


def sections(doc):
    """A docstring in its parts: the text before the first heading, then heading and lines of each."""
    parts = [("", [])]
    for line in inspect.cleandoc(doc).splitlines():
        heading = re.fullmatch(r"([A-Z][\w ()]*):", line)
        if heading and heading[1].split(" (")[0] in ("Args", "Returns", "Errors", "Attributes", "Example"):
            parts.append((heading[1], []))
        elif parts[-1][0] and line and not line.startswith(" "):
            parts.append(("", [line]))
        else:
            parts[-1][1].append(line)
    return parts


def argument_lines(lines):
    """``name: text`` entries, which go on in lines that are indented further, as a list."""
    entries = []
    for line in inspect.cleandoc("\n".join(lines)).splitlines():
        if line.startswith(" ") and entries:
            entries[-1] += " " + line.strip()
        elif line:
            entries.append(line)
    split = [entry.partition(": ") for entry in entries]
    return "\n".join(f"- {', '.join(f'`{n.strip()}`' for n in names.split(','))}: {marked(text)}" for names, _, text in split)


def described(doc):
    """A docstring as Markdown."""
    parts = []
    for heading, lines in sections(doc):
        text = "\n".join(lines).strip("\n")
        if heading.startswith(("Args", "Attributes")):
            title = {"Args": "Parameters", "Attributes (in kernels)": "Attributes"}.get(heading, heading)
            parts.append(f"**{title}**\n\n{argument_lines(lines)}")
        elif heading:
            parts.append(f"**{heading}**: {marked(inspect.cleandoc(text))}")
        elif text:
            parts.append(marked(literal_blocks(text)))
    return "\n\n".join(parts) + "\n"


def literal_blocks(text):
    """``text::`` and the indented lines behind it, as a block of code."""
    return re.sub(r"::\n\n((?:    .*\n?)+)", lambda m: f":\n\n```python\n{inspect.cleandoc(m[1])}\n```\n", text)


def signature(name, obj):
    """A signature as code, broken where it is long."""
    parameters, result = reference.documented(obj)
    arrow = f" -> {result}" if result else ""
    line = f"{name}({reference.text_of(parameters)}){arrow}"
    if len(line) <= 100:
        return line
    inside = ",\n    ".join(reference.text_of(parameters).split(", "))
    return f"{name}(\n    {inside},\n){arrow}"


def shown_name(name):
    """How a kernel writes it."""
    return name.replace("descriptor.", "desc.") if name.startswith("descriptor.") else f"tl.{name}"


def section(name, methods, examples):
    """One name."""
    obj = reference.find(path_of(name))
    shown = shown_name(name)
    is_method_alone = path_of(name) in reference.METHODS_ALONE
    title = f"x.{name}" if is_method_alone else shown
    text = f"\n## `{title}`\n\n```python\n{signature(title, obj)}\n```\n\n{described(obj.__doc__)}"
    if name in methods and not is_method_alone:
        text += f"\nAlso a method of its first argument: `x.{name}(…)`.\n"
    if shown in examples:
        text += f"\n```python\n{examples.pop(shown)}\n```\n"
    return text


def family_page(family):
    """One page of the language."""
    methods = {path.removeprefix("tl.") for path, (_, is_method, _) in reference.rows().items() if is_method}
    examples = examples_of(family.page)
    text = f"{MADE}# {family.title}\n\n{family.intro}\n"
    text += "".join(section(name, methods, examples) for name in family.names.split())
    assert not examples, f"{family.page}: examples of names that the page does not have: {list(examples)}"
    return text


def variants(types):
    """``fp32,fp32->fp32 | …`` for people."""
    return "; ".join(f"{part.strip().replace(',', ', ').replace('->', ' → ')}" for part in types.split("|"))


def libdevice_page():
    """The page of `libdevice`, a table."""
    examples = examples_of("libdevice")
    lines = [f"| `{path.removeprefix('libdevice.')}({params})` | {variants(types)} | {reference.find(path).__doc__} |"
             for path, (params, _, types) in reference.rows().items() if path.startswith("libdevice.")]
    return f"""{MADE}# libdevice

`from triton.language.extra import libdevice` gives the functions below on every target. They work element by element
and broadcast. A call whose operands have none of the listed types is an error.

```python
{examples['libdevice']}
```

| function | types | what it computes |
|---|---|---|
""" + "\n".join(lines) + "\n"


def command(*arguments):
    """What the command prints."""
    done = subprocess.run([sys.executable, "-m", "deuteron", *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def dialects():
    """The names of all operations by dialect."""
    found = {}
    for line in command("ops").splitlines():
        name = line.split()[0]
        found.setdefault(name.split(".")[0], []).append(name)
    return found


def dialect_page(dialect):
    """One page of the IRs."""
    return f"{MADE}# Operations of `{dialect}`\n\n{DIALECTS[dialect]}\n\n{command('ops', f'{dialect}.')}"


def anchor(title):
    """The anchor that a heading gets."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def index_page():
    """The page that leads to the others."""
    lines = []
    for family in FAMILIES:
        titles = [f"x.{n}" if path_of(n) in reference.METHODS_ALONE else shown_name(n) for n in family.names.split()]
        links = ", ".join(f"[`{t.removeprefix('tl.')}`]({family.page}.md#{anchor(t)})" for t in titles)
        lines.append(f"| [{family.title}]({family.page}.md) | {links} |")
    libdevice = [path for path in reference.rows() if path.startswith("libdevice.")]
    lines.append(f"| [libdevice](libdevice.md) | {len(libdevice)} functions of one to four arguments |")
    ir = "\n".join(f"| [`{dialect}`](ir/{dialect}.md) | {about} |" for dialect, about in DIALECTS.items())
    return f"""{MADE}# The language

What kernels may call, by family. Examples are complete after these lines:

```python
{PRELUDE}```

| | |
|---|---|
""" + "\n".join(lines) + f"""

Python's own `abs`, `bool`, `float`, `getattr`, `hasattr`, `int`, `isinstance`, `len`, `list`, `max`, `min`, `print`,
`range`, `str`, `sum`, `tuple` and `zip` work in kernels, on constants as in Python; so do the functions and constants of
`math`, on constants. `abs`, `max` and `min` take run-time values too, and `print` prints them while the kernel runs.

## Operations of the compiler

The IRs `ttir` and `ttgir` consist of the operations below, each declared once. `deuteron ops tt.load` prints the same
in the terminal.

| | |
|---|---|
{ir}
"""


def pages():
    """Every page: path below `docs/` to the function that makes it."""
    found = {"ops/index.md": index_page, "ops/libdevice.md": libdevice_page}
    found |= {f"ops/{family.page}.md": lambda family=family: family_page(family) for family in FAMILIES}
    return found | {f"ops/ir/{dialect}.md": lambda dialect=dialect: dialect_page(dialect) for dialect in DIALECTS}
