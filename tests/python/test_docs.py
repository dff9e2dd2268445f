"""Pages that are made from tables: the table is the truth. ``BLESS=1`` writes them anew."""

import os

import pytest
from conftest import ROOT

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


@pytest.mark.parametrize("page, make", [("knobs.md", knobs_page)])
def test_a_page_is_up_to_date(page, make):
    path = ROOT / "docs" / page
    if os.environ.get("BLESS"):
        path.write_text(make())
    assert path.read_text() == make(), f"docs/{page} is stale: run the tests with BLESS=1"
