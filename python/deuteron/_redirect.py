"""Answers every ``import triton[.x.y]`` by the module objects of ``deuteron[.x.y]``.

Both names give the same objects, so classes are identical, ``isinstance`` works across libraries and pickles made
under either name load. The reference may be installed beside; it is neither imported nor changed.
"""

import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec

_ALIAS = "triton"
_PACKAGE = __package__


class _AliasLoader:
    """Hands out a module that exists already instead of running one."""

    def __init__(self, target):
        self.target = target
        self._spec = None

    def create_module(self, spec):
        """The module of this package; its own spec is put back once it has been handed out."""
        module = importlib.import_module(self.target)
        self._spec = module.__spec__
        return module

    def exec_module(self, module):
        """The import system has put the alias's spec on the module: undo that.

        Modules that are loaded already get their other names at once. Were they imported one by one, the import system
        would set each as an attribute of its package again, and overwrite what the package has under the name of its
        submodule (``triton.runtime.driver`` is an object).
        """
        module.__spec__ = self._spec
        for name, loaded in list(sys.modules.items()):
            if name.startswith(_PACKAGE + ".") and loaded is not None:
                sys.modules.setdefault(_ALIAS + name[len(_PACKAGE):], loaded)

    def get_code(self, fullname):
        """The code of the target, for ``python -m``."""
        spec = importlib.util.find_spec(self.target)
        return spec.loader.get_code(self.target)

    def get_source(self, fullname):
        """The source of the target."""
        return importlib.util.find_spec(self.target).loader.get_source(self.target)

    def is_package(self, fullname):
        """Whether the target has submodules."""
        return importlib.util.find_spec(self.target).submodule_search_locations is not None


class _AliasFinder:
    """The import system asks this first."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        """The spec of ``triton`` and of every module of ours below; None for all other names."""
        if fullname != _ALIAS and not fullname.startswith(_ALIAS + "."):
            return None
        actual = _PACKAGE + fullname[len(_ALIAS):]
        found = importlib.util.find_spec(actual)
        if found is None:
            # The search goes on below this package's own path, where it ends without a result.
            return None
        spec = ModuleSpec(fullname, _AliasLoader(actual), origin=found.origin,
                          is_package=found.submodule_search_locations is not None)
        spec.has_location = False
        if found.submodule_search_locations is not None:
            spec.submodule_search_locations = list(found.submodule_search_locations)
        return spec

    @staticmethod
    def find_distributions(context=None):
        """``importlib.metadata.version("triton")`` answers the version of the interface."""
        name = getattr(context, "name", None)
        if name is None or name.lower().replace("_", "-") == _ALIAS:
            from ._metadata import AliasDistribution

            yield AliasDistribution()

    @staticmethod
    def invalidate_caches():
        """Nothing is cached."""


def installed():
    """Whether `install` was called."""
    return _AliasFinder in sys.meta_path


def install(children=True):
    """Makes every ``import triton[.x.y]`` of this process mean Deuteron. Calling it again does nothing.

    Call it before anything imports triton (``import torch`` does so at times).

    Args:
        children: do the same in the processes that this one starts (compile workers of torch, ``multiprocessing``, pytest-xdist,
            ``torchrun``, Jupyter kernels), through variables of the environment.

    Raises:
        ImportError: the reference has been imported already, so that two versions would mix.
    """
    if installed():
        return
    package = sys.modules[_PACKAGE]
    present = sys.modules.get(_ALIAS)
    if present is not None and present is not package:
        raise ImportError(
            f"triton is already imported from {getattr(present, '__file__', None)}; call deuteron.install() before the "
            "first `import triton` (and before `import torch`), or start the program by `python -m deuteron script.py`")
    sys.meta_path.insert(0, _AliasFinder)
    package.language._builtin.show_package_as(_ALIAS)
    if children:
        from ._processes import redirect_children

        redirect_children()
