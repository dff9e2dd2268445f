"""Tutorials and other pages with programs: their blocks of Python, one after the other, are a program that runs."""

import re

import pytest
from conftest import ROOT

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [*sorted((ROOT / "docs" / "tutorials").glob("*.md")), ROOT / "docs" / "getting-started.md",
         ROOT / "docs" / "coming-from-triton.md", ROOT / "docs" / "index.md"]


def program_of(page):
    """The program of a page."""
    return "\n".join(BLOCK.findall(page.read_text()))


@pytest.mark.parametrize("interpret", ["0", "1"], ids=["compiled", "interpreted"])
@pytest.mark.parametrize("page", [page for page in PAGES if program_of(page)], ids=lambda page: page.stem)
def test_a_page_runs(python, tmp_path, page, interpret):
    program = tmp_path / f"{page.stem.replace('-', '_')}_page.py"
    program.write_text(program_of(page))
    python(program, env={"TRITON_INTERPRET": interpret})


def test_all_tutorials_but_one_have_programs():
    assert {page.stem for page in PAGES if not program_of(page)} == {"amd"}
