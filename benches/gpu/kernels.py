"""The same kernel files under two compilers in one process.

A file of kernels says ``import triton``. Here it is executed twice, and what that means is decided each time: the installed
reference, or Deuteron. The files are those of the examples and of the tests, untouched.
"""

import ast
import builtins
import sys
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    "seeds": ROOT / "tests" / "python" / "seed_kernels.py",
    "matmul": ROOT / "examples" / "03_matmul.py",
    "layer_norm": ROOT / "examples" / "04_layer_norm.py",
    "attention": ROOT / "examples" / "06_attention.py",
    "launch": Path(__file__).with_name("launch_kernels.py"),
    "wide": Path(__file__).with_name("wide_kernels.py"),
    "rows": Path(__file__).with_name("row_kernels.py"),
    "tiles": Path(__file__).with_name("tile_kernels.py"),
    "planes": Path(__file__).with_name("plane_kernels.py"),
}


def compilers():
    """From name to package: ``reference`` where it is installed, and ``deuteron``."""
    found = {}
    try:
        import triton

        found["reference"] = triton
    except ImportError:
        print("the reference is not installed: only Deuteron is measured")
    import deuteron

    found["deuteron"] = deuteron
    return found


def load(name, package):
    """A new module from a file of kernels in which ``import triton`` is `package`."""
    return load_file(FILES[name], name, package)


def load_file(path, name, package, edit=lambda tree: tree):
    """A new module from a file in which ``import triton`` is `package`; `edit` changes its syntax tree, places stay."""
    sys.path.insert(0, str(ROOT / "examples"))

    def importing(wanted, globals=None, locals=None, fromlist=(), level=0):
        top, _, rest = wanted.partition(".")
        if top not in ("triton", "deuteron") or level:
            return builtins.__import__(wanted, globals, locals, fromlist, level)
        own = package.__name__ + ("." + rest if rest else "")
        return builtins.__import__(own, globals, locals, fromlist or (), 0)

    module = types.ModuleType(f"{name}_{package.__name__}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    names = vars(module)
    names["__builtins__"] = {**vars(builtins), "__import__": importing}
    try:
        exec(compile(edit(ast.parse(path.read_text())), str(path), "exec"), names)
    finally:
        sys.path.pop(0)
    names["__builtins__"] = builtins
    return module
