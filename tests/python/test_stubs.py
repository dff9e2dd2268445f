"""Type stubs: up to date, valid, and of the same names as the package."""

import ast
import importlib
import os
import subprocess
import sys

import pytest
import stubs
from conftest import ROOT

PACKAGE = ROOT / "python" / "deuteron"
KERNEL = """
import deuteron.language as tl
from deuteron.language.extra import libdevice


def kernel(x_ptr, n: int, BLOCK: tl.constexpr) -> None:
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for i in tl.range(0, n, BLOCK, num_stages=2):
        x = tl.load(x_ptr + i + offsets, mask=offsets < n, other=0.0).to(tl.float32)
        tl.store(x_ptr + offsets, libdevice.tanh(x[:, None].sum(axis=1)) + 2 * x)
    reveal_type(tl.load(x_ptr))
    reveal_type(tl.store(x_ptr, 1))
    reveal_type(tl.split(tl.load(x_ptr)))
    reveal_type(1 - BLOCK)
    tl.load(x_ptr, masc=None)
"""


@pytest.mark.parametrize("path", stubs.stubs())
def test_a_stub_is_up_to_date(path):
    made = stubs.stubs()[path]
    if os.environ.get("BLESS"):
        (PACKAGE / path).write_text(made)
    assert (PACKAGE / path).read_text() == made, f"python/deuteron/{path} is stale: run the tests with BLESS=1"


def checked(*arguments):
    """What mypy prints."""
    done = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=ROOT / "python")
    return done.stdout + done.stderr


@pytest.mark.parametrize("path", stubs.stubs())
def test_stubs_have_the_names_of_the_package(path):
    module = importlib.import_module("deuteron." + path.removesuffix("/__init__.pyi").removesuffix(".pyi").replace("/", "."))
    tree = ast.parse((PACKAGE / path).read_text())
    declared = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    declared |= {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names if alias.asname}
    declared |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
    public = {name for name, value in vars(module).items() if hasattr(value, "__deuteron_builtin__") and not name.startswith("_")}
    assert public - declared == set()
    assert {name for name in declared if not hasattr(module, name)} == set()


def test_a_type_checker_reads_the_stubs(tmp_path):
    file = tmp_path / "kernel.py"
    file.write_text(KERNEL)
    lines = checked("mypy", "--cache-dir", str(tmp_path), "--follow-imports=silent", "--no-site-packages", "--ignore-missing-imports", str(file)).splitlines()
    notes = [line.split("note: ")[1] for line in lines if "note: Revealed" in line]
    assert notes == ['Revealed type is "deuteron.language.tensor"', 'Revealed type is "None"',
                     'Revealed type is "tuple[deuteron.language.tensor, deuteron.language.tensor]"',
                     'Revealed type is "deuteron.language.constexpr"'], lines
    errors = [line for line in lines if " error: " in line and '"store" does not return' not in line]
    assert len(errors) == 1 and 'Unexpected keyword argument "masc"' in errors[0], lines


def test_stubs_are_valid(tmp_path):
    """No error in the stubs themselves."""
    paths = [str(PACKAGE / path) for path in stubs.stubs()]
    said = checked("mypy", "--cache-dir", str(tmp_path), "--follow-imports=silent", "--no-site-packages", "--ignore-missing-imports", *paths)
    assert "Success: no issues found" in said, said
