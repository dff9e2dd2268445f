"""Python runs this at the start of every process whose parent redirects ``import triton`` (`deuteron._children` puts it in the path).

Nothing is imported here: Deuteron is, when the process first imports triton. The ``sitecustomize`` that this one hides runs as well.
"""

import os
import sys

#: The folder of the package, set by the process that redirects.
_VARIABLE = "DEUTERON_REDIRECT"


def _package(home):
    """The package of the process that redirects, else, where it does not fit this Python, the one that this Python has."""
    sys.path.insert(0, home)
    try:
        import deuteron
    except ImportError:
        for name in [name for name in sys.modules if name.split(".")[0] == "deuteron"]:
            del sys.modules[name]
        sys.path.remove(home)
        import deuteron
    else:
        sys.path.remove(home)
    return deuteron


class _Pending:
    """Redirects this process when it first asks for triton."""

    @classmethod
    def _finder(cls):
        """The finder of `deuteron.install`, which takes the place of this one; None, and a loud word, where it cannot be had."""
        if cls in sys.meta_path:
            sys.meta_path.remove(cls)
        try:
            deuteron = _package(os.environ.get(_VARIABLE, ""))
        except ImportError as error:
            sys.stderr.write(f"deuteron: `import triton` is NOT redirected in process {os.getpid()} ({sys.executable}), as it is in the "
                             f"process that started it: {error}\n")
            return None
        deuteron.install()
        from deuteron._redirect import _AliasFinder

        return _AliasFinder

    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        """The spec of triton and what is below; None for all other names."""
        if fullname != "triton" and not fullname.startswith("triton."):
            return None
        finder = cls._finder()
        return None if finder is None else finder.find_spec(fullname, path, target)

    @classmethod
    def find_distributions(cls, context=None):
        """The answer to ``importlib.metadata.version("triton")``."""
        name = getattr(context, "name", None)
        if name is None or name.lower().replace("_", "-") != "triton":
            return iter(())
        finder = cls._finder()
        return iter(()) if finder is None else finder.find_distributions(context)

    @staticmethod
    def invalidate_caches():
        """Nothing is cached."""


class _ThenEnter:
    """Loads torch, and then puts on the CPU what is put on "cuda", as the parent does."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        """What the loader of torch makes."""
        return self._loader.create_module(spec)

    def exec_module(self, module):
        """Runs torch."""
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _Pending._finder()
        from deuteron._cuda_as_cpu import enter

        enter(is_child=True)


class _PendingTorch:
    """Waits for the import of torch."""

    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        """The spec of torch with a loader that goes on after it."""
        if fullname != "torch":
            return None
        from importlib.machinery import PathFinder

        sys.meta_path.remove(cls)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _ThenEnter(spec.loader)
        return spec


def _run_hidden():
    """Runs the ``sitecustomize`` that would run without this one."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    here = os.path.dirname(os.path.abspath(__file__))
    spec = PathFinder.find_spec("sitecustomize", [entry for entry in sys.path if os.path.abspath(entry) != here])
    if spec is not None and spec.loader is not None:
        module = sys.modules["sitecustomize"] = module_from_spec(spec)
        spec.loader.exec_module(module)


if os.environ.get(_VARIABLE):
    sys.meta_path.insert(0, _Pending)
    if os.environ.get("DEUTERON_CUDA_AS_CPU", "0").lower() not in ("", "0", "false", "off", "no"):
        sys.meta_path.insert(0, _PendingTorch)
_run_hidden()
