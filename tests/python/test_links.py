"""Links in the documentation lead somewhere, and every page is in the table of contents."""

import re

import pytest
from conftest import ROOT

DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])
LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
# What `make docs` puts beside the pages: the documentation of the crate.
MADE_BY_THE_SITE = "api/"


def prose(page):
    """A page without its blocks of code."""
    return CODE.sub("", page.read_text())


def links(page):
    """Where the links of a page lead; code in a line is no link."""
    return LINK.findall(re.sub(r"`[^`\n]+`", "code", prose(page)))


def anchors(page):
    """What a link to a page may name: headings, as the site and code hosts spell them."""
    found = set()
    for title in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        found.add(re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-"))
    return found


def problem(page, link):
    """What is wrong with a link; None if nothing is."""
    if link.startswith(("http://", "https://", MADE_BY_THE_SITE)):
        return None
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return f"{link}: no such file"
    if DOCS in page.parents and ROOT in target.parents and DOCS not in target.parents:
        return f"{link}: the site has no files from outside of docs/"
    if anchor and anchor not in anchors(target):
        return f"{link}: no such heading"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    problems = [problem(page, link) for link in links(page)]
    assert not [text for text in problems if text]


def test_links_that_lead_nowhere_are_found():
    page = DOCS / "index.md"
    assert problem(page, "nothing.md") == "nothing.md: no such file"
    assert problem(page, "errors.md#nothing") == "errors.md#nothing: no such heading"
    assert "outside" in problem(page, "../README.md")
    assert problem(page, "ops/memory.md#tlload") is None


def test_every_page_is_in_the_table_of_contents():
    listed = {(DOCS / link).resolve() for link in links(DOCS / "SUMMARY.md")}
    assert listed == {page for page in PAGES if DOCS in page.parents} - {DOCS / "SUMMARY.md"}
