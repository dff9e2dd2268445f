"""Pages that are made from tables: the table is the truth. ``BLESS=1`` writes them anew."""

import os

import command_page
import language_reference
import op_pages
import pytest
import stage_pages
from conftest import ROOT
from op_families import FAMILIES
from prose import wrapped

from deuteron import _core

HEAD = """# Settings

Each is an environment variable and an attribute: `TRITON_CACHE_DIR=/x` is `triton.knobs.cache.dir = "/x"`. What is
assigned wins over the environment, and is written there for child processes (unless `triton.knobs.propagate_env = False`); `del
triton.knobs.cache.dir` goes back to the environment, `with triton.knobs.cache.scope():` puts a whole group and its variables back at
its end. What is marked as not obeyed is said once on the standard error stream when somebody sets it; where it is an error,
assigning it raises `NotImplementedError`. This page is made from the table of settings.

| `knobs.` | environment | default | what it does |
|---|---|---|---|
"""


def shown(default):
    """A default as people write it."""
    return "" if default is None or default == "" else f"`{default}`"


def knobs_page():
    """The table of all settings."""
    rows = []
    for group, name, kind, default, env, doc, standing in _core.knob_table():
        # Folders below the home of the user would make the page differ from user to user.
        default = None if isinstance(default, str) and default.startswith("/") else default
        variable = ", ".join(f"`{name}`" for name in env) if env else "(a Python object)" if kind == "object" else ""
        if standing is not None:
            doc += f" **Not obeyed**{' (an error)' if standing[0] else ''}: {standing[1]}."
        rows.append(f"| `{group}.{name}` | {variable} | {shown(default)} | {doc} |")
    return HEAD + "\n".join(rows) + "\n"


PAGES = {"knobs.md": knobs_page, "command.md": command_page.page, **op_pages.pages(), **stage_pages.pages()}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_up_to_date(page):
    path, made = ROOT / "docs" / page, wrapped(PAGES[page]())
    if os.environ.get("BLESS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(made)
    assert path.read_text() == made, f"docs/{page} is stale: run the tests with BLESS=1"


def test_the_package_says_what_the_compiler_does():
    assert not language_reference.differences()


def test_every_name_of_the_language_has_one_page():
    listed = [op_pages.path_of(name) for family in FAMILIES for name in family.names.split()]
    assert len(listed) == len(set(listed))
    table = {path for path in language_reference.rows() if not path.startswith(("libdevice.", "python.", "triton."))}
    assert table - set(listed) == set()
    # Names that are no calls in the table: classes and functions that the front end knows by other means.
    assert set(listed) - table <= {"tl.range", "tl.tensor_descriptor", "tl.extra.hip.memrealtime", "tl.extra.hip.smid",
                                   "tl.extra.cuda.convert_custom_float8_sm70", "tl.extra.cuda.convert_custom_float8_sm80"}


def test_every_dialect_has_a_page():
    assert set(op_pages.dialects()) == set(op_pages.DIALECTS)


@pytest.mark.parametrize("interpret", ["0", "1"], ids=["compiled", "interpreted"])
@pytest.mark.parametrize("page", sorted(file.stem for file in (op_pages.OPS / "examples").glob("*.py")))
def test_examples_of_operations_run(python, page, interpret):
    file = op_pages.OPS / "examples" / f"{page}.py"
    assert op_pages.PRELUDE in file.read_text()
    python(file, env={"TRITON_INTERPRET": interpret})
